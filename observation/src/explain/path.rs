//! The critical path of a message, cut into stretches that each belong to one part.

use narthex_kernel::{Ledger, Time, categories};
use narthex_machine::activity::{Activity, Occupation};

use super::hops::{self, Stretch};
use super::life::{Booking, Life, NodeHistory, Role, Way};

categories! {
    /// What a stretch of a message's latency is spent on.
    pub enum Part {
        /// The sender executes instructions.
        SenderSoftware = "sender: software",
        /// It waits for blocks, or for the right to write them.
        SenderBlocks = "sender: waits for blocks",
        /// It waits for device registers.
        SenderUncached = "sender: uncached accesses",
        /// What it waits for is a message of a directory, under way.
        SenderMessages = "sender: messages of the directory",
        /// It is at the home of a block or a register.
        SenderHome = "sender: directory's home",
        /// It is at another cache.
        SenderCache = "sender: another cache",
        /// Its stores wait in the store buffer.
        SenderStoreBuffer = "sender: store buffer",
        /// The interface or the flow control has no room.
        SenderRoom = "sender: waits for room",
        /// The sending interface has a transaction of its own on the bus.
        SendBus = "interface sends: bus",
        /// It works otherwise, or waits for the bus or the flow control.
        SendEngine = "interface sends: engine",
        /// The packet came back and is sent again.
        FlowControl = "flow control: returned",
        /// The packet is on its way.
        Network = "network",
        /// The receiving interface has a transaction of its own on the bus.
        ReceiveBus = "interface receives: bus",
        /// It works otherwise, or waits for the bus.
        ReceiveEngine = "interface receives: engine",
        /// The receiver is busy sending.
        ReceiverBusy = "receiver: other work",
        /// It is in a poll that finds nothing, or between two.
        ReceiverPolling = "receiver: polling",
        /// It waits for device registers.
        ReceiverUncached = "receiver: uncached accesses",
        /// It waits for blocks.
        ReceiverBlocks = "receiver: waits for blocks",
        /// What it waits for is a message of a directory, under way.
        ReceiverMessages = "receiver: messages of the directory",
        /// It is at the home of a block or a register.
        ReceiverHome = "receiver: directory's home",
        /// It is at another cache.
        ReceiverCache = "receiver: another cache",
        /// It waits until its stores have left the store buffer.
        ReceiverStoreBuffer = "receiver: store buffer",
        /// It executes instructions.
        ReceiverSoftware = "receiver: software",
    }
}

impl Part {
    /// Whose work the part is: an end, and what works there; none of the network's parts.
    pub fn worker(self) -> Option<(usize, Role)> {
        use Part::*;
        match self {
            SenderSoftware | SenderBlocks | SenderUncached | SenderMessages | SenderHome | SenderCache
            | SenderStoreBuffer | SenderRoom => Some((0, Role::Processor)),
            SendBus | SendEngine => Some((0, Role::Interface)),
            FlowControl | Network => None,
            ReceiveBus | ReceiveEngine => Some((1, Role::Interface)),
            ReceiverBusy | ReceiverPolling | ReceiverUncached | ReceiverBlocks | ReceiverMessages
            | ReceiverHome | ReceiverCache | ReceiverStoreBuffer | ReceiverSoftware => {
                Some((1, Role::Processor))
            }
        }
    }

    /// What a stretch of a directory's transaction is a part of, for which the processor waits; none
    /// if it waits for no transaction.
    fn in_directory(self, stretch: Stretch) -> Option<Part> {
        use Part::*;
        let is_sender = matches!(self, SenderBlocks | SenderUncached);
        let is_receiver = matches!(self, ReceiverBlocks | ReceiverUncached);
        match (stretch, is_sender) {
            _ if !is_sender && !is_receiver => None,
            (Stretch::Message, true) => Some(SenderMessages),
            (Stretch::Home, true) => Some(SenderHome),
            (Stretch::Cache, true) => Some(SenderCache),
            (Stretch::Message, false) => Some(ReceiverMessages),
            (Stretch::Home, false) => Some(ReceiverHome),
            (Stretch::Cache, false) => Some(ReceiverCache),
        }
    }
}

/// A stretch of the critical path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its begin.
    pub from: Time,
    /// Its end: the begin of the next one.
    pub to: Time,
    /// What it is spent on.
    pub part: Part,
}

