//! The card as its node has it: one port, behind a link.

use std::hash::Hash;

use narthex_kernel::digest::Digest;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Damage, Duration, Time};
use narthex_memory::main_memory::PAGE_BYTES;
use narthex_memory::{AccessReply, AgentId, Kind as TransactionKind, Response, Transaction};

use super::config::Config;
use super::engine::{Engine, Statistics};
use super::registers::{
    COUNT, DMA, ELAPSED, LEFT, OFFSET, PATTERN, REGISTERS, SAMPLE, SIZE, START, TIMER, UNIT, UNITS, WINDOW,
};
use super::test::{Kind, Setup};
use crate::address_names::AddressName;
use crate::description::{self, DeviceDescription, DevicePort, Layout};
use crate::device::Device;
use crate::half::{Context, RegisterFault, TimeToSend};
use crate::queue::QueueState;
use crate::registers::Addresses;

/// What a card is built for.
#[derive(Clone, Debug)]
pub struct Build {
    /// Its parameters.
    pub config: Config,
    /// Its port's place among the agents.
    pub agent: AgentId,
    /// Bytes of a coherence block.
    pub block_bytes: u64,
}

/// The card; see the module's description.
#[derive(Clone, Debug)]
pub struct PcieBench {
    build: Build,
    /// The instant of the last call: what is to be issued by then may be.
    now: Time,
    setup: Setup,
    engine: Engine,
    statistics: Statistics,
}

impl PcieBench {
    /// A card that measures nothing yet.
    pub fn new(build: Build) -> Self {
        PcieBench {
            build,
            now: Time::ZERO,
            setup: Setup::default(),
            engine: Engine::default(),
            statistics: Statistics::default(),
        }
    }

    fn store(&mut self, context: &mut Context<'_>, offset: u64, value: u64) -> Result<(), String> {
        let setup = &mut self.setup;
        match offset {
            WINDOW => setup.window = value,
            UNITS => setup.units = value,
            UNIT => setup.unit = value,
            OFFSET => setup.offset = value,
            SIZE => setup.size = value,
            PATTERN => setup.pattern = value,
            COUNT => setup.count = value,
            START => return self.start(context, value),
            _ => return Err(no_register("store to", offset)),
        }
        Ok(())
    }

    fn start(&mut self, context: &mut Context<'_>, value: u64) -> Result<(), String> {
        let is_dma = value & DMA != 0;
        let kind = Kind::numbered(value & !DMA).ok_or_else(|| {
            format!("pcie-bench's card: BENCH_START got {value}; expected the number of a test")
        })?;
        if self.engine.left() > 0 {
            return Err("pcie-bench's card: BENCH_START while a test is under way".into());
        }
        if let Some(problem) = self.setup.problem(is_dma) {
            return Err(problem);
        }
        let instants = self.engine.start(context.now, (kind, self.setup, is_dma), &self.build.config);
        context.timers.extend(instants);
        Ok(())
    }

    fn load(&mut self, offset: u64) -> Result<u64, String> {
        match offset {
            LEFT => Ok(self.engine.left()),
            SAMPLE => self
                .engine
                .sample()
                .ok_or_else(|| "pcie-bench's card: BENCH_SAMPLE, and no sample is left".into()),
            ELAPSED => Ok(self.engine.elapsed().as_ps()),
            TIMER => Ok(self.build.config.timer_step.as_ps()),
            _ => Err(no_register("load from", offset)),
        }
    }
}

fn no_register(what: &str, offset: u64) -> String {
    format!("a {what} {offset:#x}, where pcie-bench's card has no such register")
}

impl Device for PcieBench {
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        None
    }

    fn access_time(&self, _port: usize, _kind: TransactionKind) -> Duration {
        self.build.config.register_access_time
    }

    fn access(
        &mut self,
        _port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        self.now = context.now;
        let offset = transaction.address - Addresses::of_process(0).register_page();
        if transaction.size != 8 {
            let size = transaction.size;
            let problem = format!("an access of {size} bytes to register {offset:#x}; registers have 8");
            return Err(RegisterFault(problem));
        }
        let done = match transaction.kind {
            TransactionKind::UncachedLoad => self.load(offset).map(|value| response.value = value),
            _ => self.store(context, offset, transaction.value),
        };
        done.map(|()| AccessReply::Done).map_err(RegisterFault)
    }

    fn wants(&self, _port: usize) -> bool {
        self.engine.wants(self.now)
    }

    fn issue(&mut self, _port: usize, context: &mut Context<'_>) -> Option<Transaction> {
        self.now = context.now;
        self.engine.issue(context.now, self.build.agent, &mut self.statistics)
    }

    fn complete(
        &mut self,
        _port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &Response,
    ) {
        self.now = context.now;
        match self.engine.complete(context.now, (transaction, response), &self.build.config) {
            Ok(instants) => context.timers.extend(instants),
            Err(problem) => context.faults.push(RegisterFault(problem)),
        }
    }

    fn timer(&mut self, _port: usize, context: &mut Context<'_>) {
        self.now = context.now;
        let instants = self.engine.advance(context.now, &self.build.config);
        context.timers.extend(instants);
    }

    fn time_to_send(&self) -> Option<TimeToSend> {
        Some(TimeToSend::NONE)
    }

    fn sends_nothing(&self, _port: usize) -> bool {
        true
    }

    fn time_to_interconnect(&self) -> Duration {
        Duration::MAX
    }
}

impl DeviceDescription for PcieBench {
    fn ports(&self) -> Vec<DevicePort> {
        let registers = Addresses::of_process(0).register_page();
        vec![DevicePort {
            name: "pcie-bench's card".into(),
            registers: Vec::from_iter(Some(registers..registers + PAGE_BYTES)),
            is_coherent: true,
            ..DevicePort::default()
        }]
    }

    fn part(&self, _port: usize) -> &'static str {
        "pcie-bench's card"
    }

    fn layouts(&self, _process: u8) -> Vec<Layout> {
        vec![Layout {
            transactions: vec![
                TransactionKind::ReadOnce,
                TransactionKind::WriteBlock,
                TransactionKind::UncachedLoad,
                TransactionKind::UncachedStore,
            ],
            ..Layout::default()
        }]
    }

    fn name_of(&self, address: u64, _block_bytes: u64) -> Option<AddressName> {
        let offset = address.checked_sub(Addresses::of_process(0).register_page())?;
        let (name, ..) = REGISTERS.iter().find(|(_, own, _)| *own == offset)?;
        Some(AddressName::whole(format!("{name} register")))
    }

    fn hash_state(&self, _port: usize, digest: &mut Digest) {
        (&self.setup, &self.engine).hash(digest);
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        vec![&self.statistics]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.statistics]
    }

    fn queue(&self, _port: usize) -> QueueState {
        let note = format!("accesses that are not over: {}", self.engine.left());
        QueueState::of("test", u64::from(self.engine.left() > 0), Some(1)).with_note(note)
    }

    fn engine(&self, _port: usize, _now: Time) -> Option<description::Engine> {
        Some(description::Engine { doing: self.engine.doing(), messages: 0 })
    }
}

impl Archived for PcieBench {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let PcieBench { build: _, now, setup, engine, statistics } = self;
        archive.value(now)?;
        archive.value(setup)?;
        archive.value(engine)?;
        archive.value(statistics)
    }
}
