//! What a switch has beyond a plain one, and what it does with it at each step of a parcel.
//!
//! ```text
//!   comes ── admits ─► chooses ── mark ─► waits ── decide ─► crosses ─► leaves
//!            held                 marking          ways,     stages     held
//!                                                  stages
//! ```

use narthex_kernel::partition::Outbox;
use narthex_kernel::{Archive, Archived, Damage, Duration, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::arbitration::Decision;
use super::config::Config;
use super::crossbar::{InputWays, Stage};
use super::events::{Event, FurtherEvent};
use super::held::{Held, Lane};
use super::queues::{InputStatistics, Slot, Waiting};
use super::told::Neighbours;
use super::{Output, Plan, Routes, Switch};
use crate::backpressure::Backpressure;
use crate::parcel::{Mail, Parcel, Told};
use crate::topologies::Topology;

/// What a plain switch has not.
pub(super) struct Further<C> {
    /// The ways of inputs into the crossbar, if there are not as many as queues.
    ways: Option<InputWays>,
    /// The queues of each output, if it has any.
    stages: Vec<Stage<C>>,
    /// What lanes hold, if senders do not count it.
    held: Option<Held>,
    /// Parcels of each input that were marked, if any are.
    marked: Vec<u64>,
    /// What waits at its neighbours, if they tell.
    pub neighbours: Option<Neighbours>,
}

impl<C> Further<C> {
    /// That of a switch with these outputs; none if it is a plain one.
    pub fn new(plan: &Plan, outputs: &[Output]) -> Option<Self> {
        let ports = plan.topology.ports();
        let Config { backpressure, marking, input_ways, output_queues, .. } = &plan.switches;
        let stage = |&queues| (0..ports).map(move |_| Stage::new(queues, plan.lanes));
        let slots = outputs.len() * usize::from(plan.lanes);
        let further = Further {
            ways: input_ways.map(|per_input| InputWays::new(ports, per_input)),
            stages: output_queues.iter().flat_map(stage).collect(),
            held: (!backpressure.counts_room()).then(|| Held::new(backpressure, plan.buffer_bytes(), slots)),
            marked: vec![0; if marking.is_some() { ports.into() } else { 0 }],
            neighbours: told_after(outputs)
                .filter(|_| plan.routes == Routes::UgalG)
                .map(|interval| Neighbours::new(ports, interval)),
        };
        let Further { ways, stages, held, marked, neighbours } = &further;
        // Adaptive routes keep room for parcels, which plain outputs do not know.
        let is_plain = ways.is_none() && stages.is_empty() && held.is_none() && marked.is_empty();
        let is_plain = is_plain && neighbours.is_none() && plan.routes != Routes::Adaptive;
        (!is_plain).then_some(further)
    }

    /// When the crossbar can bring an output the next parcel, if queues are behind it.
    pub fn free_at(&self, output: u16) -> Option<Time> {
        self.stages.get(usize::from(output)).map(Stage::free_at)
    }

    /// The queues of an output, if it has any.
    pub fn stage(&mut self, output: u16) -> Option<&mut Stage<C>> {
        self.stages.get_mut(usize::from(output))
    }

    /// What waits in the queues of outputs.
    pub fn waiting(&self) -> impl Iterator<Item = &Waiting<C>> {
        self.stages.iter().flat_map(Stage::waiting)
    }

    /// Adds what it counts of an input to what its queues do.
    pub fn add_statistics(&self, port: usize, lanes: u8, statistics: &mut InputStatistics) {
        let lanes = usize::from(lanes);
        if let Some(held) = &self.held {
            let own = held.lanes[port * lanes..(port + 1) * lanes].iter();
            let sum = |count: fn(&Lane) -> u64| Some(own.map(count).sum());
            match held.loses() {
                true => statistics.dropped = sum(|lane| lane.dropped),
                false => statistics.pauses = sum(|lane| lane.pauses),
            }
        }
        statistics.marked = self.marked.get(port).copied();
    }
}

/// The shortest time in which a neighbour hears of something, if there is one.
fn told_after(outputs: &[Output]) -> Option<Duration> {
    let to_switches = outputs.iter().filter(|output| output.end.is_some_and(|(_, _, is_node)| !is_node));
    let times = to_switches.map(|output| output.timing.credited(Time::ZERO) - Time::ZERO);
    times.min()
}

/// Called only where there are further parts, and no part of a plain switch's path.
impl<C> Switch<C> {
    /// What happens where there are further parts.
    #[inline(never)]
    pub(super) fn handle(&mut self, now: Time, event: FurtherEvent, outbox: &mut Outbox<Mail<C>>) {
        match event {
            FurtherEvent::Tell => self.tell(now, outbox),
            FurtherEvent::Told(told) => self.hear(told),
            FurtherEvent::Left(slot) => self.has_left(now, slot, outbox),
            FurtherEvent::Drained(output, lane, bytes) => {
                let stage = self.further.as_mut().and_then(|further| further.stage(output));
                stage.expect("it has drained").has_left(lane, bytes);
                if self.outputs[usize::from(output)].arbiter.has_candidates() {
                    self.ask(now, output);
                }
                self.transmit(now, output, outbox);
            }
        }
    }

    /// Whether a parcel of this many bytes finds room in a lane.
    #[inline(never)]
    pub(super) fn admits(&mut self, now: Time, slot: Slot, bytes: u32, outbox: &mut Outbox<Mail<C>>) -> bool {
        let (index, input) = (self.queues.index(slot), &self.outputs[usize::from(slot.input)]);
        let held = self.further.as_mut().and_then(|further| further.held.as_mut());
        let (Some(held), Some((sender, port, _))) = (held, input.end) else { return true };
        let is_admitted = held.admits(now, index, bytes);
        if let Some(stop) = held.stop(index, slot, port) {
            outbox.send(input.timing.credited(now), sender, Mail::Credit(stop));
        }
        is_admitted
    }

    /// The last byte of a parcel has left a lane whose sender does not count it.
    fn has_left(&mut self, now: Time, slot: Slot, outbox: &mut Outbox<Mail<C>>) {
        let (index, input) = (self.queues.index(slot), &self.outputs[usize::from(slot.input)]);
        let held = self.further.as_mut().and_then(|further| further.held.as_mut());
        let (Some(held), Some((sender, port, _))) = (held, input.end) else { return };
        if let Some(go_on) = held.go_on(now, index, slot, port) {
            outbox.send(input.timing.credited(now), sender, Mail::Credit(go_on));
        }
    }

    /// Marks a parcel, or not, that comes through an input and needs an output.
    #[inline(never)]
    pub(super) fn mark(&mut self, input: u16, output: u16, parcel: &mut Parcel<C>) {
        if let (Some(marking), Some(further)) = (&self.plan.switches.marking, &mut self.further) {
            let is_marked = marking.mark(self.outputs[usize::from(output)].waiting_bytes, parcel);
            further.marked[usize::from(input)] += u64::from(is_marked);
        }
    }

    /// To whom an output's arbiter gives its link, or the crossbar's way to its queues.
    #[inline(never)]
    pub(super) fn decide(&mut self, now: Time, number: u16) -> Decision {
        let Output { arbiter, sender, .. } = &mut self.outputs[usize::from(number)];
        let (asked, queues) = ((number, self.plan.switches.arbitration), &self.queues);
        let further = self.further.as_mut().expect("it has further parts");
        let stage = further.stages.get(usize::from(number));
        let free_at =
            |index| further.ways.as_ref().map_or(Time::ZERO, |ways| ways.free_at(queues.slot(index).input));
        let has_room = |parcel: &Parcel<C>| match stage {
            Some(stage) => stage.has_room(parcel),
            None => sender.has_room_for(parcel),
        };
        arbiter.decide(now, asked, queues, free_at, has_room)
    }

    /// A parcel leaves a lane of an input for an output: when its last byte has left.
    #[inline(never)]
    pub(super) fn cross(
        &mut self,
        now: Time,
        (slot, number): (Slot, u16),
        waiting: Waiting<C>,
        outbox: &mut Outbox<Mail<C>>,
    ) -> Time {
        let whole_at =
            self.outputs[usize::from(slot.input)].timing.whole_at(waiting.came, waiting.parcel.bytes);
        let timing = &self.outputs[usize::from(number)].timing;
        let left = match self.further.as_mut().and_then(|further| further.stage(number)) {
            None => self.begin(now, number, waiting, outbox),
            Some(stage) => {
                let left = stage.take_in(now, timing, waiting, whole_at);
                self.transmit(now, number, outbox);
                left
            }
        };
        if let Some(ways) = self.further.as_mut().and_then(|further| further.ways.as_mut()) {
            ways.take(slot.input, left);
        }
        left
    }

    /// What waits in an output's queues begins on its link, if that is free and there is room behind it.
    pub(super) fn transmit(&mut self, now: Time, number: u16, outbox: &mut Outbox<Mail<C>>) {
        let sender = &self.outputs[usize::from(number)].sender;
        let stage = self.further.as_mut().and_then(|further| further.stage(number));
        let Some(stage) = stage.filter(|_| sender.free_at() <= now) else { return };
        let Some(waiting) = stage.decide(sender, self.plan.switches.arbitration) else { return };
        let (lane, bytes) = (waiting.parcel.lane, waiting.parcel.bytes);
        let left = self.begin(now, number, waiting, outbox);
        self.events.schedule(left, Event::Further(FurtherEvent::Drained(number, lane, bytes)));
    }

    /// A parcel for which room may be kept begins on an output's link: when its last byte has left.
    #[inline(never)]
    fn begin(&mut self, now: Time, number: u16, waiting: Waiting<C>, outbox: &mut Outbox<Mail<C>>) -> Time {
        self.outputs[usize::from(number)].sender.use_kept_room(&waiting.parcel);
        self.send(now, number, waiting, outbox)
    }

    /// The last byte of a parcel leaves a lane of an input at `left`: whether its sender does not count the
    /// room there.
    #[inline(never)]
    pub(super) fn leaves(&mut self, slot: Slot, bytes: u32, left: Time) -> bool {
        let index = self.queues.index(slot);
        let Some(held) = self.further.as_mut().and_then(|further| further.held.as_mut()) else {
            return false;
        };
        if held.leave(index, bytes, left) {
            self.events.schedule(left, Event::Further(FurtherEvent::Left(slot)));
        }
        true
    }

    /// A neighbour has told what waits there.
    fn hear(&mut self, told: Told) {
        let neighbours = self.further.as_mut().and_then(|further| further.neighbours.as_mut());
        neighbours.expect("it was told").hear(told);
    }

    /// Something waits that neighbours are to know, if any are.
    #[inline(never)]
    pub(super) fn will_tell(&mut self, now: Time) {
        let neighbours = self.further.as_mut().and_then(|further| further.neighbours.as_mut());
        let Some(neighbours) = neighbours else { return };
        if !std::mem::replace(&mut neighbours.is_due, true) {
            self.events.schedule(now.max(neighbours.not_before), Event::Further(FurtherEvent::Tell));
        }
    }

    /// Tells each neighbour what has changed, and comes back to it while anything waits.
    fn tell(&mut self, now: Time, outbox: &mut Outbox<Mail<C>>) {
        let mut further = self.further.take().expect("it has further parts");
        let neighbours = further.neighbours.as_mut().expect("it tells");
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
            self.events.schedule(neighbours.not_before, Event::Further(FurtherEvent::Tell));
        }
        self.further = Some(further);
    }

    fn ports_to_switches(&self) -> impl Iterator<Item = u16> + use<'_, C> {
        let outputs = (0..).zip(&self.outputs);
        outputs.filter_map(|(port, output)| output.end.filter(|&(_, _, is_node)| !is_node).map(|_| port))
    }
}

impl<C: Serialize + DeserializeOwned> Archived for Further<C> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Further { ways, stages, held, marked, neighbours } = self;
        ways.as_mut().map_or(Ok(()), |ways| ways.archive(archive))?;
        stages.iter_mut().try_for_each(|stage| stage.archive(archive))?;
        held.as_mut().map_or(Ok(()), |held| held.archive(archive))?;
        archive.each(marked.iter_mut())?;
        neighbours.as_mut().map_or(Ok(()), |neighbours| neighbours.archive(archive))
    }
}
