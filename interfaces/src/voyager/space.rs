//! What the firmware sees of the host's bus: captured accesses, approvals, and the
//! permissions of the snooped space (Section 4.1).
//!
//! ```text
//!   store to a pointer window ── captured, and over
//!   load of serviced space ──── captured once ── tried again ... ── approved ── the value, and over
//!   store that waits ────────── captured once ── tried again ... ── approved ── to SRAM, captured, and over
//!   access to a snooped line ── captured once ── tried again ... ── permitted ─ carried
//! ```
//!
//! An access that waits has neither the bus nor a place in the capture queue once that was
//! read, so that the firmware can use both while it waits: what the bus carries is the
//! attempt, which is refused, and the bus goes to others between two of them.

use std::collections::VecDeque;

use narthex_memory::Kind;
use serde::{Deserialize, Serialize};

use super::layout::Direction;
use super::registers::{APPROVE_TO_SRAM, NOTHING, captured, permission};

/// Of an offset: a receive queue's pointer window.
const RECEIVE: u64 = 1 << 20;
/// Of an offset: serviced space proper.
const SERVICED: u64 = 1 << 21;

/// The offset of a pointer window's word.
pub fn window_offset(direction: Direction, logical: u8, offset: u64) -> u64 {
    (u64::from(direction == Direction::Receive) * RECEIVE) | (u64::from(logical) << 12) | offset
}

/// The offset of a doubleword of serviced space.
pub fn serviced_offset(process: u8, offset: u64) -> u64 {
    SERVICED | u64::from(process) << 12 | offset
}

/// Something that a model checker leaves out to show that it is needed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Rule {
    /// An access that waits is captured once.
    CaptureOnce,
    /// An approval is for the access that it names.
    MatchAddress,
    /// An approval is gone when it has been used.
    UseOnce,
}

impl Rule {
    /// All of them, by the names that users write.
    pub const ALL: [(Rule, &'static str); 3] = [
        (Rule::CaptureOnce, "capturing-once"),
        (Rule::MatchAddress, "matching-addresses"),
        (Rule::UseOnce, "using-once"),
    ];
}

/// An access to serviced space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Whose page it is.
    pub process: u8,
    /// Its place, as captured.
    pub offset: u64,
    /// What is stored; none for a load.
    pub value: Option<u64>,
}

/// The bus unit's view of the serviced and the snooped space.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Space {
    captures: VecDeque<u64>,
    captures_limit: usize,
    /// Captured accesses that wait for an approval or a permission.
    waiting: Vec<u64>,
    approvals: VecDeque<(u64, u64)>,
    approvals_limit: usize,
    /// Processes whose stores wait for an approval, by bit.
    pub approved_stores: u64,
    /// Of each line of the snooped space.
    permissions: Vec<u8>,
    left_out: Option<Rule>,
}

impl Space {
    /// A space in which nothing was captured, with so many lines that all may write.
    pub fn new(captures: u32, approvals: u32, lines: u64) -> Self {
        Space {
            captures: VecDeque::new(),
            captures_limit: captures as usize,
            waiting: Vec::new(),
            approvals: VecDeque::new(),
            approvals_limit: approvals as usize,
            approved_stores: 0,
            permissions: vec![permission::WRITE as u8; lines as usize],
            left_out: None,
        }
    }

    /// The same without a rule.
    pub fn without(self, rule: Rule) -> Self {
        Space { left_out: Some(rule), ..self }
    }

    /// Whether no more accesses can be captured.
    pub fn is_full(&self) -> bool {
        self.captures.len() >= self.captures_limit
    }

    /// Whether the capture queue has an entry.
    pub fn has_capture(&self) -> bool {
        !self.captures.is_empty()
    }

    /// Entries of the capture queue, and how many there may be.
    pub fn used(&self) -> (u64, u64) {
        (self.captures.len() as u64, self.captures_limit as u64)
    }

    /// The oldest captured access, which is gone then.
    pub fn take_capture(&mut self) -> u64 {
        self.captures.pop_front().unwrap_or(NOTHING)
    }

