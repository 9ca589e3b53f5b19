//! The messages of a CXL link, and what each transaction of a device becomes: one table.

use std::ops::Range;

use narthex_kernel::{Category, Time};
use serde::{Deserialize, Serialize};

use super::super::LinkPacket;
use super::super::accesses::Brings;
use super::host_port::Request;
use super::wires::Wires;
use crate::directory::{Body, Carried, Slot};
use crate::kind::Kind;
use crate::transaction::{AgentId, Response, Transaction};

/// Bytes of a slot of a flit, and of a data credit.
pub(super) const SLOT_BYTES: u32 = 16;

/// Bytes of a CXL.io request, and of a completion, besides their data: header, sequence number and checksum of
/// a packet of PCI Express with 64-bit addresses, without framing.
const REQUEST_BYTES: u32 = 24;
const COMPLETION_BYTES: u32 = 20;

narthex_kernel::categories! {
    /// Messages by name, as the Compute Express Link Specification 3.0 has them (Sections 3.1 to 3.3). Reads and
    /// writes of CXL.io and CXL.mem have the same names; those of CXL.mem have their channel in front here.
    pub enum Opcode {
        /// A store to a register (CXL.io, host to device).
        MemWr = "MemWr",
        /// A load from a register (CXL.io, host to device).
        MemRd = "MemRd",
        /// The answer to a load (CXL.io, device to host).
        CplD = "CplD",
        /// A read that leaves no copy (D2H request).
        RdCurr = "RdCurr",
        /// A read that leaves a copy in the state that the host grants (D2H request).
        RdAny = "RdAny",
        /// A read of a block that will be written (D2H request).
        RdOwn = "RdOwn",
        /// The right to write a block without its bytes (D2H request).
        RdOwnNoData = "RdOwnNoData",
        /// A write of a whole block that leaves no copy (D2H request).
        ItoMWr = "ItoMWr",
        /// A write of a part of a block that leaves no copy (D2H request).
        WrInv = "WrInv",
        /// A dirty block goes home (D2H request).
        DirtyEvict = "DirtyEvict",
        /// The bytes that a GO_WritePull has asked for (D2H data).
        Data = "Data",
        /// A snoop found no copy, or the copy is gone (D2H response).
        RspIHit = "RspIHit",
        /// A snoop left a clean copy (D2H response).
        RspSHitSE = "RspSHitSE",
        /// A dirty block comes, and the copy is gone (D2H response and data).
        RspIFwdM = "RspIFwdM",
        /// A dirty block comes, and a copy stays (D2H response and data).
        RspSFwdM = "RspSFwdM",
        /// A dirty block comes, and nothing changes (D2H response and data).
        RspVFwdV = "RspVFwdV",
        /// A request is granted: the state, and the bytes if it reads (H2D response and data).
        Go = "GO",
        /// A write is granted: its bytes may come (H2D response).
        GoWritePull = "GO_WritePull",
        /// The block's bytes for a RdCurr (H2D data).
        ReadData = "ReadData",
        /// Another agent reads the block (H2D request).
        SnpData = "SnpData",
        /// Another agent writes the block (H2D request).
        SnpInv = "SnpInv",
        /// Another agent reads the block without a copy (H2D request).
        SnpCur = "SnpCur",
        /// The host reads a block of the device and keeps a shared copy (M2S Req).
        MemRdData = "MemRdData",
        /// The host reads a block of the device that it will write, or without a copy (M2S Req).
        ReqMemRd = "Req MemRd",
        /// The host wants the right to write a block of the device, whose bytes it has (M2S Req).
        MemInv = "MemInv",
        /// A block of the device returns (M2S RwD).
        RwdMemWr = "RwD MemWr",
        /// The bytes of a block of the device (S2M DRS).
        MemData = "MemData",
        /// A write is done, or a read that leaves no copy (S2M NDR).
        Cmp = "Cmp",
        /// The host may have a shared copy (S2M NDR).
        CmpS = "Cmp-S",
        /// The host alone may have the block (S2M NDR).
        CmpE = "Cmp-E",
        /// The device reads a block of its own that the host has changed (S2M BISnp).
        BiSnpData = "BISnpData",
        /// The device takes the host's copies of a block of its own away (S2M BISnp).
        BiSnpInv = "BISnpInv",
        /// The host has no copy any more (M2S BIRsp).
        BiRspI = "BIRspI",
        /// The host keeps shared copies at most (M2S BIRsp).
        BiRspS = "BIRspS",
    }
}

