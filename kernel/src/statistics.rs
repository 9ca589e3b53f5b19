//! Statistics that are declared once.
//!
//! A count that is declared in one place, incremented in a second, merged in a
//! third and printed in a fourth is soon forgotten in one of them. Here a
//! component declares its statistics with [`statistics!`](crate::statistics!):
//! for each a field, its kind, and then its key in results, its unit and its
//! meaning. Increments are plain additions to a field; descriptions, JSON and
//! merging follow from the declaration.
//!
//! ```
//! use narthex_kernel::{Duration, statistics};
//!
//! statistics! {
//!     /// What crossed a bus.
//!     pub struct BusStatistics {
//!         reads: Counter, "bus_reads", "transactions", "blocks fetched to be read";
//!         busy: TimeTotal, "bus_busy", "ps", "time during which the bus was not free";
//!         waits: Histogram, "bus_waits", "cycles", "from a request to its grant";
//!     }
//! }
//!
//! let mut bus = BusStatistics::default();
//! bus.reads.increment();
//! bus.busy.add(Duration::from_ns(12));
//! bus.waits.record(3);
//! assert_eq!(BusStatistics::describe()[0].unit, "transactions");
//! let json = serde_json::to_value(bus.reported())?;
//! assert_eq!(json["bus_busy"], 12_000);
//! assert_eq!(json["bus_waits"]["maximum"], 3);
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! The kinds: [`Counter`] and [`TimeTotal`] add up, [`Maximum`] keeps the
//! largest value, [`Histogram`] how values are distributed, [`Tally`] one count
//! for each member of a [`Category`].

mod kinds;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, json_schema};
use serde::Serializer;
use serde::ser::SerializeMap;
#[doc(hidden)]
pub use serde::{Deserialize, Serialize};
use serde_json::Map;

pub use kinds::{Counter, Distribution, Histogram, Maximum, Tally, TimeTotal};

/// What a statistic is: its declaration, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Description {
    /// Its key in results.
    pub name: &'static str,
    /// What its value counts: "transactions", "ps".
    pub unit: &'static str,
    /// What it says, for people.
    pub meaning: &'static str,
}

/// A value as it appears in results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Value {
    /// A count, or a time in picoseconds.
    Number(u64),
    /// The largest of what was seen.
    Maximum(u64),
    /// A distribution.
    Distribution(Box<Histogram>),
    /// Counts by name.
    Counts(Vec<(String, u64)>),
}

impl Value {
    /// Adds what another component has seen under the same name.
    ///
    /// # Panics
    /// If the two are not of the same kind.
    pub fn merge(&mut self, other: &Value) {
        match (self, other) {
            (Value::Number(mine), Value::Number(theirs)) => *mine += theirs,
            (Value::Maximum(mine), Value::Maximum(theirs)) => *mine = (*mine).max(*theirs),
            (Value::Distribution(mine), Value::Distribution(theirs)) => mine.merge(theirs),
            (Value::Counts(mine), Value::Counts(theirs)) => {
                for ((_, mine), (_, theirs)) in mine.iter_mut().zip(theirs) {
                    *mine += theirs;
                }
            }
            (mine, theirs) => panic!("{mine:?} and {theirs:?} do not add up"),
        }
    }

    /// What came after `earlier`, a former value of the same statistic. None
    /// where that cannot be told: the extremes of a stretch are lost in those
    /// of the whole.
    pub fn since(&self, earlier: &Value) -> Option<Value> {
        match (self, earlier) {
            (Value::Number(now), Value::Number(before)) => Some(Value::Number(now - before)),
            (Value::Counts(now), Value::Counts(before)) => {
                let counts = now.iter().zip(before);
                let counts = counts.map(|((name, now), (_, before))| (name.clone(), now - before));
                Some(Value::Counts(counts.collect()))
            }
            _ => None,
        }
    }
}

/// A value or a set in the form that results show; what these types serialise
/// themselves is their state, for archives.
#[derive(Debug, Clone, Copy)]
pub struct Reported<'a, T: ?Sized>(&'a T);

impl Value {
    /// As results show it.
    pub fn reported(&self) -> Reported<'_, Value> {
        Reported(self)
    }

    /// The JSON Schema of how results have it.
    fn schema(&self) -> Schema {
        match self {
            Value::Number(_) | Value::Maximum(_) => json_schema!({ "type": "integer", "minimum": 0 }),
            Value::Distribution(_) => {
                let settings = SchemaSettings::default().for_serialize();
                Distribution::json_schema(&mut settings.into_generator())
            }
            Value::Counts(_) => json_schema!({
                "type": "object",
                "additionalProperties": { "type": "integer", "minimum": 0 },
            }),
        }
    }
}

