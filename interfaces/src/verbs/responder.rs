//! What receives: packets are taken in their turn, their payload goes to memory, and their sender is
//! told.

use std::borrow::Cow;

use narthex_fabrics::{Header, Rank};

use super::formats::{
    Completion, Data, SCATTERED, Status, completion, fetches, has_immediate, opcode, takes_receive,
};
use super::function::{Function, Incoming, Purpose};
use super::objects::access;
use super::packets::{Body, NUMBERS, Transport, ahead};
use super::queue_pair::{Arriving, State};
use super::responses::Atomic;
use crate::half::Context;
use crate::host_memory::{Dma, Piece};

/// Why a packet is not taken.
pub(super) enum Problem {
    /// What it needs is being read.
    Waits,
    /// There is no receive for it.
    NotReady,
    /// It is refused: what its sender is told, and how its receive ends.
    Refused(Status, Status),
}

impl Function {
    /// Takes what has come; whether anything has moved.
    pub(super) fn receive(&mut self, context: &mut Context<'_>) -> bool {
        if self.incoming.is_none() {
            if context.network.front().is_none() {
                return false;
            }
            let packet = context.network.take().expect("a packet waits");
            let ready = context.timer_after(self.engine_time());
            self.incoming = Some(Incoming { packet, ready });
            self.has_looked = false;
        }
        let Some(incoming) = self.incoming.take_if(|incoming| incoming.ready <= context.now) else {
            return false;
        };
        let is_taken = self.handle(context, &incoming);
        if !is_taken {
            self.incoming = Some(incoming);
        }
        is_taken
    }

    /// Whether a packet is done with; otherwise it waits.
    fn handle(&mut self, context: &mut Context<'_>, incoming: &Incoming) -> bool {
        if self.atomic.as_ref().is_some_and(Atomic::is_under_way) {
            return false;
        }
        let packet = &incoming.packet;
        let Some((transport, payload)) = Transport::of(&packet.payload) else {
            self.statistics.dropped.increment();
            return true;
        };
        if matches!(transport.body, Body::Datagram { .. }) {
            return self.handle_datagram(context, packet.source, transport, payload);
        }
        let number = transport.queue_pair;
        let pair = self.queue_pairs.get(number).filter(|pair| !pair.is_datagram);
        let state = pair.map(|pair| (pair.state, pair.peer));
        match state {
            None if !self.has_receiver => false,
            Some((State::Reset | State::Initialised, _)) => false,
            Some((State::ReadyToReceive | State::ReadyToSend, peer)) if peer == packet.source => {
                match transport.body {
                    Body::Part { .. } => self.handle_part(transport, payload),
                    _ => {
                        self.handle_answer(context, transport, payload);
                        true
                    }
                }
            }
            _ => {
                self.atomic = None;
                self.statistics.dropped.increment();
                true
            }
        }
    }

    /// The peer has answered.
    fn handle_answer(&mut self, context: &mut Context<'_>, transport: Transport, payload: &[u8]) {
        let Transport { queue_pair: number, number: packet, pass, body } = transport;
        self.acknowledge(context, number, packet);
        if matches!(body, Body::Response { .. }) {
            return self.take_response(context, transport, payload);
        }
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        if pair.pass != pass || pair.state != State::ReadyToSend {
            return;
        }
        match body {
            Body::OutOfTurn => self.go_back(number, packet),
            Body::NotReady(delay) => self.wait_for_receive(context, number, packet, delay),
            Body::Refused(status) => {
                pair.refused = Some((packet, status));
                self.end_refused(number);
            }
            Body::Acknowledgement | Body::Part { .. } | Body::Response { .. } | Body::Datagram { .. } => {}
        }
    }

