//! Who waits for whom, as a circle or as chains.

use narthex_fabrics::Rank;

use super::waits::Wait;

/// Chains that are listed at most.
const MOST: usize = 8;

/// The waits as paths.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chains {
    /// Processes of which each waits for the next and the last for the first,
    /// which is named again at the end.
    pub circle: Option<Vec<Rank>>,
    /// Processes of which each waits for the next; the last waits for none that
    /// is known, or stands in an earlier chain or in the circle.
    pub others: Vec<Vec<Rank>>,
}

impl Chains {
    /// The paths among these waits, which are in the order of ranks.
    pub fn of(waits: &[Wait]) -> Self {
        let circle = (0..waits.len()).find_map(|start| circle_through(waits, start));
        let mut listed: Vec<bool> = vec![false; waits.len()];
        circle.iter().flatten().for_each(|&rank| listed[rank] = true);
        let is_awaited = |rank: usize| waits.iter().any(|wait| next(wait).any(|to| to == rank));
        let mut others = Vec::new();
        // First those for which none waits: they are ends of chains.
        for wanted in [false, true] {
            for start in 0..waits.len() {
                let is_link = next(&waits[start]).next().is_some();
                if is_link && !listed[start] && is_awaited(start) == wanted && others.len() < MOST {
                    others.push(chain_from(waits, start, &mut listed));
                }
            }
        }
        let ranks = |chain: Vec<usize>| chain.into_iter().map(|rank| waits[rank].who).collect();
        Chains { circle: circle.map(ranks), others: others.into_iter().map(ranks).collect() }
    }
}

fn next(wait: &Wait) -> impl Iterator<Item = usize> {
    wait.links.iter().map(|link| usize::from(link.to.0))
}

/// The shortest circle through `start`, which is named at both ends.
fn circle_through(waits: &[Wait], start: usize) -> Option<Vec<usize>> {
    let mut before = vec![None; waits.len()];
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(here) = queue.pop_front() {
        for to in next(&waits[here]) {
            if to == start {
                let mut path = vec![start, here];
                while let Some(&last) = path.last().filter(|&&last| last != start) {
                    path.push(before[last].expect("it was come to"));
                }
                path.reverse();
                return Some(path);
            }
            if before[to].is_none() {
                before[to] = Some(here);
                queue.push_back(to);
            }
        }
    }
    None
}

/// The chain from `start` along the first link of each, to one that waits for
/// none or is listed already.
fn chain_from(waits: &[Wait], start: usize, listed: &mut [bool]) -> Vec<usize> {
    let mut chain = vec![start];
    listed[start] = true;
    let mut here = start;
    while let Some(to) = next(&waits[here]).next() {
        chain.push(to);
        if std::mem::replace(&mut listed[to], true) {
            break;
        }
        here = to;
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::super::waits::{Link, What};
    use super::*;

    /// The chains where each process waits for these.
    fn chains(waits: &[&[u16]]) -> (Option<Vec<u16>>, Vec<Vec<u16>>) {
        let link = |&to: &u16| Link { to: Rank(to), why: String::new() };
        let wait = |(who, links): (usize, &&[u16])| Wait {
            who: Rank(who as u16),
            what: What::Room,
            detail: String::new(),
            links: links.iter().map(link).collect(),
        };
        let Chains { circle, others } = Chains::of(&waits.iter().enumerate().map(wait).collect::<Vec<_>>());
        let numbers = |chain: Vec<Rank>| chain.into_iter().map(|rank| rank.0).collect();
        (circle.map(numbers), others.into_iter().map(numbers).collect())
    }

    #[test]
    fn two_that_wait_for_each_other_are_a_circle() {
        assert_eq!(chains(&[&[1], &[0]]), (Some(vec![0, 1, 0]), vec![]));
    }

    #[test]
    fn one_that_waits_for_itself_is_a_circle() {
        assert_eq!(chains(&[&[0], &[]]), (Some(vec![0, 0]), vec![]));
    }

    #[test]
    fn the_shortest_circle_is_listed_and_what_leads_to_it() {
        assert_eq!(chains(&[&[1], &[2], &[3, 1], &[0]]), (Some(vec![0, 1, 2, 3, 0]), vec![]));
        assert_eq!(chains(&[&[1], &[2], &[3], &[2]]), (Some(vec![2, 3, 2]), vec![vec![0, 1, 2]]));
    }

    #[test]
    fn chains_end_at_one_that_waits_for_none() {
        assert_eq!(chains(&[&[2], &[0], &[]]), (None, vec![vec![1, 0, 2]]));
        assert_eq!(chains(&[&[2], &[2], &[]]), (None, vec![vec![0, 2], vec![1, 2]]));
        assert_eq!(chains(&[&[], &[]]), (None, vec![]));
    }
}
