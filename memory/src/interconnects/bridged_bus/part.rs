//! A bus behind a bridge as a machine's file describes it: `[io_bus]`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::Interconnect;
use super::super::part::{Above, Broken, InterconnectKind, MachineFile, Plan, Site};
use super::super::part::{below, parameters, width_problem, without_parameters};
use super::BridgedBus;
use crate::bridge::{Bridge, Config};

/// A bus behind a bridge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// The interconnect on which the bridge is: a bus, or a directory, on whose network on chip it has
    /// the interface's place.
    pub behind: String,
}

impl InterconnectKind for Keys {
    fn behind(&self) -> Option<&str> {
        Some(&self.behind)
    }

    fn tables(&self, name: &str) -> Vec<String> {
        vec![name.to_owned()]
    }

    fn problems(&self, name: &str, file: &dyn MachineFile) -> Vec<Broken> {
        let Some(config) = parameters::<Config>(file, name) else {
            return vec![without_parameters(file, name, name)];
        };
        below(name, config.problems()).into_iter().chain(width_problem(name, config.width, file)).collect()
    }

    fn plan(&self, name: &str, file: &dyn MachineFile) -> Arc<dyn Plan> {
        Arc::new(parameters::<Config>(file, name).expect("checked with the machine").clone())
    }
}

impl Plan for Config {
    fn reported_name(&self, _name: &str, _is_first: bool) -> String {
        "I/O bus".to_owned()
    }

    fn build(&self, site: Site) -> Interconnect {
        let Site { names, ports, homes, above, block_bytes, .. } = site;
        let Above { on, plan, bridge } = above.expect("a bridge is in front of it");
        let timing = plan.bridge_timing(self, block_bytes).expect("checked with the machine");
        BridgedBus::new(names, (on, bridge), (Bridge::new(self), timing), ports, homes).into()
    }
}
