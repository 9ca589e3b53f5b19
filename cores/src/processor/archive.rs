//! The whole state of a processor, for its checkpoint.

use narthex_kernel::{Archive, Archived, Damage};

use super::Processor;
use crate::execute::{Core, Exit, NO_LINE, Window};
use crate::timing::Timing;

/// Between two runs. What a run sets up for itself, and what points into code,
/// is forgotten, on the side that saves as well: both go on alike.
impl<T: Timing + Archived> Archived for Processor<T> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Processor { core, must_execute } = self;
        archive.value(must_execute)?;
        core.archive(archive)
    }
}

impl<T: Timing + Archived> Archived for Core<T> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Core {
            registers,
            until: _,
            outside_until: _,
            window,
            host_rounds: _,
            host_fuses: _,
            timing,
            fcsr,
            trap,
            has_interrupts: _,
            pc,
            t,
            count,
            entering,
            fetched_line,
            line_mask: _,
            has_lines: _,
            exit,
            fault,
            code,
            clock: _,
            slots: _,
            clock_stands: _,
            counter_reads: _,
            late: _,
            filling: _,
            started: _,
            expected,
            loads_under_way,
        } = self;
        archive.each(registers)?;
        timing.archive(archive)?;
        archive.value(fcsr)?;
        archive.value(trap)?;
        [pc, t, count].into_iter().try_for_each(|word| archive.value(word))?;
        archive.value(entering)?;
        archive.value(fault)?;
        code.archive(archive)?;
        archive.value(expected)?;
        *loads_under_way = expected.iter().flatten().count();
        (*window, *fetched_line, *exit) = (Window::none(), NO_LINE, Exit::Continue);
        let fcsr = *fcsr;
        self.set_fcsr(fcsr);
        Ok(())
    }
}
