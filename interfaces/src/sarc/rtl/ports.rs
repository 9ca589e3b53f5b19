//! The ports of a tile's RTL, by their names in `hardware/cache/ports.py`, and its sizes.

use serde::{Deserialize, Serialize};

use crate::rtl::simulation::{DesignError, Input, Output, Simulation};

/// Bits of an address of the hardware.
const ADDRESS_BITS: usize = 37;
/// Sizes with which the RTL was built (`hardware/cache/parameters.py`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Bytes of the second level.
    pub l2_bytes: u64,
    /// Its ways.
    pub ways: u32,
    /// Tiles of the chip, and processes.
    pub tiles: u16,
}

impl Sizes {
    pub(super) fn set_bits(self) -> usize {
        (self.l2_bytes / 64 / u64::from(self.ways)).ilog2() as usize
    }

    pub(super) fn tile_bits(self) -> usize {
        (self.tiles.ilog2() as usize).max(1)
    }

    /// Role, valid, dirty, filling, shared, selected, and the owner.
    pub(super) fn state_bits(self) -> usize {
        8 + self.tile_bits()
    }
}

macro_rules! ports {
    ($($field:ident: $kind:ident = $name:literal, $width:expr;)*) => {
        /// The ports, by their names in `hardware/cache/ports.py`.
        pub(super) struct Ports { $(pub $field: $kind,)* }

        impl Ports {
            pub fn of(simulation: &mut Simulation, sizes: Sizes) -> Result<Self, DesignError> {
                $(let $field = ports!(@find simulation, $kind, $name, ($width)(sizes));)*
                Ok(Ports { $($field,)* })
            }
        }
    };
    (@find $simulation:ident, Input, $name:literal, $width:expr) => { $simulation.input($name, $width)? };
    (@find $simulation:ident, Output, $name:literal, $width:expr) => { $simulation.output($name, $width)? };
}

ports! {
    clock: Input = "clk", |_| 1;
    reset: Input = "rst", |_| 1;
    own: Input = "tile", Sizes::tile_bits;
    cycles: Input = "cycles", |_| 64;
    arrived: Input = "arrived", |_| 1;
    request_valid: Input = "processor__valid", |_| 1;
    request_ready: Output = "processor__ready", |_| 1;
    request_address: Input = "processor__address", |_| ADDRESS_BITS;
    request_store: Input = "processor__store", |_| 1;
    request_size: Input = "processor__size", |_| 2;
    request_data: Input = "processor__data", |_| 64;
    request_process: Input = "processor__process", Sizes::tile_bits;
    response_valid: Output = "response__valid", |_| 1;
    response_data: Output = "response__data", |_| 64;
    response_fault: Output = "response__fault", |_| 4;
    response_keep: Output = "response__keep", |_| 1;
    in_valid: Input = "network_in__valid", |_| 3;
    in_ready: Output = "network_in__ready", |_| 3;
    in_last: Input = "network_in__last", |_| 3;
    in_data: Input = "network_in__data", |_| 192;
    out_valid: Output = "network_out__valid", |_| 1;
    out_ready: Input = "network_out__ready", |_| 3;
    out_first: Output = "network_out__first", |_| 1;
    out_last: Output = "network_out__last", |_| 1;
    out_lane: Output = "network_out__lane", |_| 2;
    out_target: Output = "network_out__target", |_| 8;
    out_data: Output = "network_out__data", |_| 64;
    table_address: Output = "table__address", |_| ADDRESS_BITS;
    table_bytes: Output = "table__bytes", |_| 17;
    table_store: Output = "table__store", |_| 1;
    table_place: Input = "table__place", |_| ADDRESS_BITS;
    table_granted: Input = "table__granted", |_| 1;
    lines_read: Output = "lines__read_enable", |_| 1;
    lines_read_set: Output = "lines__read_set", Sizes::set_bits;
    lines_states: Input = "lines__states", |sizes: Sizes| sizes.ways as usize * sizes.state_bits();
    lines_tags: Input = "lines__tags", |sizes: Sizes| sizes.ways as usize * 64;
    lines_write_ways: Output = "lines__write_ways", |sizes: Sizes| sizes.ways as usize;
    lines_write_set: Output = "lines__write_set", Sizes::set_bits;
    lines_write_state: Output = "lines__write_state", Sizes::state_bits;
    lines_write_tag: Output = "lines__write_tag", |_| 64;
    words_enable: Output = "words__enable", |_| 1;
    words_address: Output = "words__address", |sizes: Sizes| (sizes.l2_bytes / 8).ilog2() as usize;
    words_write_bytes: Output = "words__write_bytes", |_| 8;
    words_write_data: Output = "words__write_data", |_| 64;
    words_read_data: Input = "words__read_data", |_| 64;
    landed: Output = "landed__valid", |_| 1;
    landed_tile: Output = "landed__tile", Sizes::tile_bits;
    fault: Output = "fault__valid", |_| 1;
    fault_code: Output = "fault__code", |_| 4;
    fault_address: Output = "fault__address", |_| ADDRESS_BITS;
    fault_tile: Output = "fault__tile", Sizes::tile_bits;
    loses: Output = "invalidate__valid", |_| 1;
    loses_line: Output = "invalidate__line", |sizes: Sizes| (sizes.l2_bytes / 64).ilog2() as usize;
}
