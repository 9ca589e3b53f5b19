//! DMA engines of a node: where their ports and registers are.
//!
//! ```toml
//! [node.dma_engines.copy]
//! on = ["bus", "nic_bus"]                  # its ports
//! registers = [0x5f800000, 0x5f800000]     # where its registers are on each
//!
//! [dma_engines.copy]                       # its parameters
//! ```

use std::ops::Range;

use narthex_interfaces::dma_engine::transfer::{Build, Port};
use narthex_interfaces::dma_engine::{DmaDevice, NO_REGISTERS};
use narthex_interfaces::registers::{DEVICE_REGION, KERNEL_MEMORY, NODE_MEMORY};
use narthex_memory::main_memory::PAGE_BYTES;
use narthex_memory::protocols;
use narthex_memory::translation::Translation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MachineConfig;
use super::node::{Broken, LAST_ADDRESS, LOCAL_MEMORY, PROGRAM, Places, broken};

/// A DMA engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DmaEnginePart {
    /// The interconnects of its ports: one or two.
    pub on: Places,
    /// Where its registers are on each of them; 0 where they cannot be reached.
    pub registers: Vec<u64>,
}

impl DmaEnginePart {
    /// Where its registers are on an interconnect, if they can be reached there.
    pub(super) fn registers_on(&self, interconnect: &str) -> Option<u64> {
        let port = self.on.names().iter().position(|on| on == interconnect)?;
        self.registers.get(port).copied().filter(|&start| start != NO_REGISTERS)
    }
}

impl MachineConfig {
    /// The rules that DMA engines break.
    pub(super) fn dma_engine_problems(&self) -> Vec<Broken> {
        let mut problems = Vec::new();
        for (name, part) in &self.node.dma_engines {
            let key = format!("node.dma_engines.{name}");
            if !self.dma_engines.contains_key(name) {
                let message = format!("has no parameters: the machine's file has no [dma_engines.{name}]");
                problems.push(broken(&key, message));
            }
            problems.extend(self.port_problems(&key, part));
        }
        for (name, config) in &self.dma_engines {
            if !self.node.dma_engines.contains_key(name) {
                let message =
                    format!("describes a DMA engine that the node lacks: [node.dma_engines] has no {name}");
                problems.push(broken(&format!("dma_engines.{name}"), message));
            }
            let own = config.problems(self.block()).into_iter();
            problems.extend(own.map(|(key, message)| broken(&format!("dma_engines.{name}.{key}"), message)));
        }
        problems
    }

    fn port_problems(&self, key: &str, part: &DmaEnginePart) -> Vec<Broken> {
        let mut problems = Vec::new();
        let (on, registers) = (part.on.names(), &part.registers);
        let (on_key, registers_key) = (format!("{key}.on"), format!("{key}.registers"));
        if !(1..=2).contains(&on.len()) {
            let message = format!("names {} interconnects; expected one or two", on.len());
            problems.push(broken(&on_key, message));
        }
        if registers.len() != on.len() {
            let message =
                format!("{} addresses; expected one for each of {} ports", registers.len(), on.len());
            problems.push(broken(&registers_key, message));
        }
        for (port, name) in on.iter().enumerate() {
            problems.extend(self.node.unknown_interconnect(&on_key, name));
            problems.extend(self.node.unfit(&on_key, name, "DMA engines", |admits| admits.dma_engines));
            let Some(&start) = registers.get(port) else { continue };
            let of_program = self.node.processors.values().any(|own| own.runs == PROGRAM && own.on == *name);
            let allowed = if of_program { LOCAL_MEMORY } else { 0..LAST_ADDRESS };
            if start != NO_REGISTERS && (!start.is_multiple_of(PAGE_BYTES) || !allowed.contains(&start)) {
                let Range { start: first, end } = allowed;
                let message = format!(
                    "{start:#x} is not allowed on {name:?}; expected a multiple of {PAGE_BYTES} from {first:#x} \
                     to {end:#x}, or 0 for none"
                );
                problems.push(broken(&registers_key, message));
            }
        }
        problems
    }

    /// The DMA engines of a node: the interconnect of each port, and what is built.
    pub(crate) fn build_dma_engines(&self) -> impl Iterator<Item = (Vec<String>, DmaDevice)> {
        self.node.dma_engines.iter().map(|(name, part)| {
            let config = &self.dma_engines[name];
            let port = |on: &String| Port {
                name: on.replace('_', " "),
                reach: self.reach(on),
                has_byte_enables: self.node.processors.values().any(|own| own.on == *on && !own.has_caches()),
            };
            let build = Build {
                name: name.clone(),
                start_time: config.start_time,
                block_time: config.block_time,
                burst_bytes: config.burst.get() as usize,
                block_bytes: self.block().get() as usize,
                protocol: protocols::by_name(&self.data_cache.protocol).expect("checked with the machine"),
                ports: part.on.names().iter().map(port).collect(),
            };
            let runs_firmware =
                |on: &str| self.node.processors.values().any(|own| own.runs != PROGRAM && own.on == on);
            let lines = part.on.names().iter().map(|on| runs_firmware(on));
            let ports = part.registers.iter().copied().zip(lines).collect();
            let device = DmaDevice::new(build, config.register_access_time, ports);
            (part.on.names().to_vec(), device)
        })
    }

    /// The memory on an interconnect: where there is one of all addresses, all of the node's
    /// processes but what devices have.
    fn reach(&self, interconnect: &str) -> Vec<Range<u64>> {
        let here = || self.node.memories.values().filter(|part| part.is_on(interconnect));
        let local = here().filter_map(|part| part.range());
        let end = u64::from(self.processes_per_node()) * Translation::SPACE_BYTES;
        let all = [0..DEVICE_REGION.start, NODE_MEMORY, KERNEL_MEMORY, DEVICE_REGION.end..end];
        let of_all = here().any(|part| part.range().is_none()).then_some(all);
        local.chain(of_all.into_iter().flatten()).collect()
    }
}
