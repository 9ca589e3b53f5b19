//! The device as its node has it: a port for each process.

use std::hash::Hash;
use std::ops::Range;

use narthex_fabrics::Header;
use narthex_kernel::digest::Digest;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Damage, Duration, Time};
use narthex_memory::main_memory::PAGE_BYTES;
use narthex_memory::{AccessReply, AgentId, Kind, Response, Transaction};

use super::function::Function;
use super::packets::HEADERS;
use super::{ARM, BLUE_FLAME_HALF, BLUE_FLAME_PAGE, DOORBELL, Parameters};
use crate::address_names::AddressName;
use crate::description::{DeviceDescription, DevicePort, Engine, LargestPacket, Layout};
use crate::device::Device;
use crate::device_call::{CallError, DeviceCall, OperatingSystem};
use crate::half::{Context, RegisterFault};
use crate::queue::QueueState;
use crate::registers::Addresses;

/// The device.
#[derive(Clone, Debug)]
pub struct Verbs {
    parameters: Parameters,
    register_time: Duration,
    functions: Vec<Function>,
}

impl Verbs {
    /// A device to which nothing has happened. `first_agent` is the place of its first port.
    pub fn new(
        parameters: Parameters,
        has_blue_flame: bool,
        register_time: Duration,
        (first_agent, processes): (AgentId, u8),
    ) -> Self {
        let function = |process| {
            let window = Addresses::of_process(process).window();
            let blue_flame = if has_blue_flame { window } else { 0 };
            Function::new(Parameters { blue_flame, ..parameters }, AgentId(first_agent.0 + process))
        };
        Verbs { parameters, register_time, functions: (0..processes).map(function).collect() }
    }

    fn window(&self, process: u8) -> Option<Range<u64>> {
        let start = self.functions[usize::from(process)].parameters.blue_flame;
        (start != 0).then(|| start..start + BLUE_FLAME_PAGE)
    }
}

fn no_register(size: u16, offset: u64) -> RegisterFault {
    RegisterFault(format!(
        "a store of {size} bytes at offset {offset:#x}; the doorbell has 8 bytes at {DOORBELL:#x}"
    ))
}

impl Function {
    /// What a register of its vectors holds; none if there is none.
    fn vector_register(&self, offset: u64) -> Option<u64> {
        self.dma.vectors.load(offset).filter(|_| self.parameters.vectors() > 0)
    }

    /// A store of 8 bytes to a register.
    fn store(&mut self, offset: u64, value: u64) -> Result<(), RegisterFault> {
        match offset {
            DOORBELL => self.ring(value),
            ARM => self.arm(value),
            _ if self.vector_register(offset).is_some() => {
                self.dma.vectors.store(offset, value).expect("it is there")
            }
            _ => Err(no_register(8, offset)),
        }
    }
}

impl Device for Verbs {
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        None
    }

    fn access_time(&self, _port: usize, _kind: Kind) -> Duration {
        self.register_time
    }

    fn shortest_access_time(&self) -> Duration {
        self.register_time
    }

    fn access(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        let &Transaction { address, size, value, kind, .. } = transaction;
        let offset = address.wrapping_sub(Addresses::of_process(port as u8).register_page());
        let window = self.window(port as u8).filter(|window| window.contains(&address));
        let function = &mut self.functions[port];
        response.value = 0;
        match (kind, window) {
            (Kind::UncachedLoad, None) if size == 8 && function.vector_register(offset).is_some() => {
                response.value = function.vector_register(offset).expect("it is there");
            }
            (Kind::UncachedLoad | Kind::BlockLoad, _) => {
                return Err(RegisterFault(format!(
                    "a load of {size} bytes at {address:#x}; the interface has nothing to load there"
                )));
            }
            (_, Some(window)) => {
                let offset = (address - window.start) as usize;
                let word = value.to_le_bytes();
                let bytes = transaction.data.as_deref().unwrap_or(&word[..usize::from(size).min(8)]);
                if offset + bytes.len() > 2 * BLUE_FLAME_HALF {
                    let problem =
                        format!("offset {offset:#x} of the BlueFlame register, which has 512 bytes");
                    return Err(RegisterFault(problem));
                }
                function.flame(offset, bytes)?;
            }
            _ if size == 8 => function.store(offset, value)?,
            _ => return Err(no_register(size, offset)),
        }
        function.advance(context);
        Ok(AccessReply::Done)
    }

    fn wants(&self, port: usize) -> bool {
        self.functions[port].dma.wants()
    }

    fn issue(&mut self, port: usize, _context: &mut Context<'_>) -> Option<Transaction> {
        self.functions[port].dma.issue()
    }

    fn complete(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &Response,
    ) {
        self.functions[port].dma.complete(transaction, response);
        self.functions[port].advance(context);
    }

    fn network(&mut self, port: usize, context: &mut Context<'_>) {
        self.functions[port].advance(context);
    }

    fn timer(&mut self, port: usize, context: &mut Context<'_>) {
        self.functions[port].timer(context);
    }

    fn call(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        call: &DeviceCall,
        system: &mut dyn OperatingSystem,
    ) -> Result<i64, CallError> {
        let answer = self.functions[port].call(context, call, system);
        self.functions[port].advance(context);
        answer
    }
}