impl Serialize for Reported<'_, Value> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Number(number) | Value::Maximum(number) => number.serialize(serializer),
            Value::Distribution(histogram) => histogram.reported().serialize(serializer),
            Value::Counts(counts) => serializer.collect_map(counts.iter().map(|(name, count)| (name, count))),
        }
    }
}

/// A kind of statistic: what a field of a set can be.
pub trait Statistic: Default {
    /// What results show.
    fn value(&self) -> Value;

    /// Adds what another component of the same kind has seen.
    fn merge(&mut self, other: &Self);

    /// Hands out each number in it that adds up; not the extremes, which do not
    /// move when the same is seen again.
    fn sums(&mut self, visitor: &mut dyn FnMut(&mut u64));
}

/// A component's statistics, as a report reads them.
pub trait StatisticSet {
    /// What each statistic is, in the order of the declaration.
    fn descriptions(&self) -> &'static [Description];

    /// Shows each statistic with its value, in the same order.
    fn visit(&self, visitor: &mut dyn FnMut(&'static Description, Value));

    /// Hands out each number that adds up, always in the same order.
    fn sums(&mut self, visitor: &mut dyn FnMut(&mut u64));
}

impl<'a> Reported<'a, dyn StatisticSet + 'a> {
    /// A set as results show it; what the macro's `reported` does.
    pub fn of_set(set: &'a dyn StatisticSet) -> Self {
        Reported(set)
    }
}

impl Serialize for Reported<'_, dyn StatisticSet + '_> {
    /// A map from name to value.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut values = Vec::with_capacity(self.0.descriptions().len());
        self.0.visit(&mut |description, value| values.push((description.name, value)));
        let mut map = serializer.serialize_map(Some(values.len()))?;
        values.iter().try_for_each(|(name, value)| map.serialize_entry(name, &value.reported()))?;
        map.end()
    }
}

/// The JSON Schema of what a set is reported as.
pub fn schema(set: &dyn StatisticSet) -> Schema {
    let mut properties = Map::new();
    set.visit(&mut |description, value| {
        properties.insert(description.name.to_owned(), value.schema().to_value());
    });
    let names: Vec<_> = properties.keys().cloned().collect();
    json_schema!({ "type": "object", "properties": properties, "required": names })
}

