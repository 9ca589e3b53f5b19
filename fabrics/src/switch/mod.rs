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
//! **Further parts**, each in its file and none where the machine's file does not ask for it: a crossbar that
//! is not ideal and queues behind it ([`crossbar`]), what lanes hold where senders count no credits
//! ([`held`]), marks of congestion ([`marking`]), and what switches tell each other ([`told`]).

mod arbitration;
mod crossbar;
mod held;
mod marking;
mod queues;
mod routing;
mod stuck;
mod told;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use narthex_kernel::partition::{Envelope, Outbox, Partition, Status};
use narthex_kernel::{Archive, Archived, Damage, Duration, EventQueue, Time};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::backpressure::{self, Backpressure};
use crate::link::{Sender, Timing, Timings};
use crate::packet::NodeId;
use crate::parcel::{Credit, Mail, Parcel, Room, Told};
use crate::topologies::{self, Hop, Peer, Topology};

pub use crossbar::OutputQueues;
pub use marking::Marking;
pub use queues::{InputStatistics, Queues};
pub use routing::Routes;
pub use stuck::StuckParcel;

use arbitration::{Arbiter, Decision};
use crossbar::{InputWays, Stage};
use held::Held;
use queues::{Slot, Waiting};
use told::Neighbours;

/// The switches of a network, which are all alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// When a switch passes a parcel on.
    pub switching: Switching,
    /// Time from the arrival of a parcel (its head, or the whole where parcels are
    /// stored) to the instant at which it may leave.
    pub delay: Duration,
    /// The buffer of each lane of an input, and of a node: at least one parcel.
    pub buffer: narthex_kernel::Bytes,
    /// How parcels wait in a buffer.
    pub queues: QueueKind,
    /// Which parcel of those with the same priority goes first.
    pub arbitration: Arbitration,
    /// How many parcels may leave an input at once; without it as many as it has queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub input_ways: Option<u32>,
    /// Queues behind the crossbar, and how fast that is; without it parcels go straight to the links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_queues: Option<OutputQueues>,
    /// What keeps the sender of a link from filling the buffer behind it; without it credits.
    #[serde(default, skip_serializing_if = "backpressure::Config::is_default")]
    pub backpressure: backpressure::Config,
    /// Which parcels are marked, as those that have met congestion; without it none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marking: Option<Marking>,
}

/// When a switch passes a parcel on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Switching {
    /// As soon as its head has arrived, if there is room for all of it behind the next link.
    VirtualCutThrough,
    /// When all of it has arrived.
    StoreAndForward,
}

/// How parcels wait in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueKind {
    /// In one queue for each lane of an input.
    Single,
    /// In a queue for each output, of each lane of an input.
    ByOutput,
}

/// Which parcel of those with the same priority goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// Inputs and their lanes take turns.
    RoundRobin,
    /// The parcel that was handed over to the network first; of several, the one at the
    /// lowest input.
    Age,
}

/// What all switches of a network have in common.
#[derive(Debug)]
pub struct Plan {
    /// Which links and routes there are.
    pub topology: topologies::Config,
    /// How many nodes are attached.
    pub nodes: u32,
    /// How long things take.
    pub timings: Timings,
    /// The switches.
    pub switches: Config,
    /// Whether parcels make detours.
    pub routes: Routes,
    /// Lanes of a link.
    pub lanes: u8,
    /// Lanes of each priority.
    pub lanes_per_priority: u8,
    /// Lanes of each priority that a parcel of one group uses.
    pub route_lanes: u8,
}

impl Plan {
    /// What a parcel takes from one node to another that meets no other, from the hand-over of its
    /// last byte to the arrival of its last byte, on the first of its ways.
    pub fn zero_load(&self, source: NodeId, destination: NodeId, bytes: u32) -> Duration {
        let start = Time::ZERO;
        let mut link = *self.timings.of_nodes();
        let (mut switch, _) = self.topology.attachment(source);
        let mut head = start;
        loop {
            let serialization = link.serialization(bytes);
            let Hop { port, .. } = self.topology.route(switch, destination, 0);
            let next = *self.timings.of(self.topology.link_kind(switch, port));
            head = link.at_switch(head, serialization) + link.head_start(&next, bytes);
            link = next;
            match self.topology.peer(switch, port) {
                Peer::Switch { switch: other, .. } => switch = other,
                _ => return link.at_node(head, link.serialization(bytes)) - start,
            }
        }
    }

