//! Two devices on an ideal network of 100 ns, without buses: an access has its effect at once,
//! and the bus unit's transactions as well, on a memory of bytes.

use std::collections::BTreeMap;

use narthex_fabrics::networks::ideal;
use narthex_fabrics::{
    Frame, Job, Mail, NetworkPort, NodeId, Phase, Placement, Rank, Sending, flow_control, networks,
};
use narthex_kernel::{Duration, Time};
use narthex_memory::main_memory::PAGE_BYTES;
use narthex_memory::{AgentId, BlockData, Kind, Response, Transaction};
use serde_json::{Value, json};

use crate::device::Device;
use crate::device_call::{CallError, DeviceCall, OperatingSystem};
use crate::half::Context;
use crate::models::voyager::MODEL;
use crate::on_chip::Effects;
use crate::voyager::config::Config;
use crate::voyager::device::{HOST, SERVICE};
use crate::voyager::layout::Layout;
use crate::voyager::registers::{QueueKind, request};
use crate::voyager::{Build, Voyager};

/// A cycle of the devices' clock, 10 ns.
pub const CYCLE: u64 = 10_000;
/// Where a call's structure is.
const ARGUMENT: u64 = 0x1000;

/// A node's memory, in which page n of a process is frame n + 0x100.
#[derive(Default)]
pub struct Memory {
    pub bytes: BTreeMap<u64, u8>,
    pub pinned: Vec<(u64, u64)>,
}

impl Memory {
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        self.bytes.extend((address..).zip(bytes.iter().copied()));
    }

    pub fn at(&self, address: u64, length: u64) -> Vec<u8> {
        (address..address + length).map(|at| self.bytes.get(&at).copied().unwrap_or(0)).collect()
    }
}

/// Where the frames of processes begin.
pub const FRAMES: u64 = 0x10_0000;

impl OperatingSystem for Memory {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), CallError> {
        bytes.copy_from_slice(&self.at(address, bytes.len() as u64));
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), CallError> {
        Memory::write(self, address, bytes);
        Ok(())
    }

    fn pin(&mut self, address: u64, length: u64) -> Result<Vec<u64>, CallError> {
        if address >= 0x8000_0000 {
            return Err(CallError::BadAddress);
        }
        self.pinned.push((address, length));
        let pages = address / PAGE_BYTES..=(address + length - 1) / PAGE_BYTES;
        Ok(pages.map(|page| FRAMES + page * PAGE_BYTES).collect())
    }

    fn unpin(&mut self, address: u64, length: u64) -> Result<(), CallError> {
        let place = self.pinned.iter().position(|&pinned| pinned == (address, length));
        self.pinned.remove(place.ok_or(CallError::Invalid)?);
        Ok(())
    }

    fn write_kernel(&mut self, address: u64, bytes: &[u8]) {
        Memory::write(self, address, bytes);
    }

    fn take_time(&mut self, _time: Duration) {}
}

/// A device with its end of the network and its node's memory.
struct Node {
    device: Voyager,
    port: NetworkPort,
    timers: Vec<Time>,
    memory: Memory,
}

pub struct Bench {
    nodes: Vec<Node>,
    frames: Vec<(Time, usize, Frame)>,
    now: Time,
    /// Transactions of the bus units: cycle, node, kind, address.
    pub seen: Vec<(u64, usize, Kind, u64)>,
}

impl Bench {
    pub fn new() -> Self {
        Bench::with(&[])
    }

    /// Two nodes of two processes, with parameters that differ from the model's sample.
    pub fn with(settings: &[(&str, Value)]) -> Self {
        Bench::of_kind(QueueKind::NonResident, settings)
    }

