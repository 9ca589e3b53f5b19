//! What one event does to a node: the rules of the bus, with the models, the
//! cache and the program under test as they are.

use std::fmt::Write as _;

use narthex_interfaces::side::{Context, RegisterFault, Side};
use narthex_memory::processor_memory::Traffic;
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};

use super::messages::Lengths;
use super::places::Places;
use super::processor::{Executor, NO_FAULT};
use super::world::{Agent, Event, Numbers, Underway, World};
use crate::explore::Violation;

/// At most one owner.
pub const ONE_OWNER: &str = "a block has at most one owner that supplies it";

/// What every step of a check needs.
pub struct Rules {
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
    story: Option<&'a mut String>,
}

fn refused(fault: &RegisterFault) -> Violation {
    Violation { property: NO_FAULT, words: format!("the interface refuses it: {}", fault.0) }
}

impl<'a> Step<'a> {
    /// The state after `event`, or the property that it violates.
    pub fn run(
        rules: &'a mut Rules,
        world: &World,
        event: Event,
        story: Option<&'a mut String>,
    ) -> Result<World, Violation> {
        let mut step = Step { rules, world: world.clone(), story };
        step.happen(event)?;
        Ok(step.world)
    }

    fn say(&mut self, words: impl FnOnce(&Places) -> String) {
        if let Some(story) = &mut self.story {
            let _ = write!(story, "{}", words(&self.rules.places));
        }
    }

    fn happen(&mut self, event: Event) -> Result<(), Violation> {
        match event {
            Event::Step => self.processor(),
            Event::Grant(agent) => self.grant(agent),
            Event::Release => self.release(),
            Event::Timer(side) => {
                self.say(|_| format!("{}: the time it waited for has passed", name_of(side)));
                self.world.clocks[side].come();
                self.with_side(side, |side, context| side.timer(context))
            }
            Event::Room => {
                self.say(|_| "the network has room for a packet".into());
                self.world.network.make_room();
                self.with_side(0, |side, context| side.network(context))
            }
            Event::Arrival => {
                let number = self.world.network.arrived;
                self.say(|_| format!("message {number} arrives from the network"));
                self.world.network.arrive(self.rules.lengths.message(number));
                self.with_side(1, |side, context| side.network(context))
            }
            Event::Evict(block) => self.evict(block),
        }
    }

    /// The processor makes its next access and runs on to the one after it.
    fn processor(&mut self) -> Result<(), Violation> {
        let stepped = self.rules.executor.step(&mut self.world.guest);
        if let Ok(stepped) = &stepped
            && let Some(access) = stepped.access
        {
            self.say(|places| format!("the processor {}", places.access(&access)));
        }
        for payload in stepped?.received {
            let number = self.world.received;
            let count = self.rules.numbers.receives;
            self.say(|_| format!("; it has received message {number}"));
            self.rules.lengths.judge(number, count, &payload, "the program receives")?;
            self.world.received += 1;
        }
        Ok(())
    }

