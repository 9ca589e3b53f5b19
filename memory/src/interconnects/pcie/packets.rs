//! Transaction layer packets: what one is, what it costs, and how transactions are split into them.

use std::ops::Range;

use narthex_kernel::{Category, Duration, Time};
use serde::{Deserialize, Serialize};

use super::super::LinkPacket;
use crate::transaction::{AgentId, BlockData, Response, Transaction};

/// The classes of flow control, each with its own buffers at both ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Class {
    /// Writes, which have no completion.
    Posted,
    /// Reads, which completions answer.
    NonPosted,
    /// The answers.
    Completion,
}

impl Class {
    /// What its packets are called.
    pub fn packet_name(self) -> &'static str {
        match self {
            Class::Posted => "memory write",
            Class::NonPosted => "memory read",
            Class::Completion => "completion",
        }
    }

    /// Whether a packet of this class waits behind an older one, unless its [`Order`] lets it pass writes: the
    /// ordering table (PCI Express Base Specification 6.0, Section 2.4.1). No packet passes one of its own
    /// class. Writes pass the other classes, which excludes deadlock; reads and completions pass each
    /// other, but no write.
    pub fn waits_for(self, older: Class) -> bool {
        older == Class::Posted || older == self
    }
}

/// The ordering attributes of a packet: which older writes it may pass (the same table, entries A2b, B2b and D2b).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// Relaxed ordering of a write or a completion: all of them. A read request has the attribute for its
    /// completions alone.
    pub is_relaxed: bool,
    /// ID-based ordering: those of others than this requester or, of a completion, this completer.
    pub id: Option<AgentId>,
}

impl Order {
    /// Without attributes: none.
    pub const STRICT: Order = Order { is_relaxed: false, id: None };

    /// Whether its packet may pass an older write.
    pub fn passes(self, write: Order) -> bool {
        self.is_relaxed || self.id.is_some() && self.id != write.id
    }
}

/// What is in a packet.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Content {
    /// An earlier packet of a write or an answer, whose content its last packet carries.
    Part(Class),
    /// The last packet of a write.
    Write(Crossing),
    /// A device's message that interrupts a processor.
    Interrupt(Crossing),
    /// A processor's load from what is behind the link.
    Load(Crossing),
    /// The last packet of the completions of such a load.
    Answer(Crossing, Response),
    /// A device's request for bytes of memory.
    Read(ReadRequest),
    /// A completion for the request with this tag: bytes from this address on.
    Data(u16, u64, BlockData),
}

/// A transaction that crosses the link.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Crossing {
    pub transaction: Transaction,
    /// When it reached the link.
    pub since: Time,
    /// Whether it ends what its requester has written.
    pub is_last: bool,
}

/// A request for bytes of memory.
#[derive(Clone, Copy, Hash, Debug, Serialize, Deserialize)]
pub(super) struct ReadRequest {
    pub tag: u16,
    pub address: u64,
    pub bytes: u32,
    /// Whether its completions are relaxed.
    pub is_relaxed: bool,
}

/// A packet.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Packet {
    pub content: Content,
    pub order: Order,
    /// Bytes of data in it.
    pub payload: u32,
}

/// Buffers of one class: headers, and units of 16 bytes of data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(super) struct Credits {
    pub headers: u32,
    pub data: u32,
}

/// Bytes of a data credit.
pub(super) const CREDIT_BYTES: u32 = 16;

impl Packet {
    /// The class whose buffers it takes.
    pub fn class(&self) -> Class {
        match &self.content {
            Content::Part(class) => *class,
            Content::Write(_) | Content::Interrupt(_) => Class::Posted,
            Content::Load(_) | Content::Read(_) => Class::NonPosted,
            Content::Answer(..) | Content::Data(..) => Class::Completion,
        }
    }

    /// The address that it is about; none of a part whose last packet has it.
    pub fn address(&self) -> Option<u64> {
        match &self.content {
            Content::Part(_) => None,
            Content::Write(crossing)
            | Content::Interrupt(crossing)
            | Content::Load(crossing)
            | Content::Answer(crossing, _) => Some(crossing.transaction.address),
            Content::Read(request) => Some(request.address),
            Content::Data(_, address, _) => Some(*address),
        }
    }

    /// What an observer sees of it.
    pub fn on_wires(&self, way: Way, wires: (Time, Time), latency: Duration) -> LinkPacket {
        let tag = match &self.content {
            Content::Read(ReadRequest { tag, .. }) | Content::Data(tag, ..) => Some(*tag),
            _ => None,
        };
        LinkPacket {
            is_down: way == Way::Down,
            name: self.class().packet_name(),
            wires,
            arrival: wires.1 + latency,
            data_bytes: self.payload,
            address: self.address(),
            tag,
        }
    }

