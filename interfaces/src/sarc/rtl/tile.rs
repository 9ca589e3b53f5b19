//! An instance of the RTL with its arrays, in clock cycles.
//!
//! ```text
//!   request ──► processor port ──► RTL ──► response          each cycle: inputs, settle, table,
//!   flits   ──► three lanes    ──►     ──► flits of packets   outputs, arrays, clock
//! ```
//!
//! The table of regions, whose second port the RTL asks, and the arrays are here.
//!
//! A tile is **quiet** after a cycle in which nothing was offered to it, nothing came out of it, no
//! array was accessed, and the clock's edge changed no flip-flop: until something is offered, each
//! further cycle would be the same. Its clock may stand still then.

use std::collections::VecDeque;
use std::hash::Hash;
use std::path::Path;

use narthex_kernel::digest::Digest;
use narthex_kernel::{Archive, Archived, Damage};
use serde::{Deserialize, Serialize};

use super::arrays::Arrays;
use super::packets::Flits;
use super::ports::{Ports, Sizes};
use crate::rtl::simulation::{Design, DesignError, Simulation};
use crate::sarc::regions::{Need, RegionTable};

/// Most ways of the arrays.
const MOST_WAYS: usize = 8;

/// An access of the processor, on the byte lanes of its aligned word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
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

/// The answer to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// What was asked for.
    pub request: Request,
    /// A load's value from bit 0 on, or the number of a fault.
    pub result: Result<u64, u64>,
    /// The first level may keep the line.
    pub is_kept: bool,
}

/// What a tile says in a cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// A request has been taken from the port: those behind it may follow.
    Taken(Request),
    /// The oldest request is answered.
    Answer(Answer),
    /// A packet begins to leave: its first flit, its lane, where it goes.
    Begins(u64, u8, u8),
    /// A packet has left, with its last flit in this cycle; its lane, where it goes.
    Packet(u8, u8, Flits),
    /// A packet or job is refused: the fault's number, whose processor began it, at which address.
    Fault(u64, u16, u64),
    /// A remote store of that tile is here.
    Landed(u16),
    /// The first level loses this line.
    Loses(usize),
}

/// Reads of arrays, whose answers are there in the next cycle.
#[derive(Clone, Copy, Default)]
struct Reads {
    set: Option<usize>,
    word: Option<usize>,
}

