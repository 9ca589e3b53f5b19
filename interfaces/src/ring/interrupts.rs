//! When an interface with descriptor rings interrupts its driver.
//!
//! ```text
//!   driver:    polls, finds nothing ─► enables ─► looks again ─► waits ─► polls
//!   interface:                            │  a descriptor is written back,
//!                                         └─ and moderation allows it ─► message, and is disabled
//! ```
//!
//! The driver enables the interrupt by a store to a register; a message disables it, so that a driver
//! that polls is not interrupted (auto-mask and auto-clear of the Intel 82599 10 GbE Controller
//! Datasheet, Section 7.3.1). Only descriptors that are written back while it is enabled count: an edge,
//! no level. A descriptor that was written back between the driver's last poll and its store announces
//! nothing, so the driver looks again. As its store is posted, it has to read the register first:
//! otherwise it looks while the store is under way.
//!
//! Each receive queue of a process has an interrupt of its own, and says by which vector its message
//! leaves (the 82599's IVAR registers, Section 8.2.3.5.16). A masked vector holds it back
//! ([`crate::vectors`]); for the queue it has left.
//!
//! A message may be held back ([`Moderation`]).

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use crate::half::RegisterFault;
use crate::moderation::Moderation;
use crate::programming::Register;

/// The registers of the receive ring's interrupt.
pub const INTERRUPT_REGISTERS: [Register; 2] = [
    (
        "RECEIVE_RING_INTERRUPT",
        0xe8,
        "store: 1 enables one interrupt, 0 disables it; load: the same, and 2 where the machine has it",
    ),
    (
        "RECEIVE_RING_VECTOR",
        0xf0,
        "store: the vector of its messages, at first the queue's number; load: the same",
    ),
];
/// What the driver stores to enable it, and loads if it is enabled.
pub const ENABLED: u64 = 1;
/// What the driver loads where there is one.
pub const PRESENT: u64 = 2;

/// The interrupt of a receive ring.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct RingInterrupt {
    /// None where the driver polls always.
    moderation: Option<Moderation>,
    is_enabled: bool,
    /// Packets whose descriptors were written back while it was enabled.
    packets: u64,
    /// When the next message may leave without so many packets.
    free_at: Time,
    /// The message is to leave.
    is_due: bool,
}

impl RingInterrupt {
    /// One that is disabled.
    pub fn new(moderation: Option<Moderation>) -> Self {
        RingInterrupt { moderation, ..RingInterrupt::default() }
    }

    /// Whether the driver may wait for it.
    pub fn is_present(&self) -> bool {
        self.moderation.is_some()
    }

    /// Whether the driver may wait for it, but has not enabled it.
    pub fn is_disabled(&self) -> bool {
        self.is_present() && !self.is_enabled
    }

    /// Whether its message is to leave.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// What the driver loads.
    pub fn load(&self) -> u64 {
        let present = if self.is_present() { PRESENT } else { 0 };
        present | u64::from(self.is_enabled)
    }

    /// The driver enables or disables it.
    ///
    /// # Errors
    /// Which values are allowed.
    pub fn store(&mut self, value: u64) -> Result<(), RegisterFault> {
        let name = INTERRUPT_REGISTERS[0].0;
        match value {
            0 | ENABLED if self.is_present() => {
                (self.is_enabled, self.packets, self.is_due) = (value == ENABLED, 0, false);
                Ok(())
            }
            0 | ENABLED => Err(RegisterFault(format!(
                "{name} is stored with {value}; the machine's driver polls (interfaces.ring.notify)"
            ))),
            _ => Err(RegisterFault(format!("{name} is stored with {value:#x}; expected 0 or {ENABLED}"))),
        }
    }

    /// Descriptors of so many packets were written back: when to look at the time, if that is to be.
    pub fn written_back(&mut self, now: Time, packets: u64) -> Option<Time> {
        let moderation = self.moderation.filter(|_| self.is_enabled)?;
        let is_first = self.packets == 0;
        self.packets += packets;
        self.is_due |= self.packets >= moderation.packets || self.free_at <= now;
        (is_first && !self.is_due).then_some(self.free_at)
    }

    /// An instant has come that may be the one up to which a message was held back; whether it was.
    pub fn look_at_time(&mut self, now: Time) -> bool {
        let was_held = self.is_enabled && self.packets > 0 && !self.is_due && self.free_at <= now;
        self.is_due |= was_held;
        was_held
    }

    /// The message leaves.
    pub fn leave(&mut self, now: Time) {
        let time = self.moderation.expect("there is an interrupt").time;
        self.free_at = now + time;
        (self.is_enabled, self.packets, self.is_due) = (false, 0, false);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use narthex_kernel::Duration;

    use super::*;

    const PACKETS: u8 = 2;

    /// What the driver does next.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    enum Driver {
        Polls,
        Enables,
        ReadsBack,
        LooksAgain,
        Waits,
        Sleeps,
    }

