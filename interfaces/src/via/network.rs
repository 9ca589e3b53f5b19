//! The network side: a DMA engine that sends packets from the interface's memory, and one
//! that writes what arrives into it.
//!
//! ```text
//!   SEND_HEADER, SEND_PAYLOAD, SEND_START ──► sender ──► flow control ──► network
//!                                        start time = network.latency     │
//!   RECEIVED_SLOT ◄── received ◄── arriving ◄── (bytes at the engines' rate)
//!                                     └── to a free slot, or where the packet-to-address table says
//! ```
//!
//! Both engines move one packet at a time. A packet leaves when its engine begins and is
//! whole at the other end when the bytes have passed there, at the same rate: sending and
//! receiving overlap, and the network adds no time of its own ("a no-delay network model",
//! Section 7.1). A packet is its header of 32 bytes and its payload; the header that the
//! network reads names its destination and no more.

use std::collections::VecDeque;

use narthex_fabrics::{Header, Rank};
use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::config::Config;
use super::registers::{CAN_SEND, HEADER_BYTES, PACKET_PLACED, PACKET_RECEIVED};
use crate::half::Context;

/// Where a message goes: an entry of the packet-to-address table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct AddressEntry {
    /// In the interface's memory, mostly in a copy.
    pub address: u64,
    /// Bytes that fit.
    pub length: u32,
    /// The message's number.
    pub message: u32,
}

/// A packet in the interface's memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Received {
    /// Its slot, in which its header is.
    pub slot: u64,
    /// Where its payload is.
    pub payload: u64,
}

/// A packet whose bytes pass.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Arriving {
    received: Received,
    /// When all of it has passed.
    until: Time,
    /// Blocks that are acquired for it, or written home, have still to be waited for.
    is_settling: bool,
}

/// What a packet's header says to the hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Placing {
    vi: u16,
    offset: u64,
    message_bytes: u64,
    message: u32,
}

impl Placing {
    /// Of a packet that may be placed; none of others.
    fn of(packet: &[u8]) -> Option<Self> {
        let word = |place: usize| {
            let bytes = packet.get(place * 8..place * 8 + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
        };
        let [first, second, third] = [word(0)?, word(1)?, word(2)?];
        (first & PACKET_PLACED != 0).then_some(Placing {
            vi: (first >> 16) as u16,
            offset: second & 0xffff_ffff,
            message_bytes: second >> 32,
            message: third as u32,
        })
    }

    /// Whether a packet of so many bytes of payload is the message's last.
    fn is_last(&self, payload: u64) -> bool {
        self.offset + payload >= self.message_bytes
    }

    /// Bytes of the message that ends with this packet, with one header. Messages are what
    /// takes a receive descriptor; packets about connections and of RDMA are none.
    fn ended_message(packet: &[u8]) -> Option<u64> {
        let placing = Placing::of(packet)?;
        let is_last = placing.is_last(packet.len() as u64 - HEADER_BYTES);
        is_last.then_some(HEADER_BYTES + placing.message_bytes)
    }
}

/// Where a packet's payload is to go.
pub enum Landing {
    /// Into its slot.
    Slot,
    /// To this address.
    AddressEntry(u64),
}

/// Both engines.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct NetworkSide {
    header: u64,
    payload: u64,
    /// Until when the sender is busy.
    sending: Option<Time>,
    /// A packet that the flow control does not take yet.
    held: Option<(Rank, Vec<u8>)>,
    slots: VecDeque<u64>,
    slots_limit: usize,
    arriving: Option<Arriving>,
    received: VecDeque<Received>,
    /// Some entries for each VI, and how many.
    places: Vec<AddressEntry>,
    places_of_vi: usize,
    selected: usize,
    /// Where the message goes whose entry is written next.
    place: u64,
}

impl NetworkSide {
    /// Idle engines without slots.
    pub fn new(config: &Config) -> Self {
        NetworkSide {
            header: 0,
            payload: 0,
            sending: None,
            held: None,
            slots: VecDeque::new(),
            slots_limit: config.receive_slots as usize,
            arriving: None,
            received: VecDeque::new(),
            places: vec![AddressEntry::default(); (config.vis * config.places) as usize],
            places_of_vi: config.places as usize,
            selected: 0,
            place: 0,
        }
    }

    /// Its bits of STATUS.
    pub fn status(&self) -> u64 {
        let can_send = if self.sending.is_none() && self.held.is_none() { CAN_SEND } else { 0 };
        can_send | if self.received.is_empty() { 0 } else { PACKET_RECEIVED }
    }

    /// Where the header of the next packet is.
    pub fn header_address(&self) -> u64 {
        self.header
    }

    /// Where its payload is.
    pub fn payload_address(&self) -> u64 {
        self.payload
    }

    /// The address of the entry that is written next.
    pub fn place_address(&self) -> u64 {
        self.place
    }

    /// The header of the next packet is here.
    pub fn set_header(&mut self, address: u64) {
        self.header = address;
    }

    /// Its payload is here.
    pub fn set_payload(&mut self, address: u64) {
        self.payload = address;
    }

