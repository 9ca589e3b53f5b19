//! The operating system of a node: what its calls take, where it puts pages, and
//! what it does for devices.

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use narthex_cores::linux::Program;
use narthex_interfaces::address_names::AddressName;
use narthex_interfaces::device_call::{CallError, DeviceCall, OperatingSystem};
use narthex_interfaces::half::{Context, RegisterFault};
use narthex_interfaces::{Device, DeviceDescription, DevicePort, QueueState};
use narthex_kernel::digest::Digest;
use narthex_kernel::simulation::{Limits, Simulation};
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Damage, Duration};
use narthex_machine::RunRequest;
use narthex_machine::compose::Blueprint;
use narthex_machine::config::{self, Machine};
use narthex_machine::node::Node;
use narthex_memory::{AccessReply, Kind, Response, Transaction};

use crate::support::exchange::ping_pong;
use crate::support::{fixed_hpca98, program, request, result, run_guest, with};

/// Calls take 500 ns, and 100 ns a page; three pages may be pinned.
const SYSTEM: &str = "
    base = \"hpca98\"
    [operating_system]
    system_call_time = \"500ns\"
    page_time = \"100ns\"
    page_frames = \"contiguous\"
    pinned_pages = 3";

/// The file of a machine with this text.
fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("narthex-{}-{name}.toml", std::process::id()));
    std::fs::write(&path, text).expect("room for a file");
    path
}

fn on(file: &Path, nodes: u32) -> RunRequest {
    RunRequest { machine: file.display().to_string(), nodes: Some(nodes), ..request("hpca98", "NI2w") }
}

/// Maps three pages, unmaps them, asks for the process's number; each with its cycles.
const CALLS: &str = "
    csrrs s0, 0xc00, zero
    li a0, 0
    li a1, 0x3000
    li a2, 3
    li a3, 0x22
    li a4, -1
    li a5, 0
    li a7, 222
    ecall
    csrrs s1, 0xc00, zero
    li a1, 0x3000
    li a7, 215
    ecall
    csrrs s2, 0xc00, zero
    li a7, 172
    ecall
    csrrs s3, 0xc00, zero
    sub s3, s3, s2
    sub s2, s2, s1
    sub s1, s1, s0
    report map, s1
    report unmap, s2
    report number, s3
    exit 0";

#[test]
fn a_system_call_takes_its_time_and_its_pages() {
    let cycles = |document: &serde_json::Value| {
        ["map", "unmap", "number"].map(|name| crate::support::reported(document, 0, name) as u64)
    };
    let file = file("calls", SYSTEM);
    // Where an instruction is in its pair does not count.
    let of = |request| result(&with(request, "processor.issue_width=1"), CALLS);
    let taken = of(on(&file, 1));
    let free = of(RunRequest { nodes: Some(1), ..request("hpca98", "NI2w") });
    let further: Vec<u64> =
        cycles(&taken).iter().zip(cycles(&free)).map(|(with, without)| with - without).collect();
    assert_eq!(further, [800, 800, 500], "in cycles of 1 ns");
    let ledger = |document: &serde_json::Value| {
        document["nodes"][0]["processors"][0]["ledger_ps"]["application / system call"].as_u64()
    };
    // Beside those, there is the call that ends the program, which never returns.
    assert_eq!((ledger(&taken), ledger(&free)), (Some(2_100_000), None));
}

#[test]
fn scattered_frames_change_no_result_of_a_program_that_no_device_reads() {
    let scattered = file("scattered", &SYSTEM.replace("contiguous", "scattered"));
    let contiguous = file("contiguous", SYSTEM);
    let figures = |file: &Path| {
        let mut document = run_guest(&on(file, 2), &ping_pong(20, 200)).expect("a sound run");
        document.as_object_mut().expect("a document").retain(|key, _| key == "nodes" || key == "time_ps");
        document
    };
    assert_eq!(figures(&scattered), figures(&contiguous));
}

/// Registers memory: a call pins what its argument names (address, length) and writes the
/// frames' addresses behind it; another unpins.
#[derive(Clone)]
struct Registrar;

const PIN: u64 = 1;
const UNPIN: u64 = 2;
const REGISTERS: Range<u64> = 0x5e80_0000..0x5e80_1000;

impl Archived for Registrar {
    fn archive(&mut self, _archive: &mut Archive<'_>) -> Result<(), Damage> {
        Ok(())
    }
}

