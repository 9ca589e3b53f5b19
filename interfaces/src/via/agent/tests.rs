use super::*;
use narthex_kernel::Duration;
use std::collections::BTreeMap;

/// A system in which page `n` is in frame `0x100_0000 + n * 8192`.
#[derive(Default)]
struct TestSystem {
    memory: BTreeMap<u64, u8>,
    kernel: BTreeMap<u64, Vec<u8>>,
    pinned: Vec<(u64, u64)>,
}

impl OperatingSystem for TestSystem {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), CallError> {
        let places = (address..).zip(bytes);
        places.for_each(|(address, byte)| *byte = self.memory.get(&address).copied().unwrap_or(0));
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), CallError> {
        self.memory.extend((address..).zip(bytes.iter().copied()));
        Ok(())
    }

    fn pin(&mut self, address: u64, length: u64) -> Result<Vec<u64>, CallError> {
        if address >= 0x8000_0000 {
            return Err(CallError::BadAddress);
        }
        self.pinned.push((address, length));
        let first = address / PAGE_BYTES;
        Ok((first..first + pages(address, length)).map(|page| 0x100_0000 + page * 8192).collect())
    }

    fn unpin(&mut self, address: u64, length: u64) -> Result<(), CallError> {
        let place = self.pinned.iter().position(|&pinned| pinned == (address, length));
        self.pinned.remove(place.ok_or(CallError::Invalid)?);
        Ok(())
    }

    fn write_kernel(&mut self, address: u64, bytes: &[u8]) {
        self.kernel.insert(address, bytes.to_vec());
    }

    fn take_time(&mut self, _time: Duration) {}
}

struct Bench {
    agent: Agent,
    system: TestSystem,
}

const ARGUMENT: u64 = 0x7000_0000;

impl Bench {
    fn new() -> Self {
        let config = serde_json::from_value((crate::models::via::MODEL.sample)()).expect("a sound sample");
        Bench { agent: Agent::new(&config, 2), system: TestSystem::default() }
    }

    fn call(&mut self, process: u8, request: u64, given: &[u64]) -> Result<Words, CallError> {
        let bytes: Vec<u8> = given.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.system.write(ARGUMENT, &[0; request::WORDS * 8])?;
        self.system.write(ARGUMENT, &bytes)?;
        self.agent.call(&DeviceCall { process, request, argument: ARGUMENT }, &mut self.system)?;
        let mut bytes = [0; request::WORDS * 8];
        self.system.read(ARGUMENT, &mut bytes)?;
        let word = |place: usize| bytes[place * 8..place * 8 + 8].try_into().expect("eight bytes");
        Ok(std::array::from_fn(|place| u64::from_le_bytes(word(place))))
    }

    fn command(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.agent.next_word()).take(request::COMMAND_WORDS).collect()
    }

    /// A process with a tag.
    fn opened(process: u8) -> (Self, u64) {
        let mut bench = Bench::new();
        assert_eq!(bench.call(process, request::OPEN, &[0x1_0000]).expect("it opens")[1], 1);
        let expected = [request::OPEN | u64::from(process) << 32, 1, 0x100_0000 + 0x10 * 8192, 0, 0, 0, 0, 0];
        assert_eq!(bench.command(), expected);
        let tag = bench.call(process, request::CREATE_PTAG, &[]).expect("a tag")[0];
        (bench, tag)
    }
}

#[test]
fn a_registration_pins_its_pages_and_tells_the_firmware_where_they_are() {
    let (mut bench, tag) = Bench::opened(1);
    let words = bench.call(1, request::REGISTER, &[0x2_0ff0, 0x20, tag, 7]).expect("registered");
    let (handle, sequence) = (words[4], words[5]);
    assert_eq!((sequence, bench.agent.status()), (2, COMMAND_WAITS));
    let command = bench.command();
    assert_eq!(command[..5], [request::REGISTER | 1 << 32, 2, handle, 0x2_0ff0, 0x20]);
    assert_eq!(command[6..], [tag, 7]);
    let list: Vec<u64> = bench.system.kernel[&command[5]]
        .chunks_exact(8)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    assert_eq!(list, [0x100_0000 + 0x20 * 8192, 0x100_0000 + 0x21 * 8192]);
    assert_eq!(bench.agent.status(), 0);
}

