//! Parameters that a user has set, and that change nothing with the interface of
//! the run.
//!
//! ```text
//!   each component: without_effect(traffic) ──► (key, why) ─┐
//!   interfaces: sections and halves         ──► (key, why) ─┼─► those that the user set ──► warnings
//!   here: places without an interface       ──► (key, why) ─┘
//! ```
//!
//! Beside those, a network tells what its parameters ask for and it does not have, as links
//! that lead nowhere: with any interface, set by the user or not.
//!
//! Which parameters those are is told by the components, as the rules that they
//! break are. Here they are only asked, with what the chosen interface makes
//! cross each bus. A key stands for all below it: `io_bus` for `io_bus.clock`.
//! Nothing is said about a parameter that some program could notice, so what is
//! said holds for every program.
//!
//! "Set" is what a file states beyond its `base`, and every `--set`. A file
//! that stands on nothing describes a machine for all interfaces; of it, nothing
//! is said.

use std::borrow::Cow;

use narthex_fabrics::topologies::Topology;
use narthex_interfaces::dma_engine::DmaDevice;
use narthex_interfaces::{Attached, Attachment, without_effect};
use narthex_memory::traffic::Traffic;
use narthex_memory::{Kind, bridge};

use super::problem::Problem;
use super::schema::Schema;
use super::{InstructionCache, Machine, MachineConfig};

/// (dotted key, why it changes nothing); all below the key are meant.
type Idle = (String, String);

/// What a machine's user has set, and what of it changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The keys that are set beyond the base.
    pub set: Vec<String>,
    /// A warning for each of them that has no effect, and those of the machine itself.
    pub warnings: Vec<Problem>,
}

impl Machine {
    /// What the user has set, and what of it has no effect with this interface.
    ///
    /// # Errors
    /// Why the machine cannot have the interface.
    pub fn settings_with(&self, interface: &Attached) -> Result<Settings, String> {
        let idle = self.config.without_effect(interface)?;
        let schema = Schema::of::<MachineConfig>();
        let parameters = schema.parameters(&self.document);
        let set = parameters.iter().filter(|parameter| parameter.leaf.chosen).map(|found| found.key.clone());
        let set: Vec<String> = set.collect();
        let warning = |key: &String| {
            let (_, why) = idle.iter().find(|(around, _)| is_at_or_below(key, around))?;
            let message = format!("has no effect with {interface}: {why}");
            Some(Problem::new(Some(self.document.place_of(key)), key, message))
        };
        let warnings = set.iter().filter_map(warning).chain(self.warnings()).collect();
        Ok(Settings { warnings, set })
    }

    /// What the machine asks for and does not have, whatever its interface.
    pub fn warnings(&self) -> Vec<Problem> {
        let of_network = below("network", self.config.network.warnings());
        let on_chip = self.config.network_on_chip.iter().flat_map(|network| network.topology.warnings());
        let on_chip = on_chip.map(|(key, message)| (format!("network_on_chip.topology.{key}"), message));
        let warning = |(key, message): Idle| Problem::new(Some(self.document.place_of(&key)), &key, message);
        of_network.into_iter().chain(on_chip).map(warning).collect()
    }
}

