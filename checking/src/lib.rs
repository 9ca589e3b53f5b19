//! The model checkers: every interleaving, with the code that the simulator runs.
//!
//! | module | what is explored |
//! | --- | --- |
//! | [`interface`] | an interface, its compiled driver, the cache and the bus between them |
//! | [`protocol`] | a bus's coherence protocol: caches and one block |
//! | [`bridge`] | the bridge to an I/O bus, with two agents that only use it |
//! | [`eager`] | Eager Data Transfer: its controller, a host's cache, doorbells and arriving bytes |
//! | [`voyager`] | StarT-Voyager: pointer windows against units, switched queues, approvals |
//! | [`sarc`] | SARC: lines that are sensitive to events, copies, its packets beside coherence |
//! | [`lockstep`] | SARC's RTL beside its model: traces and random traffic, no exploration |
//! | [`refusals`] | a bus whose owners and devices refuse transactions |
//! | [`directory`] | a directory's protocols, with messages in any order |
//! | [`shared_memory`] | the invalidation protocol that nodes run in software |
//! | [`explore`] | the explorer itself: it visits every state of a system |
//! | [`memory`] | a memory on an interconnect whose accesses take no time |
//! | [`clock`] | interconnects whose steps happen at any time |
//! | [`report`] | what a check has found |
//!
//! docs/checking.md says what a proof covers.
//!
//! The functions of this page are what the command line is made of: each gives
//! the document of a report, with its text for people.

pub mod bridge;
pub mod clock;
pub mod directory;
pub mod eager;
pub mod explore;
pub mod interface;
pub mod lockstep;
pub mod memory;
pub mod protocol;
pub mod refusals;
pub mod report;
pub mod sarc;
pub mod shared_memory;
pub mod voyager;

use narthex_machine::Failure;
use narthex_memory::protocols;
use serde_json::Value;

use interface::InterfaceCheck;

/// Explores every state of a protocol's table, with caches that do not snarf and
/// with caches that do; and with owners that refuse, on a bus that carries no data from
/// cache to cache.
///
/// # Errors
/// If there is no such protocol. A protocol that does not hold is a result.
pub fn check_protocol(name: &str) -> Result<Value, Failure> {
    let protocol = protocols::by_name(name).filter(|protocol| protocol.is_coherent());
    let protocol = protocol.ok_or_else(|| no_protocol(name, &protocols::coherent()))?;
    Ok(protocol::check(protocol, &protocol::Scope::ALL).to_document())
}

/// Why no protocol of this name can be checked, where these `names` can: there is none, it
/// promises nothing, or it is for buses alone.
fn no_protocol(name: &str, names: &[&str]) -> Failure {
    if let Some(protocol) = protocols::by_name(name) {
        let (own, names) = (protocol.name, names.join(", "));
        let why = if protocol.is_coherent() {
            "has no table of a directory"
        } else {
            "keeps no caches coherent, so there is nothing to prove of it"
        };
        return Failure::usage(format!("{own} {why}; there are {names}"));
    }
    let hint = nearest(name, names).map(|known| format!("; did you mean {known}?")).unwrap_or_default();
    Failure::usage(format!("there is no protocol '{name}'; there are {}{hint}", names.join(", ")))
}

/// The name that is most like another one.
fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let distance = |known: &str| strsim::damerau_levenshtein(&known.to_lowercase(), &name.to_lowercase());
    names.iter().copied().min_by_key(|known| distance(known))
}

/// Explores every order in which the messages of a directory with this protocol's tables
/// can arrive, up to `limit` states of each scope; with one entry changed, as
/// [`directory::mutants`] names it, if there is a `change`.
///
/// # Errors
/// If there is no such protocol or no such change. A table that does not hold is a result.
pub fn check_directory(
    name: &str,
    change: Option<&str>,
    limit: usize,
    observe: &mut dyn FnMut(usize) -> bool,
) -> Result<Value, Failure> {
    directory::check_named(name, change, limit, observe).map(|report| report.to_document())
}

/// Explores every interleaving of an interface and its driver, as
/// [`interface::check`] does.
///
/// # Errors
/// If the interface, the machine or a setting is wrong. An interface that does
/// not hold is a result.
pub fn check_interface(
    request: &InterfaceCheck,
    elf: &[u8],
    observe: &mut dyn FnMut(usize) -> bool,
) -> Result<Value, Failure> {
    interface::check(request, elf, observe).map(|report| report.to_document())
}

/// Explores every interleaving at the bridge to an I/O bus.
///
/// # Errors
/// If `without` is anything else than "fairness", the rule that can be left out.
pub fn check_bridge(without: Option<&str>) -> Result<Value, Failure> {
    match without {
        None | Some(bridge::FAIRNESS) => Ok(bridge::check(without.is_none()).to_document()),
        Some(other) => {
            let rule = bridge::FAIRNESS;
            Err(Failure::usage(format!("'{other}' is no rule of the bridge that can be left out; {rule} is")))
        }
    }
}

/// Explores every interleaving of owners and a device that refuse, on one bus.
///
/// # Errors
/// If `without` is none of the rules that can be left out.
pub fn check_refusals(without: Option<&str>) -> Result<Value, Failure> {
    match without {
        Some(other) if !refusals::RULES.contains(&other) => {
            let rules = refusals::RULES.join(" and ");
            Err(Failure::usage(format!("'{other}' is no rule of refusals that can be left out; {rules} are")))
        }
        _ => Ok(refusals::check(without).to_document()),
    }
}

/// Explores every interleaving of `nodes` nodes that run a table of shared
/// memory's invalidation protocol, up to `limit` states. `text` is the table's
/// file, `without` a row to leave out, as `STATE:EVENT`.
///
/// # Errors
/// If the file is no table, has no such row, or that number of nodes cannot be checked.
pub fn check_shared_memory(
    text: &str,
    nodes: u64,
    without: Option<&str>,
    limit: usize,
    observe: &mut dyn FnMut(usize) -> bool,
) -> Result<Value, Failure> {
    shared_memory::check_file(text, nodes, without, limit, observe).map(|report| report.to_document())
}
