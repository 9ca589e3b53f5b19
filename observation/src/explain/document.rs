//! The document of an explanation.

use narthex_kernel::Ledger;
use narthex_machine::RunRequest;
use narthex_machine::run::document::machine_schema;
use narthex_machine::run::{Finished, SCHEMA_VERSION};
use narthex_machine::sha256::sha256;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::ends::Ends;
use super::life::{Instant, Life, NodeHistory};
use super::path::{self, Part};
use super::rows::{self, AddressNames, RowEntry};

/// The document of an explanation: one life, with the times of all rounds beside it.
#[derive(Serialize, JsonSchema)]
pub struct ExplanationDocument {
    /// The version of the layout.
    pub schema: u32,
    /// That of Narthex.
    pub version: &'static str,
    /// The program's name.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The hash of its ELF file.
    pub binary_sha256: String,
    /// The interface, as the taxonomy spells it, with its place.
    pub interface: String,
    /// Every parameter of the machine.
    #[schemars(schema_with = "machine_schema")]
    pub machine: Value,
    /// What sends and receives.
    #[schemars(extend("enum" = ["node", "tile"]))]
    pub ends: &'static str,
    /// Their numbers.
    pub places: [usize; 2],
    /// The ranks of their processes.
    pub ranks: [u16; 2],
    /// Packets of the life.
    pub packets: usize,
    /// When the run ended.
    pub simulated_ps: u64,
    /// The time of the life.
    #[schemars(range(min = 1))]
    pub latency_ps: u64,
    /// When it began.
    pub sent_at_ps: u64,
    /// The latencies of all rounds.
    pub rounds: RoundsEntry,
    /// What it passed, in the order of time.
    pub instants: Vec<Instant>,
    /// What happened meanwhile.
    pub transactions: Vec<RowEntry>,
    /// Where the time went.
    #[schemars(length(min = 1))]
    pub breakdown: Vec<PartEntry>,
    /// What is explained.
    pub of: &'static str,
    /// The payload, where the explanation has chosen it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Whether a program of the user's choice has sent it; only where that is so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub of_program: bool,
}

impl ExplanationDocument {
    /// As what `narthex explain --json` writes.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("it is plain data")
    }
}

/// The latencies of all rounds.
#[derive(Serialize, JsonSchema)]
pub struct RoundsEntry {
    /// How many there are.
    #[schemars(range(min = 1))]
    pub count: usize,
    /// Their sum.
    pub total_ps: u64,
    /// The shortest.
    pub minimum_ps: u64,
    /// The longest.
    pub maximum_ps: u64,
}

/// A part of the latency.
#[derive(Serialize, JsonSchema)]
pub struct PartEntry {
    /// Whose time it is, and for what.
    pub part: &'static str,
    /// In the life that is shown.
    pub time_ps: u64,
    /// In all rounds.
    pub rounds_total_ps: u64,
}

/// Of a life, `life`, with the mean of all `lives` beside it; `of` is what is explained.
pub(super) fn document(
    request: &RunRequest,
    elf: &[u8],
    finished: &Finished,
    (histories, ends): (&[NodeHistory; 2], &Ends),
    lives: &[Life],
    (life, of): (&Life, &'static str),
) -> ExplanationDocument {
    let words = AddressNames { nodes: &finished.nodes, ends };
    let segments = path::segments(life, histories);
    let mean = lives.iter().map(|life| path::ledger(&path::segments(life, histories))).collect::<Vec<_>>();
    ExplanationDocument {
        schema: SCHEMA_VERSION,
        version: env!("CARGO_PKG_VERSION"),
        program: request.program.clone(),
        arguments: request.args.clone(),
        binary_sha256: sha256(elf),
        interface: request.interface_name(&finished.interface),
        machine: finished.machine.resolved(),
        ends: if ends.are_tiles { "tile" } else { "node" },
        places: ends.each.each_ref().map(|end| if ends.are_tiles { end.processor } else { end.node }),
        ranks: ends.each.each_ref().map(|end| end.rank.0),
        packets: life.packets,
        simulated_ps: finished.end.as_ps(),
        latency_ps: life.latency().as_ps(),
        sent_at_ps: life.sent.as_ps(),
        rounds: summary(lives),
        instants: life.instants(),
        transactions: rows::rows(life, histories, &segments, &words),
        breakdown: breakdown(&path::ledger(&segments), &mean),
        of,
        bytes: None,
        of_program: false,
    }
}

/// The latencies of all rounds.
fn summary(lives: &[Life]) -> RoundsEntry {
    let latencies = || lives.iter().map(|life| life.latency().as_ps());
    RoundsEntry {
        count: lives.len(),
        total_ps: latencies().sum(),
        minimum_ps: latencies().min().unwrap_or_default(),
        maximum_ps: latencies().max().unwrap_or_default(),
    }
}

/// Every part that occurs, with its time in the life that is shown and in all rounds.
fn breakdown(shown: &Ledger<Part>, all: &[Ledger<Part>]) -> Vec<PartEntry> {
    let of = |&part: &Part| {
        let rounds_total_ps = all.iter().map(|ledger| ledger.total(part).as_ps()).sum();
        PartEntry { part: part.as_str(), time_ps: shown.total(part).as_ps(), rounds_total_ps }
    };
    Part::ALL.iter().map(of).filter(|entry| entry.rounds_total_ps != 0).collect()
}
