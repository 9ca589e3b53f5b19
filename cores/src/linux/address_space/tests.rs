use super::super::test_memory::TestMemory;
use super::*;
use proptest::prelude::*;

fn space() -> (AddressSpace, TestMemory) {
    let (mut space, mut memory) = (AddressSpace::with_heap_at(0x20_0000), TestMemory::default());
    space.add(&mut memory, 0x10_0000..0x10_1000, Protection::READ_EXECUTE, Use::Program);
    (space, memory)
}

#[test]
fn the_heap_grows_and_shrinks_by_the_byte_and_keeps_what_it_holds() {
    let (mut space, mut memory) = space();
    assert_eq!(space.set_break(&mut memory, 0), 0x20_0000);
    assert_eq!(space.set_break(&mut memory, 0x20_0801), 0x20_0801);
    memory.write(0x20_0800, &[7]).expect("the heap is mapped");
    assert_eq!(space.set_break(&mut memory, 0x20_3000), 0x20_3000);
    assert!(space.allows(0x20_0000, 0x3000, Protection::READ_WRITE));
    assert_eq!(space.set_break(&mut memory, 0x20_0801), 0x20_0801);
    assert!(!space.allows(0x20_1000, 1, Protection::READ));
    assert_eq!(memory.number(0x20_0800), 7);
}

#[test]
fn the_heap_stops_before_the_devices_and_says_so_by_not_moving() {
    let (mut space, mut memory) = space();
    assert_eq!(space.set_break(&mut memory, DEVICE_START + 1), 0x20_0000);
    assert_eq!(space.set_break(&mut memory, 0x10_0000), 0x20_0000);
    assert_eq!(space.set_break(&mut memory, u64::MAX), 0x20_0000);
}

#[test]
fn mappings_are_apart_and_not_reused_at_once() {
    let (mut space, mut memory) = space();
    let first = space.map(&mut memory, Wanted::Anywhere, 1, Protection::READ_WRITE).expect("room");
    let second = space.map(&mut memory, Wanted::Anywhere, 8192, Protection::READ).expect("room");
    assert_eq!((first, second), (MMAP_START, MMAP_START + PAGE_BYTES));
    space.unmap(&mut memory, first, 4096).expect("mapped");
    let third = space.map(&mut memory, Wanted::Anywhere, 1, Protection::READ_WRITE).expect("room");
    assert_eq!(third, second + 8192);
    assert_eq!(space.place(first), AddressKind::Nowhere);
}

#[test]
fn a_fixed_mapping_replaces_what_was_there_by_zeros() {
    let (mut space, mut memory) = space();
    memory.write(0x10_0000, &[1; 8]).expect("mapped");
    let wanted = Wanted::ExactlyIfFree(0x10_0000);
    assert_eq!(space.map(&mut memory, wanted, 4096, Protection::READ), Err(Refusal::Exists));
    let wanted = Wanted::Exactly(0x10_0000);
    assert_eq!(space.map(&mut memory, wanted, 4096, Protection::READ), Ok(0x10_0000));
    assert_eq!(memory.number(0x10_0000), 0);
    assert_eq!(memory.protection(0x10_0000), Some(Protection::READ));
}

#[test]
fn the_middle_of_a_region_can_be_protected_and_given_back() {
    let (mut space, mut memory) = space();
    let at = space.map(&mut memory, Wanted::Anywhere, 5 * PAGE_BYTES, Protection::READ_WRITE).expect("room");
    space.protect(&mut memory, at + PAGE_BYTES, PAGE_BYTES, Protection::NONE).expect("mapped");
    space.unmap(&mut memory, at + 3 * PAGE_BYTES, PAGE_BYTES).expect("mapped");
    assert!(space.allows(at, PAGE_BYTES, Protection::READ_WRITE));
    assert!(!space.allows(at, PAGE_BYTES + 1, Protection::READ));
    assert!(space.allows(at + 2 * PAGE_BYTES, PAGE_BYTES, Protection::READ_WRITE));
    assert!(!space.allows(at + 3 * PAGE_BYTES, 1, Protection::NONE));
    assert_eq!(space.allowed_bytes(at + 10, 1 << 20, Protection::READ), PAGE_BYTES - 10);
    let across = space.protect(&mut memory, at, 5 * PAGE_BYTES, Protection::READ);
    assert_eq!(across, Err(Refusal::NoMemory));
}

proptest! {
    #[test]
    fn the_bytes_taken_are_those_of_all_regions(
        steps in proptest::collection::vec((0u8..4, 0u64..24, 1u64..6), 0..60)
    ) {
        let (mut space, mut memory) = space();
        for (step, page, pages) in steps {
            let (address, length) = (0x3000_0000 + page * PAGE_BYTES, pages * PAGE_BYTES);
            // What is refused changes nothing.
            let _ = match step {
                0 => space.map(&mut memory, Wanted::Exactly(address), length, Protection::READ).map(drop),
                1 => space.unmap(&mut memory, address, length),
                2 => space.protect(&mut memory, address, length, Protection::READ_WRITE),
                _ => {
                    space.set_break(&mut memory, 0x20_0000 + page * PAGE_BYTES);
                    Ok(())
                }
            };
            let sum: u64 = space.regions.iter().map(|(start, region)| region.end - start).sum();
            prop_assert_eq!(space.taken_bytes, sum);
        }
    }
}

