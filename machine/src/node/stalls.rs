//! Why nothing retires in processors with a reorder window ([`Stall`]), and what the core does not know of it:
//! where the blocks of its loads come from.
//!
//! Who answers a transaction is known when it is answered, and which load it was for when the block is there. A few of the
//! latest blocks with their sources are kept in between ([`Sources`]).

use narthex_cores::Stall;
use narthex_kernel::{Category, Duration, Time};
use narthex_memory::Transaction;
use narthex_memory::home_memory::BlockSource;
use narthex_memory::interconnects::Supplier;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::processor::State;
use super::{Node, NodeProcessor};

/// Places for blocks whose source is remembered: many more than a processor has misses under way, so that two seldom
/// have the same place.
const PLACES: usize = 256;

/// From where the latest blocks of a processor came.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sources(Vec<(u64, Stall)>);

impl Default for Sources {
    fn default() -> Self {
        Sources(vec![(u64::MAX, Stall::Load); PLACES])
    }
}

impl Sources {
    /// Blocks have 64 bytes or more; the factor is that of Fibonacci hashing.
    fn place(block: u64) -> usize {
        ((block >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % PLACES
    }

    fn note(&mut self, block: u64, stall: Stall) {
        if let Some(entry) = self.0.get_mut(Self::place(block)) {
            *entry = (block, stall);
        }
    }

    /// What a load of this block has waited for.
    pub fn of(&self, block: Option<u64>) -> Stall {
        let known = block.and_then(|block| self.0.get(Self::place(block)).filter(|entry| entry.0 == block));
        known.map_or(Stall::Load, |&(_, stall)| stall)
    }
}

impl Node {
    /// A processor's transaction is answered by this supplier.
    #[inline]
    pub(super) fn note_source(&mut self, index: usize, transaction: &Transaction, supplier: Supplier) {
        if self.processors[index].sources.is_some() && transaction.kind.fetches_block() {
            let stall = self.source_of(index, transaction.address, supplier);
            if let Some(sources) = &mut self.processors[index].sources {
                sources.note(transaction.address, stall);
            }
        }
    }

    fn source_of(&self, index: usize, block: u64, supplier: Supplier) -> Stall {
        let memory = match supplier {
            Supplier::Agent(agent) if self.port(agent).is_some() => return Stall::Device,
            Supplier::Agent(_) => return Stall::OtherCache,
            Supplier::Memory(memory) => &self.memories[usize::from(memory.0)],
        };
        let own_socket = self.on_chip.as_ref().map_or(0, |chip| chip.socket_of_processor(index));
        match memory.last_source(block) {
            _ if memory.home_socket(block) != own_socket => Stall::OtherSocket,
            BlockSource::OtherSocket => Stall::OtherSocket,
            BlockSource::LastLevel => Stall::LastLevel,
            BlockSource::Memory => Stall::Memory,
        }
    }
}

impl NodeProcessor {
    /// The time until `now`, which its ledger has booked, in which nothing retired, by [`Stall`]; empty without a
    /// window.
    pub(super) fn stalls(&mut self, now: Time) -> Vec<Duration> {
        let has_thread = matches!(self.state, State::Running | State::Woken | State::Waiting);
        self.processor.stalls(now, has_thread).map(|all| all.to_vec()).unwrap_or_default()
    }
}

/// A stretch of so much time as results have it: the time by cause, and the rest, in which anything retired. None
/// without a window.
pub(super) fn stalls_json(stalls: &[Duration], elapsed: Duration) -> Option<Value> {
    if stalls.is_empty() {
        return None;
    }
    let mut stalls = stalls.to_vec();
    let mut stalled: Duration = stalls.iter().copied().sum();
    if stalled > elapsed {
        // A run that was stopped ends before instructions that are known to be complete later.
        let most = stalls.iter_mut().max().expect("there are causes");
        *most -= stalled - elapsed;
        stalled = elapsed;
    }
    let named = stalls.iter().enumerate().map(|(cause, &time)| (Stall::name(cause), time));
    let all = std::iter::once(("busy".to_owned(), elapsed - stalled)).chain(named);
    let times = all.filter(|(_, time)| !time.is_zero()).map(|(name, time)| (name, json!(time.as_ps())));
    Some(times.collect::<Map<_, _>>().into())
}
