//! A node's part of a warm checkpoint: its programs, without the hardware that they run on.
//!
//! ```text
//!   processes meet ──► all wait in their calls, nothing is under way ──► WarmNode
//!   a new node, of another machine ──► its processes take over ──► the library opens its interface
//! ```
//!
//! A process waits *before* the call at which it meets the others: it makes it when it goes on. What
//! a program's memory holds is read through the caches. Which blocks of it they hold comes along, so
//! that those of the new node can be filled ([`super::warm_caches`]); what queues and buses hold does
//! not.

use std::collections::BTreeSet;
use std::ops::Range;

use narthex_cores::linux::{Context, GuestMemory, NarthexCall, PAGE_BYTES, SystemCalls};
use narthex_interfaces::registers::NODE_MEMORY;
use narthex_kernel::{Archive, Damage, Ledger, Time};
use serde::{Deserialize, Serialize};

use super::process::Report;
use super::processor::State;
use super::regions::Regions;
use super::warm_caches::CachedBlocks;
use super::{Node, Process};
use crate::activity::{Activities, Activity, Occupation, Spent};
use crate::checkpoint::warm::Point;
use crate::request::Caches;

/// What the instruction of a system call takes.
const CALL_BYTES: u64 = 4;

/// The pages of a process that were written to, by their addresses in it.
type Pages = Vec<(u64, Vec<u8>)>;

/// Where the processes of a node wait for those of all nodes.
#[derive(Debug)]
pub struct Meeting {
    point: Point,
    /// Of the points that fit, this one: the first is 0. None as long as that is not known.
    number: Option<u64>,
    /// How many that fit each process has passed.
    passed: Vec<u64>,
    /// Since when each waits.
    waits_since: Vec<Option<Time>>,
    /// The regions that began.
    pub regions: BTreeSet<String>,
}

impl Meeting {
    /// Whether a process waits from this call on.
    fn comes(&mut self, process: usize, call: &NarthexCall, now: Time) -> bool {
        let fits = match (&self.point, call) {
            (Point::Call | Point::After(_), NarthexCall::Checkpoint) => true,
            (Point::Region(wanted), NarthexCall::Region { name, begin: true }) => wanted == name,
            (Point::After(_), NarthexCall::Region { begin, .. }) => *begin,
            _ => false,
        };
        if let NarthexCall::Region { name, begin: true } = call {
            self.regions.insert(name.clone());
        }
        if fits && self.number == Some(self.passed[process]) {
            self.waits_since[process] = Some(now);
            return true;
        }
        self.passed[process] += u64::from(fits);
        false
    }
}

/// A process in a warm checkpoint.
#[derive(Serialize, Deserialize)]
struct WarmProcess {
    context: Context,
    /// The books of its system calls, as they are archived.
    calls: Vec<u8>,
    pages: Pages,
    reports: Vec<Report>,
    regions: Regions,
    ledger: Ledger<(Activity, Spent)>,
    activities: Activities,
    cached: CachedBlocks,
}

/// A node in a warm checkpoint.
#[derive(Serialize, Deserialize)]
pub struct WarmNode {
    processes: Vec<WarmProcess>,
    /// What its processes have in common.
    shared: Pages,
}

impl Node {
    /// Its processes meet those of other nodes.
    pub fn meet(&mut self, point: &Point) {
        let processes = self.processes.len();
        self.meeting = Some(Box::new(Meeting {
            point: point.clone(),
            number: if matches!(point, Point::After(_)) { None } else { Some(0) },
            passed: vec![0; processes],
            waits_since: vec![None; processes],
            regions: BTreeSet::new(),
        }));
    }

    /// What is known of where its processes meet, if they are to.
    pub fn meeting(&self) -> Option<&Meeting> {
        self.meeting.as_deref()
    }

    /// How many points that fit its processes have passed, at most.
    pub fn points_passed(&self) -> u64 {
        self.meeting.iter().flat_map(|meeting| &meeting.passed).copied().max().unwrap_or(0)
    }

    /// They meet at the point with this number.
    pub fn meet_at(&mut self, number: u64) {
        self.meeting.iter_mut().for_each(|meeting| meeting.number = Some(number));
    }

    /// The thread waits from the call on that its processor has begun, if it is the point.
    pub(super) fn waits_at(&mut self, index: usize, now: Time, call: &NarthexCall) -> bool {
        let process = self.processors[index].process;
        let Some(meeting) = &mut self.meeting else { return false };
        if !meeting.comes(process, call, now) {
            return false;
        }
        let processor = &mut self.processors[index].processor;
        let call = processor.pc().wrapping_sub(CALL_BYTES);
        processor.set_pc(call);
        self.sleep(now, index, None);
        true
    }

