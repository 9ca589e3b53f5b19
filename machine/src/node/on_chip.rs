//! The network on chip of a node whose caches a directory keeps coherent: what carries the
//! messages between its tiles, memory controllers and devices.
//!
//! A message that leaves later than it is decided on (its home looks something up, its memory
//! takes its time) is an event then: links are reserved in the order in which messages leave.

use narthex_fabrics::on_chip::OnChip;
use narthex_kernel::{Archive, Archived, Category, Damage, Time};
use narthex_memory::directory::{Carried, Place};
use narthex_memory::interconnects::InterconnectId;
use narthex_memory::interconnects::directory::Directory;

use super::{Event, Node};

/// The network on chip, and who is where on it.
pub struct NodeOnChip {
    /// The directory whose messages it carries.
    pub on: InterconnectId,
    /// What carries them.
    pub network: OnChip,
    /// The place of each agent.
    pub agents: Vec<u16>,
    /// The place of each home.
    pub homes: Vec<u16>,
    /// Bytes in a coherence block.
    pub block_bytes: usize,
}

impl NodeOnChip {
    fn place(&self, place: Place) -> u16 {
        match place {
            Place::Requester(agent) => self.agents[usize::from(agent.0)],
            Place::Home(home) => self.homes[usize::from(home.0)],
        }
    }
}

impl Archived for NodeOnChip {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let NodeOnChip { on: _, network, agents: _, homes: _, block_bytes: _ } = self;
        network.archive(archive)
    }
}

impl Node {
    /// A message of the directory leaves at `at`.
    pub(super) fn carry_message(&mut self, at: Time, (from, to): (Place, Place), carried: Carried) {
        match at > self.instant.now() {
            true => self.events.schedule(at, Event::MessageLeaves(from, to, carried)),
            false => self.message_leaves(at, (from, to), carried),
        }
    }

    /// A message of the directory leaves now.
    #[inline]
    pub(super) fn message_leaves(&mut self, now: Time, (from, to): (Place, Place), carried: Carried) {
        let own = self.on_chip.as_mut().expect("a directory has a network on chip");
        let body = &carried.message.body;
        let (lane, data_bytes) = (body.lane().index(), body.data_bytes(own.block_bytes));
        let arrival = own.network.send(now, (own.place(from), own.place(to)), lane, data_bytes);
        self.events.schedule(arrival, Event::Message(to, carried));
    }

    /// A message of the directory is at its place.
    #[inline]
    pub(super) fn message_arrives(&mut self, now: Time, to: Place, carried: Carried) {
        let on = self.on_chip.as_ref().expect("a directory has a network on chip").on;
        Directory::arrive(self, now, on, to, carried);
    }
}
