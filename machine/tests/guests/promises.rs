//! What the models promise of themselves comes true.
//!
//! A node takes shortcuts because its devices say what cannot happen: an access to a register that does
//! not depend on what arrives, how soon a frame leaves, how soon a device uses an interconnect. Each of
//! these answers is a proof by hand, in the model. Here random traffic is run over every pair of halves,
//! once with the shortcuts and once with each step as an event: a promise that is wrong changes the
//! result.

use narthex_machine::RunRequest;
use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::coherent_rings::COHERENT_RINGS;
use crate::pio_coherent::PIO_COHERENT;
use crate::support::exchange::{Exchange, exchange};
use crate::support::{request, result, with};
use crate::virtio::VIRTIO;
use crate::{RINGS, machines_and_interfaces, pcie};

/// A part of a conversation between an even rank and the next one.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// Both speak in turn; or else one speaks and the other one listens.
    both: bool,
    /// Of these two, the odd rank speaks.
    odd_speaks: bool,
    messages: u64,
    /// A word at least: it has the packet's number, by which the program knows one that was overtaken.
    bytes: u64,
    /// Cycles behind each message, and before the listener begins.
    pauses: [u64; 2],
}

impl Round {
    fn steps(&self) -> [String; 2] {
        let &Round { both, odd_speaks, messages, bytes, pauses: [between, before] } = self;
        let speaks = format!("repeat {messages} send ^1 {bytes} pause {between} end");
        // A packet that was returned to its sender may be overtaken: no order is promised.
        let listens = format!("pause {before} repeat {messages} receive any end");
        let turns = |pause| format!("repeat {messages} send ^1 {bytes} pause {pause} receive any end");
        match (both, odd_speaks) {
            (true, _) => [turns(between), turns(before)],
            (false, false) => [speaks, listens],
            (false, true) => [listens, speaks],
        }
    }
}

/// The program of all rounds, one after the other.
fn conversation(rounds: &[Round]) -> Exchange {
    let steps =
        |odd: usize| rounds.iter().map(|round| round.steps()[odd].clone()).collect::<Vec<_>>().join(" ");
    exchange(format!("on even {} on odd {}", steps(0), steps(1)))
}

fn round() -> impl Strategy<Value = Round> {
    let pauses = proptest::array::uniform2(prop_oneof![1u64..60, 60u64..4_000]);
    (any::<[bool; 2]>(), 1u64..24, 1u64..31, pauses).prop_map(
        |([both, odd_speaks], messages, words, pauses)| Round {
            both,
            odd_speaks,
            messages,
            bytes: 8 * words,
            pauses,
        },
    )
}

proptest! {
    #![proptest_config(Config { cases: 3, max_shrink_iters: 8, ..Config::default() })]

    /// Caches are small, so that processors miss often. Threads look at the promises at other
    /// instants.
    #[test]
    fn random_traffic_comes_to_the_same_with_all_shortcuts_and_with_none(
        rounds in proptest::collection::vec(round(), 1..5),
    ) {
        let all = machines_and_interfaces().map(|place| (place, conversation(&rounds)));
        // Behind a link several reads are under way.
        let of_rings = RINGS.into_iter().chain([(pcie::MACHINE, "Ring")]);
        let of_verbs = [("hpca98", "Verbs"), (pcie::MACHINE, "Verbs")];
        let of_virtio = VIRTIO.into_iter().chain([(pcie::MACHINE, "Virtio")]);
        let of_cxl_nics = ["CxlNic", "CxlNic2"].map(|name| [("hpca98", name), (crate::cxl::MACHINE, name)]);
        let others = of_cxl_nics.into_iter().flatten().chain([("hpca98", "RegisterFile")]);
        let driven_apart = of_rings.chain(of_verbs).chain(COHERENT_RINGS).chain(PIO_COHERENT);
        let driven_apart = driven_apart.chain(of_virtio).chain(others);
        let driven_apart = driven_apart.map(|place| (place, conversation(&rounds).over(place.1)));
        for ((machine, interface), guest) in all.chain(driven_apart) {
            let mut run = with(request(machine, interface), "data_cache.size=4KiB");
            if machine == pcie::MACHINE && interface != "Ring" {
                run = with(run, &format!("interfaces.{}.reads=8", interface.to_lowercase()));
            }
            let way = |schedule_steps, threads| {
                result(&RunRequest { schedule_steps, threads, ..run.clone() }, &guest)
            };
            let quick = way(false, 1);
            for (other, what) in [(way(true, 1), "steps"), (way(false, 2), "threads")] {
                prop_assert!(quick == other, "{machine} {interface}: {what} change a result");
            }
        }
    }
}
