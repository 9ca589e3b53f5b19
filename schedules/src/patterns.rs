//! Schedules that are generated: collectives, stencils, an incast, a sweep.
//!
//! A pattern is written `NAME:key=value,key=value`, for example
//! `stencil-3d:ranks=1000,bytes=4096,steps=10,calc=20000`. Each rank is written by itself, so that a
//! schedule of 100,000 ranks never is in memory as text.

use crate::collectives::{ALGORITHMS, Algorithm, Part};
use crate::schedule::{Kind, MOST_RANKS, Operation, RankBuilder, Schedule};
use crate::{Problem, allowed};

const KEYS: [&str; 6] = ["ranks", "bytes", "steps", "calc", "dims", "periodic"];
const OTHERS: [&str; 4] = ["stencil-2d", "stencil-3d", "incast", "sweep"];
/// The most operations of a schedule that is generated: their records take 20 bytes each.
const MOST_OPERATIONS: u64 = 1 << 31;

/// A pattern and what it depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    kind: PatternKind,
    ranks: u32,
    bytes: u64,
    steps: u32,
    calculation_ns: u64,
    dimensions: Vec<u32>,
    periodic: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PatternKind {
    Collective(Algorithm),
    Stencil,
    Incast,
    Sweep,
}

/// The names of all patterns.
pub fn names() -> Vec<&'static str> {
    ALGORITHMS.iter().map(|(name, _)| *name).chain(OTHERS).collect()
}

