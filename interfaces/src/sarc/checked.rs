//! What a model checker sees of the device, and does with it: its time stands still, and an
//! engine that has made a packet waits until it is let go on.

use std::hash::{Hash, Hasher};

use narthex_fabrics::Rank;
use narthex_kernel::Time;

use super::device::Sarc;
use super::lines::Owner;
use super::messages::Message;
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
