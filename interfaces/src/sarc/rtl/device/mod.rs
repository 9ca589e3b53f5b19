//! A chip whose tiles are hardware: RTL in the place of the model's tiles, under programs.
//!
//! ```text
//!   processor ── first level ──► translation ──► RTL of its tile ──► network on chip of the machine
//!                    ▲                            │  lines, roles, queues, jobs, counters: in the RTL
//!                    └── fills, losses ◄──────────┘
//!   around the tiles, the model: lock box, DRAM and its controllers, tables of regions, kernel agent
//! ```
//!
//! | who has it | what |
//! | --- | --- |
//! | the RTL and its arrays | lines with their bytes, roles, tags and owners; jobs, answers, combining buffer, counts |
//! | the model | what is not in a tile: the lock box, DRAM and whose it is, and what the operating system writes |
//!
//! The kernel agent is the operating system's: for the time of a call it sees and changes the lines in
//! the RTL's arrays, as privileged stores would, and keeps none itself.
//!
//! **Time.** Rising edge `n` is at its own instant, all tiles have the same clock. What is offered to a
//! tile at an instant is seen by the first edge behind it; what a tile says in the cycle that an edge
//! ends happens at that edge. A store is over for its processor when the port has taken it, a load when it
//! is answered. A packet is on the network from its first flit on. One that comes is offered flit by flit
//! when all of it has come, so it takes as many cycles more as it has flits behind its first.
//!
//! `description` has what the chip says of itself, `refusals` what its faults say.
//!
//! While all tiles are quiet nothing is asked for; a tile that is quiet is not simulated.

mod description;
mod refusals;

use std::path::Path;

use narthex_fabrics::Job;
use narthex_kernel::{Clock, Duration, Time};
use narthex_memory::{AccessReply, BlockData, Kind, Response, Transaction};
use serde::{Deserialize, Serialize};

use refusals::refusal;

use super::packets::{self, Flits};
use super::parameters::Parameters;
use super::tile::{Answer, Request, Said, Tile};
use crate::device::Device;
use crate::device_call::{CallError, DeviceCall, OperatingSystem};
use crate::half::{Context, RegisterFault};
use crate::on_chip::{End, FirstLevel, Packet};
use crate::rtl::simulation::Design;
use crate::sarc::device::{PacketsInFlight, Sarc};
use crate::sarc::events::Reader;
use crate::sarc::lines::{LineState, Lines};
use crate::sarc::messages::{Body, Cause, Message, PacketKind};
use crate::sarc::regions::Need;
use crate::sarc::registers::{LINE_BYTES, Role};
use crate::sarc::space::{Spot, address_of, split};

/// Targets of packets with this bit are memory, not tiles.
const TO_MEMORY: u8 = 0x80;
/// Marks the number of a packet of a tile among those of the model around.
const OF_TILE: u32 = 1 << 31;
/// No access of a processor is a flit at the network in fewer cycles: it is taken, looked up, put into
/// the list of jobs, and chosen.
const LEAST_CYCLES_OUT: u32 = 3;

narthex_kernel::statistics! {
    /// What the hardware of tiles did.
    pub struct Statistics {
        cycles: Counter, "hardware_cycles", "cycles", "clock cycles of the hardware that were simulated: it was not quiet in them";
        accesses: Counter, "hardware_accesses", "accesses", "accesses of processors that the hardware answered";
        packets: Tally<PacketKind>, "hardware_packets", "packets", "packets that left, by kind";
        bytes: Counter, "hardware_packet_bytes", "bytes", "bytes in them behind the network's header";
        fills: Counter, "hardware_first_level_fills", "lines", "lines of scratchpad that first levels took";
        losses: Counter, "hardware_first_level_losses", "lines", "those that the hardware told first levels to lose";
        locks: Counter, "hardware_lock_accesses", "accesses", "accesses to the lock box, which is around the hardware";
        calls: Counter, "hardware_calls", "calls", "calls of the kernel agent";
    }
}

