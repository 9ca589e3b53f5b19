//! A cache beside the obvious one: for each set a list of its blocks, from the most
//! to the least recently used.

use std::collections::BTreeSet;

use super::*;

/// Sets of the caches that are compared.
const SETS: u64 = 2;

/// A block that the obvious cache holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    address: u64,
    bytes: [u8; 64],
    dirty: bool,
}

#[derive(Clone, Debug)]
enum Step {
    Load {
        block: u64,
    },
    Store {
        block: u64,
        offset: u64,
        value: u8,
    },
    Remove {
        block: u64,
    },
    Flush {
        first: u64,
        blocks: u64,
    },
    Clear,
    /// A line is taken away from caching, or given back; it is empty before.
    Lock {
        line: usize,
    },
    Free {
        line: usize,
    },
}

fn step(blocks: u64, lines: usize) -> impl Strategy<Value = Step> {
    let block = move || 0..blocks;
    prop_oneof![
        6 => block().prop_map(|block| Step::Load { block }),
        6 => (block(), 0u64..64, any::<u8>())
            .prop_map(|(block, offset, value)| Step::Store { block, offset, value }),
        2 => block().prop_map(|block| Step::Remove { block }),
        1 => (block(), 0u64..60).prop_map(|(first, blocks)| Step::Flush { first, blocks }),
        1 => Just(Step::Clear),
        1 => (0..lines).prop_map(|line| Step::Lock { line }),
        1 => (0..lines).prop_map(|line| Step::Free { line }),
    ]
}

/// The obvious cache, and what of it may answer at once.
struct Model {
    ways: usize,
    locked: BTreeSet<usize>,
    sets: [Vec<Held>; SETS as usize],
    /// The block of each set that was used last, if it is still there.
    fast: [Option<u64>; SETS as usize],
}

impl Model {
    fn set_of(address: u64) -> usize {
        (address / 64 % SETS) as usize
    }

    /// The ways of a set that are not locked.
    fn ways_left(&self, set: usize) -> usize {
        let locked = self.locked.iter().filter(|&line| line / self.ways == set);
        self.ways - locked.count()
    }

    /// The block, taken out of its set.
    fn remove(&mut self, address: u64) -> Option<Held> {
        let set = Self::set_of(address);
        self.fast[set] = self.fast[set].filter(|&fast| fast != address);
        let place = self.sets[set].iter().position(|held| held.address == address)?;
        Some(self.sets[set].remove(place))
    }

    fn use_now(&mut self, held: Held) {
        let set = Self::set_of(held.address);
        self.sets[set].insert(0, held);
        self.fast[set] = Some(held.address);
    }

    fn victim(&self, address: u64) -> Option<Victim> {
        let set = &self.sets[Self::set_of(address)];
        let victim = set.last().filter(|_| set.len() == self.ways_left(Self::set_of(address)))?;
        let is_present = set.iter().any(|held| held.address == address);
        (!is_present).then_some(Victim { block: victim.address, dirty: victim.dirty })
    }

    /// Brings the block of `address` into both caches, or makes it the most recent.
    fn acquire(&mut self, cache: &mut Cache, address: u64, access: Access) -> Result<Held, TestCaseError> {
        let victim = self.victim(address);
        prop_assert_eq!(cache.victim_for(address + 9), victim);
        let store = access == Access::Store;
        if let Some(held) = self.remove(address) {
            prop_assert_eq!(cache.access(address, access), Ok(()));
            return Ok(Held { dirty: held.dirty || store, ..held });
        }
        let request = if store { Request::ReadExclusive } else { Request::Read };
        prop_assert_eq!(cache.access(address, access), Err(request));
        if let Some(victim) = victim {
            let expected = self.remove(victim.block).filter(|held| held.dirty);
            let data = cache.remove(victim.block);
            prop_assert_eq!(data.as_deref(), expected.as_ref().map(|held| &held.bytes[..]));
        }
        let bytes = [(address >> 6) as u8; 64];
        cache.fill(address, request, false, Some(&BlockData::from_bytes(&bytes)));
        Ok(Held { address, bytes, dirty: store })
    }