    /// Sends the packet to the first process of the node that the upper half names, with as
    /// many bytes of payload as the lower half says.
    ///
    /// # Errors
    /// What the firmware did wrong.
    pub fn start(&mut self, context: &mut Context<'_>, config: &Config, value: u64) -> Result<(), String> {
        if self.status() & CAN_SEND == 0 {
            return Err("a packet is sent while STATUS shows that none can be".into());
        }
        let (node, bytes) = (value >> 32, value & 0xffff_ffff);
        if bytes > config.mtu.as_u64() {
            return Err(format!("a packet of {bytes} bytes of user data; at most {} fit", config.mtu));
        }
        let rank = context
            .network
            .rank_on(node)
            .ok_or_else(|| format!("a packet to node {node}, which does not exist"))?;
        let mut packet = vec![0; (HEADER_BYTES + bytes) as usize];
        let (header, payload) = packet.split_at_mut(HEADER_BYTES as usize);
        let memory = context.local_memory.as_deref_mut().expect("checked with the machine");
        memory.read(self.header, header);
        memory.read(self.payload, payload);
        self.sending = Some(context.timer_after(config.network_time(HEADER_BYTES + bytes)));
        self.held = Some((rank, packet));
        self.go_on(context);
        Ok(())
    }

    /// Hands over a packet that the flow control takes now.
    fn go_on(&mut self, context: &mut Context<'_>) {
        let network = &mut context.network;
        if let Some((rank, packet)) = self.held.take_if(|(rank, _)| network.can_send_to(*rank)) {
            if let Some(bytes) = Placing::ended_message(&packet) {
                network.count_message(bytes);
            }
            network.send_unrecorded(rank, Header::default(), packet);
        }
    }

    /// A free slot for what arrives.
    ///
    /// # Errors
    /// If there are as many as there can be.
    pub fn add_slot(&mut self, slot: u64) -> Result<(), String> {
        if slot == 0 || !slot.is_multiple_of(8) {
            return Err(format!("a slot at {slot:#x}; expected a multiple of 8"));
        }
        if self.slots.len() == self.slots_limit {
            return Err(format!("more than {} free slots for packets", self.slots_limit));
        }
        self.slots.push_back(slot);
        Ok(())
    }

    /// The slot of the oldest packet.
    pub fn received_slot(&self) -> u64 {
        self.received.front().map_or(0, |received| received.slot)
    }

    /// Where its payload is; the packet is gone then.
    pub fn take_received(&mut self) -> Option<u64> {
        self.received.pop_front().map(|received| received.payload)
    }

    /// An entry of this VI is changed from now on.
    ///
    /// # Errors
    /// If there is no such VI.
    pub fn select_place(&mut self, vi: u64) -> Result<(), String> {
        let vis = self.places.len() / self.places_of_vi;
        if vi >= vis as u64 {
            return Err(format!("the place of a message of VI {vi}; there are {vis}"));
        }
        self.selected = vi as usize;
        Ok(())
    }

    /// The address of the next entry that is written.
    pub fn set_place_address(&mut self, address: u64) {
        self.place = address;
    }

    /// Its length, and the number of its message, which says which of the VI's it is.
    pub fn set_place_length(&mut self, value: u64) {
        let (length, message) = (value as u32, (value >> 32) as u32);
        let address = self.place;
        if let Some(place) = self.entry(self.selected, message) {
            *place = AddressEntry { address, length, message };
        }
    }

    fn entry(&mut self, vi: usize, message: u32) -> Option<&mut AddressEntry> {
        self.places.get_mut(vi * self.places_of_vi + message as usize % self.places_of_vi)
    }

    /// Where a packet's payload goes. The last packet of a message takes the place away.
    fn landing(&mut self, packet: &[u8]) -> Landing {
        let Some(placing) = Placing::of(packet) else { return Landing::Slot };
        let Placing { vi, offset, message, .. } = placing;
        let payload = packet.len() as u64 - HEADER_BYTES;
        let Some(place) = self.entry(vi.into(), message) else { return Landing::Slot };
        let fits = offset + payload <= place.length.into();
        if place.length == 0 || place.message != message || !fits {
            return Landing::Slot;
        }
        let address = place.address + offset;
        if placing.is_last(payload) {
            place.length = 0;
        }
        Landing::AddressEntry(address)
    }

