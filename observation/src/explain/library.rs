//! Libraries whose functions a program calls by itself to send and receive, beside the messaging
//! library, and which calls of a process are such.
//!
//! The messaging library marks what it does ([`Activity`](narthex_machine::activity::Activity)).
//! VIPL and StarT-Voyager's library mark nothing in their calls: a marker would be an instruction
//! more in every program. So a life of their messages is made of the calls themselves, which a
//! journal follows ([`CallStack`]): it begins with the first instruction of the call that sends,
//! and ends where the call that gives the message has returned.
//!
//! **Own calls.** The messaging library's drivers call these libraries, too. A call inside of a
//! function of the messaging library (`narthex_...`) is the driver's, and no life begins with it.

use std::sync::Arc;

use narthex_cores::follow::Jump;
use narthex_cores::linux::Program;
use narthex_kernel::Time;

use crate::calls::{CallStack, CodeMap, Frame};

/// What a call of a function means for a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    /// It sends one.
    Sends,
    /// It tells of one that has come.
    Tells,
    /// It gives the program one that has come.
    Gives,
}

/// A function of a library.
#[derive(Debug)]
pub struct Function {
    /// Its symbol.
    pub name: &'static str,
    /// What it is for.
    pub deed: Deed,
    /// Whether it has done so, by its result (register a0).
    has_done: fn(u64) -> bool,
}

/// A library.
pub type Library = &'static [Function];

const fn function(name: &'static str, deed: Deed, has_done: fn(u64) -> bool) -> Function {
    Function { name, deed, has_done }
}

/// The Virtual Interface Provider Library (guest/via/vipl.h): a call has done what it is for if it
/// returns VIP_SUCCESS.
pub static VIPL: Library = &[
    function("VipPostSend", Deed::Sends, |result| result as u32 == 0),
    function("VipCQDone", Deed::Tells, |result| result as u32 == 0),
    function("VipCQWait", Deed::Tells, |result| result as u32 == 0),
    function("VipRecvDone", Deed::Gives, |result| result as u32 == 0),
    function("VipRecvWait", Deed::Gives, |result| result as u32 == 0),
];

/// Basic messages of StarT-Voyager (guest/voyager/voyager.h).
pub static VOYAGER: Library = &[
    function("voyager_send", Deed::Sends, |_| true),
    function("voyager_store", Deed::Sends, |_| true),
    function("voyager_arrived", Deed::Gives, |result| result as u8 != 0),
];

/// With what the names of the messaging library's functions begin.
const MESSAGING: &str = "narthex_";

/// A call that has done what it is for.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// What was called.
    pub function: &'static Function,
    /// The first instruction of the function.
    pub from: Time,
    /// The first one behind the call.
    pub to: Time,
}

/// Follows a processor's calls of a library.
#[derive(Debug)]
pub struct CallWatch {
    /// Whose.
    pub processor: usize,
    library: Library,
    stack: CallStack,
    /// The call that is under way: its function, the place of its frame, the frame and since when.
    open: Option<(&'static Function, usize, Frame, Time)>,
    /// What the function returned that was left last.
    result: u64,
    /// All that have done what they are for.
    pub calls: Vec<Call>,
}

impl CallWatch {
    /// That of a processor that executes `program`.
    pub fn new(processor: usize, program: &Arc<Program>, library: Library) -> Self {
        let stack = CallStack::new(Arc::new(CodeMap::new(program, false)));
        CallWatch { processor, library, stack, open: None, result: 0, calls: Vec::new() }
    }

    /// The instruction at `pc` is executed next, at `at`.
    pub fn executes(&mut self, at: Time, pc: u64) {
        let Some(change) = self.stack.executes(pc) else { return };
        let frames = self.stack.frames();
        if let Some((function, place, frame, from)) = self.open
            && change.kept <= place
            && frames.get(place).is_none_or(|now| !now.returns_as(&frame))
        {
            self.open = None;
            if (function.has_done)(self.result) {
                self.calls.push(Call { function, from, to: at });
            }
        }
        if self.open.is_none() {
            let entered = self.entered(change.kept);
            self.open = entered.map(|(function, place)| (function, place, self.stack.frames()[place], at));
        }
    }

    /// The processor has jumped.
    pub fn jumped(&mut self, jump: Jump, target: u64, (stack, result): (u64, u64)) {
        if jump == Jump::Return {
            self.result = result;
        }
        self.stack.jumped(jump, target, stack);
    }

    /// No thread runs on the processor any more.
    pub fn clear(&mut self) {
        self.stack.clear();
        self.open = None;
    }

    /// The function of the library that the program has called, behind the first `kept` frames.
    fn entered(&self, kept: usize) -> Option<(&'static Function, usize)> {
        let frames = self.stack.frames();
        let name = |frame: usize| self.stack.code().function_name(frames[frame].function);
        let find = |frame: usize| {
            self.library.iter().find(|known| known.name == name(frame)).map(|known| (known, frame))
        };
        let (function, frame) = (kept..frames.len()).find_map(find)?;
        (0..frame).all(|each| !name(each).starts_with(MESSAGING)).then_some((function, frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::tests::program;

    const MAIN: u64 = 0x1000;
    const POLL: u64 = 0x1100;
    const DONE: u64 = 0x1200;
    const OTHER: u64 = 0x1300;

    fn watch() -> CallWatch {
        let mut watch = CallWatch::new(0, &program(&["main", "narthex_poll", "VipRecvDone", "done"]), VIPL);
        watch.executes(Time::from_ps(1), MAIN);
        watch
    }

    /// Calls a function at `at` from another one and comes back 10 ps later with a result.
    fn call(
        watch: &mut CallWatch,
        at: u64,
        [from, to]: [u64; 2],
        result: u64,
        inside: impl FnOnce(&mut CallWatch),
    ) {
        let stack = 0x8000 - to;
        watch.jumped(Jump::Call(from + 4), to, (stack, 0));
        watch.executes(Time::from_ps(at), to);
        inside(watch);
        watch.jumped(Jump::Return, from + 4, (stack, result));
        watch.executes(Time::from_ps(at + 10), from + 4);
    }

    fn told(watch: &CallWatch) -> Vec<(&str, u64, u64)> {
        watch.calls.iter().map(|call| (call.function.name, call.from.as_ps(), call.to.as_ps())).collect()
    }

    #[test]
    fn a_call_counts_from_its_first_instruction_to_the_first_one_behind_it_if_it_succeeds() {
        let mut watch = watch();
        call(&mut watch, 100, [MAIN, DONE], 1, |_| {});
        call(&mut watch, 200, [MAIN, DONE], 0, |_| {});
        assert_eq!(told(&watch), [("VipRecvDone", 200, 210)], "VIP_NOT_DONE is no message");
    }

    #[test]
    fn a_function_that_ends_in_another_one_has_its_result() {
        let mut watch = watch();
        call(&mut watch, 100, [MAIN, DONE], 1, |watch| watch.executes(Time::from_ps(105), OTHER));
        call(&mut watch, 200, [MAIN, DONE], 0, |watch| watch.executes(Time::from_ps(205), OTHER));
        assert_eq!(told(&watch), [("VipRecvDone", 200, 210)]);
    }

    #[test]
    fn a_call_of_the_messaging_librarys_driver_is_not_the_programs() {
        let mut watch = watch();
        call(&mut watch, 100, [MAIN, POLL], 0, |watch| call(watch, 103, [POLL, DONE], 0, |_| {}));
        assert_eq!(told(&watch), []);
    }
}
