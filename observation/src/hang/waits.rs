//! What each process waits for, and for whom.

use narthex_fabrics::Rank;
use narthex_fabrics::flow_control::{Limit, Outstanding};
use narthex_machine::activity::Activity;
use narthex_machine::node::stuck::{Awaited, StuckNode, StuckProcess, StuckThread};

use super::packets::Account;
use super::text::is_library;

/// What a process that gets nowhere waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// Room for one more packet.
    Room,
    /// A message, or the interrupt that tells of one.
    Message,
    /// An answer to a memory access that will not come.
    Memory,
    /// Another thread: all of its threads sleep.
    Thread,
    /// Nothing that the machine knows: its program turns in a loop of its own.
    Own,
    /// Nothing: its program has ended.
    Ended,
}

impl What {
    /// Its name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            What::Room => "room to send",
            What::Message => "a message",
            What::Memory => "a memory access",
            What::Thread => "another thread",
            What::Own => "nothing that the machine knows",
            What::Ended => "nothing: it has ended",
        }
    }
}

/// That a process waits for another, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// For whom.
    pub to: Rank,
    /// Why, in a clause.
    pub why: String,
}

/// What a process waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Who waits.
    pub who: Rank,
    /// For what.
    pub what: What,
    /// What there is to say about that besides the links; may be empty.
    pub detail: String,
    /// For whom it is known to wait.
    pub links: Vec<Link>,
}

/// What the processes wait for, by rank.
pub fn of(nodes: &[StuckNode]) -> Vec<Wait> {
    let of_node = |node| {
        let node: &StuckNode = node;
        node.processes.iter().map(move |process| wait(nodes, node, process))
    };
    nodes.iter().flat_map(of_node).collect()
}

fn wait(nodes: &[StuckNode], node: &StuckNode, process: &StuckProcess) -> Wait {
    let what = what(node, process);
    let (detail, links) = match what {
        What::Room => room(nodes, node, process),
        What::Message => message(nodes, process),
        What::Memory => {
            let access = || process.threads[0].access.clone();
            (refusal(node, process).or_else(access).unwrap_or_default(), Vec::new())
        }
        What::Thread => (all_asleep(process), Vec::new()),
        What::Own | What::Ended => (untaken(node, process), Vec::new()),
    };
    Wait { who: process.rank, what, detail, links }
}

fn what(node: &StuckNode, process: &StuckProcess) -> What {
    if process.ended.is_some() {
        return What::Ended;
    }
    // A thread that executes comes first.
    let thread = &process.threads[0];
    if thread.is_unanswered || refusal(node, process).is_some() {
        return What::Memory;
    }
    if thread.is_asleep {
        let awaits_interrupt = process.threads.iter().any(|thread| thread.awaits_interrupt);
        return if awaits_interrupt { What::Message } else { What::Thread };
    }
    if thread.is_blocked {
        return What::Room;
    }
    match thread.activity {
        Activity::WaitToSend | Activity::Buffering => What::Room,
        Activity::Application | Activity::Send if thread.is_polling => What::Message,
        Activity::Application | Activity::Send if !process.has_room || asks_for_room(thread) => What::Room,
        Activity::Application
        | Activity::Send
        | Activity::Firmware(_)
        | Activity::Exited
        | Activity::Idle => What::Own,
        Activity::Poll | Activity::Receive | Activity::Synchronisation | Activity::SharedMemory => {
            What::Message
        }
    }
}

/// Whether a thread is where a driver of the messaging library asks for room, which it may lack though the interface
/// has some: it looks only now and then (lazy pointers), or its load of the answer is held.
fn asks_for_room(thread: &StuckThread) -> bool {
    thread.calls.first().is_some_and(|call| call.function.as_deref() == Some("has_room") && is_library(call))
}

/// That no thread is left that could wake the others.
fn all_asleep(process: &StuckProcess) -> String {
    match &process.threads[..] {
        [one] => one.access.clone().unwrap_or_default(),
        all => format!("all {} threads sleep, and none is left that could wake another", all.len()),
    }
}

/// Who refuses a transaction of a process's processor, in a clause.
fn refusal(node: &StuckNode, process: &StuckProcess) -> Option<String> {
    let own = node.refused.iter().find(|refused| refused.rank == Some(process.rank))?;
    Some(format!("{} was refused {} times by {}, and is tried again", own.what, own.times, own.by))
}

/// Packets that have arrived for a process and that its program does not take.
fn untaken(node: &StuckNode, process: &StuckProcess) -> String {
    let here = node.flow.arrived.iter().filter(|one| one.destination == process.rank);
    let buffered: u32 = here.map(|one| one.packets).sum();
    // A FIFO shows the packets in the flow control's buffers; a queue has its own.
    let queue = &process.receive;
    let queued = if queue.entries.is_some() { queue.used } else { 0 };
    match (queued + u64::from(buffered), queue.is_bound) {
        (0, _) => "nothing has arrived that it has not taken".into(),
        (1, false) => "1 packet has arrived that it does not take".into(),
        (count, false) => format!("{count} packets have arrived that it does not take"),
        (1, true) => "1 packet may have arrived that it does not take".into(),
        (most, true) => format!("at most {most} packets may have arrived that it does not take"),
    }
}

