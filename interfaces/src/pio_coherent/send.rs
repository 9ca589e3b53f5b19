//! The send half of an interface with lines whose loads are held.
//!
//! ```text
//!   load of the other line ──► the filled one is fetched back ──► its overflow blocks ──► engine_time ──► inject
//!                                          └──► the load is answered: that line is free
//! ```
//!
//! A free line is given to the processor alone, so that it fills it without a further transaction. The
//! control block is taken away from the processor before the load of the other one is answered: else its
//! next load would hit in its cache, and the interface would not hear of that packet. Of overflow blocks
//! the interface reads the bytes, and the processor keeps the right to write them.
//!
//! A load is held as long, while overflow blocks of its line are read, and while a packet waits for the one before
//! it, which the flow control does not let go. After the time-out it is answered that no line is free, and the
//! processor's copy of that answer is taken away again.

use std::collections::VecDeque;

use narthex_fabrics::Header;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::{AgentId, Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::{Hold, LINE_IS_FREE, LINES, Lines, Parts};
use crate::description::{Engine, HalfDescription, Layout};
use crate::half::{Context, HomeReply, InterfaceHalf, RegisterFault, TimeToSend, Trigger};
use crate::queue::QueueState;

/// The rule that a load is answered only when the line that was filled before has been fetched back.
const FETCHED_FIRST: &str = "fetched-first";

narthex_kernel::statistics! {
    /// What the send half did.
    pub struct Statistics {
        messages: Counter, "messages_injected", "messages", "messages taken from send lines and injected";
        fetched: Counter, "send_lines_fetched", "blocks", "control blocks fetched back from the processor";
        overflow: Counter, "send_overflow_blocks", "blocks", "overflow blocks read from the processor's cache";
        held: Counter, "send_loads_held", "loads", "loads of a send line that were held";
        hold_time: TimeTotal, "send_hold_time", "ps", "time for which they were held";
        refused: Counter, "send_loads_without_room", "loads", "loads that were answered without a free line, after the time-out";
    }
}

/// What it has under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Job {
    /// A filled control block comes back.
    Fetch { line: usize },
    /// An overflow block of the packet that is gathered is read.
    Overflow { block: u64 },
    /// The processor's copy of the answer that there is no free line has to go.
    TakeAway { block: u64 },
}

/// A packet that comes out of a line.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Gathering {
    length: usize,
    bytes: Vec<u8>,
}

impl Gathering {
    fn is_whole(&self) -> bool {
        self.bytes.len() == self.length
    }

    fn take(&mut self, block: &[u8]) {
        let part = block.len().min(self.length - self.bytes.len());
        self.bytes.extend_from_slice(&block[..part]);
    }
}

/// A packet on its way to the network.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Leaving {
    header: Header,
    payload: Vec<u8>,
    /// When the engine has prepared it.
    ready: Time,
}

/// The send half.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct PioCoherentSend {
    agent: AgentId,
    lines: Lines,
    engine_time: Duration,
    /// The line that the processor fills, or asks for.
    filling: usize,
    /// The processor may fill it.
    is_granted: bool,
    /// Lines that are filled, the oldest first.
    filled: VecDeque<usize>,
    hold: Hold,
    /// The load that is held is answered without a free line.
    is_timed_out: bool,
    /// The packet of the oldest filled line, or once it is whole, of the one before it.
    gathering: Option<Gathering>,
    leaving: Option<Leaving>,
    job: Option<Job>,
    /// Nothing more is sent, because the program filled a line wrongly.
    given_up: bool,
    /// Whether [`FETCHED_FIRST`] is left out.
    answers_at_once: bool,
    statistics: Statistics,
}

impl PioCoherentSend {
    /// A half whose first line may be filled.
    pub fn new(parts: Parts) -> Self {
        let Parts { agent, lines, engine_time, time_out } = parts;
        PioCoherentSend {
            agent,
            lines,
            engine_time,
            filling: 0,
            is_granted: true,
            filled: VecDeque::with_capacity(LINES),
            hold: Hold::new(time_out),
            is_timed_out: false,
            gathering: None,
            leaving: None,
            job: None,
            given_up: false,
            answers_at_once: false,
            statistics: Statistics::default(),
        }
    }

