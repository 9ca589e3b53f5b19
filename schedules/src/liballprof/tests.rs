use super::*;
use crate::executor::execute;
use crate::pairs;
use crate::parameters::Parameters;
use proptest::prelude::*;

/// The field of Open MPI's communicator of both ranks.
fn world(rank: u32) -> String {
    format!(":94853248035456,{rank},2:")
}

/// A trace whose calls stand for themselves; `W` is the communicator of all.
fn trace(rank: u32, calls: &[&str]) -> String {
    let calls = calls.join("\n").replace(":W:", &world(rank));
    format!("# liballprof\nMPI_Init:-:1:2:1000000\n{calls}\nMPI_Finalize:1001000:-\n")
}

fn schedule(ranks: [&[&str]; 2]) -> Schedule {
    let mut schedule = Schedule::with(1, 1);
    for (rank, calls) in (0..).zip(ranks) {
        schedule.push(&read_rank(trace(rank, calls).as_bytes(), rank, 2).unwrap()).unwrap();
    }
    pairs::check(&schedule).unwrap();
    schedule
}

/// When each rank is through, in ns: a message takes 100 ns.
fn finish_ns(ranks: [&[&str]; 2]) -> Vec<u64> {
    let outcome = execute(&schedule(ranks), &Parameters::paths(100.0, 1.0), &mut |_, _| true).unwrap();
    outcome.finish_ps.iter().map(|ps| ps / 1_000).collect()
}

fn problem(calls: &[&str]) -> String {
    read_rank(trace(0, calls).as_bytes(), 0, 2).unwrap_err().message
}

#[test]
fn what_passes_between_calls_is_computed_and_calls_take_what_the_model_says() {
    // 5 us before the send, which took 30; 965 behind it. The rank is asked for in between.
    let sender: &[&str] = &["MPI_Comm_rank:1000001:W:7:1000002", "MPI_Send:1000005:8:16:1,4,4:1:3:W:1000035"];
    let receiver: &[&str] = &["MPI_Recv:1000001.5:8:16:1,4,4:0:3:W:9:1000900.5"];
    assert_eq!(finish_ns([sender, receiver]), [970_000, 5_100 + 99_500]);
    let schedule = schedule([sender, receiver]);
    let send = schedule.operation(0, 1);
    assert_eq!((send.size, send.tag, schedule.peer(0, 1)), (64, 3, 1));
}

#[test]
fn requests_let_a_rank_compute_until_they_are_waited_for() {
    let sender: &[&str] = &["MPI_Ssend:1000200:8:1:1,4,4:1:3:W:1000900"];
    // The receive is posted at 0 and waited for behind 50 us.
    let receiver: &[&str] = &[
        "MPI_Irecv:1000000:8:1:1,4,4:-1:-1:W:64:1000010",
        "MPI_Wait:1000060:64:9:1000900",
        "MPI_Wait:1000900:64:9:1000900",
    ];
    assert_eq!(finish_ns([sender, receiver]), [300_000, 200_100 + 100_000]);
    // Two requests lie 8 bytes apart; the one at 68 is none of Open MPI's array.
    let pair: &[&str] = &[
        "MPI_Irecv:1000000:8:1:1,4,4:0:1:W:64:1000000",
        "MPI_Irecv:1000000:8:1:1,4,4:0:2:W:72:1000000",
        "MPI_Waitall:1000000:2:64:9:1000999",
    ];
    let two: &[&str] =
        &["MPI_Isend:1000000:8:1:1,4,4:1:1:W:64:1000000", "MPI_Send:1000400:8:1:1,4,4:1:2:W:1000900"];
    assert_eq!(finish_ns([two, pair]), [500_000, 400_100 + 1_000]);
    // MPICH's have 4 bytes: only the first two are waited for.
    let mpich: Vec<String> =
        pair.iter().map(|line| line.replace(":W:", ":1140850688,1,2:").replace(":72:", ":68:")).collect();
    let calls: Vec<&str> = mpich.iter().map(String::as_str).collect();
    assert_eq!(finish_ns([two, &calls]), [500_000, 400_100 + 1_000]);
}

#[test]
fn an_exchange_does_both_and_what_is_with_nobody_is_nothing() {
    let of = |peer| format!("MPI_Sendrecv:1000010:8:4:1,8,8:{peer}:1:9:4:1,8,8:{peer}:1:W:9:1001000");
    let (first, second) = (of(1), of(0));
    assert_eq!(finish_ns([&[&first], &[&second]]), [10_100, 10_100]);
    let nobody = of(-2);
    assert_eq!(finish_ns([&[&nobody], &["MPI_Send:1000000:8:1:1,1,1:-2:1:W:1001000"]]), [10_000, 0]);
}

/// Messages of both ranks: how many, and their bytes.
fn sent(calls: &[&str]) -> (usize, u64) {
    let schedule = schedule([calls, calls]);
    execute(&schedule, &Parameters::paths(1.0, 1.0), &mut |_, _| true).unwrap();
    let sends: Vec<u64> = (0..2)
        .flat_map(|rank| schedule.shape(rank).operations())
        .filter(|operation| operation.kind == Kind::Send)
        .map(|operation| operation.size)
        .collect();
    (sends.len(), sends.iter().sum())
}