    /// When the last of its processes came to the point.
    ///
    /// # Errors
    /// The place of a process that has not.
    pub fn met_at(&self) -> Result<Time, String> {
        let since = &self.meeting.as_ref().expect("its processes meet").waits_since;
        let mut latest = Time::ZERO;
        for (process, since) in since.iter().enumerate().take(self.programs()) {
            latest = latest.max(since.ok_or_else(|| self.place(process))?);
        }
        Ok(latest)
    }

    /// Why its programs cannot go on over another interface, if they cannot.
    pub fn is_bound_because(&self) -> Option<String> {
        if self.processes.len() > self.programs() {
            return Some("firmware runs on its nodes, whose state belongs to the interface".into());
        }
        if self.on_chip.is_some() {
            return Some(
                "its processors are on a directory, of which programs use the tiles themselves".into(),
            );
        }
        let bound = |(number, process): (usize, &Process)| {
            let why = process.calls.is_bound_because()?;
            Some(format!("the program of {} cannot leave its interface: {why}", self.place(number)))
        };
        self.processes.iter().enumerate().find_map(bound)
    }

    /// What of its messages is under way, if anything is.
    pub fn is_busy_because(&mut self) -> Option<String> {
        let stuck = self.stuck();
        for process in &stuck.processes {
            for queue in [&process.send, &process.receive] {
                if queue.used > 0 {
                    return Some(format!(
                        "the {} of {} holds {} packets",
                        queue.name, process.place, queue.used
                    ));
                }
            }
        }
        let frames = stuck.under_way.len() + stuck.held.len();
        let packets = stuck.flow.unacknowledged() + stuck.flow.untaken();
        let is_busy = frames > 0 || packets > 0;
        is_busy.then(|| format!("packets from or to node {} are under way", self.id.0))
    }

    /// Its programs, which all wait. The caches are empty then.
    ///
    /// # Errors
    /// Only if a part cannot be written at all.
    pub fn to_warm(&mut self) -> Result<WarmNode, Damage> {
        let cached: Vec<_> = (0..self.programs()).map(|process| self.cached_blocks(process)).collect();
        self.processors.iter_mut().for_each(|unit| {
            let main = &mut self.memories[usize::from(unit.ports.memory.0)].bytes;
            unit.memory.flush(0..u64::MAX, |place, data| main.write(place, data));
        });
        let shared = self.pages_in(0, &NODE_MEMORY);
        let programs = cached.into_iter().enumerate();
        let processes =
            programs.map(|(process, cached)| self.warm_process(process, cached)).collect::<Result<_, _>>()?;
        Ok(WarmNode { processes, shared })
    }

    fn warm_process(&mut self, process: usize, cached: CachedBlocks) -> Result<WarmProcess, Damage> {
        let index = self.processes[process].processors.start;
        let regions: Vec<_> = self.processes[process].calls.space().own_regions().collect();
        let pages = regions.iter().flat_map(|(range, _)| self.pages_in(index, range)).collect();
        let unit = &mut self.processors[index];
        let retired = unit.processor.retired();
        unit.activities.forget_old_poll(retired);
        let Process { calls, reports, regions, .. } = &mut self.processes[process];
        Ok(WarmProcess {
            context: unit.processor.context(),
            calls: Archive::save(calls)?,
            pages,
            reports: reports.clone(),
            regions: regions.clone(),
            ledger: unit.ledger.clone(),
            activities: unit.activities.clone(),
            cached,
        })
    }

    /// The pages of a range of a process's addresses that were written to.
    fn pages_in(&mut self, index: usize, range: &Range<u64>) -> Pages {
        let (_, _, mut memory) = self.system_of(index);
        let mut pages = Vec::new();
        for address in range.clone().step_by(PAGE_BYTES as usize) {
            let place = memory.translated(address);
            let mut bytes = vec![0; PAGE_BYTES as usize];
            if memory.main.is_touched(place) && memory.read(address, &mut bytes).is_ok() {
                pages.push((address, bytes));
            }
        }
        pages
    }

