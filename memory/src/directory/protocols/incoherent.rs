//! Homes that know of nobody, under caches that nothing keeps coherent: plain memory.
//!
//! ```text
//!   read, write  request, data
//!   write-back   request with the bytes, written back
//! ```
//!
//! A home never waits for anything, so no requester tells it that it is done. What a cache
//! returns is taken, whoever else has a copy; see `crate::protocols::incoherent`.

/// The table of homes that know of nobody.
pub static TABLE: super::Table = directory! {
    stable: incoherent;
    requests {
           Read             | ReadExclusive    | Upgrade | WriteBack | Overtaken               | WriteBlock         | ReadOnce;
        I: Rest gives_alone | Rest gives_alone | never   | never     | Rest takes acknowledges | Rest takes permits | Rest gives_alone;
    }
    responses {
        Clean | Copy | Done;
    }
    written_back {
                Read  | ReadExclusive | Upgrade | WriteBlock | ReadOnce;
        Owning: never | never         | never   | never      | never;
        Lost:   never | never         | never   | never      | never;
    }
};
