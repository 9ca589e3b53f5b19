//! Directory coherence: caches that hear only of what concerns them.
//!
//! On a bus every cache sees every transaction. Here a block's *home* knows who has
//! it, and tells those whom a transaction concerns:
//!
//! ```text
//!                     request lane          forward lane
//!    requester ────────────────────► home ────────────────► cache that owns the block, or
//!    (cache or device) ◄──────────────┘                     caches that lose their copies
//!            ▲          response lane                          │
//!            └─────────────────────────────────────────────────┘ response lane
//!            └────────► home: done
//! ```
//!
//! **One transaction of a block at a time.** A home works on one, from its request to
//! the word of the requester that it is done, and lets the others wait. So what is
//! forwarded to a cache that waits itself concerns the copy that it had before, and that
//! copy answers by the stable table ([`crate::protocols`]), as on a bus. The home knows
//! all owners and never fewer sharers than there are.
//!
//! **No order is promised** between any two messages, of one lane or of several. It is
//! enough that each arrives, that responses are taken at any time, forwards without
//! waiting for a request, and requests without waiting for another one of the same kind:
//! a home keeps those of a busy block itself.
//!
//! **Replacement.** A clean copy goes silently. A dirty one goes home and is kept until
//! the home has acknowledged it, because another's request may have been forwarded to
//! this cache at the same time: then the kept bytes answer. A cache that has dropped a
//! clean copy of which it was the owner answers that it has nothing newer (the word
//! *clean*), and the home supplies the bytes. Likewise an exclusive copy: as on the buses, a
//! clean copy supplies none.
//!
//! **Tables.** `protocols/` has a file for each protocol ([`Table`]): what a home does
//! with a request by who has the block, what it does with an answer by what it waits
//! for, and what bytes on their way home answer. The stable states of a cache are those
//! of the snooping table of the same name. The transient states of the literature (D. J.
//! Sorin, M. D. Hill and D. A. Wood, "A Primer on Memory Consistency and Cache
//! Coherence", Chapter 8) are pairs: their IS, IM, SM, OM are a copy in I, S or O
//! with a request that is [asked](Stage::Asking) or [counted](Stage::Counting); MI, OI and
//! II are bytes on their way home that are [owned](Stage::Owning) or [lost](Stage::Lost).
//!
//! | module | what it holds |
//! | --- | --- |
//! | `message` | lanes, places and messages |
//! | `table` | what a table's cells say |
//! | `home` | what a home knows of a block, and what it does about a message |
//! | `requester` | a transaction under way at its requester, and answers to forwards |
//! | `blocks` | the bytes that are under way |
//! | `parts` | requesters and homes with their queues |
//! | `protocols` | one table a file |
//!
//! [`crate::interconnects::directory`] puts time, queues and agents around them; the model
//! checker runs the same code with messages that arrive in any order.

mod blocks;
mod home;
mod message;
mod parts;
pub mod protocols;
mod requester;
mod table;

pub use blocks::{Blocks, Slot};
pub use home::{Entry, HomePort, MOST_HOLDERS};
pub use message::{Body, Carried, Endpoint, HomeId, Hops, Lane, Message};
pub(crate) use parts::{DirectoryTransaction, Home, QueuedRequest, Requester, SavedHome};
pub use requester::{BlockRequest, Stage, answer};
pub use table::{
    Action, Actions, Arrival, BufferAction, Forwarded, Holders, HomeAction, HomeState, Reply, Table,
    Unexpected,
};
