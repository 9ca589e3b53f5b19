//! The clock of a model checker: when a step of an interconnect happens, and which
//! agent is granted it, is a free choice.
//!
//! The rules of [`narthex_memory::interconnects`] schedule the end of a transaction
//! for an instant. Here it is *due* from then on, and happens at any time. Grants
//! are not scheduled: an interconnect that is free goes to any of its contenders.

use std::hash::{Hash, Hasher};

use narthex_kernel::Time;
use narthex_memory::interconnects::{self, Interconnect, InterconnectHost, InterconnectId, Step};
use narthex_memory::{AgentId, Transaction};

/// The instant of everything that happens: nothing has a duration.
pub const NOW: Time = Time::ZERO;

/// Something that can happen next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// An interconnect is granted to an agent.
    Grant(InterconnectId, AgentId),
    /// A step that is due happens.
    Step(InterconnectId, Step),
}

/// The interconnects of a composition, and the steps that are due.
#[derive(Clone, Debug)]
pub struct Interconnects {
    all: Vec<Interconnect>,
    /// In their order: when they became due makes no difference.
    due: Vec<(InterconnectId, Step)>,
}

impl Interconnects {
    /// These, at which nothing is due.
    pub fn new(all: Vec<Interconnect>) -> Self {
        Interconnects { all, due: Vec::new() }
    }

    /// One of them.
    pub fn get(&self, on: InterconnectId) -> &Interconnect {
        &self.all[usize::from(on.0)]
    }

    /// The same, for its rules.
    pub fn get_mut(&mut self, on: InterconnectId) -> &mut Interconnect {
        &mut self.all[usize::from(on.0)]
    }

    /// A step may happen from now on.
    pub fn schedule(&mut self, on: InterconnectId, step: Step) {
        if step != Step::Grant {
            self.due.push((on, step));
            self.due.sort_unstable();
        }
    }

    /// Whether a step is due.
    pub fn is_due(&self, on: InterconnectId, step: Step) -> bool {
        self.due.contains(&(on, step))
    }

    /// Everything that can happen next, where `wants` says whether an agent wants
    /// to issue a transaction.
    pub fn choices(&self, wants: impl Fn(AgentId, InterconnectId) -> bool) -> Vec<Choice> {
        let mut choices: Vec<Choice> = self.due.iter().map(|&(on, step)| Choice::Step(on, step)).collect();
        for number in 0..self.all.len() {
            let on = InterconnectId(number as u8);
            let contenders = self.get(on).contenders(&self.all, |agent| wants(agent, on));
            choices.extend(contenders.into_iter().map(|agent| Choice::Grant(on, agent)));
        }
        choices
    }

    /// Whether an interconnect could be granted to this agent, if that wanted it.
    pub fn admits(&self, on: InterconnectId, agent: AgentId) -> bool {
        self.get(on).contenders(&self.all, |other| other == agent).contains(&agent)
    }

    /// The transactions that have an interconnect, and which.
    pub fn occupants(&self) -> impl Iterator<Item = (InterconnectId, &Transaction)> {
        let numbered = self.all.iter().enumerate();
        numbered.filter_map(|(number, own)| Some((InterconnectId(number as u8), own.occupant()?)))
    }

    /// What they hold, in words; nothing for most.
    pub fn describe(&self) -> String {
        self.all.iter().filter_map(|own| own.describe()).map(|words| format!("; {words}")).collect()
    }

    /// Feeds what decides how they go on to `hasher`.
    pub fn hash_state<H: Hasher>(&self, hasher: &mut H) {
        self.due.hash(hasher);
        self.all.iter().for_each(|own| own.hash_state(hasher));
    }
}

/// A composition whose clock is a free choice.
pub trait Choosing: InterconnectHost {
    /// Its interconnects.
    fn interconnects(&mut self) -> &mut Interconnects;

    /// Lets something happen that was chosen.
    fn choose(&mut self, choice: Choice)
    where
        Self: Sized,
    {
        match choice {
            Choice::Grant(on, agent) => interconnects::grant_to(self, NOW, on, agent),
            Choice::Step(on, step) => {
                self.interconnects().due.retain(|&due| due != (on, step));
                interconnects::happen(self, NOW, on, step);
            }
        }
    }
}
