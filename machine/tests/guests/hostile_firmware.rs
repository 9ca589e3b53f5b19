//! Firmware of VIA that states what its interface does not have: it is told at the store.

use narthex_machine::{Failure, FirmwareFile, RunRequest, run};

use crate::support::{program, request};

/// Registers of a via device, from its first one on.
const REGISTERS: u64 = 0x7000_1000;
const SEND_HEADER: u64 = 0x40;
const SEND_PAYLOAD: u64 = 0x48;
const SEND_START: u64 = 0x50;
const RECEIVE_BUFFER: u64 = 0x58;
const PLACE_ADDRESS: u64 = 0x78;
const PLACE_LENGTH: u64 = 0x80;
const TAG_HOST_END: u64 = 0x98;
const TAG_NI_START: u64 = 0xa0;
const TAG_NI_END: u64 = 0xa8;
const TAG_CONTROL: u64 = 0xb0;
const AWAIT_ADDRESS: u64 = 0xb8;
const AWAIT_LENGTH: u64 = 0xc0;
const WINDOW_ADDRESS: u64 = 0xe0;
const PUT_SOURCE: u64 = 0xe8;
const PUT_ADDRESS: u64 = 0xf0;
const PUT_LENGTH: u64 = 0xf8;

/// What becomes of firmware that makes these stores, while the host's program waits a while.
fn after(stores: &[(u64, u64)]) -> Result<(), Failure> {
    let store = |(register, value): &(u64, u64)| {
        format!("li t0, {}\n li t1, {value}\n sd t1, 0(t0)\n", REGISTERS + register)
    };
    let firmware: String = stores.iter().map(store).collect();
    let file = FirmwareFile { file: "hostile.elf".into(), elf: program(&format!("{firmware} rest: j rest")) };
    let firmware = [("via".to_owned(), file)].into();
    let request = RunRequest { firmware, ..request("edt", "EDT") };
    run(&request, &program("li t0, 5000\n wait: addi t0, t0, -1\n bnez t0, wait\n exit 0"), &mut |_| true)
        .map(drop)
}

#[test]
fn what_lies_outside_the_interfaces_memory_is_refused_at_the_store() {
    const INSIDE: u64 = 0x8_0000;
    for (stores, problem) in [
        (
            &[(AWAIT_ADDRESS, INSIDE), (AWAIT_LENGTH, u64::MAX >> 1)][..],
            "an awaited copy of 9223372036854775807 bytes",
        ),
        (&[(AWAIT_ADDRESS, u64::MAX), (AWAIT_LENGTH, 8)], "an awaited copy of 8 bytes at 0xffffffffffffffff"),
        (
            &[(TAG_HOST_END, 1 << 45), (TAG_NI_END, 1 << 45), (TAG_CONTROL, 1)],
            "the copy of a tag of 35184372088832 bytes at 0x0",
        ),
        (
            &[(TAG_HOST_END, 128), (TAG_NI_START, INSIDE), (TAG_NI_END, INSIDE + 256), (TAG_CONTROL, 1)],
            "expected two ranges of the same length",
        ),
        (
            &[(PUT_SOURCE, INSIDE), (PUT_ADDRESS, 1 << 31), (PUT_LENGTH, 1 << 36)],
            "a put of 68719476736 bytes at 0x80000",
        ),
        (
            &[(PUT_SOURCE, INSIDE), (PUT_ADDRESS, 1 << 20), (PUT_LENGTH, 1 << 25)],
            "a put of 33554432 bytes at 0x80000",
        ),
        (
            &[(PUT_SOURCE, INSIDE), (PUT_ADDRESS, 0x5200_0000), (PUT_LENGTH, 8)],
            "8 bytes for the host at 0x52000000",
        ),
        (&[(RECEIVE_BUFFER, 0)], "a slot of"),
        (&[(PLACE_ADDRESS, u64::MAX - 7), (PLACE_LENGTH, 64)], "the place of a message of 64 bytes"),
        (&[(WINDOW_ADDRESS, 8)], "a window of 65536 bytes at 0x8"),
        (&[(SEND_HEADER, 8), (SEND_START, 0)], "a packet's header of 32 bytes at 0x8"),
        (
            &[(SEND_HEADER, INSIDE), (SEND_PAYLOAD, u64::MAX), (SEND_START, 8)],
            "a packet's payload of 8 bytes",
        ),
    ] {
        let failure = after(stores).expect_err(problem);
        assert_eq!(failure.exit_code, Failure::GUEST, "{failure}");
        assert!(failure.message.contains(problem), "{problem:?} is not in {failure}");
        assert!(failure.message.contains("node 0, firmware on processor 1"), "{failure}");
    }
    let all =
        [(AWAIT_ADDRESS, INSIDE), (AWAIT_LENGTH, 0x1_0000), (RECEIVE_BUFFER, INSIDE), (PLACE_LENGTH, 0)];
    after(&all).expect("the interface has that");
}

#[test]
fn no_more_is_to_be_put_than_the_interface_holds() {
    let put = [(PUT_SOURCE, 0x1_0000), (PUT_ADDRESS, 1 << 20), (PUT_LENGTH, 1 << 20)];
    let failure = after(&put.repeat(64)).expect_err("64 MiB");
    assert!(failure.message.contains("more than the interface's memory has"), "{failure}");
}
