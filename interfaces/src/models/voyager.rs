//! StarT-Voyager's network interface (Ang, Chiou, Rudolph, Arvind: Micro-architectures of High
//! Performance, Multi-user System Area Network Interface Cards).
//!
//! ```text
//!   aP ── caches ──┬── bus ──────┬─────────────── main memory
//!                  │             │
//!                  │   ┌── voyager device ──────────────────────────┐
//!                  │   │ pointer windows  bus unit   block units    │
//!                  │   │ SRAM bank A      SRAM bank B               │
//!                  │   │ transmit unit    receive unit   map        ├── network (Arctic)
//!                  │   │ capture, approval  local command queues    │
//!                  │   └─────────┬──────────────────────────────────┘
//!                  │             │
//!   sP ── caches ──┴──── service_bus ──────────── service_memory
//!   (firmware)
//! ```
//!
//! Users own *logical* queues of messages. A *physical* queue is the state that the transmit
//! and receive units work with; a logical queue that has one is *resident*. All others are
//! the firmware's work, on a service processor (sP) of its own: stores to their pointers are
//! captured for it, loads of them are answered from shadow words that it writes (Section
//! 4.3). Which it is, a user cannot tell.
//!
//! | name | queues of the messaging library |
//! | --- | --- |
//! | `Voyager-resident` | resident, in SRAM bank A (Section 3) |
//! | `Voyager-nonresident` | the firmware's, in host memory (Section 4) |
//! | `Voyager-hybrid` | in SRAM; the firmware lends physical queues to those in use (Section 6: "message queue caching") |
//!
//! | `Voyager-CNI` | cachable, in snooped space of main memory, whose lines the firmware is told of (Section 4.1: "fancier message passing interfaces, such as CNI") |
//!
//! A program may open queues of the first three kinds on each of them. Beside basic messages there are
//! block transfers, by the block bus operation unit and the block transmit unit at the sender
//! and the remote command queue and channel counters at the receiver (Section 3). Programs command
//! these units themselves, or ask the kernel agent to; and a store to serviced space may be a message,
//! of which the firmware determines the destination (Section 4.1).
//!
//! What the paper does not state (numbers of queues, sizes of the memories, depths, cycles of
//! the units) are parameters, of which the machine's file says why they are what they are.
//! The device itself is in [`crate::voyager`].

use schemars::schema_for;
use serde_json::{Value, json};

use super::{BuiltDevice, Makes, Model, Problem, typed};
use crate::attachment::Attachment;
use crate::interface::Surroundings;
use crate::name::{HalfName, Reading};
use crate::programming::{Driver, Programming};
use crate::voyager::config::Config;
use crate::voyager::layout::Layout;
use crate::voyager::registers::{CONSTANTS, FACTS, FIRMWARE, QueueKind, SHADOW_BYTES, SLOT_BYTES};
use crate::voyager::{Build, Voyager};

/// Why it is on a memory bus only.
const ON_THE_MEMORY_BUS: &str = "\"the NIC connects directly to the cache-coherent memory bus of the host system\" \
     (Section 2), where its bus unit is a master and captures transactions";

/// What the names are, for those who are near one.
const NAMES: &str =
    "an interface of StarT-Voyager is Voyager-resident, Voyager-nonresident, Voyager-hybrid or Voyager-CNI";

fn read(text: &str) -> Reading {
    let named = QueueKind::ALL.iter().find(|(_, name)| name.eq_ignore_ascii_case(text));
    if let Some(&(_, form)) = named {
        return Reading::Half { form, size: 0 };
    }
    let text = text.to_ascii_lowercase();
    let closeness = |name: &str| strsim::jaro_winkler(&name.to_ascii_lowercase(), &text);
    let closest = QueueKind::ALL.iter().map(|&(_, name)| (closeness(name), name));
    let (closeness, nearest) =
        closest.max_by(|one, other| one.0.total_cmp(&other.0)).expect("there are some");
    match text.starts_with("voyager") || closeness > 0.9 {
        true => Reading::NearMiss(format!("{NAMES}; did you mean {nearest}?")),
        false => Reading::Foreign,
    }
}

fn build(name: HalfName, section: &Value, node: &Surroundings<'_>) -> BuiltDevice {
    let config: Config = typed(section)?;
    config.check(node.nodes, node.processes)?;
    if node.block_bytes != SHADOW_BYTES {
        let block = node.block_bytes;
        return Err(Problem::of_name(format!(
            "its slots and shadow words are whole lines of {SHADOW_BYTES} bytes, and the machine's caches have \
             blocks of {block} bytes: no cache keeps its SRAM coherent, so no line may belong to two of them"
        )));
    }
    let layout = Layout::new(&config, node.processes)?;
    let (kind, _) =
        QueueKind::ALL.into_iter().find(|&(_, form)| form == name.form).expect("it has read the name");
    if kind == QueueKind::Cachable {
        check_cachable(&config, &layout, node)?;
    }
    config.check_library(kind, node.processes, layout.buffer_bytes)?;
    Ok(Box::new(Voyager::new(Build { kind, config, layout, block_bytes: node.block_bytes })))
}

/// Doublewords of the receiving command queue that the firmware keeps for cachable queues: for a
/// look at a pointer, and for each process two permissions and a head; beside them it needs those
/// of lending and of three packets.
const fn words_of_cachable(processes: u8) -> u32 {
    3 + 3 * processes as u32 + 4 + 3 * 4
}

