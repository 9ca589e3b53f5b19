//! A processor's own path to a device: a cache bus or the register file.
//!
//! ```text
//!   processor ──┬── private path ── registers of a device
//!               └── caches ── another interconnect ── memory
//! ```
//!
//! Uncached accesses cross it, and nothing else: the other interconnect sees none
//! of them, and a miss of the cache and a posted store are under way at once. It
//! carries no coherence, so nothing on it snoops.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Clock, Damage, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::part::{Broken, InterconnectKind, MachineFile, Plan, Site, parameters, without_parameters};
use super::{
    AddressMap, Admits, AgentPorts, CarriedTransaction, Home, Interconnect, InterconnectHost, InterconnectId,
    InterconnectModel, Names, Observation, Step, complete,
};
use crate::agent::Agent;
use crate::bus::Bus;
use crate::kind::Kind;
use crate::transaction::{AgentId, Response, Transaction, TransactionTag};

/// A processor's own path to a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {}

/// The parameters of a private path: `[cache_bus]` or `[register_file]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {
    /// Processor cycles of a load from the interface, beyond the interface's own time.
    #[schemars(range(min = 1))]
    pub uncached_load_cycles: u32,
    /// Processor cycles of a store to the interface, beyond the interface's own time.
    #[schemars(range(min = 1))]
    pub uncached_store_cycles: u32,
}

impl InterconnectKind for Keys {
    fn tables(&self, name: &str) -> Vec<String> {
        vec![name.to_owned()]
    }

    fn problems(&self, name: &str, file: &dyn MachineFile) -> Vec<Broken> {
        let lacks = parameters::<Config>(file, name).is_none();
        Vec::from_iter(lacks.then(|| without_parameters(file, name, name)))
    }

    fn plan(&self, name: &str, file: &dyn MachineFile) -> Arc<dyn Plan> {
        let config = parameters::<Config>(file, name).expect("checked with the machine").clone();
        Arc::new(Planned { config, clock: file.processor_clock() })
    }
}

/// A private path, and the processor's clock.
#[derive(Debug)]
struct Planned {
    config: Config,
    clock: Clock,
}

impl Plan for Planned {
    fn reported_name(&self, _name: &str, _is_first: bool) -> String {
        "private bus".to_owned()
    }

    fn build(&self, Site { names, ports, homes, .. }: Site) -> Interconnect {
        let cycles = |kind| match kind {
            Kind::UncachedLoad => self.config.uncached_load_cycles.into(),
            Kind::UncachedStore => self.config.uncached_store_cycles.into(),
            _ => 0,
        };
        PrivatePath::new(names, Bus::with_occupancy(self.clock, cycles), ports, homes).into()
    }
}

/// A path between a processor and a device.
#[derive(Clone, Debug)]
pub struct PrivatePath {
    names: Names,
    bus: Bus,
    ports: AgentPorts,
    homes: AddressMap,
    underway: Option<CarriedTransaction>,
}

impl PrivatePath {
    /// An idle path with these agents on it, where `homes` has the device's
    /// registers.
    pub fn new(names: Names, bus: Bus, ports: AgentPorts, homes: AddressMap) -> Self {
        PrivatePath { names, bus, ports, homes, underway: None }
    }

    fn of<C: InterconnectHost>(composition: &mut C, on: InterconnectId) -> &mut Self {
        match composition.interconnect(on) {
            Interconnect::PrivatePath(path) => path,
            other => unreachable!("{} is not a private path", other.name()),
        }
    }

    fn free<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        if let Some(at) = Self::of(composition, on).bus.release(now) {
            composition.schedule(at, on, Step::Grant);
        }
    }

    /// The access on the path is over.
    fn release<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        let path = Self::of(composition, on);
        let underway = path.underway.take().expect("an access is under way");
        let device = path.homes.home(underway.transaction.address);
        if let Some(since) = underway.held_since {
            path.bus.held(now - since);
            composition.observe(now, on, Observation::Released);
        }
        match complete(composition, now, on, underway, device) {
            None => Self::free(composition, now, on),
            Some(held) => {
                composition.observe(now, on, Observation::Held(&held.transaction));
                Self::of(composition, on).underway = Some(held);
            }
        }
    }
}

impl InterconnectModel for PrivatePath {
    const KIND: &'static str = "private-path";
    const ADMITS: Admits = Admits { own_devices: true, ..Admits::NOTHING };

    fn ask<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        if let Some(at) = Self::of(composition, on).bus.request(now, agent) {
            composition.schedule(at, on, Step::Grant);
        }
    }

    #[inline(never)]
    fn happen<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, step: Step) {
        match step {
            Step::Grant => match Self::of(composition, on).bus.grant() {
                Some(agent) => Self::grant_to(composition, now, on, agent),
                None => Self::free(composition, now, on),
            },
            Step::Release => Self::release(composition, now, on),
            Step::Address | Step::Forward => unreachable!("no bridge and no directory is here"),
        }
    }

    fn answer<C: InterconnectHost>(
        composition: &mut C,
        at: Time,
        on: InterconnectId,
        access: (AgentId, TransactionTag),
        response: Response,
    ) {
        let path = Self::of(composition, on);
        path.underway.as_mut().expect("the access is held").answer(access, response);
        let end = path.bus.clock().edge_at_or_after(at);
        composition.schedule(end, on, Step::Release);
    }

    fn grant_to<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        let Some(transaction) = composition.agent(agent).issue(now, on) else {
            composition.observe(now, on, Observation::UnusedGrant(agent));
            return Self::free(composition, now, on);
        };
        let device = match Self::of(composition, on).homes.home(transaction.address) {
            Home::Agent(device) => device,
            Home::Memory(_) | Home::Beyond(_) => unreachable!("only registers are on a private path"),
        };
        let delay = composition.agent(device).access_time(now, transaction.kind);
        let end = Self::of(composition, on).bus.occupy(now, &transaction, delay);
        if composition.is_observed() {
            let seen = Observation::Crossing { time: (now, end), transaction: &transaction, supplier: None };
            composition.observe(now, on, seen);
        }
        Self::of(composition, on).underway = Some(CarriedTransaction::unanswered(transaction));
        composition.schedule(end, on, Step::Release);
    }

    fn contenders(&self, _all: &[Interconnect], wants: impl Fn(AgentId) -> bool) -> Vec<AgentId> {
        if self.underway.is_some() {
            return Vec::new();
        }
        self.ports.iter().map(|port| port.agent).filter(|&agent| wants(agent)).collect()
    }

    fn occupant(&self) -> Option<&Transaction> {
        self.underway.as_ref().map(|underway| &underway.transaction)
    }

    #[inline]
    fn ports(&self) -> &AgentPorts {
        &self.ports
    }

    fn name(&self) -> &'static str {
        self.names.name
    }

    fn occupancy_clock(&self) -> Clock {
        self.bus.clock()
    }

    fn clock(&self) -> Clock {
        self.bus.clock()
    }

    fn granted_since(&self) -> Option<Time> {
        Some(self.bus.granted_since())
    }

    fn is_idle_at(&self, now: Time) -> bool {
        self.underway.is_none() && self.bus.is_idle_at(now)
    }

    fn statistics(&self) -> Vec<(&'static str, &dyn StatisticSet)> {
        vec![(self.names.prefix, &self.bus.statistics)]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.bus.statistics]
    }

    fn hash_state<H: Hasher>(&self, hasher: &mut H) {
        self.underway.hash(hasher);
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let PrivatePath { names: _, bus, ports: _, homes: _, underway } = self;
        archive.value(bus)?;
        archive.value(underway)
    }
}
