//! Hardware and model side by side.
//!
//! What is offered at once takes effect in an order that the hardware chooses: the processor's
//! accesses in theirs, packets of a lane in theirs, all else as it comes. The model is asked for an
//! order in which it does what the hardware did ([`Search`]); for one stimulus there is one order.

use std::fmt;

use super::Shape;
use super::reference::Reference;
use super::stimuli::{InWords, Stimulus};
use crate::sarc::events::Reader;
use crate::sarc::lines::LineState;
use crate::sarc::messages::{Body, Message};
use crate::sarc::queues::WordsOfQueue;

/// What hardware refuses later than the model, when it is used or where its packet comes: the owners of
/// what is elsewhere, addresses of notifications, shapes of queues. A refusal ends a program, and so the
/// comparison of one.
const REFUSED_LATER: [&str; 6] = [
    "of its command",
    "could be told when it comes to zero",
    "not allowed; expected 1, 2, 4",
    "not allowed; expected a power of two",
    "is no scratchpad line of its owner",
    "is accessed by its own tile",
];

/// What hardware did until it was quiet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// What its processor was answered, in order: a load's value, 0 of a store; none: refused.
    pub answers: Vec<Option<u64>>,
    /// Packets that left, by lane.
    pub packets: [Vec<Message>; 3],
    /// Packets and jobs that it refused.
    pub faults: usize,
    /// Stimuli that were never taken.
    pub lost: Vec<usize>,
    /// What it still does though it has had all time, if anything.
    pub hangs: Option<String>,
    /// Clock cycles that passed.
    pub cycles: u64,
}

/// A tile that is no model: its RTL, or what tests put in its place.
pub trait Hardware {
    /// Nothing has ever happened to it.
    fn reset(&mut self);

    /// All of this happens to it, as soon as it can, until it is quiet. An access behind one that is
    /// not answered is lost.
    fn happen(&mut self, stimuli: &[Stimulus]) -> Outcome;

    /// The two words of a line's state, and its bytes.
    fn line(&self, line: usize) -> ([u64; 2], &[u8]);

    /// A request of a reader that waits in a queue, in the model's code.
    fn request(&self, word: u64) -> u64 {
        word
    }

    /// Replaces all of a line. After what was refused it is as the model is: a refusal ends a
    /// program, and what it leaves is nobody's concern.
    fn set_line(&mut self, line: usize, bytes: &[u8], state: LineState);
}

/// The first difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// What happened, the last of it at once.
    pub batches: Vec<Vec<Stimulus>>,
    /// What the hardware said.
    pub hardware: String,
    /// What the model said.
    pub model: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, batch) in self.batches.iter().enumerate() {
            for (place, stimulus) in batch.iter().enumerate() {
                let sign = if place == 0 { format!("{:>4}.", number + 1) } else { "    +".into() };
                writeln!(formatter, "{sign} {stimulus}")?;
            }
        }
        writeln!(formatter, "the RTL:   {}", self.hardware)?;
        write!(formatter, "the model: {}", self.model)
    }
}

/// What was compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Accesses and packets that took effect.
    pub events: u64,
    /// Those among them that both refused.
    pub refused: u64,
    /// Packets that left.
    pub packets: u64,
    /// Answers of processors.
    pub answers: u64,
    /// Clock cycles.
    pub cycles: u64,
}

impl Counts {
    /// Takes over what was compared besides.
    pub fn add(&mut self, more: Counts) {
        let Counts { events, refused, packets, answers, cycles } = more;
        self.events += events;
        self.refused += refused;
        self.packets += packets;
        self.answers += answers;
        self.cycles += cycles;
    }
}

/// What the hardware said, and what the model.
type Disagreement = (String, String);

fn differ<T>(hardware: impl fmt::Display, model: impl fmt::Display) -> Result<T, Disagreement> {
    Err((hardware.to_string(), model.to_string()))
}

/// Hardware and model.
#[derive(Debug)]
pub struct Lockstep<'a, H: Hardware> {
    hardware: &'a mut H,
    /// The model.
    pub model: Reference,
    /// Loads of the processor over the network that are not answered yet.
    remote_loads: usize,
    /// Packets that have left since they were last asked for.
    pub departed: Vec<Message>,
    /// What was compared.
    pub counts: Counts,
}

