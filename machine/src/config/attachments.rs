//! Where else than on the memory bus a machine's interfaces can be attached:
//! tables of its file that a machine may have, or not; and the interface of a
//! node at its place.

use std::ops::Range;

use narthex_interfaces::interface::{self, Chip, Interface, InterfaceError, Surroundings};
use narthex_interfaces::programming::Requirement;
use narthex_interfaces::sarc::Sarc;
use narthex_interfaces::{Attached, Attachment, Device, Hearing, LargestPacket, Name, Share};
use narthex_memory::interconnects::private_path;
use narthex_memory::page_frames::FramePlacement;
use narthex_memory::processor_memory::block_buffers;
use narthex_memory::{AgentId, protocols};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::interfaces::{self, Interfaces};
use super::node::MemoryPart;
use crate::wiring::lacks_a_bus;

/// A processor's own path to an interface, beside the memory bus: a cache bus,
/// or the register file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct PrivatePath {
    /// What an access takes.
    #[serde(flatten)]
    pub path: private_path::Config,
    /// The interfaces that are other there than on the memory bus, by the name
    /// of their model.
    #[serde(default)]
    #[schemars(schema_with = "interfaces::schema")]
    pub interfaces: Interfaces,
}

impl super::MachineConfig {
    /// The processor's own path to an interface that is attached there; none
    /// where the machine has none.
    pub fn private_path(&self, attachment: Attachment) -> Option<&PrivatePath> {
        match attachment {
            Attachment::CacheBus => self.cache_bus.as_ref(),
            Attachment::Register => self.register_file.as_ref(),
            Attachment::MemoryBus | Attachment::IoBus => None,
        }
    }

    /// The sections of the interfaces that are attached there: those of
    /// `[interfaces]`, and in their stead those that the place has itself.
    pub fn interfaces_at(&self, attachment: Attachment) -> Interfaces {
        let mut sections = self.interfaces.clone();
        if let Some(path) = self.private_path(attachment) {
            sections.extend(path.interfaces.clone());
        }
        sections
    }

    /// The table that a machine needs before an interface can be attached there,
    /// and whether it has it.
    pub(super) fn table_of(&self, attachment: Attachment) -> (&'static str, bool) {
        match attachment {
            Attachment::MemoryBus => ("bus", true),
            Attachment::IoBus => ("io_bus", self.io_bus.is_some()),
            Attachment::CacheBus => ("cache_bus", self.cache_bus.is_some()),
            Attachment::Register => ("register_file", self.register_file.is_some()),
        }
    }

    /// Why no interface can be attached there, if none can.
    pub fn lacks(&self, attachment: Attachment) -> Option<String> {
        let (table, exists) = self.table_of(attachment);
        (!exists).then(|| format!("the machine's file has no [{table}]"))
    }

    /// The interface of a node that a run chooses.
    ///
    /// # Errors
    /// Why the machine cannot have it.
    pub fn build_interface(&self, chosen: &Attached) -> Result<Box<dyn Device>, String> {
        let (share, first_agent) = self.first_place();
        match self.lacks_halves(chosen) {
            Some(lack) => Err(lack),
            None => self.build_interface_at(chosen, share, first_agent),
        }
    }

    /// The interface that serves this share of the node's processes, and whose ports are the agents
    /// from this one on.
    ///
    /// # Errors
    /// Why the machine cannot have it.
    pub(super) fn build_interface_at(
        &self,
        chosen: &Attached,
        share: Share,
        first_agent: AgentId,
    ) -> Result<Box<dyn Device>, String> {
        let device = self.build(chosen, (share, first_agent), interface::build)?;
        let places = self.node.place(chosen).unwrap_or_default();
        let lack = places.into_iter().find_map(|name| {
            let directory = self.node.behind(name).unwrap_or(name);
            let lack = || lacks_a_bus(&*device, directory, self.node.seat(name));
            self.has_places(directory).then(lack).flatten()
        });
        match lack {
            Some(lack) => Err(format!("'{chosen}' {lack}")),
            None => {
                let problem = self.largest_packet_problem(&*device);
                let problem = problem.or_else(|| self.lacks_message_buffers(&*device));
                match problem.or_else(|| self.lacks_queues(chosen, &*device)) {
                    Some(problem) => Err(problem),
                    None => Ok(device),
                }
            }
        }
    }

