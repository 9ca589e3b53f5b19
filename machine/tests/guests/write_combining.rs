//! Write-combining buffers in whole machines: what crosses the bus, and when. The machine is
//! that of [`crate::two_buses`], whose first bus has a cycle of 4 ns and 32 bytes.

use narthex_kernel::simulation::Ending;
use narthex_machine::config;
use narthex_machine::node::Agent;
use narthex_machine::node::probe::Event;
use narthex_memory::Kind;

use crate::listener::Listener;
use crate::single_nodes::{blueprint, load, node_of, parse, simulate};
use crate::two_buses::{HOST_REGISTERS, SharedRegisters, TWO_BUSES};

const BUFFERS: &str = "\n[block_buffers]\nkind = \"none\"\n[write_combining]\nbuffers = 2\nblock = \"32B\"\n\
                       flush = [\"full\", \"fence\", \"uncached-load\", \"uncached-store\"]\n\
                       [bus]\narbitration_cycles = 1\naddress_cycles = 1\n\
                       [bus.extra_cycles]\nblock_store = 0\nuncached_store = 5\n";

/// Stores words 1, 2, ... to registers of eight bytes at these places, and fences.
fn stores(places: &[u64]) -> String {
    let store = |(number, place): (usize, &u64)| format!("li t0, {}\n sd t0, {place}(s0)\n", number + 1);
    let stores: String = places.iter().enumerate().map(store).collect();
    format!("li s0, {}\n{stores} fence\n", HOST_REGISTERS[0])
}

/// What the program has stored: kind, offset, and the nanoseconds for which it took the bus;
/// and the sum of the registers at the end.
fn run(tables: &str, source: &str) -> (Vec<(Kind, u64, u64)>, f64) {
    let (crossed, sum) = crossings(tables, source);
    let stored =
        crossed.into_iter().map(|(kind, place, granted, released)| (kind, place, released - granted));
    (stored.collect(), sum)
}

/// The same with the nanosecond at which the bus was granted, and the one at which it was released.
fn crossings(tables: &str, source: &str) -> (Vec<(Kind, u64, u64, u64)>, f64) {
    let machine = load("combining.toml", &format!("{TWO_BUSES}{tables}"), &[]);
    let loads: String = (0..16).map(|word| format!("ld t0, {}(s0)\n add s1, s1, t0\n", 8 * word)).collect();
    let source = format!("li s1, 0\n{source}{loads} report sum, s1\n exit 0");
    let blueprint = blueprint(&machine, &source)
        .with_firmware("service", parse("rest: j rest"))
        .with_device(&["bus"], || Box::new(SharedRegisters::combinable(&[(0, HOST_REGISTERS[0])])));
    let mut node = node_of(&blueprint);
    node.attach(Box::<Listener>::default());
    let (ending, mut nodes) = simulate(vec![node], 1);
    assert_eq!(ending, Ending::AllFinished, "{:?}", nodes[0].failure());
    let listener = nodes[0].detach::<Listener>().expect("it is attached");
    let stored = listener.events.iter().filter_map(|(_, event)| match event {
        Event::Crossing(crossing)
            if crossing.agent == Agent::Processor(0)
                && matches!(crossing.kind, Kind::UncachedStore | Kind::BlockStore) =>
        {
            let [granted, released] = [crossing.granted, crossing.released].map(|at| at.as_ps() / 1_000);
            Some((crossing.kind, crossing.address - HOST_REGISTERS[0], granted, released))
        }
        _ => None,
    });
    (stored.collect(), nodes[0].processes[0].reports[0].value)
}

/// A block store takes three cycles of 4 ns, a single one eight, and each the device's 10 ns,
/// which end with a third cycle.
const BLOCK: u64 = (3 + 3) * 4;
const SINGLE: u64 = (8 + 3) * 4;

