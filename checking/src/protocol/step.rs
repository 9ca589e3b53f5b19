//! What one event does to the world: the rules of the bus, with the table under
//! test as the only guide of the caches.
//!
//! The search runs a [`Step`] for every event of every world and wants only the
//! next world. Where it finds a violation, the way there is run again, and the
//! same code tells the story in words.

use std::fmt;

use narthex_memory::protocols::{Access, AccessAction, Protocol, Request, Snoop, SnoopAction, State};

use super::world::{Cache, Event, Line, NO_DATA, Version, World};
use super::{LOADS_LAST, NO_DEADLOCK, NO_NEVER, ONE_SUPPLIER, READS_ONCE_LAST, SHARED_LINE, STORES_LAST};
use crate::explore::Violation;

/// One event as it happens: the world it changes and, if it is
/// asked for, the story in words.
pub(super) struct Step<'a> {
    pub protocol: &'a Protocol,
    pub world: World,
    pub story: Option<&'a mut String>,
}

impl Step<'_> {
    /// The world after `event`, or the property that it violates.
    pub fn after(mut self, event: Event) -> Result<World, Violation> {
        self.run(event)?;
        self.world.invariants()?;
        Ok(self.world)
    }

    fn say(&mut self, words: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.push_str(&words());
        }
    }

    fn line(&mut self, cache: Cache) -> &mut Line {
        &mut self.world.lines[cache.0 as usize]
    }

    fn run(&mut self, event: Event) -> Result<(), Violation> {
        match event {
            Event::Access(cache, access) => self.access(cache, access)?,
            Event::Grant(cache) => self.grant(cache)?,
            Event::Push => self.push()?,
            Event::Forget(cache) => {
                self.say(|| format!("another block takes the line that {cache} had for it"));
                self.line(cache).lost = false;
            }
            Event::WriteBlock => self.write_block()?,
            Event::ReadOnce => self.read_once()?,
        }
        Ok(())
    }

    /// A cache's owner loads, stores or evicts.
    fn access(&mut self, cache: Cache, access: Access) -> Result<(), Violation> {
        self.say(|| format!("{cache} {}", verb(access)));
        match self.consult(cache, access)? {
            AccessAction::Ask(request) => {
                self.say(|| format!(": asks {request:?}"));
                self.line(cache).pending = Some(access);
                Ok(())
            }
            allowed => self.complete(cache, access, allowed),
        }
    }

    /// The bus grants a cache: only now is the request formed, from the state
    /// that the copy has by now.
    fn grant(&mut self, cache: Cache) -> Result<(), Violation> {
        let access = self.line(cache).pending.take().expect("only a waiting cache is granted");
        self.say(|| format!("the bus grants {cache}"));
        match self.consult(cache, access)? {
            AccessAction::Ask(request) if self.is_refused(Some(cache), request.snoop()) => {
                self.line(cache).pending = Some(access);
                Ok(())
            }
            AccessAction::Ask(request) => {
                self.transact(cache, request)?;
                self.retry(cache, access)
            }
            allowed => {
                self.say(|| format!(", which needs it no longer: it {}", verb(access)));
                self.complete(cache, access, allowed)
            }
        }
    }

    /// Carries the access out after the cache's own transaction. After a
    /// write-back there must be nothing left.
    fn retry(&mut self, cache: Cache, access: Access) -> Result<(), Violation> {
        let state = self.line(cache).state;
        let action = match (access, state) {
            (Access::Evict, State::Invalid) => AccessAction::Drop,
            (Access::Evict, kept) => AccessAction::Hit(kept),
            (Access::Load | Access::Store, _) => {
                self.say(|| format!("; it {}", verb(access)));
                self.consult(cache, access)?
            }
        };
        self.complete(cache, access, action)
    }

    /// The access happens, unless the table still refuses it.
    fn complete(&mut self, cache: Cache, access: Access, action: AccessAction) -> Result<(), Violation> {
        match (access, action) {
            (Access::Load, AccessAction::Hit(next)) => {
                self.line(cache).state = next;
                self.load(cache)
            }
            (Access::Store, AccessAction::Hit(next)) => {
                self.line(cache).state = next;
                self.store(cache)
            }
            (Access::Evict, AccessAction::Drop) => {
                let before = std::mem::replace(&mut self.line(cache).state, State::Invalid);
                self.line(cache).version = NO_DATA;
                if before != State::Invalid {
                    self.say(|| format!(": drops its {before} copy"));
                }
                Ok(())
            }
            (_, action) => {
                let state = self.line(cache).state;
                let words = format!(
                    "its copy is {state} and the answer to {access:?} is {action:?}, \
                     so that the access is never done"
                );
                Err(Violation::new(NO_DEADLOCK, words))
            }
        }
    }

    fn load(&mut self, cache: Cache) -> Result<(), Violation> {
        let version = self.line(cache).version;
        self.say(|| format!(" and reads {}", Named(version)));
        self.expect_last(version, LOADS_LAST)
    }

    /// A store changes a few bytes of the block, so it must find the last
    /// version of the others.
    fn store(&mut self, cache: Cache) -> Result<(), Violation> {
        let version = self.line(cache).version;
        self.say(|| format!(" into {}", Named(version)));
        self.expect_last(version, STORES_LAST)?;
        self.world.last += 1;
        let last = self.world.last;
        self.line(cache).version = last;
        let state = self.line(cache).state;
        self.say(|| format!(", making version {last} ({state})"));
        Ok(())
    }

    fn expect_last(&self, version: Version, property: &'static str) -> Result<(), Violation> {
        let last = self.world.last;
        if version == last {
            return Ok(());
        }
        Err(Violation::new(property, format!("the last write was version {last}")))
    }

    /// Whether a cache refuses a transaction, because it has a dirty copy on a bus that
    /// carries no data from cache to cache. The block is on its way home then, and no
    /// other cache has acted.
    fn is_refused(&mut self, issuer: Option<Cache>, snoop: Snoop) -> bool {
        if !self.world.refusing {
            return false;
        }
        let others = (0..self.world.lines.len() as u8).map(Cache).filter(|&cache| Some(cache) != issuer);
        for cache in others {
            let Line { state, version, .. } = *self.line(cache);
            let Some(next) = self.protocol.push(state, snoop) else { continue };
            self.say(|| format!(": {snoop:?}; {cache} was {state}, refuses it and is {next}"));
            let has_lost = self.world.snarfing && !next.is_readable();
            let kept = if next.is_readable() { version } else { NO_DATA };
            let line = self.line(cache);
            *line = Line { state: next, version: kept, lost: line.lost || has_lost, ..*line };
            self.world.push = Some((cache, version));
            return true;
        }
        false
    }

    /// The bus carries home what a cache has pushed; the others see a write-back.
    fn push(&mut self) -> Result<(), Violation> {
        let (cache, version) = self.world.push.take().expect("a block is on its way");
        self.say(|| format!("the bus carries {} home from {cache}", Named(version)));
        self.broadcast(Some(cache), Snoop::WriteBack)?;
        self.world.home = version;
        self.snarf(Some(cache), Snoop::WriteBack);
        Ok(())
    }

    /// A cache's granted transaction, at once: the others snoop, one of
    /// them or home memory supplies the data, the own copy takes its new state.
    fn transact(&mut self, cache: Cache, request: Request) -> Result<(), Violation> {
        self.say(|| format!(": {request:?}"));
        let (supplied, shared) = self.broadcast(Some(cache), request.snoop())?;
        match request {
            Request::Read | Request::ReadExclusive => {
                self.line(cache).version = supplied.unwrap_or(self.world.home);
            }
            Request::WriteBack => {
                self.world.home = self.line(cache).version;
                self.snarf(Some(cache), Snoop::WriteBack);
            }
            Request::Upgrade => (),
        }
        let filled = self.protocol.fill[request as usize][shared as usize];
        let Some(state) = filled else {
            let others = if shared { "although another shares" } else { "with no other sharer" };
            return Err(self.never(format!("{cache} fills {request:?} {others}")));
        };
        self.line(cache).state = state;
        self.line(cache).lost = false;
        self.say(|| format!("; {cache} is {state}"));
        Ok(())
    }

    /// The other caches that have lost the block take what home memory has got.
    fn snarf(&mut self, issuer: Option<Cache>, snoop: Snoop) {
        let Some(state) = self.protocol.snarf(snoop).filter(|_| self.world.snarfing) else {
            return;
        };
        let version = self.world.home;
        for index in 0..self.world.lines.len() as u8 {
            let cache = Cache(index);
            let line = self.line(cache);
            if Some(cache) != issuer && line.lost {
                *line = Line { state, version, lost: false, ..*line };
                self.say(|| format!("; {cache} takes {} as it passes by ({state})", Named(version)));
            }
        }
    }

    /// All caches but the issuer see a transaction. Returns the data that one of
    /// them supplies, and whether the shared line is asserted.
    fn broadcast(
        &mut self,
        issuer: Option<Cache>,
        snoop: Snoop,
    ) -> Result<(Option<Version>, bool), Violation> {
        let mut supplied = None;
        let mut shared = false;
        for index in 0..self.world.lines.len() as u8 {
            let cache = Cache(index);
            if Some(cache) == issuer {
                continue;
            }
            let (version, action) = self.snooped(cache, snoop)?;
            shared |= action.shares;
            if action.supplies && supplied.replace(version).is_some() {
                let words = format!("{cache} is not the only one to supply it");
                return Err(Violation::new(ONE_SUPPLIER, words));
            }
        }
        Ok((supplied, shared))
    }

    /// One cache sees a transaction. Returns the version that it held.
    fn snooped(&mut self, cache: Cache, snoop: Snoop) -> Result<(Version, SnoopAction), Violation> {
        let Line { state, version, .. } = *self.line(cache);
        let Some(action) = self.protocol.snoop[state as usize][snoop as usize] else {
            return Err(self.never(format!("{cache} is {state} and sees {snoop:?}")));
        };
        self.check_signals(cache, snoop, action)?;
        if action.supplies {
            self.say(|| format!("; {cache} supplies {}", Named(version)));
        }
        if action.updates_home {
            self.world.home = version;
            self.say(|| ", which home memory takes too".to_owned());
        }
        if action.next != state {
            self.say(|| format!("; {cache} was {state}, is {}", action.next));
        }
        let snarfing = self.world.snarfing;
        let line = self.line(cache);
        line.state = action.next;
        if !action.next.is_readable() {
            line.version = NO_DATA;
            line.lost |= snarfing && state.is_readable();
        }
        Ok((version, action))
    }

    /// A cache's signals on the bus must mean what the bus takes them for.
    fn check_signals(&mut self, cache: Cache, snoop: Snoop, action: SnoopAction) -> Result<(), Violation> {
        if action.shares != action.next.is_readable() {
            let does = if action.shares { "asserts" } else { "does not assert" };
            let words = format!("{cache} {does} the shared line and is {}", action.next);
            return Err(Violation::new(SHARED_LINE, words));
        }
        let wanted = matches!(snoop, Snoop::Read | Snoop::ReadExclusive | Snoop::ReadOnce);
        let wrong = match (action.supplies, action.updates_home) {
            (true, _) if !wanted => "supplies data that nobody asks for",
            (true, _) if self.world.refusing => "supplies data to a cache, which this bus does not carry",
            (true, _) if !self.line(cache).state.is_readable() => "supplies data that it lacks",
            (false, true) => "updates home memory with data that it does not supply",
            _ => return Ok(()),
        };
        Err(Violation::new(ONE_SUPPLIER, format!("{cache} {wrong}")))
    }

    fn write_block(&mut self) -> Result<(), Violation> {
        self.world.last += 1;
        let last = self.world.last;
        self.say(|| format!("a device replaces the block in home memory by version {last}"));
        self.broadcast(None, Snoop::WriteBlock)?;
        self.world.home = last;
        self.snarf(None, Snoop::WriteBlock);
        Ok(())
    }

    fn read_once(&mut self) -> Result<(), Violation> {
        self.say(|| "a device reads the block once".to_owned());
        if self.is_refused(None, Snoop::ReadOnce) {
            return Ok(());
        }
        let (supplied, _) = self.broadcast(None, Snoop::ReadOnce)?;
        let version = supplied.unwrap_or(self.world.home);
        self.say(|| format!(" and gets {}", Named(version)));
        self.expect_last(version, READS_ONCE_LAST)
    }

    /// The table's answer to the access, in the copy's present state.
    fn consult(&mut self, cache: Cache, access: Access) -> Result<AccessAction, Violation> {
        let state = self.line(cache).state;
        self.protocol.access[state as usize][access as usize]
            .ok_or_else(|| self.never(format!("{cache} is {state} and {}", verb(access))))
    }

    fn never(&self, combination: String) -> Violation {
        let words = format!("{combination}, which the table excludes");
        Violation::new(NO_NEVER, words)
    }
}

/// A version in words.
struct Named(Version);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            NO_DATA => f.write_str("no data"),
            version => write!(f, "version {version}"),
        }
    }
}

fn verb(access: Access) -> &'static str {
    match access {
        Access::Load => "loads",
        Access::Store => "stores",
        Access::Evict => "evicts",
    }
}
