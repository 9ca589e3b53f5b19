//! A part of a memory behind CXL: what a load and a block that leaves take, and what is refused. Its link is
//! tested beside it.

use narthex_machine::{RunRequest, config};
use narthex_memory::interconnects::cxl::expander::CXL_MEMORY;

use crate::checkpoints;
use crate::directory::{LOOKUP, MEMORY, SECOND_LEVEL, block, message};
use crate::last_level::{LAST_LEVEL, load_behind, mapped, sliced};
use crate::support::{request, run_guest};

/// A megabyte behind one lane of generation 6.
const KEYS: &str = "[main_memory.cxl]\nsize = \"1MiB\"\ngeneration = 6\nlanes = 1\nflit = \"256B\"\n\
                    host_port_latency = \"15ns\"\nlink_latency = \"5ns\"\ndevice_port_latency = \"15ns\"\n\
                    access_time = \"80ns\"\n";

/// What six slots take, a request and an answer, both ways, and the device.
const BEHIND: u64 = 13 + 2 * 35 + 80;

fn counted(document: &serde_json::Value, statistic: &str, name: &str) -> u64 {
    let statistics = &document["nodes"][0]["statistics"];
    statistics[format!("cxl_memory_{statistic}")][name].as_u64().expect("it is counted")
}

#[test]
fn a_load_that_misses_takes_a_request_and_an_answer_over_the_link_and_the_device() {
    let machine = sliced("cxl-memory", "chip", KEYS);
    let beside = message(3) + LOOKUP + block(3) + SECOND_LEVEL + LAST_LEVEL;
    let load = |address| load_behind(&machine, address + 3 * 64, "");
    let (cycles, document) = load(CXL_MEMORY.start);
    assert_eq!(cycles, beside + BEHIND);
    assert_eq!(counted(&document, "payload", "up"), 64 * 2, "two passes");
    assert_eq!(load(32 << 30).0, beside + MEMORY);
}

/// Lines that write so many blocks there and read them.
fn written(blocks: u64) -> String {
    let each = |access: &str, name: &str| {
        format!(
            "li t0, {}\n li s0, {blocks}\n {name}:\n {access}\n addi t0, t0, 64\n addi s0, s0, -1\n bnez s0, {name}\n",
            CXL_MEMORY.start
        )
    };
    format!(
        "{}\n {} {} exit 0",
        mapped(CXL_MEMORY.start),
        each("sd s0, 0(t0)", "write"),
        each("ld t1, 0(t0)\n sub t1, t1, s0\n bnez t1, wrong", "read")
            + "j right\n wrong: .word 0\n right:\n"
    )
}

#[test]
fn blocks_that_leave_the_host_are_written_there_and_answered_and_rest_in_a_checkpoint() {
    let path = std::env::temp_dir().join(format!("narthex-{}-cxl-written.toml", std::process::id()));
    let text = format!("base = \"chip\"\n[second_level_cache]\nsize = \"64KiB\"\n{KEYS}");
    std::fs::write(&path, text).expect("room for a file");
    let machine = RunRequest { nodes: Some(2), ..request(&path.display().to_string(), "NI2w") };
    let guest = written(2048);
    let run = |threads| run_guest(&RunRequest { threads, ..machine.clone() }, &guest).unwrap();
    let document = run(1);
    assert_eq!(document, run(2));
    let counted = |name| counted(&document, "messages", name);
    let returned = counted("RwD MemWr");
    assert!(returned > 0 && counted("Cmp") == returned && counted("MemInv") == 0, "{returned}");
    assert_eq!(counted("Req MemRd"), counted("MemData"));
    checkpoints::check(&machine, &written(512));
}

#[test]
fn a_part_behind_cxl_that_cannot_be_is_refused_with_key_and_what_is_allowed() {
    let machine = config::load(&sliced("cxl-refused", "chip", KEYS)).expect("it loads");
    for (setting, says) in [
        ("main_memory.cxl.size=0B", "main_memory.cxl.size: 0B is not allowed; expected a multiple of 4KiB"),
        ("main_memory.cxl.size=32GiB", "from 4KiB to 16GiB"),
        ("main_memory.cxl.lanes=3", "main_memory.cxl.lanes: 3 is not allowed; expected 1, 2, 4, 8 or 16"),
        (
            "main_memory.cxl.flit=68B",
            "main_memory.cxl.flit: 68B is not allowed; expected 256B with generation = 6",
        ),
        ("main_memory.cxl.access_time=0ns", "main_memory.cxl.access_time: 0ps"),
        ("main_memory.cxl.lane=8", "did you mean"),
        (
            "operating_system={page_frames=\"scattered\",system_call_time=\"0ns\",page_time=\"0ns\",pinned_pages=1}",
            "main_memory.cxl: is found by a process's addresses",
        ),
    ] {
        let refused = machine.with_settings(&[setting.to_owned()]).map(drop);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(says), "{setting}: {refused}");
    }
}
