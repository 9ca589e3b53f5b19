//! The small form in which an interface is checked: as many slots as matter,
//! instead of hundreds.
//!
//! Blocks of 16 bytes and packets of three blocks (or two) keep all that is difficult of
//! the real sizes: the header shares a block with the payload, a message may
//! have one block, two, or all. A queue has two entries where the model allows
//! it, so that a few messages go round it with both senses; an interface's cache
//! is as small as the model allows, so that blocks of different messages want
//! the same line. Times become too long for any to pass by itself: see
//! [`super::world`].

use narthex_fabrics::Header;
use narthex_interfaces::{Attached, HalfName, Name};
use narthex_kernel::{Bytes, Duration};
use narthex_machine::config::MachineConfig;
use serde_json::{Value, json};

/// Bytes of a coherence block, the smallest that a cache supports.
const BLOCK_BYTES: u64 = 16;
/// Blocks of a packet; the second where the first would make queues longer.
const PACKET_BLOCKS: [u64; 2] = [3, 2];
/// The fewest entries of a queue that is checked.
const ENTRIES: u64 = 2;

/// Longer than any number of steps that a half can make meanwhile.
const LONG: Duration = Duration::from_ps(1 << 32);

/// Entries of each of a bridge's buffers, so that it is often full.
const BRIDGE_ENTRIES: u32 = 1;

/// How many times each number is reduced as far as the others allow.
const PASSES: u32 = 2;

/// The interface and the machine of the small form.
///
/// # Errors
/// Why the machine cannot have the interface.
pub fn small(asked: &Attached, machine: &MachineConfig) -> Result<(Attached, MachineConfig), String> {
    let Attached { name, attachment, .. } = *asked;
    let mut config = machine.clone();
    config.machine.processors_per_node = 1;
    config.machine.processors_per_process = None;
    if let Some(directory) = &mut config.directory {
        // Blocks are held for a time, and no time passes here.
        directory.hold_time = Duration::ZERO;
    }
    if let Some(bridge) = &mut config.io_bus {
        (bridge.downward_entries, bridge.upward_entries) = (BRIDGE_ENTRIES, BRIDGE_ENTRIES);
    }
    // One level of caches and one miss are what the interface sees of any number.
    config.second_level_cache = None;
    config.processor.misses = None;
    config.node.processors.values_mut().for_each(|part| part.caches.truncate(2));
    config.data_cache.block = Bytes::new(BLOCK_BYTES);
    // Two sets of sixteen lines: more blocks than any interface shares, so
    // that which block leaves is the checker's choice alone.
    config.data_cache.associativity = 16;
    config.data_cache.size = Bytes::new(2 * 16 * BLOCK_BYTES);
    // What a larger header has beyond a doubleword is payload to an interface.
    config.messages.header = Bytes::new(Header::BYTES as u64);
    let models = [name.send.model, name.receive.model];
    let sections = machine.interfaces_at(attachment);
    for path in [&mut config.cache_bus, &mut config.register_file].into_iter().flatten() {
        path.interfaces.clear();
    }
    let forms = PACKET_BLOCKS.iter().filter_map(|blocks| {
        config.messages.packet = Bytes::new(blocks * BLOCK_BYTES);
        for model in models {
            let section = sections.get(model.section).cloned();
            let mut section = section.unwrap_or_else(model.sample);
            let values = section.as_object_mut().into_iter().flat_map(|table| table.values_mut());
            values.for_each(|value| adapt(value, machine.messages.packet, config.messages.packet));
            config.interfaces.insert(model.section.into(), section);
        }
        smallest(*asked, &config)
    });
    let least = forms.min_by_key(|(interface, config)| most_entries(interface, config));
    least.ok_or_else(|| {
        let mut full = machine.clone();
        full.machine.processors_per_node = 1;
        for model in models {
            full.interfaces.entry(model.section).or_insert_with(model.sample);
        }
        let small = || format!("'{asked}' has no form that is small enough to be checked");
        full.build_halves(asked).err().unwrap_or_else(small)
    })
}

/// The smallest form with packets of this size.
fn smallest(asked: Attached, config: &MachineConfig) -> Option<(Attached, MachineConfig)> {
    let Attached { name, attachment, is_hardware } = asked;
    (0..=name.send.size.max(name.receive.size)).find_map(|size| {
        let at_most = |half: HalfName| half.with_size(half.size.min(size));
        let small = Name { send: at_most(name.send)?, receive: at_most(name.receive)? };
        let small = Attached { name: small, attachment, is_hardware };
        with_least_numbers(&small, config).map(|config| (small, config))
    })
}