impl Opcode {
    /// What a device's transaction becomes: a request of its cache, or one that its cache serves for
    /// engines that keep no copies. A read of one block to keep is RdAny and not RdShared, because the
    /// tables of the host's directory say whether the copy is exclusive. Clean copies go silently, as those of
    /// the host's caches do (no CleanEvict).
    pub fn of(kind: Kind, is_whole: bool) -> Self {
        match kind {
            Kind::ReadOnce => Opcode::RdCurr,
            Kind::Read => Opcode::RdAny,
            Kind::ReadExclusive => Opcode::RdOwn,
            Kind::Upgrade | Kind::Invalidate => Opcode::RdOwnNoData,
            Kind::WriteBlock if is_whole => Opcode::ItoMWr,
            Kind::WriteBlock => Opcode::WrInv,
            Kind::WriteBack => Opcode::DirtyEvict,
            _ => unreachable!("a device accesses no registers over its link: {kind:?}"),
        }
    }

    /// What a device's transaction on a block becomes of which it is the home: a snoop of the host's caches. The
    /// device's memory is the bytes' only place outside of caches, so it does not write them home.
    pub fn of_home(kind: Kind) -> Self {
        match kind {
            Kind::Read | Kind::ReadOnce => Opcode::BiSnpData,
            Kind::ReadExclusive | Kind::Upgrade | Kind::Invalidate => Opcode::BiSnpInv,
            _ => unreachable!("a home writes its blocks where they are: {kind:?}"),
        }
    }

    /// What a home behind the link is asked because of a transaction of the host.
    pub fn of_host(kind: Kind) -> Self {
        match kind {
            Kind::Read => Opcode::MemRdData,
            Kind::ReadExclusive | Kind::ReadOnce => Opcode::ReqMemRd,
            Kind::WriteBack => Opcode::RwdMemWr,
            _ => Opcode::MemInv,
        }
    }

    /// The completion of such a request.
    pub(super) fn of_completion(kind: Kind) -> Self {
        match kind {
            Kind::Read => Opcode::CmpS,
            Kind::ReadOnce | Kind::WriteBack => Opcode::Cmp,
            _ => Opcode::CmpE,
        }
    }

    /// Whether it is a snoop of a home behind the link.
    pub fn is_back_invalidation(self) -> bool {
        matches!(self, Opcode::BiSnpData | Opcode::BiSnpInv)
    }

    /// What any transaction becomes that crosses the link, by its first block: an access or a request. `home` is
    /// the device's port whose block it is, if it is on such a one.
    pub(super) fn of_transaction(transaction: &Transaction, block_bytes: u32, home: Option<AgentId>) -> Self {
        let &Transaction { agent, kind, address, size, .. } = transaction;
        let block_bytes = u64::from(block_bytes);
        match kind {
            kind if kind.is_uncached() && kind.is_posted() => Opcode::MemWr,
            kind if kind.is_uncached() => Opcode::MemRd,
            kind if home == Some(agent) => Opcode::of_home(kind),
            kind if home.is_some() => Opcode::of_host(kind),
            kind => Opcode::of(kind, address % block_bytes == 0 && u64::from(size) >= block_bytes),
        }
    }

    /// What the host's directory is asked for a request; none if the bytes are asked for first.
    pub fn asks(self, kind: Kind) -> Option<Kind> {
        match self {
            Opcode::ItoMWr => Some(Kind::Invalidate),
            Opcode::WrInv => Some(Kind::ReadExclusive),
            Opcode::DirtyEvict => None,
            _ => Some(kind),
        }
    }

    /// Whether the host pulls the bytes of such a request.
    pub fn is_pulled(self) -> bool {
        matches!(self, Opcode::ItoMWr | Opcode::WrInv | Opcode::DirtyEvict)
    }

    /// The snoop that tells a device of another agent's transaction.
    pub(super) fn of_snoop(kind: Kind) -> Self {
        match kind {
            Kind::ReadOnce => Opcode::SnpCur,
            Kind::Read => Opcode::SnpData,
            _ => Opcode::SnpInv,
        }
    }

    /// The answer to a snoop.
    fn of_reply(kind: Kind, Snooped { supplies, shares, .. }: Snooped) -> Self {
        match (Self::of_snoop(kind), supplies.is_some()) {
            (Opcode::SnpCur, true) => Opcode::RspVFwdV,
            (Opcode::SnpData, true) => Opcode::RspSFwdM,
            (_, true) => Opcode::RspIFwdM,
            (_, false) if shares => Opcode::RspSHitSE,
            (_, false) => Opcode::RspIHit,
        }
    }
}

/// The virtual channels of a link with credits. Accesses to registers and their answers need none: stores
/// have buffers of their own, and of a processor one load is under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Channel {
    /// Requests to a home.
    Request,
    /// What a home asks of caches.
    Forward,
    /// Answers, and blocks that return.
    Response,
}

/// A direction of the link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Way {
    /// From the host to the device: H2D.
    Down,
    /// From the device to the host: D2H.
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

