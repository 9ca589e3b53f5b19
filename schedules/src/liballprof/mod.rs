//! Traces of MPI programs that liballprof has written, which LogGOPSim's schedules are made of.
//!
//! A rank's trace is a text with a line for each call, in order:
//!
//! ```text
//! # a comment
//! MPI_Init:-:ARGC:ARGV:END
//! MPI_Isend:START:BUFFER:COUNT:TYPE,SIZE,EXTENT:PEER:TAG:COMM,RANK,SIZE:REQUEST:END
//! MPI_Wait:START:REQUEST:STATUS:END
//! MPI_Finalize:START:-
//! ```
//!
//! Times are microseconds of one clock. Behind the start stand the call's arguments as in C; a type with its
//! bytes and its extent, a communicator with the rank in it and its size. A pointer is an address, and an
//! array of counts the address and then the counts, with commas.
//!
//! - What passes between two calls that communicate is a **calculation**. It also holds calls that only
//!   ask or test: polling counts as calculation.
//! - A **send** and a **receive** that return at once let the calculation go on when they have started; what
//!   waits for their request waits for their end. Requests are told apart by their addresses, so an array of
//!   them needs their size: 4 bytes in MPICH and in Fortran, 8 in Open MPI.
//! - A **collective** is done by the algorithms of [`crate::collectives`], whatever the library did.
//! - The trace does not say who is in a communicator. So it is that of all ranks, a duplicate of it,
//!   or that of a rank alone.

mod calls;
mod collective;
mod line;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;

use crate::Problem;
use crate::collectives::Part;
use crate::schedule::{ANY, Dependency, Kind, Operation, RankBuilder, Schedule};
use crate::traces::{self, COLLECTIVE_TAG};

use calls::{CALLS, Call, Collective, Return};
use line::{Library, Line, nanoseconds, number};

use Call::{Receive, Send, Untold};
use Return::AtOnce;

/// So much of a file shows what it is.
pub const HEAD_BYTES: u64 = 1 << 16;

/// Whether a file that begins so is such a trace.
pub fn is_trace(head: &[u8]) -> bool {
    let first = head
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii_start)
        .find(|line| !line.is_empty() && !line.starts_with(b"#"));
    first.is_some_and(|line| line.starts_with(b"MPI_"))
}

/// Reads the traces of all ranks; `file` is that of any of them.
///
/// # Errors
/// If a rank's file is missing, cut, or has what cannot be read: file and line are named.
pub fn load(file: &str) -> Result<Schedule, Problem> {
    traces::load(file, "NAME-RANK.txt, as pmpi-trace-rank-0.txt", read_rank)
}

fn read_rank(bytes: &[u8], rank: u32, ranks: u32) -> Result<RankBuilder, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|_| Problem::new("is not UTF-8; a trace is"))?;
    let mut trace = Trace::new(rank, ranks);
    let mut number = 0;
    for line in text.lines() {
        number += 1;
        if !line.trim().is_empty() && !line.starts_with('#') {
            trace.line(line.trim_end()).map_err(|problem| problem.within(format!("line {number}")))?;
        }
    }
    if trace.state == State::Over {
        return Ok(trace.builder);
    }
    Err(Problem::new(format!("line {number}: the trace is cut: its last call is not MPI_Finalize")))
}

/// Whose communicator a call has.
#[derive(Clone, Copy)]
enum Members {
    All,
    Own,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    BeforeInit,
    /// The call before has ended then, in nanoseconds.
    Since(u64),
    Over,
}

struct Trace {
    builder: RankBuilder,
    rank: u32,
    ranks: u32,
    collectives: u32,
    state: State,
    library: Library,
    /// What the next operation waits for, and whether for its start only.
    last: Vec<(u32, bool)>,
    /// The operations of requests by their addresses.
    requests: FxHashMap<u64, u32>,
}

impl Trace {
    fn new(rank: u32, ranks: u32) -> Self {
        Trace {
            builder: RankBuilder::default(),
            rank,
            ranks,
            collectives: 0,
            state: State::BeforeInit,
            library: Library::of_communicator(0),
            last: vec![],
            requests: FxHashMap::default(),
        }
    }

