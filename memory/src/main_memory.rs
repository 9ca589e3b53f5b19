//! Main memory: the bytes behind every address that no device is home of.
//!
//! Pages exist from their first write on; until then they read as the
//! program's image (shared by all nodes that run it, and by the processes of a
//! node, each of which has it at its own base) or as zeros. A node that touches
//! little therefore costs little, however large its address space.

mod page_directory;

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use narthex_kernel::{Archive, Archived, Damage, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dram;
use crate::home_memory::Ports;
use crate::interconnects::cxl::expander;
use crate::page_frames::PageFrames;
use crate::transaction::{BlockData, copy_block};
use crate::translation::Translation;
use page_directory::{PageDirectory, RecentRegions, zeros};

/// Bytes in a page.
pub const PAGE_BYTES: u64 = 4096;

type Page = [u8; PAGE_BYTES as usize];

/// The parameters of a node's main memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time from the address to the block's first bytes, beyond the bus's own cycles.
    pub access_time: Duration,
    /// The ports of a memory that is on two interconnects; only such a one states them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<Ports>,
    /// Its DRAM, where blocks do not all take the same time; `access_time` is then what the
    /// controller adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dram: Option<dram::Config>,
    /// A part of it that is behind a CXL link, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cxl: Option<expander::Config>,
}

/// What a program's file puts into memory before the first instruction:
/// address ranges with their bytes, the same for every node.
#[derive(Debug, Default)]
pub struct Image {
    pages: PageDirectory,
}

/// Pages from one process's base to the next.
const SPACE_PAGES: u64 = Translation::SPACE_BYTES / PAGE_BYTES;

impl Image {
    /// An image with these (address, bytes) segments.
    pub fn new<'a>(segments: impl IntoIterator<Item = (u64, &'a [u8])>) -> Self {
        Self::in_frames(segments, &PageFrames::default())
    }

    /// An image with these (address, bytes) segments of a process, in these frames.
    pub fn in_frames<'a>(segments: impl IntoIterator<Item = (u64, &'a [u8])>, frames: &PageFrames) -> Self {
        let mut memory = MainMemory::default();
        for (address, bytes) in segments {
            for (page, offset, range) in pages_of(address, bytes.len()) {
                memory.write(frames.of(page * PAGE_BYTES) + offset as u64, &bytes[range]);
            }
        }
        Image { pages: memory.pages }
    }

    /// What the image holds in a page of a node's memory.
    fn page(&self, page: u64) -> Option<&Page> {
        self.pages.get(page % SPACE_PAGES)
    }

    /// Those among these pages of one process that the image holds.
    fn pages_in(&self, pages: Range<u64>) -> Vec<u64> {
        // There may be far fewer of the one than of the other.
        if pages.end - pages.start < self.pages.len() as u64 {
            return pages.filter(|page| self.page(*page).is_some()).collect();
        }
        let base = pages.start - pages.start % SPACE_PAGES;
        self.pages.iter().map(|(page, _)| base + page).filter(|page| pages.contains(page)).collect()
    }
}

/// The contents of one node's memory.
#[derive(Clone, Debug, Default)]
pub struct MainMemory {
    /// That of each process's program, the last one's for all further processes.
    images: Vec<Arc<Image>>,
    pages: PageDirectory,
    recent: RecentRegions,
}

impl MainMemory {
    /// Memory that starts with `image` for every process, and zeros elsewhere.
    pub fn with_image(image: Arc<Image>) -> Self {
        Self::with_images(vec![image])
    }

    /// Memory that starts with an image for each process, by its number, and zeros
    /// elsewhere. The last image is that of all further processes, too.
    pub fn with_images(images: Vec<Arc<Image>>) -> Self {
        MainMemory { images, ..MainMemory::default() }
    }

    /// What the image of a page's process holds in it.
    fn initial(images: &[Arc<Image>], page: u64) -> Option<&Page> {
        let process = (page / SPACE_PAGES) as usize;
        images.get(process).or(images.last())?.page(page)
    }

    /// Copies the bytes from `address` on.
    #[inline]
    pub fn read(&self, address: u64, bytes: &mut [u8]) {
        if let Some(range) = within_page(address, bytes.len())
            && let Some(source) = self.pages.get_near(address / PAGE_BYTES, &self.recent)
        {
            return copy_block(bytes, &source[range]);
        }
        self.read_pages(address, bytes);
    }

    /// The same where the bytes are in several pages, or in one that the node has not written to.
    #[inline(never)]
    fn read_pages(&self, address: u64, bytes: &mut [u8]) {
        for (page, offset, range) in pages_of(address, bytes.len()) {
            let target = &mut bytes[range];
            let length = target.len();
            match self.page(page) {
                Some(source) => target.copy_from_slice(&source[offset..offset + length]),
                None => target.fill(0),
            }
        }
    }

