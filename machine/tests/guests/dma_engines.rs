//! DMA engines that programs drive, in whole machines.

use narthex_kernel::Time;
use narthex_machine::config::{self, Machine};
use narthex_machine::node::probe::Event;
use narthex_machine::node::{Agent, Node};
use narthex_memory::Kind;

use crate::listener::Listener;
use crate::single_nodes::{blueprint, finish, go_on_from, load, node_of, results, simulate};
use crate::support::DATA;

/// The 1998 machine, whose bus has a cycle of 4 ns and whose memory takes 120 ns, with a
/// memory on a bus of its own, which an engine joins to the host's.
const COPYING: &str = r#"
base = "hpca98"

[node.interconnects.nic_bus]
kind = "snooping-bus"

[node.memories.sram]
on = ["bus", "nic_bus"]
start = 0x5f000000
size = "64KiB"

[node.dma_engines.copy]
on = ["bus", "nic_bus"]
registers = [0x5f800000, 0x5f800000]

[memories.sram]
access_time = "8ns"
ports = "dual"

[dma_engines.copy]
start_time = "100ns"
block_time = "0ns"
burst = "128B"
register_access_time = "20ns"

[bus]
arbitration_cycles = 1
address_cycles = 1
cache_supply_time = "12ns"

[buses.nic_bus]
clock = "250MHz"
width = "32B"
arbitration_cycles = 1
address_cycles = 1
cache_supply_time = "12ns"

[buses.nic_bus.extra_cycles]
read = 0
read_exclusive = 0
upgrade = 0
write_back = 0
write_block = 0
read_once = 0
invalidate = 0
uncached_load = 6
uncached_store = 6
block_load = 0
block_store = 0
"#;

const ENGINE: u64 = 0x5f80_0000;
const SRAM: u64 = 0x5f00_0000;

fn machine(settings: &[&str]) -> Machine {
    load("copying.toml", COPYING, settings)
}

fn node(machine: &Machine, source: &str) -> Node {
    node_of(&blueprint(machine, source))
}

/// Runs a node while a probe listens, whatever its end.
fn run(mut node: Node) -> Node {
    node.attach(Box::<Listener>::default());
    simulate(vec![node], 1).1.remove(0)
}

/// Stores to registers of the engine: pairs of an offset and a value.
fn registers(stores: &[(u64, u64)]) -> String {
    let store = |(offset, value): &(u64, u64)| format!("li t0, {value}\n sd t0, {offset}(s1)\n");
    format!("li s1, {ENGINE}\n{}", stores.iter().map(store).collect::<String>())
}

/// Fills 256 bytes of data with words 1, 2, ...
fn fill() -> String {
    format!(
        "li s0, {DATA}\n li t0, 1\n li t1, 33\n fill:\n sd t0, 0(s0)\n addi s0, s0, 8\n addi t0, t0, 1\n \
         bne t0, t1, fill\n"
    )
}

/// Computes for a while, so that nothing but the engine is on a bus.
const REST: &str = "li t0, 2000\n rest:\n addi t0, t0, -1\n bnez t0, rest\n";

/// Waits until the engine has made this many copies.
fn wait(copies: u64) -> String {
    format!("li t2, {copies}\n wait{copies}:\n ld t0, 48(s1)\n bne t0, t2, wait{copies}\n")
}

/// Compares bytes in memory; reports how many differ.
fn compare(one: u64, other: u64, length: u64) -> String {
    format!(
        "li s2, {one}\n li s3, {other}\n li s4, {}\n li s5, 0\n compare:\n lbu t0, 0(s2)\n lbu t1, 0(s3)\n \
         beq t0, t1, same\n addi s5, s5, 1\n same:\n addi s2, s2, 1\n addi s3, s3, 1\n \
         bne s2, s4, compare\n report differ, s5\n",
        one + length
    )
}

/// What the engine did on a bus: kind, and when, in nanoseconds since the first.
fn copied(listener: &Listener, bus: &str) -> Vec<(Kind, u64, u64)> {
    let of_engine = listener.events.iter().filter_map(|(_, event)| match event {
        Event::Crossing(crossing) if crossing.bus == bus && matches!(crossing.agent, Agent::Port(2 | 3)) => {
            Some(*crossing)
        }
        _ => None,
    });
    let all: Vec<_> = of_engine.collect();
    let begin = all.first().map_or(Time::ZERO, |first| first.granted);
    let since = |time: Time| (time - begin).as_ps() / 1_000;
    all.iter().map(|one| (one.kind, since(one.granted), since(one.released))).collect()
}

