//! The ends of workers: what an exit notice of a process means to its pool.
//!
//! The table of the states of a worker is in [`super`].

use super::PoolWorkers;
use crate::addressing::address::Address;
use crate::behavior::Behavior;
use crate::context::Context;
use crate::pool::command::PoolCommand;
use crate::pool::routing::Routing;
use krarup_gen::{Exit, Timestamp, one_line};

/// The origin of an exit notice.
pub(in crate::pool) enum ExitOrigin {
    /// A worker whose end does not matter now.
    Stale,
    /// A worker whose place must be filled, or is being filled since the worker was given up.
    Worker,
    /// A process that is not a worker.
    Other,
}

impl<B: Behavior, R: Routing<B::Message>> PoolWorkers<B, R> {
    /// An exit notice that was kept and can be handled now.
    pub(in crate::pool) fn next_exit(&mut self) -> Option<Exit> {
        self.exits.pop_front()
    }

    /// Classifies an exit notice, and records the end of the worker if it has ended.
    pub(in crate::pool) fn note_exit<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        exit: &Exit,
    ) -> ExitOrigin {
        let pid = exit.pid;
        let worker = self.shared.worker(pid);
        if self.starts.has(pid) {
            // The result of its start is handled first. A worker whose start failed needs no
            // further handling.
            if !ctx.is_alive(pid) {
                self.starts.note_exit(exit.clone());
            }
        } else if let Some(worker) = self.leaving.get(&pid) {
            let worker = worker.address.clone();
            if !worker.is_alive() {
                self.leaving.remove(&pid);
                self.shared.note_left(pid);
                self.retire(ctx, worker);
            }
        } else if let Some(worker) = worker {
            // It may have sent signals before it ended: its place is to be filled once.
            if !worker.is_alive() && !self.former.contains_key(&pid) {
                self.retire(ctx, worker);
                self.vacancies.add(pid, ctx.now());
                return ExitOrigin::Worker;
            }
        } else if !self.former.contains_key(&pid) {
            return ExitOrigin::Other;
        } else if !ctx.is_alive(pid) {
            self.ended.push(pid);
            if self.given_up.remove(&pid) {
                return ExitOrigin::Worker;
            }
        }
        tracing::debug!(
            target: "krarup", pool = %ctx.pid(), worker = %pid, reason = %one_line(&exit.reason),
            "ignored an exit signal of a live or former worker"
        );
        ExitOrigin::Stale
    }

    /// Moves a worker that has ended to the former ones.
    pub(super) fn retire<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        worker: Address<B::Message, B::Command>,
    ) {
        // The end may have been noticed by a signal that the worker sent. The notice of the
        // link would then still arrive.
        ctx.unlink(worker.pid());
        self.ended.push(worker.pid());
        self.former.insert(worker.pid(), worker);
    }

    /// Forgets former workers that have ended, when Main is empty: everything they sent was in
    /// the mailbox before they ended.
    pub(in crate::pool) fn forget_former<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
    ) {
        // A worker that was left behind may end without a notice.
        let left_behind = self.left_behind.iter().filter(|pid| !ctx.is_alive(**pid));
        self.ended.extend(left_behind.copied());
        if self.ended.is_empty() || ctx.has_main() {
            return;
        }
        for pid in std::mem::take(&mut self.ended) {
            ctx.unlink(pid);
            self.former.remove(&pid);
            self.left_behind.remove(&pid);
        }
    }

    /// Kills workers. Their places get replacements, unless the workers were removed.
    pub(in crate::pool) fn give_up(
        &mut self,
        workers: Vec<Address<B::Message, B::Command>>,
        now: Timestamp,
    ) {
        let mut at_work = Vec::new();
        for worker in &workers {
            let pid = worker.pid();
            if self.leaving.remove(&pid).is_some() {
                self.shared.note_left(pid);
            } else {
                at_work.push(pid);
            }
        }
        self.shared.vacate(&at_work);
        for pid in at_work {
            self.vacancies.add(pid, now);
            self.given_up.insert(pid);
        }
        for worker in workers {
            worker.process().kill();
            self.former.insert(worker.pid(), worker);
        }
    }
}
