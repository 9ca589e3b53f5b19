//! The explanation as people read it: what happened, who waits for whom, where
//! each program is, and what is in the queues.

use std::fmt;
use std::fmt::Write as _;

use narthex_fabrics::Rank;
use narthex_kernel::Time;
use narthex_machine::node::stuck::{
    Call, HeldFrame, StuckFirmware, StuckNode, StuckProcess, StuckThread, StuckTransaction,
};

use narthex_machine::Halt;

use super::waits::{Wait, What};
use super::{Hang, Kind};

/// Nodes that are described in full; the documents of `--json` have all.
const MOST_NODES: usize = 16;

/// Frames of a node that are listed where they wait in the network.
const MOST_HELD: usize = 4;

/// Folders of the guest's library: a call from elsewhere is the program's own.
const LIBRARY: [&str; 4] = ["messaging", "mpi", "runtime", "shared_memory"];

impl Hang {
    /// What happened, in a line.
    pub fn summary(&self) -> String {
        if let Some(held) = self.nodes.iter().flat_map(|node| &node.held).find(|held| held.never_fits()) {
            return self.never_fits(held);
        }
        let still = || self.waits.iter().filter(|wait| wait.what != What::Ended);
        let message = if let Some(circle) = &self.chains.circle {
            match &circle[..] {
                [one, _] => format!("{} waits for itself", self.name(*one)),
                [one, other, _] => {
                    format!("{} and {} wait for each other", self.name(*one), self.name(*other))
                }
                _ => format!("{} processes wait for each other in a circle", circle.len() - 1),
            }
        } else if let Some(chain) = self.chains.others.first() {
            self.end_of_chain(chain)
        } else if still().all(|wait| wait.what == What::Message) {
            self.all_wait_for_messages()
        } else if still().all(|wait| wait.what == What::Own) {
            "what still runs turns in a loop that changes nothing".into()
        } else if still().all(|wait| wait.what == What::Thread) {
            "all threads sleep".into()
        } else {
            "nobody does anything useful".into()
        };
        let refused = self.nodes.iter().flat_map(|node| &node.refused).next();
        let message = match (self.kind(), refused) {
            (Kind::Deadlock, _) => message,
            (Kind::Livelock, Some(StuckTransaction { agent, what, by, .. })) => {
                format!("{by} refuses {agent}, which {what}, again and again")
            }
            (Kind::Livelock, None) => format!("{message}, and packets are sent again and again"),
        };
        let lost = self.nodes.iter().flat_map(|node| &node.lost).next();
        let lost = lost.map(|lost| format!("; {lost} was lost")).unwrap_or_default();
        format!("{message}{lost} ({})", self.kind().as_str())
    }

    /// That a frame is larger than the buffers of the network.
    fn never_fits(&self, held: &HeldFrame) -> String {
        let HeldFrame { frame, at, bytes, buffer_bytes, .. } = held;
        let [from, to] = [frame.source, frame.destination].map(|rank| self.name(rank));
        format!(
            "the {} from {from} to {to} has {bytes} bytes and waits at {at} for a buffer of {buffer_bytes}, which \
             it never fits into ({})",
            frame.kind.name(),
            self.kind().as_str()
        )
    }

    fn all_wait_for_messages(&self) -> String {
        let ended = self.waits.iter().filter(|wait| wait.what == What::Ended);
        let ended: Vec<String> = ended.map(|wait| self.name(wait.who)).collect();
        let ended = match &ended[..] {
            [] => String::new(),
            [one] => format!(", and {one} has ended"),
            more => format!(", and {} others have ended", more.len()),
        };
        format!("what still runs waits for a message, and none is on its way{ended}")
    }

    fn end_of_chain(&self, chain: &[Rank]) -> String {
        let (first, last) = (chain[0], chain[chain.len() - 1]);
        let why = match self.wait(last).what {
            What::Ended => "whose program has ended",
            What::Own => "which takes no messages",
            What::Message => "which waits for a message",
            What::Memory => "whose memory does not answer",
            What::Thread => "whose threads all sleep",
            What::Room => "which has no room to send",
        };
        format!("{} waits for {}, {why}", self.name(first), self.name(last))
    }