impl Pattern {
    /// Reads one.
    ///
    /// # Errors
    /// If its name, a key or a value is none.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let (kind, sides) = kind_of(name)?;
        let mut pattern = Pattern {
            kind,
            ranks: 0,
            bytes: if name == "barrier" { 1 } else { 64 },
            steps: 1,
            calculation_ns: 0,
            dimensions: vec![],
            periodic: true,
        };
        for setting in settings.split(',').filter(|setting| !setting.is_empty()) {
            let Some((key, value)) = setting.split_once('=') else {
                return Err(Problem::new(format!(
                    "{name}: '{setting}' is no key=value; {}",
                    allowed(setting, &KEYS)
                )));
            };
            pattern.set(name, key, value)?;
        }
        pattern.arrange(name, sides)?;
        Ok(pattern)
    }

    fn set(&mut self, name: &str, key: &str, value: &str) -> Result<(), Problem> {
        let whole = |least: u64, most: u64| {
            let number = value.parse::<u64>().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| {
                Problem::new(format!("{name}: {key}={value}: expected a whole number from {least} to {most}"))
            })
        };
        match key {
            "ranks" => self.ranks = whole(1, MOST_RANKS - 1)? as u32,
            "bytes" => self.bytes = whole(0, 1 << 40)?,
            "steps" => self.steps = whole(1, 1 << 20)? as u32,
            "calc" => self.calculation_ns = whole(0, 1 << 50)?,
            "periodic" => self.periodic = whole(0, 1)? == 1,
            "dims" => {
                let sides = value.split('x').map(|side| side.parse().ok().filter(|side| *side > 0));
                self.dimensions = sides.collect::<Option<_>>().ok_or_else(|| {
                    Problem::new(format!("{name}: dims={value}: expected sides with an x between: 4x4x4"))
                })?;
            }
            _ => return Err(Problem::new(format!("{name}: '{key}' is no key; {}", allowed(key, &KEYS)))),
        }
        Ok(())
    }

    /// Finds the ranks' arrangement, and whether what was set goes together.
    fn arrange(&mut self, name: &str, sides: usize) -> Result<(), Problem> {
        if sides == 0 && !self.dimensions.is_empty() {
            return Err(Problem::new(format!("{name}: dims is a key of stencils and sweeps")));
        }
        if self.dimensions.is_empty() {
            if self.ranks == 0 {
                let or = if sides > 0 { " or dims" } else { "" };
                return Err(Problem::new(format!("{name} needs ranks{or}: {name}:ranks=16")));
            }
            self.dimensions = balanced(self.ranks, sides);
        } else {
            let product = self.dimensions.iter().try_fold(1u32, |product, side| product.checked_mul(*side));
            let product = product.filter(|ranks| u64::from(*ranks) < MOST_RANKS);
            if self.dimensions.len() != sides || product.is_none_or(|ranks| ![0, ranks].contains(&self.ranks))
            {
                return Err(Problem::new(format!(
                    "{name}: dims={:?}: expected {sides} sides whose product is the number of ranks",
                    self.dimensions
                )));
            }
            self.ranks = product.unwrap_or(0);
        }
        let count = self.operations();
        if count > MOST_OPERATIONS {
            return Err(Problem::new(format!(
                "{name} with {} ranks and {} steps has about {count} operations; allowed are {MOST_OPERATIONS} (a ring \
                 and a pairwise exchange take as many steps as there are ranks)",
                self.ranks, self.steps
            )));
        }
        Ok(())
    }

    /// About how many operations it has.
    fn operations(&self) -> u64 {
        let ranks = u64::from(self.ranks);
        let each = match self.kind {
            PatternKind::Collective(algorithm) => match algorithm {
                Algorithm::AllReduceRing => 5 * ranks,
                Algorithm::AllGatherRing | Algorithm::AllToAllPairwise | Algorithm::AllToAllLinear => {
                    2 * ranks
                }
                Algorithm::ReduceScatterRing => 3 * ranks,
                _ => 6 * u64::from(ranks.ilog2() + 1),
            },
            PatternKind::Stencil => 1 + 4 * self.dimensions.len() as u64,
            PatternKind::Incast => 3,
            PatternKind::Sweep => 5,
        };
        ranks.saturating_mul(each).saturating_mul(u64::from(self.steps))
    }

    /// Writes every rank. `observer` is told how many are written; false ends it.
    ///
    /// # Errors
    /// If the observer has ended it.
    pub fn generate(&self, observer: &mut dyn FnMut(u64) -> bool) -> Result<Schedule, Problem> {
        let mut schedule = Schedule::with(1, 1);
        let mut builder = RankBuilder::default();
        for rank in 0..self.ranks {
            if rank % 256 == 0 && !observer(u64::from(rank)) {
                return Err(Problem::new("interrupted"));
            }
            builder.clear();
            self.write_rank(rank, &mut builder);
            schedule.push(&builder)?;
        }
        Ok(schedule)
    }

    fn write_rank(&self, rank: u32, builder: &mut RankBuilder) {
        if let PatternKind::Stencil | PatternKind::Sweep = self.kind {
            return self.write_grid(rank, builder);
        }
        let mut part = Part {
            rank: builder,
            member: &|place| place,
            own: rank,
            members: self.ranks,
            tag: 0,
            calculation_ns: self.calculation_ns,
            last: vec![],
        };
        for _ in 0..self.steps {
            match self.kind {
                PatternKind::Collective(algorithm) => part.write(algorithm, self.bytes),
                _ => {
                    part.write(Algorithm::GatherLinear, self.bytes);
                    if rank == 0 {
                        part.calculate(self.calculation_ns);
                    }
                }
            }
        }
    }

    /// The neighbour in a direction; none at an edge.
    fn neighbour(&self, rank: u32, dimension: usize, forward: bool) -> Option<u32> {
        let stride: u32 = self.dimensions[..dimension].iter().product();
        let side = self.dimensions[dimension];
        let place = rank / stride % side;
        let wraps = self.periodic && self.kind == PatternKind::Stencil;
        let at_edge = if forward { place + 1 == side } else { place == 0 };
        if side == 1 || (at_edge && !wraps) {
            return None;
        }
        let new = if forward { (place + 1) % side } else { (place + side - 1) % side };
        Some(rank - place * stride + new * stride)
    }

    fn write_grid(&self, rank: u32, builder: &mut RankBuilder) {
        let is_sweep = self.kind == PatternKind::Sweep;
        let mut last: Vec<u32> = vec![];
        let add = |builder: &mut RankBuilder, kind, size, tag, peer, after: &[u32]| {
            let added = builder.add(Operation { size, tag, kind, cpu: 0, nic: 0 }, peer);
            after.iter().for_each(|&earlier| builder.require(added, earlier));
            added
        };
        let directions: Vec<(usize, bool)> = (0..self.dimensions.len())
            .flat_map(|dimension| [(dimension, true), (dimension, false)])
            .filter(|(_, forward)| *forward || !is_sweep)
            .collect();
        for _ in 0..self.steps {
            let (mut received, mut sent) = (vec![], vec![]);
            // What is sent in a direction comes from the neighbour on the other side.
            for (tag, &(dimension, forward)) in (0..).zip(&directions) {
                if let Some(peer) = self.neighbour(rank, dimension, !forward) {
                    received.push(add(builder, Kind::Receive, self.bytes, tag, peer, &last));
                }
            }
            if is_sweep {
                let after = if received.is_empty() { last } else { received };
                received = vec![add(builder, Kind::Calculate, self.calculation_ns, 0, 0, &after)];
                last = received.clone();
            }
            for (tag, &(dimension, forward)) in (0..).zip(&directions) {
                if let Some(peer) = self.neighbour(rank, dimension, forward) {
                    sent.push(add(builder, Kind::Send, self.bytes, tag, peer, &last));
                }
            }
            received.extend(sent);
            last = if is_sweep {
                received
            } else {
                vec![add(builder, Kind::Calculate, self.calculation_ns, 0, 0, &received)]
            };
        }
    }
}

