//! Writes of devices that go into some ways of a last level, as Intel's DDIO has them ("Intel Data Direct
//! I/O Technology Primer", 2012; Farshin et al., "Reexamining Direct Cache Access to Optimize I/O Intensive
//! Applications for Multi-hundred-gigabit Networks", USENIX ATC 2020).
//!
//! A block that a device writes and that is here is changed where it is, in any way. One that is not
//! here takes the place of the least recently used block of the first `ways` ways, so that devices
//! push no more than these out; with no ways it goes to the memory. Processors' blocks may be in these ways,
//! too. What a device reads and is not here comes from the memory and is not kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::transaction::AgentId;

/// The parameters of writes that go into a last level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Ways of each set into which devices' writes may bring a block, from 0 to the cache's
    /// associativity. With 0 a block that is not here goes to the memory.
    pub ways: u32,
    /// Whose accesses these are: the directory's name for the devices on it, the name of a link or bus
    /// behind it for those there.
    pub requesters: Vec<String>,
}

impl Config {
    /// What is wrong with its keys in a cache of so many ways.
    pub fn problems(&self, associativity: u32) -> Vec<(&'static str, String)> {
        let Config { ways, requesters } = self;
        let ways = (*ways > associativity).then(|| {
            let message = format!(
                "{ways} is more than the cache's associativity; expected 0 to {associativity} of its ways"
            );
            ("ddio.ways", message)
        });
        let nobody = requesters.is_empty().then(|| {
            let message =
                "[] names nobody; expected the directory for the devices on it, or what is behind it";
            ("ddio.requesters", message.into())
        });
        ways.into_iter().chain(nobody).collect()
    }
}

narthex_kernel::statistics! {
    /// What devices did to a last level.
    pub struct Statistics {
        hits: Counter, "ddio_hits", "blocks", "blocks that devices wrote and that the last level had";
        allocations: Counter, "ddio_allocations", "blocks", "blocks that came into the last level because devices wrote them";
        evictions: Counter, "ddio_evictions", "blocks", "dirty blocks that went to the memory because one that a device wrote took their place";
        read_hits: Counter, "ddio_read_hits", "blocks", "blocks that devices read and that the last level had";
        memory_bytes: Counter, "ddio_memory_bytes", "bytes", "bytes that the memory behind the last level moved because of devices";
    }
}

/// A set of agents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Agents([u64; 4]);

impl Agents {
    /// Whether an agent is one of them.
    pub fn has(&self, agent: AgentId) -> bool {
        self.0[usize::from(agent.0 / 64)] >> (agent.0 % 64) & 1 == 1
    }
}

impl FromIterator<AgentId> for Agents {
    fn from_iter<I: IntoIterator<Item = AgentId>>(agents: I) -> Self {
        let mut set = Agents::default();
        agents.into_iter().for_each(|agent| set.0[usize::from(agent.0 / 64)] |= 1 << (agent.0 % 64));
        set
    }
}

/// How devices' accesses are handled.
#[derive(Clone, Debug)]
pub(super) struct Ddio {
    pub ways: usize,
    pub requesters: Agents,
    pub statistics: Statistics,
}

impl Ddio {
    pub fn new(config: &Config, requesters: Agents) -> Self {
        Ddio { ways: config.ways as usize, requesters, statistics: Statistics::default() }
    }

    /// The memory has moved a block.
    pub fn note_memory(&mut self, block_bytes: u64) {
        self.statistics.memory_bytes.add(block_bytes);
    }
}
