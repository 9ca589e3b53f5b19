//! Whose message a process awaits in the messaging library's barrier.
//!
//! The library counts what has arrived in each round (guest/messaging/barrier.c); the program's
//! symbols tell where. In round r a process waits for the one 2^r ranks before it in its job.

use narthex_fabrics::Rank;

use super::Node;
use super::stuck::{Awaited, Call};

/// The library's function.
const FUNCTION: &str = "narthex_barrier";
/// Its counters: barriers begun, and arrivals by round.
const BEGUN: &str = "barriers_begun";
const ARRIVALS: &str = "barrier_arrivals";

impl Node {
    /// Who has not come to the barrier in which a process is, as far as it has heard, with the
    /// barrier's number from 1 on; none elsewhere, and for a program with another library.
    pub(super) fn awaited_in_barrier(&mut self, process: usize, calls: &[Call]) -> Option<Awaited> {
        calls.iter().find(|call| call.function.as_deref() == Some(FUNCTION))?;
        let program = self.processes[process].program.clone();
        let (begun, arrivals) = (program.address_of(BEGUN)?, program.address_of(ARRIVALS)?);
        let index = self.processes[process].processors.start;
        let (job, own) = self.job_of(process);
        let [barrier, _] = self.read_words(index, begun)?;
        for round in (0..u16::BITS).take_while(|&round| 1 << round < u32::from(job.ranks())) {
            let [arrived, _] = self.read_words(index, arrivals + 8 * u64::from(round))?;
            if arrived < barrier {
                let ranks = u32::from(job.ranks());
                let from = (u32::from(own.0) + ranks - (1 << round)) % ranks;
                return job.process(Rank(from as u16)).map(|from| Awaited::Barrier { from, barrier });
            }
        }
        None
    }
}