    /// Calls a half and carries out what it did with the network.
    fn with_side<R>(
        &mut self,
        side: usize,
        call: impl FnOnce(&mut dyn Side, &mut Context<'_>) -> R,
    ) -> Result<R, Violation> {
        let world = &mut self.world;
        let (mut network, mut timers, mut faults) = (world.network.port(), Vec::new(), Vec::new());
        let now = world.clocks[side].tick();
        let mut context =
            Context { now, network: network.of_process(0), timers: &mut timers, faults: &mut faults };
        let result = call(&mut *world.interface.sides[side], &mut context);
        world.clocks[side].await_all(timers);
        let before = world.network.taken;
        let (lengths, count) = (self.rules.lengths, self.rules.numbers.sends);
        let judged = world
            .network
            .settle(network, |number, _, payload| lengths.judge(number, count, payload, "the network gets"));
        for number in before..self.world.network.taken {
            self.say(|_| format!("; it sends message {number}"));
        }
        judged?;
        match faults.first() {
            Some(fault) => Err(refused(fault)),
            None => Ok(result),
        }
    }

    /// The bus is granted: the agent issues, everybody else snoops.
    fn grant(&mut self, agent: Agent) -> Result<(), Violation> {
        self.say(|_| format!("the bus is granted to {}", who(agent)));
        let issued = match agent {
            Agent::Processor => self.world.guest.caches.issue(Traffic::All),
            Agent::Side(side) => self.with_side(side, |side, context| side.issue(context))?,
        };
        let Some(transaction) = issued else {
            self.say(|_| ", which does not need it any more".into());
            return Ok(());
        };
        self.transact(transaction, agent)
    }

    /// Puts a transaction on the bus.
    fn transact(&mut self, transaction: Transaction, agent: Agent) -> Result<(), Violation> {
        self.say(|places| format!(": {} {}", transaction.kind.name(), places.name(transaction.address)));
        let response = match transaction.kind {
            kind if kind.is_uncached() => Response::default(),
            _ => self.block_transaction(&transaction)?,
        };
        self.world.underway = Some(Underway { transaction, response, agent });
        Ok(())
    }

    /// Lets everybody snoop a block transaction and finds who supplies.
    fn block_transaction(&mut self, transaction: &Transaction) -> Result<Response, Violation> {
        let snooped = self.snoop(transaction)?;
        if let (Some(data), true) = (&snooped.supplies, snooped.updates_home) {
            let data = data.clone();
            let write = Transaction::carrying(transaction.agent, Kind::WriteBack, transaction.address, data);
            self.home(&write)?;
        }
        let data = match snooped.supplies {
            Some(data) => Some(data),
            None => self.home(transaction)?,
        };
        Ok(Response { data, value: 0, shared: snooped.shares })
    }

    fn snoop(&mut self, transaction: &Transaction) -> Result<SnoopReply, Violation> {
        let mut joined = SnoopReply::default();
        for (number, agent) in Agent::ALL.into_iter().enumerate() {
            if AgentId(number as u8) == transaction.agent {
                continue;
            }
            let reply = match agent {
                Agent::Processor => self.world.guest.caches.snoop(transaction),
                Agent::Side(side) => {
                    self.with_side(side, |side, context| side.snoop(context, transaction))?
                }
            };
            if reply.supplies.is_some() {
                self.say(|_| format!("; {} supplies it", who(agent)));
                if joined.supplies.is_some() {
                    return Err(Violation {
                        property: ONE_OWNER,
                        words: "another one has supplied it".into(),
                    });
                }
                joined = SnoopReply { shares: joined.shares, ..reply };
            }
            joined.shares |= reply.shares;
        }
        Ok(joined)
    }

    /// The home's part in a transaction that nobody supplied.
    fn home(&mut self, transaction: &Transaction) -> Result<Option<BlockData>, Violation> {
        if let Some(side) = self.world.interface.home_of(transaction.address) {
            return Ok(self.with_side(side, |side, context| side.home(context, transaction))?.data);
        }
        let memory = &mut self.world.guest.memory;
        if let Some(data) = &transaction.data {
            memory.write_bytes(transaction.address, data);
        }
        let length = self.rules.lengths.block_bytes as usize;
        Ok(transaction.kind.fetches_block().then(|| memory.read_block(transaction.address, length)))
    }

    /// The transaction on the bus is over: its agent gets the answer. A
    /// processor makes its access before anything else can happen.
    fn release(&mut self) -> Result<(), Violation> {
        let Underway { transaction, mut response, agent } =
            self.world.underway.take().expect("a transaction is under way");
        self.say(|places| {
            format!("{} {} is over", transaction.kind.name(), places.name(transaction.address))
        });
        self.access_register(&transaction, &mut response)?;
        match agent {
            Agent::Side(side) => {
                self.with_side(side, |side, context| side.complete(context, &transaction, &response))
            }
            Agent::Processor => {
                if !self.world.guest.caches.complete(&transaction, &response) {
                    return Ok(());
                }
                self.say(|_| "; ".into());
                self.processor()
            }
        }
    }

    /// Carries out an uncached access.
    fn access_register(
        &mut self,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<(), Violation> {
        let offset = transaction.address.wrapping_sub(self.rules.places.register_page());
        match (transaction.kind, &transaction.data) {
            (Kind::UncachedLoad, _) => {
                let values = self.ask_halves(offset, |side, context| side.load(context, offset))?;
                response.value = values.into_iter().fold(0, |joined, value| joined | value);
            }
            (Kind::UncachedStore, _) => {
                self.ask_halves(offset, |side, context| side.store(context, offset, transaction.value))?;
            }
            (Kind::BlockLoad, _) => {
                response.data =
                    self.ask_halves(offset, |side, context| side.load_block(context, offset))?.pop();
            }
            (Kind::BlockStore, Some(block)) => {
                self.ask_halves(offset, |side, context| side.store_block(context, offset, block))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The answers of the halves that have a register or block at `offset`.
    fn ask_halves<T>(
        &mut self,
        offset: u64,
        call: impl Fn(&mut dyn Side, &mut Context<'_>) -> Option<Result<T, RegisterFault>>,
    ) -> Result<Vec<T>, Violation> {
        let mut answers = Vec::new();
        for side in 0..self.world.clocks.len() {
            if let Some(answer) = self.with_side(side, &call)? {
                answers.push(answer.map_err(|fault| refused(&fault))?);
            }
        }
        match answers.is_empty() {
            true => Err(refused(&RegisterFault(format!("there is no register at offset {offset:#x}")))),
            false => Ok(answers),
        }
    }

    /// The cache gives up a block; a dirty one goes home over the bus, at once:
    /// how long that keeps the bus only decides what comes next.
    fn evict(&mut self, block: u64) -> Result<(), Violation> {
        self.say(|places| format!("the cache evicts {}", places.name(block)));
        self.world.evicted += 1;
        if let Some(write_back) = self.world.guest.caches.evict(block) {
            self.block_transaction(&write_back)?;
        }
        Ok(())
    }
}

fn name_of(side: usize) -> &'static str {
    ["the send half", "the receive half"][side]
}

fn who(agent: Agent) -> &'static str {
    match agent {
        Agent::Processor => "the processor",
        Agent::Side(side) => name_of(side),
    }
}
