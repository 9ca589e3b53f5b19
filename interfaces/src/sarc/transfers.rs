//! Transfers: commands that are launched, and packets that leave (Section 3.3). What packets do
//! that come is in [`super::arrivals`].

use narthex_fabrics::Rank;
use narthex_kernel::Duration;
use narthex_memory::AccessReply;

use super::combining::Joined;
use super::config::StoreCombining;
use super::device::Sarc;
use super::events::{Item, Problem, Reader};
use super::jobs::{Copying, Job, JobWaiter};
use super::messages::{Body, Cause, Message, Origin, Payload};
use super::regions::Need;
use super::registers::{LINE_BYTES, Role, command, operation};
use super::rules::Rule;
use super::space::{Spot, address_of};
use crate::half::{Context, RegisterFault};
use crate::on_chip::{End, Packet};

/// Bytes of DRAM that are one controller's before the next one's follow.
pub const INTERLEAVE: u64 = 4096;

/// The address to which a packet goes.
pub(super) fn destination(message: &Message) -> u64 {
    match message.body {
        Body::Write { to, .. } | Body::Acknowledgement { to, .. } => to,
        Body::Read { from, .. } => from,
        Body::Answer { to: (chip, tile), .. } => address_of(chip, tile, 0),
        Body::Stored | Body::Returned { .. } => address_of(message.origin.chip, message.origin.tile, 0),
    }
}

impl Sarc {
    /// The engine at which an address is.
    pub(super) fn end_of(&self, address: u64) -> Option<End> {
        match self.space.at(address)? {
            Spot::Line(chip, tile, _) if chip == self.chip => Some(End::Tile(tile)),
            Spot::Dram(chip, offset) if chip == self.chip => {
                let controllers = u64::from(self.build.chip.controllers);
                Some(End::Controller((offset / INTERLEAVE % controllers) as u16))
            }
            Spot::Line(chip, ..) | Spot::Dram(chip, _) if u32::from(chip) < self.build.config.chips => {
                Some(End::Gateway)
            }
            _ => None,
        }
    }

    /// Refuses memory that a process may not use, or that is not there.
    ///
    /// # Errors
    /// With the first line that is wrong.
    pub(super) fn check_range(&self, process: Rank, from: u64, bytes: u64) -> Result<(), Problem> {
        let nothing = |address: u64| Err(format!("nothing is at {address:#x}"));
        let ends = [from, from + bytes - 1].map(|address| self.end_of(address));
        if ends == [Some(End::Gateway); 2] {
            // The other chip knows whose it is.
            return Ok(());
        }
        match (self.space.at(from), self.space.at(from + bytes - 1)) {
            (Some(Spot::Line(chip, tile, first)), Some(Spot::Line(there, last_tile, last)))
                if (chip, tile) == (there, last_tile) && chip == self.chip =>
            {
                let lines = (first / LINE_BYTES) as usize..=(last / LINE_BYTES) as usize;
                lines.into_iter().try_for_each(|line| self.check_line(process, tile, line))
            }
            (Some(Spot::Dram(chip, first)), Some(Spot::Dram(there, last)))
                if chip == there && chip == self.chip =>
            {
                self.check_dram(process, first..last + 1)
            }
            (None, _) => nothing(from),
            (_, None) => nothing(from + bytes - 1),
            (Some(Spot::Line(chip, ..) | Spot::Dram(chip, _)), _) if chip != self.chip => nothing(from),
            _ => Err(format!("{bytes} bytes at {from:#x} are not in one scratchpad or DRAM")),
        }
    }

    /// Refuses a line that a process may not use.
    pub(super) fn check_line(&self, process: Rank, tile: u16, line: usize) -> Result<(), Problem> {
        match &self.state.tiles[usize::from(tile)].lines.state(line).owner {
            Some(owner) if owner.lets(process) => Ok(()),
            Some(owner) => Err(format!(
                "{} belongs to process {} of its chip, which shares it with nobody else",
                self.line_name(tile, line),
                owner.number
            )),
            None => Err(format!("{} is the cache's: nobody has allocated it", self.line_name(tile, line))),
        }
    }

    /// What messages call a line.
    pub(super) fn line_name(&self, tile: u16, line: usize) -> String {
        let role = self.state.tiles[usize::from(tile)].lines.state(line).role.name();
        let address = address_of(self.chip, tile, line as u64 * LINE_BYTES);
        format!("line {line} of tile {tile} (a {role} at {address:#x})")
    }

    /// A problem with a line, named.
    pub(super) fn at_line(&self, tile: u16, offset: u64, problem: &str) -> Problem {
        format!("{}: {problem}", self.line_name(tile, (offset / LINE_BYTES) as usize))
    }

