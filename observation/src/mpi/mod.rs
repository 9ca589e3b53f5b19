//! What the ranks of a program do in MPI, call by call and message by message.
//!
//! ```text
//!   pauses_at(pc) ── a function of MPI begins, or is over ──► paused: arguments, memory
//!                                                              └─► events of the processor
//! ```
//!
//! **Outside of the program.** A processor pauses where a function of the library (guest/mpi)
//! begins and where it has returned; its registers and its process's memory say the rest. That
//! takes no simulated time, and any program that is linked with the library will do.
//!
//! **Messages.** A send is known by the arguments of its call, or by its request where it has begun
//! in another one; a receive by its request, from which the library takes the source, the tag and
//! the length at its end (`end_request`, or `set_status` where a receive needs no request). The
//! messages of a collective are sends and receives of the odd context of its communicator, which
//! its list of steps begins (`send_eager`, `start_send`, `start_receive`) and ends (`free_request`).
//! What is sent for windows, and grants and credits, is no message of the program.

mod layout;

use narthex_kernel::Time;
use narthex_machine::node::Node;
use narthex_machine::node::probe::{Event, Paused, Probe};
use serde::Deserialize;
use serde_json::{Value, json};

use layout::{Communicator, HookPoint, Library, PROC_NULL, Request, size_of_type};

/// The events of MPI that are wanted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MpiRequest {
    /// The functions that count, by the library's header.
    pub functions: Vec<Function>,
}

/// A function of MPI, and which of its parameters mean what.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// `MPI_Send`.
    pub name: String,
    /// The communicator.
    pub communicator: Option<usize>,
    /// A collective's root.
    pub root: Option<usize>,
    /// Of one that sends: the count, the datatype, the destination and the tag.
    pub send: Option<[usize; 4]>,
    /// Of one that sends: where the request goes.
    pub request: Option<usize>,
}

/// A function of the library that a processor is in.
#[derive(Debug)]
struct Frame {
    place: HookPoint,
    returns_to: u64,
    stack: u64,
    /// Of the program's own call of a function that sends: its event, and where its request goes.
    request: Option<(usize, u64)>,
    /// Of a message that is eager if the function says so.
    message: Option<Value>,
}

/// What is known of a processor.
#[derive(Debug)]
struct Followed {
    library: Library,
    frames: Vec<Frame>,
    rank: Option<u32>,
    /// The communicators that it has named.
    communicators: Vec<Communicator>,
    events: Vec<Value>,
}

/// Hears what the processors of a node do in MPI.
#[derive(Debug)]
struct Watch {
    functions: Vec<Function>,
    processors: Vec<Followed>,
}

impl Probe for Watch {
    fn record(&mut self, _: Time, _: Event) {}

    fn follows_programs(&self) -> bool {
        true
    }

    fn pauses_at(&mut self, processor: usize, pc: u64) -> bool {
        let Followed { library, frames, .. } = &self.processors[processor];
        frames.last().is_some_and(|frame| frame.returns_to == pc) || library.place_at(pc).is_some()
    }

    fn paused(&mut self, paused: &mut Paused<'_>) {
        let followed = &mut self.processors[paused.processor];
        followed.leave(&self.functions, paused);
        if let Some(place) = followed.library.place_at(paused.pc) {
            followed.enter(&self.functions, place, paused);
        }
    }
}

impl Followed {
    /// The functions that have returned, or whose stack has gone.
    fn leave(&mut self, functions: &[Function], paused: &mut Paused<'_>) {
        let (at, pc, stack, result) = (paused.at, paused.pc, paused.registers[2], paused.registers[10]);
        while let Some(frame) = self
            .frames
            .pop_if(|frame| stack > frame.stack || (stack == frame.stack && pc == frame.returns_to))
        {
            match frame.place {
                HookPoint::Function(function) if self.outermost().is_none() => {
                    self.patch(frame.request, paused);
                    self.events.push(json!(["leave", at.as_ps()]));
                    if functions[function].name.starts_with("MPI_Init") {
                        self.rank = self.library.own_rank(paused);
                    }
                }
                HookPoint::SendEager if result & 0xff != 0 => self.events.extend(frame.message),
                _ => {}
            }
        }
    }

    /// The request of a send that has begun: 0 if it is over.
    fn patch(&mut self, request: Option<(usize, u64)>, paused: &mut Paused<'_>) {
        let Some((event, pointer)) = request else { return };
        let handle = (paused.read)(pointer).map_or(0, |[handle, _]| handle);
        self.events[event][6] = json!(if self.library.is_over(handle) { 0 } else { handle });
    }

    /// The function that the program itself has called.
    fn outermost(&self) -> Option<usize> {
        self.frames.iter().find_map(|frame| match frame.place {
            HookPoint::Function(function) => Some(function),
            _ => None,
        })
    }

    fn is_in(&self, place: HookPoint) -> bool {
        self.frames.iter().any(|frame| frame.place == place)
    }