    fn wait(&self, rank: Rank) -> &Wait {
        &self.waits[usize::from(rank.0)]
    }

    /// A path of waits: "node 0 -> node 1 -> node 0".
    fn path(&self, chain: &[Rank]) -> String {
        chain.iter().map(|&rank| self.name(rank)).collect::<Vec<_>>().join(" -> ")
    }

    fn write_wait(&self, f: &mut fmt::Formatter<'_>, wait: &Wait, process: &StuckProcess) -> fmt::Result {
        let place = &process.place;
        match (wait.what, process.ended) {
            (What::Room, _) => writeln!(f, "  {place} waits for room to send")?,
            (What::Message, _) => writeln!(f, "  {place} waits for a message")?,
            (What::Memory, _) => writeln!(f, "  {place} waits for an answer to its memory access")?,
            (What::Thread, _) => writeln!(f, "  {place} waits for one of its threads to wake another")?,
            (What::Own, _) if self.halt == Halt::Limit => writeln!(f, "  {place} executes its program")?,
            (What::Own, _) => writeln!(f, "  {place} waits for nothing that the machine knows")?,
            (What::Ended, Some((at, code))) => {
                writeln!(f, "  {place} has ended with exit code {code} at {at}")?
            }
            (What::Ended, None) => writeln!(f, "  {place} has ended")?,
        }
        if wait.what != What::Ended {
            writeln!(f, "    {}", whereabouts(&process.threads[0].calls))?;
        }
        for link in &wait.links {
            writeln!(f, "    -> {}: {}", self.name(link.to), link.why)?;
        }
        if !wait.detail.is_empty() {
            writeln!(f, "    {}", wait.detail)?;
        }
        Ok(())
    }

    fn write_thread(f: &mut fmt::Formatter<'_>, thread: &StuckThread) -> fmt::Result {
        let StuckThread { place, activity, access, calls, .. } = thread;
        let access = access.as_ref().map(|access| format!(", {access}")).unwrap_or_default();
        writeln!(f, "  {place}: in the activity '{}'{access}", activity.as_str())?;
        write_calls(f, calls)
    }

    fn write_firmware(f: &mut fmt::Formatter<'_>, firmware: &StuckFirmware) -> fmt::Result {
        let StuckFirmware { place, waits_for, calls } = firmware;
        match waits_for {
            Some(what) => writeln!(f, "  {place}: waits for {what}")?,
            None => writeln!(f, "  {place}: executes")?,
        }
        write_calls(f, calls)
    }

    fn write_queues(f: &mut fmt::Formatter<'_>, number: usize, node: &StuckNode) -> fmt::Result {
        for process in &node.processes {
            let interface = process.interface.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
            writeln!(f, "  {}{interface}: {}; {}", process.place, process.send, process.receive)?;
        }
        writeln!(f, "  node {number}: flow control: {}", node.flow)?;
        if let Some(bridge) = &node.bridge {
            writeln!(f, "  node {number}: {bridge}")?;
        }
        for refused in &node.refused {
            let StuckTransaction { agent, what, by, times, since_ps, .. } = refused;
            let since = Time::from_ps(*since_ps);
            writeln!(f, "  node {number}: {agent} {what}: refused by {by} {times} times since {since}")?;
        }
        for held in node.held.iter().take(MOST_HELD) {
            let HeldFrame { frame, at, needs, lane, lacks_room, since_ps, .. } = held;
            let why = match (held.never_fits(), lacks_room) {
                (true, _) => "room, which there never is, behind",
                (false, true) => "room behind",
                (false, false) => "its turn on",
            };
            let (what, from, to) = (
                frame.kind.name(),
                node.flow.placement.name(frame.source),
                node.flow.placement.name(frame.destination),
            );
            let since = Time::from_ps(*since_ps);
            writeln!(
                f,
                "  {at}: the {what} from {from} to {to} waits since {since} for {why} lane {lane} of the link to {needs}"
            )?;
        }
        match node.held.len().saturating_sub(MOST_HELD) {
            0 => {}
            more => writeln!(f, "  and {more} more frames of node {number} wait in the network")?,
        }
        for lost in &node.lost {
            writeln!(f, "  node {number}: lost on purpose (faults.lose): {lost}")?;
        }
        Ok(())
    }

