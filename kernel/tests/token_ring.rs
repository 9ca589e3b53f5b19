//! A ring of stations passes a token: every instant of the run can be computed
//! on paper. Station `i` holds the token for 10 ns; the wire takes 40 ns. So
//! the token's k-th visit (from 0) is at k * 50 ns, at station k mod N.

use std::ops::ControlFlow;

use narthex_kernel::{
    Duration, Ending, Envelope, EventQueue, Limits, Outbox, Partition, Simulation, Stall, Status, Time,
};

const WIRE: Duration = Duration::from_ns(40);
const HOLD: Duration = Duration::from_ns(10);
const STATIONS: usize = 4;

enum Event {
    Token,
    Release,
    Tick,
}

/// What a station does when it has seen the token often enough.
#[derive(Clone, Copy, PartialEq)]
enum Habit {
    PassOn,
    Lose,
    Break,
    LoseAndTick,
}

struct Station {
    index: usize,
    habit: Habit,
    visits_wanted: usize,
    visits: Vec<Time>,
    stopped: Option<Time>,
    events: EventQueue<Event>,
}

impl Station {
    fn new(index: usize, visits_wanted: usize) -> Self {
        let mut events = EventQueue::new();
        if index == 0 {
            events.schedule(Time::ZERO, Event::Token);
        }
        Station { index, habit: Habit::PassOn, visits_wanted, visits: vec![], stopped: None, events }
    }

    /// When it had seen the token often enough.
    fn finished_at(&self) -> Time {
        self.visits_wanted.checked_sub(1).map_or(Time::ZERO, |last| self.visits[last])
    }

    fn last_visit(&mut self, now: Time) {
        match self.habit {
            Habit::PassOn => self.events.schedule(now + HOLD, Event::Release),
            Habit::Lose => {}
            Habit::Break => self.stopped = Some(now),
            Habit::LoseAndTick => self.events.schedule(now + HOLD, Event::Tick),
        }
    }
}

impl Partition for Station {
    type Payload = ();

    fn next_time(&self) -> Option<Time> {
        self.events.next_time()
    }

    fn advance(&mut self, outbox: &mut Outbox<()>) {
        while let Some((now, event)) = self.events.pop_before(outbox.until()) {
            match event {
                Event::Token => {
                    self.visits.push(now);
                    if self.visits.len() == self.visits_wanted {
                        self.last_visit(now);
                    } else {
                        self.events.schedule(now + HOLD, Event::Release);
                    }
                }
                Event::Release => outbox.send(now + WIRE, (self.index + 1) % STATIONS, ()),
                Event::Tick => self.events.schedule(now + HOLD, Event::Tick),
            }
        }
    }

    fn deliver(&mut self, envelope: Envelope<()>) {
        self.events.receive(envelope, |()| Event::Token);
    }

    fn status(&self) -> Status {
        match self.stopped {
            Some(at) => Status::Stopped { at },
            None if self.visits.len() >= self.visits_wanted => Status::Finished { at: self.finished_at() },
            None => Status::Running,
        }
    }

    fn progress(&self) -> u64 {
        self.visits.len() as u64
    }
}

fn ring(visits: usize) -> Vec<Station> {
    (0..STATIONS).map(|index| Station::new(index, visits)).collect()
}

fn go_on(_: Time, _: &mut [&mut Station]) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn ns(nanoseconds: u64) -> Time {
    Time::ZERO + Duration::from_ns(nanoseconds)
}

/// Visit by visit, what the paper says.
fn assert_exact(simulation: &mut Simulation<Station>, visits: usize) {
    for (index, station) in simulation.partitions().enumerate() {
        let expected = (0..visits).map(|lap| ns(50 * (lap * STATIONS + index) as u64));
        assert!(station.visits.iter().copied().eq(expected), "station {index}");
    }
}

#[test]
fn the_token_visits_each_station_at_the_computed_instants() {
    let mut simulation = Simulation::new(ring(25), WIRE);
    assert_eq!(simulation.run(&Limits::default(), &mut go_on), Ending::AllFinished);
    assert_exact(&mut simulation, 25);
    // The visits happen in one window each: its start is the visit, its length the wire's latency.
    assert_eq!(simulation.windows(), 100);
    assert_eq!(simulation.now(), ns(50 * 99 + 40));
}

