//! Decoded code: shared by the nodes that run one program, or a processor's own.
//!
//! The executable segments of a program are decoded once, when it is loaded,
//! into a [`Code`] that all processors share. Code anywhere else (written or
//! mapped by the program itself) is decoded by each processor when it first
//! gets there, instruction by instruction, in pages of 4 KiB.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::OnceLock;

use narthex_kernel::{Archive, Archived, Damage};

use crate::decode::{decode, decode_mapped};
use crate::extensions::{LEAVE, UNDECODED};
use crate::operation::{ALL_IN_ONE_LINE, Cursor, FETCH_BLOCK_BYTES, Operation};

/// The size of a page of privately decoded code.
const PAGE_BYTES: u64 = 4096;

/// From bits, address, the block's addresses and the bytes of a line to an operation.
type Decode = fn(u32, u64, &Range<u64>, u64) -> Operation;

/// A stretch of decoded code: a slot for each halfword and two more that leave
/// the block, for instructions that run into its end.
///
/// Invariant: it begins at an even address, where instructions begin, and only
/// the last two slots leave it.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    base: u64,
    operations: Box<[Operation]>,
}

impl Block {
    /// Decodes the instructions in `bytes`, which are at the address `base`.
    /// None: it has no whole one.
    ///
    /// What begins at the last halfword and does not end there is left out: it is
    /// decoded from memory, with what stands behind it.
    fn decoded(base: u64, bytes: &[u8], line_bytes: u64, decode: Decode) -> Option<Self> {
        let odd = (base % 2) as usize;
        let (base, bytes) = (base.wrapping_add(odd as u64), bytes.get(odd..)?);
        let halfwords: Vec<u32> =
            bytes.chunks_exact(2).map(|pair| u32::from(u16::from_le_bytes([pair[0], pair[1]]))).collect();
        let is_cut = halfwords.last()? & 3 == 3;
        let slots = halfwords.len() - usize::from(is_cut);
        let addresses = base..base.wrapping_add(2 * slots as u64);
        let operations = (0..slots).map(|slot| {
            let high = halfwords.get(slot + 1).copied().unwrap_or(0);
            let pc = base.wrapping_add(2 * slot as u64);
            decode(halfwords[slot] | high << 16, pc, &addresses, line_bytes)
        });
        let operations = operations.chain([Operation::bare(LEAVE); 2]).collect();
        (slots > 0).then_some(Block { base, operations })
    }

    /// The page with this (even) address, in which nothing is decoded yet.
    fn undecoded(base: u64) -> Self {
        let slots = (PAGE_BYTES / 2) as usize;
        let mut operations = vec![Operation::bare(UNDECODED); slots];
        operations.extend([Operation::bare(LEAVE); 2]);
        Block { base, operations: operations.into() }
    }

    /// The first address whose code this is.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// How many bytes of code this is.
    pub fn bytes(&self) -> u64 {
        2 * (self.operations.len() as u64 - 2)
    }

    /// The addresses whose code this is; none in the last page of all, where
    /// they cannot be said as a range.
    fn addresses(&self) -> Range<u64> {
        self.base..self.base.wrapping_add(self.bytes())
    }

    /// The first operation.
    pub fn first(&self) -> Cursor {
        Cursor::at(&self.operations)
    }
}

/// The decoded code of a program, shared by all who execute it.
#[derive(Clone, Debug)]
pub struct Code {
    blocks: Vec<Block>,
    /// The same as it is decoded while two registers are the network's; decoded when it is first so.
    mapped: OnceLock<Vec<Block>>,
    /// What both are decoded from.
    segments: Vec<(u64, Box<[u8]>)>,
    line_bytes: u64,
}

impl Code {
    /// Decodes `bytes`, which the program has at the address `base`.
    pub fn new(base: u64, bytes: &[u8]) -> Self {
        Code::from_segments([(base, bytes)])
    }

