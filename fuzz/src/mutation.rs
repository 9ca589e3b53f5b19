//! Damage to bytes: what a bad disk, a bad tool or a bad person does to a file.

use crate::choice::Choice;
use crate::instructions::values::interesting;

/// Bytes at which readers of files differ.
const BYTES: [u8; 8] = [0, 1, 2, 0x7f, 0x80, 0xfe, 0xff, b'\n'];
/// Most bytes that one mutation inserts, repeats or removes.
const LONGEST: u64 = 64;

/// Damages `bytes`, which are not empty, around the one at `at`.
pub fn mutate(bytes: &mut Vec<u8>, at: usize, choice: &mut Choice) {
    let at = at.min(bytes.len() - 1);
    let end = (at + 1 + choice.below(LONGEST) as usize).min(bytes.len());
    match choice.below(9) {
        0 => bytes[at] ^= 1 << choice.below(8),
        1 => bytes[at] = choice.of(&BYTES),
        2 => bytes[at] = choice.bits() as u8,
        3 => bytes[at] = bytes[at].wrapping_add(choice.of(&[1, 0xff])),
        4 | 5 => {
            // A number of any width; most lie at multiples of their own.
            let width = choice.of(&[2, 4, 8]);
            let at = if choice.once_in(4) { at } else { at / width * width };
            let number = interesting(choice).to_le_bytes();
            bytes.iter_mut().skip(at).zip(&number[..width]).for_each(|(byte, new)| *byte = *new);
        }
        6 => drop(bytes.drain(at..end)),
        7 => {
            let piece = bytes[at..end].to_vec();
            let to = choice.below(bytes.len() as u64) as usize;
            bytes.splice(to..to, piece);
        }
        _ if choice.once_in(4) => bytes.truncate(at.max(1)),
        _ => drop(bytes.splice(at..at, interesting(choice).to_le_bytes())),
    }
}

/// Damages `bytes` in up to `most` places among the first `reach` of them.
pub fn mutate_often(bytes: &mut Vec<u8>, reach: usize, most: u64, choice: &mut Choice) {
    for _ in 0..=choice.below(most) {
        let reach = reach.min(bytes.len()) as u64;
        if reach > 0 {
            mutate(bytes, choice.below(reach) as usize, choice);
        }
    }
}
