//! A rate that falls with notifications and recovers with time, after DCQCN (Zhu, Eran, Firestone, Guo,
//! Lipshteyn, Liron, Padhye, Raindel, Yahia and Zhang, "Congestion Control for Large-Scale RDMA
//! Deployments", SIGCOMM 2015, Section 3.1).
//!
//! ```text
//!   rate │──┐                 ___──  additive increase: the target rises by `step`, the rate half way
//!        │  │        ___──────       fast recovery: half way back to the target, 5 times
//!        │  └──_____/                a notification: the rate falls by half of alpha
//!        └────────────────────► time
//! ```
//!
//! The paper's reaction point: a notification sets the target to the rate, cuts the rate by alpha / 2
//! and raises alpha to (1 - g) alpha + g (Equation 1); each `alpha_time` without one lowers alpha to
//! (1 - g) alpha (Equation 2). Each `increase_time` after the cut the rate goes half way to the
//! target; after five times the target rises too (Equations 3 and 4). *Not modelled*, which is
//! why it is "like" DCQCN: the byte counter beside the timer, and hyper increase.
//!
//! The paper's values: g = 1/256, a notification every 50 us at most, 55 us for both timers, 40 Mbit/s of
//! increase on links of 40 Gbit/s. A machine's file states all of them.

use narthex_kernel::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Echo, Parameters, Sender, WHOLE, at_least_1};

/// A rate that falls with notifications of congestion and recovers with time (DCQCN).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The rate at which a sender begins, and its highest, in megabytes a second.
    #[schemars(range(min = 1))]
    pub line_rate_mb_s: u32,
    /// What the target rises by in additive increase, in megabytes a second.
    #[schemars(range(min = 1))]
    pub step_mb_s: u32,
    /// One over g, the weight of the newest in alpha.
    #[schemars(range(min = 1))]
    pub inverse_weight: u32,
    /// A receiver notifies a sender no sooner after the last time.
    pub notification_time: Duration,
    /// Time without notification after which alpha falls.
    pub alpha_time: Duration,
    /// Time from one increase of the rate to the next.
    pub increase_time: Duration,
}

/// Rounds of recovery before the target rises (F in the paper).
const FAST_RECOVERY_ROUNDS: u32 = 5;

const BYTES_PER_MB: u64 = 1_000_000;
const PS_PER_SECOND: u128 = 1_000_000_000_000;

impl Parameters for Config {
    fn problems(&self) -> Vec<(&'static str, String)> {
        let counts = [
            ("line_rate_mb_s", self.line_rate_mb_s),
            ("step_mb_s", self.step_mb_s),
            ("inverse_weight", self.inverse_weight),
        ];
        let times = [
            ("notification_time", self.notification_time),
            ("alpha_time", self.alpha_time),
            ("increase_time", self.increase_time),
        ];
        let counts = counts.into_iter().filter_map(|(key, value)| at_least_1(key, value));
        let times = times.into_iter().filter(|(_, time)| time.is_zero());
        counts
            .chain(times.map(|(key, _)| (key, "0ps has no end; expected such as 55us".to_owned())))
            .collect()
    }

    fn echo(&self) -> Echo {
        Echo::Every(self.notification_time)
    }

    fn sender(&self) -> Sender {
        let line = u64::from(self.line_rate_mb_s) * BYTES_PER_MB;
        Sender::Rate(Rate {
            line,
            step: u64::from(self.step_mb_s) * BYTES_PER_MB,
            inverse_weight: self.inverse_weight.into(),
            alpha_time: self.alpha_time,
            increase_time: self.increase_time,
            current: line,
            target: line,
            alpha: WHOLE,
            rounds: 0,
            next_alpha: Time::NEVER,
            next_increase: Time::NEVER,
        })
    }
}

/// The rate towards a destination; rates are in bytes a second.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rate {
    line: u64,
    step: u64,
    inverse_weight: u64,
    alpha_time: Duration,
    increase_time: Duration,
    current: u64,
    target: u64,
    /// In parts of [`WHOLE`].
    alpha: u64,
    /// Increases since the last cut.
    rounds: u32,
    next_alpha: Time,
    next_increase: Time,
}

