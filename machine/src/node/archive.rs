//! A node's whole state, between windows: what its checkpoint holds.
//!
//! What configuration, program and place decide is as it was built; all the rest
//! is here. A field that is added to a node is missing here until the compiler
//! has been told which of the two it is.

use narthex_kernel::{Archive, Archived, Damage};

use super::{Node, Process, Unit};

impl Archived for Node {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Node {
            id: _,
            events,
            units,
            processes,
            bus,
            underway,
            private,
            io,
            blocking_access_time: _,
            main,
            memory_access_time: _,
            block_bytes: _,
            interface,
            network,
            stagger: _,
            program: _,
            output,
            departures,
            timers,
            faults,
            statistics,
            progress,
            progressed_at,
            journal: _,
            waiting,
            instant: _,
        } = self;
        assert!(
            departures.is_empty() && timers.is_empty() && faults.is_empty(),
            "a node is archived between windows"
        );
        // What a run does about its wait loops changes nothing that it computes.
        assert!(!waiting.is_asleep(), "a node rests before it is archived");
        events.archive(archive)?;
        archive.each(units)?;
        archive.each(processes)?;
        archive.value(bus)?;
        archive.value(underway)?;
        archive.each(private.as_mut_slice())?;
        archive.each(io.as_mut_slice())?;
        main.archive(archive)?;
        interface.archive(archive)?;
        network.archive(archive)?;
        archive.value(output)?;
        archive.value(statistics)?;
        archive.value(progress)?;
        archive.value(progressed_at)
    }
}

impl Archived for Unit {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Unit { processor, memory, ledger, activities, state } = self;
        processor.archive(archive)?;
        let fixed = memory.fixed();
        archive.value(memory)?;
        archive.ensure(memory.fixed() == fixed, "a processor's caches are others than the machine's")?;
        archive.value(ledger)?;
        archive.value(activities)?;
        archive.value(state)
    }
}

impl Archived for Process {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Process { pages, calls, reports, regions, ended } = self;
        archive.value(pages)?;
        calls.archive(archive)?;
        archive.value(reports)?;
        archive.value(regions)?;
        archive.value(ended)
    }
}
