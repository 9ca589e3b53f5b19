//! Whether a program at work of its own gets anywhere.

use std::hash::Hasher;

use narthex_kernel::digest::Digest;

use super::processor::State;
use super::{Node, Personality};
use crate::activity::Activity;

impl Node {
    /// The processors whose programs say that they do work of their own.
    pub fn at_own_work(&self) -> Vec<usize> {
        let is_at_work = |&index: &usize| {
            let unit = &self.processors[index];
            let executes = !matches!(unit.state, State::Exited | State::Vacant | State::Sleeping);
            let is_program = self.processes[unit.process].personality == Personality::Linux;
            executes && is_program && unit.activities.current() == Activity::Application
        };
        (0..self.processors.len()).filter(is_at_work).collect()
    }

    /// Takes note of how long each program has polled, in a run without progress: one that
    /// goes on polling waits for a message, wherever in its loop the run is stopped.
    pub fn note_polls(&mut self) {
        for unit in self.processors.iter_mut() {
            unit.polled_before = Some(unit.ledger.total_of_first(Activity::Poll));
        }
    }

    /// Whether a processor polls, or has polled since the run was found without progress.
    pub(super) fn is_polling(&self, index: usize) -> bool {
        let unit = &self.processors[index];
        let polled = unit.ledger.total_of_first(Activity::Poll);
        let turns = unit.polled_before.is_some_and(|before| before < polled);
        unit.activities.current() == Activity::Poll || turns
    }

    /// A number that is different, almost surely, when any register is.
    pub fn registers_digest(&self, index: usize) -> u128 {
        let processor = &self.processors[index].processor;
        let mut digest = Digest::default();
        digest.write_u64(processor.pc());
        for number in 1..32 {
            digest.write_u64(processor.x(number));
            digest.write_u64(processor.f(number));
        }
        digest.value()
    }

    /// A number that is different, almost surely, when any byte is that the node's
    /// memory and caches hold. It costs as much as reading them.
    pub fn memory_digest(&self) -> u128 {
        let mut digest = Digest::default();
        self.memories.iter().for_each(|memory| memory.bytes.hash_pages(&mut digest));
        self.processors.iter().for_each(|unit| unit.memory.hash_bytes(&mut digest));
        digest.value()
    }
}