    /// Goes on as far as possible without a transaction.
    fn advance(&mut self, context: &mut Context<'_>) {
        while !self.given_up {
            match self.step(context) {
                Ok(true) => {}
                Ok(false) => break,
                Err(fault) => {
                    context.faults.push(fault);
                    self.given_up = true;
                }
            }
        }
        if self.hold.is_active() && (self.may_fill() || self.is_timed_out) {
            context.on_chip.resumed.push(self.lines.control(self.filling));
        }
    }

    /// One step; false when something has to happen first.
    fn step(&mut self, context: &mut Context<'_>) -> Result<bool, RegisterFault> {
        self.inject(context);
        match &self.gathering {
            None => self.begin(),
            Some(packet) if !packet.is_whole() => Ok(self.gather()),
            Some(_) if self.leaving.is_some() => Ok(false),
            Some(_) => self.prepare(context),
        }
    }

    /// The prepared packet leaves, if there is room for it.
    fn inject(&mut self, context: &mut Context<'_>) {
        let may_leave = |leaving: &mut Leaving| {
            leaving.ready <= context.now && context.network.can_send(leaving.header.peer())
        };
        if let Some(Leaving { header, payload, .. }) = self.leaving.take_if(may_leave) {
            context.network.send(header, payload);
            self.statistics.messages.increment();
        }
    }

    /// Begins with the packet of the oldest filled line, if its control block has come back.
    fn begin(&mut self) -> Result<bool, RegisterFault> {
        let Some(&line) = self.filled.front() else { return Ok(false) };
        let control = self.lines.control(line);
        if self.lines.memory.must_invalidate(control) {
            return Ok(false);
        }
        let block = self.lines.memory.latest(control).expect("no processor has a copy");
        let length = Header::BYTES + Header::of(block).payload_bytes();
        let is_packet = block.iter().take(Header::BYTES).skip(1).any(|&byte| byte != 0);
        if !is_packet || length as u64 > self.lines.line_bytes {
            let (bytes, most) = (length - Header::BYTES, self.lines.line_bytes - Header::BYTES as u64);
            return Err(RegisterFault(match is_packet {
                true => format!("send line {line}: a packet of {bytes} payload bytes; at most {most} fit"),
                false => format!("send line {line}: the other one was loaded, and no packet is in it"),
            }));
        }
        let mut packet = Gathering { length, bytes: Vec::with_capacity(length) };
        packet.take(block);
        self.gathering = Some(packet);
        self.free_if_whole();
        Ok(true)
    }

    /// A line whose packet is whole is free.
    fn free_if_whole(&mut self) {
        if self.gathering.as_ref().is_some_and(Gathering::is_whole) {
            self.filled.pop_front();
        }
    }

    /// The overflow block that the packet needs next.
    fn next_overflow(&self) -> Option<u64> {
        let packet = self.gathering.as_ref().filter(|packet| !packet.is_whole())?;
        Some(self.lines.control(*self.filled.front()?) + packet.bytes.len() as u64)
    }

    /// Takes the next overflow block if the interface has its latest bytes.
    fn gather(&mut self) -> bool {
        let block = self.next_overflow().expect("the packet is not whole");
        let Some(bytes) = self.lines.memory.latest(block) else { return false };
        self.gathering.as_mut().expect("a packet is gathered").take(bytes);
        self.free_if_whole();
        true
    }

    /// The gathered packet goes to the engine.
    fn prepare(&mut self, context: &mut Context<'_>) -> Result<bool, RegisterFault> {
        let Some(Gathering { length, mut bytes }) = self.gathering.take() else { return Ok(false) };
        let header = Header::of(&bytes);
        context.check(header, length - Header::BYTES)?;
        bytes.drain(..Header::BYTES);
        let ready = context.timer_after(self.engine_time);
        self.leaving = Some(Leaving { header, payload: bytes, ready });
        Ok(true)
    }

