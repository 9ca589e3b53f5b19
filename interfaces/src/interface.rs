//! A whole interface: a send half and a receive half, possibly of different
//! models, found by name, for each process of the node.
//!
//! The processes that it serves ([`Share`]) share the interface's place on the node and its network port with
//! the flow control's buffers. What makes messages fast has to be used without
//! asking the system, so each process has it to itself: registers, queues, pointers
//! and the state of the engines that serve them (isca96, Section 2.4: "Each
//! process communicates with a CNI using its own data queues"; "base and bound
//! translations, head and tail pointers, and a process identifier" are kept for
//! each queue).

mod accesses;

use std::ops::Range;

use narthex_kernel::{Archive, Archived, Damage, Duration};
use narthex_memory::protocols::Protocol;
use narthex_memory::{AgentId, Kind};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::address_names::AddressNames;
use crate::attachment::{Attachment, Hearing};
use crate::description::Layout;
use crate::device::Device;
use crate::half::InterfaceHalf;
use crate::models::{self, Built, Makes, Problem, Setup};
use crate::name::{HalfName, Name};
use crate::registers::Addresses;
use crate::rules;
use crate::sarc::Sarc;
use crate::share::Share;

/// An interface that cannot be built, and why.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum InterfaceError {
    /// The machine's file has no section for the model.
    #[error("the machine's file has no [interfaces.{section}], which '{name}' needs")]
    NoSection {
        /// The interface.
        name: String,
        /// The missing section.
        section: String,
    },
    /// A size or parameter does not fit.
    #[error("{place}: {problem}")]
    Problem {
        /// The interface, or the key in the machine's file.
        place: String,
        /// What is wrong, and what is allowed.
        problem: String,
    },
    /// The papers do not allow it.
    #[error("there can be no '{name}': {reason}")]
    Rule {
        /// The half or the whole interface.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// It does not follow a rule that is to be left out.
    #[error("'{name}' does not follow the rule '{rule}'; it follows {known}{nearest}")]
    NoProtocolRule {
        /// The interface.
        name: String,
        /// The rule.
        rule: String,
        /// The rules that it follows.
        known: String,
        /// The nearest of them, as a question, or nothing.
        nearest: String,
    },
    /// It cannot be attached there.
    #[error("'{name}' cannot be attached to {attachment}: {reason}")]
    Attachment {
        /// The half that cannot.
        name: String,
        /// Where.
        attachment: Attachment,
        /// Why not.
        reason: &'static str,
    },
}

/// What an interface is built for.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The machine's `[interfaces]`: a section for each model.
    pub sections: &'a Map<String, Value>,
    /// Nodes of the machine.
    pub nodes: u32,
    /// Processes of the node.
    pub processes: u8,
    /// Those of them that the interface serves, if it is made of halves.
    pub share: Share,
    /// Place on the bus of its first process's send half; the other halves follow.
    pub first_agent: AgentId,
    /// Where the interface is attached.
    pub attachment: Attachment,
    /// The transactions of others of which it is told there.
    pub hearing: Hearing,
    /// Whether a port may have several transactions under way there.
    pub overlaps: bool,
    /// Whether it may write a part of a block there: what is at the other end of a link merges that.
    pub merges_writes: bool,
    /// Whether it is behind a link whose packets may have relaxed ordering.
    pub knows_relaxed_ordering: bool,
    /// Why no processor takes its interrupts there, and what is expected, if none does.
    pub no_interrupts: Option<&'static str>,
    /// The protocol of the node's caches.
    pub protocol: &'static Protocol,
    /// Bytes in a coherence block.
    pub block_bytes: u64,
    /// Bytes in a network message, header included.
    pub packet_bytes: u64,
    /// A run ends in which nothing gets further for so long.
    pub time_without_progress: Duration,
    /// The local memory on the interconnect of the interface's last port, if there is one.
    pub local_memory: Option<&'a Range<u64>>,
    /// Where the registers of a DMA engine are there, if there is one.
    pub dma_engine: Option<u64>,
    /// What the program's processors are, for a device with a part in each of their tiles.
    pub chip: Chip,
}

