//! Addresses and accesses in words: counter-examples name queues, entries and
//! registers.

use narthex_interfaces::address_names::AddressNames;
use narthex_interfaces::registers::Addresses;

use super::port::Access;

/// Knows how an address is called.
#[derive(Clone, Debug)]
pub struct Places {
    names: AddressNames,
    block_bytes: u64,
}

impl Places {
    /// With an interface's own names, in blocks of this many bytes.
    pub fn new(names: AddressNames, block_bytes: u64) -> Self {
        Places { names, block_bytes }
    }

    /// Where the registers are.
    pub fn register_page(&self) -> u64 {
        Addresses::of_process(0).register_page()
    }

    /// The name of what is at an address, and the byte of its block.
    pub fn name(&self, address: u64) -> String {
        let Some(place) = self.names.name_of(address) else {
            return format!("{address:#x}");
        };
        match address % self.block_bytes {
            byte if byte > 0 && place.part.is_some() => format!("{place}, byte {byte}"),
            _ => place.to_string(),
        }
    }

    /// An access of the processor.
    pub fn access(&self, access: &Access) -> String {
        let name = self.name(access.address);
        let waits = if access.waits { ", and waits" } else { "" };
        match (access.stored, access.loaded) {
            _ if access.size == 0 => format!("flushes {name}{waits}"),
            (Some(value), _) => format!("stores {value:#x} to {name}{waits}"),
            (None, Some(value)) => format!("loads {value:#x} from {name}"),
            (None, None) => format!("loads from {name}{waits}"),
        }
    }
}
