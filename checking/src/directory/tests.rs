//! The shipped tables hold; broken ones are found.

use super::*;
use narthex_memory::directory::protocols;

#[test]
#[ignore = "explores"]
fn sizes() {
    for name in ["MSI", "MOESI"] {
        for scope in [
            Scope { caches: 2, blocks: 1, device: false },
            Scope { caches: 3, blocks: 1, device: false },
            Scope { caches: 3, blocks: 1, device: true },
            Scope { caches: 2, blocks: 2, device: false },
            Scope { caches: 2, blocks: 2, device: true },
            Scope { caches: 3, blocks: 2, device: false },
        ] {
            let report = check(protocols::by_name(name).unwrap(), &[scope], 8_000_000, &mut |_| true);
            println!("{report}");
        }
    }
}