    /// A store is over, and the firmware learns of it. A value beyond 32 bits, which no pointer
    /// has, shows as the largest.
    pub fn capture_store(&mut self, offset: u64, value: u64) {
        self.push(captured::STORE, offset, value);
    }

    fn push(&mut self, kind: u64, offset: u64, value: u64) {
        self.captures.push_back(kind << 56 | offset << 32 | value.min(u32::MAX.into()));
    }

    /// An access is captured unless it waits already, or there is no room.
    fn capture_waiting(&mut self, kind: u64, offset: u64, value: u64) {
        let entry = kind << 56 | offset;
        let is_new = !self.waiting.contains(&entry) || self.left_out == Some(Rule::CaptureOnce);
        if is_new && !self.is_full() {
            self.waiting.push(entry);
            self.push(kind, offset, value);
        }
    }

    /// Whether an access to serviced space is refused now: it is captured then.
    pub fn refuses(&mut self, access: Access) -> bool {
        let Access { process, offset, value } = access;
        let waits = value.is_none() || self.approved_stores >> process & 1 != 0;
        if !waits {
            return self.is_full();
        }
        let Some(place) = self.approval(offset) else {
            let kind = if value.is_some() { captured::WAITING_STORE } else { captured::LOAD };
            self.capture_waiting(kind, offset, value.unwrap_or(0));
            return true;
        };
        let is_captured_again = value.is_some() && self.approvals[place].1 & APPROVE_TO_SRAM != 0;
        is_captured_again && self.is_full()
    }

    /// A store is over that was approved with a destination; whether its bytes are there.
    pub fn capture_carried(&mut self, offset: u64, is_there: bool) {
        let nowhere = if is_there { 0 } else { captured::CARRIED_NOWHERE };
        self.push(captured::WAITING_STORE, offset | captured::CARRIED | nowhere, 0);
    }

    fn approval(&self, offset: u64) -> Option<usize> {
        let any = self.left_out == Some(Rule::MatchAddress);
        self.approvals.iter().position(|&(approved, _)| approved == offset || any)
    }

    /// An access to serviced space is carried: the value of its approval, if it needed one.
    pub fn carry(&mut self, access: Access) -> u64 {
        let Access { process, offset, value } = access;
        if let (Some(value), 0) = (value, self.approved_stores >> process & 1) {
            self.capture_store(offset, value);
            return 0;
        }
        let kind = if value.is_some() { captured::WAITING_STORE } else { captured::LOAD };
        self.waiting.retain(|&waiting| waiting != (kind << 56 | offset));
        let place = self.approval(offset);
        let stays = self.left_out == Some(Rule::UseOnce);
        match place {
            Some(place) if stays => self.approvals[place].1,
            Some(place) => self.approvals.remove(place).map_or(0, |(_, value)| value),
            None => 0,
        }
    }

    /// The firmware approves an access.
    ///
    /// # Errors
    /// If all approval registers are in use.
    pub fn approve(&mut self, offset: u64, value: u64) -> Result<(), String> {
        if self.approvals.len() == self.approvals_limit {
            return Err(format!(
                "an approval while all {} approval registers are in use",
                self.approvals_limit
            ));
        }
        self.approvals.push_back((offset, value));
        Ok(())
    }

    /// Whether a block transaction on a snooped line is refused now: it is captured then.
    pub fn refuses_block(&mut self, line: u64, kind: Kind) -> bool {
        let needed = match kind {
            Kind::Read | Kind::ReadOnce => permission::READ,
            Kind::WriteBack => permission::NONE,
            _ => permission::WRITE,
        };
        let is_allowed = u64::from(self.permissions[line as usize]) >= needed;
        if !is_allowed {
            let reads = needed == permission::READ;
            let kind = if reads { captured::SNOOPED_READ } else { captured::SNOOPED_WRITE };
            self.capture_waiting(kind, line, 0);
        }
        !is_allowed
    }

