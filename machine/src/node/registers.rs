//! The registers of the interface, on whichever bus they are.

use narthex_interfaces::Interface;
use narthex_interfaces::registers::Addresses;
use narthex_interfaces::side::{Context, RegisterFault};
use narthex_kernel::Time;
use narthex_memory::{Kind, Response, Transaction};

use super::{Event, Node, Underway};

impl Node {
    /// Carries out an uncached access at its end, when its data has crossed.
    pub(super) fn access_register(&mut self, now: Time, underway: &mut Underway) {
        let Underway { transaction, response } = underway;
        if !transaction.kind.is_uncached() {
            return;
        }
        let process = Addresses::process_at(transaction.address).expect("only registers are uncached");
        if let Err(fault) = self.reach_register(now, process, transaction, response) {
            self.fail_at(now, process.into(), &fault.0);
        }
    }

    fn reach_register(
        &mut self,
        now: Time,
        process: u8,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<(), RegisterFault> {
        let offset = transaction.address - Addresses::of_process(process).register_page();
        let moves_block = matches!(transaction.kind, Kind::BlockLoad | Kind::BlockStore);
        if transaction.size != 8 && !moves_block {
            let size = transaction.size;
            return Err(RegisterFault(format!(
                "an access of {size} bytes to register {offset:#x}; registers have 8"
            )));
        }
        let Node { interface, network, timers, faults, .. } = self;
        let mut context = Context { now, network: network.of_process(process), timers, faults };
        let result = match (transaction.kind, &transaction.data) {
            (Kind::UncachedLoad, _) => {
                interface.load(&mut context, offset).map(|value| response.value = value)
            }
            (Kind::BlockLoad, _) => {
                interface.load_block(&mut context, offset).map(|block| response.data = Some(block))
            }
            (Kind::BlockStore, Some(block)) => interface.store_block(&mut context, offset, block),
            _ => interface.store(&mut context, offset, transaction.value),
        };
        // Which half asked for the instant is not known here: both are called.
        let halves = [Interface::send_half(process), Interface::receive_half(process)];
        for at in self.timers.drain(..) {
            self.events.extend(halves.map(|half| (at, Event::Timer(half))));
        }
        self.depart(now);
        for half in halves {
            self.request_for_side(now, half);
        }
        self.report_fault(now, process);
        result
    }
}
