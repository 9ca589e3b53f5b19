//! MESI with a directory: a reader that is alone may write without asking again.
//!
//! Source: the Primer's Section 8.3, with clean copies that go silently, as in
//! J. Laudon and D. Lenoski, "The SGI Origin: A ccNUMA Highly Scalable Server", ISCA 1997.
//!
//! ```text
//!   read, nobody has it       request, data: exclusive
//!   read, the owner changed   request, forward, data (and a copy home)
//!   read, the owner did not   request, forward, clean, data
//! ```
//!
//! The home cannot know whether an owner has changed the block, or still has it. One
//! that has nothing newer says so (Clean), and the home supplies, which takes one message
//! more than an owner's bytes. An owner that asks for the bytes itself has dropped its copy.

/// The MESI table.
pub static TABLE: super::Table = directory! {
    stable: mesi;
    requests {
           Read                 | ReadExclusive                  | Upgrade                    | WriteBack                     | Overtaken         | WriteBlock                       | ReadOnce;
        I: Granting gives_alone | Granting gives_alone           | never                      | never                         | Rest acknowledges | Replacing takes permits           | Lending gives_shared;
        S: Sharing gives_shared | Granting withdraws gives_alone | Granting withdraws permits | never                         | Rest acknowledges | Replacing takes withdraws permits | Lending gives_shared;
        X: Reading forwards     | Passing forwards               | never                      | Rest takes acknowledges parts | Rest acknowledges | Replacing takes withdraws permits | Lending forwards;
    }
    responses {
                   Clean                        | Copy                     | Done;
        Sharing:   never                        | never                    | Rest joins;
        Granting:  never                        | never                    | Rest owns;
        Reading:   Sharing gives_shared demotes | Sharing takes demotes    | Copying;
        Copying:   never                        | Rest takes demotes joins | never;
        Passing:   Granting gives_alone         | never                    | Rest owns;
        Replacing: never                        | never                    | Rest empties;
        Lending:   Lending gives_shared         | never                    | Rest;
    }
    written_back {
                Read                       | ReadExclusive | Upgrade | WriteBlock | ReadOnce;
        Owning: Lost supplies updates_home | Lost supplies | never   | Lost       | Owning supplies;
        Lost:   never                      | never         | Lost    | Lost       | never;
    }
};