/// Whether `key` is `around` or a key of that table.
fn is_at_or_below(key: &str, around: &str) -> bool {
    key.strip_prefix(around).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl MachineConfig {
    /// The parameters that change nothing with this interface, whatever the program.
    ///
    /// # Errors
    /// Why the machine cannot have the interface.
    pub fn without_effect(&self, interface: &Attached) -> Result<Vec<Idle>, String> {
        if let Cow::Owned(run) = self.of_run(interface) {
            let why = format!("{} has no port beside it, and it is left out", interface.name);
            let left_out = self.left_out_keys(interface).into_iter().map(|key| (key, why.clone()));
            return Ok(run.without_effect(interface)?.into_iter().chain(left_out).collect());
        }
        let attachment = interface.attachment;
        let issued = self.transactions_of(interface)?;
        let memory_bus = self.memory_bus_traffic(attachment, &issued);
        let further: Vec<Attached> = self.node.further_interfaces().map(|each| each.interface).collect();
        let mut found = self.component_idle(&memory_bus);
        let has_own_place = |place| further.iter().any(|other| other.attachment == place);
        found.extend(self.place_idle(attachment, has_own_place, &issued));
        let mut unused = without_effect::without_effect(&interface.name);
        for other in &further {
            let idle = without_effect::without_effect(&other.name);
            unused.retain(|(key, _)| idle.iter().any(|(other, _)| covers(other, key)));
        }
        found.extend(self.section_idle(attachment, &unused));
        if interface.is_hardware {
            let own = without_effect::without_effect_on_hardware(&interface.name);
            found.extend(self.section_idle(attachment, &own));
        }
        Ok(found)
    }

    /// The kinds of transactions that the interfaces make, with those that reach them.
    fn transactions_of(&self, interface: &Attached) -> Result<Vec<Kind>, String> {
        let interfaces = self.build_interfaces(interface)?;
        let layouts = interfaces.iter().zip(0..).flat_map(|(device, first)| device.layouts(first));
        Ok(layouts.flat_map(|layout| layout.transactions).collect())
    }

    fn memory_bus_traffic(&self, attachment: Attachment, issued: &[Kind]) -> Traffic {
        let beside = self.private_path(attachment).is_some();
        let processors = self.machine.processors_per_node;
        let caches = match self.instruction_cache {
            InstructionCache::Cache(_) if !self.node.host().1.has_second_level() => 2,
            _ => 1,
        };
        let of_devices = issued.iter().copied().filter(|kind| !(beside && kind.is_uncached()));
        let bus = &self.node.host().1.on;
        let is_copied = self.node.dma_engines.values().any(|part| part.on.names().contains(bus));
        let of_engines = is_copied.then_some(DmaDevice::TRANSACTIONS).into_iter().flatten();
        Traffic {
            processors,
            caches: processors * caches,
            of_devices: of_devices.chain(of_engines).collect(),
            has_caches: true,
        }
    }

    /// An I/O bus carries what its device issues, and what caches do with the
    /// device's blocks, if it has some.
    fn io_bus_traffic(&self, issued: &[Kind]) -> Traffic {
        let has_caches = issued.iter().any(|kind| !kind.is_uncached());
        Traffic { has_caches, ..self.memory_bus_traffic(Attachment::IoBus, issued) }
    }

    /// What the components say of themselves.
    fn component_idle(&self, memory_bus: &Traffic) -> Vec<Idle> {
        let instruction_cache = match &self.instruction_cache {
            InstructionCache::Ideal {} => Vec::new(),
            InstructionCache::Cache(config) => config.without_effect(memory_bus),
        };
        let tables = [
            ("processor", self.processor.without_effect()),
            ("data_cache", self.data_cache.without_effect(memory_bus)),
            ("instruction_cache", instruction_cache),
            ("store_buffer", self.store_buffer.without_effect()),
            ("block_buffers", self.block_buffers.without_effect(memory_bus)),
            ("bus", self.bus.as_ref().map(|bus| bus.without_effect(memory_bus)).unwrap_or_default()),
            ("flow_control", self.flow_control.without_effect()),
        ];
        tables.into_iter().flat_map(|(table, idle)| below(table, idle)).collect()
    }

    /// The tables of places where the interface is not, and what is idle at its own.
    fn place_idle(
        &self,
        attachment: Attachment,
        has_another: impl Fn(Attachment) -> bool,
        issued: &[Kind],
    ) -> Vec<Idle> {
        let elsewhere = |place: Attachment| {
            let (table, exists) = self.table_of(place);
            let why = format!("the interface is on {attachment}");
            (exists && place != attachment && place != Attachment::MemoryBus && !has_another(place))
                .then(|| (table.to_owned(), why))
        };
        let places = Attachment::ALL.into_iter().filter_map(|(place, _)| elsewhere(place));
        let is_there = attachment == Attachment::IoBus || has_another(Attachment::IoBus);
        let io_bus = self.io_bus.iter().filter(|_| is_there);
        let traffic = self.io_bus_traffic(issued);
        let io_bus =
            io_bus.flat_map(|config: &bridge::Config| below("io_bus", config.without_effect(&traffic)));
        places.chain(io_bus).collect()
    }

    /// Sections of interfaces: those of other models, and those in whose stead
    /// the interface's place has its own.
    fn section_idle(&self, attachment: Attachment, unused: &[Idle]) -> Vec<Idle> {
        let mut found = below("interfaces", unused.to_vec());
        if let Some(path) = self.private_path(attachment) {
            let table = format!("{}.interfaces", self.table_of(attachment).0);
            let replaced =
                |section: &String| (section.clone(), format!("[{table}.{section}] is in its stead"));
            found.extend(below("interfaces", path.interfaces.keys().map(replaced).collect()));
            found.extend(below(&table, unused.to_vec()));
        }
        found
    }
}

/// Whether a table or a key is, or holds, another key.
fn covers(one: &str, other: &str) -> bool {
    other.strip_prefix(one).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Idle parameters of a table, by their whole keys.
fn below(table: &str, idle: Vec<Idle>) -> Vec<Idle> {
    idle.into_iter().map(|(key, why)| (format!("{table}.{key}"), why)).collect()
}
