//! The decoded form of an instruction, and the pointer that moves over it.
//!
//! A guest instruction is decoded once into an [`Operation`] of 16 bytes. Each
//! *halfword* of code has a slot, because RISC-V instructions may start at any
//! halfword: the slot of the second half of a 32-bit instruction holds what a
//! jump there would execute. So the slot of an address is found by arithmetic,
//! and a branch is an addition to a pointer.
//!
//! All registers live in one file of 256 words, of which 66 are used: 0 to 31
//! are x0 to x31, 32 to 63 are f0 to f31, 64 is the *sink*, where writes to
//! x0 go, and 65 the address of the network's registers
//! ([`network_registers`](crate::network_registers)). An operand is a byte, so that no access to the file needs a bounds
//! check, and no handler asks whether its destination is x0.

/// Where a [`Cursor`] finds the floating-point registers in the register file.
pub(crate) const FLOAT_REGISTERS: u8 = 32;

/// Where writes to x0 go.
pub(crate) const SINK: u8 = 64;

/// The longest line of code that an instruction fetch brings in: a processor asks its
/// instruction cache once when it enters a line. Where the blocks of that cache are
/// smaller, lines are as small; see [`Code::for_lines`](crate::Code::for_lines).
pub const FETCH_BLOCK_BYTES: u64 = 64;

/// The same for processors whose instructions are always at hand: one line that has them all.
pub const ALL_IN_ONE_LINE: u64 = 1 << 63;

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub(crate) struct Operation {
    /// Which handler executes it: an index into the processor's table.
    pub code: u16,
    /// Destination, as an index into the register file.
    pub rd: u8,
    /// First source.
    pub rs1: u8,
    /// Second source.
    pub rs2: u8,
    /// Third source (fused multiply-add), or the operand of a CSR instruction
    /// that is in the instruction itself.
    pub rs3: u8,
    /// Rounding mode of floating-point instructions, function of far branches.
    pub rm: u8,
    /// Immediate value. For a branch, the distance of its target in bytes of
    /// *operations*; for AUIPC and far branches an absolute address.
    pub immediate: i64,
}

impl Operation {
    /// An operation without operands.
    pub const fn bare(code: u16) -> Self {
        Operation { code, rd: SINK, rs1: 0, rs2: 0, rs3: 0, rm: 0, immediate: 0 }
    }
}

/// Points at the operation that is executed next.
///
/// Invariant: a cursor points at a slot of a live
/// [`Block`](crate::code::Block). It holds because
/// - a cursor is made only by [`Block::first`](crate::code::Block::first), and
///   [`Window::at`](crate::execute::Window::at) moves it to an address that the
///   block has;
/// - a block ends in two slots that leave it, and the last instruction before
///   them is at most two slots long, so that `advance` does not pass the end;
/// - a block begins at an even address, so that a slot has an even address and
///   the decoder, which turns each branch whose target is outside the block
///   into a far branch, gives `jump` a whole number of slots inside it;
/// - blocks are dropped only between two handlers' runs.
///
/// Builds with debug assertions check it at each instruction; see
/// [`Core::holds`](crate::execute::Core::holds).
#[derive(Clone, Copy)]
pub(crate) struct Cursor(*const Operation);

impl Cursor {
    /// A cursor at the first of the operations of a block.
    pub fn at(operations: &[Operation]) -> Self {
        Cursor(operations.as_ptr())
    }

    /// The operation pointed at.
    #[inline(always)]
    pub fn get(self) -> Operation {
        // SAFETY: by the invariant the pointer is to a slot of a live block.
        unsafe { *self.0 }
    }

    /// The next operation after an instruction of `bytes` bytes.
    #[inline(always)]
    pub fn advance(self, bytes: usize) -> Self {
        // SAFETY: this slot holds an instruction of `bytes` bytes (handlers
        // are chosen by the decoder for their length), so it is none of the two
        // leaving slots behind the block's last instruction, and one or two
        // slots on is inside the block.
        Cursor(unsafe { self.0.add(bytes / 2) })
    }

    /// The operation `distance` bytes (of operations) further on.
    #[inline(always)]
    pub fn jump(self, distance: i64) -> Self {
        // SAFETY: the decoder checked that the target is an address of the same
        // block, and made a distance in whole slots of it.
        Cursor(unsafe { self.0.byte_offset(distance as isize) })
    }

    /// The operation of the halfword that holds the byte of code `bytes` behind
    /// this one.
    ///
    /// # Safety
    /// This is the first operation of a live block, which has more than
    /// `bytes` bytes of code.
    #[inline(always)]
    pub unsafe fn slot(self, bytes: u64) -> Self {
        // SAFETY: a block of n bytes of code has n / 2 slots for them, so the
        // caller's promise keeps the result inside it.
        Cursor(unsafe { self.0.add((bytes / 2) as usize) })
    }

    /// How many bytes of operations this is behind `first`, if it is.
    pub fn behind(self, first: Cursor) -> Option<usize> {
        self.0.addr().checked_sub(first.0.addr())
    }

    /// The address of the slot divided by eight: 16 bytes of operations are
    /// two bytes of code, so it moves as the program counter does.
    #[inline(always)]
    pub fn position(self) -> u64 {
        self.0.addr() as u64 >> 3
    }
}
