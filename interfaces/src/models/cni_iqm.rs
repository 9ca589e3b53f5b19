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
//! blocks)" (hpca98, Section 4). The queues themselves are larger and lie in main
//! memory, so that messages overflow into it without the processor. How, is the
//! difference between the studies: in 1996 the block in the way was written back
//! first, read or not; in 1998 a full receive cache is bypassed, and blocks of
//! dead messages are dropped. Both are an [`Overflow`].
//!
//! On a directory the interface's cache is a requester like a processor's. An invalidation, which
//! carries no bytes, gives it the ownership of a block that it replaces as a whole. It is told only
//! of blocks that it holds, so a long send queue is read when messages are announced, not before.
//!
//! **`+Throttle`** "throttles the sender to match the maximum message consumption
//! rate of the receiving NI" (hpca98, Table 5). The paper does not say how; this
//! is an assumption. The receive half takes a packet only if its cache has room
//! for it, and so never overflows; meanwhile packets stay in the flow control's
//! incoming buffers, and the flow control, whatever it is, holds the sender to
//! the receiver's rate. To find out about room costs an upgrade on the
//! processor's side and a read of the head, so a full engine looks only when the
//! processor has read half of the messages that the cache holds, and then takes
//! in as many at once: the processor finds the other half meanwhile.

use narthex_kernel::Duration;
use narthex_memory::cache::Cache;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, NO_COHERENCE, NO_MEMORY_HOME, Problem, Setup};
use crate::attachment::Attachment;
use crate::cachable_queue::copies::Copies;
use crate::cachable_queue::deposit::Overflow;
use crate::cachable_queue::pointers::Pointers;
use crate::cachable_queue::receive::CachableQueueReceive;
use crate::cachable_queue::send::CachableQueueSend;
use crate::cachable_queue::unread::Room;
use crate::cachable_queue::{self, MessageReady, Parts, QueueShape, in_memory};
use crate::taxonomy::{self, Addition, Queue};

/// The names of throttled interfaces.
pub const THROTTLED: &str = "CNI{}Qm+Throttle";

/// Why only these can be throttled.
const NOTHING_TO_THROTTLE: &str = "+Throttle keeps the cache of a CNI_i Qm from overflowing into main memory (hpca98, \
     Section 6.1.2), and there is none here";

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
    /// Time from the end of the engine's work until an arrived message is in the
    /// interface's memory.
    #[schemars(extend("half" = "receive"))]
    pub deposit_time: Duration,
    /// How messages are announced: "uncached-store" or "cachable-store".
    #[schemars(extend("half" = "send"))]
    pub message_ready: MessageReady,
    /// Blocks of the send queue in main memory.
    #[schemars(extend("half" = "send"))]
    pub send_queue_blocks: u64,
    /// Blocks of the receive queue in main memory.
    #[schemars(extend("half" = "receive"))]
    pub receive_queue_blocks: u64,
    /// What happens when the receive cache is full: "write-back", "bypass" or "bypass-unfetched".
    #[schemars(extend("half" = "receive"))]
    pub when_full: Overflow,
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

/// What goes with a queue in main memory.
fn parts(setup: &Setup<'_>, config: &Config, queue: QueueShape) -> Result<Parts, Problem> {
    let cache = cache(setup)?;
    Ok(Parts {
        agent: setup.agent,
        hearing: setup.hearing,
        addresses: setup.addresses,
        queue,
        copies: Copies::Cache { cache, access_time: config.memory_access_time },
        pointers: Pointers::cached(setup.protocol, setup.block_bytes as usize),
        register_delay: config.register_access_time,
        engine_time: config.engine_time,
    })
}

/// As many unread messages as the cache holds. They are all in the cache if its
/// lines are used in turn, which takes a queue of a whole number of caches.
fn throttled(setup: &Setup<'_>, config: &Config) -> Result<Room, Problem> {
    let lines = u64::from(setup.name.size);
    if !config.receive_queue_blocks.is_multiple_of(lines) {
        let problem = format!(
            "a queue of {} blocks is not a multiple of the {lines} blocks in the cache of {}",
            config.receive_queue_blocks, setup.name
        );
        return Err(Problem { key: "receive_queue_blocks".into(), problem });
    }
    let messages = lines * setup.block_bytes / setup.packet_bytes;
    Ok(Room { messages, batch: messages / 2, pause: Duration::ZERO })
}

fn send(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    let parts = parts(setup, &config, in_memory::send_queue(setup, config.send_queue_blocks)?)?;
    Ok(Box::new(CachableQueueSend::new(parts, config.message_ready)))
}

fn receive(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    let parts = parts(setup, &config, in_memory::receive_queue(setup, config.receive_queue_blocks)?)?;
    let room = match setup.name.form {
        THROTTLED => throttled(setup, &config)?,
        _ => Room::whole(&parts.queue),
    };
    Ok(Box::new(CachableQueueReceive::new(parts, config.deposit_time, config.when_full, room)))
}

/// Coherent interfaces that cache queues of main memory.
pub static MODEL: Model = Model {
    section: "cni_iqm",
    family: "CNI_i Qm",
    summary: "cachable queues in main memory, cached in the interface (Wisconsin CNI with a cache)",
    examples: &["CNI16Qm", "CNI32Qm", "CNI32Qm+Throttle"],
    read: |text| {
        taxonomy::read(text, |name| {
            let has_cache = name.coherent && name.size > 0 && name.queue == Queue::Memory;
            match name.addition {
                None => Ok(has_cache.then_some("CNI{}Qm")),
                Some(Addition::Throttle) if has_cache => Ok(Some(THROTTLED)),
                Some(Addition::Throttle) => Err(NOTHING_TO_THROTTLE),
                Some(_) => Ok(None),
            }
        })
    },
    programming: &cachable_queue::PROGRAMMING,
    attaches: |attachment| match attachment {
        Attachment::MemoryBus => Ok(()),
        Attachment::IoBus => Err(NO_MEMORY_HOME),
        Attachment::CacheBus | Attachment::Register => Err(NO_COHERENCE),
    },
    makes: Makes::Halves { send, receive },
    schema: || schema_for!(Config),
    sample: || {
        json!({
            "memory_access_time": "60ns",
            "register_access_time": "60ns",
            "engine_time": "40ns",
            "deposit_time": "60ns",
            "message_ready": "uncached-store",
            "send_queue_blocks": 64,
            "receive_queue_blocks": 64,
            "when_full": "bypass",
        })
    },
};