/// What the host does to a register, or to a block of a device, from when on it is at the link.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct Crossing {
    /// What crosses.
    pub transaction: Transaction,
    /// From when on.
    pub since: Time,
}

impl Brings for Crossing {
    fn access(&self) -> &Transaction {
        &self.transaction
    }
}

/// A message.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub enum Message {
    /// A store to a device or a load from one.
    Access(Crossing),
    /// The answer to a load.
    Answer(Crossing, Response),
    /// A request of a device.
    Request(Request),
    /// A request of a device with its bytes, and where they are in its block.
    Push(Request, Range<u32>, Slot),
    /// The bytes of the request with this number, and where they are in its block; none if the block has gone
    /// to another agent meanwhile (a bogus write-back).
    Data(u8, Range<u32>, Option<Slot>),
    /// What a device answers to what the directory has forwarded.
    Reply(AgentId, Carried, Snooped),
    /// The port of a device that is a home is asked because of a transaction of the host.
    AskHome(AgentId, Crossing),
    /// A block of such a port returns.
    ReturnHome(AgentId, Transaction, Slot),
    /// What such a port completes: beside its answer, or of a write.
    Completion(Opcode),
    /// Its answer, with the bytes if they were asked for.
    HomeAnswer(Crossing, Option<Slot>),
    /// The request with this number is granted: the bytes, and whether others keep a copy. Those of a home's
    /// own block have returned before.
    Go(Request, Option<Slot>, bool),
    /// The same, and its bytes may come.
    GoWritePull(Request),
    /// What the directory forwards to a device.
    Snoop(AgentId, Carried),
}

/// A device's answer to a snoop: the bytes that it supplies, whether memory takes them, whether a copy stays.
#[derive(Clone, Copy, Hash, Debug, Serialize, Deserialize)]
pub struct Snooped {
    /// The bytes that it supplies.
    pub supplies: Option<Slot>,
    /// Whether memory takes them.
    pub updates_home: bool,
    /// Whether a copy stays.
    pub shares: bool,
}

impl Message {
    /// Its name.
    pub fn opcode(&self) -> Opcode {
        match self {
            Message::Access(crossing) => Opcode::of_transaction(&crossing.transaction, 1, None),
            Message::Answer(..) => Opcode::CplD,
            Message::Request(request) | Message::Push(request, ..) => request.opcode,
            Message::Data(..) => Opcode::Data,
            Message::Reply(_, carried, snooped) => Opcode::of_reply(forwarded_kind(carried), *snooped),
            Message::AskHome(_, crossing) => Opcode::of_host(crossing.transaction.kind),
            Message::ReturnHome(..) => Opcode::RwdMemWr,
            &Message::Completion(opcode) => opcode,
            Message::HomeAnswer(_, Some(_)) => Opcode::MemData,
            Message::HomeAnswer(crossing, None) => Opcode::of_completion(crossing.transaction.kind),
            Message::Go(request, ..) if request.opcode == Opcode::BiSnpData => Opcode::BiRspS,
            Message::Go(request, ..) if request.opcode == Opcode::BiSnpInv => Opcode::BiRspI,
            Message::Go(request, ..) if request.opcode == Opcode::RdCurr => Opcode::ReadData,
            Message::Go(..) => Opcode::Go,
            Message::GoWritePull(_) => Opcode::GoWritePull,
            Message::Snoop(_, carried) => Opcode::of_snoop(forwarded_kind(carried)),
        }
    }

    /// The virtual channel of a device's request.
    pub(super) fn channel_of(request: Request) -> Channel {
        match request.opcode.is_back_invalidation() {
            true => Channel::Forward,
            false => Channel::Request,
        }
    }

    /// Its virtual channel; none of what needs no credits.
    pub(super) fn channel(&self) -> Option<Channel> {
        match self {
            Message::Access(_) | Message::Answer(..) => None,
            Message::Push(request, ..) if request.opcode == Opcode::DirtyEvict => Some(Channel::Response),
            &Message::Request(request) | &Message::Push(request, ..) => Some(Self::channel_of(request)),
            Message::AskHome(..) => Some(Channel::Request),
            Message::Snoop(..) => Some(Channel::Forward),
            _ => Some(Channel::Response),
        }
    }

    /// The block that it is about, where it says one.
    pub(super) fn block(&self) -> Option<u64> {
        match self {
            Message::Access(_) | Message::Answer(..) | Message::Data(..) | Message::Completion(_) => None,
            Message::Request(request)
            | Message::Push(request, ..)
            | Message::Go(request, ..)
            | Message::GoWritePull(request) => Some(request.block),
            Message::Reply(_, carried, _) | Message::Snoop(_, carried) => Some(carried.message.block),
            Message::AskHome(_, crossing) | Message::HomeAnswer(crossing, _) => {
                Some(crossing.transaction.address)
            }
            Message::ReturnHome(_, transaction, _) => Some(transaction.address),
        }
    }

