//! A processor of the model that its machine's file names.
//!
//! Inside a run all code is compiled for the model; here each call finds out once which model it is.
//! Fields that both models have at the same offset (see [`Core`](crate::execute::Core)) are read
//! without that.

use std::sync::Arc;

use narthex_kernel::{Archive, Archived, Category, Clock, Damage, Duration, Time};
use narthex_memory::Port;
use narthex_memory::processor_memory::WaitReason;

use crate::access_control::AccessControl;
use crate::code::Code;
use crate::config::Config;
use crate::follow::Follower;
use crate::linux::Context;
use crate::operation::SINK;
use crate::processor::Processor;
use crate::reorder::{ReorderWindow, Stall};
use crate::stop::{Fault, Stop};
use crate::timing::InOrder;

/// A [`Processor`] in order, or with a window. Its methods are those of [`Processor`].
#[allow(missing_docs, reason = "each is documented there")]
pub enum AnyProcessor {
    InOrder(Processor<InOrder>),
    Window(Processor<ReorderWindow>),
}

/// Evaluates an expression for the processor of either model.
macro_rules! either {
    ($own:expr, $processor:ident => $value:expr) => {
        match $own {
            AnyProcessor::InOrder($processor) => $value,
            AnyProcessor::Window($processor) => $value,
        }
    };
}

/// Methods that call those of [`Processor`] with the same names.
macro_rules! as_processor {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[doc = concat!("As [`Processor::", stringify!($name), "`].")]
        #[inline(always)]
        pub fn $name(&self, $($argument: $type),*) -> $result {
            either!(self, processor => processor.$name($($argument),*))
        }
    )*};
    (mut $($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("As [`Processor::", stringify!($name), "`].")]
        #[inline(always)]
        pub fn $name(&mut self, $($argument: $type),*) {
            either!(self, processor => processor.$name($($argument),*))
        }
    )*};
}

impl AnyProcessor {
    /// A processor at time zero, all registers zero, of the model that its configuration asks for.
    pub fn new(config: &Config, code: Arc<Code>) -> Self {
        match config.window {
            None => AnyProcessor::InOrder(Processor::new(config, code)),
            Some(_) => AnyProcessor::Window(Processor::new(config, code)),
        }
    }

    /// As [`Processor::with_access_control`].
    pub fn with_access_control(self, costs: &AccessControl) -> Self {
        match self {
            AnyProcessor::InOrder(own) => AnyProcessor::InOrder(own.with_access_control(costs)),
            AnyProcessor::Window(own) => AnyProcessor::Window(own.with_access_control(costs)),
        }
    }

    /// As [`Processor::with_interrupts`]; without effect on a core with a window, which has no interrupts.
    pub fn with_interrupts(self, cycles: u64) -> Self {
        match self {
            AnyProcessor::InOrder(own) => AnyProcessor::InOrder(own.with_interrupts(cycles)),
            AnyProcessor::Window(own) => AnyProcessor::Window(own),
        }
    }

    /// The processor, if it is in order.
    #[inline(always)]
    pub fn in_order(&self) -> Option<&Processor<InOrder>> {
        match self {
            AnyProcessor::InOrder(own) => Some(own),
            AnyProcessor::Window(_) => None,
        }
    }

    /// The processor, if it is in order, to change it.
    #[inline(always)]
    pub fn in_order_mut(&mut self) -> Option<&mut Processor<InOrder>> {
        match self {
            AnyProcessor::InOrder(own) => Some(own),
            AnyProcessor::Window(_) => None,
        }
    }

    /// As [`Processor::run_ahead`].
    #[inline(always)]
    pub fn run_ahead<P: Port>(&mut self, port: &mut P, until: Time, hits_until: Time) -> Stop {
        either!(self, processor => processor.run_ahead(port, until, hits_until))
    }

    /// As [`Processor::run_on`].
    #[inline(always)]
    pub fn run_on<P: Port>(&mut self, port: &mut P) -> Stop {
        either!(self, processor => processor.run_on(port))
    }

    /// As [`Processor::run_followed`].
    pub fn run_followed<P: Port, F: Follower>(
        &mut self,
        port: &mut P,
        until: Time,
        follower: &mut F,
    ) -> Stop {
        either!(self, processor => processor.run_followed(port, until, follower))
    }

    /// As [`Processor::step_before`].
    pub fn step_before<P: Port>(&mut self, port: &mut P, until: Time) -> Option<Stop> {
        either!(self, processor => processor.step_before(port, until))
    }

    /// The registers of the thread that it executes.
    pub fn context(&self) -> Context {
        either!(self, processor => Context::of(processor))
    }

    /// It goes on with these registers.
    pub fn restore(&mut self, context: &Context) {
        either!(self, processor => context.restore(processor))
    }

    /// As [`Processor::stalls`].
    pub fn stalls(&mut self, now: Time, has_thread: bool) -> Option<[Duration; Stall::COUNT]> {
        match self {
            AnyProcessor::InOrder(_) => None,
            AnyProcessor::Window(own) => own.stalls(now, has_thread),
        }
    }

    as_processor! {
        now() -> Time;
        clock() -> Clock;
        cycles() -> u64;
        retired() -> u64;
        pc() -> u64;
        x(number: usize) -> u64;
        f(number: usize) -> u64;
        registers() -> &[u64; SINK as usize];
        counter_reads() -> u64;
        has_loads_under_way() -> bool;
        is_resumed() -> bool;
        fault() -> Fault;
        has_faulted() -> Option<Fault>;
        asserted_lines() -> u64;
        has_awaited_interrupt() -> bool;
    }

    as_processor! { mut
        set_pc(pc: u64);
        set_x(number: usize, value: u64);
        resume_at(time: Time);
        pass_until(time: Time);
        deliver(miss_register: u8, value: u64, time: Time);
        occupy_second_level(time: Time);
        waits_for(reason: WaitReason);
        block_comes_from(miss_register: u8, stall: Stall);
        forget_fault();
        assert_lines(lines: u64);
    }
}

impl Archived for AnyProcessor {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        either!(self, processor => processor.archive(archive))
    }
}