    /// Words that the interface writes at an address.
    pub(super) fn send_words(
        &mut self,
        context: &mut Context<'_>,
        from: End,
        origin: Origin,
        (to, acknowledge, cause): (u64, u64, Cause),
        item: Item,
    ) {
        let bytes = Payload::of_words(item.as_slice());
        let body = Body::Write { to, acknowledge, bytes, cause };
        self.engine(from).push(Job::Send(Message { origin, body }));
        self.step(context, from);
    }

    pub(super) fn answer(&mut self, context: &mut Context<'_>, from: End, message: Message) {
        self.engine(from).answer(message);
        self.step(context, from);
    }

    /// A command is complete: it goes to the job list, or waits for room there.
    pub(super) fn launch(
        &mut self,
        context: &mut Context<'_>,
        tile: u16,
        line: usize,
        origin: Origin,
    ) -> Result<(), Problem> {
        let job = self.job_of(tile, line, origin)?;
        self.drain_stores(context, tile);
        self.statistics.commands.increment();
        let list = self.build.config.job_list;
        let own = &mut self.state.tiles[usize::from(tile)];
        let waits = !own.engine.has_room(list);
        own.lines.command_taken(line, waits);
        if waits {
            own.engine.wait(JobWaiter::Command(line));
            self.statistics.waited.increment();
            return Ok(());
        }
        own.engine.push(job);
        self.step(context, End::Tile(tile));
        Ok(())
    }

    /// The job of the command in a line.
    ///
    /// # Errors
    /// If it names memory that its process may not use.
    fn job_of(&self, tile: u16, line: usize, origin: Origin) -> Result<Job, Problem> {
        let lines = &self.state.tiles[usize::from(tile)].lines;
        let word = |own| lines.word(line, own);
        let (number, bytes) = (word(command::OPERATION) & 0xff, word(command::OPERATION) >> 8);
        let named = |what: &str, address: u64, bytes: u64, need: Need| {
            let translated = self.translate(tile, address, bytes, need);
            let checked = translated.and_then(|place| {
                self.check_range(origin.process, place, bytes)?;
                Ok(place)
            });
            checked.map_err(|problem| format!("the {what} of its command: {problem}"))
        };
        let to = named("destination", word(command::DESTINATION), bytes, Need::Store)?;
        let acknowledge = match word(command::ACKNOWLEDGEMENT) {
            0 => 0,
            address => named("acknowledgement", address, 8, Need::Store)?,
        };
        match number {
            operation::MESSAGE | operation::STORE => {
                let words: Vec<u64> =
                    (0..(bytes / 8) as usize).map(|own| word(command::DATA + own)).collect();
                let bytes = Payload::of_words(&words);
                let body = Body::Write { to, acknowledge, bytes, cause: Cause::Transfer };
                Ok(Job::Send(Message { origin, body }))
            }
            _ => {
                let from = named("source", word(command::SOURCE), bytes, Need::Load)?;
                Ok(Job::Copy(Copying { origin, from, to, acknowledge, left: bytes as u32 }))
            }
        }
    }

    /// An access of a processor to what is not in its tile.
    pub(super) fn access_remote(
        &mut self,
        context: &mut Context<'_>,
        tile: u16,
        message: Message,
    ) -> AccessReply {
        let list = self.build.config.job_list;
        let is_store = matches!(message.body, Body::Write { .. });
        if is_store {
            self.statistics.stores.increment();
            if self.combine(context, tile, &message) {
                return AccessReply::Done;
            }
        } else {
            self.statistics.loads.increment();
            self.drain_stores(context, tile);
        }
        let own = &mut self.state.tiles[usize::from(tile)];
        if own.engine.has_room(list) {
            own.stores_under_way += u32::from(is_store);
            own.engine.push(Job::Send(message));
            self.step(context, End::Tile(tile));
            return if is_store { AccessReply::Done } else { AccessReply::Held };
        }
        self.statistics.waited.increment();
        own.engine.wait(JobWaiter::Access(message));
        AccessReply::Held
    }

    /// A remote store joins what waits in its tile's combining buffer, or waits in the place of that.
    /// False: there is no buffer, or its tile's job list has no room for what was in it.
    fn combine(&mut self, context: &mut Context<'_>, tile: u16, store: &Message) -> bool {
        let config = &self.build.config;
        let StoreCombining::Buffer { wait_cycles } = config.store_combining else { return false };
        let (list, leaves_at) = (config.job_list, context.now + config.cycles(wait_cycles));
        let joined = self.state.tiles[usize::from(tile)].combining.join(store, leaves_at);
        if joined != Joined::No {
            self.statistics.combined.increment();
        }
        if joined != Joined::Waits {
            self.drain_stores(context, tile);
        }
        let own = &mut self.state.tiles[usize::from(tile)];
        if joined == Joined::No {
            if !own.engine.has_room(list) {
                return false;
            }
            own.stores_under_way += 1;
            own.combining.put(*store, leaves_at);
            context.timers.extend(own.combining.next_call(context.now));
        }
        true
    }

