//! Memory of the host: a machine that does not fit is refused before its nodes
//! are built, and a run that grows too large ends with a message.
//!
//! ```text
//!   a node = its processes' caches       size by configuration; taken as they are used
//!          + the interface's queues      size by configuration; taken as they are used
//!          + pages of the guest's memory that are touched whatever it does: its
//!            variables, the top of its stack, the information page
//!          + everything else             about the same for every node
//! ```
//!
//! The estimate counts caches and queues as full, because most programs fill
//! them, so it is more than an idle machine takes. What it cannot foresee is
//! what programs allocate while they run, up to gigabytes a
//! node; [`shortage`] looks for that several times a second.

#[cfg(target_os = "linux")]
mod control_groups;
#[cfg(not(target_os = "linux"))]
mod control_groups {
    /// Other systems have none.
    pub fn left() -> Option<u64> {
        None
    }
}

use narthex_kernel::Time;
use narthex_kernel::quantity::Bytes;
use narthex_memory::main_memory::PAGE_BYTES;
use rustix::param::page_size;
use rustix::process::{Resource, getrlimit};
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use crate::compose::Blueprint;
use crate::config::ProcessorPart;
use crate::node::Node;
use crate::request::Failure;

/// The environment variable that says how much memory a run may be estimated to
/// need, whatever the host seems to have.
pub const LIMIT_VARIABLE: &str = "NARTHEX_MEMORY";

/// What a node takes besides what is counted (measured: tests/host_memory.rs).
const NODE_BYTES: u64 = 96 << 10;
/// What each of its processes does.
const PROCESS_BYTES: u64 = 64 << 10;
/// What all nodes share, besides the program: code and tables of the simulator.
const SHARED_BYTES: u64 = 16 << 20;
/// Host bytes for a byte of the program's file in memory: each halfword of code
/// is decoded to an operation of 16 bytes.
const DECODED_BYTES: u64 = 10;
/// Pages that a process touches besides its variables: stack, information page, pointers.
const STARTED_PAGES: u64 = 8;
/// With less memory than this left, a run ends rather than be killed by the host.
const RESERVE_BYTES: u64 = 128 << 20;
/// The same of the addresses that the process may have: nothing else takes them, and
/// a table that grows takes some at once.
const RESERVE_ADDRESSES_BYTES: u64 = 64 << 20;

/// What a machine is going to take of its host's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// Nodes in the machine.
    pub nodes: u32,
    /// Bytes for each of them, its caches full.
    pub node_bytes: u64,
    /// Bytes that do not depend on the number of nodes.
    pub shared_bytes: u64,
}

impl Estimate {
    /// The estimate for a machine; nothing of it is built.
    ///
    /// # Errors
    /// If the machine cannot have the interface.
    pub fn of(blueprint: &Blueprint<'_>) -> Result<Self, Failure> {
        let config = &*blueprint.config;
        let processes = u64::from(config.processes_per_node());
        let interfaces = blueprint.build_interfaces()?;
        let queues = interfaces.iter().zip(0..).map(|(interface, first)| {
            let layouts = interface.layouts(first);
            let queues = layouts.iter().flat_map(|layout| &layout.cachable);
            queues.map(|range| range.end - range.start).sum::<u64>()
        });
        let queues = queues.max().unwrap_or_default();
        let segments = || blueprint.jobs.iter().flat_map(|job| job.program.segments());
        let pages = |bytes: usize| (bytes as u64).div_ceil(PAGE_BYTES) + 1;
        let variables = segments().filter(|segment| segment.protection.write && !segment.bytes.is_empty());
        let variables: u64 = variables.map(|segment| pages(segment.bytes.len())).sum();
        let caches = |(_, part): &(&str, &ProcessorPart)| match part.has_caches() {
            true => config.caches_of(part).host_bytes(),
            false => 0,
        };
        let cache_bytes: u64 = config.processor_parts().iter().map(caches).sum();
        let third = config.third_level_cache.as_ref();
        let sockets = config.sockets().map_or(1, |sockets| sockets.count() as u64);
        let third = third.map_or(0, |third| sockets * third.host_bytes(config.block()));
        let memories = config.node.memories.values().filter(|memory| memory.cache.is_some()).count() as u64;
        let process_bytes = queues + (variables + STARTED_PAGES) * PAGE_BYTES + PROCESS_BYTES;
        let program_bytes: u64 = segments().map(|segment| segment.bytes.len() as u64).sum();
        Ok(Estimate {
            nodes: blueprint.built,
            node_bytes: cache_bytes + memories * third + processes * process_bytes + NODE_BYTES,
            shared_bytes: SHARED_BYTES + DECODED_BYTES * program_bytes,
        })
    }

    /// Bytes for the whole machine.
    pub fn total_bytes(&self) -> u64 {
        u64::from(self.nodes) * self.node_bytes + self.shared_bytes
    }

    /// Refuses the machine if it needs more than `allowed_bytes`; without a
    /// number, where the host does not tell, nothing is refused.
    ///
    /// # Errors
    /// With the estimate, what there is, and what to reduce.
    pub fn check(&self, allowed_bytes: Option<u64>) -> Result<(), Failure> {
        let total = self.total_bytes();
        let Some(allowed) = allowed_bytes.filter(|&allowed| allowed < total) else {
            return Ok(());
        };
        let fitting = allowed.saturating_sub(self.shared_bytes) / self.node_bytes;
        let advice = match fitting {
            0 => "Not even one node fits".into(),
            _ => format!("Reduce machine.nodes to {fitting} or fewer, or the size of the caches"),
        };
        Err(Failure::usage(format!(
            "not enough memory for the machine: {} nodes need about {} ({} a node and {} for all, its caches full), \
             and {} are available. {advice}; or set {LIMIT_VARIABLE} to the memory that the run may need (such as \
             {LIMIT_VARIABLE}={}MiB) to try it nevertheless",
            self.nodes,
            mebibytes(total),
            mebibytes(self.node_bytes),
            mebibytes(self.shared_bytes),
            mebibytes(allowed),
            (total >> 20) + 1,
        )))
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64)
}

