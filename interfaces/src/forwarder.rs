//! The forwarder: a device between a node's interface and its network, whose packets
//! firmware moves.
//!
//! ```text
//!   interface ──► relay ──► HOST_RECEIVE ┐                ┌ NETWORK_SEND ────► flow control ──► network
//!                                        ├─ firmware ─────┤
//!   interface ◄── relay ◄── HOST_SEND ───┘                └ NETWORK_RECEIVE ◄─ flow control ◄── network
//! ```
//!
//! The interface is any of the taxonomy and does not know: what it sends waits in the
//! node's relay ([`narthex_fabrics::Relay`]), and what it receives comes from there. The
//! forwarder has one port, on the bus of a processor that runs firmware, and four
//! registers through which that moves each packet doubleword by doubleword: first the
//! number of the process that sends or is to get it, then header and payload. What the
//! firmware writes is what arrives.
//!
//! STATUS shows what there is to do, and each of its bits is an interrupt line of the
//! same number. This is no interface of a paper: it is the smallest device that needs a
//! processor of its own, for tests and as a beginning for others.

use std::hash::Hash;

use narthex_fabrics::{Header, Packet};
use narthex_kernel::Duration;
use narthex_kernel::digest::Digest;
use narthex_kernel::statistics::StatisticSet;
use narthex_memory::main_memory::PAGE_BYTES;
use narthex_memory::{AccessReply, Kind, Response, Transaction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address_names::AddressName;
use crate::description::{DeviceDescription, DevicePort};
use crate::device::Device;
use crate::half::{Context, RegisterFault};
use crate::programming::{Constant, Firmware, Register};
use crate::queue::QueueState;

/// Where its registers are on the bus of its firmware.
pub const FORWARDER_REGISTERS: u64 = 0x7000_0000;

/// STATUS: a packet from the host waits.
const FROM_HOST: u64 = 1;
/// STATUS: a packet from the network waits.
const FROM_NETWORK: u64 = 2;
/// STATUS: a packet to the network can be written.
const NETWORK_ROOM: u64 = 4;
/// STATUS: a packet to the host can be written.
const HOST_ROOM: u64 = 8;
/// Bits of STATUS, which are interrupt lines.
const LINES: u32 = 4;

/// What firmware needs to know of it, for its C header.
pub static FIRMWARE: Firmware = Firmware { constants: &CONSTANTS, registers: &[&REGISTERS], activities: &[] };

const CONSTANTS: [Constant; 5] = [
    ("FORWARDER_REGISTERS", FORWARDER_REGISTERS, "Where the forwarder's registers are."),
    ("FORWARDER_FROM_HOST", FROM_HOST, "STATUS, and line 0: a packet from the host waits."),
    ("FORWARDER_FROM_NETWORK", FROM_NETWORK, "STATUS, and line 1: a packet from the network waits."),
    ("FORWARDER_NETWORK_ROOM", NETWORK_ROOM, "STATUS, and line 2: a packet to the network can be written."),
    ("FORWARDER_HOST_ROOM", HOST_ROOM, "STATUS, and line 3: a packet to the host can be written."),
];

/// Its registers.
pub const REGISTERS: [Register; 5] = [
    ("FORWARDER_STATUS", 0x00, "load: what there is to do"),
    ("FORWARDER_HOST_RECEIVE", 0x08, "load: the next doubleword of the packet from the host"),
    ("FORWARDER_HOST_SEND", 0x10, "store: the next doubleword of a packet to the host"),
    ("FORWARDER_NETWORK_RECEIVE", 0x18, "load: the next doubleword of the packet from the network"),
    ("FORWARDER_NETWORK_SEND", 0x20, "store: the next doubleword of a packet to the network"),
];

const STATUS: u64 = REGISTERS[0].1;
const HOST_RECEIVE: u64 = REGISTERS[1].1;
const HOST_SEND: u64 = REGISTERS[2].1;
const NETWORK_RECEIVE: u64 = REGISTERS[3].1;
const NETWORK_SEND: u64 = REGISTERS[4].1;

/// The parameters of a forwarder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that a register access takes beyond the bus's own cycles.
    pub register_access_time: Duration,
    /// Packets that the relay holds from all processes of the node, and to each.
    #[schemars(range(min = 1, max = 1024))]
    pub entries: u32,
}

impl Config {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        if (1..=1024).contains(&self.entries) {
            return Vec::new();
        }
        vec![("entries", format!("{} is not from 1 to 1024", self.entries))]
    }
}

narthex_kernel::statistics! {
    /// What went through the forwarder.
    pub struct Statistics {
        to_network: Counter, "forwarded_to_network", "packets", "packets from the host that firmware wrote to the network";
        to_host: Counter, "forwarded_to_host", "packets", "packets from the network that firmware wrote to the host";
        status_loads: Counter, "forwarder_status_loads", "loads", "loads of the forwarder's status register";
    }
}

