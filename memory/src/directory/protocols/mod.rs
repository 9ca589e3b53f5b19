//! The directory's protocols: one table a file, found by the build script.
//!
//! Each names the snooping table whose stable states its caches have
//! ([`crate::protocols`]); that is its name, too.

use super::Table;

/// Writes a [`Table`]. Rows of `requests` are I (nobody has the block), S (sharers), X
/// (an owner) and O (an owner and sharers). A cell of `requests` or `responses` is a
/// [`HomeState`](super::HomeState) and any of the [`Action`](super::Action)s; one of `written_back` is Owning or Lost
/// and any of `supplies` and `updates_home`. Every cell may be `never`.
macro_rules! directory {
    (
        stable: $stable:ident;
        requests {
            Read | ReadExclusive | Upgrade | WriteBack | Overtaken | WriteBlock | ReadOnce;
            $( $holders:ident: $($read:ident)+ | $($exclusive:ident)+ | $($upgrade:ident)+ | $($back:ident)+
                | $($overtaken:ident)+ | $($write_block:ident)+ | $($once:ident)+; )+
        }
        responses {
            Clean | Copy | Done;
            $( $waits:ident: $($clean:ident)+ | $($copy:ident)+ | $($done:ident)+; )*
        }
        written_back {
            Read | ReadExclusive | Upgrade | WriteBlock | ReadOnce;
            $( $stage:ident: $($its_read:ident)+ | $($its_exclusive:ident)+ | $($its_upgrade:ident)+
                | $($its_write:ident)+ | $($its_once:ident)+; )+
        }
    ) => {
        $crate::directory::Table {
            stable: &$crate::protocols::$stable::PROTOCOL,
            requests: {
                let mut rows = [[None; 7]; 4];
                $( rows[directory!(@holders $holders) as usize] = [
                    directory!(@home $($read)+),
                    directory!(@home $($exclusive)+),
                    directory!(@home $($upgrade)+),
                    directory!(@home $($back)+),
                    directory!(@home $($overtaken)+),
                    directory!(@home $($write_block)+),
                    directory!(@home $($once)+),
                ]; )+
                rows
            },
            responses: {
                #[allow(unused_mut)]
                let mut rows = [[None; 3]; 8];
                $( rows[$crate::directory::HomeState::$waits as usize] = [
                    directory!(@home $($clean)+),
                    directory!(@home $($copy)+),
                    directory!(@home $($done)+),
                ]; )*
                rows
            },
            written_back: [$( [
                directory!(@buffer $($its_read)+),
                directory!(@buffer $($its_exclusive)+),
                directory!(@buffer $($its_upgrade)+),
                directory!(@buffer $($its_write)+),
                directory!(@buffer $($its_once)+),
            ], )+],
        }
    };

    (@holders I) => { $crate::directory::Holders::Nobody };
    (@holders S) => { $crate::directory::Holders::Sharers };
    (@holders X) => { $crate::directory::Holders::Owner };
    (@holders O) => { $crate::directory::Holders::OwnerAndSharers };

    (@home never) => { None };
    (@home $next:ident $($action:ident)*) => {
        Some($crate::directory::HomeAction {
            next: $crate::directory::HomeState::$next,
            actions: $crate::directory::Actions::none()
                $( .with($crate::directory::Action::$action) )*,
        })
    };

    (@buffer never) => { None };
    (@buffer $stage:ident $($signal:ident)*) => {{
        #[allow(unused_mut)]
        let mut action = $crate::directory::BufferAction {
            is_owner: directory!(@is_owner $stage),
            supplies: false,
            updates_home: false,
        };
        $( action.$signal = true; )*
        Some(action)
    }};
    (@is_owner Owning) => { true };
    (@is_owner Lost) => { false };
}

include!(concat!(env!("OUT_DIR"), "/directory_protocols.rs"));

/// The directory's table whose caches have this protocol, in upper or lower case.
pub fn by_name(name: &str) -> Option<&'static Table> {
    TABLES.iter().copied().find(|table| table.stable.name.eq_ignore_ascii_case(name))
}

/// The names of all tables, in alphabetical order.
pub fn names() -> Vec<&'static str> {
    TABLES.iter().map(|table| table.stable.name).collect()
}

/// The names of those that keep caches coherent, in alphabetical order.
pub fn coherent() -> Vec<&'static str> {
    TABLES.iter().filter(|table| table.tracks_copies()).map(|table| table.stable.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_shows_the_moesi_table_as_it_is() {
        let source = include_str!("moesi.rs");
        let table = &source[source.find("pub static TABLE").expect("a table")..];
        assert!(include_str!("../../../../docs/coherence.md").contains(table.trim_end()));
    }

    #[test]
    fn each_snooping_protocol_has_a_table_for_directories_but_that_of_a_bus_with_one_kind_of_read() {
        let mut snooping = crate::protocols::names();
        snooping.retain(|&name| name != "MESI-OneRead");
        assert_eq!(names(), snooping);
        assert_eq!(coherent(), ["MESI", "MOESI", "MSI"]);
        assert!(by_name("moESI").is_some() && by_name("MOSI").is_none());
    }
}
