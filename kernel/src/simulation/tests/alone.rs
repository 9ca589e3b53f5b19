//! A partition that is alone has long windows, and a run ends as with short ones.

use super::*;
use crate::queue::EventQueue;

const TICK: Duration = Duration::from_ns(10);
/// The tick at which it finishes; it goes on ticking.
const LAST: u64 = 100;

/// Ticks for ever, and hears each tick a lookahead later.
struct Clock {
    events: EventQueue<Option<u64>>,
    ticks: u64,
    heard: u64,
    /// It puts what it sends to itself into the outbox, which it must not.
    uses_outbox: bool,
}

impl Clock {
    fn new() -> Self {
        let mut events = EventQueue::new();
        events.schedule(Time::ZERO, None);
        Clock { events, ticks: 0, heard: 0, uses_outbox: false }
    }

    fn tick(&mut self, now: Time, outbox: &mut Outbox<u64>) {
        self.ticks += 1;
        self.events.schedule(now + TICK, None);
        let (arrival, sequence) = (now + LOOKAHEAD, self.ticks);
        if self.uses_outbox {
            outbox.send(arrival, 0, sequence);
        } else {
            let envelope = Envelope { arrival, source: 0, sequence, destination: 0, payload: sequence };
            self.events.receive(envelope, Some);
        }
    }
}

impl Partition for Clock {
    type Payload = u64;

    fn next_time(&self) -> Option<Time> {
        self.events.next_time()
    }

    fn advance(&mut self, outbox: &mut Outbox<u64>) {
        let has_finished = self.ticks >= LAST;
        while let Some((now, heard)) = self.events.pop_before(outbox.until()) {
            match heard {
                Some(_) => self.heard += 1,
                None => self.tick(now, outbox),
            }
            if self.ticks >= LAST && !has_finished {
                return;
            }
        }
    }

    fn deliver(&mut self, _: Envelope<u64>) {
        unreachable!("nothing else sends");
    }

    fn status(&self) -> Status {
        match self.ticks {
            LAST.. => Status::Finished { at: Time::ZERO + TICK * (LAST - 1) },
            _ => Status::Running,
        }
    }

    fn progress(&self) -> u64 {
        self.ticks
    }
}

#[test]
fn a_run_ends_one_lookahead_after_a_lone_partition_has_finished_in_the_middle_of_a_window() {
    let mut simulation = Simulation::new(vec![Clock::new()], LOOKAHEAD);
    assert_eq!(simulation.run(&Limits::default(), &mut go_on), Ending::AllFinished);
    let end = Time::ZERO + TICK * (LAST - 1) + LOOKAHEAD;
    assert_eq!(simulation.now(), end);
    assert_eq!(simulation.windows(), 2, "until it has finished, and what is under way then");
    let clock = &simulation.into_partitions()[0];
    assert_eq!(
        (clock.ticks, clock.heard),
        (LAST + 3, LAST - 1),
        "what happens before the end, and nothing later"
    );
}

#[test]
#[should_panic(expected = "the lookahead exceeds the smallest latency")]
fn a_lone_partition_that_sends_to_itself_by_the_outbox_is_told() {
    let clock = Clock { uses_outbox: true, ..Clock::new() };
    Simulation::new(vec![clock], LOOKAHEAD).run(&Limits::default(), &mut go_on);
}