    /// Replaces the bytes from `address` on.
    #[inline]
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        if let Some(range) = within_page(address, bytes.len())
            && let Some(target) = self.pages.get_near_mut(address / PAGE_BYTES, &self.recent)
        {
            return copy_block(&mut target[range], bytes);
        }
        self.write_pages(address, bytes);
    }

    /// The same where the bytes are in several pages, or in one that the node has not written to.
    #[inline(never)]
    fn write_pages(&mut self, address: u64, bytes: &[u8]) {
        for (page, offset, range) in pages_of(address, bytes.len()) {
            let source = &bytes[range];
            let images = &self.images;
            let target = self.pages.get_or_insert_with(page, || {
                Self::initial(images, page).map_or_else(zeros, |page| Box::new(*page))
            });
            target[offset..offset + source.len()].copy_from_slice(source);
        }
    }

    /// The block of `length` bytes at `address`.
    pub fn read_block(&self, address: u64, length: usize) -> BlockData {
        BlockData::filled_by(length, |bytes| self.read(address, bytes))
    }

    /// Forgets the pages that lie wholly inside the range, so that they read as zeros again.
    pub fn discard(&mut self, address: u64, length: u64) {
        let first = address.div_ceil(PAGE_BYTES);
        let end = (address + length) / PAGE_BYTES;
        // A range may be far larger than what is there, or the other way round.
        if end.saturating_sub(first) < self.pages.len() as u64 {
            (first..end).for_each(|page| self.pages.remove(page));
        } else {
            let pages = self.pages.iter().map(|(page, _)| page);
            let discarded: Vec<u64> = pages.filter(|page| (first..end).contains(page)).collect();
            discarded.into_iter().for_each(|page| self.pages.remove(page));
        }
        let process = (first / SPACE_PAGES) as usize;
        let image = self.images.get(process).or(self.images.last());
        for page in image.map_or_else(Vec::new, |image| image.pages_in(first..end.max(first))) {
            self.pages.get_or_insert_with(page, zeros);
        }
    }

    /// Whether this node has written to the page at an address.
    pub fn is_touched(&self, address: u64) -> bool {
        self.pages.get(address / PAGE_BYTES).is_some()
    }

    /// How many pages this node has written to.
    pub fn touched_pages(&self) -> usize {
        self.pages.len()
    }

    /// Feeds the pages that have been written to to `hasher`.
    pub fn hash_pages<H: Hasher>(&self, hasher: &mut H) {
        self.pages.iter().for_each(|(number, page)| (number, &page[..]).hash(hasher));
    }

    fn page(&self, page: u64) -> Option<&Page> {
        self.pages.get_near(page, &self.recent).or_else(|| Self::initial(&self.images, page))
    }
}

/// The pages that exist; the image is the program's.
impl Archived for MainMemory {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let MainMemory { images: _, pages, recent: _ } = self;
        let own: Vec<u64> = pages.iter().map(|(number, _)| number).collect();
        let mut numbers = own.clone();
        archive.value(&mut numbers)?;
        let others = own.into_iter().filter(|number| numbers.binary_search(number).is_err());
        others.for_each(|number| pages.remove(number));
        numbers.into_iter().try_for_each(|number| archive.bytes(pages.get_or_insert_with(number, zeros)))
    }
}

/// Where in its page a range of addresses lies, if it lies in one: a block does.
fn within_page(address: u64, length: usize) -> Option<std::ops::Range<usize>> {
    let offset = (address % PAGE_BYTES) as usize;
    (offset + length <= PAGE_BYTES as usize).then_some(offset..offset + length)
}

