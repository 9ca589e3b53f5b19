//! The sockets of an interface's queues, on a node that has several.
//!
//! ```toml
//! [node.interface]
//! on = ["directory"]
//! at = 80                     # a place of the second socket's mesh
//! queue_homes = "writer"
//! ```
//!
//! | `queue_homes` | what the processor writes | what the interface writes |
//! | --- | --- | --- |
//! | `"writer"` | the processor's socket | the interface's |
//! | `"reader"` | the interface's | the processor's |
//! | `"processor"` | the processor's | the processor's |
//! | `"interface"` | the interface's | the interface's |
//! | not given | the first process's | the first process's |
//!
//! The processor's socket is that of its process's first processor, the interface's that of its place. A block that
//! is there has its directory entry, its slice of the last level and its memory there. CC-NIC (Schuh et al., ASPLOS
//! 2024) emulates an interface on the second socket of a server, and homes blocks at the writer.
//!
//! Only blocks of main memory are meant. A block whose home is the interface itself is where that is.

use std::ops::Range;

use narthex_fabrics::topologies::Topology;
use narthex_interfaces::address_names::RegionParts;
use narthex_interfaces::description::Layout;
use narthex_interfaces::{Attached, Device};
use narthex_memory::sockets::Sockets;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MachineConfig;
use super::node::{Broken, broken};

/// The key.
const KEY: &str = "node.interface.queue_homes";

/// At which socket the queues of an interface are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueHomes {
    /// Each block at that of who writes it.
    Writer,
    /// Each block at that of who reads it.
    Reader,
    /// All at the processor's.
    Processor,
    /// All at the interface's.
    Interface,
}

impl QueueHomes {
    /// How a machine's file says it.
    fn text(self) -> &'static str {
        match self {
            QueueHomes::Writer => "writer",
            QueueHomes::Reader => "reader",
            QueueHomes::Processor => "processor",
            QueueHomes::Interface => "interface",
        }
    }

    /// The socket of a block, of the processor's and the interface's.
    fn choose(self, written_by_interface: bool, processor: u8, interface: u8) -> u8 {
        let at_interface = match self {
            QueueHomes::Writer => written_by_interface,
            QueueHomes::Reader => !written_by_interface,
            QueueHomes::Processor => false,
            QueueHomes::Interface => true,
        };
        if at_interface { interface } else { processor }
    }
}

impl MachineConfig {
    /// Queues have a socket where there are several.
    pub(super) fn queue_home_problem(&self) -> Option<Broken> {
        let homes = self.node.interface.queue_homes?;
        let has_sockets = self.network_on_chip.as_ref().is_some_and(|network| network.sockets.is_some());
        (!has_sockets).then(|| {
            let message = format!(
                "{:?} has no meaning on a node of one socket; expected [network_on_chip.sockets], as the machine \
                 server has it",
                homes.text()
            );
            broken(KEY, message)
        })
    }

    /// Why the machine's file cannot say where the queues of an interface are, if it does so.
    pub(super) fn lacks_queues(&self, chosen: &Attached, device: &dyn Device) -> Option<String> {
        let homes = self.node.interface.queue_homes?;
        let layouts: Vec<Layout> = layouts_of_processes(device).flat_map(|(_, layouts)| layouts).collect();
        let is_home = layouts.iter().any(|layout| !layout.home.is_empty());
        if layouts.iter().any(has_queue_in_memory) || is_home && homes == QueueHomes::Interface {
            return None;
        }
        let own = if is_home { "\"interface\", which is the home of its blocks, " } else { "" };
        Some(format!(
            "'{chosen}' has no queue in main memory to which {KEY} = {:?} could give a home; expected {own}no such key, or \
             an interface such as CNI0Qm, CNI32Qm, Ring or CoherentRing",
            homes.text()
        ))
    }

    /// The sockets of a node with these interfaces, the one that the run chooses first.
    pub(crate) fn sockets_with_queues(
        &self,
        chosen: &Attached,
        interfaces: &[Box<dyn Device>],
    ) -> Option<Sockets> {
        let sockets = self.sockets()?;
        let Some(homes) = self.node.interface.queue_homes else { return Some(sockets) };
        let further = self.node.further_interfaces().map(|further| further.at);
        let places = std::iter::once(self.place_of_interface(chosen)).chain(further);
        let mut placed = Vec::new();
        for (device, place) in interfaces.iter().zip(places) {
            let interface = self.socket_of_place(place);
            for (process, layouts) in layouts_of_processes(&**device) {
                let choose = |by| homes.choose(by, sockets.of_process(process), interface);
                placed.extend(
                    parts(&layouts).into_iter().map(|(part, by_interface)| (part, choose(by_interface))),
                );
            }
        }
        placed.sort_by_key(|(part, _)| part.start);
        Some(sockets.with_placed(placed))
    }

