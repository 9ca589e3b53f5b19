//! The rows of a timeline, and what stands in them.

use narthex_machine::activity::{Activity, Occupation};
use narthex_machine::node::probe::{Message, Packet, Supplier};
use narthex_machine::node::{Agent, AgentNames};
use narthex_memory::Kind;
use narthex_memory::directory::Lane;
use narthex_memory::interconnects::{LinkPacket, MEMORY_BUS};

/// A row: something of a node that is at one thing at a time, or a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Row {
    /// Whose.
    pub node: usize,
    /// Which of the node's rows.
    pub track: Track,
}

/// The rows of a node, from top to bottom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Track {
    /// A processor: its activity, and in it its occupation.
    Processor(usize),
    /// A processor: the functions that its program is in, each in the one that called it.
    Functions(usize),
    /// A processor: the handler of messages that it runs.
    Handlers(usize),
    /// A processor: a region of its program; one that begins inside another is in the next
    /// of these rows.
    Regions(usize, usize),
    /// A bus: its transactions.
    Bus(&'static str),
    /// A direction of a link: the packets on its wires. Down is to the device.
    Link(&'static str, Direction),
    /// An agent on a directory: its transactions, and in each where its messages are.
    Requester(Agent),
    /// A part of the interface: what its engine is at.
    Part(usize),
    /// A part of the interface in a tile: the packet that left it last, until it arrives.
    Packets(usize),
    /// The network port: packets that leave, arrive, are taken.
    Network,
    /// Messages in the queue, FIFO or registers of a part.
    Messages(usize),
    /// Packets that were sent and not acknowledged.
    Unacknowledged,
    /// Packets that came back and are to be sent again.
    Returned,
    /// Packets that have arrived and that the interface has not taken.
    Waiting,
}

/// A direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// To the device.
    Down,
    /// To the host.
    Up,
}

impl Direction {
    /// That of a packet.
    pub fn of(packet: &LinkPacket) -> Self {
        if packet.is_down { Direction::Down } else { Direction::Up }
    }

    /// As rows are called.
    pub fn words(self) -> &'static str {
        match self {
            Direction::Down => "to the device",
            Direction::Up => "to the host",
        }
    }
}

impl Track {
    /// Whether it shows a number rather than what is going on.
    pub fn is_number(self) -> bool {
        matches!(self, Track::Messages(_) | Track::Unacknowledged | Track::Returned | Track::Waiting)
    }

    /// Whether it shows a number of messages rather than of packets.
    pub fn counts_messages(self) -> bool {
        matches!(self, Track::Messages(_))
    }

    /// Its place among the node's rows.
    pub fn rank(self) -> i32 {
        const KIND: i32 = 100_000;
        const ROWS: i32 = 10; // of a processor
        match self {
            Track::Processor(index) => ROWS * index as i32,
            Track::Functions(index) => ROWS * index as i32 + 1,
            Track::Handlers(index) => ROWS * index as i32 + 2,
            Track::Regions(index, level) => ROWS * index as i32 + 3 + level.min(6) as i32,
            Track::Bus(MEMORY_BUS) => KIND,
            Track::Bus(_) => KIND + 1,
            Track::Link(_, direction) => KIND + 100 + direction as i32,
            Track::Requester(Agent::Processor(number) | Agent::Port(number)) => {
                KIND + 1 + number.min(97) as i32
            }
            Track::Requester(Agent::Bridge) => KIND + 99,
            Track::Part(side) => 2 * KIND + side as i32,
            Track::Packets(side) => 2 * KIND + side as i32 + 1,
            Track::Network => 3 * KIND,
            Track::Messages(side) => 4 * KIND + side as i32,
            Track::Unacknowledged => 5 * KIND,
            Track::Returned => 6 * KIND,
            Track::Waiting => 7 * KIND,
        }
    }

