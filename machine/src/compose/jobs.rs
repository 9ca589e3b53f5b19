//! The jobs of a run: which program each process runs.
//!
//! A run has one job, whose program every process of the machine runs, or several. Then a
//! job has one process on each of its nodes, and its ranks count those nodes: its programs
//! run as on a machine of their own, and can name no process of another job (the ports
//! translate ranks: [`narthex_fabrics::Job`]).
//!
//! ```text
//!               node 0     node 1     node 2     node 3
//!   process 0   em3d 0     em3d 1     em3d 2     em3d 3       em3d 256
//!   process 1   gauss 0    gauss 1    ring 0     ring 1       gauss 64 @ 0-1, ring @ 2-3
//! ```

use std::ops::Range;
use std::sync::Arc;

use narthex_cores::Code;
use narthex_cores::linux::Program;
use narthex_fabrics::{NodeId, Placement};
use narthex_memory::main_memory::Image;
use narthex_memory::page_frames::PageFrames;

use super::nodes::{self, Nodes};
use crate::request::{Failure, JobRequest, RunRequest};

pub use super::nodes::Times;

/// The processes of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobPlacement {
    /// The nodes on which it has processes, in the order of its ranks.
    pub nodes: Vec<u16>,
    /// Its processes on each of them.
    pub processes: Range<u8>,
    /// When they begin, and when they are stopped.
    pub times: Times,
}

impl JobPlacement {
    /// All processes of a machine.
    fn whole(placement: Placement) -> Self {
        JobPlacement {
            nodes: (0..placement.nodes).collect(),
            processes: 0..placement.processes,
            times: Times::default(),
        }
    }

    /// Its ranks, as the ports of its nodes translate them.
    pub fn ranks(&self, placement: Placement) -> narthex_fabrics::Job {
        let JobPlacement { nodes, processes, .. } = self;
        let first = placement.rank(NodeId(nodes[0]), processes.start);
        let distances = nodes.windows(2).map(|pair| pair[1].checked_sub(pair[0]));
        let stride = distances.reduce(|one, other| one.filter(|_| one == other)).unwrap_or(Some(1));
        let of_node = processes.len() as u16;
        let ranks = nodes.len() as u16 * of_node;
        match stride {
            Some(stride) if of_node == 1 => {
                narthex_fabrics::Job::even(first, stride * u16::from(placement.processes), ranks)
            }
            Some(1) if of_node == u16::from(placement.processes) => {
                narthex_fabrics::Job::even(first, 1, ranks)
            }
            _ => {
                let of =
                    |&node: &u16| processes.clone().map(move |process| placement.rank(NodeId(node), process));
                narthex_fabrics::Job::listed(nodes.iter().flat_map(of).collect())
            }
        }
    }
}

/// A program, and the processes that run it.
pub struct Job {
    /// The program.
    pub program: Arc<Program>,
    /// Its decoded instructions.
    pub code: Arc<Code>,
    /// Its bytes, in their frames.
    pub image: Arc<Image>,
    /// Its arguments, the name first.
    pub arguments: Vec<String>,
    /// Its processes.
    pub place: JobPlacement,
    /// Their ranks.
    pub ranks: narthex_fabrics::Job,
}

impl Job {
    /// A job that has all processes of a machine.
    pub fn new(
        program: Program,
        (name, arguments): (&str, &[String]),
        line_bytes: u64,
        frames: &PageFrames,
        placement: Placement,
    ) -> Self {
        let code = Code::for_lines(line_bytes, program.code());
        let segments = program.segments().iter().map(|segment| (segment.address, &*segment.bytes));
        let image = Image::in_frames(segments, frames);
        Job {
            code: Arc::new(code),
            image: Arc::new(image),
            arguments: std::iter::once(name.to_owned()).chain(arguments.iter().cloned()).collect(),
            program: Arc::new(program),
            place: JobPlacement::whole(placement),
            ranks: narthex_fabrics::Job::whole(placement),
        }
    }

    /// Its processes are these.
    pub fn set_place(&mut self, place: JobPlacement, placement: Placement) {
        self.ranks = place.ranks(placement);
        self.place = place;
    }
}

/// The places of a run's jobs, in their order: each has the first process that is free on
/// all of its nodes.
///
/// # Errors
/// If a job is on nodes that the machine lacks, or no process is free for it.
pub fn places(request: &RunRequest, placement: Placement, seed: u64) -> Result<Vec<JobPlacement>, Failure> {
    if request.jobs.is_empty() && request.job_nodes.is_none() {
        return Ok(vec![JobPlacement::whole(placement)]);
    }
    let first = (words(&request.program, &request.args), request.job_nodes.as_deref());
    let further = request.jobs.iter();
    let further =
        further.map(|JobRequest { program, args, nodes, .. }| (words(program, args), nodes.as_deref()));
    let jobs: Vec<(String, Option<&str>)> = std::iter::once(first).chain(further).collect();
    let mut taken = vec![false; placement.ranks().into()];
    let mut places: Vec<JobPlacement> = Vec::new();
    for (number, (name, text)) in jobs.iter().enumerate() {
        let refused = |problem| Failure::usage(format!("job '{name}' {problem}"));
        let (nodes, times) = nodes::read(text.unwrap_or_default(), placement.nodes).map_err(refused)?;
        let is_free = |node: u16, process| !taken[usize::from(placement.rank(NodeId(node), process).0)];
        let on = |process: u8| match &nodes {
            Nodes::Listed(nodes) => nodes.iter().all(|&node| is_free(node, process)).then(|| nodes.clone()),
            Nodes::Random { count, seed: own } => {
                let free = (0..placement.nodes).filter(|&node| is_free(node, process)).collect();
                nodes::draw(free, *count, own.unwrap_or(seed), number)
            }
        };
        let Some((process, on)) = (0..placement.processes).find_map(|process| Some((process, on(process)?)))
        else {
            let (wanted, processes) = (nodes.in_words(), placement.processes);
            return Err(refused(format!(
                "needs a process on each of {wanted}, and the jobs before it have taken those that there are \
                 ({processes} on each node: machine.processors_per_node); give it other nodes \
                 ('{name} @ FIRST-LAST'), or the machine more processors \
                 (--set machine.processors_per_node={})",
                jobs.len()
            )));
        };
        for &node in &on {
            taken[usize::from(placement.rank(NodeId(node), process).0)] = true;
        }
        places.push(JobPlacement { nodes: on, processes: process..process + 1, times });
    }
    Ok(places)
}

