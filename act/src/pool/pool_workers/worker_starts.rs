//! The starts of workers: the first ones, replacements, and workers that are added.

use super::PoolWorkers;
use crate::addressing::address::Address;
use crate::behavior::Behavior;
use crate::context::Context;
use crate::observe::recording::record_supervision;
use crate::pool::command::PoolCommand;
use crate::pool::pool_worker::PoolWorker;
use crate::pool::resize::PoolState;
use crate::pool::routing::Routing;
use crate::pool::settings::PoolError;
use crate::pool::starting::{Started, WorkerPurpose};
use krarup_gen::{
    Name, Pid, Reason, ReasonRecord, RestartKind, Result, SpawnError, SupervisionAction,
    SupervisionEvent, Timestamp, one_line,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{self, Poll};

/// The most replacements that start at the same time. All of them are polled whenever one makes
/// progress.
const MOST_AT_ONCE: usize = 16;

impl<B: Behavior, R: Routing<B::Message>> PoolWorkers<B, R> {
    /// Begins to start a worker.
    pub(in crate::pool) fn begin<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
        purpose: WorkerPurpose,
    ) -> Result<(), SpawnError> {
        let factory = Arc::clone(&self.factory);
        let mut spawn = ctx.spawn(move || factory()).link_urgent();
        if self.settings.elastic.is_some() {
            spawn = spawn.one_by_one();
        }
        if let Some(messages) = self.settings.mailbox {
            spawn = spawn.mailbox(messages);
        }
        let (worker, init) = spawn.begin()?;
        self.starts.begin(purpose, worker, Box::pin(init));
        Ok(())
    }

    /// Polls for the next worker that has started or has failed to.
    pub(in crate::pool) fn poll_started(
        &mut self,
        cx: &mut task::Context<'_>,
    ) -> Poll<Started<B::Message, B::Command>> {
        self.starts.poll_next(cx)
    }

    /// Handles a worker that has started or has failed to. Returns the error if it was one of
    /// the first.
    pub(in crate::pool) fn settle<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        started: Started<B::Message, B::Command>,
    ) -> Result<(), SpawnError> {
        let Started { purpose, worker, outcome, exit, left_behind } = started;
        if left_behind {
            self.abandon(ctx, &worker);
        }
        match (outcome, purpose) {
            (Ok(()), purpose) => {
                self.install(purpose, worker);
                self.exits.extend(exit);
            }
            (Err(error), WorkerPurpose::First) => return Err(error),
            (Err(error), WorkerPurpose::Replacement(dead)) => self.put_off(ctx, dead, &error),
            (Err(error), WorkerPurpose::Added) => self.end_adding(ctx.pid(), error),
        }
        Ok(())
    }

    /// Puts a started worker into its place, if the place still exists.
    fn install(&mut self, purpose: WorkerPurpose, worker: Address<B::Message, B::Command>) {
        let wanted = match purpose {
            _ if self.state == Some(PoolState::Stopping) => false,
            WorkerPurpose::First | WorkerPurpose::Added => true,
            WorkerPurpose::Replacement(dead) => self.vacancies.fill(dead),
        };
        if !wanted {
            self.dismiss(PoolWorker { address: worker, place: 0, watch: None });
            return;
        }
        match purpose {
            WorkerPurpose::First => self.shared.add(&worker),
            WorkerPurpose::Replacement(dead) => {
                self.shared.replace(dead, &worker);
                self.shared.numbers.restarts.fetch_add(1, Ordering::Relaxed);
                self.shared.host.count_restart(RestartKind::Pool);
                self.record(SupervisionAction::Started, worker.pid(), |event| {
                    event.replaces = Some(dead);
                });
            }
            WorkerPurpose::Added => {
                self.shared.add(&worker);
                self.note_added();
            }
        }
    }

    /// Has the node remember an event of this worker, if it remembers any.
    pub(in crate::pool) fn record(
        &self,
        what: SupervisionAction,
        worker: Pid,
        fill: impl FnOnce(&mut SupervisionEvent),
    ) {
        record_supervision(&*self.shared.host, || {
            SupervisionEvent::new(self.shared.pid, what).with(|event| {
                event.pid = Some(worker);
                event.count = self.shared.numbers.restarts.load(Ordering::Relaxed);
                event.intensity = self.settings.intensity;
                fill(event);
            })
        });
    }

    /// Delays the next attempt after a replacement has failed to start (rule P4). Its place is
    /// kept.
    fn put_off<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
        dead: Pid,
        error: &SpawnError,
    ) {
        self.record(SupervisionAction::Failed, dead, |event| {
            event.reason = Some(ReasonRecord::of(&Reason::from(error.clone())));
        });
        if let Some(delay) = self.vacancies.put_off(dead, ctx.now()) {
            tracing::warn!(
                target: "krarup", pool = %ctx.pid(), pool_name = ctx.own_name().as_ref().map(Name::as_str),
                error = %one_line(error), ?delay,
                "cannot start a replacement worker; retrying after the delay"
            );
        }
    }

    /// Leaves behind a worker that blocks its thread. Nothing can end it, so the pool continues
    /// without it.
    fn abandon<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        worker: &Address<B::Message, B::Command>,
    ) {
        tracing::error!(
            target: "krarup", pool = %ctx.pid(), pool_name = ctx.own_name().as_ref().map(Name::as_str),
            worker = %worker.pid(),
            "a killed worker blocks its thread and does not end; it is left behind"
        );
        // Its end is not noticed: the pool looks for it.
        ctx.unlink(worker.pid());
        self.left_behind.insert(worker.pid());
        self.former.insert(worker.pid(), worker.clone());
    }

    /// Starts the workers that are due: replacements for ended workers, each in its place in
    /// the rotation, and workers to be added. Returns the reason with which the pool ends if
    /// there were too many replacements.
    pub(in crate::pool) fn start_due<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
    ) -> Result {
        if self.state.is_some() {
            return Ok(());
        }
        let now = ctx.now();
        while self.has_room_to_start()
            && let Some(dead) = self.vacancies.begin_due(now)
        {
            if let (Some(window), Some((replacements, period))) =
                (&mut self.window, self.settings.intensity)
                && !window.record(now)
            {
                let error = PoolError::TooManyReplacements { replacements, period };
                self.shared.host.count_given_up();
                self.record(SupervisionAction::GaveUp, dead, |_| {});
                tracing::error!(
                    target: "krarup", pool = %ctx.pid(), pool_name = ctx.own_name().as_ref().map(Name::as_str),
                    %error, "pool exceeded its replacement intensity and ends"
                );
                return Err(error.into());
            }
            if let Err(error) = self.begin(ctx, WorkerPurpose::Replacement(dead)) {
                self.put_off(ctx, dead, &error);
            }
        }
        self.start_added(ctx);
        Ok(())
    }

    fn has_room_to_start(&self) -> bool {
        let replacements = self.starts.count(|of| matches!(of, WorkerPurpose::Replacement(_)));
        replacements < MOST_AT_ONCE
    }

    /// When the next replacement is due, if one can be started then.
    pub(in crate::pool) fn retry_due(&self) -> Option<Timestamp> {
        if self.state.is_none() && self.has_room_to_start() { self.vacancies.due() } else { None }
    }

    /// Notes that all of the first workers have started.
    pub(in crate::pool) fn open(&mut self) {
        self.state = None;
    }
}