/// A packet that firmware writes, then the same packet until it leaves.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
struct Written {
    process: Option<u8>,
    header: Option<Header>,
    payload: Vec<u8>,
}

impl Written {
    fn is_complete(&self) -> bool {
        self.header.is_some_and(|header| self.payload.len() == header.payload_bytes())
    }

    fn is_empty(&self) -> bool {
        self.process.is_none()
    }

    /// The next doubleword: process, header, payload.
    fn push(&mut self, context: &Context<'_>, payload_limit: usize, value: u64) -> Result<(), RegisterFault> {
        if self.is_complete() {
            return Err(RegisterFault("a packet is written while STATUS shows no room for one".into()));
        }
        if self.process.is_none() {
            let processes = context.network.processes();
            let process = u8::try_from(value).ok().filter(|&process| process < processes);
            self.process = Some(process.ok_or_else(|| {
                RegisterFault(format!("a packet of process {value}; the node has {processes}"))
            })?);
            return Ok(());
        }
        let Some(header) = self.header else {
            context.check(Header(value), payload_limit)?;
            self.header = Some(Header(value));
            return Ok(());
        };
        let missing = header.payload_bytes() - self.payload.len();
        self.payload.extend_from_slice(&value.to_le_bytes()[..missing.min(8)]);
        Ok(())
    }

    /// The whole packet, if it is complete and `fits`; nothing is written then.
    fn take_if(&mut self, fits: impl FnOnce(u8, Header) -> bool) -> Option<(u8, Header, Vec<u8>)> {
        let (process, header) = (self.process?, self.header.filter(|_| self.is_complete())?);
        fits(process, header).then(|| (process, header, std::mem::take(self).payload))
    }
}

/// The device; see the module's description.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Forwarder {
    register_access: Duration,
    payload_limit: usize,
    status: u64,
    /// Doublewords of the packet at the head that have been read.
    read_from_host: usize,
    read_from_network: usize,
    /// Whose packet from the network has been read in part.
    reading: Option<u8>,
    to_network: Written,
    to_host: Written,
    statistics: Statistics,
}

impl Forwarder {
    /// A forwarder of packets of `packet_bytes`.
    pub fn new(config: &Config, packet_bytes: u64) -> Self {
        Forwarder {
            register_access: config.register_access_time,
            payload_limit: packet_bytes as usize - Header::BYTES,
            status: NETWORK_ROOM | HOST_ROOM,
            read_from_host: 0,
            read_from_network: 0,
            reading: None,
            to_network: Written::default(),
            to_host: Written::default(),
            statistics: Statistics::default(),
        }
    }

    /// Sends and hands over what is complete, and looks at what there is to do.
    fn move_on(&mut self, context: &mut Context<'_>) {
        let network = &mut context.network;
        let sent = self.to_network.take_if(|process, header| network.can_launch(process, header.peer()));
        if let Some((process, header, payload)) = sent {
            network.launch(process, header, payload);
            self.statistics.to_network.increment();
        }
        if let Some((process, header, payload)) =
            self.to_host.take_if(|process, _| network.can_hand_to(process))
        {
            network.hand_to(process, header, payload);
            self.statistics.to_host.increment();
        }
        let bit = |bit: u64, is_set: bool| if is_set { bit } else { 0 };
        self.status = bit(FROM_HOST, network.relayed().0.is_some())
            | bit(FROM_NETWORK, network.arrived(None).is_some())
            | bit(NETWORK_ROOM, !self.to_network.is_complete())
            | bit(HOST_ROOM, !self.to_host.is_complete());
    }

    fn load(&mut self, context: &mut Context<'_>, offset: u64) -> Result<u64, RegisterFault> {
        let network = &mut context.network;
        match offset {
            STATUS => {
                self.statistics.status_loads.increment();
                Ok(self.status)
            }
            HOST_RECEIVE => {
                let packet = network.relayed().0.ok_or_else(|| nothing("host"))?;
                let process = network.process_of(packet.source);
                let (value, is_last) = doubleword(packet, process, packet.header, self.read_from_host);
                self.read_from_host += 1;
                if is_last {
                    network.take_relayed();
                    self.read_from_host = 0;
                }
                Ok(value)
            }
            NETWORK_RECEIVE => {
                let packet = network.arrived(self.reading).ok_or_else(|| nothing("network"))?;
                let process = network.process_of(packet.destination);
                let header = packet.header.with_peer(packet.source);
                let (value, is_last) = doubleword(packet, process, header, self.read_from_network);
                self.read_from_network += 1;
                self.reading = Some(process);
                if is_last {
                    network.take_arrived(process);
                    (self.read_from_network, self.reading) = (0, None);
                }
                Ok(value)
            }
            _ => Err(RegisterFault(format!("there is no register to load from at offset {offset:#x}"))),
        }
    }

