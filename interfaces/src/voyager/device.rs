//! The device as its node has it: two seats, and which part serves what.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Damage, Duration};
use narthex_memory::main_memory::PAGE_BYTES;
use narthex_memory::{Kind, Response, Transaction};
use serde::{Deserialize, Serialize};

use super::config::Config;
use super::layout::Layout;
use super::registers::{
    MOST_SRAM, QueueKind, SOURCES, VOYAGER_MAP, VOYAGER_REGISTERS, VOYAGER_SRAM, VOYAGER_SRAM_UNCACHED, fact,
};
use crate::address_names::AddressName;
use crate::description::{self, DeviceDescription, DeviceSeat};
use crate::device::Device;
use crate::half::{Context, RegisterFault};
use crate::queue::QueueState;

/// The seat on the bus of the application processors.
pub const HOST: usize = 0;
/// The seat on the bus of the service processor.
pub const SERVICE: usize = 1;

/// What a voyager device is built for.
#[derive(Clone, Debug)]
pub struct Build {
    /// How its library keeps queues.
    pub kind: QueueKind,
    /// Its parameters.
    pub config: Config,
    /// What lies where.
    pub layout: Layout,
    /// Bytes of a coherence block.
    pub block_bytes: u64,
}

narthex_kernel::statistics! {
    /// What a voyager device did.
    pub struct Statistics {
        sent: Counter, "voyager_packets_sent", "packets", "basic messages that the transmit unit sent";
    }
}

/// What changes in a voyager device.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct State {}

/// The device; see the module's description.
#[derive(Clone, Debug)]
pub struct Voyager {
    pub(super) build: Build,
    pub(super) state: State,
    pub(super) statistics: Statistics,
}

impl Voyager {
    /// A device to which nothing has happened.
    pub fn new(build: Build) -> Self {
        Voyager { build, state: State {}, statistics: Statistics::default() }
    }
}

impl Device for Voyager {
    fn access_time(&self, _seat: usize, _kind: Kind) -> Duration {
        self.build.config.register_access_time
    }

    fn access(
        &mut self,
        _seat: usize,
        _context: &mut Context<'_>,
        transaction: &Transaction,
        _response: &mut Response,
    ) -> Result<(), RegisterFault> {
        Err(RegisterFault(format!(
            "an access to {:#x}, where the voyager device has no register",
            transaction.address
        )))
    }
}

impl DeviceDescription for Voyager {
    fn seats(&self) -> Vec<DeviceSeat> {
        let Build { layout, .. } = &self.build;
        let processes = || 0..layout.processes;
        let uncached = |process| {
            layout
                .windows(process)
                .into_iter()
                .chain([layout.uncached_buffers(process), layout.serviced(process)])
        };
        let host = DeviceSeat {
            name: "the interface on the host's bus".into(),
            registers: processes().flat_map(uncached).collect(),
            homes: processes().map(|process| layout.cachable_buffers(process)).collect(),
            concern: 0..0,
            is_coherent: true,
            refuses: true,
            is_engine: true,
            ..DeviceSeat::default()
        };
        let both = 2 * MOST_SRAM;
        let service = DeviceSeat {
            name: "the interface on the service processor's bus".into(),
            registers: vec![
                VOYAGER_REGISTERS..VOYAGER_MAP + PAGE_BYTES,
                VOYAGER_SRAM_UNCACHED..VOYAGER_SRAM_UNCACHED + both,
            ],
            homes: Vec::from_iter(Some(VOYAGER_SRAM..VOYAGER_SRAM + both)),
            concern: 0..0,
            lines: SOURCES,
            is_coherent: true,
            is_engine: true,
            ..DeviceSeat::default()
        };
        vec![host, service]
    }

    fn seats_beside(&self, _seat: usize) -> Range<usize> {
        HOST..SERVICE + 1
    }

    fn calls_name(&self) -> Option<&'static str> {
        Some("voyager")
    }

    fn receiver(&self, process: u8) -> Option<usize> {
        (process == 0).then_some(SERVICE)
    }

    fn sender(&self, process: u8) -> Option<usize> {
        (process == 0).then_some(SERVICE)
    }

    fn layouts(&self, process: u8) -> Vec<description::Layout> {
        let Build { kind, config, layout, .. } = &self.build;
        let snooped = layout.snooped(process);
        let values = [
            ("voyager_kind", kind.number()),
            ("voyager_queues", layout.queues.into()),
            ("voyager_slots", config.slots.into()),
            ("voyager_serviced", layout.serviced(process).start),
            ("voyager_snooped", if snooped.is_empty() { 0 } else { snooped.start }),
            ("voyager_snooped_bytes", layout.snooped),
            ("voyager_channels", (config.channels / u32::from(layout.processes)).into()),
        ];
        let windows = layout.windows(process).into_iter();
        vec![description::Layout {
            facts: values.into_iter().map(|(name, value)| (fact(name), value)).collect(),
            cachable: [layout.cachable_buffers(process), snooped]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect(),
            windows: windows.chain([layout.uncached_buffers(process), layout.serviced(process)]).collect(),
            ..description::Layout::default()
        }]
    }

    fn name_of(&self, _address: u64, _block_bytes: u64) -> Option<AddressName> {
        None
    }

    fn hash_state(&self, seat: usize, mut hasher: &mut dyn Hasher) {
        (seat, &self.state).hash(&mut hasher);
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        vec![&self.statistics]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.statistics]
    }

    fn queue(&self, _seat: usize) -> QueueState {
        QueueState::of("received packets", 0, None)
    }
}

impl Archived for Voyager {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Voyager { build: _, state, statistics } = self;
        archive.value(state)?;
        archive.value(statistics)
    }
}