/// A packet of a tile between its first flit's leaving and its arrival.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Travelling {
    lane: u8,
    first: u64,
    /// All its flits, once the last one has left.
    flits: Option<Flits>,
    /// Where it is, if it has arrived before its last flit has left.
    at: Option<End>,
}

/// The device; see the module's description.
pub struct RtlSarc {
    /// What is around the tiles.
    around: Sarc,
    name: String,
    clock: Clock,
    tiles: Vec<Tile>,
    /// The edge that is simulated next.
    next: u64,
    /// For which instant it has asked to be called.
    called_at: Time,
    under_way: PacketsInFlight<Travelling>,
    /// The packet that each tile is sending; none if it goes nowhere.
    sending: Vec<Option<u32>>,
    is_recorded: bool,
    statistics: Statistics,
    /// Room for what tiles say in a cycle, and which of them.
    said: Vec<Said>,
    speakers: Vec<u16>,
}

impl RtlSarc {
    /// Tiles of hardware in the place of a model's; `scope` is what waves call the chip.
    ///
    /// # Errors
    /// If the hardware was built for another chip than the machine has, or lacks what the machine asks for.
    pub fn new(
        around: Sarc,
        (name, design): (&str, &Design),
        parameters: &Parameters,
        scope: &str,
    ) -> Result<Self, String> {
        let wrong = |problem: String| format!("hardware {name}: {problem}");
        parameters.check(&around.build).map_err(wrong)?;
        let count = around.tiles();
        let tile = |own| {
            Tile::of(design, parameters.sizes, own, &format!("{scope} tile_{own}"))
                .map_err(|problem| wrong(problem.to_string()))
        };
        Ok(RtlSarc {
            clock: around.build.config.clock.clock(),
            around,
            name: name.to_owned(),
            tiles: (0..count).map(tile).collect::<Result<_, _>>()?,
            next: 1,
            called_at: Time::ZERO,
            under_way: PacketsInFlight::default(),
            sending: vec![None; count.into()],
            is_recorded: false,
            statistics: Statistics::default(),
            said: Vec::new(),
            speakers: Vec::new(),
        })
    }

