//! A run goes on from a checkpoint of any instant as if nothing had happened.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use narthex_cores::linux::Program;
use narthex_kernel::random::Stream;
use narthex_kernel::simulation::{Ending, Limits, Simulation, Threads};
use narthex_kernel::{Archive, Duration};
use narthex_machine::checkpoint::Keeper;
use narthex_machine::checkpoint::file::digest_of;
use narthex_machine::checkpoint::identity::Identity;
use narthex_machine::compose::Blueprint;
use narthex_machine::node::Node;
use narthex_machine::{CheckpointRequest, RunRequest, config};

use crate::machines_and_interfaces;
use crate::process_threads::{several, threads};
use crate::support::exchange::{header, ping_pong};
use crate::support::{DATA, Guest, alone, program, request, with};

/// More messages than a window or a small queue has entries.
const TURNS: u64 = 12;

/// Longer than anything here waits.
const PATIENCE: Duration = Duration::from_ns(1_000_000);

/// A machine about to run a program.
fn machine(request: &RunRequest, elf: &[u8]) -> Simulation<Node> {
    let machine = config::load(&request.machine).and_then(|machine| machine.with_settings(&request.set));
    let config = machine.expect("a machine").config;
    let interface = request.interface.parse().expect("a name");
    let program = Program::parse("guest", elf).expect("a program");
    let blueprint = Blueprint::new(&config, interface, program, request)
        .with_surroundings(&request.surroundings)
        .expect("sound surroundings");
    let mut nodes: Vec<Node> =
        (0..blueprint.nodes).map(|number| blueprint.node(number).expect("a node")).collect();
    if request.execute_wait_loops {
        nodes.iter_mut().for_each(Node::execute_wait_loops);
    }
    Simulation::new(nodes, config.network.lookahead())
}

/// Goes on for so many windows; whether that was the end.
fn advance(simulation: &mut Simulation<Node>, windows: u32) -> bool {
    let limits = Limits { windows_per_observation: windows, patience: PATIENCE, ..Limits::default() };
    let rest = &mut |now, nodes: &mut [&mut Node]| {
        nodes.iter_mut().for_each(|node| node.rest_at(now));
        ControlFlow::Break(())
    };
    match simulation.run(&limits, rest) {
        Ending::Interrupted => false,
        Ending::AllFinished => true,
        other => panic!("{other:?}"),
    }
}

/// Runs a program, and again with a new machine in place of the old one at
/// random instants: what the nodes say at the end must be the same; where all is
/// executed, also everything that they hold.
pub(crate) fn check(request: &RunRequest, guest: &(impl Guest + ?Sized)) {
    let elf = guest.elf();
    for execute_wait_loops in [true, false] {
        let request = RunRequest { execute_wait_loops, ..guest.in_run(request) };
        let mut whole = machine(&request, &elf);
        assert!(advance(&mut whole, u32::MAX));
        let mut divided = divided(&request, &elf, whole.windows());
        if execute_wait_loops {
            assert_eq!(digest_of(&mut divided).unwrap(), digest_of(&mut whole).unwrap(), "{request:?}");
        }
        assert_eq!(results(divided), results(whole), "{request:?}");
    }
}

/// A run of about so many windows, saved and restored at random instants.
fn divided(request: &RunRequest, elf: &[u8], windows: u64) -> Simulation<Node> {
    let mut random = Stream::new(7, &request.interface);
    let mut simulation = machine(request, elf);
    let mut checkpoints = 0;
    while !advance(&mut simulation, 1 + random.below(windows / 4) as u32) {
        let saved = Archive::save(&mut simulation).expect("it can be saved");
        let threads = Threads::Exactly(1 + checkpoints % 3);
        simulation = machine(request, elf).with_threads(threads);
        Archive::restore(&saved, &mut simulation).expect("it can be restored");
        assert!(Archive::save(&mut simulation).expect("it can be saved") == saved, "{request:?}");
        checkpoints += 1;
    }
    assert!(checkpoints > 1, "{request:?} has {checkpoints} checkpoints in {windows} windows");
    simulation
}