    fn store(&mut self, context: &Context<'_>, offset: u64, value: u64) -> Result<(), RegisterFault> {
        match offset {
            NETWORK_SEND => self.to_network.push(context, self.payload_limit, value),
            HOST_SEND => self.to_host.push(context, self.payload_limit, value),
            _ => Err(RegisterFault(format!("there is no register to store to at offset {offset:#x}"))),
        }
    }
}

fn nothing(side: &str) -> RegisterFault {
    RegisterFault(format!("a load of a packet from the {side} while STATUS shows none"))
}

/// A doubleword of a packet as firmware reads it, and whether it is the last one.
fn doubleword(packet: &Packet, process: u8, header: Header, place: usize) -> (u64, bool) {
    let payload = &packet.payload;
    let value = match place {
        0 => process.into(),
        1 => header.0,
        _ => {
            let mut bytes = [0; 8];
            let rest = &payload[(place - 2) * 8..];
            let length = rest.len().min(8);
            bytes[..length].copy_from_slice(&rest[..length]);
            u64::from_le_bytes(bytes)
        }
    };
    (value, place + 1 == 2 + payload.len().div_ceil(8))
}

impl Device for Forwarder {
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        None
    }

    fn access_time(&self, _port: usize, _kind: Kind) -> Duration {
        self.register_access
    }

    fn access(
        &mut self,
        _port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        let Transaction { kind, address, size, value, .. } = *transaction;
        let offset = address - FORWARDER_REGISTERS;
        if size != 8 {
            return Err(RegisterFault(format!(
                "an access of {size} bytes to register {offset:#x} of the forwarder; registers have 8"
            )));
        }
        match kind {
            Kind::UncachedLoad => response.value = self.load(context, offset)?,
            _ => self.store(context, offset, value)?,
        }
        self.move_on(context);
        Ok(AccessReply::Done)
    }

    fn network(&mut self, _port: usize, context: &mut Context<'_>) {
        self.move_on(context);
    }
}

impl DeviceDescription for Forwarder {
    fn ports(&self) -> Vec<DevicePort> {
        vec![DevicePort {
            process: 0,
            name: "the forwarder".into(),
            registers: Vec::from_iter(Some(FORWARDER_REGISTERS..FORWARDER_REGISTERS + PAGE_BYTES)),
            homes: Vec::new(),
            concern: 0..0,
            is_coherent: false,
            lines: LINES,
            ..DevicePort::default()
        }]
    }

    fn part(&self, _port: usize) -> &'static str {
        "forwarder"
    }

    fn asserted_lines(&self, _port: usize) -> u64 {
        self.status
    }

    fn receiver(&self, _process: u8) -> Option<usize> {
        Some(0)
    }

    fn sender(&self, _process: u8) -> Option<usize> {
        Some(0)
    }

    fn name_of(&self, address: u64, _block_bytes: u64) -> Option<AddressName> {
        let offset = address.checked_sub(FORWARDER_REGISTERS).filter(|&offset| offset < PAGE_BYTES)?;
        let known = REGISTERS.iter().find(|(_, own, _)| *own == offset);
        Some(AddressName::whole(known.map_or("the forwarder's registers", |(name, ..)| name)))
    }

    fn hash_state(&self, _port: usize, digest: &mut Digest) {
        let Forwarder { status, read_from_host, read_from_network, reading, .. } = self;
        (status, read_from_host, read_from_network, reading).hash(digest);
        (&self.to_network, &self.to_host).hash(digest);
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        vec![&self.statistics]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.statistics]
    }

    fn queue(&self, _port: usize) -> QueueState {
        let held = |written: &Written, side| match (written.is_empty(), written.is_complete()) {
            (true, _) => None,
            (false, true) => Some(format!("a packet waits for room on its way to the {side}")),
            (false, false) => Some(format!("part of a packet to the {side} is written")),
        };
        let notes = [held(&self.to_network, "network"), held(&self.to_host, "host")];
        let unread =
            |bit: u64, side| (self.status & bit != 0).then(|| format!("a packet from the {side} waits"));
        let notes = notes.into_iter().chain([unread(FROM_HOST, "host"), unread(FROM_NETWORK, "network")]);
        let used = u64::from(!self.to_network.is_empty()) + u64::from(!self.to_host.is_empty());
        let note = notes.flatten().collect::<Vec<_>>().join(", ");
        QueueState::of("forwarder", used, Some(2)).with_note(note)
    }
}