impl<'a, H: Hardware> Lockstep<'a, H> {
    /// Both, to which nothing has happened.
    pub fn new(shape: Shape, hardware: &'a mut H) -> Self {
        hardware.reset();
        let model = Reference::new(&shape);
        Lockstep { hardware, model, remote_loads: 0, departed: Vec::new(), counts: Counts::default() }
    }

    /// Whether what the network and the processor do is what they can do: shrinking leaves out what
    /// comes before.
    fn is_possible(&self, stimuli: &[Stimulus]) -> bool {
        answers(stimuli) <= self.remote_loads
            && brings(stimuli, |body| matches!(body, Body::Stored)) <= self.model.stores_under_way() as usize
            && !(self.model.waits() && stimuli.len() == 1 && stimuli[0].is_access())
    }

    /// Some stimuli happen at once, and all that they lead to; false if they cannot happen.
    ///
    /// # Errors
    /// The first difference.
    pub fn batch(&mut self, stimuli: &[Stimulus]) -> Result<bool, Disagreement> {
        if !self.is_possible(stimuli) {
            return Ok(false);
        }
        let outcome = self.hardware.happen(stimuli);
        if let Some(problem) = &outcome.hangs {
            return differ(problem, "it is quiet");
        }
        let search = Search { stimuli, outcome: &outcome, hardware: &*self.hardware };
        let found = match search.find(self.model.clone(), 0) {
            Err(_) if self.is_refused_later(stimuli, &outcome) => return Ok(false),
            found => found?,
        };
        if found.refusals > 0 {
            self.take_over(&found);
        }
        self.count(stimuli, &outcome, found.refusals);
        self.model = found;
        self.model.begin();
        Ok(outcome.lost.is_empty())
    }

    fn is_refused_later(&self, stimuli: &[Stimulus], outcome: &Outcome) -> bool {
        let [stimulus] = stimuli else { return false };
        let mut model = self.model.clone();
        model.happen(stimulus);
        let is_later = |problem: &String| REFUSED_LATER.iter().any(|part| problem.contains(part));
        outcome.faults == 0 && !outcome.answers.contains(&None) && model.problems.iter().any(is_later)
    }

    /// The lines of the hardware are the model's where they differ.
    fn take_over(&mut self, model: &Reference) {
        for line in differing(&*self.hardware, model).collect::<Vec<_>>() {
            self.hardware.set_line(line, model.line(line).1, model.lines().state(line).clone());
        }
    }

    fn count(&mut self, stimuli: &[Stimulus], outcome: &Outcome, refusals: usize) {
        let loads = |message: &&Message| matches!(message.body, Body::Read { to: Reader::Processor(..), .. });
        let packets = outcome.packets.iter().flatten();
        self.remote_loads += packets.clone().filter(loads).count();
        self.remote_loads -= answers(stimuli).min(self.remote_loads);
        self.departed.extend(packets.clone());
        self.counts.add(Counts {
            events: (stimuli.len() - outcome.lost.len()) as u64,
            refused: refusals as u64,
            packets: packets.count() as u64,
            answers: outcome.answers.len() as u64,
            cycles: outcome.cycles,
        });
    }

    /// All batches, one after the other.
    ///
    /// # Errors
    /// The first difference, not yet shrunk.
    pub fn run(&mut self, batches: &[Vec<Stimulus>]) -> Result<(), Difference> {
        for (number, batch) in batches.iter().enumerate() {
            match self.batch(batch) {
                Ok(true) => {}
                Ok(false) => break,
                Err((hardware, model)) => {
                    return Err(Difference { batches: batches[..=number].to_vec(), hardware, model });
                }
            }
        }
        Ok(())
    }
}

fn brings(stimuli: &[Stimulus], is_it: fn(&Body) -> bool) -> usize {
    let comes = |stimulus: &&Stimulus| matches!(stimulus, Stimulus::Arrives(message) if is_it(&message.body));
    stimuli.iter().filter(comes).count()
}

fn answers(stimuli: &[Stimulus]) -> usize {
    brings(stimuli, |body| matches!(body, Body::Answer { .. }))
}

