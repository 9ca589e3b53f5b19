//! `CxlNic`: descriptor rings without doorbells, a NIC that caches blocks of its host (CXL, type 1).
//!
//! ```text
//!   driver ──► [ packet ][ descriptor ][ tail ]      host's memory
//!                                        │ the interface has its block (RdOwn);
//!                                        ▼ the driver's store takes it away (SnpInv): there is work
//!   interface: the tail again (RdOwn), descriptors and packets (RdCurr), what is done (ItoMWr)
//! ```
//!
//! A device of type 1 is a requester of CXL.cache: it may keep blocks of the host's memory in a cache,
//! and hears of it when a processor wants them (CXL 3.1, Sections 2.1 and 3.2). This interface is `Ring`
//! with one thing made of that: the tails of its rings are words of memory. The interface keeps their
//! blocks, and a store of the driver snoops the block out of the interface's cache, which is the
//! doorbell ([`tail`](crate::ring::tail)). So a processor stores to no register, but for the places and
//! sizes of the rings at the beginning. A store to a register crosses a link for each time that it is
//! made; a tail crosses once for what the driver did while the interface was busy. That a NIC on a
//! coherent link is told by coherence instead of by MMIO is what CC-NIC (Schuh et al., ASPLOS 2024) and
//! Rambda (Yuan et al., HPCA 2023: *cpoll*, a region whose ownership an accelerator keeps so that it
//! hears of stores) have shown.
//!
//! All else is as in [`crate::models::ring`], and for the same reasons. The interface keeps no copies of
//! descriptors and buffers: the tail hands over what it may read, it reads that once, and a copy would be
//! snooped out at the next lap. Packets and finished descriptors are pushed to the host in whole blocks,
//! so that no block is read before it is written.
//!
//! Where it is simpler than a real device: the cache has a block for each ring's tail and no others; the
//! block of the tail returns with its bytes when it is taken away (RspIFwdM), because the interface
//! cannot tell whether main memory has them.
//!
//! A device of type 2, with a queue in memory of its own that the host caches, is
//! [`crate::models::cxl_nic2`].

use narthex_kernel::Duration;
use narthex_memory::cache::Cache;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, NO_COHERENCE, NO_MEMORY_HOME, Setup, ring};
use crate::attachment::Attachment;
use crate::cachable_queue::copies::Copies;
use crate::name::Reading;
use crate::programming::{Driver, Firmware, Programming};
use crate::relaxed_ordering::RelaxedOrdering;
use crate::ring::{RECEIVE_REGISTERS, SEND_REGISTERS};

static PROGRAMMING: Programming = Programming {
    driver: Driver::apart("cxl_nic", "Descriptor rings whose tails the interface watches in memory."),
    registers: &[&SEND_REGISTERS, &RECEIVE_REGISTERS],
    constants: &[],
    facts: &[],
    requirements: &[],
    firmware: Firmware::NONE,
};

/// The parameters of an interface with descriptor rings whose tails are in memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that the interface's cache needs to supply the block with a tail.
    pub cache_access_time: Duration,
    /// Time that a register access takes beyond the bus's own cycles.
    pub register_access_time: Duration,
    /// Time that an engine works on a packet, on each side.
    pub engine_time: Duration,
    /// Descriptors of each ring that the interface has room for, from their fetch to the end of their
    /// packets.
    #[schemars(range(min = 1, max = 8192))]
    pub prefetch: u64,
    /// Reads of the send half under way at most, and packets whose buffers it has room for beside the one that
    /// leaves. A bus carries one at a time.
    #[schemars(range(min = 1, max = 64), extend("half" = "send"))]
    pub reads: u64,
    /// Descriptors of the send ring: a power of two.
    #[schemars(range(min = 64, max = 8192), extend("half" = "send"))]
    pub send_ring: u64,
    /// The most packets that the driver announces by one store to the send ring's tail.
    #[schemars(range(min = 1, max = 8192), extend("half" = "send"))]
    pub send_burst: u64,
    /// Descriptors from one that asks for a report to the next.
    #[schemars(range(min = 1, max = 8192), extend("half" = "send"))]
    pub report_threshold: u64,
    /// With fewer free descriptors than this the driver looks for a report.
    #[schemars(range(min = 1, max = 8192), extend("half" = "send"))]
    pub free_threshold: u64,
    /// Descriptors of the receive ring: a power of two.
    #[schemars(range(min = 64, max = 8192), extend("half" = "receive"))]
    pub receive_ring: u64,
    /// Buffers that the driver hands over together.
    #[schemars(range(min = 1, max = 8192), extend("half" = "receive"))]
    pub refill_threshold: u64,
    /// Number of receive descriptors that are done at which they are written back.
    #[schemars(range(min = 1, max = 8192), extend("half" = "receive"))]
    pub write_back_batch: u64,
    /// Time after which fewer are written back, from when the first of them is done.
    #[schemars(extend("half" = "receive"))]
    pub write_back_time: Duration,
}

impl Config {
    /// What it has in common with `Ring`.
    fn rings(&self) -> ring::Config {
        let Config {
            cache_access_time: _,
            register_access_time,
            engine_time,
            prefetch,
            reads,
            send_ring,
            send_burst,
            report_threshold,
            free_threshold,
            receive_ring,
            refill_threshold,
            write_back_batch,
            write_back_time,
        } = *self;
        ring::Config {
            register_access_time,
            engine_time,
            prefetch,
            reads,
            relaxed_ordering: RelaxedOrdering::None,
            send_ring,
            send_burst,
            report_threshold,
            free_threshold,
            receive_ring,
            refill_threshold,
            write_back_batch,
            write_back_time,
            notify: None,
            interrupt_moderation: None,
            interrupt_packets: None,
            receive_queues: None,
            receive_steering: None,
        }
    }

    /// A cache for the block with a tail.
    fn tail_copy(&self, setup: &Setup<'_>) -> Option<Copies> {
        let cache = Cache::with_geometry(setup.protocol, 1, 1, setup.block_bytes as usize);
        Some(Copies::Cache { cache, access_time: self.cache_access_time })
    }
}

fn send(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    config.rings().send_half(setup, config.tail_copy(setup))
}

fn receive(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    config.rings().receive_half(setup, config.tail_copy(setup))
}

/// Interfaces with descriptor rings whose tails are in memory.
pub static MODEL: Model = Model {
    section: "cxl_nic",
    family: "CxlNic",
    summary: "descriptor rings whose tails it watches in main memory, without doorbells (a NIC behind CXL, type 1)",
    examples: &["CxlNic"],
    read: |text| Reading::exactly(text, "CxlNic"),
    programming: &PROGRAMMING,
    attaches: |attachment| match attachment {
        Attachment::MemoryBus => Ok(()),
        Attachment::IoBus => Err(NO_MEMORY_HOME),
        Attachment::CacheBus | Attachment::Register => Err(NO_COHERENCE),
    },
    makes: Makes::Halves { send, receive },
    schema: || schema_for!(Config),
    sample: || {
        let mut sample = (ring::MODEL.sample)();
        sample["cache_access_time"] = json!("60ns");
        sample
    },
};
