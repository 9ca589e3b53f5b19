//! The bus unit: the device's master of the host's bus. It moves bytes between host memory
//! and SRAM, a line at a time, for whom it has jobs: each local command queue, the kernel
//! agent's, the block bus operation unit, and the remote command queue, in turn.
//!
//! A whole line is read (read_once) or replaced (write_block). Of a line that is written in
//! part the bytes beside it are kept: the unit takes the line (read_exclusive) and returns it
//! (write_back), and refuses it to others between; so are lines flushed out of caches.

use narthex_memory::{AgentId, BlockData, Kind, Response, Transaction};
use serde::{Deserialize, Serialize};

use super::commands::{HostAddress, Issuer};
use super::sram::Sram;

/// The job of the block bus operation unit, behind those of the three command queues.
pub const BLOCK_READ: usize = 3;
/// The job of the remote command queue.
pub const REMOTE: usize = 4;
/// How many there can be.
const JOBS: usize = 5;

/// What a job does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Moves {
    /// Host memory to SRAM.
    ToSram(u64),
    /// SRAM to host memory.
    ToHost(u64),
    /// A packet's data to host memory.
    Data,
    /// Lines leave all caches.
    Flush,
}

/// A job of the bus unit.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Whose command it is, if it is one.
    pub issuer: Option<Issuer>,
    /// What it does.
    pub moves: Moves,
    /// Where in host memory.
    pub host: HostAddress,
    /// How many bytes.
    pub bytes: u64,
    /// How many of them are done.
    pub done: u64,
    /// A packet's data.
    pub data: Vec<u8>,
    /// The channel that counts it; 255 for none.
    pub channel: u8,
}

impl Job {
    /// The next part within a line: its address, and its length.
    fn part(&self, line_bytes: u64) -> (u64, u64) {
        let address = self.host.address + self.done;
        (address, (line_bytes - address % line_bytes).min(self.bytes - self.done))
    }

    /// The bytes of that part that go to host memory.
    fn bytes_out<'a>(&'a self, sram: &'a Sram, length: u64) -> &'a [u8] {
        match self.moves {
            Moves::ToHost(from) => sram.bytes(from + self.done, length),
            _ => &self.data[self.done as usize..(self.done + length) as usize],
        }
    }
}

/// What the transaction under way is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum UnitState {
    Read,
    Write,
    Take,
    Return,
}

/// The bus unit.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct BusUnit {
    jobs: [Option<Job>; JOBS],
    last: usize,
    /// For which job a transaction is under way, and what.
    under_way: Option<(usize, UnitState)>,
    /// A line that it has taken: its job, its address, its bytes as they will be.
    taken: Option<(usize, u64, BlockData)>,
    line_bytes: u64,
}

impl BusUnit {
    /// A unit without jobs.
    pub fn new(line_bytes: u64) -> Self {
        BusUnit { jobs: Default::default(), last: 0, under_way: None, taken: None, line_bytes }
    }

    /// Whether a place for a job is free.
    pub fn is_free(&self, place: usize) -> bool {
        self.jobs[place].is_none()
    }

    /// Gives it a job; the place is free.
    pub fn give(&mut self, place: usize, job: Job) {
        self.jobs[place] = Some(job);
    }

    /// The job at a place.
    pub fn job(&self, place: usize) -> Option<&Job> {
        self.jobs[place].as_ref()
    }

    /// Takes a job that is done.
    pub fn take_done(&mut self) -> Option<(usize, Job)> {
        let place = self.jobs.iter().position(|job| job.as_ref().is_some_and(|job| job.done == job.bytes))?;
        Some((place, self.jobs[place].take().expect("it is there")))
    }

    /// Takes a job that cannot go on.
    fn fail(&mut self, place: usize) -> (usize, Job) {
        (place, self.jobs[place].take().expect("it is there"))
    }

    /// Whether it wants the bus.
    pub fn wants(&self) -> bool {
        self.under_way.is_none() && (self.taken.is_some() || self.jobs.iter().any(Option::is_some))
    }