impl Rate {
    /// Lets the timers happen that were due up to `now`.
    fn advance(&mut self, now: Time) {
        while self.next_increase <= now {
            self.next_increase += self.increase_time;
            self.increase();
        }
        while self.next_alpha <= now && self.alpha > 0 {
            self.next_alpha += self.alpha_time;
            self.alpha -= self.alpha.div_ceil(self.inverse_weight);
        }
    }

    fn increase(&mut self) {
        self.rounds += 1;
        if self.rounds > FAST_RECOVERY_ROUNDS {
            self.target = (self.target + self.step).min(self.line);
        }
        self.current = (self.target + self.current).div_ceil(2);
        if self.current == self.line {
            self.next_increase = Time::NEVER;
        }
    }

    /// A notification has come.
    pub(super) fn cut(&mut self, now: Time) {
        self.advance(now);
        self.target = self.current;
        self.current = (self.current - self.current * self.alpha / (2 * WHOLE)).max(1);
        self.alpha += (WHOLE - self.alpha) / self.inverse_weight;
        self.rounds = 0;
        self.next_alpha = now + self.alpha_time;
        self.next_increase = now + self.increase_time;
    }

    /// Bytes leave at `now`: when the next may.
    pub(super) fn send(&mut self, now: Time, bytes: u64) -> Time {
        self.advance(now);
        let ps = (u128::from(bytes) * PS_PER_SECOND).div_ceil(u128::from(self.current));
        now + Duration::from_ps(ps as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate() -> Rate {
        let config = Config {
            line_rate_mb_s: 1000,
            step_mb_s: 10,
            inverse_weight: 256,
            notification_time: Duration::from_ns(50_000),
            alpha_time: Duration::from_ns(55_000),
            increase_time: Duration::from_ns(55_000),
        };
        assert_eq!((config.problems(), config.echo()), (vec![], Echo::Every(Duration::from_ns(50_000))));
        let Sender::Rate(rate) = config.sender() else { panic!("it is a rate") };
        rate
    }

    fn at_us(us: u64) -> Time {
        Time::ZERO + Duration::from_ns(1_000 * us)
    }

    #[test]
    fn a_notification_halves_a_new_rate_and_five_rounds_bring_it_back_half_way_each() {
        let mut rate = rate();
        assert_eq!(rate.send(at_us(0), 1000), at_us(1), "1000 MB/s");
        rate.cut(at_us(10));
        assert_eq!(rate.current, 500_000_000, "alpha is 1 at first");
        assert_eq!(rate.send(at_us(10), 1000), at_us(12));
        let rates: Vec<u64> = (1..=5)
            .map(|round| {
                rate.send(at_us(10 + 55 * round), 1);
                rate.current
            })
            .collect();
        assert_eq!(rates, [750_000_000, 875_000_000, 937_500_000, 968_750_000, 984_375_000]);
        // The target is the line's rate: it rises no further.
        rate.send(at_us(10 + 55 * 6), 1);
        assert_eq!((rate.current, rate.target), (992_187_500, 1_000_000_000));
    }

    #[test]
    fn alpha_falls_while_nothing_is_told_so_a_later_cut_is_smaller() {
        let mut rate = rate();
        rate.cut(at_us(0));
        assert_eq!(rate.alpha, WHOLE, "(1 - g) + g");
        rate.cut(at_us(55 * 3));
        let mut alpha = WHOLE;
        (0..3).for_each(|_| alpha -= alpha.div_ceil(256));
        let before = 937_500_000;
        assert_eq!((rate.target, rate.current), (before, before - before * alpha / (2 * WHOLE)));
        assert_eq!(rate.alpha, alpha + (WHOLE - alpha) / 256);
    }

    #[test]
    fn after_fast_recovery_the_target_rises_by_a_step() {
        let mut rate = rate();
        rate.cut(at_us(0));
        rate.cut(at_us(1));
        assert_eq!((rate.target, rate.current), (500_000_000, 250_000_000));
        rate.send(at_us(1 + 55 * 6), 1);
        assert_eq!(rate.target, 510_000_000);
    }
}
