//! A processor's caches as system calls and debuggers see them: functional, without time.

use std::ops::Range;

use super::{Issued, Pending, ProcessorMemory};
use crate::access_tags::Tag;
use crate::protocols::Request;

impl ProcessorMemory {
    /// Reads the newest bytes at an address of the node, inside a block of the
    /// interconnect, if the caches of data have them; says whether they do.
    pub fn peek(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.translation.to_process(address).is_some_and(|own| self.peek_own(own, bytes))
    }

    /// The same at an address of its process.
    pub(super) fn peek_own(&self, address: u64, bytes: &mut [u8]) -> bool {
        let below = self.second.as_ref().and_then(|second| second.cache.bytes_at(address, bytes.len()));
        let is_below = below.is_some();
        if let Some(below) = below {
            bytes.copy_from_slice(below);
        }
        let mut done = 0;
        while done < bytes.len() {
            let here = address + done as u64;
            let end = (done + self.data.bytes_to_end_of_block(here)).min(bytes.len());
            match self.data.bytes_at(here, end - done) {
                Some(newest) => bytes[done..end].copy_from_slice(newest),
                None if is_below => {}
                None => return false,
            }
            done = end;
        }
        true
    }

    /// Replaces bytes at an address of the node, inside a block of the interconnect,
    /// where the caches of data have them; a reservation of theirs is lost. Functional: the
    /// caller sees to all other copies.
    pub fn poke(&mut self, address: u64, bytes: &[u8]) {
        let Some(own) = self.translation.to_process(address) else { return };
        if let Some(second) = &mut self.second
            && second.cache.holds(own)
        {
            second.cache.write(own, bytes);
        }
        let mut done = 0;
        while done < bytes.len() {
            let here = own + done as u64;
            let end = (done + self.data.bytes_to_end_of_block(here)).min(bytes.len());
            if self.data.holds(here) {
                self.data.write(here, &bytes[done..end]);
            }
            let block = self.data.block_of(here);
            self.reservation = self.reservation.filter(|&reserved| reserved != block);
            done = end;
        }
    }

    /// Empties the lines of the caches of data in `range`, of the process's own addresses,
    /// and hands those that are newer than their home to `write_back` with their place in
    /// the node, older bytes first. A block whose upgrade is under way stays: its bytes do
    /// not come with it.
    pub fn flush(&mut self, range: Range<u64>, mut write_back: impl FnMut(u64, &[u8])) {
        // The page of a store that waits may be another one by the time it is made.
        if let Some(Pending::Data { most, .. }) = &mut self.pending {
            *most = Tag::Read;
        }
        let block_bytes = self.block_bytes() as u64;
        let upgraded = self.in_flight.of_blocks().filter_map(|issued| match issued {
            Issued::Block { address, request: Request::Upgrade, .. } if range.contains(address) => {
                Some(*address..address + block_bytes)
            }
            _ => None,
        });
        let mut upgraded: Vec<Range<u64>> = upgraded.collect();
        upgraded.sort_unstable_by_key(|block| block.start);
        let ends = upgraded.iter().map(|block| block.start).chain([range.end]);
        let starts = [range.start].into_iter().chain(upgraded.iter().map(|block| block.end));
        let translation = &self.translation;
        for (start, end) in starts.zip(ends) {
            let part = start..end;
            if let Some(second) = &mut self.second {
                second.cache.flush(part.clone(), |block, data| write_back(translation.to_node(block), data));
            }
            self.data.flush(part, |block, data| write_back(translation.to_node(block), data));
        }
    }
}
