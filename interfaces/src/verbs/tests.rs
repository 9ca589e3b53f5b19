use std::collections::VecDeque;

use narthex_memory::{AgentId, BlockData, Kind, Response, Transaction};
use proptest::prelude::*;

use super::formats::{Address, Control, Data, WorkRequest, is_atomic, opcode};
use super::objects::{Memory, Regions, access};
use super::packets::{Body, NUMBERS, Transport, ahead};
use super::queue_pair::Owed;
use crate::host_memory::{Dma, Piece};

const BLOCK: u64 = 64;
const MEMORY: usize = 1024;

/// What a bus would do with a transaction.
fn carry(memory: &mut [u8], transaction: &Transaction) -> Response {
    let block = transaction.address as usize..(transaction.address + BLOCK) as usize;
    match (&transaction.data, transaction.kind) {
        (Some(data), Kind::WriteBlock) => {
            memory[block].copy_from_slice(data);
            Response::default()
        }
        _ => Response { data: Some(BlockData::from_bytes(&memory[block])), ..Response::default() },
    }
}

#[test]
fn a_region_gives_what_its_key_domain_and_rights_allow() {
    let memory = Memory { address: 0x1800, bytes: 0x1000, frames: vec![0x8000, 0x3000] };
    let mut regions = Regions::new(1);
    let key = regions.add(memory, access::LOCAL_WRITE, 1).expect("there is room");
    let found = |key: u64, address, bytes, domain, access| {
        regions.pieces(Data { bytes, key: key as u32, address }, domain, access)
    };
    let pieces = [Piece { address: 0x8ff0, bytes: 16 }, Piece { address: 0x3000, bytes: 16 }];
    assert_eq!(found(key, 0x1ff0, 32, 1, access::LOCAL_WRITE).as_deref(), Some(&pieces[..]));
    for (key, address, bytes, domain, access) in [
        (key + 1, 0x1ff0, 32, 1, 0),
        (key + 256, 0x1ff0, 32, 1, 0),
        (key, 0x17ff, 32, 1, 0),
        (key, 0x27f0, 17, 1, 0),
        (key, u64::MAX, 32, 1, 0),
        (key, 0x1ff0, 32, 2, 0),
        (key, 0x1ff0, 32, 1, access::REMOTE_WRITE),
    ] {
        assert_eq!(found(key, address, bytes, domain, access), None);
    }
    assert!(regions.remove(key).is_some() && regions.get(key).is_none());
}

#[test]
fn a_datagram_says_where_it_goes_and_asks_for_nothing_but_a_send() {
    let mut bytes = vec![0; 128];
    bytes[..8].copy_from_slice(&(u64::from(opcode::SEND) | 5 << 32).to_le_bytes());
    bytes[16..20].copy_from_slice(&77_u32.to_le_bytes());
    bytes[24..28].copy_from_slice(&0x41_u32.to_le_bytes());
    bytes[30..32].copy_from_slice(&3_u16.to_le_bytes());
    bytes[64..68].copy_from_slice(&9_u32.to_le_bytes());
    let request = WorkRequest::of(&bytes, true).expect("it makes sense");
    assert_eq!(request.address, Some(Address { queue_key: 77, queue_pair: 0x41, lid: 3 }));
    assert_eq!((request.bytes(), request.gathered.len()), (9, 1));
    bytes[4] = 3;
    assert_eq!(WorkRequest::of(&bytes, true), None, "its address is cut off");
    bytes[..5].copy_from_slice(&[opcode::WRITE, 0, 0, 0, 5]);
    assert_eq!(WorkRequest::of(&bytes, true), None);
}

#[test]
fn packet_numbers_are_compared_modulo_their_number() {
    assert_eq!([ahead(5, 3), ahead(3, 5), ahead(0, NUMBERS - 1), ahead(NUMBERS - 1, 0)], [2, -2, 1, -1]);
}

