//! When each operation of a schedule begins and is over, and when each message is handled: what is
//! drawn.

use serde_json::{Value, json};

use crate::Problem;
use crate::executor::watch::Watch;
use crate::schedule::{Kind, Schedule};

/// The most ranks of a picture: a line each.
pub const MOST_RANKS: u32 = 64;
/// The most operations of a picture.
pub const MOST_OPERATIONS: u64 = 4_096;

/// The times of each operation, in picoseconds.
pub(crate) struct Timeline<'a> {
    schedule: &'a Schedule,
    times: Vec<Times>,
}

#[derive(Clone, Copy, Default)]
struct Times {
    begin: u64,
    /// A processor is engaged with it until then.
    engaged_until: u64,
    over: u64,
    /// Of a send: its receiver's processor handles it.
    handled: (u64, u64),
}

impl<'a> Timeline<'a> {
    /// No times yet.
    ///
    /// # Errors
    /// If the schedule is larger than a picture.
    pub fn new(schedule: &'a Schedule) -> Result<Self, Problem> {
        let (ranks, operations) = (schedule.ranks(), schedule.operations());
        if ranks > MOST_RANKS || operations > MOST_OPERATIONS {
            return Err(Problem::new(format!(
                "it has {ranks} ranks and {operations} operations; a picture has at most {MOST_RANKS} and \
                 {MOST_OPERATIONS}: draw a schedule of fewer ranks or steps"
            )));
        }
        Ok(Timeline { schedule, times: vec![Times::default(); operations as usize] })
    }

    fn of(&mut self, rank: u32, operation: u32) -> &mut Times {
        &mut self.times[self.schedule.first(rank) + operation as usize]
    }

    /// The operations of all ranks.
    pub fn document(&self) -> Value {
        let ranks = 0..self.schedule.ranks();
        ranks.flat_map(|rank| self.of_rank(rank)).collect()
    }

    fn of_rank(&self, rank: u32) -> Vec<Value> {
        let operations = (0..).zip(self.schedule.shape(rank).operations());
        let told = operations.map(|(operation, own)| {
            let Times { begin, engaged_until, over, handled } =
                self.times[self.schedule.first(rank) + operation as usize];
            let mut told = json!({
                "rank": rank,
                "operation": self.schedule.label(rank, operation),
                "kind": own.kind.word(),
                "begin_ps": begin,
                "over_ps": over,
            });
            if own.kind != Kind::Calculate {
                told["peer"] = json!(self.schedule.peer(rank, operation));
                told["bytes"] = json!(own.size);
                told["tag"] = json!(own.tag);
            }
            if own.kind == Kind::Send {
                told["engaged_until_ps"] = json!(engaged_until);
                told["handled_ps"] = json!([handled.0, handled.1]);
            }
            told
        });
        told.collect()
    }
}

impl Watch for Timeline<'_> {
    fn engaged(&mut self, rank: u32, operation: u32, begin: u64, end: u64) {
        let times = self.of(rank, operation);
        (times.begin, times.engaged_until) = (begin, end);
    }

    fn posted(&mut self, rank: u32, operation: u32, now: u64) {
        self.of(rank, operation).begin = now;
    }

    fn handled(&mut self, sender: u32, operation: u32, begin: u64, end: u64) {
        self.of(sender, operation).handled = (begin, end);
    }

    fn over(&mut self, rank: u32, operation: u32, now: u64) {
        self.of(rank, operation).over = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::execute_over;
    use crate::executor::wire::Straight;
    use crate::parameters::{Line, Parameters};
    use crate::text;

    #[test]
    fn operations_have_the_times_at_which_the_model_executes_them() {
        let schedule =
            text::read(&b"num_ranks 2\nrank 0 {\nl1: calc 5\nl2: send 1b to 1 tag 3\nl2 requires l1\n}\nrank 1 {\nrecv 1b from 0 tag 3\n}\n"[..])
                .unwrap();
        let parameters = Parameters {
            send_overhead: Line::constant(2.0),
            receive_overhead: Line::constant(3.0),
            ..Parameters::paths(100.0, 1.0)
        };
        let mut timeline = Timeline::new(&schedule).unwrap();
        execute_over(&schedule, &parameters, Straight, &mut timeline, &mut |_, _| true).unwrap();
        let told = timeline.document();
        assert_eq!((&told[0]["begin_ps"], &told[0]["over_ps"]), (&json!(0), &json!(5_000)));
        assert_eq!((&told[1]["begin_ps"], &told[1]["engaged_until_ps"]), (&json!(5_000), &json!(7_000)));
        assert_eq!(told[1]["handled_ps"], json!([107_000, 110_000]));
        assert_eq!((&told[2]["begin_ps"], &told[2]["over_ps"]), (&json!(0), &json!(110_000)));
    }
}
