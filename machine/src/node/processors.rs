//! The processors of a node, and from when on each has something to do.
//!
//! After each event the node asks whether a processor has anything to do before the next one. Mostly none
//! has, and none has changed. So there is an index: one number for each processor, next to each other, and
//! the least of them. What changes a processor goes through this list ([`IndexMut`], [`DerefMut`]), which
//! notes that its number is to be found anew; what changes nothing of when its turn is says so
//! ([`Processors::keeping_turn`]).
//!
//! ```text
//!   processors   │ 0  executes at 40 │ 1  waits │ 2  asleep │ 3  its access is done │   far apart
//!   active_from  │ 41                │ NEVER    │ NEVER     │ 0                     │   next to each other
//!   earliest       0
//! ```
//!
//! Where assertions are on, the whole index is compared with the processors whenever one has changed.

use std::cell::Cell;
use std::ops::{Deref, DerefMut, Index, IndexMut};

use narthex_kernel::Time;

use super::processor::State;
use super::{NodeProcessor, after};

/// The last limit before which a processor that has nothing to do has nothing to do.
const LAST_LIMIT: Time = Time::from_ps(Time::NEVER.as_ps() - 1);

/// Which processors may have changed since the index was used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changed {
    None,
    One(usize),
    All,
}

/// The processors of a node, by their numbers.
pub(super) struct Processors {
    units: Vec<NodeProcessor>,
    /// For each the first limit before which it has something to do ([`NodeProcessor::active_from`]).
    active_from: Box<[Cell<Time>]>,
    /// The least of these.
    earliest: Cell<Time>,
    changed: Cell<Changed>,
}

impl Processors {
    /// These.
    pub fn new(units: Vec<NodeProcessor>) -> Self {
        let active_from = units.iter().map(|_| Cell::new(Time::NEVER)).collect();
        let (earliest, changed) = (Cell::new(Time::NEVER), Cell::new(Changed::All));
        Processors { units, active_from, earliest, changed }
    }

    /// Whether any of them has something to do before `limit`. Where there is one, it is asked itself.
    #[inline(always)]
    pub fn are_any_active(&self, limit: Time) -> bool {
        match &*self.units {
            [unit] => unit.is_active(limit),
            _ => self.earliest() <= limit.min(LAST_LIMIT),
        }
    }

    /// Whether the access of any of them is done, so that it goes on before the next event.
    #[inline(always)]
    pub fn are_any_woken(&self) -> bool {
        match &*self.units {
            [unit] => unit.state == State::Woken,
            _ => self.earliest() == Time::ZERO,
        }
    }

    /// Those that have something to do before `limit`, by their numbers.
    #[inline(always)]
    pub fn active(&self, limit: Time) -> impl Iterator<Item = (usize, &NodeProcessor)> {
        self.earliest();
        let limit = limit.min(LAST_LIMIT);
        let numbered = self.active_from.iter().enumerate();
        let active = numbered.filter(move |(_, from)| from.get() <= limit);
        active.map(|(index, _)| (index, &self.units[index]))
    }

    /// A processor of which nothing is changed that says when its turn is: neither its state, nor its
    /// instant while it executes, nor whether it sleeps.
    #[inline(always)]
    pub fn keeping_turn(&mut self, index: usize) -> &mut NodeProcessor {
        &mut self.units[index]
    }

    /// The first limit before which one of them has something to do.
    #[inline(always)]
    fn earliest(&self) -> Time {
        if self.changed.get() != Changed::None {
            self.renew();
        }
        self.earliest.get()
    }

    /// Finds what has changed.
    #[inline(never)]
    fn renew(&self) {
        let earliest = || self.active_from.iter().fold(Time::NEVER, |least, from| least.min(from.get()));
        match self.changed.replace(Changed::None) {
            Changed::None => {}
            Changed::One(index) => {
                let from = self.units[index].active_from();
                let before = self.active_from[index].replace(from);
                if from <= self.earliest.get() {
                    self.earliest.set(from);
                } else if before == self.earliest.get() {
                    self.earliest.set(earliest());
                }
            }
            Changed::All => {
                let all = self.active_from.iter().zip(&self.units);
                all.for_each(|(from, unit)| from.set(unit.active_from()));
                self.earliest.set(earliest());
            }
        }
        debug_assert!(
            self.units.iter().map(NodeProcessor::active_from).eq(self.active_from.iter().map(Cell::get)),
            "a processor's turn has changed unseen"
        );
        debug_assert_eq!(self.earliest.get(), earliest());
    }
}

impl Deref for Processors {
    type Target = [NodeProcessor];

    #[inline(always)]
    fn deref(&self) -> &[NodeProcessor] {
        &self.units
    }
}

/// Any of them may change.
impl DerefMut for Processors {
    fn deref_mut(&mut self) -> &mut [NodeProcessor] {
        self.changed.set(Changed::All);
        &mut self.units
    }
}

impl Index<usize> for Processors {
    type Output = NodeProcessor;

    #[inline(always)]
    fn index(&self, index: usize) -> &NodeProcessor {
        &self.units[index]
    }
}

/// This one may change.
impl IndexMut<usize> for Processors {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut NodeProcessor {
        let one = Changed::One(index);
        let before = self.changed.get_mut();
        *before = if *before == Changed::None || *before == one { one } else { Changed::All };
        &mut self.units[index]
    }
}

impl NodeProcessor {
    /// It has something to do before each limit from this one on: at once where its access is done, and
    /// after its own instant where it executes; else never.
    #[inline]
    pub(super) fn active_from(&self) -> Time {
        match self.state {
            State::Woken => Time::ZERO,
            State::Running if !self.waiting.is_asleep() => after(self.processor.now()),
            _ => Time::NEVER,
        }
    }
}
