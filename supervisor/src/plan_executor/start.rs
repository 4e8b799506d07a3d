//! The start of a child: its spawn, the wait for its `init`, and the wait for an orphan that still
//! has its name.

use super::PlanExecutor;
use crate::action::PlanEvent;
use crate::child_start::{ChildInit, ChildStart, RunningChild};
use crate::children::ChildKey;
use crate::command::SupervisorContext;
use crate::select::{Selected, SupervisorMail, select, within};
use crate::spec::Shutdown;
use krarup_act::Received;
use krarup_gen::{Ignore, Pid, Reason, SpawnError};
use std::pin::pin;

impl<T: Send + 'static> PlanExecutor<T> {
    pub(super) async fn start(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        key: ChildKey,
    ) -> PlanEvent<ChildStart<T>> {
        let mut outcome = self.spawn(ctx, key).await;
        let mut time_limit = Some(ctx.sleep(self.time_limit(key)));
        // A supervisor that was killed leaves children behind that are about to end. A new
        // supervisor may start before they have ended (rule N3).
        while let Err(SpawnError::NameTaken { by, .. }) = outcome
            && is_orphan(ctx, by)
            && let end = &mut ctx.watch(by)
            && self.meanwhile(ctx, within(&mut time_limit, end)).await.is_some()
        {
            outcome = self.spawn(ctx, key).await;
        }
        let (id, count) = (self.id(key), self.plan.restarts());
        match outcome {
            Ok(child) => {
                let pid = child.pid();
                self.running.insert(pid, child);
                self.report.started(&id, pid, count, self.plan.adds_a_child());
                PlanEvent::Started(pid)
            }
            Err(error) => {
                let reason = reason_of(error);
                if reason.downcast_ref::<Ignore>().is_some() {
                    self.report.ignored(&id, count, self.plan.adds_a_child());
                    return PlanEvent::Ignored;
                }
                self.report.failed(&id, &reason, count);
                PlanEvent::Failed(reason)
            }
        }
    }

    /// Spawns a child and waits until its `init` has returned.
    async fn spawn(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        key: ChildKey,
    ) -> Result<Box<dyn RunningChild>, SpawnError> {
        let begun = {
            let child =
                self.plan.children().get(key).expect("the plan starts only children that exist");
            let start = child.start.as_ref();
            let start = start.expect("only a child that is never started again has no factory");
            let grace = self.plan.flags().kill_grace;
            start.start(ctx, &child.rules, grace)
        };
        let (child, mut init) = begun?;
        self.starting = Some((child.pid(), key));
        let outcome = self.wait_for_init(ctx, key, child.pid(), &mut init).await;
        self.starting = None;
        if outcome.is_err() && child.is_alive() {
            let id = self.id(key);
            self.abandon(ctx, &id, child.pid());
        }
        outcome.map(|()| child)
    }

    /// Waits for `init`, and holds the items that arrive meanwhile. From the arrival of a stop
    /// on, the child has no more time to start than it would have to end: a supervisor must end
    /// whatever its children do (rule S11; OTP's waits for ever). If that time is unlimited, the
    /// child is told to stop, which a supervisor obeys during its own start. A child that was
    /// killed and does not end is abandoned after the grace period.
    async fn wait_for_init(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        key: ChildKey,
        pid: Pid,
        init: &mut ChildInit,
    ) -> Result<(), SpawnError> {
        let time_limit = self.time_limit(key);
        let is_stop = |item: &SupervisorMail<T>| matches!(item, Received::Stop(_));
        let mut is_stopping = self.holds_a_stop();
        let mut limit = is_stopping.then(|| ctx.sleep(time_limit));
        let mut is_killed = false;
        loop {
            let first = select(ctx, &mut pin!(within(&mut limit, init))).await;
            match first {
                Selected::Done(Some(outcome)) => return outcome,
                Selected::Done(None) if is_killed => return Err(SpawnError::Init(Reason::Killed)),
                Selected::Done(None) => {
                    is_killed = self.shutdown(key) != Shutdown::Infinity;
                    ctx.exit(pid, if is_killed { Reason::Kill } else { Reason::Shutdown });
                    limit = is_killed.then(|| self.grace(ctx));
                }
                Selected::Item(item) => {
                    if is_stop(&item) && !is_stopping {
                        is_stopping = true;
                        limit = Some(ctx.sleep(time_limit));
                    }
                    self.hold(ctx, item);
                }
            }
        }
    }
}

/// Whether the process that spawned this one has ended.
fn is_orphan<T: Send + 'static>(ctx: &SupervisorContext<T>, pid: Pid) -> bool {
    let parent = ctx.process_info(pid).and_then(|info| info.parent);
    parent.is_some_and(|parent| !ctx.is_alive(parent))
}

/// The reason of a failed start: the child's own, if it got that far.
fn reason_of(error: SpawnError) -> Reason {
    match error {
        SpawnError::Init(reason) => reason,
        error => Reason::from(error),
    }
}
