//! How the library of MPI lays out what is read here (guest/mpi), and where its functions are.

use narthex_cores::linux::Program;
use narthex_machine::node::probe::Paused;
use serde_json::{Value, json};

use super::Function;

/// `MPI_PROC_NULL`.
pub const PROC_NULL: i32 = -3;
/// The handles of the predefined communicators and, from here on, datatypes.
const COMM_WORLD: u64 = 0x101;
const COMM_SELF: u64 = 0x102;
const DATATYPES: u64 = 0x200;
/// `BASIC_TYPES`.
const BASIC_TYPES: u64 = 0x5a;
/// `struct datatype`: how long it is, and where its size is.
const TYPE_BYTES: u64 = 80;
const TYPE_SIZE: u64 = 8;
/// `struct communicator`: its mark, the members, rank and size, the context.
const COMMUNICATOR_MARK: u64 = 0x636f_6d6d;
const RANK_AND_SIZE: u64 = 16;
/// `struct request`: that it is one; where its flags, its error and source, and its bytes are.
const REQUEST_MARK: u32 = 0x7265_7175;
const FLAGS: u64 = 32;
const ERROR_AND_SOURCE: u64 = 48;
const BYTES: u64 = 88;
/// `enum request_kind`.
const SEND: u8 = 0;
const RECEIVE: u8 = 1;

/// A function of the library at whose begin a processor pauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HookPoint {
    /// One of MPI, by its number.
    Function(usize),
    /// `send_eager`.
    SendEager,
    /// `start_send`.
    StartSend,
    /// `start_receive`.
    StartReceive,
    /// `start_request`.
    StartRequest,
    /// `end_request`.
    EndRequest,
    /// `set_status`.
    SetStatus,
    /// `free_request`.
    FreeRequest,
}

const OWN: [(&str, HookPoint); 7] = [
    ("send_eager", HookPoint::SendEager),
    ("start_send", HookPoint::StartSend),
    ("start_receive", HookPoint::StartReceive),
    ("start_request", HookPoint::StartRequest),
    ("end_request", HookPoint::EndRequest),
    ("set_status", HookPoint::SetStatus),
    ("free_request", HookPoint::FreeRequest),
];

/// Where a program has the library.
#[derive(Debug)]
pub struct Library {
    /// The address of its first function here, and what begins at each halfword from there on: a
    /// place's number and one.
    first: u64,
    begins: Vec<u16>,
    places: Vec<HookPoint>,
    world: u64,
    itself: u64,
    sent_request: u64,
    basic_types: u64,
}

impl Library {
    /// That of a program; without functions if it has none.
    pub fn of(program: &Program, functions: &[Function]) -> Self {
        let numbered = functions.iter().enumerate();
        let own = OWN.iter().map(|&(name, place)| (name.to_owned(), place));
        let found: Vec<(u64, HookPoint)> = numbered
            .map(|(number, function)| (format!("P{}", function.name), HookPoint::Function(number)))
            .chain(own)
            .filter_map(|(name, place)| Some((program.address_of(&name)?, place)))
            .collect();
        let first = found.iter().map(|(address, _)| *address).min().unwrap_or(0);
        let last = found.iter().map(|(address, _)| *address).max().unwrap_or(0);
        let mut begins = vec![0; ((last - first) / 2 + 1) as usize];
        for (number, (address, _)) in found.iter().enumerate() {
            begins[((address - first) / 2) as usize] = number as u16 + 1;
        }
        let data = |name| program.address_of(name).unwrap_or(0);
        Library {
            first,
            begins,
            places: found.into_iter().map(|(_, place)| place).collect(),
            world: data("world"),
            itself: data("self"),
            sent_request: data("sent_request"),
            basic_types: data("basic_types"),
        }
    }

    /// What begins at an address.
    #[inline]
    pub fn place_at(&self, pc: u64) -> Option<HookPoint> {
        let number = *self.begins.get((pc.wrapping_sub(self.first) / 2) as usize)?;
        if number == 0 { None } else { self.places.get(usize::from(number) - 1).copied() }
    }

    /// Whether a request is that of a send that is over.
    pub fn is_over(&self, handle: u64) -> bool {
        handle == self.sent_request
    }

