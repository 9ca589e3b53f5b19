//! A CXL link in the checker's world: the last cache and the device are behind it.
//!
//! ```text
//!   home ◄─ messages in any order ─► port ══ up, down: in order, however late ══ cache, device
//! ```
//!
//! The port and the blocks that the cache has given up are the simulator's ([`HostPort`], [`Evictions`]). A
//! directory's requester is at the port, so its transactions are here, beside it.

use narthex_memory::directory::{BlockRequest, Body, Message, answer};
use narthex_memory::interconnects::cxl::{Evictions, HostPort, Opcode, Request};
use narthex_memory::{AgentId, Kind};

use super::Link;
use super::device_home::DeviceHome;
use super::step::Step;
use super::world::{Age, DEVICE, Event, HOME, Who};
use crate::explore::Violation;

/// A message from the host to the device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Down {
    Go(Request, Option<Age>, bool),
    GoWritePull(Request),
    Snoop(AgentId, Message<Age>),
    /// The device that is the home is asked, and gets its block back.
    AskHome(Kind),
    ReturnHome(Age),
}

/// A message from the device to the host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Up {
    Request(Request),
    Data(u8, Option<Age>),
    Reply(AgentId, Message<Age>, Option<Age>, Option<Age>),
    HomeAnswer(Option<Age>),
    /// A request with the bytes that it writes, and a write-back.
    Push(Request, Age),
}

impl Down {
    fn is_response(&self) -> bool {
        !matches!(self, Down::Snoop(..) | Down::AskHome(..))
    }
}

impl Up {
    fn is_response(&self) -> bool {
        match self {
            Up::Request(_) => false,
            Up::Push(request, _) => request.opcode == Opcode::DirtyEvict,
            _ => true,
        }
    }
}

/// The first message that arrives, and where responses pass, the first one of those.
fn arriving<M>(messages: &[M], is_response: Option<fn(&M) -> bool>) -> impl Iterator<Item = u8> {
    let response = is_response.and_then(|is_response| messages.iter().position(is_response));
    let first = (!messages.is_empty()).then_some(0);
    first.into_iter().chain(response.filter(|&place| place > 0)).map(|place| place as u8)
}

/// What is on the link and at its ends.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LinkState {
    /// The cache behind it, if there is one.
    cache: u8,
    /// The device behind it, if that is the home.
    pub home: Option<DeviceHome>,
    port: HostPort<Age>,
    evictions: Evictions<Age>,
    /// What the device writes, on a link where its request brings that.
    pushed: Option<Age>,
    /// The transactions of the cache and of the device with the home.
    asked: [Option<BlockRequest<Age>>; 2],
    /// Forwards that wait until the port returns the block.
    awaited: Vec<(AgentId, Message<Age>)>,
    /// The numbers of requests that the device has under way.
    numbers: u8,
    down: Vec<Down>,
    up: Vec<Up>,
}

impl LinkState {
    /// An idle link in front of this cache and the device; or of the device alone, as the home.
    pub fn new(cache: Option<u8>) -> Self {
        LinkState {
            cache: cache.unwrap_or(u8::MAX),
            home: cache.is_none().then(DeviceHome::new),
            port: HostPort::default(),
            evictions: Evictions::default(),
            pushed: None,
            asked: [None; 2],
            awaited: Vec::new(),
            numbers: 0,
            down: Vec::new(),
            up: Vec::new(),
        }
    }

    /// What can happen on it: the first message of a direction arrives, or a snoop that passes a GO.
    pub fn events(&self, link: Link) -> Vec<Event> {
        if link.is_coherent() {
            let downs = arriving(&self.down, Some(Down::is_response)).map(Event::Down);
            return downs.chain(arriving(&self.up, Some(Up::is_response)).map(Event::Up)).collect();
        }
        let passes = |message: &Down| match link {
            Link::SnoopsPass => matches!(message, Down::Snoop(..)),
            Link::RequestsPass => matches!(message, Down::AskHome(..)),
            _ => false,
        };
        let passing = self.down.iter().position(passes).filter(|&place| place > 0);
        let passing = passing.into_iter().map(|place| Event::Down(place as u8));
        let downs = arriving(&self.down, None).map(Event::Down).chain(passing);
        downs.chain(arriving(&self.up, None).map(Event::Up)).collect()
    }

