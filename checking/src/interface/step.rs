//! What one event does to a node: a composition whose interconnects follow the
//! simulator's rules, with the models, the cache and the program under test as
//! they are.

use std::fmt::Write as _;

use narthex_interfaces::DeviceDescription;
use narthex_interfaces::half::{Context, InterfaceHalf, RegisterFault};
use narthex_interfaces::on_chip;
use narthex_kernel::Time;
use narthex_machine::node::ProcessorPorts;
use narthex_memory::agent::{Agent, Either};
use narthex_memory::directory::{Carried, Endpoint};
use narthex_memory::interconnects::directory::Directory;
use narthex_memory::interconnects::{
    self, Interconnect, InterconnectHost, InterconnectId, MemoryId, Observation, Refusal,
};
use narthex_memory::{AccessReply, AgentId, BlockData, HomeReply, Kind, Response, SnoopReply, Transaction};

use super::memory::Words;
use super::messages::Lengths;
use super::places::Places;
use super::processor::{Executor, NO_FAULT, ProcessorState};
use super::under_way::Sent;
use super::world::{Event, Numbers, PROCESSOR, World, half_of};
use crate::clock::{Choice, Choosing, Interconnects, NOW};
use crate::explore::Violation;
use crate::memory::{Bytes, Memory};

/// At most one owner.
pub const ONE_OWNER: &str = "a block has at most one owner that supplies it";

/// What every step of a check needs.
pub struct Rules {
    /// Where the processor sits.
    pub ports: ProcessorPorts,
    /// Runs the program.
    pub executor: Executor,
    /// The messages.
    pub lengths: Lengths,
    /// How many.
    pub numbers: Numbers,
    /// What lies where.
    pub places: Places,
}

/// One event as it happens.
pub struct Step<'a> {
    rules: &'a mut Rules,
    world: World,
    /// A block that the cache gives up and that the processor writes back.
    write_back: Option<Transaction>,
    /// Whether its cache gives up a block.
    is_evicting: bool,
    /// Where the transaction is that the story has told of.
    told_on: Option<InterconnectId>,
    /// The first property that was violated.
    violation: Option<Violation>,
    story: Option<&'a mut String>,
}

impl<'a> Step<'a> {
    /// The state after `event`, or the property that it violates.
    pub fn run(
        rules: &'a mut Rules,
        world: &World,
        event: Event,
        story: Option<&'a mut String>,
    ) -> Result<World, Violation> {
        let world = world.clone();
        let mut step = Step {
            rules,
            world,
            write_back: None,
            is_evicting: false,
            told_on: None,
            violation: None,
            story,
        };
        step.happen(event);
        while let Some(sent) = step.world.messages.take_settled(|agent| agent == PROCESSOR) {
            step.arrive(sent);
        }
        match step.violation {
            None => Ok(step.world),
            Some(violation) => Err(violation),
        }
    }

    fn say(&mut self, words: impl FnOnce(&Places) -> String) {
        if let Some(story) = &mut self.story {
            let _ = write!(story, "{}", words(&self.rules.places));
        }
    }

    /// Takes note of a violation; the first one is told.
    fn judge<T>(&mut self, judged: Result<T, Violation>) -> Option<T> {
        match judged {
            Ok(value) => Some(value),
            Err(violation) => {
                self.violation.get_or_insert(violation);
                None
            }
        }
    }

