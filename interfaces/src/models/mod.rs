//! The models, one a file; the build script finds them.
//!
//! A model's file is read top to bottom: an essay, `Config`, state and the verbs
//! of its halves, or of its device, `MODEL`, tests. To add an interface, add a file here (and a
//! section with its parameters to the machines' files); nothing else needs to
//! be edited. docs/add-an-interface.md goes through one step by step.

use std::fmt::Display;

use narthex_kernel::Duration;
use narthex_memory::AgentId;
use narthex_memory::protocols::Protocol;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::attachment::{Attachment, Hearing};
use crate::device::Device;
use crate::half::InterfaceHalf;
use crate::interface::Surroundings;
use crate::name::{HalfName, Reading};
use crate::programming::Programming;
use crate::registers::Addresses;

include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// What a half is built for.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The half's name.
    pub name: HalfName,
    /// The model's section of the machine's file.
    pub config: &'a Value,
    /// The half's place on the bus.
    pub agent: AgentId,
    /// Where its process's part of the interface lies.
    pub addresses: Addresses,
    /// Where the interface is attached; [`Model::attaches`] has allowed it.
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
}

/// One half, or why there can be none: (key of the parameter or empty, problem).
pub type Built = Result<Box<dyn InterfaceHalf>, Problem>;

/// A whole device, or why there can be none.
pub type BuiltDevice = Result<Box<dyn Device>, Problem>;

/// What a model builds.
#[derive(Clone, Copy)]
pub enum Makes {
    /// Halves, for each process of the node; any send half goes with any receive half.
    Halves {
        /// Builds a send half.
        send: fn(&Setup<'_>) -> Built,
        /// Builds a receive half.
        receive: fn(&Setup<'_>) -> Built,
    },
    /// A whole device for all processes of the node, from its name and its section of the
    /// machine's file. It has no halves to be combined with those of others.
    Device(fn(HalfName, &Value, &Surroundings<'_>) -> BuiltDevice),
}

/// A parameter or size that a model cannot work with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The key in the model's section; empty if it is about the name itself.
    pub key: String,
    /// What is wrong, and what is allowed.
    pub problem: String,
}

impl Problem {
    /// A problem with the interface's name or size.
    pub fn of_name(problem: impl Into<String>) -> Self {
        Problem { key: String::new(), problem: problem.into() }
    }

    /// What is wrong with a parameter.
    ///
    /// # Errors
    /// Always.
    pub fn refuse<T>(key: &str, problem: impl Display) -> Result<T, Self> {
        Err(Problem { key: key.into(), problem: problem.to_string() })
    }
}

/// A family of interfaces: what the registry knows of a model.
pub struct Model {
    /// The file's and the configuration section's name.
    pub section: &'static str,
    /// The family, as its names look.
    pub family: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// The members that the papers evaluate.
    pub examples: &'static [&'static str],
    /// Reads the name of a half, or of a whole device, which stands for both halves.
    pub read: fn(&str) -> Reading,
    /// How it is programmed: its driver, its registers, its facts.
    pub programming: &'static Programming,
    /// Whether it can be attached there; errors say why not, with the paper's section.
    pub attaches: fn(Attachment) -> Result<(), &'static str>,
    /// What it builds, and how.
    pub makes: Makes,
    /// The schema of its section in a machine's file.
    pub schema: fn() -> Schema,
    /// Parameters with which the conformance suite builds it; small where that
    /// makes queues fill.
    pub sample: fn() -> Value,
}

impl Model {
    /// Whether its interfaces are whole devices, not pairs of halves.
    pub fn makes_devices(&self) -> bool {
        matches!(self.makes, Makes::Device(_))
    }
}

/// Models are told apart by their sections.
impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.section == other.section
    }
}

impl Eq for Model {}

impl std::hash::Hash for Model {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.section.hash(state);
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "model {}", self.family)
    }
}

/// Why coherent interfaces are on coherent buses only.
pub const NO_COHERENCE: &str = "it takes part in the coherence protocol, which a cache bus or a processor's \
    registers do not carry (isca96, Section 5: \"coherence is usually not an option on cache buses\")";

/// Why queues in main memory are not cached behind an I/O bus.
pub const NO_MEMORY_HOME: &str = "its queues have main memory as their home, and a coherent I/O bus does not let a \
    device cache the processor's memory (isca96, Section 2.3)";

