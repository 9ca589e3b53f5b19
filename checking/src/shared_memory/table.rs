//! The table of shared memory's invalidation protocol, read from the file that
//! the guest library includes (guest/shared_memory/protocols/invalidation.def,
//! whose comment says what states, events and actions mean).
//!
//! The file is C: comments, lines for the preprocessor, and lines
//! `STATE(side, name, tag, rest)` and `ROW(state, event, next, actions...)`.
//! Everything else is an error that names its line.

use std::fmt;
use std::str::FromStr;

/// Names of the protocol that are written as in the file.
macro_rules! names {
    ($(#[$documentation:meta])* $what:literal $name:ident { $($variant:ident = $word:literal,)+ }) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs)]
        pub enum $name { $($variant,)+ }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant,)+];

            /// The name in the file.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|name| name.word() == word).ok_or_else(|| {
                    let allowed: Vec<&str> = Self::ALL.iter().map(|name| name.word()).collect();
                    format!("'{word}' is no {}; allowed are {}", $what, allowed.join(", "))
                })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

names! {
    /// What a node is for the block.
    "side" Side { Cache = "CACHE", Home = "HOME", }
}

names! {
    /// What a node's own accesses of its copy may be.
    "tag" Tag { None = "NONE", Read = "READ", Write = "WRITE", }
}

names! {
    /// Whether a block waits for an answer.
    "rest" Rest { Rests = "RESTS", Waits = "WAITS", }
}

names! {
    /// What happens to a block: an access, or a message that arrives.
    "event" Event {
        Load = "LOAD",
        Store = "STORE",
        ReadRequest = "READ_REQUEST",
        WriteRequest = "WRITE_REQUEST",
        Upgrade = "UPGRADE",
        LoneUpgrade = "LONE_UPGRADE",
        Acknowledgement = "ACKNOWLEDGEMENT",
        LastAcknowledgement = "LAST_ACKNOWLEDGEMENT",
        WriteBack = "WRITE_BACK",
        ReadData = "READ_DATA",
        WriteData = "WRITE_DATA",
        Permission = "PERMISSION",
        Invalidate = "INVALIDATE",
        Downgrade = "DOWNGRADE",
        Recall = "RECALL",
    }
}

names! {
    /// What is done about it.
    "action" Action {
        SendReadRequest = "SEND_READ_REQUEST",
        SendWriteRequest = "SEND_WRITE_REQUEST",
        SendAcknowledgement = "SEND_ACKNOWLEDGEMENT",
        SendWriteBack = "SEND_WRITE_BACK",
        SendReadData = "SEND_READ_DATA",
        SendWriteData = "SEND_WRITE_DATA",
        SendPermission = "SEND_PERMISSION",
        SendInvalidations = "SEND_INVALIDATIONS",
        SendDowngrade = "SEND_DOWNGRADE",
        SendRecall = "SEND_RECALL",
        TakeData = "TAKE_DATA",
        AddCopy = "ADD_COPY",
        RemoveCopy = "REMOVE_COPY",
        Hold = "HOLD",
        RepeatHeld = "REPEAT_HELD",
    }
}

impl Event {
    /// The side at which it happens; none: at both.
    pub fn side(self) -> Option<Side> {
        match self {
            Event::Load | Event::Store => None,
            Event::ReadData
            | Event::WriteData
            | Event::Permission
            | Event::Invalidate
            | Event::Downgrade
            | Event::Recall => Some(Side::Cache),
            _ => Some(Side::Home),
        }
    }
}

impl Action {
    /// The side that can do it; none: both.
    pub fn side(self) -> Option<Side> {
        match self {
            Action::TakeData => None,
            Action::SendReadRequest
            | Action::SendWriteRequest
            | Action::SendAcknowledgement
            | Action::SendWriteBack
            | Action::Hold
            | Action::RepeatHeld => Some(Side::Cache),
            _ => Some(Side::Home),
        }
    }
}

/// The place of a state in [`Table::states`].
pub type StateNumber = u8;

/// A declared state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// Its name.
    pub name: String,
    /// Of which side.
    pub side: Side,
    /// The tag of the node's copy.
    pub tag: Tag,
    /// Whether the block waits.
    pub rest: Rest,
}

/// What is done about an event in a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// In which state.
    pub state: StateNumber,
    /// About which event.
    pub event: Event,
    /// The state afterwards.
    pub next: StateNumber,
    /// What is done before.
    pub actions: Vec<Action>,
}

/// The protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// The states; a side begins in the first of its own.
    pub states: Vec<State>,
    /// The rows, at most one for a state and an event.
    pub rows: Vec<Row>,
}

/// Why a file is no table.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TableError {
    /// Where.
    pub line: usize,
    /// What is wrong there.
    pub problem: String,
}

/// The most actions of a row, as in the guest library.
const ACTIONS_LIMIT: usize = 4;

