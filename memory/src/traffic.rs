//! What can cross a bus, as far as a machine and its interface can tell before
//! a run: the kinds of transactions, and who begins them.
//!
//! A parameter that belongs to something which never crosses the bus changes
//! nothing, whatever the program does. Each component says which of its own
//! parameters those are (`without_effect`), so that a user who sets one of them
//! can be warned.

use crate::kind::Kind;

/// A parameter that changes nothing: its key in the component's table, and why.
pub type WithoutEffect = (String, String);

/// What can cross a bus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traffic {
    /// Processors on the bus, each with its caches.
    pub processors: u32,
    /// Caches of processors that can hold a copy of the same block.
    pub caches: u32,
    /// Kinds that devices issue, or that processors issue to reach them.
    pub of_devices: Vec<Kind>,
    /// Whether caches of processors issue transactions here.
    pub has_caches: bool,
}

impl Traffic {
    /// What a processor's cache issues, whatever the program and the protocol.
    const OF_CACHES: [Kind; 4] = [Kind::Read, Kind::ReadExclusive, Kind::Upgrade, Kind::WriteBack];

    /// Whether a transaction of this kind can cross.
    pub fn has(&self, kind: Kind) -> bool {
        self.of_devices.contains(&kind) || self.has_caches && Self::OF_CACHES.contains(&kind)
    }

    /// Whether an agent other than the cache that holds a block can ask for it.
    pub fn has_other_readers(&self) -> bool {
        self.caches > 1 || self.of_devices.iter().any(|kind| kind.fetches_block())
    }

    /// Whether an agent other than the processor that lost a block can send it home.
    pub fn has_other_writers(&self) -> bool {
        self.processors > 1 || self.of_devices.iter().any(|kind| kind.carries_block())
    }

    /// Whether devices send what a bridge buffers on its way up.
    pub fn has_posted_of_devices(&self) -> bool {
        self.of_devices.iter().any(|kind| kind.is_posted() && !kind.is_uncached())
    }

    /// The kinds in `[extra_cycles]` that never cross.
    pub fn extra_cycles_without_effect(&self) -> Vec<WithoutEffect> {
        let absent = Kind::ALL.into_iter().filter(|kind| !self.has(*kind));
        absent
            .map(|kind| (format!("extra_cycles.{}", kind.name()), "nobody issues such a transaction".into()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(of_devices: &[Kind]) -> Traffic {
        Traffic { processors: 1, caches: 1, of_devices: of_devices.to_vec(), has_caches: true }
    }

    #[test]
    fn a_kind_that_nobody_issues_makes_its_extra_cycles_idle() {
        let keys: Vec<String> = traffic(&[Kind::UncachedLoad, Kind::UncachedStore])
            .extra_cycles_without_effect()
            .into_iter()
            .map(|(key, _)| key.replace("extra_cycles.", ""))
            .collect();
        assert_eq!(keys, ["write_block", "read_once", "invalidate", "block_load", "block_store"]);
    }

    #[test]
    fn a_kind_crosses_where_an_agent_issues_it() {
        let kinds = |traffic: &Traffic| {
            let kinds: Vec<&str> =
                Kind::ALL.into_iter().filter(|&kind| traffic.has(kind)).map(Kind::name).collect();
            kinds.join(" ")
        };
        let both = traffic(&[Kind::UncachedLoad]);
        assert_eq!(kinds(&both), "read read_exclusive upgrade write_back uncached_load");
        assert_eq!(kinds(&Traffic { has_caches: false, ..both }), "uncached_load");
    }

    #[test]
    fn a_bridge_buffers_what_devices_send_of_blocks() {
        let has = |kinds: &[Kind]| traffic(kinds).has_posted_of_devices();
        assert!(has(&[Kind::WriteBlock]) && has(&[Kind::ReadOnce, Kind::Invalidate]));
        assert!(!has(&[Kind::ReadOnce, Kind::UncachedStore]) && !has(&[]));
    }

    #[test]
    fn a_device_that_reads_or_writes_blocks_is_another_agent() {
        let registers = traffic(&[Kind::UncachedLoad]);
        assert!(!registers.has_other_readers() && !registers.has_other_writers());
        assert!(traffic(&[Kind::ReadOnce]).has_other_readers());
        assert!(traffic(&[Kind::WriteBlock]).has_other_writers());
        assert!(Traffic { caches: 2, ..registers.clone() }.has_other_readers());
        assert!(Traffic { processors: 2, ..registers }.has_other_writers());
    }
}
