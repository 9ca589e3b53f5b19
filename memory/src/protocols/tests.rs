use super::*;
use serde::de::value::{Error, StrDeserializer};

#[test]
fn a_protocol_is_found_and_read_by_its_name() {
    assert_eq!(names(), ["Incoherent", "MESI", "MESI-OneRead", "MOESI", "MSI"]);
    assert_eq!(coherent(), ["MESI", "MESI-OneRead", "MOESI", "MSI"]);
    assert_eq!(by_name("mOeSi").map(|protocol| protocol.name), Some("MOESI"));
    assert!(by_name("MOSI").is_none());
    let read = |name: &'static str| by_its_name::deserialize(StrDeserializer::<Error>::new(name));
    assert_eq!(read("MSI").expect("a protocol").name, "MSI");
    assert_eq!(read("MOSI").unwrap_err().to_string(), "there is no protocol 'MOSI'");
}

#[test]
fn a_state_says_what_its_copy_allows_and_owes() {
    let those = |rule: fn(State) -> bool| {
        let states = State::ALL.into_iter().filter(|&state| rule(state));
        states.map(|state| state.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(those(State::is_readable), "shared exclusive owned modified");
    assert_eq!(those(State::is_writable), "exclusive modified");
    assert_eq!(those(State::is_dirty), "owned modified");
    assert_eq!(format!("{:>8}", State::Owned), "   owned");
    assert!(State::ALL.into_iter().all(|state| State::from_u8(state as u8) == state));
}

#[test]
fn a_table_answers_by_state_and_column() {
    let moesi = by_name("MOESI").unwrap();
    assert_eq!(moesi.access(State::Owned, Access::Store), AccessAction::Ask(Request::Upgrade));
    assert_eq!(
        [false, true].map(|shared| moesi.fill(Request::Read, shared)),
        [State::Exclusive, State::Shared]
    );
    let action = moesi.snoop(State::Modified, Snoop::Read);
    assert_eq!(action, SnoopAction { next: State::Owned, supplies: true, shares: true, updates_home: false });
    let snarfed: Vec<Snoop> = Snoop::ALL.into_iter().filter(|&snoop| moesi.snarf(snoop).is_some()).collect();
    assert_eq!(snarfed, [Snoop::WriteBack, Snoop::WriteBlock]);
    assert_eq!(by_name("MSI").unwrap().states(), [State::Invalid, State::Shared, State::Modified]);
}

#[test]
fn what_a_protocol_excludes_stops_the_simulator_and_names_it() {
    let msi = by_name("MSI").unwrap();
    let told = |excluded: fn(&Protocol)| {
        let panic = std::panic::catch_unwind(|| excluded(msi)).expect_err("it is excluded");
        *panic.downcast::<String>().expect("a message")
    };
    assert_eq!(
        told(|msi| _ = msi.fill(Request::Upgrade, true)),
        "MSI excludes Upgrade in: shared line asserted; coherence has been broken before"
    );
    assert_eq!(
        told(|msi| _ = msi.snoop(State::Modified, Snoop::Upgrade)),
        "MSI excludes Upgrade in: modified; coherence has been broken before"
    );
}

#[test]
fn a_protocol_is_found_in_any_case_and_the_names_are_in_order() {
    assert_eq!(by_name("moesi").map(|protocol| protocol.name), Some("MOESI"));
    assert!(by_name("MOSI").is_none());
    let names = coherent();
    assert!(names.is_sorted());
    assert!(["MESI", "MOESI", "MSI"].iter().all(|name| names.contains(name)));
}