/// Who keeps the room that a sender needs.
fn room(nodes: &[StuckNode], node: &StuckNode, process: &StuckProcess) -> (String, Vec<Link>) {
    let own = |one: &&Outstanding| one.source == process.rank;
    let mut all: Vec<Outstanding> = node.flow.outstanding.iter().filter(own).copied().collect();
    if let (Limit::Window(window) | Limit::Kept(window), Some(held)) =
        (node.flow.limit, process.send.held_for)
    {
        all.retain(|one| one.destination == held && one.packets >= window);
    } else if all.is_empty() {
        // Buffers are shared: another process of the node may hold them all.
        all.clone_from(&node.flow.outstanding);
    }
    let mut links: Vec<Link> = all.iter().map(|one| room_link(nodes, node, one)).collect();
    if node.flow.limit == Limit::None {
        links = held_links(node);
    }
    let detail = match process.send.is_full() {
        true => format!("all {} entries of its {} are in use", process.send.used, process.send.name),
        false => String::new(),
    };
    (detail, links)
}

/// For whom the packets are that fill the link of a node without flow control.
fn held_links(node: &StuckNode) -> Vec<Link> {
    let mut destinations: Vec<Rank> = node.held.iter().map(|held| held.frame.destination).collect();
    destinations.sort_unstable();
    destinations.dedup();
    let link = |to: Rank| {
        let count = node.held.iter().filter(|held| held.frame.destination == to).count();
        let packets =
            if count == 1 { "1 packet to it waits".into() } else { format!("{count} packets to it wait") };
        Link { to, why: format!("{packets} in the network") }
    };
    destinations.into_iter().map(link).collect()
}

fn room_link(nodes: &[StuckNode], node: &StuckNode, one: &Outstanding) -> Link {
    let &Outstanding { source, destination, packets, .. } = one;
    let to = node.flow.placement.name(destination);
    let held = match node.flow.limit {
        Limit::Buffers(None) if packets == 1 => "1 packet to it is unacknowledged".into(),
        Limit::Buffers(None) => format!("{packets} packets to it are unacknowledged"),
        Limit::Buffers(Some(buffers)) => {
            format!("{packets} of {buffers} outgoing buffers hold packets to it")
        }
        Limit::Window(window) | Limit::Kept(window) => {
            format!("{packets} of {window} packets of its window are unacknowledged")
        }
        Limit::None => unreachable!("nothing is unacknowledged where nothing is acknowledged"),
    };
    let account = Account::of(nodes, source, destination);
    let why = [held].into_iter().chain(whereabouts(&account, &to)).collect::<Vec<_>>().join("; ");
    Link { to: destination, why }
}

/// Where packets to a process are, in clauses; nothing if there are none.
fn whereabouts(account: &Account, to: &str) -> Option<String> {
    let many = |count, one: &str, more: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {more}")),
    };
    let clauses = [
        many(
            account.refused(),
            "is refused by {to}, which has no free buffer, and sent again and again",
            "are refused by {to}, which has no free buffer, and sent again and again",
        ),
        many(account.untaken, "waits at {to} to be taken", "wait at {to} to be taken"),
        many(
            account.acknowledged,
            "was accepted, and its acknowledgement is on its way",
            "were accepted, and their acknowledgements are on their way",
        ),
        many(account.lost, "was lost on its way", "were lost on their way"),
        many(
            account.unacknowledged,
            "was accepted, but its acknowledgement was lost",
            "were accepted, but their acknowledgements were lost",
        ),
        many(
            account.repeated,
            "is sent again and again until {to} takes it",
            "are sent again and again until {to} takes them",
        ),
    ];
    let clauses: Vec<String> =
        clauses.into_iter().flatten().map(|clause| clause.replace("{to}", to)).collect();
    (!clauses.is_empty()).then(|| clauses.join(", "))
}

/// Whom a process awaits in the library's barrier or channels, or in MPI; what it awaits if that is
/// nobody in particular.
fn library_link(process: &StuckProcess) -> (String, Vec<Link>) {
    let (to, why) = match &process.awaited {
        None => {
            let nothing = "no message is on its way to it, and who should send one is not known";
            return (nothing.to_owned(), Vec::new());
        }
        Some(Awaited::Mpi { to: Some(to), why }) => (*to, why.clone()),
        Some(Awaited::Mpi { to: None, why }) => return (why.clone(), Vec::new()),
        Some(Awaited::Barrier { from, barrier }) => {
            (*from, format!("its message of barrier {barrier} has not come"))
        }
        Some(Awaited::Transfer { from, channel }) => {
            (*from, format!("its next transfer on channel {channel} has not come"))
        }
        Some(Awaited::Release { from, channel }) => {
            (*from, format!("it has not released a transfer on channel {channel}"))
        }
    };
    (String::new(), vec![Link { to, why }])
}

/// Whose packets do not come to a process that waits for a message.
fn message(nodes: &[StuckNode], process: &StuckProcess) -> (String, Vec<Link>) {
    let own = process.rank;
    let sent = nodes.iter().flat_map(|node| node.flow.outstanding.iter().map(move |one| (node, one)));
    let links: Vec<Link> = sent
        .filter(|(_, one)| one.destination == own)
        .filter_map(|(node, one)| {
            let account = Account::of(nodes, one.source, own);
            let to = node.flow.placement.name(own);
            let what = match account.not_come() {
                0 => return None,
                1 => "1 packet".to_owned(),
                count => format!("{count} packets"),
            };
            let (from, where_) = (node.flow.placement.name(one.source), whereabouts(&account, &to)?);
            let why = format!("{what} from {from} did not come: {where_}");
            Some(Link { to: one.source, why })
        })
        .collect();
    if links.is_empty() { library_link(process) } else { (String::new(), links) }
}
