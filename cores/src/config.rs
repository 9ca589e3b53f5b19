//! What a processor is made of: the part of a machine's file that this crate reads.

use crate::reorder;
use narthex_kernel::Frequency;
use narthex_memory::processor_memory::misses::MOST_MISSES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A processor: in order, unless it has a window. Latencies are in its own cycles: a result of latency
/// 1 can be used by an instruction issued in the next cycle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The processor's clock.
    pub clock: Frequency,
    /// Instructions issued in a cycle: 1, 2 or 4.
    #[schemars(extend("enum" = [1, 2, 4]))]
    pub issue_width: u64,
    /// From a load that hits to the use of its value.
    pub load_use_cycles: u64,
    /// For how long a store occupies the memory port.
    pub store_cycles: u64,
    /// Cycles lost by a taken branch or jump, besides the rest of its own.
    pub branch_taken_cycles: u64,
    /// Integer multiplication.
    pub multiply_cycles: u64,
    /// Integer division (not pipelined).
    pub divide_cycles: u64,
    /// Floating-point addition, comparison and conversion.
    pub float_add_cycles: u64,
    /// Floating-point multiplication and fused multiply-add.
    pub float_multiply_cycles: u64,
    /// Floating-point division (not pipelined).
    pub float_divide_cycles: u64,
    /// Floating-point square root (not pipelined).
    pub float_square_root_cycles: u64,
    /// Added to each access for which the processor waits on a bus: from its
    /// detection to the request, and from the data to the register.
    pub blocking_access_cycles: u64,
    /// Loads that may miss the data cache at a time while the processor goes on, 1 to 32.
    /// 1, as where nothing is said: it waits for each miss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 32))]
    pub misses: Option<u64>,
    /// From the first place at which the processor can stop for an interrupt to its
    /// handler's first instruction. A core without has no interrupts. They are the
    /// firmware's, and a program's whose interface chooses its threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt_cycles: Option<u64>,
    /// A reorder window, in which instructions begin when their operands are ready; without one they
    /// begin in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<reorder::Config>,
}

/// A processor that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The issue width is not one of those supported.
    #[error("issue_width is {0}: allowed are 1, 2 and 4")]
    IssueWidth(u64),
    /// Instructions would issue less than a picosecond apart.
    #[error("clock is {clock}: with issue_width {issue_width} allowed are at most {most}")]
    Clock {
        /// The clock asked for.
        clock: Frequency,
        /// The instructions issued in a cycle.
        issue_width: u64,
        /// The fastest clock that issues them.
        most: Frequency,
    },
    /// A parameter of its window is out of range, or does not go with a window.
    #[error("{key} is {value}: allowed are {allowed}")]
    Window {
        /// The parameter.
        key: &'static str,
        /// The value asked for.
        value: u64,
        /// What is allowed.
        allowed: String,
    },
    /// A latency, or the number of misses, is out of range.
    #[error("{name} is {value}: allowed are {least} to {most}")]
    Latency {
        /// The parameter.
        name: &'static str,
        /// The value asked for.
        value: u64,
        /// The smallest value allowed.
        least: u64,
        /// The largest value allowed.
        most: u64,
    },
}

/// Longest latency that is believed: more is a typing error.
const MOST_CYCLES: u64 = 1_000;

impl Config {
    /// The simplest processor: one instruction a cycle of 1 ns, every result
    /// ready in the next cycle, nothing lost at branches. For functional runs
    /// and tests; a machine's file states every parameter.
    pub fn simple() -> Self {
        Config {
            clock: Frequency::from_hz(1_000_000_000).expect("1GHz is a frequency"),
            issue_width: 1,
            load_use_cycles: 1,
            store_cycles: 1,
            branch_taken_cycles: 0,
            multiply_cycles: 1,
            divide_cycles: 1,
            float_add_cycles: 1,
            float_multiply_cycles: 1,
            float_divide_cycles: 1,
            float_square_root_cycles: 1,
            blocking_access_cycles: 0,
            misses: None,
            interrupt_cycles: None,
            window: None,
        }
    }

