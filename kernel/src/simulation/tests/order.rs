//! In which order a thread takes its partitions.

use std::sync::{Arc, Mutex};

use super::*;

/// Notes its number in each of five windows.
struct Caller {
    number: usize,
    calls: Arc<Mutex<Vec<usize>>>,
    windows: u64,
}

impl Partition for Caller {
    type Payload = ();

    fn next_time(&self) -> Option<Time> {
        (self.windows < 5).then_some(Time::ZERO + LOOKAHEAD * self.windows)
    }

    fn advance(&mut self, _: &mut Outbox<()>) {
        self.calls.lock().unwrap().push(self.number);
        self.windows += 1;
    }

    fn deliver(&mut self, _: Envelope<()>) {}

    fn status(&self) -> Status {
        match self.next_time() {
            Some(_) => Status::Running,
            None => Status::Finished { at: Time::ZERO },
        }
    }

    fn progress(&self) -> u64 {
        self.windows
    }
}

#[test]
fn each_window_begins_with_the_partition_with_which_the_one_before_ended() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let caller = |number| Caller { number, calls: calls.clone(), windows: 0 };
    let mut simulation = Simulation::new((0..3).map(caller).collect(), LOOKAHEAD);
    assert_eq!(simulation.run(&Limits::default(), &mut go_on), Ending::AllFinished);
    assert_eq!(*calls.lock().unwrap(), [0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1, 2]);
}