    /// Its programs, which have just started, go on at `now` where those of another node were; first
    /// each calls the function at `open_interface`. Its caches are empty, or filled.
    ///
    /// # Errors
    /// If they are no such programs.
    pub fn go_on_from(
        &mut self,
        warm: WarmNode,
        open_interface: u64,
        caches: Caches,
        now: Time,
    ) -> Result<(), Damage> {
        let WarmNode { processes, shared } = warm;
        if processes.len() != self.programs() {
            return Err(Damage::Count { saved: processes.len(), built: self.programs() });
        }
        let mut cached = Vec::new();
        for (process, warm) in processes.into_iter().enumerate() {
            cached.push(self.take_over(process, warm, open_interface, now)?);
        }
        self.put_pages(0, &shared)?;
        if caches == Caches::Filled {
            self.fill_caches(&cached);
        }
        self.note_progress(now);
        Ok(())
    }

    /// A process goes on; what was cached of its memory.
    fn take_over(
        &mut self,
        process: usize,
        warm: WarmProcess,
        open_interface: u64,
        now: Time,
    ) -> Result<CachedBlocks, Damage> {
        let WarmProcess { mut context, calls: saved, pages, reports, regions, ledger, activities, cached } =
            warm;
        let index = self.processes[process].processors.start;
        let Process { pages: table, calls, .. } = &mut self.processes[process];
        let fresh: Vec<_> = calls.space().own_regions().collect();
        fresh.into_iter().for_each(|(range, _)| table.unmap(range.start, range.end - range.start));
        calls.carry_over(&saved)?;
        let (_, calls, mut memory) = self.system_of(index);
        for (range, protection) in calls.space().own_regions() {
            memory.map(range.start, range.end - range.start, protection);
        }
        self.put_pages(index, &pages)?;
        let (thread, calls, mut memory) = self.system_of(index);
        if !SystemCalls::call_first(calls, thread, open_interface, &mut context, &mut memory) {
            return Err(Damage::Contradiction("a stack has no room to open the interface"));
        }
        let unit = &mut self.processors[index];
        if ledger.booked_until() > now || !activities.belong_to(&ledger, 0) {
            return Err(Damage::Contradiction("its clock is behind a process's"));
        }
        unit.processor.restore(&context);
        unit.processor.pass_until(now);
        (unit.ledger, unit.activities, unit.state) = (ledger, activities, State::Running);
        let at = unit.processor.now();
        self.book(index, at, Occupation::Execute);
        let counts = self.counts(index, at);
        let process = &mut self.processes[process];
        (process.reports, process.regions) = (reports, regions);
        process.regions.go_on(at, &counts);
        Ok(cached)
    }

    fn put_pages(&mut self, index: usize, pages: &Pages) -> Result<(), Damage> {
        let (_, _, mut memory) = self.system_of(index);
        let is_written = |(address, bytes): &(u64, Vec<u8>)| memory.write(*address, bytes).is_ok();
        match pages.iter().all(is_written) {
            true => Ok(()),
            false => Err(Damage::Contradiction("a page is where a process has no memory")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meeting(point: Point, number: Option<u64>) -> Meeting {
        let (passed, waits_since) = (vec![0; 2], vec![None; 2]);
        Meeting { point, number, passed, waits_since, regions: BTreeSet::new() }
    }

    fn region(name: &str, begin: bool) -> NarthexCall {
        NarthexCall::Region { name: name.into(), begin }
    }

    #[test]
    fn a_process_waits_at_the_first_begin_of_its_region() {
        let mut meeting = meeting(Point::Region("main".into()), Some(0));
        for call in [region("other", true), region("main", false), NarthexCall::Checkpoint] {
            assert!(!meeting.comes(1, &call, Time::ZERO), "{call:?}");
        }
        assert!(meeting.comes(1, &region("main", true), Time::from_ps(5)));
        assert_eq!(meeting.waits_since, [None, Some(Time::from_ps(5))]);
        assert!(meeting.regions.iter().eq(["main", "other"]));
    }

    #[test]
    fn after_an_instant_processes_meet_where_none_has_been() {
        let mut meeting = meeting(Point::After(Time::from_ps(9)), None);
        let points = [region("a", true), region("b", true), NarthexCall::Checkpoint];
        assert!(!points.iter().any(|call| meeting.comes(0, call, Time::ZERO)));
        assert!(!meeting.comes(1, &points[0], Time::ZERO));
        assert_eq!(meeting.passed, [3, 1]);
        meeting.number = Some(3);
        assert!(!points[1..].iter().any(|call| meeting.comes(1, call, Time::ZERO)));
        assert!(
            [0, 1].map(|process| meeting.comes(process, &points[0], Time::ZERO)).iter().all(|comes| *comes)
        );
    }
}