    /// A packet of a message: taken if it is its turn.
    fn handle_part(&mut self, transport: Transport, payload: &[u8]) -> bool {
        let Transport { queue_pair: number, number: packet, pass, .. } = transport;
        let pair = self.queue_pairs.get_mut(number).expect("it has been found");
        let turn = ahead(packet, pair.expected);
        if turn < 0 {
            self.statistics.repeated.increment();
            if self.answer_again(transport) {
                return true;
            }
            let pair = self.queue_pairs.get_mut(number).expect("it has been found");
            pair.owed.acknowledgement = true;
            self.owes(number);
            return true;
        }
        if turn > 0 {
            if pair.owed.is_of_newest(pass) {
                pair.owed.out_of_turn = Some(pass);
            }
            self.statistics.out_of_turn.increment();
            self.owes(number);
            return true;
        }
        match self.place(transport, payload) {
            Ok(()) => {
                self.progress += 1;
                self.statistics.received.increment();
            }
            Err(Problem::Waits) => return false,
            Err(Problem::NotReady) => {
                let pair = self.queue_pairs.get_mut(number).expect("it has been found");
                if pair.owed.is_of_newest(pass) {
                    pair.owed.not_ready = Some(pass);
                }
                self.statistics.not_ready.increment();
                self.owes(number);
            }
            Err(Problem::Refused(told, ended)) => {
                let pair = self.queue_pairs.get_mut(number).expect("it has been found");
                pair.owed.refused = Some((pass, told));
                self.owes(number);
                self.refuse(number, ended);
            }
        }
        true
    }

    /// What arrives is refused: its receive fails, and the queue pair with it.
    pub(super) fn refuse(&mut self, number: u32, ended: Status) {
        let pair = self.queue_pairs.get_mut(number).expect("it has been found");
        let queue = pair.queues[1];
        if let Some(receive) = pair.arriving.take().and_then(|arriving| arriving.receive) {
            self.fail_receive((number, queue), receive.index, ended);
        }
        self.fail(number);
    }

    /// Puts a packet's payload where it belongs.
    fn place(&mut self, transport: Transport, payload: &[u8]) -> Result<(), Problem> {
        let Transport { queue_pair: number, body, .. } = transport;
        let Body::Part { opcode, is_first, is_last, remote, immediate, is_solicited } = body else {
            unreachable!("it is a part")
        };
        if fetches(opcode) {
            return self.serve_fetch(transport, payload);
        }
        let pair = self.queue_pairs.get(number).expect("it has been found");
        if is_first == pair.arriving.is_some() {
            return Err(Problem::Refused(Status::RemoteInvalid, Status::LocalLength));
        }
        let is_write = matches!(opcode, opcode::WRITE | opcode::WRITE_IMMEDIATE);
        let needs_receive = takes_receive(opcode) && if is_write { is_last } else { is_first };
        if needs_receive {
            self.find_receive(number)?;
        }
        let remote = if is_write { remote.or(Some(Data { bytes: 0, key: 0, address: 0 })) } else { None };
        if is_first {
            self.begin_message(number, remote)?;
        }
        if needs_receive {
            self.take_receive(number);
        }
        let pair = self.queue_pairs.get(number).expect("it has been found");
        let arriving = pair.arriving.as_ref().expect("it has begun");
        let (start, bytes) = (arriving.bytes, payload.len() as u64);
        let is_small = is_first && is_last && !is_write && pair.scatters && payload.len() <= SCATTERED;
        let (pieces, payload) = self.padded(number, start, payload, is_last && !is_write && pair.pads)?;
        let completion = arriving.receive.as_ref().filter(|_| is_last).map(|receive| {
            let kind = match (is_write, has_immediate(opcode)) {
                (true, _) => completion::WRITE_IMMEDIATE,
                (_, true) => completion::SEND_IMMEDIATE,
                _ => completion::SEND,
            };
            Box::new(Completion {
                bytes: (start + bytes) as u32,
                immediate,
                solicits: is_solicited,
                payload: is_small.then(|| payload[..bytes as usize].to_vec()),
                ..Completion::new(kind, Status::Success, (number, receive.index))
            })
        });
        let pair = self.queue_pairs.get_mut(number).expect("it has been found");
        pair.expected = (pair.expected + 1) % NUMBERS;
        match &mut pair.arriving {
            arriving if is_last => *arriving = None,
            arriving => arriving.iter_mut().for_each(|arriving| arriving.bytes += bytes),
        }
        let placed = Purpose::Placed { queue_pair: number, number: pair.expected, is_last, completion };
        let pieces = if is_small { Vec::new() } else { pieces };
        self.write_payload(pieces, &payload, placed, !is_write || has_immediate(opcode));
        Ok(())
    }

