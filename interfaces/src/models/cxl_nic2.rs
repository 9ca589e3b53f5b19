//! `CxlNic2`: queues without registers, a NIC with memory that its host caches (CXL, type 2).
//!
//! ```text
//!   send:     processor's cache ── packet, header last, flushed: MemWr ──► memory of the interface ──► network
//!   receive:  network ──► interface ── ItoMWr, header last ──► host's memory, or its last level of cache
//! ```
//!
//! A device of type 2 has memory of its own that the host may cache (HDM-DB: host-managed device memory,
//! of which the device is the home, and whose copies it takes back by BISnp; CXL 3.1, Sections 2.2 and
//! 3.3), and caches the host's memory as one of type 1 does. Each queue is where the reader is:
//! - **The send queue is in the interface.** A packet is its own descriptor: a header with the length and
//!   a valid bit, in front of the payload. The driver writes the header last, and flushes the packet's
//!   blocks, the header's last of all. So they come home (MemWr), and the last of them announces the
//!   packet: one way over the link, where a descriptor ring takes a doorbell, a descriptor and the packet,
//!   five ways. No flush is needed to be right: a block of the packet that has not come home is taken back
//!   (BISnpData), and a header that a cache gives up by itself announces as well.
//! - **The receive queue is in the host**, and packets are pushed into it, the header last (ItoMWr,
//!   which replaces a whole block without reading it): the processor polls in its cache. A queue in
//!   the interface's memory would be read across the link, a block at a time, when the packet is there.
//! - **Heads are in the host's memory too**, and are lazy: the interface writes its own after each half
//!   of the send queue, and reads the processor's when the receive queue looks full.
//!
//! The right to write a block is what is left to wait for: the driver needs it for the next packet (MemRd,
//! Cmp-E). So it takes the blocks of the next packet, as many as this one has, as soon as this one is on its
//! way, by storing into each behind the header's place.
//!
//! A device architect has both kinds of memory to choose from. Ji, Yuan, Zhou, Jeong, Wang, Agarwal and
//! Kim ("Re-architecting End-host Networking with CXL: Coherence, Memory, and Offloading", MICRO 2025)
//! build NICs of both types. The queues are those of the coherent interfaces of 1996
//! ([`crate::cachable_queue`]): lazy heads, valid bits, and a sense that alternates; what is new is that
//! the processor hands its blocks over, and the interface need not ask.
//!
//! Where it is simpler than a real device: the host keeps no copy of a block that it has flushed, because the
//! home of a directory would not know of it (with one, that is a clean copy by CLWB, the next packet would
//! need no MemRd); the engine sees a block as it comes, and the memory's time is part of the answer to the
//! host alone; blocks of a packet are pushed one after the other; one pair of queues a process.

use narthex_kernel::Duration;
use narthex_memory::Kind;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, NO_COHERENCE, Setup, cni_0qm};
use crate::attachment::Attachment;
use crate::cachable_queue::copies::Copies;
use crate::cachable_queue::deposit::Overflow;
use crate::cachable_queue::device_memory::DeviceMemory;
use crate::cachable_queue::pointers::Pointers;
use crate::cachable_queue::receive::CachableQueueReceive;
use crate::cachable_queue::send::CachableQueueSend;
use crate::cachable_queue::unread::Room;
use crate::cachable_queue::{Announcement, OVERFLOWS, Parts, QueueShape, in_memory};
use crate::name::Reading;
use crate::programming::{Driver, Firmware, Programming};

static PROGRAMMING: Programming = Programming {
    driver: Driver::apart("cxl_nic2", "Queues whose blocks the processor flushes to the interface."),
    registers: &[],
    constants: &[],
    facts: &[OVERFLOWS],
    requirements: &[],
    firmware: Firmware::NONE,
};

/// The parameters of an interface with a send queue in memory of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that the interface's memory needs for a block.
    #[schemars(extend("half" = "send"))]
    pub memory_access_time: Duration,
    /// Time that an engine works on a message, on each side.
    pub engine_time: Duration,
    /// Blocks of the send queue in the interface's memory.
    #[schemars(extend("half" = "send"))]
    pub send_queue_blocks: u64,
    /// Blocks of the receive queue in main memory.
    #[schemars(extend("half" = "receive"))]
    pub receive_queue_blocks: u64,
    /// Time from a look at the head of a full receive queue to the next one.
    #[schemars(extend("half" = "receive"))]
    pub head_pause: Duration,
}

/// What goes with a queue. The interface moves pointers to and from main memory, and keeps no copies of them.
fn parts(setup: &Setup<'_>, config: &Config, queue: QueueShape, copies: Copies) -> Parts {
    Parts {
        agent: setup.agent,
        hearing: setup.hearing,
        addresses: setup.addresses,
        queue,
        copies,
        pointers: Pointers::in_memory(setup.block_bytes as usize, Kind::ReadOnce),
        register_delay: Duration::ZERO,
        engine_time: config.engine_time,
    }
}

fn send(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    let queue = in_memory::send_queue(setup, config.send_queue_blocks)?;
    let memory = DeviceMemory::new(queue.range(), setup.block_bytes as usize, config.memory_access_time);
    let parts = parts(setup, &config, queue, Copies::Home(memory));
    Ok(Box::new(CachableQueueSend::new(parts, Announcement::ValidBit)))
}

fn receive(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    cni_0qm::check_pause(config.head_pause)?;
    let queue = in_memory::receive_queue(setup, config.receive_queue_blocks)?;
    let copies = Copies::Passing { blocks: Vec::new(), fetch: Kind::ReadOnce };
    let room = Room { pause: config.head_pause, ..Room::whole(&queue) };
    let parts = parts(setup, &config, queue, copies);
    Ok(Box::new(CachableQueueReceive::new(parts, Duration::ZERO, Overflow::Bypass, room)))
}

/// Interfaces with a send queue in memory of their own, whose blocks come home.
pub static MODEL: Model = Model {
    section: "cxl_nic2",
    family: "CxlNic2",
    summary: "queues that each side writes where the other reads, without registers (a NIC behind CXL, type 2)",
    examples: &["CxlNic2"],
    read: |text| Reading::exactly(text, "CxlNic2"),
    programming: &PROGRAMMING,
    attaches: |attachment| match attachment {
        Attachment::MemoryBus | Attachment::IoBus => Ok(()),
        Attachment::CacheBus | Attachment::Register => Err(NO_COHERENCE),
    },
    makes: Makes::Halves { send, receive },
    schema: || schema_for!(Config),
    sample: || {
        json!({
            "memory_access_time": "60ns",
            "engine_time": "40ns",
            "send_queue_blocks": 16,
            "receive_queue_blocks": 16,
            "head_pause": "500ns",
        })
    },
};
