//! From the shape of a node to its interconnects: what sits where, and which part
//! answers for each address. [`rules`] has what cannot be wired, [`interconnects`] what is built,
//! [`private_paths`] the path of each processor to an interface.

mod interconnects;
mod private_paths;
mod rules;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use narthex_cores::INTERRUPT_LINES;
use narthex_interfaces::description::Layout;
use narthex_interfaces::{Attached, Device, DevicePort};
use narthex_memory::interconnects::{Admits, Interconnect, InterconnectId, MemoryId, Plan};
use narthex_memory::sockets::Sockets;
use narthex_memory::{AgentId, Kind};

use crate::config::{MachineConfig, PROGRAM, ProcessorPart};
use crate::node::{InterruptLines, ProcessorPorts};

/// Where a device is, of a directory or of what is in front of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seat {
    /// On it.
    OnIt,
    /// Behind a bridge or a link, to which it forwards nothing.
    BehindBridge,
    /// Behind a link that lets devices keep copies, and perhaps hold requests for their own blocks.
    BehindCachingLink {
        /// Whether they may hold those.
        holds: bool,
    },
}

impl Seat {
    /// Whether it is behind a link that lets devices keep copies.
    pub fn caches(self) -> bool {
        matches!(self, Seat::BehindCachingLink { .. })
    }
}

/// An interconnect of a node, before it is built.
#[derive(Clone, Debug)]
pub struct InterconnectShape {
    /// Its name in the machine's file.
    pub key: String,
    /// The name in reports: "memory bus".
    pub name: String,
    /// What may sit on it.
    pub admits: Admits,
    /// The interconnect on which the bridge in front of it sits.
    pub above: Option<InterconnectId>,
    /// Whether it is a link, whose bridge is an agent above.
    pub is_link: bool,
    /// What its devices are to a directory.
    pub seat: Seat,
    /// The process of the processor whose own path to an interface it is.
    pub process: Option<u8>,
    /// What is built.
    pub plan: Arc<dyn Plan>,
}

/// What sits where in a node.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its interconnects; the number of each is its place. A bus stands before
    /// those behind a bridge on it.
    pub interconnects: Vec<InterconnectShape>,
    /// For each processor, the interconnects on which it sits.
    pub processors: Vec<Vec<InterconnectId>>,
    /// The interconnects of processors without caches.
    pub without_caches: Vec<InterconnectId>,
    /// For each memory, where it is.
    pub memories: Vec<MemoryPlace>,
    /// For each device, where each of its ports is.
    pub devices: Vec<Vec<InterconnectId>>,
    /// The sockets of its network on chip, where there are several.
    pub sockets: Option<Sockets>,
    /// Bytes in a coherence block.
    pub block_bytes: usize,
}

/// Where a memory is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryPlace {
    /// The interconnects on which it is.
    pub on: Vec<InterconnectId>,
    /// Its addresses; none if it has all that no other part has.
    pub range: Option<Range<u64>>,
    /// The places of its controllers on the network on chip, if it is on a directory.
    pub at: Vec<u16>,
}

/// A port of a device with its number among the agents, and where it is.
struct PlacedPort {
    agent: AgentId,
    on: InterconnectId,
    port: DevicePort,
}

