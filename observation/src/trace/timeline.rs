//! From the records of nodes to what stands in the rows of a timeline.
//!
//! Records come in the order of time, then of nodes. Of each row is known what
//! goes on in it; what records say about an instant is its *goal* for that
//! instant, and when time moves on the difference is written. So a row that was
//! at three things in one instant shows the last, nothing has a length of zero,
//! and the bytes do not depend on how often recorders were emptied.
//!
//! ```text
//!   record ──► goal of its row ──► time moves on: write the difference ──► format
//!   crossing ──► its end, later ──────┘
//! ```
//!
//! Before the timeline's begin all of this is done and nothing is written; then
//! what goes on begins, in the picture, with the timeline. What goes on at its
//! end ends with it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::io;
use std::mem;

use narthex_kernel::Time;
use narthex_machine::node::probe::{Crossing, Event, Hold, OnLink, Supplier};

use super::flights::Flights;
use super::format::Format;
use super::recorder::TraceRecord;
use super::rows::{Code, Direction, Label, Row, Step, Track, Transaction};

/// What happened at a node, with what its address is called, if it has one.
#[derive(Debug)]
pub struct Entry {
    /// When.
    pub at: Time,
    /// At which node.
    pub node: usize,
    /// What.
    pub sight: TraceRecord,
    /// What its address is called, or the function or region.
    pub place: Option<String>,
}

/// What a row is to show from an instant on.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Goal {
    /// What goes on in it, the outermost first.
    Stack(Vec<Label>),
    Number(u64),
}

/// A timeline that is written as time goes by.
pub struct Timeline {
    format: Box<dyn Format>,
    /// Nothing is written before.
    from: Time,
    has_begun: bool,
    present: Time,
    /// What rows are to show from the present on.
    goals: BTreeMap<Row, Goal>,
    stacks: BTreeMap<Row, Vec<Label>>,
    numbers: BTreeMap<Row, u64>,
    /// Buses that are taken, for how long is not known yet.
    held: BTreeSet<Row>,
    /// The latest transaction of each agent on a directory, and when it is over, once that is
    /// known.
    asked: BTreeMap<Row, (Label, Time)>,
    /// The packet that left each tile last.
    latest: BTreeMap<Row, u64>,
    /// When transactions are over.
    ends: BinaryHeap<Reverse<(Time, Row)>>,
    flights: Flights,
    transactions: u64,
    /// The functions that each processor is in.
    paths: BTreeMap<Row, Vec<Label>>,
    /// The regions that are open on each processor of each node, by the row in which they are.
    regions: BTreeMap<(usize, usize), Vec<Option<Code>>>,
    /// How often something of a program has been entered.
    entered: u64,
}

/// The row of an agent's transactions: a bus has one at a time, on a directory each agent has.
fn track(&Hold { bus, overlaps, agent, .. }: &Hold) -> Track {
    if overlaps { Track::Requester(agent) } else { Track::Bus(bus) }
}

/// A crossing as what began it.
fn hold(&Crossing { bus, overlaps, agent, kind, message, address, .. }: &Crossing) -> Hold {
    Hold { bus, overlaps, agent, kind, message, address }
}

impl Timeline {
    /// An empty one that begins at `from`.
    pub fn new(format: Box<dyn Format>, from: Time, flights: Flights) -> Self {
        Timeline {
            format,
            from,
            has_begun: false,
            present: Time::ZERO,
            goals: BTreeMap::new(),
            stacks: BTreeMap::new(),
            numbers: BTreeMap::new(),
            held: BTreeSet::new(),
            asked: BTreeMap::new(),
            latest: BTreeMap::new(),
            ends: BinaryHeap::new(),
            flights,
            transactions: 0,
            paths: BTreeMap::new(),
            regions: BTreeMap::new(),
            entered: 0,
        }
    }