    /// The process's rank of the world.
    pub fn own_rank(&self, paused: &mut Paused<'_>) -> Option<u32> {
        (paused.read)(self.world + RANK_AND_SIZE).map(|[ranks, _]| ranks as u32)
    }

    /// The bytes of data of a datatype's element.
    pub fn size_of(&self, handle: u64, paused: &mut Paused<'_>) -> u64 {
        let place = handle.wrapping_sub(DATATYPES);
        let of_type = if place < BASIC_TYPES { self.basic_types + place * TYPE_BYTES } else { handle };
        size_of_type(of_type, paused)
    }

    /// The communicator of a handle; none if it is none.
    pub fn communicator(&self, handle: u64, paused: &mut Paused<'_>) -> Option<Communicator> {
        let address = match handle {
            COMM_WORLD => self.world,
            COMM_SELF => self.itself,
            _ => handle,
        };
        let [mark, members] = (paused.read)(address)?;
        let [ranks, context] = (paused.read)(address + RANK_AND_SIZE)?;
        if mark != COMMUNICATOR_MARK {
            return None;
        }
        let size = ranks >> 32;
        let member = |rank: u64| match members {
            0 => Some(rank as u32),
            _ => (paused.read)(members + 4 * rank).map(|[member, _]| member as u32),
        };
        let members = (0..size).map(member).collect::<Option<Vec<u32>>>()?;
        Some(Communicator { context: context as u16, members })
    }
}

/// The bytes of data of an element of the type at an address.
pub fn size_of_type(address: u64, paused: &mut Paused<'_>) -> u64 {
    (paused.read)(address + TYPE_SIZE).map_or(0, |[size, _]| size)
}

/// A communicator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Communicator {
    /// Its number, even.
    pub context: u16,
    /// Ranks of the world, by rank.
    pub members: Vec<u32>,
}

/// A request, as it is at an instant.
pub struct Request {
    address: u64,
    peer: i32,
    tag: i32,
    context: u16,
    kind: u8,
    is_cancelled: bool,
    source: i32,
    source_tag: i32,
    bytes: u64,
}

impl Request {
    /// The request at an address; none if it is none, or one of no rank's message.
    pub fn read(address: u64, paused: &mut Paused<'_>) -> Option<Self> {
        let [mark_and_peer, tag_and_context] = (paused.read)(address)?;
        let [flags, _] = (paused.read)(address + FLAGS)?;
        let [error_and_source, source_tag] = (paused.read)(address + ERROR_AND_SOURCE)?;
        let [bytes, _] = (paused.read)(address + BYTES)?;
        let peer = (mark_and_peer >> 32) as i32;
        let request = Request {
            address,
            peer,
            tag: tag_and_context as i32,
            context: (tag_and_context >> 32) as u16,
            kind: flags as u8,
            is_cancelled: flags >> 24 & 0xff != 0,
            source: (error_and_source >> 32) as i32,
            source_tag: source_tag as i32,
            bytes,
        };
        (mark_and_peer as u32 == REQUEST_MARK && peer != PROC_NULL).then_some(request)
    }

    /// What it means that a function begins with it; nothing of the sends of calls that the
    /// arguments tell of.
    pub fn event(&self, place: HookPoint, at: u64, sends_itself: bool) -> Option<Value> {
        let Request { address, peer, tag, context, bytes, .. } = *self;
        let is_collective = context & 1 == 1;
        let received = |source, tag| json!(["received", at, address, source, context, tag, bytes]);
        match (place, self.kind) {
            (HookPoint::StartRequest, SEND) if !sends_itself => {
                Some(json!(["send", at, peer, context, tag, bytes, address]))
            }
            (HookPoint::StartSend, SEND) if is_collective => {
                Some(json!(["send", at, peer, context, tag, bytes, 0]))
            }
            (HookPoint::StartRequest, RECEIVE) => Some(json!(["post", at, address])),
            (HookPoint::StartReceive, RECEIVE) if is_collective => Some(json!(["post", at, address])),
            (HookPoint::EndRequest, SEND) => Some(json!(["sent", at, address])),
            (HookPoint::EndRequest, RECEIVE) if !self.is_cancelled && self.source != PROC_NULL => {
                Some(received(self.source, self.source_tag))
            }
            (HookPoint::FreeRequest, RECEIVE) if is_collective => Some(received(peer, tag)),
            _ => None,
        }
    }
}
