//! `Ring`: descriptor rings and doorbells, the network interface of today's hosts.
//!
//! ```text
//!               send ring                                          receive ring
//!   driver ──► [ buffer, length ] ── tail ──► interface   driver ──► [ buffer ] ── tail ──► interface
//!              [ ...            ]   a burst                          [ ...    ]   32 at a time
//!   interface: reads descriptors, by blocks and ahead     interface: reads descriptors, by blocks
//!              reads the buffer, sends it                            writes a packet to its buffer
//!              writes DONE where REPORT was asked for                writes length and DONE, in batches
//!   driver:    looks for DONE when it runs out            driver:    polls the next descriptor for DONE
//! ```
//!
//! Each process has a pair of rings: circular queues of descriptors of 16 bytes in main memory. A
//! head and a tail, which move around the ring, tell which descriptors belong to the interface. The
//! driver stores the tail to a register, the *doorbell*, and never reads a head: it learns from
//! memory which descriptors are done. Intel's controllers are programmed in this way since the 8254x:
//! descriptors of 16 bytes with a command bit "report status" and a status bit "descriptor done",
//! tail registers, and thresholds for prefetching and for writing back (Intel 82599 10 GbE Controller
//! Datasheet, Sections 7.1 and 7.2). The bandwidth model of Neugebauer et al. (Understanding PCIe
//! performance for end host networking, SIGCOMM 2018; `niantic.py` of pcie-bench/pcie-model) says how
//! drivers use them: the controller fetches up to 40 transmit descriptors at a time and writes them
//! back by 8, and writes a receive descriptor back at once; a polling driver sends by 32, hands
//! buffers over by 32, takes no interrupts and reads no heads.
//!
//! The interface moves whole coherence blocks only: it reads without keeping a copy (`read_once`) and
//! replaces (`write_block`). So it may be behind an I/O bus or on a directory. On PCIe it could write
//! 16 bytes of a block, which the host would merge with the rest by a read for ownership. Controllers
//! avoid that where they can: they write back full cache lines of descriptors, and pad packets to
//! whole lines (the flag IBV_WQ_FLAGS_PCI_WRITE_END_PADDING of libibverbs). This interface always
//! does:
//! - a buffer begins with a block, and the rest of a packet's last block is written with zeros;
//! - receive descriptors are handed over by whole blocks. So the descriptors of a block that are not
//!   done still belong to the interface, and it writes them back as it has read them;
//! - only the last send descriptor of a block may ask for a report.
//!
//! So there is never a read for ownership of a part of a block. A batch that ends within a block, by
//! its time limit or its size, writes that block again later.
//!
//! Where its interconnect carries several transactions of a port (a link, a directory), the send half
//! may have several reads under way ([`send`](crate::ring::send)), as those controllers have: a read
//! over a link takes long, and the blocks of a packet are read at the same time. The receive half has
//! one transaction under way; over a link its writes are posted.
//!
//! The driver polls, as the messaging library does over all interfaces. Behind a PCIe link it may wait for an
//! interrupt when it finds nothing (`notify`, [`interrupts`](crate::ring::interrupts)).
//!
//! **Steering.** A packet goes to the process that it names, whose rings are its own. A process may have several
//! receive queues, for several threads or classes of sources: `receive_steering = "rss"` chooses one of
//! `receive_queues` by a hash and a table that the driver writes ([`steering`](crate::ring::steering)).

use narthex_kernel::Duration;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, NO_COHERENCE, Notify, Problem, Setup, check_under_way};
use crate::attachment::Attachment;
use crate::cachable_queue::copies::Copies;
use crate::moderation::Moderation;
use crate::name::Reading;
use crate::programming::{Driver, Firmware, Programming};
use crate::registers::LARGEST_QUEUE_BYTES;
use crate::relaxed_ordering::RelaxedOrdering;
use crate::ring::descriptors::{DESCRIPTOR_BYTES, DONE, REPORT};
use crate::ring::interrupts::{ENABLED, INTERRUPT_REGISTERS, PRESENT, RingInterrupt};
use crate::ring::receive::{RingReceive, WriteBack};
use crate::ring::send::RingSend;
use crate::ring::steering::{ENTRIES, MOST_QUEUES, QUEUE_STRIDE, STEERING_REGISTERS};
use crate::ring::{Parts, RECEIVE_REGISTERS, RingMemory, SEND_REGISTERS, SendThresholds};
use crate::vectors::VECTOR_REGISTERS;

