//! MESI: a dirty block that another cache reads becomes clean.
//!
//! Source: M. S. Papamarcos and J. H. Patel, "A Low-Overhead Coherence Solution
//! for Multiprocessors with Private Cache Memories", ISCA 1984 (the Illinois
//! protocol), without its transfers of clean blocks from cache to cache. A device that
//! reads a block and keeps none leaves its owner as it is; `mesi_one_read.rs` is of a bus
//! that does not tell such a read from others.
//!
//! ```text
//!              load, no other copy              load, other copies
//!        .----------------- Invalid (I) -----------------.
//!        |                    |                          |
//!        v                    | store                    v
//!  Exclusive (E) --Read seen--+-----------------> Shared (S)
//!        |                    |                     ^    |
//!        | store, silently    v                     |    |
//!        '-----------> Modified (M) ---Read seen----'    |
//!                             ^   (home is updated)      |
//!                             '------store: Upgrade------'
//!
//!  any state --ReadExclusive, Upgrade or WriteBlock seen--> Invalid
//!  M --evict: WriteBack--> Invalid           S, E --evict, silently--> Invalid
//! ```
//!
//! Compared with MOESI there is no owner: the cache that supplies a modified
//! block to a reader updates home memory in the same transaction, and all
//! copies are clean from then on. Messages that go through a cachable queue
//! therefore cost a write to memory each, but the queue's blocks can be evicted
//! silently afterwards.

/// The MESI table.
pub static PROTOCOL: super::Protocol = protocol! {
    name: "MESI";
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
        E: S shares                       | I             | never   | never     | I          | E shares;
        M: S supplies shares updates_home | I supplies    | never   | never     | I          | M supplies shares;
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