    /// All bytes that are here.
    pub fn ages(&mut self) -> impl Iterator<Item = &mut Age> {
        let LinkState { port, evictions, pushed, home, asked, down, up, .. } = self;
        let downs = down.iter_mut().filter_map(|message| match message {
            Down::Go(_, data, _) => data.as_mut(),
            Down::ReturnHome(age) => Some(age),
            _ => None,
        });
        let ups = up.iter_mut().flat_map(|message| match message {
            Up::Data(_, data) | Up::HomeAnswer(data) => [data.as_mut(), None],
            Up::Reply(_, _, supplies, copy) => [supplies.as_mut(), copy.as_mut()],
            Up::Push(_, age) => [Some(age), None],
            Up::Request(_) => [None, None],
        });
        let asked = asked.iter_mut().flatten().filter_map(|asked| asked.data.as_mut());
        let of_home = home.iter_mut().flat_map(|home| home.port.data());
        port.data()
            .chain(pushed.as_mut())
            .chain(of_home)
            .chain(evictions.data())
            .chain(asked)
            .chain(downs)
            .chain(ups.flatten())
    }

    /// Nothing is under way.
    pub fn is_quiet(&self) -> bool {
        let is_empty = self.down.is_empty() && self.up.is_empty() && self.awaited.is_empty();
        let is_home_quiet = self.home.as_ref().is_none_or(|home| home.port.count() == 0);
        is_empty
            && is_home_quiet
            && self.port.is_idle()
            && self.evictions.is_empty()
            && self.asked.iter().all(Option::is_none)
    }

    /// What is under way, in words.
    pub fn words(&self) -> Vec<String> {
        let downs = self.down.iter().map(|message| format!("{} is on the way down", name(message)));
        let ups = self.up.iter().map(|message| format!("{message:?} is on the way up"));
        downs.chain(ups).collect()
    }

    fn asked(&mut self, agent: AgentId) -> &mut Option<BlockRequest<Age>> {
        &mut self.asked[usize::from(agent.0 == DEVICE)]
    }
}

fn name(message: &Down) -> String {
    match message {
        Down::Go(request, ..) => format!("the GO for {}'s {}", Who(request.agent), request.kind.name()),
        Down::GoWritePull(request) => {
            format!("the GO_WritePull for {}'s {}", Who(request.agent), request.kind.name())
        }
        Down::Snoop(agent, message) => format!("the snoop of {} for {}", Who(*agent), message.body.name()),
        Down::AskHome(kind) => format!("the host's {}", Opcode::of_host(*kind).as_str()),
        Down::ReturnHome(_) => "the host's MemWr".to_owned(),
    }
}