#[test]
fn addresses_of_devices_take_no_memory() {
    let (mut space, _) = space();
    space.reserve_device(MMAP_START / 2, 3 * MEMORY_LIMIT_BYTES, Protection::READ_WRITE);
    assert!(space.has_room_for(MEMORY_LIMIT_BYTES / 2));
}

#[test]
fn devices_are_out_of_the_programs_reach() {
    let (mut space, mut memory) = space();
    space.reserve_device(DEVICE_START, PAGE_BYTES, Protection::READ);
    assert!(space.allows(DEVICE_START, 8, Protection::READ));
    let wanted = Wanted::Exactly(DEVICE_START);
    assert_eq!(space.map(&mut memory, wanted, 1, Protection::READ), Err(Refusal::Invalid));
    assert_eq!(space.unmap(&mut memory, DEVICE_START, 1), Err(Refusal::Invalid));
    assert_eq!(space.protect(&mut memory, DEVICE_START, 1, Protection::READ), Err(Refusal::Invalid));
}

#[test]
fn shared_memory_is_zeros_that_stay_and_there_is_one_of_it() {
    let (mut space, mut memory) = space();
    let shared = 0x2000_0000;
    for (address, length, block_bytes, refusal) in [
        (shared, PAGE_BYTES, 8, Refusal::Invalid),
        (shared, PAGE_BYTES, 2048, Refusal::Invalid),
        (shared, PAGE_BYTES, 48, Refusal::Invalid),
        (shared + 64, PAGE_BYTES, 64, Refusal::Invalid),
        (shared, PAGE_BYTES + 64, 64, Refusal::Invalid),
        (shared, 0, 64, Refusal::Invalid),
        (0x10_0000, PAGE_BYTES, 64, Refusal::Invalid),
        (DEVICE_START - PAGE_BYTES, 2 * PAGE_BYTES, 64, Refusal::Invalid),
        (shared, MEMORY_LIMIT_BYTES, 64, Refusal::Invalid),
        (0x1_0000_0000, MEMORY_LIMIT_BYTES, 64, Refusal::NoMemory),
    ] {
        let refused = space.add_shared(&mut memory, address, length, block_bytes);
        assert_eq!(refused, Err(refusal), "{length:#x} at {address:#x} in blocks of {block_bytes}");
    }
    assert!(memory.tags.is_none());
    assert_eq!(space.add_shared(&mut memory, shared, 2 * PAGE_BYTES, 64), Ok(()));
    assert!(space.allows(shared, 2 * PAGE_BYTES, Protection::READ_WRITE));
    assert_eq!(space.place(shared).to_string(), "in the shared memory (read and write only)");
    let second = space.add_shared(&mut memory, shared + 2 * PAGE_BYTES, PAGE_BYTES, 64);
    assert_eq!(second, Err(Refusal::Invalid));
    assert_eq!(space.unmap(&mut memory, shared, PAGE_BYTES), Err(Refusal::Invalid));
    assert_eq!(space.discard(&mut memory, shared, PAGE_BYTES), Err(Refusal::Invalid));
    assert_eq!(space.protect(&mut memory, shared, PAGE_BYTES, Protection::READ), Err(Refusal::Invalid));
    let wanted = Wanted::Exactly(shared);
    assert_eq!(space.map(&mut memory, wanted, 1, Protection::READ), Err(Refusal::Invalid));
}

#[test]
fn absurd_lengths_and_addresses_are_refused() {
    let (mut space, mut memory) = space();
    for length in [u64::MAX, u64::MAX - 4096, MEMORY_LIMIT_BYTES + 1] {
        let refused = space.map(&mut memory, Wanted::Anywhere, length, Protection::READ);
        assert_eq!(refused, Err(Refusal::NoMemory), "{length:#x}");
    }
    assert_eq!(space.map(&mut memory, Wanted::Anywhere, 0, Protection::READ), Err(Refusal::Invalid));
    assert_eq!(space.unmap(&mut memory, 0x10_0001, 4096), Err(Refusal::Invalid));
    assert!(!space.allows(u64::MAX, 2, Protection::NONE));
}

#[test]
fn an_address_is_explained_in_words() {
    let (mut space, mut memory) = space();
    space.add_stack(&mut memory);
    assert_eq!(space.place(8).to_string(), "in the first page: a null pointer?");
    assert_eq!(space.place(0x10_0004).to_string(), "in the program (read and execute only)");
    assert!(space.place(STACK_TOP - STACK_BYTES - 8).to_string().starts_with("below the stack of 8 MiB"));
    assert_eq!(space.place(DEVICE_START).to_string(), "in the device region, but no device is there");
}
