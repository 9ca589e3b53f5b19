//! Fine-grain access control: what a process may do with each block of its
//! tagged memory.
//!
//! ```text
//!   tagged memory   │ block │ block │ block │ block │ ...
//!   tags            │ write │ none  │ read  │ none  │      set by the process
//!                               ▲
//!                     a load here is a fault, which the process handles
//! ```
//!
//! Programs with shared memory on top of messages keep copies of each other's
//! blocks: a tag says whether the copy here may be read, written, or neither.
//! The memory system compares it with each load and store, and refuses what it
//! forbids; software decides what the tags mean and how blocks get here.
//!
//! **Without cost on a hit.** Nothing looks here where the cache's front row
//! answers: the row of a line answers only what the tags of the *whole* line
//! allow ([`Cache::allow`]), and is updated when they change. Blocks of tags may be
//! smaller than the cache's or larger.
//!
//! **Allocation.** All tags are `none` at first and take up memory by the chunk,
//! once one of a chunk's is changed.
//!
//! [`Cache::allow`]: crate::cache::Cache::allow

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::main_memory::PAGE_BYTES;

/// The smallest block that can have a tag of its own.
pub const SMALLEST_BLOCK_BYTES: u64 = 16;
/// The largest one.
pub const LARGEST_BLOCK_BYTES: u64 = 1024;

/// Tags that are allocated together.
const CHUNK: usize = 4096;

/// What a process may do with a block; a later one allows more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Tag {
    /// Nothing.
    None,
    /// Load from it.
    Read,
    /// Load from it and store to it.
    Write,
}

impl Tag {
    /// The tag with this number: 0 none, 1 read, 2 write.
    pub fn from_number(number: u64) -> Option<Tag> {
        [Tag::None, Tag::Read, Tag::Write].into_iter().find(|&tag| tag as u64 == number)
    }

    /// Its name in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Tag::None => "none",
            Tag::Read => "read",
            Tag::Write => "write",
        }
    }
}

/// Why a tag cannot be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
pub enum TagError {
    /// The process has no tagged memory.
    #[error("the process has no tagged memory")]
    NoMemory,
    /// The block is not in the process's tagged memory.
    #[error("tagged memory is {start:#x} to {end:#x}")]
    Outside {
        /// Where that begins.
        start: u64,
        /// Where it ends.
        end: u64,
    },
    /// No block begins there.
    #[error("the address is not a multiple of the block of {0} bytes")]
    Misaligned(u64),
    /// There is no such tag.
    #[error("there is no tag {0}: allowed are 0 (none), 1 (read) and 2 (write)")]
    UnknownTag(u64),
}

/// The tags of a process's tagged memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct AccessTags {
    range: Range<u64>,
    block_bytes: u64,
    /// None: every tag in it is `none`.
    chunks: Vec<Option<Box<Chunk>>>,
}

narthex_kernel::checked_when_read!(AccessTags);

/// Tags of consecutive blocks.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Chunk(#[serde(with = "narthex_kernel::archive::array")] [Tag; CHUNK]);

impl AccessTags {
    /// Tags for the pages in `range`, all of them `none`; nothing if the range
    /// or the block is none that can be tagged.
    pub fn new(range: Range<u64>, block_bytes: u64) -> Option<Self> {
        let chunks = Self::chunks_of(&range, block_bytes)?;
        Some(AccessTags { range, block_bytes, chunks: vec![None; chunks] })
    }

    fn is_sound(&self) -> bool {
        Self::chunks_of(&self.range, self.block_bytes) == Some(self.chunks.len())
    }

    /// Chunks for the pages in `range`; nothing if that cannot be tagged.
    fn chunks_of(range: &Range<u64>, block_bytes: u64) -> Option<usize> {
        let possible = SMALLEST_BLOCK_BYTES..=LARGEST_BLOCK_BYTES;
        let sound = block_bytes.is_power_of_two()
            && possible.contains(&block_bytes)
            && [range.start, range.end].iter().all(|bound| bound.is_multiple_of(PAGE_BYTES))
            && range.start < range.end;
        sound.then(|| ((range.end - range.start) / block_bytes).div_ceil(CHUNK as u64) as usize)
    }

    /// Gives the pages in `range` tags, for a process that has none so far; false
    /// if it has, or the range or the block is none that can be tagged.
    pub fn add_to(process: &mut Option<AccessTags>, range: Range<u64>, block_bytes: u64) -> bool {
        let tags = AccessTags::new(range, block_bytes).filter(|_| process.is_none());
        let possible = tags.is_some();
        *process = tags.or(process.take());
        possible
    }

