//! The receive half of an interface with lines whose loads are held.
//!
//! ```text
//!   load of the next line ──► the other one is free: its copies go ──┐
//!                                                                    ├──► into the line ──► the load is answered
//!   packet ──► engine_time ──────────────────────────────────────────┘
//!                                      or time_out ──► an empty line ──► the load is answered
//! ```
//!
//! A load is answered when the processor's copy of the other line's control block is gone: it reads that
//! one next, and must not find it in its cache. Copies of overflow blocks go beside that, before their
//! line is filled.

use narthex_fabrics::Header;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::{AgentId, Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::{Hold, Lines, Parts};
use crate::description::{Engine, HalfDescription, Layout};
use crate::half::{Context, HomeReply, InterfaceHalf, RegisterFault, TimeToSend};
use crate::queue::QueueState;

/// The rule that a load is answered only when no old copy of the line that is read next is left.
const COPIES_FIRST: &str = "copies-first";

narthex_kernel::statistics! {
    /// What the receive half did.
    pub struct Statistics {
        messages: Counter, "messages_deposited", "messages", "messages put into receive lines";
        overflow: Counter, "receive_overflow_blocks", "blocks", "blocks of them behind the control block";
        held: Counter, "receive_loads_held", "loads", "loads of a receive line that were held";
        hold_time: TimeTotal, "receive_hold_time", "ps", "time for which they were held";
        empty: Counter, "receive_loads_answered_empty", "loads", "loads that were answered without a packet, after the time-out";
        invalidations: Counter, "receive_line_invalidations", "blocks", "copies of blocks of lines that were taken away from the processor";
    }
}

/// A packet on its way into a line.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Arrived {
    /// Header and payload.
    bytes: Vec<u8>,
    /// When the engine has prepared it.
    ready: Time,
}

/// The receive half.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct PioCoherentReceive {
    agent: AgentId,
    lines: Lines,
    engine_time: Duration,
    /// The line that the processor loads next.
    next: usize,
    /// The other one shows what it has loaded last.
    is_shown: bool,
    hold: Hold,
    /// The load that is held is answered without a packet.
    is_timed_out: bool,
    arrived: Option<Arrived>,
    job: Option<u64>,
    /// Whether [`COPIES_FIRST`] is left out.
    answers_at_once: bool,
    statistics: Statistics,
}

impl PioCoherentReceive {
    /// A half whose lines are free.
    pub fn new(parts: Parts) -> Self {
        let Parts { agent, lines, engine_time, time_out } = parts;
        PioCoherentReceive {
            agent,
            lines,
            engine_time,
            next: 0,
            is_shown: false,
            hold: Hold::new(time_out),
            is_timed_out: false,
            arrived: None,
            job: None,
            answers_at_once: false,
            statistics: Statistics::default(),
        }
    }

    fn other(&self) -> usize {
        1 - self.next
    }

    /// Goes on as far as possible without a transaction.
    fn advance(&mut self, context: &mut Context<'_>) {
        self.accept(context);
        if self.hold.is_active() && self.has_answer(context.now) {
            context.on_chip.resumed.push(self.lines.control(self.next));
        }
    }

    /// Takes the next packet, if the last one is in its line.
    fn accept(&mut self, context: &mut Context<'_>) {
        if self.arrived.is_none()
            && let Some(packet) = context.network.take()
        {
            let bytes = [&packet.header.0.to_le_bytes(), &packet.payload[..]].concat();
            let ready = context.timer_after(self.engine_time);
            self.arrived = Some(Arrived { bytes, ready });
        }
    }

    fn is_prepared(&self, now: Time) -> bool {
        self.arrived.as_ref().is_some_and(|arrived| arrived.ready <= now)
    }

    /// Whether a load of the next line can be answered now.
    fn has_answer(&self, now: Time) -> bool {
        let is_copied = self.lines.memory.must_invalidate(self.lines.control(self.other()));
        (!is_copied || self.answers_at_once)
            && self.lines.copied_block(self.next).is_none()
            && (self.is_prepared(now) || self.is_timed_out)
    }

    /// The next line is loaded: fills it, or holds the load.
    fn load_next(&mut self, context: &mut Context<'_>) -> bool {
        self.is_shown = false;
        self.accept(context);
        if !self.has_answer(context.now) {
            if !self.hold.is_active() {
                self.statistics.held.increment();
                self.hold.begin(context);
            }
            return false;
        }
        self.show(context.now);
        self.accept(context);
        true
    }

