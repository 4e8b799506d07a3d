//! The behaviour of a supervisor: a loop around the plan.

use crate::action::{ChildRequest, PlanEvent, RequestOutcome};
use crate::child_spec::{ChildSpec, ChildTemplate};
use crate::child_start::ChildStart;
use crate::command::{ChildRef, Command, SupervisorCommand, SupervisorContext};
use crate::error::{GetChildSpecError, SpecError, StartChildError};
use crate::info::{ChildInfo, ChildSpecInfo};
use crate::plan::Plan;
use crate::plan_executor::{EventOutcome, PlanExecutor};
use crate::spec::{AutoShutdown, ChildRules, Strategy, SupervisorFlags};
use krarup_act::{Behavior, BehaviorContext, ManageRequest, Received, contain};
use krarup_gen::{Managed, ManagedChild, Management, Pid, ProcessKind, Reason, Result};
use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

/// A process that starts others in order and restarts them: OTP's `supervisor`.
///
/// A supervisor is a behaviour like any other: spawn it, name it, put it under another
/// supervisor. It has started when all its children have started (rule S2). It ends when its
/// parent or the node stops it, when it exceeds its restart intensity (rule S5), or when its
/// significant children have ended. It always ends its children first, the last started first
/// (rule S3).
///
/// | strategy | one child ends and is to be restarted |
/// |---|---|
/// | [`one_for_one`](Supervisor::one_for_one) | it is started again |
/// | [`one_for_all`](Supervisor::one_for_all) | the others are stopped, then all are started |
/// | [`rest_for_one`](Supervisor::rest_for_one) | those started after it are stopped, then it and they are started |
/// | [`simple_one_for_one`](Supervisor::simple_one_for_one) | it is started again, with its own arguments |
///
/// Use [`SupervisorCalls`](crate::SupervisorCalls) on its address to add, end and list the children
/// of a running supervisor. `T` is the argument of `start_child`.
pub struct Supervisor<T = ChildSpec> {
    flags: SupervisorFlags,
    children: Vec<(ChildRules, ChildStart<T>)>,
    source: ChildSource<T>,
}

/// Turns the argument of `start_child` into a child.
enum ChildSource<T> {
    Spec(fn(T) -> (ChildRules, ChildStart<T>)),
    Template(Box<ChildTemplate<T>>),
}

impl Supervisor {
    /// Returns a supervisor whose children are independent of each other.
    #[must_use]
    pub fn one_for_one() -> Self {
        Self::of(Strategy::OneForOne)
    }

    /// Returns a supervisor whose children all depend on each other.
    #[must_use]
    pub fn one_for_all() -> Self {
        Self::of(Strategy::OneForAll)
    }

    /// Returns a supervisor in which each child depends on those before it.
    #[must_use]
    pub fn rest_for_one() -> Self {
        Self::of(Strategy::RestForOne)
    }

    fn of(strategy: Strategy) -> Self {
        let source = ChildSource::Spec(|spec: ChildSpec| (spec.rules, spec.start));
        Supervisor { flags: SupervisorFlags::new(strategy), children: Vec::new(), source }
    }

    /// Adds a child, the last in start order. A `simple_one_for_one` supervisor with such a
    /// child fails to start.
    #[must_use]
    pub fn child(mut self, spec: ChildSpec) -> Self {
        self.children.push((spec.rules, spec.start));
        self
    }
}

impl<A: Send + 'static> Supervisor<A> {
    /// Returns a supervisor whose children are all made from one template; at first it has none.
    #[must_use]
    pub fn simple_one_for_one(template: ChildTemplate<A>) -> Self {
        let flags = SupervisorFlags::new(Strategy::SimpleOneForOne);
        Supervisor {
            flags,
            children: Vec::new(),
            source: ChildSource::Template(Box::new(template)),
        }
    }
}

impl<T> Supervisor<T> {
    /// A supervisor with these children, whose `start_child` makes children by `split`.
    pub(crate) fn with_children(
        flags: SupervisorFlags,
        children: Vec<(ChildRules, ChildStart<T>)>,
        split: fn(T) -> (ChildRules, ChildStart<T>),
    ) -> Self {
        Supervisor { flags, children, source: ChildSource::Spec(split) }
    }

    /// Sets the most restarts within a period (rule S5); one more ends the supervisor. The
    /// default is 1 in 5 s. A supervisor with a period of zero fails to start.
    #[must_use]
    pub fn intensity(mut self, restarts: u32, period: Duration) -> Self {
        self.flags.intensity = restarts;
        self.flags.period = period;
        self
    }

    /// Sets whether the ends of significant children end the supervisor (rule S1).
    #[must_use]
    pub fn auto_shutdown(mut self, auto_shutdown: AutoShutdown) -> Self {
        self.flags.auto_shutdown = auto_shutdown;
        self
    }
}