    fn write_rest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nodes.len().saturating_sub(MOST_NODES) {
            0 => Ok(()),
            more => writeln!(f, "  and {more} more nodes, which the document of --json has"),
        }
    }
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = self.since;
        match self.halt {
            Halt::NoProgress => {
                writeln!(f, "no progress: {}", self.summary())?;
                writeln!(
                    f,
                    "  no message has arrived and no system call has had an effect since {since}; \
                     stopped at {}",
                    self.at
                )?;
            }
            Halt::Limit => {
                writeln!(f, "  the last message, or system call that had an effect, was at {since}")?;
            }
        }
        writeln!(f, "who waits for whom:")?;
        for chain in self.chains.circle.iter().chain(&self.chains.others) {
            writeln!(f, "  {}", self.path(chain))?;
        }
        let shown = || self.nodes.iter().take(MOST_NODES);
        let processes = || shown().flat_map(|node| &node.processes);
        for process in processes() {
            self.write_wait(f, self.wait(process.rank), process)?;
        }
        self.write_rest(f)?;
        writeln!(f, "where the programs are:")?;
        let threads =
            processes().filter(|process| process.ended.is_none()).flat_map(|process| &process.threads);
        for thread in threads {
            Self::write_thread(f, thread)?;
        }
        shown().flat_map(|node| &node.firmware).try_for_each(|firmware| Self::write_firmware(f, firmware))?;
        writeln!(f, "queues:")?;
        for (number, node) in shown().enumerate() {
            Self::write_queues(f, number, node)?;
        }
        let under_way: usize = self.nodes.iter().map(|node| node.under_way.len()).sum();
        write!(f, "  network: {under_way} frames on their way")
    }
}

fn write_calls(f: &mut fmt::Formatter<'_>, calls: &[Call]) -> fmt::Result {
    for (depth, call) in calls.iter().enumerate() {
        let how = if depth == 0 { "at         " } else { "called from" };
        writeln!(f, "    {how} {}", in_full(call))?;
    }
    Ok(())
}

/// Where a program is: the library's function that it called, and its own line.
fn whereabouts(calls: &[Call]) -> String {
    let own = calls.iter().position(|call| !is_library(call)).unwrap_or(0);
    let Some(call) = calls.get(own) else { return "nowhere that is known".into() };
    match own.checked_sub(1).and_then(|inner| calls[inner].function.as_deref()) {
        Some(function) => format!("in {function}, called from {}", in_short(call)),
        None => format!("in {}", in_short(call)),
    }
}

/// Whether code belongs to the library that programs are linked with.
pub(super) fn is_library(call: &Call) -> bool {
    let folder = call.file.as_deref().and_then(|file| file.rsplit('/').nth(1));
    folder.is_some_and(|folder| LIBRARY.contains(&folder))
}

/// "deaf (hangs.c:53)"
fn in_short(call: &Call) -> String {
    let mut text = call.function.clone().unwrap_or_else(|| format!("{:#x}", call.address));
    if let (Some(file), Some(line)) = (&call.file, call.line) {
        let name = file.rsplit('/').next().unwrap_or(file);
        let _ = write!(text, " ({name}:{line})");
    }
    text
}

/// "deaf at 0x100a3b8 (/home/me/hangs.c:53)"
fn in_full(call: &Call) -> String {
    let mut text = format!("{:#x}", call.address);
    if let Some(function) = &call.function {
        let _ = write!(text, " {function}");
    }
    if let (Some(file), Some(line)) = (&call.file, call.line) {
        let _ = write!(text, " ({file}:{line})");
    }
    text
}
