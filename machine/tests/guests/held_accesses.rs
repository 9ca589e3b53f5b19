//! Registers whose device answers a load later, on a bus and on a directory.

use std::hash::Hasher as _;
use std::ops::Range;

use narthex_interfaces::address_names::AddressName;
use narthex_interfaces::half::{Context, RegisterFault};
use narthex_interfaces::{Device, DeviceDescription, DevicePort, QueueState};
use narthex_kernel::digest::Digest;
use narthex_kernel::simulation::Ending;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_machine::config;
use narthex_machine::node::Node;
use narthex_memory::{AccessReply, AgentId, Kind, Response, Transaction};
use serde::{Deserialize, Serialize};

use crate::single_nodes::{blueprint, finish, go_on_from, node_of, reported, results, simulate};
use crate::support::DATA;

const MAILBOX: u64 = 0x5f80_0000;
const REGISTERS: Range<u64> = MAILBOX..MAILBOX + 0x1000;

/// A mailbox: a load waits for a word, which comes a while later. A store says for how many
/// nanoseconds; with zero none ever comes.
#[derive(Clone, Serialize, Deserialize)]
struct Mailbox {
    wait_ns: u64,
    words: u64,
}

impl Device for Mailbox {
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        None
    }

    fn access_time(&self, _port: usize, _kind: Kind) -> Duration {
        Duration::from_ns(10)
    }

    fn access(
        &mut self,
        _port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        _response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        if transaction.kind == Kind::UncachedStore {
            self.wait_ns = transaction.value;
            return Ok(AccessReply::Done);
        }
        if self.wait_ns > 0 {
            context.timers.push(context.now + Duration::from_ns(self.wait_ns));
        }
        Ok(AccessReply::Held)
    }

    fn timer(&mut self, port: usize, context: &mut Context<'_>) {
        self.words += 1;
        context.on_chip.answers.push((port as u16, 40 + self.words, Duration::ZERO));
    }
}

impl DeviceDescription for Mailbox {
    fn ports(&self) -> Vec<DevicePort> {
        let registers = vec![REGISTERS];
        vec![DevicePort { name: "the mailbox".into(), registers, holds: true, ..DevicePort::default() }]
    }

    fn name_of(&self, address: u64, _block_bytes: u64) -> Option<AddressName> {
        REGISTERS.contains(&address).then(|| AddressName::whole("mailbox"))
    }

    fn hash_state(&self, _port: usize, digest: &mut Digest) {
        digest.write_u64(self.words);
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        Vec::new()
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        Vec::new()
    }

    fn queue(&self, _port: usize) -> QueueState {
        QueueState::of("mailbox", 0, None)
    }
}

/// Loads two words, each of which comes after so many nanoseconds.
fn node(machine: &str, on: &str, wait_ns: u64) -> Node {
    let machine = config::load(machine).expect("a preset");
    let source = format!(
        "li s0, {MAILBOX}\n li t0, {wait_ns}\n sd t0, 0(s0)\n ld s3, 8(s0)\n ld s4, 8(s0)\n \
         add s5, s3, s4\n report sum, s5\n exit 0"
    );
    let mailbox = || Box::new(Mailbox { wait_ns: 0, words: 0 }) as Box<dyn Device>;
    node_of(&blueprint(&machine, &source).with_device(&[on], mailbox))
}

/// The interconnects on which a mailbox is, with their machines, and the bus whose time is counted.
const PLACES: [(&str, &str, Option<&str>); 2] =
    [("hpca98", "bus", Some("bus_occupied")), ("chip", "directory", None)];

#[test]
fn a_load_that_its_device_holds_is_over_when_that_answers_it() {
    for (machine, on, occupied) in PLACES {
        let run = |wait_ns| {
            let node = finish(node(machine, on, wait_ns));
            assert_eq!(reported(&node, 0), [("sum".to_owned(), 41.0 + 42.0)], "{machine}");
            let document = node.to_json();
            let occupied = occupied.map(|name| document["statistics"][name].as_u64().expect("it is counted"));
            (node.reached().as_ps(), occupied)
        };
        let ((short, first), (long, second)) = (run(3_000), run(5_000));
        // A bus is the load's until then.
        assert_eq!(long - short, 2 * 2_000_000, "{machine}");
        assert_eq!(second.zip(first).map(|(second, first)| second - first), occupied.map(|_| 2 * 2_000_000));
    }
}

