//! Where and when a job runs, as its text says behind the `@`.
//!
//! ```text
//!   NODES [start TIME] [until TIME]
//!
//!   all           every node               0,4,8-11      these, in the order of the ranks
//!   0-15          a first and a last one   random:8      nodes that are free, by the run's seed
//!   0-15:4        every fourth of them     random:8:42   the same by a seed of its own
//! ```

use narthex_kernel::random::Stream;
use narthex_kernel::{Duration, Time, did_you_mean};

/// What stands for all nodes of a machine.
const ALL: &str = "all";
const RANDOM: &str = "random";
const EXPECTED: &str = "expected a node (3), a first and a last one (0-7), every fourth of them (0-7:4), several of \
                        these with commas between (0,4,8-11), random nodes (random:8, or random:8:SEED), or all";

/// The nodes of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Nodes {
    /// These, in the order of its ranks.
    Listed(Vec<u16>),
    /// Some of those that are free.
    Random {
        /// How many.
        count: usize,
        /// What decides which; the run's seed if not given.
        seed: Option<u64>,
    },
}

impl Nodes {
    /// What messages call them.
    pub fn in_words(&self) -> String {
        match self {
            Nodes::Random { count, .. } => format!("{count} random nodes"),
            Nodes::Listed(nodes) => match nodes[..] {
                [node] => format!("node {node}"),
                [first, .., last] if usize::from(last.abs_diff(first)) + 1 == nodes.len() => {
                    format!("the nodes {first} to {last}")
                }
                _ => {
                    let nodes: Vec<String> = nodes.iter().map(u16::to_string).collect();
                    format!("the nodes {}", nodes.join(", "))
                }
            },
        }
    }
}

/// When the processes of a job run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// When they begin, if not with the run.
    pub start: Option<Time>,
    /// When they are stopped, if they have not ended.
    pub until: Option<Time>,
}

/// What a job's text says, on a machine of so many nodes.
///
/// # Errors
/// With what is wrong, behind the job's name.
pub fn read(text: &str, nodes: u16) -> Result<(Nodes, Times), String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_number_or_range = |word: &&str| word.chars().all(|each| !each.is_ascii_alphabetic());
    let is_of_nodes =
        |(place, word): (usize, &&str)| place == 0 && !is_time(word) || is_number_or_range(word);
    let of_nodes = words.iter().enumerate().take_while(|&each| is_of_nodes(each)).count();
    let (on, times) = words.split_at(of_nodes);
    Ok((nodes_of(&on.concat(), nodes)?, times_of(times)?))
}

const START: &str = "start";
const UNTIL: &str = "until";

fn is_time(word: &str) -> bool {
    [START, UNTIL].contains(&word)
}

/// "start 1ms until 5ms".
fn times_of(words: &[&str]) -> Result<Times, String> {
    let mut times = Times::default();
    for pair in words.chunks(2) {
        let (time, earlier) = match pair[0] {
            START => (&mut times.start, START),
            UNTIL => (&mut times.until, UNTIL),
            other => {
                let told = did_you_mean(other, [START, UNTIL]);
                return Err(format!(
                    "has '{other}' behind its nodes; expected start TIME or until TIME{told}"
                ));
            }
        };
        let Some(text) = pair.get(1) else {
            return Err(format!("has no time behind '{earlier}', such as 1ms"));
        };
        let told: Duration = text.parse().map_err(|problem| format!("has '{earlier} {text}': {problem}"))?;
        if time.replace(Time::ZERO + told).is_some() {
            return Err(format!("has '{earlier}' twice"));
        }
    }
    match (times.start.unwrap_or(Time::ZERO), times.until) {
        (start, Some(until)) if until <= start => Err(format!(
            "would be stopped at {until}, and begins at {start}; expected an 'until' behind that"
        )),
        _ => Ok(times),
    }
}

fn nodes_of(text: &str, nodes: u16) -> Result<Nodes, String> {
    let wrong = || format!("is on nodes '{text}'; {EXPECTED}");
    if text.is_empty() || text == ALL {
        return Ok(Nodes::Listed((0..nodes).collect()));
    }
    if let Some(drawn) = text.strip_prefix(RANDOM) {
        return random(drawn, nodes)
            .ok_or_else(wrong)?
            .map_err(|problem| format!("is on nodes '{text}'{problem}"));
    }
    let mut listed = Vec::new();
    let mut is_taken = vec![false; nodes.into()];
    for part in text.split(',') {
        let (first, last, stride) = range(part).ok_or_else(wrong)?;
        if last >= u64::from(nodes) {
            return Err(format!(
                "is on nodes '{text}', and the machine has the nodes 0 to {}; ask for more with --nodes {}, or \
                 for fewer ranks",
                nodes - 1,
                last.saturating_add(1)
            ));
        }
        for node in (first..=last).step_by(stride) {
            if std::mem::replace(&mut is_taken[node as usize], true) {
                return Err(format!("is on nodes '{text}', and node {node} is there twice"));
            }
            listed.push(node as u16);
        }
    }
    Ok(Nodes::Listed(listed))
}

