//! The addresses of the device region in words, for explanations and messages.

use std::fmt;

use crate::registers::{
    Addresses, DEVICE_REGION, LARGEST_QUEUE_BYTES, PROCESS_STRIDE, PROCESSES_LIMIT, REGISTERS,
};
use crate::side::Driver;

/// What lies at an address of the device region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The thing: "send queue", "STATUS register".
    pub name: String,
    /// Where in it, if it has parts: "entry 3, block 1".
    pub part: Option<String>,
}

impl Place {
    /// A thing without parts.
    pub fn whole(name: impl Into<String>) -> Self {
        Place { name: name.into(), part: None }
    }

    fn part(name: String, part: String) -> Self {
        Place { name, part: Some(part) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            Some(part) => write!(f, "{}, {part}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// What the words depend on.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes in a network message.
    pub packet_bytes: u64,
    /// Bytes in a coherence block.
    pub block_bytes: u64,
    /// How the processor sends, and how it receives.
    pub drivers: [Driver; 2],
}

/// What lies at `address`; none outside of the device region.
pub fn place_of(address: u64, shape: &Shape) -> Option<Place> {
    let &Shape { packet_bytes, block_bytes, drivers } = shape;
    let process = address.checked_sub(DEVICE_REGION.start)? / PROCESS_STRIDE;
    if process >= u64::from(PROCESSES_LIMIT) {
        return None;
    }
    let own = Addresses::of_process(process as u8);
    let of_blocks = |start: u64, direction: &str, driver: Driver| {
        let offset = address.checked_sub(start).filter(|&offset| offset < LARGEST_QUEUE_BYTES)?;
        let (entry, block) = (offset / packet_bytes, offset % packet_bytes / block_bytes);
        Some(match driver {
            Driver::CachableRegister => {
                Place::part(format!("{direction} registers"), format!("block {block}"))
            }
            _ => Place::part(format!("{direction} queue"), format!("entry {entry}, block {block}")),
        })
    };
    let of_register = || {
        let offset = address.checked_sub(own.register_page())?;
        let &(name, _, _) = REGISTERS.iter().find(|&&(_, place, _)| place == offset)?;
        Some(Place::whole(format!("{name} register")))
    };
    let of_word = || {
        let block = |start: u64| start..start + block_bytes;
        let words = [
            (own.information_page()..own.register_page(), "information page"),
            (block(own.send_tail()), "send queue's tail"),
            (block(own.send_head()), "send queue's head"),
            (block(own.receive_head()), "receive queue's head"),
        ];
        let (_, name) = words.iter().find(|(range, _)| range.contains(&address))?;
        Some(Place::whole(*name))
    };
    of_register()
        .or_else(of_word)
        .or_else(|| of_blocks(own.receive_queue(), "receive", drivers[1]))
        .or_else(|| of_blocks(own.send_queue(), "send", drivers[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(address: u64) -> Option<String> {
        let drivers = [Driver::CachableQueue, Driver::CachableRegister];
        let shape = Shape { packet_bytes: 256, block_bytes: 64, drivers };
        place_of(address, &shape).map(|place| place.to_string())
    }

    #[test]
    fn registers_pointers_and_entries_have_names() {
        for process in [0, 2] {
            let own = Addresses::of_process(process);
            assert_eq!(words(own.register_page() + 8).as_deref(), Some("SEND register"));
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
        assert_eq!(words(0x1000), None);
        assert_eq!(words(Addresses::of_process(0).register_page() + 0xff8), None);
    }
}
