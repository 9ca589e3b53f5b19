//! Jobs that begin after the run, or are stopped before they end.
//!
//! Until its job begins, nobody has a process's processors. When the job is stopped, its processes
//! end where they are, and what arrives for them from then on is thrown away, as is what waits: the
//! places that it has would be taken from other jobs of the node, and on a network of switches from
//! all whose packets cross the link.

use narthex_fabrics::{Job, Rank};
use narthex_kernel::Time;

use super::processor::State;
use super::{Ended, Event, Node};
use crate::activity::{Activity, Occupation};
use crate::compose::jobs::Times;

impl Node {
    /// The job of a process, and its rank in it.
    pub(super) fn job_of(&mut self, process: usize) -> (Job, Rank) {
        let port = self.network.of_process(process as u8);
        let (job, rank) = port.job_on_node(process as u8).expect("a process that runs has a job");
        (job.clone(), rank)
    }

    /// A process runs at these times only. To be said before the run begins.
    pub(crate) fn keep_to(&mut self, process: usize, times: Times) {
        if let Some(start) = times.start {
            self.processors[self.processes[process].processors.start].leave_vacant();
            self.events.schedule(start, Event::Start(process));
        }
        if let Some(until) = times.until {
            self.events.schedule(until, Event::Stop(process));
        }
    }

    /// A process's first thread begins.
    pub(super) fn start_process(&mut self, now: Time, process: usize) {
        let index = self.processes[process].processors.start;
        let unit = &mut self.processors[index];
        unit.state = State::Running;
        unit.processor.pass_until(now);
        self.note_progress(now);
        self.book_as(index, now, (Activity::Application, Occupation::Execute));
    }

    /// A process is stopped, if it has not ended.
    pub(super) fn stop_process(&mut self, now: Time, process: usize) {
        if self.processes[process].ended.is_none() {
            self.end(now, process, Ended::Stopped);
            self.note_progress(now);
            self.discard_if_stopped(process as u8);
            self.depart(now);
        }
    }

    /// Nobody takes what arrives for a process that was stopped.
    pub(super) fn discard_if_stopped(&mut self, process: u8) {
        if matches!(self.processes[usize::from(process)].ended, Some((_, Ended::Stopped))) {
            self.network.discard(process);
        }
    }
}