/// The machine in which each whole number among the parameters of the
/// interface's models is the least that will do, if any will. They are made
/// smaller together first: two queues divide into the same packets.
fn with_least_numbers(interface: &Attached, config: &MachineConfig) -> Option<MachineConfig> {
    let mut config = config.clone();
    let mut numbers = Vec::new();
    for half in [interface.name.send, interface.name.receive] {
        let section = half.model.section;
        for (key, value) in config.interfaces[section].as_object()? {
            numbers.extend(value.as_u64().map(|most| (section, key.clone(), most)));
        }
    }
    let most = numbers.iter().map(|(.., most)| *most).max().unwrap_or(1);
    (1..=most).find(|least| {
        for (section, key, most) in &numbers {
            config.interfaces[*section][key] = json!(least.min(most));
        }
        will_do(interface, &config)
    })?;
    // A number may have to be less than another one that is reduced later.
    for _ in 0..PASSES {
        for (section, key, _) in &numbers {
            let before = config.interfaces[*section][key].as_u64()?;
            (1..=before).find(|least| {
                config.interfaces[*section][key] = json!(least);
                will_do(interface, &config)
            })?;
        }
    }
    Some(config)
}

/// Whether the interface can be built and its queues have enough entries.
fn will_do(interface: &Attached, config: &MachineConfig) -> bool {
    config.build_halves(interface).is_ok_and(|interface| {
        interface.layouts(0).iter().all(|layout| matches!(layout.entries, 0 | ENTRIES..))
    })
}

/// The entries of the longer queue.
pub fn most_entries(interface: &Attached, config: &MachineConfig) -> u64 {
    let interface = config.build_halves(interface).expect("it has been built before");
    interface.layouts(0).iter().map(|layout| layout.entries).max().unwrap_or(0)
}

/// Makes a duration too long for anything to wait for it, and shrinks a
/// number of bytes as packets shrink.
fn adapt(value: &mut Value, packet: Bytes, small_packet: Bytes) {
    let Some(text) = value.as_str() else { return };
    if text.parse::<Duration>().is_ok() {
        *value = json!(format!("{}ps", LONG.as_ps()));
    } else if let Ok(bytes) = text.parse::<Bytes>() {
        let small = bytes.as_u64() * small_packet.as_u64() / packet.as_u64();
        *value = json!(format!("{small}B"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narthex_machine::config;

    fn small_of(name: &str) -> (String, MachineConfig) {
        let machine = config::load("hpca98").unwrap();
        let (interface, config) = small(&name.parse().unwrap(), &machine.config).unwrap();
        (interface.to_string(), config)
    }

    #[test]
    fn queues_have_two_entries_and_caches_one_message() {
        assert_eq!(small_of("CNI512Q").0, "CNI6Q");
        let (name, config) = small_of("CNI32Qm");
        assert_eq!(name, "CNI4Qm");
        assert_eq!(config.interfaces["cni_iqm"]["receive_queue_blocks"], 6);
        assert_eq!(config.interfaces["cni_iqm"]["engine_time"], "4294967296ps");
    }

    #[test]
    fn packets_are_shorter_where_that_makes_queues_shorter() {
        let (name, config) = small_of("CNI32Qm+Throttle");
        assert_eq!((name.as_str(), config.messages.packet.as_u64()), ("CNI2Qm+Throttle", 32));
    }

    #[test]
    fn a_limit_in_bytes_shrinks_with_the_packet() {
        let (_, config) = small_of("NI64w+Udma");
        assert_eq!(config.interfaces["ni_iw_udma"]["dma_above"], "18B", "96 of 256 bytes, of 48");
    }

    #[test]
    fn a_ring_has_two_descriptors_whatever_its_thresholds_are() {
        let (_, config) = small_of("Ring");
        let numbers = ["send_ring", "receive_ring", "refill_threshold", "free_threshold", "prefetch"];
        let found = numbers.map(|key| config.interfaces["ring"][key].as_u64().unwrap());
        assert_eq!(found, [2, 2, 1, 1, 1]);
    }

    #[test]
    fn a_fifo_keeps_its_width() {
        assert_eq!(small_of("NI2w").0, "NI2w");
    }
}
