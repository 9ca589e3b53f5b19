//! `narthex network`: the network of a machine alone, under synthetic load.

use narthex_fabrics::NodeId;
use narthex_fabrics::load::{Demand, Load, Measurement, Pattern, Verdict};
use narthex_fabrics::networks;
use narthex_fabrics::switch::Plan;
use narthex_fabrics::topologies::{NODE_LINKS, Topology};
use narthex_kernel::Time;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::{self, Machine};
use crate::request::{Failure, interval, threads};

/// The loads of a network that are to be measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkRequest {
    /// The machine: a preset or a file.
    pub machine: String,
    /// Its nodes, if not its own number.
    pub nodes: Option<u32>,
    /// Changes to it, as `key=value`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Who sends to whom.
    pub pattern: Pattern,
    /// The shares of its link that each node wants to use, in thousandths.
    #[serde(default)]
    pub loads_permille: Vec<u32>,
    /// Or, of closed loops, how many requests of each node have no reply.
    #[serde(default)]
    pub outstanding: Vec<u32>,
    /// Bytes of each packet, all that links carry for it.
    pub packet_bytes: u32,
    /// Cycles of the links before measuring.
    pub warm_up_cycles: u64,
    /// Cycles of the first window that is measured; each next one has twice as many.
    pub measured_cycles: u64,
    /// Where random streams start, if not where the machine's do.
    pub seed: Option<u64>,
    /// Links are looked at in intervals of this simulated time, if it is given.
    #[serde(default)]
    pub interval: Option<String>,
    /// Host threads.
    pub threads: u32,
}

/// Measures each load in turn. `observer` is told how many are done and the simulated
/// time of the next one, and returns false to end.
///
/// # Errors
/// If the machine or a load is wrong, its network is ideal, or the observer has ended it.
pub fn network_load(
    request: &NetworkRequest,
    observer: &mut dyn FnMut(usize, Time) -> bool,
) -> Result<Value, Failure> {
    let machine = machine_of(&request.machine, &request.set, request.nodes)?;
    let network = switched(&machine, &request.machine)?;
    let nodes = machine.config.machine.nodes;
    let seed = request.seed.unwrap_or(machine.config.machine.seed);
    let threads = threads(request.threads)?;
    let interval = request.interval.as_deref().map(|text| interval("interval", text)).transpose()?;
    let mut points = Vec::new();
    let open = request.loads_permille.iter().map(|&permille| Demand::Permille(permille));
    let closed = request.outstanding.iter().map(|&outstanding| Demand::Outstanding(outstanding));
    let mut links = Value::Null;
    for demand in open.chain(closed) {
        let load = Load {
            pattern: request.pattern.clone(),
            demand,
            packet_bytes: request.packet_bytes,
            warm_up_cycles: request.warm_up_cycles,
            measured_cycles: request.measured_cycles,
            seed,
            interval,
        };
        let problems = load.problems(nodes, network);
        if let Some((key, problem)) = problems.into_iter().next() {
            return Err(Failure::usage(format!("{key}: {problem}")));
        }
        let done = points.len();
        let measured = load.measure(network, nodes, threads, &mut |now| observer(done, now));
        let measured = measured.ok_or_else(|| Failure::guest("the measurement was interrupted"))?;
        points.push(point(demand, &measured));
        if links.is_null() {
            let names = measured.links.iter().map(|(from, to, _)| json!({ "from": from, "to": to }));
            links = names.collect();
        }
    }
    let plan = network.plan(nodes);
    let from_first = |node: u32| plan.zero_load(NodeId(0), NodeId(node as u16), request.packet_bytes);
    let farthest = (0..nodes).map(from_first).max().unwrap_or_default();
    Ok(json!({
        "machine": machine.resolved(),
        "warnings": machine.warnings().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "nodes": nodes,
        "pattern": request.pattern,
        "packet_bytes": request.packet_bytes,
        "link_bytes_per_second": network.links.of_kind(NODE_LINKS).0.as_u64() * network.links.clock.as_hz(),
        "switches": network.topology.switches(),
        "farthest_from_node_0_ps": farthest.as_ps(),
        "links": links,
        "points": points,
    }))
}

