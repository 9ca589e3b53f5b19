//! `PioCoherent`: programmed I/O over a coherent link, with loads that the interface holds.
//!
//! ```text
//!   receive: processor ── load line 0 ──────────────────────────► interface   held: no packet yet
//!            processor ◄─ header, payload ─────────────────────── interface   a packet has come
//!            processor ── load line 1 (line 0 has been read) ───► interface   takes line 0 away; held
//!
//!   send:    processor fills line 0, which it has to itself; barrier
//!            processor ── load line 1 (line 0 is filled) ───────► interface   held
//!            processor ◄─ fetch line 0 ────────────────────────── interface   injects
//!            processor ◄─ line 1 is free ──────────────────────── interface
//! ```
//!
//! Where a device is a peer on the processors' coherent interconnect, loads and stores of single cache
//! blocks move a small packet faster than descriptors, doorbells and DMA do. This is the interface of
//! Ruzhanskaia, Xu, Cock and Roscoe, "Rethinking Programmed I/O for Fast Devices, Cheap Cores, and
//! Coherent Interconnects" (2024), on Enzian, and of Lauberhorn, which is built on it:
//! - **no rings, no DMA, no registers**: a packet is in a cache block whose home is the interface;
//! - **held loads**: the processor does not poll. Its load of a receive line is answered when a packet has
//!   come. After `time_out` it is answered without one, because a processor takes a load that is never
//!   answered for an error of the machine, and because its program may have other work;
//! - **two lines in each direction, which take turns**: a load of one says that the other one is done, so
//!   there is no other word from the processor to the interface;
//! - **the interface takes a line away** from the processor's cache before it is used again, and fetches a
//!   filled one back.
//!
//! **Lines.** A control block begins with the packet's header, 8 bytes that say its length; the rest is
//! payload. What does not fit follows in overflow blocks. A line is as long as a packet. The paper's
//! machine has blocks of 128 bytes, 64 of which are the descriptor; here a block is the machine's, and a
//! descriptor no longer than a header, so that blocks of 64 bytes carry 56 bytes of payload.
//!
//! **On a directory.** The home of a block holds one request and works on others, those of the interface
//! among them. A snooping bus would be the held load's until it is answered, and could not carry the
//! fetch or the invalidation that the answer waits for; so a machine with a bus refuses this interface.

use narthex_kernel::Duration;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, NO_COHERENCE, Problem, Setup};
use crate::attachment::Attachment;
use crate::name::Reading;
use crate::pio_coherent::receive::PioCoherentReceive;
use crate::pio_coherent::send::PioCoherentSend;
use crate::pio_coherent::{LINE_IS_FREE, Lines, Parts};
use crate::programming::{Driver, Firmware, Programming};

/// Why it is not behind a bridge.
const NO_HELD_LOADS: &str = "it holds loads of its blocks while it carries out transactions of its own, which takes a \
     directory as home";

static PROGRAMMING: Programming = Programming {
    driver: Driver::apart("pio_coherent", "Lines whose loads the interface holds."),
    registers: &[],
    constants: &[("SEND_LINE_IS_FREE", LINE_IS_FREE, "The control word of a send line that may be filled.")],
    facts: &[],
    requirements: &[],
    firmware: Firmware::NONE,
};

/// The parameters of an interface that holds loads of its lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that the interface's memory needs for a block.
    pub memory_access_time: Duration,
    /// Time that an engine works on a packet, on each side.
    pub engine_time: Duration,
    /// The longest time for which a load is held: then it is answered without a packet, or without a free
    /// line.
    pub time_out: Duration,
}

fn parts(setup: &Setup<'_>, start: u64) -> Result<Parts, Problem> {
    let Config { memory_access_time, engine_time, time_out } = super::config(setup)?;
    let most = setup.time_without_progress;
    if time_out.is_zero() || time_out >= most {
        let problem = format!(
            "a load held for {time_out}; expected more than 0, and less than machine.time_without_progress = {most}, \
             which ends a run"
        );
        return Err(Problem { key: "time_out".into(), problem });
    }
    let lines = Lines::new(start, setup.packet_bytes, setup.block_bytes, memory_access_time);
    Ok(Parts { agent: setup.agent, lines, engine_time, time_out })
}

fn send(setup: &Setup<'_>) -> Built {
    Ok(Box::new(PioCoherentSend::new(parts(setup, setup.addresses.send_queue())?)))
}

fn receive(setup: &Setup<'_>) -> Built {
    Ok(Box::new(PioCoherentReceive::new(parts(setup, setup.addresses.receive_queue())?)))
}

/// Interfaces that hold loads of their lines.
pub static MODEL: Model = Model {
    section: "pio_coherent",
    family: "PioCoherent",
    summary: "programmed I/O in cache blocks, with loads that the interface holds (Enzian, Lauberhorn)",
    examples: &["PioCoherent"],
    read: |text| Reading::exactly(text, "PioCoherent"),
    programming: &PROGRAMMING,
    attaches: |attachment| match attachment {
        Attachment::MemoryBus => Ok(()),
        Attachment::IoBus => Err(NO_HELD_LOADS),
        Attachment::CacheBus | Attachment::Register => Err(NO_COHERENCE),
    },
    makes: Makes::Halves { send, receive },
    schema: || schema_for!(Config),
    sample: || json!({ "memory_access_time": "60ns", "engine_time": "40ns", "time_out": "200ns" }),
};

#[cfg(test)]
mod tests {
    use super::super::tests::refusals;
    use super::*;

    #[test]
    fn a_load_that_is_never_held_or_held_as_long_as_a_run_waits_is_refused() {
        for (value, is_allowed) in [("0ns", false), ("1ns", true), ("9999us", true), ("10ms", false)] {
            for refusal in refusals(&MODEL, "time_out", json!(value)) {
                assert_eq!(refusal.is_none(), is_allowed, "{value}");
                let told = "less than machine.time_without_progress = 10ms";
                assert!(refusal.is_none_or(|it| it.key == "time_out" && it.problem.contains(told)));
            }
        }
    }
}