impl Table {
    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<Table, TableError> {
        let mut table = Table { states: Vec::new(), rows: Vec::new() };
        for (line, code) in without_comments(text).lines().enumerate() {
            let code = code.trim();
            if !code.is_empty() && !code.starts_with('#') {
                table.add(code).map_err(|problem| TableError { line: line + 1, problem })?;
            }
        }
        let has = |side| table.states.iter().any(|state| state.side == side);
        if !has(Side::Cache) || !has(Side::Home) {
            let problem = "the file ends without states of both sides, CACHE and HOME".into();
            return Err(TableError { line: text.lines().count(), problem });
        }
        Ok(table)
    }

    /// The row for an event in a state, if the table has one.
    pub fn row(&self, state: StateNumber, event: Event) -> Option<&Row> {
        self.rows.iter().find(|row| row.state == state && row.event == event)
    }

    /// The state in which a side begins.
    pub fn first_state(&self, side: Side) -> StateNumber {
        self.states.iter().position(|state| state.side == side).expect("both sides have states") as u8
    }

    /// The table without the row that `name` (STATE:EVENT) names.
    pub fn without(&self, name: &str) -> Result<Table, String> {
        let named = |row: &Row| self.row_name(row) == name;
        if !self.rows.iter().any(named) {
            let names: Vec<String> = self.rows.iter().map(|row| self.row_name(row)).collect();
            return Err(format!("there is no row '{name}' to leave out; the rows are {}", names.join(", ")));
        }
        let rows = self.rows.iter().filter(|row| !named(row)).cloned().collect();
        Ok(Table { states: self.states.clone(), rows })
    }

    /// STATE:EVENT.
    pub fn row_name(&self, row: &Row) -> String {
        format!("{}:{}", self.states[row.state as usize].name, row.event)
    }

    fn add(&mut self, code: &str) -> Result<(), String> {
        let (kind, words) = call(code).ok_or_else(|| {
            format!(
                "'{code}' is neither STATE(side, name, tag, rest) nor ROW(state, event, next, actions...)"
            )
        })?;
        match (kind, words.as_slice()) {
            ("STATE", &[side, name, tag, rest]) => self.add_state(side, name, tag, rest),
            ("ROW", &[state, event, next, ref actions @ ..]) => self.add_row(state, event, next, actions),
            _ => Err(format!("{kind} with {} words; STATE takes 4, ROW at least 3", words.len())),
        }
    }

    fn add_state(&mut self, side: &str, name: &str, tag: &str, rest: &str) -> Result<(), String> {
        if self.find(name).is_ok() {
            return Err(format!("the state {name} is declared twice"));
        }
        let state = State { name: name.into(), side: side.parse()?, tag: tag.parse()?, rest: rest.parse()? };
        self.states.push(state);
        Ok(())
    }

    fn add_row(&mut self, state: &str, event: &str, next: &str, actions: &[&str]) -> Result<(), String> {
        let (number, next) = (self.find(state)?, self.find(next)?);
        let event: Event = event.parse()?;
        let actions: Vec<Action> = actions.iter().map(|word| word.parse()).collect::<Result<_, _>>()?;
        let side = self.states[number as usize].side;
        if actions.is_empty() || actions.len() > ACTIONS_LIMIT {
            return Err(format!("a row has 1 to {ACTIONS_LIMIT} actions, not {}", actions.len()));
        }
        if self.states[next as usize].side != side {
            return Err(format!("a state of side {side} cannot be followed by one of the other side"));
        }
        if event.side().is_some_and(|of| of != side) {
            return Err(format!("the event {event} does not happen at side {side}"));
        }
        if let Some(action) = actions.iter().find(|action| action.side().is_some_and(|of| of != side)) {
            return Err(format!("side {side} cannot do {action}"));
        }
        if self.row(number, event).is_some() {
            return Err(format!("there is a row for {event} in {state} already"));
        }
        self.rows.push(Row { state: number, event, next, actions });
        Ok(())
    }

    fn find(&self, name: &str) -> Result<StateNumber, String> {
        let position = self.states.iter().position(|state| state.name == name);
        position
            .map(|place| place as StateNumber)
            .ok_or_else(|| format!("the state '{name}' is not declared"))
    }
}

/// The text with blanks for comments; lines stay where they are.
fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut code = String::new();
    while let Some((before, comment)) = rest.split_once("/*") {
        let (inside, after) = comment.split_once("*/").unwrap_or((comment, ""));
        code.push_str(before);
        code.extend(inside.matches('\n'));
        rest = after;
    }
    code + rest
}

/// `NAME(word, word, ...)` taken apart.
fn call(code: &str) -> Option<(&str, Vec<&str>)> {
    let (name, words) = code.strip_suffix(')')?.split_once('(')?;
    let words: Vec<&str> = words.split(',').map(str::trim).collect();
    let is_name = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let whole = matches!(name, "STATE" | "ROW") && words.iter().all(|word| is_name(word));
    whole.then_some((name, words))
}
