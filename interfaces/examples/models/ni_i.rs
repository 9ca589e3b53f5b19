//! `NI_i`: FIFOs behind uncached registers, with memory for i blocks of packets
//! on their way out.
//!
//! ```text
//!   processor ── SEND ──► packet being written ──► i blocks of packets ──► network
//!   processor ◄─ RECEIVE ─ packets in the flow control's incoming buffers ◄──┘
//! ```
//!
//! No paper has it; it is an example. Unlike in `NI2w`, a packet that the flow
//! control holds back does not hold back the processor, until i blocks are full,
//! and the FIFOs take no time of their own.

use std::collections::VecDeque;

use narthex_fabrics::Header;
use narthex_kernel::Duration;
use narthex_kernel::statistics::StatisticSet;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, Problem, Setup};
use crate::description::{HalfDescription, Layout};
use crate::fifo::{self, RECEIVE, RECEIVE_WINDOW, SEND};
use crate::half::{Context, InterfaceHalf, RegisterFault};
use crate::queue::QueueState;
use crate::registers::{STATUS, STATUS_CAN_SEND, STATUS_HAS_RECEIVED};
use crate::taxonomy::{self, Queue, Simple};

/// The parameters of an interface that buffers packets on their way out.
#[derive(Clone, Hash, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that a register access takes beyond the bus's own cycles.
    pub register_access_time: Duration,
}

narthex_kernel::statistics! {
    /// What the send half did.
    pub struct SendStatistics {
        held_back: Counter, "packets_held_back", "packets", "packets that had to wait in the interface for the flow control";
    }
}

narthex_kernel::statistics! {
    /// What the receive half did.
    pub struct ReceiveStatistics {
        packets: Counter, "packets_read", "packets", "packets that the processor has read completely";
    }
}

/// The send half: the packet that is being written, and complete ones that wait.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Send {
    config: Config,
    /// Complete packets that fit.
    capacity: usize,
    payload_limit: usize,
    writing: Option<(Header, Vec<u8>)>,
    waiting: VecDeque<(Header, Vec<u8>)>,
    statistics: SendStatistics,
}

impl Send {
    /// The processor stores the next doubleword of a packet.
    fn push(&mut self, context: &mut Context<'_>, word: u64) -> Result<(), RegisterFault> {
        if self.waiting.len() == self.capacity {
            return Err(RegisterFault("a store to SEND while STATUS shows no room".into()));
        }
        let (header, mut payload) = match self.writing.take() {
            None => {
                let header = Header(word);
                context.check(header, self.payload_limit)?;
                (header, Vec::new())
            }
            Some((header, mut payload)) => {
                payload.extend_from_slice(&word.to_le_bytes());
                (header, payload)
            }
        };
        if payload.len() < header.payload_bytes() {
            self.writing = Some((header, payload));
            return Ok(());
        }
        payload.truncate(header.payload_bytes());
        if !context.network.can_send(header.peer()) {
            self.statistics.held_back.increment();
        }
        self.waiting.push_back((header, payload));
        self.inject(context);
        Ok(())
    }

    /// Hands packets to the flow control, in order, as far as it takes them.
    fn inject(&mut self, context: &mut Context<'_>) {
        while let Some((header, _)) = self.waiting.front()
            && context.network.can_send(header.peer())
        {
            let (header, payload) = self.waiting.pop_front().expect("just seen");
            context.network.send(header, payload);
        }
    }
}

impl InterfaceHalf for Send {
    fn load(&mut self, _context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        let room = self.waiting.len() < self.capacity;
        (offset == STATUS).then_some(Ok(if room { STATUS_CAN_SEND } else { 0 }))
    }

    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        (offset == SEND).then(|| self.push(context, value))
    }

    fn register_delay(&self) -> Duration {
        self.config.register_access_time
    }

    /// The flow control has room that it had not before.
    fn network(&mut self, context: &mut Context<'_>) {
        self.inject(context);
    }
}

impl HalfDescription for Send {
    fn layout(&self) -> Layout {
        fifo::layout()
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    fn queue(&self) -> QueueState {
        let first = self.waiting.front().map(|(header, _)| header.peer());
        QueueState::of("send FIFO", self.waiting.len() as u64, Some(self.capacity as u64)).held_for(first)
    }
}

/// The receive half: a window onto the oldest packet that has arrived.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Receive {
    config: Config,
    /// Doublewords of that packet that have been read.
    words_read: usize,
    statistics: ReceiveStatistics,
}

impl Receive {
    /// The next doubleword of the oldest packet: its header first, then its payload.
    fn look(&self, context: &Context<'_>) -> Result<u64, RegisterFault> {
        let Some(packet) = context.network.front() else {
            return Err(RegisterFault("a load of RECEIVE while STATUS shows no packet".into()));
        };
        Ok(match self.words_read.checked_sub(1) {
            None => packet.header.0,
            Some(index) => doubleword(packet.payload.chunks(8).nth(index).unwrap_or_default()),
        })
    }

