//! Packets as the RTL has them: rows of 64-bit flits (`hardware/cache/formats.py`).
//!
//! ```text
//!   flit 0   operation 7:0 | bytes 24:8 | acknowledged 25 | origin: tile 38:32, process 51:44
//!   flit 1   destination; of an answer its value
//!   flit 2   acknowledgement's address, if bit 25 is set
//!   then     of a request its source; else data, on the byte lanes of the destination
//! ```

use narthex_fabrics::Rank;
use serde::{Deserialize, Serialize};

use crate::sarc::events::Reader;
use crate::sarc::messages::{Body, Cause, Message, Origin, PacketKind, Payload};
use crate::sarc::registers::operation;

const WRITE: u64 = operation::MESSAGE;
/// The same, of one word: a STORE in a command.
const WRITE_WORD: u64 = operation::STORE;
const READ: u64 = operation::READ;
const STORE: u64 = 5;
const REPLY: u64 = 6;
const LOAD: u64 = 7;
const ANSWER: u64 = 8;
const ACKNOWLEDGEMENT: u64 = 9;
const ACKNOWLEDGED: u64 = 1 << 25;

/// Why flits are no packet.
pub type Problem = String;

/// Most flits of a packet: header, destination, acknowledgement, a line that begins within a word.
const MOST_FLITS: usize = 12;

/// The flits of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Flits {
    words: [u64; MOST_FLITS],
    count: u8,
    /// More came than a packet has.
    is_too_long: bool,
}

impl Flits {
    /// These flits.
    pub fn of(flits: &[u64]) -> Self {
        let mut all = Flits::default();
        flits.iter().for_each(|&flit| all.push(flit));
        all
    }

    /// One more.
    pub fn push(&mut self, flit: u64) {
        match self.words.get_mut(usize::from(self.count)) {
            Some(word) => (*word, self.count) = (flit, self.count + 1),
            None => self.is_too_long = true,
        }
    }

    /// Them.
    pub fn as_slice(&self) -> &[u64] {
        &self.words[..self.count.into()]
    }

    /// The packet that they are.
    ///
    /// # Errors
    /// If they are none.
    pub fn message(&self) -> Result<Message, Problem> {
        if self.is_too_long {
            return Err(format!("a packet of more than {MOST_FLITS} flits"));
        }
        decode(self.as_slice())
    }
}

/// What a packet's first flit says: what it is, its bytes behind the network's header, and those
/// that it moves into or out of lines.
pub fn announced(first: u64) -> (PacketKind, u16, u16) {
    let bytes = (first >> 8 & 0x1_ffff) as u16;
    let acknowledgement = if first & ACKNOWLEDGED != 0 { 8 } else { 0 };
    match first & 0xff {
        READ | LOAD => (PacketKind::Read, 16, 0),
        ANSWER => (PacketKind::Answer, 8, 0),
        ACKNOWLEDGEMENT => (PacketKind::Acknowledgement, 8, 8),
        _ => (PacketKind::Write, bytes + acknowledgement, bytes),
    }
}

fn header(operation: u64, bytes: u64, acknowledge: u64, origin: Origin) -> u64 {
    let acknowledged = if acknowledge == 0 { 0 } else { ACKNOWLEDGED };
    operation | bytes << 8 | acknowledged | u64::from(origin.tile) << 32 | u64::from(origin.process.0) << 44
}

/// The flits of a packet; none if the RTL, of one chip whose queues return nothing, has no such
/// packet.
pub fn encode(message: &Message) -> Option<Vec<u64>> {
    let Message { origin, body } = *message;
    let mut flits = match body {
        Body::Write { to, acknowledge, bytes, cause } => {
            let number = match cause {
                Cause::Store => STORE,
                Cause::Transfer => WRITE,
                Cause::Reply => REPLY,
            };
            let mut flits = vec![header(number, bytes.as_slice().len() as u64, acknowledge, origin), to];
            flits.extend((acknowledge != 0).then_some(acknowledge));
            let mut shifted = vec![0; (to % 8) as usize];
            shifted.extend(bytes.as_slice());
            shifted.resize(shifted.len().next_multiple_of(8), 0);
            flits.extend(
                shifted.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight"))),
            );
            return Some(flits);
        }
        Body::Read { from, bytes, to: Reader::Memory(to, acknowledge) } => {
            let mut flits = vec![header(READ, bytes.into(), acknowledge, origin), to];
            flits.extend((acknowledge != 0).then_some(acknowledge));
            flits.push(from);
            return Some(flits);
        }
        Body::Read { from, bytes, to: Reader::Processor(_, tile) } => {
            vec![header(LOAD, bytes.into(), 0, Origin { tile, ..origin }), from]
        }
        Body::Answer { to: (_, tile), value } => vec![header(ANSWER, 8, 0, Origin { tile, ..origin }), value],
        Body::Acknowledgement { to, bytes } => vec![header(ACKNOWLEDGEMENT, bytes, 0, origin), to],
        Body::Stored | Body::Returned { .. } => return None,
    };
    flits.shrink_to_fit();
    Some(flits)
}

