//! What a profile knows of a node while it runs: time by place and category.

use std::sync::Arc;

use narthex_cores::follow::Jump;
use narthex_kernel::{Category, Time};
use narthex_machine::activity::{Activity, Occupation};
use narthex_machine::node::probe::{Event, Probe};

use crate::calls::{CallStack, Change, CodeMap};

/// Stretches that are held, at most. A processor's time may be booked again from an instant on
/// that it has passed already: where its process ends by another thread's call. It passes
/// instants by a few instructions.
const MOST_STRETCHES: usize = 4096;

/// The place of a processor that is in no function.
pub const NO_PLACE: u32 = 0;

/// A function on a path of calls.
#[derive(Debug)]
pub struct PathNode {
    /// The one that called it.
    pub parent: u32,
    function: u32,
    /// The row of the call.
    pub call: u32,
    children: Vec<u32>,
    /// The places in it, by their rows, which ascend.
    places: Vec<(u32, u32)>,
}

/// A row of code on a path of calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallSite {
    /// The innermost function's place among the path nodes.
    pub path: u32,
    /// The row, in the code map.
    pub row: u32,
}

/// What is recorded of a processor.
#[derive(Debug)]
pub struct Recorded {
    calls: CallStack,
    /// The functions on all paths of calls that it has been in; the first is that of no function.
    pub paths: Vec<PathNode>,
    /// The path nodes of the frames that are open.
    open: Vec<u32>,
    /// All places at which it has been.
    pub places: Vec<CallSite>,
    /// The time in picoseconds in each category at each place.
    pub times: Vec<Vec<(usize, u64)>>,
    /// Since when it is at which place; the first begins where its time has been settled up to.
    stretches: Vec<(Time, u32)>,
    category: (Activity, Occupation),
    /// How many regions are open that count; one if the whole run does.
    counting: usize,
}

impl Recorded {
    fn new(code: &Arc<CodeMap>, counting: usize) -> Self {
        let nowhere =
            PathNode { parent: 0, function: 0, call: 0, children: Vec::new(), places: vec![(0, NO_PLACE)] };
        Recorded {
            calls: CallStack::new(code.clone()),
            paths: vec![nowhere],
            open: Vec::new(),
            places: vec![CallSite { path: 0, row: CodeMap::NOWHERE }],
            times: vec![Vec::new()],
            stretches: vec![(Time::ZERO, NO_PLACE)],
            category: (Activity::Application, Occupation::Execute),
            counting,
        }
    }

    /// The code of its program.
    pub fn code(&self) -> &Arc<CodeMap> {
        self.calls.code()
    }

    fn book(&mut self, at: Time, category: (Activity, Occupation)) {
        self.settle(at);
        self.category = category;
        if is_in_no_function(category) {
            self.calls.clear();
            self.open.clear();
            self.stretches.clear();
            self.stretches.push((at, NO_PLACE));
        }
    }

    /// Its time is booked up to `at`, in the present category.
    pub fn settle(&mut self, at: Time) {
        let passed = self.stretches.partition_point(|(since, _)| *since <= at).max(1);
        self.count(passed, at);
        self.stretches.drain(..passed - 1);
        self.stretches[0].0 = at;
    }

    /// Counts the first stretches, of which the last ends at `end`.
    fn count(&mut self, stretches: usize, end: Time) {
        if self.counting == 0 {
            return;
        }
        let category = self.category.index();
        for index in 0..stretches {
            let (since, place) = self.stretches[index];
            let until = if index + 1 < stretches { self.stretches[index + 1].0 } else { end };
            let time_ps = until.saturating_since(since).as_ps();
            if time_ps > 0 {
                let times = &mut self.times[place as usize];
                match times.iter_mut().find(|(known, _)| *known == category) {
                    Some((_, time)) => *time += time_ps,
                    None => times.push((category, time_ps)),
                }
            }
        }
    }

    fn executes(&mut self, at: Time, pc: u64) {
        if let Some(change) = self.calls.executes(pc) {
            self.move_to(at, change);
        }
    }

    fn move_to(&mut self, at: Time, Change { kept }: Change) {
        self.open.truncate(kept);
        for depth in self.open.len()..self.calls.frames().len() {
            let frame = self.calls.frames()[depth];
            let parent = self.open.last().copied().unwrap_or(0);
            let child = self.child(parent, frame.function, frame.call);
            self.open.push(child);
        }
        let path = self.open.last().copied().unwrap_or(0);
        let place = self.place(path, self.calls.row());
        let last = self.stretches.len() - 1;
        let (since, before) = self.stretches[last];
        // A thread that has begun is in its function before its first instruction issues.
        if at <= since || before == NO_PLACE && !is_in_no_function(self.category) {
            self.stretches[last].1 = place;
            return;
        }
        self.stretches.push((at, place));
        if self.stretches.len() > MOST_STRETCHES {
            let half = MOST_STRETCHES / 2;
            self.count(half, self.stretches[half].0);
            self.stretches.drain(..half);
        }
    }