#[test]
fn an_idle_century_costs_one_window() {
    let mut stations = ring(1);
    stations[0].events = EventQueue::new();
    stations[0].events.schedule(ns(1_000_000_000), Event::Token);
    let mut simulation = Simulation::new(stations, WIRE);
    assert_eq!(simulation.run(&Limits::default(), &mut go_on), Ending::AllFinished);
    assert_eq!(simulation.windows(), STATIONS as u64);
}

#[test]
fn a_lost_token_is_a_deadlock_at_once() {
    let mut stations = ring(5);
    stations[2].habit = Habit::Lose;
    let mut simulation = Simulation::new(stations, WIRE);
    let ending = simulation.run(&Limits::default(), &mut go_on);
    assert_eq!(ending, Ending::NoProgress(Stall::Deadlock));
    assert!(simulation.now() > ns(50 * (4 * 4 + 2)), "everything before has happened");
}

#[test]
fn a_station_that_ticks_but_does_nothing_useful_is_a_livelock() {
    let mut stations = ring(5);
    stations[2].habit = Habit::LoseAndTick;
    let mut simulation = Simulation::new(stations, WIRE);
    let limits = Limits { patience: Duration::from_ns(10_000), ..Limits::default() };
    let ending = simulation.run(&limits, &mut go_on);
    let Ending::NoProgress(Stall::Livelock { since }) = ending else { panic!("{ending:?}") };
    let last_progress = ns(50 * 18);
    assert!(since >= last_progress && simulation.now() <= last_progress + limits.patience * 2 + WIRE);
}

#[test]
fn the_first_station_that_stops_ends_the_run() {
    let mut stations = ring(3);
    stations[1].habit = Habit::Break;
    stations[3].habit = Habit::Break;
    let mut simulation = Simulation::new(stations, WIRE);
    let ending = simulation.run(&Limits::default(), &mut go_on);
    assert_eq!(ending, Ending::Stopped { partition: 1, at: ns(50 * 9) });
}

#[test]
fn two_stations_that_stop_in_one_window_are_told_apart_by_time_then_index() {
    let stopping_at = |instants: [u64; STATIONS]| {
        let mut stations = ring(1);
        for (station, at) in stations.iter_mut().zip(instants) {
            station.habit = Habit::Break;
            station.events = EventQueue::new();
            station.events.schedule(ns(at), Event::Token);
        }
        Simulation::new(stations, WIRE).run(&Limits::default(), &mut go_on)
    };
    assert_eq!(stopping_at([9, 7, 3, 8]), Ending::Stopped { partition: 2, at: ns(3) });
    assert_eq!(stopping_at([9, 3, 3, 8]), Ending::Stopped { partition: 1, at: ns(3) });
}

#[test]
fn nothing_happens_at_or_after_the_time_limit_and_the_run_can_go_on() {
    let mut simulation = Simulation::new(ring(25), WIRE);
    let limits = Limits { until: ns(200), ..Limits::default() };
    assert_eq!(simulation.run(&limits, &mut go_on), Ending::TimeLimit);
    assert_eq!(simulation.now(), ns(200));
    assert_eq!(simulation.partitions().next().map(|station| station.visits.len()), Some(1));
    assert_eq!(simulation.run(&Limits::default(), &mut go_on), Ending::AllFinished);
    assert_exact(&mut simulation, 25);
}

#[test]
fn an_observer_can_interrupt_and_the_run_can_go_on() {
    let mut simulation = Simulation::new(ring(25), WIRE);
    let limits = Limits { windows_per_observation: 10, ..Limits::default() };
    let mut calls = 0;
    let ending = simulation.run(&limits, &mut |now, _| {
        calls += 1;
        if now > ns(1_000) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((ending, calls), (Ending::Interrupted, 2));
    assert_eq!(simulation.run(&limits, &mut go_on), Ending::AllFinished);
    assert_exact(&mut simulation, 25);
}

#[test]
fn no_partitions_have_nothing_to_do() {
    let mut simulation = Simulation::new(Vec::<Station>::new(), WIRE);
    assert_eq!(simulation.run(&Limits::default(), &mut go_on), Ending::AllFinished);
}

#[test]
#[should_panic(expected = "the lookahead exceeds the smallest latency")]
fn a_lookahead_longer_than_the_wire_is_caught() {
    Simulation::new(ring(25), WIRE * 2).run(&Limits::default(), &mut go_on);
}
