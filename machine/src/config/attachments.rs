//! Where else than on the memory bus a machine's interfaces can be attached:
//! tables of its file that a machine may have, or not.

use narthex_interfaces::Attachment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::interfaces::{self, Interfaces};

/// A processor's own path to an interface, beside the memory bus: a cache bus,
/// or the register file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrivatePath {
    /// Processor cycles of a load from the interface, beyond the interface's own time.
    #[schemars(range(min = 1))]
    pub uncached_load_cycles: u32,
    /// Processor cycles of a store to the interface, beyond the interface's own time.
    #[schemars(range(min = 1))]
    pub uncached_store_cycles: u32,
    /// The interfaces that are other there than on the memory bus, by the name
    /// of their model.
    #[serde(default)]
    #[schemars(schema_with = "interfaces::schema")]
    pub interfaces: Interfaces,
}

impl super::MachineConfig {
    /// The processor's own path to an interface that is attached there; none
    /// where the machine has none.
    pub fn private_path(&self, attachment: Attachment) -> Option<&PrivatePath> {
        match attachment {
            Attachment::CacheBus => self.cache_bus.as_ref(),
            Attachment::Register => self.register_file.as_ref(),
            Attachment::MemoryBus | Attachment::IoBus => None,
        }
    }

    /// The sections of the interfaces that are attached there: those of
    /// `[interfaces]`, and in their stead those that the place has itself.
    pub fn interfaces_at(&self, attachment: Attachment) -> Interfaces {
        let mut sections = self.interfaces.clone();
        if let Some(path) = self.private_path(attachment) {
            sections.extend(path.interfaces.clone());
        }
        sections
    }

    /// The table that a machine needs before an interface can be attached there,
    /// and whether it has it.
    pub(super) fn table_of(&self, attachment: Attachment) -> (&'static str, bool) {
        match attachment {
            Attachment::MemoryBus => ("bus", true),
            Attachment::IoBus => ("io_bus", self.io_bus.is_some()),
            Attachment::CacheBus => ("cache_bus", self.cache_bus.is_some()),
            Attachment::Register => ("register_file", self.register_file.is_some()),
        }
    }

    /// Why no interface can be attached there, if none can.
    pub fn lacks(&self, attachment: Attachment) -> Option<String> {
        let (table, exists) = self.table_of(attachment);
        (!exists).then(|| format!("the machine's file has no [{table}]"))
    }
}
