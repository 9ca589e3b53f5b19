//! A wiring as a file lists it.
//!
//! As JSON, with the keys of the topology, switches by their numbers:
//!
//! ```json
//! { "nodes": [0, 0, 1], "links": [[0, 1]], "names": ["left", "right"] }
//! ```
//!
//! As an edge list, a link a line, with `#` before a comment. `node` and a number is a node; every
//! other name is a switch, and switches are numbered in the order in which they come:
//!
//! ```text
//! node0 left      # a node and its switch
//! node1 left
//! node2 right
//! left right      # a link between two switches
//! ```

use std::collections::HashMap;

use serde::Deserialize;

/// What a file lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lists {
    /// The switch of each node.
    pub nodes: Vec<u32>,
    /// The switches at the two ends of each link.
    pub links: Vec<(u32, u32)>,
    /// What each switch is called.
    #[serde(default)]
    pub names: Vec<String>,
}

impl Lists {
    /// Reads JSON, if the text begins as it does, else an edge list.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub fn read(text: &str) -> Result<Lists, String> {
        match text.trim_start().starts_with('{') {
            true => serde_json::from_str(text).map_err(|error| error.to_string()),
            false => EdgeList::default().read(text),
        }
    }
}

/// What has been read of an edge list.
#[derive(Default)]
struct EdgeList<'a> {
    lists: Lists,
    switches: HashMap<&'a str, u32>,
    /// Each node's switch, in the order of the lines.
    attached: HashMap<usize, u32>,
}

/// An end of a line.
enum End {
    Node(usize),
    Switch(u32),
}

impl<'a> EdgeList<'a> {
    fn read(mut self, text: &'a str) -> Result<Lists, String> {
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
            match words[..] {
                [] => {}
                [one, other] => {
                    self.link(one, other).map_err(|problem| format!("line {number}: {problem}"))?
                }
                _ => {
                    let count = words.len();
                    return Err(format!("line {number}: {count} names; expected the two ends of a link"));
                }
            }
        }
        for node in 0..self.attached.len() {
            let Some(&switch) = self.attached.get(&node) else {
                let count = self.attached.len();
                return Err(format!("node{node} is missing: the {count} nodes are numbered from 0 on"));
            };
            self.lists.nodes.push(switch);
        }
        Ok(self.lists)
    }

    fn link(&mut self, one: &'a str, other: &'a str) -> Result<(), String> {
        match (self.end(one), self.end(other)) {
            (End::Switch(one), End::Switch(other)) => self.lists.links.push((one, other)),
            (End::Node(node), End::Switch(switch)) | (End::Switch(switch), End::Node(node)) => {
                if self.attached.insert(node, switch).is_some() {
                    return Err(format!("node{node} has a switch already; a node has one link"));
                }
            }
            (End::Node(one), End::Node(other)) => {
                return Err(format!("node{one} and node{other}: a node is linked to a switch"));
            }
        }
        Ok(())
    }

    fn end(&mut self, name: &'a str) -> End {
        if let Some(node) = name.strip_prefix("node").and_then(|number| number.parse().ok()) {
            return End::Node(node);
        }
        let next = self.switches.len() as u32;
        End::Switch(*self.switches.entry(name).or_insert_with(|| {
            self.lists.names.push(name.to_owned());
            next
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_list_and_json_say_the_same() {
        let edges = "# two switches\nnode0 left\n\nright node2 # the third\nnode1 left\nleft right\n";
        let json = r#" {"nodes": [0, 0, 1], "links": [[0, 1]], "names": ["left", "right"]}"#;
        let lists =
            Lists { nodes: vec![0, 0, 1], links: vec![(0, 1)], names: vec!["left".into(), "right".into()] };
        assert_eq!((Lists::read(edges), Lists::read(json)), (Ok(lists.clone()), Ok(lists)));
    }

    #[test]
    fn what_is_no_wiring_is_refused_with_its_line() {
        let problem = |text| Lists::read(text).expect_err("it is wrong");
        assert_eq!(problem("a b\na b c"), "line 2: 3 names; expected the two ends of a link");
        assert_eq!(problem("node0 a\nnode0 b"), "line 2: node0 has a switch already; a node has one link");
        assert_eq!(problem("node0 node1"), "line 1: node0 and node1: a node is linked to a switch");
        assert_eq!(problem("node1 a"), "node0 is missing: the 1 nodes are numbered from 0 on");
        assert!(problem("{\"nodes\": [0],\n \"link\": []}").contains("line 2"));
    }
}
