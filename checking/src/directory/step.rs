//! What one event does: the homes and requesters of the simulator, with the table under
//! test, and caches that have its stable states.

use narthex_memory::directory::{BlockRequest, Body, Endpoint, HomePort, Message, Table, Unexpected, answer};
use narthex_memory::protocols::{Access, AccessAction, Protocol, Request, State};
use narthex_memory::{AgentId, Kind};

use super::Scope;
use super::link::Down;
use super::world::{Age, BLOCKS, DEVICE, Event, HOME, IN_TIME, LAST, NO_NEVER, Sent, Who, World};
use crate::explore::Violation;

/// One event as it happens.
pub struct Step<'a> {
    pub table: &'a Table,
    pub world: World,
    pub scope: Scope,
    pub story: Option<&'a mut String>,
}

impl Step<'_> {
    /// The world afterwards.
    pub fn run(mut self, event: Event) -> Result<World, Violation> {
        match event {
            Event::Access(cache, block, access) => self.access(cache, block, access)?,
            Event::Evict(cache, block) => self.evict(cache, block)?,
            Event::Read(block) if self.is_device_home() => self.device(block, Kind::Read, None),
            Event::Write(block) if self.is_device_home() => self.device(block, Kind::Invalidate, None),
            Event::Read(block) => self.device(block, Kind::ReadOnce, None),
            Event::Write(block) => self.device(block, Kind::WriteBlock, Some(Age::Next)),
            Event::Down(place) => self.come_down(place.into())?,
            Event::Up(place) => self.come_up(place.into())?,
            Event::Deliver(place) => {
                let sent = self.world.messages.remove(place.into());
                self.say(|| format!("{sent} arrives"));
                self.deliver(sent)?;
            }
        }
        self.world.check(self.scope.blocks)?;
        Ok(self.world)
    }

    pub(super) fn say(&mut self, words: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.push_str(&words());
        }
    }

    fn stable(&self) -> &'static Protocol {
        self.table.stable
    }

    pub(super) fn never<T>(&self, words: String) -> Result<T, Violation> {
        Err(Violation { property: NO_NEVER, words })
    }

    pub(super) fn send(&mut self, to: Endpoint, message: Message<Age>) {
        let sent = Sent { to, message };
        self.say(|| format!("; {sent} leaves"));
        self.world.messages.push(sent);
    }

    /// A cache's owner accesses a block: it is done at once, or asks the home.
    fn access(&mut self, cache: u8, block: u8, access: Access) -> Result<(), Violation> {
        let who = Who(AgentId(cache));
        let verb = if access == Access::Load { "loads from" } else { "stores to" };
        let has_room = self.scope.at_once;
        for other in (0..BLOCKS as u8).filter(|&other| other != block && !has_room) {
            if self.world.caches[usize::from(cache)].copies[usize::from(other)].0.is_readable() {
                self.evict(cache, other)?;
                self.say(|| "; ".into());
            }
        }
        self.say(|| format!("{who} {verb} block {block}"));
        let state = self.world.caches[usize::from(cache)].copies[usize::from(block)].0;
        let Some(action) = self.stable().access[state as usize][access as usize] else {
            return self.never(format!("{who} is {state} and {verb} it, which the table excludes"));
        };
        match action {
            AccessAction::Ask(request) => {
                let kind = match request {
                    Request::Read => Kind::Read,
                    Request::ReadExclusive => Kind::ReadExclusive,
                    Request::Upgrade => Kind::Upgrade,
                    Request::WriteBack => Kind::WriteBack,
                };
                self.world.caches[usize::from(cache)].wants[usize::from(block)] = Some(access);
                self.ask(cache, block, kind, None);
                Ok(())
            }
            action => self.finish(cache, block, access, action),
        }
    }

    fn ask(&mut self, agent: u8, block: u8, kind: Kind, data: Option<Age>) {
        if self.is_linked(AgentId(agent)) {
            return self.ask_over_link(agent, block, kind, data);
        }
        let asked = BlockRequest::new(kind, data);
        match self.world.caches.get_mut(usize::from(agent)) {
            Some(cache) => cache.asked[usize::from(block)] = Some(asked),
            None => self.world.device = Some((block, asked)),
        }
        let body = Body::Request { kind, data };
        self.send(HOME, Message { block: block.into(), requester: AgentId(agent), body });
    }

    /// An access that the copy allows.
    fn finish(
        &mut self,
        cache: u8,
        block: u8,
        access: Access,
        action: AccessAction,
    ) -> Result<(), Violation> {
        let who = Who(AgentId(cache));
        let own = &mut self.world.caches[usize::from(cache)];
        let copy = &mut own.copies[usize::from(block)];
        let AccessAction::Hit(next) = action else {
            let state = copy.0;
            return self.never(format!("its copy is {state} and the answer to {access:?} is {action:?}"));
        };
        if copy.1 != Age::Last {
            return Err(Violation { property: LAST, words: format!("{who} finds an old value") });
        }
        copy.0 = next;
        if access == Access::Store {
            self.world.outdate(block.into());
            self.world.caches[usize::from(cache)].copies[usize::from(block)].1 = Age::Last;
            self.say(|| format!("; {who} writes the last value ({next})"));
        }
        Ok(())
    }

    /// A cache gives up a block: a dirty one goes home.
    fn evict(&mut self, cache: u8, block: u8) -> Result<(), Violation> {
        let who = Who(AgentId(cache));
        let copy = &mut self.world.caches[usize::from(cache)].copies[usize::from(block)];
        let (state, age) = std::mem::replace(copy, (State::Invalid, Age::Old));
        self.say(|| format!("{who} gives up its {state} copy of block {block}"));
        match self.stable().access[state as usize][Access::Evict as usize] {
            Some(AccessAction::Drop) => Ok(()),
            Some(AccessAction::Ask(Request::WriteBack)) => {
                self.ask(cache, block, Kind::WriteBack, Some(age));
                Ok(())
            }
            other => self.never(format!("the table says {other:?}")),
        }
    }

    fn device(&mut self, block: u8, kind: Kind, data: Option<Age>) {
        self.say(|| format!("the device begins a {} of block {block}", kind.name()));
        match self.is_device_home() {
            true => self.use_own_block(kind),
            false => self.ask(DEVICE, block, kind, data),
        }
    }

    fn deliver(&mut self, Sent { to, message }: Sent) -> Result<(), Violation> {
        match (to, message.body) {
            (Endpoint::Home(_), _) => self.at_home(message),
            (Endpoint::Requester(agent), Body::Forward { kind, .. }) => self.forwarded(agent, message, kind),
            (Endpoint::Requester(agent), _) => self.responded(agent, message),
        }
    }

    pub(super) fn at_home(&mut self, message: Message<Age>) -> Result<(), Violation> {
        let block = message.block as usize;
        let told = match self.is_device_home() {
            false => None,
            true => match self.ask_device(message) {
                Some(told) => told,
                None => return Ok(()),
            },
        };
        let mut entry = self.world.homes[block].entry;
        let table = self.table;
        let result = entry.receive(table, message, &mut Port { step: self, message, told });
        self.world.homes[block].entry = entry;
        result.or_else(|unexpected| self.never(unexpected.to_string()))?;
        match entry.waits() {
            Some((state, _)) => self.say(|| format!("; the home is {state:?}")),
            None => self.say(|| "; the home is at rest".into()),
        }
        Ok(())
    }

    /// A cache answers: bytes on their way home, or its copy.
    fn forwarded(&mut self, agent: AgentId, message: Message<Age>, kind: Kind) -> Result<(), Violation> {
        let (block, table) = (message.block as usize, self.table);
        if self.is_linked(agent) {
            return self.forwarded_to_port(agent, message, kind);
        }
        let Some(cache) = self.world.caches.get_mut(usize::from(agent.0)) else {
            return self.never("the device has no copy".into());
        };
        if kind == Kind::WriteBack {
            return self.never(format!("a write-back is forwarded to {}", Who(agent)));
        }
        let answered = match &mut cache.asked[block] {
            Some(asked) if asked.kind == Kind::WriteBack => {
                let age = asked.data;
                asked
                    .forwarded(table, kind)
                    .map(|action| (age.filter(|_| action.supplies), age.filter(|_| action.updates_home)))
            }
            _ => self.snoop_copy(agent, block, kind),
        };
        let mut sent = Vec::new();
        let result = answered
            .and_then(|answered| answer(&message, HOME, answered, |to, message| sent.push((to, message))));
        result.or_else(|unexpected| self.never(unexpected.to_string()))?;
        let state = self.world.caches[usize::from(agent.0)].copies[block].0;
        self.say(|| format!("; its copy is {state}"));
        sent.into_iter().for_each(|(to, message)| self.send(to, message));
        Ok(())
    }

    /// What a copy answers to a forward, by the stable table: the bytes that it supplies, and a copy for memory.
    pub(super) fn snoop_copy(
        &mut self,
        agent: AgentId,
        block: usize,
        kind: Kind,
    ) -> Result<(Option<Age>, Option<Age>), Unexpected> {
        let cache = &mut self.world.caches[usize::from(agent.0)];
        let (state, age) = cache.copies[block];
        let snoop = kind.snoop().expect("a block is forwarded");
        let Some(action) = self.table.stable.snoop[state as usize][snoop as usize] else {
            return Err(Unexpected { state: format!("{} is {state}", Who(agent)), message: kind.name() });
        };
        let gone = !action.next.is_readable();
        cache.copies[block] = (action.next, if gone { Age::Old } else { age });
        Ok((action.supplies.then_some(age), (action.supplies && action.updates_home).then_some(age)))
    }

    fn responded(&mut self, agent: AgentId, message: Message<Age>) -> Result<(), Violation> {
        if self.is_linked(agent) {
            return self.responded_to_port(agent, message);
        }
        let block = message.block as usize;
        let asked = match self.world.caches.get_mut(usize::from(agent.0)) {
            Some(cache) => cache.asked[block].as_mut(),
            None => {
                self.world.device.as_mut().filter(|(its, _)| usize::from(*its) == block).map(|(_, own)| own)
            }
        };
        let Some(asked) = asked else {
            return self.never(format!("{} waits for nothing", Who(agent)));
        };
        match asked.receive(message.body) {
            Err(unexpected) => self.never(unexpected.to_string()),
            Ok(false) => Ok(()),
            Ok(true) => {
                let asked = *asked;
                self.complete(agent, block, asked)
            }
        }
    }

    /// A transaction is over.
    pub(super) fn complete(
        &mut self,
        agent: AgentId,
        block: usize,
        asked: BlockRequest<Age>,
    ) -> Result<(), Violation> {
        if asked.kind != Kind::WriteBack && !self.is_linked(agent) {
            self.send(HOME, Message { block: block as u64, requester: agent, body: Body::Done });
        }
        let Some(cache) = self.world.caches.get_mut(usize::from(agent.0)) else {
            return self.complete_device(block, asked);
        };
        cache.asked[block] = None;
        let request = match asked.kind {
            Kind::Read => Request::Read,
            Kind::ReadExclusive => Request::ReadExclusive,
            Kind::Upgrade => Request::Upgrade,
            _ => return Ok(()),
        };
        let access = cache.wants[block].take().expect("its owner waits");
        let (state, age) = cache.copies[block];
        let Some(age) = asked.data.or(state.is_readable().then_some(age)) else {
            return self.never("its copy is gone, and no bytes came".into());
        };
        let Some(state) = self.stable().fill[request as usize][usize::from(asked.shared)] else {
            return self.never(format!("{request:?} ends with shared = {}", asked.shared));
        };
        self.world.caches[usize::from(agent.0)].copies[block] = (state, age);
        self.say(|| format!("; {} is {state}", Who(agent)));
        let Some(action) = self.stable().access[state as usize][access as usize] else {
            return self.never(format!("{} is {state} and its {access:?} is excluded", Who(agent)));
        };
        self.finish(agent.0, block as u8, access, action)
    }

    fn complete_device(&mut self, block: usize, asked: BlockRequest<Age>) -> Result<(), Violation> {
        match asked.kind {
            Kind::ReadOnce if !matches!(asked.data, Some(Age::Last | Age::InTime)) => {
                return Err(Violation {
                    property: IN_TIME,
                    words: "the device has read an old value".into(),
                });
            }
            Kind::ReadOnce => self.world.forget_times(block),
            _ => self.world.promote(block),
        }
        self.world.device = None;
        Ok(())
    }
}

/// What a home works with.
struct Port<'a, 'b> {
    step: &'a mut Step<'b>,
    message: Message<Age>,
    /// The bytes that a device which is the home has answered with.
    told: Option<Age>,
}

impl HomePort<Age> for Port<'_, '_> {
    fn fetch(&mut self, _requester: AgentId, _kind: Kind) -> Age {
        match self.step.is_device_home() {
            // Without an answer old ones are found.
            true => self.told.unwrap_or(Age::Old),
            false => self.step.world.homes[self.message.block as usize].memory,
        }
    }

    fn take(&mut self, _from: AgentId, _kind: Kind, data: Age) {
        if !self.step.is_device_home() {
            self.step.world.homes[self.message.block as usize].memory = data;
            self.step.say(|| "; memory takes the bytes".into());
        } else if self.message.requester.0 != DEVICE {
            self.step.send_down(Down::ReturnHome(data));
        }
    }

    fn send(&mut self, to: Endpoint, message: Message<Age>) {
        self.step.send(to, message);
    }

    fn agent(&self) -> Option<AgentId> {
        self.step.is_device_home().then_some(AgentId(DEVICE))
    }
}
