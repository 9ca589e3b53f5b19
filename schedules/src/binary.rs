//! GOAL's binary format, which LogGOPSim maps into its memory: little endian, packed.
//!
//! ```text
//! u64 4223 | u32 ranks | u8 processors | u8 interfaces | a rank: u64 start, u64 end | ranks
//!
//! a rank:    u32 operations | u32 of them that wait for none | u32 their numbers
//!            | operations, 39 bytes each | u32 numbers of dependants: the appendix
//! operation: u32 waits for | u8 1 send, 2 receive, 3 calculation | u32 peer | u64 size
//!            | u32 tag | u8 processor | u8 interface
//!            | u32 dependants, u32 the first of them in the appendix
//!            | u32 dependants of its start, u32 the first of them
//! ```
//!
//! Starts and ends count from byte 8. A rank is read and written at a time.

use std::io::{Read, Seek, SeekFrom, Write};

use crate::Problem;
use crate::schedule::{ANY, Dependency, Kind, Operation, RankBuilder, Schedule, Shape};

/// What a file begins with.
pub const COOKIE: u64 = 4223;
const COOKIE_BYTES: u64 = 8;
const HEAD_BYTES: u64 = 14;
const ENTRY_BYTES: u64 = 16;
const RECORD_BYTES: usize = 39;
/// The first of no dependants.
const NONE: u32 = u32::MAX;

/// Reads a file of `length` bytes.
///
/// # Errors
/// If it is cut or damaged: the rank is named.
pub fn read(input: &mut (impl Read + Seek), length: u64) -> Result<Schedule, Problem> {
    let mut head = [0; HEAD_BYTES as usize];
    fill(input, &mut head).map_err(|_| {
        Problem::new(format!("the file is cut: it has {length} bytes of a header of {HEAD_BYTES}"))
    })?;
    let mut fields = Fields { bytes: &head };
    let (cookie, ranks, cpus, nics) = (fields.u64(), fields.u32(), fields.u8(), fields.u8());
    if cookie != COOKIE {
        return Err(Problem::new(format!(
            "the file begins with {cookie}; a binary schedule begins with {COOKIE}"
        )));
    }
    let ranks_begin = HEAD_BYTES + ENTRY_BYTES * u64::from(ranks);
    if length < ranks_begin || ranks == 0 || ranks == ANY {
        return Err(Problem::new(format!(
            "the file is cut or damaged: it has {length} bytes, and its {ranks} ranks have a table of {}",
            ENTRY_BYTES * u64::from(ranks)
        )));
    }
    let mut table = vec![0; (ENTRY_BYTES * u64::from(ranks)) as usize];
    fill(input, &mut table)?;
    let mut table = Fields { bytes: &table };
    let mut schedule = Schedule::with(cpus, nics);
    let (mut section, mut rank) = (Vec::new(), RankBuilder::default());
    for number in 0..ranks {
        let [start, end] = [table.u64(), table.u64()].map(|place| place.checked_add(COOKIE_BYTES));
        let range =
            start.zip(end).filter(|(start, end)| ranks_begin <= *start && start <= end && *end <= length);
        let (start, end) = range.ok_or_else(|| {
            Problem::new(format!("the file is cut: rank {number} is not within its {length} bytes"))
        })?;
        section.resize((end - start) as usize, 0);
        input.seek(SeekFrom::Start(start)).map_err(|error| Problem::new(error.to_string()))?;
        fill(input, &mut section)?;
        rank.clear();
        read_rank(&section, ranks, &mut rank).map_err(|problem| problem.within(format!("rank {number}")))?;
        schedule.push(&rank)?;
    }
    Ok(schedule)
}

fn fill(input: &mut impl Read, bytes: &mut [u8]) -> Result<(), Problem> {
    input.read_exact(bytes).map_err(|error| Problem::new(format!("the file is cut: {error}")))
}

