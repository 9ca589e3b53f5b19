//! A last level in slices at the tiles of a chip: to the cycle, with what devices write into it over a link.
//!
//! Times on the chip are those of [`crate::directory`]; the last level takes 20 ns, the memory behind it 60.

use narthex_machine::{RunRequest, config};
use narthex_memory::sockets::{FAR_MEMORY, OTHER_SOCKET};

use crate::checkpoints;
use crate::directory::{LOOKUP, MEMORY, SECOND_LEVEL, block, measured, message};
use crate::pcie;
use crate::process_threads::{compared, program, several};
use crate::support::exchange::ping_pong;
use crate::support::{DATA, alone, reported, request, result, run_guest, statistic};

pub const LAST_LEVEL: u64 = 20;

/// A machine with a slice of 64 KiB at each of 16 tiles, by the path of its file.
pub fn sliced(name: &str, base: &str, more: &str) -> String {
    written(name, base, 16, more)
}

/// The same with so many slices in each socket.
fn written(name: &str, base: &str, slices: u64, more: &str) -> String {
    let size = 64 * slices;
    let text = format!(
        "base = \"{base}\"\n[node.memories.main_memory]\nat = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, \
         15]\ncache = \"third_level_cache\"\n[third_level_cache]\nsize = \"{size}KiB\"\nassociativity = 4\n\
         slices = {slices}\naccess_time = \"20ns\"\n{more}"
    );
    let path = std::env::temp_dir().join(format!("narthex-{}-sliced-{name}.toml", std::process::id()));
    std::fs::write(&path, text).expect("room for a file");
    path.display().to_string()
}

/// Lines that map a megabyte of pages at this address.
pub fn mapped(address: u64) -> String {
    format!(
        "li a0, {}\n li a1, 0x100000\n li a2, 3\n li a3, 0x32\n li a4, -1\n li a5, 0\n li a7, 222\n ecall",
        address & !0xfff
    )
}

/// The cycles of a load by the first tile behind the lines `prepare`, from pages at this address, and the document.
pub fn load_behind(machine: &str, address: u64, prepare: &str) -> (u64, serde_json::Value) {
    let guest = format!(
        "{}\n li s10, {DATA}\n li s2, {address}\n li s0, 2\n pass:\n {prepare} {} li t0, 0x20000\n \
         add s2, s2, t0\n addi s0, s0, -1\n bnez s0, pass\n report cycles, s3\n exit 0",
        mapped(address),
        measured("ld a0")
    );
    let document = result(&alone(machine), &guest);
    (reported(&document, 0, "cycles") as u64, document)
}

/// Lines that load the block and so many others of its set that it leaves the second level.
fn pushed_out() -> String {
    let stride = "li t1, 0x8000\n addi t0, s2, 0\n ld a0, 0(t0)\n";
    format!("{stride}{}", "add t0, t0, t1\n ld a0, 0(t0)\n".repeat(8))
}

#[test]
fn a_block_that_a_second_level_gives_up_unchanged_comes_from_its_slice() {
    let address = (32 << 30) + 3 * 64; // with its home at place 3
    let on_chip = message(3) + LOOKUP + block(3) + SECOND_LEVEL;
    // The block that leaves goes first, to the same home: its bytes take the way for 5 ns, and the slice has taken
    // them 4 ns after it could have looked up the read.
    for (fill, behind_victim) in [("victims", 5 + 4), ("reads", 0)] {
        let machine = sliced(fill, "chip", &format!("fill = \"{fill}\"\n"));
        assert_eq!(load_behind(&machine, address, "").0, on_chip + LAST_LEVEL + MEMORY, "{fill}");
        let (cycles, document) = load_behind(&machine, address, &pushed_out());
        assert_eq!(cycles, on_chip + LAST_LEVEL + behind_victim, "{fill}");
        assert_eq!(
            statistic(&document, 0, "third_level_written_back"),
            0,
            "{fill}: the memory has its bytes"
        );
    }
}

/// The chip cut into two sockets of two rows each.
fn two_sockets() -> String {
    let sockets = "[network_on_chip.sockets]\ncount = 2\nlink_time = \"50ns\"\nlink_width = \"16B\"\n";
    written("sockets", "chip", 8, sockets)
}