    /// The same, and the next load finds what follows.
    fn pop(&mut self, context: &mut Context<'_>) -> Result<u64, RegisterFault> {
        let word = self.look(context)?;
        let payload_bytes = context.network.front().map_or(0, |packet| packet.payload.len());
        self.words_read += 1;
        if self.words_read > payload_bytes.div_ceil(8) {
            context.network.take();
            self.words_read = 0;
            self.statistics.packets.increment();
        }
        Ok(word)
    }
}

/// Up to eight bytes of a payload, filled up with zeros.
fn doubleword(chunk: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..chunk.len()].copy_from_slice(chunk);
    u64::from_le_bytes(bytes)
}

impl InterfaceHalf for Receive {
    fn load(&mut self, context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        let arrived = context.network.front().is_some();
        match offset {
            STATUS => Some(Ok(if arrived { STATUS_HAS_RECEIVED } else { 0 })),
            RECEIVE => Some(self.pop(context)),
            RECEIVE_WINDOW => Some(self.look(context)),
            _ => None,
        }
    }

    fn register_delay(&self) -> Duration {
        self.config.register_access_time
    }
}

impl HalfDescription for Receive {
    fn layout(&self) -> Layout {
        fifo::layout()
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    fn queue(&self) -> QueueState {
        let read = format!("{} doublewords of the oldest packet have been read", self.words_read);
        QueueState::of("receive FIFO", u64::from(self.words_read > 0), None).with_note(read)
    }
}

fn send(setup: &Setup<'_>) -> Built {
    let blocks = u64::from(setup.name.size);
    let capacity = blocks * setup.block_bytes / setup.packet_bytes;
    if capacity == 0 {
        let least = setup.packet_bytes.div_ceil(setup.block_bytes);
        let name = setup.name;
        return Err(Problem::of_name(format!(
            "{name} would hold {blocks} blocks, less than a packet; at least {least} are needed"
        )));
    }
    Ok(Box::new(Send {
        config: super::config(setup)?,
        capacity: capacity as usize,
        payload_limit: setup.packet_bytes as usize - Header::BYTES,
        writing: None,
        waiting: VecDeque::new(),
        statistics: SendStatistics::default(),
    }))
}

fn receive(setup: &Setup<'_>) -> Built {
    let statistics = ReceiveStatistics::default();
    Ok(Box::new(Receive { config: super::config(setup)?, words_read: 0, statistics }))
}

/// FIFO interfaces that buffer packets on their way out.
pub static MODEL: Model = Model {
    section: "ni_i",
    family: "NI_i",
    summary: "a FIFO behind uncached registers with a buffer for packets on their way out (example)",
    examples: &["NI4", "NI16"],
    read: |text| {
        taxonomy::read(text, |name| match name {
            Simple { coherent: false, words: false, queue: Queue::None, addition: None, .. } => {
                Ok(Some("NI{}"))
            }
            _ => Ok(None),
        })
    },
    programming: &fifo::PROGRAMMING,
    attaches: |_| Ok(()),
    makes: Makes::Halves { send, receive },
    schema: || schema_for!(Config),
    sample: || json!({ "register_access_time": "60ns" }),
};

#[cfg(test)]
mod tests {
    use crate::interface::{Chip, Interface, Surroundings};
    use crate::{Attachment, Hearing, Share};
    use narthex_kernel::Duration;
    use narthex_memory::{AgentId, protocols};
    use serde_json::json;

    fn build(name: &str) -> Result<Interface, String> {
        let sections = json!({ "ni_i": { "register_access_time": "60ns" } });
        let node = Surroundings {
            sections: sections.as_object().unwrap(),
            nodes: 2,
            processes: 1,
            share: Share::WHOLE,
            first_agent: AgentId(1),
            attachment: Attachment::MemoryBus,
            hearing: Hearing::All,
            overlaps: false,
            merges_writes: false,
            knows_relaxed_ordering: false,
            no_interrupts: Some("this node has none"),
            protocol: protocols::by_name("MOESI").unwrap(),
            block_bytes: 64,
            packet_bytes: 256,
            time_without_progress: Duration::from_ns(10_000_000),
            local_memory: None,
            dma_engine: None,
            chip: Chip::ALONE,
        };
        Interface::build(name.parse().unwrap(), &node).map_err(|error| error.to_string())
    }

    #[test]
    fn sixteen_blocks_hold_four_packets() {
        assert!(format!("{:?}", build("NI16").unwrap()).contains("0 of 4 entries"));
    }

    #[test]
    fn less_than_a_packet_is_refused_with_what_is_allowed() {
        assert!(build("NI2").unwrap_err().contains("at least 4 are needed"));
    }
}
