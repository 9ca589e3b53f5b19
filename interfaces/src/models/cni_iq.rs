//! `CNI_i Q`: cachable queues whose home is the interface (isca96, Section 3;
//! hpca98, Section 4).
//!
//! ```text
//!   processor cache ◄──── blocks, on a miss ────  memory of the interface (i blocks)
//!   processor cache ────── blocks, read ───────►  home of both queues
//! ```
//!
//! Processor and interface exchange messages a cache block at a time. The
//! interface has memory for i blocks of each queue and is their home: it serves
//! a processor's misses and takes its write-backs. "CNI512Q denotes a CNI with
//! no cache. Its send and receive queues contain 512 64-byte blocks" (hpca98,
//! Section 4); as its memory is large, it is as slow as main memory there
//! (Table 3, note a). A message that arrives makes the processor's old copy of
//! the entry go, an address-only transaction a block, and stays in the memory.
//! When the queue is full the interface takes no more packets, and the flow
//! control pushes back.
//!
//! The pointers are ordinary memory, which the interface caches; behind a
//! coherent I/O bus they are in the interface's memory too, because such a bus
//! does not let a device cache the processor's memory (isca96, Section 2.3). On a directory it
//! is the home of its queues and one of the caches that share the pointers.

use std::ops::Range;

use narthex_kernel::Duration;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, NO_COHERENCE, Problem, Setup};
use crate::attachment::Attachment;
use crate::cachable_queue::copies::Copies;
use crate::cachable_queue::deposit::Overflow;
use crate::cachable_queue::device_memory::DeviceMemory;
use crate::cachable_queue::pointers::Pointers;
use crate::cachable_queue::receive::CachableQueueReceive;
use crate::cachable_queue::send::CachableQueueSend;
use crate::cachable_queue::unread::Room;
use crate::cachable_queue::{self, MessageReady, Parts, QueueShape};
use crate::taxonomy::{self, Queue};

/// Why a name with a queue takes a CNI.
const NO_COHERENT_POINTERS: &str = "a queue with head and tail pointers is memory that processor and interface keep \
     coherent, which takes a CNI (isca96, Section 3)";

/// The parameters of an interface with queues in memory of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that the interface's memory needs for a block.
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
}

/// The queue at `address` in memory of the interface, and what goes with it:
/// `pointers` are the addresses of those that belong to this half.
fn parts(setup: &Setup<'_>, config: &Config, address: u64, pointers: Range<u64>) -> Result<Parts, Problem> {
    let block_bytes = setup.block_bytes as usize;
    let blocks = u64::from(setup.name.size);
    let queue =
        QueueShape::new(address, blocks, setup.packet_bytes, setup.block_bytes).map_err(Problem::of_name)?;
    let memory = |range| DeviceMemory::new(range, block_bytes, config.memory_access_time);
    let pointers = match setup.attachment {
        Attachment::IoBus => Pointers::at_home(memory(pointers), block_bytes),
        _ => Pointers::cached(setup.protocol, block_bytes),
    };
    Ok(Parts {
        agent: setup.agent,
        hearing: setup.hearing,
        addresses: setup.addresses,
        queue,
        copies: Copies::Home(memory(queue.range())),
        pointers,
        register_delay: config.register_access_time,
        engine_time: config.engine_time,
    })
}

fn send(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    let parts = parts(setup, &config, setup.addresses.send_queue(), setup.addresses.send_pointers())?;
    Ok(Box::new(CachableQueueSend::new(parts, config.message_ready)))
}

fn receive(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    let parts = parts(setup, &config, setup.addresses.receive_queue(), setup.addresses.receive_pointers())?;
    let room = Room::whole(&parts.queue);
    // Its memory holds the whole queue: nothing is ever in the way.
    Ok(Box::new(CachableQueueReceive::new(parts, config.deposit_time, Overflow::Bypass, room)))
}

/// Coherent interfaces that are the home of their queues.
pub static MODEL: Model = Model {
    section: "cni_iq",
    family: "CNI_i Q",
    summary: "cachable queues in memory of the interface (Wisconsin CNI without a cache)",
    examples: &["CNI16Q", "CNI512Q"],
    read: |text| {
        taxonomy::read(text, |name| match (name.coherent, name.queue, name.addition) {
            (true, Queue::Device, None) => Ok(Some("CNI{}Q")),
            (false, Queue::Device | Queue::Memory, _) => Err(NO_COHERENT_POINTERS),
            _ => Ok(None),
        })
    },
    programming: &cachable_queue::PROGRAMMING,
    attaches: |attachment| match attachment {
        Attachment::MemoryBus | Attachment::IoBus => Ok(()),
        Attachment::CacheBus | Attachment::Register => Err(NO_COHERENCE),
    },
    makes: Makes::Halves { send, receive },
    schema: || schema_for!(Config),
    sample: || {
        json!({
            "memory_access_time": "120ns",
            "register_access_time": "60ns",
            "engine_time": "40ns",
            "deposit_time": "120ns",
            "message_ready": "uncached-store",
        })
    },
};
