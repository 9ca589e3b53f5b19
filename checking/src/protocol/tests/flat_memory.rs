//! An oracle that knows nothing of the checker: caches with real bytes that run
//! a table over several blocks, compared with one flat memory at every load.

use narthex_memory::protocols::{self, Access, AccessAction, Protocol, Request, Snoop, State};
use proptest::prelude::*;

const CACHES: usize = 4;
const BLOCKS: usize = 2;
const WORDS: usize = 4;

type Block = [u32; WORDS];

/// One thing that happens. A cache that waits for the bus is granted it before
/// it begins anything else.
#[derive(Clone, Copy, Debug)]
pub(super) enum MemoryStep {
    Access { cache: usize, access: Access, block: usize, word: usize, value: u32 },
    Grant { cache: usize },
    WriteBlock { block: usize, value: u32 },
    ReadOnce { block: usize },
}

#[derive(Clone, Copy)]
struct PendingAccess {
    access: Access,
    block: usize,
    word: usize,
    value: u32,
}

struct Node<'a> {
    protocol: &'a Protocol,
    copies: [[(State, Block); BLOCKS]; CACHES],
    waiting: [Option<PendingAccess>; CACHES],
    home: [Block; BLOCKS],
    /// What memory would hold if there were no caches.
    flat: [Block; BLOCKS],
}

impl<'a> Node<'a> {
    fn new(protocol: &'a Protocol) -> Self {
        let garbage = (State::Invalid, [u32::MAX; WORDS]);
        Node {
            protocol,
            copies: [[garbage; BLOCKS]; CACHES],
            waiting: [None; CACHES],
            home: [[0; WORDS]; BLOCKS],
            flat: [[0; WORDS]; BLOCKS],
        }
    }

    fn happen(&mut self, happening: MemoryStep) {
        match happening {
            MemoryStep::Access { cache, access, block, word, value } => {
                self.grant(cache);
                let evicts_nothing = access == Access::Evict && !self.copies[cache][block].0.is_readable();
                if !evicts_nothing {
                    self.begin(cache, PendingAccess { access, block, word, value });
                }
            }
            MemoryStep::Grant { cache } => self.grant(cache),
            MemoryStep::WriteBlock { block, value } => {
                self.broadcast(None, block, Snoop::WriteBlock);
                self.home[block] = [value; WORDS];
                self.flat[block] = [value; WORDS];
            }
            MemoryStep::ReadOnce { block } => {
                let (data, _) = self.broadcast(None, block, Snoop::ReadOnce);
                assert_eq!(data, self.flat[block], "a device's ReadOnce of block {block}");
            }
        }
    }

    fn begin(&mut self, cache: usize, wanted: PendingAccess) {
        let state = self.copies[cache][wanted.block].0;
        match self.protocol.access(state, wanted.access) {
            AccessAction::Ask(_) => self.waiting[cache] = Some(wanted),
            AccessAction::Hit(next) => self.hit(cache, wanted, next),
            AccessAction::Drop => self.copies[cache][wanted.block].0 = State::Invalid,
        }
    }

    fn grant(&mut self, cache: usize) {
        let Some(wanted) = self.waiting[cache].take() else {
            return;
        };
        let state = self.copies[cache][wanted.block].0;
        if let AccessAction::Ask(request) = self.protocol.access(state, wanted.access) {
            self.transact(cache, wanted.block, request);
        }
        if wanted.access != Access::Evict || self.copies[cache][wanted.block].0.is_readable() {
            self.begin(cache, wanted);
        }
        assert!(self.waiting[cache].is_none(), "one grant is enough");
    }

    fn hit(&mut self, cache: usize, wanted: PendingAccess, next: State) {
        let PendingAccess { access, block, word, value } = wanted;
        let copy = &mut self.copies[cache][block];
        copy.0 = next;
        if access == Access::Store {
            copy.1[word] = value;
            self.flat[block][word] = value;
        }
        assert_eq!(copy.1, self.flat[block], "{access:?} of block {block} by cache {cache}");
    }

    fn transact(&mut self, cache: usize, block: usize, request: Request) {
        let (data, shared) = self.broadcast(Some(cache), block, request.snoop());
        let copy = &mut self.copies[cache][block];
        match request {
            Request::Read | Request::ReadExclusive => copy.1 = data,
            Request::WriteBack => self.home[block] = copy.1,
            Request::Upgrade => (),
        }
        copy.0 = self.protocol.fill(request, shared);
    }

    /// Every cache but the issuer snoops. Returns the block's data and the shared
    /// line.
    fn broadcast(&mut self, issuer: Option<usize>, block: usize, snoop: Snoop) -> (Block, bool) {
        let mut data = self.home[block];
        let mut shared = false;
        for cache in (0..CACHES).filter(|&cache| Some(cache) != issuer) {
            let copy = &mut self.copies[cache][block];
            let action = self.protocol.snoop(copy.0, snoop);
            if action.supplies {
                data = copy.1;
            }
            if action.updates_home {
                self.home[block] = copy.1;
            }
            copy.0 = action.next;
            shared |= action.shares;
        }
        (data, shared)
    }

    /// Everything is evicted; home memory must be what flat memory is.
    fn finish(mut self) {
        for cache in 0..CACHES {
            for block in 0..BLOCKS {
                let (access, word, value) = (Access::Evict, 0, 0);
                self.happen(MemoryStep::Access { cache, access, block, word, value });
                self.grant(cache);
            }
        }
        assert_eq!(self.home, self.flat, "after every copy has been evicted");
    }
}

/// Runs a walk; panics where the caches and flat memory disagree.
pub(super) fn walk(protocol: &Protocol, happenings: &[MemoryStep]) {
    let mut node = Node::new(protocol);
    happenings.iter().for_each(|&happening| node.happen(happening));
    node.finish();
}

/// Walks of up to `longest` happenings.
pub(super) fn walks(longest: usize) -> impl Strategy<Value = Vec<MemoryStep>> {
    let access = (0..CACHES, prop::sample::select(&Access::ALL), 0..BLOCKS, 0..WORDS, any::<u32>()).prop_map(
        |(cache, access, block, word, value)| MemoryStep::Access { cache, access, block, word, value },
    );
    let happening = prop_oneof![
        8 => access,
        4 => (0..CACHES).prop_map(|cache| MemoryStep::Grant { cache }),
        1 => (0..BLOCKS, any::<u32>())
            .prop_map(|(block, value)| MemoryStep::WriteBlock { block, value }),
        1 => (0..BLOCKS).prop_map(|block| MemoryStep::ReadOnce { block }),
    ];
    prop::collection::vec(happening, 1..longest)
}

proptest! {
    #[test]
    fn caches_that_run_a_shipped_table_agree_with_flat_memory(happenings in walks(400)) {
        for name in protocols::coherent() {
            walk(protocols::by_name(name).expect("a shipped protocol"), &happenings);
        }
    }
}
