//! Amounts over time, in bins of one width.
//!
//! The width is the least of 1 ns, 2 ns, 4 ns, ... with which a run has at most
//! [`MOST_BINS`] bins. How long the run is shows at its end, so bins are joined in
//! pairs whenever there would be more:
//!
//! ```text
//!   |3|1|0|2|        ──► |4 |2 |.  |.  |
//! ```

use std::collections::BTreeMap;

use narthex_kernel::{Duration, Time};
use schemars::JsonSchema;
use serde::Serialize;

/// Bins of a series, at most.
pub const MOST_BINS: usize = 256;
const NARROWEST: Duration = Duration::from_ns(1);

/// The width of the bins of a run that ends at `end`.
pub fn width(end: Time) -> Duration {
    let mut width = NARROWEST;
    while end.as_ps() > width.as_ps() * MOST_BINS as u64 {
        width = width + width;
    }
    width
}

/// An amount that is there for a time, in each bin: amount times picoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bins {
    width_ps: u64,
    sums: Vec<u64>,
}

impl Default for Bins {
    fn default() -> Self {
        Bins { width_ps: NARROWEST.as_ps(), sums: Vec::new() }
    }
}

impl Bins {
    /// `amount` is there from `from` to `to`.
    pub fn add(&mut self, from: Time, to: Time, amount: u64) {
        let (mut from, to) = (from.as_ps(), to.as_ps());
        if amount == 0 || from >= to {
            return;
        }
        while to > self.width_ps * MOST_BINS as u64 {
            self.widen();
        }
        self.sums.resize(self.sums.len().max(to.div_ceil(self.width_ps) as usize), 0);
        while from < to {
            let bin = from / self.width_ps;
            let until = to.min((bin + 1) * self.width_ps);
            self.sums[bin as usize] += (until - from) * amount;
            from = until;
        }
    }

    /// Joins neighbours.
    fn widen(&mut self) {
        self.width_ps *= 2;
        self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
    }

    fn widen_to(&mut self, width_ps: u64) {
        while self.width_ps < width_ps {
            self.widen();
        }
    }

    /// Adds another's amounts.
    pub fn join(&mut self, other: &Bins) {
        let mut other = other.clone();
        other.widen_to(self.width_ps);
        self.widen_to(other.width_ps);
        self.sums.resize(self.sums.len().max(other.sums.len()), 0);
        self.sums.iter_mut().zip(&other.sums).for_each(|(own, other)| *own += other);
    }

    /// The mean amount in each bin of a run that ends at `end`, to four digits behind the point.
    fn means(&self, width: Duration, end: Time, parts: u64) -> Vec<f64> {
        let mut wide = self.clone();
        wide.widen_to(width.as_ps());
        wide.sums.resize(end.as_ps().div_ceil(width.as_ps()) as usize, 0);
        let mean = |(bin, &sum): (usize, &u64)| {
            let length_ps = (end.as_ps() - bin as u64 * width.as_ps()).min(width.as_ps());
            (sum as f64 / (length_ps * parts) as f64 * 1e4).round() / 1e4
        };
        wide.sums.iter().enumerate().map(mean).collect()
    }
}

/// What a series is about: a kind (`bus`, `link`, `memory`, `accesses`, `activity`, `messages`, `packets`), and a name.
pub type Name = (&'static str, String);

/// The series of a node, or of several.
#[derive(Clone, Debug)]
pub struct Series {
    bins: BTreeMap<Name, Bins>,
    /// Processors of a node share their activities, and nodes all of it.
    processors: u64,
    nodes: u64,
}

impl Default for Series {
    fn default() -> Self {
        Series { bins: BTreeMap::new(), processors: 1, nodes: 1 }
    }
}

impl Series {
    /// Those of a node with so many processors.
    pub fn of_node(bins: BTreeMap<Name, Bins>, processors: usize) -> Self {
        Series { bins, processors: processors.max(1) as u64, nodes: 1 }
    }

    /// Adds another node's.
    pub fn add(&mut self, other: &Series) {
        self.processors = other.processors;
        for (name, bins) in &other.bins {
            self.bins.entry(name.clone()).or_default().join(bins);
        }
    }

    /// The mean of so many nodes.
    pub fn divided_by(self, nodes: u64) -> Self {
        Series { nodes, ..self }
    }

    /// As results have it; without a node for the mean of all.
    pub fn entries(&self, node: Option<usize>, width: Duration, end: Time) -> Vec<SeriesEntry> {
        let row = |(&(kind, ref name), bins): (&Name, &Bins)| {
            let parts = if kind == "activity" { self.nodes * self.processors } else { self.nodes };
            SeriesEntry { node, kind, name: name.clone(), means: bins.means(width, end, parts) }
        };
        self.bins.iter().map(row).collect()
    }
}

/// An amount over time: its mean in each bin.
#[derive(Serialize, JsonSchema)]
pub struct SeriesEntry {
    /// Of this node; of the mean of all if there is none.
    pub node: Option<usize>,
    /// Of what kind it is.
    #[schemars(extend("enum" = ["bus", "link", "memory", "accesses", "activity", "messages", "packets"]))]
    pub kind: &'static str,
    /// What is called so.
    pub name: String,
    /// The means.
    pub means: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_ps(ns * 1_000)
    }

    #[test]
    fn a_longer_run_has_wider_bins_and_the_same_amounts() {
        let mut bins = Bins::default();
        bins.add(at(1), at(3), 1);
        bins.add(at(300), at(301), 2);
        assert_eq!(bins.width_ps, 2_000, "301 ns in at most 256 bins");
        assert_eq!(bins.sums[..2], [1_000, 1_000]);
        assert_eq!((bins.sums.len(), bins.sums[150]), (151, 2_000));
    }

    #[test]
    fn a_mean_is_over_the_part_of_the_last_bin_that_the_run_has() {
        let mut bins = Bins::default();
        bins.add(at(0), at(301), 3);
        let end = at(301);
        let means = bins.means(width(end), end, 1);
        assert_eq!((means.len(), means[0], means[150]), (151, 3.0, 3.0));
    }

    #[test]
    fn series_of_nodes_with_bins_of_several_widths_are_joined() {
        let (mut short, mut long) = (Bins::default(), Bins::default());
        short.add(at(0), at(4), 1);
        long.add(at(0), at(1_000), 1);
        let mut joined = short.clone();
        joined.join(&long);
        long.join(&short);
        assert_eq!(joined, long);
        assert_eq!(joined.sums.iter().sum::<u64>(), 1_004_000);
    }
}
