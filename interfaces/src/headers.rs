//! The C headers of the guest: of the messaging library's, and of firmware's.
//!
//! They are generated from what the models and the devices declare ([`crate::declarations`]), so that
//! hardware and software cannot drift apart. `make headers` stores them.

use std::fmt::Write as _;

use narthex_memory::processor_memory::block_buffers;

use crate::declarations;
use crate::forwarder;
use crate::information;
use crate::programming::{Driver, Fact, Firmware, Register};
use crate::registers::{STATUS_CAN_SEND, STATUS_HAS_RECEIVED};

/// What is where in the page of block buffers.
const BLOCK_BUFFER_PLACES: [Register; 4] = [
    ("SEND", block_buffers::SEND_BUFFER, "the block that is to be stored to a device"),
    ("RECEIVE", block_buffers::RECEIVE_BUFFER, "the block that was loaded from a device"),
    ("FLUSH", block_buffers::FLUSH, "store of a device's address: the send buffer is stored there"),
    ("LOAD", block_buffers::LOAD, "store of a device's address: the receive buffer is loaded from there"),
];

/// The C header of drivers, registers and the information page, as guest/runtime/registers.h holds it.
pub fn c_header() -> String {
    let mut text = String::from(
        "/* The interfaces' drivers and registers and the information page. Generated from what the\n \
         * models in interfaces/src declare by `make headers`; do not edit. */\n\
         #ifndef NARTHEX_RUNTIME_REGISTERS_H\n#define NARTHEX_RUNTIME_REGISTERS_H\n\n\
         #include <stdint.h>\n\n",
    );
    let mut define = |name: &str, value: u64, meaning: &str| {
        let comment = comment("", meaning);
        writeln!(text, "{comment}\n#define {name} UINT64_C({value:#x})\n").expect("text grows");
    };
    define("INFORMATION_MAGIC", information::MAGIC, "Its first field: the bytes NARTHEX and a zero.");
    define("INFORMATION_VERSION", information::VERSION, "Its second field.");
    let drivers: Vec<Driver> =
        declarations::programmings().iter().map(|programming| programming.driver).collect();
    for driver in &drivers {
        define(&driver.constant(), driver.number, driver.meaning);
    }
    define("STATUS_ROOM", STATUS_CAN_SEND, "STATUS: a packet can be sent.");
    define("STATUS_ARRIVED", STATUS_HAS_RECEIVED, "STATUS: a packet has arrived.");
    for (name, value, meaning) in declarations::gathered(|programming| programming.constants) {
        define(name, value, meaning);
    }
    for (name, offset, meaning) in declarations::registers() {
        define(&format!("REGISTER_{name}"), offset, meaning);
    }
    for (name, offset, meaning) in BLOCK_BUFFER_PLACES {
        define(&format!("BLOCK_BUFFER_{name}"), offset, meaning);
    }
    let linked = drivers.iter().filter(|driver| !driver.is_apart);
    let each = linked.map(|driver| format!("    EACH({}, {})", driver.constant(), driver.name));
    // As clang-format wants it: what a line goes on from stands in the hundredth column.
    let lines: Vec<String> = std::iter::once("#define EVERY_DRIVER(EACH)".into()).chain(each).collect();
    let lines: Vec<String> = lines.iter().map(|line| format!("{line:<99}")).collect();
    let list = lines.join("\\\n");
    writeln!(
        text,
        "/* Every driver that each program has: its number and its name. */\n{}\n",
        list.trim_end()
    )
    .expect("text grows");
    text.push_str(
        "/* What the simulator tells a program about its machine. */\nstruct narthex_information {\n",
    );
    for Fact { name, meaning } in information::facts() {
        writeln!(text, "{}\n    uint64_t {name};", comment("    ", meaning)).expect("text grows");
    }
    text.push_str("};\n\n#endif\n");
    text
}

/// A comment in C, in lines of at most 100 columns, as clang-format wants it.
fn comment(indent: &str, meaning: &str) -> String {
    const COLUMNS: usize = 100;
    const END: &str = " */";
    let mut text = format!("{indent}/*");
    let mut column = text.len();
    let mut words = meaning.split(' ').peekable();
    while let Some(word) = words.next() {
        let end = if words.peek().is_none() { END.len() } else { 0 };
        if column + 1 + word.len() + end > COLUMNS {
            write!(text, "\n{indent} *").expect("text grows");
            column = indent.len() + 2;
        }
        write!(text, " {word}").expect("text grows");
        column += 1 + word.len();
    }
    text + END
}

/// The C header of firmware's devices, as guest/firmware/devices.h holds it.
pub fn firmware_header() -> String {
    let mut text = String::from(
        "/* The registers of devices that firmware serves, and its activities. Generated from what\n \
         * interfaces/src declares by `make headers`; do not edit. */\n\
         #ifndef NARTHEX_FIRMWARE_DEVICES_H\n#define NARTHEX_FIRMWARE_DEVICES_H\n\n",
    );
    let of_models = declarations::programmings().into_iter().map(|programming| programming.firmware);
    for &Firmware { constants, registers, activities } in
        std::iter::once(&forwarder::FIRMWARE).chain(of_models)
    {
        let mut define = |name: &str, value: &str, meaning: &str| {
            writeln!(text, "{}\n#define {name} {value}\n", comment("", meaning)).expect("text grows");
        };
        for (name, value, meaning) in constants {
            define(name, &format!("{value:#x}ul"), meaning);
        }
        for (name, offset, meaning) in registers.iter().copied().flatten() {
            define(&format!("REGISTER_{name}"), &format!("{offset:#x}ul"), meaning);
        }
        for activity in activities {
            define(
                &format!("ACTIVITY_{}", activity.constant),
                &activity.number.to_string(),
                activity.meaning,
            );
        }
    }
    text.push_str("#endif\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_names_every_register_every_driver_and_every_field() {
        let header = c_header();
        for (name, _, _) in declarations::registers() {
            assert!(header.contains(&format!("#define REGISTER_{name} ")));
        }
        for programming in declarations::programmings() {
            let Driver { name, is_apart, .. } = programming.driver;
            let listed = format!("EACH({}, {name})", programming.driver.constant());
            assert_eq!(header.contains(&listed), !is_apart);
        }
        for Fact { name, .. } in information::facts() {
            assert!(header.contains(&format!("uint64_t {name};")));
        }
    }

    #[test]
    fn the_guests_header_is_the_generated_one() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../guest/runtime/registers.h");
        let header = std::fs::read_to_string(file).expect("the guest's header is there");
        assert_eq!(header, c_header(), "run `make headers`");
    }

    #[test]
    fn the_header_of_firmwares_devices_is_the_generated_one() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../guest/firmware/devices.h");
        let header = std::fs::read_to_string(file).expect("the header is there");
        assert_eq!(header, firmware_header(), "run `make headers`");
    }
}