static PROGRAMMING: Programming = Programming {
    driver: Driver::apart("ring", "Descriptor rings and doorbells."),
    registers: &[
        &SEND_REGISTERS,
        &RECEIVE_REGISTERS,
        &INTERRUPT_REGISTERS,
        &STEERING_REGISTERS,
        &VECTOR_REGISTERS,
    ],
    constants: &[
        ("DESCRIPTOR_BYTES", DESCRIPTOR_BYTES, "Bytes of a descriptor."),
        ("DESCRIPTOR_REPORT", REPORT, "Control of a send descriptor: report when it is done."),
        ("DESCRIPTOR_DONE", DONE, "Control of a descriptor: the interface is done with it."),
        ("RECEIVE_QUEUE_STRIDE", QUEUE_STRIDE, "From a further receive queue's registers to the next one's."),
        ("RECEIVE_TABLE_ENTRIES", ENTRIES as u64, "Entries of the table at RECEIVE_TABLE."),
        ("RING_INTERRUPT_ENABLED", ENABLED, "RECEIVE_RING_INTERRUPT: it is enabled."),
        ("RING_INTERRUPT_PRESENT", PRESENT, "RECEIVE_RING_INTERRUPT: the driver may wait for it."),
    ],
    // A fact of the information page would move the data of all programs: see SEND_RING_THRESHOLDS.
    facts: &[],
    requirements: &[],
    firmware: Firmware::NONE,
};

/// The parameters of an interface with descriptor rings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
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
    /// What has relaxed ordering on a PCIe link: "none", or "payload", of packets that descriptors tell of. Descriptors
    /// are always strict.
    #[serde(default, skip_serializing_if = "RelaxedOrdering::is_none")]
    pub relaxed_ordering: RelaxedOrdering,
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
    /// How the driver learns of packets that have come; without it by polling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("half" = "receive"))]
    pub notify: Option<Notify>,
    /// The least time from one interrupt to the next; without it none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("half" = "receive"))]
    pub interrupt_moderation: Option<Duration>,
    /// With so many packets an interrupt does not wait for that time; without it it always does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 8192), extend("half" = "receive"))]
    pub interrupt_packets: Option<u64>,
    /// Receive queues of each process, with receive_steering = "rss"; without it one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 16), extend("half" = "receive"))]
    pub receive_queues: Option<u64>,
    /// How a packet finds its receive queue; without it by its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("half" = "receive"))]
    pub receive_steering: Option<Steering>,
}

/// How a packet finds its receive queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Steering {
    /// By the process that it names, which has one.
    Process,
    /// By that process, and among its queues by a hash.
    Rss,
}

impl Config {
    /// Descriptors in a block.
    fn of_block(setup: &Setup<'_>) -> u64 {
        setup.block_bytes / DESCRIPTOR_BYTES
    }

    /// Refuses a ring's number of entries, or of rings of one direction.
    fn check_ring(setup: &Setup<'_>, key: &str, (entries, rings): (u64, u64)) -> Result<(), Problem> {
        let least = Self::of_block(setup).max(2);
        if !entries.is_power_of_two() || entries < least {
            return Problem::refuse(
                key,
                format!(
                    "a ring of {entries} descriptors; expected a power of two from {least} on, as its registers count \
                     modulo it"
                ),
            );
        }
        let bytes = rings * entries * (DESCRIPTOR_BYTES + setup.packet_bytes);
        if bytes > LARGEST_QUEUE_BYTES {
            let packet = setup.packet_bytes;
            let times = if rings > 1 { format!("{rings} rings of ") } else { String::new() };
            return Problem::refuse(
                key,
                format!(
                    "{times}{entries} descriptors with buffers of {packet} bytes (messages.packet) take {bytes} bytes; \
                     {LARGEST_QUEUE_BYTES} are there"
                ),
            );
        }
        Ok(())
    }

    /// Whole blocks of descriptors, from one to `most`.
    fn check_blocks(setup: &Setup<'_>, key: &str, value: u64, most: u64, ring: &str) -> Result<(), Problem> {
        let of_block = Self::of_block(setup);
        match value.is_multiple_of(of_block) && (of_block..=most).contains(&value) {
            true => Ok(()),
            false => Problem::refuse(
                key,
                format!(
                    "{value} descriptors; a multiple of {of_block}, a block of them, up to {most} is possible with \
                     {ring}"
                ),
            ),
        }
    }