    fn child(&mut self, parent: u32, function: u32, call: u32) -> u32 {
        let is_it = |child: &u32| {
            let child = &self.paths[*child as usize];
            (child.function, child.call) == (function, call)
        };
        if let Some(&child) = self.paths[parent as usize].children.iter().find(|child| is_it(child)) {
            return child;
        }
        let child = self.paths.len() as u32;
        self.paths[parent as usize].children.push(child);
        self.paths.push(PathNode { parent, function, call, children: Vec::new(), places: Vec::new() });
        child
    }

    fn place(&mut self, path: u32, row: u32) -> u32 {
        let places = &mut self.paths[path as usize].places;
        match places.binary_search_by_key(&row, |(row, _)| *row) {
            Ok(index) => places[index].1,
            Err(index) => {
                let place = self.places.len() as u32;
                places.insert(index, (row, place));
                self.places.push(CallSite { path, row });
                self.times.push(Vec::new());
                place
            }
        }
    }
}

/// Whether a processor runs no function: no thread has it, or its program has ended.
fn is_in_no_function((activity, _): (Activity, Occupation)) -> bool {
    matches!(activity, Activity::Idle | Activity::Exited)
}

/// Records where the time of a node's processors goes.
#[derive(Debug)]
pub struct Recorder {
    /// The region that counts; all the time does without.
    region: Option<String>,
    /// By processor.
    pub processors: Vec<Recorded>,
}

impl Recorder {
    /// That of a node whose processors execute this code.
    pub fn new(region: Option<&str>, code: &[Arc<CodeMap>]) -> Self {
        let counting = usize::from(region.is_none());
        let processors = code.iter().map(|code| Recorded::new(code, counting)).collect();
        Recorder { region: region.map(str::to_owned), processors }
    }
}

impl Probe for Recorder {
    fn record(&mut self, at: Time, event: Event) {
        if let Event::Booking { processor, activity, occupation } = event {
            self.processors[processor].book(at, (activity, occupation));
        }
    }

    fn follows_programs(&self) -> bool {
        true
    }

    fn executes(&mut self, at: Time, processor: usize, pc: u64) {
        self.processors[processor].executes(at, pc);
    }

    fn jumped(&mut self, processor: usize, jump: Jump, target: u64, (stack, _): (u64, u64)) {
        self.processors[processor].calls.jumped(jump, target, stack);
    }

    fn region(&mut self, at: Time, processor: usize, name: &str, begins: bool) {
        if self.region.as_deref() != Some(name) {
            return;
        }
        let recorded = &mut self.processors[processor];
        recorded.settle(at);
        recorded.counting = match begins {
            true => recorded.counting + 1,
            false => recorded.counting.saturating_sub(1),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::tests::code;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    const APPLICATION: (Activity, Occupation) = (Activity::Application, Occupation::Execute);
    const MISS: (Activity, Occupation) = (Activity::Application, Occupation::DataMiss);

    /// Rows and times of what is recorded, in the categories of computation and of misses.
    fn times(recorded: &Recorded) -> Vec<[u64; 2]> {
        let of = |times: &Vec<(usize, u64)>, category: (Activity, Occupation)| {
            times.iter().find(|(known, _)| *known == category.index()).map_or(0, |(_, time)| *time)
        };
        recorded.times.iter().map(|times| [of(times, APPLICATION), of(times, MISS)]).collect()
    }

    #[test]
    fn time_belongs_to_the_place_and_the_category_in_which_it_passes() {
        let mut recorded = Recorded::new(&code(), 1);
        recorded.book(at(0), APPLICATION);
        recorded.executes(at(0), 0x1000);
        recorded.executes(at(10), 0x1100);
        recorded.book(at(15), MISS);
        recorded.book(at(40), APPLICATION);
        recorded.executes(at(50), 0x1000);
        recorded.settle(at(51));
        assert_eq!(times(&recorded), [[0, 0], [11, 0], [15, 25]]);
    }

    #[test]
    fn time_that_is_booked_again_is_taken_from_the_place_that_has_passed_it() {
        let mut recorded = Recorded::new(&code(), 1);
        recorded.book(at(0), APPLICATION);
        recorded.executes(at(0), 0x1000);
        recorded.executes(at(30), 0x1100);
        recorded.book(at(20), MISS);
        recorded.settle(at(35));
        assert_eq!(times(&recorded), [[0, 0], [20, 10], [0, 5]]);
        recorded.book(at(36), (Activity::Exited, Occupation::Execute));
        recorded.settle(at(50));
        let exited = (Activity::Exited, Occupation::Execute).index();
        assert_eq!(recorded.times[NO_PLACE as usize], [(exited, 14)]);
    }

    #[test]
    fn very_many_places_between_two_bookings_lose_no_time() {
        let mut recorded = Recorded::new(&code(), 1);
        recorded.book(at(0), APPLICATION);
        for step in 0..3 * MOST_STRETCHES as u64 {
            recorded.executes(at(step), 0x1000 + 0x100 * (step % 2));
        }
        recorded.settle(at(3 * MOST_STRETCHES as u64));
        let total: u64 = times(&recorded).iter().flatten().sum();
        assert_eq!(total, 3 * MOST_STRETCHES as u64);
    }
}
