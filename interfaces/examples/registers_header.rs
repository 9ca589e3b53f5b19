//! Prints the C header of the interface's registers, or with `firmware` that of firmware's
//! devices; `make headers` stores them.

use narthex_interfaces::registers;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("firmware") => print!("{}", registers::firmware_header()),
        _ => print!("{}", registers::c_header()),
    }
}
