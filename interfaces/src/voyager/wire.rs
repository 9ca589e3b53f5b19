//! What crosses the network: a packet's header of eight bytes, and its payload.
//!
//! | bits | message | remote command |
//! | --- | --- | --- |
//! | 0 to 15 | the network's own: the first process of the node that sends | the same |
//! | 16 to 22 | bytes of payload | bytes of data |
//! | 23 | it is for the firmware, whatever the queue | |
//! | 24 to 31 | the user's | channel, 255 for none |
//! | 32 to 39 | logical receive queue | process |
//! | 40 | 0 | 1 |
//! | 48 to 63 | rank that sends, in its job | |
//!
//! The payload of a remote command is a [`BlockDestination`], eight bytes, and the data.

use narthex_fabrics::Header;
use serde::{Deserialize, Serialize};

/// Bytes in front of the data of a remote command.
pub const ADDRESS_BYTES: u64 = 8;

/// Where the data of a block transfer's packet go, and who is told if they may not go there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct BlockDestination {
    /// The receiving process's address.
    pub address: u64,
    /// The logical receive queue of the sender that is told.
    pub told: Option<u8>,
    /// It is the last packet of its transfer.
    pub is_last: bool,
}

impl BlockDestination {
    /// Where the queue, plus one, stands above an address.
    const TOLD: u32 = 48;
    const LAST: u32 = 57;
    /// How many addresses it can have.
    pub const ADDRESSES: u64 = 1 << Self::TOLD;

    /// As packets carry it: the address in bits 0 to 47, the queue that is told plus one in bits
    /// 48 to 56, in bit 57 whether it is the last one.
    pub fn bits(self) -> u64 {
        let told = self.told.map_or(0, |queue| u64::from(queue) + 1);
        self.address | told << Self::TOLD | u64::from(self.is_last) << Self::LAST
    }

    /// What these bits say.
    pub fn of(bits: u64) -> Self {
        BlockDestination {
            address: bits & (Self::ADDRESSES - 1),
            told: (bits >> Self::TOLD & 0x1ff).checked_sub(1).map(|queue| queue as u8),
            is_last: bits >> Self::LAST & 1 != 0,
        }
    }
}

/// A packet's header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Label {
    /// It carries a remote command.
    pub is_command: bool,
    /// It goes to the miss queue.
    pub is_firmware: bool,
    /// Bytes of payload or data.
    pub bytes: u8,
    /// The user's bits, or the channel.
    pub user: u8,
    /// The logical receive queue, or the process.
    pub queue: u8,
    /// Who sends.
    pub source: u16,
}

impl Label {
    /// As the network carries it.
    pub fn header(self) -> Header {
        let slot = u64::from(self.slot_header());
        Header(
            slot | u64::from(self.queue) << 32
                | u64::from(self.is_command) << 40
                | u64::from(self.source) << 48,
        )
    }

    /// The header of a packet that has arrived.
    pub fn of(header: Header) -> Self {
        let Header(bits) = header;
        Label {
            is_command: bits >> 40 & 1 != 0,
            is_firmware: bits >> 23 & 1 != 0,
            bytes: (bits >> 16) as u8 & 0x7f,
            user: (bits >> 24) as u8,
            queue: (bits >> 32) as u8,
            source: (bits >> 48) as u16,
        }
    }

    /// The header of a received slot.
    pub fn slot_header(self) -> u32 {
        u32::from(self.source)
            | u32::from(self.bytes & 0x7f) << 16
            | u32::from(self.is_firmware) << 23
            | u32::from(self.user) << 24
    }
}

#[cfg(test)]
mod tests {
    use narthex_fabrics::Rank;

    use super::*;

    #[test]
    fn a_place_comes_as_it_went() {
        for told in [None, Some(0), Some(255)] {
            for is_last in [false, true] {
                let place = BlockDestination { address: 0xffff_ffff_fff0, told, is_last };
                assert_eq!(BlockDestination::of(place.bits()), place);
            }
        }
        assert_eq!(
            BlockDestination::of(0x1234),
            BlockDestination { address: 0x1234, told: None, is_last: false }
        );
    }

    #[test]
    fn a_label_comes_as_it_went() {
        for is_command in [false, true] {
            for is_firmware in [false, true] {
                let label =
                    Label { is_command, is_firmware, bytes: 88, user: 255, queue: 200, source: 0xabcd };
                // The network writes the rank of the port that sends over the lowest bits.
                assert_eq!(Label::of(label.header().with_peer(Rank(7))), label);
                let flag = u32::from(is_firmware) << 23;
                assert_eq!(label.slot_header(), 0xff58_abcd | flag);
            }
        }
    }
}