/// Refuses several transactions (`what`) under way where the interconnect carries one of a port at a time:
/// the key `reads` says how many there may be.
pub(crate) fn check_under_way(reads: u64, what: &str, overlaps: bool) -> Result<(), Problem> {
    match reads > 1 && !overlaps {
        false => Ok(()),
        true => Problem::refuse(
            "reads",
            format!(
                "{reads} {what} under way; a bus carries one transaction of an interface at a time, expected 1"
            ),
        ),
    }
}

/// How the driver learns of what has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Notify {
    /// It looks for it.
    Poll,
    /// It looks for it, and may wait for an interrupt when there is nothing.
    Interrupt,
}

impl Notify {
    /// Whether a model interrupts, by its key `notify`; refused where no processor takes that.
    pub(crate) fn interrupts(notify: Option<Notify>, no_interrupts: Option<&str>) -> Result<bool, Problem> {
        match (notify, no_interrupts) {
            (None | Some(Notify::Poll), _) => Ok(false),
            (Some(Notify::Interrupt), None) => Ok(true),
            (Some(Notify::Interrupt), Some(reason)) => {
                Problem::refuse("notify", format!("\"interrupt\" is not possible here: {reason}"))
            }
        }
    }
}

/// The model's section as its typed parameters.
pub fn config<C: DeserializeOwned>(setup: &Setup<'_>) -> Result<C, Problem> {
    typed(setup.config)
}

/// A section as typed parameters.
pub fn typed<C: DeserializeOwned>(section: &Value) -> Result<C, Problem> {
    C::deserialize(section).map_err(|error| Problem { key: String::new(), problem: error.to_string() })
}

#[cfg(test)]
#[allow(dead_code, reason = "the build calls the rest")]
#[path = "../../build.rs"]
mod build_script;

#[cfg(test)]
mod tests {
    use narthex_memory::protocols;

    use super::build_script::further::collisions;
    use super::*;

    /// Why a model's halves refuse its sample with another value of a parameter, on a memory bus.
    pub fn refusals(model: &Model, key: &str, value: Value) -> [Option<Problem>; 2] {
        let Makes::Halves { send, receive } = model.makes else { panic!("{} has no halves", model.family) };
        let mut config = (model.sample)();
        config[key] = value;
        let setup = Setup {
            name: model.examples[0].parse().unwrap(),
            config: &config,
            agent: AgentId(1),
            addresses: Addresses::of_process(0),
            attachment: Attachment::MemoryBus,
            hearing: Hearing::All,
            overlaps: false,
            merges_writes: false,
            knows_relaxed_ordering: false,
            no_interrupts: Some("this node has none"),
            protocol: protocols::by_name("MOESI").unwrap(),
            block_bytes: 64,
            packet_bytes: 256,
            time_without_progress: Duration::from_ns(10_000_000),
        };
        [send(&setup).err(), receive(&setup).err()]
    }

    /// A value is refused by this half, which is told why, and not by the other.
    pub fn assert_refused_by_one_half(model: &Model, (key, value): (&str, Value), half: usize, told: &str) {
        let found = refusals(model, key, value);
        let refusal = found[half].clone().expect(key);
        assert_eq!(refusal.key, key);
        assert!(refusal.problem.contains(told), "{}", refusal.problem);
        assert_eq!(found[1 - half], None);
    }

    #[test]
    fn a_model_of_the_users_own_takes_no_name_that_another_has() {
        let files = |names: &[&str]| {
            names.iter().map(|name| ((*name).to_owned(), format!("mine/{name}.rs").into())).collect()
        };
        let found = |names| collisions(&files(names), &files(&["via", "voyager"]), &["space"], "model");
        assert_eq!(found(&["doorbell", "ni_i", "viatwo"]), Vec::<String>::new());
        let told = "is the name of a model of Narthex, which would stand in its place";
        let remedy = "give the file and its model another name";
        assert_eq!(found(&["Voyager"]), [format!("mine/Voyager.rs: voyager {told}; {remedy}")]);
        assert_eq!(found(&["via"]), [format!("mine/via.rs: via {told}; {remedy}")]);
        let told = "are two models of one name; give one another name";
        assert_eq!(found(&["Bell", "bell"]), [format!("mine/bell.rs and mine/Bell.rs {told}")]);
        let told = "is the name of a module beside them; give the model another";
        assert_eq!(found(&["Space"]), [format!("mine/Space.rs: Space {told}")]);
        assert_eq!(found(&["mod"]), ["mine/mod.rs cannot be a model: mod is no name of a module"]);
    }
}
