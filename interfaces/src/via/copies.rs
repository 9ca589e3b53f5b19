//! The tags, and the state of each block of the interface's copies (Section 4, Figure 4).
//!
//! ```text
//!   tag:  SHA ........ EHA      registered host memory
//!         SNA ........ ENA      its copy in the interface's memory
//!         A                     the tag is valid
//!         state of each block:  Modified, Shared or Invalid
//! ```
//!
//! Active tags do not overlap, neither by host addresses nor by those of their copies, so
//! that each leads to one of the other. A lookup is a search among them by their first
//! address.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// What a block of a copy is, as the interface knows it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum CopyState {
    /// It may be older than the host's.
    #[default]
    Invalid,
    /// It is the host's; others may have it, too.
    Shared,
    /// It is newer than the host's memory, and nobody else has it.
    Modified,
}

/// A block of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Block {
    /// Its state: the status bit of the paper is whether it is valid.
    pub state: CopyState,
    /// Its fetch is asked for.
    pub is_due: bool,
}

/// The fields of a tag.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Fields {
    /// The registered region, by host addresses (SHA, EHA).
    pub host: Range<u64>,
    /// Its copy in the interface's memory (SNA, ENA).
    pub copy: Range<u64>,
}

/// A valid tag.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Tag {
    fields: Fields,
    blocks: Vec<Block>,
}

/// All tags.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Copies {
    block_bytes: u64,
    tags: Vec<Option<Tag>>,
    /// The numbers of the valid ones, by their first host address.
    by_host: BTreeMap<u64, usize>,
    /// The same by the first address of the copy.
    by_copy: BTreeMap<u64, usize>,
}

