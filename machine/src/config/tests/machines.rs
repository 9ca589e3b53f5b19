//! The machines themselves: built-in ones, files that stand on them, and the
//! rules between components.

use narthex_kernel::{Bytes, Duration};
use proptest::prelude::*;
use serde_json::Value;

use crate::config::*;

pub(super) fn preset(name: &str) -> Machine {
    load(name).unwrap_or_else(|error| panic!("{error}"))
}

/// All problems of hpca98 with these settings.
pub(super) fn refused(settings: &[&str]) -> String {
    preset("hpca98").with_settings(settings).unwrap_err().to_string()
}

#[test]
fn every_parameter_of_every_preset_states_its_source_and_has_a_meaning() {
    for name in preset_names() {
        let machine = preset(name);
        assert_eq!(machine.config.machine.name, name);
        for parameter in machine.sources() {
            let Parameter { key, source, meaning, .. } = parameter;
            let names_only = ["machine.name", "machine.description"].contains(&key.as_str());
            assert!(names_only || source != Source::User, "{name}: {key} has no source");
            assert!(!meaning.is_empty(), "{name}: {key} has no meaning");
        }
    }
}

#[test]
fn every_machine_takes_the_alternatives_that_it_states() {
    for machine in preset_names().into_iter().map(preset) {
        for Parameter { key, alternatives, .. } in machine.sources() {
            for value in alternatives.into_iter().flatten() {
                let setting = format!("{key}={value}");
                let taken = machine.with_settings(&[&setting]);
                assert!(taken.is_ok(), "{}: {setting}", machine.config.machine.name);
            }
        }
    }
}

#[test]
fn no_parameter_escapes_the_list_of_sources() {
    fn leaves(value: &Value) -> usize {
        match value.as_object() {
            Some(table) if !table.contains_key("value") => table.values().map(leaves).sum(),
            _ => 1,
        }
    }
    for name in preset_names() {
        let machine = preset(name);
        assert_eq!(machine.sources().len(), leaves(&machine.resolved()), "{name}");
    }
}

#[test]
fn the_presets_hold_what_the_papers_state() {
    let hpca98 = preset("HPCA98").config;
    assert_eq!(hpca98.machine.nodes, 16);
    assert_eq!(hpca98.processor.clock.clock().pattern(), Duration::from_ns(1));
    assert_eq!(hpca98.bus.as_ref().unwrap().clock.to_string(), "250MHz");
    assert_eq!(hpca98.main_memory.access_time, Duration::from_ns(120));
    assert_eq!((hpca98.messages.packet, hpca98.messages.header), (Bytes::new(256), Bytes::new(8)));
    let isca96 = preset("isca96").config;
    assert_eq!(isca96.processor.clock.clock().pattern(), Duration::from_ns(5));
    assert_eq!(isca96.data_cache.size, Bytes::new(256 << 10));
    assert_eq!(isca96.network.to_owned(), networks_ideal(500));
}

fn networks_ideal(latency_ns: u64) -> narthex_fabrics::networks::Config {
    serde_json::from_value(serde_json::json!({ "kind": "ideal", "latency": format!("{latency_ns}ns") }))
        .unwrap()
}

/// Table 2 of isca96 in bus cycles: what a transaction occupies in all.
#[test]
fn the_occupancies_of_isca96_add_up_to_its_table() {
    use narthex_memory::Kind;
    let machine = preset("isca96").config;
    let memory_bus = machine.bus.as_ref().unwrap();
    let (bus, block_bytes) = (memory_bus.clock.clock(), machine.block().get() as usize);
    let register: Duration =
        machine.interfaces["ni_iw"]["register_access_time"].as_str().unwrap().parse().unwrap();
    let processor_cycles = |kind, device: Duration| {
        let time = bus.cycles(memory_bus.occupancy_cycles(kind, block_bytes)) + device;
        machine.processor.clock.clock().whole_cycles_in(time)
    };
    assert_eq!(processor_cycles(Kind::UncachedLoad, register), 28);
    assert_eq!(processor_cycles(Kind::UncachedStore, register), 12);
    assert_eq!(processor_cycles(Kind::Read, machine.main_memory.access_time), 42);
    assert_eq!(processor_cycles(Kind::Read, memory_bus.cache_supply_time), 42);
}