    /// Fills the next line, which is shown from now on.
    fn show(&mut self, now: Time) {
        match self.arrived.take_if(|arrived| arrived.ready <= now) {
            Some(Arrived { bytes, .. }) => {
                self.lines.write(self.next, &bytes);
                self.statistics.messages.increment();
                let blocks = bytes.len().div_ceil(self.lines.memory.block_bytes());
                self.statistics.overflow.add(blocks as u64 - 1);
            }
            None => {
                self.lines.write(self.next, &[0; Header::BYTES]);
                self.statistics.empty.increment();
            }
        }
        self.statistics.hold_time.add(self.hold.end(now).unwrap_or_default());
        self.is_timed_out = false;
        self.is_shown = true;
        self.next = self.other();
    }

    /// A block of a line that is not shown, of which the processor may have a copy: what a load waits for
    /// comes first.
    fn next_block(&self) -> Option<u64> {
        let control =
            Some(self.lines.control(self.other())).filter(|&it| self.lines.memory.must_invalidate(it));
        let of_other = |block: Option<u64>| block.filter(|_| !self.is_shown);
        of_other(control)
            .or_else(|| self.lines.copied_block(self.next))
            .or_else(|| of_other(self.lines.copied_block(self.other())))
    }

    /// A load of a control block out of turn.
    fn refuse(context: &mut Context<'_>, line: usize) {
        context.faults.push(RegisterFault(format!(
            "a load of receive line {line} while the other one is loaded, or after a store to it: they take turns"
        )));
    }
}

impl InterfaceHalf for PioCoherentReceive {
    /// It sends nothing.
    fn time_to_send(&self) -> TimeToSend {
        TimeToSend::NONE
    }

    /// It has no registers.
    fn register_delay(&self) -> Duration {
        Duration::ZERO
    }

    fn snoop(&mut self, context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        let &Transaction { address, kind, .. } = transaction;
        if let Some(line) = self.lines.line_of_control(address).filter(|_| kind == Kind::Read) {
            if line == self.next && !self.lines.memory.must_invalidate(address) {
                if !self.load_next(context) {
                    return SnoopReply { later: true, ..SnoopReply::default() };
                }
            } else if line == self.next || !self.is_shown {
                Self::refuse(context, line);
            }
        }
        self.lines.memory.snoop(transaction)
    }

    fn home(&mut self, _context: &mut Context<'_>, transaction: &Transaction) -> HomeReply {
        self.lines.memory.serve(transaction)
    }

    /// The engine works on a packet before a load is answered with it.
    fn time_to_interconnect(&self) -> Duration {
        self.engine_time
    }

    fn wants_bus(&self) -> bool {
        self.job.is_none() && self.next_block().is_some()
    }

    fn issue(&mut self, _context: &mut Context<'_>) -> Option<Transaction> {
        self.job = self.next_block();
        Some(Transaction::block(self.agent, Kind::Invalidate, self.job?))
    }

    fn complete(&mut self, context: &mut Context<'_>, transaction: &Transaction, _response: &Response) {
        self.job = None;
        self.lines.memory.invalidated(transaction.address);
        self.statistics.invalidations.increment();
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

impl HalfDescription for PioCoherentReceive {
    fn layout(&self) -> Layout {
        self.lines.layout("receive lines", &[Kind::Invalidate])
    }

    fn peek(&self, address: u64) -> Option<&[u8]> {
        self.lines.peek(address)
    }

    fn protocol_rules(&self) -> Vec<&'static str> {
        vec![COPIES_FIRST]
    }

    fn leave_out(&mut self, rule: &str) -> bool {
        self.answers_at_once = rule == COPIES_FIRST;
        self.answers_at_once
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    fn queue(&self) -> QueueState {
        let note = match (self.hold.is_active(), &self.arrived) {
            (true, Some(_)) => format!("the load of line {} is answered with it", self.next),
            (true, None) => format!("the load of line {} is held until a packet comes", self.next),
            (false, Some(_)) => format!("the processor has not loaded line {}", self.next),
            (false, None) => String::new(),
        };
        QueueState::of("receive lines", u64::from(self.arrived.is_some()), Some(1)).with_note(note)
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        let doing = match (&self.job, &self.arrived) {
            (Some(_), _) => Some("takes the processor's copy away"),
            (None, _) if self.wants_bus() => Some("waits for the bus"),
            (None, Some(arrived)) if arrived.ready > now => Some("prepares a message"),
            (None, Some(_)) => Some("waits for the processor"),
            (None, None) => self.hold.is_active().then_some("holds a load"),
        };
        Some(Engine { doing, messages: self.arrived.is_some().into() })
    }
}
