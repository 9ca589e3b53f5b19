//! Cache-block operations as instructions: their encoding, their time, and what they do
//! to memory without caches.

use crate::common::{DATA, cycles, prepared, run_to_fault};
use narthex_cores::assemble::encode;
use narthex_cores::{Config, FaultKind, Functional, Stop};
use narthex_kernel::Time;
use narthex_memory::Port;
use narthex_memory::port::{AccessFault, Outcome};

#[test]
fn they_are_encoded_as_the_manual_says() {
    for (text, bits) in [
        ("cbo.inval (a0)", 0x0005_200f),
        ("cbo.clean (a0)", 0x0015_200f),
        ("cbo.flush (s1)", 0x0024_a00f),
        ("cbo.zero (a0)", 0x0045_200f),
    ] {
        assert_eq!(encode(text), Ok(bits), "{text}");
    }
}

#[test]
fn each_occupies_the_memory_port_as_a_store_does() {
    let config = Config { store_cycles: 4, ..Config::simple() };
    let two = |access: &str| cycles(&config, &format!("{access}\n ld a1, 64(s0)"));
    for access in ["cbo.inval (s0)", "cbo.clean (s0)", "cbo.flush (s0)", "cbo.zero (s0)"] {
        assert_eq!(two(access), two("sd a0, 0(s0)"), "{access}");
    }
}

#[test]
fn memory_without_caches_has_blocks_of_64_bytes_to_zero() {
    let source = format!("li s1, {}\n cbo.flush (s1)\n cbo.zero (s1)\n ecall", DATA + 100);
    let (mut processor, mut memory) = prepared::<Functional>(&Config::simple(), &source);
    for word in (DATA..DATA + 192).step_by(8) {
        assert_eq!(memory.store(word, 8, u64::MAX), Outcome::Done(()));
    }
    assert_eq!(processor.run(&mut memory, Time::NEVER), Stop::SystemCall);
    let at = [56, 64, 120, 128].map(|offset| memory.load(DATA + offset, 8));
    assert_eq!(at, [u64::MAX, 0, 0, u64::MAX].map(Outcome::Done));
}

#[test]
fn where_no_memory_is_mapped_they_are_refused_as_a_store_is() {
    for access in ["cbo.inval (a0)", "cbo.clean (a0)", "cbo.flush (a0)", "cbo.zero (a0)"] {
        let (_, fault) = run_to_fault(&format!("li a0, 0x800000\n {access}"));
        assert_eq!(fault.kind, FaultKind::Store(AccessFault::Unmapped), "{access}");
    }
}
