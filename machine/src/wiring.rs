//! From the shape of a node to its interconnects: what sits where, and which part
//! answers for each address.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;

use narthex_interfaces::{Device, DeviceSeat};
use narthex_kernel::{Clock, Duration};
use narthex_memory::bridge::{self, Bridge, Timing};
use narthex_memory::bus::{self, Bus};
use narthex_memory::interconnects::bridged_bus::BridgedBus;
use narthex_memory::interconnects::private_path::PrivatePath;
use narthex_memory::interconnects::snooping_bus::SnoopingBus;
use narthex_memory::interconnects::{
    AddressMap, Home, Interconnect, InterconnectId, MemoryId, Names, Overlap, Seat, Seats,
};
use narthex_memory::{AgentId, Kind};

use crate::config;

/// An interconnect of a node, before it is built.
#[derive(Clone, Debug)]
pub struct InterconnectShape {
    /// The name in reports: "memory bus".
    pub name: String,
    /// What it is.
    pub kind: InterconnectKind,
}

/// The kinds of interconnect, with their parameters.
#[derive(Clone, Debug)]
pub enum InterconnectKind {
    /// A snooping bus.
    SnoopingBus(bus::Config),
    /// A bus behind a bridge on another bus, whose parameters come first.
    BridgedBus(InterconnectId, bus::Config, bridge::Config),
    /// A processor's path to a device, and the processor's cycle.
    PrivatePath(config::PrivatePath, Duration),
}

/// What sits where in a node.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its interconnects; the number of each is its place. A bus stands before
    /// those behind a bridge on it.
    pub interconnects: Vec<InterconnectShape>,
    /// For each processor, the interconnects on which it sits.
    pub processors: Vec<Vec<InterconnectId>>,
    /// For each memory, where it is.
    pub memories: Vec<InterconnectId>,
    /// For each device, where each of its seats is.
    pub devices: Vec<Vec<InterconnectId>>,
    /// Bytes in a coherence block.
    pub block_bytes: usize,
}

/// A seat of a device with its number among the agents, and where it is.
struct PlacedSeat {
    agent: AgentId,
    on: InterconnectId,
    seat: DeviceSeat,
}

impl Shape {
    /// The node's interconnects with everything that sits on them.
    ///
    /// # Errors
    /// If two parts answer for one address.
    pub fn wire(&self, devices: &[&dyn Device]) -> Result<Vec<Interconnect>, String> {
        let seats = self.placed_seats(devices);
        let mut maps = vec![AddressMap::default(); self.interconnects.len()];
        // Those behind bridges first: what is there is beyond the bridge from above.
        for number in (0..self.interconnects.len()).rev() {
            let on = InterconnectId(number as u8);
            maps[number] = self.address_map(on, &seats)?;
        }
        let wired = self.interconnects.iter().zip(maps).enumerate();
        Ok(wired
            .map(|(number, (shape, map))| self.build(InterconnectId(number as u8), shape, &seats, map))
            .collect())
    }

    fn placed_seats(&self, devices: &[&dyn Device]) -> Vec<PlacedSeat> {
        let places = devices.iter().zip(&self.devices);
        let seats = places.flat_map(|(device, on)| device.seats().into_iter().zip(on));
        let place = |(number, (seat, &on)): (usize, (DeviceSeat, &InterconnectId))| PlacedSeat {
            agent: AgentId((self.processors.len() + number) as u8),
            on,
            seat,
        };
        seats.enumerate().map(place).collect()
    }

    /// The interconnect above, of one behind a bridge.
    fn above(&self, on: InterconnectId) -> Option<InterconnectId> {
        match self.interconnects[usize::from(on.0)].kind {
            InterconnectKind::BridgedBus(above, ..) => Some(above),
            InterconnectKind::SnoopingBus(_) | InterconnectKind::PrivatePath(..) => None,
        }
    }

    /// The interconnect behind a bridge on this one.
    fn behind(&self, on: InterconnectId) -> Option<InterconnectId> {
        let all = (0..self.interconnects.len()).map(|number| InterconnectId(number as u8));
        all.into_iter().find(|&other| self.above(other) == Some(on))
    }

    /// Which part answers for each address on an interconnect.
    fn address_map(&self, on: InterconnectId, seats: &[PlacedSeat]) -> Result<AddressMap, String> {
        let mut map = match self.memories.iter().position(|&memory| memory == on) {
            Some(memory) => AddressMap::default().with_rest(Home::Memory(MemoryId(memory as u8))),
            None => AddressMap::default(),
        };
        for placed in seats {
            let home = match placed.on {
                here if here == on => Home::Agent(placed.agent),
                there if self.above(there) == Some(on) => Home::Beyond(there),
                _ => continue,
            };
            for range in claimed(&placed.seat) {
                map.add(range, home).map_err(|Overlap { range, .. }| {
                    let DeviceSeat { name, .. } = &placed.seat;
                    let Range { start, end } = range;
                    format!("{name} and another part both answer for the addresses {start:#x} to {end:#x}")
                })?;
            }
        }
        Ok(map)
    }

    /// The agents on an interconnect, processors first.
    fn seats(&self, on: InterconnectId, seats: &[PlacedSeat]) -> Seats {
        let sits = |places: &Vec<InterconnectId>| places.contains(&on);
        let processors = self.processors.iter().enumerate().filter(|(_, places)| sits(places));
        let processors = processors.map(|(index, _)| Seat::of_processor(AgentId(index as u8)));
        let devices = seats.iter().filter(|placed| placed.on == on);
        let devices = devices.map(|placed| Seat::of_device(placed.agent, placed.seat.concern.clone()));
        Seats::new(processors.chain(devices).collect())
    }

    fn build(
        &self,
        on: InterconnectId,
        shape: &InterconnectShape,
        seats: &[PlacedSeat],
        map: AddressMap,
    ) -> Interconnect {
        let names = Names { name: interned(&shape.name), prefix: self.prefix(on, &shape.name) };
        let seats = self.seats(on, seats);
        match &shape.kind {
            InterconnectKind::SnoopingBus(config) => {
                let bus = SnoopingBus::new(names, Bus::new(config, self.block_bytes), seats, map);
                match self.behind(on) {
                    Some(behind) => bus.with_bridge(bridge_agent(behind), behind).into(),
                    None => bus.into(),
                }
            }
            InterconnectKind::BridgedBus(above, upper, config) => {
                let parts = (Bridge::new(config), Timing::new(upper, config, self.block_bytes));
                BridgedBus::new(names, (*above, bridge_agent(on)), parts, seats, map).into()
            }
            InterconnectKind::PrivatePath(path, cycle) => {
                let bus = Bus::with_occupancy(Clock::with_period(*cycle), |kind| {
                    u64::from(match kind {
                        Kind::UncachedLoad => path.uncached_load_cycles,
                        Kind::UncachedStore => path.uncached_store_cycles,
                        _ => 0,
                    })
                });
                PrivatePath::new(names, bus, seats, map).into()
            }
        }
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

/// The addresses for which a seat answers.
fn claimed(seat: &DeviceSeat) -> impl Iterator<Item = Range<u64>> {
    seat.registers.iter().chain(&seat.homes).cloned()
}

/// The agent that a bridge is on both its buses: behind all others.
fn bridge_agent(behind: InterconnectId) -> AgentId {
    AgentId(u8::MAX - (behind.0 - 1))
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
