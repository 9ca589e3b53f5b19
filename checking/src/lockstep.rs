//! Lock-step of a tile's RTL with its model: directed traces, then random traffic, and a report.

use std::path::PathBuf;

use narthex_interfaces::rtl::simulation::Design;
use narthex_interfaces::sarc::lockstep::comparison::shrink;
use narthex_interfaces::sarc::lockstep::hardware::Rtl;
use narthex_interfaces::sarc::lockstep::random::{self, Mix};
use narthex_interfaces::sarc::lockstep::{Counts, Difference, Lockstep, Shape, Stimulus, timing};
use narthex_interfaces::sarc::rtl::Tile;
use narthex_machine::Failure;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::sarc::traces;

/// Stimuli that overlap, at most, in random traffic's second half.
const AT_ONCE: u64 = 4;
/// Of a thousand random stimuli so many are refused.
const FAULTS: u64 = 10;

/// What is compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockstepRequest {
    /// The compiled RTL of a tile of the shape [`Shape::SMALL`].
    pub library: PathBuf,
    /// Random events, one by one, and as many that overlap.
    pub events: u64,
    /// Of the random streams.
    pub seed: u64,
    /// Paths of each of the model checker's scenarios.
    pub paths: u64,
}

/// Compares; `observe(events)` is called now and then, and ends the comparison with a false value. The report's document, with the first difference, if there is one.
///
/// # Errors
/// If the library is no tile.
pub fn check(request: &LockstepRequest, observe: &mut dyn FnMut(usize) -> bool) -> Result<Value, Failure> {
    let failed = |problem: String| Failure::usage(problem);
    let design = Design::load(&request.library).map_err(|problem| failed(problem.to_string()))?;
    let of_tile = |tile| {
        let shape = Shape { tile, ..Shape::SMALL };
        let rtl = Tile::of(&design, shape.sizes(), tile, "").map(|tile| Rtl::new(tile, shape));
        rtl.map(|rtl| (shape, rtl)).map_err(|problem| failed(problem.to_string()))
    };
    let (shape, mut rtl) = of_tile(Shape::SMALL.tile)?;
    let cycles = timing::measure(&mut rtl, shape.tile);
    let mut parts = Vec::new();
    let mut difference = None;
    let mut directed = Counts::default();
    for trace in traces::draw(request.seed, request.paths) {
        let (shape, mut rtl) = of_tile(trace.tile)?;
        match compare_trace(shape, &mut rtl, &trace.stimuli) {
            Ok(counts) => directed.add(counts),
            Err(found) => {
                difference = Some((format!("{}, tile {}", trace.name, trace.tile), found));
                break;
            }
        }
    }
    parts.push(part("paths of the model checker's scenarios", directed));
    for (name, at_once) in [("random, one by one", 1), ("random, overlapping", AT_ONCE)] {
        if difference.is_some() {
            break;
        }
        let mix = Mix { unaligned: true, at_once, faults: FAULTS };
        let mut so_far = Counts::default();
        let found = random::compare(shape, &mut rtl, (mix, request.seed, request.events), &mut |counts| {
            so_far = *counts;
            observe(counts.events as usize)
        });
        match found {
            Ok(counts) => parts.push(part(name, counts)),
            Err(found) => {
                parts.push(part(name, so_far));
                difference = Some((name.into(), found));
            }
        }
    }
    let difference = difference.map(|(traffic, found): (String, Difference)| {
        json!({
            "traffic": traffic,
            "stimuli": found.batches.iter().map(|batch| batch.iter().map(Stimulus::to_string).collect()).collect::<Vec<Vec<String>>>(),
            "rtl": found.hardware,
            "model": found.model,
        })
    });
    Ok(json!({ "seed": request.seed, "parts": parts, "difference": difference, "cycles": cycles }))
}

fn part(name: &str, counts: Counts) -> Value {
    let Counts { events, refused, packets, answers, cycles } = counts;
    json!({ "traffic": name, "events": events, "refused": refused, "packets": packets, "answers": answers, "cycles": cycles })
}

/// One after the other, from a trace.
fn compare_trace(shape: Shape, rtl: &mut Rtl, stimuli: &[Stimulus]) -> Result<Counts, Difference> {
    let batches: Vec<Vec<Stimulus>> = stimuli.iter().map(|&stimulus| vec![stimulus]).collect();
    let mut both = Lockstep::new(shape, rtl);
    match both.run(&batches) {
        Ok(()) => Ok(both.counts),
        Err(found) => Err(shrink(shape, rtl, found)),
    }
}
