//! Timed scenarios of a directory, and random walks against flat memory.
//!
//! A message takes 10 ns from place to place, a home looks it up in 2 ns, memory takes
//! 50 ns and a cache 5 ns to supply. Requesters begin at whole nanoseconds.

mod chip;
mod coherent_link;
mod cxl;
mod link;
mod walks;

use super::super::*;
use crate::directory::{Holders, Lane};
use crate::kind::Kind;
use crate::processor_memory::UncachedStores;
use crate::protocols::State;
use crate::transaction::{AccessReply, BlockData, HomeReply, Response, SnoopReply, TransactionTag};
use chip::*;

/// What a processor's access found, and when it was over.
fn done(at: u64, processor: usize, value: u64) -> Finished {
    Finished { at, processor, value }
}

#[test]
fn a_read_from_memory_is_a_request_and_a_response() {
    for name in ["MSI", "MESI", "MOESI"] {
        let mut chip = Chip::new(name, 2);
        chip.memories[0].bytes.write(BLOCK, &7u64.to_le_bytes());
        chip.begin(0, 0, Load(BLOCK));
        chip.run();
        // 10 to the home, 2 to look up, 50 in memory, 10 back.
        assert_eq!(chip.finished, [done(72, 0, 7)]);
        let holders = if name == "MSI" { Holders::Sharers } else { Holders::Owner };
        assert_eq!(chip.directory().entry(BLOCK).holders(), holders);
        assert_eq!(chip.messages(), [1, 0, 2], "the second response says that it is done");
        assert_eq!(chip.hops(), [1, 0, 0]);
    }
}

#[test]
fn a_read_of_a_changed_block_is_forwarded_to_its_owner_in_three_hops() {
    for (name, copies) in [("MSI", 1), ("MESI", 1), ("MOESI", 0)] {
        let mut chip = Chip::new(name, 2);
        chip.begin(0, 1, Store(BLOCK, 5));
        chip.run();
        chip.clear();
        chip.begin(1_000, 0, Load(BLOCK));
        chip.run();
        // 10 to the home, 2 to look up, 10 to the owner, 5 to supply, 10 to the reader.
        assert_eq!(chip.finished, [done(1_037, 0, 5)], "{name}");
        assert_eq!(chip.messages(), [1, 1, 2 + copies], "{name}: the owner may update memory, too");
        assert_eq!(chip.hops(), [0, 1, 0]);
        let memory = chip.memories[0].bytes.read_block(BLOCK, BLOCK_BYTES).word(0);
        assert_eq!(memory, if name == "MOESI" { 0 } else { 5 });
    }
}

/// As on a bus, a clean copy supplies nothing.
#[test]
fn a_read_of_a_block_that_its_owner_did_not_change_comes_from_memory_in_four_hops() {
    let mut chip = Chip::new("MESI", 2);
    chip.begin(0, 1, Load(BLOCK));
    chip.run();
    chip.clear();
    chip.begin(1_000, 0, Load(BLOCK));
    chip.run();
    // 12 to be forwarded, 10 to the owner, 10 back, 2 and 50 at the home, 10 to the reader.
    assert_eq!(chip.finished, [done(1_094, 0, 0)]);
    assert_eq!(chip.hops(), [0, 0, 1]);
}

#[test]
fn an_upgrade_with_two_sharers_waits_for_both_acknowledgements() {
    let mut chip = Chip::new("MOESI", 3);
    for (at, processor) in [(0, 0), (200, 1), (400, 2)] {
        chip.begin(at, processor, Load(BLOCK));
    }
    chip.run();
    chip.clear();
    chip.begin(1_000, 0, Store(BLOCK, 9));
    chip.run();
    // 10 to the home, 2, 10 to the sharers, 10 to the writer; the permission came at 22.
    assert_eq!(chip.finished, [done(1_032, 0, 9)]);
    assert_eq!(chip.messages(), [1, 2, 1 + 2 + 1]);
    assert_eq!(chip.hops(), [0, 1, 0]);
    let blocked = chip.statistics().blocked_time;
    chip.begin(2_000, 1, Load(BLOCK));
    chip.run();
    assert_eq!(chip.finished.last(), Some(&done(2_037, 1, 9)), "the copies are gone");
    assert_eq!(chip.statistics().blocked_time, blocked, "no request has waited");
}