impl MachineConfig {
    /// What sits where in a node with this interface, a device with this many ports.
    /// `further` has the interconnects of the ports of other devices.
    ///
    /// # Errors
    /// If the machine's file does not say where each port is, or a device is on an
    /// interconnect that the node lacks.
    pub fn shape(&self, interface: &Attached, ports: usize, further: &[&[String]]) -> Result<Shape, String> {
        let attachment = interface.attachment;
        let place = self.node.place(interface).ok_or_else(|| format!("the node has no {attachment}"))?;
        let place = match place[..] {
            [only] => vec![only; ports],
            _ if place.len() == ports => place,
            _ => {
                let count = place.len();
                let section = interface.name.send.model.section;
                let key = match self.node.interface.ports.contains_key(section) {
                    true => format!("ports.{section}.on"),
                    false => "on".into(),
                };
                return Err(format!(
                    "node.interface.{key} names {count} interconnects, and the interface has {ports} ports; \
                     expected one for all of them or one for each"
                ));
            }
        };
        let places: Vec<Vec<&str>> = std::iter::once(place.clone())
            .chain(further.iter().map(|on| on.iter().map(String::as_str).collect()))
            .collect();
        if let Some(name) = places.iter().flatten().find(|name| !self.node.interconnects.contains_key(**name))
        {
            let known: Vec<&str> = self.node.interconnects.keys().map(String::as_str).collect();
            return Err(format!("a device is on {name:?}; the node has {}", known.join(", ")));
        }
        let names = self.used_interconnects(&places.concat());
        let number = |name: &str| {
            let found = names.iter().position(|known| *known == name);
            InterconnectId(found.expect("a used interconnect") as u8)
        };
        let is_path = |name: &&str| self.node.interconnects[*name].admits().own_devices;
        let path = place.first().copied().filter(is_path);
        let of_processor = |part: &ProcessorPart| {
            let path = path.filter(|_| part.runs == PROGRAM);
            std::iter::once(part.on.as_str()).chain(path).map(number).collect()
        };
        let parts = self.processor_parts();
        let without_caches = parts.iter().filter(|(_, part)| !part.has_caches());
        let without_caches = without_caches.map(|(_, part)| number(&part.on)).collect();
        let processors = parts.iter().map(|(_, part)| of_processor(part));
        let shape = Shape {
            interconnects: names.iter().map(|name| self.interconnect_shape(name, &names, number)).collect(),
            processors: processors.collect(),
            without_caches,
            memories: self
                .node
                .memories
                .values()
                .map(|part| MemoryPlace {
                    on: part.on.names().iter().map(|on| number(on)).collect(),
                    range: part.range(),
                    at: part.at.iter().flatten().map(|place| *place as u16).collect(),
                })
                .collect(),
            devices: places.into_iter().map(|place| place.into_iter().map(number).collect()).collect(),
            sockets: self.sockets(),
            block_bytes: self.block().get() as usize,
        };
        Ok(match path {
            Some(path) => self.with_paths_apart(number(path), shape),
            None => shape,
        })
    }

    /// The processors of a node with their names: first those that run the program,
    /// one for each process.
    pub fn processor_parts(&self) -> Vec<(&str, &ProcessorPart)> {
        let hosts = vec![self.node.host(); self.machine.processors_per_node as usize];
        let others = self.node.processors.iter().filter(|(_, part)| part.runs != PROGRAM);
        hosts.into_iter().chain(others.map(|(name, part)| (name.as_str(), part))).collect()
    }

    /// The interconnects on which anything sits but a bridge, the host's first.
    fn used_interconnects(&self, place: &[&str]) -> Vec<&str> {
        let of_processors = self.node.processors.values().map(|part| part.on.as_str());
        let mut used: BTreeSet<&str> = of_processors.collect();
        used.extend(self.node.memories.values().flat_map(|part| part.on.names()).map(String::as_str));
        used.extend(place);
        used.extend(place.iter().filter_map(|name| self.node.behind(name)));
        self.node.interconnects_in_order().into_iter().filter(|name| used.contains(name)).collect()
    }

    fn interconnect_shape(
        &self,
        name: &str,
        used: &[&str],
        number: impl Fn(&str) -> InterconnectId,
    ) -> InterconnectShape {
        let rules = self.node.interconnects[name].rules();
        let plan = rules.plan(name, self);
        InterconnectShape {
            key: name.to_owned(),
            name: plan.reported_name(name, name == used[0]),
            admits: self.node.interconnects[name].admits(),
            above: rules.behind().map(number),
            is_link: rules.is_link(),
            seat: self.node.seat(name),
            process: None,
            plan,
        }
    }
}

/// The layouts of a device's halves; none of a device without halves.
fn layouts(device: &dyn Device) -> Vec<Layout> {
    device.ports().first().map_or_else(Vec::new, |port| device.layouts(port.process))
}

/// Whether a device keeps copies of blocks, or is the home of some.
fn keeps_blocks(device: &dyn Device) -> bool {
    let keeps = |kind: &Kind| kind.snoop().is_some() && !matches!(kind, Kind::ReadOnce | Kind::WriteBlock);
    layouts(device).iter().flat_map(|layout| &layout.transactions).any(keeps)
        || device.ports().iter().any(|port| !port.homes.is_empty())
}

