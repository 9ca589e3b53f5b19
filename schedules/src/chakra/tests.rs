use super::*;
use crate::executor::execute;
use crate::pairs;
use crate::parameters::Parameters;
use proptest::prelude::*;

fn node(id: u64, kind: i32, after: &[u64], attributes: &[(&str, i64)]) -> Node {
    let attributes = attributes
        .iter()
        .map(|(name, value)| Attribute { name: (*name).into(), value: Some(Value::Int64(*value)) });
    Node {
        id,
        kind,
        name: format!("n{id}"),
        data: after.to_vec(),
        attributes: attributes.collect(),
        ..Node::default()
    }
}

fn trace(version: &str, nodes: &[Node]) -> Vec<u8> {
    let mut bytes = Metadata { version: version.into() }.encode_length_delimited_to_vec();
    nodes.iter().for_each(|node| bytes.extend(node.encode_length_delimited_to_vec()));
    bytes
}

fn problem(version: &str, nodes: &[Node]) -> String {
    read_rank(&trace(version, nodes), (0, 4), &Groups::default()).unwrap_err().message
}

/// A step of training on four ranks: computation, all-reduce, and a message around the ring.
fn step(rank: i64) -> Vec<u8> {
    let compute = Node { duration_micros: 5, ..node(1, 4, &[], &[]) };
    let reduce = node(2, 7, &[1], &[("comm_type", 0), ("comm_size", 1024)]);
    let send = node(3, 5, &[2], &[("comm_dst", (rank + 1) % 4), ("comm_size", 64), ("comm_tag", 9)]);
    let receive = node(4, 6, &[2], &[("comm_src", (rank + 3) % 4), ("comm_size", 64), ("comm_tag", 9)]);
    trace("0.0.4", &[compute, reduce, send, receive])
}

#[test]
fn a_trace_is_executed_node_after_node() {
    let mut schedule = Schedule::with(1, 1);
    for rank in 0..4 {
        schedule.push(&read_rank(&step(i64::from(rank)), (rank, 4), &Groups::default()).unwrap()).unwrap();
    }
    pairs::check(&schedule).unwrap();
    let outcome = execute(&schedule, &Parameters::paths(100.0, 1.0), &mut |_, _| true).unwrap();
    // 5 us, two steps of recursive doubling, one message.
    assert_eq!(outcome.finish_ps, [5_300_000; 4]);
}

#[test]
fn a_newer_schema_and_what_cannot_be_executed_are_refused_in_words() {
    assert!(problem("0.0.5", &[]).starts_with("is of schema 0.0.5; the newest that is read is 0.0.4"));
    assert!(problem("new", &[]).contains("states schema 'new'"));
    assert!(
        problem("0.0.4", &[node(7, 8, &[], &[])])
            .starts_with("node 7 (n7): is of type 8, which a newer schema has")
    );
    assert!(
        problem("0.0.4", &[node(1, 4, &[2], &[])]).contains("waits for node 2, which is not in the trace")
    );
    assert!(problem("0.0.4", &[node(1, 4, &[], &[("num_ops", 5)])]).contains("has num_ops and no duration"));
    assert!(
        problem("0.0.4", &[node(1, 5, &[], &[("comm_dst", 4)])])
            .contains("'comm_dst' is missing or no whole number from 0 to 3")
    );
}

/// An all-gather on 10 bytes in the group of this name.
fn gather(id: u64, group: &str) -> Node {
    let mut node = node(id, 7, &[], &[("comm_type", 2), ("comm_size", 10)]);
    node.attributes.push(Attribute { name: "pg_name".into(), value: Some(Value::Text(group.into())) });
    node
}

#[test]
fn groups_do_their_collectives_by_themselves() {
    let groups = Groups {
        file: "step.json".into(),
        members: [("rows".into(), vec![2, 0]), ("pairs".into(), vec![1, 3])].into(),
    };
    let of = |rank: u32, nodes: &[Node]| read_rank(&trace("0.0.4", nodes), (rank, 4), &groups);
    let mut schedule = Schedule::with(1, 1);
    for rank in 0..4 {
        let own = if rank % 2 == 0 { "rows" } else { "pairs" };
        schedule.push(&of(rank, &[gather(1, own), gather(2, ""), gather(3, own)]).unwrap()).unwrap();
    }
    pairs::check(&schedule).unwrap();
    assert_eq!(schedule.peer(0, 1), 2, "of two members the other one");
    let outcome = execute(&schedule, &Parameters::paths(1.0, 1.0), &mut |_, _| true).unwrap();
    // Nothing waits: three steps on all ranks, one in each group.
    assert_eq!(outcome.makespan_ps(), 3_000);
    let told = of(1, &[gather(7, "row")]).err().unwrap().message;
    assert!(told.contains("the group 'row' (pg_name), whose ranks 'step.json' would state"), "{told}");
    assert!(told.ends_with("allowed are pairs, rows; did you mean rows?"), "{told}");
    let told = of(1, &[gather(7, "rows")]).err().unwrap().message;
    assert_eq!(told, "node 7 (n7): is a collective of the group 'rows', in which rank 1 is not");
}

proptest! {
    #[test]
    fn damaged_traces_are_refused_or_read(place in 0..100usize, byte: u8, length in 0..200usize) {
        let mut bytes = step(0);
        let place = place % bytes.len();
        bytes[place] = byte;
        bytes.truncate(length);
        if let Ok(rank) = read_rank(&bytes, (0, 4), &Groups::default()) {
            drop(Schedule::with(1, 1).push(&rank));
        }
    }
}
