//! Ranks of a model in the place of nodes: which machines can have them, and their partition.

use narthex_fabrics::networks;
use narthex_interfaces::{Attached, DeviceDescription, Share};
use narthex_schedules::source;
use narthex_schedules::within::{EndParameters, Ranks, Request};

use super::Blueprint;
use super::jobs::{JobPlacement, Times};
use crate::config::{self, MachineConfig};
use crate::request::{Failure, RunRequest};

/// The payload of a packet of a machine with these changes, beside whose nodes ranks of a model can stand.
///
/// # Errors
/// If the machine or the interface is wrong, or none that they go with.
pub fn payload_beside_model(name: &str, set: &[String], interface: &str) -> Result<u64, Failure> {
    let machine =
        config::load(name).and_then(|machine| machine.with_settings(set)).map_err(Failure::usage)?;
    let interface: Attached = interface.parse().map_err(Failure::usage)?;
    check(&machine.config.of_run(&interface), &interface)?;
    Ok(machine.config.payload_bytes())
}

/// Refuses a machine or an interface with which no ranks of a model can stand beside the nodes.
///
/// # Errors
/// With the reason.
fn check(config: &MachineConfig, interface: &Attached) -> Result<(), Failure> {
    let refused = |problem: String| Err(Failure::usage(format!("ranks of a model beside nodes: {problem}")));
    match &config.network {
        networks::Config::Ideal(ideal) if ideal.latency.is_zero() => {
            return refused(
                "network.latency is 0ps, and nodes go on only as far as no message can arrive".into(),
            );
        }
        networks::Config::Ideal(_) => {}
        networks::Config::Switched(_) => {
            return refused(
                "network.kind is \"switched\", and messages between ranks of the model meet in no switch; expected \
                 \"ideal\", as of hpca98"
                    .into(),
            );
        }
    }
    let processes = config.processes_per_node();
    if processes > 1 {
        return refused(format!("each node has {processes} processes; expected 1"));
    }
    if config.forwarder.is_some() {
        return refused("a forwarder stands between the interface and the network".into());
    }
    if let Err(problem) = config.build_halves(interface) {
        return refused(format!(
            "{interface} sends other packets than those of the messaging library ({problem})"
        ));
    }
    Ok(())
}

impl Blueprint<'_> {
    /// The same, of which only those nodes are built that are no ranks of the request's model. They are the
    /// first ones, in the order of their ranks.
    ///
    /// # Errors
    /// If the machine, its interface or the rest of the request is none that a model goes with.
    pub fn with_model_of(mut self, request: &RunRequest) -> Result<Self, Failure> {
        let Some(model) = &request.model else { return Ok(self) };
        check(&self.config, &self.interface)?;
        let is_one = request.jobs.is_empty() && request.job_nodes.is_none();
        if !is_one || request.checkpoint.is_some() || request.warm.is_some() {
            let problem = "a run with ranks of a model has one job, and no checkpoints";
            return Err(Failure::usage(problem));
        }
        let nodes = self.nodes as u16;
        let mut place_of = vec![None; nodes.into()];
        for (node, &rank) in (0..).zip(&model.detailed) {
            match place_of.get_mut(rank as usize) {
                Some(place @ None) => *place = Some(node),
                Some(Some(_)) => return Err(Failure::usage(format!("rank {rank} is to be a node twice"))),
                None => {
                    let last = nodes - 1;
                    let problem =
                        format!("rank {rank} is to be a node; the schedule has the ranks 0 to {last}");
                    return Err(Failure::usage(problem));
                }
            }
        }
        self.built = model.detailed.len() as u32;
        let mut free = self.built as u16..;
        let on = place_of
            .into_iter()
            .map(|place| place.or_else(|| free.next()).expect("nodes are as many as ranks"));
        let place = JobPlacement { nodes: on.collect(), processes: 0..1, times: Times::default() };
        let placement = self.placement();
        self.jobs[0].set_place(place, placement);
        Ok(self)
    }

    /// The ranks of a model.
    ///
    /// # Errors
    /// If the schedule cannot be read, or is none for this machine.
    pub fn ranks(&self, model: &Request) -> Result<Ranks, Failure> {
        let usage = |problem: narthex_schedules::Problem| Failure::usage(problem.message);
        let schedule = source::load(&model.schedule, &mut |_| true).map_err(usage)?;
        if schedule.ranks() != self.nodes {
            let (ranks, nodes) = (schedule.ranks(), self.nodes);
            return Err(Failure::usage(format!(
                "the schedule has {ranks} ranks, and the machine {nodes} nodes"
            )));
        }
        let halves = self.build_halves()?;
        // A rank has a node of its own.
        let send = Share::WHOLE.send_half(0);
        let entries = |half| halves.queue(half).entries.unwrap_or(0);
        let around = EndParameters {
            packet_bytes: self.packet_bytes(),
            header_bytes: self.header_bytes(),
            latency: self.config.network.lookahead(),
            send_entries: entries(send),
            receive_entries: entries(send + 1),
        };
        let job = self.jobs[0].ranks.clone();
        Ranks::new(model, schedule, &around, job, |node| self.network_port(node, None)).map_err(usage)
    }
}
