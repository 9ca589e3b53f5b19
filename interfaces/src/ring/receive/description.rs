//! What the receive half says of itself.

use narthex_kernel::Time;
use narthex_kernel::statistics::StatisticSet;

use super::queue::ReceiveQueue;
use super::{BUFFER_FIRST, Job, RingReceive, STRICT_DESCRIPTORS};
use crate::description::{Engine, HalfDescription, Layout};
use crate::queue::QueueState;
use crate::ring::tail::READ_AGAIN;

impl HalfDescription for RingReceive {
    fn peek(&self, address: u64) -> Option<&[u8]> {
        self.queues[0].ring.watched.as_ref()?.peek(address)
    }

    fn layout(&self) -> Layout {
        let memory = |queue: &ReceiveQueue| queue.ring.memory().clone();
        let first = memory(&self.queues[0]);
        let end = self.queues.last().map_or(0, |queue| queue.ring.memory().range().end);
        let further = self.queues.iter().skip(1).map(memory);
        let further =
            further.map(|memory| memory.layout(["further receive ring", "further receive buffers", ""]));
        let mut layout = first.layout(["receive ring", "receive buffers", "receive tail"]);
        layout.cachable = std::iter::once(first.start..end).collect();
        layout.regions.extend(further.flat_map(|layout| layout.regions));
        let written = |queue: &ReceiveQueue| queue.ring.memory().written_by_receive();
        layout.written_by_interface = self.queues.iter().map(written).collect();
        layout
    }

    fn protocol_rules(&self) -> Vec<&'static str> {
        let watched = self.queues[0].ring.watched.as_ref().map(|_| READ_AGAIN);
        let relaxed = self.relaxed_payload.then_some(STRICT_DESCRIPTORS);
        std::iter::once(BUFFER_FIRST).chain(watched).chain(relaxed).collect()
    }

    fn leave_out(&mut self, rule: &str) -> bool {
        self.done_first |= rule == BUFFER_FIRST;
        self.relaxed_descriptors |= rule == STRICT_DESCRIPTORS;
        [BUFFER_FIRST, STRICT_DESCRIPTORS].contains(&rule)
            || self.watched().is_some_and(|tail| tail.leave_out(rule))
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    /// The driver always keeps back as many descriptors as it hands over together. Each one that it
    /// has handed over beyond the others is that of a packet that it has read.
    fn queue(&self) -> QueueState {
        let usable = self.queues[0].ring.memory().entries.saturating_sub(self.refill);
        let is_starved = |queue: &ReceiveQueue| queue.ring.left() == 0 && queue.ring.handed_over() > 0;
        let note = match () {
            () if self.queues.iter().any(is_starved) => {
                "the interface waits until the processor hands over buffers"
            }
            () if self.queues.iter().any(|queue| self.vectors.is_masked(queue.vector)) => {
                "its vector is masked"
            }
            () if self.queues.iter().all(|queue| queue.interrupt.is_disabled()) => {
                "its interrupt is not enabled"
            }
            () => "",
        };
        let used = self.queues.iter().map(|queue| {
            let read = queue.ring.handed_over().saturating_sub(usable);
            queue.ring.done().saturating_sub(read)
        });
        let all = usable * self.queues.len() as u64;
        QueueState { is_bound: true, ..QueueState::of("receive ring", used.sum(), Some(all)) }.with_note(note)
    }

    fn engine(&self, _now: Time) -> Option<Engine> {
        let doing = match self.job {
            Some(Job::Descriptors { .. }) => Some("reads descriptors"),
            Some(Job::Tail(_)) => Some("reads the tail"),
            Some(Job::Buffer) => Some("writes a buffer"),
            Some(Job::WriteBack { .. }) => Some("writes descriptors back"),
            Some(Job::Interrupt(_)) => Some("interrupts the processor"),
            None if self.next_job().is_some() => Some("waits for the bus"),
            None if self.deposit.is_some() => Some("prepares a message"),
            None => {
                let waits = self.queues.iter().any(|queue| queue.waits_until.is_some());
                waits.then_some("waits for more to write back")
            }
        };
        Some(Engine { doing, messages: self.queue().used })
    }
}