fn kind_of(name: &str) -> Result<(PatternKind, usize), Problem> {
    let algorithm = ALGORITHMS.iter().find(|(known, _)| *known == name);
    if let Some((_, algorithm)) = algorithm {
        return Ok((PatternKind::Collective(*algorithm), 0));
    }
    match name {
        "stencil-2d" => Ok((PatternKind::Stencil, 2)),
        "stencil-3d" => Ok((PatternKind::Stencil, 3)),
        "incast" => Ok((PatternKind::Incast, 0)),
        "sweep" => Ok((PatternKind::Sweep, 2)),
        _ => Err(Problem::new(format!("there is no pattern '{name}'; {}", allowed(name, &names())))),
    }
}

/// Sides as equal as the number's divisors allow, largest first.
fn balanced(mut ranks: u32, sides: usize) -> Vec<u32> {
    let mut found = vec![];
    for left in (1..=sides).rev() {
        let root = f64::from(ranks).powf(1.0 / left as f64).round() as u32;
        let side = (1..=root.max(1)).rev().find(|side| ranks.is_multiple_of(*side)).unwrap_or(1);
        let side = if left == 1 { ranks } else { side };
        found.push(side);
        ranks /= side;
    }
    found.sort_unstable_by(|one, other| other.cmp(one));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::execute;
    use crate::pairs;
    use crate::parameters::Parameters;

    fn generate(text: &str) -> Schedule {
        let schedule = Pattern::parse(text).unwrap().generate(&mut |_| true).unwrap();
        pairs::check(&schedule).unwrap();
        schedule
    }

    /// Latencies on the longest path, and bytes that are sent.
    fn shape_of(text: &str) -> (u64, u64) {
        let schedule = generate(text);
        let outcome = execute(&schedule, &Parameters::paths(1.0, 0.0), &mut |_, _| true).unwrap();
        let sent = (0..schedule.ranks()).flat_map(|rank| schedule.shape(rank).operations());
        (
            outcome.makespan_ps() / 1_000,
            sent.filter(|each| each.kind == Kind::Send).map(|each| each.size).sum(),
        )
    }

    #[test]
    fn every_pattern_pairs_its_messages_and_ends() {
        for name in names() {
            for ranks in 1..=9 {
                shape_of(&format!("{name}:ranks={ranks},bytes=100,steps=2,calc=3"));
            }
        }
    }

    #[test]
    fn collectives_take_the_steps_and_move_the_bytes_of_their_papers() {
        assert_eq!(shape_of("barrier:ranks=8"), (3, 24));
        assert_eq!(shape_of("broadcast:ranks=8,bytes=10"), (3, 70));
        assert_eq!(shape_of("reduce:ranks=8,bytes=10"), (3, 70));
        assert_eq!(shape_of("allreduce-doubling:ranks=8,bytes=16"), (3, 8 * 3 * 16));
        assert_eq!(shape_of("allreduce-ring:ranks=8,bytes=16"), (14, 2 * 7 * 16));
        // 2 (n-1)/n bytes each, in 2 log2 n steps.
        assert_eq!(shape_of("allreduce-rabenseifner:ranks=8,bytes=16"), (6, 8 * 2 * 14));
        assert_eq!(shape_of("allgather-ring:ranks=8,bytes=10"), (7, 8 * 7 * 10));
        assert_eq!(shape_of("reduce-scatter-ring:ranks=8,bytes=16"), (7, 7 * 16));
        assert_eq!(shape_of("alltoall-pairwise:ranks=8,bytes=10"), (7, 8 * 7 * 10));
        assert_eq!(shape_of("alltoall-linear:ranks=8,bytes=10"), (1, 8 * 7 * 10));
        assert_eq!(shape_of("alltoall-bruck:ranks=8,bytes=10"), (3, 8 * 3 * 4 * 10));
        assert_eq!(shape_of("stencil-3d:ranks=64,bytes=10,steps=5"), (5, 64 * 6 * 5 * 10));
        assert_eq!(shape_of("stencil-2d:dims=4x4,bytes=10,periodic=0"), (1, 48 * 10));
        assert_eq!(shape_of("sweep:dims=4x3,bytes=10"), (5, 17 * 10));
        assert_eq!(shape_of("incast:ranks=8,bytes=10"), (1, 70));
    }

    #[test]
    fn ranks_of_a_torus_have_one_shape() {
        let schedule = generate("stencil-3d:ranks=1000,steps=3");
        assert_eq!((schedule.shapes(), schedule.operations()), (1, 1000 * 3 * 13));
    }

    #[test]
    fn what_is_no_pattern_is_told_with_what_is_near() {
        let problem = |text: &str| Pattern::parse(text).unwrap_err().message;
        assert!(problem("alreduce-ring:ranks=2").ends_with("did you mean allreduce-ring?"));
        assert!(problem("barrier:rnaks=2").ends_with("did you mean ranks?"));
        assert_eq!(problem("barrier"), "barrier needs ranks: barrier:ranks=16");
        assert!(problem("barrier:ranks=0").contains("from 1 to 4294967294"));
        assert!(problem("stencil-2d:dims=4x4x4").contains("expected 2 sides"));
        assert!(problem("allreduce-ring:ranks=100000").contains("about 50000000000 operations"));
    }
}
