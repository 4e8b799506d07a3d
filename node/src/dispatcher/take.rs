//! The next process that a worker takes, from its own queue or from the injector.

use super::calling_thread;
use super::counters::SAMPLE_INTERVAL;
use super::searcher::Searcher;
use super::shared::{LOOK_UP_INTERVAL, Local, SharedDispatcher, TakeCount};
use super::worker_parker::WorkerParker;
use krarup_act::Ready;
use std::sync::Arc;

/// One process to run and up to 16 more for the local queue.
const BATCH: usize = 17;

impl SharedDispatcher {
    /// Takes what the worker runs next, from its own queue or by a search. On `None` the worker
    /// looks again.
    #[inline]
    pub(super) fn take(
        self: &Arc<Self>,
        local: &Local,
        parker: &WorkerParker,
        searcher: &mut Searcher,
        takes: &mut TakeCount,
    ) -> Option<Ready> {
        self.take_near(local, takes).or_else(|| {
            // Its own queue too: a thief may have been there, and has left some.
            let take = || self.take_injected(local).or_else(|| local.queue.pop());
            let found = self.search(local.index, parker, searcher, take, Some(&local.queue))?;
            if self.priority_queue.records() {
                // It is to be recorded: the worker comes back for it.
                local.queue.push(found);
                return None;
            }
            Some(found)
        })
    }

    /// Takes from the worker's own queue, or at times from the injector.
    #[inline]
    pub(super) fn take_near(&self, local: &Local, takes: &mut TakeCount) -> Option<Ready> {
        takes.begun += 1;
        if takes.begun >= takes.look_up
            && let Some(ready) = self.look_up(local, takes)
        {
            return Some(ready);
        }
        local.queue.pop()
    }

    #[cold]
    fn look_up(&self, local: &Local, takes: &mut TakeCount) -> Option<Ready> {
        takes.look_up = takes.begun + u64::from(LOOK_UP_INTERVAL);
        takes.looks = takes.looks.wrapping_add(1);
        if takes.looks.is_multiple_of(SAMPLE_INTERVAL / LOOK_UP_INTERVAL) {
            local.queue.maintain();
            self.run_apart(local, false);
        }
        let held = local.queue.len();
        let first = self.take_injected(local)?;
        // A worker with work of its own takes more: no other worker may look at the injector for
        // some time.
        if held > 0 {
            self.take_more(local, held + LOOK_UP_INTERVAL as usize);
        }
        Some(first)
    }

    /// Lets in the processes in the injector: they came before the process whose turn is just
    /// over and that has more to do. Where the queue is short, they go before it. Otherwise two
    /// processes that are flooded from outside would each have 61 turns in a row.
    #[cold]
    #[inline(never)]
    pub(super) fn let_in(&self, local: &Local) {
        self.take_more(local, LOOK_UP_INTERVAL as usize);
    }

    /// Moves processes from the injector to the queue until the queue holds `most`. That is as
    /// many as there are turns from one look at the injector to the next. So no process in the
    /// injector waits for more turns than there are processes before it, and processes that a
    /// full queue has spilled come round like the rest (rule R1).
    fn take_more(&self, local: &Local, most: usize) {
        // A batch is half of the injector if that is short. This many batches are seldom needed,
        // but another worker may steal from the queue meanwhile.
        for _ in 0..BATCH {
            let room = most.saturating_sub(local.queue.len());
            if room == 0 || !local.queue.fill(&self.injector, room) {
                break;
            }
        }
        self.counters[local.index].note_length(local.queue.len());
    }

    pub(super) fn take_injected(&self, local: &Local) -> Option<Ready> {
        let taken = local.queue.fill_and_pop(&self.injector, BATCH)?;
        let counters = &self.counters[local.index];
        counters.count_injector_take();
        counters.note_length(local.queue.len());
        Some(taken)
    }

    /// Runs a turn of the next local process apart from the ordinary ones, and counts the messages
    /// it handles: the turn is recorded, or measured for the statistics. Returns whether there was
    /// one.
    #[inline(never)]
    pub(super) fn run_apart(&self, local: &Local, records: bool) -> bool {
        let Some(ready) = local.queue.pop() else { return false };
        let counters = &self.counters[local.index];
        let pid = ready.pid();
        let Some(process) = (self.setup.processes)(pid.id()) else {
            local.queue.push(ready);
            return false;
        };
        let turn_log = &self.setup.turn_log;
        let begin = records.then(|| turn_log.clock.now());
        let before = process.handled();
        counters.count_turn();
        let again = ready.run_at(&self.setup.limits, counters.slot());
        match begin {
            Some(begin) => {
                turn_log.note(local.index as u64, pid, begin, [before, process.handled()]);
            }
            None => counters.count_messages(process.handled() - before),
        }
        calling_thread::after_turn(|pid| counters.begin_turn(pid));
        if let Some(again) = again {
            self.push_again(local, again);
        }
        true
    }
}