/// The packet of these flits.
///
/// # Errors
/// If they are none.
pub fn decode(flits: &[u64]) -> Result<Message, Problem> {
    let wrong = || format!("{flits:x?} are the flits of no packet");
    let &[first, second, ..] = flits else { return Err(wrong()) };
    let (number, bytes) = (first & 0xff, first >> 8 & 0x1_ffff);
    let (tile, process) = ((first >> 32 & 0x7f) as u16, Rank((first >> 44 & 0xff) as u16));
    let origin = Origin { process, chip: 0, tile };
    let acknowledged = first & ACKNOWLEDGED != 0;
    let acknowledge = if acknowledged { *flits.get(2).ok_or_else(wrong)? } else { 0 };
    let rest = &flits[2 + usize::from(acknowledged)..];
    let body = match number {
        WRITE | WRITE_WORD | STORE | REPLY => {
            let first = (second % 8) as usize;
            let all: Vec<u8> = rest.iter().flat_map(|word| word.to_le_bytes()).collect();
            let end = first + bytes as usize;
            if end.div_ceil(8) != rest.len() || bytes > 64 {
                return Err(wrong());
            }
            let cause = match number {
                STORE => Cause::Store,
                REPLY => Cause::Reply,
                _ => Cause::Transfer,
            };
            Body::Write { to: second, acknowledge, bytes: Payload::of(&all[first..end]), cause }
        }
        READ => {
            let &[from] = rest else { return Err(wrong()) };
            Body::Read { from, bytes: bytes as u32, to: Reader::Memory(second, acknowledge) }
        }
        LOAD if rest.is_empty() => {
            Body::Read { from: second, bytes: bytes as u32, to: Reader::Processor(0, tile) }
        }
        ANSWER if rest.is_empty() => Body::Answer { to: (0, tile), value: second },
        ACKNOWLEDGEMENT if rest.is_empty() => Body::Acknowledgement { to: second, bytes },
        _ => return Err(wrong()),
    };
    Ok(Message { origin, body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sarc::registers::WINDOW;

    #[test]
    fn each_packet_comes_back_from_its_flits() {
        let origin = Origin { process: Rank(2), chip: 0, tile: 3 };
        let bytes = Payload::of(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let to = WINDOW + 13;
        for body in [
            Body::Write { to, acknowledge: 0, bytes, cause: Cause::Transfer },
            Body::Write { to, acknowledge: WINDOW + 64, bytes, cause: Cause::Reply },
            Body::Read { from: to, bytes: 300, to: Reader::Memory(WINDOW, 0) },
            Body::Read { from: to, bytes: 300, to: Reader::Memory(WINDOW, WINDOW + 8) },
            Body::Read { from: WINDOW, bytes: 8, to: Reader::Processor(0, 3) },
            Body::Answer { to: (0, 3), value: 77 },
            Body::Acknowledgement { to: WINDOW, bytes: 64 },
        ] {
            let message = Message { origin, body };
            let flits = encode(&message).expect("there is such a packet");
            assert_eq!(decode(&flits), Ok(message));
        }
        assert_eq!(encode(&Message { origin, body: Body::Stored }), None);
        assert!(decode(&[2 | 16 << 8, WINDOW, 0]).unwrap_err().contains("flits of no packet"));
    }

    #[test]
    fn bytes_stand_on_the_lanes_of_their_destination() {
        let origin = Origin { process: Rank(0), chip: 0, tile: 0 };
        let body = Body::Write {
            to: WINDOW + 6,
            acknowledge: 0,
            bytes: Payload::of(&[0xa, 0xb, 0xc]),
            cause: Cause::Transfer,
        };
        let flits = encode(&Message { origin, body }).expect("there is such a packet");
        assert_eq!(flits, [2 | 3 << 8, WINDOW + 6, 0x0b0a << 48, 0xc]);
    }
}