/// Refuses what cachable queues cannot be kept with. The machine's other interfaces can be used.
fn check_cachable(config: &Config, layout: &Layout, node: &Surroundings<'_>) -> Result<(), Problem> {
    let refuse = |problem: String| Err(Problem::of_name(problem));
    let processes = node.processes;
    if node.packet_bytes != SLOT_BYTES {
        let bytes = node.packet_bytes;
        return refuse(format!(
            "an entry of its cachable queues is a slot of {SLOT_BYTES} bytes, and messages.packet is {bytes} bytes"
        ));
    }
    if layout.cachable_slots() < 4 {
        return refuse(format!(
            "interfaces.voyager.snooped: {} has no room for two cachable queues of 4 entries",
            config.snooped
        ));
    }
    let counts = [
        ("command_words", config.command_words, words_of_cachable(processes)),
        ("agent_commands", config.agent_commands, 2 * u32::from(processes)),
    ];
    match counts.into_iter().find(|(_, stated, needed)| stated < needed) {
        None => Ok(()),
        Some((key, stated, needed)) => refuse(format!(
            "interfaces.voyager.{key}: {stated} are too few for the cachable queues of {processes} processes: \
             {needed} are needed"
        )),
    }
}

/// StarT-Voyager's network interface.
pub static MODEL: Model = Model {
    section: "voyager",
    family: "Voyager",
    summary: "StarT-Voyager: message queues of hardware, of firmware on a service processor, and of both in turn; \
              block transfers",
    examples: &["Voyager-resident", "Voyager-nonresident", "Voyager-hybrid", "Voyager-CNI"],
    read,
    programming: &Programming {
        driver: Driver::new("voyager", "StarT-Voyager's message queues."),
        registers: &[],
        constants: CONSTANTS,
        facts: FACTS,
        requirements: &[],
        firmware: &FIRMWARE,
    },
    attaches: |attachment| match attachment {
        Attachment::MemoryBus => Ok(()),
        _ => Err(ON_THE_MEMORY_BUS),
    },
    makes: Makes::Device(build),
    schema: || schema_for!(Config),
    sample: || {
        json!({
            "clock": "35MHz",
            "register_access_time": "0ns",
            "memory_access_time": "0ns",
            "sram_a": "64KiB",
            "sram_b": "16KiB",
            "sram_width": "8B",
            "firmware_bytes": "4KiB",
            "logical_queues": 16,
            "physical_queues": 4,
            "hybrid_queues": 2,
            "hybrid_policy": "least-recently-used",
            "slots": 4,
            "miss_slots": 4,
            "destinations": 64,
            "captures": 4,
            "approvals": 2,
            "command_words": 8,
            "completions": 8,
            "remote_commands": 2,
            "agent_commands": 4,
            "channels": 8,
            "snooped": "4KiB",
            "drain_limit": "20ms",
            "transmit_cycles": 8,
            "receive_cycles": 6,
            "command_cycles": 2,
            "block_transmit_cycles": 4,
            "stated_marshal_cycles": 346,
            "stated_launch_cycles": 281,
            "stated_demultiplex_cycles": 209,
            "stated_free_buffer_cycles": 112,
            "stated_release_cycles": 59,
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;

    #[test]
    fn what_is_nearly_a_name_is_told_the_names() {
        for (text, meant) in [
            ("Voyager", "an interface of StarT-Voyager is Voyager-resident"),
            ("voyager_hybrid", "did you mean Voyager-hybrid?"),
            ("Voyager-non-resident", "did you mean Voyager-nonresident?"),
        ] {
            let error = text.parse::<Name>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains(meant), "{error}");
        }
        assert_eq!(read("NI2w"), Reading::Foreign);
        assert_eq!(read("EDT"), Reading::Foreign);
    }

    /// Why a machine of so many nodes and processes cannot have an interface with changes to
    /// the sample.
    fn refused(kind: QueueKind, (nodes, processes): (u32, u8), changes: &[(&str, u64)]) -> (String, String) {
        let mut section = (MODEL.sample)();
        changes.iter().for_each(|&(key, value)| section[key] = value.into());
        let config: Config = typed(&section).unwrap();
        let layout = Layout::new(&config, processes).unwrap();
        let checked = config.check(nodes, processes);
        let checked = checked.and_then(|()| config.check_library(kind, processes, layout.buffer_bytes));
        let Problem { key, problem } = checked.unwrap_err();
        (key, problem)
    }

    #[test]
    fn queues_that_do_not_fit_are_refused_with_what_does() {
        let (key, problem) = refused(QueueKind::Hybrid, (2, 1), &[("slots", 512)]);
        assert!(key == "slots" && problem.contains("at most 256 slots fit"), "{key}: {problem}");
        let (key, problem) = refused(QueueKind::Resident, (2, 2), &[]);
        assert!(key == "physical_queues" && problem.contains("each of 2 processes"), "{key}: {problem}");
        let (key, problem) = refused(QueueKind::NonResident, (5, 1), &[]);
        assert!(key == "destinations" && problem.contains("80 at least"), "{key}: {problem}");
        let (key, problem) = refused(QueueKind::NonResident, (2, 2), &[("approvals", 1)]);
        assert!(key == "approvals" && problem.contains("set approvals to 2 at least"), "{key}: {problem}");
    }

    #[test]
    fn every_example_is_a_kind_of_queue_and_prints_as_it_is_written() {
        for name in MODEL.examples {
            assert_eq!(name.to_lowercase().parse::<Name>().unwrap().to_string(), *name);
        }
        assert_eq!(MODEL.examples.len(), QueueKind::ALL.len());
    }
}
