//! The critical path of a message, cut into stretches that each belong to one part.

use narthex_kernel::{Ledger, Time, categories};
use narthex_machine::activity::{Activity, Occupation};
use narthex_machine::node::Agent;

use super::life::{Booking, Life, NodeHistory, PROCESSOR, RECEIVE_HALF, SEND_HALF};

categories! {
    /// What a stretch of a message's latency is spent on.
    pub enum Part {
        /// The sender executes instructions.
        SenderSoftware = "sender: software",
        /// It waits for blocks, or for the right to write them.
        SenderBlocks = "sender: waits for blocks",
        /// It waits for device registers.
        SenderUncached = "sender: uncached accesses",
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
        /// It waits until its stores have left the store buffer.
        ReceiverStoreBuffer = "receiver: store buffer",
        /// It executes instructions.
        ReceiverSoftware = "receiver: software",
    }
}

impl Part {
    /// Whose work the part is: a node and an agent of its bus; none of the network's parts.
    pub fn worker(self) -> Option<(usize, Agent)> {
        use Part::*;
        match self {
            SenderSoftware | SenderBlocks | SenderUncached | SenderStoreBuffer | SenderRoom => {
                Some((0, PROCESSOR))
            }
            SendBus | SendEngine => Some((0, Agent::Seat(SEND_HALF))),
            FlowControl | Network => None,
            ReceiveBus | ReceiveEngine => Some((1, Agent::Seat(RECEIVE_HALF))),
            ReceiverBusy | ReceiverPolling | ReceiverUncached | ReceiverBlocks | ReceiverStoreBuffer
            | ReceiverSoftware => Some((1, PROCESSOR)),
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
    path.interface(sender, SEND_HALF, life.injected, [Part::SendBus, Part::SendEngine]);
    path.go(life.departed, Part::FlowControl);
    path.go(life.arrived, Part::Network);
    path.interface(receiver, RECEIVE_HALF, life.visible, [Part::ReceiveBus, Part::ReceiveEngine]);
    for booking in receiver.bookings.iter().filter(|booking| booking.to > life.visible) {
        if life.ends_wait {
            path.go(booking.to.min(life.noticed), Part::ReceiverPolling);
            path.go(booking.to.min(life.handled), taking_in(booking.occupation));
        } else {
            path.go(booking.to.min(life.handled), receiving(booking));
        }
    }
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

    /// Goes on to `to` with a half of an interface: its transactions, and the
    /// time between them.
    fn interface(&mut self, history: &NodeHistory, half: usize, to: Time, [bus, engine]: [Part; 2]) {
        for (crossing, _) in history.crossings(Agent::Seat(half)) {
            if crossing.released > self.reached && crossing.granted < to {
                self.go(crossing.granted.min(to), engine);
                self.go(crossing.released.min(to), bus);
            }
        }
        self.go(to, engine);
    }
}