    /// Whether a processor that reads a snooped line gets it shared: one that may not write it must not
    /// have a copy which it could write without the bus.
    pub fn is_read_shared(&self, line: u64) -> bool {
        u64::from(self.permissions[line as usize]) < permission::WRITE
    }

    /// Changes the permission of lines; false if there are none such.
    pub fn permit(&mut self, first: u64, lines: u64, permission: u64) -> bool {
        let end = first.saturating_add(lines) as usize;
        let Some(permissions) = self.permissions.get_mut(first as usize..end) else { return false };
        permissions.fill(permission as u8);
        let is_snooped = |kind| matches!(kind, captured::SNOOPED_READ | captured::SNOOPED_WRITE);
        self.waiting.retain(|entry| {
            let (kind, line) = (entry >> 56, entry & 0xff_ffff);
            !(is_snooped(kind) && (first..first + lines).contains(&line))
        });
        true
    }

    /// Accesses that wait for the firmware, in words.
    pub fn describe(&self) -> Option<String> {
        let count = self.waiting.len();
        (count > 0).then(|| format!("accesses that wait for the firmware's approval or permission: {count}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(offset: u64) -> Access {
        Access { process: 0, offset, value: None }
    }

    #[test]
    fn a_load_is_captured_once_and_gets_what_was_approved() {
        let mut space = Space::new(2, 1, 4);
        assert!((0..3).all(|_| space.refuses(load(8))));
        assert_eq!((space.take_capture(), space.take_capture()), (captured::LOAD << 56 | 8 << 32, NOTHING));
        space.approve(8, 77).expect("a free register");
        assert!(space.approve(16, 1).unwrap_err().contains("all 1 approval registers"));
        assert!(space.refuses(load(16)), "it was not approved");
        assert!(!space.refuses(load(8)));
        assert_eq!(space.carry(load(8)), 77);
        assert!(space.refuses(load(8)), "the next one is another access");
        assert_eq!(space.used(), (2, 2));
    }

    #[test]
    fn a_store_is_posted_unless_its_process_waits() {
        let mut space = Space::new(1, 1, 4);
        let store = Access { process: 1, offset: 24, value: Some(5) };
        assert!(!space.refuses(store));
        space.carry(store);
        assert!(space.refuses(store), "the capture queue is full");
        assert_eq!(space.take_capture(), captured::STORE << 56 | 24 << 32 | 5);
        space.approved_stores = 1 << 1;
        assert!(space.refuses(store) && space.refuses(store));
        assert_eq!(space.take_capture(), captured::WAITING_STORE << 56 | 24 << 32 | 5);
        space.approve(24, 0).expect("a free register");
        assert!(!space.refuses(store));
        space.carry(store);
        assert!(space.refuses(store));
    }

    #[test]
    fn a_snooped_line_lets_pass_what_its_permission_allows() {
        let mut space = Space::new(4, 1, 4);
        let refused = |space: &mut Space| {
            [Kind::Read, Kind::ReadOnce, Kind::ReadExclusive, Kind::Upgrade, Kind::WriteBack]
                .map(|kind| space.refuses_block(2, kind))
        };
        assert_eq!(refused(&mut space), [false; 5]);
        assert!(space.permit(2, 1, permission::READ));
        assert_eq!(refused(&mut space), [false, false, true, true, false]);
        assert_eq!([2, 3].map(|line| space.is_read_shared(line)), [true, false]);
        assert!(space.permit(0, 4, permission::NONE));
        assert_eq!(refused(&mut space), [true, true, true, true, false]);
        let entry = |kind: u64| kind << 56 | 2 << 32;
        let captures: Vec<u64> =
            std::iter::from_fn(|| Some(space.take_capture()).filter(|&entry| entry != NOTHING)).collect();
        assert_eq!(
            captures,
            [captured::SNOOPED_WRITE, captured::SNOOPED_READ, captured::SNOOPED_WRITE].map(entry)
        );
        assert!(!space.permit(3, 2, permission::READ));
    }
}
