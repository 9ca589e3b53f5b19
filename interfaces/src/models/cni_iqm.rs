//! `CNI_i Qm`: cachable queues whose home is main memory, cached in the
//! interface (isca96, Section 3; hpca98, Section 4).
//!
//! ```text
//!   processor cache ◄──── cache to cache ────► interface cache (i blocks a queue)
//!          ▲                                            │
//!          └──────────── main memory ◄── overflow ──────┘
//! ```
//!
//! "CNI32Qm is a CNI with a cache. That is, memory on the NI for both the send
//! and receive queues is treated as 32-entry caches (with 64 byte cache
//! blocks)." The queues themselves are larger and lie in main memory, so that
//! messages overflow into it without the processor: a full receive cache is
//! bypassed, and blocks of dead messages are dropped rather than written back
//! (hpca98, Section 4). The rules are in [`crate::cachable_queue::receive`].

use narthex_kernel::Duration;
use narthex_memory::cache::Cache;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Model, NO_COHERENCE, NO_MEMORY_HOME, Problem, Setup};
use crate::cachable_queue::copies::Copies;
use crate::cachable_queue::pointers::Pointers;
use crate::cachable_queue::receive::CachableQueueReceive;
use crate::cachable_queue::send::CachableQueueSend;
use crate::cachable_queue::{MessageReady, Parts, QueueShape};
use crate::attachment::Attachment;
use crate::taxonomy::Queue;

/// The parameters of an interface that caches queues of main memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that the interface's cache needs to supply a block.
    pub memory_access_time: Duration,
    /// Time that a register access takes beyond the bus's own cycles.
    pub register_access_time: Duration,
    /// Time that an engine works on a message, on each side.
    pub engine_time: Duration,
    /// How messages are announced: "uncached-store" or "cachable-store".
    pub message_ready: MessageReady,
    /// Blocks of each queue in main memory.
    pub queue_blocks: u64,
}

/// The interface's cache for one queue.
fn cache(setup: &Setup<'_>) -> Result<Cache, Problem> {
    let lines = u64::from(setup.name.size);
    let message = setup.packet_bytes / setup.block_bytes;
    if lines < message || !lines.is_power_of_two() || lines > 1 << 20 {
        return Err(Problem::of_name(format!(
            "its cache would hold {lines} blocks; a cache holds a power of two of blocks, from {message} \
             (one message) to 1048576"
        )));
    }
    Ok(Cache::with_geometry(setup.protocol, lines as usize, 1, setup.block_bytes as usize))
}

/// The queue at `address` in main memory, and what goes with it.
fn parts(setup: &Setup<'_>, config: &Config, address: u64) -> Result<Parts, Problem> {
    let cache = cache(setup)?;
    let queue = QueueShape::new(address, config.queue_blocks, setup.packet_bytes, setup.block_bytes)
        .map_err(|problem| Problem { key: "queue_blocks".into(), problem })?;
    Ok(Parts {
        agent: setup.agent,
        addresses: setup.addresses,
        queue,
        copies: Copies::Cache { cache, access_time: config.memory_access_time },
        pointers: Pointers::new(setup.protocol, setup.block_bytes as usize),
        register_delay: config.register_access_time,
        engine_time: config.engine_time,
    })
}

fn send(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    let parts = parts(setup, &config, setup.addresses.send_queue())?;
    Ok(Box::new(CachableQueueSend::new(parts, config.message_ready)))
}

fn receive(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    let parts = parts(setup, &config, setup.addresses.receive_queue())?;
    Ok(Box::new(CachableQueueReceive::new(parts, config.memory_access_time)))
}

/// Coherent interfaces that cache queues of main memory.
pub static MODEL: Model = Model {
    section: "cni_iqm",
    family: "CNI_i Qm",
    summary: "cachable queues in main memory, cached in the interface (Wisconsin CNI with a cache)",
    examples: &["CNI16Qm", "CNI32Qm"],
    claims: |name| {
        name.coherent && !name.words && name.size > 0 && name.queue == Queue::Memory && name.addition.is_none()
    },
    attaches: |attachment| match attachment {
        Attachment::MemoryBus => Ok(()),
        Attachment::IoBus => Err(NO_MEMORY_HOME),
        Attachment::CacheBus | Attachment::Register => Err(NO_COHERENCE),
    },
    send,
    receive,
    schema: || schema_for!(Config),
    sample: || {
        json!({
            "memory_access_time": "60ns",
            "register_access_time": "60ns",
            "engine_time": "40ns",
            "message_ready": "uncached-store",
            "queue_blocks": 64,
        })
    },
};