    /// Writes how the signals of all tiles change into a VCD file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn record(&mut self, file: &Path) -> std::io::Result<()> {
        let (first, others) = self.tiles.split_first_mut().expect("a chip has tiles");
        first.record(file)?;
        others.iter().for_each(|other| first.record_beside(other));
        self.is_recorded = true;
        Ok(())
    }

    /// All edges up to the present happen.
    fn catch_up(&mut self, context: &mut Context<'_>) {
        while self.clock.edge(self.next) <= context.now {
            if self.tiles.iter().all(Tile::is_quiet) {
                self.next = self.clock.number_at_or_after(context.now + Duration::from_ps(1));
                return;
            }
            self.edge(context);
        }
    }

    /// The next edge, in all tiles that are not quiet.
    fn edge(&mut self, context: &mut Context<'_>) {
        let at = self.clock.edge(self.next).as_ps();
        let quarter = self.clock.cycles(1).as_ps() / 4;
        for (tile, around) in self.tiles.iter_mut().zip(&self.around.state.tiles) {
            tile.cycles = self.next;
            if !tile.is_quiet() {
                tile.settle(&around.regions);
            }
        }
        self.sample(at - quarter);
        let mut said = std::mem::take(&mut self.said);
        for (own, tile) in (0..).zip(&mut self.tiles).filter(|(_, tile)| !tile.is_quiet()) {
            tile.rise(&mut said);
            self.statistics.cycles.increment();
            self.speakers.resize(said.len(), own);
        }
        self.sample(at);
        self.next += 1;
        for (place, said) in said.drain(..).enumerate() {
            self.hear(context, self.speakers[place], said);
        }
        self.speakers.clear();
        self.said = said;
        self.sample(at + quarter);
    }

    fn sample(&mut self, picoseconds: u64) {
        if self.is_recorded {
            self.tiles[0].sample(picoseconds);
        }
    }

    /// Asks for the next edge if a tile has anything to do.
    fn await_edge(&mut self, context: &mut Context<'_>) {
        let at = self.clock.edge(self.next);
        if self.called_at != at && !self.tiles.iter().all(Tile::is_quiet) {
            self.called_at = at;
            context.timers.push(at);
        }
    }

    /// What a tile has said in a cycle happens.
    fn hear(&mut self, context: &mut Context<'_>, tile: u16, said: Said) {
        match said {
            Said::Taken(Request { is_store, .. }) => {
                if is_store {
                    context.on_chip.answers.push((tile, 0, Duration::ZERO));
                }
            }
            Said::Answer(answer) => self.answer(context, tile, answer),
            Said::Begins(first, lane, target) => self.begin(context, tile, (first, lane), target),
            Said::Packet(_, _, flits) => self.complete(context, tile, flits),
            Said::Fault(fault, origin, address) => {
                let what = format!("a packet or job of tile {origin} in tile {tile}, at {address:#x}");
                self.fail(context, origin, format!("{what}: {}", refusal(fault)));
            }
            Said::Landed(origin) => self.tiles[usize::from(origin)].arrive(),
            Said::Loses(line) => self.clear_first_level(context, tile, line),
        }
    }

    fn fail(&self, context: &mut Context<'_>, tile: u16, problem: String) {
        context.on_chip.faults.push((tile, RegisterFault(format!("hardware {}: {problem}", self.name))));
    }

    fn answer(&mut self, context: &mut Context<'_>, tile: u16, answer: Answer) {
        let Answer { request, result, is_kept } = answer;
        self.statistics.accesses.increment();
        match result {
            Err(fault) => {
                let what = if request.is_store { "store to" } else { "load from" };
                let problem = format!("a {what} {:#x}: {}", request.address, refusal(fault));
                self.fail(context, tile, problem);
            }
            Ok(value) if !request.is_store => {
                context.on_chip.answers.push((tile, value, Duration::ZERO));
                if is_kept && self.around.build.config.first_level {
                    self.fill_first_level(context, tile, request.address);
                }
            }
            Ok(_) => {}
        }
    }

    /// The processor of a tile has loaded of a line that its first level may have.
    fn fill_first_level(&mut self, context: &mut Context<'_>, tile: u16, address: u64) {
        let line = address - address % LINE_BYTES;
        if self.around.state.tiles[usize::from(tile)].regions.has_one_address(line) {
            let Some(Spot::Line(_, _, offset)) = self.around.space.at(line) else { return };
            let bytes = self.tiles[usize::from(tile)].arrays.bytes((offset / LINE_BYTES) as usize);
            let takes = FirstLevel::Takes(BlockData::from_bytes(bytes));
            context.on_chip.first_level.push((tile, line, takes));
            self.statistics.fills.increment();
        }
    }

    fn clear_first_level(&mut self, context: &mut Context<'_>, tile: u16, line: usize) {
        let address = address_of(0, tile, line as u64 * LINE_BYTES);
        context.on_chip.first_level.push((tile, address, FirstLevel::Loses));
        self.statistics.losses.increment();
    }

    /// A packet begins to leave a tile.
    fn begin(&mut self, context: &mut Context<'_>, tile: u16, (first, lane): (u64, u8), target: u8) {
        let to = match target {
            _ if target & TO_MEMORY != 0 => End::Controller(0),
            _ if usize::from(target) < self.tiles.len() => End::Tile(target.into()),
            _ => {
                self.sending[usize::from(tile)] = None;
                let problem = format!("a packet to tile {target}, of {} tiles", self.tiles.len());
                return self.fail(context, tile, problem);
            }
        };
        let (kind, data_bytes, of_lines) = packets::announced(first);
        self.statistics.packets.increment(kind);
        self.statistics.bytes.add(data_bytes.into());
        let number = self.under_way.keep(Travelling { lane, first, flits: None, at: None });
        self.sending[usize::from(tile)] = Some(number);
        let content = number | OF_TILE;
        let packet =
            Packet { from: End::Tile(tile), to, lane, data_bytes, content, settles_after: Duration::ZERO };
        context.on_chip.packets.push((Duration::ZERO, packet));
        self.occupy_port(context, tile, of_lines);
    }

    /// The second level's port moves so many bytes, for which its processor's misses wait.
    fn occupy_port(&self, context: &mut Context<'_>, tile: u16, bytes: u16) {
        if bytes > 0 {
            let config = &self.around.build.config;
            let cycles = u64::from(bytes).div_ceil(config.width.as_u64()) as u32;
            context.on_chip.busy_ports.push((tile, config.cycles(cycles)));
        }
    }

    /// The last flit of a packet has left a tile.
    fn complete(&mut self, context: &mut Context<'_>, tile: u16, flits: Flits) {
        let Some(number) = self.sending[usize::from(tile)].take() else { return };
        let packet = self.under_way.get_mut(number);
        packet.flits = Some(flits);
        if let Some(at) = packet.at {
            self.deliver(context, at, number);
        }
    }

    /// A packet of a tile is where it was to go, as a whole.
    fn deliver(&mut self, context: &mut Context<'_>, at: End, number: u32) {
        let Travelling { lane, flits, .. } = self.under_way.take(number);
        let flits = flits.expect("it is there as a whole");
        match at {
            End::Tile(tile) => self.offer(context, tile, lane, &flits),
            End::Controller(_) | End::Gateway => match flits.message() {
                Ok(message) => self.reach_memory(context, at, message),
                Err(problem) => self.fail(context, 0, problem),
            },
        }
    }

    /// A packet is at the network's port of a tile.
    fn offer(&mut self, context: &mut Context<'_>, tile: u16, lane: u8, flits: &Flits) {
        let (_, _, of_lines) = packets::announced(flits.as_slice()[0]);
        self.occupy_port(context, tile, of_lines);
        self.tiles[usize::from(tile)].bring(lane, flits.as_slice());
    }

    /// A packet of a tile is at the DRAM's controller, which is around the hardware.
    fn reach_memory(&mut self, context: &mut Context<'_>, at: End, mut message: Message) {
        let origin = message.origin;
        let reached = match &message.body {
            Body::Write { to, bytes, .. } => Some((*to, bytes.as_slice().len() as u64)),
            Body::Read { from, bytes, .. } => Some((*from, u64::from(*bytes))),
            Body::Acknowledgement { to, .. } => Some((*to, 8)),
            _ => None,
        };
        let checked = reached.map(|(address, bytes)| self.around.check_range(origin.process, address, bytes));
        if let Some(Err(problem)) = checked {
            return self.fail(context, origin.tile, problem);
        }
        match &mut message.body {
            Body::Write { cause: cause @ Cause::Store, .. } => {
                // Its tile counts it, not the model.
                *cause = Cause::Transfer;
                self.tiles[usize::from(origin.tile)].arrive();
            }
            Body::Read { from, bytes, to: Reader::Processor(..) } => {
                // A tile is answered with the whole aligned word, and takes its part of it.
                (*from, *bytes) = (*from & !7, 8);
            }
            _ => {}
        }
        let content = self.around.state.under_way.keep(message);
        self.around.packet(at, context, content);
    }

    /// The kernel agent sees the lines of the tiles, and what it changes of them is changed.
    fn with_lines<R>(&mut self, job: &Job, call: impl FnOnce(&mut Sarc) -> R) -> R {
        for (tile, around) in self.tiles.iter().zip(&mut self.around.state.tiles) {
            for line in 0..tile.arrays.lines() {
                let state = tile.arrays.state(line, job);
                // The RTL does not tell whether the first level has a line that it may have.
                let is_above = state.is_selected && state.role == Role::Scratchpad;
                if state.owner.is_some() {
                    around.lines.restore(line, tile.arrays.bytes(line), LineState { is_above, ..state });
                }
            }
        }
        let result = call(&mut self.around);
        let l2_bytes = self.around.space.l2_bytes;
        for (tile, around) in self.tiles.iter_mut().zip(&mut self.around.state.tiles) {
            let lines = std::mem::replace(&mut around.lines, Lines::new(l2_bytes));
            for line in 0..tile.arrays.lines() {
                let state = LineState { is_above: false, ..lines.state(line).clone() };
                if state == tile.arrays.state(line, job) {
                    continue;
                }
                let is_there = state.owner.is_some();
                let bytes =
                    if is_there { lines.bytes(line as u64 * LINE_BYTES, LINE_BYTES as usize) } else { &[] };
                tile.arrays.set_line(line, bytes, &state);
            }
            tile.table_changes();
        }
        result
    }
}

