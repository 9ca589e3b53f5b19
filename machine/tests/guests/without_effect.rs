//! A parameter that is said to have no effect has none: every such parameter is
//! changed, and the run's result stays the same, byte by byte. What is not said
//! to be idle is not tested whole, but samples of it do change the result.

use narthex_machine::RunRequest;
use narthex_machine::config::{self, Machine, Parameter};

use crate::machines_and_interfaces;
use crate::support::exchange::{Exchange, both_ways, ping_pong};
use crate::support::{request, run_guest, with};

/// Interfaces of which one half is another's, beyond those of the other tests.
const HALVES: [(&str, &str); 3] =
    [("hpca98", "(CNI32Qm)S(NI2w)R"), ("hpca98", "(CNI512Q)S(CNI0Qm)R"), ("isca96", "(CNI0Qm)S(CNI16Qm)R")];

/// Programs that wait for each message, and that have several under way in both directions.
fn guests() -> [Exchange; 2] {
    [ping_pong(30, 120), both_ways(60, 120, 4)]
}

/// The results of a run of each program, without what they say about their machine.
fn outcome(request: &RunRequest, guests: &[Exchange]) -> String {
    let run = |guest: &Exchange| {
        let mut document =
            run_guest(request, guest).unwrap_or_else(|failure| panic!("{request:?}: {failure}"));
        let fields = document.as_object_mut().expect("a document");
        fields.retain(|name, _| !["machine", "warnings"].contains(&name.as_str()));
        document.to_string()
    };
    guests.iter().map(run).collect()
}

fn changed(request: &RunRequest, settings: &[String]) -> RunRequest {
    settings.iter().fold(request.clone(), |request, setting| with(request, setting))
}

/// Settings that change every parameter that is said to have no effect.
fn idle_settings(machine: &Machine, interface: &str) -> Vec<String> {
    let idle = machine.config.without_effect(&interface.parse().expect("a name")).expect("it exists");
    let is_idle =
        |key: &str| idle.iter().any(|(around, _)| key == around || key.starts_with(&format!("{around}.")));
    machine.sources().iter().filter(|parameter| is_idle(&parameter.key)).filter_map(another).collect()
}

/// Another value of a parameter that the machine allows as well.
fn another(parameter: &Parameter) -> Option<String> {
    let Parameter { key, value, unit, .. } = parameter;
    let words = [
        ("uncached-store", "cachable-store"),
        ("bypass", "write-back"),
        ("false", "true"),
        ("blocking", "posted"),
    ];
    let word = words.into_iter().find_map(|(one, other)| match value {
        value if value == one => Some(other.to_owned()),
        value if value == other => Some(one.to_owned()),
        _ => None,
    });
    let number = || {
        let number: f64 = value.parse().ok()?;
        let value = match number {
            0.0 => 3.0,
            // The largest is stated.
            largest if key.ends_with(".mtu") => largest / 2.0,
            other => 2.0 * other,
        };
        Some(if unit == "cycles" { format!("{value}") } else { format!("{value}{unit}") })
    };
    Some(format!("{key}={}", word.or_else(number)?))
}

#[test]
fn what_is_said_to_have_no_effect_has_none() {
    let guests = guests();
    for (machine, interface) in machines_and_interfaces().chain(HALVES) {
        let settings = idle_settings(&config::load(machine).expect("a preset"), interface);
        assert!(settings.len() > 20, "{machine} {interface}: {settings:?}");
        let plain = request(machine, interface);
        let before = outcome(&plain, &guests);
        if outcome(&changed(&plain, &settings), &guests) != before {
            let guilty = |setting: &&String| outcome(&with(plain.clone(), setting), &guests) != before;
            let guilty: Vec<&String> = settings.iter().filter(guilty).collect();
            panic!("{machine} {interface}: these have an effect: {guilty:?}");
        }
    }
}

#[test]
fn machines_whose_settings_make_others_idle() {
    let guests = guests();
    for (machine, interface, settings) in [
        ("hpca98", "CNI32Qm", "flow_control.buffers=infinite"),
        ("isca96", "NI2w", "store_buffer.uncached_stores=blocking"),
        ("hpca98", "CNI512Q", "interfaces.cni_iq.message_ready=cachable-store"),
    ] {
        let plain = with(request(machine, interface), settings);
        let loaded = config::load(machine).expect("a preset").with_settings(&[settings]).expect("allowed");
        let idle = idle_settings(&loaded, interface);
        assert!(
            outcome(&changed(&plain, &idle), &guests) == outcome(&plain, &guests),
            "{machine} {interface} {settings}"
        );
    }
}

