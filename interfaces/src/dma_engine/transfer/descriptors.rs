//! How a copy begins: descriptors, one alone or those of a list, and what is refused of them.

use std::ops::Range;

use narthex_kernel::Time;

use super::{Build, Descriptor, DmaEngine, Mark, Port, Progress, TransferState, WORD};

impl DmaEngine {
    /// Makes a copy.
    ///
    /// # Errors
    /// If it is busy, or an address is beyond its memory.
    pub fn start(&mut self, now: Time, descriptor: Descriptor, timers: &mut Vec<Time>) -> Result<(), String> {
        self.check_idle()?;
        self.begin(now, descriptor, timers)
    }

    /// Makes the copies of a list; the lowest bit of the address is the list's port.
    ///
    /// # Errors
    /// If it is busy, or the list is beyond its memory.
    pub fn start_list(&mut self, list: u64) -> Result<(), String> {
        self.check_idle()?;
        self.state.mark = None;
        self.fetch(list)
    }

    /// Refuses a list that comes back to one of its descriptors, which nobody has changed
    /// since: the engine would never end.
    pub(super) fn check_circle(&mut self, list: u64, descriptor: Descriptor) -> Result<(), String> {
        let number = self.state.completed;
        let span = match self.state.mark {
            Some(mark) if (mark.list, mark.descriptor) == (list, descriptor) => {
                return Err(format!(
                    "DMA engine {}: its list goes in a circle: descriptor {number} at {:#x} is descriptor {} again; \
                     end the list by a next of 0",
                    self.build.name,
                    list & !1,
                    mark.number
                ));
            }
            Some(mark) if number - mark.number < mark.span => return Ok(()),
            Some(mark) => 2 * mark.span,
            None => 1,
        };
        self.state.mark = Some(Mark { list, descriptor, number, span });
        Ok(())
    }

    fn check_idle(&self) -> Result<(), String> {
        let name = &self.build.name;
        if self.is_busy() { Err(format!("DMA engine {name} is started while it is busy")) } else { Ok(()) }
    }

    pub(super) fn fetch(&mut self, list: u64) -> Result<(), String> {
        let (address, port) = (list & !1, (list & 1) as usize);
        if !address.is_multiple_of(Descriptor::BYTES) {
            let (name, number) = (&self.build.name, self.state.completed);
            return Err(format!(
                "DMA engine {name}: descriptor {number} is at {address:#x}, which is no multiple of {}",
                Descriptor::BYTES
            ));
        }
        self.check(port, address, Descriptor::BYTES, "is at")?;
        self.state.stage = TransferState::Fetching(list);
        Ok(())
    }

    /// Whether the bytes of a descriptor, or those that it `names`, are in its memory.
    fn check(&self, port: usize, address: u64, length: u64, names: &str) -> Result<(), String> {
        let Build { name, ports, .. } = &self.build;
        let number = self.state.completed;
        let Some(Port { name: bus, reach, .. }) = ports.get(port) else {
            return Err(format!("DMA engine {name}: descriptor {number} names port {port}; it has one port"));
        };
        let end = address.checked_add(length);
        let holds = |range: &Range<u64>| range.start <= address && end.is_some_and(|end| end <= range.end);
        if length == 0 || reach.iter().any(holds) {
            return Ok(());
        }
        Err(format!(
            "DMA engine {name}: descriptor {number} {names} {address:#x}, {length} bytes, which is beyond the \
             memory on the {bus}"
        ))
    }

    pub(super) fn begin(
        &mut self,
        now: Time,
        descriptor: Descriptor,
        timers: &mut Vec<Time>,
    ) -> Result<(), String> {
        let length = descriptor.length.into();
        self.check(descriptor.source_port(), descriptor.source, length, "reads from")?;
        self.check(descriptor.destination_port(), descriptor.destination, length, "writes to")?;
        if descriptor.flags & WORD != 0 {
            let completion = self.state.completion;
            self.check((completion & 1) as usize, completion & !1, 8, "reports to")?;
        }
        self.state.descriptor = descriptor;
        self.state.progress = Progress::default();
        let at = now + self.build.start_time;
        self.state.stage = TransferState::Starting(Self::ask(at, timers));
        Ok(())
    }
}
