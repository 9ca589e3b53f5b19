//! An interconnect with everything that sits on it, from its shape.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;

use narthex_interfaces::DevicePort;
use narthex_memory::AgentId;
use narthex_memory::interconnects::{
    Above, AddressMap, AgentPort, AgentPorts, Home, Interconnect, InterconnectId, MemoryId, Names, Overlap,
    Site, Tiles,
};
use narthex_memory::third_level::ddio::Agents;

use super::{InterconnectShape, PlacedPort, Shape};

impl Shape {
    /// Which part answers for each address on an interconnect.
    pub(super) fn address_map(&self, on: InterconnectId, ports: &[PlacedPort]) -> Result<AddressMap, String> {
        let mut map = AddressMap::default();
        let shared = |Overlap { range: Range { start, end }, .. }: Overlap, name: &str| {
            format!("{name} and another part both answer for the addresses {start:#x} to {end:#x}")
        };
        for (number, place) in (0..).zip(&self.memories).filter(|(_, place)| place.on.contains(&on)) {
            let home = Home::Memory(MemoryId(number));
            match &place.range {
                None => map = map.with_rest(home),
                Some(range) => {
                    let name = &self.interconnects[usize::from(on.0)].name;
                    let memory = format!("a memory on the {name}");
                    map.add(range.clone(), home).map_err(|overlap| shared(overlap, &memory))?;
                }
            }
        }
        for placed in ports {
            let own = Home::Agent(placed.agent);
            let [of_registers, of_blocks] = match placed.on {
                _ if self.answers(placed, on) => [own; 2],
                // The directory knows the copies of its blocks.
                there if self.caches_behind(there, on) => [self.bridge_home(there), own],
                there if self.above(there) == Some(on) => [self.bridge_home(there); 2],
                _ => continue,
            };
            let DevicePort { registers, homes, name, .. } = &placed.port;
            let registers = registers.iter().map(|range| (range, of_registers));
            for (range, home) in registers.chain(homes.iter().map(|range| (range, of_blocks))) {
                map.add(range.clone(), home).map_err(|overlap| shared(overlap, name))?;
            }
        }
        Ok(map)
    }

    /// The home above of what is behind a bridge.
    fn bridge_home(&self, behind: InterconnectId) -> Home {
        match self.is_link(behind) {
            true => Home::Agent(AgentId::of_bridge(behind)),
            false => Home::Beyond(behind),
        }
    }

    /// Whether an interconnect is a link, whose bridge is an agent above.
    fn is_link(&self, behind: InterconnectId) -> bool {
        self.interconnects[usize::from(behind.0)].is_link
    }

    /// The links behind this one.
    fn links_behind(&self, on: InterconnectId) -> impl Iterator<Item = InterconnectId> {
        self.behind(on).filter(|&behind| self.is_link(behind))
    }

