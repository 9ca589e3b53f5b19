//! What sends: work requests become packets, and acknowledgements end them. A datagram's ends when it has left.

use narthex_fabrics::{Header, Rank};

use super::formats::{
    ATOMIC, Address, BASIC_BLOCK, Control, Data, OWN_QUEUE_KEY, Status, WorkRequest, fetches, has_immediate,
    is_atomic, opcode, word64,
};
use super::function::{Function, Outgoing, Payload, Purpose};
use super::objects::{Regions, access};
use super::packets::{Body, NUMBERS, Transport, ahead};
use super::queue_pair::{ALWAYS, Fetched, Message, QueuePair, State, Unacknowledged};
use crate::half::Context;
use crate::host_memory::{Piece, take};

/// The longest message.
const MOST_BYTES: u64 = 1 << 31;

impl Function {
    /// Sends what there is; whether anything has moved.
    pub(super) fn send(&mut self, context: &mut Context<'_>) -> bool {
        let mut has_moved = self.inject(context);
        if self.leaving.is_none() && self.gathered.front().is_some_and(|packet| packet.is_whole) {
            let packet = self.gathered.pop_front().expect("there is one");
            self.first_packet += 1;
            let ready = context.timer_after(self.engine_time());
            self.leaving = Some((packet, ready));
            has_moved = true;
        }
        let depth = usize::from(self.parameters.transactions) + 1;
        while self.gathered.len() < depth {
            if self.gather_response() {
                has_moved = true;
                continue;
            }
            let Some(number) = self.queue.pop_front() else { break };
            let Some(pair) = self.queue_pairs.get_mut(number) else { continue };
            pair.is_queued = false;
            self.serve(number);
            has_moved = true;
        }
        has_moved
    }

    /// The packet in the engine leaves, if it may.
    fn inject(&mut self, context: &mut Context<'_>) -> bool {
        let Some((packet, _)) = self.leaving.as_ref().filter(|(_, ready)| *ready <= context.now) else {
            return false;
        };
        let number = packet.queue_pair;
        let is_request = packet.pass.is_some();
        let is_of_now = |pair: &&mut QueuePair| {
            packet.pass.is_none_or(|pass| pair.pass == pass && pair.state == State::ReadyToSend)
        };
        let Some(pair) = self.queue_pairs.get_mut(number).filter(is_of_now) else {
            self.leaving = None;
            return true;
        };
        let found = packet.lid.map_or(Some(pair.peer), |lid| context.network.job().process(Rank(lid)));
        if let Some(peer) = found {
            pair.peer = peer;
            if !context.network.can_send_to(peer) {
                return false;
            }
        }
        let timeout = pair.retries.timeout;
        let mut deadline = None;
        if is_request && pair.answer_by.is_none() && !timeout.is_zero() {
            deadline = Some(context.now + timeout);
            pair.answer_by = deadline;
        }
        let (packet, _) = self.leaving.take().expect("it is there");
        match found {
            Some(peer) => {
                context.network.send_unrecorded(peer, Header::default(), packet.bytes);
                self.statistics.packets.increment();
            }
            None => self.statistics.dropped.increment(),
        }
        deadline.into_iter().for_each(|at| self.call_at(context, at));
        if packet.lid.is_some() {
            self.has_left(context, number);
        }
        true
    }

    /// A datagram has left, and nobody acknowledges it.
    fn has_left(&mut self, context: &mut Context<'_>, number: u32) {
        let Some(pair) = self.queue_pairs.get(number) else { return };
        let next = (pair.told + 1) % NUMBERS;
        self.acknowledge(context, number, next);
    }