/// Looks for an order in which the model does what the hardware did.
struct Search<'a, H: Hardware> {
    stimuli: &'a [Stimulus],
    outcome: &'a Outcome,
    hardware: &'a H,
}

impl<H: Hardware> Search<'_, H> {
    /// The model behind all stimuli, of which it has taken some already; the disagreement is that of
    /// the order that is tried first.
    fn find(&self, model: Reference, taken: u64) -> Result<Reference, Disagreement> {
        self.compare_answers(&model)?;
        let mut first = None;
        for number in self.next(&model, taken) {
            let mut next = model.clone();
            next.happen(&self.stimuli[number]);
            next.make_packets();
            match self.find(next, taken | 1 << number) {
                Ok(found) => return Ok(found),
                Err(problem) => first = first.or(Some(problem)),
            }
        }
        // What waits in the combining buffer may leave before the processor's next store.
        let waits_for_access = self.stimuli.len() > 1 && self.first_access(taken).is_some();
        if model.combines() && waits_for_access {
            let mut next = model.clone();
            next.end_combining();
            next.make_packets();
            if let Ok(found) = self.find(next, taken) {
                return Ok(found);
            }
        }
        match first {
            Some(problem) => Err(problem),
            None => self.compare_end(model, taken),
        }
    }

    fn first_access(&self, taken: u64) -> Option<usize> {
        (0..self.stimuli.len()).find(|&own| taken >> own & 1 == 0 && self.stimuli[own].is_access())
    }

    /// Which stimuli may take effect next.
    fn next(&self, model: &Reference, taken: u64) -> Vec<usize> {
        let mut lanes = [false; 3];
        let access = self.first_access(taken).filter(|_| !model.waits());
        let is_next = |&number: &usize| match &self.stimuli[number] {
            _ if taken >> number & 1 == 1 => false,
            Stimulus::Access(_) => access == Some(number),
            Stimulus::Arrives(message) => {
                !std::mem::replace(&mut lanes[usize::from(message.body.lane())], true)
            }
            _ => true,
        };
        let mut is_next = is_next;
        (0..self.stimuli.len()).filter(|number| is_next(number)).collect()
    }

    fn compare_answers(&self, model: &Reference) -> Result<(), Disagreement> {
        for (place, &expected) in model.answers.iter().enumerate() {
            let found = self.outcome.answers.get(place).copied();
            // Of a command whose addresses are wrong, the job is refused and not the store.
            let is_so = found.is_some_and(|found| found == expected || expected.is_none());
            if !is_so {
                return differ(told(found), told(Some(expected)));
            }
        }
        Ok(())
    }

    fn compare_end(&self, mut model: Reference, taken: u64) -> Result<Reference, Disagreement> {
        let waits: Vec<usize> = (0..self.stimuli.len()).filter(|own| taken >> own & 1 == 0).collect();
        if let Some(lost) = self.outcome.lost.iter().find(|lost| !waits.contains(lost)) {
            return differ(format!("'{}' is never taken", self.stimuli[*lost]), "it is");
        }
        if let Some(&waits) = waits.iter().find(|own| !self.outcome.lost.contains(own)) {
            return differ(format!("'{}' is taken", self.stimuli[waits]), "its processor waits");
        }
        model.rest();
        self.compare_answers(&model)?;
        if let Some(&more) = self.outcome.answers.get(model.answers.len()) {
            return differ(told(Some(more)), told(None));
        }
        let refusals = self.outcome.faults + self.outcome.answers.iter().filter(|own| own.is_none()).count();
        // Of a packet, each word may be refused for itself.
        match (refusals, model.refusals) {
            (0, 0) | (1.., 1..) => {}
            (0, _) => return differ("nothing is refused", format!("refused: {}", model.problems.join("; "))),
            (_, 0) => return differ(format!("{refusals} refusals"), "nothing is refused"),
        }
        if refusals == 0 {
            self.compare_packets(&model)?;
            self.compare_lines(&model)?;
        }
        Ok(model)
    }

    /// In order, if one thing has happened; else in any: jobs of several take turns.
    fn compare_packets(&self, model: &Reference) -> Result<(), Disagreement> {
        for (found, expected) in self.outcome.packets.iter().zip(&model.left) {
            let [mut found, mut expected] =
                [found, expected].map(|own| own.iter().map(plain).collect::<Vec<_>>());
            if self.stimuli.len() > 1 {
                let key = |message: &Message| format!("{message:?}");
                found.sort_by_cached_key(key);
                expected.sort_by_cached_key(key);
            }
            let words = |message: Option<&Message>| {
                message.map_or("no packet leaves".into(), |message| format!("leaves: {}", InWords(message)))
            };
            if let Some(place) =
                (0..found.len().max(expected.len())).find(|&own| found.get(own) != expected.get(own))
            {
                return differ(words(found.get(place)), words(expected.get(place)));
            }
        }
        Ok(())
    }

    fn compare_lines(&self, model: &Reference) -> Result<(), Disagreement> {
        let Some(line) = differing(self.hardware, model).next() else { return Ok(()) };
        let words = |([role, tag], bytes): ([u64; 2], &[u8])| {
            format!("line {line}: state {role:#x}, tag {tag:#x}, bytes {bytes:02x?}")
        };
        differ(words(self.hardware.line(line)), words(model.line(line)))
    }
}

