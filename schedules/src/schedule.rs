//! A schedule in memory.
//!
//! The ranks of most programs do the same and differ in whom they do it with. So what a rank does
//! without its peers is a [`Shape`], which ranks have in common, and a rank is a shape and the peer of
//! each operation. A three-dimensional stencil of 100,000 ranks with 100 steps has 130 million
//! operations and one shape of 1,300: the schedule takes half a gigabyte instead of nine.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHasher};

use crate::Problem;

/// Any peer, or any tag: of a receive.
pub const ANY: u32 = u32::MAX;

/// The most ranks of a schedule: their numbers have 32 bits, of which one value is [`ANY`].
pub const MOST_RANKS: u64 = u32::MAX as u64;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Sends a message to the peer.
    Send = 1,
    /// Receives a message from the peer.
    Receive = 2,
    /// Computes for as many nanoseconds as its size is.
    Calculate = 3,
}

impl Kind {
    /// Its word in the text.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Send => "send",
            Kind::Receive => "recv",
            Kind::Calculate => "calc",
        }
    }
}

/// An operation without its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    /// Bytes of a message, nanoseconds of a calculation.
    pub size: u64,
    /// What a receive and its send have in common; 0 of a calculation.
    pub tag: u32,
    /// What it does.
    pub kind: Kind,
    /// Which of the rank's processors is engaged.
    pub cpu: u8,
    /// Which of its network interfaces.
    pub nic: u8,
}

/// One operation waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dependency {
    /// The operation that waits.
    pub later: u32,
    /// The one that it waits for.
    pub earlier: u32,
    /// Whether only for its start (`irequires`).
    pub start: bool,
}

/// A rank while it is written.
#[derive(Clone, Debug, Default)]
pub struct RankBuilder {
    /// What it does.
    pub operations: Vec<Operation>,
    /// With whom; 0 for calculations.
    pub peers: Vec<u32>,
    /// What waits for what.
    pub dependencies: Vec<Dependency>,
}

impl RankBuilder {
    /// Adds an operation; returns its number.
    pub fn add(&mut self, operation: Operation, peer: u32) -> u32 {
        self.operations.push(operation);
        self.peers.push(peer);
        self.operations.len() as u32 - 1
    }

    /// Lets `later` wait until `earlier` is over.
    pub fn require(&mut self, later: u32, earlier: u32) {
        self.dependencies.push(Dependency { later, earlier, start: false });
    }

    /// Empties it, for the next rank.
    pub fn clear(&mut self) {
        self.operations.clear();
        self.peers.clear();
        self.dependencies.clear();
    }

    fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.operations.hash(&mut hasher);
        self.dependencies.hash(&mut hasher);
        hasher.finish()
    }
}

/// Which operations wait for each one: those of operation i are `of[first[i]..first[i + 1]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Dependants {
    first: Vec<u32>,
    of: Vec<u32>,
}

impl Dependants {
    fn new(operations: usize, dependencies: &[Dependency], start: bool) -> Self {
        let mut first = vec![0; operations + 1];
        let own = || dependencies.iter().filter(|each| each.start == start);
        own().for_each(|each| first[each.earlier as usize + 1] += 1);
        for operation in 0..operations {
            first[operation + 1] += first[operation];
        }
        let mut free = first.clone();
        let mut of = vec![0; first[operations] as usize];
        for each in own() {
            let place = &mut free[each.earlier as usize];
            of[*place as usize] = each.later;
            *place += 1;
        }
        Dependants { first, of }
    }

    #[inline]
    fn of(&self, operation: u32) -> &[u32] {
        &self.of[self.first[operation as usize] as usize..self.first[operation as usize + 1] as usize]
    }
}

/// What a rank does, without its peers.
#[derive(Clone, Debug)]
pub struct Shape {
    operations: Vec<Operation>,
    dependencies: Vec<Dependency>,
    waits_for: Vec<u32>,
    at_end: Dependants,
    at_start: Dependants,
}

impl Shape {
    /// The operations.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// What waits for what, as it was written.
    pub fn dependencies(&self) -> &[Dependency] {
        &self.dependencies
    }

