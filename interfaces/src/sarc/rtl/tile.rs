//! An instance of the RTL with its arrays, in clock cycles.
//!
//! ```text
//!   request ──► processor port ──► RTL ──► response          each cycle: inputs, settle, table,
//!   flits   ──► three lanes    ──►     ──► flits of packets   outputs, arrays, clock
//! ```
//!
//! The table of regions, whose second port the RTL asks, and the arrays are here.

use std::collections::VecDeque;
use std::path::Path;

use super::arrays::Arrays;
use super::packets;
use crate::rtl::simulation::{Design, DesignError, Input, Output, Simulation};
use crate::sarc::messages::Message;
use crate::sarc::regions::{Need, RegionTable};

/// Bits of an address of the hardware.
const ADDRESS_BITS: usize = 37;
/// Cycles in which nothing can be seen of it, after which a tile is quiet: more than stores wait in
/// the combining buffer, or the engine between two words.
const SILENCE: u32 = 10;

/// Most ways of the arrays.
const MOST_WAYS: usize = 8;

/// Sizes with which the RTL was built (`hardware/cache/parameters.py`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Bytes of the second level.
    pub l2_bytes: u64,
    /// Its ways.
    pub ways: u32,
    /// Tiles of the chip, and processes.
    pub tiles: u16,
}

impl Sizes {
    fn set_bits(self) -> usize {
        (self.l2_bytes / 64 / u64::from(self.ways)).ilog2() as usize
    }

    fn tile_bits(self) -> usize {
        (self.tiles.ilog2() as usize).max(1)
    }

    /// Role, valid, dirty, filling, shared, selected, and the owner.
    fn state_bits(self) -> usize {
        8 + self.tile_bits()
    }
}

/// An access of the processor, on the byte lanes of its aligned word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The hardware's address.
    pub address: u64,
    /// It stores.
    pub is_store: bool,
    /// 1, 2, 4 or 8.
    pub bytes: u8,
    /// What is stored, from bit 0 on.
    pub value: u64,
    /// Whose access it is.
    pub process: u8,
}

/// What a tile says in a cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// The oldest request is answered: a load's value from bit 0 on, or the number of a fault.
    Answer(Result<u64, u64>),
    /// A packet has left, with its last flit in this cycle; its lane, where it goes.
    Packet(u8, u8, Result<Message, packets::Problem>),
    /// A packet or job is refused: the fault's number, whose processor began it.
    Fault(u64, u16),
    /// A remote store of that tile is here.
    Landed(u16),
    /// The first level loses this line.
    Loses(usize),
}

macro_rules! ports {
    ($($field:ident: $kind:ident = $name:literal, $width:expr;)*) => {
        /// The ports, by their names in `hardware/cache/ports.py`.
        struct Ports { $($field: $kind,)* }

        impl Ports {
            fn of(simulation: &mut Simulation, sizes: Sizes) -> Result<Self, DesignError> {
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
    fault_tile: Output = "fault__tile", Sizes::tile_bits;
    loses: Output = "invalidate__valid", |_| 1;
    loses_line: Output = "invalidate__line", |sizes: Sizes| (sizes.l2_bytes / 64).ilog2() as usize;
}

/// Reads of arrays.
#[derive(Clone, Copy, Default)]
struct Pending {
    set: Option<usize>,
    word: Option<usize>,
}

/// A tile of RTL; see the module's description.
pub struct Tile {
    simulation: Simulation,
    ports: Ports,
    /// What it was built for.
    pub sizes: Sizes,
    own: u16,
    /// The simulation's state after its reset.
    start: Vec<u32>,
    /// Its lines.
    pub arrays: Arrays,
    /// Requests that wait for the port, and those that it has taken and not answered: byte offset
    /// and size.
    requests: VecDeque<Request>,
    taken: VecDeque<Request>,
    /// Flits that wait in the lanes, and whether each is its packet's last.
    lanes: [VecDeque<(u64, bool)>; 3],
    /// Flits of the packet that leaves.
    leaving: Vec<u64>,
    arrivals: u32,
    /// What the arrays have been asked for, which is there in the next cycle.
    pending: Pending,
    looked_up: (u64, u64, bool),
    silent_for: u32,
    /// Clock cycles since the reset.
    pub cycles: u64,
}

impl std::fmt::Debug for Tile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "tile {} of RTL in cycle {}", self.own, self.cycles)
    }
}

impl Tile {
    /// An instance of a compiled design, with this number.
    ///
    /// # Errors
    /// If the file is no such design, or its ports are not those of a tile of these sizes.
    pub fn load(library: &Path, sizes: Sizes, own: u16) -> Result<Self, DesignError> {
        Tile::of(&Design::load(library)?, sizes, own)
    }