/// Splits a range of addresses at page boundaries: (page, offset in the page,
/// range within the caller's bytes).
fn pages_of(address: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == length {
            return None;
        }
        let here = address.wrapping_add(done as u64);
        let offset = (here % PAGE_BYTES) as usize;
        let count = (length - done).min(PAGE_BYTES as usize - offset);
        let range = done..done + count;
        done += count;
        Some((here / PAGE_BYTES, offset, range))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untouched_memory_reads_as_zeros_and_costs_no_page() {
        let memory = MainMemory::default();
        assert_eq!(&*memory.read_block(0x1234_5678_9ac0, 64), &[0; 64]);
        assert_eq!(memory.touched_pages(), 0);
    }

    #[test]
    fn a_write_across_a_page_boundary_reads_back_whole() {
        let mut memory = MainMemory::default();
        memory.write(4094, &[1, 2, 3, 4]);
        let mut bytes = [0; 6];
        memory.read(4093, &mut bytes);
        assert_eq!(bytes, [0, 1, 2, 3, 4, 0]);
        assert_eq!(memory.touched_pages(), 2);
    }

    #[test]
    fn a_node_that_writes_to_the_image_leaves_other_nodes_alone() {
        let image = Arc::new(Image::new([(0x1000, &[7u8; 16][..])]));
        let mut one = MainMemory::with_image(image.clone());
        let other = MainMemory::with_image(image);
        one.write(0x1008, &[9]);
        assert_eq!(one.read_block(0x1000, 16)[7..10], [7, 9, 7]);
        assert_eq!(&*other.read_block(0x1000, 16), &[7; 16]);
    }

    #[test]
    fn each_process_of_a_node_has_the_image_at_its_base() {
        let mut memory = MainMemory::with_image(Arc::new(Image::new([(0x1000, &[7u8; 16][..])])));
        let other = Translation::SPACE_BYTES + 0x1000;
        memory.write(0x1000, &[9]);
        assert_eq!(memory.read_block(other, 16)[..2], [7, 7]);
        memory.write(other, &[8]);
        assert_eq!((memory.read_block(0x1000, 16)[0], memory.read_block(other, 16)[0]), (9, 8));
    }

    #[test]
    fn an_archive_brings_back_written_and_discarded_pages() {
        let image = Arc::new(Image::new([(0x1000, &[7u8; 16][..])]));
        let fresh = || {
            let mut memory = MainMemory::with_image(image.clone());
            memory.write(0x5000, &[1]);
            memory
        };
        let mut memory = fresh();
        memory.write(0x2008, &[3]);
        memory.discard(0x1000, 0x1000);
        memory.discard(0x5000, 0x1000);
        let bytes = Archive::save(&mut memory).unwrap();
        let mut other = fresh();
        Archive::restore(&bytes, &mut other).unwrap();
        assert!(other.pages.iter().eq(memory.pages.iter()));
        assert_eq!(Archive::save(&mut other).unwrap(), bytes);
    }

    #[test]
    fn only_pages_that_lie_wholly_in_a_discarded_range_are_forgotten() {
        // Once fewer pages are discarded than there are, and once more.
        for (address, length) in [(0x1001, 0x1fff), (0x1001, 0x2ffe), (0x1800, 0x2000)] {
            let mut memory = MainMemory::default();
            let pages = [0x1000, 0x2000, 0x3000, 0x9000];
            pages.into_iter().for_each(|page| memory.write(page, &[7; 8]));
            memory.discard(address, length);
            assert_eq!(pages.map(|page| memory.read_block(page, 1)[0]), [7, 0, 7, 7]);
            assert_eq!(memory.touched_pages(), 3);
        }
        let mut memory = MainMemory::default();
        memory.write(0x2000, &[7]);
        memory.discard(0x1000, 1 << 40);
        assert_eq!(memory.touched_pages(), 0);
        memory.write(0x2000, &[7]);
        memory.discard(0x2800, 8);
        assert_eq!(memory.touched_pages(), 1, "no whole page");
    }

    #[test]
    fn a_process_that_discards_its_part_of_the_image_leaves_the_others_theirs() {
        let mut memory = MainMemory::with_image(Arc::new(Image::new([(0x1000, &[7u8; 16][..])])));
        let bases = [0, 1, 2].map(|process| process * Translation::SPACE_BYTES);
        memory.discard(bases[1], 0x10_0000);
        assert_eq!(bases.map(|base| memory.read_block(base + 0x1000, 1)[0]), [7, 0, 7]);
        memory.discard(bases[2] + 0x2000, 0x1000);
        assert_eq!(memory.touched_pages(), 1, "the image has nothing there");
    }

    #[test]
    fn the_hash_of_the_pages_follows_their_bytes_and_their_places() {
        let hash = |writes: &[(u64, u8)]| {
            let mut memory = MainMemory::default();
            writes.iter().for_each(|&(address, byte)| memory.write(address, &[byte]));
            let mut hasher = std::hash::DefaultHasher::new();
            memory.hash_pages(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hash(&[(0x1000, 1), (0x7000, 2)]), hash(&[(0x7000, 2), (0x1000, 1)]));
        assert_ne!(hash(&[(0x1000, 1)]), hash(&[(0x1000, 2)]));
        assert_ne!(hash(&[(0x1000, 1)]), hash(&[(0x2000, 1)]));
    }

    #[test]
    fn discarded_pages_read_as_zeros() {
        let mut memory = MainMemory::with_image(Arc::new(Image::new([(0x1000, &[7u8; 16][..])])));
        memory.write(0x2000, &[1]);
        memory.discard(0x1000, 0x2000);
        assert_eq!(&*memory.read_block(0x1000, 16), &[0; 16]);
        assert_eq!(&*memory.read_block(0x2000, 16), &[0; 16]);
    }
}
