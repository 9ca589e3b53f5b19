//! Which pairs of halves, and which halves on a node of several processes, the
//! papers do not allow. Any other send half goes with any
//! other receive half; what a half alone can be, its model says.

use crate::interface::InterfaceError;
use crate::models::cni_iqm::THROTTLED;
use crate::name::Name;
use crate::programming::Requirement;

/// Why only one half may not be throttled.
const THROTTLED_TOGETHER: &str = "+Throttle holds the sender to the rate at which the receive cache is emptied \
     (hpca98, Section 6.1.2), so both halves have it or neither has";

/// Checks a name for nodes with this many processes.
///
/// # Errors
/// The rule that it breaks.
pub fn check(name: &Name, processes: u8) -> Result<(), InterfaceError> {
    let refuse = |reason| Err(InterfaceError::Rule { name: name.to_string(), reason });
    let halves = [name.send, name.receive];
    let [send, receive] = halves.map(|half| half.form == THROTTLED);
    if send != receive {
        return refuse(THROTTLED_TOGETHER);
    }
    for requirement in halves.iter().flat_map(|half| half.model.programming.requirements) {
        match requirement {
            Requirement::OneProcess(reason) if processes > 1 => return refuse(reason),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(name: &str, processes: u8) -> Option<String> {
        match name.parse::<Name>() {
            Ok(name) => check(&name, processes).err().map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    #[test]
    fn what_the_papers_evaluate_is_allowed_and_so_is_any_half_with_any_other() {
        for name in [
            "NI2w",
            "CNI4",
            "CNI512Q",
            "CNI16Qm",
            "NI64w+Udma",
            "NI16w+Blkbuf",
            "CNI0Qm",
            "(NI16w+Blkbuf)S(CNI0Qm)R",
            "CNI32Qm+Throttle",
            "(NI2w)S(CNI32Qm)R",
            "(CNI4)S(NI64w+Udma)R",
        ] {
            assert_eq!(refusal(name, 1), None);
        }
    }

    #[test]
    fn a_broken_rule_names_the_half_and_its_reason() {
        for (name, half, reason) in [
            ("NI128Q", "'NI128Q'", "takes a CNI"),
            ("CNI4w", "'CNI4w'", "counts them rather than words"),
            ("(NI2w)S(CNI512Q+Blkbuf)R", "'CNI512Q+Blkbuf'", "added to FIFOs"),
            ("CNI0Qm+Throttle", "'CNI0Qm+Throttle'", "there is none here"),
            ("NI2w+Throttle", "'NI2w+Throttle'", "from overflowing"),
            ("(NI2w)S(CNI32Qm+Throttle)R", "'(NI2w)S(CNI32Qm+Throttle)R'", "both halves"),
        ] {
            let refusal = refusal(name, 1).expect(name);
            assert!(refusal.contains(half) && refusal.contains(reason), "{refusal}");
        }
    }

    #[test]
    fn user_level_dma_is_for_one_process_a_node() {
        assert_eq!(refusal("NI64w", 2), None);
        assert!(refusal("(NI64w+Udma)S(CNI512Q)R", 2).unwrap().contains("processors_per_node = 1"));
    }
}