    fn refuse(&mut self, fault: &RegisterFault) {
        let words = format!("the interface refuses it: {}", fault.0);
        self.judge::<()>(Err(Violation { property: NO_FAULT, words }));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Step => self.processor(),
            Event::Interconnect(choice) => self.interconnect(choice),
            Event::Message(number) => {
                let sent = self.world.messages.take(number);
                self.arrive(sent);
            }
            Event::Timer(half) => {
                self.say(|_| format!("{}: the time it waited for has passed", name_of(half)));
                self.world.clocks[half].come();
                self.with_half(half, |half, context| half.timer(context));
            }
            Event::Room => {
                self.say(|_| "the network has room for a packet".into());
                self.world.network.make_room();
                self.with_half(0, |half, context| half.network(context));
            }
            Event::Arrival => {
                let number = self.world.network.arrived;
                self.say(|_| format!("message {number} arrives from the network"));
                self.world.network.arrive(self.rules.lengths.message(number));
                self.with_half(1, |half, context| half.network(context));
            }
            Event::Evict(block) => self.evict(block),
        }
    }

    /// A message of a directory arrives.
    fn arrive(&mut self, (on, to, carried): Sent) {
        let message = carried.message;
        let separator = if self.story.as_ref().is_some_and(|story| story.is_empty()) { "" } else { "; " };
        self.say(|places| {
            let receiver = match to {
                Endpoint::Home(_) => "its home",
                Endpoint::Requester(agent) => who(agent),
            };
            let (name, block) = (message.body.name(), places.name(message.block));
            let requester = who(message.requester);
            format!("{separator}{name} of {block}, for {requester}, comes to {receiver}")
        });
        Directory::arrive(self, NOW, on, to, carried);
    }

    /// The processor makes its next access and runs on to the one after it.
    fn processor(&mut self) {
        let stepped = self.rules.executor.step(&mut self.world.guest);
        let Some(stepped) = self.judge(stepped) else { return };
        if let Some(access) = stepped.access {
            self.say(|places| format!("the processor {}", places.access(&access)));
        }
        for payload in stepped.received {
            let number = self.world.received;
            let count = self.rules.numbers.receives;
            self.say(|_| format!("; it has received message {number}"));
            let judged = self.rules.lengths.judge(number, count, &payload, "the program receives");
            self.judge(judged);
            self.world.received += 1;
        }
    }

    /// The processor goes on, whose access needs the interconnect no longer.
    fn wake(&mut self) {
        self.say(|_| "; ".into());
        self.processor();
    }

    /// Calls a half and carries out what it did with the network.
    fn with_half<R>(
        &mut self,
        half: usize,
        call: impl FnOnce(&mut dyn InterfaceHalf, &mut Context<'_>) -> R,
    ) -> R {
        let world = &mut self.world;
        let (mut network, mut timers, mut faults) = (world.network.port(), Vec::new(), Vec::new());
        let now = world.clocks[half].tick();
        let mut effects = on_chip::Effects::default();
        let mut context = Context {
            now,
            network: network.of_process(0),
            local_memory: None,
            timers: &mut timers,
            faults: &mut faults,
            on_chip: &mut effects,
        };
        let result = call(&mut *world.interface.halves[half], &mut context);
        world.clocks[half].await_all(timers);
        let before = world.network.taken;
        let (lengths, count) = (self.rules.lengths, self.rules.numbers.sends);
        let judged = world
            .network
            .settle(network, |number, _, payload| lengths.judge(number, count, payload, "the network gets"));
        for number in before..self.world.network.taken {
            self.say(|_| format!("; it sends message {number}"));
        }
        self.judge(judged);
        if let Some(fault) = faults.first() {
            self.refuse(fault);
        }
        for block in effects.resumed {
            self.say(|places| format!("; its home goes on with the held load of {}", places.name(block)));
            let on = self.rules.ports.caches.0;
            Directory::resume(self, NOW, on, block);
        }
        result
    }

    fn interconnect(&mut self, choice: Choice) {
        let (Choice::Grant(on, _) | Choice::Step(on, _)) = choice;
        let interconnect = self.world.interconnects.get(on);
        let (name, occupant) = (interconnect.name(), interconnect.occupant().cloned());
        match (choice, occupant) {
            (Choice::Grant(_, agent), _) => {
                self.say(|_| format!("the {name} is granted to {}", who(agent)));
            }
            (Choice::Step(_, interconnects::Step::Address), _) => {
                self.say(|_| "the address is at the bridge".into());
            }
            (Choice::Step(..), Some(Transaction { kind, address, .. })) => {
                self.told_on = Some(on);
                self.say(|places| format!("{} {} is over on the {name}", kind.name(), places.name(address)));
            }
            (Choice::Step(..), None) => self.say(|_| format!("the bridge's part on the {name} is over")),
        }
        self.choose(choice);
    }

    /// The cache gives up a block; a dirty one goes home over the bus. How long it
    /// keeps the bus only decides what comes next: it has crossed at once, if the
    /// bus lets it.
    fn evict(&mut self, block: u64) {
        self.say(|places| format!("the cache evicts {}", places.name(block)));
        self.world.evicted += 1;
        self.write_back = self.world.guest.caches.evict(block);
        if self.write_back.is_none() {
            return;
        }
        self.is_evicting = true;
        let bus = self.rules.ports.caches.0;
        interconnects::grant_to(self, NOW, bus, PROCESSOR);
        if self.world.interconnects.is_due(bus, interconnects::Step::Release) {
            self.choose(Choice::Step(bus, interconnects::Step::Release));
        }
        self.is_evicting = false;
    }

    /// Tells what an agent issues that was granted an interconnect.
    fn tell(&mut self, issued: Option<&Transaction>) {
        match issued {
            Some(&Transaction { kind, address, .. }) => {
                self.say(|places| format!(": {} {}", kind.name(), places.name(address)));
            }
            None => self.say(|_| ", which does not need it any more".into()),
        }
    }

    /// Tells that an agent supplies the block that it has snooped, if it does.
    fn tell_supplier(&mut self, agent: AgentId, reply: &SnoopReply) {
        if reply.supplies.is_some() {
            self.say(|_| format!("; {} supplies it", who(agent)));
        }
    }

    /// Carries out an uncached access at one half: its answer, if it has the
    /// register or block.
    fn access_half(&mut self, half: usize, transaction: &Transaction, response: &mut Response) -> bool {
        let offset = transaction.address.wrapping_sub(self.rules.places.register_page());
        let answer = self.with_half(half, |half, context| match (transaction.kind, &transaction.data) {
            (Kind::UncachedLoad, _) => Some(half.load(context, offset)?.map(|value| response.value |= value)),
            (Kind::BlockLoad, _) => {
                Some(half.load_block(context, offset)?.map(|block| response.data = Some(block)))
            }
            (Kind::BlockStore, Some(block)) => half.store_block(context, offset, block),
            _ => half.store(context, offset, transaction.value),
        });
        if let Some(Err(fault)) = &answer {
            self.refuse(fault);
        }
        answer.is_some()
    }
}

