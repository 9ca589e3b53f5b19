//! Timed scenarios of the interconnects, with agents that do what a script says.
//!
//! The memory bus has a cycle of 10 ns: a block takes one cycle of arbitration, one
//! of address and eight of data; a word takes one of data. The I/O bus behind the
//! bridge has a cycle of 20 ns. Memory answers after 100 ns, devices after 30.

mod bench;
mod bridges;
mod directory;
mod refusals;

use super::*;
use crate::bus::Bus;
use crate::kind::Kind;
use crate::transaction::{BlockData, Response, TransactionTag};
use bench::*;
use snooping_bus::SnoopingBus;

/// The answer to an access.
fn value(value: u64) -> Response {
    Response { value, ..Response::default() }
}

#[test]
fn a_read_is_seen_at_its_grant_and_answered_by_memory_at_its_end() {
    let mut bench = Bench::on_one_bus();
    bench.memory.bytes.write(BLOCK, &[3; BLOCK_BYTES]);
    bench.script(PROCESSOR, read(PROCESSOR, BLOCK));
    bench.ask_at(4, &[PROCESSOR]);
    bench.run();
    // Granted at the next edge; ten cycles and memory's time.
    assert_eq!(bench.crossings, [(BUS, Kind::Read, 10, 210)]);
    assert_eq!(bench.when(Seen::Snooped(OTHER, Kind::Read)), Some(10));
    assert_eq!(bench.when(Seen::Snooped(PROCESSOR, Kind::Read)), None, "the issuer does not snoop");
    assert_eq!(bench.when(Seen::Snooped(DEVICE, Kind::Read)), None, "the block does not concern it");
    assert_eq!(bench.when(Seen::Completed(PROCESSOR, Kind::Read, false, Some(3))), Some(210));
    assert_eq!(bench.suppliers, [Some(Supplier::Memory(MEMORY))]);
    assert!(bench.interconnects[0].is_idle_at(Time::from_ps(210_000)));
}

/// Bytes that the system reads and writes while a block of them is on its way.
#[test]
fn a_block_on_its_way_is_seen_and_changed_there() {
    let mut bench = Bench::on_one_bus();
    bench.memory.bytes.write(BLOCK, &[3; BLOCK_BYTES]);
    bench.script(PROCESSOR, read(PROCESSOR, BLOCK));
    bench.ask_at(0, &[PROCESSOR]);
    while bench.interconnects[0].peek(BLOCK).is_none() {
        bench.step();
    }
    assert_eq!(bench.interconnects[0].peek(BLOCK), Some(&[3; BLOCK_BYTES][..]));
    assert_eq!(bench.interconnects[0].peek(BLOCK + 64), None);
    bench.interconnects[0].poke(BLOCK, &[9]);
    bench.interconnects[0].poke(BLOCK + 64, &[8]);
    bench.interconnects[0].poke(BLOCK - 1, &[8]);
    bench.run();
    assert!(bench.when(Seen::Completed(PROCESSOR, Kind::Read, false, Some(9))).is_some());
}

#[test]
fn an_owner_supplies_instead_of_memory_and_the_home_takes_the_bytes_if_it_says_so() {
    for updates_home in [false, true] {
        let mut bench = Bench::on_one_bus();
        bench.agents[1].reply = supplies(updates_home);
        bench.script(PROCESSOR, read(PROCESSOR, BLOCK));
        bench.ask_at(0, &[PROCESSOR]);
        bench.run();
        assert_eq!(bench.crossings, [(BUS, Kind::Read, 0, 120)]);
        assert_eq!(bench.when(Seen::Completed(PROCESSOR, Kind::Read, true, Some(6))), Some(120));
        assert_eq!(bench.suppliers, [Some(Supplier::Agent(OTHER))]);
        let kept = bench.memory.bytes.read_block(BLOCK, BLOCK_BYTES)[0];
        assert_eq!(kept, if updates_home { 6 } else { 0 });
    }
}

#[test]
fn a_home_that_is_a_device_takes_the_bytes_of_an_owner() {
    let mut bench = Bench::on_one_bus();
    bench.agents[1].reply = supplies(true);
    bench.script(PROCESSOR, read(PROCESSOR, HOME));
    bench.ask_at(0, &[PROCESSOR]);
    bench.run();
    assert_eq!(bench.when(Seen::Home(Kind::WriteBack)), Some(0));
    assert_eq!(bench.when(Seen::Home(Kind::Read)), None, "the owner has answered");
}

