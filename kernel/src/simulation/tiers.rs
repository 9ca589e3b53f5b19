//! Partitions in two tiers: those that work, and those through which they hear from
//! each other.
//!
//! The nodes of a machine hear from each other through switches only. From a node to a
//! switch, and from one switch to the next, mail takes no longer than a hop, so switches
//! need short windows. But what one node sends reaches another after two hops at least:
//! nodes may have longer windows. A switch costs nothing in a window in which it has no
//! parcel, a node that computes is called in each, so this is worth most of the windows.
//!
//! ```text
//!   first tier    |------------------------->|------------------------->|
//!   second tier   |------->|------->|------->|------->|------->|------->|
//! ```
//!
//! In a window of the first tier nothing arrives there that the second tier has not
//! sent before its beginning. At its end both are equally far.

use super::window::Window;
use crate::time::{Duration, Time};

/// Which partitions are of the first tier, and how soon they hear from the others.
///
/// Those of the first tier send nothing to each other. Those of the second have no
/// work of their own: they have always finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiers {
    /// So many partitions, the first ones, are of the first tier.
    pub first: usize,
    /// The second tier hears from the first no sooner.
    pub to_second: Duration,
    /// The first tier hears from the second no sooner.
    pub to_first: Duration,
    /// Those of the second tier hear from each other no sooner.
    pub within_second: Duration,
}

/// The partitions that a window is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Members {
    All,
    First,
    Second,
}

impl Tiers {
    /// A window of the first tier, where nothing leaves each tier before its instant of
    /// `departures`.
    pub(super) fn first_window(&self, departures: [Time; 2], bound: Time) -> Window {
        let heard = departures[0].saturating_add(self.to_second);
        let end = heard.min(departures[1]).saturating_add(self.to_first).min(bound);
        let (first_arrivals, latency) = ([end, heard], self.to_second);
        Window {
            members: Members::First,
            end,
            ahead_until: bound,
            is_complete: end == bound,
            first_arrivals,
            latency,
            first: None,
            finished_end: Time::NEVER,
        }
    }

    /// A window of the second tier in one of the first, which ends at `end`.
    pub(super) fn second_window(&self, start: Time, end: Time) -> Window {
        let heard = start.saturating_add(self.within_second);
        let (first_arrivals, latency) = ([end, heard], self.to_first.min(self.within_second));
        let end = heard.min(end);
        Window {
            members: Members::Second,
            end,
            ahead_until: end,
            is_complete: true,
            first_arrivals,
            latency,
            first: None,
            finished_end: Time::NEVER,
        }
    }
}