    /// Why nothing puts the messages together that the interface cuts into packets, if it does.
    fn lacks_message_buffers(&self, device: &dyn Device) -> Option<String> {
        device.layouts(0).iter().find_map(|layout| layout.part_bytes)?;
        if !self.flow_control.puts_messages_together() {
            return Some(
                "flow_control.kind: the interface cuts messages into packets (message), which takes buffers \
                         that hold whole messages; expected pull, or an interface without message"
                    .into(),
            );
        }
        let shared = self.interfaces_per_node() > 1 || self.forwarder.is_some();
        shared.then(|| {
            "interfaces.register_file.message: the buffers of whole messages are one interface's, and \
                        here it shares the network with another device; expected no key message"
                .into()
        })
    }

    /// Why the network cannot carry the largest packet of the interface.
    fn largest_packet_problem(&self, device: &dyn Device) -> Option<String> {
        let LargestPacket { bytes, because_of } = device.largest_packet()?;
        let (key, problem) = self.network.packet_problem(bytes, because_of)?;
        Some(format!("network.{key}: {problem}"))
    }

    /// The same of an interface that is made of halves.
    ///
    /// # Errors
    /// Why the machine cannot have it, or that it has no halves.
    pub fn build_halves(&self, chosen: &Attached) -> Result<Interface, String> {
        self.build(chosen, self.first_place(), Interface::build)
    }

    /// The same of SARC's, in whose tiles' place hardware may stand.
    ///
    /// # Errors
    /// Why the machine cannot have it.
    pub fn build_sarc(&self, chosen: &Attached) -> Result<Sarc, String> {
        self.build_interface(chosen)?;
        self.build(chosen, self.first_place(), interface::build_sarc)
    }

    /// The share of the interface that a run chooses; its ports follow all processors of the node.
    fn first_place(&self) -> (Share, AgentId) {
        (self.first_share(), AgentId(self.processor_parts().len() as u8))
    }

    /// The processes that the interface serves which a run chooses.
    pub(crate) fn first_share(&self) -> Share {
        Share { own: 0, of: self.interfaces_per_node() }
    }

    fn build<T>(
        &self,
        chosen: &Attached,
        (share, first_agent): (Share, AgentId),
        build: impl FnOnce(Name, &Surroundings<'_>) -> Result<T, InterfaceError>,
    ) -> Result<T, String> {
        let attachment = chosen.attachment;
        let local_memory = self.local_memory(chosen);
        let node = Surroundings {
            sections: &self.interfaces_at(attachment),
            nodes: self.machine.nodes,
            processes: self.processes_per_node() as u8,
            share,
            first_agent,
            attachment,
            hearing: self.hearing(chosen),
            overlaps: self.overlaps(chosen),
            merges_writes: self.is_behind_link(chosen),
            knows_relaxed_ordering: self.knows_relaxed_ordering(chosen),
            no_interrupts: self.no_interrupts(chosen),
            protocol: protocols::by_name(&self.data_cache.protocol).expect("checked with the machine"),
            block_bytes: self.block().as_u64(),
            packet_bytes: self.messages.packet.as_u64(),
            time_without_progress: self.machine.time_without_progress,
            local_memory: local_memory.as_ref(),
            dma_engine: self.dma_engine_beside(chosen),
            chip: self.chip(),
        };
        let interface = build(chosen.name, &node).map_err(|error| error.to_string())?;
        let lack = self.lacks(attachment);
        match lack
            .or_else(|| self.lacks_block_buffers(&chosen.name))
            .or_else(|| self.lacks_plain_header(&chosen.name))
            .or_else(|| self.lacks_contiguous_frames(&chosen.name))
            .or_else(|| self.lacks_dma_engine(chosen))
        {
            None => Ok(interface),
            Some(lack) => Err(format!("{lack}, which '{chosen}' needs")),
        }
    }

    /// The transactions of others of which an interface is told at its place.
    fn hearing(&self, chosen: &Attached) -> Hearing {
        let places = self.node.place(chosen).unwrap_or_default();
        let is_told = |name: &&str| self.has_places(name) || self.node.seat(name).caches();
        if places.iter().any(is_told) { Hearing::Held } else { Hearing::All }
    }

    /// Whether a port of an interface may have several transactions under way where it is: a bus carries one
    /// at a time.
    fn overlaps(&self, chosen: &Attached) -> bool {
        let places = self.node.place(chosen).unwrap_or_default();
        places.iter().any(|name| self.has_places(name) || self.node.is_link(name))
    }

    /// Whether an interface is behind a link.
    fn is_behind_link(&self, chosen: &Attached) -> bool {
        self.node.place(chosen).unwrap_or_default().iter().any(|name| self.node.is_link(name))
    }

    /// Whether an interface is behind a link whose packets may have relaxed ordering.
    fn knows_relaxed_ordering(&self, chosen: &Attached) -> bool {
        let places = self.node.place(chosen).unwrap_or_default();
        places.iter().any(|name| self.node.knows_relaxed_ordering(name))
    }

    /// Why no processor takes an interface's interrupts at its place.
    fn no_interrupts(&self, chosen: &Attached) -> Option<&'static str> {
        let places = self.node.place(chosen).unwrap_or_default();
        let has_time = self.operating_system.as_ref().is_some_and(|system| system.interrupt_time.is_some());
        if !places.iter().any(|name| self.node.carries_interrupts(name)) {
            return Some(
                "the interface is behind no link that carries its messages; expected \"poll\", or a link of kind = \"pcie\"",
            );
        }
        (!has_time).then_some("operating_system.interrupt_time is missing; expected what an interrupt takes")
    }

