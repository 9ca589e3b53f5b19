//! What a process awaits in MPI.
//!
//! A call that waits says for which request, and who it is (`mpi_awaited` in guest/mpi/requests.h,
//! which lays out what is read here). A request for a message knows the other rank, the tag and
//! the communicator, whose name is in it.

use narthex_fabrics::Rank;

use super::Node;
use super::stuck::Awaited;

/// The library's record, a pointer to a request and one to the function's name.
const AWAITED: &str = "mpi_awaited";
/// `struct request`: that it is one, and where its words of several fields are.
const MARK: u32 = 0x7265_7175;
const COMMUNICATOR_AND_FUNCTION: u64 = 16;
const FLAGS: u64 = 32;
/// `struct communicator`: where its name is.
const NAME: u64 = 72;
/// Bytes of a name, at most.
const LONGEST: u64 = 128;
/// `enum request_kind`.
const SEND: u64 = 0;
const RECEIVE: u64 = 1;
/// What stands for any source, and for any tag.
const ANY_SOURCE: i32 = -1;
const ANY_TAG: i32 = -2;

impl Node {
    /// What a process awaits in a call of MPI; none outside of calls that wait.
    pub(super) fn awaited_in_mpi(&mut self, process: usize) -> Option<Awaited> {
        let index = self.processes[process].processors.start;
        let record = self.processes[process].program.clone().address_of(AWAITED)?;
        let [request, function] = self.read_words(index, record)?;
        let [mark_and_peer, tag_and_context] = self.read_words(index, request)?;
        if request == 0 || mark_and_peer as u32 != MARK {
            return None;
        }
        let peer = (mark_and_peer >> 32) as i32;
        let tag = tag_and_context as i32;
        let is_collective = tag_and_context >> 32 & 1 == 1;
        let [communicator, begun_by] = self.read_words(index, request + COMMUNICATOR_AND_FUNCTION)?;
        let [flags, _] = self.read_words(index, request + FLAGS)?;
        let function = self.text(index, function);
        let place = format!("{function} on {}", self.text(index, communicator + NAME));
        let (job, _) = self.job_of(process);
        let to = if peer == ANY_SOURCE { None } else { job.process(Rank(peer as u16)) };
        let message = if to.is_some() { "its message" } else { "a message of any rank" };
        let what = match tag {
            _ if is_collective => message.to_owned(),
            ANY_TAG => format!("{message} with any tag"),
            tag => format!("{message} with tag {tag}"),
        };
        let why = match flags & 0xff {
            SEND if is_collective => format!("it has not taken the message of {place}"),
            SEND => format!("it has not received the message with tag {tag} ({place})"),
            RECEIVE => format!("{what} has not come ({place})"),
            _ => {
                format!("the collective that {} has begun is not over ({place})", self.text(index, begun_by))
            }
        };
        Some(Awaited::Mpi { to, why })
    }

    /// A string of the program, or its beginning.
    fn text(&mut self, index: usize, address: u64) -> String {
        let mut bytes = Vec::new();
        for place in (0..LONGEST).step_by(16) {
            let Some(words) = self.read_words(index, address + place) else { break };
            bytes.extend(words.into_iter().flat_map(u64::to_le_bytes));
        }
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}
