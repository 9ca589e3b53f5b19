//! MOESI: a dirty copy can be shared, and its owner serves the readers.
//!
//! Source: P. Sweazey and A. J. Smith, "A Class of Compatible Cache Consistency
//! Protocols and their Support by the IEEE Futurebus", ISCA 1986, who named the
//! five states. The MBus level 2 protocol of the SPARC systems, after which the
//! memory buses of both CNI studies are modelled (cni-isca96 Section 4.1,
//! hpca98 Table 3), is the write-invalidate member of that class given here.
//!
//! ```text
//!              load, no other copy              load, other copies
//!        .----------------- Invalid (I) -----------------.
//!        |                    |                          |
//!        v                    | store                    v
//!  Exclusive (E) --Read seen--+-----------------> Shared (S)
//!        |                    |                       |
//!        | store, silently    v                       | store: Upgrade
//!        '-----------> Modified (M) <-----------------+
//!                         |   ^                       |
//!               Read seen |   | store: Upgrade        |
//!                         v   |                       |
//!                       Owned (O)                     |
//!
//!  any state --ReadExclusive, Upgrade or WriteBlock seen--> Invalid
//!  M, O --evict: WriteBack--> Invalid        S, E --evict, silently--> Invalid
//! ```
//!
//! A cache that sees a Read of its modified block supplies it and becomes the
//! *owner* (O): home memory stays out of date, and the owner serves all further
//! readers and writes the block back in the end. This is why a message that a
//! processor has written into a cachable queue reaches the network interface
//! from cache to cache, without a visit to memory.
//!
//! Clean copies never supply (home memory does): several sharers would have to
//! agree on one of them. A device's ReadOnce takes the data of the dirty copy
//! and changes nothing. An Upgrade may make an owner invalid without a transfer:
//! the upgrading sharer has the same data.
//!
//! On a bus whose owner refuses and pushes, no cache reads a dirty copy of another:
//! O does not occur, and the protocol is MESI.

/// The MOESI table.
pub static PROTOCOL: super::Protocol = protocol! {
    name: "MOESI";
    access {
           Load     | Store             | Evict;
        I: ask Read | ask ReadExclusive | drop;
        S: hit S    | ask Upgrade       | drop;
        E: hit E    | hit M             | drop;
        O: hit O    | ask Upgrade       | ask WriteBack;
        M: hit M    | hit M             | ask WriteBack;
    }
    fill {
                       alone | shared;
        Read:          E     | S;
        ReadExclusive: M     | never;
        Upgrade:       M     | never;
        WriteBack:     I     | I;
    }
    snoop {
           Read              | ReadExclusive | Upgrade | WriteBack | WriteBlock | ReadOnce;
        I: I                 | I             | I       | I         | I          | I;
        S: S shares          | I             | I       | S shares  | I          | S shares;
        E: S shares          | I             | never   | never     | I          | E shares;
        O: O supplies shares | I supplies    | I       | never     | I          | O supplies shares;
        M: O supplies shares | I supplies    | never   | never     | I          | M supplies shares;
    }
    push {
           Read | ReadExclusive | ReadOnce;
        M: S    | I             | S;
    }
    snarf {
        WriteBack | WriteBlock;
        S         | S;
    }
};
