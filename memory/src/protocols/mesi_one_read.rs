//! MESI on a bus with one kind of read: a dirty block that a device reads becomes clean too.
//!
//! Source: M. S. Papamarcos and J. H. Patel, "A Low-Overhead Coherence Solution
//! for Multiprocessors with Private Cache Memories", ISCA 1984, whose bus has one
//! read. The host of the edt study follows MESI (Table 1), and there "the cache blocks in the host
//! processor [...] transition to the S state" when the network interface has read them
//! (Won, Lee, Park and Kim, Section 4). Its cache-coherent DMA with intervention is "based on
//! using a cache coherent bus" (Section 2), on which a cache does not see whether the
//! reader keeps a copy.
//!
//! ```text
//!  Exclusive (E) --Read or ReadOnce seen--> Shared (S)
//!  Modified (M)  --Read or ReadOnce seen--> Shared (S)      (home is updated)
//! ```
//!
//! All else is as in `mesi.rs`, whose owner stays modified when a device reads its block and
//! keeps none: there the next store needs no transaction, here it asks for an Upgrade.

/// The table of MESI with one kind of read.
pub static PROTOCOL: super::Protocol = protocol! {
    name: "MESI-OneRead";
    access {
           Load     | Store             | Evict;
        I: ask Read | ask ReadExclusive | drop;
        S: hit S    | ask Upgrade       | drop;
        E: hit E    | hit M             | drop;
        M: hit M    | hit M             | ask WriteBack;
    }
    fill {
                       alone | shared;
        Read:          E     | S;
        ReadExclusive: M     | never;
        Upgrade:       M     | never;
        WriteBack:     I     | never;
    }
    snoop {
           Read                           | ReadExclusive | Upgrade | WriteBack | WriteBlock | ReadOnce;
        I: I                              | I             | I       | I         | I          | I;
        S: S shares                       | I             | I       | never     | I          | S shares;
        E: S shares                       | I             | never   | never     | I          | S shares;
        M: S supplies shares updates_home | I supplies    | never   | never     | I          | S supplies shares updates_home;
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
