//! MSI: the smallest write-invalidate protocol, three states.
//!
//! Source: the textbook protocol of D. E. Culler and J. P. Singh, "Parallel
//! Computer Architecture", Section 5.3.1, with an Upgrade in the place of a
//! second transfer when a sharer stores.
//!
//! ```text
//!                 load
//!  Invalid (I) ----------> Shared (S)
//!      |                    |     ^
//!      | store      Upgrade |     | Read seen (home is updated)
//!      '-----------------.  v     |
//!                        Modified (M)
//!
//!  any state --ReadExclusive, Upgrade or WriteBlock seen--> Invalid
//!  M --evict: WriteBack--> Invalid              S --evict, silently--> Invalid
//! ```
//!
//! There is no exclusive state, so the first store after a load always asks the
//! bus, even if no other cache has the block. That one transaction for each block
//! of private data is what MESI saves.

/// The MSI table.
pub static PROTOCOL: super::Protocol = protocol! {
    name: "MSI";
    access {
           Load     | Store             | Evict;
        I: ask Read | ask ReadExclusive | drop;
        S: hit S    | ask Upgrade       | drop;
        M: hit M    | hit M             | ask WriteBack;
    }
    fill {
                       alone | shared;
        Read:          S     | S;
        ReadExclusive: M     | never;
        Upgrade:       M     | never;
        WriteBack:     I     | never;
    }
    snoop {
           Read                           | ReadExclusive | Upgrade | WriteBack | WriteBlock | ReadOnce;
        I: I                              | I             | I       | I         | I          | I;
        S: S shares                       | I             | I       | never     | I          | S shares;
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
