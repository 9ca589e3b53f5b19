//! Datagrams: messages of one packet between queue pairs that are not connected.
//!
//! ```text
//!   work request: address (process, queue pair, queue key) ─► packet ─► completion: it has left
//!                                                               │
//!        no such queue pair, another queue key, no receive ◄────┤ dropped, and nobody is told
//!   receive: [ 40 bytes of room ][ payload ], completion with the sender's queue pair and process ◄──┘
//! ```
//!
//! The room is for InfiniBand's global route header, which packets within a subnet do not have: the interface leaves
//! those bytes as they are. A message that is longer than the rest of its receive fails that, and the queue pair.

use narthex_fabrics::Rank;

use super::formats::{Completion, ROUTE_HEADER, Status, completion};
use super::function::{Function, Purpose};
use super::packets::{Body, NUMBERS, Transport};
use super::queue_pair::{Arriving, QueuePair, State};
use super::responder::Problem;
use crate::half::Context;

impl Function {
    /// A datagram has come from a process. Whether it is done with; otherwise what it needs is being read.
    pub(super) fn handle_datagram(
        &mut self,
        context: &Context<'_>,
        from: Rank,
        transport: Transport,
        payload: &[u8],
    ) -> bool {
        let Transport { queue_pair: number, body, .. } = transport;
        let Body::Datagram { queue_key, source, immediate, is_solicited } = body else {
            unreachable!("it is one")
        };
        let takes_it = |pair: &QueuePair| {
            let is_ready = matches!(pair.state, State::ReadyToReceive | State::ReadyToSend);
            pair.is_datagram && is_ready && pair.queue_key == queue_key
        };
        let lid = context.network.job().rank_of(from);
        let Some(lid) = lid.filter(|_| self.queue_pairs.get(number).is_some_and(takes_it)) else {
            self.statistics.dropped.increment();
            return true;
        };
        match self.find_receive(number) {
            Ok(()) => {}
            Err(Problem::Waits) => return false,
            Err(_) => {
                self.statistics.datagrams_lost.increment();
                return true;
            }
        }
        self.progress += 1;
        self.statistics.received.increment();
        if let Err(Problem::Refused(_, ended)) =
            self.place_datagram(number, (source, lid.0), (immediate, is_solicited), payload)
        {
            self.refuse(number, ended);
        }
        true
    }

    /// Puts a datagram's payload into the next receive.
    fn place_datagram(
        &mut self,
        number: u32,
        source: (u32, u16),
        (immediate, is_solicited): (Option<u32>, bool),
        payload: &[u8],
    ) -> Result<(), Problem> {
        let pair = self.queue_pairs.get_mut(number).expect("it has been found");
        let pads = pair.pads;
        pair.arriving = Some(Arriving::default());
        self.take_receive(number);
        let (pieces, written) = self.padded(number, ROUTE_HEADER, payload, pads)?;
        let pair = self.queue_pairs.get_mut(number).expect("it has been found");
        let receive = pair.arriving.take().and_then(|arriving| arriving.receive).expect("it has taken one");
        pair.expected = (pair.expected + 1) % NUMBERS;
        let kind = if immediate.is_some() { completion::SEND_IMMEDIATE } else { completion::SEND };
        let completion = Completion {
            bytes: ROUTE_HEADER as u32 + payload.len() as u32,
            immediate: immediate.unwrap_or(0),
            solicits: is_solicited,
            source: Some(source),
            ..Completion::new(kind, Status::Success, (number, receive.index))
        };
        let placed = Purpose::Placed {
            queue_pair: number,
            number: pair.expected,
            is_last: true,
            completion: Some(Box::new(completion)),
        };
        self.write_payload(pieces, &written, placed, true);
        Ok(())
    }
}