    /// Where a packet's payload goes in its message; whole blocks of it, with zeros behind it, if it `pads`.
    pub(super) fn padded<'a>(
        &self,
        number: u32,
        start: u64,
        payload: &'a [u8],
        pads: bool,
    ) -> Result<(Vec<Piece>, Cow<'a, [u8]>), Problem> {
        let bytes = payload.len() as u64;
        let pieces = self.pieces_of(number, (start, bytes))?;
        let end = pieces.last().filter(|_| pads).map_or(0, |piece| piece.address + piece.bytes as u64);
        let rest = end.next_multiple_of(self.parameters.block_bytes) - end;
        if rest == 0 {
            return Ok((pieces, payload.into()));
        }
        // As far as the receive's memory goes.
        let Ok(padded) = self.pieces_of(number, (start, bytes + rest)) else {
            return Ok((pieces, payload.into()));
        };
        let mut whole = payload.to_vec();
        whole.resize((bytes + rest) as usize, 0);
        Ok((padded, whole.into()))
    }

    /// Writes payload; its purpose comes with the last byte. The processor may look for that of which no completion
    /// tells in memory itself, where its bytes have to come in order.
    pub(super) fn write_payload(
        &mut self,
        pieces: Vec<Piece>,
        payload: &[u8],
        placed: Purpose,
        is_told: bool,
    ) {
        let write = if is_told { Dma::write_payload } else { Dma::write };
        let Some((last, others)) = pieces.split_last() else {
            return self.dma.write(Some(placed), 0, Vec::new());
        };
        let mut at = 0;
        for piece in others {
            write(&mut self.dma, None, piece.address, payload[at..at + piece.bytes].to_vec());
            at += piece.bytes;
        }
        write(&mut self.dma, Some(placed), last.address, payload[at..].to_vec());
    }

    /// Makes sure that a receive is here.
    pub(super) fn find_receive(&mut self, number: u32) -> Result<(), Problem> {
        let receives = self.queue_pairs.get(number).expect("it has been found").receives;
        let Some(queue) = self.receive_queues.get(receives) else { return Err(Problem::NotReady) };
        if !queue.here.is_empty() {
            return Ok(());
        }
        if queue.is_reading {
            return Err(Problem::Waits);
        }
        self.read_receives(receives);
        if self.receive_queues.get(receives).is_some_and(|queue| queue.is_reading) {
            return Err(Problem::Waits);
        }
        if self.has_looked {
            return Err(Problem::NotReady);
        }
        self.read_receive_record(receives);
        self.has_looked = true;
        Err(Problem::Waits)
    }

    /// A message takes the next receive; more are read before they run out.
    pub(super) fn take_receive(&mut self, number: u32) {
        let pair = self.queue_pairs.get_mut(number).expect("it has been found");
        let receives = pair.receives;
        let queue = self.receive_queues.get_mut(receives).expect("it has a receive");
        queue.taken = queue.taken.wrapping_add(1);
        let receive = queue.here.pop_front();
        pair.arriving.as_mut().expect("it has begun").receive = receive;
        let half = self.parameters.receive_prefetch as usize / 2;
        let (left, is_known) =
            (queue.here.len(), queue.next_to_read(self.parameters.receive_prefetch).is_some());
        if left <= half && is_known {
            self.read_receives(receives);
        } else if left == half {
            self.read_receive_record(receives);
        }
    }

    /// A message begins: an RDMA write has to be allowed.
    fn begin_message(&mut self, number: u32, remote: Option<Data>) -> Result<(), Problem> {
        let pair = self.queue_pairs.get_mut(number).expect("it has been found");
        if let Some(remote) = remote.filter(|remote| remote.bytes > 0) {
            let is_allowed = pair.access & access::REMOTE_WRITE != 0;
            let found = self.regions.pieces(remote, pair.domain, access::REMOTE_WRITE);
            if !is_allowed || found.is_none() {
                return Err(Problem::Refused(Status::RemoteAccess, Status::LocalProtection));
            }
        }
        pair.arriving = Some(Arriving { receive: None, remote, bytes: 0 });
        Ok(())
    }

    /// Where these bytes of the message go.
    fn pieces_of(&self, number: u32, (start, bytes): (u64, u64)) -> Result<Vec<Piece>, Problem> {
        let pair = self.queue_pairs.get(number).expect("it has been found");
        let arriving = pair.arriving.as_ref().expect("it has begun");
        if let Some(remote) = arriving.remote {
            if start + bytes > remote.bytes.into() {
                return Err(Problem::Refused(Status::RemoteInvalid, Status::LocalLength));
            }
            let part = Data { address: remote.address + start, bytes: bytes as u32, ..remote };
            let found = if bytes == 0 {
                Some(Vec::new())
            } else {
                self.regions.pieces(part, pair.domain, access::REMOTE_WRITE)
            };
            return found.ok_or(Problem::Refused(Status::RemoteAccess, Status::LocalProtection));
        }
        let receive = arriving.receive.as_ref().expect("a send takes a receive");
        let domain = self.receive_queues.get(pair.receives).map_or(0, |queue| queue.domain);
        let found = self.regions.scattered(&receive.segments, (start, bytes), domain);
        found.map_err(|status| match status {
            Status::LocalLength => Problem::Refused(Status::RemoteInvalid, status),
            _ => Problem::Refused(Status::RemoteOperation, status),
        })
    }

    /// Tells peers what they are owed; whether anything has been told.
    pub(super) fn answer_peers(&mut self, context: &mut Context<'_>) -> bool {
        let mut has_moved = false;
        for _ in 0..self.owing.len() {
            let number = self.owing.pop_front().expect("it is counted");
            let Some(pair) = self.queue_pairs.get_mut(number) else { continue };
            let is_placed = pair.placed == pair.expected;
            let owed = &mut pair.owed;
            let acknowledgement = (pair.placed, 0, Body::Acknowledgement);
            let answer = match (owed.refused, owed.not_ready, owed.out_of_turn) {
                (Some((pass, status)), ..) if is_placed => Some((pair.expected, pass, Body::Refused(status))),
                (None, Some(pass), _) if is_placed => {
                    let delay = (pair.retries.receive_delay.as_ps() / 1000) as u32;
                    Some((pair.expected, pass, Body::NotReady(delay)))
                }
                (None, None, Some(pass)) if is_placed => Some((pair.expected, pass, Body::OutOfTurn)),
                _ => owed.acknowledgement.then_some(acknowledgement),
            };
            let is_owed = !owed.is_nothing();
            let (peer, peer_number) = (pair.peer, pair.peer_number);
            let Some((packet, pass, body)) = answer.filter(|_| context.network.can_send_to(peer)) else {
                pair.is_owing = is_owed;
                self.owing.extend(is_owed.then_some(number));
                continue;
            };
            match body {
                Body::Refused(_) => *owed = Default::default(),
                Body::NotReady(_) => (owed.not_ready, owed.out_of_turn) = (None, None),
                Body::OutOfTurn => owed.out_of_turn = None,
                _ => {}
            }
            owed.acknowledgement = false;
            pair.is_owing = !owed.is_nothing();
            self.owing.extend(pair.is_owing.then_some(number));
            self.tell(context, peer, Transport { queue_pair: peer_number, number: packet, pass, body });
            has_moved = true;
        }
        has_moved
    }

    fn tell(&mut self, context: &mut Context<'_>, peer: Rank, transport: Transport) {
        let (bytes, _) = transport.packet(0);
        context.network.send_unrecorded(peer, Header::default(), bytes);
        self.statistics.acknowledgements.increment();
    }
}
