//! What of the privileged architecture an instruction uses: registers and instructions of the
//! modes above the user's, by their names (The RISC-V Instruction Set Manual, Volume II).
//!
//! Programs and firmware are in user mode. Code for a bare machine is not, and its first
//! instruction of this kind says so better than that it is illegal.

/// Registers that start-up code of bare machines uses, in the order of their numbers.
const REGISTERS: [(u32, &str); 28] = [
    (0x100, "sstatus"),
    (0x104, "sie"),
    (0x105, "stvec"),
    (0x140, "sscratch"),
    (0x141, "sepc"),
    (0x142, "scause"),
    (0x143, "stval"),
    (0x144, "sip"),
    (0x180, "satp"),
    (0x300, "mstatus"),
    (0x301, "misa"),
    (0x302, "medeleg"),
    (0x303, "mideleg"),
    (0x304, "mie"),
    (0x305, "mtvec"),
    (0x306, "mcounteren"),
    (0x320, "mcountinhibit"),
    (0x340, "mscratch"),
    (0x341, "mepc"),
    (0x342, "mcause"),
    (0x343, "mtval"),
    (0x344, "mip"),
    (0x3a0, "pmpcfg0"),
    (0x3b0, "pmpaddr0"),
    (0xf11, "mvendorid"),
    (0xf12, "marchid"),
    (0xf13, "mimpid"),
    (0xf14, "mhartid"),
];

/// Says what of a mode above the user's an instruction does, if it does.
pub fn use_of_privilege(bits: u32) -> Option<String> {
    const SYSTEM: u32 = 0x73;
    const ALWAYS_WRITES: u32 = 1;
    if bits & 0x7f != SYSTEM {
        return None;
    }
    let (operation, source, register) = (bits >> 12 & 0b111, bits >> 15 & 0b1_1111, bits >> 20);
    if operation == 0 {
        let name = match register {
            0x102 => "sret",
            0x302 => "mret",
            _ => return None,
        };
        return Some(format!("is {name}, of {}-mode", mode(register)?));
    }
    let name = REGISTERS.iter().find(|known| known.0 == register).map(|known| known.1.to_owned());
    let name = name.unwrap_or_else(|| format!("{register:#x}"));
    let does = if operation & 0b11 == ALWAYS_WRITES || source != 0 { "writes" } else { "reads" };
    Some(format!("{does} the {}-mode register {name}", mode(register)?))
}

/// The lowest mode that may use a register or a return: bits 9 and 8 of its number.
fn mode(number: u32) -> Option<&'static str> {
    [None, Some("supervisor"), Some("hypervisor"), Some("machine")][(number >> 8 & 0b11) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_register_and_its_mode_are_named() {
        let told = |bits| use_of_privilege(bits).unwrap_or_default();
        assert_eq!(told(0xf140_2573), "reads the machine-mode register mhartid"); // csrr a0, mhartid
        assert_eq!(told(0x3052_9073), "writes the machine-mode register mtvec"); // csrw mtvec, t0
        assert_eq!(told(0x1000_6073 | 1 << 15), "writes the supervisor-mode register sstatus"); // csrsi
        assert_eq!(told(0x7b00_2573), "reads the machine-mode register 0x7b0"); // csrr a0, dcsr
        assert_eq!(told(0x3020_0073), "is mret, of machine-mode");
        assert_eq!(told(0xc010_2573), ""); // rdtime a0
        assert_eq!(told(0x5700_7057), ""); // of the vector extension
        assert!(REGISTERS.is_sorted_by_key(|known| known.0));
    }
}
