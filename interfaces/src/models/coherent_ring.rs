//! `CoherentRing`: rings of buffers in coherent memory, without doorbells.
//!
//! ```text
//!            main memory is the home                        the interface is the home
//!   send:    processor ── [ packet, ready ] ──► interface   interface ── [ sent buffer, ready ] ──► processor
//!   receive: processor ── [ empty buffer, ready ] ──► int.  interface ── [ packet, ready ] ──► processor
//! ```
//!
//! An interface on the links that keep the caches of processors coherent need not be programmed like a
//! device. CC-NIC (Schuh, Krishnamurthy, Culler, Levy, Rizzo, Khan and Stephens: "CC-NIC: a
//! Cache-Coherent Interface to the NIC", ASPLOS 2024) is one in the second socket of a server. This
//! model has what its authors found to matter:
//! - **flags in the descriptors**: a descriptor's own word says that it is new. The reader polls it in its
//!   cache; there are no doorbells, no registers, and no heads or tails in memory;
//! - **homes at the writer**: main memory, beside the processors, is the home of what the processor
//!   writes, and the interface's memory of what the interface writes;
//! - **buffers that circulate**: processor and interface hand buffers to each other by these rings, packets
//!   one way and empty buffers the other way, and each uses the one first that it got last. So few of
//!   them are in use, and those are in the caches.
//!
//! Where it is simpler than CC-NIC: the pools of the two directions are apart, so that each half goes
//! with halves of other models; all buffers have the size of a packet; one queue pair a process; one
//! transaction of each half at a time. The interface's cache for buffers is direct-mapped, as those of
//! the coherent interfaces of 1996.
//!
//! A packet begins with its header, as over `Ring`. A descriptor has 16 bytes: the buffer's address, and
//! a word with the packet's length and the flag. The processor's two stores to it become visible in
//! order.

use std::fmt::Display;

use narthex_kernel::Duration;
use narthex_memory::cache::Cache;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, NO_COHERENCE, NO_MEMORY_HOME, Problem, Setup};
use crate::attachment::Attachment;
use crate::cachable_queue::copies::Copies;
use crate::coherent_ring::receive::CoherentRingReceive;
use crate::coherent_ring::send::CoherentRingSend;
use crate::coherent_ring::{DESCRIPTOR_BYTES, Parts, Pool, READY};
use crate::name::Reading;
use crate::programming::{Driver, Firmware, Programming};
use crate::registers::LARGEST_QUEUE_BYTES;

/// The most buffers of a half: its driver has a place for each.
const MOST_BUFFERS: u64 = 1024;
/// Blocks of a ring that the interface has copies of.
const RING_LINES: usize = 2;

static PROGRAMMING: Programming = Programming {
    driver: Driver::apart("coherent_ring", "Rings of buffers in coherent memory."),
    registers: &[],
    constants: &[
        ("BUFFER_DESCRIPTOR_BYTES", DESCRIPTOR_BYTES, "Bytes of a descriptor of a buffer."),
        ("BUFFER_DESCRIPTOR_READY", READY, "Its flag, which is 1 for a new one in the ring's first lap."),
        ("MOST_RING_BUFFERS", MOST_BUFFERS, "The most buffers of a direction."),
    ],
    facts: &[],
    requirements: &[],
    firmware: Firmware::NONE,
};

/// The parameters of an interface with rings in coherent memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that the interface's memory and caches need to supply a block.
    pub memory_access_time: Duration,
    /// Time that an engine works on a packet, on each side.
    pub engine_time: Duration,
    /// Blocks of buffers that the interface's cache holds, on each side: a power of two.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub cache_blocks: u64,
    /// Buffers that the interface returns together, or looks for together.
    #[schemars(range(min = 1, max = 512))]
    pub batch: u64,
    /// Buffers for sending: a power of two.
    #[schemars(range(min = 8, max = 1024), extend("half" = "send"))]
    pub send_buffers: u64,
    /// Buffers for receiving: a power of two.
    #[schemars(range(min = 8, max = 1024), extend("half" = "receive"))]
    pub receive_buffers: u64,
}

/// What is wrong with a parameter.
fn problem<T>(key: &str, problem: impl Display) -> Result<T, Problem> {
    Err(Problem { key: key.into(), problem: problem.to_string() })
}

impl Config {
    fn pool(&self, setup: &Setup<'_>, key: &str, start: u64, buffers: u64) -> Result<Pool, Problem> {
        let Setup { packet_bytes, block_bytes, .. } = *setup;
        let least = 2 * block_bytes / DESCRIPTOR_BYTES;
        if !buffers.is_power_of_two() || !(least..=MOST_BUFFERS).contains(&buffers) {
            return problem(
                key,
                format!("{buffers} buffers; expected a power of two from {least} to {MOST_BUFFERS}"),
            );
        }
        let pool = Pool { start, buffers, buffer_bytes: packet_bytes, block_bytes };
        let bytes = pool.bytes();
        if bytes > LARGEST_QUEUE_BYTES {
            return problem(
                key,
                format!(
                    "{buffers} buffers of {packet_bytes} bytes (messages.packet) and their rings take {bytes} bytes; \
                     {LARGEST_QUEUE_BYTES} are there"
                ),
            );
        }
        Ok(pool)
    }