    fn check_prefetch(&self, setup: &Setup<'_>) -> Result<(), Problem> {
        let least = Self::of_block(setup);
        match self.prefetch < least {
            false => Ok(()),
            true => {
                let prefetch = self.prefetch;
                Problem::refuse(
                    "prefetch",
                    format!("{prefetch} descriptors; a block of them, {least}, is the least that is fetched"),
                )
            }
        }
    }

    fn check_send(&self, setup: &Setup<'_>) -> Result<(), Problem> {
        let &Config { reads, send_ring, send_burst, report_threshold, free_threshold, .. } = self;
        check_under_way(reads, "reads", setup.overlaps)?;
        Self::check_ring(setup, "send_ring", (send_ring, 1))?;
        self.check_prefetch(setup)?;
        let ring = format!("send_ring = {send_ring}");
        Self::check_blocks(setup, "report_threshold", report_threshold, send_ring / 2, &ring)?;
        if free_threshold > send_ring - report_threshold {
            let most = send_ring - report_threshold;
            return Problem::refuse(
                "free_threshold",
                format!("{free_threshold} is not up to {most}, what {ring} leaves beside report_threshold"),
            );
        }
        match send_burst > send_ring {
            true => Problem::refuse("send_burst", format!("{send_burst} is more than {ring}")),
            false => Ok(()),
        }
    }

    fn check_receive(&self, setup: &Setup<'_>) -> Result<(), Problem> {
        let &Config { receive_ring, refill_threshold, write_back_batch, .. } = self;
        Self::check_ring(setup, "receive_ring", (receive_ring, self.queues()?))?;
        self.check_prefetch(setup)?;
        let ring = format!("receive_ring = {receive_ring}");
        Self::check_blocks(setup, "refill_threshold", refill_threshold, receive_ring / 2, &ring)?;
        match write_back_batch > receive_ring {
            true => Problem::refuse("write_back_batch", format!("{write_back_batch} is more than {ring}")),
            false => Ok(()),
        }
    }

    /// The receive queues of a process.
    fn queues(&self) -> Result<u64, Problem> {
        match (self.receive_steering, self.receive_queues) {
            (Some(Steering::Rss), None) => Problem::refuse(
                "receive_steering",
                format!("\"rss\" among one queue; expected receive_queues with it, 2 to {MOST_QUEUES}"),
            ),
            (Some(Steering::Rss), Some(queues)) if !(2..=MOST_QUEUES).contains(&queues) => {
                Problem::refuse("receive_queues", format!("{queues} queues; expected 2 to {MOST_QUEUES}"))
            }
            (Some(Steering::Rss), Some(queues)) => Ok(queues),
            (None | Some(Steering::Process), Some(queues)) => Problem::refuse(
                "receive_queues",
                format!(
                    "{queues} queues of a process, and packets go by their process to one; expected receive_steering = \
                     \"rss\" with it"
                ),
            ),
            (None | Some(Steering::Process), None) => Ok(1),
        }
    }

    /// What the keys of interrupts say together.
    fn interrupt(&self, setup: &Setup<'_>) -> Result<RingInterrupt, Problem> {
        let held_back = (self.interrupt_moderation, self.interrupt_packets);
        let ring = format!("receive_ring = {}", self.receive_ring);
        let most = (self.receive_ring, ring.as_str());
        let moderation = Moderation::stated(self.notify, held_back, setup.no_interrupts, most)?;
        Ok(RingInterrupt::new(moderation))
    }

    fn parts(
        &self,
        setup: &Setup<'_>,
        (start, entries): (u64, u64),
        thresholds: u64,
        tail_copy: Option<Copies>,
    ) -> Result<Parts, Problem> {
        let tail_bytes = if tail_copy.is_some() { setup.block_bytes } else { 0 };
        Ok(Parts {
            agent: setup.agent,
            memory: RingMemory { start, entries, buffer_bytes: setup.packet_bytes, tail_bytes },
            block_bytes: setup.block_bytes,
            prefetch: self.prefetch,
            thresholds,
            register_delay: self.register_access_time,
            engine_time: self.engine_time,
            relaxed_payload: self.relaxed_ordering.of_payload(setup.knows_relaxed_ordering)?,
            tail_copy,
        })
    }

