//! The switch element: a partition of the simulation of its own.
//!
//! ```text
//!   input 0 ─► lane 0 ▤▤▤ ─┐            ┌─ output 0 ─► credits, link
//!              lane 1 ▤   ─┼─ arbiters ─┤
//!   input 1 ─► lane 0 ▤▤  ─┤            └─ output 1 ─► credits, link
//!              lane 1     ─┘
//! ```
//!
//! A parcel waits in a queue of its input's lane. Each output has an arbiter that
//! gives its link to one of the parcels at the heads of queues for which there is
//! room behind the link: of the highest priority, then in turns or by age. While a
//! link is busy with a parcel, its arbiter rests; other outputs do not notice.
//!
//! **Time.** Mail says when a parcel may leave, not when it arrives
//! ([`Timing::at_switch`]): after the link, the switch's delay and, where parcels are
//! stored, all its bytes. So an uncontended hop is one event for the parcel and one
//! for the arbiter. All that happens at an instant happens before arbiters decide.
//! The buffer is free again when the parcel's last byte has left it.
//!
//! **Queues.** With `single` queues a lane has one, and the parcel at its head blocks
//! those behind it, whatever their outputs; with queues `by-output` it has one for
//! each output (virtual output queues), in the same buffer.
//!
//! **Further parts** ([`further`]), each in its file: a crossbar that is not ideal and queues behind it
//! ([`crossbar`]), what lanes hold where senders count no credits ([`held`]), marks of congestion
//! ([`marking`]), and what switches tell each other ([`told`]). A plain switch has none of them: its path,
//! which is in this file, looks at each step once whether there are any.

mod arbitration;
mod archive;
mod config;
mod crossbar;
mod events;
mod further;
mod held;
mod marking;
mod plan;
mod queues;
mod routing;
mod stuck;
mod told;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use narthex_kernel::partition::Outbox;
use narthex_kernel::{EventQueue, Time};

use crate::link::{Sender, Timing};
use crate::parcel::{Credit, Mail, Parcel};
use crate::topologies::{Hop, Peer, Topology};

pub use config::{Arbitration, Config, QueueKind, Switching};
pub use crossbar::OutputQueues;
pub use marking::Marking;
pub use plan::Plan;
pub use queues::{InputStatistics, Queues};
pub use routing::Routes;
pub use stuck::StuckParcel;

use arbitration::{Arbiter, Decision};
use events::Event;
use further::Further;
use queues::{Slot, Waiting};

/// An output: its link, and who gets it.
struct Output {
    /// The partition behind it, the port there, and whether it is a node.
    end: Option<(usize, u16, bool)>,
    timing: Timing,
    sender: Sender,
    arbiter: Arbiter,
    /// Bytes in this switch that need it.
    waiting_bytes: u64,
}

/// A switch.
pub struct Switch<C> {
    number: u32,
    plan: Arc<Plan>,
    events: EventQueue<Event<C>>,
    outputs: Vec<Output>,
    queues: Queues<C>,
    /// What a plain switch has not.
    further: Option<Box<Further<C>>>,
}

impl<C> Switch<C> {
    /// A switch of a network, without parcels.
    pub fn new(number: u32, plan: &Arc<Plan>) -> Self {
        let ports = plan.topology.ports();
        let slots = usize::from(ports) * usize::from(plan.lanes);
        let output = |port| {
            let end = plan.other_end(number, port);
            Output {
                end,
                timing: *plan.timings.of(plan.topology.link_kind(number, port)),
                sender: plan.sender(end.is_some_and(|(_, _, is_node)| is_node)),
                arbiter: Arbiter::new(slots),
                waiting_bytes: 0,
            }
        };
        let outputs: Vec<Output> = (0..ports).map(output).collect();
        Switch {
            number,
            plan: plan.clone(),
            events: EventQueue::new(),
            queues: Queues::new(ports, plan.lanes, plan.switches.queues),
            further: Further::new(plan, &outputs).map(Box::new),
            outputs,
        }
    }

    /// What it is called in messages.
    pub fn name(&self) -> String {
        self.plan.topology.name(self.number)
    }

    /// Events that have happened here.
    pub fn events(&self) -> u64 {
        self.events.taken()
    }

    /// Its links with their names, and what each carried.
    pub fn links(&self) -> impl Iterator<Item = (String, &crate::link::Statistics)> {
        let with_end = self.outputs.iter().enumerate().filter(|(_, output)| output.end.is_some());
        with_end.map(|(port, output)| (self.end_name(port as u16), &output.sender.statistics))
    }

    /// The sender's ends of its links, in the order of [`Switch::links`].
    pub fn senders(&self) -> impl Iterator<Item = &Sender> {
        self.outputs.iter().filter(|output| output.end.is_some()).map(|output| &output.sender)
    }

    /// What is at the other end of a port.
    fn end_name(&self, port: u16) -> String {
        match self.plan.topology.peer(self.number, port) {
            Peer::Node(node) => format!("node {}", node.0),
            Peer::Switch { switch, .. } => self.plan.topology.name(switch),
            Peer::Nothing => "nothing".into(),
        }
    }

    /// Its inputs by the name of what sends to them, and what waited in their buffers until `end`.
    pub fn inputs(&self, end: Time) -> impl Iterator<Item = (String, InputStatistics)> {
        let with_end = self.outputs.iter().enumerate().filter(|(_, output)| output.end.is_some());
        with_end.map(move |(port, _)| {
            let mut statistics = self.queues.statistics(port, end);
            if let Some(further) = &self.further {
                further.add_statistics(port, self.plan.lanes, &mut statistics);
            }
            (self.end_name(port as u16), statistics)
        })
    }