fn words(program: &str, arguments: &[String]) -> String {
    std::iter::once(program).chain(arguments.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use narthex_fabrics::Rank;

    use super::*;

    const PLACEMENT: Placement = Placement { nodes: 4, processes: 2 };

    fn request(first: Option<&str>, further: &[Option<&str>]) -> RunRequest {
        let job = |nodes: &Option<&str>| JobRequest {
            program: "gauss".into(),
            args: vec!["64".into()],
            nodes: nodes.map(str::to_owned),
            elf: Vec::new(),
        };
        RunRequest {
            job_nodes: first.map(str::to_owned),
            jobs: further.iter().map(job).collect(),
            ..serde_json::from_value(serde_json::json!({
                "program": "em3d", "machine": "hpca98", "interface": "NI2w"
            }))
            .expect("a sound request")
        }
    }

    #[test]
    fn a_job_has_the_first_process_that_is_free_on_all_of_its_nodes() {
        let places = |first, further: &[_]| -> Vec<(Vec<u16>, Range<u8>)> {
            let places = places(&request(first, further), PLACEMENT, 7).expect("there is room");
            places.into_iter().map(|place| (place.nodes, place.processes)).collect()
        };
        assert_eq!(places(None, &[]), [(vec![0, 1, 2, 3], 0..2)], "one job has all processes");
        assert_eq!(places(None, &[None]), [(vec![0, 1, 2, 3], 0..1), (vec![0, 1, 2, 3], 1..2)]);
        assert_eq!(
            places(Some("0-1"), &[Some("2-3"), Some("1-2"), Some("0")]),
            [(vec![0, 1], 0..1), (vec![2, 3], 0..1), (vec![1, 2], 1..2), (vec![0], 1..2)]
        );
        assert_eq!(places(Some("0-3:2"), &[Some("3,1")]), [(vec![0, 2], 0..1), (vec![3, 1], 0..1)]);
    }

    #[test]
    fn a_random_job_is_where_nodes_are_free_and_its_seed_decides_where() {
        let placement = Placement { nodes: 64, processes: 1 };
        let drawn = |text, seed| {
            let places = places(&request(Some("0-31"), &[Some(text)]), placement, seed).expect("room");
            places[1].nodes.clone()
        };
        let nodes = drawn("random:8", 1);
        assert!(nodes.len() == 8 && nodes.iter().all(|node| (32..64).contains(node)), "{nodes:?}");
        assert_eq!(drawn("random:8", 1), nodes);
        assert_ne!(drawn("random:8", 2), nodes, "the run's seed");
        assert_eq!(drawn("random:8:1", 2), nodes, "its own");
        let request = request(Some("0-31"), &[Some("random:33")]);
        let refused = places(&request, placement, 1).unwrap_err().message;
        assert!(refused.contains("needs a process on each of 33 random nodes"), "{refused}");
    }

    #[test]
    fn even_nodes_need_no_table_and_others_keep_their_order() {
        let of = |nodes: &[u16], processes: Range<u8>| {
            JobPlacement { nodes: nodes.to_vec(), processes, times: Times::default() }.ranks(PLACEMENT)
        };
        assert_eq!(of(&[1, 2, 3], 1..2), narthex_fabrics::Job::even(Rank(3), 2, 3));
        assert_eq!(of(&[1, 3], 0..1), narthex_fabrics::Job::even(Rank(2), 4, 2));
        assert_eq!(of(&[0, 1, 2, 3], 0..2), narthex_fabrics::Job::whole(PLACEMENT));
        assert_eq!(of(&[2, 0], 0..1), narthex_fabrics::Job::listed(vec![Rank(4), Rank(0)]));
    }

    #[test]
    fn a_job_without_room_or_on_nodes_that_there_are_not_is_refused() {
        let refused =
            |first, further: &[_]| places(&request(first, further), PLACEMENT, 7).unwrap_err().message;
        let full = refused(None, &[None, Some("3")]);
        assert!(full.starts_with("job 'gauss 64' needs a process on each of node 3"), "{full}");
        assert!(full.contains("machine.processors_per_node=3"), "{full}");
        let beyond = refused(Some("0-7"), &[]);
        assert!(beyond.starts_with("job 'em3d' is on nodes '0-7', and the machine has the nodes 0 to 3"));
    }
}