#[test]
fn a_block_of_a_device_is_shown_to_it_and_answered_by_it() {
    let mut bench = Bench::on_one_bus();
    bench.script(PROCESSOR, read(PROCESSOR, HOME));
    bench.ask_at(0, &[PROCESSOR]);
    bench.run();
    assert_eq!(bench.when(Seen::Snooped(DEVICE, Kind::Read)), Some(0));
    assert_eq!(bench.when(Seen::Home(Kind::Read)), Some(0));
    assert_eq!(bench.crossings, [(BUS, Kind::Read, 0, 130)]);
    assert_eq!(bench.when(Seen::Completed(PROCESSOR, Kind::Read, false, Some(9))), Some(130));
    assert_eq!(bench.suppliers, [Some(Supplier::Agent(DEVICE))]);
}

#[test]
fn two_agents_that_supply_one_block_are_told() {
    let mut bench = Bench::on_one_bus();
    bench.agents[1].reply = supplies(false);
    bench.agents[2].reply = supplies(false);
    bench.script(PROCESSOR, read(PROCESSOR, HOME));
    bench.ask_at(0, &[PROCESSOR]);
    bench.run();
    assert_eq!(bench.owners, 1);
}

#[test]
fn a_register_is_accessed_at_the_end_and_no_cache_sees_it() {
    let mut bench = Bench::on_one_bus();
    bench.script(PROCESSOR, load(PROCESSOR));
    bench.ask_at(0, &[PROCESSOR]);
    bench.run();
    // Three cycles, and the device's time.
    assert_eq!(bench.crossings, [(BUS, Kind::UncachedLoad, 0, 60)]);
    assert_eq!(bench.when(Seen::Accessed(Kind::UncachedLoad)), Some(60));
    assert_eq!(bench.when(Seen::Completed(PROCESSOR, Kind::UncachedLoad, false, None)), Some(60));
    assert_eq!(bench.when(Seen::Snooped(OTHER, Kind::UncachedLoad)), None);
    assert!(bench.suppliers.is_empty());
}

#[test]
fn what_goes_home_is_taken_in_by_caches_that_snarf_and_its_agent_is_told() {
    let mut bench = Bench::on_one_bus();
    bench.agents[1].takes = true;
    let block = BlockData::from_bytes(&[4; BLOCK_BYTES]);
    bench.script(PROCESSOR, Transaction::carrying(PROCESSOR, Kind::WriteBack, BLOCK, block));
    bench.ask_at(0, &[PROCESSOR]);
    bench.run();
    assert_eq!(bench.memory.bytes.read_block(BLOCK, BLOCK_BYTES)[0], 4);
    assert!(bench.when(Seen::Snarfed(OTHER)).is_some());
    assert_eq!(bench.when(Seen::Snarfed(PROCESSOR)), None);
    assert_eq!(bench.when(Seen::Completed(PROCESSOR, Kind::WriteBack, true, None)), Some(200));
}

#[test]
fn agents_are_served_one_after_the_other_and_one_that_issues_nothing_gives_the_bus_up() {
    let mut bench = Bench::on_one_bus();
    bench.script(PROCESSOR, Transaction::block(PROCESSOR, Kind::Upgrade, BLOCK));
    bench.script(OTHER, Transaction::block(OTHER, Kind::Upgrade, BLOCK));
    bench.script(DEVICE, Transaction::block(DEVICE, Kind::Invalidate, HOME));
    bench.ask_at(0, &[OTHER, DEVICE, PROCESSOR]);
    bench.agents[2].issues.clear();
    bench.run();
    let upgrades = [(BUS, Kind::Upgrade, 0, 20), (BUS, Kind::Upgrade, 20, 40)];
    assert_eq!(bench.crossings, upgrades);
    assert_eq!(bench.when(Seen::UnusedGrant(DEVICE)), Some(40));
    assert!(bench.interconnects[0].is_idle_at(Time::from_ps(40_000)));
}

