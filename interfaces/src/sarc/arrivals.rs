//! Packets that come, and what accesses to lines lead to (Section 3.4).
//!
//! | comes | at | leads to |
//! | --- | --- | --- |
//! | write | a line of any role | an acknowledgement with its size, if it names an address for it |
//! | read | scratchpad, DRAM | a copy to its reader, in writes that name the reader's acknowledgement |
//! | read | a counter, a queue | one write; of a queue with several readers later, if nothing is there |
//! | acknowledgement | a line of any role | what a write of its size leads to, and no acknowledgement |
//!
//! Each packet has its own address, so those of a transfer may come in any order; a counter that
//! began at minus the bytes of the transfer is zero when all of them are there.

use narthex_kernel::Duration;

use super::device::Sarc;
use super::events::{Effect, Found, Item, Problem, Reader};
use super::jobs::{Copying, Job};
use super::messages::{Body, Cause, Message, Origin};
use super::regions::Need;
use super::registers::{LINE_BYTES, Role};
use super::rules::Rule;
use super::space::Spot;
use crate::half::{Context, RegisterFault};
use crate::on_chip::End;

impl Sarc {
    /// What an access to a line led to.
    pub(super) fn carry_out(
        &mut self,
        context: &mut Context<'_>,
        tile: u16,
        origin: Origin,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Problem> {
        for effect in effects.drain(..) {
            match effect {
                Effect::Launch(line) => self.launch(context, tile, line, origin)?,
                Effect::Notify(to, word) => {
                    let to = self.translate(tile, to, 8, Need::Store)?;
                    self.statistics.notifications.increment();
                    self.send_words(
                        context,
                        End::Tile(tile),
                        origin,
                        (to, 0, Cause::Transfer),
                        Item::of(&[word]),
                    );
                }
                Effect::Deliver(reader, item) => self.deliver(context, tile, origin, reader, item),
            }
        }
        Ok(())
    }

    /// A reader gets what it has waited for.
    fn deliver(&mut self, context: &mut Context<'_>, tile: u16, origin: Origin, reader: Reader, item: Item) {
        match reader {
            Reader::Processor(chip, own) if (chip, own) == (self.chip, tile) => {
                let time = self.build.config.cycles(self.build.config.load_cycles);
                context.on_chip.answers.push((own, item.words[0], time));
            }
            Reader::Processor(chip, own) => {
                let body = Body::Answer { to: (chip, own), value: item.words[0] };
                self.answer(context, End::Tile(tile), Message { origin, body });
            }
            Reader::Memory(to, acknowledge) => {
                let target = (to, acknowledge, Cause::Reply);
                self.send_words(context, End::Tile(tile), origin, target, item);
            }
        }
    }

    /// A packet has come to its place.
    pub(super) fn receive(&mut self, context: &mut Context<'_>, at: End, content: u32) {
        let message = self.state.under_way.take(content);
        if at == End::Gateway {
            return self.leave_chip(context, message);
        }
        let Message { origin, body } = message;
        self.take_port(context, (at, Duration::ZERO), &body);
        let done = match body {
            Body::Write { to, acknowledge, bytes, cause } => {
                if self.build.returns_when_full && self.is_full_at(to) {
                    let body = Body::Returned { to, acknowledge, bytes, cause };
                    return self.answer(context, at, Message { origin, body });
                }
                match cause {
                    Cause::Store if origin.chip == self.chip => self.store_is_there(origin.tile),
                    Cause::Store => self.answer(context, at, Message { origin, body: Body::Stored }),
                    Cause::Transfer | Cause::Reply => {}
                }
                self.write_at(context, at, (origin, cause), to, bytes.as_slice()).map(|()| {
                    if !self.lacks(Rule::AcknowledgingWhatIsWritten) {
                        self.acknowledge(context, at, origin, (acknowledge, bytes.as_slice().len()));
                    }
                })
            }
            Body::Acknowledgement { to, bytes } => {
                self.write_at(context, at, (origin, Cause::Transfer), to, &bytes.to_le_bytes())
            }
            Body::Read { from, bytes, to } => self.read_at(context, at, origin, (from, bytes), to),
            Body::Stored => {
                self.store_is_there(origin.tile);
                Ok(())
            }
            Body::Returned { to, acknowledge, bytes, cause } => {
                let body = Body::Write { to, acknowledge, bytes, cause };
                self.engine(at).push(Job::Send(Message { origin, body }));
                self.step(context, at);
                Ok(())
            }
            Body::Answer { to: (_, tile), value } => {
                context.on_chip.answers.push((tile, value, Duration::ZERO));
                Ok(())
            }
        };
        if let Err(problem) = done {
            self.blame(context, at, origin, problem);
        }
    }

    /// What a packet does wrong ends the run of the processor that began it; of one on another
    /// chip that of the tile to which it has come.
    pub(super) fn blame(&mut self, context: &mut Context<'_>, at: End, origin: Origin, problem: Problem) {
        let (tile, problem) = match at {
            _ if origin.chip == self.chip => (origin.tile, problem),
            End::Tile(tile) => {
                (tile, format!("a packet of tile {} of chip {}: {problem}", origin.tile, origin.chip))
            }
            _ => (0, format!("a packet of tile {} of chip {}: {problem}", origin.tile, origin.chip)),
        };
        context.on_chip.faults.push((tile, RegisterFault(problem)));
    }

    fn store_is_there(&mut self, tile: u16) {
        self.state.tiles[usize::from(tile)].stores_under_way -= 1;
    }

    /// Whether an address is where items of a queue with a single reader are written that has no
    /// room.
    fn is_full_at(&self, to: u64) -> bool {
        let Some(Spot::Line(_, tile, offset)) = self.space.at(to) else { return false };
        let (lines, line) = (&self.state.tiles[usize::from(tile)].lines, (offset / LINE_BYTES) as usize);
        let is_enqueued = offset.is_multiple_of(LINE_BYTES);
        is_enqueued && lines.state(line).role == Role::SingleReaderQueue && lines.is_full(line)
    }

    /// Bytes come to their place.
    fn write_at(
        &mut self,
        context: &mut Context<'_>,
        at: End,
        (origin, cause): (Origin, Cause),
        to: u64,
        bytes: &[u8],
    ) -> Result<(), Problem> {
        match self.space.at(to) {
            Some(Spot::Line(_, tile, offset)) => {
                let lines = offset / LINE_BYTES..=(offset + bytes.len() as u64 - 1) / LINE_BYTES;
                for line in lines.filter(|_| cause != Cause::Reply) {
                    self.check_line(origin.process, tile, line as usize)?;
                }
                let mut effects = std::mem::take(&mut self.effects);
                let lines = &mut self.state.tiles[usize::from(tile)].lines;
                let written = lines.write(offset, bytes, &mut effects);
                self.clear_first_level(context, tile);
                let done = match written {
                    Ok(()) => self.carry_out(context, tile, origin, &mut effects),
                    Err(problem) => Err(problem),
                };
                effects.clear();
                self.effects = effects;
                done.map_err(|problem| self.at_line(tile, offset, &problem))
            }
            Some(Spot::Dram(_, offset)) => {
                let line_time = self.build.config.dram_line_time;
                let engine = self.engine(at);
                engine.busy_until = engine.busy_until.max(context.now) + line_time;
                self.dram.write(offset, bytes);
                Ok(())
            }
            _ => Err(format!("nothing is at {to:#x}")),
        }
    }

    /// A read request comes to its place.
    pub(super) fn read_at(
        &mut self,
        context: &mut Context<'_>,
        at: End,
        origin: Origin,
        (from, bytes): (u64, u32),
        reader: Reader,
    ) -> Result<(), Problem> {
        let found = match self.space.at(from) {
            Some(Spot::Line(_, tile, offset)) => {
                self.check_range(origin.process, from, bytes.into())?;
                // Of a counter or queue a line at most is read, by whole words.
                let is_cut = !self.is_scratchpad(tile, offset) && bytes.is_multiple_of(8);
                let length = if is_cut { bytes.min(LINE_BYTES as u32) } else { bytes } as usize;
                let found = self.state.tiles[usize::from(tile)].lines.read(offset, length, reader);
                found.map_err(|problem| self.at_line(tile, offset, &problem))?
            }
            _ => Found::Bytes,
        };
        match (found, reader) {
            (Found::Later, _) => {}
            (Found::Bytes, Reader::Memory(to, acknowledge)) => {
                self.engine(at).push(Job::Copy(Copying { origin, from, to, acknowledge, left: bytes }));
                self.step(context, at);
            }
            (Found::Words(item), Reader::Memory(to, acknowledge)) => {
                self.send_words(context, at, origin, (to, acknowledge, Cause::Reply), item);
            }
            (found, Reader::Processor(chip, tile)) => {
                let mut value = [0; 8];
                match found {
                    Found::Words(item) => value = item.words[0].to_le_bytes(),
                    _ => {
                        let read = self.read_payload(from, bytes);
                        value[..read.as_slice().len()].copy_from_slice(read.as_slice());
                    }
                }
                let body = Body::Answer { to: (chip, tile), value: u64::from_le_bytes(value) };
                self.answer(context, at, Message { origin, body });
            }
        }
        Ok(())
    }
}
