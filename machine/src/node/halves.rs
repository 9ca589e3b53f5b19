//! The halves of the interface in their node: who calls them, and what they see.
//!
//! A half belongs to one process. Of the network port it has that process's
//! view, what it finds wrong ends that process, and as master of a bus it
//! reaches what that process may use.

use narthex_interfaces::Interface;
use narthex_interfaces::side::{Context, Side};
use narthex_kernel::Time;
use narthex_memory::pages::{PageKind, PageTable};
use narthex_memory::{Kind, Transaction};

use super::interconnect::Agent;
use super::{Event, Node, journal};

impl Node {
    pub(super) fn timer(&mut self, now: Time, side: usize) {
        self.note(now, journal::Event::Timer(side));
        self.with_side(now, side, |side, context| side.timer(context));
    }

    /// Lets the processes use the room that there is for sending. The one that
    /// sent last comes last, so that none can keep the others from their turn.
    pub(super) fn offer_room(&mut self, now: Time) {
        let (last, processes) = (self.network.last_sender(), self.processes.len() as u8);
        for step in 1..=processes {
            let half = Interface::send_half((last + step) % processes);
            self.with_side(now, half, |side, context| side.network(context));
        }
    }

    /// Calls a half of the interface and carries out what it wants.
    pub(super) fn with_side<R>(
        &mut self,
        now: Time,
        side: usize,
        call: impl FnOnce(&mut dyn Side, &mut Context<'_>) -> R,
    ) -> R {
        self.stop_watching();
        let process = Interface::process_of(side);
        let Node { interface, network, timers, faults, .. } = self;
        let mut context = Context { now, network: network.of_process(process), timers, faults };
        let result = call(&mut *interface.sides[side], &mut context);
        for at in self.timers.drain(..) {
            self.events.schedule(at, Event::Timer(side));
        }
        self.depart(now);
        self.request_for_side(now, side);
        self.report_fault(now, process);
        result
    }

    /// What a process's half of the interface found wrong ends that process.
    pub(super) fn report_fault(&mut self, now: Time, process: u8) {
        if let Some(fault) = self.faults.pop() {
            self.faults.clear();
            self.fail_at(now, process.into(), &fault.0);
        }
    }

    /// Why a transaction of the interface is refused, and whose it is: as master
    /// of the bus it reaches what its process may use, cachable memory that may
    /// be written if it is changed.
    pub(super) fn refusal(&self, transaction: &Transaction) -> Option<(usize, String)> {
        let Agent::Side(side) = self.agent(transaction.agent) else { return None };
        let process = usize::from(Interface::process_of(side));
        let pages = &self.processes[process].pages;
        let reads = matches!(transaction.kind, Kind::Read | Kind::ReadOnce);
        let address = self.units[process].memory.translation().to_process(transaction.address);
        let check = if reads { PageTable::check_load } else { PageTable::check_store };
        let page = address.and_then(|address| check(pages, address).ok());
        if page.is_some_and(|page| page.kind == PageKind::Cachable) {
            return None;
        }
        let verb = if reads { "read" } else { "write" };
        let problem = format!(
            "the network interface cannot {verb} the block at {:#x} for this program, which may not {verb} \
             it as cachable memory itself (hpca98, Section 2.2.1: user-level DMA takes authentic addresses only)",
            transaction.address
        );
        Some((process, problem))
    }
}