impl Device for Registrar {
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        None
    }

    fn access_time(&self, _port: usize, _kind: Kind) -> Duration {
        Duration::ZERO
    }

    fn access(
        &mut self,
        _port: usize,
        _context: &mut Context<'_>,
        _transaction: &Transaction,
        _response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        Err(RegisterFault("there is no register".into()))
    }

    fn call(
        &mut self,
        _port: usize,
        _context: &mut Context<'_>,
        call: &DeviceCall,
        system: &mut dyn OperatingSystem,
    ) -> Result<i64, CallError> {
        let mut words = [0; 16];
        system.read(call.argument, &mut words)?;
        let [address, length] = [0, 8].map(|at| u64::from_le_bytes(words[at..at + 8].try_into().unwrap()));
        system.take_time(Duration::from_ns(1_000));
        match call.request {
            PIN => {
                let frames = system.pin(address, length)?;
                let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.to_le_bytes()).collect();
                system.write(call.argument + 16, &bytes)?;
                Ok(frames.len() as i64)
            }
            UNPIN => system.unpin(address, length).map(|()| 0),
            _ => Err(CallError::UnknownRequest),
        }
    }
}

impl DeviceDescription for Registrar {
    fn ports(&self) -> Vec<DevicePort> {
        vec![DevicePort {
            process: 0,
            name: "the registrar".into(),
            registers: vec![REGISTERS],
            homes: Vec::new(),
            concern: 0..0,
            ..DevicePort::default()
        }]
    }

    fn calls_name(&self) -> Option<&'static str> {
        Some("pin")
    }

    fn name_of(&self, address: u64, _block_bytes: u64) -> Option<AddressName> {
        REGISTERS.contains(&address).then(|| AddressName::whole("registers of the registrar"))
    }

    fn hash_state(&self, _port: usize, _digest: &mut Digest) {}

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        Vec::new()
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        Vec::new()
    }

    fn queue(&self, _port: usize) -> QueueState {
        QueueState::of("the registrar", 0, None)
    }
}

/// Runs a program beside the registrar; what it reports.
fn reports(machine: &Machine, source: &str) -> Vec<(String, f64)> {
    let guest = Program::parse("guest", program(source)).expect("a sound program");
    let request = fixed_hpca98("NI2w");
    let blueprint = Blueprint::new(&machine.config, "NI2w".parse().expect("an interface"), guest, &request)
        .with_device(&["bus"], || Box::new(Registrar));
    let node = blueprint.node(0).unwrap_or_else(|failure| panic!("{failure}"));
    let mut simulation = Simulation::new(vec![node], Duration::from_ns(40));
    let limits = Limits { patience: Duration::from_ns(1_000_000), ..Limits::default() };
    simulation.run(&limits, &mut |_, _| ControlFlow::Continue(()));
    let node: &Node = &simulation.into_partitions()[0];
    let process = &node.processes[0];
    assert!(process.failure().is_none(), "{:?}", process.failure());
    process.reports.iter().map(|report| (report.name.clone(), report.value)).collect()
}

/// Opens the registrar (s0) and maps four pages (s1); s2 is the address of the call's
/// argument. `call REQUEST, PAGES` puts the answer into a0.
fn calling(steps: &str) -> String {
    let call = |request: u64, pages: u64| {
        format!(
            "sd s1, 0(s2)\n li t0, {bytes}\n sd t0, 8(s2)\n mv a0, s0\n li a1, {request}\n mv a2, s2\n li a7, 29\n ecall",
            bytes = 4096 * pages
        )
    };
    let steps = steps.lines().map(|line| match line.trim().split_once(' ') {
        Some(("pin", pages)) => call(PIN, pages.parse().unwrap()),
        Some(("unpin", pages)) => call(UNPIN, pages.parse().unwrap()),
        _ => line.to_owned(),
    });
    format!(
        "
        li s2, {data}
        li t0, 0x6e69702f               # /dev/pin
        slli t0, t0, 32
        li t1, 0x7665642f
        or t0, t0, t1
        sd t0, 0(s2)
        li a0, -100
        mv a1, s2
        li a2, 2
        li a7, 56
        ecall
        mv s0, a0
        li a0, 0
        li a1, 0x4000
        li a2, 3
        li a3, 0x22
        li a4, -1
        li a5, 0
        li a7, 222
        ecall
        mv s1, a0
        {steps}
        exit 0",
        data = crate::support::DATA,
        steps = steps.collect::<Vec<_>>().join("\n"),
    )
}

