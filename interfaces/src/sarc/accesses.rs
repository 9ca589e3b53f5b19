//! What a processor's access does: to its own tile's lines, their state, registers, the lock box;
//! or to what is elsewhere, by a packet.

use narthex_memory::{AccessReply, Kind, Response, Transaction};

use super::device::{Build, Sarc, State};
use super::events::{Found, Problem, Reader};
use super::messages::{Body, Cause, Message, Origin, Payload};
use super::regions::Need;
use super::registers::{LINE_BYTES, register};
use super::space::{Spot, split};
use crate::half::Context;

impl Sarc {
    /// An access of a processor.
    ///
    /// # Errors
    /// Why the hardware refuses it.
    pub(super) fn access_of(
        &mut self,
        context: &mut Context<'_>,
        tile: u16,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<AccessReply, Problem> {
        let &Transaction { kind, size, value, .. } = transaction;
        let (_, address) = split(transaction.address);
        let config = &self.build.config;
        let is_load = match kind {
            Kind::UncachedLoad => true,
            Kind::UncachedStore => false,
            _ => return Err("blocks are not moved by block buffers here".into()),
        };
        let cycles = if is_load { config.load_cycles } else { config.store_cycles };
        self.state.answer_time = config.cycles(cycles);
        self.know_chip(context);
        let origin = Origin { process: context.network.own(), chip: self.chip, tile };
        let need = if is_load { Need::Load } else { Need::Store };
        let address = self.translate(tile, address, size.into(), need)?;
        let Some(spot) = self.space.at(address) else {
            return Err(format!("nothing is at {address:#x}"));
        };
        if size != 8 && !matches!(spot, Spot::Line(..) | Spot::Dram(..)) {
            return Err(format!("an access of {size} bytes to {address:#x}, where words of 8 bytes are"));
        }
        match spot {
            Spot::Line(chip, own, offset) if (chip, own) == (self.chip, tile) => {
                self.statistics.local.increment();
                self.wait_for_port(context, tile);
                let bytes = &value.to_le_bytes()[..size.into()];
                if is_load {
                    return self.load_own(context, origin, offset, size, response);
                }
                self.store_own(context, origin, offset, bytes)?;
            }
            Spot::State(chip, own, line, word) if (chip, own) == (self.chip, tile) => {
                self.statistics.local.increment();
                self.wait_for_port(context, tile);
                let stored = (!is_load).then_some(value);
                self.access_state(context, origin, (line as usize, word, stored), response)?;
            }
            Spot::State(..) => return Err("the state of a line is accessed by its own tile".into()),
            Spot::Register(offset) => {
                self.statistics.local.increment();
                response.value = self.load_register(context, tile, offset, is_load)?;
            }
            Spot::Lock(lock) => self.access_lock(context, lock as usize, is_load, response),
            Spot::Line(..) | Spot::Dram(..) => {
                self.check_range(origin.process, address, size.into())?;
                let to = Reader::Processor(origin.chip, tile);
                let body = match is_load {
                    true => Body::Read { from: address, bytes: size.into(), to },
                    false => Body::Write {
                        to: address,
                        acknowledge: 0,
                        bytes: Payload::of(&value.to_le_bytes()[..size.into()]),
                        cause: Cause::Store,
                    },
                };
                return Ok(self.access_remote(context, tile, Message { origin, body }));
            }
        }
        Ok(AccessReply::Done)
    }

    fn load_own(
        &mut self,
        context: &mut Context<'_>,
        origin: Origin,
        offset: u64,
        size: u16,
        response: &mut Response,
    ) -> Result<AccessReply, Problem> {
        let tile = origin.tile;
        self.check_line(origin.process, tile, (offset / LINE_BYTES) as usize)?;
        let reader = Reader::Processor(origin.chip, tile);
        let lines = &mut self.state.tiles[usize::from(tile)].lines;
        let found = lines.read(offset, size.into(), reader);
        match found.map_err(|problem| self.at_line(tile, offset, &problem))? {
            Found::Words(item) => response.value = item.words[0],
            Found::Later => return Ok(AccessReply::Held),
            Found::Bytes => {
                let mut value = [0; 8];
                let lines = &self.state.tiles[usize::from(tile)].lines;
                value[..size.into()].copy_from_slice(lines.bytes(offset, size.into()));
                response.value = u64::from_le_bytes(value);
                if self.build.config.first_level {
                    self.fill_first_level(context, tile, offset / LINE_BYTES);
                }
            }
        }
        Ok(AccessReply::Done)
    }

    fn store_own(
        &mut self,
        context: &mut Context<'_>,
        origin: Origin,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), Problem> {
        let tile = origin.tile;
        self.check_line(origin.process, tile, (offset / LINE_BYTES) as usize)?;
        if self.is_scratchpad(tile, offset) {
            self.state.tiles[usize::from(tile)].lines.store_through(offset, bytes);
            return Ok(());
        }
        let mut effects = std::mem::take(&mut self.effects);
        let written = self.state.tiles[usize::from(tile)].lines.write(offset, bytes, &mut effects);
        self.clear_first_level(context, tile);
        let done = match written {
            Ok(()) => self.carry_out(context, tile, origin, &mut effects),
            Err(problem) => Err(problem),
        };
        effects.clear();
        self.effects = effects;
        done.map_err(|problem| self.at_line(tile, offset, &problem))
    }

    fn access_state(
        &mut self,
        context: &mut Context<'_>,
        origin: Origin,
        (line, word, stored): (usize, u64, Option<u64>),
        response: &mut Response,
    ) -> Result<(), Problem> {
        let tile = origin.tile;
        let lines = &mut self.state.tiles[usize::from(tile)].lines;
        let Some(value) = stored else {
            response.value = lines.state_word(line, word);
            return Ok(());
        };
        if lines.state(line).owner.is_some() {
            self.check_line(origin.process, tile, line)?;
        }
        let lines = &mut self.state.tiles[usize::from(tile)].lines;
        let done = if word == 0 { lines.mark(line, value) } else { lines.set_tag(line, value) };
        self.clear_first_level(context, tile);
        done.map_err(|problem| self.at_line(tile, line as u64 * LINE_BYTES, &problem))
    }

    fn load_register(
        &mut self,
        context: &Context<'_>,
        tile: u16,
        offset: u64,
        is_load: bool,
    ) -> Result<u64, Problem> {
        let Build { config, chip, .. } = &self.build;
        let own = &self.state.tiles[usize::from(tile)];
        if !is_load {
            return Err(format!("the register at {offset:#x} can only be loaded"));
        }
        let (l2_bytes, ways) = chip.second_level.expect("checked with the parameters");
        let (_, nodes) = context.network.nodes();
        Ok(match offset {
            register::TILE => tile.into(),
            register::CHIP => self.chip.into(),
            register::TILES => chip.tiles.into(),
            register::CHIPS => u64::from(nodes).min(config.chips.into()),
            register::TILES_OF_PROCESS => chip.tiles_of_process.into(),
            register::L2_BYTES => l2_bytes,
            register::WAYS => ways.into(),
            register::LOCKS => config.locks.into(),
            register::DRAM_BYTES => config.dram.as_u64(),
            register::CYCLES => context.now.as_ps() / config.cycles(1).as_ps(),
            register::JOBS => own.jobs() as u64,
            register::STORES => own.stores_under_way.into(),
            _ => return Err(format!("there is no register at {offset:#x}")),
        })
    }

    /// The bus of the lock box carries one access after the other, each for a part of its time.
    fn access_lock(&mut self, context: &Context<'_>, lock: usize, is_load: bool, response: &mut Response) {
        self.statistics.locks.increment();
        let State { locks, lock_box_busy_until, answer_time, .. } = &mut self.state;
        let begin = context.now.max(*lock_box_busy_until);
        let config = &self.build.config;
        *lock_box_busy_until = begin + config.cycles(config.lock_bus_cycles);
        *answer_time = begin + config.cycles(config.lock_cycles) - context.now;
        if is_load {
            response.value = u64::from(!locks[lock]);
        }
        locks[lock] = is_load;
    }
}
