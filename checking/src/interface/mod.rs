//! The model checker of interfaces: every interleaving of the processor, the
//! interface, the bus and the network, with the code that the simulator runs.
//!
//! ```text
//!   compiled program ─ messaging library ─ driver      explored: each access to a shared address
//!        │                                             is a step of its own
//!   cache, store buffer (the simulator's own)
//!        │
//!   interconnects, with their rules ── interface: both halves, the simulator's own
//!        │                                  │
//!   main memory                          network: has room, brings packets, when it chooses
//! ```
//!
//! A program sends or receives numbered messages over a queue of two entries
//! until the queue has been gone round more than twice. From each state
//! everything happens that can happen next: the processor's next access, the grant
//! of an interconnect to any agent that asks, the end of a transaction, an awaited
//! instant, a packet, room in the network, and the loss of any block from the
//! processor's cache. [`explore`](crate::explore) visits all states; [`messages`],
//! [`processor`] and [`step`] name the properties. docs/checking.md says what a
//! proof covers.

pub mod environment;
pub mod form;
pub mod memory;
pub mod messages;
mod places;
pub mod port;
pub mod processor;
pub mod step;
pub mod under_way;
pub mod world;

use narthex_cores::linux::{Program, SystemCalls, start};
use narthex_fabrics::NodeId;
use narthex_interfaces::registers::{Addresses, NODE_MEMORY};
use narthex_interfaces::{Attached, Device, DeviceDescription, Interface};
use narthex_machine::compose::{Blueprint, ProcessId};
use narthex_machine::config::{self, MachineConfig};
use narthex_machine::node::ProcessorPorts;
use narthex_machine::request::{Failure, RunRequest};
use narthex_memory::interconnects::Interconnect;
use narthex_memory::main_memory::{MainMemory, PAGE_BYTES};
use narthex_memory::pages::PageTable;
use serde::Deserialize;

use crate::clock::Interconnects;
use crate::explore::{self, System, Violation};
use crate::report::{Check, Report};
use environment::Environment;
use memory::Words;
use messages::Lengths;
use places::Places;
use processor::Executor;
use step::{Rules, Step};
use under_way::Messages;
use world::{Event, Numbers, World};

/// A check: of which interface, on which machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterfaceCheck {
    /// The interface, in the taxonomy's notation, and where it is attached.
    pub interface: String,
    /// The machine whose protocol, store buffer and interface parameters count.
    pub machine: String,
    /// Changes to the machine.
    #[serde(default)]
    pub set: Vec<String>,
    /// The rule of the interface to leave out.
    #[serde(default)]
    pub without: Option<String>,
    /// How many blocks the processor's cache loses to conflicts at most.
    pub evictions: u32,
    /// Most states to visit.
    pub limit: usize,
}

/// What is proven when every state has been visited.
const PROPERTIES: [&str; 6] = [
    messages::NONE_LOST,
    messages::NONE_TWICE,
    messages::WHOLE,
    explore::NO_TRAP,
    processor::NO_FAULT,
    step::ONE_OWNER,
];

/// The interface of a node that is checked, with its program.
struct Checked<'a> {
    interface: Attached,
    machine: &'a str,
    config: &'a MachineConfig,
    program: &'a [u8],
    numbers: Numbers,
    evictions: u32,
    without: Option<&'a str>,
    rules: Option<Rules>,
}

/// Explores every interleaving of an interface and its driver. `elf` is
/// guest/programs/tests/interface.c, compiled; `observe` gets the number of
/// states so far and may end the check by answering false.
///
/// # Errors
/// If there is no such interface or machine. One that fails is a result.
pub fn check(
    request: &InterfaceCheck,
    elf: &[u8],
    observe: &mut dyn FnMut(usize) -> bool,
) -> Result<Report, Failure> {
    let machine = config::load(&request.machine)
        .and_then(|machine| machine.with_settings(&request.set))
        .map_err(Failure::usage)?;
    let asked: Attached = request.interface.parse().map_err(Failure::usage)?;
    if asked.is_hardware {
        let told = "a model is checked, not the hardware in its place";
        return Err(Failure::usage(format!("'{}': {told}; check {asked}", request.interface)));
    }
    if asked.name.send.model.makes_devices() {
        return check_device(&asked, &machine.config, request, observe);
    }
    let (interface, config) = form::small(&asked, &machine.config)
        .map_err(|problem| Failure::usage(format!("{}: {problem}", request.machine)))?;
    let checked = |numbers| Checked {
        interface,
        machine: &request.machine,
        config: &config,
        program: elf,
        numbers,
        evictions: request.evictions,
        without: request.without.as_deref(),
        rules: None,
    };
    let traffics = traffics(form::most_entries(&interface, &config));
    let form = checked(traffics[0].0).describe()?;
    let mut check = Check::of(&asked.to_string(), form, request.limit, observe);
    for (numbers, words) in traffics {
        check.explore(words, &mut checked(numbers));
    }
    Ok(check.finish(&PROPERTIES).without(request.without.as_deref()))
}

