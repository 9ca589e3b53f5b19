//! The processes of one job: the ranks by which its programs know each other, and where they
//! run. Several jobs share a machine; none of them can name a process of another.
//!
//! Both directions of the translation are needed for each packet: a sender names a rank of its
//! job, and its receiver gets the sender's rank. Processes at equal distances need no table for
//! that; others share one among all ports of the machine.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::packet::{Placement, Rank};

/// The processes of a job.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Job(Places);

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Places {
    /// Processes at equal distances.
    Even { first: Rank, stride: u16, ranks: u16 },
    /// Processes anywhere.
    Listed(Listed),
}

/// Processes by their ranks, and ranks by their processes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(from = "Vec<Rank>", into = "Vec<Rank>")]
struct Listed(Arc<Table>);

#[derive(PartialEq, Eq, Hash, Debug)]
struct Table {
    processes: Vec<Rank>,
    ranks: Vec<Option<Rank>>,
}

impl From<Vec<Rank>> for Listed {
    fn from(processes: Vec<Rank>) -> Self {
        let end = processes.iter().map(|process| usize::from(process.0) + 1).max().unwrap_or(0);
        let mut ranks = vec![None; end];
        for (rank, process) in (0..).zip(&processes) {
            ranks[usize::from(process.0)] = Some(Rank(rank));
        }
        Listed(Arc::new(Table { processes, ranks }))
    }
}

impl From<Listed> for Vec<Rank> {
    fn from(listed: Listed) -> Self {
        listed.0.processes.clone()
    }
}

impl Job {
    /// The only job of a machine: all of its processes.
    pub fn whole(placement: Placement) -> Self {
        Job::even(Rank(0), 1, placement.ranks())
    }

    /// So many processes from the first one on, `stride` apart.
    pub fn even(first: Rank, stride: u16, ranks: u16) -> Self {
        Job(Places::Even { first, stride, ranks })
    }

    /// These processes, in the order of their ranks; none may be there twice.
    pub fn listed(processes: Vec<Rank>) -> Self {
        Job(Places::Listed(processes.into()))
    }

    /// How many ranks it has.
    pub fn ranks(&self) -> u16 {
        match &self.0 {
            &Places::Even { ranks, .. } => ranks,
            Places::Listed(listed) => listed.0.processes.len() as u16,
        }
    }

    /// The process that has one of the job's ranks; none where the job has no such rank.
    #[inline]
    pub fn process(&self, rank: Rank) -> Option<Rank> {
        match &self.0 {
            &Places::Even { first, stride, ranks } => {
                (rank.0 < ranks).then(|| Rank(first.0 + rank.0 * stride))
            }
            Places::Listed(listed) => listed.0.processes.get(usize::from(rank.0)).copied(),
        }
    }

    /// Which of the job's ranks a process has; none if it belongs to another job.
    #[inline]
    pub fn rank_of(&self, process: Rank) -> Option<Rank> {
        match &self.0 {
            &Places::Even { first, stride, ranks } => {
                let distance = process.0.checked_sub(first.0)?;
                (distance % stride == 0 && distance / stride < ranks).then(|| Rank(distance / stride))
            }
            Places::Listed(listed) => *listed.0.ranks.get(usize::from(process.0))?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_and_ranks_translate_both_ways_whether_they_are_even_or_listed() {
        let jobs = [Job::even(Rank(3), 2, 2), Job::listed(vec![Rank(3), Rank(5)])];
        for job in jobs {
            assert_eq!([0, 1, 2].map(|rank| job.process(Rank(rank))), [Some(Rank(3)), Some(Rank(5)), None]);
            let ranks = [2, 3, 4, 5, 6, 7].map(|process| job.rank_of(Rank(process)));
            assert_eq!(ranks, [None, Some(Rank(0)), None, Some(Rank(1)), None, None]);
            assert_eq!(job.ranks(), 2);
        }
    }

    #[test]
    fn listed_processes_have_their_ranks_in_the_order_of_the_list() {
        let job = Job::listed(vec![Rank(5), Rank(0), Rank(2)]);
        assert_eq!([0, 1, 2].map(|rank| job.process(Rank(rank)).unwrap().0), [5, 0, 2]);
        assert_eq!([5, 0, 2].map(|process| job.rank_of(Rank(process)).unwrap().0), [0, 1, 2]);
    }
}
