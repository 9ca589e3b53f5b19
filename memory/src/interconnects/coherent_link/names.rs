//! The messages of a coherent link by name: one table.
//!
//! | one end | asks (request) | the home answers (response) |
//! | --- | --- | --- |
//! | read that keeps no copy | RLDT | PEMD |
//! | read | RLDD | PSHA; PEMD of the block alone |
//! | read to write | RLDX | PEMD |
//! | right to write | RC2D_S | PEMN |
//! | write of a block, of a part of it | RSTT, RSTP | PEMN |
//! | block that goes home | VICD, a response | |
//!
//! | the home | asks (forward) | a cache answers (response) |
//! | --- | --- | --- |
//! | block without its copy | FLDT_E | HAKD, HAKN |
//! | block that both may read | FLDRS_EH | HAKD, HAKN_S, HAKN |
//! | block that the home will write | FEVX_EH | VICDHI, HAKN |
//! | copies go | SINV_H | HAKN; VICDHI |
//!
//! Both tables serve both directions, as a block's home is the host or the device. The names are those of public
//! decoders of ECI's traces, in which a driver's control lines show as RLDD, PSHA, SINV_H and HAKD without data, or RC2D_S, PEMD without
//! data, FEVX_EH and VICDHI. A response without data has a name of its own here, as in older texts of the protocol (PEMN,
//! HAKN). Assumed: which answer a FLDT_E has, and that a SINV_H finds a changed block. IOBLD, IOBST and IOBRSP
//! are the names of ThunderX's I/O bridge.

use super::super::cxl::messages::{Message, Opcode};
use crate::kind::Kind;

narthex_kernel::categories! {
    /// Messages by name.
    pub enum Name {
        /// A load from a register.
        IoLoad = "IOBLD",
        /// A store to a register.
        IoStore = "IOBST",
        /// The answer to a load from a register.
        IoResponse = "IOBRSP",
        /// A read that leaves no copy.
        ReadOnce = "RLDT",
        /// A read that leaves a copy.
        Read = "RLDD",
        /// A read of a block that will be written.
        ReadExclusive = "RLDX",
        /// The right to write a block without its bytes.
        Upgrade = "RC2D_S",
        /// A write of a whole block that leaves no copy, with its bytes.
        WriteBlock = "RSTT",
        /// A write of a part of a block, with its bytes.
        WritePart = "RSTP",
        /// A changed block goes home.
        WriteBack = "VICD",
        /// A shared copy is granted, with its bytes.
        Shared = "PSHA",
        /// The block alone, or its bytes for a read that leaves no copy.
        Exclusive = "PEMD",
        /// A request is granted without bytes.
        Granted = "PEMN",
        /// The home reads a block and leaves its copies as they are.
        ForwardOnce = "FLDT_E",
        /// The home reads a block that others may keep.
        ForwardShared = "FLDRS_EH",
        /// The home takes a block from its owner.
        ForwardExclusive = "FEVX_EH",
        /// The home takes copies away.
        Invalidate = "SINV_H",
        /// A changed block comes, and the copy is gone.
        Returned = "VICDHI",
        /// A changed block comes, and a copy stays.
        Data = "HAKD",
        /// No bytes come, and a copy stays.
        AcknowledgedShared = "HAKN_S",
        /// No bytes come, and no copy is left.
        Acknowledged = "HAKN",
    }
}

impl Name {
    /// The name of a message.
    pub fn of(message: &Message) -> Self {
        match message {
            Message::Go(request, data, shared) if request.opcode.is_back_invalidation() => {
                Self::of_answer(request.kind, data.is_some(), *shared)
            }
            Message::Go(_, None, _) => Name::Granted,
            Message::Go(request, Some(_), true) if request.kind == Kind::Read => Name::Shared,
            Message::HomeAnswer(crossing, Some(_)) if crossing.transaction.kind == Kind::Read => Name::Shared,
            Message::Go(..) | Message::HomeAnswer(_, Some(_)) => Name::Exclusive,
            Message::HomeAnswer(_, None) => Name::Granted,
            Message::Request(request) => Self::of_request(request.opcode, request.kind),
            message => Self::of_opcode(message.opcode()),
        }
    }

    /// The name of a transaction's first message.
    pub fn of_request(opcode: Opcode, kind: Kind) -> Self {
        match opcode.is_back_invalidation() {
            true => Self::of_forward(kind),
            false => Self::of_opcode(opcode),
        }
    }

    /// A message that [`Opcode`] says all about.
    fn of_opcode(opcode: Opcode) -> Self {
        match opcode {
            Opcode::MemRd => Name::IoLoad,
            Opcode::MemWr => Name::IoStore,
            Opcode::CplD => Name::IoResponse,
            Opcode::RdCurr => Name::ReadOnce,
            Opcode::RdAny | Opcode::MemRdData => Name::Read,
            Opcode::RdOwn | Opcode::ReqMemRd => Name::ReadExclusive,
            Opcode::RdOwnNoData | Opcode::MemInv => Name::Upgrade,
            Opcode::ItoMWr => Name::WriteBlock,
            Opcode::WrInv => Name::WritePart,
            Opcode::DirtyEvict | Opcode::RwdMemWr => Name::WriteBack,
            Opcode::SnpCur => Name::ForwardOnce,
            Opcode::SnpData | Opcode::BiSnpData => Name::ForwardShared,
            Opcode::SnpInv | Opcode::BiSnpInv => Name::Invalidate,
            Opcode::RspIFwdM => Name::Returned,
            Opcode::RspSFwdM | Opcode::RspVFwdV => Name::Data,
            Opcode::RspSHitSE => Name::AcknowledgedShared,
            Opcode::RspIHit => Name::Acknowledged,
            other => unreachable!("{} is a message of CXL alone", other.as_str()),
        }
    }

    /// What a home asks of caches on the other side.
    fn of_forward(kind: Kind) -> Self {
        match kind {
            Kind::ReadOnce => Name::ForwardOnce,
            Kind::Read => Name::ForwardShared,
            Kind::ReadExclusive => Name::ForwardExclusive,
            _ => Name::Invalidate,
        }
    }

    /// The answer to that.
    fn of_answer(kind: Kind, has_data: bool, is_shared: bool) -> Self {
        match (kind, has_data) {
            (Kind::Read | Kind::ReadOnce, true) => Name::Data,
            (_, true) => Name::Returned,
            (_, false) if is_shared => Name::AcknowledgedShared,
            (_, false) => Name::Acknowledged,
        }
    }
}
