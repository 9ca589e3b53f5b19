//! MSI with a directory: an owner has always changed the block.
//!
//! Source: D. J. Sorin, M. D. Hill and D. A. Wood, "A Primer on Memory Consistency and
//! Cache Coherence", Section 8.2, with a home that is blocked until the requester is
//! done.
//!
//! ```text
//!   read         I, S: request, data                      X: request, forward, data (and a copy home)
//!   write        I: request, data    S: request, withdraw, acknowledgement    X: request, forward, data
//!   write-back   X: request with the bytes, written back
//! ```
//!
//! The owner that supplies a reader sends the bytes home, too, so that all copies are
//! clean. Copy and Done may come in either order.

/// The MSI table.
pub static TABLE: super::Table = directory! {
    stable: msi;
    requests {
           Read                 | ReadExclusive                  | Upgrade                    | WriteBack                     | Overtaken         | WriteBlock                       | ReadOnce;
        I: Sharing gives_shared | Granting gives_alone           | never                      | never                         | Rest acknowledges | Replacing takes permits           | Lending gives_shared;
        S: Sharing gives_shared | Granting withdraws gives_alone | Granting withdraws permits | never                         | Rest acknowledges | Replacing takes withdraws permits | Lending gives_shared;
        X: Reading forwards     | Passing forwards               | never                      | Rest takes acknowledges parts | Rest acknowledges | Replacing takes withdraws permits | Lending forwards;
    }
    responses {
                   Clean | Copy                  | Done;
        Sharing:   never | never                 | Rest joins;
        Granting:  never | never                 | Rest owns;
        Reading:   never | Sharing takes demotes | Copying;
        Copying:   never | Rest takes demotes joins | never;
        Passing:   never | never                 | Rest owns;
        Replacing: never | never                 | Rest empties;
        Lending:   never | never                 | Rest;
    }
    written_back {
                Read                       | ReadExclusive | Upgrade | WriteBlock | ReadOnce;
        Owning: Lost supplies updates_home | Lost supplies | never   | Lost       | Owning supplies;
        Lost:   never                      | never         | Lost    | Lost       | never;
    }
};
