//! The code of a program, divided into rows: stretches of one function that were compiled
//! from one line.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use narthex_cores::linux::{Program, SourceMap};
use narthex_machine::node::Node;

/// A stretch of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its first address.
    pub address: u64,
    /// The function in which it is, by its number.
    pub function: u32,
}

/// The rows of a program.
///
/// Row 0 and function 0 are all code that the file does not name: programs may write or map some.
#[derive(Debug)]
pub struct CodeMap {
    program: Arc<Program>,
    rows: Vec<Row>,
    /// The names of functions, by their numbers, as symbols spell them.
    functions: Vec<String>,
    segments: Vec<Segment>,
}

/// The row of each halfword of a segment.
#[derive(Debug)]
struct Segment {
    first: u64,
    rows: Vec<u32>,
}

impl CodeMap {
    /// The row of code that the file does not name.
    pub const NOWHERE: u32 = 0;

    /// The rows of a program: each function one, or, `by_line`, as its debug information says.
    pub fn new(program: &Arc<Program>, by_line: bool) -> Self {
        let source = by_line.then(|| SourceMap::new(program));
        let mut map = CodeMap {
            program: program.clone(),
            rows: vec![Row { address: 0, function: 0 }],
            functions: vec![String::new()],
            segments: Vec::new(),
        };
        let mut numbers = BTreeMap::new();
        for (first, bytes) in program.code() {
            let addresses = first..first + bytes.len() as u64;
            let mut starts: Vec<u64> =
                program.function_bounds().filter(|bound| addresses.contains(bound)).collect();
            starts.extend(source.iter().flat_map(|source| source.line_starts(addresses.clone())));
            starts.extend([addresses.start, addresses.end]);
            starts.sort_unstable();
            starts.dedup();
            let mut rows = Vec::with_capacity(bytes.len() / 2 + 1);
            for stretch in starts.windows(2).filter(|stretch| addresses.contains(&stretch[0])) {
                let row = map.row_of(stretch[0]..stretch[1], &mut numbers);
                rows.resize(((stretch[1] - first) / 2) as usize, row);
            }
            map.segments.push(Segment { first, rows });
        }
        map
    }

    /// The code maps of all processors of these nodes, which share those of a program: by node and
    /// by processor.
    pub fn of_nodes(nodes: &[&mut Node], by_line: bool) -> Vec<Vec<Arc<CodeMap>>> {
        let mut known: Vec<Arc<CodeMap>> = Vec::new();
        let mut of = |program: &Arc<Program>| {
            if let Some(map) = known.iter().find(|map| Arc::ptr_eq(&map.program, program)) {
                return map.clone();
            }
            known.push(Arc::new(CodeMap::new(program, by_line)));
            known[known.len() - 1].clone()
        };
        let mut of_node = |node: &Node| {
            (0..node.processor_count()).map(|processor| of(node.program_of(processor))).collect()
        };
        nodes.iter().map(|node| of_node(node)).collect()
    }

    fn row_of(&mut self, stretch: Range<u64>, numbers: &mut BTreeMap<u64, u32>) -> u32 {
        let Some((name, offset)) = self.program.symbol(stretch.start) else { return CodeMap::NOWHERE };
        let function = *numbers.entry(stretch.start - offset).or_insert_with(|| {
            self.functions.push(name.to_owned());
            (self.functions.len() - 1) as u32
        });
        self.rows.push(Row { address: stretch.start, function });
        (self.rows.len() - 1) as u32
    }

    /// The row of the instruction at an address.
    #[inline]
    pub fn row_at(&self, address: u64) -> u32 {
        let row =
            |segment: &Segment| segment.rows.get((address.wrapping_sub(segment.first) / 2) as usize).copied();
        self.segments.iter().find_map(row).unwrap_or(CodeMap::NOWHERE)
    }

    /// A row.
    pub fn row(&self, row: u32) -> Row {
        self.rows[row as usize]
    }

    /// The function in which a row is.
    #[inline]
    pub fn function_of(&self, row: u32) -> u32 {
        self.rows[row as usize].function
    }

    /// A function's name as its symbol spells it; empty if the file names none.
    pub fn function_name(&self, function: u32) -> &str {
        &self.functions[function as usize]
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }
}
