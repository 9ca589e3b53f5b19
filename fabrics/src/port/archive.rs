//! What a port has in a checkpoint.

use narthex_kernel::{Archive, Archived, Damage};

use super::NetworkPort;

/// Flow control and network, and what the port itself counts.
impl Archived for NetworkPort {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let NetworkPort {
            own: _,
            placement: _,
            jobs: _,
            flow,
            relay,
            network,
            is_switched: _,
            has_own_time: _,
            is_link_full,
            is_link_full_of_urgent,
            kept,
            taken,
            faults,
            ways: _,
            under_way,
            refused,
            may_accept_refused: _,
            phase: _,
            arriving: _,
            header_bytes: _,
            message_sizes,
            next_sequence,
            last_sender,
            emitted,
            changes: _,
        } = self;
        assert!(refused.as_ref().is_none_or(|refused| refused.is_empty()), "a packet is in no frame");
        flow.archive(archive)?;
        archive.value(relay)?;
        network.archive(archive)?;
        if network.terminal().is_some() {
            assert!(taken.is_empty(), "a port is archived between steps");
            archive.value(is_link_full)?;
            archive.value(is_link_full_of_urgent)?;
            archive.each(kept.iter_mut())?;
        }
        archive.value(faults)?;
        archive.value(message_sizes)?;
        archive.value(next_sequence)?;
        archive.value(last_sender)?;
        archive.value(under_way)?;
        archive.value(emitted)
    }
}
