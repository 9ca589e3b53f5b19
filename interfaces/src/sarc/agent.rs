//! The kernel agent: what programs ask of the device through the operating system.
//!
//! It locks lines and gives them back, knows whose each is, and swaps them: their bytes and state
//! go to memory and come back, while others go on. It writes the tables of address regions.

use serde::{Deserialize, Serialize};

use super::device::Sarc;
use super::lines::{LineState, Owner};
use super::regions::RegionTable;
use super::registers::{DRAM, DRAM_CHIP_BYTES, LINE_BYTES, Role, request, state};
use super::space::{Spot, address_of};
use crate::device_call::{CallError, DeviceCall, OperatingSystem};
use crate::half::Context;

/// Pages in which DRAM is allocated.
const PAGE: u64 = 4096;

/// What a program fills in, then what it gets.
type Words = [u64; request::WORDS];

/// The kernel agent of a chip.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Agent {
    /// Whose parts of DRAM are, in order: end of each, and its owner.
    dram: Vec<(u64, Owner)>,
}

impl Agent {
    /// Who owns a byte of DRAM.
    pub fn owner_of(&self, offset: u64) -> Option<&Owner> {
        let place = self.dram.partition_point(|&(end, _)| end <= offset);
        self.dram.get(place).map(|(_, owner)| owner)
    }
}

impl Sarc {
    /// Refuses DRAM that a process may not use.
    pub(super) fn check_dram(
        &self,
        process: narthex_fabrics::Rank,
        part: std::ops::Range<u64>,
    ) -> Result<(), String> {
        for offset in [part.start, part.end - 1] {
            let address = DRAM + u64::from(self.chip) * DRAM_CHIP_BYTES + offset;
            match self.state.agent.owner_of(offset) {
                Some(owner) if owner.lets(process) => {}
                Some(owner) => {
                    let number = owner.number;
                    return Err(format!("the DRAM at {address:#x} belongs to process {number} of its chip"));
                }
                None => return Err(format!("nobody has allocated the DRAM at {address:#x}")),
            }
        }
        Ok(())
    }