#[test]
fn a_machine_that_is_written_loads_as_the_same_machine() {
    for name in preset_names() {
        let machine =
            preset(name).with_settings(&["main_memory.access_time=125ns", "machine.seed=7"]).unwrap();
        let again = load_text("again", &machine.to_toml()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.config, machine.config);
        assert_eq!(again.sources(), machine.sources());
        assert_eq!(again.resolved(), machine.resolved());
    }
}

#[test]
fn what_serde_writes_of_a_machine_is_what_it_reads() {
    for name in preset_names() {
        let config = preset(name).config;
        let json = serde_json::to_value(&config).unwrap();
        assert_eq!(serde_json::from_value::<MachineConfig>(json).unwrap(), config);
    }
}

#[test]
fn a_file_states_only_its_difference_from_its_base() {
    let folder = std::env::temp_dir().join(format!("narthex-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    write("slow.toml", "base = \"hpca98\"\n[bus]\nclock = \"125MHz\"\n");
    write(
        "slower.toml",
        "base = \"slow.toml\"\n[main_memory]\naccess_time = { value = \"1us\", assumed = \"far away\" }\n",
    );
    write("circle.toml", "base = \"./circle.toml\"\n");
    write("wrong.toml", "base = \"hpca89\"\n");
    write("number.toml", "base = 98\n");
    write("binary.toml", "\u{0}");
    std::fs::write(folder.join("latin.toml"), [b'#', 0xe9]).unwrap();
    std::fs::write(folder.join("large.toml"), vec![b' '; 70_000]).unwrap();

    let machine = load(&path("slower.toml")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(machine.config.bus.as_ref().unwrap().clock.to_string(), "125MHz");
    let source = |key: &str| machine.sources().into_iter().find(|found| found.key == key).unwrap().source;
    assert_eq!(source("bus.clock"), Source::User);
    assert_eq!(source("main_memory.access_time"), Source::Assumed("far away".into()));
    assert_eq!(source("bus.width"), Source::Stated("Table 3 (256 bits)".into()));

    let error = |name: &str| load(&path(name)).unwrap_err().to_string();
    assert!(error("circle.toml").contains("stands on itself"), "{}", error("circle.toml"));
    assert!(
        error("wrong.toml").contains("wrong.toml:1:8: base: unknown machine \"hpca89\"; there are "),
        "{}",
        error("wrong.toml")
    );
    assert!(error("number.toml").contains("base: is not a text"));
    assert!(error("binary.toml").contains("binary.toml:1:"), "{}", error("binary.toml"));
    assert!(error("latin.toml").contains("not UTF-8"));
    assert!(error("large.toml").contains("too large"));
    assert!(error("absent.toml").contains("cannot read the machine's file"));
    assert!(load(&folder.display().to_string()).unwrap_err().to_string().contains("cannot read"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_unknown_machine_is_told_which_there_are() {
    let error = load("hpca97").unwrap_err().to_string();
    assert_eq!(
        error,
        "unknown machine \"hpca97\"; there are chip, cluster, edt, host-bdw, host-hsw, host-hsw-iommu, host-ivb, \
         host-snb, hpca98, hpca98-calibrated, isca96, sarc-chip, sarc-prototype, server, smp, voyager, and files by their path, such as ./hpca97.toml; did you mean `hpca98`?"
    );
}

#[test]
fn rules_between_components_are_checked_before_the_run() {
    assert!(
        refused(&["machine.nodes=0"])
            .contains("machine.nodes: 0 is not allowed; expected a whole number from 1 to 4096")
    );
    assert!(refused(&["data_cache.block=48B"]).contains("data_cache.block: 48B is not a power of two"));
    assert!(
        refused(&["messages.packet=100B"])
            .contains("messages.packet: 100B is not a multiple of the block of 64B")
    );
    assert!(
        refused(&["messages.packet=512B"]).contains("messages.packet: 512B has more than 255B of payload")
    );
    assert!(refused(&["messages.header=256B"]).contains("messages.header: 256B leaves no room"));
    assert!(refused(&["messages.header=4B"]).contains("messages.header: 4B is no header"));
    assert!(refused(&["bus.width=128B"]).contains("bus.width: 128B does not divide the block of 64B"));
    assert!(refused(&["flow_control.buffers=0"]).contains("flow_control.buffers: 0"));
    assert!(refused(&["flow_control.buffers=inf"]).contains("did you mean `infinite`?"));
    assert!(
        refused(&["processor.issue_width=3"])
            .contains("processor.issue_width: 3 is not allowed; expected 1, 2 or 4")
    );
    assert!(refused(&["data_cache.protocol=MOSI"]).contains("data_cache.protocol: "));
    assert!(
        refused(&["node.processors.host.caches=[\"data_cache\", 1]"])
            .contains("node.processors.host.caches: 1 is not allowed; expected a text")
    );
    assert!(
        preset("edt").with_settings(&["write_combining.flush=[\"full\", \"fense\"]"]).unwrap_err().to_string().contains(
            "\"fense\" is not allowed; expected \"full\", \"fence\", \"uncached-load\", \"uncached-store\" or \"time\"; \
             did you mean `fence`?"
        )
    );
    assert!(
        refused(&["node.interface.default=CNI32Qn"]).contains("node.interface.default: 'CNI32Qn' is not")
    );
    assert!(
        refused(&["node.interface.default=NI2w on io-bus"])
            .contains("node.interface.default: NI2w on io-bus is at a place that the node lacks")
    );
    assert!(
        refused(&["interfaces.cni_iqm.receive_queue_blocks=1"])
            .contains("interfaces.cni_iqm.receive_queue_blocks: ")
    );
    assert!(refused(&["interfaces.cni_iqm.engine_time=40"]).contains("\"40\" has no unit"));
    assert!(refused(&["interfaces.cni_iqmm.engine_time=40ns"]).contains("did you mean `cni_iqm`?"));
    assert!(refused(&["flow_control.kind=sliding-window"]).contains("flow_control.window: is missing"));
}

#[test]
fn a_setting_that_is_no_table_or_no_plain_value_is_blamed_itself() {
    for settings in [["machine=chip", "machine.nodes=4"], ["machine.nodes=4", "machine=chip"]] {
        let told = refused(&settings);
        let blamed = "--set machine=chip: machine: \"chip\" is not allowed; expected a table with name, ";
        assert!(
            told.starts_with(blamed) && told.ends_with("; the option --machine chooses a machine"),
            "{told}"
        );
    }
    let told = refused(&["faults=3", "faults.seed=4"]);
    assert!(told.starts_with("--set faults=3: faults: 3 is not allowed; expected a table"), "{told}");
    let told = refused(&["machine.nodes.x=3", "machine.nodes=4"]);
    assert!(told.starts_with("--set machine.nodes.x=3: machine.nodes: is a table; expected a"), "{told}");
}

#[test]
fn several_settings_are_checked_together() {
    let machine = preset("hpca98");
    let machine =
        machine.with_settings(&["flow_control.kind=sliding-window", "flow_control.window=4"]).unwrap();
    assert!(machine.resolved()["flow_control"].get("buffers").is_none());
    let machine = preset("hpca98").with_settings(&["flow_control.buffers=infinite"]).unwrap();
    assert_eq!(machine.resolved()["flow_control"]["buffers"], "infinite");
    let smaller = ["data_cache.block=32B", "messages.packet=128B", "machine.name=42"];
    assert_eq!(preset("hpca98").with_settings(&smaller).unwrap().config.machine.name, "42");
}

#[test]
fn the_exported_schema_knows_every_section() {
    let schema = json_schema();
    let sections = schema["properties"].as_object().unwrap();
    for name in ["base", "machine", "processor", "data_cache", "bus", "network", "flow_control", "interfaces"]
    {
        assert!(sections.contains_key(name), "{name}");
    }
    let model =
        &schema["properties"]["interfaces"]["properties"]["cni_iqm"]["properties"]["receive_queue_blocks"];
    assert_eq!(model["anyOf"][1]["required"], serde_json::json!(["value", "stated"]));
}

/// A built-in machine's text in which a stretch is replaced.
fn damaged_preset() -> impl Strategy<Value = String> {
    let text = presets::find("hpca98").expect("a preset").1;
    let with = prop_oneof!["[\\[\\]{}=.\"a-z0-9 \n]{0,8}", "[0-9]{1,25}[a-zA-Z]{0,3}", ".{0,4}"];
    (0..text.len(), 0..40_usize, with).prop_map(move |(at, length, with)| {
        let mut damaged = text.as_bytes().to_vec();
        let end = (at + length).min(damaged.len());
        damaged.splice(at..end, with.into_bytes());
        String::from_utf8_lossy(&damaged).into_owned()
    })
}

/// Values that fit in form, and that no line of [node] has or that another one has.
const OTHER_VALUES: [&str; 8] =
    ["\"x\"", "\"program\"", "\"firmware/x\"", "\"bus\"", "[]", "[\"x\"]", "[\"bus\", \"bus\"]", "99"];

/// A machine's text without one of its tables, or with one line of [node] left out or with
/// another value.
fn damaged_nodes(text: &str) -> Vec<String> {
    let tables: Vec<&str> = text.split_inclusive("\n\n").collect();
    let whole = |at: usize, table: &str| [&tables[..at], &[table], &tables[at + 1..]].concat().concat();
    let mut damaged = Vec::new();
    for (at, table) in tables.iter().enumerate() {
        damaged.push(whole(at, ""));
        let lines: Vec<&str> = table.split_inclusive('\n').collect();
        for (place, line) in lines.iter().enumerate().filter(|_| table.starts_with("[node")) {
            let Some((key, _)) = line.split_once(" = ") else { continue };
            let others = OTHER_VALUES.map(|value| format!("{key} = {value}\n"));
            for other in others.iter().map(String::as_str).chain([""]) {
                let table = [&lines[..place], &[other], &lines[place + 1..]].concat().concat();
                damaged.push(whole(at, &table));
            }
        }
    }
    damaged
}

/// Asks a machine for what a run with this interface builds of its shape.
fn ask_for_run(machine: &Machine, interface: &str) -> Result<(), String> {
    let interface: narthex_interfaces::Attached = interface.parse().expect("a name");
    machine.settings_with(&interface)?;
    let run = machine.config.of_run(&interface);
    let device = run.build_interface(&interface)?;
    let engines: Vec<_> = run.build_dma_engines().collect();
    let places: Vec<&[String]> = engines.iter().map(|(on, _)| &on[..]).collect();
    let shape = run.shape(&interface, device.ports().len(), &places)?;
    let engines = engines.iter().map(|(_, engine)| engine as &dyn narthex_interfaces::Device);
    let devices: Vec<_> = std::iter::once(&*device).chain(engines).collect();
    shape.wire(&devices).map(drop)
}

#[test]
fn a_machine_with_any_damage_of_its_node_is_refused_or_sound_and_never_a_panic() {
    let mut refused = 0;
    for name in preset_names() {
        for text in damaged_nodes(&preset(name).to_toml()) {
            let told = match load_text("damaged", &text) {
                Ok(machine) => ["NI2w", "CNI32Qm on io-bus", "SARC", "EDT", "Voyager-resident"]
                    .map(|interface| ask_for_run(&machine, interface).err().unwrap_or_default())
                    .concat(),
                Err(error) => error.to_string(),
            };
            refused += usize::from(told.contains("damaged"));
        }
    }
    assert!(refused > 500, "{refused}");
}

#[test]
fn rules_between_parts_are_told_once_the_parts_are_sound() {
    let runs_what = "[node.processors.host]\nruns = \"x\"";
    for name in ["chip", "sarc-chip", "sarc-prototype"] {
        let error =
            load_text("mine.toml", &format!("base = \"{name}\"\n{runs_what}")).unwrap_err().to_string();
        let told = "mine.toml:3:8: node.processors.host.runs: \"x\" is not allowed; expected \"program\" or";
        assert!(error.contains(told), "{error}");
        assert!(error.contains("node.processors: 0 of its parts run the program"), "{error}");
    }
    let text = preset("chip").to_toml();
    let start = text.find("[network_on_chip]").expect("a table");
    let end = text[start..].find("\n[").map_or(text.len(), |length| start + length + 1);
    // Its subtables have keys of the same table.
    let rest = text[end..].split_inclusive("\n\n").filter(|table| !table.starts_with("[network_on_chip"));
    let error = load_text("mine.toml", &format!("{}{}", &text[..start], rest.collect::<String>()));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("node.interconnects.directory: has no parameters"), "{error}");
    assert!(error.contains("the machine's file has no [network_on_chip]"), "{error}");
}

proptest! {
    #[test]
    fn a_damaged_machine_is_refused_or_sound_and_never_a_panic(text in damaged_preset()) {
        match load_text("damaged", &text) {
            Ok(machine) => prop_assert_eq!(load_text("again", &machine.to_toml()).unwrap().config, machine.config),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn a_garbage_setting_is_an_error_and_never_a_panic(setting in "[a-z_.]{0,20}=.{0,20}|bus\\.[a-z]{1,6}=[0-9]{1,22}[a-zA-Z]{0,3}") {
        let _ = preset("hpca98").with_settings(&[setting]);
    }
}
