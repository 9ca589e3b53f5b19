//! The send half of an interface with split virtqueues.
//!
//! ```text
//!   kick ──► index ──► available ring ──► descriptors ──► buffers ──► engine_time ──► inject ──► used ring
//!            read      read, ahead        read, ahead     read, the                               written
//!                                                         next ones' too
//! ```
//!
//! The buffers of several packets may be read at once, of as many as transactions may be under way. They come
//! in order.

use std::collections::VecDeque;

use narthex_fabrics::Header;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::{Response, Transaction};
use serde::{Deserialize, Serialize};

use super::queue::{LOOK_AGAIN, Queue, is_kick};
use super::{Parts, Purpose, SEND_QUEUE, SEND_REGISTERS};
use crate::description::{Engine, HalfDescription, Layout};
use crate::half::{Context, InterfaceHalf, RegisterAccess, RegisterFault, TimeToSend, Trigger};
use crate::queue::QueueState;
use crate::ring::leaving::Leaving;

narthex_kernel::statistics! {
    /// What a send half did.
    pub struct Statistics {
        kicks: Counter, "send_kicks", "stores", "kicks of the send queue";
        looks: Counter, "send_index_reads", "reads", "reads of the send queue's available index";
        descriptors: Counter, "send_descriptors_fetched", "descriptors", "descriptors read from the send queue";
        armed: Counter, "send_kicks_asked_for", "writes", "writes that asked for the send queue's next kick";
        updates: Counter, "send_used_updates", "writes", "writes of the send queue's used index, each for one or more packets";
        messages: Counter, "messages_injected", "messages", "messages taken from the send queue and injected";
    }
}

/// The send half.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct VirtioSend {
    queue: Queue,
    register_delay: Duration,
    engine_time: Duration,
    /// Packets whose buffers it has room for beside the one that leaves.
    room: usize,
    /// The first descriptors of the packets whose buffers are being read, in their order.
    gathering: VecDeque<u16>,
    /// Packets that have been read.
    gathered: VecDeque<Vec<u8>>,
    leaving: Option<(u16, Leaving)>,
    statistics: Statistics,
}

impl VirtioSend {
    /// A half with nothing to send.
    pub fn new(parts: &Parts) -> Self {
        VirtioSend {
            queue: Queue::new(parts, SEND_QUEUE, false),
            register_delay: parts.register_delay,
            engine_time: parts.engine_time,
            room: parts.transactions.into(),
            gathering: VecDeque::new(),
            gathered: VecDeque::new(),
            leaving: None,
            statistics: Statistics::default(),
        }
    }

    /// Advances as far as possible without the interconnect.
    fn advance(&mut self, context: &mut Context<'_>) {
        if let Err(fault) = self.try_to_advance(context) {
            context.faults.push(fault);
        }
    }

    fn try_to_advance(&mut self, context: &mut Context<'_>) -> Result<(), RegisterFault> {
        while let Some(purpose) = self.queue.take_write() {
            self.written(purpose);
        }
        while let Some((purpose, bytes)) = self.queue.take_read() {
            self.take_in(purpose, bytes)?;
        }
        loop {
            self.inject(context);
            self.gather()?;
            if self.leaving.is_some() || self.gathered.is_empty() {
                break;
            }
            self.prepare(context)?;
        }
        let is_idle = self.queue.chains.next().is_none();
        self.queue.fetch(is_idle);
        Ok(())
    }

    fn written(&mut self, purpose: Option<Purpose>) {
        let Some(purpose) = purpose else { return };
        match purpose {
            Purpose::Armed => self.statistics.armed.increment(),
            _ => self.statistics.updates.increment(),
        }
        self.queue.written(purpose);
    }

    fn take_in(&mut self, purpose: Purpose, bytes: Vec<u8>) -> Result<(), RegisterFault> {
        match purpose {
            Purpose::Packet => {
                self.gathered.push_back(bytes);
                return Ok(());
            }
            Purpose::Index => self.statistics.looks.increment(),
            Purpose::Firsts { count, .. } => self.statistics.descriptors.add(count),
            Purpose::Further { .. } => self.statistics.descriptors.increment(),
            _ => {}
        }
        self.queue.take_in(purpose, &bytes)
    }