/// Copies 128 bytes of dirty blocks into the local memory.
fn out(machine: &Machine) -> Node {
    let start = registers(&[(0, DATA), (8, SRAM), (16, 2 << 32 | 128)]);
    let node = run(node(machine, &format!("{}{start}{REST}{}exit 0", fill(), wait(1))));
    assert!(node.failure().is_none());
    node
}

#[test]
fn dirty_blocks_come_from_their_owner_while_the_engine_writes_what_it_has_read() {
    let listener = out(&machine(&[])).detach::<Listener>().expect("it is attached");
    // Four cycles and the cache's 12 ns.
    let reads = [(Kind::ReadOnce, 0, 28), (Kind::ReadOnce, 28, 56)];
    assert_eq!(copied(&listener, "memory bus"), reads);
    // Four cycles and the memory's 8 ns; the second block is not there sooner.
    let writes = [(Kind::WriteBlock, 0, 24), (Kind::WriteBlock, 28, 52)];
    assert_eq!(copied(&listener, "nic bus"), writes);
}

#[test]
fn dirty_blocks_are_pushed_home_first_where_owners_refuse() {
    let machine = machine(&["bus.dirty_owner=retry-and-push", "bus.retry_cycles=3"]);
    let listener = out(&machine).detach::<Listener>().expect("it is attached");
    // Each block: refused for 12 ns, pushed in four cycles and 120 ns, then read in as many.
    let reads = copied(&listener, "memory bus");
    assert_eq!(reads, [(Kind::ReadOnce, 0, 136), (Kind::ReadOnce, 284, 420)]);
    let refused = listener.events.iter().filter(|(_, event)| matches!(event, Event::Refused(_))).count();
    assert_eq!(refused, 2);
}

#[test]
fn bytes_go_out_and_come_back_at_any_alignment_and_the_word_tells_when() {
    let out =
        registers(&[(0, DATA + 3), (8, SRAM + 50), (32, (SRAM + 0x1000) | 1), (16, (2 | 8) << 32 | 200)]);
    let back = registers(&[(0, SRAM + 50), (8, DATA + 0x1005), (16, 1 << 32 | 200)]);
    let word = format!("li s6, {}\n word:\n ld t0, 0(s6)\n beqz t0, word\n", SRAM + 0x1000);
    let compare = compare(DATA + 3, DATA + 0x1005, 200);
    let source = format!("{}{out}{word}{back}{}{compare}exit 0", fill(), wait(2));
    let node = run(node(&machine(&[]), &source));
    assert_eq!(node.processes[0].reports[0].value, 0.0);
}

#[test]
fn a_list_in_memory_is_copied_and_the_interrupt_line_is_asserted_until_it_is_taken_back() {
    let (list, port) = (DATA + 0x400, 0);
    let words = [
        (0, DATA),
        (8, DATA + 0x800),
        (16, 40),
        (24, list + 32),
        (32, DATA + 40),
        (40, DATA + 0x828),
        (48, 4 << 32 | 24),
        (56, 0),
    ];
    let store = |(offset, value): &(u64, u64)| format!("li t0, {value}\n sd t0, {offset}(s2)\n");
    let words: String = words.iter().map(store).collect();
    let source = format!(
        "{}li s2, {list}\n{words}{}{}ld t3, 40(s1)\n report line, t3\n sd zero, 40(s1)\n ld t3, 40(s1)\n \
         report taken_back, t3\n{}exit 0",
        fill(),
        registers(&[(24, list | port)]),
        wait(2),
        compare(DATA, DATA + 0x800, 64)
    );
    let node = run(node(&machine(&[]), &source));
    let values: Vec<f64> = node.processes[0].reports.iter().map(|report| report.value).collect();
    assert_eq!(values, [2.0, 0.0, 0.0]);
}

#[test]
fn a_copy_beyond_the_engines_memory_ends_the_run_and_names_it() {
    let source = format!("{}wait: j wait", registers(&[(0, DATA), (8, SRAM + 0xfff0), (16, 2 << 32 | 17)]));
    let node = run(node(&machine(&[]), &source));
    let text = format!("{:?}", node.failure().expect("it fails").2);
    assert!(
        text.contains("DMA engine copy: descriptor 0 writes to 0x5f00fff0, 17 bytes, which is beyond the memory on the nic bus"),
        "{text}"
    );
}

