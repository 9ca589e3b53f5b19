//! The send FIFO: the packet that is being written, then the same packet on its
//! way out. It is the whole send half of `NI_i w`.

use narthex_fabrics::Header;
use narthex_kernel::Duration;
use narthex_kernel::Time;
use narthex_kernel::statistics::StatisticSet;
use narthex_memory::Kind;
use serde::{Deserialize, Serialize};

use super::{SEND, Times};
use crate::description::{Engine, HalfDescription, Layout};
use crate::half::{Context, InterfaceHalf, RegisterAccess, RegisterFault, TimeToSend, Trigger};
use crate::queue::QueueState;
use crate::registers::{STATUS, STATUS_CAN_SEND};

narthex_kernel::statistics! {
    /// What the send half did.
    pub struct SendStatistics {
        status_loads: Counter, "send_status_loads", "loads", "loads of the status register";
        words: Counter, "doublewords_sent", "doublewords", "doublewords written to the send register";
        blocks: Counter, "blocks_sent", "blocks", "blocks of packets that block stores or user-level DMA moved";
    }
}

/// The send FIFO.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct SendFifo {
    times: Times,
    payload_limit: usize,
    header: Option<Header>,
    payload: Vec<u8>,
    /// When the complete packet may be injected.
    done: Option<Time>,
    /// What was counted.
    pub statistics: SendStatistics,
}

impl SendFifo {
    /// An empty FIFO for packets of `packet_bytes`.
    pub fn new(times: Times, packet_bytes: u64) -> Self {
        SendFifo {
            times,
            payload_limit: packet_bytes as usize - Header::BYTES,
            header: None,
            payload: Vec::new(),
            done: None,
            statistics: SendStatistics::default(),
        }
    }

    /// Bytes of payload that the packet being written still lacks; none while
    /// no header has been written, or no more is to come.
    pub fn missing(&self) -> Option<usize> {
        let header = self.header.filter(|_| self.done.is_none())?;
        Some(header.payload_bytes() - self.payload.len())
    }

    /// Whether a header is sound, and more than it is to come.
    fn begins_packet(&self, context: &Context<'_>, header: Header) -> bool {
        header.payload_bytes() > 0 && context.check(header, self.payload_limit).is_ok()
    }

    /// Pushes the next bytes of a packet, the header's eight first; what is
    /// beyond its end does not count.
    pub fn push(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Result<(), RegisterFault> {
        if self.done.is_some() {
            return Err(RegisterFault("a write to the send FIFO while STATUS shows no room".into()));
        }
        let (header, payload) = match self.header {
            Some(header) => (header, bytes),
            None => {
                let header = Header::of(bytes);
                context.check(header, self.payload_limit)?;
                self.payload.reserve(header.payload_bytes());
                (*self.header.insert(header), &bytes[Header::BYTES..])
            }
        };
        let missing = header.payload_bytes() - self.payload.len();
        self.payload.extend_from_slice(&payload[..missing.min(payload.len())]);
        if payload.len() >= missing {
            self.done = Some(context.timer_after(self.times.send));
        }
        Ok(())
    }

    fn inject(&mut self, context: &mut Context<'_>) {
        let Some(header) = self.header else { return };
        if self.done.is_some_and(|done| done <= context.now) && context.network.can_send(header.peer()) {
            context.network.send(header, std::mem::take(&mut self.payload));
            self.header = None;
            self.done = None;
        }
    }
}

impl InterfaceHalf for SendFifo {
    fn load(&mut self, context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        if offset != STATUS {
            return None;
        }
        self.statistics.status_loads.increment();
        let room = self.done.is_none() && context.network.has_room();
        Some(Ok(if room { STATUS_CAN_SEND } else { 0 }))
    }

    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        if offset != SEND {
            return None;
        }
        self.statistics.words.increment();
        Some(self.push(context, &value.to_le_bytes()))
    }

    /// Room does not go, and words are collected, but for the last, which asks for an instant.
    fn independent_of_arrivals(
        &self,
        context: &Context<'_>,
        access: RegisterAccess,
        _: Time,
    ) -> Option<bool> {
        match (access.offset, access.kind) {
            (STATUS, Kind::UncachedLoad) => Some(self.done.is_none() && context.network.keeps_room()),
            (SEND, Kind::UncachedStore) => Some(match self.header {
                None => self.begins_packet(context, Header(access.value)),
                Some(_) => self.missing().is_some_and(|missing| missing > 8),
            }),
            _ => None,
        }
    }

    fn time_to_send(&self) -> TimeToSend {
        TimeToSend { time: self.times.send, cause: Trigger::Access, awaits_room: self.done.is_some() }
    }

    fn register_delay(&self) -> Duration {
        self.times.register_access
    }

    /// It is no master of its bus.
    fn time_to_interconnect(&self) -> Duration {
        Duration::MAX
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.inject(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        self.inject(context);
    }
}

impl HalfDescription for SendFifo {
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
        let whole = self.header.filter(|_| self.done.is_some());
        let note = if self.header.is_some() && whole.is_none() { "part of a packet is written" } else { "" };
        QueueState::of("send FIFO", u64::from(whole.is_some()), Some(1))
            .in_front_of_the_network()
            .held_for(whole.map(Header::peer))
            .with_note(note)
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        let doing = match (self.header, self.done) {
            (None, _) => None,
            (Some(_), None) => Some("takes a packet in"),
            (Some(_), Some(done)) if done > now => Some("prepares a packet"),
            (Some(_), Some(_)) => Some("waits for the flow control"),
        };
        Some(Engine { doing, messages: self.header.is_some().into() })
    }
}