#[test]
fn what_is_not_said_to_be_idle_can_have_an_effect() {
    let guests = guests();
    for (machine, interface, key) in [
        ("hpca98", "NI2w", "interfaces.ni_iw.send_time=160ns"),
        ("hpca98", "(NI2w)S(CNI32Qm)R", "interfaces.cni_iqm.deposit_time=600ns"),
        ("hpca98", "CNI0Qm", "bus.extra_cycles.write_block=5"),
        ("hpca98", "CNI0Qm", "bus.extra_cycles.read=5"),
        ("hpca98", "CNI0Qm", "bus.cache_supply_time=24ns"),
        ("hpca98", "NI16w+Blkbuf", "block_buffers.transfer_cycles=24"),
        ("hpca98", "NI2w on register", "register_file.uncached_load_cycles=2"),
        ("hpca98", "NI2w on register", "register_file.interfaces.ni_iw.send_time=160ns"),
        ("isca96", "NI2w", "store_buffer.uncached_stores=blocking"),
        ("isca96", "NI2w on io-bus", "io_bus.extra_cycles.uncached_load=5"),
        ("isca96", "CNI16Q on io-bus", "io_bus.extra_cycles.read_exclusive=5"),
        ("isca96", "NI2w on cache-bus", "cache_bus.uncached_store_cycles=8"),
    ] {
        let plain = request(machine, interface);
        let (name, _) = key.split_once('=').expect("a setting");
        let loaded = config::load(machine).expect("a preset").with_settings(&[key]).expect("allowed");
        let told = loaded.settings_with(&interface.parse().expect("a name")).expect("it exists");
        assert_eq!((told.set, told.warnings), (vec![name.to_owned()], Vec::new()), "{machine} {interface}");
        assert!(
            outcome(&with(plain.clone(), key), &guests) != outcome(&plain, &guests),
            "{machine} {interface} {key}"
        );
    }
}

#[test]
fn a_warning_names_the_setting_the_interface_and_the_reason() {
    let warnings = |machine: &str, interface: &str, settings: &[&str]| -> Vec<String> {
        let machine = config::load(machine).expect("a preset").with_settings(settings).expect("allowed");
        let told = machine.settings_with(&interface.parse().expect("a name")).expect("it exists");
        told.warnings.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        warnings("hpca98", "NI2w", &["interfaces.cni_iqm.receive_queue_blocks=1024", "bus.clock=125MHz"]),
        [
            "--set interfaces.cni_iqm.receive_queue_blocks=1024: interfaces.cni_iqm.receive_queue_blocks: has no effect \
             with NI2w: the interface is made of [interfaces.ni_iw]"
        ]
    );
    for (machine, interface, setting, why) in [
        ("hpca98", "NI2w", "store_buffer.entries=4", "uncached stores block the processor"),
        ("hpca98", "NI2w", "register_file.uncached_load_cycles=2", "the interface is on memory-bus"),
        ("hpca98", "NI2w", "data_cache.snarfing=true", "nobody else sends blocks home"),
        ("hpca98", "CNI32Qm", "block_buffers.transfer_cycles=1", "no device takes or gives whole blocks"),
        ("hpca98", "NI2w", "bus.cache_supply_time=1ns", "nobody asks for what the only cache"),
        (
            "isca96",
            "NI2w on cache-bus",
            "interfaces.ni_iw.send_time=1ns",
            "[cache_bus.interfaces.ni_iw] is in its stead",
        ),
        ("isca96", "NI2w on io-bus", "io_bus.upward_entries=9", "writes and invalidates no blocks"),
        ("isca96", "CNI16Q on io-bus", "cache_bus.uncached_load_cycles=9", "the interface is on io-bus"),
    ] {
        let found = warnings(machine, interface, &[setting]);
        assert!(found.len() == 1 && found[0].contains(why), "{machine} {interface} {setting}: {found:?}");
    }
    assert!(warnings("isca96", "CNI16Qm", &["data_cache.snarfing=true"]).is_empty());
    let shared = ["data_cache.snarfing=true", "machine.processors_per_node=2"];
    assert!(warnings("isca96", "NI2w", &shared).is_empty());
}

#[test]
fn what_a_preset_or_a_file_without_a_base_states_is_nobodys_choice() {
    let interface = "NI2w".parse().expect("a name");
    let preset = config::load("hpca98").expect("a preset");
    let whole = config::load_text("whole.toml", &preset.to_toml()).expect("it loads");
    for machine in [&preset, &whole] {
        let told = machine.settings_with(&interface).expect("it exists");
        assert_eq!((told.set.len(), told.warnings.len()), (0, 0));
    }
    let text =
        "base = \"hpca98\"\n[interfaces.cni_iq]\nengine_time = { value = \"1ns\", assumed = \"fast\" }\n";
    let file = config::load_text("mine.toml", text).expect("it loads");
    let warnings = file.settings_with(&interface).expect("it exists").warnings;
    assert!(
        warnings[0].to_string().starts_with("mine.toml:3:25: interfaces.cni_iq.engine_time: "),
        "{warnings:?}"
    );
}

#[test]
fn an_interface_that_the_machine_cannot_have_is_an_error() {
    let machine = config::load("isca96").expect("a preset");
    let refused = machine.settings_with(&"NI16w+Blkbuf".parse().expect("a name")).expect_err("no section");
    assert!(refused.to_string().contains("no [interfaces.ni_iw_blkbuf]"), "{refused}");
}
