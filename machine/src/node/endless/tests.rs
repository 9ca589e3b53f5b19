use narthex_cores::assemble::assemble;
use narthex_cores::linux::Program;
use narthex_interfaces::QueueState;
use narthex_interfaces::description::{HalfDescription, Layout};
use narthex_interfaces::half::{Context, InterfaceHalf};
use narthex_kernel::partition::{Outbox, Partition, Status};
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::Transaction;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::elf::{self, EXECUTE, READ, Segment};
use super::*;
use crate::compose::Blueprint;
use crate::config;
use crate::request::RunRequest;

narthex_kernel::statistics! {
    /// Counts nothing.
    pub struct Nothing {}
}

/// A send half that always wants its bus and never issues anything.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
struct Greedy {
    statistics: Nothing,
}

impl std::hash::Hash for Greedy {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl InterfaceHalf for Greedy {
    fn register_delay(&self) -> Duration {
        Duration::ZERO
    }
    fn wants_bus(&self) -> bool {
        true
    }
    fn issue(&mut self, _: &mut Context<'_>) -> Option<Transaction> {
        None
    }
}

impl HalfDescription for Greedy {
    fn layout(&self) -> Layout {
        Layout::default()
    }
    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }
    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }
    fn queue(&self) -> QueueState {
        QueueState::of("nothing", 0, None)
    }
}

/// A node whose send half is [`Greedy`], and whose program turns on the spot.
fn node(machine: &str, interface: &str) -> Node {
    let machine = config::load(machine).expect("a shipped machine");
    let bytes = assemble(0x1_0000, "wait: j wait").expect("a sound program");
    let text = Segment { address: 0x1_0000, memory_bytes: 4, bytes, flags: READ | EXECUTE };
    let program = Program::parse("guest", elf::file(0x1_0000, &[text])).expect("a sound file");
    let interface = interface.parse().expect("an interface");
    let request = json!({ "program": "guest", "machine": "-", "interface": "-", "nodes": 2 });
    let request: RunRequest = serde_json::from_value(request).expect("a sound request");
    let blueprint = Blueprint::new(&machine.config, interface, program, &request);
    let mut node = blueprint.node(1).expect("a node");
    let mut interface = blueprint.build_halves().expect("an interface");
    interface.halves[0] = Box::new(Greedy::default());
    node.devices[0] = Box::new(interface);
    node
}

#[test]
fn an_agent_that_is_granted_for_ever_and_issues_nothing_is_named() {
    for (machine, interface, bus) in
        [("hpca98", "CNI512Q", "memory bus"), ("isca96", "CNI512Q on io-bus", "I/O bus")]
    {
        let mut node = node(machine, interface);
        let place = node.port_of(0, 0);
        narthex_memory::interconnects::ask(&mut node, Time::from_ps(1_000), place.on, place.agent);
        node.advance(&mut Outbox::new(1).with_end(Time::from_ps(1_000_000)));
        assert!(matches!(node.status(), Status::Stopped { .. }), "{interface}");
        let Some((0, _, Ended::Endless(text))) = node.failure() else {
            panic!("{interface}: no explanation")
        };
        assert!(text.starts_with("no progress: node 1: the send half of process 0's interface is granted"));
        assert!(text.contains(&format!("the {bus} again and again and issues nothing")), "{text}");
    }
}

#[test]
fn events_are_counted_anew_at_each_instant() {
    let mut instant = Instant::default();
    for at in 0..3 {
        (0..MOST_EVENTS).for_each(|_| instant.count(Time::from_ps(at)));
        assert!(!instant.is_endless());
    }
    instant.count(Time::from_ps(2));
    assert!(instant.is_endless());
}
