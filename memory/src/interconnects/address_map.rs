//! Which part of a node answers for an address.

use std::ops::Range;

use super::{InterconnectId, MemoryId};
use crate::transaction::AgentId;

/// The home of an address, as an interconnect sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// A memory on it.
    Memory(MemoryId),
    /// A device on it, by its port.
    Agent(AgentId),
    /// Something on another interconnect, behind the bridge to it.
    Beyond(InterconnectId),
}

impl Home {
    /// The device's port, if it is one.
    pub(crate) fn agent(self) -> Option<AgentId> {
        match self {
            Home::Agent(agent) => Some(agent),
            Home::Memory(_) | Home::Beyond(_) => None,
        }
    }
}

/// Two homes that claim the same addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overlap {
    /// The addresses.
    pub range: Range<u64>,
    /// Who claimed them first.
    pub first: Home,
    /// Who claims them as well.
    pub second: Home,
}

/// The homes of the addresses on an interconnect: of some ranges, and of all
/// the rest.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AddressMap {
    /// All ranges are in here: most addresses of a program are not.
    hull: Range<u64>,
    ranges: Vec<(Range<u64>, Home)>,
    rest: Option<Home>,
}

impl AddressMap {
    /// The same map in which `home` has the addresses that no other one has.
    pub fn with_rest(self, home: Home) -> Self {
        AddressMap { rest: Some(home), ..self }
    }

    /// The same map of ranges alone.
    pub fn without_rest(self) -> Self {
        AddressMap { rest: None, ..self }
    }

    /// Makes a home of a range of addresses.
    ///
    /// # Errors
    /// If another one has an address of the range already.
    pub fn add(&mut self, range: Range<u64>, home: Home) -> Result<(), Overlap> {
        if range.is_empty() {
            return Ok(());
        }
        let overlaps = |other: &Range<u64>| range.start < other.end && other.start < range.end;
        if let Some((other, first)) = self.ranges.iter().find(|(other, _)| overlaps(other)) {
            let range = range.start.max(other.start)..range.end.min(other.end);
            return Err(Overlap { range, first: *first, second: home });
        }
        self.hull = match self.ranges.is_empty() {
            true => range.clone(),
            false => self.hull.start.min(range.start)..self.hull.end.max(range.end),
        };
        self.ranges.push((range, home));
        Ok(())
    }

    /// The homes of the ranges, each as often as it has one.
    pub fn of_ranges(&self) -> impl Iterator<Item = Home> {
        self.ranges.iter().map(|(_, home)| *home)
    }

    /// The home of an address; none if there is nothing.
    #[inline(always)]
    pub fn find(&self, address: u64) -> Option<Home> {
        if self.hull.contains(&address) { self.find_in_ranges(address) } else { self.rest }
    }

    #[inline(never)]
    fn find_in_ranges(&self, address: u64) -> Option<Home> {
        let found = self.ranges.iter().find(|(range, _)| range.contains(&address));
        found.map(|(_, home)| *home).or(self.rest)
    }

    /// The home of an address that a transaction names.
    #[inline(always)]
    pub(crate) fn home(&self, address: u64) -> Home {
        self.find(address).unwrap_or_else(|| panic!("nothing answers for the address {address:#x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: Home = Home::Agent(AgentId(3));
    const MEMORY: Home = Home::Memory(MemoryId(0));

    #[test]
    fn an_address_outside_of_all_ranges_belongs_to_the_rest() {
        let mut map = AddressMap::default().with_rest(MEMORY);
        map.add(0x1000..0x2000, DEVICE).unwrap();
        map.add(0x4000..0x5000, Home::Beyond(InterconnectId(1))).unwrap();
        let homes = [0xfff, 0x1000, 0x1fff, 0x2000, 0x4000, 0x5000].map(|address| map.find(address).unwrap());
        let bridge = Home::Beyond(InterconnectId(1));
        assert_eq!(homes, [MEMORY, DEVICE, DEVICE, MEMORY, bridge, MEMORY]);
    }

    #[test]
    fn two_homes_of_one_address_are_refused_and_named() {
        let mut map = AddressMap::default();
        map.add(0x1000..0x2000, DEVICE).unwrap();
        assert_eq!(map.add(0x800..0x1000, MEMORY), Ok(()), "it ends where the other begins");
        let overlap = map.add(0x1f00..0x3000, MEMORY).unwrap_err();
        assert_eq!(overlap, Overlap { range: 0x1f00..0x2000, first: DEVICE, second: MEMORY });
        assert_eq!(map.add(0x1800..0x1800, MEMORY), Ok(()), "an empty range claims nothing");
        assert_eq!(map.find(0x3000), None);
    }
}
