//! Events of completions behind a PCIe link: what a wait takes, what arms and masks do, and what is refused.

use narthex_machine::{Failure, RunRequest};

use crate::pcie::MACHINE;
use crate::support::{failure, reported, request, statistic, with};
use crate::timing::measure;
use crate::verbs::{call, prepared};

/// What an interrupt takes, in nanoseconds and cycles.
const INTERRUPT: u64 = 2_000;

/// One node whose programs may wait.
fn interrupted() -> RunRequest {
    let request = RunRequest { nodes: Some(1), ..request(MACHINE, "Verbs") };
    [
        "operating_system.system_call_time=100ns",
        &format!("operating_system.interrupt_time={INTERRUPT}ns"),
        "operating_system.page_time=0ns",
        "operating_system.page_frames=contiguous",
        "operating_system.pinned_pages=1024",
        "interfaces.verbs.notify=interrupt",
    ]
    .iter()
    .fold(request, |request, setting| with(request, setting))
}

/// A queue pair that is connected to itself, whose completion queue 1 has event queue 0; at t5 are the events.
fn with_events() -> String {
    let calls = [call(15, &["@0x6800", "1"]), call(17, &["1", "0"])].concat();
    // A request without payload that asks for a completion.
    format!(
        "{}
{calls}
        li   t0, 0x6800
        add  t5, s2, t0
        li   t6, 0x400100000000     # nothing, one segment, queue pair 0x40
        sd   t6, 0(s3)
        li   t0, 8
        sd   t0, 8(s3)
        mv   t3, s3
        mv   s3, s8
        fence",
        prepared()
    )
}

/// Arms completion queue 1 for the completion behind so many.
fn arm(taken: u64) -> String {
    format!("\n li t4, {:#x}\n sd t4, 0x120(s4)           # VERBS_ARM\n", taken << 32 | 1)
}

/// Rings for the request.
const SEND: &str = "
    sd   t6, 0x100(s4)          # VERBS_DOORBELL
";

/// Waits for vector 0, for ever.
const WAIT: &str = "
    li   a0, 0
    li   a1, -1
    li   a7, 0x4e06
    ecall
";

/// Until what was asked for is over.
const PAUSE: &str = "
    li   t4, 20000
pause:
    addi t4, t4, -1
    bnez t4, pause
";

/// What the link takes for a packet, beside its time on the wires.
fn link_latency(nanoseconds: u64) -> String {
    format!("node.interconnects.pcie.link_latency={nanoseconds}ns")
}

#[test]
fn an_armed_completion_takes_four_ways_over_the_link_and_the_interrupts_time() {
    let run = |setting: &str| {
        let prepare = [with_events(), arm(0)].concat();
        measure(&with(interrupted(), setting), &prepare, &[SEND, WAIT].concat(), 0)
    };
    let (cycles, document) = run(&link_latency(5));
    let counts = ["verbs_arms", "verbs_events", "verbs_completions"];
    assert_eq!(counts.map(|name| statistic(&document, 0, name)), [1, 1, 1]);
    // The doorbell, the read of the request and its answer; the event and its message follow the completion.
    assert_eq!(run(&link_latency(15)).0 - cycles, 4 * 10);
    assert_eq!(run(&format!("operating_system.interrupt_time={}ns", INTERRUPT + 7)).0 - cycles, 7);
    assert_eq!(run("operating_system.system_call_time=50ns").0, cycles, "the call is over before");
    let ledger = &document["nodes"][0]["processors"][0]["ledger_ps"];
    assert!(ledger["application / interrupt"].as_u64().is_some_and(|waited| waited > 0), "{ledger}");
}

#[test]
fn an_arm_behind_a_completion_that_was_not_taken_leads_to_an_event_at_once() {
    let prepare = [with_events().as_str(), SEND, PAUSE].concat();
    let report = "\n lbu t4, 63(t5)\n report event, t4\n";
    let run = |nanoseconds| {
        let request = with(interrupted(), &link_latency(nanoseconds));
        measure(&request, &[prepare.as_str(), report].concat(), &[arm(0).as_str(), WAIT].concat(), 0)
    };
    let (cycles, document) = run(5);
    assert_eq!((reported(&document, 0, "event"), statistic(&document, 0, "verbs_events")), (0, 1));
    assert_eq!(run(15).0 - cycles, 2 * 10, "the arm goes down, the event comes up");
    // One that was taken, and one that is not solicited, lead to none.
    for word in [1, 1 << 24] {
        let guest = format!(
            "li s2, 0x100000\n li s3, 0x108000\n li s4, 0x50000000\n ld s4, 40(s4)\n {prepare}{}{WAIT}\n exit 0",
            arm(word)
        );
        let Failure { exit_code, message, .. } =
            failure(&with(interrupted(), "machine.time_without_progress=50us"), &guest);
        assert_eq!(exit_code, Failure::NO_PROGRESS, "{message}");
    }
}