/// What the nodes say at the end.
fn results(simulation: Simulation<Node>) -> Vec<String> {
    let mut nodes = simulation.into_partitions();
    let end = nodes.iter().map(Node::reached).max().expect("a node");
    nodes.iter_mut().for_each(|node| node.close(end));
    nodes.iter().map(|node| node.to_json().to_string()).collect()
}

#[test]
fn every_interface_on_every_machine_goes_on_from_any_instant() {
    for (machine, interface) in machines_and_interfaces() {
        check(&request(machine, interface), &ping_pong(TURNS, 200));
    }
}

/// The threads meet several times, so that checkpoints find some of them there.
#[test]
fn threads_go_on_from_the_middle_of_a_barrier() {
    let meet = |round: u64| {
        format!(
            "addi t1, s10, {}\n li t0, 1\n amoadd.d t0, t0, (t1)\n met{round}:\n ld t0, 0(t1)\n \
             bne t0, s9, met{round}\n slli t0, s8, 8\n addi t0, t0, 1\n pause{round}:\n addi t0, t0, -1\n bnez t0, pause{round}\n",
            64 * round
        )
    };
    let rounds: String = (1..12).map(meet).collect();
    let guest = format!("{}\n {rounds}\n exit 0", threads(3));
    // With a second node, windows are short.
    for machine in ["hpca98", "chip"] {
        check(&RunRequest { nodes: Some(2), ..several(machine, 3) }, &guest);
    }
}

#[test]
fn several_processes_a_node_go_on_from_any_instant() {
    for (machine, interface) in [("hpca98", "CNI32Qm"), ("isca96", "CNI512Q"), ("hpca98", "NI16w")] {
        let one = RunRequest { nodes: Some(1), ..request(machine, interface) };
        check(&with(one, "machine.processors_per_node=2"), &ping_pong(TURNS, 64));
    }
    check(&request("hpca98", "Ring"), &ping_pong(TURNS, 64).over_ring());
    check(&request(crate::pcie::MACHINE, "Ring"), &ping_pong(TURNS, 248).over_ring());
    check(&request(crate::cxl::MACHINE, "CxlNic"), &ping_pong(TURNS, 64).over("CxlNic"));
    check(&request("hpca98", "Verbs"), &ping_pong(TURNS, 248).over("Verbs"));
    check(&request(crate::cxl::MACHINE, "CNI512Q"), &ping_pong(TURNS, 64));
    check(&request(crate::coherent_link::MACHINE, "PioCoherent"), &ping_pong(TURNS, 64).over("PioCoherent"));
}

#[test]
fn few_buffers_and_packets_that_return_go_on_from_any_instant() {
    let request = with(request("hpca98", "NI2w"), "flow_control.buffers=1");
    check(&request, &ping_pong(TURNS, 248));
}

#[test]
fn the_state_of_another_machine_is_refused_part_by_part() {
    let refusal = |saved: &RunRequest, built: &RunRequest| {
        let elf = program("exit 0");
        let bytes = Archive::save(&mut machine(saved, &elf)).expect("it can be saved");
        Archive::restore(&bytes, &mut machine(built, &elf)).unwrap_err().to_string()
    };
    let built = request("hpca98", "CNI16Q");
    let cache = with(built.clone(), "data_cache.size=512KiB");
    assert_eq!(refusal(&cache, &built), "a processor's caches are others than the machine's");
    let queue = request("hpca98", "CNI512Q");
    assert_eq!(refusal(&queue, &built), "an interface's half is another than the machine's");
}

#[test]
fn cachable_registers_go_on_from_any_instant() {
    let source = format!(
        "
        li   s11, 0x50000000
        ld   s10, 16(s11)
        ld   s3, 80(s11)            # registers to send and to receive, uncached ones
        ld   s4, 96(s11)
        ld   s5, 40(s11)
        li   s6, {TURNS}
        bnez s10, receiver
        li   a0, {header}
    next:
        ld   t0, 0(s5)
        andi t0, t0, 1
        beqz t0, next
        sd   a0, 0(s3)
        sd   s6, 8(s3)
        sd   a0, 24(s5)             # MESSAGE_READY
        addi s6, s6, -1
        bnez s6, next
        exit 0
    receiver:
        ld   t0, 0(s5)
        andi t0, t0, 2
        beqz t0, receiver
        ld   t1, 8(s4)
        add  s7, s7, t1
        sd   zero, 32(s5)           # CLEAR
        addi s6, s6, -1
        bnez s6, receiver
        report sum, s7
        exit 0",
        header = header(1, 8)
    );
    check(&request("hpca98", "CNI4"), &source);
}