#[test]
fn pages_are_unpinned_only_after_the_registration_was_taken_back() {
    let (mut bench, tag) = Bench::opened(0);
    let handle = bench.call(0, request::REGISTER, &[0x2_0000, 64, tag, 0]).expect("registered")[4];
    assert_eq!(bench.call(0, request::RELEASE, &[handle]), Err(CallError::Busy));
    assert_eq!(bench.call(0, request::DESTROY_PTAG, &[tag]), Err(CallError::Busy));
    bench.call(0, request::DEREGISTER, &[handle]).expect("taken back");
    assert_eq!(bench.call(0, request::DEREGISTER, &[handle]), Err(CallError::Invalid));
    assert_eq!(bench.system.pinned.len(), 2);
    bench.call(0, request::RELEASE, &[handle]).expect("released");
    assert_eq!(bench.system.pinned, [(0x1_0000, PAGE_BYTES)]);
    bench.call(0, request::DESTROY_PTAG, &[tag]).expect("nothing has it");
}

#[test]
fn what_is_anothers_or_makes_no_sense_is_refused() {
    let (mut bench, tag) = Bench::opened(0);
    assert_eq!(bench.call(1, request::CREATE_PTAG, &[]), Err(CallError::Absent), "it has not opened it");
    assert_eq!(bench.call(0, request::OPEN, &[0x1_0000]), Err(CallError::Busy));
    bench.call(1, request::OPEN, &[0x1_0000]).expect("it opens");
    assert_eq!(bench.call(1, request::REGISTER, &[0x2_0000, 64, tag, 0]), Err(CallError::Invalid));
    assert_eq!(bench.call(0, request::REGISTER, &[0x2_0000, 0, tag, 0]), Err(CallError::Invalid));
    assert_eq!(bench.call(0, request::REGISTER, &[u64::MAX, 64, tag, 0]), Err(CallError::Invalid));
    assert_eq!(bench.call(0, request::REGISTER, &[0x9000_0000, 64, tag, 0]), Err(CallError::BadAddress));
    let vi = bench.call(0, request::CREATE_VI, &[tag, 0, 4096, 0, 0]).expect("a VI")[5];
    assert_eq!(bench.call(1, request::DISCONNECT, &[vi]), Err(CallError::Invalid));
    assert_eq!(bench.call(0, request::CREATE_VI, &[tag, 0, 4096, 3, 0]), Err(CallError::Invalid));
    assert_eq!(bench.call(0, 99, &[]), Err(CallError::UnknownRequest));
}

#[test]
fn a_full_queue_of_commands_is_told_and_nothing_is_done() {
    let (mut bench, tag) = Bench::opened(0);
    for _ in 0..4 {
        bench.call(0, request::REGISTER, &[0x2_0000, 64, tag, 0]).expect("registered");
    }
    assert_eq!(bench.call(0, request::REGISTER, &[0x2_0000, 64, tag, 0]), Err(CallError::Again));
    assert_eq!(bench.system.pinned.len(), 5);
    bench.command();
    bench.call(0, request::REGISTER, &[0x2_0000, 64, tag, 0]).expect("there is room");
}

#[test]
fn a_completion_queue_that_a_vi_has_stays() {
    let (mut bench, tag) = Bench::opened(0);
    let words = bench.call(0, request::CREATE_CQ, &[0x3_0000, 4096, 64]).expect("a queue");
    let (queue, handle) = (words[3], words[4]);
    let vi = bench.call(0, request::CREATE_VI, &[tag, 0, 4096, queue, queue]).expect("a VI")[5];
    assert_eq!(bench.call(0, request::DESTROY_CQ, &[queue]), Err(CallError::Busy));
    bench.call(0, request::DESTROY_VI, &[vi]).expect("it goes");
    bench.call(0, request::DESTROY_CQ, &[queue]).expect("it goes");
    bench.command();
    bench.call(0, request::RELEASE, &[handle]).expect("its memory goes");
}

#[test]
fn closing_leaves_the_pages_that_the_firmware_may_use_pinned_until_it_has_answered() {
    let (mut bench, tag) = Bench::opened(0);
    bench.call(0, request::REGISTER, &[0x2_0000, 64, tag, 0]).expect("registered");
    bench.call(0, request::CREATE_CQ, &[0x3_0000, 4096, 64]).expect("a queue");
    bench.command();
    assert_eq!(bench.call(0, request::CLOSE, &[]).expect("closed")[0], 4);
    assert_eq!(bench.system.pinned.len(), 3);
    assert_eq!(bench.call(0, request::CREATE_VI, &[tag]), Err(CallError::Absent));
    bench.call(0, request::RELEASE, &[0]).expect("the pages go");
    assert!(bench.system.pinned.is_empty());
    bench.command();
    assert_eq!(bench.call(0, request::OPEN, &[0x1_0000]).expect("it opens again")[1], 5);
}