#[test]
fn a_write_back_that_meets_a_forward_keeps_the_bytes_until_the_home_has_answered() {
    for name in ["MSI", "MESI", "MOESI"] {
        let mut chip = Chip::new(name, 2);
        chip.begin(0, 1, Store(BLOCK, 6));
        chip.run();
        chip.clear();
        chip.begin(1_000, 0, Load(BLOCK));
        // Its block conflicts: BLOCK is on its way home, and not there before the read.
        chip.begin(1_015, 1, Load(BLOCK + CONFLICT));
        chip.run();
        // The forward comes at 1022 to the bytes on their way, which are there at once.
        assert_eq!(chip.finished, [done(1_032, 0, 6), done(1_015 + 72, 1, 0)], "{name}");
        let statistics = chip.statistics();
        assert_eq!(statistics.blocked.get(), 1, "{name}: the write-back waits until the read is done");
        // It comes at 1025 and is next at 1042, when the reader has told that it is done.
        assert_eq!(statistics.blocked_time.get(), Duration::from_ns(17), "{name}");
        assert_eq!(chip.memories[0].bytes.read_block(BLOCK, BLOCK_BYTES).word(0), 6, "{name}");
        let is_sharer = chip.directory().entry(BLOCK).is_sharer(AgentId(1));
        assert!(!is_sharer, "{name}: it has given the block up");
    }
}