    /// The interface, the driver and what lies between: packets whose descriptors are in memory, a store
    /// and a message under way, a message that the host has kept.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct World {
        interrupt: RingInterrupt,
        driver: Driver,
        written: u8,
        seen: u8,
        store: Option<u64>,
        message: bool,
        kept: bool,
    }

    impl World {
        fn start() -> Self {
            let moderation = Moderation { time: Duration::ZERO, packets: u64::MAX };
            let interrupt = RingInterrupt::new(Some(moderation));
            let (driver, store) = (Driver::Polls, None);
            World { interrupt, driver, written: 0, seen: 0, store, message: false, kept: false }
        }

        /// The driver's next step, without the steps that it leaves out; none if it sleeps or waits for the
        /// value of a register.
        fn driven(mut self, left_out: &[Driver]) -> Option<World> {
            let has_packets = self.seen < self.written;
            let next = match self.driver {
                Driver::Polls if has_packets => {
                    self.seen = self.written;
                    Driver::Polls
                }
                Driver::Polls => Driver::Enables,
                Driver::Enables => {
                    self.store = Some(ENABLED);
                    Driver::ReadsBack
                }
                // The load pushes the store in front of it.
                Driver::ReadsBack if self.store.is_some() && !left_out.contains(&Driver::ReadsBack) => {
                    return None;
                }
                Driver::ReadsBack => Driver::LooksAgain,
                Driver::LooksAgain if has_packets && !left_out.contains(&Driver::LooksAgain) => Driver::Polls,
                Driver::LooksAgain => Driver::Waits,
                Driver::Waits | Driver::Sleeps if self.kept => {
                    self.kept = false;
                    Driver::Polls
                }
                Driver::Waits => Driver::Sleeps,
                Driver::Sleeps => return None,
            };
            self.driver = next;
            Some(self)
        }

        /// What else may happen.
        fn others(&self) -> Vec<World> {
            let mut next = Vec::new();
            let mut may = |is_possible: bool, happen: fn(&mut World)| {
                if is_possible {
                    let mut world = self.clone();
                    happen(&mut world);
                    next.push(world);
                }
            };
            may(self.written < PACKETS, |world| {
                world.written += 1;
                assert_eq!(world.interrupt.written_back(Time::ZERO, 1), None);
            });
            may(self.store.is_some(), |world| {
                let stored = world.store.take().map(|value| world.interrupt.store(value));
                assert_eq!(stored, Some(Ok(())));
            });
            may(self.interrupt.is_due() && !self.message, |world| {
                world.interrupt.leave(Time::ZERO);
                world.message = true;
            });
            may(self.message, |world| (world.message, world.kept) = (false, true));
            next
        }
    }

    /// The states in which nothing can happen any more while packets wait for ever, and how many there are.
    fn lost(left_out: &[Driver]) -> (Vec<World>, usize) {
        let (mut known, mut open) = (HashSet::from([World::start()]), vec![World::start()]);
        let mut lost = Vec::new();
        while let Some(world) = open.pop() {
            let mut next = world.others();
            next.extend(world.clone().driven(left_out));
            if next.is_empty() && world.seen < PACKETS {
                lost.push(world);
            }
            open.extend(next.into_iter().filter(|next| known.insert(next.clone())));
        }
        (lost, known.len())
    }

    #[test]
    fn a_driver_that_enables_reads_back_and_looks_again_loses_no_packet() {
        let (lost_ones, states) = lost(&[]);
        assert_eq!(lost_ones, []);
        assert!(states > 100, "{states}");
        for left_out in [Driver::LooksAgain, Driver::ReadsBack] {
            let (lost_ones, _) = lost(&[left_out]);
            assert!(lost_ones.iter().any(|world| world.driver == Driver::Sleeps), "{left_out:?}");
        }
    }

    #[test]
    fn a_message_waits_for_the_time_since_the_last_one_or_for_so_many_packets() {
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        let moderation = Moderation { time: Duration::from_ns(20_000), packets: 3 };
        let mut interrupt = RingInterrupt::new(Some(moderation));
        let enable = |interrupt: &mut RingInterrupt| interrupt.store(ENABLED).expect("there is one");
        assert_eq!((interrupt.written_back(at(0), 5), interrupt.is_due()), (None, false), "not enabled");
        enable(&mut interrupt);
        assert_eq!((interrupt.written_back(at(10), 1), interrupt.is_due()), (None, true), "after a pause");
        interrupt.leave(at(10));
        enable(&mut interrupt);
        assert_eq!(interrupt.written_back(at(100), 1), Some(at(20_010)));
        assert_eq!((interrupt.written_back(at(200), 1), interrupt.is_due()), (None, false));
        assert!(!interrupt.look_at_time(at(20_009)) && interrupt.look_at_time(at(20_010)));
        interrupt.leave(at(20_010));
        enable(&mut interrupt);
        interrupt.written_back(at(20_100), 2);
        assert_eq!(
            (interrupt.written_back(at(20_200), 1), interrupt.is_due()),
            (None, true),
            "three packets"
        );
        let refused = interrupt.store(3).unwrap_err().0;
        assert_eq!(refused, "RECEIVE_RING_INTERRUPT is stored with 0x3; expected 0 or 1");
        let polls = RingInterrupt::new(None).store(ENABLED).unwrap_err().0;
        assert!(polls.contains("the machine's driver polls (interfaces.ring.notify)"), "{polls}");
    }
}