/// Why a device cannot be on a directory of this name, or behind a bridge on it, as a message that
/// follows the device's name; none if it can.
///
/// A directory tells an agent of the transactions on blocks that it holds, or of which it is the
/// home, and of no others; it forwards none to a bridge, but for a link that lets devices cache. The half of an interface needs no more than
/// that.
pub fn lacks_a_bus(device: &dyn Device, directory: &str, seat: Seat) -> Option<String> {
    let listens_to_all = device.ports().iter().any(|port| port.concern == (0..u64::MAX));
    if listens_to_all && !layouts(device).iter().any(|layout| layout.snoops_all) {
        return Some(format!(
            "listens to all transactions, and a {directory} tells a device only of those on blocks that it holds or \
             is the home of; expected an interface such as NI2w, CNI4, CNI512Q or CNI32Qm, or a machine with a bus"
        ));
    }
    if let Seat::BehindCachingLink { holds } = seat {
        let is_held = device.ports().iter().any(|port| port.holds && !port.homes.is_empty());
        return (is_held && !holds).then(|| {
            "holds loads of its blocks until it has an answer, and the home of a block behind a CXL link answers each \
             request; expected a place on the directory itself or behind a coherent link, or an interface such as CNI4, \
             CNI512Q or CoherentRing"
                .into()
        });
    }
    (seat == Seat::BehindBridge && keeps_blocks(device)).then(|| {
        format!(
            "keeps copies of blocks, or is the home of some, and a {directory} forwards nothing to a device behind a \
             bridge; expected a place on the {directory} itself, an interface that does neither, such as NI2w, \
             NI16w+Blkbuf or CNI0Qm with interfaces.cni_0qm.fetch = \"read-once\", or a machine with a bus"
        )
    })
}

impl Shape {
    /// The node's interconnects with everything that sits on them.
    ///
    /// # Errors
    /// If two parts answer for one address.
    pub fn wire(&self, devices: &[&dyn Device]) -> Result<Vec<Interconnect>, String> {
        for (device, on) in devices.iter().zip(&self.devices) {
            let (ports, places) = (device.ports(), on.len());
            if ports.len() != places {
                let first = ports.first().map_or("a device", |port| &port.name);
                let count = ports.len();
                return Err(format!(
                    "{first}: its device has {count} ports, and {places} of them are placed"
                ));
            }
        }
        let ports = self.placed_ports(devices);
        self.check_coherent_ports(&ports)?;
        self.check_holding_ports(&ports)?;
        self.check_tiles(&ports)?;
        let numbered = self.interconnects.iter().enumerate();
        numbered
            .map(|(number, shape)| {
                let on = InterconnectId(number as u8);
                self.check_refusals(on, &ports)?;
                self.check_directory(on, &ports, devices)?;
                Ok(self.build(on, shape, &ports, self.address_map(on, &ports)?))
            })
            .collect()
    }

    /// Where a processor that sits on these interconnects has its caches, its path
    /// and its memory.
    pub fn ports_of_processor(&self, on: &[InterconnectId]) -> ProcessorPorts {
        let ports = ProcessorPorts::on(on[0], self.memory_of(on[0]));
        match on.get(1) {
            Some(&path) => ports.with_private_path(path),
            None => ports,
        }
    }

    /// The memory of the processors on an interconnect: that of all addresses, or the
    /// first one that has some.
    fn memory_of(&self, on: InterconnectId) -> MemoryId {
        let here = || (0..).zip(&self.memories).filter(|(_, place)| place.on.contains(&on));
        let of_all = here().find(|(_, place)| place.range.is_none());
        MemoryId(of_all.or_else(|| here().next()).expect("checked with the machine").0)
    }

    /// The registers of devices that a processor on these interconnects reaches, and the memories there
    /// beside its own: what it accesses uncached.
    pub fn registers(&self, devices: &[&dyn Device], on: &[InterconnectId]) -> Vec<Range<u64>> {
        let beside = self.placed_ports(devices).into_iter().filter(|placed| self.is_reached(on, placed));
        beside.flat_map(|placed| placed.port.registers).chain(self.local_memories(on)).collect()
    }

    /// The memory of devices that a processor on these interconnects reaches, of which they are the home: what
    /// it may cache beside its own.
    pub fn homes_of_devices(&self, devices: &[&dyn Device], on: &[InterconnectId]) -> Vec<Range<u64>> {
        let beside = self.placed_ports(devices).into_iter().filter(|placed| self.is_reached(on, placed));
        beside.flat_map(|placed| placed.port.homes).collect()
    }

