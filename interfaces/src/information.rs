//! The information page: what a node tells a program about its machine, by name.
//!
//! A fact is declared once, here or, if only one kind of interface has it, by that
//! kind's [`Programming`](crate::programming::Programming). Who knows its value
//! fills it in by its name; a value that is not given is zero. Each fact is a
//! doubleword of the page, and a field of `struct narthex_information` in C.

use std::sync::LazyLock;

use crate::declarations;
use crate::description::Layout;
use crate::name::Name;
use crate::programming::Fact;
use crate::registers::{Addresses, NODE_MEMORY};

/// The first doubleword of the page.
pub const MAGIC: u64 = u64::from_le_bytes(*b"NARTHEX\0");
/// The second one: the version of what follows.
pub const VERSION: u64 = 1;

/// What is told of every interface and every machine.
const GENERAL: [(&str, &str); 26] = [
    ("magic", "the bytes NARTHEX and a zero"),
    ("version", "of this layout"),
    ("node", "this node's number"),
    ("nodes", "nodes in the machine"),
    ("send_driver", "how to send: one of the DRIVER numbers"),
    ("register_page", "address of the registers"),
    ("packet_bytes", "bytes in a packet, header included"),
    ("header_bytes", "bytes of its header"),
    ("payload_bytes", "bytes of payload that fit"),
    ("block_bytes", "bytes in a coherence block"),
    ("send_queue", "address of the send queue"),
    ("send_entries", "messages that it holds; blocks, where it is cachable registers"),
    ("receive_queue", "address of the receive queue"),
    ("receive_entries", "messages that it holds; blocks, where it is cachable registers"),
    ("entry_bytes", "bytes of a queue's entry"),
    ("send_tail", "address of the send queue's tail pointer"),
    ("send_head", "address of the send queue's head pointer"),
    ("receive_head", "address of the receive queue's head pointer"),
    ("seed", "of the run"),
    ("receive_driver", "how to receive: one of the DRIVER numbers"),
    ("process", "this process's number on its node"),
    ("processes", "processes on each node"),
    ("node_memory", "address of the memory that the node's processes share"),
    ("node_memory_bytes", "bytes of it"),
    ("block_buffers", "address of the processor's block buffers"),
    ("colours_bytes", "addresses that differ by this fall on the same lines of the processor's data cache"),
];

/// Behind which general fact one stood in the first version, whose places
/// compiled programs know. Facts that are not here follow behind all others.
const PLACES_IN_VERSION_1: [(&str, &str); 3] = [
    ("message_ready", "receive_head"),
    ("overflows_to_memory", "message_ready"),
    ("dma_above", "block_buffers"),
];

/// Every fact, in the order of the page.
static FACTS: LazyLock<Vec<Fact>> = LazyLock::new(|| {
    let mut facts: Vec<Fact> = GENERAL.iter().map(|&(name, meaning)| Fact { name, meaning }).collect();
    let mut others = declarations::gathered(|programming| programming.facts);
    for (name, before) in PLACES_IN_VERSION_1 {
        let own = others.iter().position(|fact| fact.name == name).expect("a model declares it");
        let place = facts.iter().position(|fact| fact.name == before).expect("it is there");
        facts.insert(place + 1, others.remove(own));
    }
    facts.extend(others);
    facts
});

/// Every fact, in the order of the page.
pub fn facts() -> &'static [Fact] {
    &FACTS
}

/// The page of one process.
#[derive(Clone, Debug)]
pub struct InformationPage {
    words: Vec<u64>,
}

impl InformationPage {
    /// The page with what is known of the interface `name` as `process` has it: the
    /// layouts of its halves, or that of a whole device.
    pub fn of_interface(name: &Name, process: u8, layouts: &[Layout]) -> Self {
        let addresses = Addresses::of_process(process);
        let mut page = InformationPage { words: vec![0; FACTS.len()] };
        let entries = |layout: Option<&Layout>| layout.map_or(0, |layout| layout.entries);
        let own = layouts.iter().flat_map(|layout| &layout.facts).map(|&(fact, value)| (fact.name, value));
        // Both halves may know a fact: the larger value holds.
        for (fact, value) in own {
            page.set(fact, value.max(page.get(fact)));
        }
        let general = [
            ("magic", MAGIC),
            ("version", VERSION),
            ("send_driver", name.send.model.programming.driver.number),
            ("receive_driver", name.receive.model.programming.driver.number),
            ("register_page", addresses.register_page()),
            ("send_queue", addresses.send_queue()),
            ("send_entries", entries(layouts.first())),
            ("receive_queue", addresses.receive_queue()),
            ("receive_entries", entries(layouts.last())),
            ("send_tail", addresses.send_tail()),
            ("send_head", addresses.send_head()),
            ("receive_head", addresses.receive_head()),
            ("process", u64::from(process)),
            ("node_memory", NODE_MEMORY.start),
            ("node_memory_bytes", NODE_MEMORY.end - NODE_MEMORY.start),
            ("block_buffers", addresses.block_buffers()),
        ];
        page.with(&general)
    }

    /// The same page with further facts.
    ///
    /// # Panics
    /// If there is no such fact.
    pub fn with(mut self, facts: &[(&str, u64)]) -> Self {
        facts.iter().for_each(|&(name, value)| self.set(name, value));
        self
    }

    /// The page's doublewords, in order.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The value of a fact.
    ///
    /// # Panics
    /// If there is no such fact.
    pub fn get(&self, name: &str) -> u64 {
        self.words[place(name)]
    }

    fn set(&mut self, name: &str, value: u64) {
        self.words[place(name)] = value;
    }
}

fn place(name: &str) -> usize {
    let place = FACTS.iter().position(|fact| fact.name == name);
    place.unwrap_or_else(|| panic!("the information page has no fact '{name}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_stay_where_compiled_programs_look_for_them() {
        let places = [
            ("magic", 0),
            ("version", 1),
            ("send_driver", 4),
            ("receive_head", 17),
            ("message_ready", 18),
            ("overflows_to_memory", 19),
            ("seed", 20),
            ("receive_driver", 21),
            ("block_buffers", 26),
            ("dma_above", 27),
        ];
        for (name, expected) in places {
            assert_eq!(place(name), expected, "{name}");
        }
    }

    #[test]
    fn a_model_fills_its_own_facts_and_the_larger_of_two_values_holds() {
        let name: Name = "(CNI512Q)S(NI64w+Udma)R".parse().unwrap();
        let own = |facts: &[(&str, u64)]| Layout {
            facts: facts.iter().map(|&(name, value)| (facts_by_name(name), value)).collect(),
            ..Layout::default()
        };
        let layouts = [own(&[("message_ready", 1), ("dma_above", 8)]), own(&[("dma_above", 96)])];
        let page = InformationPage::of_interface(&name, 1, &layouts).with(&[("nodes", 16)]);
        let found = ["message_ready", "dma_above", "nodes", "send_driver", "receive_driver", "process"];
        assert_eq!(found.map(|name| page.get(name)), [1, 96, 16, 2, 4, 1]);
    }

    fn facts_by_name(name: &str) -> Fact {
        facts()[place(name)]
    }

    #[test]
    #[should_panic(expected = "no fact 'sead'")]
    fn a_fact_that_does_not_exist_is_not_filled_in_silently() {
        let name: Name = "NI2w".parse().unwrap();
        let layouts = [Layout::default(), Layout::default()];
        let _ = InformationPage::of_interface(&name, 0, &layouts).with(&[("sead", 1)]);
    }
}
