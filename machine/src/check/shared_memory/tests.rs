use super::table::Table;
use super::*;

const FILE: &str = include_str!("../../../../guest/shared_memory/protocols/invalidation.def");

fn shipped() -> Table {
    Table::parse(FILE).expect("the shipped table is one")
}

fn check(table: &Table, nodes: u8) -> InterfaceReport {
    check_table(table, nodes, 1_000_000, &mut |_| true)
}

#[test]
fn the_shipped_table_holds() {
    for nodes in [2, 3, 4] {
        let report = check(&shipped(), nodes);
        println!("{report}");
        assert!(report.complete && report.counter_example.is_none(), "{report}");
    }
}