/// The processors of the program, as a device sees them that has a part in each tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chip {
    /// How many there are.
    pub tiles: u16,
    /// How many of them a process has.
    pub tiles_of_process: u16,
    /// Bytes and ways of their second level, if they have one.
    pub second_level: Option<(u64, u32)>,
    /// Controllers of their memory on the network on chip.
    pub controllers: u16,
}

impl Chip {
    /// One tile and one controller, to try parameters out.
    pub const ALONE: Chip =
        Chip { tiles: 1, tiles_of_process: 1, second_level: Some((1 << 16, 4)), controllers: 1 };
}

/// Builds the interface `name` for a node: a pair of halves for each process, or a whole
/// device.
///
/// # Errors
/// Why the node cannot have it.
pub fn build(name: Name, node: &Surroundings<'_>) -> Result<Box<dyn Device>, InterfaceError> {
    let Makes::Device(builder) = name.send.model.makes else {
        return Ok(Box::new(Interface::build(name, node)?));
    };
    rules::check(&name, node.processes)?;
    let config = section(name.send, node)?;
    builder(name.send, config, node).map_err(|problem| refused(name.send, problem))
}

/// SARC's interface at one node, in whose tiles' place hardware may stand.
///
/// # Errors
/// As [`build`].
///
/// # Panics
/// If `name` is another model's.
pub fn build_sarc(name: Name, node: &Surroundings<'_>) -> Result<Sarc, InterfaceError> {
    assert!(name.is_sarc(), "{name} has no tiles");
    rules::check(&name, node.processes)?;
    let config = section(name.send, node)?;
    models::sarc::device(name.send, config, node).map_err(|problem| refused(name.send, problem))
}

/// Where an interface is in its node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Process 0's send half; the other halves follow.
    pub first_agent: AgentId,
    pub attachment: Attachment,
    /// The protocol of the node's caches.
    pub protocol: &'static Protocol,
    /// Bytes in a coherence block.
    pub block_bytes: usize,
}

/// A network interface at one node, made of halves.
pub struct Interface {
    /// What it is called.
    name: Name,
    /// The processes that it serves.
    pub(crate) share: Share,
    pub(crate) place: Place,
    /// Its first process's send half, then that one's receive half, then the next process's.
    pub halves: Vec<Box<dyn InterfaceHalf>>,
    /// All addresses that concern any half are in here; see [`Layout::cachable`].
    concern: Range<u64>,
    /// What an access to a register takes beyond the interconnect's own cycles: as long as
    /// that of the slowest half.
    pub(crate) register_time: Duration,
    /// The same for a block that is stored.
    pub(crate) block_store_time: Duration,
    /// The same for a block that is loaded.
    pub(crate) block_load_time: Duration,
    /// Processors move blocks between it and their block buffers.
    pub(crate) moves_blocks: bool,
}

impl Clone for Interface {
    fn clone(&self) -> Self {
        Interface {
            name: self.name,
            halves: self.halves.iter().map(|half| half.duplicate()).collect(),
            concern: self.concern.clone(),
            ..*self
        }
    }
}

impl Archived for Interface {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Interface {
            name: _,
            share: _,
            place: _,
            halves,
            concern: _,
            register_time: _,
            block_store_time: _,
            block_load_time: _,
            moves_blocks: _,
        } = self;
        halves.iter_mut().try_for_each(|half| {
            let layout = half.layout();
            half.archive(archive)?;
            archive.ensure(half.layout() == layout, "an interface's half is another than the machine's")
        })
    }
}

impl std::fmt::Debug for Interface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let halves: Vec<String> = self.halves.iter().map(|half| half.queue().to_string()).collect();
        write!(f, "{}", halves.join("; "))
    }
}