    /// The sender's end of a link, to a node or to a switch.
    pub(crate) fn sender(&self, is_to_node: bool) -> Sender {
        match is_to_node || self.switches.backpressure.counts_room() {
            true => Sender::new(self.lanes, self.buffer_bytes()),
            false => Sender::without_credits(self.lanes),
        }
    }

    /// The buffer of a lane.
    pub fn buffer_bytes(&self) -> u32 {
        self.switches.buffer.as_u64() as u32
    }

    /// How many groups of lanes a priority has.
    pub fn groups(&self) -> u8 {
        self.lanes_per_priority / self.route_lanes
    }

    /// The partition and the port at the other end of a switch's port.
    fn other_end(&self, switch: u32, port: u16) -> Option<(usize, u16, bool)> {
        match self.topology.peer(switch, port) {
            Peer::Node(node) => (u32::from(node.0) < self.nodes).then_some((usize::from(node.0), 0, true)),
            Peer::Switch { switch, port } => Some((self.partition(switch), port, false)),
            Peer::Nothing => None,
        }
    }

    /// The partition of a switch: they follow the nodes.
    pub fn partition(&self, switch: u32) -> usize {
        (self.nodes + switch) as usize
    }
}

/// What can happen at a switch.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Event<C> {
    /// The head of a parcel that has come through this port may leave.
    Parcel(u16, Parcel<C>),
    /// A parcel that came over a slower link than that of this output has a head start.
    Started(u16, Hop, Parcel<C>),
    /// There is room behind a link.
    Credit(Credit),
    /// The arbiter of this output was to decide now.
    Arbitrate(u16),
    /// The last byte of a parcel has left a lane of an input.
    Left(Slot),
    /// The last byte of a parcel has left the queue of this lane of an output.
    Drained(u16, u8, u32),
    /// A neighbour has told what waits there.
    Told(Told),
    /// The switch tells its neighbours.
    Tell,
}

/// An output: its link, and who gets it.
struct Output<C> {
    /// The partition behind it, the port there, and whether it is a node.
    end: Option<(usize, u16, bool)>,
    timing: Timing,
    sender: Sender,
    arbiter: Arbiter,
    /// Its queues, if it has any.
    stage: Option<Box<Stage<C>>>,
    /// Bytes in this switch that need it.
    waiting_bytes: u64,
}

/// A switch.
pub struct Switch<C> {
    number: u32,
    plan: Arc<Plan>,
    events: EventQueue<Event<C>>,
    outputs: Vec<Output<C>>,
    queues: Queues<C>,
    /// The ways of inputs into the crossbar, if there are not as many as queues.
    ways: Option<InputWays>,
    /// What lanes hold, if senders do not count it.
    held: Option<Held>,
    /// Parcels of each input that were marked.
    marked: Vec<u64>,
    /// What waits at its neighbours, if they tell.
    neighbours: Option<Box<Neighbours>>,
}

