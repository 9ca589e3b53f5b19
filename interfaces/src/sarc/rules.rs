//! What the hardware keeps to, so that checkers can leave it out and see what goes wrong.

/// A rule of the hardware.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// A command is launched when all its words are there.
    LaunchingWhenComplete,
    /// A command that waits for the job list is pending still.
    PendingWhileQueued,
    /// A counter that has come to zero begins anew.
    Resetting,
    /// It tells all its addresses.
    NotifyingAll,
    /// A line that gets a role has no tag of the one before.
    ClearingTheTag,
    /// Head and tail of a queue count to twice its items.
    CountingTwiceRound,
    /// An item goes to the reader that has waited longest.
    Matching,
    /// A write is acknowledged when it is there.
    AcknowledgingWhatIsWritten,
    /// An acknowledgement says how many bytes.
    AcknowledgingSizes,
    /// The first level loses a line of scratchpad that changes below it.
    ClearingTheFirstLevel,
}

impl Rule {
    /// All of them, by the names that users write.
    pub const ALL: [(Rule, &'static str); 10] = [
        (Rule::LaunchingWhenComplete, "launching-when-complete"),
        (Rule::PendingWhileQueued, "pending-while-queued"),
        (Rule::Resetting, "resetting"),
        (Rule::NotifyingAll, "notifying-all"),
        (Rule::ClearingTheTag, "clearing-the-tag"),
        (Rule::CountingTwiceRound, "counting-twice-round"),
        (Rule::Matching, "matching"),
        (Rule::AcknowledgingWhatIsWritten, "acknowledging-what-is-written"),
        (Rule::AcknowledgingSizes, "acknowledging-sizes"),
        (Rule::ClearingTheFirstLevel, "clearing-the-first-level"),
    ];
}
