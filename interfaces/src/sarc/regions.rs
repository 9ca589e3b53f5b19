//! The table of address regions of a tile (Section 3.1): what the addresses of its process mean.
//!
//! ```text
//!   address of the process ──► region ──► place: chip, tile, way and index; or DRAM, registers, locks
//!                                  └───► whether it may be loaded and stored
//! ```
//!
//! "Hardware access control" marks regions of addresses as directly addressed; in this project by
//! Address Region Tables in the place of TLBs (footnote 3). A region's place is an address of the
//! hardware ([`Space`]): "a region's physical address can include" the kind of what is
//! there, and way and index of a line. From the tile in it follows whether an access is local or
//! remote, and so asks for no space in the cache.
//!
//! | who asks | when | for what |
//! | --- | --- | --- |
//! | the processor | before each access, as a TLB is asked | to load, to store |
//! | the interface, at the table's second port | a command is complete | the source to load, destination and acknowledgement to store |
//! | the interface | a counter comes to zero | the addresses that it tells, to store |
//!
//! Packets carry places: who receives one asks no table. The operating system writes the tables:
//! those of all tiles of a process have the same regions. Each begins with the areas of the hardware at
//! their own addresses. A line's or DRAM's owner is checked besides, since lines are finer than regions.

use serde::{Deserialize, Serialize};

use super::config::Config;
use super::device::Sarc;
use super::events::Problem;
use super::registers::{
    ADDRESSES, CHIP_BYTES, DRAM, DRAM_CHIP_BYTES, LOCK_BOX, REGION_BYTES, REGISTERS, WINDOW, request,
};
use super::space::{Area, Space};
use crate::device_call::CallError;

/// What is to be done at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// To load from it.
    Load,
    /// To store to it.
    Store,
}

/// An entry of a table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Region {
    /// Its first address of the process.
    pub start: u64,
    /// How long it is.
    pub bytes: u64,
    /// The hardware's address of its first byte.
    pub place: u64,
    /// Whether it may be loaded from.
    pub loads: bool,
    /// Whether it may be stored to.
    pub stores: bool,
}

impl Region {
    /// An area of the hardware at its own addresses.
    fn of_area(place: u64, bytes: u64) -> Self {
        Region { start: place, bytes, place, loads: true, stores: true }
    }

    fn end(&self) -> u64 {
        self.start + self.bytes
    }

    /// Whether all of so many bytes at an address are in it.
    fn has(&self, address: u64, bytes: u64) -> bool {
        address >= self.start && bytes <= self.bytes && address - self.start <= self.bytes - bytes
    }

    fn allows(&self, need: Need) -> bool {
        match need {
            Need::Load => self.loads,
            Need::Store => self.stores,
        }
    }
}

/// The table of a tile.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RegionTable {
    /// In the order of their addresses; none overlaps another one.
    regions: Vec<Region>,
}