impl<T> Supervisor<T> {
    /// Sets how long a killed child has to end; the default is
    /// [`KILL_GRACE`](krarup_act::KILL_GRACE), 5 s (rule S11).
    ///
    /// A child that blocks its thread for ever cannot be ended. After this time the supervisor
    /// reports it, unlinks it, takes its name away and continues without it. Its later actions
    /// and its end no longer affect the supervisor. With zero, the supervisor does not wait for
    /// a killed child. With `Duration::MAX` it waits without a limit, as in OTP.
    #[must_use]
    pub fn kill_grace(mut self, grace: Duration) -> Self {
        self.flags.kill_grace = grace;
        self
    }
}

impl<T> Supervisor<T> {
    /// Sets the most children of a `simple_one_for_one` supervisor (rule S13; Elixir's
    /// `DynamicSupervisor`). One more is refused with
    /// [`StartChildError::Full`](crate::StartChildError::Full). A child that is being restarted, or
    /// waits for it, counts; one whose `init` was ignored does not. With another strategy the
    /// supervisor fails to start.
    ///
    /// ```
    /// # use krarup_act::behavior_fn;
    /// # use krarup_supervisor::{ChildTemplate, Supervisor};
    /// # let session = |_: u64| behavior_fn(|_: krarup_act::Context<()>| async { Ok(()) });
    /// let sessions = ChildTemplate::worker("session", session);
    /// let supervisor = Supervisor::simple_one_for_one(sessions).max_children(10_000);
    /// # let _ = supervisor;
    /// ```
    #[must_use]
    pub fn max_children(mut self, limit: usize) -> Self {
        self.flags.max_children = Some(limit);
        self
    }
}

impl<T> fmt::Debug for Supervisor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let children: Vec<_> = self.children.iter().map(|(rules, _)| &rules.id).collect();
        f.debug_struct("Supervisor")
            .field("flags", &self.flags)
            .field("children", &children)
            .finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Behavior for Supervisor<T> {
    type Message = Infallible;
    type Command = SupervisorCommand<T>;

    async fn run(self, mut ctx: SupervisorContext<T>) -> Result {
        ctx.hurry_end_of_parent();
        ctx.trap_exits(true);
        ctx.stop_in_order();
        self.check()?;
        let mut plan = Plan::new(self.flags);
        for (rules, start) in self.children {
            plan.add(rules, start);
        }
        let mut supervisor =
            Supervising { executor: PlanExecutor::new(plan, &ctx), source: self.source };
        let begun = supervisor.executor.carry_out(&mut ctx, PlanEvent::Begin).await;
        let reason = if let EventOutcome::Ends(reason) = begun {
            reason
        } else {
            ctx.initialised();
            loop {
                if let Some(reason) = supervisor.serve(&mut ctx).await {
                    break reason;
                }
            }
        };
        // The factories of the children are user code. A panic in their destructors must not
        // change the reason of the supervisor's end, which decides what its own supervisor does.
        let _ = contain(|| drop(supervisor));
        Err(reason)
    }

    fn label() -> &'static str {
        "Supervisor"
    }

    fn kind() -> ProcessKind {
        ProcessKind::Supervisor
    }
}

impl<T> Supervisor<T> {
    fn check(&self) -> Result<(), SpecError> {
        let template = match (&self.source, self.children.first()) {
            (ChildSource::Spec(_), _) => None,
            (ChildSource::Template(template), None) => Some(&template.rules),
            // If the arguments of the template are specifications, `child` can be called.
            (ChildSource::Template(_), Some((rules, _))) => {
                return Err(SpecError::ChildOfSimpleOneForOne { id: rules.id.clone() });
            }
        };
        self.flags.check(self.children.iter().map(|(rules, _)| rules).chain(template))
    }
}

/// A supervisor whose children have been started.
struct Supervising<T> {
    executor: PlanExecutor<T>,
    source: ChildSource<T>,
}