    /// The same, where the library's queues are of this kind.
    pub fn of_kind(kind: QueueKind, settings: &[(&str, Value)]) -> Self {
        let mut section = (MODEL.sample)();
        section["clock"] = json!("100MHz");
        for (key, value) in settings {
            section[*key] = value.clone();
        }
        let config: Config = serde_json::from_value(section).expect("a sound section");
        config.check(2, 2).expect("a sound section");
        let layout = Layout::new(&config, 2).expect("there is room");
        let placement = Placement { nodes: 2, processes: 2 };
        let network = networks::Config::Ideal(ideal::Config { latency: Duration::from_ns(100) });
        let around =
            networks::NetworkContext { nodes: 2, in_one_partition_from: 2, seed: 0, packet_bytes: 96 };
        let flow = flow_control::Config::None(flow_control::none::Config {});
        let node = |number| Node {
            device: Voyager::new(Build {
                kind,
                config: config.clone(),
                layout: layout.clone(),
                block_bytes: 32,
            }),
            port: NetworkPort::new(
                NodeId(number),
                placement,
                flow.build(placement),
                network.build(NodeId(number), &around),
                8,
            ),
            timers: Vec::new(),
            memory: Memory::default(),
        };
        Bench { nodes: vec![node(0), node(1)], frames: Vec::new(), now: Time::ZERO, seen: Vec::new() }
    }

    /// The same, where the processes of each number are a job of their own.
    pub fn of_jobs(settings: &[(&str, Value)]) -> Self {
        let mut bench = Bench::with(settings);
        let job = |process| Job::even(Rank(process), 2, 2);
        for Node { port, .. } in &mut bench.nodes {
            port.set_jobs(vec![job(0), job(1)]);
        }
        bench
    }

    pub fn device(&mut self, node: usize) -> &mut Voyager {
        &mut self.nodes[node].device
    }

    pub fn memory(&mut self, node: usize) -> &mut Memory {
        &mut self.nodes[node].memory
    }

    pub fn layout(&self) -> Layout {
        self.nodes[0].device.build.layout.clone()
    }

    /// The present cycle.
    pub fn cycle(&self) -> u64 {
        (self.now - Time::ZERO).as_ps() / CYCLE
    }

