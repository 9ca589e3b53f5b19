//! Prints the C header of the interface's registers, or with `firmware` that of firmware's
//! devices; `make headers` stores them.

use narthex_interfaces::headers;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("firmware") => print!("{}", headers::firmware_header()),
        _ => print!("{}", headers::c_header()),
    }
}