/// The processor's read has the bus up to 200 ns. What the device asks for meanwhile, or at that
/// instant, or later, comes behind it, whenever the processor has had its answer.
#[test]
fn an_agent_that_is_answered_early_has_the_bus_up_to_the_end_all_the_same() {
    let run = |early, asked_ns| {
        let mut bench = Bench { early, ..Bench::on_one_bus() };
        bench.script(PROCESSOR, read(PROCESSOR, BLOCK));
        bench.ask_at(0, &[PROCESSOR]);
        while bench.due.next_instant() <= Time::ZERO + Duration::from_ns(asked_ns) {
            bench.step();
        }
        let completed = bench.when(Seen::Completed(PROCESSOR, Kind::Read, false, Some(0)));
        bench.script(DEVICE, Transaction::block(DEVICE, Kind::Upgrade, BLOCK));
        bench.ask_at(asked_ns, &[DEVICE]);
        bench.run();
        let idle = bench.interconnects[0].is_idle_at(Time::ZERO + Duration::from_ns(300));
        let Bench { mut seen, crossings, due, .. } = bench;
        seen.sort_by_key(|&(at, _)| at);
        (completed, due.taken(), seen, crossings, idle)
    };
    for (asked_ns, granted_ns, steps) in
        [(0, 200, 4), (10, 200, 4), (190, 200, 4), (200, 200, 4), (205, 210, 3)]
    {
        let (completed, _, seen, crossings, idle) = run(None, asked_ns);
        assert_eq!(completed, (asked_ns >= 200).then_some(200));
        assert_eq!(crossings, [(BUS, Kind::Read, 0, 200), (BUS, Kind::Upgrade, granted_ns, granted_ns + 20)]);
        let early = run(Some(PROCESSOR), asked_ns);
        assert_eq!(early, (Some(200), steps, seen, crossings, idle), "asked at {asked_ns} ns");
    }
}

#[test]
fn a_private_path_carries_registers_in_its_own_cycles() {
    let mut bench = Bench::with_a_private_path();
    bench.script(PROCESSOR, store(PROCESSOR));
    bench.script(PROCESSOR, load(PROCESSOR));
    bench.ask_at(1, &[PROCESSOR]);
    bench.run();
    let crossings = [(BUS, Kind::UncachedStore, 5, 45), (BUS, Kind::UncachedLoad, 45, 85)];
    assert_eq!(bench.crossings, crossings);
    assert_eq!(bench.when(Seen::Accessed(Kind::UncachedStore)), Some(45));
    assert_eq!(bench.when(Seen::Completed(PROCESSOR, Kind::UncachedLoad, false, None)), Some(85));
    assert_eq!(bench.interconnects[0].clock().pattern(), Duration::from_ns(5));
}

/// What an interconnect has counted under a name.
fn counted(interconnect: &Interconnect, name: &str) -> u64 {
    let mut counted = 0;
    for (_, set) in interconnect.statistics() {
        set.visit(&mut |description, value| {
            if description.name == name {
                counted = number_of(&value);
            }
        });
    }
    counted
}

/// The number that a statistic is.
fn number_of(value: &narthex_kernel::statistics::Value) -> u64 {
    match value {
        narthex_kernel::statistics::Value::Number(number) => *number,
        other => panic!("{other:?} is no number"),
    }
}

/// The device holds the load of a processor, and has answered it at 503 ns: when it is over there, and
/// how long its interconnect was taken.
fn held(mut bench: Bench) -> (u64, u64) {
    let on = bench.agents[2].on.expect("the device sits somewhere");
    bench.agents[2].holds = true;
    bench.script(PROCESSOR, load(PROCESSOR));
    bench.ask_at(0, &[PROCESSOR]);
    bench.run();
    let over = Seen::Completed(PROCESSOR, Kind::UncachedLoad, false, None);
    assert_eq!((bench.when(over), bench.interconnects[0].is_idle_at(Time::NEVER)), (None, false));
    assert!(bench.interconnects[0].contenders(&bench.interconnects, |_| true).is_empty());
    answer(&mut bench, Time::from_ps(503_000), on, (PROCESSOR, TransactionTag(0)), value(77));
    bench.run();
    assert_eq!(bench.seen.iter().filter(|(_, seen)| matches!(seen, Seen::Accessed(_))).count(), 1);
    assert!(bench.interconnects.iter().all(|own| own.is_idle_at(Time::from_ps(520_000))));
    let occupied = counted(&bench.interconnects[usize::from(on.0)], "bus_occupied") / 1_000;
    (bench.when(over).expect("it is answered"), occupied)
}

#[test]
fn an_access_that_its_device_holds_has_its_interconnect_until_it_is_answered() {
    // At the bus's next edge, every 10 ns; the private path's is every 5.
    assert_eq!(held(Bench::on_one_bus()), (510, 510));
    assert_eq!(held(Bench::with_a_private_path()), (505, 505));
    // The I/O bus is asked for when the address has crossed, and the answer crosses the memory bus.
    assert_eq!(held(Bench::behind_a_bridge()), (520, 490));
}

