//! RDMA reads and atomic operations: requests whose answer is what the other end's memory holds.
//!
//! ```text
//!   work request ─► request, one packet ──────────────► in its turn, when all before it is in memory:
//!                                                        read:   memory, cut into packets
//!                                                        atomic: word read, changed, written
//!   scattered to memory, completion ◄── responses ◄────── with the numbers from the request's on
//! ```
//!
//! A response that is missing is asked for again from there on (go-back-N). A read is then carried out again; of an
//! atomic operation the answer is remembered. Responses go before requests, so that two ends that both ask
//! are both answered.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::formats::{ATOMIC, Data, Status, is_atomic, opcode, word64};
use super::function::{Function, Payload, Purpose};
use super::objects::access;
use super::packets::{Body, NUMBERS, Transport, ahead};
use super::queue_pair::State;
use super::responder::Problem;
use crate::half::Context;
use crate::host_memory::{Piece, take};

/// What a peer fetches, as far as it is not in packets.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Response {
    queue_pair: u32,
    /// Of the next packet.
    number: u32,
    /// Of the request.
    pass: u8,
    is_first: bool,
    source: Source,
}

/// Where the bytes are.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
enum Source {
    Memory(VecDeque<Piece>),
    /// What the word was.
    Word(u64),
}

/// How far an atomic operation is.
#[derive(Clone, Copy, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Atomic {
    /// The word is being read.
    Reads { opcode: u8, operands: [u64; 2], address: u64 },
    /// It is being written; it was this.
    Writes(u64),
    /// It is carried out; the word was this.
    CarriedOut(u64),
}

impl Atomic {
    /// Whether it is not carried out yet.
    pub fn is_under_way(&self) -> bool {
        !matches!(self, Atomic::CarriedOut(_))
    }
}

/// What the sender of a request that makes no sense is told.
const INVALID: Problem = Problem::Refused(Status::RemoteInvalid, Status::LocalOperation);

impl Function {
    /// A peer's request is carried out in its turn.
    pub(super) fn serve_fetch(&mut self, transport: Transport, payload: &[u8]) -> Result<(), Problem> {
        let Transport { queue_pair: number, number: packet, pass, body } = transport;
        let Body::Part { opcode, remote: Some(remote), is_first: true, is_last: true, .. } = body else {
            return Err(INVALID);
        };
        let pair = self.queue_pairs.get(number).expect("it has been found");
        let waiting = self.responses.iter().filter(|response| response.queue_pair == number).count();
        if pair.arriving.is_some() || waiting >= pair.most_served.into() {
            return Err(INVALID);
        }
        if pair.placed != pair.expected {
            return Err(Problem::Waits);
        }
        let source = if is_atomic(opcode) {
            let word = self.carry_out(number, (opcode, remote), payload)?;
            let pair = self.queue_pairs.get_mut(number).expect("it has been found");
            pair.carried_out.push_back((packet, word));
            if pair.carried_out.len() > pair.most_served.into() {
                pair.carried_out.pop_front();
            }
            Source::Word(word)
        } else {
            Source::Memory(self.fetched_pieces(number, remote, access::REMOTE_READ)?.into())
        };
        let pair = self.queue_pairs.get_mut(number).expect("it has been found");
        pair.expected = (packet + pair.packets(remote.bytes.into())) % NUMBERS;
        pair.placed = pair.expected;
        self.responses.push_back(Response {
            queue_pair: number,
            number: packet,
            pass,
            is_first: true,
            source,
        });
        Ok(())
    }

    /// Where the memory is that a peer names, if it may have that.
    fn fetched_pieces(&self, number: u32, remote: Data, right: u64) -> Result<Vec<Piece>, Problem> {
        let pair = self.queue_pairs.get(number).expect("it has been found");
        if remote.bytes == 0 {
            return Ok(Vec::new());
        }
        let pieces = self.regions.pieces(remote, pair.domain, right).filter(|_| pair.access & right != 0);
        pieces.ok_or(Problem::Refused(Status::RemoteAccess, Status::LocalProtection))
    }

    /// What the word was that an atomic operation has changed; it waits until it has.
    fn carry_out(
        &mut self,
        number: u32,
        (opcode, remote): (u8, Data),
        payload: &[u8],
    ) -> Result<u64, Problem> {
        if let Some(Atomic::CarriedOut(word)) = self.atomic.take() {
            return Ok(word);
        }
        let operands = payload.split_at_checked(8).filter(|(_, second)| second.len() == 8);
        let Some((first, second)) = operands.filter(|_| remote.address.is_multiple_of(ATOMIC)) else {
            return Err(INVALID);
        };
        let operands = [word64(first, 0), word64(second, 0)];
        let pieces = self.fetched_pieces(number, remote, access::REMOTE_ATOMIC)?;
        self.atomic = Some(Atomic::Reads { opcode, operands, address: pieces[0].address });
        self.dma.read(Purpose::Atomic, pieces);
        Err(Problem::Waits)
    }

