//! Lock-step of a tile's RTL with its model: both are told the same, and all that they say is
//! compared.
//!
//! ```text
//!              ┌──► hardware, clock cycle by clock cycle ──► what it did until it was quiet ──┐
//!   stimuli ───┤                                                                              ├─► first difference
//!              └──► model, whose time stands still: an order in which it does the same ───────┘
//! ```
//!
//! The model is the specification of what happens, and not of when. Its accesses and packets take
//! effect at an instant; the hardware's when their look-up in tags and states is over. One by one
//! they have one order; of those that overlap the model is asked for an order in which all that
//! the hardware did is right. Compared are every answer, every packet that leaves with all its fields
//! and bytes, every refusal, and when all is quiet the bytes, states and tags of all lines.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`stimuli`] | what happens to a tile |
//! | [`reference`] | the model of a tile, driven by hand |
//! | [`comparison`] | both, and their first difference, shrunk |
//! | [`hardware`] | the RTL of a tile |
//! | [`random`] | traffic that is mostly valid |
//! | [`timing`] | what the RTL takes in cycles |

pub mod comparison;
pub mod hardware;
pub mod random;
pub mod reference;
pub mod stimuli;
pub mod timing;

use crate::sarc::rtl::Sizes;
pub use comparison::{Counts, Difference, Hardware, Lockstep, Outcome};
pub use stimuli::{Access, Owned, Stimulus};

/// Most bytes of a second level.
const MOST_L2_BYTES: u64 = super::registers::STATE;
/// The tile that is compared, of [`Shape::PROTOTYPE`].
const OWN_TILE: u16 = 1;
/// A process that is not the compared tile's.
const OTHER_PROCESS: u8 = 0;

/// What the compared tile and its chip are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Tiles of the chip, each with a process of its own.
    pub tiles: u16,
    /// The one that is compared.
    pub tile: u16,
    /// Bytes of its second level.
    pub l2_bytes: u64,
    /// Its ways.
    pub ways: u32,
    /// Entries of its job list.
    pub job_list: u32,
    /// It has a combining buffer.
    pub combining: bool,
}

impl Shape {
    /// A small tile with everything.
    pub const SMALL: Shape =
        Shape { tiles: 4, tile: OWN_TILE, l2_bytes: 1 << 14, ways: 4, job_list: 16, combining: true };

    /// The sizes of RTL of this shape.
    pub fn sizes(&self) -> Sizes {
        Sizes { l2_bytes: self.l2_bytes, ways: self.ways, tiles: self.tiles }
    }
}

#[cfg(test)]
mod tests;