#[test]
fn consecutive_stores_cross_as_one_block_and_the_rest_of_a_message_as_single_ones() {
    let places = [0, 8, 16, 24, 32, 40];
    let expected =
        [(Kind::BlockStore, 0, BLOCK), (Kind::UncachedStore, 32, SINGLE), (Kind::UncachedStore, 40, SINGLE)];
    assert_eq!(run(BUFFERS, &stores(&places)), (expected.to_vec(), 21.0));
    let (single, sum) = run(
        "\n[bus]\narbitration_cycles = 1\naddress_cycles = 1\n[bus.extra_cycles]\nuncached_store = 5\n",
        &stores(&places),
    );
    assert_eq!(single, places.map(|place| (Kind::UncachedStore, place, SINGLE)));
    assert_eq!(sum, 21.0, "the device sees the same");
}

#[test]
fn buffers_leave_in_the_order_in_which_they_are_closed() {
    // The third block takes the first one's buffer; the second is full before the fence.
    let places = [0, 32, 64, 40, 48, 56];
    let (stored, sum) = run(BUFFERS, &stores(&places));
    let order: Vec<(Kind, u64)> = stored.iter().map(|&(kind, place, _)| (kind, place)).collect();
    assert_eq!(order, [(Kind::UncachedStore, 0), (Kind::BlockStore, 32), (Kind::UncachedStore, 64)]);
    assert_eq!(sum, 21.0);
}

#[test]
fn a_buffer_leaves_its_time_after_its_first_store_while_the_processor_goes_on() {
    let rules = |time: u64| {
        let flush = format!("flush = [\"time\"]\nflush_time = \"{time}ns\"");
        BUFFERS.replace("flush = [\"full\", \"fence\", \"uncached-load\", \"uncached-store\"]", &flush)
    };
    // All of a block is stored, then half of one; the fence closes neither, and 4,000 turns pass.
    let source =
        format!("{} li t1, 4000\nturn:\n addi t1, t1, -1\n bnez t1, turn\n", stores(&[0, 8, 16, 24, 32, 40]));
    let granted = |time| {
        let (crossed, sum) = crossings(&rules(time), &source);
        assert_eq!(sum, 21.0);
        let order: Vec<(Kind, u64)> = crossed.iter().map(|&(kind, place, ..)| (kind, place)).collect();
        assert_eq!(order, [(Kind::BlockStore, 0), (Kind::UncachedStore, 32), (Kind::UncachedStore, 40)]);
        crossed.iter().map(|&(_, _, granted, _)| granted).collect::<Vec<_>>()
    };
    let (early, late) = (granted(400), granted(1_000));
    for (early, late) in early.iter().zip(&late) {
        assert_eq!(late - early, 600);
    }
    assert_eq!(early[2] - early[1], SINGLE, "both halves at once");
}

#[test]
fn without_the_rule_a_register_is_accessed_before_what_the_buffers_hold() {
    let text = BUFFERS.replace(", \"uncached-load\", \"uncached-store\"", "");
    let source = format!(
        "li s0, {}\n li t0, 5\n sd t0, 0(s0)\n ld t0, 64(s0)\n add s1, s1, t0\n ld t0, 0(s0)\n add s1, s1, t0\n",
        HOST_REGISTERS[0]
    );
    // The load of another block leaves the buffer open, that of its own finds the store.
    let (stored, sum) = run(&text, &source);
    assert_eq!((stored, sum), (vec![(Kind::UncachedStore, 0, SINGLE)], 10.0));
}

#[test]
fn buffers_that_cannot_be_are_refused_with_their_key() {
    for (tables, key) in [
        (BUFFERS.replace("buffers = 2", "buffers = 17"), "write_combining.buffers"),
        (BUFFERS.replace("32B", "128B"), "write_combining.block"),
        (BUFFERS.replace(", \"fence\", \"uncached-load\", \"uncached-store\"", ""), "write_combining.flush"),
        (BUFFERS.replace("\"fence\"", "\"time\""), "write_combining.flush_time"),
        (BUFFERS.replace("\"fence\"", "\"fences\""), "did you mean `fence`?"),
        (BUFFERS.replace("[block_buffers]\nkind = \"none\"", ""), "write_combining.block"),
    ] {
        let refused = config::load_text("combining.toml", &format!("{TWO_BUSES}{tables}"));
        let text = refused.map(drop).expect_err(key).to_string();
        assert!(text.contains(key), "{text}");
    }
}
