//! The vectors of a function that interrupts by messages: their masks and pending bits.
//!
//! ```text
//!   cause ──► vector, not masked ──► due ──► message ──► processor
//!             vector, masked     ──► pending bit          ▲
//!                                        └── unmasked ────┘ one message, however many causes
//! ```
//!
//! MSI-X has a mask and a pending bit for each vector (PCI Express Base Specification 6.0, Section
//! 6.1.4.5). A function sends no message of a masked vector, and sets its pending bit instead. When the
//! vector is unmasked, it sends one message and clears the bit. A message that is due and has not
//! left when its vector is masked is held back too.
//!
//! Hardware keeps both in tables in its memory, a doubleword of a vector's entry for the mask; here
//! two registers have a bit for each vector.

use narthex_memory::interrupt::Interrupt;
use serde::{Deserialize, Serialize};

use crate::half::RegisterFault;
use crate::programming::Register;

/// The registers.
pub const VECTOR_REGISTERS: [Register; 2] = [
    ("VECTOR_MASK", 0x980, "store: a bit for each vector that is masked; load: the same"),
    ("VECTOR_PENDING", 0x988, "load: a bit for each vector whose message waits until it is unmasked"),
];
const MASK: u64 = VECTOR_REGISTERS[0].1;
const PENDING: u64 = VECTOR_REGISTERS[1].1;

/// The vectors of a function, a bit for each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Vectors {
    /// Those that there are.
    all: u64,
    masked: u64,
    pending: u64,
    /// Those whose message is to leave.
    due: u64,
}

impl Vectors {
    /// `count` vectors, at most [`Interrupt::VECTORS`], none of them masked.
    pub fn new(count: u8) -> Self {
        let all = u64::MAX.checked_shr(u32::from(Interrupt::VECTORS - count)).unwrap_or(0);
        Vectors { all, masked: 0, pending: 0, due: 0 }
    }

    /// Whether there is this vector.
    pub fn has(&self, vector: u64) -> bool {
        vector < Interrupt::VECTORS.into() && self.all >> vector & 1 == 1
    }

    /// Whether its messages are held back.
    pub fn is_masked(&self, vector: u8) -> bool {
        self.masked >> vector & 1 == 1
    }

    /// There is a cause: whether its message is held back.
    pub fn raise(&mut self, vector: u8) -> bool {
        let is_masked = self.is_masked(vector);
        let bits = if is_masked { &mut self.pending } else { &mut self.due };
        *bits |= 1 << vector;
        is_masked
    }

    /// The vector whose message leaves next.
    pub fn next(&self) -> Option<u8> {
        (self.due != 0).then(|| self.due.trailing_zeros() as u8)
    }

    /// The message of a vector leaves.
    pub fn leave(&mut self, vector: u8) {
        self.due &= !(1 << vector);
    }

    /// What a load of a register brings; none if it is another one's.
    pub fn load(&self, offset: u64) -> Option<u64> {
        match offset {
            MASK => Some(self.masked),
            PENDING => Some(self.pending),
            _ => None,
        }
    }

    /// A store to a register; none if it is another one's. Refuses vectors that there are not, and stores to the
    /// pending bits.
    pub fn store(&mut self, offset: u64, value: u64) -> Option<Result<(), RegisterFault>> {
        let [(mask, ..), (pending, ..)] = VECTOR_REGISTERS;
        let count = self.all.count_ones();
        match offset {
            MASK if value & !self.all != 0 => Some(Err(RegisterFault(format!(
                "{mask} is stored with {value:#x}; there are {count} vectors, a bit each"
            )))),
            MASK => {
                let held = self.pending | self.due;
                (self.masked, self.pending, self.due) = (value, held & value, held & !value);
                Some(Ok(()))
            }
            PENDING => Some(Err(RegisterFault(format!(
                "{pending} is stored with {value:#x}; only masks are stored"
            )))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_vector_sends_one_message_when_it_is_unmasked() {
        let mut vectors = Vectors::new(3);
        assert_eq!(vectors.store(MASK, 0b10), Some(Ok(())));
        assert!(vectors.raise(1) && vectors.raise(1) && !vectors.raise(2));
        assert_eq!((vectors.load(PENDING), vectors.next()), (Some(0b10), Some(2)));
        vectors.leave(2);
        assert_eq!(vectors.next(), None);
        assert_eq!(vectors.store(MASK, 0), Some(Ok(())));
        assert_eq!((vectors.load(PENDING), vectors.next()), (Some(0), Some(1)));
        // It is masked again before its message has left.
        assert_eq!(vectors.store(MASK, 0b111), Some(Ok(())));
        assert_eq!((vectors.load(PENDING), vectors.next()), (Some(0b10), None));
        assert_eq!(vectors.store(MASK, 0b101), Some(Ok(())));
        vectors.leave(1);
        assert_eq!((vectors.load(PENDING), vectors.next()), (Some(0), None), "it was one message");
    }

    #[test]
    fn only_masks_of_vectors_that_there_are_can_be_stored() {
        let mut vectors = Vectors::new(3);
        let refused = |stored: Option<Result<(), RegisterFault>>| stored.expect("its own").unwrap_err().0;
        let told = "VECTOR_MASK is stored with 0x8; there are 3 vectors, a bit each";
        assert_eq!(refused(vectors.store(MASK, 8)), told);
        assert!(refused(vectors.store(PENDING, 0)).contains("only masks are stored"));
        assert!(vectors.has(2) && !vectors.has(3) && Vectors::new(64).has(63) && !Vectors::new(0).has(0));
    }
}
