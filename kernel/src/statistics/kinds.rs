//! The kinds of statistics: how each takes in what it sees, and how two of them
//! are joined.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Statistic, Value};
use crate::ledger::Category;
use crate::time::Duration;

/// Counts events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter(u64);

impl Counter {
    /// One more.
    #[inline]
    pub fn increment(&mut self) {
        self.0 += 1;
    }

    /// `count` more.
    #[inline]
    pub fn add(&mut self, count: u64) {
        self.0 += count;
    }

    /// How many so far.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Statistic for Counter {
    fn value(&self) -> Value {
        Value::Number(self.0)
    }

    fn merge(&mut self, other: &Self) {
        self.0 += other.0;
    }

    fn sums(&mut self, visitor: &mut dyn FnMut(&mut u64)) {
        visitor(&mut self.0);
    }
}

/// Adds up time; picoseconds in results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeTotal(Duration);

impl TimeTotal {
    /// `duration` more.
    #[inline]
    pub fn add(&mut self, duration: Duration) {
        self.0 += duration;
    }

    /// How much so far.
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl Statistic for TimeTotal {
    fn value(&self) -> Value {
        Value::Number(self.0.as_ps())
    }

    fn merge(&mut self, other: &Self) {
        self.0 += other.0;
    }

    fn sums(&mut self, visitor: &mut dyn FnMut(&mut u64)) {
        let mut picoseconds = self.0.as_ps();
        visitor(&mut picoseconds);
        self.0 = Duration::from_ps(picoseconds);
    }
}

/// Keeps the largest value seen, zero before the first: a queue's high-water mark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maximum(u64);

impl Maximum {
    /// Takes `value` into account.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.0 = self.0.max(value);
    }

    /// The largest value so far.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Statistic for Maximum {
    fn value(&self) -> Value {
        Value::Maximum(self.0)
    }

    fn merge(&mut self, other: &Self) {
        self.record(other.0);
    }

    fn sums(&mut self, _: &mut dyn FnMut(&mut u64)) {}
}

/// How values are distributed: count, sum, extremes, and how many values lie
/// between consecutive powers of two. Bucket 0 holds zeros; bucket `i` holds
/// the values of `i` binary digits, from `2^(i-1)` to `2^i - 1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    count: u64,
    sum: u64,
    minimum: u64,
    maximum: u64,
    #[serde(with = "crate::archive::array")]
    buckets: [u64; BUCKETS],
}

const BUCKETS: usize = u64::BITS as usize + 1;

impl Default for Histogram {
    fn default() -> Self {
        Histogram { count: 0, sum: 0, minimum: u64::MAX, maximum: 0, buckets: [0; BUCKETS] }
    }
}

impl Histogram {
    /// Takes `value` into account.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        self.minimum = self.minimum.min(value);
        self.maximum = self.maximum.max(value);
        self.buckets[(u64::BITS - value.leading_zeros()) as usize] += 1;
    }

    /// How many values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum (at most `u64::MAX`).
    pub const fn sum(&self) -> u64 {
        self.sum
    }

    /// The smallest, if there was any.
    pub fn minimum(&self) -> Option<u64> {
        (self.count > 0).then_some(self.minimum)
    }

    /// The largest, if there was any.
    pub fn maximum(&self) -> Option<u64> {
        (self.count > 0).then_some(self.maximum)
    }

    /// Their average, if there was any.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The buckets that are not empty: smallest value they hold, and count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let from = |bucket: usize| bucket.checked_sub(1).map_or(0, |digits| 1 << digits);
        let buckets = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        buckets.map(move |(bucket, &count)| (from(bucket), count))
    }

    /// As results have it.
    pub fn reported(&self) -> Distribution {
        Distribution {
            count: self.count,
            sum: self.sum,
            minimum: self.minimum(),
            maximum: self.maximum(),
            buckets: self.buckets().collect(),
        }
    }
}

/// A histogram as results have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Distribution {
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The smallest, if there was any.
    pub minimum: Option<u64>,
    /// The largest, if there was any.
    pub maximum: Option<u64>,
    /// The buckets that are not empty: smallest value they hold, and count.
    pub buckets: Vec<(u64, u64)>,
}

impl Statistic for Histogram {
    fn value(&self) -> Value {
        Value::Distribution(Box::new(self.clone()))
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.minimum = self.minimum.min(other.minimum);
        self.maximum = self.maximum.max(other.maximum);
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
    }

    fn sums(&mut self, visitor: &mut dyn FnMut(&mut u64)) {
        [&mut self.count, &mut self.sum].into_iter().chain(&mut self.buckets).for_each(visitor);
    }
}

/// One count for each member of a category: transactions by kind, or time by kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound = "", remote = "Self")]
pub struct Tally<C> {
    counts: Box<[u64]>,
    categories: PhantomData<C>,
}

crate::checked_when_read!(Tally<C>, C: Category);

impl<C: Category> Default for Tally<C> {
    fn default() -> Self {
        Tally { counts: vec![0; C::COUNT].into(), categories: PhantomData }
    }
}

impl<C: Category> Tally<C> {
    /// One more of `category`.
    #[inline]
    pub fn increment(&mut self, category: C) {
        self.add(category, 1);
    }

    /// `amount` more of `category`.
    #[inline]
    pub fn add(&mut self, category: C, amount: u64) {
        self.counts[category.index()] += amount;
    }

    fn is_sound(&self) -> bool {
        self.counts.len() == C::COUNT
    }

    /// How many of `category` so far.
    pub fn get(&self, category: C) -> u64 {
        self.counts[category.index()]
    }
}

impl<C: Category> Statistic for Tally<C> {
    fn value(&self) -> Value {
        Value::Counts((0..C::COUNT).map(|index| (C::name(index), self.counts[index])).collect())
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }

    fn sums(&mut self, visitor: &mut dyn FnMut(&mut u64)) {
        self.counts.iter_mut().for_each(visitor);
    }
}