#[test]
fn a_held_load_is_kept_in_a_checkpoint() {
    for (machine, on, _) in PLACES {
        let fresh = || vec![node(machine, on, 20_000)];
        let restored = go_on_from(&fresh, Time::from_ps(10_000_000));
        assert_eq!(results(restored), results(vec![finish(fresh().remove(0))]), "{machine}");
    }
}

#[test]
fn a_load_that_is_never_answered_is_a_hang_that_names_what_holds_it() {
    for (machine, on, _) in PLACES {
        let (ending, mut nodes) = simulate(vec![node(machine, on, 0)], 1);
        assert!(matches!(ending, Ending::NoProgress(_)), "{machine}: {ending:?}");
        let thread = &nodes[0].stuck().processes[0].threads[0];
        let access = thread.access.as_ref().expect("it waits");
        assert!(access.ends_with("at 0x5f800008 (mailbox), which the mailbox holds"), "{access}");
    }
}

/// A reader: a load is held until the device has read, by a transaction of its own, the block whose address
/// was stored, and brings its first word.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Reader {
    block: u64,
    wants: bool,
}

impl Device for Reader {
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        None
    }

    fn access_time(&self, _port: usize, _kind: Kind) -> Duration {
        Duration::from_ns(10)
    }

    fn access(
        &mut self,
        _port: usize,
        _context: &mut Context<'_>,
        transaction: &Transaction,
        _response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        self.wants = transaction.kind == Kind::UncachedLoad;
        if !self.wants {
            self.block = transaction.value;
        }
        Ok(if self.wants { AccessReply::Held } else { AccessReply::Done })
    }

    fn wants(&self, _port: usize) -> bool {
        self.wants
    }

    fn issue(&mut self, _port: usize, _context: &mut Context<'_>) -> Option<Transaction> {
        std::mem::take(&mut self.wants).then(|| Transaction::block(AgentId(0), Kind::ReadOnce, self.block))
    }

    fn complete(&mut self, port: usize, context: &mut Context<'_>, _: &Transaction, response: &Response) {
        let word = response.data.as_ref().expect("a block comes").word(0);
        context.on_chip.answers.push((port as u16, word, Duration::ZERO));
    }
}

impl DeviceDescription for Reader {
    fn ports(&self) -> Vec<DevicePort> {
        let (name, registers) = ("the reader".into(), vec![REGISTERS]);
        let port = DevicePort { name, registers, holds: true, is_coherent: true, ..DevicePort::default() };
        vec![DevicePort { is_engine: true, ..port }]
    }

    fn name_of(&self, _address: u64, _block_bytes: u64) -> Option<AddressName> {
        None
    }

    fn hash_state(&self, _port: usize, digest: &mut Digest) {
        digest.write_u64(self.block);
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        Vec::new()
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        Vec::new()
    }

    fn queue(&self, _port: usize) -> QueueState {
        QueueState::of("reader", 0, None)
    }
}

#[test]
fn an_answer_that_waits_for_the_devices_own_transaction_comes_on_a_directory_and_is_refused_on_a_bus() {
    let source = format!(
        "li s0, {MAILBOX}\n li s1, {DATA}\n li t0, 77\n sd t0, 0(s1)\n sd s1, 0(s0)\n ld s3, 8(s0)\n \
         report word, s3\n exit 0"
    );
    let reader = || Box::<Reader>::default() as Box<dyn Device>;
    let chip = config::load("chip").expect("a preset");
    let node = node_of(&blueprint(&chip, &source).with_device(&["directory"], reader));
    // The processor's cache, which waits for the load, supplies what it has stored.
    assert_eq!(reported(&finish(node), 0), [("word".to_owned(), 77.0)]);
    let hpca98 = config::load("hpca98").expect("a preset");
    let refused = blueprint(&hpca98, &source).with_device(&["bus"], reader).node(0).map(drop);
    let refused = refused.expect_err("the bus is the load's").to_string();
    let reason = "the reader may hold an access until a transaction of its own is over";
    assert!(refused.contains(reason) && refused.contains("expected a place on a directory"), "{refused}");
}