    /// What it shows.
    pub fn description(self) -> &'static str {
        match self {
            Track::Processor(_) => "What its program is doing; in it, what the processor is doing meanwhile.",
            Track::Functions(_) => "The functions that its program is in, each below the one that called it.",
            Track::Handlers(_) => "The handler of messages that it runs.",
            Track::Regions(..) => "Regions that its program marks.",
            Track::Bus(_) => "Transactions, as long as they have the bus.",
            Track::Link(..) => "Its packets, as long as they have the wires.",
            Track::Requester(_) => {
                "Its transactions on the directory; in each, what its latest message is at."
            }
            Track::Part(_) => "What its engine is at; nothing while it has nothing to do.",
            Track::Packets(_) => "The packet that left it last, on its way over the network on chip.",
            Track::Network => "What becomes of packets; arrows join what becomes of one.",
            Track::Messages(_) => "In its queue, FIFO or registers, as far as it knows.",
            Track::Unacknowledged => {
                "Sent, and in flight or back again: they hold a buffer or a place of a window."
            }
            Track::Returned => "The receiver had no buffer for them; they are sent again.",
            Track::Waiting => "Arrived, and still in a buffer of the flow control.",
        }
    }

    /// What it is called on a node whose agents have these names.
    pub fn name(self, names: &AgentNames) -> String {
        match self {
            Track::Processor(index) => names.processors[index].clone(),
            Track::Functions(index) => format!("functions of {}", names.processors[index]),
            Track::Handlers(index) => format!("handlers of {}", names.processors[index]),
            Track::Regions(index, 0) => format!("regions of {}", names.processors[index]),
            Track::Regions(index, level) => {
                format!("regions of {}, level {}", names.processors[index], level + 1)
            }
            Track::Bus(name) => name.to_owned(),
            Track::Link(name, direction) => format!("{name}, {}", direction.words()),
            Track::Requester(agent) => format!("transactions of {}", agent_name(agent, names)),
            Track::Part(port) => names.ports[port].clone(),
            Track::Packets(port) => format!("packets of {}", names.ports[port]),
            Track::Network => "network port".into(),
            Track::Messages(port) => format!("messages in the {}", names.ports[port]),
            Track::Unacknowledged => "packets not acknowledged".into(),
            Track::Returned => "packets that came back".into(),
            Track::Waiting => "packets that wait to be taken".into(),
        }
    }
}

/// What goes on in a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Label {
    /// What a program is doing.
    Activity(Activity),
    /// What a processor is doing meanwhile.
    Occupation(Occupation),
    /// A transaction on a bus.
    Transaction(Transaction),
    /// A packet of a link, and what its address is called.
    OnLink(LinkPacket, Option<String>),
    /// A bridge keeps a bus for a device.
    Kept,
    /// What an engine is at.
    Engine(&'static str),
    /// What a transaction's latest message on a directory is at.
    Message(Message),
    /// A packet on the network on chip.
    Packet(Packet),
    /// A function, a handler or a region.
    Code(Code),
}

/// A function, a handler or a region of a program, while a processor is in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Code {
    /// Tells this stay from others.
    pub number: u64,
    /// Its name.
    pub name: String,
}

/// A transaction on a bus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// Tells it from others that look alike.
    pub number: u64,
    /// Who has the bus.
    pub agent: Agent,
    /// What it does.
    pub kind: Kind,
    /// The name of that.
    pub name: &'static str,
    /// The address of its block or register.
    pub address: u64,
    /// That address in words.
    pub place: String,
    /// Who delivers the bytes or takes them, if that is known where it begins.
    pub supplier: Option<Supplier>,
}

/// What can be said about a label.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Detail {
    /// Words.
    Text(String),
    /// A number.
    Number(u64),
    /// An address.
    Address(u64),
}

/// An agent in words.
pub fn agent_name(agent: Agent, names: &AgentNames) -> &str {
    match agent {
        Agent::Processor(index) => &names.processors[index],
        Agent::Port(port) => &names.ports[port],
        Agent::Bridge => "bridge",
    }
}

