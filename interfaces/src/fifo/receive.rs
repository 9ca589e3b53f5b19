//! The receive FIFO: the packets in the flow control's incoming buffers, oldest
//! first. It is the whole receive half of `NI_i w`.

use std::collections::VecDeque;

use narthex_fabrics::{Header, Packet};
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::Kind;
use serde::{Deserialize, Serialize};

use super::{RECEIVE, RECEIVE_WINDOW, Times};
use crate::description::{Engine, HalfDescription, Layout};
use crate::half::{Context, InterfaceHalf, RegisterAccess, RegisterFault, TimeToSend};
use crate::queue::QueueState;
use crate::registers::{STATUS, STATUS_HAS_RECEIVED};

narthex_kernel::statistics! {
    /// What the receive half did.
    pub struct ReceiveStatistics {
        words: Counter, "doublewords_received", "doublewords", "doublewords read from the receive register";
        blocks: Counter, "blocks_received", "blocks", "blocks of packets that block loads or user-level DMA moved";
    }
}

/// The receive FIFO.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct ReceiveFifo {
    times: Times,
    /// Bytes at the FIFO's head that the processor can look at.
    window_bytes: u64,
    /// When each of the waiting packets can be seen.
    visible: VecDeque<Time>,
    /// Bytes of the packet at the head that have been popped.
    popped: usize,
    /// What was counted.
    pub statistics: ReceiveStatistics,
}

impl ReceiveFifo {
    /// A FIFO that shows `window_words` words of 4 bytes at its head.
    pub fn new(times: Times, window_words: u32) -> Self {
        ReceiveFifo {
            times,
            window_bytes: u64::from(window_words) * 4,
            visible: VecDeque::new(),
            popped: 0,
            statistics: ReceiveStatistics::default(),
        }
    }

    /// Bytes of payload that are still to be popped behind the header at the
    /// head; none while the header is, or nothing has arrived.
    pub fn payload_left(&self, context: &Context<'_>) -> Option<usize> {
        let packet = self.head(context).ok()?;
        (packet.payload.len() + Header::BYTES).checked_sub(self.popped).filter(|_| self.popped > 0)
    }

    /// Pops the next bytes of the packet at the head into `bytes`, with zeros
    /// behind its end; a packet that has been popped to its end goes.
    pub fn pop(&mut self, context: &mut Context<'_>, bytes: &mut [u8]) -> Result<(), RegisterFault> {
        let packet = self.head(context)?;
        copy(packet, self.popped, bytes);
        let length = Header::BYTES + packet.payload.len();
        self.popped += bytes.len();
        if self.popped >= length {
            context.network.take();
            self.visible.pop_front();
            self.popped = 0;
        }
        Ok(())
    }

    fn is_ready(&self, now: Time) -> bool {
        self.visible.front().is_some_and(|&at| at <= now)
    }

    fn head<'a>(&self, context: &'a Context<'_>) -> Result<&'a Packet, RegisterFault> {
        if !self.is_ready(context.now) {
            return Err(RegisterFault("a read of the receive FIFO while STATUS shows no packet".into()));
        }
        Ok(context.network.front().expect("a visible packet waits"))
    }

    /// A doubleword of the window, which slides over the packet with each pop.
    fn look(&self, context: &Context<'_>, offset: u64) -> Result<u64, RegisterFault> {
        let mut bytes = [0; 8];
        copy(self.head(context)?, self.popped + offset as usize, &mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }
}

/// The packet's bytes from `start` on as the processor sees them: the header
/// names the source as the peer, and zeros follow the end.
fn copy(packet: &Packet, start: usize, bytes: &mut [u8]) {
    let header = packet.header.0.to_le_bytes();
    let (mut start, mut rest) = (start, bytes);
    for part in [&header[..], &packet.payload] {
        let source = part.get(start..).unwrap_or_default();
        let (target, behind) = rest.split_at_mut(source.len().min(rest.len()));
        target.copy_from_slice(&source[..target.len()]);
        (start, rest) = (start.saturating_sub(part.len()), behind);
    }
    rest.fill(0);
}

impl InterfaceHalf for ReceiveFifo {
    fn load(&mut self, context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        match offset {
            STATUS => Some(Ok(if self.is_ready(context.now) { STATUS_HAS_RECEIVED } else { 0 })),
            RECEIVE => {
                self.statistics.words.increment();
                let mut bytes = [0; 8];
                Some(self.pop(context, &mut bytes).map(|()| u64::from_le_bytes(bytes)))
            }
            RECEIVE_WINDOW.. if offset - RECEIVE_WINDOW < self.window_bytes => {
                Some(self.look(context, offset - RECEIVE_WINDOW))
            }
            _ => None,
        }
    }

    /// A packet at the head stays there until its last word is popped, and one that comes cannot be
    /// seen at once.
    fn independent_of_arrivals(
        &self,
        context: &Context<'_>,
        access: RegisterAccess,
        from: Time,
    ) -> Option<bool> {
        let is_ready = self.is_ready(context.now);
        let is_seen_later = || self.visible.is_empty() && context.now < from + self.times.receive;
        match access.offset {
            _ if access.kind != Kind::UncachedLoad => None,
            STATUS => Some(is_ready || is_seen_later()),
            RECEIVE => Some(
                self.head(context).is_ok_and(|packet| self.popped + 8 < Header::BYTES + packet.payload.len()),
            ),
            offset @ RECEIVE_WINDOW.. if offset - RECEIVE_WINDOW < self.window_bytes => Some(is_ready),
            _ => None,
        }
    }

    /// It sends nothing.
    fn time_to_send(&self) -> TimeToSend {
        TimeToSend::NONE
    }

    fn register_delay(&self) -> Duration {
        self.times.register_access
    }

    /// It is no master of its bus.
    fn time_to_interconnect(&self) -> Duration {
        Duration::MAX
    }

    fn network(&mut self, context: &mut Context<'_>) {
        while self.visible.len() < context.network.waiting() {
            let at = context.timer_after(self.times.receive);
            self.visible.push_back(at);
        }
    }
}

impl HalfDescription for ReceiveFifo {
    fn layout(&self) -> Layout {
        super::layout()
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    fn queue(&self) -> QueueState {
        QueueState::of("receive FIFO", self.visible.len() as u64, None)
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        let doing = match self.visible.front() {
            None => None,
            Some(_) if self.popped > 0 => Some("hands a packet out"),
            Some(&at) if at > now => Some("prepares a packet"),
            Some(_) => Some("waits for the processor"),
        };
        Some(Engine { doing, messages: self.visible.len() as u64 })
    }
}