#[test]
fn an_upgrade_that_loses_its_copy_gets_the_bytes_instead() {
    let mut chip = Chip::new("MSI", 2);
    chip.begin(0, 0, Load(BLOCK));
    chip.begin(200, 1, Load(BLOCK));
    chip.run();
    chip.clear();
    chip.begin(1_000, 0, Store(BLOCK, 1));
    chip.begin(1_001, 1, Store(BLOCK + 8, 2));
    chip.run();
    // The second request waits from 1011 to 1042; after the word that the first is done it is
    // looked up and forwarded.
    assert_eq!(chip.finished, [done(1_032, 0, 1), done(1_042 + 2 + 2 + 10 + 5 + 10, 1, 2)]);
    assert_eq!(chip.statistics().blocked_time.get(), Duration::from_ns(31));
    let mut bytes = [0; 16];
    assert!(chip.processors[1].memory.peek(BLOCK, &mut bytes));
    assert_eq!(bytes, [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_block_that_was_just_got_to_be_written_is_held_for_a_time() {
    let mut chip = Chip::with(Settings { hold_ns: 30, ..Settings::of("MOESI", 2) });
    chip.begin(0, 0, Store(BLOCK, 1));
    chip.begin(1, 1, Load(BLOCK));
    chip.run();
    // The first is over at 72, its home hears of it at 82, and it is held until 102.
    assert_eq!(chip.finished, [done(72, 0, 1), done(102 + 5 + 10, 1, 1)]);
    assert_eq!(chip.statistics().held.get(), 1);
}

#[test]
fn a_store_conditional_fails_whose_block_another_has_written() {
    let mut chip = Chip::new("MESI", 2);
    chip.begin(0, 0, LoadReserved(BLOCK));
    chip.begin(200, 1, Store(BLOCK, 4));
    chip.begin(500, 0, StoreConditional(BLOCK, 3));
    chip.run();
    assert_eq!(
        chip.finished.last(),
        Some(&done(500, 0, FAILED)),
        "its reservation is gone: it asks for nothing"
    );
    chip.begin(600, 0, LoadReserved(BLOCK));
    chip.begin(800, 0, StoreConditional(BLOCK, 3));
    chip.run();
    assert_eq!(chip.finished.last(), Some(&done(832, 0, 3)), "an upgrade, and the other's copy goes");
}

#[test]
fn blocks_are_shared_among_the_memories_by_their_addresses() {
    let mut chip = Chip::with(Settings { memories: 3, ..Settings::of("MSI", 1) });
    for (number, block) in (0..6).map(|number| (number, BLOCK + number * BLOCK_BYTES as u64)) {
        chip.memories[(number as usize + 1) % 3].bytes.write(block, &[number as u8 + 1]);
        chip.begin(number * 1_000, 0, Load(block));
    }
    chip.run();
    let values: Vec<u64> = chip.finished.iter().map(|finished| finished.value).collect();
    assert_eq!(values, [1, 2, 3, 4, 5, 6]);
    let homes = (0..4).map(|number| chip.directory().home_of(BLOCK + number * BLOCK_BYTES as u64).0);
    assert_eq!(homes.collect::<Vec<_>>(), [1, 2, 0, 1], "the block at 0x1000 is the 64th");
}

#[test]
fn an_uncached_access_to_memory_and_to_a_register_takes_two_messages() {
    let mut chip = Chip::new("MESI", 1);
    chip.begin(0, 0, Store(UNCACHED, 11));
    chip.begin(500, 0, Load(UNCACHED));
    chip.begin(1_000, 0, Load(REGISTERS));
    chip.run();
    // 10 there, 50 in memory or 30 in the device, 10 back.
    assert_eq!(chip.finished, [done(70, 0, 11), done(570, 0, 11), done(1_050, 0, REGISTER_VALUE)]);
    assert_eq!(chip.messages(), [3, 0, 3]);
}

#[test]
fn an_access_that_a_device_holds_keeps_no_other_one_waiting() {
    let mut chip = Chip::new("MESI", 2);
    chip.holds = true;
    chip.begin(0, 0, Load(REGISTERS));
    chip.begin(100, 1, Load(BLOCK));
    chip.run();
    assert_eq!(chip.finished, [done(172, 1, 0)]);
    let access = (AgentId(0), TransactionTag(1));
    let response = Response { value: REGISTER_VALUE, ..Response::default() };
    answer(&mut chip, Time::from_ps(500_000), InterconnectId(0), access, response);
    chip.run();
    assert_eq!(chip.finished[1..], [done(510, 0, REGISTER_VALUE)]);
}

/// The bus behind the bridge has a cycle of 20 ns: an access takes three, and two for the device.
#[test]
fn accesses_to_what_is_behind_a_bridge_cross_it_one_after_the_other() {
    let mut chip = Chip::with_a_bridge(3);
    chip.begin(0, 0, Load(REGISTERS));
    chip.begin(1, 1, Store(REGISTERS, 5));
    chip.begin(1, 2, Load(BLOCK));
    chip.run();
    // A message of 10 ns each way. The store is over when the bridge has it; memory waits for neither.
    let expected = [done(73, 2, 0), done(120, 0, REGISTER_VALUE), done(120, 1, 5)];
    assert_eq!(chip.finished, expected);
    assert!(chip.interconnects.iter().all(|own| own.is_idle_at(Time::from_ps(210_000))));
    assert!(!chip.interconnects[1].is_idle_at(Time::from_ps(209_000)), "the store is on the I/O bus");
}

#[test]
fn what_comes_from_behind_a_bridge_is_answered_by_the_directory() {
    let mut chip = Chip::with_a_bridge(1);
    chip.begin(0, 0, Store(BLOCK, 6));
    chip.device(1_000, Transaction::block(chip.device_id(), Kind::ReadOnce, BLOCK));
    chip.run();
    // Its address has crossed the I/O bus in two cycles, 3 ns after the answer; then the block's eight.
    assert_eq!(chip.of_device, [(1_040 + 160, Some(6))]);
    let data = BlockData::from_bytes(&[9; BLOCK_BYTES]);
    chip.device(2_000, Transaction::carrying(chip.device_id(), Kind::WriteBlock, BLOCK, data));
    chip.run();
    assert_eq!(chip.of_device[1], (2_200, None), "the bridge has it");
    assert_eq!(chip.memories[0].bytes.read_block(BLOCK, BLOCK_BYTES)[0], 9);
    let copies = || chip.processors[0].memory.cached_blocks();
    assert!(!copies().any(|(block, state)| block == BLOCK && state != State::Invalid));
}

/// A processor's access is at the bridge before the device's write has passed it: that is refused, comes
/// next, and the second access waits for it.
#[test]
fn a_device_that_a_bridge_on_a_directory_has_refused_comes_next() {
    let mut chip = Chip::with_a_bridge(2);
    let data = BlockData::from_bytes(&[9; BLOCK_BYTES]);
    chip.device(0, Transaction::carrying(chip.device_id(), Kind::WriteBlock, BLOCK, data));
    chip.begin(0, 0, Load(REGISTERS));
    chip.begin(5, 1, Load(REGISTERS));
    chip.run_until(50);
    chip.save_and_restore();
    chip.run();
    // Refused at the end of its ten cycles. The load has the bus for 100 ns, then the write again.
    assert_eq!(chip.of_device, [(200 + 100 + 200, None)]);
    assert_eq!(chip.finished[0], done(200 + 100 + 10, 0, REGISTER_VALUE));
    // The write's 10 there, 2, 50 and 10 back; the load's bus, and its answer.
    assert_eq!(chip.finished[1], done(500 + 72 + 100 + 10, 1, REGISTER_VALUE));
}

#[test]
fn an_uncached_access_waits_for_the_write_backs_of_its_agent() {
    let mut chip = Chip::new("MESI", 1);
    chip.begin(0, 0, Store(BLOCK, 6));
    chip.begin(500, 0, Flush(BLOCK));
    chip.begin(501, 0, Load(REGISTERS));
    chip.run();
    // The write-back is over for its processor at once, and for its home after 10, 2, 50, 10.
    assert_eq!(chip.finished[1..], [done(500, 0, 0), done(500 + 72 + 50, 0, REGISTER_VALUE)]);
}

#[test]
fn a_block_that_its_cache_cleans_is_not_kept_behind_the_back_of_its_home() {
    let mut chip = Chip::new("MESI", 2);
    chip.begin(0, 0, Store(BLOCK, 6));
    chip.begin(500, 0, Clean(BLOCK));
    chip.run();
    assert_eq!(chip.memories[0].bytes.read_block(BLOCK, BLOCK_BYTES).word(0), 6);
    assert_eq!(chip.directory().entry(BLOCK).holders(), Holders::Nobody);
    chip.begin(1_000, 1, Store(BLOCK, 7));
    chip.begin(2_000, 0, Load(BLOCK));
    chip.run();
    assert_eq!(chip.finished.last(), Some(&done(2_037, 0, 7)));
}

#[test]
fn a_device_reads_a_changed_block_once_and_replaces_it() {
    let mut chip = Chip::new("MOESI", 2);
    chip.begin(0, 0, Store(BLOCK, 6));
    chip.begin(200, 1, Load(BLOCK));
    chip.run();
    chip.device(1_000, Transaction::block(chip.device_id(), Kind::ReadOnce, BLOCK));
    chip.run();
    assert_eq!(chip.of_device, [(1_037, Some(6))]);
    assert_eq!(chip.directory().entry(BLOCK).holders(), Holders::OwnerAndSharers, "nothing has changed");
    let bytes = BlockData::from_bytes(&[9; BLOCK_BYTES]);
    chip.device(2_000, Transaction::carrying(chip.device_id(), Kind::WriteBlock, BLOCK, bytes));
    chip.run();
    // 10, 2, 10 to the copies, 10 back; memory's 50 and the permission are later: 12 + 50 + 10.
    assert_eq!(chip.of_device[1], (2_082, None));
    assert_eq!(chip.directory().entry(BLOCK).holders(), Holders::Nobody);
    chip.begin(3_000, 1, Load(BLOCK));
    chip.run();
    assert_eq!(chip.finished.last(), Some(&done(3_072, 1, u64::from_le_bytes([9; 8]))));
}

#[test]
fn as_many_transactions_of_different_blocks_are_under_way_as_may_be() {
    let mut chip = Chip::with(Settings { transactions: 2, ..Settings::of("MESI", 1) });
    for block in [BLOCK, BLOCK + 0x40, BLOCK + 0x80] {
        chip.device(0, Transaction::block(chip.device_id(), Kind::ReadOnce, block));
    }
    chip.run();
    // One begins at each edge, the third when the first is over; the home looks up one message
    // after the other, of which the first one's end is before the third.
    assert_eq!(chip.of_device, [(72, Some(0)), (74, Some(0)), (146, Some(0))]);
}

/// A device that is the home of a block, as an interface is of its queue.
#[test]
fn a_device_is_the_home_of_its_blocks_and_makes_copies_of_them_go() {
    let mut chip = Chip::new("MESI", 2);
    chip.begin(0, 0, Load(DEVICE_BLOCK));
    chip.run();
    // 10, 2, 30 in the device, 10.
    assert_eq!(chip.finished, [done(52, 0, DEVICE_VALUE)]);
    chip.device(1_000, Transaction::block(chip.device_id(), Kind::Invalidate, DEVICE_BLOCK));
    chip.run();
    assert_eq!(chip.of_device, [(1_032, None)]);
    assert_eq!(chip.directory().entry(DEVICE_BLOCK).holders(), Holders::Nobody);
    chip.begin(2_000, 0, Load(DEVICE_BLOCK));
    chip.run();
    assert_eq!(chip.finished[1], done(2_052, 0, DEVICE_VALUE));
}

/// Its directory is in it, so that it is told of each request. No reader gets a block of it
/// exclusively, so that it is told of the next store.
#[test]
fn a_device_that_is_a_home_hears_of_each_request_of_others_for_its_blocks() {
    let mut chip = Chip::new("MESI", 2);
    chip.begin(0, 0, Load(DEVICE_BLOCK));
    chip.run();
    assert_eq!(chip.directory().entry(DEVICE_BLOCK).holders(), Holders::Sharers);
    chip.begin(1_000, 0, Store(DEVICE_BLOCK, 7));
    chip.run();
    // 10, 2, 10: no other cache has it.
    assert_eq!(chip.finished[1], done(1_022, 0, 7));
    chip.device(2_000, Transaction::block(chip.device_id(), Kind::Read, DEVICE_BLOCK));
    chip.run();
    // Of its own it is not told. 10, 2, 10 to the owner, 5 to supply, 10.
    assert_eq!(chip.of_device, [(2_037, Some(7))]);
    chip.begin(3_000, 1, Store(DEVICE_BLOCK, 8));
    chip.run();
    // The device has a copy by its read, and is told that it loses it. 10, 2, 30 in the device, 10;
    // the first processor's acknowledgement comes before.
    assert_eq!(chip.finished[2], done(3_052, 1, 8));
    assert_eq!(chip.heard, [Kind::Read, Kind::Upgrade, Kind::ReadExclusive]);
}

/// As an interface holds a load until a packet comes, and makes copies of another block go meanwhile.
#[test]
fn a_home_that_holds_a_read_works_on_other_blocks_and_lets_those_of_the_block_wait() {
    let mut chip = Chip::new("MESI", 2);
    chip.begin(0, 0, Load(DEVICE_BLOCK + 64));
    chip.run();
    chip.clear();
    chip.to_reads.later = true;
    chip.begin(1_000, 0, Load(DEVICE_BLOCK));
    chip.begin(1_001, 1, Load(DEVICE_BLOCK));
    chip.device(1_100, Transaction::block(chip.device_id(), Kind::Invalidate, DEVICE_BLOCK + 64));
    chip.run_until(1_500);
    assert_eq!(chip.finished, []);
    assert_eq!(chip.of_device, [(1_132, None)]);
    let words =
        "the home of 0x10000 holds a request of agent 0; the home of 0x10000 holds a request of agent 1";
    assert_eq!(chip.interconnects[0].describe().as_deref(), Some(words));
    chip.save_and_restore();
    chip.resume(1_500);
    chip.run();
    // 2, 30 in the device, 10; after the word that the first one is done, 10 and 2, the second one.
    assert_eq!(chip.finished, [done(1_542, 0, DEVICE_VALUE), done(1_596, 1, DEVICE_VALUE)]);
    chip.resume(2_000);
    assert!(chip.interconnects[0].is_idle_at(Time::NEVER), "it holds nothing");
}

/// As an interface gives a block to be filled, and fetches it back.
#[test]
fn a_home_that_shares_no_copy_gives_its_block_alone_and_takes_it_back_with_its_bytes() {
    let mut chip = Chip::new("MESI", 2);
    chip.to_reads.shares = false;
    chip.begin(0, 0, Load(DEVICE_BLOCK));
    chip.run();
    assert_eq!(chip.directory().entry(DEVICE_BLOCK).owner(), Some(AgentId(0)));
    chip.begin(1_000, 0, Store(DEVICE_BLOCK, 7));
    chip.run();
    assert_eq!(chip.finished[1], done(1_000, 0, 7), "the device hears nothing of it");
    chip.device(2_000, Transaction::block(chip.device_id(), Kind::ReadExclusive, DEVICE_BLOCK));
    chip.run();
    // 10, 2, 10 to the owner, 5 to supply, 10.
    assert_eq!(chip.of_device, [(2_037, Some(7))]);
    assert_eq!(chip.directory().entry(DEVICE_BLOCK).holders(), Holders::Nobody);
    assert_eq!(chip.heard, [Kind::Read]);
}

/// As a cache of an interface replaces a block of a queue in main memory.
#[test]
fn a_device_that_invalidates_a_block_of_another_home_owns_it_without_its_bytes() {
    for (name, forwards) in [("MSI", 1), ("MESI", 1), ("MOESI", 1)] {
        let mut chip = Chip::new(name, 2);
        chip.begin(0, 0, Store(BLOCK, 5));
        chip.run();
        chip.clear();
        chip.device(1_000, Transaction::block(chip.device_id(), Kind::Invalidate, BLOCK));
        chip.run();
        // 10 to the home, 2 to look up, 10 to the owner, 10 back; no memory, no bytes.
        assert_eq!(chip.of_device, [(1_032, None)], "{name}");
        assert_eq!(chip.messages(), [1, forwards, 3]);
        let entry = chip.directory().entry(BLOCK);
        assert_eq!((entry.holders(), entry.owner()), (Holders::Owner, Some(chip.device_id())));
    }
}

#[test]
fn bytes_on_their_way_are_seen_and_changed_there() {
    let mut chip = Chip::new("MESI", 2);
    chip.begin(0, 0, Store(BLOCK, 6));
    chip.run();
    chip.begin(1_000, 1, Store(BLOCK + 8, 7));
    chip.run_until(1_030);
    assert!(!chip.processors[0].memory.peek(BLOCK, &mut [0; 8]), "it has left the first cache");
    assert_eq!(chip.interconnects[0].peek(BLOCK).map(|block| block[0]), Some(6));
    chip.interconnects[0].poke(BLOCK, &[8]);
    chip.run();
    let mut bytes = [0; 16];
    assert!(chip.processors[1].memory.peek(BLOCK, &mut bytes));
    assert_eq!((bytes[0], bytes[8]), (8, 7));
    assert!(chip.interconnects[0].peek(BLOCK).is_none());
}

#[test]
fn what_a_home_waits_for_is_told_of_a_run_that_gets_nowhere() {
    let mut chip = Chip::new("MESI", 2);
    chip.begin(0, 1, Load(BLOCK));
    assert!(chip.interconnects[0].is_idle_at(Time::ZERO));
    chip.run_until(40);
    assert!(!chip.interconnects[0].is_idle_at(Time::ZERO));
    let words = "the home of 0x1000 is Granting and waits on a transaction of agent 1";
    assert_eq!(chip.interconnects[0].describe().as_deref(), Some(words));
    chip.run();
    assert!(chip.interconnects[0].is_idle_at(Time::ZERO));
    assert_eq!(chip.interconnects[0].describe(), None);
    assert_eq!(Lane::NAMES, ["request", "forward", "response"]);
}

#[test]
fn parameters_that_break_a_rule_are_named() {
    let config = |transactions, interleave: &str| super::super::directory::Config {
        transactions,
        interleave: interleave.parse().unwrap(),
        ..settings_config(&Settings::of("MSI", 1))
    };
    assert!(config(64, "256B").problems(64).is_empty());
    let problems = |transactions, interleave| {
        let config = config(transactions, interleave);
        config.problems(64).into_iter().map(|(key, words)| format!("{key}: {words}")).collect::<Vec<_>>()
    };
    assert_eq!(problems(0, "64B"), ["transactions: 0 is not from 1 to 64"]);
    assert_eq!(problems(65, "96B").len(), 2);
    assert_eq!(problems(1, "96B"), ["interleave: 96B is no multiple of the block of 64B"]);
}

#[test]
fn posted_stores_leave_in_order_and_misses_overtake_them() {
    let mut chip = Chip::with(Settings { stores: UncachedStores::Posted, ..Settings::of("MESI", 1) });
    chip.begin(0, 0, Store(UNCACHED, 1));
    chip.begin(1, 0, Store(UNCACHED, 2));
    chip.begin(2, 0, Load(BLOCK));
    chip.run();
    assert_eq!(chip.memories[0].bytes.read_block(UNCACHED, BLOCK_BYTES).word(0), 2);
}

/// A home that knows of nobody: a stale copy stays until software drops it.
#[test]
fn an_incoherent_cache_reads_what_it_has_until_both_sides_have_flushed() {
    let mut chip = Chip::with(Settings { hold_ns: 20, ..Settings::of("Incoherent", 2) });
    chip.begin(0, 0, Load(BLOCK));
    chip.begin(0, 1, Store(BLOCK, 5));
    chip.run();
    // 10 to the home, 2 to look up, 50 in memory, 10 back; the home looks the second one up later.
    assert_eq!(chip.finished, [done(72, 0, 0), done(74, 1, 5)]);
    assert_eq!(chip.messages(), [2, 0, 2], "nobody says that it is done");
    assert!(chip.directory().entry(BLOCK).is_blank());
    chip.clear();
    let steps = [(1, Flush(BLOCK)), (0, Load(BLOCK)), (0, Flush(BLOCK)), (0, Load(BLOCK))];
    for (number, (processor, step)) in (1..).zip(steps) {
        chip.begin(1_000 * number, processor, step);
        chip.run();
    }
    let values: Vec<u64> = chip.finished.iter().map(|finished| finished.value).collect();
    assert_eq!(values[1], 0, "its own copy is as old as before");
    assert_eq!(values[3], 5, "memory has what the other one sent home");
    assert_eq!(chip.messages(), [2, 0, 2], "a write-back and a read: a clean copy goes at once");
    assert!(chip.directory().is_idle_at(Time::NEVER));
}

#[test]
fn the_incoherent_copy_that_goes_home_last_is_what_memory_has() {
    let mut chip = Chip::new("Incoherent", 2);
    chip.begin(0, 0, Store(BLOCK, 1));
    chip.begin(0, 1, Store(BLOCK, 2));
    chip.run();
    // What takes its place sends the block home.
    for (number, (processor, step)) in (1..).zip([(1, Clean(BLOCK)), (0, Load(BLOCK + CONFLICT))]) {
        chip.begin(1_000 * number, processor, step);
        chip.run();
    }
    assert_eq!(chip.memories[0].bytes.read_block(BLOCK, BLOCK_BYTES).word(0), 1);
    let own = |processor: usize| chip.processors[processor].memory.cached_blocks().collect::<Vec<_>>();
    assert_eq!(own(1), [(BLOCK, State::Exclusive)], "what was cleaned stays");
    assert!(own(0).iter().all(|(block, _)| *block != BLOCK));
}
