//! Host threads that are held up at random. (Tests of whole machines use it too.)

use super::{Envelope, Outbox, Partition, Status, Stream, Time};

/// A partition whose host thread is held up at random.
pub struct Delayed<P> {
    pub partition: P,
    pub random: Stream,
}

impl<P> Delayed<P> {
    pub fn new(partition: P, seed: usize) -> Self {
        Delayed { partition, random: Stream::new(seed as u64, "delays") }
    }

    fn delay(&mut self) {
        match self.random.below(64) {
            0 => std::thread::sleep(std::time::Duration::from_micros(self.random.below(50))),
            1..4 => std::thread::yield_now(),
            4..16 => (0..self.random.below(3_000)).for_each(|_| std::hint::spin_loop()),
            _ => {}
        }
    }
}

impl<P: Partition> Partition for Delayed<P> {
    type Payload = P::Payload;

    fn next_time(&self) -> Option<Time> {
        self.partition.next_time()
    }

    fn earliest_departure(&self) -> Time {
        self.partition.earliest_departure()
    }

    fn expect_inspection(&mut self, at: Time) {
        self.partition.expect_inspection(at);
    }

    fn advance(&mut self, outbox: &mut Outbox<P::Payload>) {
        self.delay();
        self.partition.advance(outbox);
        self.delay();
    }

    fn deliver(&mut self, envelope: Envelope<P::Payload>) {
        self.partition.deliver(envelope);
    }

    fn status(&self) -> Status {
        self.partition.status()
    }

    fn progress(&self) -> u64 {
        self.partition.progress()
    }
}
