//! What an address of the hardware means.

use std::fmt;

use narthex_memory::translation::Translation;

use super::registers::{
    CHIP_BYTES, DRAM, DRAM_CHIP_BYTES, LOCK_BOX, MOST_CHIPS, REGISTERS, SPACE, STATE, STATE_BYTES, WINDOW,
    WINDOW_BYTES,
};

/// A place on a chip.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Spot {
    /// Bytes of a tile's second level: chip, tile, offset.
    Line(u16, u16, u64),
    /// The state of a line: chip, tile, line, word.
    State(u16, u16, u64, u64),
    /// A register of the tile that accesses it, by its offset.
    Register(u64),
    /// A lock, by its number.
    Lock(u64),
    /// Non-cacheable DRAM: chip, offset.
    Dram(u16, u64),
}

/// What the hardware has at neighbouring addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Area {
    /// The second levels of a chip's tiles, with their lines' states.
    Tiles(u64),
    /// Registers.
    Registers,
    /// The lock box.
    LockBox,
    /// The DRAM of a chip.
    Dram(u64),
}

impl fmt::Display for Area {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Area::Tiles(chip) => write!(formatter, "scratchpads of chip {chip}"),
            Area::Registers => formatter.write_str("registers"),
            Area::LockBox => formatter.write_str("lock box"),
            Area::Dram(chip) => write!(formatter, "DRAM of chip {chip}"),
        }
    }
}

/// What a chip has at its addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Space {
    /// Tiles of each chip.
    pub tiles: u16,
    /// Bytes of a tile's second level.
    pub l2_bytes: u64,
    /// Locks of the lock box.
    pub locks: u64,
    /// Bytes of DRAM of each chip.
    pub dram_bytes: u64,
}

/// The process and the address of a transaction's address.
pub fn split(address: u64) -> (u8, u64) {
    ((address / Translation::SPACE_BYTES) as u8, address % Translation::SPACE_BYTES)
}

/// The address of a byte of a tile's second level.
pub fn address_of(chip: u16, tile: u16, offset: u64) -> u64 {
    WINDOW + u64::from(chip) * CHIP_BYTES + u64::from(tile) * WINDOW_BYTES + offset
}

impl Space {
    /// The area of an address; none if it is none of the hardware's.
    pub fn area_of(address: u64) -> Option<Area> {
        match address {
            _ if !SPACE.contains(&address) => None,
            DRAM.. => Some(Area::Dram((address - DRAM) / DRAM_CHIP_BYTES)),
            LOCK_BOX.. => Some(Area::LockBox),
            REGISTERS.. => Some(Area::Registers),
            _ => Some(Area::Tiles((address - WINDOW) / CHIP_BYTES)),
        }
    }

    /// What is at an address; none if nothing is.
    pub fn at(&self, address: u64) -> Option<Spot> {
        let chip = match Self::area_of(address)? {
            Area::Dram(chip) => {
                let offset = (address - DRAM) % DRAM_CHIP_BYTES;
                return (offset < self.dram_bytes).then_some(Spot::Dram(chip as u16, offset));
            }
            Area::LockBox => {
                let lock = (address - LOCK_BOX) / 8;
                return (lock < self.locks).then_some(Spot::Lock(lock));
            }
            Area::Registers => return Some(Spot::Register(address - REGISTERS)),
            Area::Tiles(chip) => chip,
        };
        let tile = (address - WINDOW) % CHIP_BYTES / WINDOW_BYTES;
        let offset = address % WINDOW_BYTES;
        if chip >= MOST_CHIPS || tile >= self.tiles.into() {
            return None;
        }
        let (chip, tile) = (chip as u16, tile as u16);
        match offset.checked_sub(STATE) {
            None => (offset < self.l2_bytes).then_some(Spot::Line(chip, tile, offset)),
            Some(state) => {
                let line = state / STATE_BYTES;
                let is_there = line < self.l2_bytes / super::registers::LINE_BYTES;
                is_there.then_some(Spot::State(chip, tile, line, state % STATE_BYTES / 8))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Space = Space { tiles: 4, l2_bytes: 1 << 16, locks: 16, dram_bytes: 1 << 20 };

    #[test]
    fn an_address_is_a_byte_a_state_a_register_a_lock_or_dram() {
        let tile = WINDOW + CHIP_BYTES + 2 * WINDOW_BYTES;
        for (address, expected) in [
            (tile + 0x123, Some(Spot::Line(1, 2, 0x123))),
            (tile + (1 << 16), None),
            (tile + STATE + 5 * STATE_BYTES + 8, Some(Spot::State(1, 2, 5, 1))),
            (tile + STATE + (1 << 16) / 64 * STATE_BYTES, None),
            (WINDOW + 4 * WINDOW_BYTES, None),
            (REGISTERS + 8, Some(Spot::Register(8))),
            (LOCK_BOX + 15 * 8, Some(Spot::Lock(15))),
            (LOCK_BOX + 16 * 8, None),
            (DRAM + DRAM_CHIP_BYTES + 7, Some(Spot::Dram(1, 7))),
            (DRAM + (1 << 20), None),
            (WINDOW - 1, None),
            (SPACE.end, None),
        ] {
            assert_eq!(SMALL.at(address), expected, "{address:#x}");
        }
        assert_eq!(SMALL.at(address_of(1, 2, 0x40)), Some(Spot::Line(1, 2, 0x40)));
        assert_eq!(split(3 * Translation::SPACE_BYTES + tile), (3, tile));
    }
}
