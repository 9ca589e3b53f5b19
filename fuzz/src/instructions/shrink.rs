//! A smaller program that still shows a difference.

use crate::instructions::program::{Block, Program};

/// Removes blocks, turns and items from `program` as long as `differs` says
/// that what is left still shows the difference.
pub fn shrink(program: &Program, mut differs: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    loop {
        let before = size(&best);
        remove(&mut best, |program| &mut program.blocks, &mut differs);
        for block in 0..best.blocks.len() {
            remove(&mut best, |program| &mut program.blocks[block].items, &mut differs);
            reduce_turns(&mut best, block, &mut differs);
        }
        if size(&best) == before {
            return best;
        }
    }
}

fn size(program: &Program) -> u64 {
    program.blocks.iter().map(|block| block.turns + block.items.len() as u64).sum()
}

/// Removes ever smaller pieces of the list that `list` finds in the program.
fn remove<T>(
    best: &mut Program,
    list: impl Fn(&mut Program) -> &mut Vec<T>,
    differs: &mut impl FnMut(&Program) -> bool,
) {
    let mut piece = list(best).len();
    while piece > 0 {
        let mut start = 0;
        while start < list(best).len() {
            let mut candidate = best.clone();
            let items = list(&mut candidate);
            let end = (start + piece).min(items.len());
            items.drain(start..end);
            if differs(&candidate) {
                *best = candidate;
            } else {
                start += piece;
            }
        }
        piece /= 2;
    }
}

fn reduce_turns(best: &mut Program, block: usize, differs: &mut impl FnMut(&Program) -> bool) {
    while best.blocks[block].turns > 1 {
        let mut candidate = best.clone();
        let Block { turns, .. } = &mut candidate.blocks[block];
        *turns /= 2;
        if !differs(&candidate) {
            break;
        }
        *best = candidate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instructions::generate;
    use crate::instructions::instruction::Instruction;
    use crate::instructions::program::Item;

    #[test]
    fn one_guilty_instruction_is_all_that_stays() {
        let guilty = Instruction::assembled("addi x7, x9, 1234");
        let mut program = generate::program(3);
        program.blocks[4].items.insert(11, Item::Plain(vec![guilty]));
        let holds = |program: &Program| {
            let mut items = program.blocks.iter().flat_map(|block| &block.items);
            items.any(|item| matches!(item, Item::Plain(code) if code.contains(&guilty)))
        };
        let small = shrink(&program, holds);
        assert_eq!((small.blocks.len(), small.blocks[0].items.len(), small.blocks[0].turns), (1, 1, 1));
    }
}
