//! Interrupts of descriptor rings behind a PCIe link: what a wait takes, what moderation adds, what masks and further
//! queues do, and what is refused.

use narthex_machine::{Failure, RunRequest, config};

use crate::pcie::MACHINE;
use crate::rings::PREPARED;
use crate::support::{failure, reported, request, statistic, with};
use crate::timing::measure;

/// What an interrupt takes, and a system call, in nanoseconds and cycles.
const INTERRUPT: u64 = 2_000;
const SYSTEM_CALL: u64 = 100;

/// One node whose driver may wait.
fn interrupted() -> RunRequest {
    let request = RunRequest { nodes: Some(1), ..request(MACHINE, "Ring") };
    [
        format!("operating_system.system_call_time={SYSTEM_CALL}ns"),
        format!("operating_system.interrupt_time={INTERRUPT}ns"),
        "operating_system.page_time=0ns".to_owned(),
        "operating_system.page_frames=contiguous".to_owned(),
        "operating_system.pinned_pages=1024".to_owned(),
        "interfaces.ring.notify=interrupt".to_owned(),
    ]
    .iter()
    .fold(request, |request, setting| with(request, setting))
}

/// Two packets of 64 bytes to node 0 are described.
fn prepared() -> String {
    format!("li t4, 0x400000\n li t5, 72\n{PREPARED}\n sd t3, 16(s8)\n sd t5, 24(s8)\n")
}

/// Enables the interrupt, and reads the register back.
const ENABLE: &str = "
    li   t6, 1
    sd   t6, 0xe8(s4)           # RECEIVE_RING_INTERRUPT
    ld   t6, 0xe8(s4)";

/// The doorbell for the packets up to a place in the ring.
fn ring(tail: u64) -> String {
    format!("\n li t6, {tail}\n sd t6, 0x98(s4)           # SEND_RING_TAIL\n")
}

/// Waits for vector 0, for ever.
const WAIT: &str = "
    li   a0, 0
    li   a1, -1
    li   a7, 0x4e06
    ecall";

#[test]
fn a_wait_ends_the_interrupts_time_after_its_message() {
    let run = |setting: &str| {
        measure(&with(interrupted(), setting), &prepared(), &[ENABLE, &ring(1), WAIT].concat(), 0)
    };
    let (cycles, document) = run("interfaces.ring.engine_time=50ns");
    assert_eq!(statistic(&document, 0, "receive_interrupts"), 1);
    // Both engines work on the packet before its message, and the operating system behind it. The call itself is over
    // before.
    let (longer, _) = run("interfaces.ring.engine_time=60ns");
    assert_eq!(longer - cycles, 2 * 10);
    let (cycles, _) = run(&format!("operating_system.interrupt_time={INTERRUPT}ns"));
    let (longer, _) = run(&format!("operating_system.interrupt_time={}ns", INTERRUPT + 7));
    assert_eq!(longer - cycles, 7);
    let (same, _) = run(&format!("operating_system.system_call_time={}ns", SYSTEM_CALL - 50));
    assert_eq!(same, cycles);
    // The processor sleeps while it waits.
    let ledger = &document["nodes"][0]["processors"][0]["ledger_ps"];
    assert!(ledger["application / interrupt"].as_u64().is_some_and(|waited| waited > 0), "{ledger}");
}

#[test]
fn moderation_holds_the_second_message_back_by_time_or_until_so_many_packets_are_there() {
    let second = [ENABLE, &ring(2), WAIT].concat();
    let first = format!("{}{ENABLE}{}{WAIT}", prepared(), ring(1));
    let run = |settings: &[&str]| {
        let request = settings.iter().fold(interrupted(), |request, setting| with(request, setting));
        measure(&request, &first, &second, 0)
    };
    let (at_once, _) = run(&[]);
    let (held, document) = run(&["interfaces.ring.interrupt_moderation=20us"]);
    assert_eq!(statistic(&document, 0, "receive_interrupts_moderated"), 1);
    assert!(held > at_once, "{held} {at_once}");
    // From message to message it is the time of moderation.
    let (longer, _) = run(&["interfaces.ring.interrupt_moderation=20005ns"]);
    assert_eq!(longer - held, 5);
    let (packets, document) =
        run(&["interfaces.ring.interrupt_moderation=20us", "interfaces.ring.interrupt_packets=1"]);
    assert_eq!((packets, statistic(&document, 0, "receive_interrupts_moderated")), (at_once, 0));
}

/// s9 is where RECEIVE_TABLE begins.
const TABLE: &str = "
    li   s9, 0x900
    add  s9, s4, s9";

/// Until what was sent is in memory, and long behind.
const PAUSE: &str = "
    li   t6, 20000
pause:
    addi t6, t6, -1
    bnez t6, pause
";