    /// The ports whose agents are on an interconnect: those of devices there, and behind links on it that let
    /// devices cache.
    pub(super) fn agents_here<'a>(
        &'a self,
        on: InterconnectId,
        ports: &'a [PlacedPort],
    ) -> impl Iterator<Item = &'a PlacedPort> + Clone {
        ports.iter().filter(move |placed| placed.on == on || self.caches_behind(placed.on, on))
    }

    /// Whether an interconnect is a link on another one that lets devices cache.
    fn caches_behind(&self, link: InterconnectId, on: InterconnectId) -> bool {
        let shape = &self.interconnects[usize::from(link.0)];
        shape.seat.caches() && shape.above == Some(on)
    }

    /// The agents that stand for the devices on these interconnects: their own on a directory or behind a link
    /// that lets them cache, the bridge's for what is behind another one.
    pub fn agents_of_devices(&self, names: &[String]) -> Agents {
        let named = self.interconnects.iter().zip(0..).filter(|(shape, _)| names.contains(&shape.key));
        let places = self.devices.iter().flatten().zip(self.processors.len() as u8..);
        let agents = named.flat_map(|(shape, number)| match shape.above {
            Some(_) if shape.seat.caches() => {
                let here = places.clone().filter(|(on, _)| on.0 == number);
                here.map(|(_, agent)| AgentId(agent)).collect()
            }
            Some(_) => Vec::from([AgentId::of_bridge(InterconnectId(number))]),
            None => {
                let first_bridge = u8::MAX - self.interconnects.len() as u8 + 1;
                (self.processors.len() as u8..first_bridge).map(AgentId).collect()
            }
        });
        agents.collect()
    }

    /// The agents on an interconnect, processors first.
    fn ports(&self, on: InterconnectId, ports: &[PlacedPort]) -> AgentPorts {
        let sits = |places: &Vec<InterconnectId>| places.contains(&on);
        let processors = self.processors.iter().enumerate().filter(|(_, places)| sits(places));
        let processors = processors.map(|(index, _)| AgentPort::of_processor(AgentId(index as u8)));
        let owners_refuse = self.owners_refuse(on, ports);
        let processors = processors.map(|port| AgentPort { refuses: owners_refuse, ..port });
        let here = || ports.iter().filter(|placed| placed.on == on);
        let hides = here().any(|placed| placed.port.hides_engines);
        let is_hidden = |placed: &PlacedPort| hides && placed.port.is_engine && !placed.port.hides_engines;
        // An engine that no cache sees does not see them either: it would take a processor's
        // claim of a block for one of the bytes that it is about to write there.
        let concern =
            |placed: &PlacedPort| if is_hidden(placed) { 0..0 } else { placed.port.concern.clone() };
        let devices = self.agents_here(on, ports).map(|placed| AgentPort {
            refuses: placed.port.refuses || placed.port.is_coherent && owners_refuse,
            holds: placed.port.holds,
            ..AgentPort::of_device(placed.agent, concern(placed))
        });
        let bridges = self.links_behind(on).map(|behind| AgentPort {
            holds: true,
            ..AgentPort::of_device(AgentId::of_bridge(behind), 0..0)
        });
        let hidden = here().filter(|placed| is_hidden(placed)).map(|placed| placed.agent).collect();
        AgentPorts::new(processors.chain(devices).chain(bridges).collect()).hiding(hidden)
    }

    pub(super) fn build(
        &self,
        on: InterconnectId,
        shape: &InterconnectShape,
        ports: &[PlacedPort],
        homes: AddressMap,
    ) -> Interconnect {
        let tiles = ports.iter().filter(|placed| placed.on == on).find_map(|placed| {
            let addresses = placed.port.of_tile.clone()?;
            Some(Tiles { addresses, first_port: placed.agent })
        });
        let memories = (0..).map(MemoryId).zip(&self.memories);
        let of_all = memories.filter(|(_, place)| place.range.is_none() && place.on.contains(&on));
        let plan_above = |above: InterconnectId| self.interconnects[usize::from(above.0)].plan.clone();
        let others_behind = self.behind(on).filter(|&behind| !self.is_link(behind));
        let site = Site {
            names: Names { name: interned(&shape.name), prefix: self.prefix(on, &shape.name) },
            ports: self.ports(on, ports),
            homes,
            controllers: of_all.flat_map(|(memory, place)| vec![memory; place.at.len()]).collect(),
            sockets: self.sockets.clone(),
            tiles,
            bridges: others_behind.map(|behind| (AgentId::of_bridge(behind), behind)).collect(),
            links: ports
                .iter()
                .filter(|placed| self.caches_behind(placed.on, on))
                .map(|placed| (placed.agent, placed.on))
                .collect(),
            above: shape.above.map(|above| Above {
                on: above,
                plan: plan_above(above),
                bridge: AgentId::of_bridge(on),
            }),
            block_bytes: self.block_bytes,
        };
        shape.plan.build(site)
    }

    /// What is put in front of the names of an interconnect's statistics: its
    /// name's first word, but for the first interconnect.
    fn prefix(&self, on: InterconnectId, name: &str) -> &'static str {
        if on == InterconnectId(0) {
            return "";
        }
        let word = name.split_whitespace().next().unwrap_or_default().to_lowercase();
        let word: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
        interned(&format!("{word}_"))
    }
}

/// A name for as long as the process lives: there are as many as machines' files
/// have.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().expect("no thread stops with the names");
    if let Some(known) = names.get(name) {
        return known;
    }
    let known: &'static str = Box::leak(name.into());
    names.insert(known);
    known
}