fn read_rank(section: &[u8], ranks: u32, rank: &mut RankBuilder) -> Result<(), Problem> {
    let cut = || Problem::new(format!("its {} bytes are cut or damaged", section.len()));
    let (counts, rest) = section.split_at_checked(8).ok_or_else(cut)?;
    let mut counts = Fields { bytes: counts };
    let (operations, roots) = (counts.u32() as usize, counts.u32() as usize);
    let records = roots.checked_mul(4).and_then(|bytes| rest.get(bytes..)).ok_or_else(cut)?;
    let (records, appendix) = operations
        .checked_mul(RECORD_BYTES)
        .and_then(|bytes| records.split_at_checked(bytes))
        .ok_or_else(cut)?;
    let mut waits_for = Vec::with_capacity(operations);
    for (index, record) in records.chunks_exact(RECORD_BYTES).enumerate() {
        let mut fields = Fields { bytes: record };
        waits_for.push(fields.u32());
        let (operation, peer) = read_operation(&mut fields, index, ranks)?;
        rank.add(operation, peer);
        for start in [false, true] {
            let (count, first) = (fields.u32() as usize, fields.u32() as usize);
            let numbers = match count {
                0 => &[],
                _ => first
                    .checked_add(count)
                    .filter(|end| *end <= appendix.len() / 4)
                    .map(|end| &appendix[4 * first..4 * end])
                    .ok_or_else(cut)?,
            };
            for number in numbers.chunks_exact(4) {
                let later = Fields { bytes: number }.u32();
                if later as usize >= operations {
                    return Err(Problem::new(format!(
                        "operation {index} has the dependant {later}; operations are 0 to {}",
                        operations - 1
                    )));
                }
                rank.dependencies.push(Dependency { later, earlier: index as u32, start });
            }
        }
    }
    rank.dependencies
        .iter()
        .for_each(|each| waits_for[each.later as usize] = waits_for[each.later as usize].wrapping_sub(1));
    if let Some(wrong) = waits_for.iter().position(|&left| left != 0) {
        return Err(Problem::new(format!(
            "operation {wrong} waits for another number of operations than have it as a dependant"
        )));
    }
    rank.dependencies.sort_unstable();
    Ok(())
}

fn read_operation(fields: &mut Fields<'_>, index: usize, ranks: u32) -> Result<(Operation, u32), Problem> {
    let wrong = |what: String| Err(Problem::new(format!("operation {index}: {what}")));
    let kind = match fields.u8() {
        1 => Kind::Send,
        2 => Kind::Receive,
        3 => Kind::Calculate,
        other => {
            return wrong(format!("type {other}; allowed are 1 (send), 2 (receive) and 3 (calculation)"));
        }
    };
    let (peer, size, tag, cpu, nic) = (fields.u32(), fields.u64(), fields.u32(), fields.u8(), fields.u8());
    if cpu == u8::MAX || nic == u8::MAX {
        return wrong(format!("processor {cpu} and interface {nic}; allowed are 0 to 254"));
    }
    if kind == Kind::Calculate {
        return Ok((Operation { kind, size, tag: 0, cpu, nic }, 0));
    }
    if peer >= ranks && !(kind == Kind::Receive && peer == ANY) {
        return wrong(format!("peer {peer}; ranks are 0 to {}", ranks - 1));
    }
    Ok((Operation { kind, size, tag, cpu, nic }, peer))
}

