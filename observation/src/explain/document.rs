//! The document of an explanation.

use narthex_kernel::Ledger;
use narthex_machine::RunRequest;
use narthex_machine::run::{Finished, SCHEMA_VERSION};
use narthex_machine::sha256::sha256;
use serde_json::{Value, json};

use super::ends::Ends;
use super::life::{Life, NodeHistory};
use super::path::{self, Part};
use super::rows::{self, AddressNames};

/// Of a life, `life`, with the mean of all `lives` beside it.
pub(super) fn document(
    request: &RunRequest,
    elf: &[u8],
    finished: &Finished,
    (histories, ends): (&[NodeHistory; 2], &Ends),
    lives: &[Life],
    life: &Life,
) -> Value {
    let words = AddressNames { nodes: &finished.nodes, ends };
    let segments = path::segments(life, histories);
    let mean = lives.iter().map(|life| path::ledger(&path::segments(life, histories))).collect::<Vec<_>>();
    json!({
        "schema": SCHEMA_VERSION,
        "version": env!("CARGO_PKG_VERSION"),
        "program": request.program,
        "arguments": request.args,
        "binary_sha256": sha256(elf),
        "interface": request.interface_name(&finished.interface),
        "machine": finished.machine.resolved(),
        "ends": if ends.are_tiles { "tile" } else { "node" },
        "places": ends.each.each_ref().map(|end| if ends.are_tiles { end.processor } else { end.node }),
        "ranks": ends.each.each_ref().map(|end| end.rank.0),
        "packets": life.packets,
        "simulated_ps": finished.end.as_ps(),
        "latency_ps": life.latency().as_ps(),
        "sent_at_ps": life.sent.as_ps(),
        "rounds": summary(lives),
        "instants": life.instants(),
        "transactions": rows::rows(life, histories, &segments, &words),
        "breakdown": breakdown(&path::ledger(&segments), &mean),
    })
}

/// The latencies of all rounds.
fn summary(lives: &[Life]) -> Value {
    let latencies: Vec<u64> = lives.iter().map(|life| life.latency().as_ps()).collect();
    json!({
        "count": lives.len(),
        "total_ps": latencies.iter().sum::<u64>(),
        "minimum_ps": latencies.iter().min(),
        "maximum_ps": latencies.iter().max(),
    })
}

/// Every part that occurs, with its time in the life that is shown and in all rounds.
fn breakdown(shown: &Ledger<Part>, all: &[Ledger<Part>]) -> Vec<Value> {
    let of = |&part: &Part| {
        let total: u64 = all.iter().map(|ledger| ledger.total(part).as_ps()).sum();
        json!({ "part": part.as_str(), "time_ps": shown.total(part).as_ps(), "rounds_total_ps": total })
    };
    let parts = Part::ALL.iter().map(of);
    parts.filter(|entry| entry["rounds_total_ps"] != 0).collect()
}