impl<T: Send + 'static> Supervising<T> {
    /// Serves the next item. Returns the reason if the supervisor ends with it.
    async fn serve(&mut self, ctx: &mut SupervisorContext<T>) -> Option<Reason> {
        let outcome = match self.executor.receive(ctx).await {
            Received::Exit(exit) => self.executor.exited(ctx, exit).await,
            Received::Stop(reason) => self.executor.carry_out(ctx, PlanEvent::Stop(reason)).await,
            Received::Finish => self.executor.carry_out(ctx, PlanEvent::Stop(Reason::Normal)).await,
            // Requests are boxed: each supervisor would have the room for them all the time.
            Received::Command(SupervisorCommand(command)) => {
                Box::pin(self.execute(ctx, command)).await
            }
            Received::Inspect(reply) => {
                reply.send(self.executor.inspection());
                EventOutcome::GoesOn
            }
            Received::Manage(request) => {
                Box::pin(self.manage(ctx, request)).await;
                EventOutcome::GoesOn
            }
            // It monitors no process, and nothing can be sent to its Main lane.
            _ => EventOutcome::GoesOn,
        };
        if let EventOutcome::Ends(reason) = outcome { Some(reason) } else { None }
    }

    async fn execute(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        command: Command<T>,
    ) -> EventOutcome {
        match command {
            Command::StartChild(child, reply) => {
                if let Some(answer) = self.start_child(ctx, child).await {
                    reply.send(answer);
                }
            }
            Command::StartChildren(children, reply) => {
                let mut answers = Vec::with_capacity(children.len());
                for child in children {
                    if self.executor.holds_a_stop() {
                        // The arguments are a user's.
                        let _ = contain(|| drop(child));
                        answers.push(Err(StartChildError::Stopping));
                    } else {
                        answers.extend(self.start_child(ctx, child).await);
                    }
                }
                reply.send(Ok(answers));
            }
            Command::TerminateChild(child, reply) => {
                let request = termination(ctx, child);
                if let Some(RequestOutcome::Terminate(answer)) = self.request(ctx, request).await {
                    reply.send(answer);
                }
            }
            Command::RestartChild(id, reply) => {
                if let Some(RequestOutcome::Restart(answer)) =
                    self.request(ctx, ChildRequest::Restart(id)).await
                {
                    reply.send(answer);
                }
            }
            Command::DeleteChild(id, reply) => {
                if let Some(RequestOutcome::Delete(answer)) =
                    self.request(ctx, ChildRequest::Delete(id)).await
                {
                    reply.send(answer);
                }
            }
            Command::WhichChildren(reply) => reply.send(Ok(self.which_children())),
            Command::CountChildren(reply) => reply.send(Ok(self.executor.count_children())),
            Command::GetChildSpec(child, reply) => reply.send(self.childspec(&child)),
            Command::TryAgain(key) => return self.executor.try_again(ctx, key).await,
            Command::MayRestartInPlace(request) => self.executor.answer_in_place(ctx, request),
        }
        EventOutcome::GoesOn
    }

    async fn start_child(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        child: T,
    ) -> Option<Result<Option<Pid>, StartChildError>> {
        let (rules, start) = match &self.source {
            ChildSource::Spec(split) => split(child),
            ChildSource::Template(template) => (template.rules.clone(), template.start(child)),
        };
        match self.request(ctx, ChildRequest::Start(rules, start)).await {
            Some(RequestOutcome::Start(answer)) => Some(answer),
            _ => None,
        }
    }

    /// A request never ends the supervisor, so there is an answer.
    async fn request(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        request: ChildRequest<ChildStart<T>>,
    ) -> Option<RequestOutcome> {
        match self.executor.carry_out(ctx, PlanEvent::Request(request)).await {
            EventOutcome::Answer(answer) => Some(answer),
            EventOutcome::GoesOn | EventOutcome::Ends(_) => None,
        }
    }

    /// Does what was requested without the types of the supervisor (rule X12).
    async fn manage(&mut self, ctx: &mut SupervisorContext<T>, request: ManageRequest) {
        let Some(request) = self.executor.answer_manage(request) else { return };
        let child = match request.request() {
            Management::ListChildren => {
                let children = self.which_children().into_iter().map(ManagedChild::from);
                return request.done(Managed::Children(children.collect()));
            }
            Management::TerminateChild { child } => termination(ctx, self.child_named(child)),
            Management::RestartChild { child } => ChildRequest::Restart(child.as_str().into()),
            // Dropped: supervisors do not know it.
            _ => return,
        };
        match self.request(ctx, child).await {
            Some(RequestOutcome::Terminate(Ok(()))) => request.done(Managed::ChildTerminated),
            Some(RequestOutcome::Terminate(Err(error))) => request.refuse(error),
            Some(RequestOutcome::Restart(Ok(pid))) => request.done(Managed::ChildRestarted { pid }),
            Some(RequestOutcome::Restart(Err(error))) => request.refuse(error),
            _ => {}
        }
    }

    /// The child of this text: its id, or its pid where children have no id of their own.
    fn child_named(&self, text: &str) -> ChildRef {
        match text.parse::<Pid>() {
            Ok(pid) if self.executor.plan.is_simple() => pid.into(),
            _ => text.into(),
        }
    }

    fn which_children(&self) -> Vec<ChildInfo> {
        self.executor.plan.children().iter().rev().map(|(_, child)| child.info()).collect()
    }

    fn childspec(&self, child: &ChildRef) -> Result<ChildSpecInfo, GetChildSpecError> {
        let children = self.executor.plan.children();
        let rules = match (&self.source, child) {
            (ChildSource::Template(template), ChildRef::Id(id)) => {
                (template.rules.id == *id).then_some(&template.rules)
            }
            (ChildSource::Template(template), ChildRef::Pid(pid)) => {
                children.by_pid(*pid).map(|_| &template.rules)
            }
            (ChildSource::Spec(_), ChildRef::Id(id)) => {
                children.by_id(id).and_then(|key| children.get(key)).map(|child| &child.rules)
            }
            (ChildSource::Spec(_), ChildRef::Pid(_)) => None,
        };
        rules
            .map(ChildSpecInfo::from)
            .ok_or_else(|| GetChildSpecError::NotFound { child: child.to_string() })
    }
}

/// The request to end this child.
fn termination<T: Send + 'static>(
    ctx: &SupervisorContext<T>,
    child: ChildRef,
) -> ChildRequest<ChildStart<T>> {
    match child {
        ChildRef::Id(id) => ChildRequest::Terminate(id),
        ChildRef::Pid(pid) => ChildRequest::TerminatePid { pid, alive: ctx.is_alive(pid) },
    }
}
