//! The 1998 machine with a second bus, and registers that both buses share: what several tests
//! of other shapes run firmware on.

use std::hash::Hasher as _;
use std::ops::Range;

use narthex_interfaces::address_names::AddressName;
use narthex_interfaces::half::{Context, RegisterFault};
use narthex_interfaces::{Device, DeviceDescription, DevicePort, QueueState};
use narthex_kernel::Duration;
use narthex_kernel::digest::Digest;
use narthex_kernel::statistics::StatisticSet;
use narthex_machine::config::Machine;
use narthex_machine::node::Node;
use narthex_memory::{AccessReply, Kind, Response, Transaction};
use serde::{Deserialize, Serialize};

use crate::single_nodes::{blueprint, load, parse};

narthex_kernel::statistics! {
    /// What came to the registers.
    struct Statistics {
        loads: Counter, "shared_register_loads", "accesses", "loads from the registers of any port";
        stores: Counter, "shared_register_stores", "accesses", "stores to the registers of any port";
    }
}

/// Where the registers of a port are, and which process uses it.
pub type PortOf = (u8, u64);

/// Sixteen registers that every port of the device has at addresses of its own. Where
/// it has lines, the last port has two: asserted while registers 0 and 1 are not zero.
/// The registers may be words of its local memory.
#[derive(Clone, Serialize, Deserialize)]
pub struct SharedRegisters {
    ports: Vec<PortOf>,
    lines: u32,
    words: [u64; 16],
    in_local_memory: Option<u64>,
    is_coherent: bool,
    are_combinable: bool,
    statistics: Statistics,
}

impl SharedRegisters {
    pub fn new(ports: &[PortOf]) -> Self {
        SharedRegisters {
            ports: ports.to_vec(),
            lines: 0,
            words: [0; 16],
            in_local_memory: None,
            is_coherent: false,
            are_combinable: false,
            statistics: Statistics::default(),
        }
    }

    /// The same that says that it takes part in coherence.
    pub fn coherent(ports: &[PortOf]) -> Self {
        SharedRegisters { is_coherent: true, ..SharedRegisters::new(ports) }
    }

    /// The same to which stores may be combined.
    pub fn combinable(ports: &[PortOf]) -> Self {
        SharedRegisters { are_combinable: true, ..SharedRegisters::new(ports) }
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
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        None
    }

    fn access_time(&self, _port: usize, _kind: Kind) -> Duration {
        Duration::from_ns(10)
    }

    fn access(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        let offset = transaction.address - self.ports[port].1;
        if let Some(start) = self.in_local_memory {
            let memory = context.local_memory.as_mut().expect("the device has a local memory");
            let mut bytes = transaction.value.to_le_bytes();
            match transaction.kind {
                Kind::UncachedLoad => memory.read(start + offset, &mut bytes),
                _ => memory.write(start + offset, &bytes),
            }
            response.value = u64::from_le_bytes(bytes);
            return Ok(AccessReply::Done);
        }
        if let Some(data) = &transaction.data {
            self.statistics.stores.increment();
            let words = self.words[offset as usize / 8..].iter_mut().enumerate();
            words.take(data.len() / 8).for_each(|(place, word)| *word = data.word(8 * place));
            return Ok(AccessReply::Done);
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
        Ok(AccessReply::Done)
    }
}

impl DeviceDescription for SharedRegisters {
    fn ports(&self) -> Vec<DevicePort> {
        let last = self.ports.last().map(|&(_, start)| start);
        let port = |&(process, start): &PortOf| DevicePort {
            process,
            name: format!("the shared registers at {start:#x}"),
            registers: Vec::from_iter([Range { start, end: start + 0x1000 }]),
            combinable: Vec::from_iter(self.are_combinable.then_some(start..start + 0x1000)),
            homes: Vec::new(),
            concern: 0..0,
            is_coherent: self.is_coherent,
            lines: if last == Some(start) { self.lines } else { 0 },
            ..DevicePort::default()
        };
        self.ports.iter().map(port).collect()
    }

    fn asserted_lines(&self, _port: usize) -> u64 {
        u64::from(self.words[0] != 0) + 2 * u64::from(self.words[1] != 0)
    }

    fn name_of(&self, address: u64, _block_bytes: u64) -> Option<AddressName> {
        let of_port = |&&(_, start): &&PortOf| (start..start + 0x1000).contains(&address);
        self.ports.iter().find(of_port).map(|_| AddressName::whole("shared registers"))
    }

    fn hash_state(&self, _port: usize, digest: &mut Digest) {
        self.words.iter().for_each(|word| digest.write_u64(*word));
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        vec![&self.statistics]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.statistics]
    }

    fn queue(&self, _port: usize) -> QueueState {
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
    load("two-buses.toml", TWO_BUSES, settings)
}

/// Nodes on which `source` runs, with `firmware` on the service processor and shared
/// registers on both buses, which are made so.
pub fn nodes_with(
    machine: &Machine,
    source: &str,
    firmware: &str,
    count: u32,
    registers: fn(&[PortOf]) -> SharedRegisters,
) -> Vec<Node> {
    let processes = machine.config.machine.processors_per_node as u8;
    let ports: Vec<PortOf> = (0..processes)
        .map(|process| (process, HOST_REGISTERS[usize::from(process)]))
        .chain([(0, FIRMWARE_REGISTERS)])
        .collect();
    let on: Vec<&str> = (0..processes).map(|_| "bus").chain(["service_bus"]).collect();
    let blueprint = blueprint(machine, source)
        .with_firmware("service", parse(firmware))
        .with_device(&on, move || Box::new(registers(&ports)));
    (0..count).map(|number| blueprint.node(number).unwrap_or_else(|failure| panic!("{failure}"))).collect()
}