/// A whole device is explored by a program of the checker: those of Eager Data Transfer,
/// of StarT-Voyager and SARC, which have protocols of their own.
fn check_device(
    asked: &Attached,
    machine: &MachineConfig,
    request: &InterfaceCheck,
    observe: &mut dyn FnMut(usize) -> bool,
) -> Result<Report, Failure> {
    let (name, model) = (asked.name.to_string(), asked.name.send.model);
    (model.attaches)(asked.attachment).map_err(|reason| {
        Failure::usage(format!("'{name}' cannot be attached to {}: {reason}", asked.attachment))
    })?;
    if model.section == "voyager" {
        return crate::voyager::check(&name, request.without.as_deref(), request.limit, observe);
    }
    if model.section == "sarc" {
        return crate::sarc::check(&name, request.without.as_deref(), request.limit, observe);
    }
    let writes_home = match name.as_str() {
        "EDT" => false,
        "EDT+DmaReceive" => true,
        _ => {
            return Err(Failure::usage(format!(
                "'{name}' has no protocol of its own to be checked; EDT, EDT+DmaReceive, Voyager and SARC have, and \
                 `narthex check protocol` checks the caches' one"
            )));
        }
    };
    if machine.bus.is_none() {
        let told = format!("bus is missing, and '{name}' snoops one; expected a machine such as edt");
        return Err(Failure::usage(format!("{}: {told}", request.machine)));
    }
    crate::eager::check((&name, writes_home), machine, request.without.as_deref(), request.limit, observe)
}

/// What the program does, for queues of `entries` entries; and in words. In one
/// direction the messages go more than twice round the queue.
fn traffics(entries: u64) -> Vec<(Numbers, String)> {
    let in_words = |&(sends, receives): &(u64, u64)| match (sends, receives) {
        (_, 0) => format!("sending {sends} messages"),
        (0, _) => format!("receiving {receives} messages"),
        _ => format!("sending {sends} messages while {receives} arrive"),
    };
    let most = (2 * entries + 2).max(FEWEST_MESSAGES);
    let traffics = [(0, most), (most, 0), (2, 2)];
    traffics.iter().map(|pair| (Numbers { sends: pair.0, receives: pair.1 }, in_words(pair))).collect()
}

/// Messages in one direction, where there is no queue to go round.
const FEWEST_MESSAGES: u64 = 6;

