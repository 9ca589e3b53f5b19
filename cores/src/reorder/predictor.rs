//! The branch predictor: directions of branches and targets of indirect jumps.

use narthex_kernel::{Archive, Archived, Damage};

use super::config::{PredictorConfig, PredictorKind};

/// Counters of branches, and the last targets of jumps to registers.
#[derive(Clone, Debug)]
pub(super) struct Predictor {
    kind: PredictorKind,
    /// From 0 (strongly not taken) to 3 (strongly taken).
    counters: Box<[u8]>,
    targets: Box<[u64]>,
}

/// Weakly not taken: the initial value of each counter.
const FIRST: u8 = 1;

impl Predictor {
    pub fn new(config: &PredictorConfig) -> Self {
        let entries = config.entries as usize;
        Predictor {
            kind: config.kind,
            counters: vec![FIRST; entries].into(),
            targets: vec![0; entries].into(),
        }
    }

    /// Instructions begin at even addresses.
    #[inline(always)]
    fn place(&self, pc: u64, history: u64) -> usize {
        let history = if self.kind == PredictorKind::Gshare { history } else { 0 };
        ((pc >> 1) ^ history) as usize & (self.counters.len() - 1)
    }

    /// Whether the branch at `pc` behind branches with these directions will be taken.
    #[inline(always)]
    pub fn takes(&self, pc: u64, history: u64) -> bool {
        self.counters[self.place(pc, history)] > FIRST
    }

    /// It was taken, or not.
    #[inline(always)]
    pub fn learn(&mut self, pc: u64, history: u64, taken: bool) {
        let place = self.place(pc, history);
        let counter = &mut self.counters[place];
        *counter = if taken { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
    }

    /// Where the jump at `pc` went last.
    pub fn target(&self, pc: u64) -> u64 {
        self.targets[self.place(pc, 0)]
    }

    /// It has gone to `target`.
    pub fn learn_target(&mut self, pc: u64, target: u64) {
        let place = self.place(pc, 0);
        self.targets[place] = target;
    }
}

impl Archived for Predictor {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Predictor { kind: _, counters, targets } = self;
        archive.each(counters)?;
        archive.each(targets)
    }
}
