//! What the RTL takes in cycles: facts beside the machine's file, whose values are assumed.

use serde::Serialize;

use super::hardware::Rtl;
use super::stimuli::{Owned, Stimulus};
use crate::sarc::messages::{Body, Cause, Message, Payload};
use crate::sarc::registers::{LINE_BYTES, Role, STATE, STATE_BYTES, operation};
use crate::sarc::rtl::packets;
use crate::sarc::rtl::tile::{Request, Said};
use crate::sarc::space::address_of;

use super::comparison::Hardware;
use super::reference::Reference;

/// Cycles that the RTL takes, in the terms of the machine's file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Timing {
    /// A load of the own scratchpad, from the cycle in which its request is taken to that of its answer.
    pub load_cycles: u64,
    /// The same of a store.
    pub store_cycles: u64,
    /// From the store that completes a command until the first flit of its packet is at the network.
    pub out_cycles: u64,
    /// From the first flit of a packet with a word until the word is written.
    pub in_cycles: u64,
    /// From one packet of a copy to its next, beside the cycles of its data.
    pub packet_cycles: u64,
    /// From a lone remote store until its first flit leaves; it waits in the combining buffer.
    pub remote_store_cycles: u64,
}

/// Measures a tile to which nothing else happens.
pub fn measure(rtl: &mut Rtl, own: u16) -> Timing {
    rtl.reset();
    let line = |line: u64| address_of(0, own, line * LINE_BYTES);
    let there = address_of(0, if own == 0 { 1 } else { 0 }, 0);
    rtl.happen(&[Stimulus::Give { first: 0, lines: 16, owned: Owned::ByAll }]);
    let marked = address_of(0, own, STATE + 8 * STATE_BYTES);
    rtl.happen(&[Stimulus::store(marked, 8, Role::CommandBuffer as u64)]);
    let store = |address, value| Request { address, is_store: true, bytes: 8, value, process: own as u8 };
    let load = Request { address: line(0), is_store: false, bytes: 8, value: 0, process: own as u8 };
    let command = |rtl: &mut Rtl, words: [u64; 4]| {
        for (word, value) in (0..).zip(words).skip(1) {
            rtl.happen(&[Stimulus::store(line(8) + 8 * word, 8, value)]);
        }
        store(line(8), words[0])
    };
    let load_cycles = answer(rtl, load);
    let store_cycles = answer(rtl, store(line(0), 1));
    let last = command(rtl, [operation::STORE | 8 << 8, there, 0, 7]);
    let packets = departures(rtl, last);
    let out_cycles = packets[0] - 2;
    let last = command(rtl, [operation::COPY | 128 << 8, there, 0, line(0)]);
    let packets = departures(rtl, last);
    let packet_cycles = packets[1] - packets[0] - LINE_BYTES / 8;
    let remote_store_cycles = departures(rtl, store(there, 3))[0] - 2;
    let in_cycles = written(rtl, own, line(1));
    Timing { load_cycles, store_cycles, out_cycles, in_cycles, packet_cycles, remote_store_cycles }
}

/// Cycles from a request's being taken to its answer.
fn answer(rtl: &mut Rtl, request: Request) -> u64 {
    let (tile, regions) = rtl.tile_mut();
    tile.request(request);
    let (mut said, mut taken) = (Vec::new(), None);
    while !said.iter().any(|said| matches!(said, Said::Answer(_))) {
        tile.cycle(regions, &mut said);
        taken = taken.or((tile.waiting_requests() == 0).then_some(tile.cycles));
    }
    tile.cycles - taken.expect("it is answered")
}

/// Cycles from a store's being taken to the last flit of each packet that it leads to, until all is
/// quiet.
fn departures(rtl: &mut Rtl, request: Request) -> Vec<u64> {
    let (tile, regions) = rtl.tile_mut();
    tile.request(request);
    let (mut packets, mut said, mut taken) = (Vec::new(), Vec::new(), None);
    while !tile.is_quiet() {
        tile.cycle(regions, &mut said);
        taken = taken.or((tile.waiting_requests() == 0).then_some(tile.cycles));
        let left = said.drain(..).filter(|said| matches!(said, Said::Packet(..))).count();
        packets.extend((0..left).map(|_| tile.cycles - taken.expect("it leads to the packet")));
    }
    packets
}

/// Cycles from the first flit of a packet's being taken until its word is there.
fn written(rtl: &mut Rtl, own: u16, to: u64) -> u64 {
    let body = Body::Write {
        to,
        acknowledge: 0,
        bytes: Payload::of(&u64::MAX.to_le_bytes()),
        cause: Cause::Transfer,
    };
    let message = Message { origin: Reference::origin(own), body };
    let (tile, regions) = rtl.tile_mut();
    tile.bring(body.lane(), &packets::encode(&message).expect("there is such a packet"));
    let begin = tile.cycles;
    let word = (to % STATE / 8) as usize;
    while tile.arrays.word(word) != u64::MAX {
        tile.cycle(regions, &mut Vec::new());
        assert!(tile.cycles < begin + 1_000, "a packet that comes is written");
    }
    tile.cycles - begin - 1
}
