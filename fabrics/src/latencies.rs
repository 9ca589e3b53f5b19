//! How long packets or messages took: count, sum and extremes, exactly; between powers of
//! two; and percentiles, to one part in a hundred.
//!
//! Percentiles are those of an HdrHistogram (Tene), whose buckets are as fine at each
//! order of magnitude. It has some 10 KB, so only what is listed one by one has one.

use std::collections::BTreeMap;

use hdrhistogram::Histogram as Fine;
use narthex_kernel::Duration;
use narthex_kernel::statistics::{Distribution, Histogram, Statistic};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// What results state of a distribution, in percent.
const PERCENTILES: [&str; 4] = ["50", "90", "99", "99.9"];
/// Digits of a percentile that hold.
const DIGITS: u8 = 2;

/// How much results state of a distribution besides count, sum and extremes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// Nothing.
    Extremes,
    /// Counts between powers of two.
    Buckets,
    /// Those, and percentiles.
    Percentiles,
}

/// A distribution of latencies.
#[derive(Clone, PartialEq, Debug)]
pub struct Latencies {
    detail: Detail,
    counted: Histogram,
    fine: Option<Fine<u32>>,
}

impl Latencies {
    /// None yet.
    pub fn new(detail: Detail) -> Self {
        let fine = || Fine::new(DIGITS).expect("two digits are allowed");
        let fine = (detail == Detail::Percentiles).then(fine);
        Latencies { detail, counted: Histogram::default(), fine }
    }

    /// Something took so long.
    pub fn record(&mut self, latency: Duration) {
        self.counted.record(latency.as_ps());
        if let Some(fine) = &mut self.fine {
            // It grows with the largest latency; 64 bits of picoseconds always fit.
            let _ = fine.record(latency.as_ps());
        }
    }

    /// Adds those of another distribution of the same detail.
    pub fn merge(&mut self, other: &Latencies) {
        self.counted.merge(&other.counted);
        if let (Some(fine), Some(others)) = (&mut self.fine, &other.fine) {
            // Both grow with the largest latency, so that the sum has room.
            let _ = fine.add(others);
        }
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.counted.count()
    }

    /// All of them between powers of two, in picoseconds.
    pub fn counted(&self) -> &Histogram {
        &self.counted
    }

    /// As results have it.
    pub fn reported(&self) -> LatencyEntry {
        let Distribution { count, sum, minimum, maximum, buckets } = self.counted.reported();
        let buckets = (self.detail != Detail::Extremes).then_some(buckets);
        let percentiles = self.fine.is_some().then(|| self.percentiles());
        LatencyEntry { count, sum, minimum, maximum, buckets, percentiles }
    }

    /// In picoseconds by percent: the end of the bucket of the latency that so many do not exceed; none is
    /// beyond the largest.
    pub fn percentiles(&self) -> Map<String, Value> {
        let (Some(fine), Some(largest)) = (&self.fine, self.counted.maximum()) else { return Map::new() };
        let of = |percent: &str| {
            let quantile: f64 = percent.parse::<f64>().expect("it is a number") / 100.0;
            (percent.to_owned(), fine.value_at_quantile(quantile).min(largest).into())
        };
        PERCENTILES.into_iter().map(of).collect()
    }
}

/// A distribution of latencies as results have it, in picoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LatencyEntry {
    /// How many there were.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The smallest, if there was any.
    pub minimum: Option<u64>,
    /// The largest, if there was any.
    pub maximum: Option<u64>,
    /// Those between powers of two that are not empty: the smallest that each holds, and how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Vec<(u64, u64)>>,
    /// By percent, to one part in a hundred.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub percentiles: Option<Map<String, Value>>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_listed_one_by_one_has_mean_and_extremes_alone() {
        let mut latencies = Latencies::new(Detail::Extremes);
        latencies.record(Duration::from_ps(300));
        assert_eq!(
            json!(latencies.reported()),
            json!({ "count": 1, "sum": 300, "minimum": 300, "maximum": 300 })
        );
    }

    #[test]
    fn nothing_has_no_percentiles() {
        assert_eq!(Latencies::new(Detail::Percentiles).reported().percentiles, Some(Map::new()));
    }

    proptest! {
        /// Against the sorted list: the value whose rank is the percentile, rounded up.
        #[test]
        fn percentiles_hold_to_one_part_in_a_hundred(mut all in prop::collection::vec(0u64..=1 << 45, 1..400)) {
            let mut latencies = Latencies::new(Detail::Percentiles);
            all.iter().for_each(|&ps| latencies.record(Duration::from_ps(ps)));
            all.sort_unstable();
            let found = latencies.percentiles();
            for percent in PERCENTILES {
                let share: f64 = percent.parse::<f64>().unwrap() / 100.0;
                let rank = ((share * all.len() as f64).ceil() as usize).clamp(1, all.len());
                let (exact, stated) = (all[rank - 1], found[percent].as_u64().unwrap());
                prop_assert!(stated >= exact && stated - exact <= exact / 100, "{percent}: {stated}, not {exact}");
            }
        }
    }
}
