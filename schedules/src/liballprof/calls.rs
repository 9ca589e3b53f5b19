//! The calls that a trace may have, with their arguments.

use crate::{Problem, allowed};

/// What a call does to the schedule.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Call {
    Init,
    Finalize,
    Send(Return),
    Receive(Return),
    SendAndReceive,
    Wait,
    WaitAll,
    Forget,
    Collective(Collective, Return),
    /// It is known and cannot be read; why.
    Untold(&'static str),
}

/// When a call returns.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Return {
    /// When it is over.
    AtEnd,
    /// At once; its request is waited for.
    AtOnce,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Collective {
    Barrier,
    Broadcast,
    Reduce,
    AllReduce,
    Gather,
    GatherCounts,
    Scatter,
    ScatterCounts,
    AllGather,
    AllGatherCounts,
    AllToAll,
    AllToAllCounts,
    ReduceScatterBlock,
}

use Call::{Receive, Send, Untold};
use Collective as Of;
use Return::{AtEnd, AtOnce};

impl Call {
    fn returns_at_once(self) -> bool {
        matches!(self, Send(AtOnce) | Receive(AtOnce) | Call::Collective(_, AtOnce))
    }

    /// The names of its arguments, of which the table has these.
    pub(super) fn arguments(self, listed: &'static str) -> impl Iterator<Item = &'static str> {
        listed.split_whitespace().chain(self.returns_at_once().then_some("request"))
    }
}

const MESSAGE: &str = "buffer count type peer tag comm";
const EXCHANGE: &str =
    "buffer count type to send_tag receive_buffer receive_count receive_type from receive_tag comm status";
const REPLACE: &str = "buffer count type to send_tag from receive_tag comm status";
const BROADCAST: &str = "buffer count type root comm";
const REDUCE: &str = "send_buffer receive_buffer count type operation root comm";
const ALL_REDUCE: &str = "send_buffer receive_buffer count type operation comm";
const GATHER: &str = "send_buffer send_count send_type receive_buffer receive_count receive_type root comm";
const ALL_GATHER: &str = "send_buffer send_count send_type receive_buffer receive_count receive_type comm";
const GATHER_COUNTS: &str = "send_buffer send_count send_type receive_buffer receive_array receive_counts \
    displacement_array displacements receive_type root comm";
const SCATTER_COUNTS: &str = "send_buffer send_array send_counts displacement_array displacements send_type \
    receive_buffer receive_count receive_type root comm";
const ALL_GATHER_COUNTS: &str = "send_buffer send_count send_type receive_buffer receive_array receive_counts \
    displacement_array displacements receive_type comm";
const ALL_TO_ALL_COUNTS: &str = "send_buffer send_array send_counts send_displacement_array send_displacements \
    send_type receive_buffer receive_array receive_counts receive_displacement_array receive_displacements \
    receive_type comm";

const WHICH: &str = "which of its requests is over is not in the trace";
const PERSISTENT: &str = "persistent requests are not read";
const ONE_SIDED: &str = "one-sided transfers are not read";
const NO_COUNTS: &str = "its counts are not in the trace";
const PREFIX: &str = "prefix sums are not read";

/// The calls with their arguments; those that return at once have their request behind these.
pub(super) const CALLS: [(&str, Call, &str); 58] = [
    ("MPI_Init", Call::Init, "argc argv"),
    ("MPI_Init_thread", Call::Init, "argc argv required provided"),
    ("MPI_Finalize", Call::Finalize, ""),
    ("MPI_Send", Send(AtEnd), MESSAGE),
    ("MPI_Ssend", Send(AtEnd), MESSAGE),
    ("MPI_Rsend", Send(AtEnd), MESSAGE),
    ("MPI_Bsend", Send(AtEnd), MESSAGE),
    ("MPI_Isend", Send(AtOnce), MESSAGE),
    ("MPI_Issend", Send(AtOnce), MESSAGE),
    ("MPI_Irsend", Send(AtOnce), MESSAGE),
    ("MPI_Ibsend", Send(AtOnce), MESSAGE),
    ("MPI_Recv", Receive(AtEnd), "buffer count type peer tag comm status"),
    ("MPI_Irecv", Receive(AtOnce), MESSAGE),
    ("MPI_Sendrecv", Call::SendAndReceive, EXCHANGE),
    ("MPI_Sendrecv_replace", Call::SendAndReceive, REPLACE),
    ("MPI_Wait", Call::Wait, "request status"),
    ("MPI_Waitall", Call::WaitAll, "count request statuses"),
    ("MPI_Request_free", Call::Forget, "request"),
    ("MPI_Barrier", Call::Collective(Of::Barrier, AtEnd), "comm"),
    ("MPI_Ibarrier", Call::Collective(Of::Barrier, AtOnce), "comm"),
    ("MPI_Bcast", Call::Collective(Of::Broadcast, AtEnd), BROADCAST),
    ("MPI_Ibcast", Call::Collective(Of::Broadcast, AtOnce), BROADCAST),
    ("MPI_Reduce", Call::Collective(Of::Reduce, AtEnd), REDUCE),
    ("MPI_Ireduce", Call::Collective(Of::Reduce, AtOnce), REDUCE),
    ("MPI_Allreduce", Call::Collective(Of::AllReduce, AtEnd), ALL_REDUCE),
    ("MPI_Iallreduce", Call::Collective(Of::AllReduce, AtOnce), ALL_REDUCE),
    ("MPI_Reduce_scatter_block", Call::Collective(Of::ReduceScatterBlock, AtEnd), ALL_REDUCE),
    ("MPI_Gather", Call::Collective(Of::Gather, AtEnd), GATHER),
    ("MPI_Igather", Call::Collective(Of::Gather, AtOnce), GATHER),
    ("MPI_Gatherv", Call::Collective(Of::GatherCounts, AtEnd), GATHER_COUNTS),
    ("MPI_Scatter", Call::Collective(Of::Scatter, AtEnd), GATHER),
    ("MPI_Iscatter", Call::Collective(Of::Scatter, AtOnce), GATHER),
    ("MPI_Scatterv", Call::Collective(Of::ScatterCounts, AtEnd), SCATTER_COUNTS),
    ("MPI_Allgather", Call::Collective(Of::AllGather, AtEnd), ALL_GATHER),
    ("MPI_Iallgather", Call::Collective(Of::AllGather, AtOnce), ALL_GATHER),
    ("MPI_Allgatherv", Call::Collective(Of::AllGatherCounts, AtEnd), ALL_GATHER_COUNTS),
    ("MPI_Alltoall", Call::Collective(Of::AllToAll, AtEnd), ALL_GATHER),
    ("MPI_Ialltoall", Call::Collective(Of::AllToAll, AtOnce), ALL_GATHER),
    ("MPI_Alltoallv", Call::Collective(Of::AllToAllCounts, AtEnd), ALL_TO_ALL_COUNTS),
    ("MPI_Waitany", Untold(WHICH), ""),
    ("MPI_Waitsome", Untold(WHICH), ""),
    ("MPI_Send_init", Untold(PERSISTENT), ""),
    ("MPI_Recv_init", Untold(PERSISTENT), ""),
    ("MPI_Start", Untold(PERSISTENT), ""),
    ("MPI_Startall", Untold(PERSISTENT), ""),
    ("MPI_Put", Untold(ONE_SIDED), ""),
    ("MPI_Get", Untold(ONE_SIDED), ""),
    ("MPI_Accumulate", Untold(ONE_SIDED), ""),
    ("MPI_Win_fence", Untold(ONE_SIDED), ""),
    ("MPI_Win_lock", Untold(ONE_SIDED), ""),
    ("MPI_Win_unlock", Untold(ONE_SIDED), ""),
    ("MPI_Reduce_scatter", Untold(NO_COUNTS), ""),
    ("MPI_Alltoallw", Untold(NO_COUNTS), ""),
    ("MPI_Igatherv", Untold(NO_COUNTS), ""),
    ("MPI_Iscatterv", Untold(NO_COUNTS), ""),
    ("MPI_Iallgatherv", Untold(NO_COUNTS), ""),
    ("MPI_Scan", Untold(PREFIX), ""),
    ("MPI_Exscan", Untold(PREFIX), ""),
];

/// Calls that send nothing and wait for nothing.
const LOCAL: [&str; 23] = [
    "MPI_Initialized",
    "MPI_Finalized",
    "MPI_Wtime",
    "MPI_Wtick",
    "MPI_Test",
    "MPI_Testall",
    "MPI_Testany",
    "MPI_Testsome",
    "MPI_Test_cancelled",
    "MPI_Iprobe",
    "MPI_Probe",
    "MPI_Address",
    "MPI_Pack",
    "MPI_Unpack",
    "MPI_Pack_size",
    "MPI_Buffer_attach",
    "MPI_Buffer_detach",
    "MPI_Dims_create",
    "MPI_Topo_test",
    "MPI_Cartdim_get",
    "MPI_Query_thread",
    "MPI_Error_string",
    "MPI_Error_class",
];

/// Families of such calls. Communicators are made with the time that it took, without messages.
const LOCAL_FAMILIES: [&str; 11] = [
    "MPI_Comm_",
    "MPI_Type_",
    "MPI_Group_",
    "MPI_Op_",
    "MPI_Get_",
    "MPI_Cart_",
    "MPI_Graph_",
    "MPI_Info_",
    "MPI_Errhandler_",
    "MPI_Attr_",
    "MPI_Keyval_",
];

/// A call that is not in the schedule.
pub(super) fn local(name: &str) -> Result<(), Problem> {
    if LOCAL.contains(&name) || LOCAL_FAMILIES.iter().any(|family| name.starts_with(family)) {
        return Ok(());
    }
    let readable = CALLS.iter().filter(|(_, call, _)| !matches!(call, Untold(_))).map(|(known, ..)| *known);
    let known: Vec<&str> = readable.collect();
    Err(Problem::new(format!("'{name}' is no call that is read; {}", allowed(name, &known))))
}