    /// The same of a design that is loaded.
    ///
    /// # Errors
    /// If its ports are not those of a tile of these sizes.
    pub fn of(design: &Design, sizes: Sizes, own: u16) -> Result<Self, DesignError> {
        let mut simulation = design.instance();
        let ports = Ports::of(&mut simulation, sizes)?;
        simulation.set(ports.own, own.into());
        simulation.set(ports.out_ready, 0b111);
        simulation.set(ports.reset, 1);
        simulation.settle();
        simulation.tick(ports.clock);
        simulation.set(ports.reset, 0);
        simulation.settle();
        Ok(Tile {
            start: simulation.state(),
            simulation,
            ports,
            sizes,
            own,
            arrays: Arrays::new(sizes.l2_bytes, sizes.ways),
            requests: VecDeque::new(),
            taken: VecDeque::new(),
            lanes: Default::default(),
            leaving: Vec::new(),
            arrivals: 0,
            pending: Pending::default(),
            looked_up: (u64::MAX, 0, false),
            silent_for: 0,
            cycles: 0,
        })
    }

    /// Nothing has happened to it.
    pub fn reset(&mut self) {
        assert!(self.simulation.restore(&self.start), "the state is its own");
        self.arrays = Arrays::new(self.sizes.l2_bytes, self.sizes.ways);
        self.requests.clear();
        self.taken.clear();
        self.lanes.iter_mut().for_each(VecDeque::clear);
        self.leaving.clear();
        (self.arrivals, self.silent_for, self.cycles) = (0, 0, 0);
        self.looked_up = (u64::MAX, 0, false);
        self.pending = Pending::default();
    }

    /// The processor makes an access, when those before have been taken.
    pub fn request(&mut self, request: Request) {
        self.requests.push_back(request);
        self.silent_for = 0;
    }

    /// A packet comes, of which the RTL takes a flit in a cycle.
    pub fn bring(&mut self, lane: u8, flits: &[u64]) {
        let last = flits.len() - 1;
        let flits = flits.iter().enumerate().map(|(own, &flit)| (flit, own == last));
        self.lanes[usize::from(lane)].extend(flits);
        self.silent_for = 0;
    }

    /// A remote store of its processor has arrived.
    pub fn arrive(&mut self) {
        self.arrivals += 1;
        self.silent_for = 0;
    }

    /// Whether nothing has been seen of it for so long that nothing is under way in it.
    pub fn is_quiet(&self) -> bool {
        self.silent_for >= SILENCE
    }