#[test]
fn what_waits_for_the_bus_has_it_when_a_held_access_is_answered() {
    for at_once in [false, true] {
        let mut bench = Bench::on_one_bus();
        bench.agents[2].holds = true;
        bench.free_until = if at_once { Time::NEVER } else { Time::ZERO };
        bench.script(PROCESSOR, load(PROCESSOR));
        bench.script(OTHER, read(OTHER, BLOCK));
        request_alone(&mut bench, Time::ZERO, BUS, PROCESSOR);
        bench.run();
        bench.ask_at(70, &[OTHER]);
        bench.run();
        answer(&mut bench, Time::from_ps(500_000), BUS, (PROCESSOR, TransactionTag(0)), value(77));
        bench.run();
        assert_eq!(bench.crossings[1], (BUS, Kind::Read, 500, 700));
    }
}

/// A register that may be held is not read before the end of its transaction.
#[test]
fn an_access_that_may_be_held_is_issued() {
    for holds in [false, true] {
        let ports = vec![AgentPort::of_processor(PROCESSOR), AgentPort { holds, ..device() }];
        let map = homes(Home::Agent(DEVICE)).with_rest(Home::Memory(MEMORY));
        let bus = SnoopingBus::new(
            names("memory bus"),
            Bus::new(&memory_bus(), BLOCK_BYTES),
            AgentPorts::new(ports),
            map,
        );
        assert_eq!(bus.grant_access(Time::ZERO, &load(PROCESSOR)).is_none(), holds);
    }
}

#[test]
fn contenders_are_those_that_want_a_free_interconnect() {
    let mut bench = Bench::on_one_bus();
    let wants = |agent| agent != OTHER;
    let all = bench.interconnects.clone();
    assert_eq!(all[0].contenders(&all, wants), [PROCESSOR, DEVICE]);
    assert!(all[0].occupant().is_none());
    bench.script(PROCESSOR, read(PROCESSOR, BLOCK));
    grant_to(&mut bench, Time::ZERO, BUS, PROCESSOR);
    let all = bench.interconnects.clone();
    assert!(all[0].contenders(&all, wants).is_empty(), "it is occupied");
    assert_eq!(all[0].occupant().map(|transaction| transaction.kind), Some(Kind::Read));
}

#[test]
fn an_interconnect_goes_on_from_an_archive() {
    let mut bench = Bench::behind_a_bridge();
    bench.script(PROCESSOR, load(PROCESSOR));
    bench.ask_at(0, &[PROCESSOR]);
    let (now, (on, step)) = bench.due.pop_before(Time::NEVER).expect("a grant");
    happen(&mut bench, now, on, step);
    let mut restored = Bench::behind_a_bridge();
    for (saved, fresh) in bench.interconnects.iter_mut().zip(&mut restored.interconnects) {
        let bytes = Archive::save(saved).expect("it is saved");
        Archive::restore(&bytes, fresh).expect("it is restored");
    }
    bench.interconnects = restored.interconnects;
    bench.run();
    assert_eq!(bench.when(Seen::Completed(PROCESSOR, Kind::UncachedLoad, false, None)), Some(130));
}

#[test]
fn what_is_on_its_way_to_a_device_can_be_seen() {
    let mut bench = Bench::behind_a_bridge();
    let block = BlockData::from_bytes(&[5; BLOCK_BYTES]);
    bench.script(PROCESSOR, Transaction::carrying(PROCESSOR, Kind::WriteBack, HOME, block));
    bench.ask_at(0, &[PROCESSOR]);
    let (now, (on, step)) = bench.due.pop_before(Time::NEVER).expect("a grant");
    happen(&mut bench, now, on, step);
    assert_eq!(bench.interconnects[1].peek(HOME).map(|bytes| bytes[0]), Some(5));
    assert!(bench.interconnects[1].describe().is_some_and(|text| text.contains("crosses it")));
    assert_eq!(bench.interconnects[0].describe(), None);
    let kinds: Vec<&str> = bench.interconnects.iter().map(Interconnect::kind).collect();
    assert_eq!(kinds, ["snooping-bus", "bridged-bus"]);
}

#[test]
fn a_bus_that_goes_to_the_next_agent_at_once_does_what_it_does_step_by_step() {
    let run = |at_once| {
        let mut bench = Bench { at_once, ..Bench::on_one_bus() };
        let block = BlockData::from_bytes(&[4; BLOCK_BYTES]);
        bench.script(PROCESSOR, Transaction::carrying(PROCESSOR, Kind::WriteBack, BLOCK, block));
        bench.script(PROCESSOR, read(PROCESSOR, BLOCK));
        bench.script(OTHER, read(OTHER, HOME));
        bench.ask_at(4, &[PROCESSOR]);
        bench.ask_at(30, &[OTHER]);
        bench.run();
        (bench.seen, bench.crossings, bench.due.taken())
    };
    let (seen, crossings, steps) = run(false);
    assert_eq!(crossings.iter().map(|&(_, kind, ..)| kind).filter(|&kind| kind == Kind::Read).count(), 2);
    assert_eq!(steps, 6, "three transactions");
    assert_eq!(run(true), (seen, crossings, 4), "only the first grant is a step");
}

