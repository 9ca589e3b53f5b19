//! What the processors of a node are doing, and which of them do the same.
//!
//! A node asks all the time which of its processors execute, and mostly few do. So each state
//! has the set of the processors that are in it. A state changes here alone, and its set with it.

use serde::{Deserialize, Serialize};

use super::processor::State;
use super::{Node, NodeProcessor};

/// Bits of a word of a set.
const WORD: usize = u64::BITS as usize;

/// Words of a set: one bit for each of the 256 agents that an interconnect numbers.
const WORDS: usize = 256 / WORD;

/// A set of processors of a node, by their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProcessorSet([u64; WORDS]);

impl ProcessorSet {
    #[inline(always)]
    fn invert(&mut self, index: usize) {
        self.0[index / WORD] ^= 1 << (index % WORD);
    }

    /// Whether no processor is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) == 0
    }

    /// The processors that are in it or in another one.
    #[inline]
    pub fn or(mut self, other: &ProcessorSet) -> ProcessorSet {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word |= other);
        self
    }

    /// Those that satisfy a condition.
    #[inline]
    pub fn filter(mut self, mut is_kept: impl FnMut(usize) -> bool) -> ProcessorSet {
        for index in self {
            if !is_kept(index) {
                self.invert(index);
            }
        }
        self
    }
}

impl IntoIterator for ProcessorSet {
    type Item = usize;
    type IntoIter = Numbers;

    #[inline]
    fn into_iter(self) -> Numbers {
        Numbers { left: self, word: 0 }
    }
}

/// The numbers in a set, in order.
#[derive(Debug)]
pub(super) struct Numbers {
    left: ProcessorSet,
    word: usize,
}

impl Iterator for Numbers {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while let Some(word) = self.left.0.get_mut(self.word) {
            if *word != 0 {
                let bit = word.trailing_zeros() as usize;
                *word &= *word - 1;
                return Some(self.word * WORD + bit);
            }
            self.word += 1;
        }
        None
    }
}

/// The state of one processor, which [`States`] alone changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct OwnState(State);

impl OwnState {
    /// The one in which it is before its node is built.
    pub const fn initial(state: State) -> Self {
        OwnState(state)
    }

    #[inline(always)]
    pub fn get(self) -> State {
        self.0
    }
}

/// The processors of a node by their states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct States([ProcessorSet; State::COUNT]);

impl States {
    /// Those of these processors.
    pub fn of(processors: &[NodeProcessor]) -> Self {
        let mut states = States::default();
        let all = processors.iter().enumerate();
        all.for_each(|(index, unit)| states.0[unit.state() as usize].invert(index));
        states
    }

    /// Those that are in this state.
    #[inline(always)]
    pub fn those(&self, state: State) -> &ProcessorSet {
        &self.0[state as usize]
    }

    /// Those that execute instructions, or repeat an access; some of them may sleep in wait loops.
    #[inline]
    pub fn executing(&self) -> ProcessorSet {
        self.those(State::Running).or(self.those(State::Woken))
    }

    /// A processor enters a state.
    #[inline(always)]
    pub fn enter(&mut self, index: usize, own: &mut OwnState, state: State) {
        if own.0 != state {
            self.0[own.0 as usize].invert(index);
            self.0[state as usize].invert(index);
            own.0 = state;
        }
    }
}

impl Node {
    /// A processor enters a state.
    #[inline(always)]
    pub(super) fn enter(&mut self, index: usize, state: State) {
        self.states.enter(index, &mut self.processors[index].own_state, state);
    }

    /// The processors that have anything to do before `limit`.
    #[inline]
    pub(super) fn active(&self, limit: narthex_kernel::Time) -> ProcessorSet {
        self.states.executing().filter(|index| self.processors[index].is_active(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_in_the_set_of_its_state_and_in_no_other() {
        let mut states = States::default();
        let mut own: Vec<OwnState> = (0..130).map(|_| OwnState::initial(State::Running)).collect();
        (0..130).for_each(|index| states.0[State::Running as usize].invert(index));
        for (index, state) in [(129, State::Woken), (3, State::Waiting), (64, State::Woken), (3, State::Waiting)] {
            states.enter(index, &mut own[index], state);
        }
        let numbers = |set: &ProcessorSet| set.into_iter().collect::<Vec<_>>();
        assert_eq!(numbers(states.those(State::Woken)), [64, 129]);
        assert_eq!(numbers(states.those(State::Waiting)), [3]);
        assert_eq!(states.executing().into_iter().count(), 129);
        assert_eq!(numbers(&states.executing().filter(|index| index % 64 == 1)), [1, 65, 129]);
        states.enter(129, &mut own[129], State::Running);
        states.enter(64, &mut own[64], State::Exited);
        assert!(states.those(State::Woken).is_empty());
        assert_eq!(own[64].get(), State::Exited);
    }
}