    /// Decodes the executable segments of a program: addresses and bytes.
    pub fn from_segments<'a>(segments: impl IntoIterator<Item = (u64, &'a [u8])>) -> Self {
        Code::for_lines(FETCH_BLOCK_BYTES, segments)
    }

    /// The same for processors that fetch lines of `line_bytes`, a power of two up to
    /// [`FETCH_BLOCK_BYTES`], or [`ALL_IN_ONE_LINE`].
    pub fn for_lines<'a>(line_bytes: u64, segments: impl IntoIterator<Item = (u64, &'a [u8])>) -> Self {
        debug_assert!(line_bytes.is_power_of_two());
        debug_assert!(line_bytes <= FETCH_BLOCK_BYTES || line_bytes == ALL_IN_ONE_LINE);
        let segments = segments.into_iter().map(|(base, bytes)| (base, bytes.into())).collect();
        let mut code = Code { blocks: Vec::new(), mapped: OnceLock::new(), segments, line_bytes };
        code.blocks = code.decoded(decode);
        code
    }

    fn decoded(&self, decode: Decode) -> Vec<Block> {
        let decoded =
            |(base, bytes): &(u64, Box<[u8]>)| Block::decoded(*base, bytes, self.line_bytes, decode);
        self.segments.iter().filter_map(decoded).collect()
    }

    /// No code: everything is decoded when it is executed.
    pub fn empty() -> Self {
        Code::from_segments([])
    }

    /// Bytes in a line that its processors fetch.
    pub fn line_bytes(&self) -> u64 {
        self.line_bytes
    }

    fn block(&self, pc: u64, is_mapped: bool) -> Option<&Block> {
        let blocks = match is_mapped {
            true => self.mapped.get_or_init(|| self.decoded(decode_mapped)),
            false => &self.blocks,
        };
        blocks.iter().find(|block| block.addresses().contains(&pc))
    }
}

/// The code that one processor executes: the shared code and its own pages.
#[derive(Clone, Debug)]
pub(crate) struct CodeView {
    shared: std::sync::Arc<Code>,
    ordinary: Pages,
    /// The same while two registers are the network's.
    mapped: Pages,
    is_mapped: bool,
    /// The port's count of removals of code.
    removals: u64,
}

/// Code that a processor has decoded itself.
#[derive(Clone, Debug, Default)]
struct Pages {
    blocks: HashMap<u64, Block>,
    /// The bits of what is decoded in them, by address.
    decoded: BTreeMap<u64, u32>,
}

impl Pages {
    fn block(&mut self, pc: u64) -> &Block {
        self.blocks.entry(page(pc)).or_insert_with_key(|&base| Block::undecoded(base))
    }

    fn clear(&mut self) {
        self.blocks.clear();
        self.decoded.clear();
    }
}

impl CodeView {
    /// A view on `shared` without own pages.
    pub fn new(shared: std::sync::Arc<Code>) -> Self {
        let (ordinary, mapped) = Default::default();
        CodeView { shared, ordinary, mapped, is_mapped: false, removals: 0 }
    }

    /// Whether code is seen as while two registers are the network's.
    pub fn is_mapped(&self) -> bool {
        self.is_mapped
    }

    /// From now on code is seen so; windows on it are to be made anew.
    pub fn set_mapped(&mut self, is_mapped: bool) {
        self.is_mapped = is_mapped;
    }

    /// The block that has the code at `pc`.
    pub fn block(&mut self, pc: u64) -> &Block {
        match self.shared.block(pc, self.is_mapped) {
            Some(block) => block,
            None if self.is_mapped => self.mapped.block(pc),
            None => self.ordinary.block(pc),
        }
    }

    /// Decodes the instruction at `pc`, whose bits are `bits`, in its page.
    pub fn decode(&mut self, pc: u64, bits: u32) {
        let (pages, decode): (_, Decode) = match self.is_mapped {
            true => (&mut self.mapped, decode_mapped),
            false => (&mut self.ordinary, decode),
        };
        let Some(block) = pages.blocks.get_mut(&page(pc)) else { return };
        let addresses = block.addresses();
        let slot = pc.wrapping_sub(block.base) / 2;
        block.operations[slot as usize] = decode(bits, pc, &addresses, self.shared.line_bytes);
        pages.decoded.insert(pc, bits);
    }

    /// What has been decoded at `pc`, if anything has.
    pub fn decoded(&self, pc: u64) -> Option<Operation> {
        let pages = if self.is_mapped { &self.mapped } else { &self.ordinary };
        let block = self.shared.block(pc, self.is_mapped).or_else(|| pages.blocks.get(&page(pc)))?;
        Some(block.operations[(pc.wrapping_sub(block.base) / 2) as usize])
    }

    /// Forgets what was decoded if code has gone since the last run: true then.
    #[inline]
    pub fn begins(&mut self, removals: u64) -> bool {
        let stale = self.removals != removals;
        if stale {
            self.removals = removals;
            self.forget();
        }
        stale
    }

