//! Checks interfaces exhaustively: `narthex check interface` without Python.
//!
//! ```text
//! cargo run --release -p narthex-checking --example check_interface -- INTERFACE.elf CNI32Qm [LIMIT [EVICTIONS [WITHOUT]]]
//! ```

use std::process::ExitCode;

use narthex_checking::interface::{InterfaceCheck, check};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, interface, options @ ..] = arguments.as_slice() else {
        eprintln!("usage: check_interface INTERFACE.elf NAME [LIMIT [EVICTIONS [WITHOUT]]]");
        return ExitCode::from(2);
    };
    let number =
        |place: usize, otherwise| options.get(place).and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let request = InterfaceCheck {
        interface: interface.clone(),
        machine: std::env::var("MACHINE").unwrap_or_else(|_| "hpca98".into()),
        set: std::env::var("SET")
            .map(|sets| sets.split(',').map(str::to_owned).collect())
            .unwrap_or_default(),
        without: options.get(2).cloned(),
        evictions: number(1, 2),
        limit: number(0, 1_000_000) as usize,
    };
    let elf = match std::fs::read(path) {
        Ok(elf) => elf,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    match check(&request, &elf, &mut |_| true) {
        Ok(report) => {
            print!("{report}");
            ExitCode::from(u8::from(report.counter_example.is_some()))
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(2)
        }
    }
}
