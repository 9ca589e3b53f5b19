//! A bus whose agents refuse: a refused transaction takes three cycles of 10 ns, a
//! write-back ten and memory's 100 ns.

use super::*;
use crate::bus::Bus;
use crate::interconnects::snooping_bus::SnoopingBus;

/// Two processors and a device of which each may refuse, on one bus.
fn bench() -> Bench {
    let ports = [AgentPort::of_processor(PROCESSOR), AgentPort::of_processor(OTHER), device()]
        .map(AgentPort::refusing);
    let map = homes(Home::Agent(DEVICE)).with_rest(Home::Memory(MEMORY));
    let bus = SnoopingBus::new(
        names("memory bus"),
        Bus::new(&memory_bus(), BLOCK_BYTES),
        AgentPorts::new(ports.into()),
        map,
    );
    Bench::with(vec![bus.with_refusals(3).into()], BUS)
}

/// The agent refuses once for each of these.
fn refuse(bench: &mut Bench, agent: AgentId, refusals: &[Refusal]) {
    bench.agents[usize::from(agent.0)].refusals = refusals.to_vec();
}

fn push() -> Refusal {
    Refusal::Push(BlockData::from_bytes(&[6; BLOCK_BYTES]))
}

fn counted(bench: &Bench) -> [u64; 2] {
    let mut counts = [0; 2];
    for (_, set) in bench.interconnects[0].statistics() {
        set.visit(&mut |description, value| match description.name {
            "bus_refused" => counts[0] = number_of(&value),
            "bus_pushes" => counts[1] = number_of(&value),
            _ => {}
        });
    }
    counts
}

#[test]
fn an_owner_pushes_its_block_home_and_the_refused_reader_comes_next() {
    let mut bench = bench();
    refuse(&mut bench, OTHER, &[push()]);
    bench.script(PROCESSOR, read(PROCESSOR, BLOCK));
    bench.script(DEVICE, Transaction::block(DEVICE, Kind::Invalidate, HOME));
    bench.ask_at(0, &[PROCESSOR, DEVICE]);
    bench.run();
    assert_eq!(bench.when(Seen::Refused(PROCESSOR, OTHER)), Some(0));
    // Three cycles; the push, with memory's time; the read, with memory's time; then the other.
    let crossings =
        [(BUS, Kind::WriteBack, 30, 230), (BUS, Kind::Read, 230, 430), (BUS, Kind::Invalidate, 430, 480)];
    assert_eq!(bench.crossings, crossings);
    assert_eq!(bench.when(Seen::Completed(PROCESSOR, Kind::Read, false, Some(6))), Some(430));
    assert_eq!(
        bench.when(Seen::Completed(OTHER, Kind::WriteBack, false, None)),
        None,
        "the bus has pushed it"
    );
    assert_eq!(bench.when(Seen::Snooped(DEVICE, Kind::Read)), None, "it is no block of the device");
    assert_eq!(counted(&bench), [1, 1]);
    assert!(bench.interconnects[0].refused().is_empty());
}

#[test]
fn no_agent_acts_on_a_transaction_that_is_refused() {
    let mut bench = bench();
    refuse(&mut bench, OTHER, &[push()]);
    bench.script(DEVICE, Transaction::block(DEVICE, Kind::ReadOnce, BLOCK));
    bench.ask_at(0, &[DEVICE]);
    bench.run();
    assert_eq!(bench.when(Seen::Snooped(PROCESSOR, Kind::WriteBack)), Some(30));
    assert_eq!(bench.when(Seen::Snooped(PROCESSOR, Kind::ReadOnce)), Some(230));
    assert_eq!(bench.when(Seen::Snooped(OTHER, Kind::ReadOnce)), Some(230));
}

#[test]
fn a_transaction_that_a_device_refuses_goes_behind_those_that_wait() {
    let mut bench = bench();
    refuse(&mut bench, DEVICE, &[Refusal::Retry, Refusal::Retry]);
    bench.script(PROCESSOR, read(PROCESSOR, HOME));
    bench.script(OTHER, Transaction::block(OTHER, Kind::Upgrade, BLOCK));
    bench.ask_at(0, &[PROCESSOR, OTHER]);
    bench.run();
    // Refused from 0 to 30, the other's from 30 to 50, refused to 80; then it crosses.
    assert_eq!(bench.crossings, [(BUS, Kind::Upgrade, 30, 50), (BUS, Kind::Read, 80, 210)]);
    assert_eq!(counted(&bench), [2, 0]);
}