impl Step<'_> {
    fn link(&mut self) -> &mut LinkState {
        self.world.link.as_mut().expect("a link is here")
    }

    pub(super) fn send_down(&mut self, message: Down) {
        self.link().down.push(message);
    }

    pub(super) fn send_up(&mut self, message: Up) {
        self.link().up.push(message);
    }

    /// Whether an agent is behind the link.
    pub(super) fn is_linked(&self, agent: AgentId) -> bool {
        self.world.link.as_ref().is_some_and(|link| agent.0 == link.cache || agent.0 == DEVICE)
    }

    /// The cache or the device behind the link asks.
    pub(super) fn ask_over_link(&mut self, agent: u8, block: u8, kind: Kind, data: Option<Age>) {
        let is_coherent = self.scope.link.is_coherent();
        let link = self.link();
        let number = link.numbers.trailing_ones() as u8;
        link.numbers |= 1 << number;
        let opcode = if link.home.is_some() { Opcode::of_home(kind) } else { Opcode::of(kind, true) };
        let request = Request { agent: AgentId(agent), number, opcode, kind, block: block.into() };
        if is_coherent && opcode.is_pulled() {
            let age = data.expect("it writes a block");
            link.up.push(Up::Push(request, age));
            if kind == Kind::WriteBack {
                return link.numbers &= !(1 << number);
            }
        } else {
            link.up.push(Up::Request(request));
        }
        if let (Kind::WriteBack, Some(age)) = (kind, data) {
            return link.evictions.put(request, age);
        }
        // A device that writes keeps its bytes until they are pulled.
        let mut asked = BlockRequest::new(kind, None);
        asked.data = data;
        match self.world.caches.get_mut(usize::from(agent)) {
            Some(cache) => cache.asked[usize::from(block)] = Some(asked),
            None => self.world.device = Some((block, asked)),
        }
    }

    /// A message of the device arrives at the port.
    pub(super) fn come_up(&mut self, place: usize) -> Result<(), Violation> {
        let message = self.link().up.remove(place);
        self.say(|| format!("{message:?} comes to the port"));
        match message {
            Up::Request(request) => self.link().port.arrive(request),
            Up::Push(request, age) => {
                let link = self.link();
                link.port.arrive(request);
                match request.opcode {
                    Opcode::DirtyEvict => link.evictions.put(request, age),
                    _ => link.pushed = Some(age),
                }
            }
            Up::Data(number, data) => {
                let (request, _) = self.link().port.pulled(number);
                let agent = request.agent;
                if let Some(age) = data {
                    self.return_block(request, age);
                }
                let awaited = &mut self.link().awaited;
                if let Some(place) = awaited.iter().position(|(own, _)| *own == agent) {
                    let (_, message) = awaited.remove(place);
                    let Body::Forward { kind, .. } = message.body else { unreachable!("it is a forward") };
                    self.forwarded_to_port(agent, message, kind)?;
                }
            }
            Up::HomeAnswer(data) => self.home_answered(data)?,
            Up::Reply(agent, message, supplies, copy) => {
                self.link().port.answered(agent, message.block);
                let answered = self.answer_at_port(agent, message, (supplies, copy))?;
                self.answer_home(message, answered)?;
            }
        }
        self.go_on_at_port();
        Ok(())
    }

    /// The port sends what may go.
    fn go_on_at_port(&mut self) {
        while let Some(request) = self.link().port.pull() {
            if !self.scope.link.is_coherent() {
                self.link().down.push(Down::GoWritePull(request));
                continue;
            }
            let (age, is_newest) = self.link().evictions.pull(request);
            self.link().port.pulled(request.number);
            if is_newest {
                self.return_block(request, age);
            }
        }
        for agent in [AgentId(self.link().cache), AgentId(DEVICE)] {
            let link = self.link();
            // The directory keeps a request behind its agent's write-back of the block.
            if link.asked(agent).is_none()
                && let Some((Request { block, .. }, kind)) = link.port.issue(agent)
            {
                *link.asked(agent) = Some(BlockRequest::new(kind, None));
                let body = Body::Request { kind, data: None };
                self.send(HOME, Message { block, requester: agent, body });
            }
        }
    }

    /// A block that a device has sent home goes there from the port.
    fn return_block(&mut self, Request { agent, block, .. }: Request, age: Age) {
        *self.link().asked(agent) = Some(BlockRequest::new(Kind::WriteBack, Some(age)));
        let body = Body::Request { kind: Kind::WriteBack, data: Some(age) };
        self.send(HOME, Message { block, requester: agent, body });
    }

    /// What the device has answered; a block of it that is at the port, on its way home, answers instead.
    fn answer_at_port(
        &mut self,
        agent: AgentId,
        message: Message<Age>,
        answered: (Option<Age>, Option<Age>),
    ) -> Result<(Option<Age>, Option<Age>), Violation> {
        let Body::Forward { kind, .. } = message.body else { unreachable!("it is a forward") };
        if !self.scope.link.is_coherent() {
            return Ok(answered);
        }
        let table = self.table;
        match self.link().evictions.snooped(table, (agent, message.block), kind) {
            None => Ok(answered),
            Some(action) => action
                .map(|(age, action)| (action.supplies.then_some(age), action.updates_home.then_some(age)))
                .or_else(|unexpected| self.never(unexpected.to_string())),
        }
    }

    fn answer_home(
        &mut self,
        message: Message<Age>,
        answered: (Option<Age>, Option<Age>),
    ) -> Result<(), Violation> {
        let mut sent = Vec::new();
        answer(&message, HOME, answered, |to, message| sent.push((to, message)))
            .or_else(|unexpected| self.never(unexpected.to_string()))?;
        sent.into_iter().for_each(|(to, message)| self.send(to, message));
        Ok(())
    }

    /// The home forwards to what is behind the link.
    pub(super) fn forwarded_to_port(
        &mut self,
        agent: AgentId,
        message: Message<Age>,
        kind: Kind,
    ) -> Result<(), Violation> {
        let table = self.table;
        let link = self.link();
        if let Some(asked) = link.asked(agent)
            && asked.kind == Kind::WriteBack
        {
            let age = asked.data;
            let action = asked.forwarded(table, kind);
            let action = action.or_else(|unexpected| self.never(unexpected.to_string()))?;
            return self.answer_home(
                message,
                (age.filter(|_| action.supplies), age.filter(|_| action.updates_home)),
            );
        }
        if link.port.owns(agent, message.block) {
            link.awaited.push((agent, message));
            return Ok(());
        }
        link.port.snoop(agent, message.block);
        link.down.push(Down::Snoop(agent, message));
        Ok(())
    }

    /// A response of the home or of a cache comes to the port.
    pub(super) fn responded_to_port(
        &mut self,
        agent: AgentId,
        message: Message<Age>,
    ) -> Result<(), Violation> {
        let block = message.block;
        let Some(asked) = self.link().asked(agent) else {
            return self.never(format!("the port waits for nothing of {}", Who(agent)));
        };
        match asked.receive(message.body) {
            Err(unexpected) => return self.never(unexpected.to_string()),
            Ok(false) => return Ok(()),
            Ok(true) => {}
        }
        let asked = self.link().asked(agent).take().expect("it is over");
        if asked.kind != Kind::WriteBack {
            self.send(HOME, Message { block, requester: agent, body: Body::Done });
            if self.is_device_home() {
                let (request, _) = self.link().port.complete(agent, block, None);
                self.answer_own_request(request, asked.data, asked.shared);
                self.go_on_at_port();
                return Ok(());
            }
            let (request, data) = self.link().port.complete(agent, block, asked.data);
            let is_brought = request.opcode.is_pulled() && self.link().pushed.is_some();
            let message = match request.opcode.is_pulled() {
                true if is_brought => Down::Go(request, None, false),
                true => Down::GoWritePull(request),
                false => Down::Go(request, data, asked.shared),
            };
            self.say(|| format!("; {} leaves", name(&message)));
            self.link().down.push(message);
            if asked.kind == Kind::Invalidate {
                self.world.promote(block as usize);
            }
            if is_brought {
                self.link().port.pulled(request.number);
                let age = self.link().pushed.take().expect("its bytes came with it");
                self.return_block(request, age);
            }
        }
        self.go_on_at_port();
        Ok(())
    }

    /// A message arrives at the device.
    pub(super) fn come_down(&mut self, place: usize) -> Result<(), Violation> {
        let message = self.link().down.remove(place);
        self.say(|| format!("{} comes to the device", name(&message)));
        match message {
            Down::Go(request, data, _) if self.is_device_home() => {
                self.link().numbers &= !(1 << request.number);
                if let Some(age) = data {
                    self.returned_home(age);
                }
                self.own_request_is_over(request.kind)
            }
            Down::AskHome(kind) => {
                self.asked_over_link(kind);
                Ok(())
            }
            Down::ReturnHome(age) => {
                self.returned_home(age);
                Ok(())
            }
            Down::Go(request, ..) if request.opcode.is_pulled() => {
                self.link().numbers &= !(1 << request.number);
                self.world.device = None;
                Ok(())
            }
            Down::Go(request, data, shared) => self.granted(request, data, shared),
            Down::GoWritePull(request) => {
                self.pull(request);
                Ok(())
            }
            Down::Snoop(agent, message) => self.snooped(agent, message),
        }
    }

    fn granted(&mut self, request: Request, data: Option<Age>, shared: bool) -> Result<(), Violation> {
        let Request { agent, number, kind, block, .. } = request;
        self.link().numbers &= !(1 << number);
        let mut asked = BlockRequest::new(kind, None);
        (asked.data, asked.shared) = (data, shared);
        self.complete(agent, block as usize, asked)
    }

    fn pull(&mut self, request: Request) {
        let Request { agent, number, opcode, .. } = request;
        let link = self.link();
        link.numbers &= !(1 << number);
        let data = match opcode {
            Opcode::DirtyEvict => {
                let (age, is_newest) = link.evictions.pull(request);
                is_newest.then_some(age)
            }
            _ => {
                debug_assert_eq!(agent, AgentId(DEVICE), "a cache writes no whole blocks");
                self.world.device.take().and_then(|(_, asked)| asked.data)
            }
        };
        self.link().up.push(Up::Data(number, data));
    }

    fn snooped(&mut self, agent: AgentId, message: Message<Age>) -> Result<(), Violation> {
        let Body::Forward { kind, .. } = message.body else { unreachable!("it is a forward") };
        let table = self.table;
        // On a coherent link a block that was given up is on its way, or at the port.
        let given_up = match self.scope.link.is_coherent() {
            true => None,
            false => self.link().evictions.snooped(table, (agent, message.block), kind),
        };
        let answered = match given_up {
            Some(action) => action
                .map(|(age, action)| (action.supplies.then_some(age), action.updates_home.then_some(age))),
            None if agent.0 == DEVICE => Ok((None, None)),
            None => self.snoop_copy(agent, message.block as usize, kind),
        };
        let (supplies, copy) = answered.or_else(|unexpected| self.never(unexpected.to_string()))?;
        self.link().up.push(Up::Reply(agent, message, supplies, copy));
        Ok(())
    }
}