impl<C> Switch<C> {
    /// A switch of a network, without parcels.
    pub fn new(number: u32, plan: &Arc<Plan>) -> Self {
        let ports = plan.topology.ports();
        let slots = usize::from(ports) * usize::from(plan.lanes);
        let Config { backpressure, marking, input_ways, output_queues, .. } = &plan.switches;
        let output = |port| {
            let end = plan.other_end(number, port);
            Output {
                end,
                timing: *plan.timings.of(plan.topology.link_kind(number, port)),
                sender: plan.sender(end.is_some_and(|(_, _, is_node)| is_node)),
                arbiter: Arbiter::new(slots),
                stage: output_queues.map(|queues| Box::new(Stage::new(queues, plan.lanes))),
                waiting_bytes: 0,
            }
        };
        let outputs: Vec<Output<C>> = (0..ports).map(output).collect();
        Switch {
            number,
            plan: plan.clone(),
            events: EventQueue::new(),
            neighbours: told_after(&outputs)
                .filter(|_| plan.routes == Routes::UgalG)
                .map(|interval| Box::new(Neighbours::new(ports, interval))),
            outputs,
            queues: Queues::new(ports, plan.lanes, plan.switches.queues),
            ways: input_ways.map(|per_input| InputWays::new(ports, per_input)),
            held: (!backpressure.counts_room()).then(|| Held::new(backpressure, plan.buffer_bytes(), slots)),
            marked: vec![0; if marking.is_some() { ports.into() } else { 0 }],
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
            let lanes = usize::from(self.plan.lanes);
            let sum = |count: fn(&held::Lane) -> u64| {
                let own = self.held.as_ref().map(|held| &held.lanes[port * lanes..(port + 1) * lanes]);
                own.map(|own| own.iter().map(count).sum())
            };
            let loses = self.held.as_ref().is_some_and(Held::loses);
            let statistics = InputStatistics {
                dropped: sum(|lane| lane.dropped).filter(|_| loses),
                pauses: sum(|lane| lane.pauses).filter(|_| !loses),
                marked: self.marked.get(port).copied(),
                ..self.queues.statistics(port, end)
            };
            (self.end_name(port as u16), statistics)
        })
    }

    /// A parcel comes into a lane of an input, if it is let in.
    fn take_in(&mut self, now: Time, port: u16, mut parcel: Parcel<C>, outbox: &mut Outbox<Mail<C>>) {
        if self.held.is_some()
            && !self.admits(now, Slot { input: port, lane: parcel.lane }, parcel.bytes, outbox)
        {
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

    /// Whether a parcel of this many bytes finds room in a lane whose sender does not count it.
    #[inline(never)]
    fn admits(&mut self, now: Time, slot: Slot, bytes: u32, outbox: &mut Outbox<Mail<C>>) -> bool {
        let (index, input) = (self.queues.index(slot), &self.outputs[usize::from(slot.input)]);
        let (Some(held), Some((sender, port, _))) = (&mut self.held, input.end) else { return true };
        let is_admitted = held.admits(now, index, bytes);
        if let Some(stop) = held.stop(index, slot, port) {
            outbox.send(input.timing.credited(now), sender, Mail::Credit(stop));
        }
        is_admitted
    }

    /// The last byte of a parcel has left a lane whose sender does not count it.
    fn has_left(&mut self, now: Time, slot: Slot, outbox: &mut Outbox<Mail<C>>) {
        let (index, input) = (self.queues.index(slot), &self.outputs[usize::from(slot.input)]);
        let (Some(held), Some((sender, port, _))) = (&mut self.held, input.end) else { return };
        if let Some(go_on) = held.go_on(now, index, slot, port) {
            outbox.send(input.timing.credited(now), sender, Mail::Credit(go_on));
        }
    }

    /// A parcel waits for its output from now on.
    fn queue(&mut self, now: Time, port: u16, hop: Hop, mut parcel: Parcel<C>) {
        let slot = Slot { input: port, lane: parcel.lane };
        parcel.lane = self.plan.lane(&parcel, hop.lane);
        // Only queues behind the crossbar ask.
        let whole_at = match self.plan.switches.output_queues {
            None => now,
            Some(_) => self.outputs[usize::from(port)].timing.whole_at(now, parcel.bytes),
        };
        let output = &mut self.outputs[usize::from(hop.port)];
        if let Some(marking) = &self.plan.switches.marking {
            self.marked[usize::from(port)] += u64::from(marking.mark(output.waiting_bytes, &mut parcel));
        }
        output.waiting_bytes += u64::from(parcel.bytes);
        if let Some(at) = self.queues.push(now, slot, hop.port, (parcel, whole_at)) {
            self.offer(at, slot, hop.port);
        }
        if self.neighbours.is_some() {
            self.will_tell(now);
        }
    }

    /// Something waits that neighbours are to know.
    #[inline(never)]
    fn will_tell(&mut self, now: Time) {
        let neighbours = self.neighbours.as_mut().expect("it tells");
        if !std::mem::replace(&mut neighbours.is_due, true) {
            self.events.schedule(now.max(neighbours.not_before), Event::Tell);
        }
    }

    /// Tells each neighbour what has changed, and comes back to it while anything waits.
    #[inline(never)]
    fn tell(&mut self, now: Time, outbox: &mut Outbox<Mail<C>>) {
        let mut neighbours = self.neighbours.take().expect("it tells");
        let mut is_over = true;
        for output in self.ports_to_switches() {
            let bytes = u32::try_from(self.waiting_for(output)).unwrap_or(u32::MAX);
            let has_changed = neighbours.has_changed(output, bytes);
            is_over &= bytes == 0 && !has_changed;
            // The one behind that link sends nothing over it.
            for port in self.ports_to_switches().filter(|&port| has_changed && port != output) {
                let Output { end, timing, .. } = &self.outputs[usize::from(port)];
                let &(partition, its, _) = end.as_ref().expect("there is a switch");
                let told = Told { port: its, output, bytes };
                outbox.send(timing.credited(now), partition, Mail::Told(told));
            }
        }
        neighbours.not_before = now + neighbours.interval;
        neighbours.is_due = !is_over;
        if neighbours.is_due {
            self.events.schedule(neighbours.not_before, Event::Tell);
        }
        self.neighbours = Some(neighbours);
    }

    fn ports_to_switches(&self) -> impl Iterator<Item = u16> + use<'_, C> {
        let outputs = (0..).zip(&self.outputs);
        outputs.filter_map(|(port, output)| output.end.filter(|&(_, _, is_node)| !is_node).map(|_| port))
    }

    /// The parcel at the head of a queue asks for an output.
    fn offer(&mut self, at: Time, slot: Slot, output: u16) {
        let index = self.queues.index(slot);
        self.outputs[usize::from(output)].arbiter.add(index);
        self.ask(at, output);
    }

    /// Lets an output's arbiter decide as soon as its link is free, or the crossbar, from `at` on.
    fn ask(&mut self, at: Time, output: u16) {
        let Output { sender, arbiter, stage, .. } = &mut self.outputs[usize::from(output)];
        let at = at.max(stage.as_ref().map_or(sender.free_at(), |stage| stage.free_at()));
        if arbiter.is_asked_at(at) {
            self.events.schedule(at, Event::Arbitrate(output));
        }
    }

    /// An output's arbiter decides.
    fn arbitrate(&mut self, now: Time, number: u16, outbox: &mut Outbox<Mail<C>>) {
        let output = &mut self.outputs[usize::from(number)];
        if !output.arbiter.answers(now) {
            return;
        }
        let slot = match self.decide(now, number) {
            Decision::For(slot) => slot,
            Decision::Again(later) => return self.ask(later, number),
            Decision::NoRoom => return,
        };
        let waiting = self.queues.pop(slot, number);
        let bytes = waiting.parcel.bytes;
        let output = &mut self.outputs[usize::from(number)];
        output.arbiter.remove(self.queues.index(slot));
        let left = match &mut output.stage {
            None => self.send(now, number, waiting, outbox),
            Some(stage) => {
                let left = stage.take_in(now, &output.timing, waiting);
                self.transmit(now, number, outbox);
                left
            }
        };
        if let Some(ways) = &mut self.ways {
            ways.take(slot.input, left);
        }
        self.give_back(left, slot, bytes, outbox);
        if let Some((at, output)) = self.queues.leave((slot, number), bytes, now, left) {
            self.offer(at, slot, output);
        }
        if self.outputs[usize::from(number)].arbiter.has_candidates() {
            self.ask(left, number);
        }
    }

    /// To whom an output's arbiter gives its link, or the crossbar's way to its queues.
    #[inline(always)]
    fn decide(&mut self, now: Time, number: u16) -> Decision {
        let Output { arbiter, sender, stage, .. } = &mut self.outputs[usize::from(number)];
        let (asked, queues) = ((number, self.plan.switches.arbitration), &self.queues);
        let has_credits = |parcel: &Parcel<C>| sender.has_room_for(parcel);
        match (&self.ways, &*stage) {
            (None, None) => arbiter.decide(now, asked, queues, |_| Time::ZERO, has_credits),
            (ways, stage) => {
                let free_at =
                    |index| ways.as_ref().map_or(Time::ZERO, |ways| ways.free_at(queues.slot(index).input));
                let has_room = |parcel: &Parcel<C>| match stage {
                    Some(stage) => stage.has_room(parcel),
                    None => has_credits(parcel),
                };
                arbiter.decide(now, asked, queues, free_at, has_room)
            }
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

    /// What waits in an output's queues begins on its link, if that is free and there is room behind it.
    #[inline(never)]
    fn transmit(&mut self, now: Time, number: u16, outbox: &mut Outbox<Mail<C>>) {
        let output = &mut self.outputs[usize::from(number)];
        let Some(stage) = output.stage.as_mut().filter(|_| output.sender.free_at() <= now) else { return };
        let Some(waiting) = stage.decide(&output.sender, self.plan.switches.arbitration) else { return };
        let (lane, bytes) = (waiting.parcel.lane, waiting.parcel.bytes);
        let left = self.send(now, number, waiting, outbox);
        self.events.schedule(left, Event::Drained(number, lane, bytes));
    }

    /// The last byte of a parcel leaves a lane of an input at `left`: there is room from then on.
    #[inline(always)]
    fn give_back(&mut self, left: Time, slot: Slot, bytes: u32, outbox: &mut Outbox<Mail<C>>) {
        let input = &self.outputs[usize::from(slot.input)];
        let (sender, port, _) = input.end.expect("it came over a link");
        if let Some(held) = &mut self.held {
            if held.leave(self.queues.index(slot), bytes, left) {
                self.events.schedule(left, Event::Left(slot));
            }
            return;
        }
        let credit = Credit { port, lane: slot.lane, room: Room::More(bytes) };
        outbox.send(input.timing.credited(left), sender, Mail::Credit(credit));
    }
}

/// The shortest time in which a neighbour hears of something, if there is one.
fn told_after<C>(outputs: &[Output<C>]) -> Option<Duration> {
    let to_switches = outputs.iter().filter(|output| output.end.is_some_and(|(_, _, is_node)| !is_node));
    let times = to_switches.map(|output| output.timing.credited(Time::ZERO) - Time::ZERO);
    times.min()
}

impl<C: Send> Partition for Switch<C> {
    type Payload = Mail<C>;

    fn next_time(&self) -> Option<Time> {
        self.events.next_time()
    }

    fn advance(&mut self, outbox: &mut Outbox<Mail<C>>) {
        while let Some((now, event)) = self.events.pop_before(outbox.until()) {
            match event {
                Event::Parcel(port, parcel) => self.take_in(now, port, parcel, outbox),
                Event::Started(port, hop, parcel) => self.queue(now, port, hop, parcel),
                Event::Credit(Credit { port, lane, room }) => {
                    let output = &mut self.outputs[usize::from(port)];
                    output.sender.credit(lane, room);
                    if output.stage.is_some() {
                        self.transmit(now, port, outbox);
                    } else if output.arbiter.has_candidates() {
                        self.ask(now, port);
                    }
                }
                Event::Arbitrate(output) => self.arbitrate(now, output, outbox),
                Event::Tell => self.tell(now, outbox),
                Event::Told(told) => self.neighbours.as_mut().expect("it was told").hear(told),
                Event::Left(slot) => self.has_left(now, slot, outbox),
                Event::Drained(port, lane, bytes) => {
                    let output = &mut self.outputs[usize::from(port)];
                    output.stage.as_mut().expect("it has drained").has_left(lane, bytes);
                    if output.arbiter.has_candidates() {
                        self.ask(now, port);
                    }
                    self.transmit(now, port, outbox);
                }
            }
        }
    }

    fn deliver(&mut self, envelope: Envelope<Mail<C>>) {
        self.events.receive(envelope, |mail| match mail {
            Mail::Parcel { port, parcel } => Event::Parcel(port, parcel),
            Mail::Credit(credit) => Event::Credit(credit),
            Mail::Told(told) => Event::Told(told),
            Mail::Direct(..) => unreachable!("what goes through a switch has a label"),
        });
    }

    /// A switch has no work of its own.
    fn status(&self) -> Status {
        Status::Finished { at: Time::ZERO }
    }

    /// That a parcel has come further is shown by its arrival at a node.
    fn progress(&self) -> u64 {
        0
    }
}

impl<C: Serialize + DeserializeOwned> Archived for Switch<C> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Switch { number: _, plan, events, outputs, queues, ways, held, marked, neighbours } = self;
        events.archive(archive)?;
        for Output { end: _, timing: _, sender, arbiter, stage, waiting_bytes } in outputs.iter_mut() {
            let lanes = sender.lanes();
            archive.value(sender)?;
            archive.ensure(sender.lanes() == lanes, "a link has other lanes than the machine's")?;
            arbiter.archive(archive)?;
            stage.as_deref_mut().map_or(Ok(()), |stage| stage.archive(archive))?;
            archive.value(waiting_bytes)?;
        }
        ways.as_mut().map_or(Ok(()), |ways| ways.archive(archive))?;
        held.as_mut().map_or(Ok(()), |held| held.archive(archive))?;
        archive.each(marked.iter_mut())?;
        neighbours.as_deref_mut().map_or(Ok(()), |neighbours| neighbours.archive(archive))?;
        queues.archive(archive)?;
        for (index, output) in queues.heads() {
            outputs[usize::from(output)].arbiter.add(index);
        }
        let ports = outputs.len();
        let fits = |event: &Event<C>| match event {
            Event::Started(_, hop, _) if usize::from(hop.port) >= ports => false,
            Event::Parcel(port, parcel) | Event::Started(port, _, parcel) => {
                usize::from(*port) < ports && plan.fits(parcel) && outputs[usize::from(*port)].end.is_some()
            }
            Event::Credit(credit) => usize::from(credit.port) < ports && credit.lane < plan.lanes,
            Event::Arbitrate(output) => usize::from(*output) < ports,
            Event::Tell => neighbours.is_some(),
            Event::Told(told) => neighbours.is_some() && usize::from(told.port.max(told.output)) < ports,
            Event::Left(slot) => usize::from(slot.input) < ports && slot.lane < plan.lanes,
            Event::Drained(output, lane, _) => {
                outputs.get(usize::from(*output)).is_some_and(|output| output.stage.is_some())
                    && *lane < plan.lanes
            }
        };
        archive.ensure(
            events.iter().all(|(_, event)| fits(event)),
            "a switch has an event of another machine",
        )?;
        let staged =
            outputs.iter().filter_map(|output| output.stage.as_ref()).flat_map(|stage| stage.waiting());
        let parcels = queues.parcels().chain(staged.map(|waiting| &waiting.parcel));
        archive.ensure(
            parcels.into_iter().all(|parcel| plan.fits(parcel)),
            "a switch has a parcel of another machine",
        )
    }
}

impl Plan {
    /// Whether a parcel that was read may be one of this network.
    pub(crate) fn fits<C>(&self, parcel: &Parcel<C>) -> bool {
        let known = |node: crate::packet::NodeId| u32::from(node.0) < self.nodes;
        known(parcel.source)
            && known(parcel.destination)
            && known(parcel.towards)
            && parcel.lane < self.lanes
            && parcel.group < self.groups()
            && u32::from(parcel.priority) * u32::from(self.lanes_per_priority) < u32::from(self.lanes)
    }
}
