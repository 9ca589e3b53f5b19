//! One event of the world: what the host does, what the controller does, and the bus between them.

use narthex_interfaces::via::eager::{ControllerContext, Eager, Statistics};
use narthex_kernel::Time;
use narthex_memory::agent::{Agent, Either};
use narthex_memory::interconnects::{Interconnect, InterconnectHost, InterconnectId, MemoryId, Step};
use narthex_memory::main_memory::MainMemory;
use narthex_memory::protocols::{Access, Request};
use narthex_memory::{AgentId, Kind, Response, SnoopReply, Transaction};

use super::{
    BLOCK_BYTES, COPY, Event, HOST, NI, ONE_OWNER, OWN_WORD, RECEIVED, REGION, RoundPhase, SENT, STAYS,
    State, WORDS,
};
use crate::clock::{Choice, Choosing, Interconnects};
use crate::explore::Witness;
use crate::memory::Memory;

/// One event as it happens.
pub(super) struct Move<'a> {
    pub(super) state: State,
    pub(super) witness: Witness<'a>,
}

impl Move<'_> {
    fn with_eager<R>(
        &mut self,
        call: impl FnOnce(&mut Eager, &mut ControllerContext<'_>, &mut Statistics) -> R,
    ) -> R {
        let State { eager, copies, .. } = &mut self.state;
        let mut timers = Vec::new();
        let mut at = ControllerContext { now: Time::ZERO, timers: &mut timers, memory: copies };
        call(eager, &mut at, &mut Statistics::default())
    }

    pub(super) fn happen(&mut self, event: Event) {
        match event {
            Event::Store(word) => {
                self.witness.say(|| format!("the program stores to word {word}"));
                self.state.stage = match self.state.stage {
                    RoundPhase::Writing(stores) => RoundPhase::Writing(stores + 1),
                    _ => RoundPhase::Receiving(true),
                };
                self.access(Access::Store, REGION + WORDS[word]);
            }
            Event::Load(word) => {
                self.witness.say(|| format!("the program loads word {word}"));
                self.access(Access::Load, REGION + WORDS[word]);
            }
            Event::Evict(block) => {
                self.witness.say(|| format!("the cache loses block {}", (block - REGION) / BLOCK_BYTES));
                self.state.evictions += 1;
                self.evict(block);
            }
            Event::Ring => {
                self.witness.say(|| "the program rings".into());
                self.state.stage = RoundPhase::Rung;
            }
            Event::Await => {
                self.witness.say(|| "the firmware awaits the blocks".into());
                self.with_eager(|eager, _, counts| eager.await_valid(COPY..COPY + 2 * BLOCK_BYTES, counts));
                self.state.stage = RoundPhase::Awaiting;
            }
            Event::Send => self.send(),
            Event::Arrive => {
                self.witness.say(|| "bytes arrive for block 0 and a half of block 1".into());
                self.state.stored += 1;
                let value = self.state.stored;
                self.state.words[..2].fill(value);
                let bytes = [value.to_le_bytes(); 3].concat();
                self.with_eager(|eager, at, _| eager.place(at, COPY, &bytes));
                self.state.stage = RoundPhase::Receiving(false);
            }
            Event::Tell => {
                self.witness.say(|| "the program is told".into());
                self.state.stage = RoundPhase::Told([false; 3]);
            }
            Event::Due => {
                self.witness.say(|| "the reaction time is over".into());
                self.state.eager.timer(Time::NEVER);
            }
            Event::Bus(choice) => {
                match choice {
                    Choice::Grant(_, agent) => {
                        self.witness.say(|| format!("the bus is granted to {}", who(agent)))
                    }
                    Choice::Step(..) => self.witness.say(|| "the transaction is over".into()),
                }
                self.choose(choice);
            }
        }
    }

    fn send(&mut self) {
        self.witness.say(|| "the firmware sends the copy".into());
        for (word, offset) in WORDS.into_iter().enumerate() {
            let (copy, written) = (self.state.copy(offset), self.state.words[word]);
            self.witness.expect(copy == written, SENT, || {
                format!("word {word} of the copy is {copy}, not {written}")
            });
        }
        self.state.stage = RoundPhase::Sent;
    }

    /// The host accesses a word: at once, or when it has the block.
    fn access(&mut self, access: Access, address: u64) {
        match self.state.cache.access(address, access) {
            Ok(_) => self.accessed(access, address),
            Err(_) => self.state.wish = Some((access, address)),
        }
    }

    fn accessed(&mut self, access: Access, address: u64) {
        let word = WORDS.iter().position(|&offset| REGION + offset == address).expect("a word");
        if access == Access::Store {
            self.state.stored += 1;
            self.state.words[word] = self.state.stored;
            let bytes = self.state.stored.to_le_bytes();
            return self.state.cache.write(address, &bytes);
        }
        let mut bytes = [0; 8];
        self.state.cache.read(address, &mut bytes);
        let (found, expected) = (u64::from_le_bytes(bytes), self.state.words[word]);
        let is_told = matches!(self.state.stage, RoundPhase::Told(_));
        let property = if is_told && word != OWN_WORD { RECEIVED } else { STAYS };
        self.witness.expect(found == expected, property, || format!("it finds {found}, not {expected}"));
        let RoundPhase::Told(mut read) = self.state.stage else { return };
        read[word] = true;
        self.state.stage = RoundPhase::Told(read);
        if read == [true; 3] {
            self.state.rounds += 1;
            self.state.stage = RoundPhase::Writing(0);
        }
    }

    fn evict(&mut self, block: u64) {
        match self.state.cache.state(block).is_dirty() {
            true => self.state.wish = Some((Access::Evict, block)),
            false => _ = self.state.cache.remove(block),
        }
    }

    /// What the host needs of the bus now.
    fn issue_of_host(&mut self) -> Option<Transaction> {
        let (access, address) = self.state.wish?;
        let block = address / BLOCK_BYTES * BLOCK_BYTES;
        if access == Access::Evict {
            self.state.wish = None;
            let is_dirty = self.state.cache.state(block).is_dirty();
            let data = self.state.cache.remove(block).filter(|_| is_dirty)?;
            return Some(Transaction::carrying(HOST, Kind::WriteBack, block, data));
        }
        match self.state.cache.access(address, access) {
            Ok(_) => {
                self.state.wish = None;
                self.accessed(access, address);
                None
            }
            Err(request) => Some(Transaction::block(HOST, kind_of(request), block)),
        }
    }

    /// Tells what an agent issues.
    fn tell(&mut self, issued: Option<&Transaction>) {
        if let Some(&Transaction { kind, address, .. }) = issued {
            let block = (address - REGION) / BLOCK_BYTES;
            self.witness.say(|| format!(", which {}", kind.in_words(&format!("block {block}"))));
        }
    }
}

