use crate::kind::Kind;
use crate::port::{Outcome, Port};
use crate::processor_memory::UncachedStores;
use crate::processor_memory::tests::second_level::second_config;
use crate::processor_memory::tests::{Bench, REGISTERS, bench, data_config};

/// A processor that posts its stores, with a second level, in which scratchpad is.
fn with_second_level() -> Bench {
    let plain = bench(UncachedStores::Posted);
    Bench { own: plain.own.with_second_level(&second_config(), &data_config()), ..plain }
}

/// A line of scratchpad is loaded, and the device lets the data cache have it.
fn with_line() -> Bench {
    let mut bench = with_second_level();
    assert_eq!(bench.port().load(REGISTERS + 8, 8), Outcome::Wait);
    bench.own.take_scratchpad_line(REGISTERS, &[7; 64]);
    assert_eq!(bench.port().load_hit::<8>(REGISTERS + 8), None, "its value is not there yet");
    assert_eq!(bench.bus_turn(), (Kind::UncachedLoad, true));
    assert_eq!(bench.port().load(REGISTERS + 8, 8), Outcome::Done(0x77), "what was read below");
    bench
}

const SEVENS: u64 = 0x0707_0707_0707_0707;

#[test]
fn loads_of_a_scratchpad_line_hit_once_the_first_value_is_there() {
    let mut bench = with_line();
    assert_eq!(bench.port().load_hit::<8>(REGISTERS + 16), Some(SEVENS));
    assert_eq!(bench.port().load(REGISTERS + 16, 8), Outcome::Done(SEVENS));
    assert_eq!(bench.port().load(REGISTERS + 64, 8), Outcome::Wait, "another line");
}

#[test]
fn a_store_goes_through_the_line_and_is_posted_below() {
    let mut bench = with_line();
    assert!(!bench.port().store_hit::<8>(REGISTERS + 16, 1));
    assert_eq!(bench.port().store(REGISTERS + 16, 8, 1), Outcome::Wait);
    assert_eq!(bench.port().store(REGISTERS + 16, 8, 1), Outcome::Done(()));
    assert_eq!(bench.port().load_hit::<8>(REGISTERS + 16), Some(1), "before it is below");
    assert_eq!(bench.bus_turn(), (Kind::UncachedStore, false));
    assert_eq!(bench.port().load_hit::<8>(REGISTERS + 24), Some(SEVENS));
}

#[test]
fn a_line_that_changed_below_is_loaded_again() {
    let mut bench = with_line();
    bench.own.drop_scratchpad_line(REGISTERS, 64);
    assert_eq!(bench.port().load_hit::<8>(REGISTERS + 16), None);
    assert_eq!(bench.port().load(REGISTERS + 16, 8), Outcome::Wait);
}

#[test]
fn what_changes_while_the_first_value_is_under_way_is_not_missed() {
    let mut bench = with_second_level();
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Wait);
    bench.own.take_scratchpad_line(REGISTERS, &[7; 64]);
    bench.own.drop_scratchpad_line(REGISTERS, 64);
    assert_eq!(bench.bus_turn(), (Kind::UncachedLoad, true));
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Done(0x77));
    assert_eq!(bench.port().load(REGISTERS, 8), Outcome::Wait, "the line is not here");
}