impl DeviceDescription for Verbs {
    fn largest_packet(&self) -> Option<LargestPacket> {
        let bytes = (Header::BYTES + HEADERS) as u64 + self.parameters.mtu;
        Some(LargestPacket { bytes, because_of: "interfaces.verbs.mtu" })
    }

    fn ports(&self) -> Vec<DevicePort> {
        let port = |process: u8| {
            let registers = Addresses::of_process(process).register_page();
            let window = self.window(process);
            DevicePort {
                process,
                name: format!("process {process}'s part of the interface"),
                registers: std::iter::once(registers..registers + PAGE_BYTES).chain(window.clone()).collect(),
                combinable: window.into_iter().collect(),
                is_coherent: true,
                ..DevicePort::default()
            }
        };
        (0..self.functions.len() as u8).map(port).collect()
    }

    fn calls_name(&self) -> Option<&'static str> {
        Some("verbs")
    }

    fn receiver(&self, process: u8) -> Option<usize> {
        Some(process.into())
    }

    fn sender(&self, process: u8) -> Option<usize> {
        Some(process.into())
    }

    fn layouts(&self, process: u8) -> Vec<Layout> {
        let windows: Vec<Range<u64>> = self.window(process).into_iter().collect();
        let mut transactions = vec![Kind::UncachedStore, Kind::ReadOnce, Kind::WriteBlock];
        if !windows.is_empty() {
            transactions.push(Kind::BlockStore);
        }
        if self.parameters.vectors() > 0 {
            transactions.push(Kind::UncachedLoad);
        }
        vec![Layout { windows, transactions, ..Layout::default() }]
    }

    fn progress(&self) -> Option<u64> {
        Some(self.functions.iter().map(|function| function.progress).sum())
    }

    fn name_of(&self, address: u64, _block_bytes: u64) -> Option<AddressName> {
        let process =
            Addresses::process_at(address).filter(|&own| usize::from(own) < self.functions.len())?;
        let offset = address.checked_sub(Addresses::of_process(process).register_page())?;
        let registers = [(DOORBELL, "VERBS_DOORBELL register"), (ARM, "VERBS_ARM register")];
        if let Some((_, name)) = registers.into_iter().find(|(own, _)| *own == offset) {
            return Some(AddressName::whole(name));
        }
        let window = self.window(process)?;
        let at = window.contains(&address).then(|| (address - window.start) as usize)?;
        let (half, block) = (at / BLUE_FLAME_HALF, at % BLUE_FLAME_HALF / 64);
        Some(AddressName {
            name: "BlueFlame register".into(),
            part: Some(format!("half {half}, block {block}")),
        })
    }

    fn hash_state(&self, port: usize, digest: &mut Digest) {
        self.functions[port].hash(digest);
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        let all = self.functions.iter().flat_map(|function| {
            let events =
                function.parameters.moderation.map(|_| &function.event_statistics as &dyn StatisticSet);
            std::iter::once(&function.statistics as &dyn StatisticSet).chain(events)
        });
        all.collect()
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        let mut all: Vec<&mut dyn StatisticSet> = Vec::new();
        for Function { statistics, event_statistics, parameters, .. } in &mut self.functions {
            all.push(statistics);
            if parameters.moderation.is_some() {
                all.push(event_statistics);
            }
        }
        all
    }

    fn queue(&self, port: usize) -> QueueState {
        let (used, held_for) = self.functions[port].waiting();
        QueueState::of("send queues", used, None).held_for(held_for).with_note(self.functions[port].note())
    }

    fn engine(&self, port: usize, now: Time) -> Option<Engine> {
        let function = &self.functions[port];
        Some(Engine { doing: function.doing(now), messages: function.waiting().0 })
    }
}

impl Archived for Verbs {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Verbs { parameters, register_time: _, functions } = self;
        let (parameters, processes) = (*parameters, functions.len());
        archive.value(functions)?;
        let is_same = |function: &Function| Parameters { blue_flame: 0, ..function.parameters } == parameters;
        archive.ensure(
            functions.len() == processes && functions.iter().all(is_same),
            "an interface is another than the machine's",
        )
    }
}