#[test]
fn collectives_become_their_algorithms_with_the_bytes_of_the_call() {
    let two = "4:1,8,8";
    let both = format!("8:{two}:9:{two}");
    let both = both.as_str();
    for (call, messages, bytes) in [
        ("MPI_Barrier:1000000:W:1000001".to_owned(), 2, 2),
        (format!("MPI_Bcast:1000000:8:{two}:1:W:1000001"), 1, 32),
        (format!("MPI_Reduce:1000000:8:9:{two}:3:0:W:1000001"), 1, 32),
        (format!("MPI_Allreduce:1000000:8:9:{two}:3:W:1000001"), 2, 64),
        (format!("MPI_Gather:1000000:{both}:1:W:1000001"), 1, 32),
        (format!("MPI_Scatter:1000000:{both}:0:W:1000001"), 1, 32),
        (format!("MPI_Allgather:1000000:{both}:W:1000001"), 2, 64),
        (format!("MPI_Alltoall:1000000:{both}:W:1000001"), 2, 64),
        (format!("MPI_Reduce_scatter_block:1000000:8:9:{two}:3:W:1000001"), 2, 64),
        (format!("MPI_Allgatherv:1000000:8:{two}:9:7:4,4:7:0,4:1,8,8:W:1000001"), 2, 64),
        (format!("MPI_Gatherv:1000000:8:{two}:9:7:4,4:7:0,4:1,8,8:0:W:1000001"), 1, 32),
        (format!("MPI_Scatterv:1000000:8:7:4,4:7:0,4:1,8,8:9:{two}:0:W:1000001"), 1, 32),
        ("MPI_Alltoallv:1000000:8:7:3,3:7:0,4:1,8,8:9:7:3,3:7:0,4:1,8,8:W:1000001".to_owned(), 2, 48),
        (format!("MPI_Iallreduce:1000000:8:9:{two}:3:W:64:1000001\nMPI_Wait:1000002:64:9:1000003"), 2, 64),
        // That of a rank alone sends nothing.
        ("MPI_Barrier:1000000:94853248035488,0,1:1000001".to_owned(), 0, 0),
    ] {
        assert_eq!(sent(&[&call]), (messages, bytes), "{call}");
    }
}

#[test]
fn what_cannot_be_read_is_named_with_its_line_and_what_is_near() {
    let told = problem(&["MPI_Sned:1000000:8:1:1,4,4:1:3:W:1000001"]);
    assert!(told.starts_with("line 3: 'MPI_Sned' is no call that is read; allowed are MPI_Init, "), "{told}");
    assert!(told.ends_with("did you mean MPI_Send?"), "{told}");
    let told = problem(&["MPI_Send:1000000:8:1:1,4,4:1:3"]);
    assert!(
        told.starts_with(
            "line 3: MPI_Send is cut or of another version: behind it stand 6 fields, expected are 8"
        ),
        "{told}"
    );
    assert!(told.ends_with("MPI_Send:START:BUFFER:COUNT:TYPE:PEER:TAG:COMM:END"), "{told}");
    assert!(
        problem(&["MPI_Waitany:1000000:1:2:3:4:1000001"]).contains("which of its requests is over is not in")
    );
    assert!(
        problem(&["MPI_Send:1000000:8:1:1,4,4:2:3:W:1000001"])
            .contains("MPI_Send: peer '2': ranks are 0 to 1")
    );
    assert!(
        problem(&["MPI_Send:1000000:8:1:1,4:1:3:W:1000001"])
            .contains("type '1,4': expected TYPE,SIZE,EXTENT")
    );
    assert!(
        problem(&["MPI_Send:1000000:8:x:1,4,4:1:3:W:1000001"]).contains("count 'x': expected a whole number")
    );
    assert!(
        problem(&["MPI_Barrier:1000000:7,0,3:1000001"]).contains("has 3 ranks, and traces of 2 were found")
    );
    assert!(
        problem(&["MPI_Barrier:1000000:7,1,2:1000001"])
            .contains("this is rank 1 there, and the file is that of rank 0")
    );
    assert!(problem(&["MPI_Bcast:1000000:8:4:1,8,8:2:W:1000001"]).contains("root '2': ranks are 0 to 1"));
    assert!(
        problem(&["MPI_Barrier:999999:W:1000001"]).contains("begins before the call before it has ended")
    );
    assert!(
        problem(&["MPI_Barrier:soon:W:1000001"]).contains("START 'soon': expected a time in microseconds")
    );
    let cut = read_rank(b"MPI_Init:-:1:2:1000000\nMPI_Comm_size:1:2\n", 0, 2).unwrap_err().message;
    assert_eq!(cut, "line 2: the trace is cut: its last call is not MPI_Finalize");
}

#[test]
fn a_file_is_such_a_trace_by_its_first_call() {
    assert!(is_trace(b"# htor\n\nMPI_Init:-:1:2:3\n"));
    assert!(!is_trace(b"# GOAL\nnum_ranks 2\n"));
}

proptest! {
    #[test]
    fn damaged_traces_are_refused_or_read(place in 0..200usize, byte: u8, length in 0..400usize) {
        let mut bytes = trace(0, &[
            "MPI_Irecv:1000000:8:1:1,4,4:-1:-1:W:64:1000010",
            "MPI_Waitall:1000060:1:64:9:1000900",
            "MPI_Bcast:1000950:8:4:1,8,8:1:W:1000960",
        ]).into_bytes();
        let place = place % bytes.len();
        bytes[place] = byte;
        bytes.truncate(length);
        if let Ok(rank) = read_rank(&bytes, 0, 2) {
            drop(Schedule::with(1, 1).push(&rank));
        }
    }
}
