//! One block on a few nodes, and the messages between them.
//!
//! Node 0 is the home. The network keeps no order: the messages in it are a
//! multiset, each of which may arrive next. Data are reduced to "the last
//! version or not", of every copy and of every message that carries the block.

use std::fmt;

use super::table::{Event, Rest, Side, StateNumber, Table, Tag};
use crate::explore::Violation;

/// The home of the block.
pub const HOME: u8 = 0;

pub const ONE_WRITER: &str = "one node may write the block and no other read it, or any number may read it";
pub const READS_LAST: &str = "every load reads the last value stored, every store changes the last version";
pub const AGREES: &str = "when nothing is under way, the directory knows just who has a copy";

/// An access of a node's program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Access {
    Load,
    Store,
}

impl Access {
    /// The tag that it needs.
    pub fn needs(self) -> Tag {
        match self {
            Access::Load => Tag::Read,
            Access::Store => Tag::Write,
        }
    }

    /// What it is to the protocol, if its tag forbids it.
    pub fn event(self) -> Event {
        match self {
            Access::Load => Event::Load,
            Access::Store => Event::Store,
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Load => "load",
            Access::Store => "store",
        })
    }
}

/// A message on its way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Message {
    pub kind: Event,
    pub from: u8,
    pub to: u8,
    /// If it carries the block: whether that is the last version.
    pub data: Option<bool>,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from node {} arrives at node {}", self.kind, self.from, self.to)
    }
}

/// A node and its copy.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    pub state: StateNumber,
    /// Whether its copy is the last version.
    pub is_last: bool,
    /// The access that its program waits for.
    pub wants: Option<Access>,
    /// The message that it holds.
    pub held: Option<Event>,
}

/// A request in the home's queue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct QueuedRequest {
    pub kind: Event,
    pub from: u8,
}

/// Everything that decides what can happen.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct World {
    pub nodes: Vec<Node>,
    /// In order, so that equal multisets are equal.
    pub messages: Vec<Message>,
    /// The directory: nodes with copies, one bit each; whose request is served;
    /// and the requests that wait.
    pub copies: u8,
    pub requester: u8,
    pub queue: Vec<QueuedRequest>,
}

/// Something that can happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transition {
    /// A node's program makes an access: at once if its tag allows it.
    Access(u8, Access),
    /// An access that waits becomes an event of a block at rest.
    Raise(u8),
    /// The message at this place arrives.
    Arrive(u8),
}

impl World {
    /// All zero, at the home.
    pub fn first(table: &Table, nodes: u8) -> World {
        let node = |number| Node {
            state: table.first_state(if number == HOME { Side::Home } else { Side::Cache }),
            is_last: number == HOME,
            wants: None,
            held: None,
        };
        World {
            nodes: (0..nodes).map(node).collect(),
            messages: Vec::new(),
            copies: 0,
            requester: HOME,
            queue: Vec::new(),
        }
    }

    /// What can happen next.
    pub fn transitions(&self, table: &Table) -> Vec<Transition> {
        let mut all = Vec::new();
        for number in 0..self.nodes.len() as u8 {
            match self.nodes[number as usize].wants {
                None => {
                    all.extend([Access::Load, Access::Store].map(|access| Transition::Access(number, access)))
                }
                Some(_) if self.rests(table, number) => all.push(Transition::Raise(number)),
                Some(_) => {}
            }
        }
        // Equal messages are neighbours; one of them is enough.
        let first_of_equals = |&place: &usize| place == 0 || self.messages[place] != self.messages[place - 1];
        let places = (0..self.messages.len()).filter(first_of_equals);
        all.extend(places.map(|place| Transition::Arrive(place as u8)));
        all
    }

    pub fn rests(&self, table: &Table, node: u8) -> bool {
        table.states[self.nodes[node as usize].state as usize].rest == Rest::Rests
    }

    pub fn tag(&self, table: &Table, node: u8) -> Tag {
        table.states[self.nodes[node as usize].state as usize].tag
    }

    pub fn has_copy(&self, node: u8) -> bool {
        self.copies >> node & 1 == 1
    }

    /// A node has stored: its copy alone is the last version.
    pub fn store(&mut self, node: u8) {
        for (number, other) in self.nodes.iter_mut().enumerate() {
            other.is_last = number == node as usize;
        }
        for message in &mut self.messages {
            message.data = message.data.map(|_| false);
        }
        self.messages.sort_unstable();
    }

    pub fn send(&mut self, message: Message) {
        let place = self.messages.partition_point(|other| *other <= message);
        self.messages.insert(place, message);
    }

    /// No message is under way, and no node waits for anything.
    pub fn is_quiet(&self) -> bool {
        self.messages.is_empty()
            && self.queue.is_empty()
            && self.nodes.iter().all(|node| node.wants.is_none() && node.held.is_none())
    }

    /// What holds in every state.
    pub fn check(&self, table: &Table) -> Result<(), Violation> {
        let tags: Vec<Tag> = (0..self.nodes.len() as u8).map(|node| self.tag(table, node)).collect();
        let with_access = tags.iter().filter(|&&tag| tag != Tag::None).count();
        if let Some(writer) = tags.iter().position(|&tag| tag == Tag::Write).filter(|_| with_access > 1) {
            let other = tags.iter().enumerate().find(|&(node, &tag)| node != writer && tag != Tag::None);
            let other = other.map_or(0, |(node, _)| node);
            let words = format!("node {writer} may write the block while node {other} has access to it");
            return Err(Violation { property: ONE_WRITER, words });
        }
        let readers = (0..tags.len()).filter(|&node| tags[node] != Tag::None);
        if let Some(node) = readers.into_iter().find(|&node| !self.nodes[node].is_last) {
            let words = format!("node {node} may read a copy that is not the last version");
            return Err(Violation { property: READS_LAST, words });
        }
        if self.is_quiet() { self.check_directory(table, &tags) } else { Ok(()) }
    }

    fn check_directory(&self, table: &Table, tags: &[Tag]) -> Result<(), Violation> {
        let disagrees = |words| Err(Violation { property: AGREES, words });
        for (node, &tag) in tags.iter().enumerate().skip(1) {
            let (knows, has) = (self.has_copy(node as u8), tag != Tag::None);
            if knows != has {
                let [knows, has] = [knows, has].map(|yes| if yes { "a" } else { "no" });
                return disagrees(format!(
                    "the directory knows of {knows} copy of node {node}, which has {has} copy"
                ));
            }
        }
        let waiting = (0..tags.len() as u8).find(|&node| !self.rests(table, node));
        match waiting {
            Some(node) => disagrees(format!("node {node} waits for an answer that nobody owes it")),
            None => Ok(()),
        }
    }

    /// In words.
    pub fn describe(&self, table: &Table) -> String {
        let mut words = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            let state = &table.states[node.state as usize].name;
            words.push(match node.wants {
                Some(access) => format!("node {number} is {state} and waits for its {access}"),
                None => format!("node {number} is {state}"),
            });
        }
        let sent = |message: &Message| format!("{} is under way to node {}", message.kind, message.to);
        words.extend(self.messages.iter().map(sent));
        let queued =
            |waiting: &QueuedRequest| format!("{} of node {} waits at the home", waiting.kind, waiting.from);
        words.extend(self.queue.iter().map(queued));
        words.join(", ")
    }
}
