//! Whole machines that run programs: messages, time, faults, bad requests.

#[path = "../support/mod.rs"]
mod support;

mod access_tags;
mod attachments;
mod bad_requests;
mod bridged_chip;
mod cachable_registers;
mod checkpoints;
mod code;
mod coherence;
mod coherent_link;
mod coherent_rings;
mod cxl;
mod cxl_memory;
mod cxl_nics;
mod determinism;
mod directory;
mod dma;
mod dma_engines;
mod dma_firmware;
mod example_interconnect;
mod example_interface;
mod faults;
mod firmware;
mod forwarder;
mod held_accesses;
mod hostile_firmware;
mod interrupts;
mod last_level;
mod left_out;
mod levels;
mod listener;
mod local_memories;
mod memory_order;
mod networks;
mod no_progress;
mod operating_system;
mod overflow;
mod packets;
mod pcie;
mod pio_coherent;
mod prefetchers;
mod process_threads;
mod processes;
mod promises;
mod refusals;
mod regions;
mod register_file;
mod reorder;
mod ring_interrupts;
mod rings;
mod sarc;
mod several_interfaces;
mod shapes;
mod signals;
mod single_nodes;
mod threads;
mod timing;
mod traffic;
mod two_buses;
mod verbs;
mod verbs_events;
mod virtio;
mod voyager;
mod wait_loops;
mod without_caches;
mod without_effect;
mod write_combining;

use support::machines::{
    ELSEWHERE, INTERFACES, MACHINES, RINGS, interfaces_of_1998, machines_and_interfaces,
};
