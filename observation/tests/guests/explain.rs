//! One message's life, from the journals of real runs.

use serde_json::Value;

use crate::support::exchange::ping_pong;
use crate::support::machines::{INTERFACES, MACHINES};
use crate::support::{Guest, fixed_hpca98, request, with};
use narthex_machine::RunRequest;
use narthex_observation::explain::explain_run;

/// Packets that leave a node before the journal begins: more than a lap of CNI512Q's queue.
const WARM_UP: u64 = 150;

fn life(request: &RunRequest, bytes: u64) -> Value {
    let guest = ping_pong(WARM_UP + 12, bytes);
    explain_run(&guest.in_run(request), &guest.elf(), WARM_UP, &mut |_| true)
        .unwrap_or_else(|failure| panic!("exit code {}: {failure}", failure.exit_code))
}

/// A run with exact times in which the program's own data stay in the cache.
fn fixed(interface: &str) -> RunRequest {
    with(fixed_hpca98(interface), "data_cache.associativity=4")
}

fn list<'a>(document: &'a Value, key: &str) -> &'a [Value] {
    document[key].as_array().expect("a list")
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("not a number: {value}"))
}

/// The transactions of an agent, in order: kind, place, bus cycles, on the critical path or not.
fn transactions<'a>(document: &'a Value, node: i64, agent: &str) -> Vec<(&'a str, &'a str, i64, bool)> {
    let rows = list(document, "transactions").iter();
    let own = rows.filter(|row| row["node"] == node && row["agent"] == agent);
    let text = |value: &'a Value| value.as_str().expect("text");
    own.map(|row| {
        let critical = row["critical"].as_bool().expect("a truth");
        (text(&row["kind"]), text(&row["place"]), number(&row["cycles"]), critical)
    })
    .collect()
}

#[test]
fn the_parts_of_a_life_add_up_to_its_latency_and_so_do_those_of_all_rounds() {
    for machine in MACHINES {
        for interface in INTERFACES {
            for bytes in [8, 64, 240] {
                let document = life(&request(machine, interface), bytes);
                let sum = |key: &str| -> i64 {
                    list(&document, "breakdown").iter().map(|entry| number(&entry[key])).sum()
                };
                let label = format!("{machine} {interface} {bytes}");
                assert_eq!(sum("time_ps"), number(&document["latency_ps"]), "{label}");
                assert_eq!(sum("rounds_total_ps"), number(&document["rounds"]["total_ps"]), "{label}");
                assert!(number(&document["rounds"]["count"]) >= 10, "{label}: {}", document["rounds"]);
            }
        }
    }
}

#[test]
fn the_instants_of_a_life_are_in_order() {
    for interface in INTERFACES {
        let document = life(&request("hpca98", interface), 64);
        let times: Vec<i64> = list(&document, "instants").iter().map(|it| number(&it["time_ps"])).collect();
        assert!(times.is_sorted() && times[0] > 0, "{interface}: {times:?}");
        assert_eq!(times.last(), Some(&number(&document["latency_ps"])));
    }
}

#[test]
fn the_same_run_gives_the_same_life() {
    for interface in INTERFACES {
        let request = request("hpca98", interface);
        assert_eq!(life(&request, 64), life(&request, 64));
    }
}

#[test]
fn the_network_takes_its_latency_and_a_fifo_its_stated_times() {
    let document = life(&fixed("NI2w"), 8);
    let part = |name: &str| {
        let entry = list(&document, "breakdown").iter().find(|entry| entry["part"] == name);
        number(&entry.unwrap_or_else(|| panic!("no {name} in {document:#}"))["time_ps"])
    };
    assert_eq!(part("network"), 40_000);
    assert_eq!(part("interface sends: engine"), 16_000);
    assert_eq!(part("interface receives: engine"), 300_000);
}

/// "Each block of a message requires one invalidation, to obtain write permission for the sender,
/// and one read miss, to fetch the block for the receiver" (isca96, Section 2.2), on both ends: the
/// interface is the receiver of what the processor sends, and the sender of what it receives.
/// Pointers are not read: "the head pointer requires only two invalidation-miss pairs for each
/// pass", "the tail pointer is private to the sender and generates no coherence actions".
#[test]
fn a_block_in_a_cachable_queue_costs_one_invalidation_and_one_read_miss_on_either_side() {
    // 64 bytes of payload and the header of 8 are two blocks. A miss takes the supplier's time:
    // the processor's cache 12 ns (4 + 3 bus cycles), the interface's memory 60 ns (4 + 15).
    let document = life(&fixed("CNI32Qm"), 64);
    let (queue, beside) = ("send queue", false);
    let ready = "MESSAGE_READY register";
    // The sender's look at the next entry of its receive queue hits in its cache.
    assert_eq!(
        transactions(&document, 0, "processor"),
        [("upgrade", queue, 4, true), ("upgrade", queue, 4, true), ("uncached_store", ready, 23, true)]
    );
    // Virtual polling: block 0 crosses while the processor composes block 1.
    assert_eq!(
        transactions(&document, 0, "send half"),
        [("read", queue, 7, beside), ("read", queue, 7, true)]
    );
    let queue = "receive queue";
    assert_eq!(
        transactions(&document, 1, "receive half"),
        [("invalidate", queue, 4, true), ("invalidate", queue, 4, true)]
    );
    assert_eq!(
        transactions(&document, 1, "processor"),
        [("read", queue, 19, true), ("read", queue, 19, true)]
    );
}

#[test]
fn every_doubleword_through_a_fifo_is_an_uncached_access_behind_one_status_load_a_side() {
    let document = life(&fixed("NI2w"), 64);
    let sent = transactions(&document, 0, "processor");
    let on_path: Vec<_> =
        sent.iter().filter(|(.., critical)| *critical).map(|(_, place, ..)| *place).collect();
    assert_eq!(on_path[0], "STATUS register");
    assert_eq!(on_path[1..], ["SEND register"; 9], "a header and eight doublewords");
    let received = transactions(&document, 1, "processor");
    let read = received.iter().filter(|(_, place, ..)| *place == "RECEIVE register").count();
    assert_eq!(read, 9);
    assert!(
        transactions(&document, 0, "send half").is_empty()
            && transactions(&document, 1, "receive half").is_empty()
    );
}
