//! Processors whose programs a probe follows: each instruction is told to it.
//!
//! Nothing is asked for each instruction of a processor that nobody follows: it is the
//! stage of its waiting ([`super::waiting`]) that says how it runs, and one whose program is
//! followed runs here.

use narthex_cores::Stop;
use narthex_cores::follow::{Follower, Jump};
use narthex_kernel::Time;

use super::Node;
use super::probe::{Paused, Probe};
use super::processor::State;

/// Tells the probes of a node what one of its processors executes.
struct Telling<'a> {
    probes: &'a mut [Box<dyn Probe>],
    processor: usize,
    /// Where it has paused last, if it has not gone on since.
    paused_at: &'a mut Option<u64>,
    /// A probe has wanted a pause.
    has_paused: bool,
}

impl Follower for Telling<'_> {
    const LISTENS: bool = true;

    fn executes(&mut self, at: Time, pc: u64) {
        self.probes.iter_mut().for_each(|probe| probe.executes(at, self.processor, pc));
    }

    fn jumped(&mut self, jump: Jump, target: u64, stack: u64, result: u64) {
        self.probes.iter_mut().for_each(|probe| probe.jumped(self.processor, jump, target, (stack, result)));
    }

    fn pauses_at(&mut self, pc: u64) -> bool {
        if *self.paused_at == Some(pc) {
            return false;
        }
        self.has_paused = self.probes.iter_mut().any(|probe| probe.pauses_at(self.processor, pc));
        *self.paused_at = self.has_paused.then_some(pc);
        self.has_paused
    }
}

impl Node {
    /// Lets a processor execute until `until` or until it needs something, as
    /// `run_processor` does, and tells of each instruction.
    #[inline(never)]
    pub(super) fn run_followed(&mut self, index: usize, until: Time) -> Stop {
        loop {
            let unit = &mut self.processors[index];
            unit.state = State::Running;
            let main = &mut self.memories[usize::from(unit.ports.memory.0)].bytes;
            let mut port = unit.memory.port(&self.processes[unit.process].pages, main);
            let mut telling = Telling {
                probes: self.probe.all(),
                processor: index,
                paused_at: &mut unit.paused_at,
                has_paused: false,
            };
            // It may have come here and stopped at once, for another reason.
            let stop = match telling.pauses_at(unit.processor.pc()) {
                true => Stop::Horizon,
                false => unit.processor.run_followed(&mut port, until, &mut telling),
            };
            if telling.has_paused {
                self.show_paused(index);
                continue;
            }
            self.handle_stop(index, stop);
            if !matches!(stop, Stop::Marker(_)) || !self.processors[index].is_active(until) {
                return stop;
            }
        }
    }

    /// Lets the probes look at a processor that has paused for them, and at its memory.
    #[inline(never)]
    fn show_paused(&mut self, index: usize) {
        let unit = &self.processors[index].processor;
        let (at, pc) = (unit.now(), unit.pc());
        let registers = std::array::from_fn(|register| unit.x(register));
        let mut port = std::mem::take(&mut self.probe);
        for probe in port.all() {
            let read = &mut |address| self.read_words(index, address);
            probe.paused(&mut Paused { at, processor: index, pc, registers, read });
        }
        self.probe = port;
    }

    /// Programs are followed from now on if a probe wants to, and otherwise no more.
    pub(super) fn follow_as_probes_want(&mut self) {
        let follows = self.probe.all().iter().any(|probe| probe.follows_programs());
        self.processors.iter_mut().for_each(|unit| unit.waiting.follow(follows));
    }
}
