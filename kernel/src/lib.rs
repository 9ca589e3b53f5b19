//! The kernel: time, events, partitions, statistics, the time ledger.
//!
//! It knows no hardware. What it knows is how to simulate a machine of many
//! parts so that every picosecond is accounted for and the result is the same,
//! bit for bit, on any computer and with any number of threads.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`archive`] | the whole state as bytes, and back |
//! | [`digest`] | a state as a number, to tell it from others |
//! | [`time`] | instants, durations, clocks, in whole picoseconds |
//! | [`quantity`] | what configuration says: `"120ns"`, `"250MHz"`, `"64B"` |
//! | [`queue`] | the event queue: by time, then by the order of scheduling |
//! | [`partition`] | a part of the machine with its own time, and its mail |
//! | [`simulation`] | partitions that advance in windows, and why a run ends |
//! | [`mod@statistics`] | counts, times, distributions, each declared once |
//! | [`ledger`] | where each picosecond went |
//! | [`random`] | a seeded stream of random numbers for each component |
//!
//! # A simulation in three steps
//!
//! Two players return a ball. The flight takes 40 ns, a stroke 10 ns.
//!
//! **1. Make a partition.** It has a queue of its own events, does what
//! happens before a given instant, and leaves what it sends in its outbox.
//! Its statistics are declared once.
//!
//! ```
//! use narthex_kernel::*;
//!
//! const FLIGHT: Duration = Duration::from_ns(40);
//! const STROKE: Duration = Duration::from_ns(10);
//!
//! statistics! {
//!     /// What a player counts.
//!     pub struct Score {
//!         strokes: Counter, "strokes", "strokes", "balls returned";
//!         effort: TimeTotal, "effort", "ps", "time spent on strokes";
//!     }
//! }
//!
//! struct Player { opponent: usize, score: Score, last: Time, balls: EventQueue<()> }
//!
//! impl Partition for Player {
//!     type Payload = ();
//!
//!     fn next_time(&self) -> Option<Time> {
//!         self.balls.next_time()
//!     }
//!     fn advance(&mut self, outbox: &mut Outbox<()>) {
//!         while let Some((now, ball)) = self.balls.pop_before(outbox.until()) {
//!             self.score.strokes.increment();
//!             self.last = now;
//!             self.score.effort.add(STROKE);
//!             outbox.send(now + STROKE + FLIGHT, self.opponent, ball);
//!         }
//!     }
//!     fn deliver(&mut self, ball: Envelope<()>) {
//!         self.balls.receive(ball, |()| ());
//!     }
//!     fn status(&self) -> Status {
//!         match self.score.strokes.get() {
//!             0..10 => Status::Running,
//!             _ => Status::Finished { at: self.last },
//!         }
//!     }
//!     fn progress(&self) -> u64 {
//!         self.score.strokes.get()
//!     }
//! }
//! ```
//!
//! **2. Run it.** The lookahead is the smallest time in which one partition can
//! affect another. The observer may show progress or interrupt.
//!
//! ```
//! # use narthex_kernel::*;
//! #
//! # const FLIGHT: Duration = Duration::from_ns(40);
//! # const STROKE: Duration = Duration::from_ns(10);
//! #
//! # statistics! {
//! #     /// What a player counts.
//! #     pub struct Score {
//! #         strokes: Counter, "strokes", "strokes", "balls returned";
//! #         effort: TimeTotal, "effort", "ps", "time spent on strokes";
//! #     }
//! # }
//! #
//! # struct Player { opponent: usize, score: Score, last: Time, balls: EventQueue<()> }
//! #
//! # impl Partition for Player {
//! #     type Payload = ();
//! #
//! #     fn next_time(&self) -> Option<Time> {
//! #         self.balls.next_time()
//! #     }
//! #     fn advance(&mut self, outbox: &mut Outbox<()>) {
//! #         while let Some((now, ball)) = self.balls.pop_before(outbox.until()) {
//! #             self.score.strokes.increment();
//! #             self.last = now;
//! #             self.score.effort.add(STROKE);
//! #             outbox.send(now + STROKE + FLIGHT, self.opponent, ball);
//! #         }
//! #     }
//! #     fn deliver(&mut self, ball: Envelope<()>) {
//! #         self.balls.receive(ball, |()| ());
//! #     }
//! #     fn status(&self) -> Status {
//! #         match self.score.strokes.get() {
//! #             0..10 => Status::Running,
//! #             _ => Status::Finished { at: self.last },
//! #         }
//! #     }
//! #     fn progress(&self) -> u64 {
//! #         self.score.strokes.get()
//! #     }
//! # }
//! use std::ops::ControlFlow;
//!
//! let player = |opponent| Player { opponent, score: Score::default(), last: Time::ZERO, balls: EventQueue::new() };
//! let mut players = vec![player(1), player(0)];
//! players[0].balls.schedule(Time::ZERO, ());
//!
//! let mut simulation = Simulation::new(players, FLIGHT);
//! let ending = simulation.run(&Limits::default(), &mut |_, _| ControlFlow::Continue(()));
//! assert_eq!(ending, Ending::AllFinished);
//! assert_eq!(simulation.now(), Time::from_ps(19 * 50_000) + FLIGHT); // one flight after the last stroke
//! ```
//!
//! **3. Read the statistics.** Names, units and meanings come from the
//! declaration, JSON by itself.
//!
//! ```
//! # use narthex_kernel::*;
//! #
//! # const FLIGHT: Duration = Duration::from_ns(40);
//! # const STROKE: Duration = Duration::from_ns(10);
//! #
//! # statistics! {
//! #     /// What a player counts.
//! #     pub struct Score {
//! #         strokes: Counter, "strokes", "strokes", "balls returned";
//! #         effort: TimeTotal, "effort", "ps", "time spent on strokes";
//! #     }
//! # }
//! #
//! # struct Player { opponent: usize, score: Score, last: Time, balls: EventQueue<()> }
//! #
//! # impl Partition for Player {
//! #     type Payload = ();
//! #
//! #     fn next_time(&self) -> Option<Time> {
//! #         self.balls.next_time()
//! #     }
//! #     fn advance(&mut self, outbox: &mut Outbox<()>) {
//! #         while let Some((now, ball)) = self.balls.pop_before(outbox.until()) {
//! #             self.score.strokes.increment();
//! #             self.last = now;
//! #             self.score.effort.add(STROKE);
//! #             outbox.send(now + STROKE + FLIGHT, self.opponent, ball);
//! #         }
//! #     }
//! #     fn deliver(&mut self, ball: Envelope<()>) {
//! #         self.balls.receive(ball, |()| ());
//! #     }
//! #     fn status(&self) -> Status {
//! #         match self.score.strokes.get() {
//! #             0..10 => Status::Running,
//! #             _ => Status::Finished { at: self.last },
//! #         }
//! #     }
//! #     fn progress(&self) -> u64 {
//! #         self.score.strokes.get()
//! #     }
//! # }
//! # use std::ops::ControlFlow;
//! # let player = |opponent| Player { opponent, score: Score::default(), last: Time::ZERO, balls: EventQueue::new() };
//! # let mut players = vec![player(1), player(0)];
//! # players[0].balls.schedule(Time::ZERO, ());
//! # let mut simulation = Simulation::new(players, FLIGHT);
//! # simulation.run(&Limits::default(), &mut |_, _| ControlFlow::Continue(()));
//! let players = simulation.into_partitions();
//! let score = &players[1].score;
//! assert_eq!(score.effort.get(), STROKE * 10);
//! assert_eq!(Score::describe()[0].meaning, "balls returned");
//! assert_eq!(serde_json::to_string(&score.reported())?, r#"{"strokes":10,"effort":100000}"#);
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! Where time went is a question for a [`Ledger`]; what the randomness was, for
//! a [`random::Stream`].

pub mod archive;
pub mod digest;
pub mod ledger;
pub mod partition;
pub mod quantity;
pub mod queue;
pub mod random;
pub mod simulation;
mod spelling;
pub mod statistics;
pub mod time;

pub use archive::{Archive, Archived, Damage};
pub use ledger::{Category, Ledger};
pub use partition::{Envelope, Outbox, Partition, Status};
pub use quantity::{Bytes, Frequency, QuantityError};
pub use queue::{EventPlace, EventQueue};
pub use simulation::{Ending, Limits, Simulation, Stall, Threads};
pub use spelling::did_you_mean;
pub use time::{Clock, Duration, Time};
