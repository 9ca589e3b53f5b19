//! What a processor has of its own: caches, store buffers and queues, prefetchers.

use narthex_kernel::Bytes;

use super::machines::{preset, refused};

/// The service processor of StarT-Voyager with caches of its own.
fn voyager_refused(settings: &[&str]) -> String {
    preset("voyager").with_settings(settings).unwrap_err().to_string()
}

#[test]
fn a_processor_has_the_caches_and_the_store_buffer_that_it_names() {
    let voyager = preset("voyager").config;
    let service = voyager.caches_of(&voyager.node.processors["service_processor"]);
    let host = voyager.caches_of(voyager.node.host().1);
    assert_eq!(
        (service.data.size, service.instructions.unwrap().size),
        (Bytes::new(16 << 10), Bytes::new(16 << 10))
    );
    assert_eq!(
        (host.data.size, host.instructions.unwrap().size),
        (Bytes::new(32 << 10), Bytes::new(32 << 10))
    );
    let own = preset("voyager").with_settings(&[
        "node.processors.service_processor.store_buffer=small",
        "store_buffers.small.uncached_stores=posted",
        "store_buffers.small.entries=2",
    ]);
    let own = own.unwrap().config;
    assert_eq!(own.store_buffer_of(&own.node.processors["service_processor"]).entries, 2);
    assert_eq!(own.store_buffer_of(own.node.host().1).entries, 6);
}

#[test]
fn caches_that_do_not_fit_their_processor_are_refused_with_key_and_reason() {
    let caches = "node.processors.service_processor.caches";
    for (settings, words) in [
        (
            vec![format!("{caches}=[\"service_cach\", \"service_cache\"]")],
            "there is no table of a data cache \"service_cach\"",
        ),
        (
            vec![format!("{caches}=[\"service_cache\"]")],
            "expected the table of a data cache and the one of an instruction cache",
        ),
        (
            vec![format!("{caches}=[\"data_cache\", \"instruction_cache\"]")],
            "caches.service_cache: describes a cache that no processor has",
        ),
        (
            vec!["caches.service_cache.block=64B".to_owned()],
            "has blocks of 64B (caches.service_cache.block) on its bus, and the coherence block is 32B",
        ),
        (
            vec!["caches.service_cache.protocol=MOESI".to_owned()],
            "is not \"MESI\" (data_cache.protocol): a node has one protocol",
        ),
        (
            vec!["caches.service_cache.size=3KiB".to_owned()],
            "caches.service_cache.size: 3KiB is not a power of two",
        ),
        (
            vec![
                "node.processors.application_processor.caches=[\"service_cache\", \"service_cache\"]"
                    .to_owned(),
            ],
            "behind, for the processors of the program",
        ),
        (
            vec!["node.processors.service_processor.store_buffer=small".to_owned()],
            "there is no table of a store buffer \"small\"",
        ),
        (
            vec!["node.processors.application_processor.store_buffer=small".to_owned()],
            "is not allowed for the processors of the program",
        ),
        (
            vec![format!("{caches}=[\"service_cache\", \"service_cache\", \"second_level_cache\"]")],
            "the machine's file has no [second_level_cache]",
        ),
    ] {
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let refused = voyager_refused(&settings);
        assert!(refused.contains(words), "{settings:?}: {refused}");
    }
}

#[test]
fn a_service_processor_may_have_a_second_level_of_its_own() {
    let settings = |latency: &str, block: &str| {
        [
            "node.processors.service_processor.caches=[\"service_cache\", \"service_cache\", \"service_second\"]".to_owned(),
            "second_level_caches.service_second.size=128KiB".to_owned(),
            "second_level_caches.service_second.associativity=4".to_owned(),
            format!("second_level_caches.service_second.block={block}"),
            format!("second_level_caches.service_second.latency_cycles={latency}"),
            "second_level_caches.service_second.port=pipelined".to_owned(),
            "second_level_caches.service_second.inclusion=inclusive".to_owned(),
            "second_level_caches.service_second.data_cache_stores=write-back".to_owned(),
        ]
    };
    let machine = preset("voyager").with_settings(&settings("8", "32B")).unwrap().config;
    assert!(machine.caches_of(machine.node.host().1).second.is_none());
    assert!(machine.caches_of(&machine.node.processors["service_processor"]).second.is_some());
    let refused = preset("voyager").with_settings(&settings("0", "32B")).unwrap_err().to_string();
    assert!(
        refused.contains("second_level_caches.service_second.latency_cycles: 0 is not allowed"),
        "{refused}"
    );
}

