//! Completions: how work requests and receives have ended, written to a completion queue in the order of their ends.
//!
//! A queue has room as far as its process has told how many completions it has taken. If it seems full, the
//! interface reads that number before it writes the next one; if there is no room then, the queue overflows.

use super::formats::{Completion, Status, completion};
use super::function::{Function, Purpose};
use crate::half::{Context, RegisterFault};

impl Function {
    /// Writes a completion.
    pub(super) fn complete(&mut self, number: u32, completion: Completion) {
        let Some(queue) = self.completion_queues.get_mut(number) else { return };
        if !queue.waiting.is_empty() {
            queue.waiting.push(completion);
            return;
        }
        if !queue.has_room() {
            queue.waiting.push(completion);
            let record = queue.record.of_ring(0, 4);
            self.statistics.record_reads.increment();
            return self.dma.read(Purpose::CompletionRecord(number), record);
        }
        self.statistics.completions.increment();
        self.statistics.scattered.add(completion.payload.is_some().into());
        let (pieces, bytes) = queue.next(&completion);
        if let Some(notice) = &mut queue.notice {
            notice.completed(completion.is_solicited());
            self.noticed.push_back(number);
        }
        self.dma.write(None, pieces[0].address, bytes);
    }

    /// A process has told how many completions it has taken.
    pub(super) fn has_room_for(&mut self, context: &mut Context<'_>, number: u32, taken: u32) {
        let Some(queue) = self.completion_queues.get_mut(number) else { return };
        queue.taken = taken;
        let waiting = std::mem::take(&mut queue.waiting);
        let (entries, waits) = (queue.entries(), waiting.len());
        if !queue.has_room() || queue.produced.wrapping_sub(taken) > entries {
            context.faults.push(RegisterFault(format!(
                "completion queue {number} overflows: {entries} completions are in its {entries} entries, of which the \
                 process has taken none, and {waits} more came; poll it more often, or create it with more entries"
            )));
            return;
        }
        waiting.into_iter().for_each(|completion| self.complete(number, completion));
    }

    /// A work request of a queue pair's send queue has ended.
    pub(super) fn end_request(&mut self, number: u32, index: u32, bytes: u32, status: Status) {
        let Some(pair) = self.queue_pairs.get(number) else { return };
        let kind = if status == Status::Success { completion::REQUEST } else { completion::REQUEST_ERROR };
        let ended = Completion::new(kind, status, (number, index as u16));
        self.complete(pair.queues[0], Completion { bytes, ..ended });
    }

    /// A receive has failed.
    pub(super) fn fail_receive(&mut self, (number, queue): (u32, u32), index: u16, status: Status) {
        self.complete(queue, Completion::new(completion::RECEIVE_ERROR, status, (number, index)));
    }
}