    /// What an observer sees of it.
    pub(super) fn on_wires(
        &self,
        name: &'static str,
        way: Way,
        taken: (Time, Time),
        wires: &Wires,
    ) -> LinkPacket {
        let (address, tag) = match self {
            Message::Access(crossing)
            | Message::Answer(crossing, _)
            | Message::AskHome(_, crossing)
            | Message::HomeAnswer(crossing, _) => (Some(crossing.transaction.address), None),
            Message::ReturnHome(_, transaction, _) => (Some(transaction.address), None),
            Message::Completion(_) => (None, None),
            Message::Request(request)
            | Message::Push(request, ..)
            | Message::Go(request, ..)
            | Message::GoWritePull(request) => (Some(request.block), Some(request.number.into())),
            Message::Data(number, ..) => (None, Some((*number).into())),
            Message::Reply(_, carried, _) | Message::Snoop(_, carried) => (Some(carried.message.block), None),
        };
        LinkPacket {
            is_down: way == Way::Down,
            name,
            wires: taken,
            arrival: taken.1 + wires.latency,
            data_bytes: self.data_bytes(wires.block_bytes),
            address,
            tag,
        }
    }

    /// Bytes of data that it carries. A part of a block counts as the whole of it, whose slots it takes.
    pub fn data_bytes(&self, block_bytes: u32) -> u32 {
        match self {
            Message::Access(Crossing { transaction, .. }) if !transaction.kind.is_posted() => 0,
            Message::Access(Crossing { transaction, .. })
            | Message::Answer(Crossing { transaction, .. }, _) => {
                u32::from(transaction.size).next_multiple_of(4).max(4)
            }
            Message::Push(..)
            | Message::Data(_, _, Some(_))
            | Message::Go(_, Some(_), _)
            | Message::ReturnHome(..)
            | Message::HomeAnswer(_, Some(_))
            | Message::Reply(_, _, Snooped { supplies: Some(_), .. }) => block_bytes,
            _ => 0,
        }
    }

    /// The slots that it takes: of CXL.io as many as its packet has bytes for; of CXL.cache one for the
    /// headers, and those of its data.
    pub fn slots(&self, block_bytes: u32) -> u32 {
        let data = self.data_bytes(block_bytes);
        let bytes = match self {
            Message::Access(_) => REQUEST_BYTES,
            Message::Answer(..) => COMPLETION_BYTES,
            _ => SLOT_BYTES,
        };
        (bytes + data).div_ceil(SLOT_BYTES)
    }
}

/// What another agent does, of which the directory tells.
pub(super) fn forwarded_kind(carried: &Carried) -> Kind {
    match carried.message.body {
        Body::Forward { kind, .. } => kind,
        body => unreachable!("a '{}' is no forward", body.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transaction_of_a_device_has_a_message() {
        let names = [
            (Kind::ReadOnce, "RdCurr", Some(Kind::ReadOnce)),
            (Kind::Read, "RdAny", Some(Kind::Read)),
            (Kind::ReadExclusive, "RdOwn", Some(Kind::ReadExclusive)),
            (Kind::Upgrade, "RdOwnNoData", Some(Kind::Upgrade)),
            (Kind::Invalidate, "RdOwnNoData", Some(Kind::Invalidate)),
            (Kind::WriteBlock, "ItoMWr", Some(Kind::Invalidate)),
            (Kind::WriteBack, "DirtyEvict", None),
        ];
        for (kind, name, asks) in names {
            let opcode = Opcode::of(kind, true);
            assert_eq!((opcode.as_str(), opcode.asks(kind)), (name, asks), "{kind:?}");
        }
        assert_eq!(Opcode::of(Kind::WriteBlock, false), Opcode::WrInv);
    }

    #[test]
    fn what_the_host_does_to_a_block_of_a_device_is_a_request_and_a_completion() {
        for (kind, request, completion) in [
            (Kind::Read, "MemRdData", "Cmp-S"),
            (Kind::ReadOnce, "Req MemRd", "Cmp"),
            (Kind::ReadExclusive, "Req MemRd", "Cmp-E"),
            (Kind::Upgrade, "MemInv", "Cmp-E"),
            (Kind::WriteBlock, "MemInv", "Cmp-E"),
            (Kind::WriteBack, "RwD MemWr", "Cmp"),
        ] {
            let names = [Opcode::of_host(kind), Opcode::of_completion(kind)].map(Opcode::as_str);
            assert_eq!(names, [request, completion], "{kind:?}");
        }
        let own = [Kind::Read, Kind::Invalidate, Kind::Upgrade].map(|kind| Opcode::of_home(kind).as_str());
        assert_eq!(own, ["BISnpData", "BISnpInv", "BISnpInv"]);
    }
}