impl Choosing for Step<'_> {
    fn interconnects(&mut self) -> &mut Interconnects {
        &mut self.world.interconnects
    }
}

/// The processor with its caches, and the program that it runs.
pub struct Processor<'a, 'w>(&'a mut Step<'w>);

impl Agent for Processor<'_, '_> {
    fn wants(&self, on: InterconnectId) -> bool {
        self.0.world.wants(&self.0.rules.ports, PROCESSOR, on)
    }

    fn issue(&mut self, _now: Time, on: InterconnectId) -> Option<Transaction> {
        self.0.told_on = Some(on);
        if let Some(write_back) = self.0.write_back.take() {
            return Some(write_back);
        }
        let issued = self.0.world.guest.caches.issue(self.0.rules.ports.traffic(on));
        self.0.tell(issued.as_ref());
        let guest = &self.0.world.guest;
        let is_served = guest.doing == ProcessorState::Waiting && guest.caches.wait_reason().is_none();
        if issued.is_none() && is_served {
            self.0.wake();
        }
        issued
    }

    fn refuse(&mut self, _now: Time, transaction: &Transaction) -> Option<Refusal> {
        self.0.world.guest.caches.push(transaction).map(Refusal::Push)
    }

    fn refused(&mut self, transaction: &Transaction) -> bool {
        self.0.world.guest.caches.refused(transaction)
    }

    fn snoop(&mut self, _now: Time, transaction: &Transaction) -> SnoopReply {
        let reply = self.0.world.guest.caches.snoop(transaction);
        self.0.tell_supplier(PROCESSOR, &reply);
        reply
    }

    fn snarf(&mut self, transaction: &Transaction) -> bool {
        let takes = self.0.world.guest.caches.snarf(transaction);
        if takes {
            self.0.say(|_| "; the processor's cache takes it in".into());
        }
        takes
    }

    /// A processor makes its access before anything else can happen. Its own
    /// caches are too large to write anything back unless it flushes: that is an eviction's.
    fn complete(&mut self, _: Time, _: InterconnectId, transaction: &Transaction, response: &Response) {
        if !self.0.is_evicting && self.0.world.guest.caches.complete(transaction, response) {
            self.0.wake();
        }
    }
}

/// A half of the interface.
pub struct Half<'a, 'w> {
    step: &'a mut Step<'w>,
    agent: AgentId,
    half: usize,
}

impl Agent for Half<'_, '_> {
    fn wants(&self, on: InterconnectId) -> bool {
        self.step.world.wants(&self.step.rules.ports, self.agent, on)
    }

    fn issue(&mut self, _now: Time, on: InterconnectId) -> Option<Transaction> {
        self.step.told_on = Some(on);
        let issued = self.step.with_half(self.half, |half, context| half.issue(context));
        self.step.tell(issued.as_ref());
        issued
    }