#[test]
fn a_prefetcher_that_has_no_place_or_wrong_numbers_is_refused_with_key_and_reason() {
    let prefetcher = |table: &str| {
        ["kind=next-line", "degree=1", "distance=1"].map(|key| format!("{table}.prefetcher.{key}"))
    };
    let refused = |machine: &str, table: &str, more: &[&str]| {
        let own = prefetcher(table);
        let settings: Vec<&str> = own.iter().map(String::as_str).chain(more.iter().copied()).collect();
        preset(machine).with_settings(&settings).unwrap_err().to_string()
    };
    assert!(preset("hpca98").with_settings(&prefetcher("data_cache").each_ref().map(|own| &**own)).is_ok());
    assert!(
        preset("chip").with_settings(&prefetcher("second_level_cache").each_ref().map(|own| &**own)).is_ok()
    );
    for (text, key, reason) in [
        (
            refused("chip", "data_cache", &[]),
            "data_cache.prefetcher",
            "expected second_level_cache.prefetcher",
        ),
        (
            refused("chip", "instruction_cache", &[]),
            "instruction_cache.prefetcher",
            "are for loads and stores",
        ),
        (
            refused("voyager", "caches.service_cache", &[]),
            "caches.service_cache.prefetcher",
            "memory of devices",
        ),
        (
            refused("hpca98", "data_cache", &["data_cache.protocol=Incoherent"]),
            "data_cache.prefetcher",
            "would be stale",
        ),
        (
            refused("smp", "second_level_cache", &["second_level_cache.inclusion=non-inclusive"]),
            "second_level_cache",
            "",
        ),
        (
            refused("hpca98", "data_cache", &["data_cache.prefetcher.degree=0"]),
            "data_cache.prefetcher.degree",
            "0",
        ),
        (
            refused("hpca98", "data_cache", &["data_cache.prefetcher.distance=257"]),
            "data_cache.prefetcher",
            "257",
        ),
        (
            refused("hpca98", "data_cache", &["data_cache.prefetcher.streams=4"]),
            "data_cache.prefetcher",
            "streams",
        ),
        (
            refused("hpca98", "data_cache", &["data_cache.prefetcher.kind=nextline"]),
            "data_cache.prefetcher",
            "next-line",
        ),
        (refused("hpca98", "second_level_cache", &[]), "second_level_cache", "is no part of this machine"),
        (refused("hpca98", "third_level_cache", &[]), "third_level_cache", ""),
    ] {
        assert!(text.contains(key) && text.contains(reason), "{key}: {text}");
    }
}

#[test]
fn a_store_queue_with_wrong_or_missing_parameters_is_refused_with_key_and_reason() {
    let whole = ["store_queue.entries=8", "store_queue.drain_order=in-order"];
    assert!(preset("hpca98").with_settings(&whole).is_ok());
    for (settings, key, reason) in [
        (&[whole[1], "store_queue.entries=0"][..], "store_queue.entries", "0"),
        (&[whole[1], "store_queue.entries=65"], "store_queue.entries", "64"),
        (&[whole[1], "store_queue.entries=-1"], "store_queue.entries", "-1"),
        (&[whole[0], "store_queue.drain_order=inorder"], "store_queue.drain_order", "in-order"),
        (&[whole[0], whole[1], "store_queue.entry=8"], "store_queue.entry", "entries"),
        (&[whole[0]], "store_queue", "drain_order"),
        (&[whole[1]], "store_queue", "entries"),
    ] {
        let text = refused(settings);
        assert!(text.contains(key) && text.contains(reason), "{settings:?}: {text}");
    }
}