    /// Stores that have waited long enough for others leave the combining buffer.
    pub(super) fn let_stores_leave(&mut self, context: &mut Context<'_>, tile: u16) {
        let own = &mut self.state.tiles[usize::from(tile)].combining;
        let due = own.take_due(context.now);
        context.timers.extend(own.next_call(context.now));
        self.push_stores(context, tile, due);
    }

    /// What waits in the combining buffer goes before what its processor asks for now.
    pub(super) fn drain_stores(&mut self, context: &mut Context<'_>, tile: u16) {
        let waiting = self.state.tiles[usize::from(tile)].combining.take();
        self.push_stores(context, tile, waiting);
    }

    fn push_stores(&mut self, context: &mut Context<'_>, tile: u16, stores: Option<Message>) {
        let Some(stores) = stores else { return };
        let list = self.build.config.job_list;
        let engine = &mut self.state.tiles[usize::from(tile)].engine;
        if engine.has_room(list) {
            engine.push(Job::Send(stores));
        } else {
            engine.wait(JobWaiter::Combined(stores));
        }
        self.step(context, End::Tile(tile));
    }

    /// What has waited for room in a tile's job list goes there.
    fn admit(&mut self, context: &mut Context<'_>, tile: u16) {
        let list = self.build.config.job_list;
        while let Some(waiting) = self.state.tiles[usize::from(tile)].engine.next_waiting(list) {
            match waiting {
                JobWaiter::Access(message) => {
                    let own = &mut self.state.tiles[usize::from(tile)];
                    own.engine.push(Job::Send(message));
                    if let Body::Write { .. } = message.body {
                        own.stores_under_way += 1;
                        context.on_chip.answers.push((tile, 0, Duration::ZERO));
                    }
                }
                JobWaiter::Combined(stores) => {
                    self.state.tiles[usize::from(tile)].engine.push(Job::Send(stores));
                }
                JobWaiter::Command(line) => {
                    let origin = Origin { process: self.owner_of(tile, line), chip: self.chip, tile };
                    let job = self.job_of(tile, line, origin);
                    let own = &mut self.state.tiles[usize::from(tile)];
                    own.lines.command_taken(line, false);
                    match job {
                        Ok(job) => own.engine.push(job),
                        Err(problem) => {
                            let problem = self.at_line(tile, line as u64 * LINE_BYTES, &problem);
                            context.on_chip.faults.push((tile, RegisterFault(problem)));
                        }
                    }
                }
            }
        }
    }

    fn owner_of(&self, tile: u16, line: usize) -> Rank {
        let owner = &self.state.tiles[usize::from(tile)].lines.state(line).owner;
        owner.as_ref().map_or(Rank(0), |owner| owner.process)
    }

    /// An engine makes packets as long as it may.
    pub(super) fn step(&mut self, context: &mut Context<'_>, at: End) {
        while self.engine(at).jobs() > 0 {
            let engine = self.engine(at);
            if engine.busy_until > context.now {
                if engine.called_at != engine.busy_until {
                    engine.called_at = engine.busy_until;
                    context.timers.push(engine.busy_until);
                }
                return;
            }
            let Some(job) = engine.take_next() else { return };
            let message = match job {
                Job::Send(message) => message,
                Job::Copy(copying)
                    if self.end_of(copying.from) == Some(at) && !self.is_memory(copying.from) =>
                {
                    self.read_own_line(context, at, copying);
                    continue;
                }
                Job::Copy(copying) => self.next_packet(at, copying),
            };
            if let End::Tile(tile) = at {
                self.admit(context, tile);
            }
            self.send(context, at, message);
        }
    }

    /// A counter or queue of the engine's own tile is read where it is, as the bytes of a copy are:
    /// no request crosses the network.
    fn read_own_line(&mut self, context: &mut Context<'_>, at: End, copying: Copying) {
        let Copying { origin, from, to, acknowledge, left } = copying;
        let config = &self.build.config;
        let occupied = config.cycles(config.cycles_of_header());
        self.engine(at).busy_until = context.now + occupied;
        if let End::Tile(tile) = at {
            self.admit(context, tile);
        }
        let reader = Reader::Memory(to, acknowledge);
        if let Err(problem) = self.read_at(context, at, origin, (from, left), reader) {
            self.blame(context, at, origin, problem);
        }
    }