#[test]
fn a_copy_goes_on_from_a_checkpoint() {
    let source = || {
        let start = registers(&[(0, DATA + 1), (8, SRAM + 2), (16, 2 << 32 | 200)]);
        node(&machine(&[]), &format!("{}{start}{}exit 0", fill(), wait(1)))
    };
    let whole = finish(source());
    let end = whole.reached().as_ps();
    for eighths in [5, 6, 7] {
        let until = Time::from_ps(end / 8 * eighths);
        let restored = go_on_from(&|| vec![source()], until);
        assert_eq!(results(restored), [whole.to_json()], "at {eighths} eighths");
    }
}

#[test]
fn an_engine_that_cannot_be_wired_is_refused_with_file_key_and_reason() {
    for (change, key, reason) in [
        (
            "[node.dma_engines.more]\non = \"bus\"\nregisters = [0x5f900000]",
            "node.dma_engines.more",
            "[dma_engines.more]",
        ),
        ("[dma_engines.copy]\nburst = \"32B\"", "dma_engines.copy.burst", "less than a block of 64B"),
        (
            "[node.dma_engines.copy]\nregisters = [0x5f800000]",
            "node.dma_engines.copy.registers",
            "one for each of 2",
        ),
        (
            "[node.dma_engines.copy]\non = [\"bus\", \"nick_bus\"]",
            "node.dma_engines.copy.on",
            "did you mean `nic_bus`?",
        ),
        (
            "[node.dma_engines.copy]\nregisters = [0x100000, 0x5f800000]",
            "node.dma_engines.copy.registers",
            "0x100000",
        ),
    ] {
        let (table, rest) = change.split_once('\n').expect("a table and its keys");
        let (key_set, value) = rest.split_once(" = ").expect("a key");
        let setting = format!("{}.{key_set}={value}", table.trim_matches(['[', ']']));
        let text = match table.contains("more") {
            true => config::load_text("copying.toml", &format!("{COPYING}\n{change}")).map(drop),
            false => config::load_text("copying.toml", COPYING)
                .and_then(|machine| machine.with_settings(&[setting]))
                .map(drop),
        };
        let text = text.expect_err(change).to_string();
        assert!(text.contains(key) && text.contains(reason), "{text}");
    }
}

/// The host loads from the memory while the engine writes it: with one port for both, one
/// waits until the other's 8 ns are over.
#[test]
fn an_engine_waits_for_the_port_of_its_memory_where_both_buses_share_one() {
    let loads =
        format!("li s2, {SRAM}\n li t2, 30\n load: ld t3, 256(s2)\n addi t2, t2, -1\n bnez t2, load\n");
    let start = registers(&[(0, SRAM), (8, SRAM + 0x1000), (16, 3 << 32 | 256)]);
    let source = format!("{start}{loads}{REST}{}exit 0", wait(1));
    let lengths = |ports: &str| {
        let node = run(node(&machine(&[&format!("memories.sram.ports={ports}")]), &source));
        let mut node = node;
        let listener = node.detach::<Listener>().expect("it is attached");
        copied(&listener, "nic bus").iter().map(|(_, begin, end)| end - begin).collect::<Vec<_>>()
    };
    // Four cycles of 4 ns and the memory's 8 ns.
    assert_eq!(lengths("dual"), [24; 8]);
    // A load of the host has taken the port 4 ns before the last one.
    assert_eq!(lengths("single"), [24, 24, 24, 24, 24, 24, 24, 28]);
}

#[test]
fn a_list_in_a_circle_ends_the_run_and_is_named() {
    let list = DATA + 0x400;
    let words = [(0, DATA), (8, DATA + 0x800), (16, 8), (24, list)];
    let store = |(offset, value): &(u64, u64)| format!("li t0, {value}\n sd t0, {offset}(s2)\n");
    let words: String = words.iter().map(store).collect();
    let source = format!("li s2, {list}\n{words}{}wait: j wait", registers(&[(24, list)]));
    let node = run(node(&machine(&[]), &source));
    let text = format!("{:?}", node.failure().expect("it fails").2);
    assert!(
        text.contains("its list goes in a circle: descriptor 1 at 0x100400 is descriptor 0 again"),
        "{text}"
    );
}
