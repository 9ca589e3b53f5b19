//! Nodes of other shapes than those of the studies: two buses with a processor and
//! a memory each, one device on both, and firmware that moves a message.

use std::hash::Hasher;
use std::ops::{ControlFlow, Range};

use narthex_cores::linux::Program;
use narthex_interfaces::address_names::AddressName;
use narthex_interfaces::half::{Context, RegisterFault};
use narthex_interfaces::{Device, DeviceDescription, DeviceSeat, QueueState};
use narthex_kernel::simulation::{Ending, Limits, Simulation, Threads};
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Duration, Time};
use narthex_machine::compose::Blueprint;
use narthex_machine::config::{self, Machine};
use narthex_machine::node::Node;
use narthex_machine::node::probe::Event;
use narthex_memory::{Kind, Response, Transaction};
use serde::{Deserialize, Serialize};

use crate::listener::Listener;
use crate::support::{program, request};

narthex_kernel::statistics! {
    /// What came to the registers.
    struct Statistics {
        loads: Counter, "shared_register_loads", "accesses", "loads from the registers of any seat";
        stores: Counter, "shared_register_stores", "accesses", "stores to the registers of any seat";
    }
}

/// Where the registers of a seat are, and which process uses it.
pub type SeatOf = (u8, u64);

/// Sixteen registers that every seat of the device has at addresses of its own. Where
/// it has lines, the last seat has two: asserted while registers 0 and 1 are not zero.
/// The registers may be words of its local memory.
#[derive(Clone, Serialize, Deserialize)]
pub struct SharedRegisters {
    seats: Vec<SeatOf>,
    lines: u32,
    words: [u64; 16],
    in_local_memory: Option<u64>,
    is_coherent: bool,
    are_combinable: bool,
    statistics: Statistics,
}

impl SharedRegisters {
    pub fn new(seats: &[SeatOf]) -> Self {
        SharedRegisters {
            seats: seats.to_vec(),
            lines: 0,
            words: [0; 16],
            in_local_memory: None,
            is_coherent: false,
            are_combinable: false,
            statistics: Statistics::default(),
        }
    }

    /// The same that says that it takes part in coherence.
    pub fn coherent(seats: &[SeatOf]) -> Self {
        SharedRegisters { is_coherent: true, ..SharedRegisters::new(seats) }
    }

    /// The same to which stores may be combined.
    pub fn combinable(seats: &[SeatOf]) -> Self {
        SharedRegisters { are_combinable: true, ..SharedRegisters::new(seats) }
    }

    /// The same whose registers are words of its local memory, from `start` on.
    pub fn in_local_memory(self, start: u64) -> Self {
        SharedRegisters { in_local_memory: Some(start), ..self }
    }

    pub fn with_lines(self) -> Self {
        SharedRegisters { lines: 2, ..self }
    }
}

impl Device for SharedRegisters {
    fn access_time(&self, _seat: usize, _kind: Kind) -> Duration {
        Duration::from_ns(10)
    }

    fn access(
        &mut self,
        seat: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<(), RegisterFault> {
        let offset = transaction.address - self.seats[seat].1;
        if let Some(start) = self.in_local_memory {
            let memory = context.local_memory.as_mut().expect("the device has a local memory");
            let mut bytes = transaction.value.to_le_bytes();
            match transaction.kind {
                Kind::UncachedLoad => memory.read(start + offset, &mut bytes),
                _ => memory.write(start + offset, &bytes),
            }
            response.value = u64::from_le_bytes(bytes);
            return Ok(());
        }
        if let Some(data) = &transaction.data {
            self.statistics.stores.increment();
            let words = self.words[offset as usize / 8..].iter_mut().enumerate();
            words.take(data.len() / 8).for_each(|(place, word)| *word = data.word(8 * place));
            return Ok(());
        }
        let word = self.words.get_mut(offset as usize / 8);
        let word = word.ok_or_else(|| RegisterFault(format!("there is no register {offset:#x}")))?;
        match transaction.kind {
            Kind::UncachedLoad => {
                self.statistics.loads.increment();
                response.value = *word;
            }
            _ => {
                self.statistics.stores.increment();
                *word = transaction.value;
            }
        }
        Ok(())
    }
}

impl DeviceDescription for SharedRegisters {
    fn seats(&self) -> Vec<DeviceSeat> {
        let last = self.seats.last().map(|&(_, start)| start);
        let seat = |&(process, start): &SeatOf| DeviceSeat {
            process,
            name: format!("the shared registers at {start:#x}"),
            registers: Vec::from_iter([Range { start, end: start + 0x1000 }]),
            combinable: Vec::from_iter(self.are_combinable.then_some(start..start + 0x1000)),
            homes: Vec::new(),
            concern: 0..0,
            is_coherent: self.is_coherent,
            lines: if last == Some(start) { self.lines } else { 0 },
            ..DeviceSeat::default()
        };
        self.seats.iter().map(seat).collect()
    }

