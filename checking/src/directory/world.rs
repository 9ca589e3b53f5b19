//! The small world that the checker explores: caches, a device, the home of two blocks
//! and the messages between them.
//!
//! A block's bytes are reduced to how new they are ([`Age`]). Messages are a multiset, of
//! which any may arrive next, so no order between or within lanes is assumed. A request
//! for a busy block waits at the home; here it is still under way, and of several any
//! may be next.

use std::fmt;
use std::hash::{Hash, Hasher};

use narthex_kernel::digest::Digest;
use narthex_memory::AgentId;
use narthex_memory::directory::{BlockRequest, Body, Endpoint, Entry, HomeId, Lane, Message, Stage};
use narthex_memory::protocols::{Access, State};

use super::link::LinkState;
use super::{Link, Scope};
use crate::explore::Violation;

/// How new the bytes of a block are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Age {
    /// Others have been written since.
    #[default]
    Old,
    /// The same, but not before the device began its read that is under way.
    InTime,
    /// The last that were written.
    Last,
    /// A device is writing them: they will be the last.
    Next,
}

/// Blocks that are explored: the second one competes with the first for a cache's line.
pub const BLOCKS: usize = 2;

/// The one home.
pub const HOME: Endpoint = Endpoint::Home(HomeId(0));

/// A cache with room for one block, or for both.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cache {
    /// By block: the copy, and how new it is.
    pub copies: [(State, Age); BLOCKS],
    /// By block: the transaction that is under way.
    pub asked: [Option<BlockRequest<Age>>; BLOCKS],
    /// By block: the access for which that is.
    pub wants: [Option<Access>; BLOCKS],
}

/// A message under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sent {
    pub to: Endpoint,
    pub message: Message<Age>,
}

/// What a home has of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtHome {
    pub entry: Entry,
    pub memory: Age,
}

/// A state of all of them.
#[derive(Clone, Debug)]
pub struct World {
    pub caches: Vec<Cache>,
    pub homes: [AtHome; BLOCKS],
    /// What the device does, to which block.
    pub device: Option<(u8, BlockRequest<Age>)>,
    pub messages: Vec<Sent>,
    /// What is behind a link, and on it.
    pub link: Option<LinkState>,
}

/// Something that can happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A cache's owner loads from or stores to a block.
    Access(u8, u8, Access),
    /// A cache gives up a block.
    Evict(u8, u8),
    /// The device reads a block, or replaces it.
    Read(u8),
    Write(u8),
    /// A message arrives.
    Deliver(u8),
    /// The message at this place of a direction of the link arrives at its end.
    Down(u8),
    /// See `Down`.
    Up(u8),
}

pub const ONE_WRITER: &str = "a block has one writer or many readers, and at most one dirty copy";
pub const LAST: &str = "every load and every store finds the last value written";
pub const IN_TIME: &str = "a device reads a value that was the last one at some time during its read";
pub const KNOWN: &str = "a home at rest knows of every copy, and who answers for the block";
pub const NOT_LOST: &str = "no write is lost: when nothing is under way, memory or a dirty copy has the last";
pub const NO_NEVER: &str = "no message comes that a table excludes";

impl World {
    /// Nobody has a block.
    pub fn first(scope: Scope) -> Self {
        let cache = Cache {
            copies: [(State::Invalid, Age::Old); BLOCKS],
            asked: [None; BLOCKS],
            wants: [None; BLOCKS],
        };
        World {
            caches: vec![cache; scope.caches.into()],
            homes: [AtHome { entry: Entry::default(), memory: Age::Last }; BLOCKS],
            device: None,
            messages: Vec::new(),
            link: (scope.link != Link::None).then(|| LinkState::new(scope.linked())),
        }
    }

