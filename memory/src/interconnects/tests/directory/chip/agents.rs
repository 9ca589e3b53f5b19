//! The agents of a chip, and the chip as their host.

use super::*;

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
        if transaction.kind == Kind::Read { self.0.to_reads.clone() } else { SnoopReply::default() }
    }

    fn home(&mut self, _now: Time, transaction: &Transaction) -> HomeReply {
        let data = transaction.kind.fetches_block().then(|| BlockData::from_bytes(&[4; BLOCK_BYTES]));
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
            Some(0) => Either::Second(Either::First(Device(self))),
            Some(_) => Either::Second(Either::Second(BridgeAgent::new(self, AgentId(number)))),
        }
    }

    fn memory(&mut self, memory: MemoryId) -> &mut HomeMemory {
        &mut self.memories[usize::from(memory.0)]
    }

    fn schedule(&mut self, at: Time, on: InterconnectId, step: Step) {
        self.due.schedule(at, BenchEvent::Step(on, step));
    }

    fn carry(&mut self, at: Time, _on: InterconnectId, from: Endpoint, to: Endpoint, carried: Carried) {
        assert!(from != to && at >= self.now);
        let nanoseconds = self.random.as_mut().map_or(10, |random| 1 + random.below(60));
        self.due.schedule(at + Duration::from_ns(nanoseconds), BenchEvent::Arrive(to, carried));
    }
}
