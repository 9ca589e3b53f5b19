//! The memories of a node, and the caches of its processors.

use std::sync::Arc;

use narthex_fabrics::NodeId;
use narthex_interfaces::registers::common_region;
use narthex_kernel::Duration;
use narthex_memory::dram::Dram;
use narthex_memory::home_memory::{HomeMemory, Ports};
use narthex_memory::interconnects::InterconnectId;
use narthex_memory::interconnects::cxl::expander::Expander;
use narthex_memory::main_memory::{Image, MainMemory};
use narthex_memory::processor_memory::block_buffers;
use narthex_memory::sockets::SocketLinks;
use narthex_memory::third_level::{self, ThirdLevel};
use narthex_memory::translation::Translation;
use narthex_memory::{AgentId, ProcessorMemory};

use super::Blueprint;
use crate::config::{PROGRAM, ProcessorPart};
use crate::wiring::{MemoryPlace, Shape};

impl Blueprint<'_> {
    /// The time that a processor's cache needs to supply a block to others.
    fn supply_time(&self, part: &ProcessorPart) -> Duration {
        let plan = self.config.node.interconnects[&part.on].rules().plan(&part.on, &*self.config);
        plan.cache_supply_time().expect("checked with the machine")
    }

    /// Transactions on blocks that an agent has under way on the interconnect of a processor: a bus
    /// carries one after the other.
    fn transactions_of(&self, part: &ProcessorPart) -> usize {
        let directory = self.config.directory.as_ref().filter(|_| self.config.has_places(&part.on));
        directory.map_or(1, |directory| directory.transactions as usize)
    }

    /// The memories of a node. The programs are in that of the processors that run them.
    pub(super) fn memories(&self, node: NodeId, shape: &Shape) -> Vec<HomeMemory> {
        let images: Vec<Arc<Image>> =
            self.processes_of(node).map(|place| self.loaded(place).image.clone()).collect();
        let parts = self.config.node.memories.keys().zip(&shape.memories);
        let memory = |(name, place): (&String, &MemoryPlace)| {
            let config = self.config.memory_named(name);
            let is_of_programs = place.range.is_none() && place.on == [InterconnectId(0)];
            let bytes = match is_of_programs {
                true => MainMemory::with_images(images.clone()),
                false => MainMemory::default(),
            };
            let dram = config.dram.as_ref().map(|dram| Dram::new(dram, self.block_bytes()));
            let cxl = config.cxl.as_ref().map(|cxl| Expander::new(cxl, self.block_bytes()));
            let memory = HomeMemory::new(bytes, config.access_time, self.block_bytes()).with_levels(
                self.third_level(name, shape),
                dram,
                self.socket_links(place, shape),
                cxl,
            );
            match config.ports {
                Some(Ports::Single) => memory.with_single_port(),
                _ => memory,
            }
        };
        parts.map(memory).collect()
    }

    /// The links over which the last level of one socket reaches the memory of another.
    fn socket_links(&self, place: &MemoryPlace, shape: &Shape) -> Option<SocketLinks> {
        let sockets = shape.sockets.clone().filter(|_| place.range.is_none() && !place.at.is_empty())?;
        let network = self.config.network_on_chip.as_ref().expect("it has sockets");
        let links = network.sockets.as_ref().expect("it has sockets");
        let bytes = links.link_width.as_u64() * links.links(network);
        let block_time = network.clock.clock().cycles(self.block_bytes().div_ceil(bytes));
        Some(SocketLinks::new(sockets, links.link_time, block_time))
    }

    /// The cache in front of a memory, if it has one.
    fn third_level(&self, memory: &str, shape: &Shape) -> Option<ThirdLevel> {
        self.config.node.memories[memory].cache.as_ref()?;
        let config = self.config.third_level_cache.as_ref().expect("checked with the machine");
        let cache = ThirdLevel::new(config, self.block_bytes());
        Some(match &config.ddio {
            Some(ddio) => cache.with_ddio(ddio, shape.agents_of_devices(&ddio.requesters)),
            None => cache,
        })
    }

    /// The caches and the store buffer of the processor of a program's process that
    /// has one.
    pub fn processor_memory(&self, process: u8) -> ProcessorMemory {
        self.memory_of(process, AgentId(process), self.config.node.host().1)
    }

    pub(super) fn memory_of(&self, process: u8, agent: AgentId, part: &ProcessorPart) -> ProcessorMemory {
        let config = &*self.config;
        let caches = config.caches_of(part);
        let supply_time = self.supply_time(part);
        let memory = ProcessorMemory::new(
            agent,
            caches.data,
            caches.instructions,
            config.store_buffer_of(part),
            supply_time,
        )
        .with_translation(
            Translation::of_process(process, common_region(self.config.processes_per_node()))
                .with_frames(self.frames.clone()),
        );
        let memory = match caches.second {
            Some(second) => memory.with_second_level(second, caches.data),
            None => memory,
        };
        let takes_victims = config.third_level_cache.as_ref().is_some_and(third_level::Config::takes_victims);
        let memory = if takes_victims { memory.handing_victims_down() } else { memory };
        let prefetcher = caches.prefetcher().filter(|_| part.runs == PROGRAM);
        let memory = match prefetcher {
            Some(prefetcher) => memory.with_prefetcher(prefetcher),
            None => memory,
        };
        let memory = match &config.write_combining {
            Some(combining) if part.runs == PROGRAM => memory.with_write_combining(combining),
            _ => memory,
        };
        let queue = config.store_queue.as_ref().filter(|_| part.runs == PROGRAM);
        let memory = match queue {
            Some(queue) => memory.with_store_queue(queue),
            None => memory,
        };
        let misses = config.core_named(&part.core).misses.unwrap_or(1) as usize;
        let transactions = match prefetcher {
            Some(_) => usize::MAX,
            None => misses + queue.map_or(0, |queue| queue.transactions()),
        };
        let memory = match part.has_caches() {
            true => {
                let memory = memory.with_misses(misses);
                let looks_ahead = config.core_named(&part.core).window.is_some();
                let memory = if looks_ahead { memory.with_look_ahead() } else { memory };
                memory.with_transactions(transactions.min(self.transactions_of(part)))
            }
            false => memory.with_local_memory(
                self.access_cycles(part),
                self.block_bytes(),
                config.fetch_line_bytes(),
            ),
        };
        match config.block_buffers {
            block_buffers::Config::Pair { transfer_cycles } if part.runs == PROGRAM => {
                let transfer_time = config.processor.clock.clock().cycles(u64::from(transfer_cycles));
                memory.with_block_buffers(transfer_time)
            }
            _ => memory,
        }
    }
}