    /// Everything that can happen.
    ///
    /// Some messages change nothing but what their receiver waits for: answers to a home,
    /// acknowledgements, and the word that bytes are home. Nothing that may happen before
    /// one of them arrives ends otherwise if it happens after, so one of them comes next
    /// where there are some. Answers to one home of one block come in each order.
    pub fn events(&self, scope: Scope) -> Vec<Event> {
        let mut events = if scope.every_order { Vec::new() } else { self.soon() };
        if !events.is_empty() {
            return events;
        }
        for (number, cache) in self.caches.iter().enumerate() {
            let waits = |block: u8| match scope.at_once {
                true => cache.wants[usize::from(block)].is_some(),
                false => cache.wants.iter().any(Option::is_some),
            };
            for block in (0..scope.blocks).filter(|&block| !waits(block)) {
                let is_readable = |block: u8| cache.copies[usize::from(block)].0.is_readable();
                if is_readable(block) {
                    // A load that hits changes nothing, and each state says whether it is right.
                    events.push(Event::Access(number as u8, block, Access::Store));
                    if scope.blocks == 1 || scope.at_once {
                        events.push(Event::Evict(number as u8, block));
                    }
                } else if cache.asked[usize::from(block)].is_none() {
                    events.push(Event::Access(number as u8, block, Access::Load));
                    events.push(Event::Access(number as u8, block, Access::Store));
                }
            }
        }
        if let Some(home) = self.device_home()
            && self.device.is_none()
        {
            events.extend((!home.is_latest).then_some(Event::Read(0)));
            events.push(Event::Write(0));
        } else if scope.device && self.device.is_none() {
            events.extend((0..scope.blocks).flat_map(|block| [Event::Read(block), Event::Write(block)]));
        }
        let mut seen: Vec<&Sent> = Vec::new();
        for (place, sent) in self.messages.iter().enumerate() {
            let is_request = sent.message.body.lane() == Lane::Request;
            let is_held = self.device_home().is_some_and(|home| home.held.is_some());
            let is_busy = self.homes[sent.message.block as usize].entry.is_busy();
            let waits = is_request && (is_busy || is_held);
            if !waits && !seen.contains(&sent) {
                seen.push(sent);
                events.push(Event::Deliver(place as u8));
            }
        }
        events.extend(self.link.iter().flat_map(|link| link.events(scope.link)));
        events
    }

    /// What comes next where some of the messages may come soon.
    fn soon(&self) -> Vec<Event> {
        let is_soon = |sent: &Sent| {
            matches!(
                (sent.to, sent.message.body),
                (Endpoint::Home(_), Body::Clean | Body::Copy(_) | Body::Done)
                    | (_, Body::Acknowledgement | Body::WrittenBack)
            )
        };
        let Some(first) = self.messages.iter().find(|sent| is_soon(sent)) else { return Vec::new() };
        let is_alike =
            |sent: &Sent| is_soon(sent) && (sent.to, sent.message.block) == (first.to, first.message.block);
        let alike = self.messages.iter().enumerate().filter(|(_, sent)| is_alike(sent));
        alike.map(|(place, _)| Event::Deliver(place as u8)).collect()
    }

    /// All bytes of a block, wherever they are.
    fn ages(&mut self, block: usize) -> impl Iterator<Item = &mut Age> {
        let of_caches = self.caches.iter_mut().flat_map(move |cache| {
            let data = cache.asked[block].as_mut().and_then(|asked| asked.data.as_mut());
            data.into_iter().chain([&mut cache.copies[block].1])
        });
        let of_device = self.device.iter_mut().filter(move |(its, _)| usize::from(*its) == block);
        let of_device = of_device.filter_map(|(_, asked)| asked.data.as_mut());
        let sent = self.messages.iter_mut().filter(move |sent| sent.message.block as usize == block);
        let sent = sent.filter_map(|sent| match &mut sent.message.body {
            Body::Request { data, .. } => data.as_mut(),
            Body::Data { data, .. } | Body::Copy(data) => Some(data),
            _ => None,
        });
        let linked = self.link.iter_mut().flat_map(LinkState::ages);
        of_caches.chain(of_device).chain(sent).chain(linked).chain([&mut self.homes[block].memory])
    }

    /// What was the last is older from now on.
    pub fn outdate(&mut self, block: usize) {
        let reads = self.device.is_some_and(|(its, asked)| {
            usize::from(its) == block && asked.kind == narthex_memory::Kind::ReadOnce
        });
        let older = if reads { Age::InTime } else { Age::Old };
        self.ages(block).filter(|age| **age == Age::Last).for_each(|age| *age = older);
    }

    /// What a device has written is the last from now on.
    pub fn promote(&mut self, block: usize) {
        self.outdate(block);
        self.ages(block).filter(|age| **age == Age::Next).for_each(|age| *age = Age::Last);
    }

