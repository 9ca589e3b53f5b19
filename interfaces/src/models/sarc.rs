//! SARC's cache-integrated network interface (Kavadias, Katevenis, Zampetakis, Nikolopoulos:
//! Cache-Integrated Network Interfaces: Flexible On-Chip Communication and Synchronization for
//! Large-Scale CMPs).
//!
//! ```text
//!   tile ── processor ── first level ── second level ─┬─ lines of the cache
//!                                                      ├─ scratchpad
//!                                                      ├─ command buffers, counters, queues
//!                                                      └─ job list ── engine ──► network on chip
//! ```
//!
//! Lines of each tile's second level are given a role while programs run: some are locked and
//! become scratchpad, and some of those are sensitive to events ([`crate::sarc::events`]): a store
//! or a packet that comes to one may start a transfer, send notifications, or serve a reader that
//! waits (Section 3.2). Loads and stores to another tile's scratchpad are remote accesses; RDMA
//! copies go from scratchpad to scratchpad, or to and from non-cacheable DRAM.
//!
//! | name | a message for a full single-reader queue |
//! | --- | --- |
//! | `SARC` | is an error: senders know how much room there is |
//! | `SARC+Nack` | comes back and is sent again (named in Section 2.1 and never implemented: an extension) |
//!
//! Sizes and cycles that the paper does not state are parameters, of which the machine's file says
//! why they are what they are. The device itself is in [`crate::sarc`].

use schemars::schema_for;
use serde_json::{Value, json};

use super::{BuiltDevice, Makes, Model, Problem, typed};
use crate::attachment::Attachment;
use crate::interface::Surroundings;
use crate::name::{HalfName, Reading};
use crate::programming::{Driver, Firmware, Programming, Requirement};
use crate::sarc::config::Config;
use crate::sarc::registers::{ADDRESSES, CONSTANTS};
use crate::sarc::{Build, Sarc};

/// Why it is nowhere else.
const IN_THE_SECOND_LEVEL: &str =
    "its lines are those of the tiles' second-level caches (Section 3), not of a device behind a bus";

const NAME: &str = "SARC";
/// The same, whose full queues return what comes to them.
const RETURNING: &str = "SARC+Nack";

fn read(text: &str) -> Reading {
    match Reading::exactly(text, RETURNING) {
        Reading::Foreign => Reading::exactly(text, NAME),
        reading => reading,
    }
}

fn build(name: HalfName, section: &Value, node: &Surroundings<'_>) -> BuiltDevice {
    Ok(Box::new(device(name, section, node)?))
}

/// The device itself, in whose tiles' place hardware may stand.
pub(crate) fn device(name: HalfName, section: &Value, node: &Surroundings<'_>) -> Result<Sarc, Problem> {
    let config: Config = typed(section)?;
    config.check(&node.chip, node.block_bytes)?;
    Ok(Sarc::new(Build { config, chip: node.chip, returns_when_full: name.form == RETURNING }))
}

/// What an access is told that finds nothing of it.
const LACKING: &str = "SARC's scratchpads, registers and DRAM, which this machine's interface lacks: run the program \
                       with --machine sarc-prototype or sarc-chip and --interface SARC";

/// SARC's cache-integrated network interface.
pub static MODEL: Model = Model {
    section: "sarc",
    family: "SARC",
    summary: "SARC: scratchpad, command buffers, counters and queues in lines of the tiles' second-level caches",
    examples: &[NAME, RETURNING],
    read,
    programming: &Programming {
        driver: Driver::apart("sarc", "SARC's single-reader queues and RDMA."),
        registers: &[],
        constants: CONSTANTS,
        facts: &[],
        requirements: &[
            Requirement::ContiguousFrames,
            Requirement::TileAddresses { start: ADDRESSES.start, end: ADDRESSES.end, lacking: LACKING },
        ],
        firmware: Firmware::NONE,
    },
    attaches: |attachment| match attachment {
        Attachment::MemoryBus => Ok(()),
        _ => Err(IN_THE_SECOND_LEVEL),
    },
    makes: Makes::Device(build),
    schema: || schema_for!(Config),
    sample: || {
        json!({
            "clock": "1GHz",
            "first_level": false,
            "load_cycles": 10,
            "store_cycles": 1,
            "out_cycles": 10,
            "in_cycles": 10,
            "packet_cycles": 2,
            "width": "8B",
            "region_table": { "entries": 16, "lookup_cycles": 0, "write_cycles": 3 },
            "job_list": { "kind": "fifo", "entries": 4 },
            "store_combining": { "kind": "buffer", "wait_cycles": 4 },
            "locks": 16,
            "lock_cycles": 20,
            "lock_bus_cycles": 15,
            "dram": "1MiB",
            "dram_access_time": "60ns",
            "dram_line_time": "5ns",
            "chips": 1,
        })
    },
};