    /// Bytes in a block.
    pub fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// The blocks with tags that `length` bytes at `address` touch, each with
    /// its tag. Memory without tags is not among them.
    fn blocks(&self, address: u64, length: u64) -> impl Iterator<Item = (u64, Tag)> {
        let first = address.max(self.range.start) & !(self.block_bytes - 1);
        let end = address.saturating_add(length).min(self.range.end);
        (first..end).step_by(self.block_bytes as usize).map(|block| (block, self.tag(block)))
    }

    /// The first of the blocks that `length` bytes at `address` touch whose tag
    /// does not allow what is `needed`, with the tag.
    pub fn refusing(&self, address: u64, length: u64, needed: Tag) -> Option<(u64, Tag)> {
        self.blocks(address, length).find(|(_, tag)| *tag < needed)
    }

    /// How many of the bytes from `address` on, up to `limit`, tags let be used so.
    pub fn allowed_bytes(&self, address: u64, limit: u64, needed: Tag) -> u64 {
        self.refusing(address, limit, needed).map_or(limit, |(block, _)| block.saturating_sub(address))
    }

    /// What may be done with all of the `length` bytes at `address`.
    pub fn least(&self, address: u64, length: u64) -> Tag {
        self.blocks(address, length).map(|(_, tag)| tag).min().unwrap_or(Tag::Write)
    }

    /// Sets the tag of the block at `block`.
    pub fn set(&mut self, block: u64, tag: Tag) -> Result<(), TagError> {
        let Range { start, end } = self.range;
        if !self.range.contains(&block) {
            return Err(TagError::Outside { start, end });
        }
        if !block.is_multiple_of(self.block_bytes) {
            return Err(TagError::Misaligned(self.block_bytes));
        }
        let (chunk, place) = self.place(block);
        match &mut self.chunks[chunk] {
            Some(tags) => tags.0[place] = tag,
            None if tag == Tag::None => {}
            none => none.insert(Box::new(Chunk([Tag::None; CHUNK]))).0[place] = tag,
        }
        Ok(())
    }

    /// The tag of the block that holds `address`, which is in the range.
    fn tag(&self, address: u64) -> Tag {
        let (chunk, place) = self.place(address);
        self.chunks[chunk].as_ref().map_or(Tag::None, |tags| tags.0[place])
    }