    /// A queue pair has its turn: its next packet is gathered, or its next work request read.
    fn serve(&mut self, number: u32) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        let may_send = pair.state == State::ReadyToSend && pair.waits_until.is_none() && !pair.has_failed;
        if !may_send && pair.state != State::Error {
            return;
        }
        if pair.message.is_some() {
            return self.gather(number);
        }
        let blocks = pair.posted.wrapping_sub(pair.next);
        if blocks == 0 {
            return;
        }
        let control = (pair.here.len() >= BASIC_BLOCK).then(|| Control::of(word64(&pair.here, 0)));
        let is_sound = |control: &Control| {
            control.blocks() <= blocks && control.index == pair.next as u16 && control.queue_pair == number
        };
        match control {
            Some(control) if !is_sound(&control) => {
                let index = pair.next;
                pair.next = pair.posted;
                pair.here.clear();
                self.begin(number, index, None);
            }
            Some(control) if !pair.may_begin(control, word64(&pair.here, 8)) => {}
            Some(control) if pair.here.len() >= control.blocks() as usize * BASIC_BLOCK => {
                let bytes: Vec<u8> = pair.here.drain(..control.blocks() as usize * BASIC_BLOCK).collect();
                let (index, is_datagram) = (pair.next, pair.is_datagram);
                pair.next = index.wrapping_add(control.blocks());
                self.begin(number, index, WorkRequest::of(&bytes, is_datagram));
            }
            _ if pair.is_reading => {}
            _ => {
                let most = self.parameters.request_prefetch.max(control.map_or(1, Control::blocks));
                if let Some(pieces) = pair.next_to_read(most) {
                    pair.is_reading = true;
                    let pass = pair.pass;
                    self.statistics.request_reads.increment();
                    self.dma.read(Purpose::WorkRequests(number, pass), pieces);
                }
            }
        }
    }

    /// A work request begins, or fails.
    fn begin(&mut self, number: u32, index: u32, request: Option<WorkRequest>) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        if pair.state == State::Error {
            self.end_request(number, index, 0, Status::Flushed);
            return self.has_something_to_send(number);
        }
        let checked = request.ok_or(Status::LocalOperation).and_then(|request| {
            let pieces = checked(&self.regions, pair, &request)?;
            Ok((request, pieces))
        });
        let mut sent = Unacknowledged {
            index,
            first: pair.number,
            packets: 0,
            is_signalled: true,
            status: Status::Success,
            fetched: None,
        };
        match checked {
            Err(status) => {
                sent.status = status;
                pair.has_failed = true;
                pair.unacknowledged.push_back(sent);
                self.retire(number);
            }
            Ok((request, _)) if request.control.opcode == opcode::NOP => {
                sent.is_signalled = request.is_signalled;
                pair.unacknowledged.push_back(sent);
                self.retire(number);
                self.has_something_to_send(number);
            }
            Ok((request, pieces)) => {
                let (bytes, code) = (request.bytes(), request.control.opcode);
                (sent.is_signalled, sent.packets) = (request.is_signalled, pair.packets(bytes));
                let skipped = (u64::from(pair.skip) * pair.mtu).min(bytes);
                pair.count_packets(pair.skip);
                let is_new = std::mem::take(&mut pair.skip) == 0;
                if fetches(code) {
                    let segments = request.gathered.clone();
                    sent.fetched =
                        Some(Box::new(Fetched { segments, bytes, next: pair.number, pass: pair.pass }));
                    pair.fetches += 1;
                    self.statistics.atomics.add((is_new && is_atomic(code)).into());
                    self.statistics.reads.add((is_new && !is_atomic(code)).into());
                } else {
                    self.statistics.messages.add(is_new.into());
                    self.statistics.inline.add((is_new && request.inline.is_some()).into());
                }
                pair.unacknowledged.push_back(sent);
                let mut pieces = pieces.into();
                take(&mut pieces, skipped);
                pair.message = Some(Message { request, pieces, sent: skipped, bytes });
                self.gather(number);
            }
        }
    }

    /// The next packet of a queue pair's message.
    fn gather(&mut self, number: u32) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        let Some(message) = &mut pair.message else { return };
        if fetches(message.request.control.opcode) {
            return self.ask(number);
        }
        let (start, payload) = (message.sent, (message.bytes - message.sent).min(pair.mtu));
        let pieces = take(&mut message.pieces, payload);
        message.sent += payload;
        let Message { request, bytes, .. } = message;
        let is_last = start + payload == *bytes;
        let remote = request.remote.filter(|_| start == 0);
        let (opcode, address) = (request.control.opcode, request.address);
        let body = match address {
            Some(Address { queue_key, .. }) => Body::Datagram {
                queue_key: if queue_key & OWN_QUEUE_KEY == 0 { queue_key } else { pair.queue_key },
                source: number,
                immediate: has_immediate(opcode).then_some(request.immediate),
                is_solicited: request.is_solicited,
            },
            None => Body::Part {
                opcode,
                is_first: start == 0,
                is_last,
                remote: remote.map(|remote| Data { bytes: *bytes as u32, ..remote }),
                immediate: request.immediate,
                is_solicited: request.is_solicited && is_last,
            },
        };
        let payload = match &request.inline {
            Some(inline) => Payload::Here(inline[start as usize..][..payload as usize].to_vec()),
            None => Payload::Memory(pieces),
        };
        if is_last {
            pair.message = None;
        }
        let queue_pair = address.map_or(pair.peer_number, |address| address.queue_pair);
        let transport = Transport { queue_pair, number: pair.number, pass: pair.pass, body };
        pair.count_packets(1);
        let (pass, lid) = (Some(pair.pass), address.map(|address| address.lid));
        self.line_up((number, pass, lid), transport, payload);
        self.has_something_to_send(number);
    }

    /// The packet that asks for what a queue pair's work request fetches.
    fn ask(&mut self, number: u32) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        let Some(Message { request, sent, bytes, .. }) = pair.message.take() else { return };
        let (opcode, rest) = (request.control.opcode, bytes - sent);
        let remote = request.remote.map(|remote| Data {
            bytes: rest as u32,
            address: remote.address.wrapping_add(sent),
            ..remote
        });
        let operands = request.operands.map(u64::to_le_bytes).concat();
        let payload = Payload::Here(if is_atomic(opcode) { operands } else { Vec::new() });
        let (is_first, is_last, is_solicited) = (true, true, false);
        let body = Body::Part { opcode, is_first, is_last, remote, immediate: 0, is_solicited };
        let transport =
            Transport { queue_pair: pair.peer_number, number: pair.number, pass: pair.pass, body };
        pair.count_packets(pair.packets(rest));
        let pass = Some(pair.pass);
        self.line_up((number, pass, None), transport, payload);
        self.has_something_to_send(number);
    }

    /// A packet of a queue pair leaves behind those that wait, when its payload is here.
    pub(super) fn line_up(
        &mut self,
        (queue_pair, pass, lid): (u32, Option<u8>, Option<u16>),
        transport: Transport,
        payload: Payload,
    ) {
        let (mut bytes, payload_at) = transport.packet(payload.bytes());
        let mut is_whole = true;
        match payload {
            Payload::Here(here) => bytes[payload_at..payload_at + here.len()].copy_from_slice(&here),
            Payload::Memory(pieces) if pieces.is_empty() => {}
            Payload::Memory(pieces) => {
                let packet = self.first_packet + self.gathered.len() as u64;
                self.dma.read_payload(Purpose::Payload(packet), pieces);
                is_whole = false;
            }
        }
        self.gathered.push_back(Outgoing { queue_pair, pass, lid, bytes, payload_at, is_whole });
    }

    /// The peer has all packets before this one.
    pub(super) fn acknowledge(&mut self, context: &mut Context<'_>, number: u32, told: u32) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        if ahead(told, pair.told) > 0 {
            pair.told = told;
        }
        let reached = pair.reached();
        if ahead(reached, pair.acknowledged) <= 0 {
            return;
        }
        pair.acknowledged = reached;
        self.progress += 1;
        pair.left = (pair.retries.answers, pair.retries.receives);
        self.retire(number);
        self.end_refused(number);
        let Some(pair) = self.queue_pairs.get_mut(number).filter(|pair| pair.state == State::ReadyToSend)
        else {
            return;
        };
        pair.answer_by = None;
        let timeout = pair.retries.timeout;
        if !pair.unacknowledged.is_empty() && !timeout.is_zero() {
            let at = context.now + timeout;
            pair.answer_by = Some(at);
            self.call_at(context, at);
        }
    }

    /// Ends the work requests that are acknowledged, and the failed one behind them.
    fn retire(&mut self, number: u32) {
        while let Some(pair) = self.queue_pairs.get_mut(number)
            && let Some(sent) = pair.unacknowledged.front()
        {
            if sent.packets > 0 && ahead(pair.acknowledged, sent.end()) < 0 {
                return;
            }
            let sent = pair.unacknowledged.pop_front().expect("it is there");
            let fetched = sent.fetched.map_or(0, |fetched| fetched.bytes);
            if pair.fetches > 0 {
                pair.fetches = pair.fetches_under_way();
                self.has_something_to_send(number);
            }
            if sent.is_signalled || sent.status != Status::Success {
                self.end_request(number, sent.index, fetched as u32, sent.status);
            }
            if sent.status != Status::Success {
                return self.fail(number);
            }
        }
    }

    /// The work request whose packet the peer has refused fails, when those before it have ended.
    pub(super) fn end_refused(&mut self, number: u32) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        if let Some((_, status)) = pair.refused.take_if(|(packet, _)| *packet == pair.acknowledged) {
            self.fail_request(number, status);
        }
    }

    /// The oldest work request fails, and the queue pair with it.
    pub(super) fn fail_request(&mut self, number: u32, status: Status) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        if let Some(sent) = pair.unacknowledged.pop_front() {
            self.end_request(number, sent.index, 0, status);
        }
        self.fail(number);
    }

    /// A queue pair goes back to a packet that its peer did not take, now or later.
    pub(super) fn go_back(&mut self, number: u32, to: u32) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        pair.go_back(to);
        pair.answer_by = None;
        self.statistics.gone_back.increment();
        self.has_something_to_send(number);
    }

    /// The peer had no receive: it is sent again after a while, if it may.
    pub(super) fn wait_for_receive(&mut self, context: &mut Context<'_>, number: u32, to: u32, delay: u32) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        if pair.left.1 == 0 {
            return self.fail_request(number, Status::ReceiverNotReady);
        }
        if pair.retries.receives != ALWAYS {
            pair.left.1 -= 1;
        }
        let at = context.now + narthex_kernel::Duration::from_ns(delay.into());
        pair.waits_until = Some(at);
        self.go_back(number, to);
        self.call_at(context, at);
    }

    /// Looks whether a queue pair has waited long enough.
    pub(super) fn look_at_deadlines(&mut self, context: &mut Context<'_>, number: u32) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        if pair.waits_until.is_some_and(|at| at <= context.now) {
            pair.waits_until = None;
            self.has_something_to_send(number);
        }
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        if pair.answer_by.is_some_and(|at| at <= context.now) {
            let acknowledged = pair.acknowledged;
            match pair.left.0.checked_sub(1) {
                None => self.fail_request(number, Status::RetriesExceeded),
                Some(left) => {
                    pair.left.0 = left;
                    self.go_back(number, acknowledged);
                }
            }
        }
        let Some(pair) = self.queue_pairs.get(number) else { return };
        for at in [pair.waits_until, pair.answer_by].into_iter().flatten() {
            self.call_at(context, at);
        }
    }
}

/// Where the payload of a work request is; what is fetched must have a place to go to.
fn checked(regions: &Regions, pair: &QueuePair, request: &WorkRequest) -> Result<Vec<Piece>, Status> {
    let (opcode, bytes) = (request.control.opcode, request.bytes());
    let fetches = fetches(opcode);
    if fetches && (request.inline.is_some() || pair.most_fetches == 0) {
        return Err(Status::LocalOperation);
    }
    let most = if pair.is_datagram { pair.mtu } else { MOST_BYTES };
    if bytes > most || is_atomic(opcode) && bytes != ATOMIC {
        return Err(Status::LocalLength);
    }
    let access = if fetches { access::LOCAL_WRITE } else { 0 };
    let mut pieces = Vec::new();
    for &data in &request.gathered {
        pieces.extend(regions.pieces(data, pair.domain, access).ok_or(Status::LocalProtection)?);
    }
    Ok(if fetches { Vec::new() } else { pieces })
}
