use narthex_cores::linux::Program;

use super::*;

#[path = "../../../cores/tests/common/elf.rs"]
mod elf;

/// The code of a program of functions of 256 bytes each.
pub fn code() -> Arc<CodeMap> {
    Arc::new(CodeMap::new(&program(&["start", "main", "work", "leaf", "handler"]), false))
}

/// A program of functions of 256 bytes each, from address 0x1000 on.
pub fn program(names: &[&'static str]) -> Arc<Program> {
    let segment = elf::Segment {
        address: 0x1000,
        bytes: vec![0; 0x800],
        memory_bytes: 0x800,
        flags: elf::READ | elf::EXECUTE,
    };
    let symbols = names.iter().zip(0..).map(|(&name, number)| (name, 0x1000 + 0x100 * number, 0x100));
    let image = elf::Image { symbols: symbols.collect(), ..elf::Image::program(0x1000, [segment]) };
    Arc::new(Program::parse("program", image.build()).expect("it is sound"))
}

/// An address in a function.
fn inside(function: u64) -> u64 {
    0x1000 + 0x100 * function + 0x20
}

const START: u64 = 0;
const MAIN: u64 = 1;
const WORK: u64 = 2;
const LEAF: u64 = 3;
const HANDLER: u64 = 4;

fn path(stack: &CallStack) -> Vec<&str> {
    stack.frames().iter().map(|frame| stack.code().function_name(frame.function)).collect()
}

/// Calls a function from the present one, `bytes` of stack deep.
fn call(stack: &mut CallStack, from: u64, to: u64, pointer: u64) -> Option<Change> {
    stack.jumped(Jump::Call(inside(from) + 4), inside(to), pointer);
    stack.executes(inside(to))
}

fn in_leaf() -> CallStack {
    let mut stack = CallStack::new(code());
    assert_eq!(stack.executes(inside(START)), Some(Change { kept: 0 }));
    assert_eq!(call(&mut stack, START, MAIN, 900), Some(Change { kept: 1 }));
    assert_eq!(call(&mut stack, MAIN, WORK, 800), Some(Change { kept: 2 }));
    assert_eq!(call(&mut stack, WORK, LEAF, 700), Some(Change { kept: 3 }));
    assert_eq!(path(&stack), ["start", "main", "work", "leaf"]);
    stack
}

#[test]
fn calls_and_returns_are_frames_and_a_function_that_goes_on_is_no_change() {
    let mut stack = in_leaf();
    assert_eq!(stack.executes(inside(LEAF) + 2), None);
    stack.jumped(Jump::Return, inside(WORK) + 4, 700);
    assert_eq!(stack.executes(inside(WORK) + 4), Some(Change { kept: 3 }));
    assert_eq!(path(&stack), ["start", "main", "work"]);
}

#[test]
fn a_function_that_calls_itself_is_there_twice() {
    let mut stack = in_leaf();
    assert_eq!(call(&mut stack, LEAF, LEAF, 600), Some(Change { kept: 4 }));
    assert_eq!(call(&mut stack, LEAF, LEAF, 500), Some(Change { kept: 5 }));
    stack.jumped(Jump::Return, inside(LEAF) + 4, 500);
    assert_eq!(stack.executes(inside(LEAF) + 4), Some(Change { kept: 5 }));
    assert_eq!(path(&stack), ["start", "main", "work", "leaf", "leaf"]);
}

#[test]
fn a_return_and_a_call_at_once_is_another_visit() {
    let mut stack = in_leaf();
    stack.jumped(Jump::Return, inside(WORK) + 4, 700);
    assert_eq!(call(&mut stack, WORK, LEAF, 700), Some(Change { kept: 3 }));
    assert_eq!(path(&stack).len(), 4);
}

#[test]
fn a_tail_call_takes_the_place_of_its_caller() {
    let mut stack = in_leaf();
    stack.jumped(Jump::Return, inside(WORK) + 4, 700);
    assert_eq!(stack.executes(inside(LEAF)), Some(Change { kept: 2 }));
    assert_eq!(path(&stack), ["start", "main", "leaf"]);
    stack.jumped(Jump::Return, inside(MAIN) + 4, 800);
    stack.executes(inside(MAIN) + 4);
    assert_eq!(path(&stack), ["start", "main"]);
}

#[test]
fn a_long_jump_leaves_all_functions_above_its_target() {
    let mut stack = in_leaf();
    // To a call in main that has returned long ago.
    stack.jumped(Jump::Return, inside(MAIN) + 64, 800);
    assert_eq!(stack.executes(inside(MAIN) + 64), Some(Change { kept: 2 }));
    assert_eq!(path(&stack), ["start", "main"]);
}

#[test]
fn a_handler_is_a_frame_until_it_returns_also_to_where_it_was_called() {
    let mut stack = in_leaf();
    stack.jumped(Jump::Trap(inside(LEAF)), inside(HANDLER), 700);
    assert_eq!(stack.executes(inside(HANDLER)), Some(Change { kept: 4 }));
    assert!(stack.frames()[4].is_handler);
    call(&mut stack, HANDLER, LEAF, 600);
    assert_eq!(path(&stack), ["start", "main", "work", "leaf", "handler", "leaf"]);
    stack.jumped(Jump::TrapReturn, inside(LEAF), 700);
    assert_eq!(stack.executes(inside(LEAF)), Some(Change { kept: 4 }));
    assert_eq!(path(&stack), ["start", "main", "work", "leaf"]);
}

#[test]
fn a_new_thread_begins_anew_and_code_without_a_name_is_a_function_of_no_name() {
    let mut stack = in_leaf();
    stack.clear();
    assert_eq!(stack.executes(0x7777_0000), Some(Change { kept: 0 }));
    assert_eq!(path(&stack), [""]);
    assert_eq!(stack.executes(0x7777_0002), None);
}
