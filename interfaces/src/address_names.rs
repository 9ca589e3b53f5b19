//! The addresses of the device region in words, for explanations and messages: the
//! regions that an interface's halves declare, and its registers.

use std::fmt;
use std::ops::Range;

use crate::description::Layout;
use crate::name::Name;
use crate::programming::Register;
use crate::registers::Addresses;

/// What an address is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressName {
    /// The thing: "send queue", "STATUS register".
    pub name: String,
    /// Where in it, if it has parts: "entry 3, block 1".
    pub part: Option<String>,
}

impl AddressName {
    /// A thing without parts.
    pub fn whole(name: impl Into<String>) -> Self {
        AddressName { name: name.into(), part: None }
    }
}

impl fmt::Display for AddressName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            Some(part) => write!(f, "{}, {part}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A part of an interface's memory that has a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// What it is called.
    pub name: &'static str,
    /// Where it is.
    pub addresses: Range<u64>,
    /// What it is divided into.
    pub parts: RegionParts,
}

/// What a region is divided into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionParts {
    /// It is one thing.
    None,
    /// Coherence blocks.
    Blocks,
    /// Entries of this many bytes, and coherence blocks within them.
    Entries(u64),
}

impl Region {
    fn part(&self, offset: u64, block_bytes: u64) -> Option<String> {
        match self.parts {
            RegionParts::None => None,
            RegionParts::Blocks => Some(format!("block {}", offset / block_bytes)),
            RegionParts::Entries(bytes) => {
                Some(format!("entry {}, block {}", offset / bytes, offset % bytes / block_bytes))
            }
        }
    }
}

/// The names of the addresses of an interface.
#[derive(Clone, Debug)]
pub struct AddressNames {
    regions: Vec<Region>,
    registers: Vec<Register>,
    block_bytes: u64,
}

impl AddressNames {
    /// Those of an interface whose halves have these layouts for a process; they are alike for all.
    pub fn new(name: &Name, (layouts, process): (&[Layout; 2], u8), block_bytes: u64) -> Self {
        let own = Addresses::of_process(0);
        let page = Region {
            name: "information page",
            addresses: own.information_page()..own.register_page(),
            parts: RegionParts::None,
        };
        let before = Addresses::of_process(process).register_page() - own.register_page();
        let of_first = |region: &Region| {
            let Region { addresses, .. } = region;
            Region { addresses: addresses.start - before..addresses.end - before, ..region.clone() }
        };
        let declared = layouts.iter().flat_map(|layout| layout.regions.iter().map(of_first));
        let programmings = [name.send, name.receive].map(|half| half.model.programming);
        let registers =
            programmings.iter().flat_map(|programming| programming.registers).copied().flatten().copied();
        AddressNames {
            regions: std::iter::once(page).chain(declared).collect(),
            registers: registers.collect(),
            block_bytes,
        }
    }

    /// What is at `address`, whichever process's part of the device region it is
    /// in; none where the interface has nothing.
    pub fn name_of(&self, address: u64) -> Option<AddressName> {
        let process = Addresses::process_at(address)?;
        let [own, first] = [process, 0].map(|process| Addresses::of_process(process).register_page());
        let (offset, address) = (address.wrapping_sub(own), address - (own - first));
        if let Some((name, ..)) = self.registers.iter().find(|&&(_, register, _)| register == offset) {
            return Some(AddressName::whole(format!("{name} register")));
        }
        let region = self.regions.iter().find(|region| region.addresses.contains(&address))?;
        let part = region.part(address - region.addresses.start, self.block_bytes);
        Some(AddressName { name: region.name.into(), part })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> AddressNames {
        let own = Addresses::of_process(0);
        let region = |name, start, bytes, parts| Region { name, addresses: start..start + bytes, parts };
        let send = Layout {
            regions: vec![
                region("send queue", own.send_queue(), 16 * 256, RegionParts::Entries(256)),
                region("send queue's tail", own.send_tail(), 64, RegionParts::None),
            ],
            ..Layout::default()
        };
        let receive = Layout {
            regions: vec![region("receive registers", own.receive_queue(), 256, RegionParts::Blocks)],
            ..Layout::default()
        };
        AddressNames::new(&"(CNI64Q)S(CNI4)R".parse().unwrap(), (&[send, receive], 0), 64)
    }

    fn words(address: u64) -> Option<String> {
        names().name_of(address).map(|name| name.to_string())
    }

    #[test]
    fn registers_pointers_and_entries_have_names() {
        for process in [0, 2, 7, 15] {
            let own = Addresses::of_process(process);
            assert_eq!(words(own.register_page() + 0x20).as_deref(), Some("CLEAR register"));
            assert_eq!(words(own.send_tail()).as_deref(), Some("send queue's tail"));
            assert_eq!(words(own.information_page() + 64).as_deref(), Some("information page"));
            assert_eq!(
                words(own.send_queue() + 256 * 3 + 64).as_deref(),
                Some("send queue, entry 3, block 1")
            );
            assert_eq!(words(own.receive_queue() + 192).as_deref(), Some("receive registers, block 3"));
        }
    }

    #[test]
    fn ordinary_memory_and_unused_addresses_have_none() {
        let own = Addresses::of_process(0);
        for address in [0x1000, own.register_page() + 0xff8, own.receive_queue() + 256, u64::MAX] {
            assert_eq!(words(address), None);
        }
    }
}