    /// It has the bus: what it issues; or a job whose next address `translate` does not
    /// know.
    pub fn issue(
        &mut self,
        sram: &Sram,
        translate: impl Fn(HostAddress) -> Option<u64>,
    ) -> Result<Option<Transaction>, (usize, Job)> {
        let agent = AgentId(0);
        if self.under_way.is_some() {
            return Ok(None);
        }
        if let Some((place, line, data)) = &self.taken {
            self.under_way = Some((*place, UnitState::Return));
            return Ok(Some(Transaction::carrying(agent, Kind::WriteBack, *line, data.clone())));
        }
        let places = (1..=JOBS).map(|step| (self.last + step) % JOBS);
        let Some(place) = places.into_iter().find(|&place| self.jobs[place].is_some()) else {
            return Ok(None);
        };
        self.last = place;
        let job = self.jobs[place].as_ref().expect("it is there");
        let (address, length) = job.part(self.line_bytes);
        let Some(here) = translate(HostAddress { address, ..job.host }) else { return Err(self.fail(place)) };
        let line = here - here % self.line_bytes;
        let (stage, transaction) = match job.moves {
            Moves::ToSram(_) => (UnitState::Read, Transaction::block(agent, Kind::ReadOnce, line)),
            Moves::ToHost(_) | Moves::Data if length == self.line_bytes => {
                let data = BlockData::from_bytes(job.bytes_out(sram, length));
                (UnitState::Write, Transaction::carrying(agent, Kind::WriteBlock, line, data))
            }
            _ => (UnitState::Take, Transaction::block(agent, Kind::ReadExclusive, line)),
        };
        self.under_way = Some((place, stage));
        Ok(Some(transaction))
    }

    /// What it issued is over.
    pub fn complete(&mut self, sram: &mut Sram, transaction: &Transaction, response: &Response) {
        let (place, stage) = self.under_way.take().expect("it has issued");
        let line_bytes = self.line_bytes;
        let job = self.jobs[place].as_mut().expect("its job is there");
        let (address, length) = job.part(line_bytes);
        let within = (address % line_bytes) as usize..(address % line_bytes + length) as usize;
        match stage {
            UnitState::Read => {
                let data = response.data.as_ref().expect("a read brings bytes");
                if let Moves::ToSram(to) = job.moves {
                    sram.write(to + job.done, &data[within]);
                }
            }
            UnitState::Take => {
                let mut data = response.data.clone().expect("a read brings bytes");
                if job.moves != Moves::Flush {
                    data[within].copy_from_slice(job.bytes_out(sram, length));
                }
                self.taken = Some((place, transaction.address, data));
                return;
            }
            UnitState::Return => self.taken = None,
            UnitState::Write => {}
        }
        job.done += length;
    }

    /// Whether it has taken the line, so that others wait for it.
    pub fn has_taken(&self, address: u64) -> bool {
        self.peek(address).is_some()
    }

    /// The bytes of a line that it has taken.
    pub fn peek(&self, address: u64) -> Option<&[u8]> {
        self.taken.as_ref().filter(|(_, line, _)| *line == address).map(|(.., data)| &data[..])
    }