impl Checked<'_> {
    fn request(&self) -> RunRequest {
        let Numbers { sends, receives } = self.numbers;
        RunRequest {
            program: "interface".into(),
            args: vec![sends.to_string(), receives.to_string()],
            machine: self.machine.to_owned(),
            interface: self.interface.to_string(),
            nodes: Some(2),
            set: Vec::new(),
            threads: 1,
            seed: None,
            execute_wait_loops: false,
            schedule_steps: false,
            job_nodes: None,
            model: None,
            jobs: Vec::new(),
            surroundings: Default::default(),
            firmware: Default::default(),
            hardware: None,
            checkpoint: None,
            warm: None,
            until: None,
            timeout: None,
        }
    }

    fn describe(&self) -> Result<String, Failure> {
        let interface = self.interface()?;
        self.wired(&interface)?;
        let queues = match interface.layouts(0).map(|layout| layout.entries) {
            [0, 0] => "no queues".into(),
            [send, 0] => format!("a send queue of {send} entries"),
            [0, receive] => format!("a receive queue of {receive} entries"),
            [send, receive] => format!("queues of {send} and {receive} entries"),
        };
        let MachineConfig { data_cache, messages, .. } = self.config;
        let (block, packet, protocol) = (data_cache.block, messages.packet, &data_cache.protocol);
        let snarfs = if data_cache.snarfing { " with snarfing" } else { "" };
        let Checked { interface, evictions, .. } = self;
        Ok(format!(
            "as {interface}, {queues}, blocks of {block}, packets of {packet}, {protocol}{snarfs}, \
             evictions up to {evictions}"
        ))
    }

    fn blueprint(&self) -> Result<Blueprint<'_>, Failure> {
        let program = Program::parse("interface", self.program).map_err(Failure::usage)?;
        Ok(Blueprint::new(self.config, self.interface, program, &self.request()))
    }

    /// The interface, without what is to be left out.
    fn interface(&self) -> Result<Interface, Failure> {
        let interface = self.blueprint()?.build_halves()?;
        match self.without {
            Some(rule) => interface.without(rule).map_err(Failure::usage),
            None => Ok(interface),
        }
    }

    /// The interconnects of the node, and where its processor sits.
    fn wired(&self, interface: &Interface) -> Result<(ProcessorPorts, Vec<Interconnect>), Failure> {
        let config = self.config.of_run(&self.interface);
        let shape = config.shape(&self.interface, interface.ports().len(), &[]).map_err(Failure::usage)?;
        let machine = self.machine;
        if let Some(link) = shape.interconnects.iter().find(|shape| shape.is_link) {
            return Err(Failure::usage(format!(
                "{machine}: node.interconnects.{}.kind: the checker explores no links; expected an interface on a \
                 bus or a directory, or behind a bridge",
                link.key
            )));
        }
        let [on] = &shape.processors[..] else {
            let number = shape.processors.len();
            return Err(Failure::usage(format!(
                "{machine}: a node has {number} processors; the checker explores nodes of one"
            )));
        };
        let wired = shape.wire(&[interface as &dyn Device]).map_err(Failure::usage)?;
        Ok((shape.ports_of_processor(on), wired))
    }

    /// Starts the program and lets it run up to its first access.
    fn begin(&mut self) -> Result<Result<World, Violation>, Failure> {
        let blueprint = self.blueprint()?;
        let interface = self.interface()?;
        let layouts = interface.layouts(0);
        let place = ProcessId { node: NodeId(0), process: 0 };
        let (mut pages, mut main) = (PageTable::default(), MainMemory::default());
        blueprint.map_devices(place, &layouts, &mut pages, &mut main);
        let mut memory = Words::over(main);
        let invocation = blueprint.invocation(place);
        let started = start(&blueprint.jobs[0].program, &invocation, &mut memory).map_err(Failure::usage)?;
        let calls = SystemCalls::for_process(started.space, invocation.seed);
        let addresses = Addresses::of_process(0);
        let information = addresses.information_page();
        let private = vec![information..information + PAGE_BYTES, NODE_MEMORY];
        let processor = &self.config.processor;
        let mut executor = Executor::new(processor, blueprint.jobs[0].code.clone(), pages, private);
        let caches = blueprint.processor_memory(place.process);
        let begun = executor.start([started.program_counter, started.stack_pointer], memory, caches, calls);
        let block_bytes = self.config.data_cache.block.as_u64();
        let payload_bytes = self.config.payload_bytes();
        let places = Places::new(interface.address_names(block_bytes), block_bytes);
        let (ports, wired) = self.wired(&interface)?;
        self.rules = Some(Rules {
            ports,
            executor,
            lengths: Lengths { block_bytes, payload_bytes },
            numbers: self.numbers,
            places,
        });
        Ok(begun.map(|guest| first_world(guest, interface, wired)))
    }

    fn rules(&mut self) -> &mut Rules {
        self.rules.as_mut().expect("the program has been started")
    }

    fn ports(&self) -> &ProcessorPorts {
        &self.rules.as_ref().expect("the program has been started").ports
    }
}

fn first_world(guest: processor::Guest, interface: Interface, wired: Vec<Interconnect>) -> World {
    World {
        guest,
        interface,
        clocks: Default::default(),
        interconnects: Interconnects::new(wired),
        messages: Messages::default(),
        network: Environment::default(),
        received: 0,
        evicted: 0,
    }
}

impl System for Checked<'_> {
    type State = World;
    type Event = Event;

    fn start(&mut self) -> Result<World, Violation> {
        self.begin().expect("the interface has been built before")
    }

    fn events(&self, world: &World) -> Vec<Event> {
        world.events(self.ports(), self.numbers, self.evictions)
    }

    fn next(&mut self, world: &World, event: Event, story: Option<&mut String>) -> Result<World, Violation> {
        Step::run(self.rules(), world, event, story)
    }

    fn digest(&self, world: &World) -> u128 {
        world.digest()
    }

    fn is_final(&self, world: &World) -> bool {
        world.is_final(self.numbers)
    }

    fn progress(&self, world: &World) -> u64 {
        world.received + world.network.taken + world.network.arrived
    }

    fn describe(&self, world: &World) -> String {
        world.describe()
    }
}
