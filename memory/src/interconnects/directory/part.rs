//! A directory as a machine's file describes it: `[directory]`, and `[network_on_chip]` that carries its
//! messages.

use std::sync::Arc;

use narthex_kernel::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::Interconnect;
use super::super::part::{Broken, InterconnectKind, MachineFile, Plan, Site};
use super::super::part::{below, parameters, without_parameters};
use super::{Config, Directory, Homes};
use crate::bridge::{self, Timing};
use crate::bus::DirtyOwner;
use crate::directory::{Table, protocols};

/// The table of a directory.
const TABLE: &str = "directory";

/// The table of the network on chip.
const NETWORK: &str = "network_on_chip";

/// Homes that know who has copies, and the network on chip between tiles and homes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {}

impl InterconnectKind for Keys {
    fn tables(&self, name: &str) -> Vec<String> {
        vec![name.to_owned(), NETWORK.to_owned()]
    }

    fn problems(&self, name: &str, file: &dyn MachineFile) -> Vec<Broken> {
        match parameters::<Config>(file, name) {
            None => vec![without_parameters(file, name, TABLE)],
            Some(_) if file.table(NETWORK).is_none() => vec![without_parameters(file, name, NETWORK)],
            Some(config) => below(name, config.problems(file.block().0.as_u64())),
        }
    }

    fn plan(&self, name: &str, file: &dyn MachineFile) -> Arc<dyn Plan> {
        Arc::new(Planned {
            config: parameters::<Config>(file, name).expect("checked with the machine").clone(),
            table: protocols::by_name(file.protocol()).expect("checked with the machine"),
        })
    }
}

/// A directory with the table of its protocol.
#[derive(Debug)]
struct Planned {
    config: Config,
    table: &'static Table,
}

impl Plan for Planned {
    fn owners_refuse(&self, said: Option<DirtyOwner>) -> bool {
        said.is_some_and(|owner| !owner.intervenes())
    }

    fn table(&self) -> Option<&'static Table> {
        Some(self.table)
    }

    fn cache_supply_time(&self) -> Option<Duration> {
        Some(self.config.cache_supply_time)
    }

    fn bridge_timing(&self, bridge: &bridge::Config, block_bytes: usize) -> Option<Timing> {
        Some(Timing::behind_messages(self.config.clock.clock(), bridge, block_bytes))
    }

    fn build(&self, site: Site) -> Interconnect {
        let Site { names, ports, homes, controllers, sockets, tiles, bridges, links, .. } = site;
        let homes = Homes { ranges: homes.without_rest(), interleaved: controllers, tiles };
        let directory = Directory::new(names, &self.config, self.table, ports, homes);
        directory.with_bridges(&bridges).with_links(links).with_sockets(sockets).into()
    }
}
