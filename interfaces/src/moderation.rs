//! How an interface holds its interrupts back, and what a machine's file says of that.
//!
//! A message leaves a time after the one before at the earliest, or as soon as a number of packets are there
//! (Intel 82599 10 GbE Controller Datasheet, Section 7.3.2). After a pause the first packet is announced at once.

use narthex_kernel::Duration;
use serde::{Deserialize, Serialize};

use crate::models::{Notify, Problem};

/// How an interrupt is held back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Moderation {
    /// The least time from one message to the next.
    pub time: Duration,
    /// With so many packets it does not wait for that time.
    pub packets: u64,
}

impl Moderation {
    /// What the keys `notify`, `interrupt_moderation` and `interrupt_packets` say together; none if the driver polls.
    /// Of packets there are `most` at most, for the reason `because`.
    pub(crate) fn stated(
        notify: Option<Notify>,
        (time, packets): (Option<Duration>, Option<u64>),
        no_interrupts: Option<&str>,
        (most, because): (u64, &str),
    ) -> Result<Option<Self>, Problem> {
        if !Notify::interrupts(notify, no_interrupts)? {
            let stated = [("interrupt_moderation", time.is_some()), ("interrupt_packets", packets.is_some())];
            return match stated.into_iter().find(|(_, is_stated)| *is_stated) {
                None => Ok(None),
                Some((key, _)) => Problem::refuse(
                    key,
                    "the driver polls, and there is no interrupt to hold back; expected notify = \"interrupt\" with it",
                ),
            };
        }
        let time = time.unwrap_or(Duration::ZERO);
        let refuse = |problem| Problem::refuse("interrupt_packets", problem);
        match packets {
            None => Ok(Some(Moderation { time, packets: u64::MAX })),
            Some(packets) if time == Duration::ZERO => refuse(format!(
                "{packets} packets instead of a time, and there is none; expected interrupt_moderation with it"
            )),
            Some(packets) if packets == 0 || packets > most => {
                refuse(format!("{packets} packets; from 1 to {most} are possible with {because}"))
            }
            Some(packets) => Ok(Some(Moderation { time, packets })),
        }
    }
}
