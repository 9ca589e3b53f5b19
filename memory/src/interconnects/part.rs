//! An interconnect of a node before it is built: what a machine's file says of it, and what its kind
//! makes of that.
//!
//! ```text
//!   [node.interconnects.NAME]   kind = "..." ──► Part ── InterconnectKind: rules, tables, plan
//!   [NAME], or tables that the kind shares  ──►   └────► Plan: what its parameters allow ──► Interconnect
//! ```
//!
//! Each file of this folder has a `Part`, whose keys stand beside `kind`, and what implements
//! [`InterconnectKind`] and [`Plan`] for it. The machine asks these, and names no kind.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use narthex_kernel::quantity::Bytes;
use narthex_kernel::{Clock, Duration};

use super::directory::Tiles;
use super::{AddressMap, AgentPorts, Interconnect, InterconnectId, MemoryId, Names, Part};
use crate::bridge::{self, Timing};
use crate::bus::DirtyOwner;
use crate::directory::Table;
use crate::sockets::Sockets;
use crate::transaction::AgentId;

/// A rule that is broken: the dotted key, and what is wrong and what is allowed.
pub type Broken = (String, String);

/// What a kind of interconnect lets sit on it, whatever its parameters are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Admits {
    /// The caches of processors, and memories.
    pub caches: bool,
    /// Bridges that hold it and another interconnect at once.
    pub bridges: bool,
    /// Root complexes of links: it carries other transactions while an access is held.
    pub root_complexes: bool,
    /// DMA engines.
    pub dma_engines: bool,
    /// Devices that take part in coherence.
    pub coherent_devices: bool,
    /// Parts with places on a network on chip, and devices with a part in each tile.
    pub tiles: bool,
    /// Devices that a processor of the program reaches beside the interconnect of its caches.
    pub own_devices: bool,
}

impl Admits {
    /// An interconnect on which nothing sits but devices that take no part in coherence.
    pub const NOTHING: Admits = Admits {
        caches: false,
        bridges: false,
        root_complexes: false,
        dma_engines: false,
        coherent_devices: false,
        tiles: false,
        own_devices: false,
    };
}

/// What the rules of an interconnect may see of its machine's file.
pub trait MachineFile {
    /// The table that the file has under a key, as the type of its parameters: `bus`, `buses.NAME`,
    /// `io_bus`, `directory`, `network_on_chip`, and for a private path `cache_bus` or `register_file`.
    fn table(&self, key: &str) -> Option<&dyn Any>;