    /// For how many others each operation waits.
    pub fn waits_for(&self) -> &[u32] {
        &self.waits_for
    }

    /// What waits for the end of an operation.
    #[inline]
    pub fn dependants(&self, operation: u32) -> &[u32] {
        self.at_end.of(operation)
    }

    /// What waits for its start.
    #[inline]
    pub fn start_dependants(&self, operation: u32) -> &[u32] {
        self.at_start.of(operation)
    }

    /// Dependencies that lead back to themselves; `Err` has their operations in order.
    fn new(rank: &RankBuilder) -> Result<Self, Vec<u32>> {
        let count = rank.operations.len();
        let mut waits_for = vec![0; count];
        rank.dependencies.iter().for_each(|each| waits_for[each.later as usize] += 1);
        let shape = Shape {
            operations: rank.operations.clone(),
            dependencies: rank.dependencies.clone(),
            at_end: Dependants::new(count, &rank.dependencies, false),
            at_start: Dependants::new(count, &rank.dependencies, true),
            waits_for,
        };
        shape.circle().map_or(Ok(shape), Err)
    }

    /// The operations that are never ready lead to a circle: each waits for another of them.
    fn circle(&self) -> Option<Vec<u32>> {
        let mut waits_for = self.waits_for.clone();
        let mut ready: Vec<u32> =
            (0..waits_for.len() as u32).filter(|&each| waits_for[each as usize] == 0).collect();
        let mut done = 0;
        while let Some(operation) = ready.pop() {
            done += 1;
            for &later in self.dependants(operation).iter().chain(self.start_dependants(operation)) {
                waits_for[later as usize] -= 1;
                if waits_for[later as usize] == 0 {
                    ready.push(later);
                }
            }
        }
        if done == waits_for.len() {
            return None;
        }
        let mut waited_for = vec![None; waits_for.len()];
        for each in self.dependencies.iter().filter(|each| waits_for[each.earlier as usize] > 0) {
            waited_for[each.later as usize] = Some(each.earlier);
        }
        let mut place = waits_for.iter().position(|&waits| waits > 0)? as u32;
        let mut path = vec![];
        while !path.contains(&place) {
            path.push(place);
            place = waited_for[place as usize]?;
        }
        let begin = path.iter().position(|&each| each == place)?;
        Some(path.split_off(begin))
    }
}

#[derive(Clone, Copy, Debug)]
struct Rank {
    shape: u32,
    /// Of its first operation, among those of all ranks.
    first: u64,
}

/// What every rank of a program does.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    shapes: Vec<Shape>,
    by_hash: FxHashMap<u64, Vec<u32>>,
    ranks: Vec<Rank>,
    peers: Vec<u32>,
    /// Of the ranks whose text has other labels than l1, l2, ...
    labels: FxHashMap<u32, Vec<Box<str>>>,
    cpus: u8,
    nics: u8,
}

impl Schedule {
    /// No ranks yet; processors and interfaces that each has at least, beyond what operations name.
    pub fn with(cpus: u8, nics: u8) -> Self {
        Schedule { cpus, nics, ..Schedule::default() }
    }

    /// Adds the next rank.
    ///
    /// # Errors
    /// If its dependencies have a circle.
    pub fn push(&mut self, rank: &RankBuilder) -> Result<(), Problem> {
        self.push_labelled(rank, None)
    }

    /// The same, with the operations' labels if they are not the usual.
    ///
    /// # Errors
    /// If its dependencies have a circle.
    pub fn push_labelled(
        &mut self,
        rank: &RankBuilder,
        labels: Option<Vec<Box<str>>>,
    ) -> Result<(), Problem> {
        let number = self.ranks.len() as u32;
        self.labels.extend(labels.map(|labels| (number, labels)));
        let shape = self.intern(rank).map_err(|circle| {
            let names: Vec<String> = circle.iter().map(|&each| self.label(number, each)).collect();
            let path = names.join(" requires ");
            Problem::new(format!("rank {number} waits for itself: {path} requires {}", names[0]))
        })?;
        self.ranks.push(Rank { shape, first: self.peers.len() as u64 });
        self.peers.extend(&rank.peers);
        Ok(())
    }

