//! `Virtio`: split virtqueues, the rings of virtual machines and of the cards that look like them.
//!
//! ```text
//!   driver ──► descriptors      [ buffer, length, flags, next ]  a buffer, or a chain of buffers
//!          ──► available ring   flags, index, [ first descriptor ], used_event ─► read by the device
//!          ◄── used ring        flags, index, [ first descriptor, bytes written ], avail_event ◄── device
//!          ──► kick             2 bytes to the queue's notify register, if avail_event says so
//! ```
//!
//! Where [`Ring`](super::ring) has one ring that both sides write, a *split* virtqueue has three parts, each of
//! which one side writes (Virtual I/O Device Version 1.2, OASIS 2022, Section 2.7): descriptors of 16 bytes and an
//! available ring of 2 bytes an entry, which the driver writes, and a used ring of 8 bytes an entry, which the
//! device writes. Indexes count modulo 2^16, in memory. To send, the driver puts a packet into a buffer, describes it,
//! puts the number of its descriptor into the available ring, and moves the ring's index. The device reads the index,
//! then the entry, then the descriptor, then the buffer: each read waits for the one before. Of what it is done
//! with it puts the number into the used ring, and moves that ring's index, which the driver polls.
//!
//! **Kicks.** The driver tells of a new index by a store of two bytes, the queue's number, to the queue's notify
//! register. That is dear, so the device says when it wants one. With the *event index* (VIRTIO_F_EVENT_IDX, Section
//! 2.7.10) it writes the index behind which a kick is wanted to the end of the used ring; without, it sets a flag
//! there while it looks by itself (Section 2.7.9). Either way the device looks once more at the available index
//! when it has asked for a kick, and the driver looks at what the device asks for when it has moved the index: a
//! fence between its store and its load. Left out on either side, a packet may wait for ever; `narthex check
//! interface Virtio --without look-again` shows how.
//!
//! The driver polls, as DPDK's virtio driver does, and tells the device that it needs no interrupts
//! (VIRTQ_AVAIL_F_NO_INTERRUPT, or a used_event that it does not move).
//!
//! **Interrupts.** Behind a PCIe link the driver may wait for one (`notify`). After each write of the receive queue's
//! used index the device reads what the driver says of interrupts: the available ring's flag, or, with the event index,
//! whether the index has passed used_event (Section 2.7.10). Then it sends a message by vector 0, unless that is masked
//! ([`crate::vectors`]). So each update of the used ring costs a read, also while the driver polls. The driver looks
//! at the used index again when it has asked for an interrupt. Without interrupts the device reads nothing of that.
//!
//! **Chains.** The device reads and writes chains of descriptors. The messaging library's driver has one buffer a
//! packet, as virtio-net's drivers have for small packets. Indirect descriptors, packed rings, mergeable buffers and
//! VIRTIO_F_IN_ORDER are not offered. The network's header of 8 bytes stands where virtio-net has its own of 12.
//!
//! **The device** reads whole coherence blocks, and may be on a memory bus, an I/O bus, a directory or behind a
//! link. It alone writes the used ring, so it knows the rest of a block of it ([`crate::virtio::used`]). It looks
//! at the index by itself as long as there is something new, as the kernel's vhost does.

use narthex_kernel::Duration;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, NO_COHERENCE, Notify, Problem, Setup, check_under_way};
use crate::attachment::Attachment;
use crate::name::Reading;
use crate::programming::{Driver, Firmware, Programming};
use crate::registers::LARGEST_QUEUE_BYTES;
use crate::vectors::VECTOR_REGISTERS;
use crate::virtio::receive::VirtioReceive;
use crate::virtio::send::VirtioSend;
use crate::virtio::{
    CONSTANTS, EVENT_INDEX, INTERRUPTS, Parts, QueueMemory, RECEIVE_REGISTERS, SEND_REGISTERS,
};

static PROGRAMMING: Programming = Programming {
    driver: Driver::apart("virtio", "Split virtqueues."),
    registers: &[&SEND_REGISTERS, &RECEIVE_REGISTERS, &VECTOR_REGISTERS],
    constants: CONSTANTS,
    // A fact of the information page would move the data of all programs: see VIRTIO_SEND_THRESHOLDS.
    facts: &[],
    requirements: &[],
    firmware: Firmware::NONE,
};

/// The parameters of an interface with split virtqueues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that a register access takes beyond the bus's own cycles.
    pub register_access_time: Duration,
    /// Time that an engine works on a packet, on each side.
    pub engine_time: Duration,
    /// Chains of each queue that the interface has room for, from their fetch to the used ring.
    #[schemars(range(min = 1, max = 8192))]
    pub prefetch: u64,
    /// Transactions of each half under way at most, and packets whose buffers the send half has room for beside the
    /// one that leaves. A bus carries one at a time.
    #[schemars(range(min = 1, max = 64))]
    pub reads: u64,
    /// Whether the interface says behind which index it wants the next kick, or else by a flag whether it wants
    /// kicks at all.
    pub event_index: bool,
    /// Descriptors of the send queue: a power of two.
    #[schemars(range(min = 64, max = 8192), extend("half" = "send"))]
    pub send_ring: u64,
    /// The most packets that the driver makes available together.
    #[schemars(range(min = 1, max = 8192), extend("half" = "send"))]
    pub send_burst: u64,
    /// With fewer free descriptors than this the driver looks for used ones.
    #[schemars(range(min = 1, max = 8192), extend("half" = "send"))]
    pub free_threshold: u64,
    /// Descriptors of the receive queue: a power of two.
    #[schemars(range(min = 64, max = 8192), extend("half" = "receive"))]
    pub receive_ring: u64,
    /// Buffers that the driver makes available together.
    #[schemars(range(min = 1, max = 8192), extend("half" = "receive"))]
    pub refill_threshold: u64,
    /// How the driver learns of packets that have come; without it by polling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("half" = "receive"))]
    pub notify: Option<Notify>,
}

