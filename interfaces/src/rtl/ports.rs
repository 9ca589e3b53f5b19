//! The ports of hardware that stands in the place of a FIFO interface: what a design of the user's
//! has to have, no more and no less.
//!
//! All outputs may depend on inputs of the same cycle. A word moves on a packet port in each cycle
//! in which `valid` and `ready` are high at the clock's rising edge.

use super::simulation::{DesignError, Input, Output, Simulation};

/// A port of the design's top module.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    /// Its name.
    pub name: &'static str,
    /// Whether it is an input of the design.
    pub is_input: bool,
    /// In bits.
    pub width: usize,
    /// What it says.
    pub meaning: &'static str,
}

const fn input(name: &'static str, width: usize, meaning: &'static str) -> Port {
    Port { name, is_input: true, width, meaning }
}

const fn output(name: &'static str, width: usize, meaning: &'static str) -> Port {
    Port { name, is_input: false, width, meaning }
}

/// All of them.
pub const PORTS: [Port; 20] = [
    input("clock", 1, "rising edges; it stands still while the design is quiet"),
    input("reset", 1, "high at the first rising edges of a run, and never again"),
    input("register_valid", 1, "the processor accesses a register; stays until register_ready"),
    input("register_write", 1, "the access is a store"),
    input("register_address", 12, "where the register is in its page, in bytes"),
    input("register_write_data", 64, "what is stored"),
    output("register_ready", 1, "the access is over at the end of this cycle"),
    output("register_read_data", 64, "what is loaded, with register_ready"),
    output("register_fault", 1, "with register_ready: the program must not do that, and is ended"),
    output("send_valid", 1, "a doubleword of a packet to the network; the header comes first"),
    output("send_data", 64, "the doubleword"),
    output("send_last", 1, "it is the packet's last"),
    input("send_ready", 1, "the doubleword is taken; the last one once the flow control takes the packet"),
    input("send_room", 1, "the flow control has room for a packet to some node"),
    input("receive_valid", 1, "a doubleword of a packet from the network; the header comes first"),
    input("receive_data", 64, "the doubleword"),
    input("receive_last", 1, "it is the packet's last"),
    output("receive_ready", 1, "the doubleword is taken"),
    output("receive_done", 1, "the oldest packet's buffer in the flow control is free from now on"),
    output("quiet", 1, "as long as the inputs stay, no rising edge changes anything"),
];

/// The ports of an instance.
#[derive(Debug)]
pub(super) struct Ports {
    pub clock: Input,
    pub reset: Input,
    pub register_valid: Input,
    pub register_write: Input,
    pub register_address: Input,
    pub register_write_data: Input,
    pub register_ready: Output,
    pub register_read_data: Output,
    pub register_fault: Output,
    pub send_valid: Output,
    pub send_data: Output,
    pub send_last: Output,
    pub send_ready: Input,
    pub send_room: Input,
    pub receive_valid: Input,
    pub receive_data: Input,
    pub receive_last: Input,
    pub receive_ready: Output,
    pub receive_done: Output,
    pub quiet: Output,
}

impl Ports {
    /// Finds all of them.
    ///
    /// # Errors
    /// If one is missing, or has another width.
    pub fn of(simulation: &mut Simulation) -> Result<Self, DesignError> {
        let width = |name: &str| {
            let port = PORTS.iter().find(|port| port.name == name);
            port.expect("the table has every port").width
        };
        macro_rules! connect {
            ($($name:ident: $kind:ident),*) => {
                Ports { $($name: simulation.$kind(stringify!($name), width(stringify!($name)))?),* }
            };
        }
        Ok(connect!(
            clock: input, reset: input,
            register_valid: input, register_write: input, register_address: input, register_write_data: input,
            register_ready: output, register_read_data: output, register_fault: output,
            send_valid: output, send_data: output, send_last: output, send_ready: input, send_room: input,
            receive_valid: input, receive_data: input, receive_last: input, receive_ready: output,
            receive_done: output, quiet: output
        ))
    }
}