    /// Forgets what was decoded; the shared code too, because it is not known
    /// what was written.
    #[cold]
    pub fn forget(&mut self) {
        self.drop_shared();
        self.ordinary.clear();
        self.mapped.clear();
    }

    fn drop_shared(&mut self) {
        self.shared = Code::for_lines(self.shared.line_bytes, []).into();
    }
}

/// What was decoded is decoded again, from the bits of then: memory may hold
/// others by now, which are executed after the next fence only.
impl Archived for CodeView {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let CodeView { shared, ordinary, mapped, is_mapped, removals } = &mut *self;
        let mut is_shared = !shared.blocks.is_empty();
        archive.value(&mut is_shared)?;
        for pages in [&mut *ordinary, &mut *mapped] {
            archive.value(&mut pages.decoded)?;
            let is_even = pages.decoded.keys().all(|pc| pc % 2 == 0);
            archive.ensure(is_even, "code was decoded at an odd address")?;
            pages.blocks.clear();
        }
        archive.value(is_mapped)?;
        archive.value(removals)?;
        let (decoded, is_mapped) = ([ordinary.decoded.clone(), mapped.decoded.clone()], *is_mapped);
        if !is_shared {
            self.drop_shared();
        }
        for (decoded, is_mapped) in decoded.into_iter().zip([false, true]) {
            self.is_mapped = is_mapped;
            for (pc, bits) in decoded {
                self.block(pc);
                self.decode(pc, bits);
            }
        }
        self.is_mapped = is_mapped;
        Ok(())
    }
}

fn page(pc: u64) -> u64 {
    pc & !(PAGE_BYTES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_block_has_whole_instructions_at_even_addresses_alone() {
        let block =
            |base, bytes: &[u8]| Block::decoded(base, bytes, 64, decode).map(|block| block.addresses());
        let (nop, cut) = ([0x01, 0x00], [0x13, 0x00]);
        assert_eq!(block(0x1000, &[nop, cut].concat()), Some(0x1000..0x1002));
        assert_eq!(block(0x1000, &[cut, nop].concat()), Some(0x1000..0x1004));
        assert_eq!(block(0x1000, &[cut, cut].concat()), Some(0x1000..0x1002));
        assert_eq!(block(0x1001, &[&[0xff][..], &nop, &nop].concat()), Some(0x1002..0x1006));
        assert_eq!(block(0x1000, &[&nop[..], &[0xff]].concat()), Some(0x1000..0x1002));
        for (base, bytes) in [(0x1000, &cut[..]), (0x1001, &nop), (0x1000, &[1]), (0x1001, &[])] {
            assert_eq!(block(base, bytes), None, "{bytes:x?} at {base:#x}");
        }
    }

    proptest! {
        #[test]
        fn only_the_last_two_slots_leave_a_block(base in 0x1000u64..0x1010, bytes: Vec<u8>) {
            if let Some(block) = Block::decoded(base, &bytes, 64, decode) {
                let leaving = block.operations.iter().map(|operation| operation.code == LEAVE);
                let last_two = (1..=block.operations.len()).map(|slot| slot > block.operations.len() - 2);
                prop_assert!(leaving.eq(last_two));
                prop_assert_eq!(block.base % 2, 0);
            }
        }
    }

    #[test]
    fn a_removal_of_code_drops_the_shared_code_too() {
        let mut view = CodeView::new(Code::new(0x1000, &[0x01, 0x00]).into());
        assert!(!view.begins(0));
        assert_eq!(view.block(0x1000).addresses(), 0x1000..0x1002);
        assert!(view.begins(1) && !view.begins(1));
        assert_eq!(view.block(0x1000).addresses(), 0x1000..0x2000);
    }

    #[test]
    fn an_archive_has_what_was_decoded_even_where_memory_has_other_bits_by_now() {
        let fresh = || CodeView::new(Code::new(0x1000, &[0x01, 0x00]).into());
        let mut view = fresh();
        view.begins(8); // the shared code goes
        view.block(0x5004);
        view.decode(0x5004, 0x0000_0513);
        let bytes = Archive::save(&mut view).unwrap();
        let mut other = fresh();
        other.decode(0x7000, 0x13);
        Archive::restore(&bytes, &mut other).unwrap();
        assert_eq!(other.block(0x5004).operations, view.block(0x5004).operations);
        assert_ne!(other.block(0x5004).operations[2].code, UNDECODED);
        assert_eq!(other.block(0x1000).addresses(), 0x1000..0x2000);
        assert!(!other.begins(8) && other.begins(9));
    }
}
