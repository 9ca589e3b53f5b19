//! The card of pcie-bench (R. Neugebauer, G. Antichi, J. F. Zazo, Y. Audzevich, S. Lopez-Buedo and
//! A. W. Moore, "Understanding PCIe performance for end host networking", SIGCOMM 2018), which
//! measures a host from the device's side.
//!
//! ```text
//!   host ── root complex ══ link ══ card ─┬─ registers: window, size, pattern, count, test
//!                                         ├─ command path: reads and writes at once, up to 64 bytes
//!                                         └─ DMA engine: up to 2 KiB, many accesses under way
//! ```
//!
//! It carries no messages: a program (guest/programs/pcie-bench) sets a test up in its registers,
//! starts it, and loads what the card's clock has measured. Sizes need not be whole blocks. The device
//! itself is in [`crate::pcie_bench`].

use schemars::schema_for;
use serde_json::{Value, json};

use super::{BuiltDevice, Makes, Model, Problem, typed};
use crate::attachment::{Attachment, Hearing};
use crate::interface::Surroundings;
use crate::name::{HalfName, Reading};
use crate::pcie_bench::config::Config;
use crate::pcie_bench::registers::{CONSTANTS, REGISTERS};
use crate::pcie_bench::{Build, PcieBench};
use crate::programming::{Driver, Firmware, Programming, Requirement};

const NAME: &str = "PcieBench";

/// Why it is behind a link only.
const BEHIND_A_LINK: &str = "it reads and writes parts of blocks, which a PCIe link alone carries: [node.interface] on = \
                             [\"NAME\"] of an interconnect with kind = \"pcie\"";

fn build(name: HalfName, section: &Value, node: &Surroundings<'_>) -> BuiltDevice {
    let config: Config = typed(section)?;
    config.check()?;
    // A link overlaps, and tells of nothing; a directory tells of blocks that are held.
    if !node.overlaps || node.hearing == Hearing::Held {
        return Err(Problem::of_name(format!("there can be no '{}' here: {BEHIND_A_LINK}", name.form)));
    }
    let (agent, block_bytes) = (node.first_agent, node.block_bytes);
    Ok(Box::new(PcieBench::new(Build { config, agent, block_bytes })))
}

/// The card of pcie-bench.
pub static MODEL: Model = Model {
    section: "pcie_bench",
    family: NAME,
    summary: "pcie-bench's card: it measures latency and bandwidth of its reads and writes of the host's memory",
    examples: &[NAME],
    read: |text| Reading::exactly(text, NAME),
    programming: &Programming {
        driver: Driver::apart("pcie_bench", "Nothing: pcie-bench's card carries no messages."),
        registers: &[REGISTERS],
        constants: CONSTANTS,
        facts: &[],
        requirements: &[
            Requirement::ContiguousFrames,
            Requirement::OneProcess("its tests are those of one program"),
        ],
        firmware: Firmware::NONE,
    },
    attaches: |attachment| match attachment {
        Attachment::MemoryBus => Ok(()),
        _ => Err(BEHIND_A_LINK),
    },
    makes: Makes::Device(build),
    schema: || schema_for!(Config),
    sample: || {
        json!({
            "register_access_time": "10ns",
            "timer_step": "13333ps",
            "dma_time": "120ns",
            "copy_time": "10ns",
            "operations": 32,
            "write_interval": "20ns",
        })
    },
};
