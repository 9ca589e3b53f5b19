//! An interface behind a coherent link, with blocks of 128 bytes: messages between nodes, loads that the device holds,
//! what a load takes, and what is refused. The rules of the link are tested beside them.

use narthex_interfaces::registers::{Addresses, STATUS};
use narthex_machine::{RunRequest, config};

use crate::support::exchange::ping_pong;
use crate::support::{request, result, statistic, with};

pub const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/coherent_link.toml");

/// What a message takes beside its words, in picoseconds.
const WAY: u64 = 130_000;

/// What a word takes: 8 bytes, of which seven eighths carry messages, of 15 a nanosecond.
const WORD: f64 = 8.0 * 8.0 / 7.0 / 15.0 * 1_000.0;

/// What a load of the interface's status takes where the interface is on this interconnect, in picoseconds.
fn status(on: &str) -> u64 {
    let request = RunRequest { nodes: Some(1), ..request(MACHINE, "NI2w") };
    let request = with(request, &format!("node.interface.on=[\"{on}\"]"));
    let address = Addresses::of_process(0).register_page() + STATUS;
    let time = |loads: usize| {
        let guest = format!("li s0, {address}\n{}exit 0", " ld t0, 0(s0)\n".repeat(loads));
        result(&request, &guest)["simulated_ps"].as_u64().expect("it ends")
    };
    (time(24) - time(16)) / 8
}

#[test]
fn a_load_takes_the_messages_on_the_chip_and_one_and_two_words_on_the_link() {
    let link = 2 * WAY + (3.0 * WORD) as u64;
    assert_eq!(status("coherent_link") - status("directory"), link.next_multiple_of(1_000));
}

/// The names of what carried five messages of 200 bytes there and back.
#[test]
fn interfaces_exchange_messages_in_blocks_of_128_bytes() {
    for (interface, crosses, does_not) in [
        ("NI2w", &["IOBLD", "IOBRSP", "IOBST"][..], &["RLDT", "RLDD", "PSHA"][..]),
        ("CNI0Qm", &["RLDT", "RSTT", "PEMN", "PEMD"], &["RLDD", "SINV_H", "VICD"]),
        ("CNI512Q", &["RLDD", "PSHA", "SINV_H", "FLDRS_EH", "HAKD"], &["RSTT", "VICDHI"]),
        ("CoherentRing", &["RLDD", "PSHA", "SINV_H"], &["VICD"]),
        ("PioCoherent", &["RLDD", "PSHA", "FEVX_EH", "VICDHI", "SINV_H"], &["IOBST", "RSTT"]),
    ] {
        let documents = [1, 2].map(|threads| {
            let request = RunRequest { threads, nodes: Some(2), ..request(MACHINE, interface) };
            result(&request, &ping_pong(5, 200).over(interface))
        });
        assert_eq!(documents[0].to_string(), documents[1].to_string(), "{interface}");
        assert_eq!(statistic(&documents[0], 0, "packets_delivered"), 5, "{interface}");
        let messages = &documents[0]["nodes"][0]["statistics"]["coherent_messages"];
        let count = |name: &str| messages[name].as_u64().unwrap_or_default();
        assert!(crosses.iter().all(|name| count(name) >= 5), "{interface}: {messages}");
        assert!(does_not.iter().all(|name| count(name) == 0), "{interface}: {messages}");
    }
}

#[test]
fn what_no_coherent_link_carries_is_refused_with_its_key() {
    let machine = config::load(MACHINE).expect("it loads");
    for (key, value, says) in [
        ("lanes", "0", "0 is not allowed; expected"),
        ("lane_rate", "0GHz", "lane_rate"),
        ("requests", "65", "requests"),
        ("request_credits", "0", "0 is not allowed; expected"),
        ("forward_credits", "0", "forward_credits"),
        ("response_credits", "0", "response_credits"),
        ("stores", "257", "257 is not allowed; expected"),
        ("response_credit", "4", "did you mean `response_credits`?"),
    ] {
        let refused = machine.with_settings(&[format!("node.interconnects.coherent_link.{key}={value}")]);
        let refused = refused.map(drop).unwrap_err().to_string();
        assert!(
            refused.contains(says) && refused.contains("node.interconnects.coherent_link"),
            "{key}: {refused}"
        );
    }
    let link = std::fs::read_to_string(MACHINE).expect("it is there");
    let refused = |text: String| config::load_text("it.toml", &text).map(drop).unwrap_err().to_string();
    let longer = refused(link.replace("\"128B\"", "\"256B\""));
    assert!(longer.contains("carries blocks of 64B or 128B"), "{longer}");
    let incoherent =
        ["data_cache", "instruction_cache"].map(|cache| format!("{cache}.protocol=\"Incoherent\""));
    let refused_protocol = machine.with_settings(&incoherent).map(drop).unwrap_err().to_string();
    assert!(refused_protocol.contains("the home of a coherent link (coherent_link)"), "{refused_protocol}");
    let on_a_bus = link.replace("base = \"chip\"", "base = \"hpca98\"").replace("\"directory\"", "\"bus\"");
    let of_the_chip = "[second_level_cache]\nblock = \"128B\"\n\n[directory]\ninterleave = \"128B\"\n";
    let on_a_bus = refused(on_a_bus.replace(of_the_chip, ""));
    assert!(
        on_a_bus.contains("ports of coherent links, which need a home that knows the copies"),
        "{on_a_bus}"
    );
}
