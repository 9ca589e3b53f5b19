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
use narthex_fabrics::{NodeId, Placement, Rank};
use narthex_memory::main_memory::Image;
use narthex_memory::page_frames::PageFrames;

use super::ProcessId;
use crate::request::{Failure, JobRequest, RunRequest};

/// What stands for all nodes of a machine.
const ALL: &str = "all";

/// The processes of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The nodes on which it has processes.
    pub nodes: Range<u32>,
    /// Its processes on each of them.
    pub processes: Range<u8>,
}

impl Place {
    /// All processes of a machine.
    fn whole(placement: Placement) -> Self {
        Place { nodes: 0..placement.nodes.into(), processes: 0..placement.processes }
    }

    /// Whether both have a process in common.
    fn meets(&self, other: &Place) -> bool {
        let nodes = self.nodes.start < other.nodes.end && other.nodes.start < self.nodes.end;
        let processes =
            self.processes.start < other.processes.end && other.processes.start < self.processes.end;
        nodes && processes
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
    pub place: Place,
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
            place: Place::whole(placement),
        }
    }

    /// Whether a process is one of this job.
    pub fn has(&self, place: ProcessId) -> bool {
        self.place.nodes.contains(&place.node.0.into()) && self.place.processes.contains(&place.process)
    }

    /// Its ranks, as the ports of its nodes translate them.
    pub fn ranks(&self, placement: Placement) -> narthex_fabrics::Job {
        let Place { nodes, processes } = &self.place;
        let (first, ranks) = (nodes.start as u16, nodes.len() as u16);
        if processes.len() == usize::from(placement.processes) {
            let processes = u16::from(placement.processes);
            return narthex_fabrics::Job {
                first: Rank(first * processes),
                stride: 1,
                ranks: ranks * processes,
            };
        }
        let first = placement.rank(NodeId(first), processes.start);
        narthex_fabrics::Job { first, stride: placement.processes.into(), ranks }
    }
}

/// The places of a run's jobs, in their order: each has the first process that is free on
/// all of its nodes.
///
/// # Errors
/// If a job is on nodes that the machine lacks, or no process is free for it.
pub fn places(request: &RunRequest, placement: Placement) -> Result<Vec<Place>, Failure> {
    if request.jobs.is_empty() && request.job_nodes.is_none() {
        return Ok(vec![Place::whole(placement)]);
    }
    let first = (words(&request.program, &request.args), request.job_nodes.as_deref());
    let further = request.jobs.iter();
    let further =
        further.map(|JobRequest { program, args, nodes, .. }| (words(program, args), nodes.as_deref()));
    let jobs: Vec<(String, Option<&str>)> = std::iter::once(first).chain(further).collect();
    let mut places: Vec<Place> = Vec::new();
    for (name, nodes) in &jobs {
        let nodes = nodes_of(name, *nodes, placement.nodes.into())?;
        let of = |process: u8| Place { nodes: nodes.clone(), processes: process..process + 1 };
        let is_free = |place: &Place| !places.iter().any(|taken| taken.meets(place));
        let Some(place) = (0..placement.processes).map(of).find(is_free) else {
            let (first, last, processes) = (nodes.start, nodes.end - 1, placement.processes);
            return Err(Failure::usage(format!(
                "job '{name}' needs a process on each of the nodes {first} to {last}, and the jobs before it have \
                 taken those that there are ({processes} on each node: machine.processors_per_node); give it \
                 other nodes ('{name} @ FIRST-LAST'), or the machine more processors \
                 (--set machine.processors_per_node={})",
                jobs.len()
            )));
        };
        places.push(place);
    }
    Ok(places)
}

fn words(program: &str, arguments: &[String]) -> String {
    std::iter::once(program).chain(arguments.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

/// The nodes of a job: "0-7" or "3"; all of them if none are named.
fn nodes_of(job: &str, text: Option<&str>, nodes: u32) -> Result<Range<u32>, Failure> {
    let Some(text) = text.filter(|text| *text != ALL) else { return Ok(0..nodes) };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
        (Ok(first), Ok(last)) if first <= last => first..last.saturating_add(1),
        _ => {
            return Err(Failure::usage(format!(
                "job '{job}' is on nodes '{text}'; expected a node or a first and a last one, such as 0-7"
            )));
        }
    };
    match range.end <= nodes {
        true => Ok(range),
        false => Err(Failure::usage(format!(
            "job '{job}' is on nodes '{text}', and the machine has the nodes 0 to {}; ask for more with \
             --nodes {}, or for fewer ranks",
            nodes - 1,
            range.end
        ))),
    }
}

#[cfg(test)]
mod tests {
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
        let places = |first, further: &[_]| -> Vec<(Range<u32>, Range<u8>)> {
            let places = places(&request(first, further), PLACEMENT).expect("there is room");
            places.into_iter().map(|place| (place.nodes, place.processes)).collect()
        };
        assert_eq!(places(None, &[]), [(0..4, 0..2)], "one job has all processes");
        assert_eq!(places(None, &[None]), [(0..4, 0..1), (0..4, 1..2)]);
        assert_eq!(
            places(Some("0-1"), &[Some("2-3"), Some("1-2"), Some("0")]),
            [(0..2, 0..1), (2..4, 0..1), (1..3, 1..2), (0..1, 1..2)]
        );
    }

    #[test]
    fn a_job_without_room_or_on_nodes_that_there_are_not_is_refused() {
        let refused = |first, further: &[_]| places(&request(first, further), PLACEMENT).unwrap_err().message;
        let full = refused(None, &[None, Some("3")]);
        assert!(full.starts_with("job 'gauss 64' needs a process on each of the nodes 3 to 3"), "{full}");
        assert!(full.contains("machine.processors_per_node=3"), "{full}");
        let beyond = refused(Some("0-7"), &[]);
        assert!(beyond.starts_with("job 'em3d' is on nodes '0-7', and the machine has the nodes 0 to 3"));
        for wrong in ["3-1", "a", "", "1-"] {
            assert!(
                refused(Some(wrong), &[]).contains("expected a node or a first and a last one"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn the_ranks_of_a_job_are_its_nodes_one_behind_the_other() {
        let job = narthex_fabrics::Job { first: Rank(3), stride: 2, ranks: 2 };
        let own = [0, 1, 2].map(|rank| job.process(Rank(rank)));
        assert_eq!(own, [Some(Rank(3)), Some(Rank(5)), None]);
        assert_eq!([3, 5].map(|process| job.rank_of(Rank(process))), [Rank(0), Rank(1)]);
    }
}
