//! `Verbs`: queue pairs, as programs of InfiniBand and RoCE use them.
//!
//! ```text
//!   process     send queue: work requests ── doorbell, or the whole request (BlueFlame) ──► interface
//!   (no system  receive queue: buffers ── record in memory                                   │ reads requests,
//!   call)       completion queue ◄── completions ◄── writes ─────────────────────────────────┤ gathers, sends,
//!               registered memory ◄───────────────── reads, writes ──────────────────────────┘ acknowledges
//!   system      creates queues, connects queue pairs, registers memory, pins its pages
//! ```
//!
//! The verbs are those of the InfiniBand Architecture Specification (Volume 1, Chapters 9 to 11); the
//! layout of queues, doorbells and completions is that of NVIDIA's mlx5, as its programmer's reference
//! and libmlx5 of rdma-core have it:
//!
//! - a work request consists of segments of 16 bytes in *basic blocks* of 64: control, remote address,
//!   then data segments (length, key, address), or the payload itself (*inline*);
//! - to post, the driver writes the request to the send queue in ordinary memory, orders it before the
//!   doorbell (`fence ow,ow`), counts it in the *doorbell record*, a word of memory, and then stores 8
//!   bytes to the doorbell register. A single request that fits goes whole to the *BlueFlame* register
//!   instead, in pieces of 64 bytes through write combining: then the interface need not read it. Its two halves of 256
//!   bytes are used in turn;
//! - a receive is a list of data segments; the driver counts it in a doorbell record and stores to no
//!   register;
//! - a completion has 64 bytes. Its owner bit changes with each lap, so that a poll is a load; up to 32
//!   bytes of payload come in it. The driver says in a word of memory how many it has taken;
//! - memory is registered. A key names a region, what may be done with it, and its protection domain.
//!
//! **The connection** is reliable: packets have numbers, receivers acknowledge, a sender goes back to a
//! packet that was not taken (go-back-N), so often as its limits allow. Packets travel over the machine's
//! network with its flow control. Where that loses nothing and keeps order, nothing is sent twice but for want
//! of a receive; numbers, acknowledgements and their bytes are there all the same.
//!
//! **The interface** reads and writes whole coherence blocks, as descriptor rings do, so it may be on a
//! memory bus, an I/O bus, a directory or behind a link. Of a block that it writes in part it reads the rest
//! before; behind a link the root complex does. Where its interconnect carries several transactions of a
//! port, it has several under way.
//!
//! Each process has a part of its own: registers, keys, queue pairs. No process can name what another one
//! has. What a program gets wrong ends as a completion with an error, as in hardware; what hardware would
//! report by an event (a completion queue that overflows, a doorbell of no queue pair) ends the run with a message.
//!
//! **Reads and atomic operations** of a queue pair are under way up to the number that both ends have agreed on. A read
//! is answered from memory as all earlier packets of its queue pair have left it. Atomic operations are atomic among
//! those that this interface carries out, one at a time; a processor's store to the word in between is lost, as with
//! `IBV_ATOMIC_HCA` in hardware.
//!
//! **Datagrams** go from one queue pair to any other one, without a connection: a request has an address of three
//! segments, a packet names its sender, and nobody acknowledges or sends again.
//!
//! **Events.** Behind a PCIe link a program may wait for completions (`notify`, [`crate::verbs::events`]): it arms a
//! completion queue, and the interface writes an event and interrupts by a message. Without channels of completions nothing
//! differs from a machine whose programs poll.
//!
//! Left out, and refused: several paths, a channel of several processes, interrupts of another kind than completions.

use narthex_kernel::Duration;
use narthex_kernel::quantity::Bytes;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{BuiltDevice, Makes, Model, NO_COHERENCE, Notify, Problem, check_under_way, typed};
use crate::attachment::Attachment;
use crate::interface::Surroundings;
use crate::moderation::Moderation;
use crate::name::{HalfName, Reading};
use crate::programming::{Driver, Firmware, Programming};
use crate::relaxed_ordering::RelaxedOrdering;
use crate::vectors::VECTOR_REGISTERS;
use crate::verbs::calls::MOST_ENTRIES;
use crate::verbs::device::Verbs;
use crate::verbs::formats::COMPLETION;
use crate::verbs::{CONSTANTS, Parameters, REGISTERS};

static PROGRAMMING: Programming = Programming {
    driver: Driver::apart("verbs", "Queue pairs."),
    registers: &[&REGISTERS, &VECTOR_REGISTERS],
    constants: CONSTANTS,
    facts: &[],
    requirements: &[],
    firmware: Firmware::NONE,
};