impl RegionTable {
    /// What the operating system has written when a program starts: the areas of the hardware.
    pub fn at_start(config: &Config) -> Self {
        let chips = 0..u64::from(config.chips);
        let tiles = chips.clone().map(|chip| Region::of_area(WINDOW + chip * CHIP_BYTES, CHIP_BYTES));
        let pages = [REGISTERS, LOCK_BOX].map(|page| Region::of_area(page, REGION_BYTES));
        let dram = chips.map(|chip| Region::of_area(DRAM + chip * DRAM_CHIP_BYTES, config.dram.as_u64()));
        let regions = tiles.chain(pages).chain(dram).filter(|region| region.bytes > 0);
        RegionTable { regions: regions.collect() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.regions.len()
    }

    /// The region in which all of so many bytes are.
    fn region(&self, address: u64, bytes: u64) -> Option<&Region> {
        let behind = self.regions.partition_point(|region| region.start <= address);
        self.regions[..behind].last().filter(|region| region.has(address, bytes))
    }

    /// The hardware's address of an address.
    pub fn place_of(&self, address: u64) -> Option<u64> {
        self.region(address, 1).map(|region| region.place + (address - region.start))
    }

    /// Whether programs have a place at the hardware's own address of it alone.
    pub fn has_one_address(&self, place: u64) -> bool {
        let reaches = |region: &&Region| place >= region.place && place - region.place < region.bytes;
        self.regions.iter().filter(reaches).all(|region| region.start == region.place)
    }

    /// The hardware's address of so many bytes, at which something is to be done.
    ///
    /// # Errors
    /// If no region has them, or theirs does not allow it.
    pub fn translate(&self, address: u64, bytes: u64, need: Need) -> Result<u64, Problem> {
        match self.region(address, bytes) {
            Some(region) if region.allows(need) => Ok(region.place + (address - region.start)),
            Some(region) => {
                let (allowed, refused) = match need {
                    Need::Load => ("stores", "a load"),
                    Need::Store => ("loads", "a store"),
                };
                Err(format!("{} allows {allowed} alone, and this is {refused} at {address:#x}", name(region)))
            }
            None => Err(self.nothing_covers(address, bytes)),
        }
    }

    #[cold]
    fn nothing_covers(&self, address: u64, bytes: u64) -> Problem {
        if let Some(region) = self.region(address, 1) {
            return format!("{bytes} bytes at {address:#x} reach beyond {}", name(region));
        }
        let distance = |region: &&Region| match address < region.start {
            true => region.start - address,
            false => address - (region.end() - 1),
        };
        let nearest = self.regions.iter().min_by_key(distance);
        let nearest =
            nearest.map_or("it has none".into(), |region| format!("the nearest is {}", name(region)));
        format!("no address region of the tile covers {address:#x}; {nearest}")
    }

    /// Writes an entry, in the place of the one that starts at the same address.
    ///
    /// # Errors
    /// If another one has some of its addresses, or there are so many `entries` already.
    pub fn define(&mut self, region: Region, entries: u32) -> Result<(), CallError> {
        let place = self.regions.partition_point(|other| other.start < region.start);
        let replaces = self.regions.get(place).is_some_and(|other| other.start == region.start);
        let next = self.regions.get(place + usize::from(replaces));
        let overlaps_last = self.regions[..place].last().is_some_and(|last| last.end() > region.start);
        if overlaps_last || next.is_some_and(|next| next.start < region.end()) {
            return Err(CallError::Busy);
        }
        if replaces {
            self.regions[place] = region;
        } else if self.regions.len() < entries as usize {
            self.regions.insert(place, region);
        } else {
            return Err(CallError::NoMemory);
        }
        Ok(())
    }

    /// Clears the entry that starts at an address.
    ///
    /// # Errors
    /// If none does.
    pub fn remove(&mut self, start: u64) -> Result<(), CallError> {
        let place = self.regions.binary_search_by_key(&start, |region| region.start);
        self.regions.remove(place.map_err(|_| CallError::Absent)?);
        Ok(())
    }
}

/// What messages call a region.
fn name(region: &Region) -> String {
    let whose = match Space::area_of(region.place) {
        Some(area) => area.to_string(),
        None => "nothing".into(),
    };
    format!("the address region {:#x} to {:#x} ({whose})", region.start, region.end() - 1)
}

impl Sarc {
    /// The hardware's address of so many bytes at an address of a tile's process.
    ///
    /// # Errors
    /// If the tile's table refuses what is to be done there.
    pub(super) fn translate(&self, tile: u16, address: u64, bytes: u64, need: Need) -> Result<u64, Problem> {
        self.state.tiles[usize::from(tile)].regions.translate(address, bytes, need)
    }

    /// The same for a system call, which looks at the place's owner alone.
    pub(super) fn place_of(&self, process: u8, address: u64) -> Result<u64, CallError> {
        let tile = usize::from(process) * usize::from(self.build.chip.tiles_of_process);
        self.state.tiles[tile].regions.place_of(address).ok_or(CallError::BadAddress)
    }

    /// The region that a program asks for.
    ///
    /// # Errors
    /// What of it makes no sense.
    pub(super) fn region_of(&self, words: &[u64; request::WORDS]) -> Result<Region, CallError> {
        let [start, bytes, place, permissions, ..] = *words;
        let (loads, stores) = (permissions & request::LOADS != 0, permissions & request::STORES != 0);
        let are_known = permissions & !(request::LOADS | request::STORES) == 0 && (loads || stores);
        let is_aligned = [start, bytes, place].iter().all(|value| value.is_multiple_of(REGION_BYTES));
        // Registers wait for each other by their own addresses.
        let may_move =
            start == place || !matches!(Space::area_of(place), Some(Area::Registers | Area::LockBox));
        if !are_known || !is_aligned || bytes == 0 || !may_move {
            return Err(CallError::Invalid);
        }
        let addresses = Region::of_area(ADDRESSES.start, ADDRESSES.end - ADDRESSES.start);
        let is_somewhere = RegionTable::at_start(&self.build.config).region(place, bytes).is_some();
        if !addresses.has(start, bytes) || !is_somewhere {
            return Err(CallError::BadAddress);
        }
        Ok(Region { start, bytes, place, loads, stores })
    }
}
