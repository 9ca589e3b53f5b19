//! A node's whole state, between windows: what its checkpoint holds.
//!
//! What configuration, program and place decide is as it was built; all the rest
//! is here. A field that is added to a node is missing here until the compiler
//! has been told which of the two it is.

use narthex_kernel::{Archive, Archived, Damage};

use super::processor::State;
use super::{Node, NodeProcessor, Process};
use crate::activity::Resource;

impl Archived for Node {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        self.settle_interconnects(self.horizons.inspection);
        let Node {
            id: _,
            events,
            processors,
            processes,
            interconnects,
            on_chip,
            tiles_lookahead: _,
            memories,
            local_memories: _,
            devices,
            further_interfaces: _,
            ports: _,
            first_ports: _,
            lines,
            network,
            output,
            departures,
            sent_to_itself,
            device_requests,
            held,
            statistics,
            progress,
            progressed_at,
            probe: _,
            executes_wait_loops: _,
            schedules_steps: _,
            horizons: _,
            send_lookahead,
            unfinished: _,
            sleepers: _,
            may_watch_bus: _,
            callers,
            skipped_instructions: _,
            operating_system: _,
            instant: _,
            meeting: _,
            requests,
            turns: _,
        } = self;
        assert!(
            departures.is_empty() && device_requests.is_nothing() && device_requests.faults.is_empty(),
            "a node is archived between windows"
        );
        // What a run does about its wait loops changes nothing that it computes.
        let is_asleep = |unit: &NodeProcessor| unit.waiting.is_asleep();
        assert!(!processors.iter().any(is_asleep), "a node rests before it is archived");
        events.archive(archive)?;
        archive.each(processors.iter_mut())?;
        *callers = processors.iter().filter(|unit| unit.state == State::Calling).count();
        archive.each(processes)?;
        archive.each(interconnects)?;
        on_chip.iter_mut().try_for_each(|own| own.archive(archive))?;
        archive.each(memories)?;
        devices.iter_mut().try_for_each(|device| device.archive(archive))?;
        send_lookahead.of_devices.forget();
        requests.forget();
        lines.iter_mut().try_for_each(|lines| archive.value(lines.level_mut()))?;
        network.archive(archive)?;
        archive.value(sent_to_itself)?;
        archive.value(held)?;
        archive.value(output)?;
        archive.value(statistics)?;
        archive.value(progress)?;
        archive.value(progressed_at)
    }
}

impl Archived for NodeProcessor {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let NodeProcessor {
            processor,
            memory,
            ledger,
            answerer,
            sources,
            closed_stalls: _,
            activities,
            state,
            sleeps,
            process: _,
            ports: _,
            blocking_access_time: _,
            look_up_time: _,
            grant_clocks: _,
            notice_delay: _,
            exchanges: _,
            waiting: _,
            polled_before: _,
            paused_at: _,
        } = self;
        processor.archive(archive)?;
        let fixed = memory.config_identity();
        archive.value(memory)?;
        archive.ensure(
            memory.config_identity() == fixed,
            "a processor's caches are others than the machine's",
        )?;
        archive.value(ledger)?;
        if !memory.has_issued() {
            *answerer = Resource::Permission;
        }
        archive.value(answerer)?;
        archive.value(sources)?;
        activities.forget_old_poll(processor.retired());
        archive.value(activities)?;
        let belong = activities.belong_to(ledger, processor.retired());
        archive.ensure(belong, "a processor's activities are others than its ledger's")?;
        archive.value(state)?;
        archive.value(sleeps)
    }
}

impl Archived for Process {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Process { program: _, processors: _, personality: _, pages, calls, reports, regions, ended } =
            self;
        archive.value(pages)?;
        calls.archive(archive)?;
        archive.value(reports)?;
        archive.value(regions)?;
        archive.value(ended)
    }
}