    fn refuse(&mut self, _now: Time, transaction: &Transaction) -> Option<Refusal> {
        self.step.with_half(self.half, |half, _| half.push(transaction)).map(Refusal::Push)
    }

    fn snoop(&mut self, _now: Time, transaction: &Transaction) -> SnoopReply {
        let reply = self.step.with_half(self.half, |half, context| half.snoop(context, transaction));
        self.step.tell_supplier(self.agent, &reply);
        reply
    }

    fn home(&mut self, _now: Time, transaction: &Transaction) -> HomeReply {
        self.step.with_half(self.half, |half, context| half.home(context, transaction))
    }

    /// Each half of the port's process has a clock of its own, so they are asked
    /// one by one; see [`narthex_interfaces::Device::access`].
    fn access(&mut self, _now: Time, transaction: &Transaction, response: &mut Response) -> AccessReply {
        let beside = self.step.world.interface.ports_beside(self.half);
        let answered = beside.filter(|&half| self.step.access_half(half, transaction, response)).count();
        if answered == 0 {
            let name = self.step.rules.places.name(transaction.address);
            self.step.refuse(&RegisterFault(format!("there is no register at {name}")));
        }
        AccessReply::Done
    }

    fn complete(&mut self, _: Time, _: InterconnectId, transaction: &Transaction, response: &Response) {
        self.step.with_half(self.half, |half, context| half.complete(context, transaction, response));
    }
}

impl Bytes for Words {
    fn block(&self, address: u64, length: usize) -> BlockData {
        self.read_block(address, length)
    }

    fn replace(&mut self, address: u64, bytes: &[u8]) {
        self.write_bytes(address, bytes);
    }
}

impl<'w> InterconnectHost for Step<'w> {
    type Agent<'a>
        = Either<Processor<'a, 'w>, Half<'a, 'w>>
    where
        Self: 'a;
    type Memory<'a>
        = Memory<'a, Words>
    where
        Self: 'a;

    fn interconnect(&mut self, on: InterconnectId) -> &mut Interconnect {
        self.world.interconnects.get_mut(on)
    }

    fn agent(&mut self, agent: AgentId) -> Self::Agent<'_> {
        match half_of(agent) {
            None => Either::First(Processor(self)),
            Some(half) => Either::Second(Half { step: self, agent, half }),
        }
    }

    fn memory(&mut self, _memory: MemoryId) -> Self::Memory<'_> {
        let block_bytes = self.rules.lengths.block_bytes as usize;
        Memory { bytes: &mut self.world.guest.memory, block_bytes }
    }

    fn schedule(&mut self, _at: Time, on: InterconnectId, step: interconnects::Step) {
        self.world.interconnects.schedule(on, step);
    }

    fn carry(&mut self, _at: Time, on: InterconnectId, _from: Endpoint, to: Endpoint, carried: Carried) {
        self.world.messages.send((on, to, carried));
    }

    fn is_observed(&self) -> bool {
        self.story.is_some()
    }

    /// Tells what goes on without an agent that issues: a bridge carries something.
    fn observe(&mut self, _at: Time, on: InterconnectId, seen: Observation<'_>) {
        match seen {
            Observation::Crossing { transaction, .. } | Observation::Held(transaction) => {
                let is_news = self.told_on.is_none() || on == self.rules.ports.caches.0;
                if is_news && self.told_on.replace(on) != Some(on) {
                    let (kind, agent) = (transaction.kind.name(), who(transaction.agent));
                    let (address, bus) = (transaction.address, self.world.interconnects.get(on).name());
                    self.say(|places| {
                        format!("; {kind} {} of {agent} crosses the {bus}", places.name(address))
                    });
                }
            }
            Observation::Refused { by, .. } => self.say(|_| format!("; {} refuses it", who(by))),
            Observation::Kept => self.say(|_| ", which keeps it for a device".into()),
            _ => {}
        }
    }

    fn two_owners(&mut self, _transaction: &Transaction) {
        let words = "another one has supplied it".into();
        self.judge::<()>(Err(Violation { property: ONE_OWNER, words }));
    }
}

fn name_of(half: usize) -> &'static str {
    ["the send half", "the receive half"][half]
}

fn who(agent: AgentId) -> &'static str {
    match half_of(agent) {
        None => "the processor",
        Some(half @ 0..2) => name_of(half),
        Some(_) => "the bridge",
    }
}