impl Interface {
    /// Builds the interface `name`, a pair of halves, for a node.
    ///
    /// # Errors
    /// Why the node cannot have it.
    pub fn build(name: Name, node: &Surroundings<'_>) -> Result<Self, InterfaceError> {
        rules::check(&name, node.processes)?;
        let [send, receive] = [name.send, name.receive].map(|half| half.model.makes);
        let (Makes::Halves { send, .. }, Makes::Halves { receive, .. }) = (send, receive) else {
            return Err(InterfaceError::Rule { name: name.to_string(), reason: NO_HALVES });
        };
        let mut halves = Vec::new();
        for process in node.share.processes(node.processes) {
            halves.push(half(name.send, node, process, halves.len(), send)?);
            halves.push(half(name.receive, node, process, halves.len(), receive)?);
        }
        let layouts: Vec<Layout> = halves.iter().map(|half| half.layout()).collect();
        let ranges = || layouts.iter().flat_map(|layout| layout.cachable.iter().chain(&layout.home));
        let start = ranges().map(|range| range.start).min().unwrap_or_default();
        let concern = start..ranges().map(|range| range.end).max().unwrap_or_default();
        let slowest = |time: fn(&dyn InterfaceHalf) -> Duration| {
            halves.iter().map(|half| time(&**half)).max().unwrap_or_default()
        };
        let register_time = slowest(|half| half.register_delay());
        let block_store_time = slowest(|half| half.block_store_delay());
        let block_load_time = slowest(|half| half.block_load_delay());
        let is_block_access = |kind: &Kind| matches!(kind, Kind::BlockLoad | Kind::BlockStore);
        let moves_blocks = layouts.iter().any(|layout| layout.transactions.iter().any(is_block_access));
        let Surroundings { first_agent, attachment, protocol, block_bytes, .. } = *node;
        let place = Place { first_agent, attachment, protocol, block_bytes: block_bytes as usize };
        Ok(Interface {
            name,
            share: node.share,
            place,
            halves,
            concern,
            register_time,
            block_store_time,
            block_load_time,
            moves_blocks,
        })
    }

    /// The same interface without a rule, for a model checker.
    ///
    /// # Errors
    /// If neither half follows such a rule; says which they follow.
    pub fn without(&self, rule: &str) -> Result<Self, InterfaceError> {
        let mut interface = self.clone();
        let wanted = rule.trim().to_ascii_lowercase();
        let left_out = interface.halves.iter_mut().filter_map(|half| half.leave_out(&wanted).then_some(()));
        if left_out.count() > 0 {
            return Ok(interface);
        }
        let mut rules: Vec<&str> = self.halves.iter().flat_map(|half| half.protocol_rules()).collect();
        rules.dedup();
        let distance = |name: &str| strsim::damerau_levenshtein(name, &wanted);
        let nearest = rules.iter().min_by_key(|name| distance(name)).filter(|name| distance(name) <= 4);
        Err(InterfaceError::NoProtocolRule {
            name: self.name.to_string(),
            rule: rule.trim().into(),
            known: match rules.is_empty() {
                true => "none that can be left out".into(),
                false => rules.join(", "),
            },
            nearest: nearest.map_or_else(String::new, |name| format!("; did you mean {name}?")),
        })
    }

    /// All blocks that concern any half are in here.
    pub fn concern(&self) -> Range<u64> {
        self.concern.clone()
    }

    /// What composer and guest need to know, of both halves of a process that it serves.
    pub fn layouts(&self, process: u8) -> [Layout; 2] {
        let send = self.share.send_half(process);
        [send, send + 1].map(|half| self.halves[half].layout())
    }

    /// What the addresses of its memory and registers are called.
    pub fn address_names(&self, block_bytes: u64) -> AddressNames {
        let first = self.share.own;
        AddressNames::new(&self.name, (&self.layouts(first), first), block_bytes)
    }
}

/// Why a whole device is not taken for a pair of halves.
const NO_HALVES: &str = "it is one device, which has no halves";

