//! Who gets a link: the arbiter of a switch's output.

use narthex_kernel::{Archive, Archived, Damage, Time};

use super::Arbitration;
use super::queues::{Queues, Slot, Waiting};
use crate::parcel::Parcel;

/// What an arbiter decides.
pub(super) enum Decision {
    /// For the parcel of this lane of an input.
    For(Slot),
    /// None may leave before this instant.
    Again(Time),
    /// There is room for none.
    NoRoom,
}

/// The arbiter of one output.
#[derive(Debug)]
pub(super) struct Arbiter {
    /// A bit for each lane of an input whose next parcel needs the output.
    candidates: Vec<u64>,
    /// Where its turns begin.
    turn: usize,
    /// When it decides next; never, if it is not asked.
    decides_at: Time,
}

impl Arbiter {
    pub(super) fn new(slots: usize) -> Self {
        Arbiter { candidates: vec![0; slots.div_ceil(64)], turn: 0, decides_at: Time::NEVER }
    }

    pub(super) fn add(&mut self, index: usize) {
        self.candidates[index / 64] |= 1 << (index % 64);
    }

    pub(super) fn remove(&mut self, index: usize) {
        self.candidates[index / 64] &= !(1 << (index % 64));
    }

    pub(super) fn has_candidates(&self) -> bool {
        self.candidates.iter().any(|&word| word != 0)
    }

    /// Lets it decide at `at`; says whether that is sooner than it would have.
    pub(super) fn is_asked_at(&mut self, at: Time) -> bool {
        let is_sooner = at < self.decides_at;
        if is_sooner {
            self.decides_at = at;
        }
        is_sooner
    }

    /// Whether it was to decide now; a question that was overtaken is not answered.
    pub(super) fn answers(&mut self, now: Time) -> bool {
        let is_due = self.decides_at == now;
        if is_due {
            self.decides_at = Time::NEVER;
        }
        is_due
    }

    /// The candidates in the order of turns.
    fn in_turn(&self) -> impl Iterator<Item = usize> {
        let bits = |from: usize, to: usize| {
            (from / 64..to.div_ceil(64)).flat_map(move |word| {
                let mut left = self.candidates[word];
                std::iter::from_fn(move || {
                    let bit = (left != 0).then(|| left.trailing_zeros())?;
                    left &= left - 1;
                    Some(word * 64 + bit as usize)
                })
                .filter(move |index| (from..to).contains(index))
            })
        };
        bits(self.turn, self.candidates.len() * 64).chain(bits(0, self.turn))
    }

    /// Gives the output to a candidate, if there is room for any. `way_free_at` is when the input of
    /// a lane with this number can send again, and `has_room` whether there is room for a parcel behind the output.
    #[inline]
    pub(super) fn decide<C>(
        &mut self,
        now: Time,
        (output, arbitration): (u16, Arbitration),
        queues: &Queues<C>,
        way_free_at: impl Fn(usize) -> Time,
        has_room: impl Fn(&Parcel<C>) -> bool,
    ) -> Decision {
        let mut best: Option<(usize, &Waiting<C>)> = None;
        let mut later: Option<Time> = None;
        for index in self.in_turn() {
            let waiting = queues.head(index, output);
            let parcel = &waiting.parcel;
            let from = waiting.since.max(way_free_at(index));
            if from > now {
                later = Some(later.map_or(from, |later| later.min(from)));
                continue;
            }
            if !has_room(parcel) {
                continue;
            }
            let is_better = best.is_none_or(|(best, other)| {
                let (priority, others) = (parcel.priority, other.parcel.priority);
                let is_older = arbitration == Arbitration::Age
                    && (parcel.handed_over, index) < (other.parcel.handed_over, best);
                priority > others || (priority == others && is_older)
            });
            if is_better {
                best = Some((index, waiting));
            }
        }
        match (best, later) {
            (Some((index, _)), _) => {
                self.turn = index + 1;
                Decision::For(queues.slot(index))
            }
            (None, Some(later)) => Decision::Again(later),
            (None, None) => Decision::NoRoom,
        }
    }
}

impl Archived for Arbiter {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Arbiter { candidates, turn, decides_at } = self;
        // The queues tell who they are.
        candidates.fill(0);
        archive.value(turn)?;
        archive
            .ensure(*turn <= candidates.len() * 64, "an arbiter's turn is at an input that there is not")?;
        archive.value(decides_at)
    }
}