    fn line(&mut self, text: &str) -> Result<(), Problem> {
        let (name, fields) = text.split_once(':').unwrap_or((text, ""));
        let Some((known, call, arguments)) = CALLS.iter().find(|(known, ..)| *known == name) else {
            return calls::local(name);
        };
        if let Untold(why) = call {
            return Err(Problem::new(format!("{name}: {why}")));
        }
        let line = Line::new(known, call.arguments(arguments), fields)?;
        match (call, self.state) {
            (Call::Init, State::BeforeInit) => {
                self.state = State::Since(nanoseconds("END", line.end)?);
                return Ok(());
            }
            (Call::Init, _) | (_, State::Over) => {
                return Err(Problem::new(format!("{name} stands behind an end")));
            }
            (_, State::BeforeInit) => return Err(Problem::new(format!("{name} stands before MPI_Init"))),
            _ => {}
        }
        let problem = |problem: Problem| problem.within(name);
        self.compute_until(nanoseconds("START", line.start).map_err(problem)?).map_err(problem)?;
        self.call(*call, &line).map_err(problem)?;
        self.state = match call {
            Call::Finalize => State::Over,
            _ => State::Since(nanoseconds("END", line.end).map_err(problem)?),
        };
        Ok(())
    }

    fn call(&mut self, call: Call, line: &Line<'_>) -> Result<(), Problem> {
        match call {
            Send(returns) => self.message(Kind::Send, returns, line),
            Receive(returns) => self.message(Kind::Receive, returns, line),
            Call::SendAndReceive => {
                let sent = self.start(Kind::Send, line, "to", "send_tag")?;
                let received = self.start(Kind::Receive, line, "from", "receive_tag")?;
                let both = [sent, received].into_iter().flatten();
                let last: Vec<(u32, bool)> = both.map(|operation| (operation, false)).collect();
                if !last.is_empty() {
                    self.last = last;
                }
                Ok(())
            }
            Call::Wait => {
                self.wait(line.whole("request")?);
                Ok(())
            }
            Call::WaitAll => {
                let (count, first) = (line.whole("count")?, line.whole("request")?);
                if count > u64::from(u32::MAX) {
                    return Err(Problem::new(format!("count '{count}': expected at most {}", u32::MAX)));
                }
                (0..count)
                    .for_each(|index| self.wait(first.wrapping_add(index * self.library.request_bytes)));
                Ok(())
            }
            Call::Forget => {
                self.requests.remove(&line.whole("request")?);
                Ok(())
            }
            Call::Collective(collective, returns) => self.collective(collective, returns, line),
            Call::Finalize => {
                let mut open: Vec<(u32, bool)> =
                    self.requests.drain().map(|(_, open)| (open, false)).collect();
                open.sort_unstable();
                self.last.extend(open);
                self.calculate(0);
                Ok(())
            }
            Call::Init | Untold(_) => Ok(()),
        }
    }

    fn add(&mut self, operation: Operation, peer: u32) -> u32 {
        let added = self.builder.add(operation, peer);
        let waits = |&(earlier, start): &(u32, bool)| Dependency { later: added, earlier, start };
        self.builder.dependencies.extend(self.last.iter().map(waits));
        added
    }

    fn calculate(&mut self, nanoseconds: u64) -> u32 {
        let operation = Operation { size: nanoseconds, tag: 0, kind: Kind::Calculate, cpu: 0, nic: 0 };
        let added = self.add(operation, 0);
        self.last = vec![(added, false)];
        added
    }

    /// What passed since the last call is computed.
    fn compute_until(&mut self, start_ns: u64) -> Result<(), Problem> {
        let State::Since(since_ns) = self.state else { return Ok(()) };
        let passed = start_ns.checked_sub(since_ns);
        let passed = passed.ok_or_else(|| Problem::new("begins before the call before it has ended"))?;
        if passed > 0 || self.last.len() > 1 {
            self.calculate(passed);
        }
        Ok(())
    }

    fn wait(&mut self, request: u64) {
        self.last.extend(self.requests.remove(&request).map(|operation| (operation, false)));
    }

    fn message(&mut self, kind: Kind, returns: Return, line: &Line<'_>) -> Result<(), Problem> {
        let Some(operation) = self.start(kind, line, "peer", "tag")? else { return Ok(()) };
        self.last = vec![(operation, returns == AtOnce)];
        if returns == AtOnce {
            self.keep(line, operation)?;
        }
        Ok(())
    }

