//! What a model checker sees of the device, and does with it: its time stands still, and an
//! engine that has made a packet waits until it is let go on.

use std::hash::{Hash, Hasher};

use narthex_fabrics::{Job, Rank};
use narthex_kernel::Time;

use super::device::Sarc;
use super::lines::{LineState, Lines, Owner};
use super::messages::{Body, Cause, Message};
use super::rules::Rule;
use crate::half::Context;
use crate::on_chip::End;

impl Sarc {
    /// The same without a rule.
    pub fn without(mut self, rule: Rule) -> Self {
        self.state.tiles.iter_mut().for_each(|tile| tile.lines.leave_out(rule));
        self
    }

    /// The first lines of a tile are scratchpad of the chip's first process.
    pub fn take_lines(&mut self, tile: u16, lines: usize) {
        let owner = Owner { process: Rank(0), number: 0, shared_with: None };
        self.state.tiles[usize::from(tile)].lines.take(0, lines, owner, true);
    }

    /// Lines of a tile are scratchpad of a process, or of its whole job.
    pub fn give_lines(&mut self, tile: u16, (first, lines): (usize, usize), number: u8, job: Option<Job>) {
        let owner = Owner { process: Rank(number.into()), number, shared_with: job };
        self.state.tiles[usize::from(tile)].lines.take(first, lines, owner, false);
    }

    /// Lines of a tile go back to the cache.
    pub fn take_lines_back(&mut self, tile: u16, first: usize, lines: usize) {
        self.state.tiles[usize::from(tile)].lines.give_back(first, lines);
    }

    /// Tiles of the chip.
    pub fn tiles(&self) -> u16 {
        self.build.chip.tiles
    }

    /// The lines of a tile.
    pub fn lines(&self, tile: u16) -> &Lines {
        &self.state.tiles[usize::from(tile)].lines
    }

    /// All that is known of a line is replaced.
    pub fn restore_line(&mut self, tile: u16, line: usize, bytes: &[u8], state: LineState) {
        self.state.tiles[usize::from(tile)].lines.restore(line, bytes, state);
    }

    /// A tile's engine waits, whatever comes, until it is told to make a packet.
    pub fn hold_engine(&mut self, tile: u16) {
        self.engine(End::Tile(tile)).busy_until = Time::NEVER;
    }

    /// An engine that is held makes one packet, and waits again.
    pub fn make_packet(&mut self, context: &mut Context<'_>, tile: u16) {
        self.let_go(context, End::Tile(tile));
        self.hold_engine(tile);
    }

    /// What waits in a tile's combining buffer has waited long enough.
    pub fn end_combining(&mut self, context: &mut Context<'_>, tile: u16) {
        self.drain_stores(context, tile);
    }

    /// A packet that left is nobody's concern any more.
    pub fn take_message(&mut self, content: u32) -> Message {
        self.state.under_way.take(content)
    }

    /// A packet comes to a tile from one that is not modelled.
    pub fn bring(&mut self, context: &mut Context<'_>, tile: u16, message: Message) {
        let is_store = matches!(message.body, Body::Write { cause: Cause::Store, .. });
        self.state.tiles[usize::from(message.origin.tile)].stores_under_way += u32::from(is_store);
        let content = self.state.under_way.keep(message);
        self.receive(context, End::Tile(tile), content);
    }

    /// Remote stores of a tile that have not arrived.
    pub fn stores_under_way(&self, tile: u16) -> u32 {
        self.state.tiles[usize::from(tile)].stores_under_way
    }

    /// Whether stores wait in a tile's combining buffer.
    pub fn combines(&self, tile: u16) -> bool {
        self.state.tiles[usize::from(tile)].combining.holds()
    }

    /// The time is over for which an engine makes its last packet.
    pub fn let_go(&mut self, context: &mut Context<'_>, at: End) {
        let engine = self.engine(at);
        (engine.busy_until, engine.called_at) = (Time::ZERO, Time::ZERO);
        self.step(context, at);
    }

    /// What an engine has to send, and whether it makes a packet.
    pub fn is_at_work(&self, tile: u16) -> bool {
        let engine = &self.state.tiles[usize::from(tile)].engine;
        engine.jobs() > 0 || engine.busy_until > Time::ZERO
    }

    /// Jobs that a tile's engine has still to do.
    pub fn jobs(&self, tile: u16) -> usize {
        self.state.tiles[usize::from(tile)].engine.jobs()
    }

    /// A packet that is under way.
    pub fn message(&self, content: u32) -> &Message {
        self.state.under_way.get(content)
    }

    /// Feeds what the tiles have to a hasher.
    pub fn hash_tiles<H: Hasher>(&self, hasher: &mut H) {
        self.state.tiles.hash(hasher);
    }
}
