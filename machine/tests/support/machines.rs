//! Machines and interfaces that the tests run programs on.

/// Every interface whose programs the tests run.
pub const INTERFACES: [&str; 8] =
    ["NI2w", "NI16w", "CNI4", "CNI512Q", "CNI32Qm", "CNI32Qm+Throttle", "CNI0Qm", "(NI2w)S(CNI32Qm)R"];
/// Interfaces beside the memory bus, each with a machine that has their place.
pub const ELSEWHERE: [(&str, &str); 5] = [
    ("isca96", "NI2w on io-bus"),
    ("isca96", "CNI16Q on io-bus"),
    ("isca96", "CNI512Q on io-bus"),
    ("isca96", "NI2w on cache-bus"),
    ("hpca98", "NI2w on register"),
];
/// Interfaces that only the 1998 machine has.
const OF_1998: [&str; 3] = ["NI16w+Blkbuf", "NI16w+Udma", "(NI16w+Udma)S(NI16w+Blkbuf)R"];
/// Machines and places of descriptor rings, whose driver the programs of others do not have.
pub const RINGS: [(&str, &str); 3] = [("hpca98", "Ring"), ("isca96", "Ring"), ("isca96", "Ring on io-bus")];
/// Every machine that is built in.
pub const MACHINES: [&str; 2] = ["hpca98", "isca96"];

/// Every machine with each of its interfaces, wherever those are attached.
pub fn machines_and_interfaces() -> impl Iterator<Item = (&'static str, &'static str)> {
    let on_memory_bus = MACHINES.into_iter().flat_map(|machine| INTERFACES.map(|name| (machine, name)));
    on_memory_bus.chain(OF_1998.map(|name| ("hpca98", name))).chain(ELSEWHERE)
}

/// Every interface of the 1998 machine on its memory bus.
pub fn interfaces_of_1998() -> impl Iterator<Item = &'static str> {
    INTERFACES.into_iter().chain(OF_1998)
}