    /// Takes in what happened, in the order of time.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn take(&mut self, entry: Entry) -> io::Result<()> {
        self.reach(entry.at)?;
        let row = |track| Row { node: entry.node, track };
        match entry.sight {
            TraceRecord::Engine(side, engine) => {
                let doing = engine.doing.map(Label::Engine);
                self.aim(row(Track::Part(side)), Goal::Stack(doing.into_iter().collect()));
                self.aim(row(Track::Messages(side)), Goal::Number(engine.messages));
            }
            TraceRecord::Buffers(buffers) => {
                self.aim(row(Track::Unacknowledged), Goal::Number(buffers.unacknowledged));
                self.aim(row(Track::Returned), Goal::Number(buffers.returned));
                self.aim(row(Track::Waiting), Goal::Number(buffers.waiting));
            }
            TraceRecord::Port(Event::Departure(..) | Event::Arrival(..)) | TraceRecord::Waiting(..) => {
                if entry.at >= self.from {
                    self.begin()?;
                }
                let steps = self.flights.follow(entry.node, &entry.sight, self.has_begun);
                for (step, frame) in steps.into_iter().filter(|_| self.has_begun) {
                    self.format.packet(entry.at, row(Track::Network), step, &frame)?;
                }
            }
            TraceRecord::Region { processor, begins, .. } => {
                let name = entry.place.unwrap_or_default();
                self.take_region(entry.node, processor, name, begins);
            }
            TraceRecord::Path { processor, kept, called } => {
                let label = called.map(|_| Label::Code(self.code(entry.place)));
                let row = row(Track::Functions(processor));
                let path = self.paths.entry(row).or_default();
                path.truncate(kept);
                path.extend(label);
                let stack = path.clone();
                self.aim(row, Goal::Stack(stack));
            }
            TraceRecord::Handler(processor, function) => {
                let label = function.map(|_| Label::Code(self.code(entry.place)));
                self.aim(row(Track::Handlers(processor)), Goal::Stack(label.into_iter().collect()));
            }
            TraceRecord::Port(event) => self.take_event(entry.at, entry.node, event, entry.place),
        }
        Ok(())
    }

    /// What happens inside a node: on its interconnects, and what its processors are at.
    fn take_event(&mut self, at: Time, node: usize, event: Event, place: Option<String>) {
        let row = |track| Row { node, track };
        match event {
            Event::Booking { processor, activity, occupation } => {
                let stack = vec![Label::Activity(activity), Label::Occupation(occupation)];
                self.aim(row(Track::Processor(processor)), Goal::Stack(stack));
            }
            Event::Crossing(crossing) => self.cross(row(track(&hold(&crossing))), &crossing, place),
            Event::Refused(refused) => {
                let place = place.map(|place| format!("{place} (refused)"));
                self.cross(row(Track::Bus(refused.crossing.bus)), &refused.crossing, place)
            }
            Event::Held(hold) => {
                let name = hold.message.unwrap_or(hold.kind.name());
                let transaction = self.transaction(&hold, name, place, None);
                let row = row(track(&hold));
                self.held.insert(row);
                if let Track::Requester(_) = row.track {
                    self.asked.insert(row, (transaction.clone(), Time::NEVER));
                }
                self.aim(row, Goal::Stack(vec![transaction]));
            }
            Event::OnLink(OnLink { bus, packet }) => {
                let row = row(Track::Link(bus, Direction::of(&packet)));
                self.ends.push(Reverse((packet.wires.1, row)));
                self.aim(row, Goal::Stack(vec![Label::OnLink(packet, place)]));
            }
            Event::Message(message) => {
                let row = row(Track::Requester(message.agent));
                if let Some((asked @ Label::Transaction(transaction), end)) = self.asked.get(&row)
                    && transaction.address == message.address
                    && at < *end
                {
                    let stack = vec![asked.clone(), Label::Message(message)];
                    self.aim(row, Goal::Stack(stack));
                }
            }
            Event::Packet(packet) => {
                let row = row(Track::Packets(packet.port));
                match packet.is_there {
                    true if self.latest.get(&row) != Some(&packet.number) => {}
                    true => self.aim(row, Goal::Stack(Vec::new())),
                    false => {
                        self.latest.insert(row, packet.number);
                        self.aim(row, Goal::Stack(vec![Label::Packet(packet)]));
                    }
                }
            }
            Event::Kept(bus) => self.aim(row(Track::Bus(bus)), Goal::Stack(vec![Label::Kept])),
            Event::Released(bus) => {
                self.held.remove(&row(Track::Bus(bus)));
                self.aim(row(Track::Bus(bus)), Goal::Stack(Vec::new()));
            }
            Event::Departure(..) | Event::Arrival(..) | Event::Timer(_) => {}
            Event::Entered { .. } | Event::InUse(_) => {}
        }
    }

    /// A region begins in the first row of its processor that is free, or the latest of its name
    /// ends.
    fn take_region(&mut self, node: usize, processor: usize, name: String, begins: bool) {
        let code = begins.then(|| self.code(Some(name.clone())));
        let levels = self.regions.entry((node, processor)).or_default();
        let level = match &code {
            Some(_) => levels.iter().position(Option::is_none).or(Some(levels.len())),
            None => {
                let open =
                    levels.iter().enumerate().filter_map(|(level, open)| Some((open.as_ref()?, level)));
                open.filter(|(open, _)| open.name == name)
                    .max_by_key(|(open, _)| open.number)
                    .map(|found| found.1)
            }
        };
        let Some(level) = level else { return };
        levels.resize(levels.len().max(level + 1), None);
        levels[level].clone_from(&code);
        let row = Row { node, track: Track::Regions(processor, level) };
        self.aim(row, Goal::Stack(code.map(Label::Code).into_iter().collect()));
    }

    /// Something of a program that is entered now.
    fn code(&mut self, name: Option<String>) -> Code {
        self.entered += 1;
        Code { number: self.entered, name: name.unwrap_or_default() }
    }

    /// A transaction whose end is known; its begin may have been taken in before.
    fn cross(&mut self, row: Row, crossing: &Crossing, place: Option<String>) {
        self.ends.push(Reverse((crossing.released, row)));
        if let Some((_, end)) = self.asked.get_mut(&row) {
            *end = crossing.released;
        }
        if self.held.remove(&row) || crossing.granted < self.present {
            return;
        }
        let name = crossing.message.unwrap_or(crossing.name());
        let label = self.transaction(&hold(crossing), name, place, crossing.supplier);
        self.aim(row, Goal::Stack(vec![label]));
    }

    fn transaction(
        &mut self,
        hold: &Hold,
        name: &'static str,
        place: Option<String>,
        supplier: Option<Supplier>,
    ) -> Label {
        self.transactions += 1;
        let &Hold { bus: _, overlaps: _, agent, kind, message: _, address } = hold;
        let place = place.unwrap_or_default();
        Label::Transaction(Transaction {
            number: self.transactions,
            agent,
            kind,
            name,
            address,
            place,
            supplier,
        })
    }

    fn aim(&mut self, row: Row, goal: Goal) {
        self.goals.insert(row, goal);
    }

    /// Time moves on to `now`; to where it is already if that is later, because
    /// a record has come that tells more about something that has begun.
    fn reach(&mut self, now: Time) -> io::Result<()> {
        while let Some(&Reverse((end, row))) = self.ends.peek()
            && end <= now
        {
            self.move_on(end)?;
            self.ends.pop();
            self.aim(row, Goal::Stack(Vec::new()));
        }
        self.move_on(now)
    }

    fn move_on(&mut self, now: Time) -> io::Result<()> {
        if now <= self.present {
            return Ok(());
        }
        self.settle()?;
        if now > self.from {
            self.begin()?;
        }
        self.present = now;
        Ok(())
    }

    /// The timeline begins, if its time has come: with what goes on already.
    fn begin(&mut self) -> io::Result<()> {
        if mem::replace(&mut self.has_begun, true) {
            return Ok(());
        }
        for (&row, stack) in &self.stacks {
            for label in stack {
                self.format.begin(self.from, row, label)?;
            }
        }
        self.numbers.iter().try_for_each(|(&row, &value)| self.format.number(self.from, row, value))
    }

    /// Writes how rows differ from what they are to show from the present on.
    fn settle(&mut self) -> io::Result<()> {
        for (row, goal) in mem::take(&mut self.goals) {
            match goal {
                Goal::Stack(labels) => self.restack(row, labels)?,
                Goal::Number(value) => {
                    let former = self.numbers.insert(row, value);
                    if self.has_begun && former != Some(value) {
                        self.format.number(self.present, row, value)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends what is over in a row, and begins what is new.
    fn restack(&mut self, row: Row, labels: Vec<Label>) -> io::Result<()> {
        let stack = self.stacks.entry(row).or_default();
        let kept = stack.iter().zip(&labels).take_while(|(old, new)| old == new).count();
        if self.has_begun {
            stack[kept..].iter().try_for_each(|_| self.format.end(self.present, row))?;
            labels[kept..].iter().try_for_each(|label| self.format.begin(self.present, row, label))?;
        }
        *stack = labels;
        Ok(())
    }

    /// Whether it holds as much as its viewer can show.
    pub fn is_full(&self) -> bool {
        self.format.is_full()
    }

    /// It says that the run goes on behind its end.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn cut(&mut self, end: Time) -> io::Result<()> {
        self.format.cut(end)
    }

    /// The timeline is over.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(&mut self, end: Time) -> io::Result<()> {
        self.reach(end)?;
        if self.has_begun {
            // What would begin now would have no length.
            self.goals.retain(|_, goal| matches!(goal, Goal::Number(_)));
            self.settle()?;
            let stacks = mem::take(&mut self.stacks);
            for (row, stack) in stacks {
                stack.iter().try_for_each(|_| self.format.end(self.present, row))?;
            }
            for (node, frame) in self.flights.unfinished() {
                let row = Row { node, track: Track::Network };
                self.format.packet(self.present, row, Step::Unfinished, &frame)?;
            }
        }
        self.format.finish(self.present)
    }
}