#[test]
fn transactions_that_nothing_comes_between_take_no_steps_and_are_the_same() {
    let run = |free_until_ns| {
        let free_until = Time::ZERO + Duration::from_ns(free_until_ns);
        let mut bench = Bench { free_until, ..Bench::on_one_bus() };
        let block = BlockData::from_bytes(&[4; BLOCK_BYTES]);
        bench.agents[1].takes = true;
        bench.script(PROCESSOR, Transaction::carrying(PROCESSOR, Kind::WriteBack, BLOCK, block));
        bench.script(PROCESSOR, read(PROCESSOR, BLOCK));
        bench.script(PROCESSOR, load(PROCESSOR));
        request_alone(&mut bench, Time::ZERO + Duration::from_ns(4), BUS, PROCESSOR);
        bench.run();
        assert!(bench.interconnects[0].is_idle_at(Time::from_ps(470_000)));
        (bench.due.taken(), bench.seen, bench.crossings)
    };
    let (steps, seen, crossings) = run(0);
    // Granted at 10; over at 210, at 410 and at 470.
    assert_eq!(crossings.last(), Some(&(BUS, Kind::UncachedLoad, 410, 470)));
    assert_eq!(steps, 6);
    let with_steps = [(10, 6), (11, 5), (211, 3), (410, 3), (411, 1), (470, 1), (471, 0)];
    for (free_until_ns, steps) in with_steps {
        assert_eq!(run(free_until_ns), (steps, seen.clone(), crossings.clone()), "{free_until_ns}");
    }
}

#[test]
fn an_access_to_a_register_in_one_go_is_the_transaction_that_it_stands_for() {
    let run = |free_until_ns, tells_registers| {
        let free_until = Time::ZERO + Duration::from_ns(free_until_ns);
        let mut bench = Bench { free_until, tells_registers, ..Bench::on_one_bus() };
        bench.script(PROCESSOR, load(PROCESSOR));
        // It is asked for at the end of the load, before the bus is free.
        bench.script(PROCESSOR, store(PROCESSOR));
        request_alone(&mut bench, Time::ZERO + Duration::from_ns(4), BUS, PROCESSOR);
        bench.run();
        assert!(bench.interconnects[0].is_idle_at(Time::from_ps(130_000)));
        let mut counts = Vec::new();
        for set in bench.interconnects[0].statistics_mut() {
            set.sums(&mut |sum| counts.push(*sum));
        }
        (bench.due.taken(), bench.seen, counts, bench.crossings)
    };
    let (steps, seen, counts, crossings) = run(0, false);
    let both = [(BUS, Kind::UncachedLoad, 10, 70), (BUS, Kind::UncachedStore, 70, 130)];
    assert_eq!((steps, crossings), (4, both.to_vec()));
    let completed = |kind| Seen::Completed(PROCESSOR, kind, false, None);
    let expected = [
        (70, Seen::Accessed(Kind::UncachedLoad)),
        (70, completed(Kind::UncachedLoad)),
        (130, Seen::Accessed(Kind::UncachedStore)),
        (130, completed(Kind::UncachedStore)),
    ];
    assert_eq!(seen, expected);
    for (free_until_ns, steps, transactions) in [(70, 3, 2), (71, 1, 1), (131, 0, 1)] {
        let (taken, in_one_go, counted, crossings) = run(free_until_ns, true);
        assert_eq!((taken, crossings.len()), (steps, transactions), "{free_until_ns}");
        assert_eq!((&in_one_go, &counted), (&seen, &counts), "{free_until_ns}");
    }
}

#[test]
fn an_access_that_another_agent_keeps_from_the_bus_is_a_transaction() {
    let mut bench = Bench { free_until: Time::NEVER, tells_registers: true, ..Bench::on_one_bus() };
    bench.script(OTHER, read(OTHER, BLOCK));
    bench.script(PROCESSOR, load(PROCESSOR));
    bench.ask_at(0, &[OTHER]);
    request_alone(&mut bench, Time::ZERO + Duration::from_ns(4), BUS, PROCESSOR);
    bench.run();
    assert_eq!(bench.crossings, [(BUS, Kind::Read, 0, 200), (BUS, Kind::UncachedLoad, 200, 260)]);
    assert_eq!(bench.when(Seen::Accessed(Kind::UncachedLoad)), Some(260));
}