    /// Whether flits wait to be taken.
    pub fn has_flits(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.is_empty())
    }

    /// Requests that are not taken.
    pub fn waiting_requests(&self) -> usize {
        self.requests.len()
    }

    /// Whether a request is taken and not answered.
    pub fn is_asked(&self) -> bool {
        !self.taken.is_empty()
    }

    /// A clock cycle; what was said in it is added.
    pub fn cycle(&mut self, table: &RegionTable, said: &mut Vec<Said>) {
        self.set_inputs();
        self.simulation.settle();
        self.look_up(table);
        let before = said.len();
        let is_active = self.take_inputs() | self.access_arrays() | self.read_outputs(said);
        self.silent_for = if is_active || said.len() > before { 0 } else { self.silent_for + 1 };
        // The falling edge is seen when the next cycle's inputs settle.
        self.simulation.set(self.ports.clock, 1);
        self.simulation.settle();
        self.simulation.set(self.ports.clock, 0);
        self.answer_arrays();
        self.cycles += 1;
    }

    fn set_inputs(&mut self) {
        let Tile { simulation, ports, .. } = self;
        simulation.set(ports.cycles, self.cycles);
        simulation.set(ports.arrived, u64::from(self.arrivals > 0));
        simulation.set(ports.request_valid, u64::from(!self.requests.is_empty()));
        if let Some(request) = self.requests.front() {
            let shift = request.address % 8 * 8;
            simulation.set(ports.request_address, request.address);
            simulation.set(ports.request_store, request.is_store.into());
            simulation.set(ports.request_size, request.bytes.ilog2().into());
            simulation.set(ports.request_data, request.value << shift);
            simulation.set(ports.request_process, request.process.into());
        }
        let (mut valid, mut last, mut data) = (0, 0, [0; 6]);
        for (lane, flits) in self.lanes.iter().enumerate() {
            if let Some(&(flit, is_last)) = flits.front() {
                valid |= 1 << lane;
                last |= u64::from(is_last) << lane;
                (data[2 * lane], data[2 * lane + 1]) = (flit as u32, (flit >> 32) as u32);
            }
        }
        simulation.set(ports.in_valid, valid);
        simulation.set(ports.in_last, last);
        simulation.set_wide(ports.in_data, &data);
    }

    /// The table of regions answers in the same cycle.
    fn look_up(&mut self, table: &RegionTable) {
        let Tile { simulation, ports, .. } = self;
        let asked = (
            simulation.get(ports.table_address),
            simulation.get(ports.table_bytes),
            simulation.is_set(ports.table_store),
        );
        if asked == self.looked_up {
            return;
        }
        self.looked_up = asked;
        let (address, bytes, is_store) = asked;
        let place = table.translate(address, bytes, if is_store { Need::Store } else { Need::Load });
        simulation.set(ports.table_granted, place.is_ok().into());
        simulation.set(ports.table_place, place.unwrap_or(0));
        simulation.settle();
    }

    /// What was offered is taken: whether anything was.
    fn take_inputs(&mut self) -> bool {
        let mut is_active = self.arrivals > 0;
        self.arrivals = self.arrivals.saturating_sub(1);
        if self.simulation.is_set(self.ports.request_ready)
            && let Some(request) = self.requests.pop_front()
        {
            self.taken.push_back(request);
            is_active = true;
        }
        let ready = self.simulation.get(self.ports.in_ready);
        for (lane, flits) in self.lanes.iter_mut().enumerate() {
            if ready >> lane & 1 == 1 {
                is_active |= flits.pop_front().is_some();
            }
        }
        is_active
    }

    /// The arrays answer in the next cycle; what is written now is read so.
    fn access_arrays(&mut self) -> bool {
        let Tile { simulation, ports, arrays, .. } = self;
        let ways = simulation.get(ports.lines_write_ways);
        if ways != 0 {
            arrays.write_line(
                ways.trailing_zeros() as usize,
                simulation.get(ports.lines_write_set) as usize,
                simulation.get(ports.lines_write_state),
                simulation.get(ports.lines_write_tag),
            );
        }
        let reads = simulation.is_set(ports.lines_read);
        let set = simulation.get(ports.lines_read_set) as usize;
        let enabled = simulation.is_set(ports.words_enable);
        let word = simulation.get(ports.words_address) as usize;
        let bytes = simulation.get(ports.words_write_bytes);
        let value = simulation.get(ports.words_write_data);
        // Inputs change behind the rising edge.
        self.pending = Pending { set: reads.then_some(set), word: (enabled && bytes == 0).then_some(word) };
        if enabled && bytes != 0 {
            arrays.write_word(word, bytes, value);
        }
        ways != 0 || reads || enabled
    }

    fn answer_arrays(&mut self) {
        let Tile { simulation, ports, arrays, sizes, .. } = self;
        if let Some(set) = self.pending.set {
            let (mut states, mut tags) = ([0; 4], [0; 2 * MOST_WAYS]);
            arrays.set(set, sizes.state_bits(), &mut states, &mut tags);
            simulation.set_wide(ports.lines_states, &states);
            simulation.set_wide(ports.lines_tags, &tags);
        }
        if let Some(word) = self.pending.word {
            simulation.set(ports.words_read_data, arrays.word(word));
        }
    }

    fn read_outputs(&mut self, said: &mut Vec<Said>) -> bool {
        let Tile { simulation, ports, .. } = self;
        if simulation.is_set(ports.response_valid) {
            let fault = simulation.get(ports.response_fault);
            let data = simulation.get(ports.response_data);
            let request = self.taken.pop_front();
            let value = request.map_or(data, |request| {
                let shifted = data >> (request.address % 8 * 8);
                let is_load = !request.is_store;
                if is_load { shifted & (u64::MAX >> (64 - 8 * u32::from(request.bytes))) } else { 0 }
            });
            said.push(Said::Answer(if fault == 0 { Ok(value) } else { Err(fault) }));
        }
        if simulation.is_set(ports.fault) {
            said.push(Said::Fault(simulation.get(ports.fault_code), simulation.get(ports.fault_tile) as u16));
        }
        if simulation.is_set(ports.landed) {
            said.push(Said::Landed(simulation.get(ports.landed_tile) as u16));
        }
        if simulation.is_set(ports.loses) {
            said.push(Said::Loses(simulation.get(ports.loses_line) as usize));
        }
        let leaves = simulation.is_set(ports.out_valid);
        if leaves {
            if simulation.is_set(ports.out_first) {
                self.leaving.clear();
            }
            self.leaving.push(simulation.get(ports.out_data));
            if simulation.is_set(ports.out_last) {
                let (lane, target) = (simulation.get(ports.out_lane), simulation.get(ports.out_target));
                said.push(Said::Packet(lane as u8, target as u8, packets::decode(&self.leaving)));
            }
        }
        leaves
    }
}