    /// The next packet of a copy, whose rest goes to the end of the list.
    fn next_packet(&mut self, at: End, copying: Copying) -> Message {
        let Copying { origin, from, to, acknowledge, left } = copying;
        let (bytes, body) = if self.end_of(from) == Some(at) {
            let bytes = copying.next_bytes();
            let bytes = self.read_payload(from, bytes);
            (bytes.as_slice().len() as u32, Body::Write { to, acknowledge, bytes, cause: Cause::Transfer })
        } else {
            let bytes = match self.space.at(from) {
                Some(Spot::Dram(_, offset)) => left.min((INTERLEAVE - offset % INTERLEAVE) as u32),
                _ => left,
            };
            (bytes, Body::Read { from, bytes, to: Reader::Memory(to, acknowledge) })
        };
        if let Some(rest) = copying.behind(bytes) {
            self.engine(at).push(Job::Copy(rest));
        }
        Message { origin, body }
    }

    /// Whether an address has bytes, and not what a line does with a read.
    fn is_memory(&self, address: u64) -> bool {
        match self.space.at(address) {
            Some(Spot::Line(_, tile, offset)) => self.is_scratchpad(tile, offset),
            _ => true,
        }
    }

    /// Up to so many bytes at an address of the chip, which end with its controller's part.
    pub(super) fn read_payload(&self, from: u64, bytes: u32) -> Payload {
        match self.space.at(from) {
            Some(Spot::Line(_, tile, offset)) => {
                Payload::of(self.state.tiles[usize::from(tile)].lines.bytes(offset, bytes as usize))
            }
            Some(Spot::Dram(_, offset)) => {
                let mut read = [0; LINE_BYTES as usize];
                let bytes = bytes.min((INTERLEAVE - offset % INTERLEAVE) as u32) as usize;
                self.dram.read(offset, &mut read[..bytes]);
                Payload::of(&read[..bytes])
            }
            _ => unreachable!("a copy's source was checked"),
        }
    }

    /// A packet leaves an engine.
    fn send(&mut self, context: &mut Context<'_>, from: End, message: Message) {
        let config = &self.build.config;
        let data_bytes = message.body.data_bytes();
        let width = config.width.as_u64();
        let header = config.cycles(config.cycles_of_header());
        let data = config.cycles(u64::from(data_bytes).div_ceil(width) as u32);
        let (occupied, out) = match from {
            End::Controller(_) => (config.dram_line_time, config.dram_access_time),
            _ => (header + data, config.cycles(config.out_cycles + config.region_table.lookup_cycles)),
        };
        let address = destination(&message);
        let Some(to) = self.end_of(address) else {
            let problem = format!("a packet to {address:#x}, where nothing is");
            return context.on_chip.faults.push((message.origin.tile, RegisterFault(problem)));
        };
        let now = context.now;
        let waits = self.take_port(context, (from, header), &message.body);
        self.engine(from).busy_until = now + waits + occupied;
        self.statistics.packets.increment(message.body.kind());
        self.statistics.bytes.add(data_bytes.into());
        self.carry(context, (from, to), waits + out, message);
    }

    /// A packet crosses the network on chip.
    pub(super) fn carry(
        &mut self,
        context: &mut Context<'_>,
        (from, to): (End, End),
        after: Duration,
        message: Message,
    ) {
        let config = &self.build.config;
        let settles_after = match to {
            End::Tile(_) => config.cycles(config.in_cycles),
            _ => Duration::ZERO,
        };
        let (lane, data_bytes) = (message.body.lane(), message.body.data_bytes());
        let content = self.state.under_way.keep(message);
        let packet = Packet { from, to, lane, data_bytes, content, settles_after };
        context.on_chip.packets.push((after, packet));
        if let Body::Write { acknowledge, bytes, .. } = message.body
            && self.lacks(Rule::AcknowledgingWhatIsWritten)
        {
            self.acknowledge(context, from, message.origin, (acknowledge, bytes.as_slice().len()));
        }
    }

    /// So many bytes have been written, of which this address is told.
    pub(super) fn acknowledge(
        &mut self,
        context: &mut Context<'_>,
        at: End,
        origin: Origin,
        (to, bytes): (u64, usize),
    ) {
        if to != 0 {
            let bytes = if self.lacks(Rule::AcknowledgingSizes) { 1 } else { bytes as u64 };
            let body = Body::Acknowledgement { to, bytes };
            self.answer(context, at, Message { origin, body });
        }
    }

    /// Whether a checker has left a rule out.
    pub(super) fn lacks(&self, rule: Rule) -> bool {
        self.state.tiles[0].lines.lacks(rule)
    }

    pub(super) fn is_scratchpad(&self, tile: u16, offset: u64) -> bool {
        let line = (offset / LINE_BYTES) as usize;
        self.state.tiles[usize::from(tile)].lines.state(line).role == Role::Scratchpad
    }
}