impl Label {
    /// Its name in the picture.
    pub fn name(&self) -> &str {
        match self {
            Label::Code(code) => &code.name,
            Label::Activity(activity) => activity.as_str(),
            Label::Occupation(occupation) => occupation.as_str(),
            Label::Transaction(transaction) => transaction.name,
            Label::OnLink(packet, _) => packet.name,
            Label::Kept => "kept for a device",
            Label::Engine(doing) => doing,
            Label::Packet(packet) => packet.name,
            Label::Message(Message { lane: Lane::Request, is_there: true, .. }) => "at its home",
            Label::Message(Message { lane: Lane::Forward, is_there: true, .. }) => "at a cache that has it",
            Label::Message(Message { lane: Lane::Response, is_there: true, .. }) => "answered",
            Label::Message(Message { lane: Lane::Request, .. }) => "request under way",
            Label::Message(Message { lane: Lane::Forward, .. }) => "forward under way",
            Label::Message(Message { lane: Lane::Response, .. }) => "response under way",
        }
    }

    /// What there is to know about it, by name.
    pub fn details(&self, names: &AgentNames) -> Vec<(&'static str, Detail)> {
        if let Label::Message(Message { name, places: [from, to], .. }) = self {
            return vec![
                ("message", Detail::Text((*name).to_owned())),
                ("from place", Detail::Number((*from).into())),
                ("to place", Detail::Number((*to).into())),
            ];
        }
        if let Label::Packet(Packet { places: [from, to], bytes, .. }) = self {
            return vec![
                ("from place", Detail::Number((*from).into())),
                ("to place", Detail::Number((*to).into())),
                ("bytes", Detail::Number((*bytes).into())),
            ];
        }
        if let Label::OnLink(packet, place) = self {
            let place = place.iter().map(|place| ("place", Detail::Text(place.clone())));
            let address = packet.address.map(|address| ("address", Detail::Address(address)));
            let tag = packet.tag.map(|tag| ("tag", Detail::Number(tag.into())));
            let data = ("bytes", Detail::Number(packet.data_bytes.into()));
            let way = ("until the other end, ps", Detail::Number((packet.arrival - packet.wires.0).as_ps()));
            return place.chain(address).chain(tag).chain([data, way]).collect();
        }
        let Label::Transaction(transaction) = self else { return Vec::new() };
        let mut details = vec![
            ("agent", Detail::Text(agent_name(transaction.agent, names).to_owned())),
            ("place", Detail::Text(transaction.place.clone())),
            ("address", Detail::Address(transaction.address)),
        ];
        if let Some(supplier) = transaction.supplier {
            let name = match supplier {
                Supplier::MainMemory => "main memory".to_owned(),
                Supplier::Agent(agent) => agent_name(agent, names).to_owned(),
            };
            let key = if transaction.kind.carries_block() { "bytes to" } else { "bytes from" };
            details.push((key, Detail::Text(name)));
        }
        details
    }
}

/// What becomes of a packet at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It is sent for the first time.
    Leaves,
    /// It is sent again.
    LeavesAgain,
    /// It has arrived and found a buffer.
    Arrives,
    /// It has arrived and found none, and returns.
    FindsNoBuffer,
    /// It is back at its sender.
    ComesBack,
    /// The interface takes it out of its buffer.
    Taken,
    /// It is under way, or in a buffer, when the timeline ends.
    Unfinished,
}

impl Step {
    /// Its name in the picture.
    pub fn name(self) -> &'static str {
        match self {
            Step::Leaves => "packet leaves",
            Step::LeavesAgain => "packet leaves again",
            Step::Arrives => "packet arrives",
            Step::FindsNoBuffer => "packet finds no buffer",
            Step::ComesBack => "packet comes back",
            Step::Taken => "packet is taken",
            Step::Unfinished => "packet has not been taken yet",
        }
    }

    /// Whether nothing more becomes of it.
    pub fn is_last(self) -> bool {
        matches!(self, Step::Taken | Step::Unfinished)
    }
}
