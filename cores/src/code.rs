//! Decoded code: shared by the nodes that run one program, or a processor's own.
//!
//! The executable segments of a program are decoded once, when it is loaded,
//! into a [`Code`] that all processors share. Code anywhere else (written or
//! mapped by the program itself) is decoded by each processor when it first
//! gets there, instruction by instruction, in pages of 4 KiB.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use narthex_kernel::{Archive, Archived, Damage};

use crate::decode::decode;
use crate::extensions::{LEAVE, UNDECODED};
use crate::operation::{Cursor, Operation};

/// The size of a page of privately decoded code.
const PAGE_BYTES: u64 = 4096;

/// A stretch of decoded code: a slot for each halfword and two more that leave
/// the block, for instructions that run into its end.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    base: u64,
    operations: Box<[Operation]>,
}

impl Block {
    /// Decodes all of `bytes`, which are at the address `base`.
    fn decoded(base: u64, bytes: &[u8]) -> Self {
        let addresses = base..base + (bytes.len() as u64 & !1);
        let slots = (0..bytes.len() / 2).map(|slot| {
            let rest = &bytes[2 * slot..];
            let pc = base + 2 * slot as u64;
            match (halfword(rest, 0), halfword(rest, 2)) {
                (Some(low), Some(high)) => decode(low | high << 16, pc, &addresses),
                (Some(low), None) if low & 3 != 3 => decode(low, pc, &addresses),
                _ => Operation::bare(LEAVE),
            }
        });
        Block { base, operations: slots.chain([Operation::bare(LEAVE); 2]).collect() }
    }

    /// A page in which nothing is decoded yet.
    fn undecoded(base: u64) -> Self {
        let slots = (PAGE_BYTES / 2) as usize;
        let mut operations = vec![Operation::bare(UNDECODED); slots];
        operations.extend([Operation::bare(LEAVE); 2]);
        Block { base, operations: operations.into() }
    }

    /// The addresses whose code this is.
    pub fn addresses(&self) -> Range<u64> {
        self.base..self.base + 2 * (self.operations.len() as u64 - 2)
    }

    /// The first operation.
    pub fn first(&self) -> Cursor {
        Cursor::at(&self.operations)
    }
}

fn halfword(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u32::from(u16::from_le_bytes([bytes[0], bytes[1]])))
}

/// The decoded code of a program, shared by all who execute it.
#[derive(Clone, Debug, Default)]
pub struct Code {
    blocks: Vec<Block>,
}

impl Code {
    /// Decodes `bytes`, which the program has at the address `base` (even, as
    /// all code is).
    pub fn new(base: u64, bytes: &[u8]) -> Self {
        Code::from_segments([(base, bytes)])
    }

    /// Decodes the executable segments of a program: addresses and bytes.
    pub fn from_segments<'a>(segments: impl IntoIterator<Item = (u64, &'a [u8])>) -> Self {
        let blocks = segments
            .into_iter()
            .filter(|(_, bytes)| bytes.len() >= 2)
            .map(|(base, bytes)| Block::decoded(base, bytes))
            .collect();
        Code { blocks }
    }

    /// No code: everything is decoded when it is executed.
    pub fn empty() -> Self {
        Code::default()
    }

    fn block(&self, pc: u64) -> Option<&Block> {
        self.blocks.iter().find(|block| block.addresses().contains(&pc))
    }
}

/// The code that one processor executes: the shared code and its own pages.
#[derive(Clone, Debug)]
pub(crate) struct CodeView {
    shared: std::sync::Arc<Code>,
    pages: HashMap<u64, Block>,
    /// The bits of what is decoded in them, by address.
    decoded: BTreeMap<u64, u32>,
    /// The port's count of writes to code when the pages were decoded.
    version: Option<u64>,
}

impl CodeView {
    /// A view on `shared` without own pages.
    pub fn new(shared: std::sync::Arc<Code>) -> Self {
        CodeView { shared, pages: HashMap::new(), decoded: BTreeMap::new(), version: None }
    }

    /// The block that has the code at `pc`.
    pub fn block(&mut self, pc: u64) -> &Block {
        match self.shared.block(pc) {
            Some(block) => block,
            None => self.pages.entry(page(pc)).or_insert_with_key(|&base| Block::undecoded(base)),
        }
    }

    /// Decodes the instruction at `pc`, whose bits are `bits`, in its page.
    pub fn decode(&mut self, pc: u64, bits: u32) {
        let Some(block) = self.pages.get_mut(&page(pc)) else { return };
        let addresses = block.addresses();
        let slot = (pc - block.base) / 2;
        block.operations[slot as usize] = decode(bits, pc, &addresses);
        self.decoded.insert(pc, bits);
    }

    /// Notes which version of the code is executed, unless that is known.
    #[inline]
    pub fn executes_first(&mut self, version: u64) {
        self.version.get_or_insert(version);
    }

    /// Notes which version of the code is executed from now on, and forgets
    /// what was decoded of another one; the shared code too, because it is not
    /// known what was written.
    pub fn executes_version(&mut self, version: u64) -> bool {
        let stale = self.version.is_some_and(|decoded| decoded != version);
        self.version = Some(version);
        if stale {
            self.shared = Code::empty().into();
            self.pages.clear();
            self.decoded.clear();
        }
        stale
    }
}

/// What was decoded is decoded again, from the bits of then: memory may hold
/// others by now, which are executed after the next fence only.
impl Archived for CodeView {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let CodeView { shared, pages, decoded, version } = self;
        let mut is_shared = !shared.blocks.is_empty();
        archive.value(&mut is_shared)?;
        archive.value(decoded)?;
        archive.value(version)?;
        if !is_shared {
            *shared = Code::empty().into();
        }
        pages.clear();
        for (pc, bits) in decoded.clone() {
            self.block(pc);
            self.decode(pc, bits);
        }
        Ok(())
    }
}

fn page(pc: u64) -> u64 {
    pc & !(PAGE_BYTES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_cut_off_by_the_end_leaves_the_block() {
        let block = Block::decoded(0x1000, &[0x13, 0x00, 0x00, 0x00, 0x13, 0x00]);
        assert_eq!(block.addresses(), 0x1000..0x1006);
        assert_eq!(block.operations[2].code, LEAVE);
    }

    #[test]
    fn a_new_version_drops_the_shared_code_too() {
        let mut view = CodeView::new(Code::new(0x1000, &[0x01, 0x00]).into());
        assert!(!view.executes_version(7));
        assert_eq!(view.block(0x1000).addresses(), 0x1000..0x1002);
        assert!(view.executes_version(8));
        assert_eq!(view.block(0x1000).addresses(), 0x1000..0x2000);
    }

    #[test]
    fn an_archive_has_what_was_decoded_even_where_memory_has_other_bits_by_now() {
        let fresh = || CodeView::new(Code::new(0x1000, &[0x01, 0x00]).into());
        let mut view = fresh();
        view.executes_version(7);
        view.executes_version(8); // the shared code goes
        view.block(0x5004);
        view.decode(0x5004, 0x0000_0513);
        let bytes = Archive::save(&mut view).unwrap();
        let mut other = fresh();
        other.decode(0x7000, 0x13);
        Archive::restore(&bytes, &mut other).unwrap();
        assert_eq!(other.block(0x5004).operations, view.block(0x5004).operations);
        assert_ne!(other.block(0x5004).operations[2].code, UNDECODED);
        assert_eq!(other.block(0x1000).addresses(), 0x1000..0x2000);
        assert!(other.executes_version(9));
    }
}