fn machine(text: &str) -> Machine {
    config::load_text("system.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_device_pins_pages_up_to_the_limit_and_they_stay() {
    let steps = "
        pin 4
        report too_many, a0
        csrrs s3, 0xc00, zero
        pin 3
        csrrs s4, 0xc00, zero
        report pinned, a0
        sub s4, s4, s3
        report cycles, s4
        mv a0, s1
        li a1, 4096
        li a7, 215
        ecall
        report unmapped, a0
        unpin 4
        report not_all, a0
        unpin 3
        report unpinned, a0
        mv a0, s1
        li a1, 4096
        li a7, 215
        ecall
        report unmapped_now, a0";
    let reports = reports(&machine(SYSTEM), &calling(steps));
    let value = |name: &str| reports.iter().find(|(own, _)| own == name).map(|&(_, value)| value);
    assert_eq!([value("too_many"), value("pinned")], [Some(-12.0), Some(3.0)]);
    assert_eq!([value("unmapped"), value("not_all")], [Some(-16.0), Some(-22.0)], "EBUSY, EINVAL");
    assert_eq!([value("unpinned"), value("unmapped_now")], [Some(0.0); 2]);
    // 500 ns, three pages, and the device's own 1,000; then some instructions.
    let cycles = value("cycles").expect("a report");
    assert!((1_800.0..1_850.0).contains(&cycles), "{cycles}");
}

#[test]
fn frames_follow_each_other_or_are_scattered_by_the_seed() {
    let steps = "
        pin 3
        ld t0, 16(s2)
        ld t1, 24(s2)
        ld t2, 32(s2)
        sub t2, t2, t1
        sub t1, t1, t0
        report first, t1
        report second, t2";
    let distances = |text: &str| {
        let reports = reports(&machine(text), &calling(steps));
        reports.into_iter().map(|(_, distance)| distance).collect::<Vec<_>>()
    };
    assert_eq!(distances(SYSTEM), [4096.0, 4096.0]);
    let scattered = distances(&SYSTEM.replace("contiguous", "scattered"));
    assert!(scattered.iter().all(|&distance| distance % 4096.0 == 0.0), "{scattered:?}");
    assert!(scattered.iter().all(|&distance| distance != 4096.0), "{scattered:?}");
}

#[test]
fn a_request_that_a_device_does_not_know_and_a_bad_argument_get_error_numbers() {
    let steps = "
        mv a0, s0
        li a1, 7
        mv a2, s2
        li a7, 29
        ecall
        report unknown, a0
        mv a0, s0
        li a1, 1
        li a2, 8
        li a7, 29
        ecall
        report null, a0
        li a0, 9
        li a7, 29
        ecall
        report descriptor, a0";
    let reports = reports(&machine(SYSTEM), &calling(steps));
    let values: Vec<f64> = reports.into_iter().map(|(_, value)| value).collect();
    assert_eq!(values, [-25.0, -14.0, -9.0], "ENOTTY, EFAULT, EBADF");
}

#[test]
fn an_operating_system_that_is_half_stated_is_refused() {
    let text = "base = \"hpca98\"\n[operating_system]\nsystem_call_time = \"1us\"";
    let error = config::load_text("half.toml", text).map(drop).unwrap_err().to_string();
    assert!(error.contains("operating_system.page_time"), "{error}");
    let text = SYSTEM.replace("contiguous", "scatterd");
    let error = config::load_text("typo.toml", &text).map(drop).unwrap_err().to_string();
    assert!(error.contains("page_frames") && error.contains("did you mean `scattered`"), "{error}");
}

#[test]
fn user_level_dma_needs_frames_that_follow_each_other() {
    let scattered = file("udma", &SYSTEM.replace("contiguous", "scattered"));
    let request = RunRequest { interface: "NI64w+Udma".into(), ..on(&scattered, 2) };
    let error = run_guest(&request, CALLS).unwrap_err().to_string();
    assert!(error.contains("operating_system.page_frames is \"scattered\""), "{error}");
    assert!(error.contains("which 'NI64w+Udma' needs"), "{error}");
}
