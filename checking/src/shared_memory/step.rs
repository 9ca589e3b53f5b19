//! What happens when the table is run: the same rules as in the guest library
//! (guest/shared_memory/invalidation.c), one to one.

use super::table::{Action, Event, Rest, Row, Side, Table, Tag};
use super::world::{Access, HOME, Message, QueuedRequest, Transition, World};
use crate::explore::Violation;

pub const NO_EXCLUDED: &str = "nothing happens in a state that has no row for it";
pub const SENDABLE: &str = "a block is sent by nodes that may read it, and taken from messages that carry it";
pub const ONE_ASKED: &str =
    "a block is asked back from the one node that has it, and one message is held at most";

/// One transition, and its story if there is one.
pub struct Step<'a> {
    pub table: &'a Table,
    pub world: World,
    pub story: Option<&'a mut String>,
}

/// An event at a node, with what came with it.
#[derive(Clone, Copy)]
struct Arrival {
    node: u8,
    event: Event,
    from: u8,
    data: Option<bool>,
}

impl Step<'_> {
    /// The world afterwards.
    pub fn run(mut self, transition: Transition) -> Result<World, Violation> {
        match transition {
            Transition::Access(node, access) => self.access(node, access)?,
            Transition::Raise(node) => self.raise(node)?,
            Transition::Arrive(place) => {
                let message = self.world.messages.remove(place.into());
                self.say(|| message.to_string());
                self.arrive(message)?;
                self.finish_access(message.to);
            }
        }
        self.world.check(self.table)?;
        Ok(self.world)
    }

    fn say(&mut self, words: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.push_str(&words());
        }
    }

    fn access(&mut self, node: u8, access: Access) -> Result<(), Violation> {
        self.say(|| format!("node {node} {access}s"));
        self.world.nodes[node as usize].wants = Some(access);
        if self.finish_access(node) {
            return Ok(());
        }
        if !self.world.rests(self.table, node) {
            self.say(|| ", and has to wait".into());
            return Ok(());
        }
        self.ask(node, access)
    }

    /// An access that waits becomes an event of the block, which is at rest.
    fn raise(&mut self, node: u8) -> Result<(), Violation> {
        let access = self.world.nodes[node as usize].wants.expect("only a waiting access is raised");
        self.say(|| format!("node {node} asks to {access}"));
        self.ask(node, access)
    }

    fn ask(&mut self, node: u8, access: Access) -> Result<(), Violation> {
        if node == HOME {
            self.world.requester = HOME;
        }
        self.row(Arrival { node, event: access.event(), from: node, data: None })?;
        self.finish_access(node);
        Ok(())
    }

    /// Makes the access that waits, if its tag allows it by now: before the next
    /// message arrives at this node.
    fn finish_access(&mut self, node: u8) -> bool {
        let tag = self.world.tag(self.table, node);
        let Some(access) = self.world.nodes[node as usize].wants.filter(|access| tag >= access.needs())
        else {
            return false;
        };
        self.say(|| format!("; its {access} is made"));
        self.world.nodes[node as usize].wants = None;
        if access == Access::Store && self.world.nodes[node as usize].is_last {
            self.world.store(node);
        }
        true
    }

    /// A message arrives: a request may have to wait, and the directory tells
    /// some messages apart.
    fn arrive(&mut self, message: Message) -> Result<(), Violation> {
        let Message { kind, from, to: node, data } = message;
        let mut arrival = Arrival { node, event: kind, from, data };
        if self.side(node) == Side::Home {
            match kind {
                Event::ReadRequest | Event::WriteRequest => {
                    if !self.world.rests(self.table, node) {
                        self.say(|| ", which has to wait".into());
                        self.world.queue.push(QueuedRequest { kind, from });
                        return Ok(());
                    }
                    self.world.requester = from;
                    if kind == Event::WriteRequest {
                        arrival.event = self.kind_of_write_request(from);
                    }
                }
                Event::Acknowledgement if !self.has_others(from, self.world.requester) => {
                    arrival.event = Event::LastAcknowledgement;
                }
                _ => {}
            }
        }
        self.row(arrival)
    }

    fn side(&self, node: u8) -> Side {
        self.table.states[self.world.nodes[node as usize].state as usize].side
    }

    fn has_others(&self, node: u8, another: u8) -> bool {
        self.world.copies & !(1 << node | 1 << another) != 0
    }

    fn kind_of_write_request(&self, from: u8) -> Event {
        match (self.world.has_copy(from), self.has_others(from, from)) {
            (false, _) => Event::WriteRequest,
            (true, true) => Event::Upgrade,
            (true, false) => Event::LoneUpgrade,
        }
    }

    /// Makes the step that the table has for this.
    fn row(&mut self, arrival: Arrival) -> Result<(), Violation> {
        let node = arrival.node as usize;
        let state = self.world.nodes[node].state;
        let Some(row) = self.table.row(state, arrival.event) else {
            let name = &self.table.states[state as usize].name;
            let words = format!("node {node} is {name}, which has no row for {}", arrival.event);
            return Err(Violation { property: NO_EXCLUDED, words });
        };
        self.tell(row);
        let mut tag = self.world.tag(self.table, arrival.node);
        for &action in &row.actions {
            self.act(action, arrival, &mut tag)?;
        }
        self.world.nodes[node].state = row.next;
        let next = &self.table.states[row.next as usize];
        if next.side == Side::Home && next.rest == Rest::Rests {
            self.serve_waiting();
        }
        Ok(())
    }

    fn tell(&mut self, row: &Row) {
        let actions: Vec<&str> = row.actions.iter().map(|action| action.word()).collect();
        let next = &self.table.states[row.next as usize].name;
        self.say(|| format!(": {}, now {next}", actions.join(", ")));
    }

    /// The request that has waited longest is handled as if it arrived then.
    fn serve_waiting(&mut self) {
        if !self.world.queue.is_empty() {
            let QueuedRequest { kind, from } = self.world.queue.remove(0);
            self.world.send(Message { kind, from, to: HOME, data: None });
        }
    }

    fn act(&mut self, action: Action, arrival: Arrival, tag: &mut Tag) -> Result<(), Violation> {
        let Arrival { node, from, .. } = arrival;
        let requester = self.world.requester;
        match action {
            Action::SendReadRequest => self.send(node, HOME, Event::ReadRequest),
            Action::SendWriteRequest => self.send(node, HOME, Event::WriteRequest),
            Action::SendAcknowledgement => self.send(node, from, Event::Acknowledgement),
            Action::SendWriteBack => return self.send_block(node, from, Event::WriteBack, *tag),
            Action::SendReadData => return self.send_block(node, requester, Event::ReadData, *tag),
            Action::SendWriteData => return self.send_block(node, requester, Event::WriteData, *tag),
            Action::SendPermission => self.send(node, requester, Event::Permission),
            Action::SendInvalidations => {
                let others = self.world.nodes.len() as u8;
                let sharers: Vec<u8> =
                    (0..others).filter(|&other| self.world.has_copy(other) && other != requester).collect();
                sharers.into_iter().for_each(|sharer| self.send(node, sharer, Event::Invalidate));
            }
            Action::SendDowngrade => return self.ask_back(node, Event::Downgrade),
            Action::SendRecall => return self.ask_back(node, Event::Recall),
            Action::TakeData => return self.take_data(arrival, tag),
            Action::AddCopy => self.world.copies |= 1 << requester,
            Action::RemoveCopy => self.world.copies &= !(1 << from),
            Action::Hold => {
                if let Some(held) = self.world.nodes[node as usize].held.replace(arrival.event) {
                    let words = format!("node {node} holds {held} already");
                    return Err(Violation { property: ONE_ASKED, words });
                }
            }
            Action::RepeatHeld => {
                if let Some(kind) = self.world.nodes[node as usize].held.take() {
                    self.world.send(Message { kind, from, to: node, data: None });
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, from: u8, to: u8, kind: Event) {
        self.world.send(Message { kind, from, to, data: None });
    }

    fn send_block(&mut self, from: u8, to: u8, kind: Event, tag: Tag) -> Result<(), Violation> {
        if tag == Tag::None {
            let words = format!("node {from} sends a block that it must not read");
            return Err(Violation { property: SENDABLE, words });
        }
        let data = Some(self.world.nodes[from as usize].is_last);
        self.world.send(Message { kind, from, to, data });
        Ok(())
    }

    fn ask_back(&mut self, home: u8, kind: Event) -> Result<(), Violation> {
        if self.world.copies.count_ones() != 1 {
            let words = format!(
                "the home asks one node for the block, but {} have it",
                self.world.copies.count_ones()
            );
            return Err(Violation { property: ONE_ASKED, words });
        }
        self.send(home, self.world.copies.trailing_zeros() as u8, kind);
        Ok(())
    }

    fn take_data(&mut self, arrival: Arrival, tag: &mut Tag) -> Result<(), Violation> {
        let Some(is_last) = arrival.data else {
            let words = format!("node {} takes the block from a message that has none", arrival.node);
            return Err(Violation { property: SENDABLE, words });
        };
        self.world.nodes[arrival.node as usize].is_last = is_last;
        *tag = Tag::Write;
        Ok(())
    }
}
