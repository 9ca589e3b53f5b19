use super::table::{Action, Rest, Row, Side, State, Table, Tag};
use super::*;

const FILE: &str = include_str!("../../../guest/shared_memory/protocols/invalidation.def");

fn shipped() -> Table {
    Table::parse(FILE).expect("the shipped table is one")
}

fn check(table: &Table, nodes: u8) -> Report {
    check_table(table, nodes, 100_000, &mut |_| true)
}

#[test]
fn the_shipped_table_holds_in_this_many_states() {
    let states = [2, 3, 4].map(|nodes| {
        let report = check(&shipped(), nodes);
        assert_eq!(report.proven, PROPERTIES, "{report}");
        report.states
    });
    assert_eq!(states, [50, 1378, 34453]);
}

#[test]
fn every_row_is_needed() {
    let table = shipped();
    for row in &table.rows {
        let name = table.row_name(row);
        let report = check(&table.without(&name).expect("it has that row"), 4);
        assert!(report.counter_example.is_some(), "without {name}: {report}");
    }
}

#[test]
fn an_invalidation_that_overtakes_the_block_must_be_held() {
    let report = check(&shipped().without("READING:INVALIDATE").expect("it has that row"), 3);
    let example = report.counter_example.expect("it fails");
    assert_eq!(example.violated, NO_EXCLUDED);
    let last = example.steps.last().expect("there is a story");
    assert!(last.contains("READING, which has no row for INVALIDATE"), "{last}");
}

/// All tables that differ from the shipped one in one word, with the difference.
fn mutants() -> Vec<(Table, String)> {
    let table = shipped();
    let mut mutants = Vec::new();
    for place in 0..table.rows.len() {
        let row = &table.rows[place];
        let mut change = |change: String, row: Row| {
            let mut mutant = table.clone();
            mutant.rows[place] = row;
            mutants.push((mutant, format!("{}: {change}", table.row_name(&table.rows[place]))));
        };
        let side = |state: u8| table.states[state as usize].side;
        for next in
            (0..table.states.len() as u8).filter(|&next| side(next) == side(row.state) && next != row.next)
        {
            change(format!("next {}", table.states[next as usize].name), Row { next, ..row.clone() });
        }
        for (number, &action) in row.actions.iter().enumerate() {
            let mut actions = row.actions.clone();
            actions.remove(number);
            change(format!("no {action}"), Row { actions: actions.clone(), ..row.clone() });
            let fits =
                |other: &Action| other.side().is_none_or(|of| of == side(row.state)) && *other != action;
            for &other in Action::ALL.iter().filter(|other| fits(other)) {
                let mut actions = row.actions.clone();
                actions[number] = other;
                change(format!("{other} for {action}"), Row { actions, ..row.clone() });
            }
        }
    }
    for (place, state) in table.states.iter().enumerate() {
        let mut change = |change: String, state: State| {
            let mut mutant = table.clone();
            mutant.states[place] = state;
            mutants.push((mutant, change));
        };
        for &tag in Tag::ALL.iter().filter(|&&tag| tag != state.tag) {
            change(format!("{} with tag {tag}", state.name), State { tag, ..state.clone() });
        }
        for &rest in Rest::ALL.iter().filter(|&&rest| rest != state.rest) {
            change(format!("{} {rest}", state.name), State { rest, ..state.clone() });
        }
    }
    mutants
}

/// Mutants that are right too: while a block waits, its copy is kept, whether or
/// not the node's own program may read it meanwhile.
const RIGHT_TOO: [&str; 3] = ["UPGRADING with tag NONE", "CLAIMING with tag NONE", "GRANTING with tag NONE"];

/// Three nodes are quick, and find most; a second acknowledgement takes four.
fn is_found(mutant: &Table) -> bool {
    [3, 4].iter().any(|&nodes| check(mutant, nodes).counter_example.is_some())
}

#[test]
fn every_wrong_word_is_found() {
    let mutants = mutants();
    assert_eq!(mutants.len(), 660);
    let survivors: Vec<&String> =
        mutants.iter().filter(|(mutant, _)| !is_found(mutant)).map(|(_, change)| change).collect();
    assert_eq!(survivors, RIGHT_TOO.iter().collect::<Vec<_>>());
}

#[track_caller]
fn refuses(from: &str, to: &str, line: usize, words: &[&str]) {
    assert!(FILE.contains(from), "the file has {from}");
    let error = Table::parse(&FILE.replacen(from, to, 1)).expect_err("it is no table");
    let wanted = FILE[..FILE.find(from).expect("it has")].matches('\n').count() + 1 + line;
    assert_eq!(error.line, wanted, "{error}");
    words.iter().for_each(|word| assert!(error.to_string().contains(word), "{error}"));
}

#[test]
fn what_is_no_table_is_refused_with_its_line() {
    refuses("ROW(INVALID, LOAD,", "ROW(INVALID, LOADS,", 0, &["'LOADS' is no event", "LOAD, STORE"]);
    refuses("ROW(INVALID, LOAD,", "ROW(INVALUED, LOAD,", 0, &["'INVALUED' is not declared"]);
    refuses("ROW(INVALID, LOAD,", "COLUMN(INVALID, LOAD,", 0, &["neither STATE", "COLUMN"]);
    refuses("ROW(INVALID, LOAD, READING,", "ROW(INVALID, LOAD, IDLE,", 0, &["side CACHE", "other side"]);
    refuses(
        "ROW(INVALID, LOAD, READING,",
        "ROW(INVALID, RECALL, READING, ADD_COPY,",
        0,
        &["cannot do ADD_COPY"],
    );
    refuses(
        "ROW(INVALID, LOAD,",
        "ROW(INVALID, WRITE_BACK,",
        0,
        &["WRITE_BACK does not happen at side CACHE"],
    );
    refuses("ROW(INVALID, STORE,", "ROW(INVALID, LOAD,", 0, &["for LOAD in INVALID already"]);
    refuses("STATE(CACHE, READING, NONE, WAITS)", "STATE(CACHE, READING, NONE)", 0, &["STATE with 3 words"]);
    refuses(
        "STATE(CACHE, READING, NONE, WAITS)",
        "STATE(CACHE, READABLE, NONE, WAITS)",
        0,
        &["declared twice"],
    );
    refuses(", TAKE_DATA, REPEAT_HELD)", ")", 0, &["1 to 4 actions, not 0"]);
}

#[test]
fn a_table_needs_both_sides() {
    let error = Table::parse("STATE(HOME, IDLE, WRITE, RESTS)\n").expect_err("it has one side");
    assert!(error.to_string().contains("without states of both sides"), "{error}");
    assert_eq!(Side::ALL.len(), 2);
}

#[test]
fn arguments_out_of_range_are_refused() {
    let refuse = |nodes, without| {
        check_file(FILE, nodes, without, 1000, &mut |_| true).expect_err("it is refused").to_string()
    };
    assert!(refuse(6, None).contains("6 nodes cannot be checked; allowed are 2 to 5"));
    assert!(refuse(1, None).contains("allowed are 2 to 5"));
    assert!(refuse(3, Some("IDLE:RECALL")).contains("no row 'IDLE:RECALL'"));
}

#[test]
fn too_many_states_prove_nothing() {
    let report = check_table(&shipped(), 3, 100, &mut |_| true);
    assert!(!report.complete && report.proven.is_empty() && report.counter_example.is_none());
}
