//! What a network of switches is asked for and cannot do, or has not.

use narthex_interfaces::Attached;

use crate::config::*;

const SWITCHED: &str = "network={kind=\"switched\", topology={kind=\"crossbar\", ports=4}, \
     links={width=\"4B\", clock=\"400MHz\", latency=\"20ns\", lanes=2}, switches={switching=\"virtual-cut-through\", \
     delay=\"50ns\", buffer=\"1539B\", queues=\"single\", arbitration=\"round-robin\"}, \
     priorities={packets=0, acknowledgements=1, returned_packets=1}}";

fn with(preset: &str, settings: &[&str]) -> Machine {
    load(preset).expect("a preset").with_settings(settings).expect("sound settings")
}

/// Why a machine refuses an interface, or nothing.
fn refusal(machine: &Machine, interface: &str) -> Option<String> {
    let interface: Attached = interface.parse().expect("a name");
    machine.config.build_interface(&interface).err()
}

#[test]
fn an_interface_whose_largest_packet_fits_into_no_buffer_is_refused() {
    // The network's header of 8 bytes, VIA's of 32, and interfaces.via.mtu of 1500.
    let small = with("edt", &["machine.nodes=4", SWITCHED]);
    assert_eq!(
        refusal(&small, "EDT").expect("its packets are larger"),
        "network.switches.buffer: 1539B is smaller than a packet of 1540B (interfaces.via.mtu), which must fit"
    );
    assert_eq!(refusal(&small, "NI2w"), None, "its packets are those of messages.packet");
    let large = with("edt", &["machine.nodes=4", SWITCHED, "network.switches.buffer=1540B"]);
    assert_eq!(refusal(&large, "EDT"), None);
}

#[test]
fn interfaces_with_packets_of_their_own_are_refused_likewise() {
    let buffer = |bytes| format!("network.switches.buffer={bytes}B");
    let several_chips = "interfaces.sarc.chips=4";
    for (preset, interface, own, largest) in [
        ("voyager", "Voyager-resident", "messages.packet=64B", 96),
        ("sarc-chip", "SARC", several_chips, 104),
    ] {
        let own = ["messages.packet=64B", "machine.nodes=4", SWITCHED, own];
        assert_eq!(refusal(&with(preset, &[&own[..], &[&buffer(largest)]].concat()), interface), None);
        let small = with(preset, &[&own[..], &[&buffer(largest - 1)]].concat());
        let refused = refusal(&small, interface).expect("its packets are larger");
        let says = format!("{}B is smaller than a packet of {largest}B (", largest - 1);
        assert!(refused.contains(&says), "{interface}: {refused}");
    }
}

#[test]
fn global_links_that_lead_nowhere_are_told_whatever_the_interface() {
    let dragonfly = |groups| {
        let topology = format!(
            "network.topology={{kind=\"dragonfly\", nodes_per_switch=2, switches_per_group=4, \
             global_links_per_switch=2, groups={groups}}}"
        );
        with("cluster", &[&topology, "network.links.lanes=4"])
    };
    let told = |machine: &Machine| machine.warnings().iter().map(ToString::to_string).collect::<Vec<_>>();
    let eight = dragonfly(8);
    let [warning] = &told(&eight)[..] else { panic!("one warning: {:?}", told(&eight)) };
    let says = "network.topology.global_links_per_switch: 1 of the 8 global links of a group are not wired: each of \
                7 other groups has one";
    assert!(warning.ends_with(says), "{warning}");
    let with_interface = eight.settings_with(&"NI2w".parse().expect("a name")).expect("it has NI2w");
    assert_eq!(with_interface.warnings, eight.warnings());
    assert_eq!(told(&dragonfly(9)), Vec::<String>::new());
}
