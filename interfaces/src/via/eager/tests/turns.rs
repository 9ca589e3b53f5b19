//! Whose turn it is on the bus.

use super::*;

#[test]
fn a_new_tag_has_its_turn_while_the_host_writes_faster_than_blocks_are_fetched() {
    let mut bench = Bench::new(0, false);
    bench.eager.select(1).expect("a tag");
    let (host, copy) = (PAGE + 0x1000..PAGE + 0x2000, COPY + 0x1000..COPY + 0x2000);
    *bench.eager.fields_mut() = Fields { host: host.clone(), copy };
    bench.eager.control(true).expect("a sound tag");
    let response = Response { data: Some(BlockData::zeroed(BLOCK as usize)), ..Response::default() };
    let mut next = || {
        bench.with_eager(|eager, at, statistics| {
            for block in [PAGE, PAGE + BLOCK] {
                eager.snoop(at, &Transaction::block(HOST, Kind::Upgrade, block), statistics);
            }
            eager.timer(at.now);
            let transaction = eager.issue(at, statistics).expect("there is always a block to fetch");
            eager.complete(at, &response, statistics);
            transaction.address
        })
    };
    let issued: Vec<u64> = (0..600).map(|_| next()).collect();
    let turns: Vec<usize> = (0..600).filter(|&each| host.contains(&issued[each])).collect();
    assert_eq!(turns, [256, 513], "after 256 fetches each");
}