    fn intern(&mut self, rank: &RankBuilder) -> Result<u32, Vec<u32>> {
        let same = self.by_hash.entry(rank.hash()).or_default();
        let is_same =
            |shape: &Shape| shape.operations == rank.operations && shape.dependencies == rank.dependencies;
        if let Some(&known) = same.iter().find(|&&each| is_same(&self.shapes[each as usize])) {
            return Ok(known);
        }
        let shape = Shape::new(rank)?;
        for operation in &shape.operations {
            self.cpus = self.cpus.max(operation.cpu.saturating_add(1));
            self.nics = self.nics.max(operation.nic.saturating_add(1));
        }
        same.push(self.shapes.len() as u32);
        self.shapes.push(shape);
        Ok(self.shapes.len() as u32 - 1)
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// Processors of a rank.
    pub fn cpus(&self) -> u8 {
        self.cpus.max(1)
    }

    /// Network interfaces of a rank.
    pub fn nics(&self) -> u8 {
        self.nics.max(1)
    }

    /// How many different shapes the ranks have.
    pub fn shapes(&self) -> usize {
        self.shapes.len()
    }

    /// Operations of all ranks.
    pub fn operations(&self) -> u64 {
        self.peers.len() as u64
    }

    /// What a rank does.
    #[inline]
    pub fn shape(&self, rank: u32) -> &Shape {
        &self.shapes[self.ranks[rank as usize].shape as usize]
    }

    /// Where its operations are among those of all ranks.
    #[inline]
    pub fn range(&self, rank: u32) -> Range<usize> {
        let first = self.first(rank);
        first..first + self.shape(rank).operations.len()
    }

    /// Where its first operation is.
    #[inline]
    pub fn first(&self, rank: u32) -> usize {
        self.ranks[rank as usize].first as usize
    }

    /// Whom a rank's operations are with.
    pub fn peers(&self, rank: u32) -> &[u32] {
        &self.peers[self.range(rank)]
    }

    /// Whom one is with.
    #[inline]
    pub fn peer(&self, rank: u32, operation: u32) -> u32 {
        self.peers[self.first(rank) + operation as usize]
    }

    /// One operation.
    #[inline]
    pub fn operation(&self, rank: u32, operation: u32) -> &Operation {
        &self.shape(rank).operations[operation as usize]
    }

    /// What an operation is called.
    pub fn label(&self, rank: u32, operation: u32) -> String {
        let given = self.labels.get(&rank).and_then(|labels| labels.get(operation as usize));
        given.map_or_else(|| format!("l{}", operation + 1), |label| label.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calculation() -> Operation {
        Operation { kind: Kind::Calculate, size: 5, tag: 0, cpu: 0, nic: 0 }
    }

    #[test]
    fn ranks_that_do_the_same_with_others_have_one_shape() {
        let mut schedule = Schedule::default();
        for peer in [1, 0] {
            let mut rank = RankBuilder::default();
            let send = rank.add(Operation { kind: Kind::Send, ..calculation() }, peer);
            let calculate = rank.add(calculation(), 0);
            rank.require(calculate, send);
            schedule.push(&rank).unwrap();
        }
        assert_eq!((schedule.shapes(), schedule.ranks(), schedule.operations()), (1, 2, 4));
        assert_eq!((schedule.peer(0, 0), schedule.peer(1, 0)), (1, 0));
        assert_eq!(schedule.shape(1).dependants(0), [1]);
    }

    #[test]
    fn a_circle_is_told_and_what_only_leads_to_it_is_not() {
        let mut rank = RankBuilder::default();
        for _ in 0..4 {
            rank.add(calculation(), 0);
        }
        for (later, earlier) in [(0, 1), (1, 2), (2, 3), (3, 1)] {
            rank.require(later, earlier);
        }
        let told = Schedule::default().push(&rank).unwrap_err().message;
        assert_eq!(told, "rank 0 waits for itself: l2 requires l3 requires l4 requires l2");
    }
}
