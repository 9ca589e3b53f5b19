//! Machines, and the interfaces that they can have, wherever those are attached.

use narthex_interfaces::models::MODELS;
use narthex_interfaces::{Attached, Attachment};
use narthex_machine::config::{FIRMWARE, MachineConfig};
use narthex_machine::{RunRequest, config};
use std::sync::LazyLock;

use crate::choice::Choice;
use crate::guest::{request, with};
use crate::runs::PATIENCE;

/// Every machine that is built in, with each of its interfaces at each place, but those
/// whose nodes run firmware, or that are programmed in C alone: the fuzzer compiles none.
static ALL: LazyLock<Vec<(&'static str, String)>> = LazyLock::new(|| {
    let of_halves = || MODELS.iter().filter(|model| !model.makes_devices());
    let examples = || of_halves().flat_map(|model| model.examples);
    let hybrids = examples().flat_map(|send| examples().map(move |receive| format!("({send})S({receive})R")));
    let names: Vec<String> = examples().map(ToString::to_string).chain(hybrids).collect();
    let machines = config::preset_names().into_iter();
    let fitting = |machine: &'static str| {
        let config = config::load(machine).expect("it is built in").config;
        let places = |name: &String| Attachment::ALL.map(|(_, place)| format!("{name} on {place}"));
        let attached = names.iter().flat_map(places);
        let fits = |name: &String| {
            name.parse::<Attached>().is_ok_and(|interface| {
                config.build_interface(&interface).is_ok() && !runs_firmware(&config, &interface)
            })
        };
        attached.filter(fits).map(|name| (machine, name)).collect::<Vec<_>>()
    };
    machines.flat_map(fitting).collect()
});

/// Whether a node with the interface has a processor that runs firmware.
fn runs_firmware(machine: &MachineConfig, interface: &Attached) -> bool {
    machine.of_run(interface).node.processors.values().any(|part| part.runs.starts_with(FIRMWARE))
}

/// A run of two nodes on any machine over any of its interfaces, which is ended
/// soon when nothing moves.
pub fn any(choice: &mut Choice) -> RunRequest {
    let (machine, interface) = &ALL[choice.below(ALL.len() as u64) as usize];
    with(request(machine, interface), PATIENCE)
}

/// Settings that make nodes crowded, buffers scarce, and time tight.
const VARIANTS: [&str; 4] = [
    "machine.processors_per_node=2",
    "flow_control.buffers=1",
    "flow_control.window=1",
    "network.latency=0ns",
];

/// The run, half of the times with a change to the machine.
pub fn varied(request: RunRequest, choice: &mut Choice) -> RunRequest {
    let varied = with(request.clone(), choice.of(&VARIANTS));
    if choice.once_in(2) && is_sound(&varied) { varied } else { request }
}

/// Whether the machine takes its settings and has the interface.
fn is_sound(request: &RunRequest) -> bool {
    let machine = config::load(&request.machine).and_then(|machine| machine.with_settings(&request.set));
    let interface: Attached = request.interface.parse().expect("a name");
    machine.is_ok_and(|machine| machine.config.build_interface(&interface).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_and_every_place_is_there() {
        let all: Vec<Attached> = ALL.iter().map(|(_, name)| name.parse().expect("a name")).collect();
        for (place, name) in Attachment::ALL {
            assert!(all.iter().any(|interface| interface.attachment == place), "{name}");
        }
        // The examples of the documentation are in no machine that is built in.
        let machines: Vec<_> = config::preset_names().into_iter().map(config::load).collect();
        let is_built_in = |section: &str| {
            machines.iter().flatten().any(|machine| machine.config.interfaces.contains_key(section))
        };
        let pairs = MODELS.iter().filter(|model| !model.makes_devices() && is_built_in(model.section));
        assert!(pairs.clone().count() >= 7, "families");
        for model in pairs {
            let claimed = |(_, name): &(&str, String)| model.examples.iter().any(|own| name.starts_with(own));
            assert!(ALL.iter().any(claimed), "{}", model.family);
        }
        assert!(ALL.len() > 50, "{}", ALL.len());
    }
}