    /// Whether a processor can be built from these values.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if !matches!(self.issue_width, 1 | 2 | 4) {
            return Err(ConfigError::IssueWidth(self.issue_width));
        }
        let Config { clock, issue_width, .. } = *self;
        let most =
            Frequency::from_hz(Frequency::HIGHEST.as_hz() / issue_width).expect("a width of 1, 2 or 4");
        if clock > most {
            return Err(ConfigError::Clock { clock, issue_width, most });
        }
        let misses = self.misses.unwrap_or(1);
        if !(1..=MOST_MISSES as u64).contains(&misses) {
            let (name, most) = ("misses", MOST_MISSES as u64);
            return Err(ConfigError::Latency { name, value: misses, least: 1, most });
        }
        for (name, value, least) in self.latencies() {
            if value < least || value > MOST_CYCLES {
                return Err(ConfigError::Latency { name, value, least, most: MOST_CYCLES });
            }
        }
        match self.window.as_ref().and_then(|window| self.window_problem(window)) {
            Some((key, value, allowed)) => Err(ConfigError::Window { key, value, allowed }),
            None => Ok(()),
        }
    }

    /// The parameters that change nothing, as (key, why) pairs.
    pub fn without_effect(&self) -> Vec<(String, String)> {
        let why = "stores of a core with a window never wait for a unit (processor.window)";
        self.window.iter().map(|_| ("store_cycles".into(), why.into())).collect()
    }

    /// The first rule that a window breaks: the key, its value, and what is allowed.
    fn window_problem(&self, window: &reorder::Config) -> Option<(&'static str, u64, String)> {
        let interrupts = self.interrupt_cycles.map(|cycles| {
            let allowed = "none, as a core with a window has no interrupts";
            ("interrupt_cycles", cycles, allowed.into())
        });
        interrupts.or_else(|| window.problem(self.issue_width, self.misses.unwrap_or(1)))
    }

    /// Every latency with its name and its smallest value.
    fn latencies(&self) -> impl Iterator<Item = (&'static str, u64, u64)> {
        let interrupt = self.interrupt_cycles.map(|cycles| ("interrupt_cycles", cycles, 1));
        let stated = [
            ("load_use_cycles", self.load_use_cycles, 1),
            ("store_cycles", self.store_cycles, 1),
            ("branch_taken_cycles", self.branch_taken_cycles, 0),
            ("multiply_cycles", self.multiply_cycles, 1),
            ("divide_cycles", self.divide_cycles, 1),
            ("float_add_cycles", self.float_add_cycles, 1),
            ("float_multiply_cycles", self.float_multiply_cycles, 1),
            ("float_divide_cycles", self.float_divide_cycles, 1),
            ("float_square_root_cycles", self.float_square_root_cycles, 1),
            ("blocking_access_cycles", self.blocking_access_cycles, 0),
        ];
        stated.into_iter().chain(interrupt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_would_issue_less_than_a_picosecond_apart_are_refused() {
        let config =
            |clock: &str| Config { clock: clock.parse().unwrap(), issue_width: 2, ..Config::simple() };
        assert_eq!(config("3GHz").validate(), Ok(()), "a cycle of 333.3 ps has two slots");
        assert_eq!(
            config("501GHz").validate().unwrap_err().to_string(),
            "clock is 501GHz: with issue_width 2 allowed are at most 500GHz"
        );
    }

    #[test]
    fn an_error_names_the_parameter_its_value_and_what_is_allowed() {
        let config = Config { divide_cycles: 0, ..Config::simple() };
        assert_eq!(config.validate().unwrap_err().to_string(), "divide_cycles is 0: allowed are 1 to 1000");
        let config = Config { misses: Some(33), ..Config::simple() };
        assert_eq!(config.validate().unwrap_err().to_string(), "misses is 33: allowed are 1 to 32");
        let config = Config { issue_width: 3, ..Config::simple() };
        assert_eq!(config.validate().unwrap_err().to_string(), "issue_width is 3: allowed are 1, 2 and 4");
    }

    #[test]
    fn the_simple_processor_is_valid() {
        assert_eq!(Config::simple().validate(), Ok(()));
    }
}
