//! Signals on whole machines: faults and signals that a program handles, on one thread and several,
//! and over checkpoints. What a frame holds, and what is blocked, the tests of
//! `narthex_cores::linux` show.

use narthex_machine::{GivenFile, RunRequest, Surroundings};

use crate::checkpoints;
use crate::process_threads::{compared, program, several};
use crate::support::{DATA, alone, failure, reported, run_guest};

/// A handler, with its address in `ra` behind it: it counts at s10 + 8, and lets the thread go on
/// behind the instruction at which it was.
const HANDLER: &str = "
    call over
    ld   t0, 176(a2)
    addi t0, t0, 4
    sd   t0, 176(a2)
    ld   t0, 8(s10)
    addi t0, t0, 1
    sd   t0, 8(s10)
    ret
    over:
";

/// The handler at `ra` is that of a signal from now on.
fn handle(signal: u64) -> String {
    format!(
        "sd ra, 640(s10)\n sd zero, 648(s10)\n sd zero, 656(s10)
        li a0, {signal}\n addi a1, s10, 640\n li a2, 0\n li a3, 8\n li a7, 134\n ecall"
    )
}

/// Turns of which each faults, and sends itself the same signal.
fn faulting(turns: u64) -> String {
    format!(
        "li s10, {DATA}\n {HANDLER}\n {}
        li s9, {turns}
        again:
        ld a1, 16(zero)
        li a0, 1000\n li a1, 11\n li a7, 129\n ecall
        nop
        addi s9, s9, -1
        bnez s9, again
        ld t0, 8(s10)
        report handled, t0
        exit 0",
        handle(11)
    )
}

/// With a second node, windows are short.
fn two_nodes(request: RunRequest) -> RunRequest {
    RunRequest { nodes: Some(2), ..request }
}

#[test]
fn a_fault_is_handled_and_the_thread_goes_on_where_its_handler_says() {
    let document = run_guest(&alone("hpca98"), &faulting(5)).expect("it ends");
    assert_eq!(reported(&document, 0, "handled"), 10);
    let text = failure(&alone("hpca98"), "ld a1, 16(zero)\n exit 0").message;
    assert!(text.contains("load from 0x10") && !text.contains("handler"), "{text}");
}

#[test]
fn handlers_go_on_from_any_instant() {
    checkpoints::check(&two_nodes(alone("hpca98")), &faulting(40));
}

/// What is written, read and open is a part of the state.
#[test]
fn open_files_go_on_from_any_instant() {
    let input = GivenFile { file: "input".into(), bytes: (0..64).collect() };
    let surroundings =
        Surroundings { input: Some(input), output_files: Some("unused".into()), ..Surroundings::default() };
    let request = RunRequest { surroundings, ..alone("hpca98") };
    // A file of the name "x": each turn copies a byte of the input to it, and adds up what it reads back.
    let guest = format!(
        "li s10, {DATA}\n li t0, 120\n sd t0, 0(s10)
        li a0, -100\n mv a1, s10\n li a2, 0x42\n li a3, 0\n li a7, 56\n ecall
        mv s8, a0\n li s9, 40\n li s7, 0
        again:
        li a0, 0\n addi a1, s10, 64\n li a2, 1\n li a7, 63\n ecall
        mv a0, s8\n li a7, 64\n ecall
        mv a0, s8\n addi a1, s10, 72\n li a2, 1\n li a3, 40\n sub a3, a3, s9\n li a7, 67\n ecall
        lbu t0, 72(s10)\n add s7, s7, t0
        addi s9, s9, -1\n bnez s9, again
        report sum, s7\n report file, s8
        exit 0"
    );
    checkpoints::check(&two_nodes(request.clone()), &guest);
    let folder = std::env::temp_dir().join(format!("narthex-files-{}", std::process::id()));
    let surroundings = Surroundings { output_files: Some(folder.clone()), ..request.surroundings };
    let document = run_guest(&RunRequest { surroundings, ..alone("hpca98") }, &guest).expect("it ends");
    assert_eq!((reported(&document, 0, "sum"), reported(&document, 0, "file")), (780, 3));
    assert_eq!(std::fs::read(folder.join("node-0/x")).expect("it is there"), (0..40).collect::<Vec<u8>>());
    assert_eq!(document["written_files"][0]["file"], "node-0/x");
    std::fs::remove_dir_all(folder).expect("it is there");
}

#[test]
fn a_signal_ends_the_sleep_of_another_thread_at_the_same_instant_however_it_is_computed() {
    let work = format!(
        "bnez s8, other\n {HANDLER}\n {}
        sd zero, 704(s10)\n li t0, 20000\n sd t0, 712(s10)
        addi a0, s10, 704\n li a1, 0\n li a7, 101\n ecall
        li a0, 1001\n li a1, 10\n li a7, 130\n ecall
        j joined
        other:
        addi a0, s10, 512\n li a1, 0\n li a2, 0\n li a3, 0\n li a7, 98\n ecall
        nop
        sd a0, 528(s10)
        joined:",
        handle(10)
    );
    let last = "ld t0, 8(s10)\n report handled, t0\n ld t0, 528(s10)\n neg t0, t0\n report error, t0";
    let guest = program(2, &work, last);
    let (document, ..) = compared(&several("hpca98", 2), &guest);
    // EINTR.
    assert_eq!((reported(&document, 0, "handled"), reported(&document, 0, "error")), (1, 4));
    checkpoints::check(&two_nodes(several("hpca98", 2)), &guest);
}
