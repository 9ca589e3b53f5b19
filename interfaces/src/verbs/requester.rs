//! What sends: work requests become packets, and acknowledgements end them.

use narthex_fabrics::Header;

use super::dma::Piece;
use super::formats::{
    BASIC_BLOCK, Body, Control, Data, NUMBERS, Status, Transport, WorkRequest, ahead, opcode, word64,
};
use super::function::{Function, Outgoing, Purpose};
use super::objects::Regions;
use super::queue_pair::{ALWAYS, Message, QueuePair, State, Unacknowledged};
use crate::half::Context;

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
        while self.gathered.len() < depth
            && let Some(number) = self.queue.pop_front()
        {
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
        let is_of_now = |pair: &&mut QueuePair| pair.pass == packet.pass && pair.state == State::ReadyToSend;
        let Some(pair) = self.queue_pairs.get_mut(number).filter(is_of_now) else {
            self.leaving = None;
            return true;
        };
        let peer = pair.peer;
        if !context.network.can_send_to(peer) {
            return false;
        }
        let timeout = pair.retries.timeout;
        let mut deadline = None;
        if pair.answer_by.is_none() && !timeout.is_zero() {
            deadline = Some(context.now + timeout);
            pair.answer_by = deadline;
        }
        let (packet, _) = self.leaving.take().expect("it is there");
        context.network.send_unrecorded(peer, Header::default(), packet.bytes);
        self.statistics.packets.increment();
        deadline.into_iter().for_each(|at| self.call_at(context, at));
        true
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
            Some(control) if pair.here.len() >= control.blocks() as usize * BASIC_BLOCK => {
                let bytes: Vec<u8> = pair.here.drain(..control.blocks() as usize * BASIC_BLOCK).collect();
                let index = pair.next;
                pair.next = index.wrapping_add(control.blocks());
                self.begin(number, index, WorkRequest::of(&bytes));
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
            self.end_request(number, index, Status::Flushed);
            return self.has_something_to_send(number);
        }
        let checked = request.ok_or(Status::LocalOperation).and_then(|request| {
            let pieces = gathered(&self.regions, pair, &request)?;
            Ok((request, pieces))
        });
        let mut sent = Unacknowledged {
            index,
            first: pair.number,
            packets: 0,
            is_signalled: true,
            status: Status::Success,
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
                let bytes = request.bytes();
                (sent.is_signalled, sent.packets) = (request.is_signalled, pair.packets(bytes));
                pair.unacknowledged.push_back(sent);
                let skipped = (u64::from(pair.skip) * pair.mtu).min(bytes);
                pair.number = (pair.number + pair.skip) % NUMBERS;
                if pair.skip == 0 {
                    self.statistics.messages.increment();
                    self.statistics.inline.add(request.inline.is_some().into());
                }
                pair.skip = 0;
                let mut message = Message { request, pieces: pieces.into(), sent: 0, bytes };
                take(&mut message, skipped);
                pair.message = Some(message);
                self.gather(number);
            }
        }
    }

    /// The next packet of a queue pair's message.
    fn gather(&mut self, number: u32) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        let Some(message) = &mut pair.message else { return };
        let (start, payload) = (message.sent, (message.bytes - message.sent).min(pair.mtu));
        let pieces = take(message, payload);
        let Message { request, bytes, .. } = message;
        let is_last = start + payload == *bytes;
        let remote = request.remote.filter(|_| start == 0);
        let body = Body::Part {
            opcode: request.control.opcode,
            is_first: start == 0,
            is_last,
            remote: remote.map(|remote| Data { bytes: *bytes as u32, ..remote }),
            immediate: request.immediate,
        };
        let inline =
            request.inline.as_ref().map(|inline| inline[start as usize..][..payload as usize].to_vec());
        if is_last {
            pair.message = None;
        }
        let transport =
            Transport { queue_pair: pair.peer_number, number: pair.number, pass: pair.pass, body };
        pair.count_packet();
        let (mut bytes, payload_at) = transport.packet(payload as usize);
        let is_whole = pieces.is_empty();
        if let Some(inline) = inline {
            bytes[payload_at..payload_at + inline.len()].copy_from_slice(&inline);
        }
        let packet = self.first_packet + self.gathered.len() as u64;
        let pass = pair.pass;
        self.gathered.push_back(Outgoing { queue_pair: number, pass, bytes, payload_at, is_whole });
        if !is_whole {
            self.dma.read(Purpose::Payload(packet), pieces);
        }
        self.has_something_to_send(number);
    }

    /// The peer has all packets before this one.
    pub(super) fn acknowledge(&mut self, context: &mut Context<'_>, number: u32, acknowledged: u32) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        if ahead(acknowledged, pair.acknowledged) <= 0 {
            return;
        }
        pair.acknowledged = acknowledged;
        self.progress += 1;
        pair.left = (pair.retries.answers, pair.retries.receives);
        self.retire(number);
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
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
            && let Some(&sent) = pair.unacknowledged.front()
        {
            let end = sent.first.wrapping_add(sent.packets);
            if sent.packets > 0 && ahead(pair.acknowledged, end) < 0 {
                return;
            }
            pair.unacknowledged.pop_front();
            if sent.is_signalled || sent.status != Status::Success {
                self.end_request(number, sent.index, sent.status);
            }
            if sent.status != Status::Success {
                return self.fail(number);
            }
        }
    }

    /// The oldest work request fails, and the queue pair with it.
    pub(super) fn fail_request(&mut self, number: u32, status: Status) {
        let Some(pair) = self.queue_pairs.get_mut(number) else { return };
        if let Some(sent) = pair.unacknowledged.pop_front() {
            self.end_request(number, sent.index, status);
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

/// Where the payload of a work request is.
fn gathered(regions: &Regions, pair: &QueuePair, request: &WorkRequest) -> Result<Vec<Piece>, Status> {
    if !matches!(
        request.control.opcode,
        opcode::NOP | opcode::SEND | opcode::SEND_IMMEDIATE | opcode::WRITE | opcode::WRITE_IMMEDIATE
    ) {
        return Err(Status::LocalOperation);
    }
    if request.bytes() > MOST_BYTES {
        return Err(Status::LocalLength);
    }
    let mut pieces = Vec::new();
    for &data in &request.gathered {
        pieces.extend(regions.pieces(data, pair.domain, 0).ok_or(Status::LocalProtection)?);
    }
    Ok(pieces)
}

/// Takes the next bytes of a message: where they are, if they are not in the work request.
fn take(message: &mut Message, bytes: u64) -> Vec<Piece> {
    message.sent += bytes;
    let mut left = bytes as usize;
    let mut taken = Vec::new();
    while left > 0
        && let Some(piece) = message.pieces.front_mut()
    {
        let part = piece.bytes.min(left);
        taken.push(Piece { bytes: part, ..*piece });
        *piece = Piece { address: piece.address + part as u64, bytes: piece.bytes - part };
        if piece.bytes == 0 {
            message.pieces.pop_front();
        }
        left -= part;
    }
    taken
}