    fn enter(&mut self, functions: &[Function], place: HookPoint, paused: &mut Paused<'_>) {
        let (at, argument) = (paused.at.as_ps(), paused.registers[10]);
        let mut frame = Frame {
            place,
            returns_to: paused.registers[1],
            stack: paused.registers[2],
            request: None,
            message: None,
        };
        match place {
            HookPoint::Function(number) if self.outermost().is_none() => {
                frame.request = self.begin(number, &functions[number], paused);
            }
            HookPoint::Function(_) => {}
            HookPoint::SetStatus => self.received_at_once(functions, paused),
            HookPoint::SendEager if !self.is_in(HookPoint::StartSend) => {
                let [peer, context, tag, _, count, of_type] =
                    [10, 11, 12, 13, 14, 15].map(|x| paused.registers[x]);
                let bytes = count * size_of_type(of_type, paused);
                frame.message = (context & 1 == 1).then(|| json!(["send", at, peer, context, tag, bytes, 0]));
            }
            HookPoint::SendEager => {}
            _ => {
                let Some(request) = Request::read(argument, paused) else { return self.push(frame) };
                let sends_itself = self.outermost().is_some_and(|number| functions[number].send.is_some());
                let event = request.event(place, at, sends_itself);
                self.events.extend(event);
            }
        }
        self.push(frame);
    }

    /// Functions of which the end matters, or what they call.
    fn push(&mut self, frame: Frame) {
        if !matches!(frame.place, HookPoint::SetStatus | HookPoint::FreeRequest | HookPoint::StartReceive) {
            self.frames.push(frame);
        }
    }

    /// The program calls a function; if that sends, the event and where its request goes.
    fn begin(&mut self, number: usize, function: &Function, paused: &mut Paused<'_>) -> Option<(usize, u64)> {
        let at = paused.at.as_ps();
        let handle = function.communicator.map(|place| argument(place, paused));
        let communicator = handle.and_then(|handle| self.library.communicator(handle, paused));
        let root = function.root.map(|place| argument(place, paused) as i32);
        let known = communicator.as_ref().map(|communicator| self.intern(communicator));
        self.events.push(json!(["enter", at, number, known, root]));
        let (communicator, [count, of_type, destination, tag]) = (communicator?, function.send?);
        let destination = argument(destination, paused) as i32;
        if destination == PROC_NULL {
            return None;
        }
        let peer = *communicator.members.get(destination as usize)?;
        let size = self.library.size_of(argument(of_type, paused), paused);
        let bytes = u64::from(argument(count, paused) as u32) * size;
        let tag = argument(tag, paused) as i32;
        self.events.push(json!(["send", at, peer, communicator.context, tag, bytes, 0]));
        let pointer = argument(function.request?, paused);
        Some((self.events.len() - 1, pointer))
    }

    /// A receive of the program's has ended that needed no request.
    fn received_at_once(&mut self, functions: &[Function], paused: &mut Paused<'_>) {
        let Some(Frame { place: HookPoint::Function(number), .. }) = self.frames.last() else { return };
        if functions[*number].name != "MPI_Recv" || self.frames.len() != 1 {
            return;
        }
        let entered = self.events.iter().rev().find(|event| event[0] == "enter");
        let Some(known) = entered.and_then(|event| event[3].as_u64()) else { return };
        let communicator = &self.communicators[known as usize];
        let [_, source, tag, bytes] = [10, 11, 12, 13].map(|register| paused.registers[register]);
        let Some(peer) = communicator.members.get(source as usize) else { return };
        let event = json!(["received", paused.at.as_ps(), 0, peer, communicator.context, tag, bytes]);
        self.events.push(event);
    }

    /// The number of a communicator.
    fn intern(&mut self, communicator: &Communicator) -> usize {
        let known = self.communicators.iter().rposition(|known| known == communicator);
        known.unwrap_or_else(|| {
            self.communicators.push(communicator.clone());
            self.communicators.len() - 1
        })
    }
}

/// An argument of the function that has been called: in a register, or on the stack.
fn argument(place: usize, paused: &mut Paused<'_>) -> u64 {
    match place {
        0..8 => paused.registers[10 + place],
        _ => {
            let address = paused.registers[2] + 8 * (place as u64 - 8);
            (paused.read)(address).map_or(0, |[value, _]| value)
        }
    }
}

/// Records the events of MPI of a run.
pub struct MpiRecorder {
    functions: Vec<Function>,
    is_attached: bool,
}

impl MpiRecorder {
    /// What records the events that are asked for.
    pub fn new(request: &MpiRequest) -> Self {
        MpiRecorder { functions: request.functions.clone(), is_attached: false }
    }

    /// The nodes stand at `now`, the begin of the run: from here on they are listened to.
    pub fn stop(&mut self, now: Time, nodes: &mut [&mut Node]) {
        if std::mem::replace(&mut self.is_attached, true) {
            return;
        }
        for node in nodes {
            let followed = |processor| Followed {
                library: Library::of(node.program_of(processor), &self.functions),
                frames: Vec::new(),
                rank: None,
                communicators: Vec::new(),
                events: Vec::new(),
            };
            let processors = (0..node.processor_count()).map(followed).collect();
            node.attach_at(now, Box::new(Watch { functions: self.functions.clone(), processors }));
        }
    }

    /// The run is over: the entry `mpi` of its document, which has what the processors that have
    /// called MPI did there.
    pub fn finish(self, nodes: &mut [Node]) -> Value {
        let watches = nodes.iter_mut().filter_map(|node| node.detach::<Watch>());
        let processors = watches.flat_map(|watch| watch.processors);
        let called = processors.filter_map(|Followed { rank, communicators, events, .. }| {
            let communicators: Vec<Value> = communicators
                .iter()
                .map(|Communicator { context, members }| json!({ "context": context, "members": members }))
                .collect();
            rank.map(|rank| json!({ "rank": rank, "communicators": communicators, "events": events }))
        });
        json!({ "ranks": called.collect::<Vec<_>>() })
    }
}