    /// Whether it may pass all writes among these older packets, because of its attributes.
    pub fn passes_writes<'a>(&self, mut older: impl Iterator<Item = &'a Packet>) -> bool {
        let may_pass = |older: &Packet| older.class() != Class::Posted || self.order.passes(older.order);
        self.order != Order::STRICT && older.all(may_pass)
    }

    /// The credits that it takes.
    pub fn cost(&self) -> Credits {
        Credits { headers: 1, data: self.payload.div_ceil(CREDIT_BYTES) }
    }
}

/// Splits a number of bytes into parts of at most `most`.
pub(super) fn pieces(bytes: u32, most: u32) -> impl Iterator<Item = Range<u32>> {
    (0..bytes).step_by(most as usize).map(move |start| start..bytes.min(start + most))
}

/// Where the next completion of a read ends: at a boundary, or with the read (Section 2.3.1.1); none
/// if it waits for more data. The data from `sent` to `there`, both counted from `address`, have been
/// read and not been sent.
pub(super) fn completion_end(
    ReadRequest { address, bytes, .. }: ReadRequest,
    (sent, there): (u32, u32),
    (boundary, most): (u32, u32),
) -> Option<u32> {
    let end = there.min(sent + most);
    let beyond = ((address + u64::from(end)) % u64::from(boundary)) as u32;
    let whole = if end == bytes { end } else { end.saturating_sub(beyond) };
    (whole > sent).then_some(whole)
}

/// The direction and class of a packet, by which packets are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PacketKind(pub Way, pub Class);

/// A direction of the link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Way {
    /// From the host to the device.
    Down,
    /// From the device to the host.
    Up,
}

impl Category for Way {
    const COUNT: usize = 2;

    fn index(self) -> usize {
        self as usize
    }

    fn name(index: usize) -> String {
        ["down", "up"][index].to_owned()
    }
}

impl Category for PacketKind {
    const COUNT: usize = 6;

    fn index(self) -> usize {
        self.0 as usize * 3 + self.1 as usize
    }

    fn name(index: usize) -> String {
        let kind = ["memory_write", "memory_read", "completion"][index % 3];
        format!("{kind}_{}", Way::name(index / 3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_writes_keep_others_behind_them() {
        use Class::{Completion, NonPosted, Posted};
        let waits = [Posted, NonPosted, Completion]
            .map(|younger| [Posted, NonPosted, Completion].map(|older| younger.waits_for(older)));
        assert_eq!(waits, [[true, false, false], [true, true, false], [true, false, true]]);
    }

    #[test]
    fn attributes_let_a_packet_pass_writes_of_all_or_of_other_requesters() {
        let by = |id| Order { id: Some(AgentId(id)), ..Order::STRICT };
        let relaxed = Order { is_relaxed: true, ..Order::STRICT };
        assert!(relaxed.passes(Order::STRICT) && relaxed.passes(relaxed) && by(1).passes(by(2)));
        assert!(![Order::STRICT, relaxed].into_iter().any(|older| Order::STRICT.passes(older)));
        assert!(!by(1).passes(by(1)));
    }

    #[test]
    fn a_transfer_of_a_page_is_split_by_what_a_packet_may_carry() {
        assert_eq!(pieces(4096, 512).count(), 8);
        assert_eq!(pieces(300, 128).collect::<Vec<_>>(), [0..128, 128..256, 256..300]);
        assert!(pieces(64, 128).eq(std::iter::once(0..64)));
    }

    #[test]
    fn a_completion_ends_at_a_boundary_or_with_its_read() {
        let read = |address, bytes| ReadRequest { tag: 0, address, bytes, is_relaxed: false };
        // Blocks of 64 bytes come one after the other: each is answered, or each second one.
        assert_eq!(completion_end(read(0x1000, 256), (0, 64), (64, 256)), Some(64));
        assert_eq!(completion_end(read(0x1000, 256), (0, 64), (128, 256)), None);
        assert_eq!(completion_end(read(0x1000, 256), (0, 128), (128, 256)), Some(128));
        // What is there at once goes in packets of the largest payload.
        assert_eq!(completion_end(read(0x1000, 4096), (0, 4096), (64, 256)), Some(256));
        // The last one ends with the read, and the first one of an odd read at the boundary.
        assert_eq!(completion_end(read(0x1040, 64), (0, 64), (128, 256)), Some(64));
        assert_eq!(completion_end(read(0x1040, 192), (0, 192), (128, 128)), Some(64));
    }
}