/// What the table has not been asked.
const NOTHING: (u64, u64, bool) = (u64::MAX, 0, false);

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
    /// Requests that wait for the port, and those that it has taken and not answered.
    requests: VecDeque<Request>,
    taken: VecDeque<Request>,
    /// Flits that wait in the lanes, and whether each is its packet's last.
    lanes: [VecDeque<(u64, bool)>; 3],
    /// Flits of the packet that leaves.
    leaving: Flits,
    arrivals: u32,
    /// What the table of regions has been asked last.
    looked_up: (u64, u64, bool),
    is_quiet: bool,
    /// Clock cycles since the reset: the global timer, which goes on while the clock stands still.
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
        Tile::of(&Design::load(library)?, sizes, own, "")
    }

    /// The same of a design that is loaded. Waves show its signals in `scope`.
    ///
    /// # Errors
    /// If its ports are not those of a tile of these sizes.
    pub fn of(design: &Design, sizes: Sizes, own: u16, scope: &str) -> Result<Self, DesignError> {
        let mut simulation = design.instance(scope);
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
            leaving: Flits::default(),
            arrivals: 0,
            looked_up: NOTHING,
            is_quiet: false,
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
        self.leaving = Flits::default();
        (self.arrivals, self.is_quiet, self.cycles) = (0, false, 0);
        self.looked_up = NOTHING;
    }

    /// The processor makes an access, when those before have been taken.
    pub fn request(&mut self, request: Request) {
        self.requests.push_back(request);
        self.is_quiet = false;
    }

    /// A packet comes, of which the RTL takes a flit in a cycle.
    pub fn bring(&mut self, lane: u8, flits: &[u64]) {
        let last = flits.len() - 1;
        let flits = flits.iter().enumerate().map(|(own, &flit)| (flit, own == last));
        self.lanes[usize::from(lane)].extend(flits);
        self.is_quiet = false;
    }

    /// A remote store of its processor has arrived.
    pub fn arrive(&mut self) {
        self.arrivals += 1;
        self.is_quiet = false;
    }

    /// The table of regions is another one.
    pub fn table_changes(&mut self) {
        (self.looked_up, self.is_quiet) = (NOTHING, false);
    }

    /// Whether its clock may stand still; see the module's description.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.is_quiet
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
        self.settle(table);
        self.rise(said);
    }

    /// A cycle up to its rising edge: what is offered has come, and outputs follow.
    pub fn settle(&mut self, table: &RegionTable) {
        self.set_inputs();
        self.simulation.settle();
        self.look_up(table);
    }

    /// Its rising edge; what was said in the cycle is added.
    pub fn rise(&mut self, said: &mut Vec<Said>) {
        let before = said.len();
        let is_offered = self.arrivals > 0 || !self.requests.is_empty() || self.has_flits();
        self.take_inputs(said);
        let reads = self.access_arrays();
        self.read_outputs(said);
        let is_changed = self.simulation.rise_changes(self.ports.clock);
        // The falling edge is seen when the next cycle's inputs settle.
        self.simulation.set(self.ports.clock, 0);
        if let Some(reads) = reads {
            self.answer_arrays(reads);
        }
        self.cycles += 1;
        self.is_quiet = !(is_changed || is_offered || reads.is_some() || said.len() > before);
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

    /// What was offered is taken.
    fn take_inputs(&mut self, said: &mut Vec<Said>) {
        self.arrivals = self.arrivals.saturating_sub(1);
        if self.simulation.is_set(self.ports.request_ready)
            && let Some(request) = self.requests.pop_front()
        {
            self.taken.push_back(request);
            said.push(Said::Taken(request));
        }
        let ready = self.simulation.get(self.ports.in_ready);
        for (lane, flits) in self.lanes.iter_mut().enumerate() {
            if ready >> lane & 1 == 1 {
                flits.pop_front();
            }
        }
    }

    /// What is written to the arrays in this cycle, and what they are asked for; none: nothing.
    fn access_arrays(&mut self) -> Option<Reads> {
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
        let (reads, enabled) = (simulation.is_set(ports.lines_read), simulation.is_set(ports.words_enable));
        if ways == 0 && !reads && !enabled {
            return None;
        }
        let set = reads.then(|| simulation.get(ports.lines_read_set) as usize);
        let word = simulation.get(ports.words_address) as usize;
        let bytes = simulation.get(ports.words_write_bytes);
        if enabled && bytes != 0 {
            arrays.write_word(word, bytes, simulation.get(ports.words_write_data));
        }
        Some(Reads { set, word: (enabled && bytes == 0).then_some(word) })
    }

    /// Inputs change behind the rising edge; what was written in its cycle is read so.
    fn answer_arrays(&mut self, reads: Reads) {
        let Tile { simulation, ports, arrays, sizes, .. } = self;
        if let Some(set) = reads.set {
            let (mut states, mut tags) = ([0; 4], [0; 2 * MOST_WAYS]);
            arrays.set(set, sizes.state_bits(), &mut states, &mut tags);
            simulation.set_wide(ports.lines_states, &states);
            simulation.set_wide(ports.lines_tags, &tags);
        }
        if let Some(word) = reads.word {
            simulation.set(ports.words_read_data, arrays.word(word));
        }
    }

    /// Writes how its signals change into a VCD file from now on.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn record(&mut self, file: &Path) -> std::io::Result<()> {
        self.simulation.record(file)
    }

    /// Shows the signals of another tile beside its own.
    pub fn record_beside(&mut self, other: &Tile) {
        self.simulation.record_beside(&other.simulation);
    }

    /// Records the signals of all that it shows as they are at an instant. A recording that cannot be
    /// written ends; the run goes on.
    pub fn sample(&mut self, picoseconds: u64) {
        if self.simulation.sample(picoseconds).is_err() {
            self.simulation.end_record();
        }
    }

    /// Feeds all that determines what it does to `digest`.
    pub fn hash_state(&self, digest: &mut Digest) {
        let Tile { simulation, arrays, requests, taken, lanes, leaving, arrivals, .. } = self;
        (simulation.state(), arrays, requests, taken, lanes, leaving, arrivals).hash(digest);
    }

    /// Its ports, for the explanation of a run that hangs.
    pub fn standing(&self) -> String {
        let bit = |port| u8::from(self.simulation.is_set(port));
        let Tile { ports, requests, taken, lanes, leaving, .. } = self;
        let flits: usize = lanes.iter().map(VecDeque::len).sum();
        format!(
            "its ports: processor__ready={} with {} requests at it and {} taken, response__valid={}, \
             network_in__ready={:#05b} with {flits} flits at it, network_out__valid={} behind {} flits of a packet",
            bit(ports.request_ready),
            requests.len(),
            taken.len(),
            bit(ports.response_valid),
            self.simulation.get(ports.in_ready),
            bit(ports.out_valid),
            leaving.as_slice().len(),
        )
    }

    fn read_outputs(&mut self, said: &mut Vec<Said>) {
        let Tile { simulation, ports, .. } = self;
        if simulation.is_set(ports.response_valid)
            && let Some(request) = self.taken.pop_front()
        {
            let fault = simulation.get(ports.response_fault);
            let shifted = simulation.get(ports.response_data) >> (request.address % 8 * 8);
            let value = if request.is_store {
                0
            } else {
                shifted & (u64::MAX >> (64 - 8 * u32::from(request.bytes)))
            };
            let result = if fault == 0 { Ok(value) } else { Err(fault) };
            said.push(Said::Answer(Answer {
                request,
                result,
                is_kept: simulation.is_set(ports.response_keep),
            }));
        }
        if simulation.is_set(ports.fault) {
            said.push(Said::Fault(
                simulation.get(ports.fault_code),
                simulation.get(ports.fault_tile) as u16,
                simulation.get(ports.fault_address),
            ));
        }
        if simulation.is_set(ports.landed) {
            said.push(Said::Landed(simulation.get(ports.landed_tile) as u16));
        }
        if simulation.is_set(ports.loses) {
            said.push(Said::Loses(simulation.get(ports.loses_line) as usize));
        }
        if simulation.is_set(ports.out_valid) {
            let (lane, target) =
                (simulation.get(ports.out_lane) as u8, simulation.get(ports.out_target) as u8);
            let flit = simulation.get(ports.out_data);
            if simulation.is_set(ports.out_first) {
                self.leaving = Flits::default();
                said.push(Said::Begins(flit, lane, target));
            }
            self.leaving.push(flit);
            if simulation.is_set(ports.out_last) {
                said.push(Said::Packet(lane, target, std::mem::take(&mut self.leaving)));
            }
        }
    }
}

impl Archived for Tile {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Tile {
            simulation,
            ports: _,
            sizes: _,
            own: _,
            start: _,
            arrays,
            requests,
            taken,
            lanes,
            leaving,
            arrivals,
            looked_up,
            is_quiet,
            cycles,
        } = self;
        let mut state = simulation.state();
        archive.value(&mut state)?;
        archive.ensure(simulation.restore(&state), "the hardware's state is another design's")?;
        let lines = arrays.lines();
        archive.value(arrays)?;
        archive.ensure(arrays.lines() == lines, "a tile of hardware has other lines than the machine's")?;
        archive.value(requests)?;
        archive.value(taken)?;
        archive.value(lanes)?;
        archive.value(leaving)?;
        archive.value(arrivals)?;
        *looked_up = NOTHING;
        archive.value(is_quiet)?;
        archive.value(cycles)
    }
}
