//! `CNI_0 Qm`: queues in main memory that the interface does not cache (hpca98,
//! Section 4).
//!
//! ```text
//!   send:     processor cache ──── Read ────► interface ──► network
//!   receive:  network ──► interface ── WriteBlock ──► main memory ── miss ──► processor cache
//! ```
//!
//! "The '0' in CNI0Qm indicates that CNI0Qm does not cache any message in the
//! NI"; it "approximates the data transfer and buffering characteristics of the
//! MIT StarT-JR NI". The processor sees the same cachable queues as with other
//! coherent interfaces. The interface moves whole blocks between them and the
//! network but keeps none, and does not see what others do on the bus:
//! - it "cannot prefetch cache blocks of a message" (hpca98, Section 6.1.1) and
//!   reads them one by one after the message ready signal, an uncached store;
//!   the cache or memory that has a block supplies it and keeps it. With an
//!   ordinary coherent read the processor's cache no longer has the only copy: it
//!   needs an upgrade before it writes the block again. A read that asks for no copy
//!   leaves it the right to write; `fetch` says which one the bus has;
//! - an arriving message goes to memory, which makes the processor's old copies
//!   go, the block with the header last;
//! - the pointers, too, are in memory. The interface shows its head of the send
//!   queue after each half of it, and reads the processor's head of the receive
//!   queue when that queue looks full: once, and again after a pause, because it
//!   cannot see it change.

use narthex_kernel::Duration;
use narthex_memory::Kind;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, NO_COHERENCE, Problem, Setup};
use crate::attachment::Attachment;
use crate::cachable_queue::copies::Copies;
use crate::cachable_queue::deposit::Overflow;
use crate::cachable_queue::pointers::Pointers;
use crate::cachable_queue::receive::CachableQueueReceive;
use crate::cachable_queue::send::CachableQueueSend;
use crate::cachable_queue::unread::Room;
use crate::cachable_queue::{self, MessageReady, Parts, QueueShape, in_memory};
use crate::taxonomy::{self, Queue};

/// How an interface that keeps no copies reads a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fetch {
    /// As a cache would: a processor that owns the block shares it from then on.
    Read,
    /// By a transaction that asks for no copy: nobody's rights change.
    ReadOnce,
}

impl Fetch {
    fn kind(self) -> Kind {
        match self {
            Fetch::Read => Kind::Read,
            Fetch::ReadOnce => Kind::ReadOnce,
        }
    }
}

/// The parameters of an interface that moves blocks between memory and network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that a register access takes beyond the bus's own cycles.
    pub register_access_time: Duration,
    /// Time that an engine works on a message, on each side.
    pub engine_time: Duration,
    /// How the interface reads blocks: "read" or "read-once".
    pub fetch: Fetch,
    /// Blocks of the send queue in main memory.
    #[schemars(extend("half" = "send"))]
    pub send_queue_blocks: u64,
    /// Blocks of the receive queue in main memory.
    #[schemars(extend("half" = "receive"))]
    pub receive_queue_blocks: u64,
    /// Time from a look at the head of a full receive queue to the next one.
    #[schemars(extend("half" = "receive"))]
    pub head_pause: Duration,
}

/// What goes with a queue in main memory.
fn parts(setup: &Setup<'_>, config: &Config, queue: QueueShape) -> Parts {
    let fetch = config.fetch.kind();
    Parts {
        agent: setup.agent,
        hearing: setup.hearing,
        addresses: setup.addresses,
        queue,
        copies: Copies::Passing { blocks: Vec::new(), fetch },
        pointers: Pointers::in_memory(setup.block_bytes as usize, fetch),
        register_delay: config.register_access_time,
        engine_time: config.engine_time,
    }
}

fn send(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    let parts = parts(setup, &config, in_memory::send_queue(setup, config.send_queue_blocks)?);
    Ok(Box::new(CachableQueueSend::new(parts, MessageReady::UncachedStore)))
}

/// Refuses an interface that would never stop to look at the head.
pub(super) fn check_pause(pause: Duration) -> Result<(), Problem> {
    match pause {
        Duration::ZERO => {
            let problem = "without a pause a full interface would fill the bus with reads of the head";
            Problem::refuse("head_pause", problem)
        }
        _ => Ok(()),
    }
}

fn receive(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    check_pause(config.head_pause)?;
    let parts = parts(setup, &config, in_memory::receive_queue(setup, config.receive_queue_blocks)?);
    let room = Room { pause: config.head_pause, ..Room::whole(&parts.queue) };
    // A packet goes from the flow control's buffer to memory without a stop.
    Ok(Box::new(CachableQueueReceive::new(parts, Duration::ZERO, Overflow::Bypass, room)))
}

/// Interfaces with queues in main memory that cache nothing.
pub static MODEL: Model = Model {
    section: "cni_0qm",
    family: "CNI_0 Qm",
    summary: "cachable queues in main memory, not cached in the interface (MIT StarT-JR)",
    examples: &["CNI0Qm"],
    read: |text| {
        taxonomy::read(text, |name| {
            let is_mine = name.coherent && name.size == 0 && name.queue == Queue::Memory;
            Ok((is_mine && name.addition.is_none()).then_some("CNI0Qm"))
        })
    },
    programming: &cachable_queue::PROGRAMMING,
    attaches: |attachment| match attachment {
        // Not a cache: "the StarT-JR NI resides on the I/O bus" (hpca98, Section 4).
        Attachment::MemoryBus | Attachment::IoBus => Ok(()),
        Attachment::CacheBus | Attachment::Register => Err(NO_COHERENCE),
    },
    makes: Makes::Halves { send, receive },
    schema: || schema_for!(Config),
    sample: || {
        json!({
            "register_access_time": "60ns",
            "engine_time": "40ns",
            "fetch": "read",
            "send_queue_blocks": 64,
            "receive_queue_blocks": 64,
            "head_pause": "500ns",
        })
    },
};