    /// No read of the device is under way any more.
    pub fn forget_times(&mut self, block: usize) {
        self.ages(block).filter(|age| **age == Age::InTime).for_each(|age| *age = Age::Old);
    }

    /// Nothing is under way.
    pub fn is_quiet(&self) -> bool {
        self.messages.is_empty()
            && self.device.is_none()
            && self.link.as_ref().is_none_or(LinkState::is_quiet)
            && self.homes.iter().all(|home| !home.entry.is_busy())
            && self.caches.iter().all(|cache| {
                cache.wants.iter().all(Option::is_none) && cache.asked.iter().all(Option::is_none)
            })
    }

    /// What holds in every state.
    pub fn check(&self, blocks: u8) -> Result<(), Violation> {
        for block in 0..usize::from(blocks) {
            self.check_copies(block)?;
            self.check_home(block)?;
        }
        Ok(())
    }

    fn check_copies(&self, block: usize) -> Result<(), Violation> {
        let states = || self.caches.iter().map(|cache| cache.copies[block].0);
        let count = |of: fn(State) -> bool| states().filter(|&state| of(state)).count();
        if count(State::is_writable) > 0 && count(State::is_readable) > 1 || count(State::is_dirty) > 1 {
            let copies = states().enumerate().filter(|(_, state)| state.is_readable());
            let copies: Vec<String> =
                copies.map(|(number, state)| format!("{} is {state}", Who(AgentId(number as u8)))).collect();
            let words = format!("now of block {block} {}", copies.join(" and "));
            return Err(Violation { property: ONE_WRITER, words });
        }
        let stale = |cache: &Cache| cache.copies[block].0.is_readable() && cache.copies[block].1 != Age::Last;
        if let Some(number) = self.caches.iter().position(stale) {
            let words = format!("now {} may load an old value of block {block}", Who(AgentId(number as u8)));
            return Err(Violation { property: LAST, words });
        }
        Ok(())
    }

    fn check_home(&self, block: usize) -> Result<(), Violation> {
        let AtHome { entry, memory } = self.homes[block];
        if entry.is_busy() {
            return Ok(());
        }
        for (number, cache) in self.caches.iter().enumerate() {
            let (id, state) = (AgentId(number as u8), cache.copies[block].0);
            let is_owner = entry.owner() == Some(id);
            let needs_owner = state.is_writable() || state.is_dirty();
            let is_unknown = self.device_home().is_some_and(|home| {
                state.is_readable() && !home.is_fetched || state.is_writable() && home.is_latest
            });
            if is_unknown && self.is_quiet() {
                let words = format!("now {} is {state}, and the device does not know", Who(id));
                return Err(Violation { property: KNOWN, words });
            }
            if needs_owner && !is_owner || state.is_readable() && !is_owner && !entry.is_sharer(id) {
                let words =
                    format!("now {} is {state}, and the home of block {block} does not know", Who(id));
                return Err(Violation { property: KNOWN, words });
            }
        }
        let is_kept = self.caches.iter().any(|cache| cache.copies[block].0.is_dirty());
        if self.is_quiet() && memory != Age::Last && !is_kept {
            let words = format!("now memory has old bytes of block {block}, and no copy is dirty");
            return Err(Violation { property: NOT_LOST, words });
        }
        Ok(())
    }

    /// A number that two worlds share only if they are the same but for the names of
    /// caches and blocks, almost surely.
    ///
    /// Messages name no cache but the one that they are sent to and the one whose
    /// transaction it is, on which their home works. So a world is its homes and, of each
    /// cache, its copies, its part in each home's work, and its messages.
    pub fn digest(&self) -> u128 {
        self.digest_in([0, 1]).min(self.digest_in([1, 0]))
    }