    /// Begins to receive the oldest packet that has arrived, if there is a slot: what has a
    /// place is given to `put`.
    pub fn receive(
        &mut self,
        context: &mut Context<'_>,
        config: &Config,
        put: &mut dyn FnMut(&mut Context<'_>, u64, &[u8]),
    ) {
        if self.arriving.is_some() || context.network.front().is_none() {
            return;
        }
        let Some(slot) = self.slots.pop_front() else { return };
        let packet = context.network.take().expect("it has just been seen").payload;
        let until = context.timer_after(config.network_time(packet.len() as u64));
        let (header, payload) = packet.split_at(HEADER_BYTES as usize);
        let memory = context.local_memory.as_deref_mut().expect("checked with the machine");
        memory.write(slot, header);
        let in_slot = slot + HEADER_BYTES;
        let (payload, is_settling) = match self.landing(&packet) {
            Landing::AddressEntry(address) => {
                put(context, address, payload);
                (address, true)
            }
            Landing::Slot => {
                memory.write(in_slot, payload);
                (in_slot, false)
            }
        };
        self.arriving = Some(Arriving { received: Received { slot, payload }, until, is_settling });
    }

    /// Time has passed, or what a packet waited for is settled: whether a packet has come
    /// in, or one can be sent that could not.
    pub fn look(&mut self, context: &mut Context<'_>, independent_of_arrivals: bool) -> bool {
        if self.sending.is_some_and(|until| until <= context.now) {
            self.sending = None;
        }
        self.go_on(context);
        let arrived = self.arriving.take_if(|arriving| {
            arriving.until <= context.now && (independent_of_arrivals || !arriving.is_settling)
        });
        let Some(Arriving { received, .. }) = arrived else { return false };
        self.received.push_back(received);
        true
    }

    /// Packets received that the firmware has not taken, and free slots.
    pub fn used(&self) -> (u64, u64) {
        (self.received.len() as u64, self.slots.len() as u64)
    }

    /// What the engines are at, in words.
    pub fn doing(&self) -> Option<&'static str> {
        match (&self.held, self.sending, &self.arriving) {
            (Some(_), ..) => Some("waits for the flow control"),
            (None, Some(_), None) => Some("sends a packet"),
            (None, Some(_), Some(_)) => Some("sends and receives a packet"),
            (None, None, Some(_)) => Some("receives a packet"),
            (None, None, None) => None,
        }
    }

    /// For whom the flow control holds a packet back.
    pub fn held_for(&self) -> Option<Rank> {
        self.held.as_ref().map(|(rank, _)| *rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side() -> NetworkSide {
        let config = serde_json::from_value((crate::models::via::MODEL.sample)()).expect("a sound sample");
        NetworkSide::new(&config)
    }

    /// Sixty-four bytes at `offset` of a message of VI 3.
    fn packet(flags: u64, message: u64, offset: u64, message_bytes: u64) -> Vec<u8> {
        let header = [flags | 3 << 16, offset | message_bytes << 32, message, 0];
        header.iter().flat_map(|word| word.to_le_bytes()).chain([7; 64]).collect()
    }

    fn landing(side: &mut NetworkSide, packet: &[u8]) -> Option<u64> {
        match side.landing(packet) {
            Landing::AddressEntry(address) => Some(address),
            Landing::Slot => None,
        }
    }

    #[test]
    fn a_packet_goes_where_the_table_has_a_place_for_its_message() {
        let mut side = side();
        side.select_place(3).expect("a VI");
        side.set_place_address(0x8000);
        side.set_place_length(128 | 5 << 32);
        assert_eq!(landing(&mut side, &packet(0, 5, 0, 128)), None, "it is not to be placed");
        assert_eq!(landing(&mut side, &packet(PACKET_PLACED, 6, 0, 128)), None, "another message");
        assert_eq!(
            landing(&mut side, &packet(PACKET_PLACED, 7, 0, 128)),
            None,
            "the same entry, another message"
        );
        assert_eq!(landing(&mut side, &packet(PACKET_PLACED, 5, 96, 192)), None, "it does not fit");
        assert_eq!(landing(&mut side, &packet(PACKET_PLACED, 5, 0, 128)), Some(0x8000));
        assert_eq!(landing(&mut side, &packet(PACKET_PLACED, 5, 64, 128)), Some(0x8040));
        assert_eq!(
            landing(&mut side, &packet(PACKET_PLACED, 5, 0, 128)),
            None,
            "its last packet took it away"
        );
    }

    #[test]
    fn a_message_is_counted_where_its_last_packet_leaves() {
        let ended = |flags, offset, bytes| Placing::ended_message(&packet(flags, 5, offset, bytes));
        assert_eq!([ended(PACKET_PLACED, 0, 128), ended(PACKET_PLACED, 64, 128)], [None, Some(32 + 128)]);
        assert_eq!(ended(0, 64, 128), None, "a packet about a connection");
    }

    #[test]
    fn two_messages_of_a_vi_have_places_at_a_time() {
        let mut side = side();
        side.select_place(3).expect("a VI");
        for (message, address) in [(4, 0x8000), (5, 0x9000)] {
            side.set_place_address(address);
            side.set_place_length(64 | message << 32);
        }
        assert_eq!(landing(&mut side, &packet(PACKET_PLACED, 5, 0, 64)), Some(0x9000));
        assert_eq!(landing(&mut side, &packet(PACKET_PLACED, 4, 0, 64)), Some(0x8000));
        assert!(side.select_place(8).is_err());
    }

    #[test]
    fn there_are_as_many_free_slots_as_the_machine_says() {
        let mut side = side();
        (1..=4).for_each(|slot| side.add_slot(slot * 0x1000).expect("room"));
        assert!(side.add_slot(0x8000).unwrap_err().contains("more than 4"));
        assert!(side.add_slot(4).is_err() && side.add_slot(0).is_err());
    }
}