/// Writes to memory in a region, and reports how far it came.
fn counting(turns: u64) -> String {
    format!(
        "
        li   s0, {turns}
        li   s1, 0
        region_begin counting
    again:
        addi s1, s1, 8
        li   t0, {DATA}
        add  t0, t0, s1
        sd   s1, 0(t0)
        addi s0, s0, -1
        bnez s0, again
        region_end counting
        report count, s1
        exit 0"
    )
}

#[test]
fn regions_and_reports_go_on_from_any_instant() {
    check(&alone("hpca98"), &counting(4_000));
}

#[test]
fn a_time_between_checkpoints_has_a_unit_and_is_not_too_short() {
    let refusal = |every: &str| {
        let checkpoint = CheckpointRequest { file: place("never"), every: Some(every.into()), resume: false };
        let identity = Identity::new(
            &request("hpca98", "NI2w"),
            b"",
            "NI2w".parse().expect("an interface"),
            serde_json::Value::Null,
        );
        Keeper::new(&checkpoint, identity).err().expect("a refusal").message
    };
    assert!(refusal("30").contains("\"30\" has no unit"), "{}", refusal("30"));
    assert!(refusal("99ms").contains("at least 100ms"), "{}", refusal("99ms"));
}

fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("narthex-{}-{name}.checkpoint", std::process::id()))
}

/// What looks after checkpoints in a file, for runs with these arguments.
fn keeper(file: &Path, resume: bool, args: &[&str]) -> Result<Keeper, String> {
    let request =
        RunRequest { args: args.iter().map(|&arg| arg.into()).collect(), ..request("hpca98", "NI2w") };
    let identity =
        Identity::new(&request, b"", "NI2w".parse().expect("an interface"), serde_json::Value::Null);
    let checkpoint = CheckpointRequest { file: file.to_path_buf(), every: None, resume };
    Keeper::new(&checkpoint, identity).map_err(|failure| failure.message)
}

#[test]
fn a_checkpoint_is_neither_replaced_unasked_nor_resumed_by_another_run() {
    let file = place("kept");
    let mut state = vec![1u64, 2, 3];
    let mut fresh = Vec::<u64>::new();

    let resuming = keeper(&file, true, &[]).unwrap();
    let notice = resuming.resume(&mut fresh).unwrap().unwrap();
    assert!(notice.contains("is not there: starts at the beginning"), "{notice}");

    assert_eq!(keeper(&file, false, &[]).unwrap().save(&mut state), None);
    assert!(keeper(&file, false, &[]).err().unwrap().contains("is there already: resume it"));
    let foreign = keeper(&file, true, &["8"]).unwrap().resume(&mut fresh).unwrap_err();
    assert!(foreign.message.contains("the run asks for 'guest' with arguments '8'"), "{foreign}");
    assert_eq!(foreign.exit_code, 2);

    assert!(resuming.resume(&mut fresh).unwrap().unwrap().starts_with("goes on from"));
    assert_eq!(fresh, state);
    fs::remove_file(file).unwrap();
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_refused_before_the_run() {
    let refusal = keeper(&place("no-folder").join("x"), false, &[]).err().unwrap();
    assert!(refusal.contains("cannot be written"), "{refusal}");
    let refusal = keeper(&std::env::temp_dir(), true, &[]).err().unwrap();
    assert!(refusal.contains("cannot be written"), "{refusal}");
}

#[test]
fn a_checkpoint_that_cannot_be_written_later_lets_the_run_go_on() {
    let file = place("folder-later");
    let mut keeper = keeper(&file, false, &[]).unwrap();
    fs::create_dir(&file).unwrap();
    let notice = keeper.save(&mut vec![1u64]).unwrap();
    assert!(notice.contains("cannot be written"), "{notice}");
    fs::remove_dir(file).unwrap();
}
