//! The ports of hardware that stands in the place of a FIFO interface: what a design of the user's
//! has to have, and the bus port, which it has whole or not at all.
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

/// Those that every design has.
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

/// The bus port.
pub const BUS_PORTS: [Port; 10] = [
    output("bus_valid", 1, "a request for bytes of a block, or the next doubleword of a write"),
    output("bus_write", 1, "the request is a write"),
    output("bus_address", 64, "where its first byte is in the node's memory"),
    output("bus_bytes", 9, "how many bytes: 1 to those that the block has from there"),
    output("bus_data", 64, "a doubleword of a write, from its first byte on"),
    input("bus_ready", 1, "the request is taken, with the first doubleword of a write; then each other one"),
    input("bus_reply_valid", 1, "a doubleword that was read, or that a write is over"),
    input("bus_reply_data", 64, "a doubleword that was read, from its first byte on"),
    input("bus_reply_last", 1, "it is the request's last: the next one may follow"),
    output("bus_reply_ready", 1, "the reply's doubleword is taken"),
];

/// Makes a structure of ports from those of an instance with the widths of a table.
macro_rules! connect {
    ($simulation:ident, $table:ident, $ports:ident { $($name:ident: $kind:ident),* $(,)? }) => {
        $ports { $($name: $simulation.$kind(stringify!($name), width(&$table, stringify!($name)))?),* }
    };
}

/// The width of a port of a table.
fn width(table: &[Port], name: &str) -> usize {
    table.iter().find(|port| port.name == name).expect("the table has every port").width
}

/// The bus port of an instance.
#[derive(Debug)]
pub(super) struct BusPorts {
    pub bus_valid: Output,
    pub bus_write: Output,
    pub bus_address: Output,
    pub bus_bytes: Output,
    pub bus_data: Output,
    pub bus_ready: Input,
    pub bus_reply_valid: Input,
    pub bus_reply_data: Input,
    pub bus_reply_last: Input,
    pub bus_reply_ready: Output,
}

impl BusPorts {
    /// Finds all of them; none if the design has not one.
    ///
    /// # Errors
    /// If it has some and not all, or one has another width.
    pub fn of(simulation: &mut Simulation) -> Result<Option<Self>, DesignError> {
        if !BUS_PORTS.iter().any(|port| simulation.has_port(port.name)) {
            return Ok(None);
        }
        Ok(Some(connect!(
            simulation,
            BUS_PORTS,
            BusPorts {
                bus_valid: output,
                bus_write: output,
                bus_address: output,
                bus_bytes: output,
                bus_data: output,
                bus_ready: input,
                bus_reply_valid: input,
                bus_reply_data: input,
                bus_reply_last: input,
                bus_reply_ready: output,
            }
        )))
    }
}

/// The ports of an instance that every design has.
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
        Ok(connect!(
            simulation,
            PORTS,
            Ports {
                clock: input,
                reset: input,
                register_valid: input,
                register_write: input,
                register_address: input,
                register_write_data: input,
                register_ready: output,
                register_read_data: output,
                register_fault: output,
                send_valid: output,
                send_data: output,
                send_last: output,
                send_ready: input,
                send_room: input,
                receive_valid: input,
                receive_data: input,
                receive_last: input,
                receive_ready: output,
                receive_done: output,
                quiet: output,
            }
        ))
    }
}
