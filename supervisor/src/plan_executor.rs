//! Executes the actions that the plan decides.

use crate::action::{Action, EventTime, PlanEvent, RequestOutcome};
use crate::child_start::{ChildStart, RunningChild};
use crate::children::{Child, ChildKey};
use crate::command::{Command, InPlaceRequest, SupervisorCommand, SupervisorContext};
use crate::plan::Plan;
use crate::report::Reporter;
use crate::select::{Selected, SupervisorMail, select, within};
use crate::spec::{ChildId, RestartType, Shutdown};
use crate::waits::ChildWaits;
use krarup_act::{BehaviorContext, Received, Sleep};
use krarup_gen::{Exit, Pid, Reason};
use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::time::Duration;

mod start;

/// The plan of a supervisor, and the processes of its children.
pub(crate) struct PlanExecutor<T> {
    pub(crate) plan: Plan<ChildStart<T>>,
    running: HashMap<Pid, Box<dyn RunningChild>>,
    /// The child whose `init` is running: the plan does not know its process yet.
    pub(crate) starting: Option<(Pid, ChildKey)>,
    /// The items that arrived while an action was running, in order. They are served before
    /// anything that is still in the mailbox.
    held: VecDeque<SupervisorMail<T>>,
    /// Whether a stop is among them.
    stop_is_held: bool,
    waits: ChildWaits,
    report: Reporter,
}

/// The outcome of an event, after all its actions have been executed.
#[derive(Debug)]
pub(crate) enum EventOutcome {
    /// The supervisor continues.
    GoesOn,
    /// The supervisor continues, and this is the answer to the request.
    Answer(RequestOutcome),
    /// The supervisor ends for this reason.
    Ends(Reason),
}

