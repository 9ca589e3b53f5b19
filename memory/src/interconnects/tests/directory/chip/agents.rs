//! The agents of a chip, and the chip as their host.

use super::*;
use crate::interrupt::Interrupt;

/// The memory of a processor of the chip.
pub(in super::super) struct ProcessorAgent<'a> {
    chip: &'a mut Chip,
    index: usize,
}

impl ProcessorAgent<'_> {
    fn unit(&mut self) -> &mut Unit {
        &mut self.chip.processors[self.index]
    }
}

impl Agent for ProcessorAgent<'_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        self.chip.processors[self.index].memory.wants(Traffic::All)
    }

    fn issue(&mut self, now: Time, _on: InterconnectId) -> Option<Transaction> {
        let unit = self.unit();
        let transaction = unit.memory.issue(Traffic::All);
        if transaction.is_none() && unit.is_waiting && unit.memory.wait_reason().is_none() {
            // It needs nothing any more: it makes its access, or asks for something else.
            self.chip.attempt(self.index, now);
        }
        transaction
    }

    fn snoop(&mut self, _now: Time, transaction: &Transaction) -> SnoopReply {
        self.unit().memory.snoop(transaction)
    }

    fn complete(&mut self, now: Time, _on: InterconnectId, transaction: &Transaction, response: &Response) {
        let unit = self.unit();
        if unit.memory.complete(transaction, response) && unit.is_waiting {
            self.chip.attempt(self.index, now);
        }
        ask(self.chip, now, self.chip.place_of(self.index), AgentId(self.index as u8));
    }
}

/// What stands in the place of a processor for a write of the device.
pub(in super::super) const WRITER: usize = usize::MAX;

/// A block of which the device is the home, and what it knows of it.
#[derive(Clone)]
pub(in super::super) struct OwnBlock {
    pub bytes: [u8; BLOCK_BYTES],
    /// They are the last.
    pub is_latest: bool,
    /// A cache may have a copy.
    pub may_be_cached: bool,
}

impl Default for OwnBlock {
    fn default() -> Self {
        OwnBlock { bytes: [4; BLOCK_BYTES], is_latest: true, may_be_cached: false }
    }
}

impl OwnBlock {
    fn snoop(&mut self, kind: Kind) {
        self.may_be_cached |= kind != Kind::ReadOnce;
        self.is_latest &= !matches!(kind, Kind::ReadExclusive | Kind::Upgrade);
    }

    /// No cache has a copy.
    pub fn write(&mut self, byte: u8) {
        (self.bytes, self.is_latest) = ([byte; BLOCK_BYTES], true);
    }

    fn take_in(&mut self, data: &BlockData) {
        self.is_latest = true;
        if data.len() == BLOCK_BYTES {
            self.bytes.copy_from_slice(data);
        }
    }
}

/// The device on the chip.
pub(in super::super) struct Device<'a>(&'a mut Chip);

impl Agent for Device<'_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        !self.0.script.is_empty()
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        let transaction = (!self.0.script.is_empty()).then(|| self.0.script.remove(0))?;
        if let Some(watch) = &mut self.0.watch {
            watch.begins(&transaction);
        }
        Some(transaction)
    }

    fn snoop(&mut self, _now: Time, transaction: &Transaction) -> SnoopReply {
        self.0.heard.push(transaction.kind);
        self.0.own_blocks.entry(transaction.address).or_default().snoop(transaction.kind);
        if transaction.kind == Kind::Read { self.0.to_reads.clone() } else { SnoopReply::default() }
    }

    fn home(&mut self, _now: Time, transaction: &Transaction) -> HomeReply {
        let own = self.0.own_blocks.entry(transaction.address).or_default();
        if let Some(data) = &transaction.data {
            own.take_in(data);
        }
        let data = transaction.kind.fetches_block().then(|| BlockData::from_bytes(&own.bytes));
        HomeReply { data, delay: Duration::from_ns(30) }
    }

    fn access_time(&mut self, _now: Time, _kind: Kind) -> Duration {
        Duration::from_ns(30)
    }

    fn access(&mut self, now: Time, _transaction: &Transaction, response: &mut Response) -> AccessReply {
        self.0.accessed.push(now.as_ps() / 1_000);
        if let Some(transaction) = self.0.on_access.take() {
            self.0.due.schedule(now, BenchEvent::Device(transaction));
        }
        if self.0.holds {
            return AccessReply::Held;
        }
        response.value = REGISTER_VALUE;
        AccessReply::Done
    }

    fn complete(&mut self, now: Time, on: InterconnectId, transaction: &Transaction, response: &Response) {
        let own = self.0.own_blocks.entry(transaction.address).or_default();
        if transaction.kind == Kind::Invalidate {
            own.may_be_cached = false;
            if let Some(byte) = self.0.writes.take() {
                own.write(byte);
                self.0.finished.push(Finished {
                    at: now.as_ps() / 1_000,
                    processor: WRITER,
                    value: byte.into(),
                });
            }
        }
        if let Some(data) = &response.data {
            own.take_in(data);
        }
        let byte = response.data.as_ref().map(|data| data[0]);
        self.0.of_device.push((now.as_ps() / 1_000, byte));
        if let Some(watch) = &mut self.0.watch {
            watch.ends(transaction, response.data.as_ref());
        }
        let agent = self.0.device_id();
        ask(self.0, now, on, agent);
    }
}

impl InterconnectHost for Chip {
    type Agent<'a> = Either<ProcessorAgent<'a>, Either<Device<'a>, BridgeAgent<'a, Chip>>>;
    type Memory<'a> = &'a mut HomeMemory;

    fn interconnect(&mut self, on: InterconnectId) -> &mut Interconnect {
        &mut self.interconnects[usize::from(on.0)]
    }

    fn agent(&mut self, AgentId(number): AgentId) -> Self::Agent<'_> {
        let index = usize::from(number);
        match index.checked_sub(self.processors.len()) {
            None => Either::First(ProcessorAgent { chip: self, index }),
            Some(port) if port < self.ports => Either::Second(Either::First(Device(self))),
            Some(_) => Either::Second(Either::Second(BridgeAgent::new(self, AgentId(number)))),
        }
    }

    fn memory(&mut self, memory: MemoryId) -> &mut HomeMemory {
        &mut self.memories[usize::from(memory.0)]
    }

    fn schedule(&mut self, at: Time, on: InterconnectId, step: Step) {
        self.due.schedule(at, BenchEvent::Step(on, step));
    }

    fn interrupt(&mut self, at: Time, device: AgentId, message: Interrupt) {
        assert_eq!(device, self.device_id());
        self.interrupts.push((at.as_ps() / 1_000, message.vector));
    }

    fn carry(&mut self, at: Time, _on: InterconnectId, from: Endpoint, to: Endpoint, carried: Carried) {
        assert!(from != to && at >= self.now);
        let nanoseconds = self.random.as_mut().map_or(10, |random| 1 + random.below(60));
        self.due.schedule(at + Duration::from_ns(nanoseconds), BenchEvent::Arrive(to, carried));
    }
}
