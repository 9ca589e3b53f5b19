//! The machinery, on a small machine of the tests' own.

use std::collections::BTreeMap;

use narthex_kernel::{Bytes, Duration, Frequency};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::*;

/// A machine in miniature: one of each thing that a structure may hold.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Small {
    /// How many nodes.
    #[schemars(range(min = 1, max = 4096))]
    nodes: u32,
    /// The bus between them.
    bus: Bus,
    /// The network.
    network: Network,
    /// Watched or not.
    watched: Option<bool>,
    /// Another bus.
    second_bus: Option<Bus>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bus {
    /// Its clock.
    clock: Frequency,
    /// Bytes a cycle.
    width: Bytes,
    /// Who goes first.
    order: Order,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Order {
    /// As they come.
    FirstCome,
    /// By number.
    Fixed,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Network {
    /// Without contention.
    Ideal {
        /// From end to end.
        latency: Duration,
    },
    /// A grid.
    Mesh {
        /// From switch to switch.
        hop: Duration,
        /// Names of its planes.
        planes: String,
    },
}

const SMALL: &str = r#"
nodes = { value = 16, stated = "Table 3" }
[bus]
clock = { value = "250MHz", stated = "Table 3" }
width = "32B"
order = "first-come"
[network]
kind = "ideal"
latency = { value = "40ns", assumed = "a fast network" }
"#;

fn text(name: &str, text: &str) -> Arc<Text> {
    Arc::new(Text { name: name.into(), text: text.into() })
}

fn read(toml: &str) -> Result<Table, ConfigError> {
    let (table, problems) = document::read(&text("small.toml", toml));
    ConfigError::unless(problems, table)
}

fn small(toml: &str) -> Result<Small, ConfigError> {
    typed(&mut read(toml)?)
}

/// The small machine with settings.
fn small_with(settings: &[&str]) -> Result<Small, ConfigError> {
    let mut table = read(SMALL).unwrap();
    for setting in settings {
        table.merge(document::read_setting(setting)?);
    }
    typed(&mut table)
}

/// All problems of SMALL after `from` is replaced by `to`.
fn broken(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from}");
    small(&SMALL.replace(from, to)).unwrap_err().to_string()
}

#[test]
fn plain_values_and_values_with_a_source_read_alike() {
    let machine = small(SMALL).unwrap();
    assert_eq!((machine.nodes, machine.bus.order), (16, Order::FirstCome));
    assert_eq!(machine.network, Network::Ideal { latency: Duration::from_ns(40) });
    assert_eq!(machine.watched, None);
}

#[test]
fn an_unknown_key_is_named_with_its_place_its_value_and_what_was_meant() {
    assert_eq!(
        broken("clock", "clok"),
        "small.toml:3:2: bus.clock: is missing; expected a frequency such as 250MHz; \
         units: Hz, kHz, MHz, GHz\n  \
           3 | [bus]\n    \
             |  ^^^\n\
         small.toml:4:1: bus.clok: unknown key (= \"250MHz\"); [bus] has clock, width, order; \
         did you mean `clock`?\n  \
           4 | clok = { value = \"250MHz\", stated = \"Table 3\" }\n    \
             | ^^^^"
    );
}

#[test]
fn a_wrong_unit_is_found_inside_a_variant_and_the_right_one_is_offered() {
    assert_eq!(
        broken("40ns", "40nsec"),
        "small.toml:9:21: network.latency: \"40nsec\" has an unknown unit; \
         expected a time such as 120ns; units: ps, ns, us, ms, s (did you mean ns?)\n  \
           9 | latency = { value = \"40nsec\", assumed = \"a fast network\" }\n    \
             |                     ^^^^^^^^"
    );
    assert!(broken("\"250MHz\"", "250").contains("bus.clock: \"250\" has no unit"));
}

#[test]
fn a_value_out_of_range_or_of_the_wrong_type_is_told_what_is_allowed() {
    assert_eq!(
        broken("16", "0"),
        "small.toml:2:19: nodes: 0 is not allowed; expected a whole number from 1 to 4096\n  \
           2 | nodes = { value = 0, stated = \"Table 3\" }\n    \
             |                   ^"
    );
    assert!(broken("16", "1.5").contains("nodes: 1.5 is not allowed"));
    assert!(broken("16", "\"many\"").contains("nodes: \"many\" is not allowed"));
    assert!(
        broken("\"32B\"", "[1, 2]")
            .contains("bus.width: [1,2] is not allowed; expected a size such as 64KiB")
    );
    assert!(broken("\"32B\"", "1979-05-27").contains("bus.width: 1979-05-27 is not allowed"));
    assert!(broken("\"32B\"", "{ bytes = 32 }").contains("bus.width: is a table; expected a size"));
    assert!(
        small("nodes = 1\nbus = 4\n")
            .unwrap_err()
            .to_string()
            .contains("bus: 4 is not allowed; expected a table with clock, width, order")
    );
}

#[test]
fn a_word_that_is_not_one_of_the_allowed_gets_the_list_and_the_nearest() {
    assert_eq!(
        broken("first-come", "first-cone"),
        "small.toml:6:9: bus.order: \"first-cone\" is not allowed; \
         expected \"first-come\" or \"fixed\"; did you mean `first-come`?\n  \
           6 | order = \"first-cone\"\n    \
             |         ^^^^^^^^^^^^"
    );
    assert_eq!(
        broken("ideal", "ideel"),
        "small.toml:8:8: network.kind: \"ideel\" is not allowed; expected \"ideal\" or \"mesh\"; did you mean `ideal`?\n  \
           8 | kind = \"ideel\"\n    \
             |        ^^^^^^^"
    );
}

#[test]
fn a_key_of_another_kind_is_told_which() {
    let error = broken("latency = ", "hop = \"1ns\"\nlatency = ");
    assert!(
        error.contains(
            "[network] has kind, latency; `hop` belongs to kind = \"mesh\"\n  9 | hop = \"1ns\"\n    | ^^^"
        ),
        "{error}"
    );
}

#[test]
fn a_key_in_the_wrong_table_is_told_the_right_one() {
    let error = broken("width", "latency = \"1ns\"\nwidth");
    assert!(error.contains("[bus] has clock, width, order; `latency` is a key of [network]\n"), "{error}");
    assert!(broken("width", "zebra = 1\nwidth").contains("[bus] has clock, width, order\n"));
}

#[test]
fn every_problem_of_a_file_is_reported_at_once() {
    let error = small("nodes = 0\n[bus]\nclock = \"1MHz\"\nwidth = \"1X\"\n[net]\n").unwrap_err();
    let keys: Vec<&str> = error.problems().iter().map(Problem::key).collect();
    assert_eq!(keys, ["network", "nodes", "bus.order", "bus.width", "net"]);
}

#[test]
fn a_leaf_states_exactly_one_source() {
    let neither = broken(", assumed = \"a fast network\"", "");
    assert!(
        neither.starts_with("small.toml:9:1: network.latency: is neither stated nor assumed"),
        "{neither}"
    );
    let both = broken("assumed =", "stated = \"Table 1\", assumed =");
    assert!(both.contains("network.latency: is both stated and assumed"), "{both}");
    assert!(broken("value = 16", "valeu = 16").contains("did you mean `value`?"));
    assert!(broken("value = 16, ", "").contains("nodes: states a source but no value"));
    assert!(broken("\"a fast network\"", "7").contains("network.latency: has a source that is not a text"));
    assert!(broken("\"a fast network\"", "\" \"").contains("network.latency: has an empty source"));
}

#[test]
fn an_assumed_value_may_state_what_else_it_might_be() {
    let with = |alternatives: &str| {
        let text = format!("\"a fast network\", alternatives = {alternatives}");
        broken("\"a fast network\"", &text)
    };
    let text = SMALL.replace("\"a fast network\"", "\"a fast network\", alternatives = [\"1us\", \"4us\"]");
    let table = read(&text).unwrap();
    let schema = Schema::of::<Small>();
    let found = schema.parameters(&table).into_iter().map(Parameter::from).next_back().unwrap();
    assert_eq!(found.alternatives, Some(vec!["1us".to_owned(), "4us".to_owned()]));
    assert!(super::super::document::write(&table).contains("alternatives = [\"1us\", \"4us\"]"));
    assert!(with("\"1us\"").contains("network.latency: has `alternatives` that are not a list"));
    let stated = broken("stated = \"Table 3\"", "stated = \"Table 3\", alternatives = [8]");
    assert!(stated.contains("has `alternatives`, but only an assumed value may"), "{stated}");
}

#[test]
fn a_mistake_of_syntax_has_a_line_and_a_column() {
    let error = small("nodes = 16\n[bus\n").unwrap_err().to_string();
    assert!(error.starts_with("small.toml:2:5: "), "{error}");
    let twice = small("nodes = 16\nnodes = 17\n").unwrap_err().to_string();
    assert!(twice.starts_with("small.toml:2:1: ") && twice.contains("duplicate key"), "{twice}");
}

#[test]
fn settings_take_the_type_of_the_parameter() {
    let machine = small_with(&["bus.clock=125MHz", "nodes = 4", "watched=true", "bus.order=fixed"]).unwrap();
    assert_eq!(machine.bus.clock.to_string(), "125MHz");
    assert_eq!((machine.nodes, machine.watched, machine.bus.order), (4, Some(true), Order::Fixed));
    let machine = small_with(&["network.kind=mesh", "network.hop=5ns", "network.planes=2"]).unwrap();
    assert_eq!(machine.network, Network::Mesh { hop: Duration::from_ns(5), planes: "2".into() });
    let machine = small_with(&["network={kind=\"ideal\", latency=\"1us\"}"]).unwrap();
    assert_eq!(machine.network, Network::Ideal { latency: Duration::from_ns(1_000) });
}

#[test]
fn a_wrong_option_of_a_table_that_is_not_there_is_the_only_problem() {
    let problems = |setting| small_with(&[setting]).unwrap_err().to_string();
    let unknown = problems("second_bus.clok=1MHz");
    assert!(unknown.contains("second_bus.clok: unknown key") && !unknown.contains("missing"), "{unknown}");
    let wrong = problems("second_bus.clock=1mile");
    assert!(wrong.contains("second_bus.clock: ") && !wrong.contains("missing"), "{wrong}");
    // A right one begins the table, which lacks the others.
    let lacking = problems("second_bus.clock=1MHz");
    for key in ["width", "order"] {
        assert!(lacking.contains(&format!("second_bus.{key}: is missing")), "{lacking}");
    }
}

#[test]
fn a_wrong_setting_is_named_as_it_was_typed() {
    let error = |setting| small_with(&[setting]).unwrap_err().to_string();
    assert_eq!(
        error("bus.clok=1MHz"),
        "--set bus.clok=1MHz: bus.clok: unknown key (= \"1MHz\"); [bus] has clock, width, order; did you mean `clock`?"
    );
    assert_eq!(
        error("bus.bandwidth=1GB/s"),
        "--set bus.bandwidth=1GB/s: bus.bandwidth: unknown key (= \"1GB/s\"); [bus] has clock, width, order; \
         bandwidth is width times clock"
    );
    assert!(
        error("nodes=5000").contains("nodes: 5000 is not allowed; expected a whole number from 1 to 4096")
    );
    assert!(error("nodes=many").contains("nodes: \"many\" is not allowed"));
    assert!(error("bus.clock=1Mhz").contains("(did you mean MHz?)"));
    assert!(error("bus.clock").contains("has no value; write key=value"));
    assert!(error("=3").contains("is not a key"));
    assert!(error("a..b=3").contains("is not a key"));
    assert!(error("bus=3").contains("bus: 3 is not allowed; expected a table"));
    assert!(error("nodes.x=3").contains("nodes: is a table; expected a whole number"));
    assert!(error("network.kind=mesh").contains("network.hop: is missing"));
}

#[test]
fn a_variant_states_only_its_difference_and_sources_merge_with_values() {
    let mut table = read(SMALL).unwrap();
    table.merge(
        read("[bus]\nclock = \"1MHz\"\nwidth = { value = \"8B\", stated = \"Section 2\" }\n").unwrap(),
    );
    let schema = Schema::of::<Small>();
    let sources: BTreeMap<String, Source> =
        schema.parameters(&table).into_iter().map(|found| (found.key, found.leaf.source.clone())).collect();
    assert_eq!(sources["bus.clock"], Source::User);
    assert_eq!(sources["bus.width"], Source::Stated("Section 2".into()));
    assert_eq!(sources["nodes"], Source::Stated("Table 3".into()));
    assert_eq!(sources["network.latency"], Source::Assumed("a fast network".into()));
    assert_eq!(typed::<Small>(&mut table).unwrap().bus.width, Bytes::new(8));
}

#[test]
fn parameters_come_with_value_unit_and_meaning() {
    let table = read(SMALL).unwrap();
    let schema = Schema::of::<Small>();
    let parameters: Vec<Parameter> = schema.parameters(&table).into_iter().map(Parameter::from).collect();
    let shown = |index: usize| {
        let Parameter { key, value, unit, meaning, .. } = &parameters[index];
        format!("{key} {value} {unit} {meaning}")
    };
    assert_eq!(shown(0), "nodes 16  How many nodes.");
    assert_eq!(shown(1), "bus.clock 250 MHz Its clock.");
    assert_eq!(shown(5), "network.latency 40 ns From end to end.");
}

#[test]
fn the_schema_for_editors_takes_plain_and_sourced_values() {
    let schema = Schema::of::<Small>().for_editors();
    let nodes = &schema["properties"]["nodes"]["anyOf"];
    assert_eq!(nodes[0]["maximum"], 4096);
    assert_eq!(nodes[1]["required"], serde_json::json!(["value", "stated"]));
    assert_eq!(schema["properties"]["nodes"]["description"], "How many nodes.");
    assert_eq!(schema["properties"]["base"]["type"], "string");
    assert!(schema.get("required").is_none());
}

/// Any text, texts of TOML's letters, and small machines with a few bytes changed.
fn some_text() -> impl Strategy<Value = String> {
    let mutated =
        (0..SMALL.len(), 0..12_usize, "[\\[\\]{}=.\"a-z0-9 \n]{0,6}").prop_map(|(at, length, with)| {
            let mut text = SMALL.to_owned();
            text.replace_range(at..(at + length).min(SMALL.len()), &with);
            text
        });
    prop_oneof![any::<String>(), "[a-z=\\[\\]{}\"'.,0-9\n #-]{0,80}", mutated]
}

proptest! {
    #[test]
    fn garbage_is_an_error_and_never_a_panic(toml in some_text(), setting in "[a-z.=\"{}\\[\\]0-9,]{0,30}|.{0,30}") {
        if let Err(error) = small(&toml) {
            prop_assert!(!error.to_string().is_empty());
        }
        let _ = small_with(&[&setting]);
        let _ = load_text("garbage", &toml);
    }

    #[test]
    fn a_tree_that_is_written_reads_back(toml in some_text()) {
        let (table, _) = document::read(&text("first", &toml));
        let written = document::write(&table);
        let (again, problems) = document::read(&text("second", &written));
        prop_assert_eq!(problems, vec![]);
        prop_assert_eq!(table.values_with_sources(), again.values_with_sources());
    }
}
