//! To which of a process's receive queues a packet goes (receive-side scaling).
//!
//! ```text
//!   packet ─► destination process ─► its queues, and no others'
//!                                      │ hash of (destination, source) ─► 7 bits ─► table ─► queue
//! ```
//!
//! A packet first goes to the process that it names: each process has receive queues of its own in its
//! own memory, and never gets another's packets. So processes share no lock, and no driver has to hand packets
//! over. Within the queues of a process a hash chooses: packets of one source stay in one queue, and in their
//! order.
//!
//! The hash is Toeplitz's with the key of 40 bytes that drivers have in common, as Microsoft's
//! specification of receive-side scaling verifies it (Windows Hardware Compatibility: "RSS Hashing
//! Functions", "Verifying the RSS Hash Calculation"). Its input stands where the addresses of IPv4 do, the more
//! significant byte first: 4 bytes of the destination's number, then 4 of the source's. RSS of IPv4 has the source
//! first. The numbers of processes are small, and the key's bits that small numbers in front meet are poor: of 16
//! sources with the destination behind them, two of 4 queues get 8 each and two get none. With the
//! destination in front each queue gets 4.
//!
//! The low 7 bits of the hash choose an entry of a table of 128, a byte each, as in the 82599 (Datasheet, Section
//! 7.1.2.8). The driver writes it; at first all entries are 0, so that a driver that knows one queue finds all
//! packets there.

use narthex_fabrics::Rank;
use serde::{Deserialize, Serialize};

use crate::half::RegisterFault;
use crate::programming::Register;

/// Most receive queues of a process.
pub const MOST_QUEUES: u64 = 16;
/// Entries of the table.
pub const ENTRIES: usize = 128;

/// The registers.
pub const STEERING_REGISTERS: [Register; 3] = [
    ("RECEIVE_QUEUES", 0xf8, "load: the receive queues of this process"),
    (
        "FURTHER_RECEIVE_QUEUE",
        0x440,
        "the registers of receive queue 1, as those of queue 0 from RECEIVE_RING on",
    ),
    (
        "RECEIVE_TABLE",
        0x900,
        "the first of 16 doublewords with 8 entries each of the table that steers packets",
    ),
];
/// Where the number of queues is.
pub const QUEUES: u64 = STEERING_REGISTERS[0].1;
/// From the registers of a further queue to those of the next one.
pub const QUEUE_STRIDE: u64 = 0x40;
const FURTHER: u64 = STEERING_REGISTERS[1].1;
const TABLE: u64 = STEERING_REGISTERS[2].1;

const KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0,
    0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42,
    0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// Toeplitz's hash of eight bytes: for each bit that is set, from the first byte's highest on, the 32 bits of the
/// key from its place on.
fn toeplitz(input: [u8; 8]) -> u32 {
    let key = u128::from_be_bytes(*KEY.first_chunk().expect("16 bytes"));
    let input = u64::from_be_bytes(input);
    let windows = (0..64).filter(|place| input << place >> 63 == 1).map(|place| (key << place >> 96) as u32);
    windows.fold(0, |hash, window| hash ^ window)
}

/// Where in the page the registers of a process's further queues are, as if they were queue 0's: the queue and the
/// offset.
pub fn queue_at(offset: u64) -> (usize, u64) {
    match offset.checked_sub(FURTHER) {
        Some(further) if further < (MOST_QUEUES - 1) * QUEUE_STRIDE => {
            ((1 + further / QUEUE_STRIDE) as usize, 0xc0 + further % QUEUE_STRIDE)
        }
        _ => (0, offset),
    }
}

/// The table of a process.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Steering {
    queues: u8,
    table: Vec<u8>,
}

impl Steering {
    /// One that leads to the first of so many queues alone.
    pub fn new(queues: u8) -> Self {
        Steering { queues, table: vec![0; if queues > 1 { ENTRIES } else { 0 }] }
    }

    /// The queue of a packet.
    pub fn queue(&self, destination: Rank, source: Rank) -> usize {
        if self.table.is_empty() {
            return 0;
        }
        let [[a, b], [c, d]] = [destination, source].map(|rank| rank.0.to_be_bytes());
        let entry = toeplitz([0, 0, a, b, 0, 0, c, d]) as usize % ENTRIES;
        self.table[entry].into()
    }

    fn entries(&self, offset: u64) -> Option<std::ops::Range<usize>> {
        let first = offset.checked_sub(TABLE)? as usize;
        (first.is_multiple_of(8) && first < self.table.len()).then_some(first..first + 8)
    }

    /// What a load of a register brings; none if it is another one's.
    pub fn load(&self, offset: u64) -> Option<u64> {
        match offset {
            QUEUES => Some(self.queues.into()),
            _ => {
                let entries = &self.table[self.entries(offset)?];
                Some(u64::from_le_bytes(entries.try_into().expect("eight bytes")))
            }
        }
    }

    /// A store to a register; none if it is another one's. Refuses queues that there are not.
    pub fn store(&mut self, offset: u64, value: u64) -> Option<Result<(), RegisterFault>> {
        let queues = self.queues;
        if offset == QUEUES {
            let problem =
                format!("RECEIVE_QUEUES is stored with {value}; the machine's file says how many there are");
            return Some(Err(RegisterFault(problem)));
        }
        let entries = self.entries(offset)?;
        let bytes = value.to_le_bytes();
        if let Some((place, queue)) = bytes.iter().enumerate().find(|&(_, &queue)| queue >= queues) {
            let entry = entries.start + place;
            let problem = format!(
                "RECEIVE_TABLE: entry {entry} is stored with queue {queue}; there are {queues} queues, 0 to {}",
                queues - 1
            );
            return Some(Err(RegisterFault(problem)));
        }
        self.table[entries].copy_from_slice(&bytes);
        Some(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_one_that_the_specification_verifies() {
        // IPv4 only: source 66.9.149.187, destination 161.142.100.80, and the second line of its table.
        assert_eq!(toeplitz([66, 9, 149, 187, 161, 142, 100, 80]), 0x323e_8fc2);
        assert_eq!(toeplitz([199, 92, 111, 2, 65, 69, 140, 83]), 0xd718_262a);
    }

    #[test]
    fn sixteen_sources_fill_the_queues_evenly_with_the_destination_in_front() {
        let mut steering = Steering::new(4);
        assert!(
            (0..16).all(|source| steering.queue(Rank(3), Rank(source)) == 0),
            "until the driver writes it"
        );
        for register in 0..16 {
            let value = u64::from_le_bytes([0, 1, 2, 3, 0, 1, 2, 3]);
            assert_eq!(steering.store(TABLE + register * 8, value), Some(Ok(())));
            assert_eq!(steering.load(TABLE + register * 8), Some(value));
        }
        for destination in 0..8 {
            let mut packets = [0; 4];
            (0..16).for_each(|source| packets[steering.queue(Rank(destination), Rank(source))] += 1);
            assert_eq!(packets, [4; 4]);
        }
        let mut swapped = [0; 4];
        (0..16).for_each(|source| swapped[steering.queue(Rank(source), Rank(0))] += 1);
        assert_eq!(swapped, [8, 8, 0, 0], "with the source in front");
        let refused = steering.store(TABLE + 8, 4 << 16).expect("its own").unwrap_err().0;
        assert_eq!(refused, "RECEIVE_TABLE: entry 10 is stored with queue 4; there are 4 queues, 0 to 3");
        assert_eq!(queue_at(0x440 + 2 * 0x40 + 0x18), (3, 0xd8));
        assert_eq!((queue_at(0xd8), queue_at(0x7ff + 1)), ((0, 0xd8), (0, 0x800)));
    }
}