    /// The send half; its tail is in memory if the interface has a cache for it.
    pub(super) fn send_half(&self, setup: &Setup<'_>, tail_copy: Option<Copies>) -> Built {
        self.check_send(setup)?;
        let thresholds = SendThresholds {
            burst: self.send_burst,
            report: self.report_threshold,
            free: self.free_threshold,
        };
        let ring = (setup.addresses.send_queue(), self.send_ring);
        Ok(Box::new(RingSend::new(self.parts(setup, ring, thresholds.word(), tail_copy)?, self.reads as u8)))
    }

    /// The receive half; its tail is in memory if the interface has a cache for it.
    pub(super) fn receive_half(&self, setup: &Setup<'_>, tail_copy: Option<Copies>) -> Built {
        self.check_receive(setup)?;
        let ring = (setup.addresses.receive_queue(), self.receive_ring);
        let write_back = WriteBack { batch: self.write_back_batch, time: self.write_back_time };
        let interrupt = self.interrupt(setup)?;
        let parts = self.parts(setup, ring, self.refill_threshold, tail_copy)?;
        Ok(Box::new(RingReceive::new(parts, write_back, &interrupt, self.queues()? as u8)))
    }
}

fn send(setup: &Setup<'_>) -> Built {
    super::config::<Config>(setup)?.send_half(setup, None)
}

fn receive(setup: &Setup<'_>) -> Built {
    super::config::<Config>(setup)?.receive_half(setup, None)
}

/// Interfaces with descriptor rings.
pub static MODEL: Model = Model {
    section: "ring",
    family: "Ring",
    summary: "descriptor rings in main memory and doorbells (a NIC of today's hosts)",
    examples: &["Ring"],
    read: |text| Reading::exactly(text, "Ring"),
    programming: &PROGRAMMING,
    attaches: |attachment| match attachment {
        Attachment::MemoryBus | Attachment::IoBus => Ok(()),
        Attachment::CacheBus | Attachment::Register => Err(NO_COHERENCE),
    },
    makes: Makes::Halves { send, receive },
    schema: || schema_for!(Config),
    sample: || {
        json!({
            "register_access_time": "60ns",
            "engine_time": "40ns",
            "prefetch": 8,
            "reads": 1,
            "send_ring": 16,
            "send_burst": 4,
            "report_threshold": 4,
            "free_threshold": 4,
            "receive_ring": 16,
            "refill_threshold": 4,
            "write_back_batch": 3,
            "write_back_time": "100ns",
        })
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_refused_by_one_half, refusals};
    use super::*;

    #[test]
    fn what_does_not_fit_together_is_refused_by_the_half_that_it_is_about() {
        for (key, value, half, told) in [
            ("send_ring", 48, 0, "a ring of 48 descriptors; expected a power of two from 4 on"),
            ("receive_ring", 2, 1, "a ring of 2 descriptors; expected a power of two"),
            ("receive_ring", 32_768, 1, "8912896 bytes; 7831552 are there"),
            ("report_threshold", 6, 0, "a multiple of 4, a block of them, up to 8"),
            ("report_threshold", 12, 0, "up to 8 is possible with send_ring = 16"),
            ("free_threshold", 13, 0, "13 is not up to 12"),
            ("reads", 2, 0, "2 reads under way; a bus carries one transaction"),
            ("send_burst", 17, 0, "17 is more than send_ring = 16"),
            ("refill_threshold", 0, 1, "a multiple of 4"),
            ("write_back_batch", 17, 1, "more than receive_ring = 16"),
            ("receive_queues", 4, 1, "4 queues of a process, and packets go by their process to one"),
        ] {
            assert_refused_by_one_half(&MODEL, (key, json!(value)), half, told);
        }
        let rss = json!("rss");
        assert_refused_by_one_half(
            &MODEL,
            ("receive_steering", rss),
            1,
            "expected receive_queues with it, 2 to 16",
        );
        let relaxed = refusals(&MODEL, "relaxed_ordering", json!("payload"));
        assert!(relaxed.iter().flatten().all(|refusal| refusal.problem.contains("expected \"none\"")));
        assert_eq!(relaxed.iter().flatten().count(), 2);
        assert!(refusals(&MODEL, "prefetch", json!(3)).iter().all(|refusal| {
            refusal.as_ref().is_some_and(|refusal| refusal.key == "prefetch" && refusal.problem.contains("4"))
        }));
    }
}
