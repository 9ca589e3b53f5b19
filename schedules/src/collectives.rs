//! The usual algorithms of collective operations, as one rank's part of them.
//!
//! Names are those of Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication
//! Operations in MPICH" (2005), and of Bruck et al. (1997) for all-to-all. A [`Part`] writes into a
//! rank what one member of a group does; each step of it waits for the one before.

use crate::schedule::{Kind, Operation, RankBuilder};

/// A collective operation's algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Barrier: in round i to the member 2^i further on.
    BarrierDissemination,
    /// Broadcast from the first member: a binomial tree.
    BroadcastBinomial,
    /// Reduction to the first member: the same tree upwards.
    ReduceBinomial,
    /// All members send to the first one.
    GatherLinear,
    /// The first member sends to all others.
    ScatterLinear,
    /// All-reduce of long vectors: reduce-scatter and all-gather in a ring.
    AllReduceRing,
    /// All-reduce of short vectors: recursive doubling.
    AllReduceDoubling,
    /// All-reduce of Rabenseifner: recursive halving, then doubling.
    AllReduceRabenseifner,
    /// All-gather in a ring; the bytes are each member's own.
    AllGatherRing,
    /// Reduce-scatter in a ring; the bytes are the whole vector's.
    ReduceScatterRing,
    /// All-to-all, one partner after the other; the bytes are each pair's.
    AllToAllPairwise,
    /// All-to-all with all messages at once.
    AllToAllLinear,
    /// All-to-all of Bruck, for short messages: log2 n steps, blocks travel together.
    AllToAllBruck,
}

/// All-reduce of more bytes is Rabenseifner's (Thakur et al., Section 4.5).
const SHORT_ALL_REDUCE_BYTES: u64 = 2048;
/// All-to-all of more bytes a pair is pairwise (Section 4.6).
const SHORT_ALL_TO_ALL_BYTES: u64 = 256;

impl Algorithm {
    /// That of an all-reduce on so many bytes, as MPICH chooses it.
    pub fn all_reduce(bytes: u64) -> Self {
        if bytes <= SHORT_ALL_REDUCE_BYTES {
            Algorithm::AllReduceDoubling
        } else {
            Algorithm::AllReduceRabenseifner
        }
    }

    /// That of an all-to-all with so many bytes a pair, as MPICH chooses it.
    pub fn all_to_all(bytes: u64) -> Self {
        if bytes <= SHORT_ALL_TO_ALL_BYTES { Algorithm::AllToAllBruck } else { Algorithm::AllToAllPairwise }
    }
}

/// Their names.
pub const ALGORITHMS: [(&str, Algorithm); 13] = [
    ("barrier", Algorithm::BarrierDissemination),
    ("broadcast", Algorithm::BroadcastBinomial),
    ("reduce", Algorithm::ReduceBinomial),
    ("gather", Algorithm::GatherLinear),
    ("scatter", Algorithm::ScatterLinear),
    ("allreduce-ring", Algorithm::AllReduceRing),
    ("allreduce-doubling", Algorithm::AllReduceDoubling),
    ("allreduce-rabenseifner", Algorithm::AllReduceRabenseifner),
    ("allgather-ring", Algorithm::AllGatherRing),
    ("reduce-scatter-ring", Algorithm::ReduceScatterRing),
    ("alltoall-pairwise", Algorithm::AllToAllPairwise),
    ("alltoall-linear", Algorithm::AllToAllLinear),
    ("alltoall-bruck", Algorithm::AllToAllBruck),
];

/// One rank's part of what a group does.
pub struct Part<'a> {
    /// Where it is written.
    pub rank: &'a mut RankBuilder,
    /// The group's members, by their place; none is in it twice.
    pub member: &'a dyn Fn(u32) -> u32,
    /// This rank's place.
    pub own: u32,
    /// How many there are.
    pub members: u32,
    /// The messages' tag.
    pub tag: u32,
    /// How long it takes to combine what has come, in nanoseconds; 0: nothing is computed.
    pub calculation_ns: u64,
    /// What the next step waits for, and at the end: what has to be over.
    pub last: Vec<u32>,
}

