//! MOESI with a directory: a changed block is shared by its owner, and memory keeps the
//! old bytes.
//!
//! Source: the Primer's Section 8.4, with the exclusive state of its Section 8.3; clean
//! copies go silently.
//!
//! ```text
//!   read, the owner changed   request, forward, data: the owner keeps it
//!   write by a sharer         request; withdraw to owner and sharers; permission, acknowledgements
//!   write by another          request; forward to the owner, withdraw to the sharers; data, acknowledgements
//! ```
//!
//! The home learns from the reader's Done alone that the owner has supplied, and keeps
//! it as the owner. An upgrade takes the owner's copy without a transfer: the upgrading
//! sharer has the same bytes.

/// The MOESI table.
pub static TABLE: super::Table = directory! {
    stable: moesi;
    requests {
           Read                 | ReadExclusive                  | Upgrade                    | WriteBack                     | Overtaken         | WriteBlock                        | ReadOnce;
        I: Granting gives_alone | Granting gives_alone           | never                      | never                         | Rest acknowledges | Replacing takes permits           | Lending gives_shared;
        S: Sharing gives_shared | Granting withdraws gives_alone | Granting withdraws permits | never                         | Rest acknowledges | Replacing takes withdraws permits | Lending gives_shared;
        X: Reading forwards     | Passing forwards               | never                      | Rest takes acknowledges parts | Rest acknowledges | Replacing takes withdraws permits | Lending forwards;
        O: Reading forwards     | Passing forwards withdraws     | Granting withdraws permits | Rest takes acknowledges parts | Rest acknowledges | Replacing takes withdraws permits | Lending forwards;
    }
    responses {
                   Clean                        | Copy  | Done;
        Sharing:   never                        | never | Rest joins;
        Granting:  never                        | never | Rest owns;
        Reading:   Sharing gives_shared demotes | never | Rest joins;
        Passing:   Granting gives_alone         | never | Rest owns;
        Replacing: never                        | never | Rest empties;
        Lending:   Lending gives_shared         | never | Rest;
    }
    written_back {
                Read            | ReadExclusive | Upgrade | WriteBlock | ReadOnce;
        Owning: Owning supplies | Lost supplies | Lost    | Lost       | Owning supplies;
        Lost:   never           | never         | never   | never      | never;
    }
};