fn machine_of(name: &str, set: &[String], nodes: Option<u32>) -> Result<Machine, Failure> {
    let mut settings = set.to_vec();
    settings.extend(nodes.map(|nodes| format!("machine.nodes={nodes}")));
    let machine = config::load(name).and_then(|machine| machine.with_settings(&settings));
    machine.map_err(Failure::usage)
}

/// The network of a machine, in which packets meet.
fn switched<'a>(machine: &'a Machine, name: &str) -> Result<&'a networks::switched::Config, Failure> {
    match &machine.config.network {
        networks::Config::Switched(network) => Ok(network),
        networks::Config::Ideal(_) => Err(Failure::usage(format!(
            "{name}: network.kind is \"ideal\": nothing meets there, whatever the load; expected \"switched\", as the \
             machine cluster has it"
        ))),
    }
}

/// The network of a machine for messages that do not come from its nodes.
#[derive(Debug)]
pub struct MachineNetwork {
    /// Its links, switches and routes.
    pub plan: Plan,
    /// Where random streams start.
    pub seed: u64,
    /// The payload of the largest packet.
    pub payload_bytes: u64,
    /// What each packet has besides.
    pub header_bytes: u64,
}

/// The network of a machine with so many nodes and these changes.
///
/// # Errors
/// If the machine is wrong or too small, or its network is ideal or loses packets.
pub fn machine_network(name: &str, set: &[String], nodes: u32) -> Result<MachineNetwork, Failure> {
    let machine = machine_of(name, set, Some(nodes))?;
    let network = switched(&machine, name)?;
    if let Some((key, problem)) = network.loss_without_repair() {
        return Err(Failure::usage(format!("{name}: {key}: {problem}")));
    }
    let plan = network.plan(nodes);
    let config = &machine.config;
    let (payload_bytes, header_bytes) = (config.payload_bytes(), config.messages.header.as_u64());
    Ok(MachineNetwork { plan, seed: config.machine.seed, payload_bytes, header_bytes })
}

fn point(demand: Demand, measured: &Measurement) -> Value {
    let Measurement { offered, accepted, accepted_least, verdict, latency, quarters, .. } = measured;
    let Measurement {
        spread, saturated_nodes, packets, window_cycles, links, over_time, end, events, ..
    } = measured;
    let busiest = links.iter().map(|(_, _, link)| link.busy.get().as_ps()).max().unwrap_or(0);
    let whole_ps = end.as_ps().max(1) as f64;
    let (load, outstanding) = match demand {
        Demand::Permille(permille) => (Some(f64::from(permille) / 1000.0), None),
        Demand::Outstanding(outstanding) => (None, Some(outstanding)),
    };
    let mut document = json!({
        "load": load,
        "outstanding": outstanding,
        "links_busy": links.iter().map(|(_, _, link)| {
            (link.busy.get().as_ps() as f64 / whole_ps * 1e4).round() / 1e4
        }).collect::<Vec<_>>(),
        "offered": offered,
        "accepted": accepted,
        "accepted_least": accepted_least,
        "state": match verdict {
            Verdict::Steady => "steady",
            Verdict::NotSteady => "not steady",
            Verdict::Saturated => "saturated",
        },
        "saturated_nodes": saturated_nodes,
        "latency_mean_ps": latency.counted().mean(),
        "latency_quarters_ps": quarters,
        "latency_spread": spread,
        "latency_minimum_ps": latency.counted().minimum(),
        "latency_maximum_ps": latency.counted().maximum(),
        "latency_percentiles_ps": latency.percentiles(),
        "latency_buckets": latency.counted().buckets().collect::<Vec<_>>(),
        "packets": packets,
        "cycles_before": window_cycles.0,
        "measured_cycles": window_cycles.1,
        "busiest_link": busiest as f64 / whole_ps,
        "simulated_ps": end.as_ps(),
        "events": events,
    });
    if let Some((intervals, links)) = over_time {
        let lengths_ps = intervals.lengths_ps(*end);
        let busy = links.iter().map(|link| link.over(lengths_ps.iter().map(|&ps| ps as f64)));
        document["over_time"] =
            json!({ "interval_ps": intervals.length().as_ps(), "links_busy": busy.collect::<Vec<_>>() });
    }
    document
}