    /// Bytes in a coherence block, and the key that says so.
    fn block(&self) -> (Bytes, &'static str);

    /// The coherence protocol of the caches.
    fn protocol(&self) -> &str;

    /// The clock of the processors that run the program.
    fn processor_clock(&self) -> Clock;
}

/// The parameters in a table of a machine's file; none if the file does not have it, or it describes
/// something else.
pub(super) fn parameters<'a, T: 'static>(file: &'a dyn MachineFile, key: &str) -> Option<&'a T> {
    file.table(key).and_then(|table| table.downcast_ref())
}

/// The problem of an interconnect whose parameters are not there.
pub(super) fn without_parameters(file: &dyn MachineFile, name: &str, table: &str) -> Broken {
    let message = match file.table(table) {
        Some(_) => format!("has no parameters: [{table}] is the table of another kind"),
        None => format!("has no parameters: the machine's file has no [{table}]"),
    };
    (format!("node.interconnects.{name}"), message)
}

/// The rules that the parameters in a table break, by their whole keys.
pub(super) fn below(table: &str, problems: Vec<(&str, String)>) -> Vec<Broken> {
    problems.into_iter().map(|(key, message)| (format!("{table}.{key}"), message)).collect()
}

/// The rule that a width breaks which does not divide the block.
pub(super) fn width_problem(table: &str, width: Bytes, file: &dyn MachineFile) -> Option<Broken> {
    let (block, key) = file.block();
    let message = format!("{width} does not divide the block of {block} ({key})");
    let divides = block.as_u64().is_multiple_of(width.as_u64().max(1));
    (!divides).then(|| (format!("{table}.width"), message))
}

/// A kind of interconnect, by what a machine's file says of one: `[node.interconnects.NAME]`.
pub trait InterconnectKind {
    /// The interconnect on which the bridge in front of it sits; none if there is no bridge.
    fn behind(&self) -> Option<&str> {
        None
    }

    /// Whether it is a link: the bridge in front of it is an agent above like any other
    /// ([`BridgeAgent`](super::BridgeAgent)), and passes no transactions of others on to what is behind it.
    /// Otherwise the interconnect above knows the bridge.
    fn is_link(&self) -> bool {
        false
    }

    /// Whether it is a link that knows the attribute of [relaxed ordering](crate::Transaction::relaxed).
    fn knows_relaxed_ordering(&self) -> bool {
        false
    }

    /// Whether devices behind it interrupt processors by messages ([`Interrupt`](crate::interrupt::Interrupt)).
    fn carries_interrupts(&self) -> bool {
        false
    }

    /// Whether it is a link behind which devices may keep copies of blocks: they are agents of the interconnect
    /// above as well, which calls the link in their place
    /// ([`issue_for`](super::InterconnectModel::issue_for) and the functions beside it).
    fn lets_devices_cache(&self) -> bool {
        false
    }

    /// Whether such devices may hold the host's requests for their blocks.
    fn lets_devices_hold(&self) -> bool {
        false
    }

    /// The name of the bridge in front of it in messages, and whether an interconnect admits that bridge.
    fn sits_above(&self) -> (&'static str, fn(Admits) -> bool) {
        ("bridges", |admits| admits.bridges)
    }

    /// The tables of the machine's file that have its parameters, by their keys. None: its parameters
    /// are the keys beside `kind`.
    fn tables(&self, _name: &str) -> Vec<String> {
        Vec::new()
    }

    /// The rules that its parameters break.
    fn problems(&self, _name: &str, _file: &dyn MachineFile) -> Vec<Broken> {
        Vec::new()
    }

    /// What is built from it, in a file that breaks no rule.
    fn plan(&self, name: &str, file: &dyn MachineFile) -> Arc<dyn Plan>;
}

/// An interconnect of a node with its parameters, before it is built.
pub trait Plan: Debug + Send + Sync {
    /// What reports call the interconnect of this name, a node's first one or not.
    fn reported_name(&self, name: &str, _is_first: bool) -> String {
        name.replace('_', " ")
    }

    /// Whether the owners of dirty blocks refuse transactions, where a device on it has `said` what they
    /// do, or none has.
    fn owners_refuse(&self, _said: Option<DirtyOwner>) -> bool {
        false
    }

    /// Why no agent may refuse transactions on it, behind its name; none if agents may.
    fn lacks_refusals(&self, name: &str, _has_bridge: bool) -> Option<String> {
        Some(format!("refuses transactions, which the {name} does not let it; snooping buses do"))
    }

    /// The table of its protocol, if it tells an agent of others' transactions only where that has a copy.
    fn table(&self) -> Option<&'static Table> {
        None
    }

    /// The time that a cache on it needs to supply a block to others; none if no caches are on it.
    fn cache_supply_time(&self) -> Option<Duration> {
        None
    }

    /// What crossings take of a bridge on it; none if no bridge sits on it.
    fn bridge_timing(&self, _bridge: &bridge::Config, _block_bytes: usize) -> Option<Timing> {
        None
    }

    /// Builds it with everything that sits on it.
    fn build(&self, site: Site) -> Interconnect;
}

/// What sits on an interconnect that is built, and where it is.
pub struct Site {
    /// What reports call it.
    pub names: Names,
    /// The agents on it.
    pub ports: AgentPorts,
    /// Who answers for each address.
    pub homes: AddressMap,
    /// The memories that share the addresses that are in no range, as often as each has controllers.
    pub controllers: Vec<MemoryId>,
    /// The sockets that these are in, where there are several.
    pub sockets: Option<Sockets>,
    /// A device with a part in each tile.
    pub tiles: Option<Tiles>,
    /// The bridges on it: their agents, and the interconnects behind them.
    pub bridges: Vec<(AgentId, InterconnectId)>,
    /// Agents behind links that let devices cache, and the links.
    pub links: Vec<(AgentId, InterconnectId)>,
    /// The interconnect on which the bridge in front of it sits.
    pub above: Option<Above>,
    /// Bytes in a coherence block.
    pub block_bytes: usize,
}

/// What is above a bridge.
pub struct Above {
    /// The interconnect there.
    pub on: InterconnectId,
    /// What it is built from.
    pub plan: Arc<dyn Plan>,
    /// What the bridge is among the agents on both sides.
    pub bridge: AgentId,
}

impl Part {
    /// The kinds that admit something, for people: `"directory" or "snooping-bus"`.
    pub fn kinds_that(admit: impl Fn(Admits) -> bool) -> String {
        let kinds = Self::KINDS.iter().filter(|(_, admits)| admit(*admits));
        kinds.map(|(kind, _)| format!("{kind:?}")).collect::<Vec<_>>().join(" or ")
    }
}