    /// The operating system writes bytes within a line.
    pub fn poke(&mut self, address: u64, bytes: &[u8]) {
        if let Some((_, line, data)) = &mut self.taken
            && let Some(start) = address.checked_sub(*line).filter(|&start| start < data.len() as u64)
        {
            data[start as usize..start as usize + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// What it is at.
    pub fn doing(&self) -> Option<&'static str> {
        let (place, stage) = self
            .under_way
            .or_else(|| self.jobs.iter().position(Option::is_some).map(|place| (place, UnitState::Read)))?;
        Some(match (place, stage) {
            (BLOCK_READ, _) => "reads a block of a transfer",
            (REMOTE, _) => "writes a block of a transfer",
            (_, UnitState::Read) => "reads host memory",
            _ => "writes host memory",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(moves: Moves, address: u64, bytes: u64) -> Job {
        Job {
            issuer: None,
            moves,
            host: HostAddress { address, process: None },
            bytes,
            done: 0,
            data: Vec::new(),
            channel: 255,
        }
    }

    /// Lets the unit move, with memory that counts up from its address: kinds and addresses
    /// of the transactions, and what was written last.
    fn run(unit: &mut BusUnit, sram: &mut Sram) -> (Vec<(Kind, u64)>, Option<BlockData>) {
        let (mut seen, mut written) = (Vec::new(), None);
        while unit.take_done().is_none() {
            let issued = unit.issue(sram, |host| Some(host.address)).expect("all addresses are known");
            let transaction = issued.expect("it has a job");
            seen.push((transaction.kind, transaction.address));
            let bytes: Vec<u8> =
                (transaction.address..transaction.address + 32).map(|byte| byte as u8).collect();
            let fetches = transaction.kind.fetches_block();
            let response =
                Response { data: fetches.then(|| BlockData::from_bytes(&bytes)), ..Response::default() };
            written = transaction.data.clone().or(written);
            unit.complete(sram, &transaction, &response);
        }
        (seen, written)
    }

    #[test]
    fn lines_are_read_one_by_one_to_where_they_belong() {
        let (mut unit, mut sram) = (BusUnit::new(32), Sram::new([256, 32]));
        unit.give(0, job(Moves::ToSram(64), 0x50, 40));
        let (seen, _) = run(&mut unit, &mut sram);
        assert_eq!(seen, [(Kind::ReadOnce, 0x40), (Kind::ReadOnce, 0x60)]);
        let expected: Vec<u8> = (0x50..0x78).collect();
        assert_eq!(sram.bytes(64, 40), expected);
        assert_eq!(sram.bytes(104, 8), [0; 8]);
    }

    #[test]
    fn a_whole_line_is_replaced_and_a_part_keeps_what_is_beside_it() {
        let (mut unit, mut sram) = (BusUnit::new(32), Sram::new([256, 32]));
        sram.write(0, &[7; 64]);
        unit.give(1, job(Moves::ToHost(0), 0x40, 36));
        let (seen, written) = run(&mut unit, &mut sram);
        assert_eq!(seen, [(Kind::WriteBlock, 0x40), (Kind::ReadExclusive, 0x60), (Kind::WriteBack, 0x60)]);
        let written = written.expect("a line went back");
        assert_eq!((&written[..4], written[4], written[31]), (&[7; 4][..], 0x64, 0x7f));
    }

    #[test]
    fn a_taken_line_is_its_own_until_it_is_back() {
        let (mut unit, mut sram) = (BusUnit::new(32), Sram::new([256, 32]));
        unit.give(0, job(Moves::Flush, 0x40, 32));
        let take = unit.issue(&sram, |host| Some(host.address)).expect("known").expect("it has a job");
        let data = Some(BlockData::zeroed(32));
        unit.complete(&mut sram, &take, &Response { data, ..Response::default() });
        assert!(unit.has_taken(0x40) && !unit.has_taken(0x60) && unit.wants());
        unit.poke(0x48, &[9]);
        let give = unit.issue(&sram, |_| None).expect("known").expect("it returns the line");
        assert_eq!((give.kind, give.data.as_ref().expect("bytes")[8]), (Kind::WriteBack, 9));
        unit.complete(&mut sram, &give, &Response::default());
        assert!(!unit.has_taken(0x40) && unit.take_done().is_some() && !unit.wants());
    }

    #[test]
    fn jobs_have_the_bus_in_turn_and_one_with_a_bad_address_goes() {
        let (mut unit, mut sram) = (BusUnit::new(32), Sram::new([256, 32]));
        unit.give(0, job(Moves::ToSram(0), 0x40, 64));
        unit.give(REMOTE, job(Moves::ToSram(128), 0x1000, 64));
        let mut order = Vec::new();
        while unit.wants() {
            match unit.issue(&sram, |host| (host.address != 0x1020).then_some(host.address)) {
                Ok(issued) => {
                    let issued = issued.expect("it has a job");
                    order.push(issued.address);
                    let data = Some(BlockData::zeroed(32));
                    unit.complete(&mut sram, &issued, &Response { data, ..Response::default() });
                    unit.take_done();
                }
                Err((place, job)) => assert_eq!((place, job.done), (REMOTE, 32)),
            }
        }
        assert_eq!(order, [0x1000, 0x40, 0x60]);
    }
}
