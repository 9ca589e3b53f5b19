//! What the controller issues on the bus, and what comes of it: puts first, then blocks that were
//! written, then those of tags that are gone through.
//!
//! Processors that poll may write registered blocks, their stacks for example, as fast as the
//! controller fetches them. A tag that is gone through, for which the firmware waits, then has its
//! turn after [`FETCHES_BEFORE_A_SWEEP`] fetches.

use narthex_memory::{AgentId, BlockData, Kind, Response, Transaction};

use super::{ControllerContext, Eager, Purpose, Statistics, Sweep};
use crate::via::config::Initialisation;
use crate::via::copies::{Block, CopyState};

/// More than a message has written blocks: a sweep waits for those, as it would without a limit.
const FETCHES_BEFORE_A_SWEEP: u32 = 256;

impl Eager {
    /// Whether it wants the bus.
    pub fn wants(&self) -> bool {
        self.under_way.is_none() && !(self.puts.is_empty() && self.ready.is_empty() && self.sweeps.is_empty())
    }

    /// It is granted the bus: what it issues, if still anything.
    pub fn issue(
        &mut self,
        at: &mut ControllerContext<'_>,
        statistics: &mut Statistics,
    ) -> Option<Transaction> {
        self.settle(at);
        let (purpose, transaction) = self
            .issue_put(at, statistics)
            .or_else(|| self.issue_late_sweep(statistics))
            .or_else(|| self.issue_fetch())
            .or_else(|| self.issue_sweep(statistics))?;
        self.under_way = Some((purpose, transaction.address));
        Some(transaction)
    }

    /// The next block of a tag, if it has waited for many fetches.
    fn issue_late_sweep(&mut self, statistics: &mut Statistics) -> Option<(Purpose, Transaction)> {
        (self.fetches_in_a_row >= FETCHES_BEFORE_A_SWEEP).then(|| self.issue_sweep(statistics))?
    }

    /// The oldest block that is still to be fetched.
    fn issue_fetch(&mut self) -> Option<(Purpose, Transaction)> {
        loop {
            let address = self.ready.pop_front()?;
            let block = self.copies.block(address);
            if block.is_some_and(|block| block.is_due && block.state == CopyState::Invalid) {
                self.fetches_in_a_row = if self.sweeps.is_empty() { 0 } else { self.fetches_in_a_row + 1 };
                return Some((Purpose::Fetch, Transaction::block(AgentId(0), Kind::Read, address)));
            }
        }
    }

    /// The next block of a tag that is gone through.
    fn issue_sweep(&mut self, statistics: &mut Statistics) -> Option<(Purpose, Transaction)> {
        self.fetches_in_a_row = 0;
        loop {
            let &(sweep, _, address) = self.sweeps.front()?;
            let Block { state, is_due } = self.copies.block(address)?;
            let reads = match self.build.initialisation {
                Initialisation::BusRead => Kind::Read,
                Initialisation::Invalidate => Kind::ReadExclusive,
            };
            match (sweep, state) {
                (_, CopyState::Modified) => {
                    let transaction = self.give_back(address, statistics)?;
                    return Some((Purpose::Return, transaction));
                }
                (Sweep::Begin, CopyState::Invalid) if !is_due => {
                    let transaction = Transaction::block(AgentId(0), reads, address);
                    return Some((Purpose::Initialise, transaction));
                }
                _ => self.step_sweep(),
            }
        }
    }

    /// The block of the first sweep is done.
    fn step_sweep(&mut self) {
        if let Some((_, _, next)) = self.sweeps.front_mut() {
            *next += self.build.block_bytes;
        }
        self.skip_swept();
    }

    /// A block that the interface owns goes home.
    pub(super) fn give_back(&mut self, address: u64, statistics: &mut Statistics) -> Option<Transaction> {
        let data = self.modified.remove(&address)?;
        statistics.written.increment();
        Some(Transaction::carrying(AgentId(0), Kind::WriteBack, address, data))
    }

    /// The transaction that it issued is over.
    pub fn complete(
        &mut self,
        at: &mut ControllerContext<'_>,
        response: &Response,
        statistics: &mut Statistics,
    ) {
        let (purpose, address) = self.under_way.take().expect("it issued a transaction");
        match purpose {
            Purpose::Fetch => {
                statistics.fetched.increment();
                self.filled(at, address, response);
            }
            Purpose::Initialise => {
                statistics.initialised.increment();
                match self.build.initialisation {
                    Initialisation::BusRead => {
                        self.filled(at, address, response);
                        self.step_sweep();
                    }
                    // It goes home next, whether it was newer or not.
                    Initialisation::Invalidate => self.own(at, address, response.data.clone()),
                }
            }
            Purpose::Return => {
                let is_sweep = self.puts.front().is_none_or(|put| put.block != address);
                if let Some(block) = self.copies.block_mut(address) {
                    block.state = if is_sweep { CopyState::Invalid } else { CopyState::Shared };
                }
                if is_sweep { self.step_sweep() } else { self.finish_put() }
            }
            Purpose::Acquire => self.acquired(at, address, response, statistics),
            Purpose::Write => self.finish_put(),
        }
        self.settle(at);
    }

    /// A block is here, shared.
    fn filled(&mut self, at: &mut ControllerContext<'_>, address: u64, response: &Response) {
        let data = response.data.as_ref().expect("a read brings its block");
        if let Some(copy) = self.copies.copy_of(address) {
            at.memory.write(copy, data);
        }
        if let Some(block) = self.copies.block_mut(address) {
            *block = Block { state: CopyState::Shared, is_due: false };
        }
        self.awaited.remove(&address);
    }

    /// A block is the interface's own, with these bytes.
    pub(super) fn own(&mut self, at: &mut ControllerContext<'_>, address: u64, data: Option<BlockData>) {
        let data = data.expect("it has the bytes");
        if let Some(copy) = self.copies.copy_of(address) {
            at.memory.write(copy, &data);
        }
        if let Some(block) = self.copies.block_mut(address) {
            *block = Block { state: CopyState::Modified, is_due: false };
        }
        self.awaited.remove(&address);
        self.modified.insert(address, data);
    }
}