    /// A packet waits for one that the flow control holds back.
    fn is_blocked(&self) -> bool {
        self.leaving.is_some() && self.gathering.as_ref().is_some_and(Gathering::is_whole)
    }

    /// Whether the line that the processor asks for is free, and its next load of the other one will be
    /// seen.
    fn may_fill(&self) -> bool {
        let is_copied = |line| self.lines.memory.must_invalidate(self.lines.control(line));
        let is_seen = self.answers_at_once || !is_copied(1 - self.filling);
        !self.filled.contains(&self.filling) && !is_copied(self.filling) && is_seen && !self.is_blocked()
    }

    /// The processor gets the line to itself, and fills it.
    fn grant(&mut self, transaction: &Transaction) -> SnoopReply {
        if !self.is_granted {
            self.lines.write(self.filling, &LINE_IS_FREE.to_le_bytes());
            self.is_granted = true;
        }
        self.lines.memory.snoop(&Transaction::block(
            transaction.agent,
            Kind::ReadExclusive,
            transaction.address,
        ))
    }

    /// A control block is loaded: the one that the processor asks for, after it has filled the other one.
    fn load(&mut self, context: &mut Context<'_>, line: usize, transaction: &Transaction) -> SnoopReply {
        if self.is_granted && line != self.filling {
            self.filled.push_back(std::mem::replace(&mut self.filling, line));
            self.is_granted = false;
            self.advance(context);
        }
        if line == self.filling {
            if self.is_granted {
                return self.grant(transaction);
            }
            if let Some(reply) = self.answer_load(context, transaction) {
                return reply;
            }
        }
        self.lines.memory.snoop(transaction)
    }

    /// The answer to a load of the line that is asked for; none if what is there tells that it is not free. A load is
    /// not held while a copy of its block has to come back: the transaction for that would wait behind it.
    fn answer_load(&mut self, context: &mut Context<'_>, transaction: &Transaction) -> Option<SnoopReply> {
        let control = self.lines.control(self.filling);
        if self.may_fill() {
            self.statistics.hold_time.add(self.hold.end(context.now).unwrap_or_default());
            self.is_timed_out = false;
            return Some(self.grant(transaction));
        }
        if self.lines.memory.must_invalidate(control) {
            return None;
        }
        if std::mem::take(&mut self.is_timed_out) {
            self.statistics.hold_time.add(self.hold.end(context.now).unwrap_or_default());
            self.statistics.refused.increment();
            // The header of a packet that is still in the line tells the same.
            if !self.filled.contains(&self.filling) {
                self.lines.write(self.filling, &[0; Header::BYTES]);
            }
            return None;
        }
        if !self.hold.is_active() {
            self.statistics.held.increment();
            self.hold.begin(context);
        }
        Some(SnoopReply { later: true, ..SnoopReply::default() })
    }

    fn next_job(&self) -> Option<Job> {
        if self.given_up {
            return None;
        }
        if let Some(block) = self.next_overflow() {
            return Some(Job::Overflow { block });
        }
        let is_copied = |line| self.lines.memory.must_invalidate(self.lines.control(line));
        if let Some(&line) = self.filled.front().filter(|_| self.gathering.is_none()) {
            return is_copied(line).then_some(Job::Fetch { line });
        }
        let tells_no_room =
            !self.is_granted && !self.filled.contains(&self.filling) && is_copied(self.filling);
        tells_no_room.then(|| Job::TakeAway { block: self.lines.control(self.filling) })
    }
}

impl InterfaceHalf for PioCoherentSend {
    /// The engine works on every packet before it leaves.
    fn time_to_send(&self) -> TimeToSend {
        let awaits_room = self.leaving.is_some();
        TimeToSend { time: self.engine_time, cause: Trigger::Anything, awaits_room }
    }