impl<T: Send + 'static> PlanExecutor<T> {
    pub(crate) fn new(plan: Plan<ChildStart<T>>, ctx: &SupervisorContext<T>) -> Self {
        let report = Reporter::new(ctx.pid(), ctx.supervision_log(), plan.flags());
        PlanExecutor {
            plan,
            running: HashMap::new(),
            starting: None,
            held: VecDeque::new(),
            stop_is_held: false,
            waits: ChildWaits::default(),
            report,
        }
    }

    /// Whether a child's process is alive at this moment.
    pub(crate) fn is_alive(&self, pid: Pid) -> bool {
        self.running.get(&pid).is_some_and(|child| child.is_alive())
    }

    /// Receives the next item to be served.
    pub(crate) async fn receive(&mut self, ctx: &mut SupervisorContext<T>) -> SupervisorMail<T> {
        if let Some(item) = self.held.pop_front() {
            // The supervisor ends with the first.
            self.stop_is_held &= !matches!(item, Received::Stop(_));
            return item;
        }
        loop {
            let Some(due) = self.waits.next_due() else { return ctx.receive().await };
            let mut wait = ctx.sleep(due - ctx.now());
            if let Selected::Item(item) = select(ctx, &mut wait).await {
                return item;
            }
            while let Some(key) = self.waits.pop_due(ctx.now()) {
                send_try_again(ctx, key);
            }
        }
    }

    /// Handles the failure of a child's state (rule S10).
    pub(crate) fn answer_in_place(&mut self, ctx: &SupervisorContext<T>, request: InPlaceRequest) {
        let InPlaceRequest { pid, reason, reply } = request;
        let starting = || self.starting.filter(|&(of, _)| of == pid).map(|(_, key)| key);
        let key = self.plan.children().running(pid).or_else(starting);
        // A process that is no longer a child is about to end.
        let goes_on = key.filter(|&key| self.plan.may_restart_in_place(key, ctx.now()));
        if let Some(key) = goes_on {
            let (id, count) = (self.id(key), self.plan.restarts());
            self.report.restarting_in_place(&id, pid, &reason, count);
        }
        reply.send(goes_on.is_some());
    }

    /// Handles an exit notice.
    pub(crate) async fn exited(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        exit: Exit,
    ) -> EventOutcome {
        let Exit { pid, reason } = exit;
        // The child sent the signal itself, as any process may. OTP takes such a signal for the
        // child's end and starts a second process beside the first, which it then no longer
        // knows. A process that is ending keeps its name until the node has removed it, and its
        // end is notified after that.
        if ctx.is_alive(pid) {
            return EventOutcome::GoesOn;
        }
        self.running.remove(&pid);
        let Some(key) = self.plan.children().running(pid) else { return EventOutcome::GoesOn };
        let before = self.plan.restarts();
        let restart = self.plan.children().get(key).map(|child| child.rules.restart);
        let for_good = restart.is_some_and(|restart| restart != RestartType::Permanent);
        self.report.ended(&self.id(key), pid, &reason, before, for_good);
        let event = PlanEvent::Exited { pid, reason: reason.clone() };
        let next = self.plan.step(event, moment(ctx));
        self.report_restart(key, before, Some((pid, &reason)));
        self.continue_plan(ctx, next).await
    }

    /// Handles the supervisor's own message (rule S6).
    pub(crate) async fn try_again(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        key: ChildKey,
    ) -> EventOutcome {
        let before = self.plan.restarts();
        let next = self.plan.step(PlanEvent::TryAgain(key), moment(ctx));
        self.report_restart(key, before, None);
        self.continue_plan(ctx, next).await
    }

    /// Passes an event to the plan, and executes its actions until there are no more.
    pub(crate) async fn carry_out(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        event: PlanEvent<ChildStart<T>>,
    ) -> EventOutcome {
        let next = self.plan.step(event, moment(ctx));
        self.continue_plan(ctx, next).await
    }

    async fn continue_plan(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        mut next: Option<Action>,
    ) -> EventOutcome {
        let mut ending_is_told = false;
        while let Some(action) = next {
            if !ending_is_told && let Some(ending) = self.plan.ending() {
                self.report.ending(ending, self.plan.restarts());
                ending_is_told = true;
            }
            let done = match action {
                Action::Start(key) => self.start(ctx, key).await,
                Action::Stop { key, pid, shutdown } => {
                    let id = self.id(key);
                    self.stop(ctx, &id, vec![pid], shutdown).await
                }
                Action::StopTogether { pids, shutdown } => {
                    let first = self.plan.children().iter().next();
                    let id = first.map_or_else(|| "".into(), |(_, child)| child.rules.id.clone());
                    self.stop(ctx, &id, pids, shutdown).await
                }
                Action::TryAgain { key, wait: None } => {
                    send_try_again(ctx, key);
                    return EventOutcome::GoesOn;
                }
                Action::TryAgain { key, wait: Some(wait) } => {
                    self.waits.set(key, ctx.now() + wait);
                    self.report.waiting(&self.id(key), wait, self.plan.restarts());
                    return EventOutcome::GoesOn;
                }
                Action::Reply(answer) => return EventOutcome::Answer(answer),
                Action::End(reason) => return EventOutcome::Ends(reason),
            };
            next = self.plan.step(done, moment(ctx));
        }
        EventOutcome::GoesOn
    }

    /// Waits for an event, and holds the items that arrive meanwhile.
    async fn meanwhile<F: Future>(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        event: F,
    ) -> F::Output {
        let mut event = pin!(event);
        loop {
            match select(ctx, &mut event).await {
                Selected::Done(output) => return output,
                Selected::Item(item) => self.hold(ctx, item),
            }
        }
    }

    /// Holds an item that arrived while an action is running. It is served afterwards, unless
    /// the action may be waiting for it.
    fn hold(&mut self, ctx: &SupervisorContext<T>, item: SupervisorMail<T>) {
        match item {
            Received::Command(SupervisorCommand(Command::MayRestartInPlace(request))) => {
                self.answer_in_place(ctx, request);
            }
            // The end of a hundred thousand children takes its time (rule S15).
            Received::Inspect(reply) => reply.send(self.inspection()),
            Received::Manage(request) => {
                self.held.extend(self.answer_manage(request).map(Received::Manage));
            }
            item => {
                self.stop_is_held |= matches!(item, Received::Stop(_));
                self.held.push_back(item);
            }
        }
    }

    /// Whether a stop has arrived that is to be served.
    pub(crate) fn holds_a_stop(&self) -> bool {
        self.stop_is_held
    }

    fn shutdown(&self, key: ChildKey) -> Shutdown {
        let child = self.plan.children().get(key).map(|child| child.rules.shutdown());
        child.unwrap_or(Shutdown::Infinity)
    }

    /// The time limit of a child for anything other than its own end: as long as it would have
    /// to end, but not for ever.
    fn time_limit(&self, key: ChildKey) -> Duration {
        match self.shutdown(key) {
            Shutdown::Timeout(time) => time,
            Shutdown::BrutalKill | Shutdown::Infinity => DEFAULT_TIME_LIMIT,
        }
    }

    /// Ends these processes at once and waits until they have ended, with one time limit for all
    /// (rule S7), and one grace period for all that are killed (rule S11).
    async fn stop(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        id: &ChildId,
        pids: Vec<Pid>,
        shutdown: Shutdown,
    ) -> PlanEvent<ChildStart<T>> {
        let mut is_killed = shutdown == Shutdown::BrutalKill;
        let signal = if is_killed { Reason::Kill } else { Reason::Shutdown };
        let mut ends = Vec::with_capacity(pids.len());
        for pid in pids {
            let Some(child) = self.running.remove(&pid) else { continue };
            // Monitor before sending the signal, so that the reason is not lost. Wait for the
            // end, not for the link's notice: a child that has unlinked itself cannot delay its
            // supervisor.
            let end = child.end();
            ctx.exit(pid, signal.clone());
            ends.push((pid, end));
        }
        let mut limit = match shutdown {
            Shutdown::Timeout(time) => Some(ctx.sleep(time)),
            Shutdown::BrutalKill => Some(self.grace(ctx)),
            Shutdown::Infinity => None,
        };
        let mut ends = ends.into_iter();
        while let Some((pid, mut end)) = ends.next() {
            let mut down = self.meanwhile(ctx, within(&mut limit, &mut end)).await;
            if down.is_none() && !is_killed {
                is_killed = true;
                limit = Some(self.grace(ctx));
                ctx.exit(pid, Reason::Kill);
                ends.as_slice().iter().for_each(|(late, ..)| ctx.exit(*late, Reason::Kill));
                down = self.meanwhile(ctx, within(&mut limit, &mut end)).await;
            }
            let Some(down) = down else {
                self.abandon(ctx, id, pid);
                continue;
            };
            // Discard its exit notice, even if it is in the mailbox already: this end was
            // requested (rule S9).
            ctx.unlink(pid);
            self.report.stopped(id, pid, &down.reason, shutdown, self.plan.restarts());
        }
        PlanEvent::Stopped
    }

    /// Abandons a child that was killed and has not ended within the grace period: it blocks its
    /// thread. Its later actions must affect neither this supervisor nor its successor (rules
    /// S9, S11).
    fn abandon(&self, ctx: &mut SupervisorContext<T>, id: &ChildId, pid: Pid) {
        ctx.unlink(pid);
        let child = self.plan.children().iter().find(|(_, child)| child.rules.id == *id);
        if let Some(name) = child.and_then(|(_, child)| child.rules.name.as_deref()) {
            ctx.unregister_from(name, pid);
        }
        self.report.left_behind(id, pid, self.plan.restarts());
    }

    /// The time that a child has to end if it is killed now.
    fn grace(&self, ctx: &SupervisorContext<T>) -> Sleep {
        ctx.sleep(self.plan.flags().kill_grace)
    }

    fn report_restart(&self, key: ChildKey, before: u64, ended: Option<(Pid, &Reason)>) {
        let count = self.plan.restarts();
        if count > before {
            self.report.restarting(&self.id(key), ended, count);
        }
    }

    fn id(&self, key: ChildKey) -> ChildId {
        let child = self.plan.children().get(key).map(|child: &Child<_>| child.rules.id.clone());
        child.expect("the plan names only children that exist")
    }
}

/// The time limit for a child whose shutdown sets no time.
const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(5);

/// Sends the message behind everything that is in the lane by now (rule S6).
fn send_try_again<T: Send + 'static>(ctx: &SupervisorContext<T>, key: ChildKey) {
    let again = SupervisorCommand(Command::TryAgain(key));
    ctx.address().send_max(again).expect("a running supervisor has an open mailbox");
}

fn moment<T: Send + 'static>(ctx: &SupervisorContext<T>) -> EventTime {
    EventTime { now: ctx.now(), random: ctx.random() }
}

#[cfg(test)]
mod tests;
