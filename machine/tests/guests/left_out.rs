//! The inside of a NIC that only some interfaces have: a run with another one leaves it out.

use std::collections::BTreeSet;
use std::path::PathBuf;

use narthex_machine::{FirmwareFile, RunRequest, config, run};
use serde_json::Value;

use crate::support::{program, request};
use crate::two_buses::TWO_BUSES;

/// On the service bus a processor, its memory, a memory of both buses and an engine.
const INSIDE: &str = r#"
[node.memories.sram]
on = ["bus", "service_bus"]
start = 0x5f000000
size = "64KiB"

[node.dma_engines.copy]
on = ["bus", "service_bus"]
registers = [0x5f800000, 0x5f800000]

[memories.sram]
access_time = "40ns"
ports = "dual"

[dma_engines.copy]
start_time = "100ns"
block_time = "0ns"
burst = "128B"
register_access_time = "20ns"
"#;
const SEATS: &str = "[node.interface.ports.via]\non = [\"bus\", \"service_bus\"]\n";

struct MachineFile(PathBuf);

impl MachineFile {
    fn new(name: &str, ports: &str) -> Self {
        let table = "[processors.service_processor]\n";
        let text = TWO_BUSES.replace(table, &format!("{table}interrupt_cycles = 8\n"));
        let file = std::env::temp_dir().join(format!("narthex-{}-left-out-{name}.toml", std::process::id()));
        std::fs::write(&file, format!("{text}{INSIDE}{ports}")).expect("it can be written");
        MachineFile(file)
    }

    fn request(&self, firmware: &[&str]) -> RunRequest {
        let mut request = request(self.0.to_str().expect("a name"), "NI2w");
        let file = || FirmwareFile { file: "rest".into(), elf: program("rest: j rest") };
        request.firmware = firmware.iter().map(|name| ((*name).to_owned(), file())).collect();
        request
    }
}

impl Drop for MachineFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Writes the memory of both buses and reads it back.
const HOST: &str = "li s0, 0x5f000000\n li t0, 7\n sd t0, 8(s0)\n ld t1, 8(s0)\n report word, t1\n exit 0";

fn result(request: &RunRequest) -> Value {
    run(request, &program(HOST), &mut |_| true).unwrap_or_else(|failure| panic!("{failure}"))
}

/// How many processors the first node has, and what its statistics are called.
fn parts(document: &Value) -> (usize, BTreeSet<String>) {
    let node = &document["nodes"][0];
    let statistics = node["statistics"].as_object().expect("statistics").keys().cloned().collect();
    (node["processors"].as_array().expect("processors").len(), statistics)
}

#[test]
fn what_is_beside_ports_of_other_interfaces_is_left_out_with_all_that_is_on_it() {
    let (with, without) = (MachineFile::new("with", ""), MachineFile::new("without", SEATS));
    // Firmware that the machine has, but not this run, may be given.
    let firmware = ["service"];
    let whole = result(&with.request(&firmware));
    for given in [&firmware[..], &[]] {
        let left = result(&without.request(given));
        assert_eq!([parts(&whole).0, parts(&left).0], [2, 1]);
        let (all, rest) = (parts(&whole).1, parts(&left).1);
        assert!(all.contains("dma_copies") && all.iter().any(|name| name.starts_with("service_bus")));
        assert!(!rest.contains("dma_copies") && !rest.iter().any(|name| name.starts_with("service_bus")));
        // The memory of both buses stays on the host's.
        assert_eq!(crate::support::reported(&left, 0, "word"), 7);
    }
    let unknown = run(&without.request(&["servise"]), &program(HOST), &mut |_| true);
    assert!(unknown.map(drop).expect_err("it has none").message.contains("did you mean `service`?"));
}

#[test]
fn what_a_user_sets_of_parts_that_are_left_out_has_no_effect() {
    let file = MachineFile::new("settings", SEATS);
    let machine = config::load(file.0.to_str().expect("a name")).expect("a sound machine");
    let warned = machine.settings_with(&"NI2w".parse().expect("a name")).expect("it has the interface");
    let warned: Vec<String> = warned.warnings.iter().map(ToString::to_string).collect();
    for key in ["buses.service_bus.clock", "memories.service_memory.access_time", "dma_engines.copy.burst"] {
        let found = warned
            .iter()
            .find(|warning| warning.contains(key))
            .unwrap_or_else(|| panic!("{key}: {warned:?}"));
        assert!(found.contains("NI2w has no port"), "{found}");
    }
    assert!(!warned.iter().any(|warning| warning.contains("memories.sram")), "{warned:?}");
}
