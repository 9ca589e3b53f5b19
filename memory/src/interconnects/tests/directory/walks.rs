//! Random walks: processors with real caches, a device and messages that take random
//! times, compared with one flat memory at every access.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::*;
use crate::directory::protocols::coherent;
use narthex_kernel::random::Stream;

/// What memory would hold if there were no caches.
#[derive(Default)]
struct Flat {
    words: HashMap<u64, u64>,
    reserved: u64,
    /// By the block of the device's read that is under way: all that its first word was.
    during: Option<(u64, Vec<u64>)>,
    checked: u64,
}

impl Flat {
    fn word(&self, address: u64) -> u64 {
        self.words.get(&address).copied().unwrap_or(0)
    }

    fn write(&mut self, address: u64, value: u64) {
        self.words.insert(address, value);
        if let Some((block, values)) = &mut self.during
            && *block == address
        {
            values.push(value);
        }
    }
}

struct Watching(Rc<RefCell<Flat>>);

impl Watch for Watching {
    fn done(&mut self, what: Do, value: u64) {
        let mut flat = self.0.borrow_mut();
        flat.checked += 1;
        match what {
            Load(address) | LoadReserved(address) => assert_eq!(value, flat.word(address), "{what:?}"),
            Store(address, value) => flat.write(address, value),
            StoreConditional(..) if value == FAILED => {}
            StoreConditional(address, value) => {
                flat.reserved += 1;
                flat.write(address, value);
            }
            Add(address, added) => {
                assert_eq!(value, flat.word(address).wrapping_add(added), "{what:?}");
                flat.write(address, value);
            }
            Flush(_) | Clean(_) => {}
        }
    }

    fn begins(&mut self, transaction: &Transaction) {
        let mut flat = self.0.borrow_mut();
        if transaction.kind == Kind::ReadOnce {
            let first = flat.word(transaction.address);
            flat.during = Some((transaction.address, vec![first]));
        }
    }

    fn ends(&mut self, transaction: &Transaction, data: Option<&BlockData>) {
        let mut flat = self.0.borrow_mut();
        let block = transaction.address;
        match data {
            Some(data) => {
                let (_, values) = flat.during.take().expect("it reads");
                assert!(values.contains(&data.word(0)), "the device reads {} of {values:?}", data.word(0));
            }
            // A walk writes blocks of its address.
            None => (block..block + 64).step_by(8).for_each(|word| flat.write(word, block)),
        }
    }
}

pub(super) const PROCESSORS: usize = 5;
const BLOCKS: u64 = 4;

fn walk(settings: Settings, accesses: u64) -> (Chip, Rc<RefCell<Flat>>) {
    walk_on(Chip::with(settings), settings, accesses)
}

/// The same on a chip; how many accesses were checked.
pub(super) fn checked_walk(chip: Chip, settings: Settings, accesses: u64) -> (Chip, u64) {
    let (chip, flat) = walk_on(chip, settings, accesses);
    let checked = flat.borrow().checked;
    (chip, checked)
}

fn walk_on(mut chip: Chip, settings: Settings, accesses: u64) -> (Chip, Rc<RefCell<Flat>>) {
    let flat = Rc::new(RefCell::new(Flat::default()));
    chip.watch = Some(Box::new(Watching(flat.clone())));
    let mut random = Stream::new(settings.seed.expect("a walk has one"), "accesses");
    let (mut at, mut of_device) = (0, 0);
    for number in 0..accesses {
        at += 1 + random.below(40);
        chip.run_until(at - 1);
        let processor = random.below(PROCESSORS as u64 + 1) as usize;
        let block = BLOCK + random.below(BLOCKS) * BLOCK_BYTES as u64;
        let word = block + 8 * random.below(2);
        if processor == PROCESSORS {
            if chip.of_device.len() == of_device {
                of_device += 1;
                let device = chip.device_id();
                let bytes = BlockData::filled_by(BLOCK_BYTES, |bytes| {
                    bytes.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&block.to_le_bytes()));
                });
                chip.device(
                    at,
                    match random.below(2) {
                        0 => Transaction::block(device, Kind::ReadOnce, block),
                        // Flat memory would have to know when they see it.
                        _ if chip.writes_are_seen_early => Transaction::block(device, Kind::ReadOnce, block),
                        _ => Transaction::carrying(device, Kind::WriteBlock, block, bytes),
                    },
                );
            }
        } else if chip.processors[processor].doing.is_none() {
            // A device accesses nothing uncached.
            let own = if processor < chip.linked { word } else { UNCACHED + 8 * processor as u64 };
            chip.begin(
                at,
                processor,
                match random.below(10) {
                    0..=2 => Load(word),
                    3 | 4 => Store(word, number + 1),
                    5 => Add(word, 3),
                    6 => LoadReserved(word),
                    7 => StoreConditional(word, number + 1),
                    8 if random.below(2) == 0 => Flush(block),
                    8 => Clean(block),
                    _ if random.below(2) == 0 => Load(own),
                    _ => Store(own, number),
                },
            );
        }
        if random.below(50) == 0 {
            chip.save_and_restore();
        }
    }
    chip.run();
    (chip, flat)
}

#[test]
fn caches_of_a_directory_agree_with_flat_memory_whatever_overtakes_what() {
    let (mut blocked, mut held, mut reserved, mut checked) = (0, 0, 0, 0);
    for (number, name) in coherent().into_iter().cycle().take(24).enumerate() {
        let seed = number as u64;
        let settings = Settings {
            memories: 1 + (seed % 3) as u8,
            transactions: 1 + (seed % 4) as u32,
            hold_ns: 30 * (seed % 2),
            seed: Some(seed),
            ..Settings::of(name, PROCESSORS)
        };
        let (chip, flat) = walk(settings, 1_500);
        let flat = flat.borrow();
        assert!(chip.processors.iter().all(|unit| unit.doing.is_none()), "{name}: every access is done");
        assert!(chip.interconnects[0].is_idle_at(Time::ZERO), "{name}");
        blocked += chip.statistics().blocked.get();
        held += chip.statistics().held.get();
        (reserved, checked) = (reserved + flat.reserved, checked + flat.checked);
        for (&address, &value) in &flat.words {
            let mut bytes = [0; 8];
            let is_cached = chip.processors.iter().any(|unit| unit.memory.peek(address, &mut bytes));
            if !is_cached {
                let Home::Memory(memory) = chip.directory().part_of(address) else {
                    unreachable!("it is memory's")
                };
                chip.memories[usize::from(memory.0)].bytes.read(address, &mut bytes);
            }
            assert_eq!(u64::from_le_bytes(bytes), value, "{name}: {address:#x}");
        }
    }
    let counts = [blocked, held, reserved, checked];
    assert!(blocked > 1_000 && held > 30 && reserved > 15 && checked > 10_000, "{counts:?}");
}

/// All add to one word as fast as they can.
#[test]
fn atomic_additions_of_many_processors_to_one_word_all_count() {
    for name in coherent() {
        let mut chip = Chip::with(Settings { seed: Some(9), ..Settings::of(name, PROCESSORS) });
        for turn in 0..50 {
            (0..PROCESSORS).for_each(|processor| chip.begin(turn * 1_500, processor, Add(BLOCK, 1)));
        }
        chip.run();
        assert_eq!(chip.finished.iter().map(|finished| finished.value).max(), Some(250), "{name}");
    }
}
