//! Eager Data Transfer, and the schemes that it is compared with, under the Virtual
//! Interface Architecture (Won, Lee, Park, Kim: Eager Data Transfer Mechanism for Reducing
//! Communication Latency in User-Level Network Protocols).
//!
//! ```text
//!   host ── caches ──┬── bus ───────┬──────────────┬── main memory
//!                    │              │              │
//!                    │     ┌── via device ──┐   DMA engine
//!                    │     │ doorbells      │      │
//!                    │     │ windows        │      │
//!                    │     │ tags, M/S/I    │      │
//!                    │     │ registers      ├── network
//!                    │     └───┬────────┬───┘      │
//!                    │      port of     │          │
//!                    │      NI memory   │          │
//!   NI processor ────┴──────────────── NI bus ─────┴── NI memory
//!   (firmware: VI-MSG)
//! ```
//!
//! Programs talk to it as the Virtual Interface Architecture says: they post descriptors
//! in memory that they have registered, and ring a doorbell. What a descriptor asks for,
//! firmware on the interface's own processor carries out: it translates addresses, cuts
//! messages into packets, and reports completions (Section 6, VI-MSG). Everything but
//! posting goes through the kernel agent, which the device answers as calls of the
//! operating system.
//!
//! The name says how data crosses between host memory and interface, under the same
//! firmware:
//!
//! | name | host to interface | interface to host |
//! | --- | --- | --- |
//! | `EDT` | the interface fetches each block of a registered region after a write (Section 4) | it invalidates the caches' copies and keeps the new blocks until they are read |
//! | `EDT+DmaReceive` | the same | it writes the new blocks home |
//! | `CCDMA-intervention` | the DMA engine reads; a cache with newer data supplies it | the DMA engine writes, caches drop their copies |
//! | `CCDMA-retry` | the same, but a cache with newer data makes it wait and writes home first | the same |
//! | `DMA-flush` | the DMA engine reads memory; the library flushed the caches before | it writes memory; the library invalidated the caches before |
//! | `PIO` | the library stores to a window of the interface's memory | the library loads from it |
//! | `PIO+WriteCombining` | the same, and the processor joins stores to a block | the same |
//!
//! What the paper does not state (the reaction time, depths of FIFOs, the number of tags,
//! the network-side DMA) are parameters, of which the machine's file says why they are what
//! they are. The device itself is in [`crate::via`].

use schemars::schema_for;
use serde_json::{Value, json};

use super::{BuiltDevice, Makes, Model, typed};
use crate::attachment::Attachment;
use crate::interface::Surroundings;
use crate::name::{HalfName, Reading};
use crate::programming::{Driver, Programming, Requirement};
use crate::via::config::Config;
use crate::via::registers::{CONSTANTS, FACTS, FIRMWARE, Scheme};
use crate::via::{Build, Via};

/// Why it is on a memory bus only.
const ON_THE_MEMORY_BUS: &str = "\"since EDT relies on underlying cache-coherence mechanism, it is assumed that the \
     EDT-based NI is located on host memory bus\" (Section 1)";

/// What the names are, for those who are near one.
const NAMES: &str = "an interface of the Virtual Interface Architecture is EDT, EDT+DmaReceive, CCDMA-intervention, \
     CCDMA-retry, DMA-flush, PIO or PIO+WriteCombining";

fn read(text: &str) -> Reading {
    let named = Scheme::ALL.iter().find(|(_, name)| name.eq_ignore_ascii_case(text));
    if let Some(&(_, form)) = named {
        return Reading::Half { form, size: 0 };
    }
    let text = text.to_ascii_lowercase();
    let begins = |family: &str| {
        text.strip_prefix(family)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', '-', '_', ' ']))
    };
    let closeness = |name: &str| strsim::jaro_winkler(&name.to_ascii_lowercase(), &text);
    let closest = Scheme::ALL.iter().map(|&(_, name)| (closeness(name), name));
    let closest = closest.max_by(|one, other| one.0.total_cmp(&other.0));
    let (closeness, nearest) = closest.expect("there are some");
    match ["edt", "ccdma", "cc-dma", "dma", "pio"].into_iter().any(begins) || closeness > 0.9 {
        true => Reading::NearMiss(format!("{NAMES}; did you mean {nearest}?")),
        false => Reading::Foreign,
    }
}

fn build(name: HalfName, section: &Value, node: &Surroundings<'_>) -> BuiltDevice {
    let config: Config = typed(section)?;
    config.check()?;
    let (scheme, _) =
        Scheme::ALL.into_iter().find(|&(_, form)| form == name.form).expect("it has read the name");
    let build = Build {
        scheme,
        config,
        processes: node.processes,
        block_bytes: node.block_bytes,
        memory: node.local_memory.cloned().unwrap_or_default(),
        dma_engine: node.dma_engine.unwrap_or_default(),
    };
    Ok(Box::new(Via::new(build)))
}

/// Eager Data Transfer and the schemes that it is compared with.
pub static MODEL: Model = Model {
    section: "via",
    family: "VIA",
    summary: "the Virtual Interface Architecture in firmware: eager data transfer, coherent DMA, DMA with flushes, \
              programmed I/O",
    examples: &[
        "EDT",
        "EDT+DmaReceive",
        "CCDMA-intervention",
        "CCDMA-retry",
        "DMA-flush",
        "PIO",
        "PIO+WriteCombining",
    ],
    read,
    programming: &Programming {
        driver: Driver::new("via", "The Virtual Interface Architecture's library."),
        registers: &[],
        constants: CONSTANTS,
        facts: FACTS,
        requirements: &[Requirement::DmaEngine],
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
            "register_access_time": "10ns",
            "memory_access_time": "10ns",
            "doorbells": 4,
            "commands": 4,
            "vis": 8,
            "regions": 8,
            "completion_queues": 4,
            "mtu": "1500B",
            "receive_slots": 4,
            "places": 2,
            "network_bytes_per_second": "1600MB",
            "tags": 8,
            "reaction_time": "100ns",
            "initialisation": "bus-read",
            "when_full": "fall-back",
            "message_layer_cycles": 0,
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
            ("EDT+Dma", "did you mean EDT+DmaReceive?"),
            ("EDT-DmaReceive", "did you mean EDT+DmaReceive?"),
            ("CCDMA", "an interface of the Virtual Interface Architecture is EDT"),
            ("CC-DMA-retry", "did you mean CCDMA-retry?"),
            ("dma-flsh", "did you mean DMA-flush?"),
            ("PIO+Write", "PIO+WriteCombining"),
        ] {
            let error = text.parse::<Name>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains(meant), "{error}");
        }
        assert_eq!(read("NI2w"), Reading::Foreign);
        assert_eq!(read("Ethernet"), Reading::Foreign);
    }

    #[test]
    fn every_example_is_a_scheme_and_prints_as_it_is_written() {
        for name in MODEL.examples {
            assert_eq!(name.to_lowercase().parse::<Name>().unwrap().to_string(), *name);
        }
        assert_eq!(MODEL.examples.len(), Scheme::ALL.len());
    }
}