    fn asserted_lines(&self, _seat: usize) -> u64 {
        u64::from(self.words[0] != 0) + 2 * u64::from(self.words[1] != 0)
    }

    fn name_of(&self, address: u64, _block_bytes: u64) -> Option<AddressName> {
        let of_seat = |&&(_, start): &&SeatOf| (start..start + 0x1000).contains(&address);
        self.seats.iter().find(of_seat).map(|_| AddressName::whole("shared registers"))
    }

    fn hash_state(&self, _seat: usize, hasher: &mut dyn Hasher) {
        self.words.iter().for_each(|word| hasher.write_u64(*word));
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        vec![&self.statistics]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.statistics]
    }

    fn queue(&self, _seat: usize) -> QueueState {
        QueueState::of("shared registers", 0, None)
    }
}

/// The 1998 machine with a second bus, on which a slower processor with a memory
/// of its own runs firmware.
pub const TWO_BUSES: &str = r#"
base = "hpca98"

[node.processors.service]
core = "service_processor"
caches = ["data_cache", "instruction_cache"]
on = "service_bus"
runs = "firmware/service"

[node.interconnects.service_bus]
kind = "snooping-bus"

[node.memories.service_memory]
on = "service_bus"

[memories.service_memory]
access_time = "60ns"

[processors.service_processor]
clock = "250MHz"
issue_width = 1
load_use_cycles = 1
store_cycles = 1
branch_taken_cycles = 1
multiply_cycles = 5
divide_cycles = 20
float_add_cycles = 3
float_multiply_cycles = 3
float_divide_cycles = 20
float_square_root_cycles = 20
blocking_access_cycles = 0

[buses.service_bus]
clock = "125MHz"
width = "16B"
arbitration_cycles = 1
address_cycles = 1
cache_supply_time = "12ns"

[buses.service_bus.extra_cycles]
read = 0
read_exclusive = 0
upgrade = 0
write_back = 0
write_block = 0
read_once = 0
invalidate = 0
uncached_load = 0
uncached_store = 0
block_load = 0
block_store = 0
"#;

/// Where the host's processes find the registers, and where the firmware does.
pub const HOST_REGISTERS: [u64; 2] = [0x5e80_0000, 0x5e80_1000];
pub const FIRMWARE_REGISTERS: u64 = 0x7000_0000;

