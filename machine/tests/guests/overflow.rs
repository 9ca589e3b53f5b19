//! What happens to messages for which a receive cache has no room.

use serde_json::Value;

use crate::support::exchange::{exchange, ping_pong};
use crate::support::{reported, request, result, statistic, with};
use narthex_machine::RunRequest;

const MESSAGES: u64 = 200;

/// Node 0 sends as fast as it can; node 1 takes longer for each message than
/// node 0 and the interface.
fn stream(request: &RunRequest) -> Value {
    stream_of(MESSAGES, request)
}

fn stream_of(messages: u64, request: &RunRequest) -> Value {
    let steps =
        format!("on 0 repeat {messages} send 1 8 end on 1 repeat {messages} receive any pause 1800 end");
    result(request, &exchange(steps))
}

#[test]
fn a_throttled_interface_keeps_every_message_in_its_cache() {
    let free = stream(&request("hpca98", "CNI32Qm"));
    assert!(statistic(&free, 1, "messages_bypassed") > 0, "the receiver is the slower side");
    let throttled = stream(&request("hpca98", "CNI32Qm+Throttle"));
    assert_eq!(statistic(&throttled, 1, "messages_deposited"), MESSAGES);
    assert_eq!(statistic(&throttled, 1, "messages_bypassed"), 0);
    assert_eq!(statistic(&throttled, 1, "bus_block_writes"), 0);
    // 8 messages fit. The engine is full after the first 8, and from then on for
    // each 4 that it let in; it looks at the head when it finds itself full, in
    // vain, and once more when the processor has read 4.
    let rounds = (MESSAGES - 8) / 4;
    let looks = statistic(&throttled, 1, "head_reads");
    assert!((rounds..=2 * rounds).contains(&looks), "{looks} looks at the head");
}

#[test]
fn messages_that_nobody_has_begun_to_read_are_bypassed_without_a_look_at_the_head() {
    let request = with(request("hpca98", "CNI32Qm"), "interfaces.cni_iqm.when_full=bypass-unfetched");
    let document = stream(&request);
    let bypassed = statistic(&document, 1, "messages_bypassed");
    assert!(bypassed > MESSAGES / 2, "the receiver is the slower side");
    // A look is for the few that find a place in the cache.
    let looks = statistic(&document, 1, "head_reads");
    assert!(looks <= MESSAGES - bypassed, "{looks} looks at the head for {bypassed} bypassed messages");
}

#[test]
fn an_interface_without_a_cache_moves_each_block_once_and_shows_its_head_twice_a_pass() {
    let request = with(request("hpca98", "CNI0Qm"), "interfaces.cni_0qm.fetch=read-once");
    let document = stream(&request);
    // A block for each message; and node 0's interface shows its head once for
    // each 64 of the queue's 128 entries.
    assert_eq!(statistic(&document, 1, "bus_block_writes"), MESSAGES);
    assert_eq!(statistic(&document, 0, "bus_block_writes"), MESSAGES / 64);
    // One by one, after the message is announced.
    assert_eq!(statistic(&document, 0, "blocks_read_early"), 0);
    assert_eq!(statistic(&document, 0, "bus_single_reads"), MESSAGES);
    assert_eq!(statistic(&document, 1, "bus_invalidations"), 0);
}

#[test]
fn a_block_that_the_interface_has_read_as_a_cache_would_takes_an_upgrade_to_be_written_again() {
    let upgrades = |fetch| {
        let request = with(request("hpca98", "CNI0Qm"), &format!("interfaces.cni_0qm.fetch={fetch}"));
        statistic(&stream(&request), 0, "bus_upgrades")
    };
    // Each entry of the send queue's 128 that is used again.
    assert_eq!(upgrades("read") - upgrades("read-once"), MESSAGES - 128);
}

#[test]
fn a_longer_receive_queue_takes_what_a_shorter_one_has_no_entry_for() {
    for (interface, section) in [("CNI32Qm", "cni_iqm"), ("CNI0Qm", "cni_0qm")] {
        let full = |blocks| {
            let key = format!("interfaces.{section}.receive_queue_blocks={blocks}");
            let request = with(request("hpca98", interface), &key);
            statistic(&stream(&request), 1, "receive_queue_full")
        };
        assert!(full(64) > 0, "{interface}: the receiver is the slower side");
        assert_eq!(full(4 * MESSAGES), 0, "{interface}");
    }
}

#[test]
fn the_1996_cache_writes_a_block_back_for_each_that_it_takes_in_once_it_is_full() {
    let document = stream(&request("isca96", "CNI16Qm"));
    // Four entries of four blocks fit, and a message has a block.
    assert_eq!(statistic(&document, 1, "queue_blocks_written_back"), MESSAGES - 4);
    assert_eq!(statistic(&document, 1, "dead_blocks_dropped"), 0);
    assert_eq!(statistic(&document, 1, "messages_bypassed"), 0);
    assert_eq!(statistic(&document, 1, "empty_polls"), 0, "memory has the entry of the pass before");
}

#[test]
fn a_write_back_delays_the_message_behind_it_by_42_cycles() {
    // The fifth message of each direction is the first that finds its line taken; a
    // receiver sees it up to a turn of its polls earlier or later.
    let cycles = |turns| reported(&result(&request("isca96", "CNI16Qm"), &ping_pong(turns, 8)), 0, "cycles");
    let [three, four, five] = [cycles(3), cycles(4), cycles(5)];
    let delay = (five - four) - (four - three);
    assert!((delay - 2 * 42).abs() <= 12, "{delay} cycles");
}

#[test]
fn what_is_snarfed_is_not_fetched() {
    let plain = request("isca96", "CNI16Qm");
    let snarfing = with(plain.clone(), "data_cache.snarfing=true");
    let [without, taken] = [plain, snarfing].map(|request| stream_of(600, &request));
    let misses = |document| statistic(document, 1, "load_misses");
    let snarfed = statistic(&taken, 1, "snarfed_blocks");
    assert!(snarfed > 100, "the receiver is the slower side: unread messages are written back");
    assert!(misses(&taken) + snarfed / 2 < misses(&without), "{snarfed} blocks were snarfed");
}