    fn digest_in(&self, order: [usize; BLOCKS]) -> u128 {
        let place_of = |block: u64| order.iter().position(|&other| other as u64 == block);
        let mut rest = 0u128;
        let mut of_caches = vec![0u128; self.caches.len()];
        for Sent { to, message } in &self.messages {
            let is_his = *to == Endpoint::Requester(message.requester);
            let waits = self.homes[message.block as usize].entry.waits();
            let is_worked_on = waits.is_some_and(|(_, requester)| requester == message.requester);
            let value = number_of((place_of(message.block), message.body, is_his, is_worked_on));
            let of = match (to, message.body.lane()) {
                (Endpoint::Requester(agent), _) => *agent,
                (Endpoint::Home(_), Lane::Request) => message.requester,
                (Endpoint::Home(_), _) => AgentId(u8::MAX),
            };
            match of_caches.get_mut(usize::from(of.0)) {
                Some(own) => *own = own.wrapping_add(value),
                None => rest = rest.wrapping_add(value),
            }
        }
        for (number, cache) in self.caches.iter().enumerate() {
            let id = AgentId(number as u8);
            let parts = order.map(|block| {
                let entry = &self.homes[block].entry;
                let is_requester = entry.waits().is_some_and(|(_, requester)| requester == id);
                let (state, age) = cache.copies[block];
                let copy = (state, state.is_readable().then_some(age));
                let at_home = (entry.owner() == Some(id), entry.is_sharer(id), is_requester);
                (copy, cache.asked[block], cache.wants[block], at_home)
            });
            of_caches[number] = of_caches[number].wrapping_add(number_of(parts));
        }
        if self.link.is_none() {
            of_caches.sort_unstable();
        }
        let homes = order.map(|block| {
            let AtHome { entry, memory } = self.homes[block];
            let waits = entry.waits().map(|(state, requester)| (state, requester == AgentId(DEVICE)));
            let of_device = (entry.owner() == Some(AgentId(DEVICE)), entry.is_sharer(AgentId(DEVICE)));
            (waits, entry.kind(), memory, of_device)
        });
        let device = self.device.map(|(block, asked)| (place_of(block.into()), asked));
        match &self.link {
            None => number_of((of_caches, homes, device, halves(rest))),
            Some(link) => number_of((of_caches, homes, device, halves(rest), link)),
        }
    }

    /// In words.
    pub fn describe(&self) -> String {
        let mut words = Vec::new();
        for (number, cache) in self.caches.iter().enumerate() {
            let asked = cache.asked.iter().enumerate().filter_map(|(block, asked)| Some((block, (*asked)?)));
            words.extend(asked.map(|(block, asked)| {
                let (kind, who) = (asked.kind.name(), Who(AgentId(number as u8)));
                match asked.stage {
                    Stage::Asking => format!("{who}'s {kind} of block {block} waits for its answer"),
                    Stage::Counting => format!("{who}'s {kind} of block {block} waits for acknowledgements"),
                    Stage::Owning | Stage::Lost => {
                        format!("{who} waits for block {block} to be written back")
                    }
                }
            }));
        }
        for (block, home) in self.homes.iter().enumerate() {
            if let Some((state, requester)) = home.entry.waits() {
                words.push(format!("the home of block {block} is {state:?} for {}", Who(requester)));
            }
        }
        words.extend(self.messages.iter().map(|sent| format!("{sent} is under way")));
        words.extend(self.link.iter().flat_map(LinkState::words));
        words.join(", ")
    }
}

/// A digest takes a number of 128 bits for an instant.
fn halves(number: u128) -> [u64; 2] {
    [number as u64, (number >> 64) as u64]
}

fn number_of(parts: impl Hash) -> u128 {
    let mut digest = Digest::default();
    parts.hash(&mut digest);
    digest.write_u8(1);
    digest.value()
}

/// The device's number among the agents.
pub const DEVICE: u8 = 3;

/// The name of an agent in counter-examples.
pub struct Who(pub AgentId);

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.0 {
            number if number < DEVICE => write!(f, "cache {}", char::from(b'A' + number)),
            _ => f.write_str("the device"),
        }
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Message { block, requester, body } = self.message;
        let name = match body {
            Body::Forward { kind, .. } => format!("forward of {}'s {}", Who(requester), kind.name()),
            Body::Request { kind, .. } => format!("{}'s {}", Who(requester), kind.name()),
            body => body.name().to_owned(),
        };
        match self.to {
            Endpoint::Requester(agent) => write!(f, "'{name}' for block {block} to {}", Who(agent)),
            Endpoint::Home(_) => write!(f, "'{name}' for block {block} to the home"),
        }
    }
}