/// First, last and stride of "3", "0-7" or "0-7:4".
fn range(text: &str) -> Option<(u64, u64, usize)> {
    let (ends, stride) = text.split_once(':').unwrap_or((text, "1"));
    let (first, last) = ends.split_once('-').unwrap_or((ends, ends));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    let stride = stride.parse().ok().filter(|&stride| stride > 0)?;
    (first <= last).then_some((first, last, stride))
}

/// ":8" or ":8:SEED"; what is wrong with a count that can be read, behind the text.
fn random(text: &str, nodes: u16) -> Option<Result<Nodes, String>> {
    let text = text.strip_prefix(':')?;
    let (count, seed) = text.split_once(':').map_or((text, None), |(count, seed)| (count, Some(seed)));
    let count: u64 = count.parse().ok()?;
    let seed = seed.map(str::parse).transpose().ok()?;
    Some(match count {
        0 => Err(": none at all".into()),
        count if count > nodes.into() => {
            Err(format!(", and the machine has {nodes}; ask for more with --nodes"))
        }
        count => Ok(Nodes::Random { count: count as usize, seed }),
    })
}

/// So many of these nodes, in random order; none if there are fewer. `job` is the job's number in
/// its run: jobs with the same seed are not in the same places.
pub fn draw(mut nodes: Vec<u16>, count: usize, seed: u64, job: usize) -> Option<Vec<u16>> {
    if nodes.len() < count {
        return None;
    }
    let mut random = Stream::new(seed, &format!("job {job}/nodes"));
    for place in 0..count {
        let other = place as u64 + random.below((nodes.len() - place) as u64);
        nodes.swap(place, other as usize);
    }
    nodes.truncate(count);
    Some(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Vec<u16> {
        match read(text, 16).expect("sound").0 {
            Nodes::Listed(nodes) => nodes,
            random => panic!("{random:?}"),
        }
    }

    #[test]
    fn nodes_are_a_list_of_nodes_ranges_and_strides_in_its_order() {
        assert_eq!(listed("0,4,8,12"), [0, 4, 8, 12]);
        assert_eq!(listed("0-15:4"), [0, 4, 8, 12]);
        assert_eq!(listed("9, 3 - 5,1"), [9, 3, 4, 5, 1]);
        assert_eq!((listed("").len(), listed("all").len(), listed("start 1ns").len()), (16, 16, 16));
        let random = |count, seed| Nodes::Random { count, seed };
        assert_eq!(read("random:8", 16).unwrap().0, random(8, None));
        assert_eq!(read("random:8:42", 16).unwrap().0, random(8, Some(42)));
    }

    #[test]
    fn times_stand_behind_the_nodes() {
        let ps = |ps| Some(Time::from_ps(ps));
        let times = |text| read(text, 16).expect("sound").1;
        assert_eq!(times("4-15 start 1ns"), Times { start: ps(1_000), until: None });
        assert_eq!(times("4-15 until 5ns start 1ns"), Times { start: ps(1_000), until: ps(5_000) });
        assert_eq!(times("all"), Times::default());
    }

    #[test]
    fn wrong_texts_are_refused_with_what_is_allowed() {
        for (text, part) in [
            ("3-1", "is on nodes '3-1'; expected a node (3)"),
            ("a", "is on nodes 'a'; expected"),
            ("1-", "expected a node"),
            ("0-7:0", "expected a node"),
            ("1,,2", "expected a node"),
            ("random", "expected a node"),
            ("random:0", "is on nodes 'random:0': none at all"),
            ("random:17", "and the machine has 16"),
            ("random:8:x", "expected a node"),
            ("0,4,0-2", "node 0 is there twice"),
            ("0,18446744073709551615", "the machine has the nodes 0 to 15"),
            ("0-3 starts 1ms", "has 'starts' behind its nodes; expected start TIME or until TIME"),
            ("0-3 start", "has no time behind 'start'"),
            ("0-3 start 1", "has 'start 1': "),
            ("0-3 start 1ms start 2ms", "has 'start' twice"),
            ("0-3 start 2ms until 1ms", "would be stopped at 1ms, and begins at 2ms"),
        ] {
            let problem = read(text, 16).unwrap_err();
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }
}