    /// A parcel comes into a lane of an input, if it is let in.
    fn take_in(&mut self, now: Time, port: u16, mut parcel: Parcel<C>, outbox: &mut Outbox<Mail<C>>) {
        let slot = Slot { input: port, lane: parcel.lane };
        if self.further.is_some() && !self.admits(now, slot, parcel.bytes, outbox) {
            return;
        }
        let hop = self.next_hop(port, &mut parcel);
        let head_start = self.outputs[usize::from(port)]
            .timing
            .head_start(&self.outputs[usize::from(hop.port)].timing, parcel.bytes);
        match head_start.is_zero() {
            true => self.queue(now, port, hop, parcel),
            false => self.events.schedule(now + head_start, Event::Started(port, hop, parcel)),
        }
    }

    /// A parcel waits for its output from now on.
    fn queue(&mut self, now: Time, port: u16, hop: Hop, mut parcel: Parcel<C>) {
        let slot = Slot { input: port, lane: parcel.lane };
        parcel.lane = self.plan.lane(&parcel, hop.lane);
        if self.further.is_some() {
            self.mark(slot.input, hop.port, &mut parcel);
        }
        self.outputs[usize::from(hop.port)].waiting_bytes += u64::from(parcel.bytes);
        if let Some(at) = self.queues.push(now, slot, hop.port, parcel) {
            self.offer(at, slot, hop.port);
        }
        if self.further.is_some() {
            self.will_tell(now);
        }
    }

    /// The parcel at the head of a queue asks for an output.
    fn offer(&mut self, at: Time, slot: Slot, output: u16) {
        let index = self.queues.index(slot);
        self.outputs[usize::from(output)].arbiter.add(index);
        self.ask(at, output);
    }

    /// Lets an output's arbiter decide as soon as its link is free, or the crossbar, from `at` on.
    fn ask(&mut self, at: Time, output: u16) {
        let Output { sender, arbiter, .. } = &mut self.outputs[usize::from(output)];
        let crossbar = self.further.as_ref().and_then(|further| further.free_at(output));
        let at = at.max(crossbar.unwrap_or(sender.free_at()));
        if arbiter.is_asked_at(at) {
            self.events.schedule(at, Event::Arbitrate(output));
        }
    }

    /// There is room behind a link again: for what waits in queues before it, or else before the crossbar.
    #[inline(always)]
    fn has_room(&mut self, now: Time, output: u16, outbox: &mut Outbox<Mail<C>>) {
        if self.further.as_ref().is_some_and(|further| further.free_at(output).is_some()) {
            self.transmit(now, output, outbox);
        } else if self.outputs[usize::from(output)].arbiter.has_candidates() {
            self.ask(now, output);
        }
    }

    /// An output's arbiter decides.
    fn arbitrate(&mut self, now: Time, number: u16, outbox: &mut Outbox<Mail<C>>) {
        let Output { arbiter, sender, .. } = &mut self.outputs[usize::from(number)];
        if !arbiter.answers(now) {
            return;
        }
        let decision = match self.further {
            None => {
                let asked = (number, self.plan.switches.arbitration);
                let has_room = |parcel: &Parcel<C>| sender.has_room(parcel.lane, parcel.bytes);
                arbiter.decide(now, asked, &self.queues, |_| Time::ZERO, has_room)
            }
            Some(_) => self.decide(now, number),
        };
        let slot = match decision {
            Decision::For(slot) => slot,
            Decision::Again(later) => return self.ask(later, number),
            Decision::NoRoom => return,
        };
        let waiting = self.queues.pop(slot, number);
        let bytes = waiting.parcel.bytes;
        self.outputs[usize::from(number)].arbiter.remove(self.queues.index(slot));
        let left = match self.further {
            None => self.send(now, number, waiting, outbox),
            Some(_) => self.cross(now, (slot, number), waiting, outbox),
        };
        if self.further.is_none() || !self.leaves(slot, bytes, left) {
            self.give_back(left, slot, bytes, outbox);
        }
        if let Some((at, output)) = self.queues.leave((slot, number), bytes, now, left) {
            self.offer(at, slot, output);
        }
        if self.outputs[usize::from(number)].arbiter.has_candidates() {
            self.ask(left, number);
        }
    }

    /// A parcel begins on an output's link: when its last byte has left.
    #[inline(always)]
    fn send(&mut self, now: Time, number: u16, waiting: Waiting<C>, outbox: &mut Outbox<Mail<C>>) -> Time {
        let output = &mut self.outputs[usize::from(number)];
        let (timing, Waiting { parcel, since, .. }) = (output.timing, waiting);
        let serialization = output.sender.start(now, &timing, &parcel, now.saturating_since(since));
        output.waiting_bytes -= u64::from(parcel.bytes);
        let (partition, port, is_node) = output.end.expect("routes lead over links");
        let arrival =
            if is_node { timing.at_node(now, serialization) } else { timing.at_switch(now, serialization) };
        outbox.send(arrival, partition, Mail::Parcel { port, parcel });
        output.sender.free_at()
    }

    /// The last byte of a parcel leaves a lane of an input at `left`: there is room from then on.
    #[inline(always)]
    fn give_back(&mut self, left: Time, slot: Slot, bytes: u32, outbox: &mut Outbox<Mail<C>>) {
        let input = &self.outputs[usize::from(slot.input)];
        let (sender, port, _) = input.end.expect("it came over a link");
        let credit = Credit { port, lane: slot.lane, bytes };
        outbox.send(input.timing.credited(left), sender, Mail::Credit(credit));
    }
}