#[test]
fn memory_of_the_other_socket_is_a_link_away_from_its_slice_or_with_it() {
    let load_at = |address| load_behind(&two_sockets(), address, "").0;
    let beside = LOOKUP + LAST_LEVEL + MEMORY + SECOND_LEVEL;
    let own = message(0) + block(0) + beside;
    assert_eq!(load_at(32 << 30), own);
    assert_eq!(load_at(FAR_MEMORY.start), own + 2 * 50, "the slice is here, and its memory is there");
    // Two hops away, of which the link takes 50 ns in the place of 3.
    assert_eq!(load_at(OTHER_SOCKET.start), message(2) + block(2) + 2 * (50 - 3) + beside);
}

#[test]
fn threads_of_two_sockets_share_memory_and_rest_in_a_checkpoint() {
    let shared = several(&two_sockets(), 16);
    let work = "li s0, 20\n more:\n li t0, 1\n amoadd.d zero, t0, (s10)\n addi s0, s0, -1\n bnez s0, more";
    let guest = program(16, work, "ld t0, 0(s10)\n report count, t0");
    let (document, ..) = compared(&shared, &guest);
    assert_eq!(reported(&document, 0, "count"), 20 * 16);
    let victims = written(
        "sockets-victims",
        "chip",
        8,
        "fill = \"victims\"\nreplacement = \"random\"\n[network_on_chip.sockets]\n\
         count = 2\nlink_time = \"50ns\"\nlink_width = \"16B\"\n",
    );
    checkpoints::check(&RunRequest { nodes: Some(2), ..request(&victims, "NI2w") }, &ping_pong(5, 64));
}

/// Messages over a PCIe link, whose packets the interface writes into memory.
fn over_link(name: &str, ways: u32) -> (RunRequest, serde_json::Value) {
    let ddio = format!("[third_level_cache.ddio]\nways = {ways}\nrequesters = [\"pcie\"]\n");
    let machine = sliced(name, pcie::MACHINE, &ddio);
    let request = RunRequest { nodes: Some(2), ..request(&machine, "CNI0Qm") };
    let run = |threads| run_guest(&RunRequest { threads, ..request.clone() }, &ping_pong(5, 200)).unwrap();
    let document = run(1);
    assert_eq!(document, run(2));
    (request, document)
}

#[test]
fn what_a_device_writes_over_a_link_comes_into_its_ways_of_the_last_level() {
    let (request, document) = over_link("ddio", 1);
    let counted = |document: &_, name| statistic(document, 1, name);
    assert!(counted(&document, "ddio_allocations") > 0);
    assert_eq!(counted(&document, "ddio_evictions"), 0, "64 sets have room for all");
    checkpoints::check(&request, &ping_pong(5, 64));
    let (_, without) = over_link("no-ddio", 0);
    assert_eq!(counted(&without, "ddio_allocations"), 0);
    assert!(counted(&without, "ddio_memory_bytes") > counted(&document, "ddio_memory_bytes"));
}

#[test]
fn a_last_level_that_cannot_be_is_refused_with_key_and_what_is_allowed() {
    let ddio = "[third_level_cache.ddio]\nways = 1\nrequesters = [\"pcie\"]\n";
    let machine = config::load(&sliced("refused", pcie::MACHINE, ddio)).expect("it loads");
    for (setting, key, says) in [
        ("slices=8", "third_level_cache.slices", "names 16 in each socket"),
        ("associativity=33", "third_level_cache.associativity", "from 1 to 32"),
        ("size=1MB", "third_level_cache.size", "the nearest are 512KiB and 1MiB"),
        ("ddio.ways=5", "third_level_cache.ddio.ways", "expected 0 to 4"),
        ("ddio.requesters=[\"pci\"]", "third_level_cache.ddio.requesters", "did you mean `pcie`"),
        ("fill=victim", "third_level_cache.fill", "victims"),
    ] {
        let refused = machine.with_settings(&[format!("third_level_cache.{setting}")]).map(drop);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(key) && refused.contains(says), "{setting}: {refused}");
    }
}
