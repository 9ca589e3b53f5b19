//! Threads of a process over its processors: how they start, sleep, wake and end.
//!
//! Which threads there are, and who waits for what, is in the books of the system calls
//! (`narthex_cores::linux`); here are the processors that follow.

use narthex_cores::linux::NewThread;
use narthex_kernel::{Duration, Time};

use super::process::Process;
use super::processor::State;
use super::{Event, Node, NodeProcessor};
use crate::activity::{Activities, Activity, Occupation};

/// The numbers of the registers that a new thread has of its own.
const SP: usize = 2;
const TP: usize = 4;
const A0: usize = 10;

impl Node {
    /// A processor without a thread gets one, which begins where the caller is.
    pub(super) fn start_thread(&mut self, now: Time, caller: usize, thread: NewThread) {
        let index = self.processes[self.processors[caller].process].processors.start + thread.place;
        self.write_caches_back(caller);
        self.write_caches_back(index);
        let mut context = self.processors[caller].processor.context();
        context.integers[A0] = 0;
        if thread.stack != 0 {
            context.integers[SP] = thread.stack;
        }
        if let Some(pointer) = thread.thread_pointer {
            context.integers[TP] = pointer;
        }
        let NodeProcessor { processor, activities, state, .. } = &mut self.processors[index];
        processor.restore(&context);
        processor.pass_until(now);
        *activities = Activities::default();
        *state = State::Running;
        self.book(index, now, Occupation::Execute);
    }

    /// A processor's thread ends.
    pub(super) fn end_thread(&mut self, now: Time, index: usize) {
        self.write_caches_back(index);
        self.processors[index].state = State::Vacant;
        self.book_as(index, now, (Activity::Idle, Occupation::Execute));
    }

    /// The system empties a processor's caches where its thread begins, begins another one, or
    /// ends, if nothing keeps them coherent: the threads see what was written before.
    fn write_caches_back(&mut self, index: usize) {
        let Node { processors, memories, .. } = self;
        let NodeProcessor { memory, ports, .. } = &mut processors[index];
        if !memory.is_coherent() {
            let main = &mut memories[usize::from(ports.memory.0)].bytes;
            memory.flush(0..u64::MAX, |place, data| main.write(place, data));
        }
    }

    /// A processor's thread sleeps, until an instant if one is given.
    pub(super) fn sleep(&mut self, now: Time, index: usize, until_ns: Option<u64>) {
        let unit = &mut self.processors[index];
        unit.state = State::Sleeping;
        unit.sleeps += 1;
        let sleep = unit.sleeps;
        self.book_sleep(index, now);
        let until = until_ns.map_or(Time::NEVER, |until_ns| Time::from_ps(until_ns.saturating_mul(1_000)));
        if until < Time::NEVER {
            self.events.schedule(until.max(now), Event::SleepOver(index, sleep));
        }
    }

    /// From `at` on a processor's time belongs to a sleeping thread. One that waits for an interrupt looks
    /// for messages.
    pub(super) fn book_sleep(&mut self, index: usize, at: Time) {
        let NodeProcessor { process, activities, .. } = &self.processors[index];
        let Process { calls, processors, .. } = &self.processes[*process];
        let booked = match calls.awaited_interrupt(index - processors.start) {
            None => (Activity::Synchronisation, Occupation::Asleep),
            Some(_) => (activities.current(), Occupation::Interrupt),
        };
        self.book_as(index, at, booked);
    }

    /// The threads at these places of a process go on.
    pub(super) fn wake_threads(&mut self, now: Time, process: usize, places: &[usize]) {
        let first = self.processes[process].processors.start;
        places.iter().for_each(|place| self.wake_thread(now, first + place));
    }

    fn wake_thread(&mut self, now: Time, index: usize) {
        let unit = &mut self.processors[index];
        unit.state = State::Running;
        unit.processor.pass_until(now);
        // The call itself may not be over.
        let at = now.max(unit.ledger.booked_until());
        self.book(index, at, Occupation::Execute);
    }

    /// A device interrupts a process: the thread that waits for it goes on, when the operating system has
    /// brought it there.
    pub(super) fn interrupt_process(&mut self, now: Time, process: usize, vector: u8) {
        let Process { calls, processors, ended, .. } = &mut self.processes[process];
        if ended.is_some() {
            return;
        }
        let Some(place) = calls.interrupt(vector) else { return };
        let index = processors.start + place;
        let time = self.operating_system.interrupt_time.unwrap_or(Duration::ZERO);
        self.processors[index].processor.set_x(A0, 0);
        self.note_progress(now);
        self.wake_thread(now, index);
        self.spend_in_system(index, now.max(self.processors[index].processor.now()), time);
    }

    /// The time is over for which a thread slept, if it is that sleep still.
    pub(super) fn end_sleep(&mut self, now: Time, index: usize, sleep: u64) {
        let NodeProcessor { state, sleeps, process, .. } = &self.processors[index];
        if (*state, *sleeps) != (State::Sleeping, sleep) {
            return;
        }
        let process = &mut self.processes[*process];
        let value = process.calls.time_is_over(index - process.processors.start);
        self.processors[index].processor.set_x(A0, value as u64);
        self.note_progress(now);
        self.wake_thread(now, index);
    }
}