fn kind_of(request: Request) -> Kind {
    match request {
        Request::Read => Kind::Read,
        Request::ReadExclusive => Kind::ReadExclusive,
        Request::Upgrade => Kind::Upgrade,
        Request::WriteBack => Kind::WriteBack,
    }
}

fn who(agent: AgentId) -> &'static str {
    if agent == HOST { "the host" } else { "the interface" }
}

impl Choosing for Move<'_> {
    fn interconnects(&mut self) -> &mut Interconnects {
        &mut self.state.interconnects
    }
}

/// The host: its cache, and the program.
pub(super) struct Host<'a, 'w>(&'a mut Move<'w>);

impl Agent for Host<'_, '_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        self.0.state.wants(HOST)
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        let issued = self.0.issue_of_host();
        self.0.tell(issued.as_ref());
        issued
    }

    fn snoop(&mut self, _now: Time, transaction: &Transaction) -> SnoopReply {
        let snoop = transaction.kind.snoop().expect("nothing is uncached");
        self.0.state.cache.snoop(snoop, transaction.address)
    }

    fn complete(&mut self, _: Time, _: InterconnectId, transaction: &Transaction, response: &Response) {
        let request = match transaction.kind {
            Kind::Read => Request::Read,
            Kind::ReadExclusive => Request::ReadExclusive,
            Kind::Upgrade => Request::Upgrade,
            _ => return,
        };
        let State { cache, wish, .. } = &mut self.0.state;
        cache.fill(transaction.address, request, response.shared, response.data.as_ref());
        if let Some((access, address)) = wish.take() {
            self.0.access(access, address);
        }
    }
}

/// The interface.
pub(super) struct Controller<'a, 'w>(&'a mut Move<'w>);

impl Agent for Controller<'_, '_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        self.0.state.wants(NI)
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        let issued = self.0.with_eager(|eager, at, counts| eager.issue(at, counts));
        let issued = issued.map(|issued| Transaction { agent: NI, ..issued });
        self.0.tell(issued.as_ref());
        issued
    }

    fn snoop(&mut self, _now: Time, transaction: &Transaction) -> SnoopReply {
        self.0.with_eager(|eager, at, counts| eager.snoop(at, transaction, counts))
    }

    fn complete(&mut self, _: Time, _: InterconnectId, _: &Transaction, response: &Response) {
        self.0.with_eager(|eager, at, counts| eager.complete(at, response, counts));
    }
}

impl<'w> InterconnectHost for Move<'w> {
    type Agent<'a>
        = Either<Host<'a, 'w>, Controller<'a, 'w>>
    where
        Self: 'a;
    type Memory<'a>
        = Memory<'a, MainMemory>
    where
        Self: 'a;

    fn interconnect(&mut self, on: InterconnectId) -> &mut Interconnect {
        self.state.interconnects.get_mut(on)
    }

    fn agent(&mut self, agent: AgentId) -> Self::Agent<'_> {
        match agent {
            HOST => Either::First(Host(self)),
            _ => Either::Second(Controller(self)),
        }
    }

    fn memory(&mut self, _memory: MemoryId) -> Self::Memory<'_> {
        Memory { bytes: &mut self.state.main, block_bytes: BLOCK_BYTES as usize }
    }

    fn schedule(&mut self, _at: Time, on: InterconnectId, step: Step) {
        self.state.interconnects.schedule(on, step);
    }

    fn two_owners(&mut self, _transaction: &Transaction) {
        self.witness.expect(false, ONE_OWNER, || "both supply it".into());
    }
}