/// The lines that hardware and model do not have alike.
fn differing<'a>(hardware: &'a impl Hardware, model: &'a Reference) -> impl Iterator<Item = usize> + 'a {
    let queues = model.words_of_queues();
    (0..model.lines().count()).filter(move |&line| {
        let (found, expected) = (hardware.line(line), model.line(line));
        let own = queues.iter().find(|own| own.line == line);
        let are_words = || own.is_some_and(|own| have_same_words(hardware, own, found.1, expected.1));
        found != expected && !(found.0 == expected.0 && are_words())
    })
}

/// Whether items are the same, and requests of the same readers.
fn have_same_words(hardware: &impl Hardware, own: &WordsOfQueue, found: &[u8], expected: &[u8]) -> bool {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let mut words = found.chunks_exact(8).map(word).zip(expected.chunks_exact(8).map(word)).zip(0..);
    words.all(|((found, expected), bit)| match (own.free >> bit & 1, own.requests >> bit & 1) {
        (1, _) => true,
        (_, 1) => hardware.request(found) == expected,
        _ => found == expected,
    })
}

fn told(answer: Option<Option<u64>>) -> String {
    match answer {
        Some(Some(value)) => format!("its processor is answered {value:#x}"),
        Some(None) => "its access is refused".into(),
        None => "its processor is not answered".into(),
    }
}

/// A packet without what the hardware need not say: what is read goes to its reader, whoever has
/// written it.
fn plain(message: &Message) -> Message {
    let mut message = *message;
    if matches!(
        message.body,
        Body::Answer { .. } | Body::Write { cause: crate::sarc::messages::Cause::Reply, .. }
    ) {
        message.origin = Message::NONE.origin;
    }
    message
}

/// Leaves out what a difference does not need: runs of batches, then stimuli of them.
pub fn shrink<H: Hardware>(shape: Shape, hardware: &mut H, found: Difference) -> Difference {
    let mut smallest = found;
    let mut part = smallest.batches.len().div_ceil(2);
    while part > 0 {
        let mut first = 0;
        while first < smallest.batches.len() {
            let mut without = smallest.batches.clone();
            without.drain(first..(first + part).min(without.len()));
            match Lockstep::new(shape, hardware).run(&without) {
                Err(difference) => smallest = difference,
                Ok(()) => first += part,
            }
        }
        part /= 2;
    }
    shrink_batches(shape, hardware, smallest)
}

fn shrink_batches<H: Hardware>(shape: Shape, hardware: &mut H, mut smallest: Difference) -> Difference {
    let mut number = 0;
    while number < smallest.batches.len() {
        let mut place = 0;
        while smallest.batches.get(number).is_some_and(|batch| batch.len() > 1 && place < batch.len()) {
            let mut without = smallest.batches.clone();
            without[number].remove(place);
            match Lockstep::new(shape, hardware).run(&without) {
                Err(difference) => smallest = difference,
                Ok(()) => place += 1,
            }
        }
        number += 1;
    }
    smallest
}