    /// A program's call. Its argument is the address of the request's structure.
    ///
    /// # Errors
    /// The error that the program gets.
    pub(super) fn answer_call(
        &mut self,
        context: &mut Context<'_>,
        call: &DeviceCall,
        system: &mut dyn OperatingSystem,
    ) -> Result<i64, CallError> {
        let &DeviceCall { process, request, argument } = call;
        if !(request::ALLOCATE..=request::REMOVE_REGION).contains(&request) {
            return Err(CallError::UnknownRequest);
        }
        let mut bytes = [0; request::WORDS * 8];
        system.read(argument, &mut bytes)?;
        let mut words: Words = [0; request::WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        let job = context.network.job().clone();
        let own = context.network.own();
        let owner = |flags: u64| {
            let shared_with = (flags & request::SHARED != 0).then(|| job.clone());
            Owner { process: own, number: process, shared_with }
        };
        match request {
            request::ALLOCATE => self.allocate(owner(words[2]), &mut words, system)?,
            request::FREE => {
                let (tile, first, lines) = self.named(owner(0), &words)?;
                self.state.tiles[usize::from(tile)].lines.give_back(first, lines);
                self.clear_first_level(context, tile);
                self.free_lines(tile, first..first + lines, system);
            }
            request::SWAP_OUT => self.swap_out(context, owner(0), &words, system)?,
            request::SWAP_IN => self.swap_in(owner(request::SHARED), &words, system)?,
            request::DRAM_ALLOCATE => self.allocate_dram(owner(words[1]), &mut words)?,
            request::QUERY => self.query(owner(0), &mut words)?,
            request::DEFINE_REGION => {
                let (region, entries) = (self.region_of(&words)?, self.build.config.region_table.entries);
                self.write_regions(context, process, system, |table| table.define(region, entries))?;
            }
            _ => self.write_regions(context, process, system, |table| table.remove(words[0]))?,
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        system.write(argument, &bytes)?;
        Ok(0)
    }

    /// The set and way of a line.
    fn places(&self, lines: std::ops::Range<usize>) -> Vec<(usize, usize)> {
        let (l2_bytes, ways) = self.build.chip.second_level.expect("checked with the parameters");
        let sets = (l2_bytes / u64::from(ways) / LINE_BYTES) as usize;
        lines.map(|line| (line % sets, line / sets)).collect()
    }

    fn lock_lines(
        &self,
        tile: u16,
        lines: std::ops::Range<usize>,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        system.lock_lines(tile.into(), &self.places(lines))
    }

    fn free_lines(&self, tile: u16, lines: std::ops::Range<usize>, system: &mut dyn OperatingSystem) {
        system.free_lines(tile.into(), &self.places(lines));
    }

    fn allocate(
        &mut self,
        owner: Owner,
        words: &mut Words,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        let [tile, lines, ..] = *words;
        let of_process = u64::from(self.build.chip.tiles_of_process);
        if tile >= self.build.chip.tiles.into() || tile / of_process != u64::from(owner.number) || lines == 0
        {
            return Err(CallError::Invalid);
        }
        let own = &self.state.tiles[tile as usize].lines;
        let (_, ways) = self.build.chip.second_level.expect("checked with the parameters");
        let most = own.count() - own.count() / ways as usize;
        let first = own.room_for(lines as usize).filter(|first| first + lines as usize <= most);
        let first = first.ok_or(CallError::NoMemory)?;
        let range = first..first + lines as usize;
        self.lock_lines(tile as u16, range, system)?;
        let is_selected = words[2] & request::FIRST_LEVEL != 0;
        self.state.tiles[tile as usize].lines.take(first, lines as usize, owner, is_selected);
        words[3] = address_of(self.chip, tile as u16, first as u64 * LINE_BYTES);
        Ok(())
    }

    /// Tile, first line and number of the lines that a request names, which its process owns.
    fn named(&self, owner: Owner, words: &Words) -> Result<(u16, usize, usize), CallError> {
        let [address, lines, ..] = *words;
        let (tile, first, lines) = self.place(&owner, address, lines)?;
        let own = &self.state.tiles[usize::from(tile)].lines;
        let is_its = |line| own.state(line).owner.as_ref().is_some_and(|its| its.process == owner.process);
        if !(first..first + lines).all(is_its) {
            return Err(CallError::BadAddress);
        }
        Ok((tile, first, lines))
    }

    fn place(&self, owner: &Owner, address: u64, lines: u64) -> Result<(u16, usize, usize), CallError> {
        let address = self.place_of(owner.number, address)?;
        let Some(Spot::Line(chip, tile, offset)) = self.space.at(address) else {
            return Err(CallError::BadAddress);
        };
        let fits = lines.checked_mul(LINE_BYTES).is_some_and(|bytes| bytes <= self.space.l2_bytes - offset);
        if chip != self.chip || !offset.is_multiple_of(LINE_BYTES) || lines == 0 || !fits {
            return Err(CallError::BadAddress);
        }
        Ok((tile, (offset / LINE_BYTES) as usize, lines as usize))
    }

    /// Bytes and state of lines go to memory, and the lines to the cache.
    fn swap_out(
        &mut self,
        context: &mut Context<'_>,
        owner: Owner,
        words: &Words,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        let (tile, first, lines) = self.named(owner, words)?;
        let own = &self.state.tiles[usize::from(tile)].lines;
        for line in first..first + lines {
            let mut swapped = own.bytes(line as u64 * LINE_BYTES, LINE_BYTES as usize).to_vec();
            (0..2).for_each(|word| swapped.extend(own.state_word(line, word).to_le_bytes()));
            system.write(words[2] + (line - first) as u64 * request::SWAPPED_LINE_BYTES, &swapped)?;
        }
        self.state.tiles[usize::from(tile)].lines.give_back(first, lines);
        self.clear_first_level(context, tile);
        self.free_lines(tile, first..first + lines, system);
        self.take_swap_time(lines, system);
        Ok(())
    }

    /// The same lines come back.
    fn swap_in(
        &mut self,
        owner: Owner,
        words: &Words,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        let [address, lines, buffer, ..] = *words;
        let (tile, first, lines) = self.place(&owner, address, lines)?;
        let own = &self.state.tiles[usize::from(tile)].lines;
        if (first..first + lines).any(|line| own.state(line).owner.is_some()) {
            return Err(CallError::Busy);
        }
        let mut swapped = vec![0; lines * request::SWAPPED_LINE_BYTES as usize];
        system.read(buffer, &mut swapped)?;
        self.lock_lines(tile, first..first + lines, system)?;
        let own = &mut self.state.tiles[usize::from(tile)].lines;
        for (line, bytes) in (first..).zip(swapped.chunks_exact(request::SWAPPED_LINE_BYTES as usize)) {
            let (bytes, words) = bytes.split_at(LINE_BYTES as usize);
            let word =
                |own: usize| u64::from_le_bytes(words[own * 8..own * 8 + 8].try_into().expect("eight"));
            let is_shared = word(0) & state::SHARED != 0;
            let shared_with = owner.shared_with.clone().filter(|_| is_shared);
            let owner = Owner { shared_with, ..owner };
            let state = LineState {
                role: Role::of(word(0) & state::ROLE).ok_or(CallError::Invalid)?,
                tag: word(1),
                owner: Some(owner),
                is_selected: word(0) & state::FIRST_LEVEL != 0,
                is_above: false,
            };
            own.restore(line, bytes, state);
        }
        self.take_swap_time(lines, system);
        Ok(())
    }

    /// What a line of any tile is, for those who may use it.
    fn query(&self, asks: Owner, words: &mut Words) -> Result<(), CallError> {
        let (tile, line, _) = self.place(&asks, words[0], 1)?;
        let lines = &self.state.tiles[usize::from(tile)].lines;
        let is_its = lines.state(line).owner.as_ref().is_some_and(|owner| owner.lets(asks.process));
        words[1] = if is_its { lines.state_word(line, 0) } else { 0 };
        Ok(())
    }

    /// The tables of all tiles of a process change alike. What their first levels have by the old
    /// ones they lose.
    fn write_regions(
        &mut self,
        context: &mut Context<'_>,
        process: u8,
        system: &mut dyn OperatingSystem,
        change: impl Fn(&mut RegionTable) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        let tiles = self.build.chip.tiles_of_process;
        for tile in u16::from(process) * tiles..(u16::from(process) + 1) * tiles {
            let own = &mut self.state.tiles[usize::from(tile)];
            change(&mut own.regions)?;
            (0..own.lines.count()).for_each(|line| own.lines.leave_first_level(line));
            self.clear_first_level(context, tile);
        }
        let config = &self.build.config;
        system.take_time(config.cycles(config.region_table.write_cycles) * u64::from(tiles));
        Ok(())
    }

    /// The system moves a word of a line or its state after the other.
    fn take_swap_time(&self, lines: usize, system: &mut dyn OperatingSystem) {
        let config = &self.build.config;
        let words = lines as u32 * (request::SWAPPED_LINE_BYTES / 8) as u32;
        system.take_time(config.cycles(config.load_cycles) * u64::from(words));
    }

    fn allocate_dram(&mut self, owner: Owner, words: &mut Words) -> Result<(), CallError> {
        let bytes = words[0].checked_next_multiple_of(PAGE).ok_or(CallError::NoMemory)?;
        if bytes == 0 {
            return Err(CallError::Invalid);
        }
        let dram = &mut self.state.agent.dram;
        let start = dram.last().map_or(0, |&(end, _)| end);
        let end = start.checked_add(bytes).filter(|&end| end <= self.space.dram_bytes);
        dram.push((end.ok_or(CallError::NoMemory)?, owner));
        words[2] = DRAM + u64::from(self.chip) * DRAM_CHIP_BYTES + start;
        Ok(())
    }
}