    /// Keeps what a request stands for. One at the same address that was not waited for was found to be over by
    /// a test.
    fn keep(&mut self, line: &Line<'_>, operation: u32) -> Result<(), Problem> {
        let before = self.requests.insert(line.whole("request")?, operation);
        self.last.extend(before.map(|before| (before, false)));
        Ok(())
    }

    /// Adds a message; none if it is with nobody.
    fn start(&mut self, kind: Kind, line: &Line<'_>, peer: &str, tag: &str) -> Result<Option<u32>, Problem> {
        let members = self.members(line)?;
        let Some(peer) = self.peer(line, peer, members, kind)? else { return Ok(None) };
        let given = line.text(tag);
        let tag = match given.parse::<i64>() {
            Ok(-1) if kind == Kind::Receive => ANY,
            Ok(number) if (0..i64::from(COLLECTIVE_TAG)).contains(&number) => number as u32,
            _ => {
                return Err(Problem::new(format!(
                    "{tag} '{given}': expected from 0 to {}",
                    COLLECTIVE_TAG - 1
                )));
            }
        };
        let operation = Operation { size: line.bytes("")?, tag, kind, cpu: 0, nic: 0 };
        Ok(Some(self.add(operation, peer)))
    }

    fn peer(
        &self,
        line: &Line<'_>,
        name: &str,
        members: Members,
        kind: Kind,
    ) -> Result<Option<u32>, Problem> {
        let given = line.text(name);
        let size = if let Members::All = members { self.ranks } else { 1 };
        let number = given.parse::<i64>().ok();
        match number {
            Some(number) if number == self.library.no_rank => Ok(None),
            Some(number) if number == self.library.any_rank && kind == Kind::Receive => Ok(Some(ANY)),
            Some(number) if (0..i64::from(size)).contains(&number) => {
                Ok(Some(if let Members::All = members { number as u32 } else { self.rank }))
            }
            _ => Err(Problem::new(format!("{name} '{given}': ranks are 0 to {}", size - 1))),
        }
    }

    /// Who is in a call's communicator; what its number is shows the library.
    fn members(&mut self, line: &Line<'_>) -> Result<Members, Problem> {
        let given = line.text("comm");
        let parts: Vec<u64> = given.split(',').map(|part| number("comm", part)).collect::<Result<_, _>>()?;
        let &[identity, rank, size] = &parts[..] else {
            return Err(Problem::new(format!("comm '{given}': expected COMM,RANK,SIZE")));
        };
        self.library = Library::of_communicator(identity);
        match (rank, size) {
            (0, 1) => Ok(Members::Own),
            _ if size == u64::from(self.ranks) && rank == u64::from(self.rank) => Ok(Members::All),
            _ if size == u64::from(self.ranks) => Err(Problem::new(format!(
                "comm '{given}': this is rank {rank} there, and the file is that of rank {}; who the others are is not \
                 in the trace",
                self.rank
            ))),
            _ => Err(Problem::new(format!(
                "comm '{given}' has {size} ranks, and traces of {} were found: who is in it is not in the trace; read are \
                 communicators of all ranks and of one",
                self.ranks
            ))),
        }
    }

    fn collective(&mut self, of: Collective, returns: Return, line: &Line<'_>) -> Result<(), Problem> {
        let (begin, mut last) = (self.calculate(0), vec![]);
        if let Members::All = self.members(line)? {
            let root = match line.text("root") {
                "" => 0,
                _ => line.whole("root")?,
            };
            let ranks = self.ranks;
            if root >= u64::from(ranks) {
                return Err(Problem::new(format!("root '{root}': ranks are 0 to {}", ranks - 1)));
            }
            let root = root as u32;
            let tag = traces::collective_tag(self.collectives);
            self.collectives += 1;
            let mut part = Part {
                own: (self.rank + ranks - root) % ranks,
                rank: &mut self.builder,
                member: &|place| (place + root) % ranks,
                members: ranks,
                tag,
                calculation_ns: 0,
                last: vec![begin],
            };
            collective::write(&mut part, of, line, root)?;
            last = part.last;
        }
        self.last = last.into_iter().map(|operation| (operation, false)).collect();
        let end = if self.last.is_empty() { begin } else { self.calculate(0) };
        if returns == AtOnce {
            self.last = vec![(begin, false)];
            return self.keep(line, end);
        }
        self.last = vec![(end, false)];
        Ok(())
    }
}