/// The critical path of a life, from its begin to its end without gaps.
pub fn segments(life: &Life, [sender, receiver]: &[NodeHistory; 2]) -> Vec<Segment> {
    let mut path = Path { reached: life.sent, segments: Vec::new() };
    for booking in sender.bookings.iter().filter(|booking| booking.to > life.sent) {
        let part = if booking.from >= life.left {
            Part::SenderStoreBuffer
        } else {
            sending(booking.activity, booking.occupation)
        };
        path.go(booking.to.min(life.announced), part);
    }
    path.interface(sender, life.injected, [Part::SendBus, Part::SendEngine]);
    path.go(life.departed, Part::FlowControl);
    path.go(life.arrived, Part::Network);
    path.interface(receiver, life.visible, [Part::ReceiveBus, Part::ReceiveEngine]);
    for booking in receiver.bookings.iter().filter(|booking| booking.to > life.visible) {
        if life.way == Way::Messaging {
            path.go(booking.to.min(life.handled), receiving(booking));
        } else {
            path.go(booking.to.min(life.noticed), Part::ReceiverPolling);
            path.go(booking.to.min(life.handled), taking_in(booking.occupation));
        }
    }
    let histories = [sender, receiver];
    path.segments.iter().flat_map(|segment| with_hops(segment, &histories)).collect()
}

/// A stretch of a processor's waiting, cut where the messages of its directory's transactions leave
/// and arrive; the stretch itself if there are none.
fn with_hops(segment: &Segment, histories: &[&NodeHistory; 2]) -> Vec<Segment> {
    let Segment { from, to, part } = *segment;
    let mut path = Path { reached: from, segments: Vec::new() };
    if part.in_directory(Stretch::Home).is_some()
        && let Some((end, _)) = part.worker()
    {
        let waits = &histories[end].directory;
        for hop in waits.between(from, to).flat_map(|crossing| hops::way(waits, crossing)) {
            path.go(hop.from.min(to), part);
            path.go(hop.to.min(to), part.in_directory(hop.stretch).unwrap_or(part));
        }
    }
    path.go(to, part);
    path.segments
}

/// The time of each part; it adds up to the latency, or this panics.
pub fn ledger(segments: &[Segment]) -> Ledger<Part> {
    let [first, .., last] = segments else { panic!("a life has a begin and an end") };
    let mut ledger = Ledger::new(first.from, first.part);
    segments.iter().for_each(|segment| ledger.switch(segment.from, segment.part));
    ledger.close(last.to);
    ledger
}

fn sending(activity: Activity, occupation: Occupation) -> Part {
    match (activity, occupation) {
        (Activity::WaitToSend | Activity::Buffering, _) => Part::SenderRoom,
        // No program waits for an interrupt.
        (_, Occupation::Execute | Occupation::SystemCall | Occupation::Asleep | Occupation::Interrupt) => {
            Part::SenderSoftware
        }
        (_, Occupation::DataMiss | Occupation::InstructionMiss) => Part::SenderBlocks,
        (_, Occupation::Uncached) => Part::SenderUncached,
        (_, Occupation::StoreBuffer) => Part::SenderStoreBuffer,
    }
}

fn receiving(booking: &Booking) -> Part {
    let finds = booking.activity == Activity::Poll && booking.next == Activity::Receive;
    match (booking.activity, booking.occupation) {
        (Activity::Poll | Activity::Application, _) if !finds => Part::ReceiverPolling,
        (Activity::Poll | Activity::Receive, occupation) => taking_in(occupation),
        _ => Part::ReceiverBusy,
    }
}

/// What the receiver's time is spent on while it takes in what has come.
fn taking_in(occupation: Occupation) -> Part {
    match occupation {
        Occupation::Execute | Occupation::SystemCall => Part::ReceiverSoftware,
        Occupation::DataMiss | Occupation::InstructionMiss => Part::ReceiverBlocks,
        Occupation::Uncached => Part::ReceiverUncached,
        Occupation::StoreBuffer => Part::ReceiverStoreBuffer,
        Occupation::Asleep | Occupation::Interrupt => Part::ReceiverBusy,
    }
}

/// The path as far as it has been followed.
struct Path {
    reached: Time,
    segments: Vec<Segment>,
}

impl Path {
    /// Goes on to `to`, if that is ahead, in one part.
    fn go(&mut self, to: Time, part: Part) {
        if to <= self.reached {
            return;
        }
        match self.segments.last_mut() {
            Some(last) if last.part == part => last.to = to,
            _ => self.segments.push(Segment { from: self.reached, to, part }),
        }
        self.reached = to;
    }

    /// Goes on to `to` with an interface: its transactions, and the time between them.
    fn interface(&mut self, history: &NodeHistory, to: Time, [bus, engine]: [Part; 2]) {
        for crossing in history.interface_crossings() {
            if crossing.released > self.reached && crossing.granted < to {
                self.go(crossing.granted.min(to), engine);
                self.go(crossing.released.min(to), bus);
            }
        }
        self.go(to, engine);
    }
}
