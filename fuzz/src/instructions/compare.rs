//! Where two runs of a program part.

use crate::instructions::program::{Program, RECORD_BYTES};
use std::fmt;

/// The first byte at which two outputs differ, in terms of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The block whose record differs and the turn in it; nothing where only
    /// scratch memory differs or an output ends early.
    pub place: Option<(usize, usize)>,
    /// Everything that differs in the record: register, ours, theirs.
    pub registers: Vec<(String, u64, u64)>,
    /// The byte.
    pub offset: usize,
    /// How long our output is, and theirs.
    pub lengths: (usize, usize),
}

/// The first difference, if there is one.
pub fn first_difference(program: &Program, ours: &[u8], theirs: &[u8]) -> Option<Difference> {
    let lengths = (ours.len(), theirs.len());
    let common = ours.iter().zip(theirs).position(|(our, their)| our != their);
    let offset = match common {
        Some(offset) => offset,
        None if lengths.0 == lengths.1 => return None,
        None => lengths.0.min(lengths.1),
    };
    let place = program.place(offset);
    let start = offset / RECORD_BYTES * RECORD_BYTES;
    let whole = ours.len().min(theirs.len()) >= start + RECORD_BYTES;
    let registers = match place {
        Some(_) if whole => registers(&ours[start..], &theirs[start..]),
        _ => Vec::new(),
    };
    Some(Difference { place, registers, offset, lengths })
}

fn registers(ours: &[u8], theirs: &[u8]) -> Vec<(String, u64, u64)> {
    let words = |bytes: &[u8]| -> Vec<u64> {
        bytes[..RECORD_BYTES]
            .chunks_exact(8)
            .map(|word| word.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
            .collect()
    };
    let pairs = words(ours).into_iter().zip(words(theirs)).enumerate();
    pairs
        .filter(|(_, (our, their))| our != their)
        .map(|(index, (our, their))| (name(index), our, their))
        .collect()
}

/// What word `index` of a record is.
fn name(index: usize) -> String {
    match index {
        0..31 => format!("x{}", index + 1),
        31..63 => format!("f{}", index - 31),
        _ => "fcsr".into(),
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((block, turn)) => writeln!(f, "first difference in block {block}, turn {turn}")?,
            None => writeln!(f, "first difference at byte {}, in scratch memory", self.offset)?,
        }
        if self.lengths.0 != self.lengths.1 {
            writeln!(f, "  our output has {} bytes, the reference's {}", self.lengths.0, self.lengths.1)?;
        }
        for (register, ours, theirs) in &self.registers {
            writeln!(f, "  {register:<4} ours {ours:016x}  reference {theirs:016x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instructions::generate;

    #[test]
    fn a_flipped_bit_is_found_in_its_register() {
        let program = generate::program(1);
        let ours = vec![0; program.output_bytes()];
        let mut theirs = ours.clone();
        assert_eq!(first_difference(&program, &ours, &theirs), None);
        let turns = program.blocks[0].turns as usize;
        theirs[(turns + 2) * RECORD_BYTES + 8 * 31 + 1] = 1;
        let difference = first_difference(&program, &ours, &theirs).expect("a difference");
        assert_eq!(difference.place, Some((1, 2)));
        assert_eq!(difference.registers, [("f0".to_string(), 0, 0x100)]);
    }

    #[test]
    fn an_output_that_ends_early_differs() {
        let program = generate::program(1);
        let theirs = vec![0; program.output_bytes()];
        let difference = first_difference(&program, &theirs[..100], &theirs).expect("a difference");
        assert_eq!((difference.place, difference.offset), (Some((0, 0)), 100));
    }
}