impl Config {
    fn memory(setup: &Setup<'_>, key: &str, start: u64, entries: u64) -> Result<QueueMemory, Problem> {
        let Setup { packet_bytes: buffer_bytes, block_bytes, .. } = *setup;
        if !entries.is_power_of_two() || entries < 2 {
            return Problem::refuse(
                key,
                format!(
                    "a queue of {entries} descriptors; expected a power of two from 2 on, as its indexes count modulo it"
                ),
            );
        }
        let memory = QueueMemory { start, entries, buffer_bytes, block_bytes };
        let bytes = memory.range().end - start;
        if bytes > LARGEST_QUEUE_BYTES {
            return Problem::refuse(
                key,
                format!(
                    "{entries} descriptors with rings and buffers of {buffer_bytes} bytes (messages.packet) take {bytes} \
                     bytes; {LARGEST_QUEUE_BYTES} are there"
                ),
            );
        }
        Ok(memory)
    }

    /// From one to as many as a queue has.
    fn check_number((key, value): (&str, u64), (ring, entries): (&str, u64)) -> Result<(), Problem> {
        match (1..=entries).contains(&value) {
            true => Ok(()),
            false => {
                Problem::refuse(key, format!("{value}; with {ring} = {entries} expected 1 to {entries}"))
            }
        }
    }

    fn parts(&self, setup: &Setup<'_>, memory: QueueMemory, thresholds: u64) -> Result<Parts, Problem> {
        check_under_way(self.reads, "transactions", setup.overlaps)?;
        if self.prefetch == 0 {
            return Problem::refuse("prefetch", "0 chains; expected 1 or more");
        }
        Ok(Parts {
            agent: setup.agent,
            memory,
            merges_there: setup.merges_writes,
            prefetch: self.prefetch,
            transactions: self.reads as u8,
            event_index: self.event_index,
            thresholds: thresholds | if self.event_index { EVENT_INDEX } else { 0 },
            interrupts: false,
            register_delay: self.register_access_time,
            engine_time: self.engine_time,
        })
    }
}

fn send(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    let &Config { send_ring, send_burst, free_threshold, .. } = &config;
    let memory = Config::memory(setup, "send_ring", setup.addresses.send_queue(), send_ring)?;
    let ring = ("send_ring", send_ring);
    Config::check_number(("send_burst", send_burst), ring)?;
    Config::check_number(("free_threshold", free_threshold), ring)?;
    Ok(Box::new(VirtioSend::new(&config.parts(setup, memory, send_burst | free_threshold << 32)?)))
}

fn receive(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    let &Config { receive_ring, refill_threshold, .. } = &config;
    let memory = Config::memory(setup, "receive_ring", setup.addresses.receive_queue(), receive_ring)?;
    Config::check_number(("refill_threshold", refill_threshold), ("receive_ring", receive_ring))?;
    let interrupts = Notify::interrupts(config.notify, setup.no_interrupts)?;
    let thresholds = refill_threshold | if interrupts { INTERRUPTS } else { 0 };
    Ok(Box::new(VirtioReceive::new(&Parts { interrupts, ..config.parts(setup, memory, thresholds)? })))
}

/// Interfaces with split virtqueues.
pub static MODEL: Model = Model {
    section: "virtio",
    family: "Virtio",
    summary: "split virtqueues: descriptors, an available and a used ring, kicks (virtio 1.2)",
    examples: &["Virtio"],
    read: |text| Reading::exactly(text, "Virtio"),
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
            "event_index": true,
            "send_ring": 16,
            "send_burst": 4,
            "free_threshold": 4,
            "receive_ring": 16,
            "refill_threshold": 4,
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
            ("send_ring", 48, 0, "a queue of 48 descriptors; expected a power of two from 2 on"),
            ("receive_ring", 1, 1, "a queue of 1 descriptors; expected a power of two"),
            ("receive_ring", 32_768, 1, "bytes; 7831552 are there"),
            ("free_threshold", 17, 0, "17; with send_ring = 16 expected 1 to 16"),
            ("send_burst", 0, 0, "0; with send_ring = 16 expected 1 to 16"),
            ("refill_threshold", 17, 1, "17; with receive_ring = 16"),
        ] {
            assert_refused_by_one_half(&MODEL, (key, json!(value)), half, told);
        }
        let notify = ("notify", json!("interrupt"));
        assert_refused_by_one_half(
            &MODEL,
            notify,
            1,
            "\"interrupt\" is not possible here: this node has none",
        );
        for (key, value, told) in [
            ("prefetch", 0, "0 chains"),
            ("reads", 2, "2 transactions under way; a bus carries one transaction"),
        ] {
            assert!(refusals(&MODEL, key, json!(value)).iter().all(|refusal| {
                refusal.as_ref().is_some_and(|refusal| refusal.key == key && refusal.problem.contains(told))
            }));
        }
    }
}
