//! A device that is the home of the block, behind a CXL link: CXL.mem in the checker's world.
//!
//! ```text
//!   caches ◄─ messages in any order ─► home at the port ══ up, down: in order, however late ══ device, its memory
//! ```
//!
//! What the directory asks the device ([`Entry::asks_home`]) and what waits for the answer
//! ([`MemoryPort`]) are the simulator's. The device knows of its block what those of the simulator's interfaces
//! know: whether the host may have a copy, and whether its own bytes are the last. It writes the block when
//! no copy is left, and reads it back when the host has changed it.
//!
//! [`Entry::asks_home`]: narthex_memory::directory::Entry::asks_home

use narthex_memory::directory::{Body, Message};
use narthex_memory::interconnects::cxl::{MemoryPort, Request, Told};
use narthex_memory::{AgentId, Kind};

use super::link::{Down, Up};
use super::step::Step;
use super::world::{Age, DEVICE, LAST, World};
use crate::explore::Violation;

/// What the device knows of its block, and what waits for it at the port.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeviceHome {
    pub port: MemoryPort<Age>,
    /// The request that the directory holds until the device has answered.
    pub held: Option<Message<Age>>,
    /// The host may have a copy.
    pub is_fetched: bool,
    /// The device's bytes are the last.
    pub is_latest: bool,
}

impl DeviceHome {
    /// Of a block that the host does not have.
    pub fn new() -> Self {
        DeviceHome { port: MemoryPort::default(), held: None, is_fetched: false, is_latest: true }
    }
}

/// In the place of bytes that the device has itself.
const NONE: Age = Age::Next;

impl Step<'_> {
    fn device_home(&mut self) -> &mut DeviceHome {
        self.world.device_home_mut().expect("the device is a home")
    }

    /// Whether the device behind the link is the home.
    pub(super) fn is_device_home(&self) -> bool {
        self.world.device_home().is_some()
    }

    /// The device reads its block, or writes it: at once if no copy is in the way.
    pub(super) fn use_own_block(&mut self, kind: Kind) {
        match kind {
            Kind::Invalidate if !self.device_home().is_fetched => self.write_own_block(),
            kind => self.ask_over_link(DEVICE, 0, kind, None),
        }
    }

    fn write_own_block(&mut self) {
        self.world.outdate(0);
        self.world.homes[0].memory = Age::Last;
        self.say(|| "; the device writes the last value".into());
    }

    /// The directory asks the device before it works on a request: the bytes of the answer; none if it waits.
    pub(super) fn ask_device(&mut self, message: Message<Age>) -> Option<Option<Age>> {
        let Body::Request { kind, .. } = message.body else { return Some(None) };
        let entry = self.world.homes[0].entry;
        if message.requester.0 == DEVICE {
            return Some(Some(NONE));
        }
        let Some(kind) = entry.asks_home(message.requester, kind, AgentId(DEVICE)) else { return Some(None) };
        let home = self.device_home();
        match home.port.ask(message.block) {
            Told::Answer(data) => Some(data),
            Told::Later => unreachable!("it holds one request"),
            Told::Nothing => {
                home.held = Some(message);
                self.say(|| "; the device is asked".into());
                self.send_down(Down::AskHome(kind));
                None
            }
        }
    }

    /// The directory's question comes to the device.
    pub(super) fn asked_over_link(&mut self, kind: Kind) {
        let memory = self.world.homes[0].memory;
        let home = self.device_home();
        home.is_fetched |= kind != Kind::ReadOnce;
        home.is_latest &= matches!(kind, Kind::Read | Kind::ReadOnce);
        self.send_up(Up::HomeAnswer(kind.fetches_block().then_some(memory)));
    }

    /// The answer comes to the directory.
    pub(super) fn home_answered(&mut self, data: Option<Age>) -> Result<(), Violation> {
        let home = self.device_home();
        let message = home.held.take().expect("the directory holds the request");
        home.port.answer(message.block, data);
        self.at_home(message)
    }

    /// The block comes back to the device.
    pub(super) fn returned_home(&mut self, age: Age) {
        self.world.homes[0].memory = age;
        self.device_home().is_latest = true;
        self.say(|| "; its memory takes the bytes".into());
    }

    /// The directory has done with the device's own request: what it brings goes first.
    pub(super) fn answer_own_request(&mut self, request: Request, data: Option<Age>, shared: bool) {
        let data = data.filter(|&age| age != NONE);
        if self.scope.link.is_coherent() {
            return self.send_down(Down::Go(request, data, shared));
        }
        if let Some(age) = data {
            self.send_down(Down::ReturnHome(age));
        }
        self.send_down(Down::Go(request, None, shared));
    }

    /// The device's own request is over.
    pub(super) fn own_request_is_over(&mut self, kind: Kind) -> Result<(), Violation> {
        self.world.device = None;
        let memory = self.world.homes[0].memory;
        let home = self.device_home();
        if kind == Kind::Invalidate {
            home.is_fetched = false;
            home.is_latest = true;
            self.write_own_block();
        } else if memory != Age::Last {
            return Err(Violation { property: LAST, words: "the device reads an old value".into() });
        } else {
            home.is_latest = true;
        }
        Ok(())
    }
}

impl World {
    /// The device's side, if it is a home.
    pub fn device_home(&self) -> Option<&DeviceHome> {
        self.link.as_ref()?.home.as_ref()
    }

    fn device_home_mut(&mut self) -> Option<&mut DeviceHome> {
        self.link.as_mut()?.home.as_mut()
    }
}