fn half(
    name: HalfName,
    node: &Surroundings<'_>,
    process: u8,
    place: usize,
    builder: fn(&Setup<'_>) -> Built,
) -> Result<Box<dyn InterfaceHalf>, InterfaceError> {
    let config = section(name, node)?;
    let Surroundings { attachment, hearing, overlaps, protocol, .. } = *node;
    let Surroundings { merges_writes, no_interrupts, knows_relaxed_ordering, .. } = *node;
    let Surroundings { block_bytes, packet_bytes, time_without_progress, .. } = *node;
    let (agent, addresses) = (AgentId(node.first_agent.0 + place as u8), Addresses::of_process(process));
    let setup = Setup {
        name,
        config,
        agent,
        addresses,
        attachment,
        hearing,
        overlaps,
        merges_writes,
        knows_relaxed_ordering,
        no_interrupts,
        protocol,
        block_bytes,
        packet_bytes,
        time_without_progress,
    };
    builder(&setup).map_err(|problem| refused(name, problem))
}

/// The section of a model that may be attached where the node has its interface.
fn section<'a>(name: HalfName, node: &Surroundings<'a>) -> Result<&'a Value, InterfaceError> {
    let (model, attachment) = (name.model, node.attachment);
    let config = node
        .sections
        .get(model.section)
        .ok_or_else(|| InterfaceError::NoSection { name: name.to_string(), section: model.section.into() })?;
    (model.attaches)(attachment).map_err(|reason| InterfaceError::Attachment {
        name: name.to_string(),
        attachment,
        reason,
    })?;
    Ok(config)
}

/// What a model finds wrong, with its place.
fn refused(name: HalfName, problem: Problem) -> InterfaceError {
    let place = match problem.key.as_str() {
        "" => name.to_string(),
        key => format!("interfaces.{}.{key}", name.model.section),
    };
    InterfaceError::Problem { place, problem: problem.problem }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::models::MODELS;
    use narthex_memory::protocols;

    pub(crate) fn build(name: &str) -> Interface {
        build_for(name, 1)
    }

    /// The interface of a node with this many processes.
    pub(crate) fn build_for(name: &str, processes: u8) -> Interface {
        let sections: Map<String, Value> =
            MODELS.iter().map(|model| (model.section.to_owned(), (model.sample)())).collect();
        let name = name.parse().expect("a name");
        let node = Surroundings {
            sections: &sections,
            nodes: 2,
            processes,
            share: Share::WHOLE,
            first_agent: AgentId(1),
            attachment: Attachment::usual(&name),
            hearing: Hearing::All,
            overlaps: false,
            merges_writes: false,
            knows_relaxed_ordering: false,
            no_interrupts: Some("this node has none"),
            protocol: protocols::by_name("MOESI").expect("it is built in"),
            block_bytes: 64,
            packet_bytes: 256,
            time_without_progress: Duration::from_ns(10_000_000),
            local_memory: None,
            dma_engine: None,
            chip: Chip::ALONE,
        };
        Interface::build(name, &node).expect("a sound interface")
    }

    #[test]
    fn every_rule_that_a_half_says_it_follows_can_be_left_out() {
        for model in MODELS.iter().filter(|model| !model.makes_devices()) {
            let interface = build(model.examples[0]);
            for rule in interface.halves.iter().flat_map(|half| half.protocol_rules()) {
                assert!(interface.without(rule).is_ok(), "{} without {rule}", model.family);
            }
        }
        assert!(build("CNI32Qm").without("Sense-Reverse").is_ok());
    }

    #[test]
    fn a_rule_that_no_half_follows_is_refused_with_those_that_they_follow() {
        let refusal = |name, rule| build(name).without(rule).expect_err("no such rule").to_string();
        assert_eq!(
            refusal("CNI512Q", "dead-messages"),
            "'CNI512Q' does not follow the rule 'dead-messages'; it follows sense-reverse, header-last, invalidation"
        );
        assert!(refusal("CNI512Q", "sense-revers").ends_with("; did you mean sense-reverse?"));
        assert!(refusal("NI2w", "sense-reverse").ends_with("it follows none that can be left out"));
    }
}