/// Takes numbers from bytes that are known to suffice.
struct Fields<'a> {
    bytes: &'a [u8],
}

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.bytes.split_first_chunk().expect("a record has all of its fields");
        self.bytes = rest;
        *first
    }

    fn u8(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

/// Writes a schedule.
///
/// # Errors
/// If the output cannot be written.
pub fn write(schedule: &Schedule, output: &mut impl Write) -> std::io::Result<()> {
    output.write_all(&COOKIE.to_le_bytes())?;
    output.write_all(&schedule.ranks().to_le_bytes())?;
    output.write_all(&[schedule.cpus(), schedule.nics()])?;
    let mut start = HEAD_BYTES - COOKIE_BYTES + ENTRY_BYTES * u64::from(schedule.ranks());
    for rank in 0..schedule.ranks() {
        let end = start + section_bytes(schedule.shape(rank));
        output.write_all(&start.to_le_bytes())?;
        output.write_all(&end.to_le_bytes())?;
        start = end;
    }
    (0..schedule.ranks()).try_for_each(|rank| write_rank(schedule, rank, output))
}

fn roots(shape: &Shape) -> impl Iterator<Item = u32> {
    (0u32..).zip(shape.waits_for()).filter(|(_, waits)| **waits == 0).map(|(index, _)| index)
}

fn section_bytes(shape: &Shape) -> u64 {
    let indices = 2 + roots(shape).count() + shape.dependencies().len();
    (RECORD_BYTES * shape.operations().len() + 4 * indices) as u64
}

fn words(output: &mut impl Write, values: impl IntoIterator<Item = u32>) -> std::io::Result<()> {
    values.into_iter().try_for_each(|value| output.write_all(&value.to_le_bytes()))
}

fn write_rank(schedule: &Schedule, rank: u32, output: &mut impl Write) -> std::io::Result<()> {
    let shape = schedule.shape(rank);
    let counts = [shape.operations().len() as u32, roots(shape).count() as u32];
    words(output, counts.into_iter().chain(roots(shape)))?;
    let mut next = 0;
    for (index, (operation, peer)) in (0..).zip(shape.operations().iter().zip(schedule.peers(rank))) {
        output.write_all(&shape.waits_for()[index as usize].to_le_bytes())?;
        output.write_all(&[operation.kind as u8])?;
        output.write_all(&peer.to_le_bytes())?;
        output.write_all(&operation.size.to_le_bytes())?;
        output.write_all(&operation.tag.to_le_bytes())?;
        output.write_all(&[operation.cpu, operation.nic])?;
        for dependants in [shape.dependants(index), shape.start_dependants(index)] {
            let count = dependants.len() as u32;
            let first = if count == 0 { NONE } else { next };
            words(output, [count, first])?;
            next += count;
        }
    }
    for index in 0..counts[0] {
        words(output, shape.dependants(index).iter().chain(shape.start_dependants(index)).copied())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn to_binary(schedule: &Schedule) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(schedule, &mut bytes).unwrap();
        bytes
    }

    fn from_binary(bytes: &[u8]) -> Result<Schedule, Problem> {
        read(&mut Cursor::new(bytes), bytes.len() as u64)
    }

    fn to_text(schedule: &Schedule) -> String {
        let mut bytes = Vec::new();
        text::write(schedule, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    const TEXT: &str = "num_ranks 2\nrank 0 {\nl1: calc 100\nl2: send 16b to 1 tag 7 nic 1\nl3: calc 5\n\
                        l2 requires l1\nl3 irequires l2\n}\nrank 1 {\nl1: recv 16b from 0 tag 7\n}\n";

    #[test]
    fn every_byte_is_where_the_format_has_it() {
        let schedule = text::read(TEXT.as_bytes()).unwrap();
        let expected = "7f10000000000000 02000000 01 02 2600000000000000 af00000000000000 \
             af00000000000000 e200000000000000 \
             03000000 01000000 00000000 \
             00000000 03 00000000 6400000000000000 00000000 00 00 01000000 00000000 00000000 ffffffff \
             01000000 01 01000000 1000000000000000 07000000 00 01 00000000 ffffffff 01000000 01000000 \
             01000000 03 00000000 0500000000000000 00000000 00 00 00000000 ffffffff 00000000 ffffffff \
             01000000 02000000 \
             01000000 01000000 00000000 \
             00000000 02 00000000 1000000000000000 07000000 00 00 00000000 ffffffff 00000000 ffffffff"
            .replace(' ', "");
        let found: String = to_binary(&schedule).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_cut_file_is_refused_wherever_it_is_cut() {
        let bytes = to_binary(&text::read(TEXT.as_bytes()).unwrap());
        for length in 0..bytes.len() {
            let told = from_binary(&bytes[..length]).unwrap_err().message;
            assert!(told.contains("cut"), "{length}: {told}");
        }
        let mut many = bytes.clone();
        many[8..12].fill(0xff);
        assert!(from_binary(&many).unwrap_err().message.contains("4294967295 ranks"));
    }

    fn any_rank() -> impl Strategy<Value = String> {
        let operation = (0..3u8, any::<u64>(), 0..3u32, 0..3u32, 0..2u8, 0..2u8).prop_map(
            |(kind, size, peer, tag, cpu, nic)| {
                let rest = [("tag", tag), ("cpu", cpu.into()), ("nic", nic.into())];
                let rest = rest.iter().filter(|(key, value)| *value > 0 && (kind < 2 || *key != "tag"));
                let rest: String = rest.map(|(key, value)| format!(" {key} {value}")).collect();
                match kind {
                    0 => format!("send {size}b to {peer}{rest}"),
                    1 => format!("recv {size}b from {peer}{rest}"),
                    _ => format!("calc {size}{rest}"),
                }
            },
        );
        (
            proptest::collection::vec(operation, 1..8),
            proptest::collection::btree_set((1..8usize, 0..7usize, any::<bool>()), 0..8),
        )
            .prop_map(|(operations, pairs)| {
                let count = operations.len();
                let mut text: String =
                    (1..).zip(&operations).map(|(index, each)| format!("l{index}: {each}\n")).collect();
                for (later, earlier, start) in pairs {
                    if later < count && earlier < later {
                        let word = if start { "irequires" } else { "requires" };
                        text += &format!("l{} {word} l{}\n", later + 1, earlier + 1);
                    }
                }
                text
            })
    }

    proptest! {
        #[test]
        fn a_text_comes_back_from_the_binary_format(ranks in proptest::collection::vec(any_rank(), 3)) {
            let ranks: String = (0..).zip(&ranks).map(|(rank, text)| format!("rank {rank} {{\n{text}}}\n")).collect();
            let text = format!("num_ranks 3\n{ranks}");
            let schedule = text::read(text.as_bytes()).unwrap();
            prop_assert_eq!(to_text(&from_binary(&to_binary(&schedule)).unwrap()), text);
        }

        #[test]
        fn damaged_bytes_are_refused_or_read(place in 0..226usize, byte: u8) {
            let schedule = text::read(TEXT.as_bytes()).unwrap();
            let mut bytes = to_binary(&schedule);
            bytes[place] = byte;
            let read = from_binary(&bytes);
            if let Ok(read) = read {
                to_text(&read);
            }
        }

        #[test]
        fn damaged_text_is_refused_or_read(place in 0..TEXT.len(), byte: u8) {
            let mut bytes = TEXT.as_bytes().to_vec();
            bytes[place] = byte;
            drop(text::read(&bytes[..]));
        }
    }
}