    /// The prepared packet leaves, if there is room for it.
    fn inject(&mut self, context: &mut Context<'_>) {
        let may_leave = |(_, leaving): &mut (u16, Leaving)| leaving.may_leave(context);
        let Some((head, leaving)) = self.leaving.take_if(may_leave) else { return };
        leaving.leave(context);
        self.statistics.messages.increment();
        self.queue.finish(head, 0);
    }

    /// Begins to read the buffers of the next chains.
    fn gather(&mut self) -> Result<(), RegisterFault> {
        while self.gathering.len() < self.room
            && let Some(chain) = self.queue.chains.take()
        {
            let (head, length, most) = (chain.head, chain.bytes(), self.queue.memory().buffer_bytes as usize);
            let least = Header::BYTES;
            if !(least..=most).contains(&length) {
                let problem =
                    format!("a packet of {length} bytes; it has {least} to {most}, header included");
                return Err(self.queue.fault(head, &problem));
            }
            self.gathering.push_back(head);
            self.queue.read_packet(chain);
        }
        Ok(())
    }

    /// The first packet that has been read goes to the engine.
    fn prepare(&mut self, context: &mut Context<'_>) -> Result<(), RegisterFault> {
        let Some(bytes) = self.gathered.pop_front() else { return Ok(()) };
        let head = self.gathering.pop_front().expect("it was begun");
        let fault = |problem: &str| self.queue.fault(head, problem);
        let leaving = Leaving::prepare(context, bytes, self.engine_time, fault)?;
        self.leaving = Some((head, leaving));
        Ok(())
    }
}

impl InterfaceHalf for VirtioSend {
    fn load(&mut self, _context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        self.queue.load(&SEND_REGISTERS, offset)
    }

    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        let (is_kick, stored) = self.queue.store(&SEND_REGISTERS, offset, value)?;
        self.statistics.kicks.add(is_kick.into());
        self.advance(context);
        Some(stored)
    }

    fn takes(&self, offset: u64, bytes: u16) -> bool {
        is_kick(&SEND_REGISTERS, offset, bytes)
    }

    /// A kick may make it ask for the bus.
    fn independent_of_arrivals(&self, _: &Context<'_>, access: RegisterAccess, _: Time) -> Option<bool> {
        SEND_REGISTERS.iter().any(|&(_, own, _)| own == access.offset).then_some(false)
    }

    /// A queue at rest waits for a kick. The engine works on every packet before it leaves.
    fn time_to_send(&self) -> TimeToSend {
        let rests = self.queue.rests() && self.leaving.is_none();
        let cause = if rests { Trigger::Access } else { Trigger::Anything };
        TimeToSend { time: self.engine_time, cause, awaits_room: self.leaving.is_some() }
    }

    fn register_delay(&self) -> Duration {
        self.register_delay
    }

    /// When a packet that waits has left, the used ring may be written at once, and the next buffer read.
    fn time_to_interconnect(&self) -> Duration {
        if self.leaving.is_some() { Duration::ZERO } else { Duration::MAX }
    }

    fn wants_bus(&self) -> bool {
        self.queue.wants()
    }

    fn issue(&mut self, _context: &mut Context<'_>) -> Option<Transaction> {
        self.queue.issue()
    }

    fn complete(&mut self, context: &mut Context<'_>, transaction: &Transaction, response: &Response) {
        self.queue.complete(transaction, response);
        self.advance(context);
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.advance(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        self.advance(context);
    }
}

impl HalfDescription for VirtioSend {
    fn layout(&self) -> Layout {
        let names = ["send descriptors", "send available ring", "send used ring", "send buffers"];
        let memory = self.queue.memory();
        let written = memory.used()..memory.buffers();
        Layout { written_by_interface: vec![written], ..memory.layout(names) }
    }

    fn protocol_rules(&self) -> Vec<&'static str> {
        vec![LOOK_AGAIN]
    }

    fn leave_out(&mut self, rule: &str) -> bool {
        self.queue.rests_at_once = rule == LOOK_AGAIN;
        self.queue.rests_at_once
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    fn queue(&self) -> QueueState {
        let held_for = self.leaving.as_ref().map(|(_, leaving)| leaving.header.peer());
        QueueState::of("send queue", self.queue.left(), Some(self.queue.memory().entries)).held_for(held_for)
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        let doing =
            self.queue.doing().or_else(|| self.leaving.as_ref().map(|(_, leaving)| leaving.doing(now)));
        Some(Engine { doing, messages: self.queue.left() })
    }
}