impl Device for RtlSarc {
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        Some(self.around.build.config.cycles(LEAST_CYCLES_OUT))
    }

    /// Of the lock box, which alone answers at once.
    fn access_time(&self, port: usize, kind: Kind) -> Duration {
        self.around.access_time(port, kind)
    }

    fn access(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        self.catch_up(context);
        let &Transaction { kind, size, value, .. } = transaction;
        let (process, address) = split(transaction.address);
        let is_store = kind == Kind::UncachedStore;
        let need = if is_store { Need::Store } else { Need::Load };
        let place = self.around.translate(port as u16, address, size.into(), need).map_err(RegisterFault)?;
        let is_lock = matches!(self.around.space.at(place), Some(Spot::Lock(_)));
        if is_lock || !matches!(kind, Kind::UncachedLoad | Kind::UncachedStore) {
            self.statistics.locks.increment();
            return self.around.access(port, context, transaction, response);
        }
        if !place.is_multiple_of(size.into()) {
            let problem = format!("an access of {size} bytes at {place:#x}: the hardware takes aligned ones");
            return Err(RegisterFault(format!("hardware {}: {problem}", self.name)));
        }
        if is_store && let Some(Spot::State(_, own, line, 0)) = self.around.space.at(place) {
            // The first level sees its own processor give a line another role.
            self.clear_first_level(context, own, line as usize);
        }
        let tile = &mut self.tiles[port];
        tile.request(Request { address: place, is_store, bytes: size as u8, value, process });
        self.await_edge(context);
        Ok(AccessReply::Held)
    }

    fn timer(&mut self, _port: usize, context: &mut Context<'_>) {
        self.catch_up(context);
        // Its controllers' instants come to the first port.
        self.around.timer(0, context);
        self.await_edge(context);
    }

    fn packet(&mut self, to: End, context: &mut Context<'_>, content: u32) {
        self.catch_up(context);
        if content & OF_TILE == 0 {
            let message = self.around.take_message(content);
            let flits = packets::encode(&message).expect("a controller sends what tiles know");
            let End::Tile(tile) = to else { unreachable!("controllers answer tiles") };
            self.offer(context, tile, message.body.lane(), &Flits::of(&flits));
        } else {
            let number = content & !OF_TILE;
            let packet = self.under_way.get_mut(number);
            packet.at = Some(to);
            if packet.flits.is_some() {
                self.deliver(context, to, number);
            }
        }
        self.await_edge(context);
    }

    fn call(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        call: &DeviceCall,
        system: &mut dyn OperatingSystem,
    ) -> Result<i64, CallError> {
        self.catch_up(context);
        self.statistics.calls.increment();
        let job = context.network.job().clone();
        let answered = self.with_lines(&job, |around| around.call(port, context, call, system));
        self.await_edge(context);
        answered
    }
}
