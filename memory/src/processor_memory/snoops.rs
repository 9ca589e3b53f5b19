//! How a processor's memory answers the transactions of others.
//!
//! The level that the interconnect sees is snooped: the second one where there is one, which looks into
//! the caches above, else the data cache and the instruction cache. A snoop may end a reservation, take a
//! block away or give its bytes, and wakes nobody: the processor finds out at its next access. Bytes that
//! pass by may be taken in (*snarfed*).

use crate::access_tags::Tag;
use crate::cache::Cache;
use crate::transaction::{BlockData, SnoopReply, Transaction};

use super::{Issued, ProcessorMemory};

impl ProcessorMemory {
    /// Answers another agent's transaction.
    pub fn snoop(&mut self, transaction: &Transaction) -> SnoopReply {
        let (Some(snoop), Some(address)) =
            (transaction.kind.snoop(), self.translation.to_process(transaction.address))
        else {
            return SnoopReply::default();
        };
        let had_it = self.misses.is_some() && self.data.holds(address);
        let mut reply = match &mut self.second {
            Some(second) => second.snoop(&mut self.data, self.instructions.as_mut(), snoop, address),
            None => {
                let mut reply = self.data.snoop(snoop, address);
                if let Some(cache) = &mut self.instructions {
                    reply.shares |= cache.snoop(snoop, address).shares;
                }
                reply
            }
        };
        reply.delay = self.supply_time;
        self.count_taken(had_it, address);
        self.keep_reservation();
        self.sweep(address);
        reply
    }

    /// Refuses another agent's transaction where the bus carries no data from cache to
    /// cache: the bytes of a dirty block, which go home first.
    pub fn push(&mut self, transaction: &Transaction) -> Option<BlockData> {
        let (snoop, address) = (transaction.kind.snoop()?, self.translation.to_process(transaction.address)?);
        let had_it = self.misses.is_some() && self.data.holds(address);
        let pushed = match &mut self.second {
            Some(second) => second.push(&mut self.data, self.instructions.as_mut(), snoop, address),
            None => self.data.push(snoop, address),
        };
        self.count_taken(had_it, address);
        self.keep_reservation();
        self.sweep(address);
        pushed
    }

    /// The transaction that was issued is refused. Whether it is formed anew when the
    /// interconnect is granted again: an upgrade may have lost its copy by then.
    pub fn refused(&mut self, transaction: &Transaction) -> bool {
        let is_formed_anew = matches!(self.in_flight.get(transaction.tag), Some(Issued::Block { .. }));
        if is_formed_anew {
            self.in_flight.end(transaction.tag);
            if let Some(misses) = &mut self.misses {
                misses.is_over(transaction.tag);
            }
        }
        is_formed_anew
    }

    /// Whether its caches take bytes that pass by.
    pub fn snarfs(&self) -> bool {
        match &self.second {
            Some(second) => second.cache.snarfs(),
            None => self.data.snarfs() || self.instructions.as_ref().is_some_and(Cache::snarfs),
        }
    }

    /// Another agent's transaction is over, whose bytes the caches may take. Says
    /// whether one did. A block that a load under way brings is not taken: a younger load
    /// would hit it, and could read an older value than that load.
    pub fn snarf(&mut self, transaction: &Transaction) -> bool {
        let (Some(snoop), Some(data), Some(address)) =
            (transaction.kind.snoop(), &transaction.data, self.translation.to_process(transaction.address))
        else {
            return false;
        };
        if self.is_on_its_way(address) {
            return false;
        }
        if let Some(second) = &mut self.second {
            let takes = second.cache.snarf(snoop, address, data);
            second.cache.allow(address, Tag::None);
            self.statistics.snarfed.add(takes.into());
            return takes;
        }
        let by_data = self.data.snarf(snoop, address, data);
        if by_data {
            self.statistics.snarfed.increment();
            self.allow(address, Tag::Write);
        }
        let by_instructions =
            self.instructions.as_mut().is_some_and(|instructions| instructions.snarf(snoop, address, data));
        if by_instructions {
            self.statistics.snarfed.increment();
        }
        by_data || by_instructions
    }
}
