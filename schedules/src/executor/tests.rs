use super::*;
use crate::parameters::Line;
use crate::text;

const PARAMETERS: Parameters = Parameters {
    latency: Line { first_ns: 100.0, per_byte_ns: 1.0 },
    send_overhead: Line { first_ns: 10.0, per_byte_ns: 2.0 },
    receive_overhead: Line { first_ns: 20.0, per_byte_ns: 3.0 },
    gap: Line { first_ns: 50.0, per_byte_ns: 4.0 },
    eager_bytes: 1_000,
    calculation_scale: 1.0,
};

fn finish_ns(ranks: &[&str], parameters: &Parameters) -> Result<Vec<u64>, Problem> {
    let mut text = format!("num_ranks {}\n", ranks.len());
    for (rank, operations) in ranks.iter().enumerate() {
        text += &format!("rank {rank} {{\n{operations}\n}}\n");
    }
    let schedule = text::read(text.as_bytes()).unwrap();
    let outcome = execute(&schedule, parameters, &mut |_, _| true)?;
    Ok(outcome.finish_ps.iter().map(|ps| ps / 1_000).collect())
}

#[test]
fn one_way_takes_both_overheads_and_the_latency() {
    // o_s 10+18, L 100+9, o_r 20+27.
    let found = finish_ns(&["send 10b to 1", "recv 10b from 0"], &PARAMETERS).unwrap();
    assert_eq!(found, [28, 28 + 109 + 47]);
}

#[test]
fn messages_of_a_burst_leave_and_arrive_a_gap_apart() {
    // One byte: o_s 10, g 50, L 100, o_r 20; three messages.
    let (sends, receives) = (["send 1b to 1"; 3].join("\n"), ["recv 1b from 0"; 3].join("\n"));
    assert_eq!(finish_ns(&[&sends, &receives], &PARAMETERS).unwrap(), [110, 230]);
    // With a processor of its own and an interface of its own, none waits.
    let sends = "send 1b to 1\nsend 1b to 1 cpu 1 nic 1";
    assert_eq!(finish_ns(&[sends, "recv 1b from 0\nrecv 1b from 0"], &PARAMETERS).unwrap(), [10, 130]);
    // Two senders meet in the receiver's interface.
    let ranks = ["recv 1b from 1\nrecv 1b from 2", "send 1b to 0", "send 1b to 0"];
    assert_eq!(finish_ns(&ranks, &PARAMETERS).unwrap(), [180, 10, 10]);
}

#[test]
fn a_message_is_handled_when_the_processor_is_free_and_kept_until_its_receive() {
    // It is there at 110, while the receiver computes until 300.
    let late = "a: calc 300\nb: recv 1b from 0\nb requires a";
    assert_eq!(finish_ns(&["send 1b to 1", late], &PARAMETERS).unwrap(), [10, 320]);
    // Handled from 110 to 130; its receive comes at 600.
    let two = "a: calc 50\nb: recv 1b from 0 tag 2\nc: calc 470\nd: recv 1b from 0 tag 1\nb requires a\n\
               c requires b\nd requires c";
    let sends = "a: send 1b to 1 tag 2\nb: send 1b to 1 tag 1\nb requires a";
    assert_eq!(finish_ns(&[sends, two], &PARAMETERS).unwrap(), [60, 620]);
}

#[test]
fn a_start_lets_others_go_while_the_operation_goes_on() {
    let ranks = ["a: calc 100\nb: calc 50 cpu 1\nb irequires a\nc: calc 1 cpu 2\nc requires b"];
    assert_eq!(finish_ns(&ranks, &PARAMETERS).unwrap(), [100]);
    let ranks = ["a: calc 100\nb: calc 50 cpu 1\nb requires a"];
    assert_eq!(finish_ns(&ranks, &PARAMETERS).unwrap(), [150]);
}

#[test]
fn a_sender_of_a_long_message_waits_for_its_receiver() {
    let flat = |line: Line| Line { per_byte_ns: 0.0, ..line };
    let parameters = Parameters {
        latency: flat(PARAMETERS.latency),
        send_overhead: flat(PARAMETERS.send_overhead),
        receive_overhead: flat(PARAMETERS.receive_overhead),
        gap: flat(PARAMETERS.gap),
        ..PARAMETERS
    };
    let receiver = "a: calc 500\nb: recv 1001b from 0\nb requires a";
    // Handled at 520 behind the calculation, and an answer of one latency.
    assert_eq!(finish_ns(&["send 1001b to 1", receiver], &parameters).unwrap(), [620, 520]);
    let receiver = receiver.replace("1001", "1000");
    assert_eq!(finish_ns(&["send 1000b to 1", &receiver], &parameters).unwrap(), [10, 520]);
}

#[test]
fn ranks_that_wait_for_each_other_are_told_in_a_circle() {
    let ranks = [
        "a: recv 1b from 1\nb: send 1b to 1\nb requires a",
        "c: recv 1b from 0\nd: send 1b to 0\nd requires c",
    ];
    let problem = finish_ns(&ranks, &PARAMETERS).unwrap_err();
    assert!(problem.is_no_progress);
    assert!(problem.message.contains("rank 0, a (recv 1b from 1)"), "{problem}");
    assert!(problem.message.contains("rank 1, c (recv 1b from 0)"), "{problem}");
}
