//! What an interconnect must carry for the ports of devices on it: coherence, refusals, tiles.

use narthex_interfaces::Device;
use narthex_memory::directory::{MOST_HOLDERS, protocols};
use narthex_memory::interconnects::InterconnectId;

use super::{PlacedPort, Seat, Shape, keeps_blocks, lacks_a_bus};

/// The most agents of a node, all of which have numbers.
const MOST_AGENTS: usize = u8::MAX as usize + 1;

impl Shape {
    /// Coherent devices are where all that they cache is seen.
    pub(super) fn check_coherent_ports(&self, ports: &[PlacedPort]) -> Result<(), String> {
        for placed in ports.iter().filter(|placed| placed.port.is_coherent) {
            let shape = &self.interconnects[usize::from(placed.on.0)];
            if !shape.admits.coherent_devices {
                let (device, path) = (&placed.port.name, &shape.name);
                return Err(format!("{device} takes part in coherence, which the {path} does not carry"));
            }
            if self.without_caches.contains(&placed.on) && !placed.port.is_engine {
                let (device, bus) = (&placed.port.name, &shape.name);
                return Err(format!(
                    "{device} takes part in coherence on the {bus}, whose processor has no caches: it would \
                     not see what that writes to its memory"
                ));
            }
        }
        Ok(())
    }

    /// An answer that waits for a transaction of the port's own comes on a directory, or behind a link whose devices
    /// may hold answers: an access that is held keeps a bus.
    pub(super) fn check_holding_ports(&self, ports: &[PlacedPort]) -> Result<(), String> {
        for placed in ports.iter().filter(|placed| placed.port.holds && placed.port.is_coherent) {
            let shape = &self.interconnects[usize::from(placed.on.0)];
            if shape.plan.table().is_none() && shape.seat != (Seat::BehindCachingLink { holds: true }) {
                let (device, bus) = (&placed.port.name, &shape.name);
                return Err(format!(
                    "{device} may hold an access until a transaction of its own is over, which the {bus} carries after \
                     that access; expected a place on a directory, as on the machine chip or server"
                ));
            }
        }
        Ok(())
    }

    /// Whether the owners of dirty blocks refuse transactions on an interconnect: as a device
    /// on it says, else as the machine does.
    pub(super) fn owners_refuse(&self, on: InterconnectId, ports: &[PlacedPort]) -> bool {
        let here = ports.iter().filter(|placed| placed.on == on);
        let said = here.filter_map(|placed| placed.port.dirty_owner).next();
        self.interconnects[usize::from(on.0)].plan.owners_refuse(said)
    }

    /// Agents may refuse transactions where the interconnect lets them.
    pub(super) fn check_refusals(&self, on: InterconnectId, ports: &[PlacedPort]) -> Result<(), String> {
        let shape = &self.interconnects[usize::from(on.0)];
        let refusing = ports.iter().find(|placed| placed.on == on && placed.port.refuses);
        if refusing.is_none() && !self.owners_refuse(on, ports) {
            return Ok(());
        }
        let device = refusing.map_or("the owner of a dirty block", |placed| &placed.port.name);
        match shape.plan.lacks_refusals(&shape.name, self.behind(on).next().is_some()) {
            Some(lack) => Err(format!("{device} {lack}")),
            None => Ok(()),
        }
    }

    /// A directory records the copies of a limited number of agents, and tells each agent only of its
    /// own blocks.
    pub(super) fn check_directory(
        &self,
        on: InterconnectId,
        ports: &[PlacedPort],
        devices: &[&dyn Device],
    ) -> Result<(), String> {
        let shape = &self.interconnects[usize::from(on.0)];
        let Some(table) = shape.plan.table() else { return Ok(()) };
        let mut rest = ports;
        for (device, places) in devices.iter().zip(&self.devices) {
            let (own, further) = rest.split_at(places.len());
            rest = further;
            self.check_on_directory(on, *device, own)?;
        }
        let protocol = table.stable;
        let coherent = self.agents_here(on, ports).find(|placed| placed.port.is_coherent);
        match coherent.filter(|_| !protocol.is_coherent()) {
            None => Ok(()),
            Some(placed) => Err(format!(
                "{} takes part in coherence, which data_cache.protocol = {:?} does not keep; expected one of {}, or \
                 an interface that is reached by uncached accesses",
                placed.port.name,
                protocol.name,
                protocols::coherent().join(", ")
            )),
        }
    }

    /// The same for a device with its ports.
    fn check_on_directory(
        &self,
        on: InterconnectId,
        device: &dyn Device,
        ports: &[PlacedPort],
    ) -> Result<(), String> {
        let directory = &self.interconnects[usize::from(on.0)].name;
        let is_behind = |placed: &&PlacedPort| self.above(placed.on) == Some(on);
        let behind =
            ports.iter().find(is_behind).map(|placed| self.interconnects[usize::from(placed.on.0)].seat);
        let mut here = self.agents_here(on, ports);
        let seat = behind.or_else(|| here.clone().next().map(|_| Seat::OnIt));
        if let Some(lack) = seat.and_then(|seat| lacks_a_bus(device, directory, seat)) {
            let name = ports.first().map_or("a device", |placed| &placed.port.name);
            return Err(format!("{name} {lack}"));
        }
        match here.find(|placed| keeps_blocks(device) && usize::from(placed.agent.0) >= MOST_HOLDERS) {
            None => Ok(()),
            Some(PlacedPort { agent, port, .. }) => Err(format!(
                "{} would be agent {} of the {directory}, which knows the copies of the first {MOST_HOLDERS}; expected \
                 fewer processors (machine.processors_per_node) or processes",
                port.name,
                agent.0 + 1
            )),
        }
    }

    /// Parts of a device are in tiles on a directory alone, and agents have numbers.
    pub(super) fn check_tiles(&self, ports: &[PlacedPort]) -> Result<(), String> {
        let of_tile = ports.iter().find(|placed| placed.port.of_tile.is_some());
        if let Some(PlacedPort { on, port, .. }) = of_tile
            && !self.interconnects[usize::from(on.0)].admits.tiles
        {
            let (device, bus) = (&port.name, &self.interconnects[usize::from(on.0)].name);
            return Err(format!("{device} is a part of a tile on a network on chip, and is on the {bus}"));
        }
        let agents = self.processors.len() + self.devices.iter().map(Vec::len).sum::<usize>();
        if agents > MOST_AGENTS {
            let processors = self.processors.len();
            return Err(format!(
                "a node with {processors} processors and {} ports of devices has {agents} agents; at most \
                 {MOST_AGENTS} are allowed: expected fewer processors (machine.processors_per_node) or processes",
                agents - processors
            ));
        }
        Ok(())
    }
}
