//! What a tile's RTL was built with, and what it has not: a machine that asks for anything else is
//! refused with its key.

use narthex_kernel::quantity::Bytes;
use serde::{Deserialize, Serialize};

use super::ports::Sizes;
use crate::sarc::Build;
use crate::sarc::config::{JobList, StoreCombining};

/// The parameters of RTL that is compiled (`hardware/cache/parameters.py`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Its arrays, and the chip's tiles.
    pub sizes: Sizes,
    /// Entries of the job list.
    pub job_entries: u32,
    /// Cycles for which a store waits for the next one, at most.
    pub combining_cycles: u32,
    /// Locks of the chip, which a register tells.
    pub locks: u32,
    /// DRAM of the chip, which a register tells.
    pub dram: Bytes,
}

/// The bytes of a word, by which the RTL moves data.
const WIDTH: Bytes = Bytes::new(8);

impl Parameters {
    /// Refuses a chip for which the RTL was not built.
    ///
    /// # Errors
    /// With the key of the machine's file, its value, and what the RTL has.
    pub fn check(&self, build: &Build) -> Result<(), String> {
        let Build { config, chip, returns_when_full } = build;
        if *returns_when_full {
            return Err("SARC+Nack's full queues, which return what comes, are not in it; SARC@rtl is".into());
        }
        let (l2_bytes, ways) = chip.second_level.expect("checked with the parameters");
        let Sizes { l2_bytes: own_bytes, ways: own_ways, tiles } = self.sizes;
        let entries = match config.job_list {
            JobList::Fifo { entries } => format!("{entries} entries of a fifo"),
            JobList::LinkedLines { .. } => "linked lines".into(),
        };
        let combining = match config.store_combining {
            StoreCombining::Buffer { wait_cycles } => format!("a buffer with {wait_cycles} wait_cycles"),
            StoreCombining::None {} => "none".into(),
        };
        let sizes = [l2_bytes, own_bytes].map(|bytes| Bytes::new(bytes).to_string());
        let pairs = [
            ("machine.processors_per_node", chip.tiles.to_string(), tiles.to_string()),
            ("machine.processors_per_process", chip.tiles_of_process.to_string(), "1".into()),
            ("second_level_cache.size", sizes[0].clone(), sizes[1].clone()),
            ("second_level_cache.associativity", ways.to_string(), own_ways.to_string()),
            ("the number of DRAM controllers", chip.controllers.to_string(), "1".into()),
            ("interfaces.sarc.chips", config.chips.to_string(), "1".into()),
            ("interfaces.sarc.width", config.width.to_string(), WIDTH.to_string()),
            ("interfaces.sarc.locks", config.locks.to_string(), self.locks.to_string()),
            ("interfaces.sarc.dram", config.dram.to_string(), self.dram.to_string()),
            ("interfaces.sarc.job_list", entries, format!("{} entries of a fifo", self.job_entries)),
            (
                "interfaces.sarc.store_combining",
                combining,
                format!("a buffer with {} wait_cycles", self.combining_cycles),
            ),
            (
                "interfaces.sarc.region_table.lookup_cycles",
                config.region_table.lookup_cycles.to_string(),
                "0".into(),
            ),
        ];
        match pairs.into_iter().find(|(_, asked, built)| asked != built) {
            Some((key, asked, built)) => {
                Err(format!("{key} is {asked}; the hardware was built with {built}"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Chip;
    use crate::models::sarc::MODEL;

    #[test]
    fn a_chip_for_which_the_rtl_was_not_built_is_refused_with_its_key() {
        let config = serde_json::from_value((MODEL.sample)()).expect("the model's sample is sound");
        let chip = Chip { tiles: 4, tiles_of_process: 1, second_level: Some((1 << 16, 4)), controllers: 1 };
        let parameters = Parameters {
            sizes: Sizes { l2_bytes: 1 << 16, ways: 4, tiles: 4 },
            job_entries: 4,
            combining_cycles: 4,
            locks: 16,
            dram: Bytes::new(1 << 20),
        };
        let build = Build { config, chip, returns_when_full: false };
        assert_eq!(parameters.check(&build), Ok(()));
        let refused = |change: fn(&mut Build)| {
            let mut changed = build.clone();
            change(&mut changed);
            parameters.check(&changed).expect_err("it was not built for that")
        };
        assert_eq!(
            refused(|build| build.chip.tiles = 8),
            "machine.processors_per_node is 8; the hardware was built with 4"
        );
        assert_eq!(
            refused(|build| build.config.job_list = JobList::LinkedLines { link_cycles: 1 }),
            "interfaces.sarc.job_list is linked lines; the hardware was built with 4 entries of a fifo"
        );
        assert_eq!(
            refused(|build| build.config.store_combining = StoreCombining::None {}),
            "interfaces.sarc.store_combining is none; the hardware was built with a buffer with 4 wait_cycles"
        );
        assert!(refused(|build| build.returns_when_full = true).contains("SARC+Nack"));
    }
}