    fn take(&mut self, cache: &mut Cache, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Load { block } => {
                let held = self.acquire(cache, block * 64, Access::Load)?;
                self.use_now(held);
            }
            Step::Store { block, offset, value } => {
                let mut held = self.acquire(cache, block * 64, Access::Store)?;
                held.bytes[offset as usize] = value;
                cache.write(held.address + offset, &[value]);
                self.use_now(held);
            }
            Step::Remove { block } => {
                let held = self.remove(block * 64).filter(|held| held.dirty);
                let data = cache.remove(block * 64 + 5);
                prop_assert_eq!(data.as_deref(), held.as_ref().map(|held| &held.bytes[..]));
            }
            Step::Flush { first, blocks } => {
                let range = first * 64..(first + blocks) * 64;
                let mut written = Vec::new();
                cache.flush(range.clone(), |block, bytes| written.push((block, bytes.to_vec())));
                written.sort();
                let gone = range.step_by(64).filter_map(|block| self.remove(block));
                let dirty = gone.filter(|held| held.dirty);
                let expected: Vec<_> = dirty.map(|held| (held.address, held.bytes.to_vec())).collect();
                prop_assert_eq!(written, expected);
            }
            Step::Clear => {
                cache.clear();
                (self.sets, self.fast) = Default::default();
            }
            Step::Lock { line } => {
                let set = line / self.ways;
                let is_last = !self.locked.contains(&line) && self.ways_left(set) == 1;
                let refused = LastWay { set, ways: self.ways };
                let lines: &[_] = if self.locked.contains(&line) { &[] } else { &[line] };
                prop_assert_eq!(cache.may_lock(lines), if is_last { Err(refused) } else { Ok(()) });
                if !is_last {
                    if let Some(block) = cache.block_at(line) {
                        self.take(cache, &Step::Remove { block: block / 64 })?;
                    }
                    cache.lock(line);
                    self.locked.insert(line);
                }
            }
            Step::Free { line } => {
                cache.free(line);
                self.locked.remove(&line);
            }
        }
        Ok(())
    }

    /// Whether the caches hold the same, and the fast way answers for the block
    /// of each set that was used last and for no other.
    fn agrees(&self, cache: &Cache) -> Result<(), TestCaseError> {
        prop_assert!(cache.locked().eq(self.locked.iter().copied()));
        let mut blocks: Vec<u64> = cache.blocks().collect();
        blocks.sort_unstable();
        let mut expected: Vec<u64> = self.sets.iter().flatten().map(|held| held.address).collect();
        expected.sort_unstable();
        prop_assert_eq!(blocks, expected);
        for held in self.sets.iter().flatten() {
            let mut last = [0; 8];
            cache.read(held.address + 56, &mut last);
            prop_assert_eq!(
                (cache.peek(held.address + 3), &last[..]),
                (Some(&held.bytes[..]), &held.bytes[56..])
            );
            prop_assert_eq!(cache.state(held.address).is_dirty(), held.dirty);
            let fast = self.fast[Self::set_of(held.address)] == Some(held.address);
            let value = u64::from_le_bytes(last);
            prop_assert_eq!(cache.load_hit::<8>(held.address + 56), fast.then_some(value));
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn a_cache_agrees_with_lists_of_its_blocks_in_order_of_use(
        (ways, steps) in prop_oneof![Just(1usize), Just(2), Just(4), Just(16)].prop_flat_map(|ways| {
            let steps = proptest::collection::vec(step(3 * SETS * ways as u64, SETS as usize * ways), 1..150);
            (Just(ways), steps)
        }),
    ) {
        let mut cache = cache(SETS as usize * ways, ways);
        let mut model = Model { ways, locked: BTreeSet::new(), sets: Default::default(), fast: Default::default() };
        for step in &steps {
            model.take(&mut cache, step)?;
            model.agrees(&cache)?;
        }
    }
}

#[test]
fn a_way_that_moves_to_the_front_leaves_the_others_in_their_order() {
    let order = |ways: &[u64]| ways.iter().rev().fold(0, |order, way| order << 4 | way);
    for count in [1, 2, 4, 8, 16] {
        let ways: Vec<u64> = (0..count).map(|way| (way * 5 + 3) % count).collect();
        for place in 0..ways.len() {
            let mut moved = ways.clone();
            moved[..=place].rotate_right(1);
            assert_eq!(super::super::front::moved_to_front(order(&ways), ways[place]), order(&moved));
        }
    }
}
