//! What the hardware's faults say.

/// Why the hardware has refused something (`hardware/cache/formats.py`).
pub(super) fn refusal(fault: u64) -> &'static str {
    match fault {
        1 => "nothing is there",
        2 => "the line is the cache's: nobody has allocated it",
        3 => "the line belongs to another process, which shares it with nobody else",
        4 => "there is no such role",
        5 => "a command's word is stored twice, or while the command waits",
        6 => "there is no such command, or not of so many bytes",
        7 => "what is there is accessed by whole words",
        8 => "the queue has no shape, or the item is longer than its shape says",
        9 => "the queue's head cannot go there, its tail cannot be stored, or its items not be loaded so",
        10 => "the queue has no room",
        11 => "the table of regions refuses an address of a command or a notification",
        12 => "a copy is not of whole aligned words",
        13 => "a register can only be loaded",
        14 => "no way of the set is left to the cache",
        _ => "the hardware says an unknown fault",
    }
}