/// The parameters of an interface with queue pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that a register access takes beyond the bus's own cycles.
    pub register_access_time: Duration,
    /// Time that an engine works on a packet, on each side.
    pub engine_time: Duration,
    /// Most bytes of payload in a packet: 256B, 512B, 1024B, 2048B or 4096B.
    pub mtu: Bytes,
    /// Whether there is a BlueFlame register, for processors that combine stores.
    pub blue_flame: bool,
    /// Transactions under way at most. A bus carries one at a time.
    #[schemars(range(min = 1, max = 64))]
    pub reads: u64,
    /// What has relaxed ordering on a PCIe link: "none", or "payload", that a completion tells of. RDMA writes without
    /// immediate, and completions, are always strict.
    #[serde(default, skip_serializing_if = "RelaxedOrdering::is_none")]
    pub relaxed_ordering: RelaxedOrdering,
    /// Basic blocks of a send queue that are read together.
    #[schemars(range(min = 1, max = 64))]
    pub request_prefetch: u32,
    /// Receives of a queue that the interface has room for.
    #[schemars(range(min = 1, max = 64))]
    pub receive_prefetch: u32,
    /// Queue pairs, queues and regions of each kind that a process may have.
    #[schemars(range(min = 1, max = 65536))]
    pub objects: u64,
    /// How programs learn of completions: with "interrupt" they may wait for events; without it by polling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<Notify>,
    /// The least time from one event of a completion queue to the next; without it none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt_moderation: Option<Duration>,
    /// With so many completions an event does not wait for that time; without it it always does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 32768))]
    pub interrupt_packets: Option<u64>,
}

impl Config {
    fn check(&self, node: &Surroundings<'_>) -> Result<(), Problem> {
        let ranges = [
            ("reads", self.reads, 64),
            ("request_prefetch", self.request_prefetch.into(), 64),
            ("receive_prefetch", self.receive_prefetch.into(), 64),
            ("objects", self.objects, 65_536),
        ];
        for (key, value, most) in ranges {
            if !(1..=most).contains(&value) {
                return Problem::refuse(key, format!("{value} is not from 1 to {most}"));
            }
        }
        check_under_way(self.reads, "transactions", node.overlaps)?;
        let mtu = self.mtu.as_u64();
        if !mtu.is_power_of_two() || !(256..=4096).contains(&mtu) {
            return Problem::refuse("mtu", format!("{} is not 256B, 512B, 1024B, 2048B or 4096B", self.mtu));
        }
        let block = node.block_bytes;
        if block > COMPLETION as u64 {
            return Problem::refuse(
                "",
                format!("blocks of {block} bytes are longer than a completion, which has {COMPLETION}"),
            );
        }
        Ok(())
    }
}

fn build(_name: HalfName, section: &Value, node: &Surroundings<'_>) -> BuiltDevice {
    let config: Config = typed(section)?;
    config.check(node)?;
    let held_back = (config.interrupt_moderation, config.interrupt_packets);
    let most = (1 << MOST_ENTRIES, "what a completion queue has room for");
    let moderation = Moderation::stated(config.notify, held_back, node.no_interrupts, most)?;
    let parameters = Parameters {
        block_bytes: node.block_bytes,
        merges_there: node.merges_writes,
        engine_time: config.engine_time,
        blue_flame: 0,
        mtu: config.mtu.as_u64(),
        transactions: config.reads as u8,
        request_prefetch: config.request_prefetch,
        receive_prefetch: config.receive_prefetch,
        objects: config.objects,
        relaxed_payload: config.relaxed_ordering.of_payload(node.knows_relaxed_ordering)?,
        moderation,
    };
    let ports = (node.first_agent, node.processes);
    Ok(Box::new(Verbs::new(parameters, config.blue_flame, config.register_access_time, ports)))
}

/// Interfaces with queue pairs.
pub static MODEL: Model = Model {
    section: "verbs",
    family: "Verbs",
    summary: "queue pairs, registered memory and completions (InfiniBand and RoCE, after mlx5)",
    examples: &["Verbs"],
    read: |text| Reading::exactly(text, "Verbs"),
    programming: &PROGRAMMING,
    attaches: |attachment| match attachment {
        Attachment::MemoryBus | Attachment::IoBus => Ok(()),
        Attachment::CacheBus | Attachment::Register => Err(NO_COHERENCE),
    },
    makes: Makes::Device(build),
    schema: || schema_for!(Config),
    sample: || {
        json!({
            "register_access_time": "60ns",
            "engine_time": "40ns",
            "mtu": "256B",
            "blue_flame": false,
            "reads": 1,
            "request_prefetch": 4,
            "receive_prefetch": 4,
            "objects": 64,
        })
    },
};
