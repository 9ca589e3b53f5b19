//! A snooping bus as a machine's file describes it: `[bus]`, or `[buses.NAME]` for a further one.

use std::sync::Arc;

use narthex_kernel::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::part::{Broken, InterconnectKind, MachineFile, Plan, Site};
use super::super::part::{below, parameters, width_problem, without_parameters};
use super::super::{Interconnect, MEMORY_BUS};
use super::SnoopingBus;
use crate::bridge::{self, Timing};
use crate::bus::{Bus, Config, DirtyOwner};

/// A bus on which all agents see each transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {}

/// The table of the bus of this name.
fn table(name: &str) -> String {
    if name == "bus" { name.to_owned() } else { format!("buses.{name}") }
}

impl InterconnectKind for Keys {
    fn tables(&self, name: &str) -> Vec<String> {
        vec![table(name)]
    }

    fn problems(&self, name: &str, file: &dyn MachineFile) -> Vec<Broken> {
        let table = table(name);
        let Some(config) = parameters::<Config>(file, &table) else {
            return vec![without_parameters(file, name, &table)];
        };
        below(&table, config.problems())
            .into_iter()
            .chain(width_problem(&table, config.width, file))
            .collect()
    }

    fn plan(&self, name: &str, file: &dyn MachineFile) -> Arc<dyn Plan> {
        Arc::new(parameters::<Config>(file, &table(name)).expect("checked with the machine").clone())
    }
}

impl Plan for Config {
    fn reported_name(&self, name: &str, is_first: bool) -> String {
        if is_first { MEMORY_BUS.to_owned() } else { name.replace('_', " ") }
    }

    fn owners_refuse(&self, said: Option<DirtyOwner>) -> bool {
        !said.unwrap_or(self.dirty_owner).intervenes()
    }

    /// Agents may refuse transactions on a bus that says what that takes, and that has no bridge.
    fn lacks_refusals(&self, name: &str, has_bridge: bool) -> Option<String> {
        match self.retry_cycles {
            _ if has_bridge => Some(format!(
                "refuses transactions on the {name}, on which a bridge sits: the bridge holds two buses at once \
                 and has refusals of its own; use a bus without a bridge, or dirty_owner = \"intervene\""
            )),
            Some(_) => None,
            None => Some(format!(
                "may refuse transactions on the {name}, whose table does not state retry_cycles, the bus cycles of \
                 a refused one"
            )),
        }
    }

    fn cache_supply_time(&self) -> Option<Duration> {
        Some(self.cache_supply_time)
    }

    fn bridge_timing(&self, bridge: &bridge::Config, block_bytes: usize) -> Option<Timing> {
        Some(Timing::new(self, bridge, block_bytes))
    }

    fn build(&self, site: Site) -> Interconnect {
        let Site { names, ports, homes, bridges, block_bytes, .. } = site;
        let refuses = ports.iter().any(|port| port.refuses);
        let bus = SnoopingBus::new(names, Bus::new(self, block_bytes), ports, homes);
        let bus = match self.retry_cycles.filter(|_| refuses) {
            Some(cycles) => bus.with_refusals(cycles),
            None => bus,
        };
        match bridges[..] {
            [(bridge, behind), ..] => bus.with_bridge(bridge, behind).into(),
            [] => bus.into(),
        }
    }
}