    /// What the program's processors are to a device with a part in each of their tiles.
    fn chip(&self) -> Chip {
        let second_level = self.second_level_cache.as_ref().filter(|_| self.node.host().1.has_second_level());
        let own = |memory: &&MemoryPart| memory.range().is_none() && memory.is_on(&self.node.host().1.on);
        let controllers = self.node.memories.values().find(own).and_then(|memory| memory.at.as_ref());
        Chip {
            tiles: self.machine.processors_per_node as u16,
            tiles_of_process: self.processors_per_process() as u16,
            second_level: second_level.map(|config| (config.size.as_u64(), config.associativity)),
            controllers: controllers.map_or(0, |at| at.len() as u16),
        }
    }

    /// The local memory on the interconnect of an interface's last port.
    fn local_memory(&self, chosen: &Attached) -> Option<Range<u64>> {
        let place = self.node.place(chosen)?;
        let last = place.last()?;
        self.node.memories.values().filter(|memory| memory.is_on(last)).find_map(|memory| memory.range())
    }

    /// Where the registers of a DMA engine are on the interconnect of an interface's last port.
    fn dma_engine_beside(&self, chosen: &Attached) -> Option<u64> {
        let place = self.node.place(chosen)?;
        let last = place.last()?;
        self.node.dma_engines.values().find_map(|part| part.registers_on(last))
    }

    fn lacks_dma_engine(&self, chosen: &Attached) -> Option<String> {
        let lacks = chosen.name.requires(Requirement::DmaEngine) && self.dma_engine_beside(chosen).is_none();
        let place = self.node.place(chosen)?;
        let last = place.last()?;
        lacks.then(|| {
            format!(
                "no DMA engine has registers on the {last} ([node.dma_engines.NAME] with on and registers)"
            )
        })
    }

    fn lacks_plain_header(&self, interface: &Name) -> Option<String> {
        let header = self.messages.header;
        (interface.requires(Requirement::PlainHeader) && header.as_u64() != 8).then(|| {
            format!("messages.header is {header}; only with 8B is the rest of a packet the payload alone")
        })
    }

    fn lacks_contiguous_frames(&self, interface: &Name) -> Option<String> {
        let frames = self.operating_system().page_frames;
        let lacks = interface.requires(Requirement::ContiguousFrames) && frames != FramePlacement::Contiguous;
        lacks.then(|| {
            "the frames of pages do not follow each other (operating_system.page_frames is \"scattered\"), and \
             nothing translates the addresses that a program gives; expected \"contiguous\""
                .into()
        })
    }

    fn lacks_block_buffers(&self, interface: &Name) -> Option<String> {
        let lacks = interface.requires(Requirement::BlockBuffers) && !self.has_block_buffers();
        lacks.then(|| "the processor has no block buffers (block_buffers.kind is \"none\")".into())
    }

    /// Whether the processors have block buffers.
    pub(crate) fn has_block_buffers(&self) -> bool {
        self.block_buffers != block_buffers::Config::None {}
    }
}
