//! Prints the C header of the interface's registers; `make headers` stores it.

fn main() {
    print!("{}", narthex_interfaces::registers::c_header());
}