    /// The word of an atomic operation has been read.
    pub(super) fn change_word(&mut self, word: u64) {
        let Some(Atomic::Reads { opcode, operands: [operand, compared], address }) = self.atomic else {
            unreachable!("one is under way")
        };
        let changed = match opcode {
            opcode::FETCH_ADD => word.wrapping_add(operand),
            _ if word == compared => operand,
            _ => {
                self.atomic = Some(Atomic::CarriedOut(word));
                return;
            }
        };
        self.atomic = Some(Atomic::Writes(word));
        self.dma.write(Some(Purpose::Atomic), address, changed.to_le_bytes().to_vec());
    }

    /// The word of an atomic operation has been written.
    pub(super) fn has_changed_word(&mut self) {
        if let Some(Atomic::Writes(word)) = self.atomic {
            self.atomic = Some(Atomic::CarriedOut(word));
        }
    }

    /// Answers a request that has come before; whether it is one that fetches.
    pub(super) fn answer_again(&mut self, transport: Transport) -> bool {
        let Transport { queue_pair: number, number: packet, pass, body } = transport;
        let Body::Part { opcode, remote: Some(remote), .. } = body else { return false };
        let pair = self.queue_pairs.get(number).expect("it has been found");
        let source = match opcode {
            opcode::READ => self
                .fetched_pieces(number, remote, access::REMOTE_READ)
                .ok()
                .map(|all| Source::Memory(all.into())),
            _ if is_atomic(opcode) => {
                let word = pair.carried_out.iter().find(|(number, _)| *number == packet);
                word.map(|&(_, word)| Source::Word(word))
            }
            _ => return false,
        };
        // The peer asks again for all that it has not got from here on.
        let is_before =
            |response: &Response| response.queue_pair != number || ahead(response.number, packet) < 0;
        self.responses.retain(is_before);
        let again = |source| Response { queue_pair: number, number: packet, pass, is_first: true, source };
        self.responses.extend(source.map(again));
        true
    }

    /// The next packet of what peers fetch; whether there is one.
    pub(super) fn gather_response(&mut self) -> bool {
        let Some(response) = self.responses.front_mut() else { return false };
        let Response { queue_pair, number, pass, is_first, source } = response;
        let (number, pass, is_first, queue_pair) = (*number, *pass, *is_first, *queue_pair);
        let pair = self.queue_pairs.get(queue_pair).expect("it goes when all is sent");
        let (payload, is_last) = match source {
            Source::Word(word) => (Payload::Here(word.to_le_bytes().to_vec()), true),
            Source::Memory(pieces) => {
                let payload = take(pieces, pair.mtu);
                (Payload::Memory(payload), pieces.is_empty())
            }
        };
        (response.number, response.is_first) = ((number + 1) % NUMBERS, false);
        if is_last {
            self.responses.pop_front();
        }
        let body = Body::Response { is_first, is_last };
        let transport = Transport { queue_pair: pair.peer_number, number, pass, body };
        self.statistics.responses.increment();
        self.line_up((queue_pair, None, None), transport, payload);
        true
    }

    /// A response has come: taken if it is the next one, and asked for again if others are missing.
    pub(super) fn take_response(&mut self, context: &mut Context<'_>, transport: Transport, payload: &[u8]) {
        let Transport { queue_pair: number, number: packet, pass, .. } = transport;
        let Some(pair) = self.queue_pairs.get_mut(number).filter(|pair| pair.state == State::ReadyToSend)
        else {
            return;
        };
        let (domain, mtu) = (pair.domain, pair.mtu);
        let Some(sent) = pair.awaited() else { return };
        let first = sent.first;
        let fetched = sent.fetched.as_mut().expect("it fetches");
        let missing = fetched.next;
        if packet != missing {
            if ahead(packet, missing) > 0 && pass == fetched.pass {
                self.go_back(number, missing);
            }
            return;
        }
        let start = ahead(packet, first) as u64 * mtu;
        let expected = (fetched.bytes - start).min(mtu);
        fetched.next = (packet + 1) % NUMBERS;
        let scattered = self.regions.scattered(&fetched.segments, (start, expected), domain);
        match scattered {
            Ok(pieces) if payload.len() as u64 == expected => {
                let mut rest = payload;
                for piece in pieces {
                    let (part, behind) = rest.split_at(piece.bytes);
                    self.dma.write_payload(None, piece.address, part.to_vec());
                    rest = behind;
                }
                self.acknowledge(context, number, (packet + 1) % NUMBERS);
            }
            Ok(_) => self.fail_request(number, Status::BadResponse),
            Err(status) => self.fail_request(number, status),
        }
    }
}