impl Copies {
    /// So many tags, none of them valid.
    pub fn new(tags: u32, block_bytes: u64) -> Self {
        Copies {
            block_bytes,
            tags: vec![None; tags as usize],
            by_host: BTreeMap::new(),
            by_copy: BTreeMap::new(),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.tags.len()
    }

    /// How many are valid.
    pub fn used(&self) -> usize {
        self.by_host.len()
    }

    /// Makes a tag valid.
    ///
    /// # Errors
    /// What is wrong with its fields.
    pub fn begin(&mut self, number: usize, fields: Fields) -> Result<(), String> {
        let Fields { host, copy } = &fields;
        let words = format!(
            "tag {number} of the host's {:#x} to {:#x} at {:#x} to {:#x}",
            host.start, host.end, copy.start, copy.end
        );
        if self.tags[number].is_some() {
            return Err(format!("{words}: the tag is valid already"));
        }
        let ends = [host.start, host.end, copy.start, copy.end];
        if !ends.iter().all(|end| end.is_multiple_of(self.block_bytes)) {
            return Err(format!("{words}: expected multiples of {}", self.block_bytes));
        }
        if host.is_empty() || host.end - host.start != copy.end.wrapping_sub(copy.start) {
            return Err(format!("{words}: expected two ranges of the same length"));
        }
        let own_end =
            |other: usize, range: fn(&Fields) -> &Range<u64>| self.fields(other).map(|own| range(own).end);
        let overlapping = |by: &BTreeMap<u64, usize>, range: fn(&Fields) -> &Range<u64>| {
            let own = range(&fields);
            let before = by.range(..own.end).next_back().map(|(_, &other)| other);
            before.filter(|&other| own_end(other, range).is_some_and(|end| end > own.start))
        };
        let other = overlapping(&self.by_host, |fields| &fields.host);
        if let Some(other) = other.or_else(|| overlapping(&self.by_copy, |fields| &fields.copy)) {
            return Err(format!("{words}: tag {other} has a part of that"));
        }
        let blocks = (host.end - host.start) / self.block_bytes;
        self.by_host.insert(host.start, number);
        self.by_copy.insert(copy.start, number);
        self.tags[number] = Some(Tag { fields, blocks: vec![Block::default(); blocks as usize] });
        Ok(())
    }

    /// A tag is not valid any more.
    pub fn end(&mut self, number: usize) {
        if let Some(tag) = self.tags[number].take() {
            self.by_host.remove(&tag.fields.host.start);
            self.by_copy.remove(&tag.fields.copy.start);
        }
    }

    /// The fields of a valid tag.
    pub fn fields(&self, number: usize) -> Option<&Fields> {
        self.tags.get(number)?.as_ref().map(|tag| &tag.fields)
    }

    fn place(&self, address: u64) -> Option<(usize, usize)> {
        let (_, &number) = self.by_host.range(..=address).next_back()?;
        let host = &self.fields(number)?.host;
        host.contains(&address).then(|| (number, ((address - host.start) / self.block_bytes) as usize))
    }

    /// The block at a host address, if a valid tag has it.
    pub fn block(&self, address: u64) -> Option<Block> {
        let (tag, block) = self.place(address)?;
        self.tags[tag].as_ref().map(|tag| tag.blocks[block])
    }

    /// The same, to be changed.
    pub fn block_mut(&mut self, address: u64) -> Option<&mut Block> {
        let (tag, block) = self.place(address)?;
        self.tags[tag].as_mut().map(|tag| &mut tag.blocks[block])
    }

    /// Where the copy of a host address is.
    pub fn copy_of(&self, address: u64) -> Option<u64> {
        let (number, _) = self.place(address)?;
        self.fields(number).map(|fields| fields.copy.start + (address - fields.host.start))
    }

    /// Of which host address this is a copy, if the whole range is within one.
    pub fn host_of(&self, copy: u64, length: u64) -> Option<u64> {
        let (_, &number) = self.by_copy.range(..=copy).next_back()?;
        let fields = self.fields(number)?;
        let is_within = copy.checked_add(length).is_some_and(|end| end <= fields.copy.end);
        is_within.then(|| fields.host.start + (copy - fields.copy.start))
    }

    /// The host addresses of the blocks that a range of copies touches, as far as they are
    /// copies.
    pub fn blocks_within(&self, copy: Range<u64>) -> Vec<u64> {
        let first = copy.start - copy.start % self.block_bytes;
        let begun_before = self.by_copy.range(..first).next_back();
        let tags = begun_before.into_iter().chain(self.by_copy.range(first..copy.end));
        let blocks_of = |(_, &number): (_, &usize)| {
            let Fields { host, copy: own } = self.fields(number).expect("it is valid");
            let part = first.max(own.start)..copy.end.min(own.end);
            part.step_by(self.block_bytes as usize).map(|block| host.start + (block - own.start))
        };
        tags.flat_map(blocks_of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(host: Range<u64>, copy: Range<u64>) -> Fields {
        Fields { host, copy }
    }

    fn copies() -> Copies {
        let mut copies = Copies::new(3, 128);
        copies.begin(0, fields(0x4000..0x5000, 0x10_0000..0x10_1000)).expect("a tag");
        copies.begin(2, fields(0x2000..0x3000, 0x20_0000..0x20_1000)).expect("a tag");
        copies
    }

    #[test]
    fn a_host_address_and_its_copy_lead_to_each_other() {
        let copies = copies();
        assert_eq!((copies.copy_of(0x4088), copies.copy_of(0x2fff)), (Some(0x10_0088), Some(0x20_0fff)));
        assert_eq!((copies.host_of(0x10_0088, 8), copies.host_of(0x20_0ff8, 9)), (Some(0x4088), None));
        assert_eq!([0x1fff, 0x3000, 0x5000].map(|address| copies.copy_of(address)), [None; 3]);
        assert_eq!(copies.blocks_within(0x10_00ff..0x10_0101), [0x4080, 0x4100]);
        let everything = copies.blocks_within(0..u64::MAX);
        assert_eq!((everything.len(), everything[0], everything[32]), (64, 0x4000, 0x2000));
        assert_eq!(copies.blocks_within(0x10_1000..0x20_0000), [0; 0]);
        assert_eq!(copies.used(), 2);
    }

    #[test]
    fn a_tag_that_overlaps_another_or_fits_no_block_is_refused() {
        let mut copies = copies();
        let refusal = |copies: &mut Copies, host, copy| copies.begin(1, fields(host, copy)).unwrap_err();
        assert!(refusal(&mut copies, 0x2f80..0x3080, 0x30_0000..0x30_0100).contains("tag 2 has a part"));
        assert!(refusal(&mut copies, 0x6000..0x6040, 0x30_0000..0x30_0040).contains("multiples of 128"));
        assert!(refusal(&mut copies, 0x6000..0x6080, 0x30_0000..0x30_0100).contains("the same length"));
        assert!(copies.begin(2, fields(0..0, 0..0)).unwrap_err().contains("valid already"));
        let same_copy = refusal(&mut copies, 0x6000..0x6080, 0x20_0f80..0x20_1000);
        assert!(same_copy.contains("tag 2 has a part"), "{same_copy}");
        copies.end(2);
        copies.begin(1, fields(0x2f80..0x3080, 0x30_0000..0x30_0100)).expect("nothing has it");
    }
}
