//! What links of all kinds have: ports of devices that ask, the host's accesses to devices, the next step.
//!
//! Accesses come in order, and a device works on one after the other. It may hold one, and answer later; those
//! behind go on meanwhile.

use std::collections::VecDeque;

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::{Home, InterconnectHost, InterconnectId, Observation, at_home};
use crate::agent::Agent;
use crate::transaction::{AccessReply, AgentId, Response, Transaction, TransactionTag};

/// Ports of devices that will be granted a link, with the times.
#[derive(Clone, Hash, Debug, Default, Serialize, Deserialize)]
pub(super) struct Asking(Vec<(Time, AgentId)>);

impl Asking {
    /// A port asks; whether a grant has to be scheduled.
    pub fn ask(&mut self, now: Time, agent: AgentId) -> bool {
        let is_new = !self.0.iter().any(|(_, asked)| *asked == agent);
        if is_new {
            self.0.push((now, agent));
        }
        is_new
    }

    /// The next port that is granted by now, in the order of time and number.
    pub fn next(&mut self, now: Time) -> Option<AgentId> {
        let due = self.0.iter().enumerate().filter(|(_, (at, _))| *at <= now);
        let (place, _) = due.min_by_key(|(_, asked)| **asked)?;
        Some(self.0.remove(place).1)
    }

    /// Whether no port asks.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The earliest step that is scheduled for what is under way on a link.
#[derive(Clone, Hash, Debug, Default, Serialize, Deserialize)]
pub(super) struct NextStep(Option<Time>);

impl NextStep {
    /// The first of these times from now on, if a step has to be scheduled for it.
    pub fn brought_forward<const N: usize>(&mut self, now: Time, times: [Option<Time>; N]) -> Option<Time> {
        let next = times.into_iter().flatten().min()?.max(now);
        let is_sooner = self.0.is_none_or(|scheduled| next < scheduled);
        is_sooner.then(|| *self.0.insert(next))
    }

    /// A step happens.
    pub fn has_come(&mut self, now: Time) {
        self.0.take_if(|scheduled| *scheduled == now);
    }
}

/// Reports to observers that a transaction is over.
pub(super) fn observe_end<C: InterconnectHost>(
    composition: &mut C,
    now: Time,
    on: InterconnectId,
    since: Time,
    transaction: &Transaction,
) {
    if composition.is_observed() {
        let time = (since, now);
        composition.observe(now, on, Observation::Crossing { time, transaction, supplier: None });
    }
}

/// What brings an access across a link.
pub(super) trait Brings {
    /// The access.
    fn access(&self) -> &Transaction;
}

/// The host's accesses to the devices behind a link.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Accesses<R> {
    /// The oldest first.
    requests: VecDeque<R>,
    /// When the first one is over.
    serving: Option<Time>,
    /// Those that their devices hold.
    held: Vec<R>,
    /// Answers to these, with the times at which they are given.
    answers: Vec<(Time, (AgentId, TransactionTag), Response)>,
}

impl<R> Default for Accesses<R> {
    fn default() -> Self {
        Accesses { requests: VecDeque::new(), serving: None, held: Vec::new(), answers: Vec::new() }
    }
}

impl<R: Brings> Accesses<R> {
    /// One has come.
    pub fn arrive(&mut self, request: R) {
        self.requests.push_back(request);
    }

    /// How many there are that no device has carried out, up to the last one of these.
    pub fn up_to_last(&self, is_it: impl Fn(&R) -> bool) -> usize {
        self.requests.iter().rposition(is_it).map_or(0, |place| place + 1)
    }

    /// The device of the one that was carried out last holds it.
    pub fn hold(&mut self, request: R) {
        self.held.push(request);
    }

    /// A device answers an access that it holds, at this time.
    pub fn answer(&mut self, at: Time, access: (AgentId, TransactionTag), response: Response) {
        self.answers.push((at, access, response));
    }

    /// The next answer by now to an access that was held.
    pub fn next_answer(&mut self, now: Time) -> Option<(R, Response)> {
        let place = self.answers.iter().position(|(at, ..)| *at <= now)?;
        let (_, access, response) = self.answers.remove(place);
        let is_it = |held: &R| (held.access().agent, held.access().tag) == access;
        let place = self.held.iter().position(is_it).expect("the access is held");
        Some((self.held.remove(place), response))
    }

    /// When the next answer is given, or the access is over on which a device works.
    pub fn next_time(&self) -> Option<Time> {
        self.answers.iter().map(|(at, ..)| *at).chain(self.serving).min()
    }

    /// Whether there are none.
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty() && self.held.is_empty() && self.answers.is_empty()
    }
}

/// Begins the oldest access of those that `accesses` finds, or carries it out if its time has come; then it is
/// here with what comes of it. `home` says who answers for an address.
pub(super) fn serve<C: InterconnectHost, R: Brings>(
    composition: &mut C,
    now: Time,
    accesses: impl Fn(&mut C) -> &mut Accesses<R>,
    home: impl Fn(&mut C, u64) -> Home,
) -> Option<(R, AccessReply, Response)> {
    let own = accesses(composition);
    let &Transaction { address, kind, .. } = own.requests.front()?.access();
    let serving = own.serving;
    let home = home(composition, address);
    let end = serving.unwrap_or_else(|| now + at_home(composition, home).access_time(now, kind));
    let own = accesses(composition);
    own.serving = Some(end).filter(|end| *end > now);
    if own.serving.is_some() {
        return None;
    }
    let request = own.requests.pop_front().expect("it is there");
    let mut response = Response::default();
    let reply = at_home(composition, home).access(now, request.access(), &mut response);
    Some((request, reply, response))
}
