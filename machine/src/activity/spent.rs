//! What a processor does in an activity, and what it waits for.

use narthex_kernel::{Category, categories};
use narthex_memory::processor_memory::WaitReason;

categories! {
    /// What the processor is doing meanwhile.
    pub enum Occupation {
        /// Executing instructions.
        Execute = "execute",
        /// Waiting for a block of data.
        DataMiss = "data miss",
        /// Waiting for a block of instructions.
        InstructionMiss = "instruction miss",
        /// Waiting for a device register.
        Uncached = "uncached access",
        /// Waiting for the store buffer to drain.
        StoreBuffer = "store buffer",
        /// Its thread sleeps in a system call.
        Asleep = "asleep",
        /// In the operating system.
        SystemCall = "system call",
        /// Waiting for an interrupt.
        Interrupt = "interrupt",
    }
}

categories! {
    /// For what a processor waits while a transaction keeps it.
    pub enum Resource {
        /// The interconnect is another agent's, or its clock has no edge yet.
        Interconnect = "interconnect",
        /// Other caches give the right to write: the transaction carries no bytes.
        Permission = "right to write",
        /// A memory answers, or takes the dirty block that has to leave before.
        Memory = "main memory",
        /// Another agent's cache supplies the block.
        Cache = "another cache",
        /// A device answers.
        Interface = "interface",
        /// The home of a block on a directory answers, and those that it asks.
        Home = "directory's home",
        /// An agent has refused the transaction, which is tried again.
        Retry = "retry",
    }
}

/// What a processor's time is spent in: an occupation and, while a transaction keeps it,
/// the resource for which it waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spent {
    /// What it is doing.
    pub occupation: Occupation,
    /// For what it waits.
    pub resource: Option<Resource>,
}

impl Spent {
    /// The one with this index as a category.
    pub fn of_index(index: usize) -> Spent {
        match index.checked_sub(Occupation::COUNT) {
            None => Spent { occupation: Occupation::ALL[index], resource: None },
            Some(wait) => Spent {
                occupation: Occupation::TRANSACTIONS[wait / Resource::COUNT],
                resource: Some(Resource::ALL[wait % Resource::COUNT]),
            },
        }
    }
}

impl From<Occupation> for Spent {
    /// Without a resource.
    fn from(occupation: Occupation) -> Self {
        Spent { occupation, resource: None }
    }
}

impl Category for Spent {
    const COUNT: usize = Occupation::COUNT + Occupation::TRANSACTIONS.len() * Resource::COUNT;

    #[inline]
    fn index(self) -> usize {
        let Spent { occupation, resource } = self;
        let kept_by = |resource: Resource| {
            let wait = occupation.index() - Occupation::TRANSACTIONS[0].index();
            Occupation::COUNT + wait * Resource::COUNT + resource.index()
        };
        resource.map_or(occupation.index(), kept_by)
    }

    fn name(index: usize) -> String {
        match Spent::of_index(index) {
            Spent { occupation, resource: None } => occupation.as_str().to_owned(),
            Spent { occupation, resource: Some(resource) } => {
                format!("{} / {}", occupation.as_str(), resource.as_str())
            }
        }
    }
}

impl Occupation {
    /// Those in which a transaction keeps a processor, in the order of their indices.
    pub const TRANSACTIONS: [Occupation; 4] =
        [Occupation::DataMiss, Occupation::InstructionMiss, Occupation::Uncached, Occupation::StoreBuffer];

    /// Whether a transaction keeps the processor.
    #[inline]
    pub fn is_transaction(self) -> bool {
        Self::TRANSACTIONS.contains(&self)
    }
}

impl From<Option<WaitReason>> for Occupation {
    fn from(reason: Option<WaitReason>) -> Self {
        match reason {
            None => Occupation::Execute,
            Some(WaitReason::DataMiss) => Occupation::DataMiss,
            Some(WaitReason::InstructionMiss) => Occupation::InstructionMiss,
            Some(WaitReason::Uncached) => Occupation::Uncached,
            Some(WaitReason::StoreBuffer) => Occupation::StoreBuffer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_for_a_resource_has_a_category_of_its_own() {
        let all: Vec<Spent> = (0..Spent::COUNT).map(Spent::of_index).collect();
        assert!(all.iter().map(|spent| spent.index()).eq(0..Spent::COUNT));
        assert_eq!(Spent::name(Occupation::Uncached.index()), "uncached access");
        let wait = Spent { occupation: Occupation::StoreBuffer, resource: Some(Resource::Retry) };
        assert_eq!((wait.index() + 1, &*Spent::name(wait.index())), (Spent::COUNT, "store buffer / retry"));
    }
}
