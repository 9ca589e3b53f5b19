//! Cachable device registers (isca96, Section 2.1): a few blocks of an
//! interface's memory that the processor caches, and that are used again and
//! again for one message after the other. [`send`] and [`receive`] are the two
//! halves; [`crate::models::cni_i`] tells how they work.

pub mod receive;
pub mod send;

use std::ops::Range;

use narthex_fabrics::Header;
use narthex_kernel::Duration;
use narthex_memory::{AgentId, Kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address_names::{Region, RegionParts};
use crate::cachable_queue::device_memory::DeviceMemory;
use crate::description::Layout;
use crate::models::{Problem, Setup};
use crate::programming::{Driver, Firmware, Programming};
use crate::registers::{MESSAGE_READY_REGISTER, STATUS_REGISTER};

/// Store: the cachable registers have been read and may be reused.
const CLEAR: u64 = 0x20;

/// How cachable registers are programmed.
pub static PROGRAMMING: Programming = Programming {
    driver: Driver::numbered(5, "cachable_register", "Cachable device registers."),
    registers: &[&[
        STATUS_REGISTER,
        MESSAGE_READY_REGISTER,
        ("CLEAR", CLEAR, "store: the cachable registers have been read and may be reused"),
    ]],
    constants: &[],
    facts: &[],
    requirements: &[],
    firmware: Firmware::NONE,
};

/// The parameters of an interface with cachable device registers.
#[derive(Clone, Hash, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that the interface's memory needs for a block.
    pub memory_access_time: Duration,
    /// Time that an access to an uncached register takes beyond the bus's own cycles.
    pub register_access_time: Duration,
    /// Time that an engine works on a message, on each side.
    pub engine_time: Duration,
    /// Time from the end of the engine's work until an arrived message is in the
    /// interface's memory.
    #[schemars(extend("half" = "receive"))]
    pub deposit_time: Duration,
}

/// The cachable registers of one half, whose home the interface is.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct Registers {
    agent: AgentId,
    config: Config,
    memory: DeviceMemory,
    payload_limit: usize,
    /// The transaction on the bus is for this block.
    job: Option<u64>,
}

impl Registers {
    /// Unused registers at `address`. A size that does not divide a message is refused.
    pub fn new(setup: &Setup<'_>, config: Config, address: u64) -> Result<Self, Problem> {
        let (size, block) = (u64::from(setup.name.size), setup.block_bytes);
        let message = setup.packet_bytes / block;
        if size == 0 || !message.is_multiple_of(size) {
            let sizes = (1..=message).filter(|size| message.is_multiple_of(*size));
            let sizes: Vec<_> = sizes.map(|size| size.to_string()).collect();
            let sizes = sizes.join(", ");
            let name = setup.name;
            let nearest = if size > message { format!("; did you mean {name}Q?") } else { String::new() };
            return Err(Problem::of_name(format!(
                "it would show {size} blocks of a message of {message} blocks; the size divides the \
                 message: {sizes}{nearest}"
            )));
        }
        let memory =
            DeviceMemory::new(address..address + size * block, block as usize, config.memory_access_time);
        let payload_limit = setup.packet_bytes as usize - Header::BYTES;
        Ok(Registers { agent: setup.agent, config, memory, payload_limit, job: None })
    }

    /// The layout of a half whose registers are called `name`, and that moves their
    /// blocks by transactions of this kind.
    fn layout(&self, name: &'static str, moves: Kind) -> Layout {
        let range = self.memory.range();
        Layout {
            entries: self.bytes() as u64 / self.memory.block_bytes() as u64,
            cachable: vec![range.clone()],
            home: vec![range.clone()],
            regions: vec![Region { name, addresses: range, parts: RegionParts::Blocks }],
            transactions: vec![Kind::UncachedLoad, Kind::UncachedStore, moves],
            ..Layout::default()
        }
    }

    /// Bytes of a message that they show at a time.
    fn bytes(&self) -> usize {
        (self.memory.range().end - self.memory.range().start) as usize
    }

    /// The addresses of the blocks that the first `bytes` bytes lie in.
    fn blocks(&self, bytes: usize) -> impl Iterator<Item = u64> + use<> {
        let Range { start, .. } = self.memory.range();
        (start..start + bytes as u64).step_by(self.memory.block_bytes())
    }

    fn peek(&self, address: u64) -> Option<&[u8]> {
        if self.memory.range().contains(&address) { self.memory.latest(address) } else { None }
    }
}