    fn with_device<R>(
        &mut self,
        node: usize,
        process: u8,
        call: impl FnOnce(&mut Voyager, &mut Context<'_>, &mut Memory) -> R,
    ) -> R {
        let (now, mut faults) = (self.now, Vec::new());
        let Node { device, port, timers, memory } = &mut self.nodes[node];
        let network = port.of_process(process);
        let mut context = Context {
            now,
            network,
            local_memory: None,
            timers,
            faults: &mut faults,
            on_chip: &mut Effects::default(),
        };
        let result = call(device, &mut context, memory);
        let frames = &mut self.frames;
        port.departures(
            now,
            |_, _| {},
            |(at, destination, mail): Sending<Frame>| match mail {
                Mail::Direct(frame, _) => frames.push((at, destination, frame)),
                other => unreachable!("{other:?} over an ideal network"),
            },
        );
        result
    }

    /// Lets the bus unit of a node do what it wants, each transaction in no time.
    fn serve_bus(&mut self, node: usize) {
        while self.nodes[node].device.wants(HOST) {
            let cycle = self.cycle();
            let issued = self.with_device(node, 0, |device, context, _| device.issue(HOST, context));
            let Some(transaction) = issued else { continue };
            let Transaction { kind, address, ref data, .. } = transaction;
            self.seen.push((cycle, node, kind, address));
            let memory = &mut self.nodes[node].memory;
            if let Some(data) = data {
                memory.write(address, data);
            }
            let fetched = kind.fetches_block().then(|| BlockData::from_bytes(&memory.at(address, 32)));
            let response = Response { data: fetched, ..Response::default() };
            self.with_device(node, 0, |device, context, _| {
                device.complete(HOST, context, &transaction, &response);
            });
        }
    }

    /// The processor at a port accesses the device: what a load gets; none while it is
    /// refused.
    fn access(&mut self, node: usize, port: usize, transaction: &Transaction) -> Option<Result<u64, String>> {
        let mut response = Response::default();
        let done = self.with_device(node, 0, |device, context, _| {
            if device.refuse(port, context, transaction).is_some() {
                return None;
            }
            Some(device.access(port, context, transaction, &mut response))
        });
        self.serve_bus(node);
        done.map(|done| done.map(|_| response.value).map_err(|fault| fault.0))
    }

    pub fn try_load(&mut self, node: usize, address: u64) -> Option<u64> {
        let load = Transaction::uncached(AgentId(0), Kind::UncachedLoad, address, 8, 0);
        self.access(node, HOST, &load).map(|done| done.expect("it is allowed"))
    }

    /// A program loads from the device.
    pub fn load(&mut self, node: usize, address: u64) -> u64 {
        self.try_load(node, address).expect("it is not refused")
    }

    /// A program stores to the device; false while that is refused.
    pub fn store_of(&mut self, node: usize, address: u64, size: u8, value: u64) -> bool {
        let store = Transaction::uncached(AgentId(0), Kind::UncachedStore, address, size, value);
        self.access(node, HOST, &store).is_some_and(|done| done.expect("it is allowed") == 0)
    }

    pub fn store(&mut self, node: usize, address: u64, value: u64) {
        assert!(self.store_of(node, address, 8, value), "the store is refused");
    }

    /// Firmware loads from the device.
    pub fn firmware_load(&mut self, node: usize, address: u64) -> Result<u64, String> {
        let load = Transaction::uncached(AgentId(1), Kind::UncachedLoad, address, 8, 0);
        self.access(node, SERVICE, &load).expect("nothing of the firmware is refused")
    }

    /// Firmware stores to the device.
    pub fn firmware_store(&mut self, node: usize, address: u64, value: u64) -> Result<(), String> {
        let store = Transaction::uncached(AgentId(1), Kind::UncachedStore, address, 8, value);
        self.access(node, SERVICE, &store).expect("nothing of the firmware is refused").map(|_| ())
    }

    /// Whether a block transaction of a processor is refused.
    pub fn refuses(&mut self, node: usize, kind: Kind, address: u64) -> bool {
        let transaction = Transaction::block(AgentId(0), kind, address);
        self.with_device(node, 0, |device, context, _| device.refuse(HOST, context, &transaction)).is_some()
    }

    /// Whether a processor that reads a block gets it shared because of the device.
    pub fn shares(&mut self, node: usize, address: u64) -> bool {
        let read = Transaction::block(AgentId(0), Kind::Read, address);
        self.with_device(node, 0, |device, context, _| device.snoop(HOST, context, &read)).shares
    }

    /// A program calls the kernel agent.
    pub fn call(
        &mut self,
        node: usize,
        process: u8,
        request: u64,
        given: &[u64],
    ) -> Result<[u64; request::WORDS], CallError> {
        let bytes: Vec<u8> = given.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.memory(node).write(ARGUMENT, &[0; request::WORDS * 8]);
        self.memory(node).write(ARGUMENT, &bytes);
        let call = DeviceCall { process, request, argument: ARGUMENT };
        self.with_device(node, process, |device, context, memory| device.call(0, context, &call, memory))?;
        self.serve_bus(node);
        let bytes = self.memory(node).at(ARGUMENT, request::WORDS as u64 * 8);
        let word = |place: usize| bytes[place * 8..place * 8 + 8].try_into().expect("eight bytes");
        Ok(std::array::from_fn(|place| u64::from_le_bytes(word(place))))
    }

    /// Everything happens up to this cycle, inclusive.
    pub fn run_to(&mut self, cycle: u64) {
        let until = Time::ZERO + Duration::from_ps(cycle * CYCLE);
        loop {
            let frames = self.frames.iter().map(|&(at, ..)| at);
            let timers = self.nodes.iter().flat_map(|node| node.timers.iter().copied());
            let Some(next) = frames.chain(timers).min().filter(|&next| next <= until) else { break };
            self.now = next;
            while let Some(place) = self.frames.iter().position(|&(at, ..)| at == next) {
                let (_, node, frame) = self.frames.remove(place);
                self.nodes[node].port.arrive(next, frame, Phase::Own);
                self.with_device(node, 0, |device, context, _| device.network(SERVICE, context));
                self.serve_bus(node);
            }
            for node in 0..2 {
                let before = self.nodes[node].timers.len();
                self.nodes[node].timers.retain(|&at| at > next);
                if self.nodes[node].timers.len() < before {
                    self.with_device(node, 0, |device, context, _| device.timer(HOST, context));
                    self.serve_bus(node);
                }
            }
        }
        self.now = until;
    }
}
