//! What an interconnect must carry for the seats of devices on it: coherence, refusals, tiles.

use narthex_interfaces::Device;
use narthex_memory::directory::protocols;
use narthex_memory::interconnects::InterconnectId;

use super::{PlacedSeat, Shape, learns_from_others, needs_a_bus};

/// The most agents of a node, all of which have numbers.
const MOST_AGENTS: usize = u8::MAX as usize + 1;

impl Shape {
    /// Coherent devices are where all that they cache is seen.
    pub(super) fn check_coherent_seats(&self, seats: &[PlacedSeat]) -> Result<(), String> {
        for placed in seats.iter().filter(|placed| placed.seat.is_coherent) {
            let shape = &self.interconnects[usize::from(placed.on.0)];
            if !shape.admits.coherent_devices {
                let (device, path) = (&placed.seat.name, &shape.name);
                return Err(format!("{device} takes part in coherence, which the {path} does not carry"));
            }
            if self.without_caches.contains(&placed.on) && !placed.seat.is_engine {
                let (device, bus) = (&placed.seat.name, &shape.name);
                return Err(format!(
                    "{device} takes part in coherence on the {bus}, whose processor has no caches: it would \
                     not see what that writes to its memory"
                ));
            }
        }
        Ok(())
    }

    /// Whether the owners of dirty blocks refuse transactions on an interconnect: as a device
    /// on it says, else as the machine does.
    pub(super) fn owners_refuse(&self, on: InterconnectId, seats: &[PlacedSeat]) -> bool {
        let here = seats.iter().filter(|placed| placed.on == on);
        let said = here.filter_map(|placed| placed.seat.dirty_owner).next();
        self.interconnects[usize::from(on.0)].plan.owners_refuse(said)
    }

    /// Agents may refuse transactions where the interconnect lets them.
    pub(super) fn check_refusals(&self, on: InterconnectId, seats: &[PlacedSeat]) -> Result<(), String> {
        let shape = &self.interconnects[usize::from(on.0)];
        let refusing = seats.iter().find(|placed| placed.on == on && placed.seat.refuses);
        if refusing.is_none() && !self.owners_refuse(on, seats) {
            return Ok(());
        }
        let device = refusing.map_or("the owner of a dirty block", |placed| &placed.seat.name);
        match shape.plan.lacks_refusals(&shape.name, self.behind(on).next().is_some()) {
            Some(lack) => Err(format!("{device} {lack}")),
            None => Ok(()),
        }
    }

    /// A directory tells an agent of others' transactions only if it has a copy, and a bridge on it nothing. Interfaces
    /// that have some, or blocks of their own, learn more than that on a bus, and need it.
    pub(super) fn check_directory(
        &self,
        on: InterconnectId,
        seats: &[PlacedSeat],
        devices: &[&dyn Device],
    ) -> Result<(), String> {
        let shape = &self.interconnects[usize::from(on.0)];
        let Some(table) = shape.plan.table() else { return Ok(()) };
        let is_here = |&place: &InterconnectId| place == on || self.above(place) == Some(on);
        for (device, _) in devices.iter().zip(&self.devices).filter(|(_, places)| places.iter().any(is_here))
        {
            if learns_from_others(&**device) {
                let seats = device.seats();
                let device = seats.first().map_or("a device", |seat| &seat.name);
                return Err(format!("{device} {}", needs_a_bus(&shape.name)));
            }
        }
        let protocol = table.stable;
        let coherent = seats.iter().find(|placed| placed.on == on && placed.seat.is_coherent);
        match coherent.filter(|_| !protocol.is_coherent()) {
            None => Ok(()),
            Some(placed) => Err(format!(
                "{} takes part in coherence, which data_cache.protocol = {:?} does not keep; expected one of {}, or \
                 an interface that is reached by uncached accesses",
                placed.seat.name,
                protocol.name,
                protocols::coherent().join(", ")
            )),
        }
    }

    /// Parts of a device are in tiles on a directory alone, and agents have numbers.
    pub(super) fn check_tiles(&self, seats: &[PlacedSeat]) -> Result<(), String> {
        let of_tile = seats.iter().find(|placed| placed.seat.of_tile.is_some());
        if let Some(PlacedSeat { on, seat, .. }) = of_tile
            && !self.interconnects[usize::from(on.0)].admits.tiles
        {
            let (device, bus) = (&seat.name, &self.interconnects[usize::from(on.0)].name);
            return Err(format!("{device} is a part of a tile on a network on chip, and is on the {bus}"));
        }
        let agents = self.processors.len() + self.devices.iter().map(Vec::len).sum::<usize>();
        if agents > MOST_AGENTS {
            let processors = self.processors.len();
            return Err(format!(
                "a node with {processors} processors and {} seats of devices has {agents} agents; at most \
                 {MOST_AGENTS} are allowed: expected fewer processors (machine.processors_per_node) or processes",
                agents - processors
            ));
        }
        Ok(())
    }
}