    fn parts(&self, setup: &Setup<'_>, key: &str, start: u64, buffers: u64) -> Result<Parts, Problem> {
        let pool = self.pool(setup, key, start, buffers)?;
        let blocks = self.cache_blocks;
        if !blocks.is_power_of_two() || blocks > 1 << 20 {
            return problem(
                "cache_blocks",
                format!("{blocks} blocks; expected a power of two up to 1048576"),
            );
        }
        let most = buffers / 2;
        if !(1..=most).contains(&self.batch) {
            let batch = self.batch;
            return problem("batch", format!("{batch} buffers; with {key} = {buffers} expected 1 to {most}"));
        }
        let copies = |lines| Copies::Cache {
            cache: Cache::with_geometry(setup.protocol, lines, 1, setup.block_bytes as usize),
            access_time: self.memory_access_time,
        };
        Ok(Parts {
            agent: setup.agent,
            pool,
            ring_copies: copies(RING_LINES),
            buffer_copies: copies(blocks as usize),
            memory_access_time: self.memory_access_time,
            engine_time: self.engine_time,
            batch: self.batch as usize,
        })
    }
}

fn send(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    let start = setup.addresses.send_queue();
    let parts = config.parts(setup, "send_buffers", start, config.send_buffers)?;
    Ok(Box::new(CoherentRingSend::new(parts)))
}

fn receive(setup: &Setup<'_>) -> Built {
    let config: Config = super::config(setup)?;
    let start = setup.addresses.receive_queue();
    let parts = config.parts(setup, "receive_buffers", start, config.receive_buffers)?;
    Ok(Box::new(CoherentRingReceive::new(parts)))
}

/// Interfaces with rings of buffers in coherent memory.
pub static MODEL: Model = Model {
    section: "coherent_ring",
    family: "CoherentRing",
    summary: "rings of buffers in coherent memory, without doorbells (CC-NIC, beside the processors)",
    examples: &["CoherentRing"],
    read: |text| Reading::exactly(text, "CoherentRing"),
    programming: &PROGRAMMING,
    attaches: |attachment| match attachment {
        Attachment::MemoryBus => Ok(()),
        Attachment::IoBus => Err(NO_MEMORY_HOME),
        Attachment::CacheBus | Attachment::Register => Err(NO_COHERENCE),
    },
    makes: Makes::Halves { send, receive },
    schema: || schema_for!(Config),
    sample: || {
        json!({
            "memory_access_time": "60ns",
            "engine_time": "40ns",
            "cache_blocks": 8,
            "batch": 2,
            "send_buffers": 8,
            "receive_buffers": 8,
        })
    },
};

#[cfg(test)]
mod tests {
    use narthex_memory::AgentId;
    use narthex_memory::protocols;
    use serde_json::Value;

    use super::*;
    use crate::attachment::Hearing;
    use crate::registers::Addresses;

    /// Why both halves refuse the sample with another value of a parameter.
    fn refusals(key: &str, value: Value) -> [Option<Problem>; 2] {
        let mut config = (MODEL.sample)();
        config[key] = value;
        let setup = Setup {
            name: "CoherentRing".parse().unwrap(),
            config: &config,
            agent: AgentId(1),
            addresses: Addresses::of_process(0),
            attachment: Attachment::MemoryBus,
            hearing: Hearing::All,
            overlaps: false,
            protocol: protocols::by_name("MOESI").unwrap(),
            block_bytes: 64,
            packet_bytes: 256,
            time_without_progress: Duration::from_ns(10_000_000),
        };
        [send(&setup).err(), receive(&setup).err()]
    }

    #[test]
    fn what_does_not_fit_together_is_refused_by_the_half_that_it_is_about() {
        for (key, value, half, told) in [
            ("send_buffers", 48, 0, "48 buffers; expected a power of two from 8 to 1024"),
            ("receive_buffers", 4, 1, "4 buffers; expected a power of two"),
            ("receive_buffers", 2048, 1, "2048 buffers; expected a power of two"),
        ] {
            let found = refusals(key, json!(value));
            let refusal = found[half].clone().expect(key);
            assert_eq!(refusal.key, key);
            assert!(refusal.problem.contains(told), "{}", refusal.problem);
            assert_eq!(found[1 - half], None);
        }
        for (key, value, told) in [
            ("cache_blocks", 3, "3 blocks; expected a power of two"),
            ("batch", 5, "5 buffers; with send_buffers = 8 expected 1 to 4"),
            ("batch", 0, "0 buffers"),
        ] {
            let found = refusals(key, json!(value));
            assert!(found.iter().all(|refusal| refusal.as_ref().is_some_and(|refusal| refusal.key == key)));
            let refusal = found[0].as_ref().unwrap();
            assert!(refusal.problem.contains(told), "{}", refusal.problem);
        }
    }
}
