//! The way off the chip: packets to other chips, over the machine's network (Section 4, "the
//! interface (L2 NI) of a future off-chip interconnect").
//!
//! ```text
//!   tile ── network on chip ──► gateway ── packet of the machine's network ──► gateway ──► tile
//! ```
//!
//! A packet on chip travels on in one of the machine's network, and goes over the network of the
//! other chip from that one's gateway. Those for which the network has no room wait here, in
//! order; a gateway takes all that arrives, so nothing waits in a circle.

use narthex_fabrics::{Header, Rank};
use narthex_kernel::{Archive, Duration};

use super::device::Sarc;
use super::messages::Message;
use super::space::{Spot, split};
use super::transfers::destination;
use crate::half::{Context, RegisterFault};
use crate::on_chip::End;

impl Sarc {
    /// Nodes are chips, so many of which address each other: this one's number among them.
    pub(super) fn know_chip(&mut self, context: &Context<'_>) {
        self.chip = context.network.nodes().0 % self.build.config.chips as u16;
    }

    /// The chip to which a packet goes.
    fn chip_of(&self, message: &Message) -> u16 {
        let (_, address) = split(destination(message));
        match self.space.at(address) {
            Some(Spot::Line(chip, ..) | Spot::Dram(chip, _)) => chip,
            _ => unreachable!("a packet to another chip has an address there"),
        }
    }

    /// A packet for another chip is at the gateway.
    pub(super) fn leave_chip(&mut self, context: &mut Context<'_>, message: Message) {
        let chip = self.chip_of(&message);
        let (node, nodes) = context.network.nodes();
        if node - self.chip + chip >= nodes {
            let problem = format!("a packet to chip {chip}, which the machine has not");
            return context.on_chip.faults.push((message.origin.tile, RegisterFault(problem)));
        }
        self.state.leaving.push_back(message);
        self.let_leave(context);
    }

    /// Packets leave as long as the network has room for the first.
    pub(super) fn let_leave(&mut self, context: &mut Context<'_>) {
        let processes = self.build.chip.tiles / self.build.chip.tiles_of_process;
        let first = context.network.nodes().0 - self.chip;
        while let Some(message) = self.state.leaving.front() {
            let process = Rank((first + self.chip_of(message)) * processes);
            if !context.network.can_send_to(process) {
                return;
            }
            let payload = Archive::save(&mut message.clone()).expect("plain data");
            context.network.send_unrecorded(process, Header(payload.len() as u64), payload);
            self.statistics.off_chip.increment();
            self.state.leaving.pop_front();
        }
    }

    /// Packets that have come from other chips go on to their places.
    pub(super) fn enter_chip(&mut self, context: &mut Context<'_>) {
        self.know_chip(context);
        while let Some(packet) = context.network.take() {
            let mut message = Message::NONE;
            Archive::restore(&packet.payload, &mut message).expect("a gateway has sent it");
            let to = self.end_of(destination(&message)).expect("a gateway has sent it here");
            self.carry(context, (End::Gateway, to), Duration::ZERO, message);
        }
    }
}