pub fn machine(settings: &[&str]) -> Machine {
    config::load_text("two-buses.toml", TWO_BUSES)
        .and_then(|machine| machine.with_settings(settings))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Nodes on which `source` runs, with `firmware` on the service processor and
/// shared registers on both buses.
fn nodes(machine: &Machine, source: &str, firmware: &str, count: u32) -> Vec<Node> {
    nodes_with(machine, source, firmware, count, SharedRegisters::new)
}

/// The same with registers that are made so.
pub fn nodes_with(
    machine: &Machine,
    source: &str,
    firmware: &str,
    count: u32,
    registers: fn(&[SeatOf]) -> SharedRegisters,
) -> Vec<Node> {
    let parse = |source: &str| Program::parse("guest", program(source)).expect("a sound program");
    let processes = machine.config.machine.processors_per_node as u8;
    let seats: Vec<SeatOf> = (0..processes)
        .map(|process| (process, HOST_REGISTERS[usize::from(process)]))
        .chain([(0, FIRMWARE_REGISTERS)])
        .collect();
    let on: Vec<&str> = (0..processes).map(|_| "bus").chain(["service_bus"]).collect();
    let request = request("hpca98", "NI2w");
    let interface = request.interface.parse().expect("an interface");
    let blueprint = Blueprint::new(&machine.config, interface, parse(source), &request)
        .with_firmware("service", parse(firmware))
        .with_device(&on, move || Box::new(registers(&seats)));
    (0..count).map(|number| blueprint.node(number).unwrap_or_else(|failure| panic!("{failure}"))).collect()
}

pub fn simulate(nodes: Vec<Node>, threads: usize) -> (Ending, Vec<Node>) {
    let mut simulation =
        Simulation::new(nodes, Duration::from_ns(40)).with_threads(Threads::Exactly(threads));
    let limits = Limits { patience: Duration::from_ns(100_000), ..Limits::default() };
    let ending = simulation.run(&limits, &mut |_, _| ControlFlow::Continue(()));
    (ending, simulation.into_partitions())
}

pub fn reported(node: &Node, process: usize) -> Vec<(String, f64)> {
    node.processes[process].reports.iter().map(|report| (report.name.clone(), report.value)).collect()
}

/// Stores a number, and waits for the answer.
fn asking() -> String {
    let registers = HOST_REGISTERS[0];
    format!(
        "
        li s0, {registers}
        li t0, 41
        sd t0, 0(s0)
    wait:
        ld t1, 8(s0)
        beqz t1, wait
        report answer, t1
        exit 0"
    )
}

/// Waits for a number, keeps it in its memory over many blocks, and answers with
/// the sum of what it finds there, one more.
fn answering() -> String {
    format!(
        "
        li s0, {FIRMWARE_REGISTERS}
        li s1, 0x100000
    wait:
        ld t0, 0(s0)
        beqz t0, wait
        mv t2, s1
        li t3, 100
    keep:
        sd t0, 0(t2)
        addi t2, t2, 64
        addi t3, t3, -1
        bnez t3, keep
        ld t1, 640(s1)
        addi t1, t1, 1
        sd t1, 8(s0)
    rest:
        j rest"
    )
}

#[test]
fn firmware_on_a_bus_of_its_own_answers_through_a_device_on_both_buses() {
    let machine = machine(&[]);
    let (ending, mut nodes) = simulate(nodes(&machine, &asking(), &answering(), 2), 1);
    assert_eq!(ending, Ending::AllFinished);
    for node in &mut nodes {
        assert_eq!(reported(node, 0), [("answer".to_owned(), 42.0)]);
        let end = node.reached();
        node.close(end);
        let document = node.to_json();
        let statistics = &document["statistics"];
        // The firmware's blocks cross its own bus, and no other.
        assert!(statistics["service_bus_exclusive_reads"].as_u64() >= Some(100), "{statistics}");
        assert!(statistics["bus_exclusive_reads"].as_u64() < Some(100), "{statistics}");
        assert_eq!(statistics["shared_register_stores"], 2);
        assert_eq!(document["processors"].as_array().map(Vec::len), Some(2));
    }
}

/// The host's and the firmware's addresses are the same numbers in two memories.
#[test]
fn two_memories_have_each_its_own_bytes() {
    let host = format!(
        "
        li s0, {}
        li s1, 0x100000
        li t0, 7
        sd t0, 640(s1)
        li t0, 41
        sd t0, 0(s0)
    wait:
        ld t1, 8(s0)
        beqz t1, wait
        ld t2, 640(s1)
        report mine, t2
        report answer, t1
        exit 0",
        HOST_REGISTERS[0]
    );
    let (ending, nodes) = simulate(nodes(&machine(&[]), &host, &answering(), 1), 1);
    assert_eq!(ending, Ending::AllFinished);
    assert_eq!(reported(&nodes[0], 0), [("mine".to_owned(), 7.0), ("answer".to_owned(), 42.0)]);
}

/// Process 0 sends eight words one after the other, process 1 adds them up: register
/// 0 of the first host is full when it is not zero, register 2 of the second.
fn moving() -> String {
    format!(
        "
        ld   t0, 0(sp)               # behind the arguments: NARTHEX_PAGE=0x50000000,
        slli t0, t0, 3               # whose 16th character tells the processes apart
        add  t0, t0, sp
        ld   t0, 16(t0)
        lbu  t0, 16(t0)
        addi t0, t0, -48
        li   s1, 8
        bnez t0, receiver
        li   s0, {}
    send:
        ld   t1, 0(s0)
        bnez t1, send
        sd   s1, 0(s0)
        addi s1, s1, -1
        bnez s1, send
        exit 0
    receiver:
        li   s0, {}
        li   s2, 0
    receive:
        ld   t1, 16(s0)
        beqz t1, receive
        add  s2, s2, t1
        sd   zero, 16(s0)
        addi s1, s1, -1
        bnez s1, receive
        report sum, s2
        exit 0",
        HOST_REGISTERS[0], HOST_REGISTERS[1],
    )
}

/// Moves each word through its own memory.
fn carrying() -> String {
    format!(
        "
        li   s0, {FIRMWARE_REGISTERS}
        li   s1, 0x100000
    full:
        ld   t0, 0(s0)
        beqz t0, full
        sd   t0, 0(s1)
        sd   zero, 0(s0)
        addi s1, s1, 64
    empty:
        ld   t1, 16(s0)
        bnez t1, empty
        ld   t0, -64(s1)
        sd   t0, 16(s0)
        j    full"
    )
}

#[test]
fn firmware_moves_a_message_from_one_host_to_the_other() {
    let machine = machine(&["machine.processors_per_node=2"]);
    let (ending, nodes) = simulate(nodes(&machine, &moving(), &carrying(), 1), 1);
    assert_eq!(ending, Ending::AllFinished);
    assert_eq!(reported(&nodes[0], 1), [("sum".to_owned(), 36.0)]);
}

#[test]
fn nodes_of_any_shape_are_the_same_on_any_number_of_threads() {
    let machine = machine(&["machine.processors_per_node=2"]);
    let all = |threads| {
        let (ending, mut nodes) = simulate(nodes(&machine, &moving(), &carrying(), 3), threads);
        assert_eq!(ending, Ending::AllFinished);
        let end = nodes.iter().map(Node::reached).max().expect("there are nodes");
        nodes.iter_mut().for_each(|node| node.rest_at(end));
        let archives: Vec<_> =
            nodes.iter_mut().map(|node| Archive::save(node).expect("it is saved")).collect();
        nodes.iter_mut().for_each(|node| node.close(end));
        (archives, nodes.iter().map(|node| node.to_json().to_string()).collect::<Vec<_>>())
    };
    let alone = all(1);
    for threads in [2, 3] {
        assert!(all(threads) == alone, "{threads} threads");
    }
}

#[test]
fn a_node_of_any_shape_goes_on_from_a_checkpoint() {
    let machine = machine(&["machine.processors_per_node=2"]);
    let fresh = || nodes(&machine, &moving(), &carrying(), 1);
    let end = |nodes: Vec<Node>| {
        let (ending, mut nodes) = simulate(nodes, 1);
        assert_eq!(ending, Ending::AllFinished);
        let end = nodes[0].reached();
        nodes[0].close(end);
        nodes[0].to_json()
    };
    let whole = end(fresh());
    for nanoseconds in [120, 800, 2_400] {
        let mut simulation = Simulation::new(fresh(), Duration::from_ns(40));
        let until = Time::ZERO + Duration::from_ns(nanoseconds);
        let limits = Limits { until, ..Limits::default() };
        let ending = simulation.run(&limits, &mut |_, _| ControlFlow::Continue(()));
        assert_eq!(ending, Ending::TimeLimit);
        simulation.partitions_mut().for_each(|node| node.rest_at(until));
        let saved = Archive::save(&mut simulation).expect("it is saved");
        let mut restored = Simulation::new(fresh(), Duration::from_ns(40));
        Archive::restore(&saved, &mut restored).expect("it is restored");
        let limits = Limits { patience: Duration::from_ns(100_000), ..Limits::default() };
        assert_eq!(restored.run(&limits, &mut |_, _| ControlFlow::Continue(())), Ending::AllFinished);
        let mut nodes = restored.into_partitions();
        let end = nodes[0].reached();
        nodes[0].close(end);
        assert_eq!(nodes[0].to_json(), whole, "at {nanoseconds} ns");
    }
}

#[test]
fn a_probe_is_told_which_bus_of_a_node_a_transaction_crosses() {
    let mut nodes = nodes(&machine(&[]), &asking(), &answering(), 1);
    nodes[0].attach(Box::<Listener>::default());
    assert_eq!(nodes[0].buses(), ["memory bus", "service bus"]);
    let (_, mut nodes) = simulate(nodes, 1);
    let listener = nodes[0].detach::<Listener>().expect("it is attached");
    let crossed = |bus: &str| {
        let is_on = |event: &Event| matches!(event, Event::Crossing(crossing) if crossing.bus == bus);
        listener.events.iter().filter(|(_, event)| is_on(event)).count()
    };
    assert!(crossed("memory bus") > 0 && crossed("service bus") > 100);
}

#[test]
fn firmware_that_calls_a_system_is_told_where() {
    let (ending, nodes) = simulate(nodes(&machine(&[]), &asking(), "exit 0", 1), 1);
    assert!(matches!(ending, Ending::Stopped { .. }), "{ending:?}");
    let (index, _, ended) = nodes[0].failure().expect("a failure");
    let text = format!("{ended:?}");
    assert_eq!(index, 1);
    assert!(text.contains("firmware on processor 1"), "{text}");
    assert!(text.contains("there is none on its processor"), "{text}");
}

#[test]
fn firmware_that_is_not_given_is_asked_for() {
    let machine = machine(&[]);
    let request = request("two-buses.toml", "NI2w");
    let guest = Program::parse("guest", program("exit 0")).expect("a sound program");
    let interface = request.interface.parse().expect("an interface");
    let refused = Blueprint::new(&machine.config, interface, guest, &request).node(0);
    let text = refused.map(drop).unwrap_err().to_string();
    assert!(
        text.contains("node.processors.service.runs: runs firmware \"service\", which is not given"),
        "{text}"
    );
}

#[test]
fn a_device_with_more_seats_than_places_is_refused() {
    let machine = machine(&[]);
    let request = request("two-buses.toml", "NI2w");
    let guest = Program::parse("guest", program("exit 0")).expect("a sound program");
    let interface = request.interface.parse().expect("an interface");
    let seats = [(0, HOST_REGISTERS[0]), (0, FIRMWARE_REGISTERS)];
    let refused = Blueprint::new(&machine.config, interface, guest.clone(), &request)
        .with_firmware("service", guest)
        .with_device(&["bus"], move || Box::new(SharedRegisters::new(&seats)))
        .node(0);
    let text = refused.map(drop).unwrap_err().to_string();
    assert!(text.contains("its device has 2 seats, and 1 of them are placed"), "{text}");
}

/// What is wrong with a shape, by its key.
fn refused(change: &str) -> String {
    let text = format!("{TWO_BUSES}\n{change}");
    match config::load_text("wrong.toml", &text) {
        Ok(_) => panic!("it is accepted: {change}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_cannot_be_wired_is_refused_with_file_key_and_reason() {
    for (change, key, reason) in [
        ("[node.interface]\non = [\"buss\"]", "node.interface.on", "there is no interconnect \"buss\""),
        ("[node.interface]\non = [\"buss\"]", "node.interface.on", "did you mean `bus`?"),
        (
            "[node.memories.more]\non = \"bus\"\n[memories.more]\naccess_time = \"60ns\"",
            "node.memories.more.on",
            "has a memory at every address already: main_memory",
        ),
        (
            "[node.interconnects.further]\nkind = \"snooping-bus\"",
            "node.interconnects.further",
            "the machine's file has no [buses.further]",
        ),
        (
            "[node.interconnects.io_bus]\nkind = \"bridged-bus\"\nbehind = \"io_bus\"",
            "node.interconnects.io_bus.behind",
            "bridges in a circle have no end",
        ),
        (
            "[node.interconnects.io_bus]\nkind = \"bridged-bus\"\nbehind = \"register_file\"",
            "node.interconnects.io_bus.behind",
            "is no snooping bus, and a bridge sits on one",
        ),
        (
            "[node.memories.far]\non = \"register_file\"\n[memories.far]\naccess_time = \"60ns\"",
            "node.memories.far.on",
            "is no snooping bus and no directory, and memories are on one",
        ),
        (
            "[node.processors.more]\ncore = \"procesor\"\ncaches = [\"data_cache\", \"instruction_cache\"]\n\
             on = \"bus\"\nruns = \"firmware/x\"",
            "node.processors.more.core",
            "did you mean `processor`?",
        ),
        (
            "[node.processors.more]\ncore = \"processor\"\ncaches = [\"data_cache\", \"instruction_cache\"]\n\
             on = \"register_file\"\nruns = \"program\"",
            "node.processors",
            "2 of its parts run the program; expected one",
        ),
        (
            "[node.interface]\non = [\"service_bus\"]",
            "node.interface.on",
            "the bus of the program's processors",
        ),
        ("[node.interface]\non = []", "node.interface.on", "expected [\"bus\"]"),
        ("[buses.idle]\nclock = \"125MHz\"", "buses.idle.width", "is missing"),
    ] {
        let text = refused(change);
        assert!(text.contains("wrong.toml") && text.contains(key) && text.contains(reason), "{text}");
    }
}

#[test]
fn a_coherent_interface_is_refused_on_a_private_path() {
    let error = crate::support::failure(&request("hpca98", "CNI512Q on register"), "exit 0").to_string();
    assert!(error.contains("coherence"), "{error}");
}