/// Memory that the host, or the control groups that this process is in, can still
/// give; none where it does not tell.
pub fn available() -> Option<u64> {
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(memory);
    let host = (system.total_memory() > 0).then(|| system.available_memory());
    host.into_iter().chain(control_groups::left()).min()
}

/// What a limit on the process's addresses (`ulimit -v`) leaves; none without one.
pub fn addresses_left() -> Option<u64> {
    let limit = getrlimit(Resource::As).current?;
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let taken: u64 = pages.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(taken * page_size() as u64))
}

/// How much a machine may be estimated to need: [`LIMIT_VARIABLE`], or else what
/// is available.
///
/// # Errors
/// If the variable is no size.
pub fn allowed() -> Result<Option<u64>, Failure> {
    match std::env::var(LIMIT_VARIABLE) {
        Ok(text) => limit(&text).map(Some),
        Err(_) => Ok(available().into_iter().chain(addresses_left()).min()),
    }
}

/// The value of [`LIMIT_VARIABLE`].
fn limit(text: &str) -> Result<u64, Failure> {
    let size = text.parse::<Bytes>().map_err(|problem| {
        Failure::usage(format!("the environment variable {LIMIT_VARIABLE} is '{text}': {problem}"))
    })?;
    Ok(size.as_u64())
}

/// So little memory is left that the host would soon kill the run, or so few
/// addresses that it would end by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortage {
    left_bytes: u64,
    of: &'static str,
}

/// Whether a run must end, given what the host can still give.
pub fn shortage(available_bytes: Option<u64>) -> Option<Shortage> {
    let of = "the host is out of memory";
    available_bytes.filter(|&left| left < RESERVE_BYTES).map(|left_bytes| Shortage { left_bytes, of })
}

/// The same, given the addresses that the process can still have.
pub fn shortage_of_addresses(left_bytes: Option<u64>) -> Option<Shortage> {
    let of = "the process is out of the addresses that it may have (ulimit -v)";
    left_bytes.filter(|&left| left < RESERVE_ADDRESSES_BYTES).map(|left_bytes| Shortage { left_bytes, of })
}

/// Whether a run must end now, for want of memory or of addresses.
pub fn present_shortage() -> Option<Shortage> {
    shortage(available()).or_else(|| shortage_of_addresses(addresses_left()))
}

impl Shortage {
    /// The failure of a run that has come to `now`.
    pub fn failure(self, now: Time, nodes: &[Node]) -> Failure {
        let touched: u64 = nodes.iter().map(|node| node.touched_pages() as u64 * PAGE_BYTES).sum();
        let message = format!(
            "{} at simulated time {now}: {} are left, and the programs of {} nodes have touched {} of their memory. \
             Reduce machine.nodes, or what the program allocates",
            self.of,
            mebibytes(self.left_bytes),
            nodes.len(),
            mebibytes(touched)
        );
        Failure::guest(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ESTIMATE: Estimate = Estimate { nodes: 1024, node_bytes: 2 << 20, shared_bytes: 16 << 20 };

    #[test]
    fn a_machine_that_does_not_fit_is_refused_with_what_would() {
        assert_eq!(ESTIMATE.check(Some(ESTIMATE.total_bytes())), Ok(()));
        let failure = ESTIMATE.check(Some(ESTIMATE.total_bytes() - 1)).unwrap_err();
        assert_eq!(failure.exit_code, Failure::USAGE);
        for part in ["1024 nodes need about 2064.0 MiB", "machine.nodes to 1023 or", "NARTHEX_MEMORY=2065MiB"]
        {
            assert!(failure.message.contains(part), "{part}: {failure}");
        }
        let failure = ESTIMATE.check(Some(1 << 20)).unwrap_err();
        assert!(failure.message.contains("Not even one node fits"), "{failure}");
    }

    #[test]
    fn where_the_host_does_not_tell_nothing_is_refused() {
        assert_eq!(ESTIMATE.check(None), Ok(()));
    }

    #[test]
    fn the_limit_is_a_size_with_a_unit() {
        assert_eq!(limit("3GiB").unwrap(), 3 << 30);
        let failure = limit("much").unwrap_err();
        assert!(failure.message.contains("NARTHEX_MEMORY is 'much'"), "{failure}");
    }

    #[test]
    fn a_run_ends_when_little_is_left_and_not_before() {
        assert_eq!((shortage(None), shortage(Some(RESERVE_BYTES))), (None, None));
        let failure = shortage(Some(RESERVE_BYTES - 1)).expect("a shortage").failure(Time::ZERO, &[]);
        assert!(failure.message.contains("128.0 MiB are left"), "{failure}");
        assert_eq!(shortage_of_addresses(Some(RESERVE_ADDRESSES_BYTES)), None);
        let few = shortage_of_addresses(Some(1 << 20)).expect("a shortage").failure(Time::ZERO, &[]);
        assert!(few.message.contains("(ulimit -v) at simulated time 0ps: 1.0 MiB are left"), "{few}");
    }
}
