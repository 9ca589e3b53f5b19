//! Lines of scratchpad in the first level above (Section 3: "selective L1-caching of L2 scratchpad
//! regions").
//!
//! A program selects lines when it allocates them. A load of one that is plain memory takes it
//! along; a store of the tile's processor goes through to the second level and leaves it there.
//! Whatever else writes the line clears it above, at that instant: a remote store, a packet of a
//! copy, an item that comes to a queue; and so does a new role, or the line's being given back. Lines
//! that are sensitive to events are never above: each access to them has to be seen. Neither are
//! those that regions of the tile have at a second address, since the first level finds lines by the
//! program's addresses.

use narthex_memory::BlockData;

use super::device::{Sarc, Tile};
use super::registers::LINE_BYTES;
use super::space::address_of;
use crate::half::Context;
use crate::on_chip::FirstLevel;

impl Sarc {
    /// The processor of a tile loads of a line: its first level takes it, if that is selected.
    pub(super) fn fill_first_level(&mut self, context: &mut Context<'_>, tile: u16, line: u64) {
        let address = address_of(self.chip, tile, line * LINE_BYTES);
        let Tile { regions, lines, .. } = &mut self.state.tiles[usize::from(tile)];
        if regions.has_one_address(address) && lines.goes_above(line as usize) {
            let bytes = BlockData::from_bytes(lines.bytes(line * LINE_BYTES, LINE_BYTES as usize));
            context.on_chip.first_level.push((tile, address, FirstLevel::Takes(bytes)));
            self.statistics.first_level_fills.increment();
        }
    }

    /// The first level of a tile loses what has changed below it.
    pub(super) fn clear_first_level(&mut self, context: &mut Context<'_>, tile: u16) {
        for line in self.state.tiles[usize::from(tile)].lines.changed() {
            let address = address_of(self.chip, tile, line as u64 * LINE_BYTES);
            context.on_chip.first_level.push((tile, address, FirstLevel::Loses(LINE_BYTES as usize)));
            self.statistics.first_level_losses.increment();
        }
    }
}
