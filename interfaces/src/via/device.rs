//! The device as its node has it: its seats, and which part serves what.

use std::hash::{Hash, Hasher};

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Damage, Duration};
use narthex_memory::main_memory::PAGE_BYTES;
use narthex_memory::protocols::Protocol;
use narthex_memory::{Kind, Response, Transaction};

use super::config::Config;
use super::registers::{LINES, Scheme, VIA_REGISTERS, WINDOW_BYTES, fact};
use crate::address_names::AddressName;
use crate::description::{DeviceDescription, DeviceSeat, Layout};
use crate::device::Device;
use crate::half::{Context, RegisterFault};
use crate::queue::QueueState;
use crate::registers::Addresses;

/// The seat on the host's bus.
pub const HOST: usize = 0;
/// The seat on the bus of the interface's own processor.
pub const NI: usize = 1;

/// What a via device is built for.
#[derive(Clone, Debug)]
pub struct Build {
    /// How data crosses.
    pub scheme: Scheme,
    /// Its parameters.
    pub config: Config,
    /// Processes of the node.
    pub processes: u8,
    /// The protocol of the host's caches.
    pub protocol: &'static Protocol,
    /// Bytes of a coherence block.
    pub block_bytes: u64,
}

narthex_kernel::statistics! {
    /// What a via device did.
    pub struct Statistics {
        doorbells: Counter, "via_doorbells", "doorbells", "doorbells that programs rang";
    }
}

/// The device; see the module's description.
#[derive(Clone, Debug)]
pub struct Via {
    build: Build,
    statistics: Statistics,
}

impl Via {
    /// A device to which nothing has happened.
    pub fn new(build: Build) -> Self {
        Via { build, statistics: Statistics::default() }
    }
}

impl Device for Via {
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
        Err(RegisterFault(format!("there is no register at {:#x}", transaction.address)))
    }
}

impl DeviceDescription for Via {
    fn seats(&self) -> Vec<DeviceSeat> {
        let pages = |process| {
            let own = Addresses::of_process(process);
            let (doorbells, window) = (own.register_page(), own.window());
            [doorbells..doorbells + PAGE_BYTES, window..window + WINDOW_BYTES]
        };
        let host = DeviceSeat {
            name: "the interface on the host's bus".into(),
            registers: (0..self.build.processes).flat_map(pages).collect(),
            is_engine: true,
            ..DeviceSeat::default()
        };
        let ni = DeviceSeat {
            name: "the interface on its processor's bus".into(),
            registers: Vec::from_iter(Some(VIA_REGISTERS..VIA_REGISTERS + PAGE_BYTES)),
            lines: LINES,
            is_engine: true,
            ..DeviceSeat::default()
        };
        vec![host, ni]
    }

    fn seats_beside(&self, _seat: usize) -> std::ops::Range<usize> {
        HOST..NI + 1
    }

    fn calls_name(&self) -> Option<&'static str> {
        Some("via")
    }

    fn receiver(&self, process: u8) -> Option<usize> {
        (process == 0).then_some(NI)
    }

    fn sender(&self, process: u8) -> Option<usize> {
        (process == 0).then_some(NI)
    }

    fn layouts(&self, process: u8) -> Vec<Layout> {
        let own = Addresses::of_process(process);
        let Build { scheme, config, .. } = &self.build;
        let values = [
            ("via_scheme", scheme.number()),
            ("via_doorbells", own.register_page()),
            ("via_window", own.window()),
            ("via_mtu", config.mtu.as_u64()),
            ("via_vis", config.vis.into()),
        ];
        let facts = values.into_iter().map(|(name, value)| (fact(name), value)).collect();
        vec![Layout { facts, ..Layout::default() }]
    }

    fn name_of(&self, _address: u64, _block_bytes: u64) -> Option<AddressName> {
        None
    }

    fn hash_state(&self, seat: usize, mut hasher: &mut dyn Hasher) {
        seat.hash(&mut hasher);
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        vec![&self.statistics]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.statistics]
    }

    fn queue(&self, _seat: usize) -> QueueState {
        QueueState::of("via device", 0, None)
    }
}

impl Archived for Via {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Via { build: _, statistics } = self;
        archive.value(statistics)
    }
}
