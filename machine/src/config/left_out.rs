//! Parts of a node that only some interfaces have, and that a run with another one leaves
//! out.
//!
//! A machine's file may describe the inside of a NIC: an interconnect on which some
//! interfaces have a port (`[node.interface.ports]`), with processors, memories and
//! engines on it. Where the interface of a run has no port there, nobody would use them.
//! So an interconnect that is named for ports, and on which neither the program's
//! processors nor a device of the run are, is no part of the run; nor is a processor or a
//! memory that is on it alone, nor a DMA engine with a port there.

use std::borrow::Cow;
use std::collections::BTreeSet;

use narthex_interfaces::Attached;

use super::MachineConfig;
use super::node::{MemoryPart, NodeShape, Places};

impl MachineConfig {
    /// The machine as a run with this interface has it.
    pub fn of_run(&self, interface: &Attached) -> Cow<'_, MachineConfig> {
        let left_out = self.node.left_out(interface);
        if left_out.is_empty() {
            return Cow::Borrowed(self);
        }
        let left_out: BTreeSet<String> = left_out.into_iter().map(str::to_owned).collect();
        let mut run = self.clone();
        run.node.leave_out(&left_out);
        Cow::Owned(run)
    }

    /// The keys of parts that a run with this interface leaves out.
    pub(super) fn left_out_keys(&self, interface: &Attached) -> Vec<String> {
        let run = self.of_run(interface);
        let (all, part) = (&self.node, &run.node);
        let interconnects = all.interconnects.keys().filter(|name| !part.interconnects.contains_key(*name));
        let memories = all.memories.keys().filter(|name| !part.memories.contains_key(*name));
        let engines = all.dma_engines.keys().filter(|name| !part.dma_engines.contains_key(*name));
        let cores = |node: &NodeShape| -> BTreeSet<String> {
            node.processors.values().map(|processor| processor.core.clone()).collect()
        };
        let (all_cores, run_cores) = (cores(all), cores(part));
        let cores = all_cores.difference(&run_cores).map(|name| format!("processors.{name}"));
        let further = self.further_cache_tables(all);
        let left_out = further.difference(&self.further_cache_tables(part)).cloned().collect::<Vec<_>>();
        let key = |table: &'static str| move |name: &String| format!("{table}.{name}");
        interconnects
            .map(key("buses"))
            .chain(memories.map(key("memories")))
            .chain(engines.map(key("dma_engines")))
            .chain(cores)
            .chain(left_out)
            .collect()
    }
}

impl NodeShape {
    /// The interconnects that are not part of a run with this interface.
    fn left_out(&self, interface: &Attached) -> BTreeSet<&str> {
        let named = self.interface.ports.values().flat_map(|part| &part.on).map(String::as_str);
        let there = named.filter(|name| self.interconnects.contains_key(*name));
        let ports = self.place(interface).unwrap_or_default().into_iter();
        let devices = self.devices.values().flat_map(|part| &part.on).map(String::as_str);
        let used: BTreeSet<&str> = ports.chain(devices).chain([self.host().1.on.as_str()]).collect();
        there.filter(|name| !used.contains(name)).collect()
    }

    fn leave_out(&mut self, left_out: &BTreeSet<String>) {
        self.interconnects.retain(|name, _| !left_out.contains(name));
        self.processors.retain(|_, part| !left_out.contains(&part.on));
        self.dma_engines.retain(|_, part| part.on.names().iter().all(|on| !left_out.contains(on)));
        self.memories.retain(|_, part| part.stay_on(|on| !left_out.contains(on)));
    }
}

impl MemoryPart {
    /// Keeps the interconnects that stay; false if there are none.
    fn stay_on(&mut self, stays: impl Fn(&String) -> bool) -> bool {
        let rest: Vec<String> = self.on.names().iter().filter(|on| stays(on)).cloned().collect();
        let any = !rest.is_empty();
        self.on = Places::Several(rest);
        any
    }
}
