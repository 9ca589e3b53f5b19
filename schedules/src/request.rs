//! What the Python package calls: requests and documents as JSON.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::executor::watch::Watch;
use crate::executor::wire::Straight;
use crate::executor::{Outcome, execute, execute_over};
use crate::network::{Carrier, Network};
use crate::parameters::Parameters;
use crate::schedule::{Kind, Schedule};
use crate::timeline::Timeline;
use crate::{Problem, source};

/// The sizes of messages that are told apart, at most.
const MOST_SIZES: usize = 32;

/// A schedule that is to be executed with each of several sets of parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleRequest {
    /// A file, or a pattern.
    pub schedule: String,
    /// The parameters; the first ones are those of interest.
    pub parameters: Vec<Parameters>,
    /// The network that carries the messages, if not the parameters' latency alone.
    #[serde(default)]
    pub network: Option<NetworkChoice>,
    /// Whether the operations' times with the first parameters are told.
    #[serde(default)]
    pub timeline: bool,
}

/// The network of a machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkChoice {
    /// The machine: a preset or a file.
    pub machine: String,
    /// Changes to it, as `key=value`.
    #[serde(default)]
    pub set: Vec<String>,
}

/// What is told of the work: a stage's name, how much is done, how much there is (0: unknown).
pub type Observer<'a> = dyn FnMut(&str, u64, u64) -> bool + 'a;

/// Executes a schedule with each set of parameters. `carrier` makes the network that is asked for, with as
/// many nodes as there are ranks.
///
/// # Errors
/// If the schedule or the network is wrong, it does not end, or the observer has ended the work.
pub fn run(
    request: &ScheduleRequest,
    carrier: impl FnOnce(&NetworkChoice, u32) -> Result<Carrier, Problem>,
    observer: &mut Observer<'_>,
) -> Result<Value, Problem> {
    let schedule = source::load(&request.schedule, &mut |ranks| observer("ranks", ranks, 0))?;
    let carrier = request.network.as_ref().map(|choice| carrier(choice, schedule.ranks())).transpose()?;
    let all = schedule.operations() * request.parameters.len() as u64;
    let mut runs = vec![];
    let mut operations = Value::Null;
    for parameters in &request.parameters {
        let before = runs.len() as u64 * schedule.operations();
        let mut observer = |over, _| observer("operations", before + over, all);
        let Outcome { finish_ps, events } = if request.timeline && runs.is_empty() {
            let mut timeline = Timeline::new(&schedule)
                .map_err(|problem| problem.within(format!("'{}'", request.schedule)))?;
            let outcome = over(&schedule, parameters, carrier.as_ref(), &mut timeline, &mut observer)?;
            operations = timeline.document();
            outcome
        } else {
            over(&schedule, parameters, carrier.as_ref(), &mut (), &mut observer)?
        };
        runs.push(json!({ "finish_ps": finish_ps, "events": events }));
    }
    let mut document = json!({ "schedule": facts(&schedule), "runs": runs });
    if request.timeline {
        document["operations"] = operations;
    }
    Ok(document)
}

fn over(
    schedule: &Schedule,
    parameters: &Parameters,
    carrier: Option<&Carrier>,
    watch: &mut impl Watch,
    observer: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Outcome, Problem> {
    match carrier {
        None => execute_over(schedule, parameters, Straight, watch, observer),
        Some(carrier) => {
            let network = Network::new(carrier, schedule, parameters)?;
            execute_over(schedule, parameters, network, watch, observer)
        }
    }
}

/// What a schedule consists of, and its critical paths: the most messages that follow one another, and the
/// longest time of calculations that do, if messages take none.
///
/// # Errors
/// If it is wrong or does not end, or the observer has ended the work.
pub fn show(name: &str, observer: &mut Observer<'_>) -> Result<Value, Problem> {
    let schedule = source::load(name, &mut |ranks| observer("ranks", ranks, 0))?;
    let mut path = |latency_ns, scale| {
        let parameters = Parameters::paths(latency_ns, scale);
        let all = schedule.operations();
        execute(&schedule, &parameters, &mut |over, _| observer("operations", over, all))
    };
    let messages = path(1.0, 0.0)?.makespan_ps() / 1_000;
    let calculation_ns = path(0.0, 1.0)?.makespan_ps() as f64 / 1e3;
    let mut document = facts(&schedule);
    document["critical_path"] = json!({ "messages": messages, "calculation_ns": calculation_ns });
    Ok(document)
}

/// Reads a schedule and writes it in a format.
///
/// # Errors
/// If it is wrong, cannot be written, or the observer has ended the work.
pub fn convert(
    name: &str,
    output: &str,
    as_text: bool,
    observer: &mut Observer<'_>,
) -> Result<Value, Problem> {
    let schedule = source::load(name, &mut |ranks| observer("ranks", ranks, 0))?;
    source::save(&schedule, output, as_text)?;
    Ok(facts(&schedule))
}

fn facts(schedule: &Schedule) -> Value {
    let mut sizes = std::collections::BTreeMap::<u64, u64>::new();
    let (mut messages, mut bytes, mut calculations, mut receives) = (0u64, 0u64, 0u64, 0u64);
    for rank in 0..schedule.ranks() {
        for operation in schedule.shape(rank).operations() {
            match operation.kind {
                Kind::Send => {
                    messages += 1;
                    bytes = bytes.saturating_add(operation.size);
                    *sizes.entry(operation.size).or_default() += 1;
                }
                Kind::Receive => receives += 1,
                Kind::Calculate => calculations += 1,
            }
        }
    }
    let mut rows: Vec<(u64, u64)> = sizes.into_iter().collect();
    let different = rows.len();
    rows.sort_by_key(|(size, count)| (std::cmp::Reverse(*count), *size));
    rows.truncate(MOST_SIZES);
    rows.sort_unstable();
    let rows: Vec<Value> =
        rows.iter().map(|(size, count)| json!({ "bytes": size, "messages": count })).collect();
    json!({
        "ranks": schedule.ranks(),
        "cpus": schedule.cpus(),
        "nics": schedule.nics(),
        "different_ranks": schedule.shapes(),
        "messages": messages,
        "receives": receives,
        "calculations": calculations,
        "bytes": bytes,
        "sizes": rows,
        "different_sizes": different,
    })
}