proptest! {
    /// Whatever a program writes is a request or none.
    #[test]
    fn any_bytes_are_taken_apart(
        bytes in proptest::collection::vec(any::<u8>(), 64..256),
        is_datagram in any::<bool>(),
    ) {
        if let Some(request) = WorkRequest::of(&bytes, is_datagram) {
            prop_assert!(usize::from(request.control.segments) * 16 <= bytes.len());
            prop_assert!(request.inline.is_none_or(|payload| payload.len() <= bytes.len()));
        }
    }

    #[test]
    fn a_packet_says_what_it_was_made_of(
        (is_first, is_last, has_remote, immediate, is_solicited) in any::<(bool, bool, bool, bool, bool)>(),
        (queue_pair, number, address, key) in any::<(u32, u32, u64, u32)>(),
        payload in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let opcode = match (immediate, number % 3) {
            (true, _) => opcode::SEND_IMMEDIATE,
            (_, 0) => opcode::FETCH_ADD,
            (_, 1) => opcode::READ,
            _ => opcode::WRITE,
        };
        let bytes = if is_atomic(opcode) { 8 } else { 80 };
        let remote = has_remote.then_some(Data { bytes, key, address });
        let immediate = if immediate && is_last { 77 } else { 0 };
        let body = Body::Part { opcode, is_first, is_last, remote, immediate, is_solicited };
        let response = Body::Response { is_first, is_last };
        let datagram = |immediate| Body::Datagram { queue_key: key, source: number, immediate, is_solicited };
        let datagrams = [datagram(None), datagram(Some(immediate))];
        for body in [body, response, Body::NotReady(key), Body::OutOfTurn].into_iter().chain(datagrams) {
            let made = Transport { queue_pair, number, pass: 3, body };
            let is_part = !matches!(body, Body::NotReady(_) | Body::OutOfTurn);
            let payload = if is_part { &payload[..] } else { &[] };
            let (mut packet, at) = made.packet(payload.len());
            packet[at..at + payload.len()].copy_from_slice(payload);
            prop_assert_eq!(Transport::of(&packet), Some((made, payload)));
        }
        let word = u64::from(opcode) | 7 << 8 | 5 << 32 | u64::from(queue_pair & 0xff_ffff) << 40;
        let control = Control::of(word);
        prop_assert_eq!((control.index, control.blocks()), (7, 2));
        prop_assert_eq!(control.queue_pair, queue_pair & 0xff_ffff);
    }

    /// Reads and writes at any byte, with answers in any order: reads are delivered in order with the
    /// bytes that were there, writes are done in order and change nothing else.
    #[test]
    fn memory_is_read_and_written_to_the_byte(
        asked in proptest::collection::vec((any::<bool>(), 0..MEMORY as u64 - 200, 0usize..200), 1..12),
        picks in proptest::collection::vec(0usize..8, 1..400),
        transactions in 1u8..5,
    ) {
        let mut memory: Vec<u8> = (0..MEMORY).map(|byte| byte as u8).collect();
        let mut dma = Dma::new(AgentId(1), (BLOCK, false), transactions);
        // Writes go to the upper half, so that the order against reads does not matter.
        let half = MEMORY as u64 / 2;
        let mut expected = memory.clone();
        let (mut reads, mut writes) = (VecDeque::new(), VecDeque::new());
        for (number, &(is_write, at, bytes)) in asked.iter().enumerate() {
            if is_write {
                let (at, data) = (half + at / 4, vec![number as u8 | 0x80; bytes]);
                expected[at as usize..at as usize + bytes].copy_from_slice(&data);
                dma.write(Some(number), at, data);
                writes.push_back(number);
            } else {
                let bytes = bytes.min((half - at / 2) as usize);
                dma.read(number, vec![Piece { address: at / 2, bytes }]);
                reads.push_back((number, memory[at as usize / 2..at as usize / 2 + bytes].to_vec()));
            }
        }
        let mut under_way: Vec<(Transaction, Response)> = Vec::new();
        for pick in picks.iter().chain(std::iter::repeat(&0)) {
            while let Some(read) = dma.take_read() {
                prop_assert_eq!(Some(read), reads.pop_front());
            }
            while let Some(write) = dma.take_write() {
                prop_assert_eq!(write, writes.pop_front());
            }
            if dma.wants() && (*pick < 4 || under_way.is_empty()) {
                let transaction = dma.issue().expect("it wants one");
                let response = carry(&mut memory, &transaction);
                under_way.push((transaction, response));
                prop_assert!(under_way.len() <= transactions.into());
            } else if !under_way.is_empty() {
                let (transaction, response) = under_way.remove(pick % under_way.len());
                dma.complete(&transaction, &response);
            } else {
                break;
            }
        }
        prop_assert!(dma.is_idle() && reads.is_empty() && writes.is_empty());
        prop_assert_eq!(memory, expected);
    }
}

#[test]
fn a_packet_of_an_older_pass_hides_none_of_a_newer_one_that_was_not_taken() {
    let mut owed = Owed { out_of_turn: Some(1), ..Owed::default() };
    assert!(!owed.is_of_newest(0), "its sender has gone back since");
    assert_eq!(owed.out_of_turn, Some(1));
    assert!(owed.is_of_newest(1));
    let mut owed = Owed { not_ready: Some(255), ..Owed::default() };
    assert!(owed.is_of_newest(0), "passes count modulo 256");
    assert!(owed.is_nothing());
}
