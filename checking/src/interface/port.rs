//! What the processor sees of memory while a step runs: private memory at once,
//! shared addresses once a step.

use std::ops::Range;

use narthex_interfaces::registers::DEVICE_REGION;
use narthex_memory::ProcessorPort;
use narthex_memory::port::{AccessFault, CacheBlockOperation, Outcome, Port};

use super::memory::Words;

/// An access to a shared address.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Where.
    pub address: u64,
    /// How many bytes; none if the block there is flushed.
    pub size: usize,
    /// What was stored; none for a load.
    pub stored: Option<u64>,
    /// What was loaded; none for a store, and while the access waits.
    pub loaded: Option<u64>,
    /// It could not finish at once.
    pub waits: bool,
}

/// The port of one step.
pub struct CheckedPort<'a> {
    /// Private memory.
    pub memory: &'a mut Words,
    /// The way to what is shared: the real cache and store buffer.
    pub shared: ProcessorPort<'a>,
    /// Parts of the devices' region that are private all the same.
    pub private: &'a [Range<u64>],
    /// Whether the step's access is still to be made.
    pub may_access: bool,
    /// The access that was made.
    pub access: Option<Access>,
    /// Where the next one goes, before which the program stands.
    pub stopped_at: Option<u64>,
}

impl CheckedPort<'_> {
    fn is_shared(&self, address: u64) -> bool {
        DEVICE_REGION.contains(&address) && !self.private.iter().any(|range| range.contains(&address))
    }

    /// Makes a shared access if it is this step's, or stops before it.
    fn shared<T: Copy>(
        &mut self,
        access: Access,
        make: impl FnOnce(&mut ProcessorPort<'_>) -> Outcome<T>,
        loaded: fn(T) -> Option<u64>,
    ) -> Outcome<T> {
        if !self.may_access {
            self.stopped_at = Some(access.address);
            return Outcome::Wait;
        }
        let outcome = make(&mut self.shared);
        self.access = Some(match outcome {
            Outcome::Done(value) => Access { loaded: loaded(value), waits: false, ..access },
            _ => access,
        });
        self.may_access = !matches!(outcome, Outcome::Done(_));
        outcome
    }

    fn access(address: u64, size: usize, stored: Option<u64>) -> Access {
        Access { address, size, stored, loaded: None, waits: true }
    }
}

impl Port for CheckedPort<'_> {
    fn load_hit<const SIZE: usize>(&mut self, address: u64) -> Option<u64> {
        (!self.is_shared(address)).then(|| self.memory.load(address, SIZE))
    }

    fn store_hit<const SIZE: usize>(&mut self, address: u64, value: u64) -> bool {
        if self.is_shared(address) {
            return false;
        }
        self.memory.store(address, SIZE, value);
        true
    }

    fn fetch_hit(&mut self, _address: u64) -> bool {
        true
    }

    fn load(&mut self, address: u64, size: usize) -> Outcome<u64> {
        if !self.is_shared(address) {
            return Outcome::Done(self.memory.load(address, size));
        }
        self.shared(Self::access(address, size, None), |port| port.load(address, size), Some)
    }

    fn store(&mut self, address: u64, size: usize, value: u64) -> Outcome<()> {
        if !self.is_shared(address) {
            self.memory.store(address, size, value);
            return Outcome::Done(());
        }
        self.shared(
            Self::access(address, size, Some(value)),
            |port| port.store(address, size, value),
            |()| None,
        )
    }

    fn operate_on_block(&mut self, address: u64, operation: CacheBlockOperation) -> Outcome<()> {
        if !self.is_shared(address) {
            return Outcome::Done(());
        }
        let access = Self::access(address, 0, None);
        self.shared(access, |port| port.operate_on_block(address, operation), |()| None)
    }

    fn fetch(&mut self, _address: u64) -> Outcome<()> {
        Outcome::Done(())
    }

    fn code(&mut self, _address: u64) -> Result<u32, AccessFault> {
        Err(AccessFault::Unmapped)
    }

    fn load_reserved(&mut self, address: u64, size: usize) -> Outcome<u64> {
        if !self.is_shared(address) {
            return Outcome::Done(self.memory.load(address, size));
        }
        self.shared(Self::access(address, size, None), |port| port.load_reserved(address, size), Some)
    }

    /// In private memory nothing comes between a reservation and its store.
    fn store_conditional(&mut self, address: u64, size: usize, value: u64) -> Outcome<bool> {
        if !self.is_shared(address) {
            self.memory.store(address, size, value);
            return Outcome::Done(true);
        }
        let access = Self::access(address, size, Some(value));
        self.shared(access, |port| port.store_conditional(address, size, value), |_| None)
    }

    fn load_for_update(&mut self, address: u64, size: usize) -> Outcome<u64> {
        if !self.is_shared(address) {
            return Outcome::Done(self.memory.load(address, size));
        }
        self.shared(Self::access(address, size, None), |port| port.load_for_update(address, size), Some)
    }

    fn fence(&mut self) -> Outcome<()> {
        self.shared.fence()
    }

    fn fence_instructions(&mut self) -> Outcome<()> {
        Outcome::Done(())
    }
}