    /// What a process accesses uncached beside the interface's part for it: the registers of
    /// further devices that are its to use, and memories beside its own. So many of the devices, the
    /// first ones, are interfaces.
    pub fn beside_interface(
        &self,
        (devices, interfaces): (&[&dyn Device], usize),
        on: &[InterconnectId],
        process: u8,
    ) -> Vec<Range<u64>> {
        let of_interfaces = self.devices[..interfaces].iter().map(Vec::len).sum();
        let further = self.placed_ports(devices).into_iter().skip(of_interfaces);
        let is_own = |placed: &PlacedPort| placed.port.process == process && self.is_reached(on, placed);
        let own = further.filter(is_own);
        own.flat_map(|placed| placed.port.registers).chain(self.local_memories(on)).collect()
    }

    /// Whether a processor on some interconnects reaches a port: it answers on one of them, or is behind a
    /// bridge on one.
    fn is_reached(&self, on: &[InterconnectId], placed: &PlacedPort) -> bool {
        on.iter().any(|&here| self.answers(placed, here))
            || self.above(placed.on).is_some_and(|above| on.contains(&above))
    }

    /// The memories with a range on a processor's interconnects, but for its own.
    pub fn local_memories(&self, on: &[InterconnectId]) -> Vec<Range<u64>> {
        let own = self.memory_of(on[0]);
        let others = (0..).map(MemoryId).zip(&self.memories).filter(|&(memory, _)| memory != own);
        let beside = others.filter(|(_, place)| place.on.iter().any(|here| on.contains(here)));
        beside.filter_map(|(_, place)| place.range.clone()).collect()
    }

    /// The memory with a range on the interconnect of a device's last port, of which the
    /// device has a port of its own; the first one, if there are several.
    pub fn local_memory_of_device(&self, on: &[InterconnectId]) -> Option<MemoryId> {
        let last = on.last()?;
        let mut memories = (0..).zip(&self.memories);
        let is_local = |place: &MemoryPlace| place.range.is_some() && place.on.contains(last);
        memories.find(|(_, place)| is_local(place)).map(|(number, _)| MemoryId(number))
    }

    /// The interrupt lines of the processors that run firmware: a port's lines lead to
    /// those on its interconnect. `firmware` are their numbers.
    ///
    /// # Errors
    /// If a port's lines lead to none, or there are too many.
    pub fn lines(&self, devices: &[&dyn Device], firmware: &[usize]) -> Result<Vec<InterruptLines>, String> {
        let mut all: Vec<InterruptLines> =
            firmware.iter().map(|&index| InterruptLines::new(index, Vec::new())).collect();
        let mut used = vec![0; self.interconnects.len()];
        for (device, (described, on)) in devices.iter().zip(&self.devices).enumerate() {
            for (port, (described, &on)) in described.ports().iter().zip(on).enumerate() {
                if described.lines == 0 {
                    continue;
                }
                let DevicePort { name, .. } = described;
                let bus = &self.interconnects[usize::from(on.0)].name;
                let mut served =
                    all.iter_mut().filter(|lines| self.processors[lines.processor].contains(&on)).peekable();
                if served.peek().is_none() {
                    return Err(format!(
                        "{name} has interrupt lines to the {bus}, where no processor runs firmware"
                    ));
                }
                let used = &mut used[usize::from(on.0)];
                served.for_each(|lines| lines.sources.push((device, port, *used)));
                *used += described.lines;
                if *used > INTERRUPT_LINES {
                    return Err(format!(
                        "{used} interrupt lines lead to the {bus}; a processor has {INTERRUPT_LINES}"
                    ));
                }
            }
        }
        all.retain(|lines| !lines.sources.is_empty());
        Ok(all)
    }

    fn placed_ports(&self, devices: &[&dyn Device]) -> Vec<PlacedPort> {
        let places = devices.iter().zip(&self.devices);
        let ports = places.flat_map(|(device, on)| device.ports().into_iter().zip(on));
        let place = |(number, (port, &on)): (usize, (DevicePort, &InterconnectId))| PlacedPort {
            agent: AgentId((self.processors.len() + number) as u8),
            on,
            port,
        };
        ports.enumerate().map(place).collect()
    }

    /// The interconnect above, of one behind a bridge.
    fn above(&self, on: InterconnectId) -> Option<InterconnectId> {
        self.interconnects[usize::from(on.0)].above
    }

    /// The interconnects behind bridges on this one.
    fn behind(&self, on: InterconnectId) -> impl Iterator<Item = InterconnectId> {
        let all = (0..self.interconnects.len()).map(|number| InterconnectId(number as u8));
        all.filter(move |&other| self.above(other) == Some(on))
    }
}
