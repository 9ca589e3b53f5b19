//! The translation of devices' addresses between root complex and host: an IOTLB and its page walks.
//!
//! ```text
//!   a read or a write arrives ── IOTLB: sets of pages ─┬─ hit: it goes on
//!                                                      └─ miss: one of `walks` walkers, `levels` x `level_time`
//! ```
//!
//! Devices use the addresses of their program, which are the node's: what a translation costs is its
//! time, and nothing has another address because of it. A page walk reads the page table's levels one
//! after the other. They take a stated time each, and are no transactions: the simulated host has no page tables in
//! its memory, and the paging-structure caches, which keep the upper levels, are stated by `levels` as well.
//! What comes for a page that is being walked to waits for that walk. Address translation by
//! devices (ATS) is off.

use narthex_kernel::quantity::Bytes;
use narthex_kernel::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of an IOMMU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes of a page: 4KiB or 2MiB.
    pub page: Bytes,
    /// Pages that the IOTLB holds: a power of two of sets.
    #[schemars(range(min = 1, max = 65536))]
    pub entries: u32,
    /// Pages of a set, of which the least recently used one is replaced.
    #[schemars(range(min = 1, max = 65536))]
    pub ways: u32,
    /// Page walks at the same time.
    #[schemars(range(min = 1, max = 64))]
    pub walks: u32,
    /// Levels of the page table that a walk reads from memory, the upper ones being cached: 1 to 5.
    #[schemars(range(min = 1, max = 5))]
    pub levels: u32,
    /// Time of each of them.
    pub level_time: Duration,
}

impl Config {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let Config { page, entries, ways, walks, levels, level_time: _ } = self;
        let mut problems = Vec::new();
        let mut check = |is_right: bool, key, value: &dyn std::fmt::Display, expected: &str| {
            if !is_right {
                problems.push((key, format!("{value} is not allowed; expected {expected}")));
            }
        };
        check([4 << 10, 2 << 20].contains(&page.as_u64()), "page", page, "4KiB or 2MiB");
        check((1..=65536).contains(ways), "ways", ways, "1 to 65536");
        let sets = entries.checked_div(*ways).unwrap_or(0);
        let has_sets = sets.is_power_of_two() && sets * ways == *entries && *entries <= 65536;
        let expected = format!("{ways} ways times a power of two of sets, up to 65536");
        check(has_sets, "entries", entries, &expected);
        check((1..=64).contains(walks), "walks", walks, "1 to 64");
        check((1..=5).contains(levels), "levels", levels, "1 to 5");
        problems
    }
}

narthex_kernel::statistics! {
    /// What an IOMMU translated.
    pub struct Statistics {
        hits: Counter, "iotlb_hits", "translations", "translations of devices' addresses that the IOTLB had";
        misses: Counter, "iotlb_misses", "translations", "translations that took a page walk";
        joined: Counter, "iotlb_joined", "translations", "translations that waited for a page walk that was under way";
        walk_time: TimeTotal, "iommu_walk_time", "ps", "time of page walks, summed over them";
        walk_wait: TimeTotal, "iommu_walk_wait", "ps", "time for which translations waited for a walker, summed over them";
    }
}

/// An IOMMU.
#[derive(Clone, Debug)]
pub(super) struct Iommu {
    config: Config,
    pub state: State,
    pub statistics: Statistics,
}

/// What it remembers.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// Pages of each set, and when their walks are over, the most recently used one first.
    sets: Vec<Vec<(u64, Time)>>,
    /// When each walker is free.
    walkers: Vec<Time>,
}

impl Iommu {
    /// One with an empty IOTLB.
    pub fn new(config: &Config) -> Self {
        let sets = vec![Vec::new(); (config.entries / config.ways) as usize];
        let walkers = vec![Time::ZERO; config.walks as usize];
        Iommu { config: config.clone(), state: State { sets, walkers }, statistics: Statistics::default() }
    }

    /// Translates what arrives now for these bytes: when all of their pages are known.
    pub fn translate(&mut self, now: Time, address: u64, bytes: u32) -> Time {
        let page = self.config.page.as_u64();
        let pages = address / page..=(address + u64::from(bytes.max(1)) - 1) / page;
        pages.map(|page| self.look_up(now, page)).max().unwrap_or(now)
    }

    fn look_up(&mut self, now: Time, page: u64) -> Time {
        let Iommu { config, state: State { sets, walkers }, statistics } = self;
        let count = sets.len() as u64;
        let set = &mut sets[(page % count) as usize];
        if let Some(place) = set.iter().position(|(own, _)| *own == page) {
            set[..=place].rotate_right(1);
            let until = set[0].1;
            let counter = if until > now { &mut statistics.joined } else { &mut statistics.hits };
            counter.increment();
            return until.max(now);
        }
        let walker = walkers.iter_mut().min().expect("there is one");
        let begin = now.max(*walker);
        *walker = begin + config.level_time * u64::from(config.levels);
        statistics.misses.increment();
        statistics.walk_wait.add(begin - now);
        statistics.walk_time.add(*walker - begin);
        set.truncate(config.ways as usize - 1);
        set.insert(0, (page, *walker));
        *walker
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        let page = Bytes::new(4096);
        Config { page, entries: 4, ways: 2, walks: 2, levels: 2, level_time: Duration::from_ns(50) }
    }

    fn at(nanoseconds: u64) -> Time {
        Time::ZERO + Duration::from_ns(nanoseconds)
    }

    #[test]
    fn a_page_takes_a_walk_once_and_then_nothing_until_its_set_is_full() {
        let mut iommu = Iommu::new(&config());
        let mut when = |now, page: u64| iommu.translate(at(now), page * 4096 + 8, 64);
        assert_eq!([when(0, 0), when(40, 0), when(200, 0)], [at(100), at(100), at(200)]);
        // Pages 0, 2 and 4 are in one set of two.
        assert_eq!([when(300, 2), when(500, 0), when(600, 4)], [at(400), at(500), at(700)]);
        assert_eq!([when(800, 0), when(900, 2)], [at(800), at(1_000)], "the least recently used one left");
        let Statistics { hits, misses, joined, walk_time, .. } = &iommu.statistics;
        assert_eq!((hits.get(), misses.get(), joined.get()), (3, 4, 1));
        assert_eq!(walk_time.get(), Duration::from_ns(400));
    }

    #[test]
    fn walks_beyond_the_walkers_wait_and_bytes_of_two_pages_take_both() {
        let mut iommu = Iommu::new(&config());
        assert_eq!(iommu.translate(at(0), 4096 - 8, 64), at(100), "both at the same time");
        assert_eq!(iommu.translate(at(10), 2 * 4096, 64), at(200));
        assert_eq!(iommu.statistics.walk_wait.get(), Duration::from_ns(90));
    }

    #[test]
    fn what_is_no_iotlb_is_refused_with_its_key() {
        assert_eq!(config().problems(), []);
        let wrong = |config: Config| config.problems().into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        assert_eq!(wrong(Config { entries: 6, ..config() }), ["entries"]);
        assert_eq!(wrong(Config { entries: 4, ways: 3, ..config() }), ["entries"]);
        assert_eq!(wrong(Config { ways: 0, ..config() }), ["ways", "entries"]);
        let page = Bytes::new(8192);
        assert_eq!(wrong(Config { page, walks: 0, levels: 6, ..config() }), ["page", "walks", "levels"]);
    }
}
