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
fn switches_that_would_lose_packets_or_fit_none_are_refused() {
    let refused = |settings: &[&str]| {
        let settings = [&["machine.nodes=4", "messages.packet=64B", SWITCHED], settings].concat();
        load("hpca98").expect("a preset").with_settings(&settings).expect_err("it is refused").to_string()
    };
    let told = |settings: &[&str], says: &str| {
        let message = refused(settings);
        assert!(message.contains(says), "{message}");
    };
    told(
        &["network.switches.backpressure={kind=\"drop\"}"],
        "network.switches.backpressure.kind: \"drop\" loses packets, and nothing sends them again",
    );
    told(
        &["network.switches.output_queues={buffer=\"63B\", speed_up=2}"],
        "network.switches.output_queues.buffer: 63B is smaller than a packet of 64B (messages.packet), which must fit",
    );
    // Two latencies and delays of 20 and 50 ns are 56 cycles of 4 bytes.
    let headroom = |buffer: &str| {
        let pause = "network.switches.backpressure={kind=\"pause\", above=\"128B\", below=\"64B\"}";
        let settings = ["machine.nodes=4", "messages.packet=64B", SWITCHED, pause, buffer];
        load("hpca98")
            .expect("a preset")
            .with_settings(&settings)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let message = headroom("network.switches.buffer=543B").expect_err("it is too small");
    let says = "network.switches.buffer: 543B is too small for packets of 64B (messages.packet); expected at least 544B";
    assert!(message.contains(says), "{message}");
    assert_eq!(headroom("network.switches.buffer=544B"), Ok(()));
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

/// A file that goes when the test is over.
struct Listed(std::path::PathBuf);

impl Listed {
    fn new(name: &str, text: &str) -> Self {
        let file = std::env::temp_dir().join(format!("narthex-{}-{name}", std::process::id()));
        std::fs::write(&file, text).expect("it can be written to");
        Listed(file)
    }

    /// A cluster of three nodes with this wiring.
    fn machine(&self) -> Result<Machine, ConfigError> {
        let topology = format!(
            "network.topology={{kind=\"wiring\", file=\"{}\", choice=\"deterministic\"}}",
            self.0.display()
        );
        load("cluster").expect("a preset").with_settings(&["machine.nodes=3", &topology])
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_wiring_from_a_file_is_a_part_of_the_machine() {
    let listed = Listed::new("wiring.txt", "node0 left\nnode1 left\nnode2 right\nleft right\n");
    let machine = listed.machine().expect("a wiring");
    drop(listed);
    let again = load_text("again", &machine.to_toml()).expect("the file is not read again");
    assert_eq!(again.config, machine.config);
    let topology = &machine.resolved()["network"]["topology"];
    assert_eq!(topology["links"], serde_json::json!([[0, 1]]));
    assert_eq!(topology["names"], serde_json::json!(["left", "right"]));
}

#[test]
fn a_wiring_that_is_none_is_refused_with_the_file_and_its_line() {
    let refused = |name, text| Listed::new(name, text).machine().expect_err("it is none").to_string();
    let torn = refused("torn.txt", "node0 a\nnode1 b\nnode2 b\n");
    assert!(torn.contains("network.topology.links: there is no way from a to b"), "{torn}");
    let cut = refused("cut.txt", "node0 a\nnode1\n");
    assert!(cut.contains("cut.txt: line 2: 1 names; expected the two ends of a link"), "{cut}");
    let few = refused("few.txt", "node0 a\n");
    assert!(few.contains("network.topology.nodes: leaves room for 1 nodes"), "{few}");
    let missing = Listed("missing.txt".into()).machine().expect_err("it is not there").to_string();
    assert!(missing.contains("network.topology.file: cannot read the wiring missing.txt"), "{missing}");
}

#[test]
fn links_of_a_kind_that_the_topology_does_not_have_are_refused() {
    let refused = |setting| load("cluster").expect("a preset").with_settings(&[setting]).expect_err("wrong");
    let unknown = refused("network.links.kinds.global.latency=100ns").to_string();
    assert!(
        unknown.contains("links.kinds.global: the topology has no links of this kind; it has node, level-1")
    );
    let near = refused("network.links.kinds.nodes.latency=100ns").to_string();
    assert!(near.contains("it has node, level-1; did you mean `node`?"), "{near}");
    let instant = refused("network.links.kinds.node.latency=0ns").to_string();
    assert!(instant.contains("network.links.kinds.node.latency: 0ps leaves"), "{instant}");
    let narrow = with("cluster", &["network.links.kinds.level-1.width=1B"]);
    assert_ne!(narrow.config, load("cluster").expect("a preset").config);
}