impl Part<'_> {
    /// Adds an operation that waits for the last step.
    fn add(&mut self, kind: Kind, size: u64, peer: u32) -> u32 {
        let tag = if kind == Kind::Calculate { 0 } else { self.tag };
        let added = self.rank.add(Operation { size, tag, kind, cpu: 0, nic: 0 }, peer);
        self.last.iter().for_each(|&earlier| self.rank.require(added, earlier));
        added
    }

    fn send_op(&mut self, to: u32, bytes: u64) -> u32 {
        let peer = (self.member)(to);
        self.add(Kind::Send, bytes, peer)
    }

    fn receive_op(&mut self, from: u32, bytes: u64) -> u32 {
        let peer = (self.member)(from);
        self.add(Kind::Receive, bytes, peer)
    }

    /// Computes, as the next step.
    pub fn calculate(&mut self, nanoseconds: u64) {
        if nanoseconds > 0 {
            self.last = vec![self.add(Kind::Calculate, nanoseconds, 0)];
        }
    }

    /// Sends, as the next step.
    pub fn send(&mut self, to: u32, bytes: u64) {
        self.last = vec![self.send_op(to, bytes)];
    }

    /// Receives and combines, as the next step.
    pub fn receive(&mut self, from: u32, bytes: u64) {
        self.last = vec![self.receive_op(from, bytes)];
        self.calculate(self.calculation_ns);
    }

    /// Does all of these at once: to and from whom, and how many bytes.
    pub fn exchange_all(&mut self, sends: &[(u32, u64)], receives: &[(u32, u64)]) {
        let received: Vec<u32> = receives.iter().map(|&(from, bytes)| self.receive_op(from, bytes)).collect();
        let sent: Vec<u32> = sends.iter().map(|&(to, bytes)| self.send_op(to, bytes)).collect();
        self.last = received;
        self.last.extend(sent);
    }

    fn exchange(&mut self, to: u32, out: u64, from: u32, back: u64) {
        self.exchange_all(&[(to, out)], &[(from, back)]);
    }

    fn combine(&mut self) {
        self.calculate(self.calculation_ns);
    }

    /// Writes the part of an operation on so many bytes.
    pub fn write(&mut self, algorithm: Algorithm, bytes: u64) {
        if self.members < 2 {
            return;
        }
        match algorithm {
            Algorithm::BarrierDissemination => self.barrier(bytes),
            Algorithm::BroadcastBinomial => self.broadcast(bytes),
            Algorithm::ReduceBinomial => self.reduce(bytes),
            Algorithm::GatherLinear => self.gather(bytes),
            Algorithm::ScatterLinear => self.scatter(bytes),
            Algorithm::AllReduceRing => {
                self.reduce_scatter_ring(bytes);
                self.pass_pieces(bytes);
            }
            Algorithm::AllReduceDoubling => {
                self.folded(bytes, |part, own, group| part.doubling(own, group, bytes))
            }
            Algorithm::AllReduceRabenseifner => {
                self.folded(bytes, |part, own, group| part.rabenseifner(own, group, bytes));
            }
            Algorithm::AllGatherRing => {
                let (next, before) = (self.beyond(1), self.beyond(self.members - 1));
                (1..self.members).for_each(|_| self.exchange(next, bytes, before, bytes));
            }
            Algorithm::ReduceScatterRing => self.reduce_scatter_ring(bytes),
            Algorithm::AllToAllPairwise => {
                for step in 1..self.members {
                    self.exchange(self.beyond(step), bytes, self.beyond(self.members - step), bytes);
                }
            }
            Algorithm::AllToAllLinear => {
                let sends: Vec<_> = (1..self.members).map(|step| (self.beyond(step), bytes)).collect();
                let receives: Vec<_> = sends.iter().rev().copied().collect();
                self.exchange_all(&sends, &receives);
            }
            Algorithm::AllToAllBruck => self.bruck(bytes),
        }
    }

    /// The member so many places further on in the ring.
    fn beyond(&self, places: u32) -> u32 {
        ((u64::from(self.own) + u64::from(places)) % u64::from(self.members)) as u32
    }

    /// A piece of a vector that is cut into as many as there are members.
    fn piece(&self, index: u32, bytes: u64) -> u64 {
        let until = |index: u32| (u128::from(bytes) * u128::from(index) / u128::from(self.members)) as u64;
        until(index + 1) - until(index)
    }

    fn barrier(&mut self, bytes: u64) {
        for distance in powers(self.members) {
            self.exchange(self.beyond(distance), bytes, self.beyond(self.members - distance), bytes);
        }
    }

    /// The bit by which a member hangs on its parent; of the first one, the bit above all.
    fn tree_bit(&self) -> u32 {
        if self.own == 0 { self.members.next_power_of_two() } else { self.own & self.own.wrapping_neg() }
    }

    fn broadcast(&mut self, bytes: u64) {
        let own_bit = self.tree_bit();
        if self.own > 0 {
            self.last = vec![self.receive_op(self.own - own_bit, bytes)];
        }
        for bit in powers(self.members).rev().filter(|bit| *bit < own_bit) {
            if self.own + bit < self.members {
                self.send(self.own + bit, bytes);
            }
        }
    }

    fn reduce(&mut self, bytes: u64) {
        let own_bit = self.tree_bit();
        for bit in powers(self.members).filter(|bit| *bit < own_bit) {
            if self.own + bit < self.members {
                self.receive(self.own + bit, bytes);
            }
        }
        if self.own > 0 {
            self.send(self.own - own_bit, bytes);
        }
    }

    fn gather(&mut self, bytes: u64) {
        if self.own > 0 {
            return self.send(0, bytes);
        }
        let receives: Vec<_> = (1..self.members).map(|from| (from, bytes)).collect();
        self.exchange_all(&[], &receives);
    }

    fn scatter(&mut self, bytes: u64) {
        if self.own > 0 {
            self.last = vec![self.receive_op(0, bytes)];
            return;
        }
        let sends: Vec<_> = (1..self.members).map(|to| (to, bytes)).collect();
        self.exchange_all(&sends, &[]);
    }

    fn reduce_scatter_ring(&mut self, bytes: u64) {
        let (next, before) = (self.beyond(1), self.beyond(self.members - 1));
        for step in 0..self.members - 1 {
            let (out, back) = (self.beyond(self.members - step), self.beyond(self.members - step - 1));
            self.exchange(next, self.piece(out, bytes), before, self.piece(back, bytes));
            self.combine();
        }
    }

    /// All-gather in a ring, of pieces that have been reduced in one.
    fn pass_pieces(&mut self, bytes: u64) {
        let (next, before) = (self.beyond(1), self.beyond(self.members - 1));
        for step in 0..self.members - 1 {
            let (out, back) = (self.beyond(self.members + 1 - step), self.beyond(self.members - step));
            self.exchange(next, self.piece(out, bytes), before, self.piece(back, bytes));
        }
    }

    /// Lets the largest power of two of members do something; the others have given them what they
    /// have, and get the result.
    fn folded(&mut self, bytes: u64, inner: impl FnOnce(&mut Self, u32, &dyn Fn(u32) -> u32)) {
        let power = 1 << self.members.ilog2();
        let pairs = self.members - power;
        let place = move |number: u32| if number < pairs { 2 * number + 1 } else { number + pairs };
        if self.own >= 2 * pairs {
            return inner(self, self.own - pairs, &place);
        }
        if self.own.is_multiple_of(2) {
            self.send(self.own + 1, bytes);
            self.last = vec![self.receive_op(self.own + 1, bytes)];
        } else {
            self.receive(self.own - 1, bytes);
            inner(self, self.own / 2, &place);
            self.send(self.own - 1, bytes);
        }
    }

    fn doubling(&mut self, number: u32, place: &dyn Fn(u32) -> u32, bytes: u64) {
        for bit in powers(1 << self.members.ilog2()) {
            let partner = place(number ^ bit);
            self.exchange(partner, bytes, partner, bytes);
            self.combine();
        }
    }

    fn rabenseifner(&mut self, number: u32, place: &dyn Fn(u32) -> u32, bytes: u64) {
        let power = 1u32 << self.members.ilog2();
        let until = |index: u32| (u128::from(bytes) * u128::from(index) / u128::from(power)) as u64;
        // Of the pieces from `low` on, as many as the bit says.
        let size = |low: u32, count: u32| until(low + count) - until(low);
        for bit in powers(power).rev() {
            let partner = place(number ^ bit);
            let low = number & !(2 * bit - 1);
            let (kept, given) = if number & bit == 0 { (low, low + bit) } else { (low + bit, low) };
            self.exchange(partner, size(given, bit), partner, size(kept, bit));
            self.combine();
        }
        for bit in powers(power) {
            let partner = place(number ^ bit);
            let own = number & !(bit - 1);
            self.exchange(partner, size(own, bit), partner, size(own ^ bit, bit));
        }
    }

    fn bruck(&mut self, bytes: u64) {
        for bit in powers(self.members) {
            let blocks = (1..self.members).filter(|block| block & bit != 0).count() as u64;
            let all = blocks * bytes;
            self.exchange(self.beyond(bit), all, self.beyond(self.members - bit), all);
        }
    }
}

/// 1, 2, 4, ... below a number.
fn powers(below: u32) -> impl DoubleEndedIterator<Item = u32> {
    (0..below.next_power_of_two().ilog2()).map(|exponent| 1 << exponent)
}
