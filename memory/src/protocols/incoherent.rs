//! Incoherent: no cache hears of any other one.
//!
//! Source: the prototype of S. Kavadias, M. Katevenis, M. Zampetakis and D. S. Nikolopoulos,
//! "Cache-Integrated Network Interfaces: Flexible On-Chip Communication and Synchronization
//! for Large-Scale CMPs" (sarc), whose tiles have caches that nothing keeps coherent.
//!
//! ```text
//!  Invalid (I) --load--> Exclusive (E) --store, silently--> Modified (M)
//!       '-------------------store-------------------------------^
//!
//!  M --evict: WriteBack--> Invalid                 E --evict, silently--> Invalid
//! ```
//!
//! A cache takes each block as if it were the only one, so that no store ever asks for
//! permission. Several have blocks of one address then, each with bytes of its own, and the
//! one that goes home last is what memory has: software writes blocks back and drops
//! them (`cbo.clean`, `cbo.flush`) where it hands bytes to another processor.
//!
//! Nothing is snooped, so the tables for it are empty. The state S is that of blocks in a
//! first level above a second one.

/// The table of caches that nothing keeps coherent.
pub static PROTOCOL: super::Protocol = protocol! {
    name: "Incoherent";
    access {
           Load     | Store             | Evict;
        I: ask Read | ask ReadExclusive | drop;
        S: hit S    | ask Upgrade       | drop;
        E: hit E    | hit M             | drop;
        M: hit M    | hit M             | ask WriteBack;
    }
    fill {
                       alone | shared;
        Read:          E     | never;
        ReadExclusive: M     | never;
        Upgrade:       never | never;
        WriteBack:     I     | never;
    }
    snoop {
        Read | ReadExclusive | Upgrade | WriteBack | WriteBlock | ReadOnce;
    }
    push {
        Read | ReadExclusive | ReadOnce;
    }
    snarf {
        WriteBack | WriteBlock;
        never     | never;
    }
};