/// Declares a set of statistics: for each a field, its kind (one of those in
/// the [module](mod@crate::statistics)), its key in results, its unit, its meaning.
#[macro_export]
macro_rules! statistics {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $set:ident {
            $(
                $field:ident : $kind:ident $(<$category:ty>)?,
                $name:literal, $unit:literal, $meaning:literal;
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        #[derive($crate::statistics::Serialize, $crate::statistics::Deserialize)]
        $visibility struct $set {
            $(
                #[doc = concat!("`", $name, "` (", $unit, "): ", $meaning, ".")]
                pub $field: $crate::statistics::$kind $(<$category>)?,
            )*
        }

        /// What was counted is no part of a state: it hashes to nothing.
        impl ::std::hash::Hash for $set {
            fn hash<H: ::std::hash::Hasher>(&self, _: &mut H) {}
        }

        #[allow(dead_code)]
        impl $set {
            /// What each statistic is, in the order of the declaration.
            pub const fn describe() -> &'static [$crate::statistics::Description] {
                &[$($crate::statistics::Description { name: $name, unit: $unit, meaning: $meaning }),*]
            }

            /// As results show it: a map from name to value.
            pub fn reported(
                &self,
            ) -> $crate::statistics::Reported<'_, dyn $crate::statistics::StatisticSet + '_> {
                $crate::statistics::Reported::of_set(self)
            }

            /// Adds what another component of the same kind has seen.
            pub fn merge(&mut self, other: &Self) {
                $($crate::statistics::Statistic::merge(&mut self.$field, &other.$field);)*
            }
        }

        impl $crate::statistics::StatisticSet for $set {
            fn descriptions(&self) -> &'static [$crate::statistics::Description] {
                Self::describe()
            }

            fn visit(
                &self,
                visitor: &mut dyn FnMut(
                    &'static $crate::statistics::Description,
                    $crate::statistics::Value,
                ),
            ) {
                let values = [$($crate::statistics::Statistic::value(&self.$field)),*];
                for (description, value) in Self::describe().iter().zip(values) {
                    visitor(description, value);
                }
            }

            fn sums(&mut self, visitor: &mut dyn FnMut(&mut u64)) {
                $($crate::statistics::Statistic::sums(&mut self.$field, visitor);)*
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Archive;
    use crate::time::Duration;

    crate::categories! {
        /// What went by.
        pub enum Vehicle { Car = "car", Tram = "tram" }
    }

    crate::statistics! {
        /// What a road counts.
        pub struct Road {
            closures: Counter, "closures", "events", "how often the road was closed";
            closed: TimeTotal, "closed", "ps", "time for which it was closed";
            speeds: Histogram, "speeds", "km/h", "speeds that were measured";
            longest_queue: Maximum, "longest_queue", "vehicles", "most vehicles that waited";
            traffic: Tally<Vehicle>, "traffic", "vehicles", "vehicles by kind";
        }
    }

    fn a_day() -> Road {
        let mut road = Road::default();
        road.closures.increment();
        road.closed.add(Duration::from_ns(2));
        [0, 1, 7, 50].into_iter().for_each(|speed| road.speeds.record(speed));
        road.longest_queue.record(9);
        road.traffic.increment(Vehicle::Tram);
        road
    }

    #[test]
    fn a_declaration_is_all_that_json_needs() {
        let json = serde_json::to_string(&a_day().reported()).unwrap();
        assert_eq!(
            json,
            r#"{"closures":1,"closed":2000,"speeds":{"count":4,"sum":58,"minimum":0,"maximum":50,"#
                .to_owned()
                + r#""buckets":[[0,1],[1,1],[4,1],[32,1]]},"longest_queue":9,"#
                + r#""traffic":{"car":0,"tram":1}}"#
        );
    }

    #[test]
    fn descriptions_and_values_have_the_order_of_the_declaration() {
        let mut names = Vec::new();
        a_day().visit(&mut |description, _| names.push(description.name));
        assert_eq!(names, ["closures", "closed", "speeds", "longest_queue", "traffic"]);
        assert!(Road::describe().iter().map(|description| description.name).eq(names));
    }

    #[test]
    fn merging_two_days_is_as_if_one_had_seen_both() {
        let mut sum = a_day();
        sum.merge(&a_day());
        assert_eq!((sum.closures.get(), sum.closed.get()), (2, Duration::from_ns(4)));
        assert_eq!((sum.speeds.count(), sum.speeds.mean()), (8, Some(14.5)));
        assert_eq!((sum.longest_queue.get(), sum.traffic.get(Vehicle::Tram)), (9, 2));
        sum.merge(&Road::default());
        assert_eq!((sum.speeds.minimum(), sum.speeds.maximum()), (Some(0), Some(50)));
    }

    fn values(road: &Road) -> Vec<Value> {
        let mut values = Vec::new();
        road.visit(&mut |_, value| values.push(value));
        values
    }

    #[test]
    fn values_merge_as_the_components_do() {
        let mut both = a_day();
        both.merge(&a_day());
        let mut merged = values(&a_day());
        merged.iter_mut().zip(&values(&a_day())).for_each(|(mine, theirs)| mine.merge(theirs));
        assert_eq!(merged, values(&both));
    }

    #[test]
    fn what_adds_up_is_known_for_a_stretch_and_extremes_are_not() {
        let mut both = a_day();
        both.merge(&a_day());
        let (all, earlier, day) = (values(&both), values(&a_day()), values(&a_day()));
        let later: Vec<_> = all.iter().zip(&earlier).map(|(all, earlier)| all.since(earlier)).collect();
        let expected = [Some(day[0].clone()), Some(day[1].clone()), None, None, Some(day[4].clone())];
        assert_eq!(later, expected);
    }

    #[test]
    fn what_adds_up_is_handed_out_and_extremes_are_not() {
        let (mut road, mut twice) = (a_day(), a_day());
        twice.merge(&a_day());
        road.sums(&mut |sum| *sum *= 2);
        assert_eq!(values(&road), values(&twice));
    }

    #[test]
    fn a_tally_without_all_of_its_categories_is_not_read() {
        let counts = |count: u64| Archive::save(&mut vec![7u64; count as usize]).expect("plain data");
        let read = |bytes: &[u8]| Archive::restore(bytes, &mut Tally::<Vehicle>::default()).is_ok();
        let count = Vehicle::ALL.len() as u64;
        assert_eq!([count - 1, count, count + 1].map(|count| read(&counts(count))), [false, true, false]);
    }

    #[test]
    fn extreme_values_have_a_bucket_and_saturate_the_sum() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.minimum(), histogram.mean()), (None, None));
        histogram.record(u64::MAX);
        histogram.record(u64::MAX);
        assert_eq!(histogram.sum(), u64::MAX);
        assert!(histogram.buckets().eq([(1 << 63, 2)]));
    }
}