    /// It has no registers.
    fn register_delay(&self) -> Duration {
        Duration::ZERO
    }

    fn snoop(&mut self, context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        match self.lines.line_of_control(transaction.address) {
            Some(line) if transaction.kind == Kind::Read => self.load(context, line, transaction),
            _ => self.lines.memory.snoop(transaction),
        }
    }

    /// A write-back may have brought an overflow block that the engine waits for.
    fn home(&mut self, context: &mut Context<'_>, transaction: &Transaction) -> HomeReply {
        let reply = self.lines.memory.serve(transaction);
        if transaction.kind == Kind::WriteBack {
            self.advance(context);
        }
        reply
    }

    /// When a packet that waits has left, the next one may be fetched at once.
    fn time_to_interconnect(&self) -> Duration {
        if self.leaving.is_some() { Duration::ZERO } else { Duration::MAX }
    }

    fn wants_bus(&self) -> bool {
        self.job.is_none() && self.next_job().is_some()
    }

    fn issue(&mut self, _context: &mut Context<'_>) -> Option<Transaction> {
        let job = self.next_job()?;
        self.job = Some(job);
        let (kind, block) = match job {
            Job::Fetch { line } => (Kind::ReadExclusive, self.lines.control(line)),
            Job::Overflow { block } => (Kind::ReadOnce, block),
            Job::TakeAway { block } => (Kind::Invalidate, block),
        };
        Some(Transaction::block(self.agent, kind, block))
    }

    fn complete(&mut self, context: &mut Context<'_>, transaction: &Transaction, response: &Response) {
        let data = || response.data.as_ref().expect("a read brings data");
        match self.job.take().expect("a job is under way") {
            Job::Fetch { .. } => {
                self.lines.memory.produce(transaction.address, data());
                self.statistics.fetched.increment();
            }
            Job::Overflow { block } => {
                // A write-back may have brought it meanwhile.
                if self.next_overflow() == Some(block) {
                    self.gathering.as_mut().expect("a packet is gathered").take(data());
                    self.free_if_whole();
                }
                self.statistics.overflow.increment();
            }
            Job::TakeAway { block } => self.lines.memory.invalidated(block),
        }
        self.advance(context);
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.advance(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        self.is_timed_out |= self.hold.is_timed_out(context);
        self.advance(context);
    }
}

impl HalfDescription for PioCoherentSend {
    fn layout(&self) -> Layout {
        self.lines.layout("send lines", &[Kind::ReadExclusive, Kind::ReadOnce, Kind::Invalidate])
    }

    fn peek(&self, address: u64) -> Option<&[u8]> {
        self.lines.peek(address)
    }

    fn protocol_rules(&self) -> Vec<&'static str> {
        vec![FETCHED_FIRST]
    }

    fn leave_out(&mut self, rule: &str) -> bool {
        self.answers_at_once = rule == FETCHED_FIRST;
        self.answers_at_once
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    fn queue(&self) -> QueueState {
        let held_for = self.leaving.as_ref().map(|leaving| leaving.header.peer());
        let note = match self.hold.is_active() {
            true => format!("the load of line {} is held until it is free", self.filling),
            false => String::new(),
        };
        let used = self.filled.len() as u64;
        QueueState::of("send lines", used, Some(LINES as u64)).held_for(held_for).with_note(note)
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        let doing = match self.job {
            Some(Job::Fetch { .. }) => Some("fetches a line"),
            Some(Job::Overflow { .. }) => Some("reads an overflow block"),
            Some(Job::TakeAway { .. }) => Some("takes the processor's copy away"),
            None if self.next_job().is_some() => Some("waits for the bus"),
            None => self.leaving.as_ref().map(|leaving| match leaving.ready <= now {
                true => "waits for the flow control",
                false => "prepares a packet",
            }),
        };
        let inside = [self.gathering.is_some(), self.leaving.is_some()].map(u64::from);
        Some(Engine { doing, messages: self.filled.len() as u64 + inside.iter().sum::<u64>() })
    }
}