#[test]
fn moderation_holds_the_second_event_back_by_its_time() {
    let first = [with_events().as_str(), &arm(0), SEND, WAIT].concat();
    // The second request stands in the next block of the send queue, and the program has taken an event.
    let second = "
        li   t6, 0x400100000100
        sd   t6, 64(t3)
        li   t0, 8
        sd   t0, 72(t3)
        fence
    ";
    let second = [second, arm(1 << 28 | 1).as_str(), SEND, WAIT].concat();
    let run = |settings: &[&str]| {
        let request = settings.iter().fold(interrupted(), |request, setting| with(request, setting));
        measure(&request, &first, &second, 0)
    };
    let (at_once, _) = run(&[]);
    let (held, document) = run(&["interfaces.verbs.interrupt_moderation=20us"]);
    assert_eq!(statistic(&document, 0, "verbs_events_moderated"), 1);
    assert!(held > at_once, "{held} {at_once}");
    let (longer, _) = run(&["interfaces.verbs.interrupt_moderation=20005ns"]);
    assert_eq!(longer - held, 5, "it counts from event to event");
    let (packets, document) =
        run(&["interfaces.verbs.interrupt_moderation=20us", "interfaces.verbs.interrupt_packets=1"]);
    assert_eq!((packets, statistic(&document, 0, "verbs_events_moderated")), (at_once, 0));
}

#[test]
fn a_masked_vector_sends_its_message_when_it_is_unmasked() {
    let mask = "
    li   a6, 0x980
    add  a6, a6, s4
    li   t4, 1
    sd   t4, 0(a6)              # VECTOR_MASK
";
    let pending = "\n ld t4, 8(a6)\n report pending, t4\n";
    let prepare = [with_events().as_str(), mask, &arm(0), SEND, PAUSE, pending].concat();
    let run = |nanoseconds: u64| {
        let setting = format!("operating_system.interrupt_time={nanoseconds}ns");
        measure(&with(interrupted(), &setting), &prepare, &format!("sd zero, 0(a6)\n{WAIT}"), 0)
    };
    let (cycles, document) = run(INTERRUPT);
    assert_eq!(reported(&document, 0, "pending"), 1);
    assert_eq!(["verbs_events", "verbs_events_masked"].map(|name| statistic(&document, 0, name)), [1, 1]);
    assert_eq!(run(INTERRUPT + 7).0 - cycles, 7);
}

#[test]
fn wrong_arms_and_machines_that_interrupt_nobody_are_refused() {
    for (word, told) in [
        (arm(9), "completion queue 1 is armed with 9 completions taken; 0 have been written"),
        (arm(0).replace("0x1\n", "0x2\n"), "completion queue 2 is armed, and the process has none"),
    ] {
        let guest = format!(
            "li s2, 0x100000\n li s3, 0x108000\n li s4, 0x50000000\n ld s4, 40(s4)\n {}{word}{PAUSE} exit 0",
            with_events()
        );
        let Failure { exit_code, message, .. } = failure(&interrupted(), &guest);
        assert_eq!(exit_code, Failure::GUEST, "{message}");
        assert!(message.contains(told), "{told} is not in {message}");
    }
    for (settings, key, told) in [
        (vec!["notify=interrupt"], "notify", "operating_system.interrupt_time is missing"),
        (vec!["interrupt_moderation=20us"], "interrupt_moderation", "the driver polls"),
    ] {
        let settings: Vec<_> = settings.iter().map(|setting| format!("interfaces.verbs.{setting}")).collect();
        let run = RunRequest { nodes: Some(1), ..request(MACHINE, "Verbs") };
        let run = settings.iter().fold(run, |run, setting| with(run, setting));
        let refused = failure(&run, "exit 0").message;
        assert!(refused.contains(key) && refused.contains(told), "{key}: {refused}");
    }
    let run = RunRequest { nodes: Some(1), ..request("chip", "Verbs") };
    let refused = failure(&with(run, "interfaces.verbs.notify=interrupt"), "exit 0").message;
    assert!(refused.contains("behind no link that carries its messages; expected \"poll\""), "{refused}");
}