#[test]
fn a_masked_vector_sends_one_message_for_two_packets_when_it_is_unmasked() {
    let masked = format!("{TABLE}\n li t6, 1\n sd t6, 0x80(s9)             # VECTOR_MASK");
    let second = PAUSE.replace("pause", "again");
    let prepare = [prepared().as_str(), &masked, ENABLE, &ring(1), PAUSE, ENABLE, &ring(2), &second].concat();
    let prepare = format!("{prepare}\n ld t6, 0x88(s9)             # VECTOR_PENDING\n report pending, t6");
    let unmasked = format!("sd zero, 0x80(s9)\n{WAIT}");
    let run = |nanoseconds: u64| {
        let setting = format!("operating_system.interrupt_time={nanoseconds}ns");
        measure(&with(interrupted(), &setting), &prepare, &unmasked, 0)
    };
    let (cycles, document) = run(INTERRUPT);
    assert_eq!(reported(&document, 0, "pending"), 1);
    let counts = ["messages_deposited", "receive_interrupts_masked", "receive_interrupts"];
    assert_eq!(counts.map(|name| statistic(&document, 0, name)), [2, 2, 1]);
    assert_eq!(run(INTERRUPT + 7).0 - cycles, 7, "the unmasking begins the message");
}

#[test]
fn a_packet_goes_to_the_queue_that_the_table_names_and_interrupts_by_that_ones_vector() {
    let request = ["interfaces.ring.receive_steering=rss", "interfaces.ring.receive_queues=2"]
        .iter()
        .fold(interrupted(), |request, setting| with(request, setting));
    // Queue 1 lies behind 64 descriptors and buffers of 256 bytes; its own buffer lies in its part.
    let further = "
        li   t0, 0x4400
        add  a5, s7, t0
        sd   a5, 0x440(s4)          # FURTHER_RECEIVE_QUEUE
        li   t0, 64
        sd   t0, 0x448(s4)
        li   t0, 0x2000
        add  t2, a5, t0
        sd   t2, 0(a5)
        sd   t2, 16(a5)
        sd   t2, 32(a5)
        sd   t2, 48(a5)
        li   t0, 4
        sd   t0, 0x458(s4)";
    let [first, second] = [(0xe8, 0), (0x468, 1)].map(|(interrupt, queue): (u64, u64)| {
        let enable = format!("li t6, 1\n sd t6, {interrupt}(s4)\n ld t6, {interrupt}(s4)\n");
        let table = format!("{TABLE}\n li t0, {queue}\n sd t0, 0(s9)\n");
        let wait = WAIT.replace("li   a0, 0", &format!("li   a0, {queue}"));
        let prepare = [further, &table, &prepared(), PAUSE].concat();
        measure(&request, &prepare, &[enable, ring(1), wait].concat(), 0).1
    });
    let counts = ["packets_to_further_queues", "receive_interrupts"];
    assert_eq!(counts.map(|name| statistic(&first, 0, name)), [0, 1]);
    assert_eq!(counts.map(|name| statistic(&second, 0, name)), [1, 1]);
}

#[test]
fn a_packet_that_came_before_the_interrupt_was_enabled_interrupts_nobody() {
    let request = with(interrupted(), "machine.time_without_progress=50us");
    // The driver does not look again.
    let guest = |wait: &str| {
        format!(
            "li s4, 0x50000000\n ld s7, 96(s4)\n ld s8, 80(s4)\n ld s4, 40(s4)\n {}{}{PAUSE}{wait}\n exit 0",
            prepared(),
            ring(1)
        )
    };
    for wait in [[ENABLE, WAIT].concat(), WAIT.to_owned()] {
        let Failure { exit_code, message, .. } = failure(&request, &guest(&wait));
        assert_eq!(exit_code, Failure::NO_PROGRESS, "{message}");
    }
}

#[test]
fn what_interrupts_nobody_is_refused_with_its_key() {
    let ring = |machine: &str, settings: &[&str]| {
        let request = RunRequest { nodes: Some(1), ..request(machine, "Ring") };
        let request = settings.iter().fold(request, |request, setting| with(request, setting));
        failure(&request, "exit 0").message
    };
    let interrupt = "interfaces.ring.notify=interrupt";
    for (machine, settings, told) in [
        ("chip", vec![interrupt], "behind no link that carries its messages; expected \"poll\""),
        (MACHINE, vec![interrupt], "operating_system.interrupt_time is missing"),
    ] {
        let message = ring(machine, &settings);
        assert!(message.contains("notify") && message.contains(told), "{message}");
    }
    let machine = config::load(MACHINE).expect("it loads");
    for (settings, key, told) in [
        (
            vec!["interrupt_moderation=20us"],
            "interrupt_moderation",
            "expected notify = \"interrupt\" with it",
        ),
        (vec!["notify=poll", "interrupt_packets=4"], "interrupt_packets", "the driver polls"),
        (
            vec!["notify=interrupt", "interrupt_packets=4"],
            "interrupt_packets",
            "interrupt_moderation with it",
        ),
        (
            vec!["notify=interrupt", "interrupt_moderation=1us", "interrupt_packets=8000"],
            "interrupt_packets",
            "are possible with receive_ring",
        ),
        (vec!["notify=interupt"], "notify", "interrupt"),
        (vec!["receive_steering=rss", "receive_queues=17"], "receive_queues", "2 to 16"),
        (
            vec!["receive_steering=rss", "receive_queues=16", "receive_ring=2048"],
            "receive_ring",
            "16 rings of 2048 descriptors",
        ),
    ] {
        let settings: Vec<_> = settings.iter().map(|setting| format!("interfaces.ring.{setting}")).collect();
        let refused = machine.with_settings(&settings).map(drop).unwrap_err().to_string();
        assert!(refused.contains(key) && refused.contains(told), "{key}: {refused}");
    }
}