    /// In which chunk the tag of an address is, and where in it.
    fn place(&self, address: u64) -> (usize, usize) {
        let block = ((address - self.range.start) / self.block_bytes) as usize;
        (block / CHUNK, block % CHUNK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narthex_kernel::Archive;

    const START: u64 = 0x2000_0000;

    #[test]
    fn tags_that_are_not_those_of_their_pages_are_not_read() {
        let whole = AccessTags::new(START..START + (1 << 20), 16).expect("sound");
        let read = |damage: fn(&mut AccessTags)| {
            let mut saved = whole.clone();
            damage(&mut saved);
            let bytes = Archive::save(&mut saved).expect("plain data");
            Archive::restore(&bytes, &mut whole.clone()).is_ok()
        };
        assert!(read(|_| {}));
        assert!(!read(|tags| drop(tags.chunks.pop())));
        assert!(!read(|tags| tags.range.end = u64::MAX));
        assert!(!read(|tags| tags.block_bytes = 0));
    }

    #[test]
    fn an_untouched_segment_of_half_a_gigabyte_has_no_tags_in_memory() {
        let mut tags = AccessTags::new(START..START + (512 << 20), 16).expect("sound");
        tags.set(START + (300 << 20), Tag::None).unwrap();
        assert_eq!(tags.chunks.iter().flatten().count(), 0);
        tags.set(START + (300 << 20), Tag::Read).unwrap();
        assert_eq!(tags.chunks.iter().flatten().count(), 1);
        assert_eq!(tags.least(START + (300 << 20), 16), Tag::Read);
        assert_eq!(tags.least(START + (300 << 20), 17), Tag::None);
    }

    #[test]
    fn an_access_across_blocks_needs_the_tags_of_all_of_them() {
        let mut tags = AccessTags::new(START..START + 0x1000, 32).expect("sound");
        tags.set(START, Tag::Write).unwrap();
        tags.set(START + 32, Tag::Read).unwrap();
        assert_eq!(tags.refusing(START + 28, 8, Tag::Read), None);
        assert_eq!(tags.refusing(START + 28, 8, Tag::Write), Some((START + 32, Tag::Read)));
        assert_eq!(tags.refusing(START + 60, 8, Tag::Read), Some((START + 64, Tag::None)));
        assert_eq!(tags.refusing(START + 24, 8, Tag::Write), None);
    }

    #[test]
    fn memory_around_the_tagged_one_may_be_written() {
        let tags = AccessTags::new(START..START + 0x1000, 64).expect("sound");
        assert_eq!(tags.least(START - 64, 64), Tag::Write);
        assert_eq!(tags.least(START + 0x1000, 64), Tag::Write);
        assert_eq!(tags.refusing(START - 4, 8, Tag::Read), Some((START, Tag::None)));
        assert_eq!(tags.refusing(START + 0xffc, 8, Tag::Read), Some((START + 0xfc0, Tag::None)));
        assert_eq!(tags.least(u64::MAX - 7, 8), Tag::Write);
    }

    #[test]
    fn only_whole_pages_and_blocks_of_16_to_1024_bytes_can_be_tagged() {
        for block_bytes in [16, 32, 64, 128, 256, 512, 1024] {
            assert!(AccessTags::new(START..START + 0x1000, block_bytes).is_some(), "{block_bytes}");
        }
        for block_bytes in [0, 8, 24, 2048, 1 << 63] {
            assert!(AccessTags::new(START..START + 0x1000, block_bytes).is_none(), "{block_bytes}");
        }
        for range in [START..START, START + 64..START + 0x1000, START..START + 0x1040] {
            assert!(AccessTags::new(range.clone(), 64).is_none(), "{range:?}");
        }
    }

    #[test]
    fn a_tag_that_cannot_be_set_is_refused_in_words() {
        let mut tags = AccessTags::new(START..START + 0x1000, 64).expect("sound");
        let words = |result: Result<(), TagError>| result.unwrap_err().to_string();
        assert_eq!(words(tags.set(START + 0x1000, Tag::Read)), "tagged memory is 0x20000000 to 0x20001000");
        assert_eq!(
            words(tags.set(START + 16, Tag::Read)),
            "the address is not a multiple of the block of 64 bytes"
        );
        assert_eq!(words(tags.set(START - 64, Tag::Read)), "tagged memory is 0x20000000 to 0x20001000");
    }

    #[test]
    fn a_tag_has_a_number_and_a_name() {
        let named = [0, 1, 2].map(|number| Tag::from_number(number).expect("a tag").as_str());
        assert_eq!((named, Tag::from_number(3)), (["none", "read", "write"], None));
    }

    #[test]
    fn blocks_on_both_sides_of_a_chunk_have_tags_of_their_own() {
        let block_bytes = 64;
        let chunk_bytes = CHUNK as u64 * block_bytes;
        let mut tags = AccessTags::new(START..START + 2 * chunk_bytes, block_bytes).expect("sound");
        let tag = |tags: &AccessTags, block| tags.least(START + block * block_bytes, block_bytes);
        let last = CHUNK as u64 - 1;
        tags.set(START + last * block_bytes, Tag::Read).unwrap();
        assert_eq!(tags.chunks.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
        tags.set(START + (last + 1) * block_bytes, Tag::Write).unwrap();
        let all = [0, 1, last - 1, last, last + 1, last + 2].map(|block| tag(&tags, block));
        assert_eq!(all, [Tag::None, Tag::None, Tag::None, Tag::Read, Tag::Write, Tag::None]);
        tags.set(START + last * block_bytes, Tag::None).unwrap();
        assert_eq!(tag(&tags, last), Tag::None);
        assert_eq!(tags.block_bytes(), block_bytes);
    }

    #[test]
    fn bytes_are_allowed_up_to_the_first_block_that_forbids_them() {
        let mut tags = AccessTags::new(START..START + 0x1000, 64).expect("sound");
        tags.set(START, Tag::Write).unwrap();
        tags.set(START + 64, Tag::Read).unwrap();
        let allowed = |address, limit, needed| tags.allowed_bytes(address, limit, needed);
        assert_eq!(allowed(START + 8, 40, Tag::Write), 40);
        assert_eq!(allowed(START + 8, 400, Tag::Write), 56);
        assert_eq!(allowed(START + 8, 400, Tag::Read), 120);
        assert_eq!(allowed(START + 130, 400, Tag::Read), 0, "its own block forbids it");
        assert_eq!(allowed(START - 100, 90, Tag::Read), 90, "no tag is touched");
    }

    #[test]
    fn a_process_gets_tagged_memory_once() {
        let mut process = None;
        assert!(!AccessTags::add_to(&mut process, START..START, 64));
        assert_eq!(process, None);
        assert!(AccessTags::add_to(&mut process, START..START + 0x1000, 64));
        let tags = process.clone();
        assert!(!AccessTags::add_to(&mut process, START..START + 0x2000, 32));
        assert!(tags.is_some() && process == tags);
    }
}