    /// The place of the interface that a run chooses on the network on chip.
    pub(crate) fn place_of_interface(&self, chosen: &Attached) -> u16 {
        let interface = &self.node.interface;
        let ports = interface.ports.get(chosen.name.send.model.section);
        ports.map_or(interface.at, |part| part.at).unwrap_or_default() as u16
    }

    /// The socket of a place; the first one where there are no others.
    fn socket_of_place(&self, place: u16) -> u8 {
        let network = self.network_on_chip.as_ref();
        let sockets = network.and_then(|network| Some((network, network.sockets.as_ref()?)));
        sockets.map_or(0, |(network, sockets)| sockets.of_place(place.into(), network.topology.places()))
    }
}

/// The processes that a device serves, and what each has of it.
fn layouts_of_processes(device: &dyn Device) -> impl Iterator<Item = (u8, Vec<Layout>)> {
    let mut processes: Vec<u8> = device.ports().iter().map(|port| port.process).collect();
    processes.dedup();
    processes.into_iter().map(|process| (process, device.layouts(process)))
}

/// Whether one of its queues is in main memory, its pointers aside.
fn has_queue_in_memory(layout: &Layout) -> bool {
    let is_home = |address| layout.home.iter().any(|home| home.contains(&address));
    let mut queues = layout.regions.iter().filter(|region| region.parts != RegionParts::None);
    queues.any(|region| !is_home(region.addresses.start))
}

/// The addresses of a process's queues, in order, and whether the interface writes them.
fn parts(layouts: &[Layout]) -> Vec<(Range<u64>, bool)> {
    let ranges =
        || layouts.iter().flat_map(|layout| layout.cachable.iter().chain(&layout.written_by_interface));
    let mut bounds: Vec<u64> = ranges().flat_map(|range| [range.start, range.end]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let is_in = |ranges: &[Range<u64>], address| ranges.iter().any(|range| range.contains(&address));
    let between = bounds.windows(2).map(|ends| ends[0]..ends[1]);
    let used = between.filter(|part| layouts.iter().any(|layout| is_in(&layout.cachable, part.start)));
    let written =
        |part: &Range<u64>| layouts.iter().any(|layout| is_in(&layout.written_by_interface, part.start));
    used.map(|part| (part.clone(), written(&part))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{load, load_text};

    /// `server` with the interface at a place, and its queues there.
    fn server(at: u32, homes: &str) -> MachineConfig {
        let text = format!("base = \"server\"\n[node.interface]\nat = {at}\nqueue_homes = \"{homes}\"\n");
        load_text("second-socket", &text).expect("a machine").config.clone()
    }

    /// The sockets of (the send queue, the receive queue).
    fn homes(interface: &str, queue_homes: &str) -> Result<(usize, usize), String> {
        use narthex_interfaces::registers::{RECEIVE_QUEUE, SEND_QUEUE};
        let (config, chosen) = (server(80, queue_homes), interface.parse().expect("a name"));
        let built = config.build_interfaces(&chosen)?;
        let sockets = config.sockets_with_queues(&chosen, &built).expect("two sockets");
        Ok((sockets.of_home(SEND_QUEUE), sockets.of_home(RECEIVE_QUEUE)))
    }

    #[test]
    fn a_queue_is_at_the_socket_of_who_writes_or_reads_it() {
        let of = |homes_at| homes("CNI0Qm", homes_at).expect("it has queues in memory");
        assert_eq!(["writer", "reader", "processor", "interface"].map(of), [(0, 1), (1, 0), (0, 0), (1, 1)]);
        let interface = "CoherentRing".parse().expect("a name");
        let config = server(80, "writer");
        let built = config.build_interfaces(&interface).expect("it has rings in memory");
        let [_, receive] = &built[0].layouts(0)[..] else { panic!("two halves") };
        let sockets = config.sockets_with_queues(&interface, &built).expect("two sockets");
        let [empty, buffers, _] = &receive.regions[..] else { panic!("two rings and buffers") };
        let of = [empty, buffers].map(|region| sockets.of_home(region.addresses.start));
        assert_eq!(of, [0, 1], "the processor writes the ring of empty buffers");
    }

    #[test]
    fn homes_without_a_queue_or_a_socket_are_refused() {
        let refused = |interface, at| homes(interface, at).expect_err("it has no queue in memory");
        assert!(refused("NI2w", "interface").contains("queue_homes = \"interface\" could give a home"));
        assert!(refused("CNI512Q", "writer").contains("expected \"interface\", which is the home"));
        assert_eq!(homes("CNI512Q", "interface").map(|_| ()), Ok(()));
        let text = load("chip").expect("a preset").to_toml().replacen(
            "[node.interface]",
            "[node.interface]\nqueue_homes = \"reader\"",
            1,
        );
        let problem = load_text("chip", &text).expect_err("one socket").to_string();
        assert!(problem.contains("has no meaning on a node of one socket"), "{problem}");
    }
}