#[test]
fn a_device_may_refuse_accesses_to_its_registers() {
    let mut bench = bench();
    refuse(&mut bench, DEVICE, &[Refusal::Retry]);
    bench.script(PROCESSOR, load(PROCESSOR));
    bench.ask_at(0, &[PROCESSOR]);
    bench.run();
    assert_eq!(bench.when(Seen::Refused(PROCESSOR, DEVICE)), Some(0));
    assert_eq!(bench.crossings, [(BUS, Kind::UncachedLoad, 30, 90)]);
    assert_eq!(bench.when(Seen::Accessed(Kind::UncachedLoad)), Some(90));
}

#[test]
fn the_bus_repeats_what_it_keeps_and_asks_the_agent_that_forms_its_transaction_anew() {
    for forms_anew in [false, true] {
        let mut bench = bench();
        refuse(&mut bench, OTHER, &[Refusal::Retry]);
        bench.agents[0].forms_anew = forms_anew;
        bench.script(PROCESSOR, Transaction::block(PROCESSOR, Kind::Upgrade, BLOCK));
        bench.script(PROCESSOR, Transaction::block(PROCESSOR, Kind::ReadExclusive, BLOCK));
        bench.ask_at(0, &[PROCESSOR]);
        bench.run();
        let kinds: Vec<Kind> = bench.crossings.iter().map(|of| of.1).collect();
        match forms_anew {
            true => assert_eq!(kinds, [Kind::ReadExclusive]),
            false => assert_eq!(kinds, [Kind::Upgrade, Kind::ReadExclusive]),
        }
    }
}

#[test]
fn the_bytes_of_a_push_can_be_seen_changed_and_snarfed_on_their_way() {
    let mut bench = bench();
    refuse(&mut bench, OTHER, &[push()]);
    bench.agents[0].takes = true;
    bench.script(DEVICE, Transaction::block(DEVICE, Kind::ReadOnce, BLOCK));
    bench.ask_at(0, &[DEVICE]);
    let step = |bench: &mut Bench| {
        let (now, (on, step)) = bench.due.pop_before(Time::NEVER).expect("a step");
        happen(bench, now, on, step);
    };
    step(&mut bench);
    let bus = &mut bench.interconnects[0];
    assert!(!bus.is_idle_at(Time::NEVER));
    assert!(bus.contenders(&[], |_| true).is_empty(), "the push goes first");
    assert_eq!(bus.peek(BLOCK).map(|bytes| bytes[8]), Some(6));
    assert_eq!(bus.peek(BLOCK + 64), None);
    bus.poke(BLOCK + 8, &[7, 8]);
    bus.poke(BLOCK + 64, &[1]);
    bus.poke(BLOCK - 1, &[1]);
    let refused = bus.refused()[0];
    assert_eq!((refused.agent, refused.by, refused.kind, refused.times), (DEVICE, OTHER, Kind::ReadOnce, 1));
    bench.run();
    assert_eq!(bench.memory.bytes.read_block(BLOCK, BLOCK_BYTES)[7..11], [6, 7, 8, 6]);
    assert!(bench.when(Seen::Snarfed(PROCESSOR)).is_some());
    assert_eq!(bench.interconnects[0].peek(BLOCK), None);
}

#[test]
fn a_refused_transaction_goes_on_from_an_archive() {
    let mut first = bench();
    refuse(&mut first, OTHER, &[push()]);
    first.script(DEVICE, Transaction::block(DEVICE, Kind::ReadOnce, BLOCK));
    first.ask_at(0, &[DEVICE]);
    let (now, (on, step)) = first.due.pop_before(Time::NEVER).expect("a grant");
    happen(&mut first, now, on, step);
    let mut restored = bench();
    let bytes = Archive::save(&mut first.interconnects[0]).expect("it is saved");
    Archive::restore(&bytes, &mut restored.interconnects[0]).expect("it is restored");
    first.interconnects = restored.interconnects;
    first.run();
    assert_eq!(first.when(Seen::Completed(DEVICE, Kind::ReadOnce, false, Some(6))), Some(430));
}
