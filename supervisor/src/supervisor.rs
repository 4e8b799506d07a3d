//! The behaviour: one loop around the plan.

use crate::action::{ChildRequest, PlanEvent, RequestOutcome};
use crate::carrier::{EventOutcome, PlanExecutor};
use crate::child_spec::{ChildSpec, ChildStart, ChildTemplate};
use crate::command::{ChildRef, Command, SupervisorCommand, SupervisorContext};
use crate::error::{GetChildSpecError, SpecError};
use crate::info::{ChildCounts, ChildInfo, ChildSpecInfo};
use crate::plan::Plan;
use crate::spec::{AutoShutdown, ChildKind, ChildRules, Strategy, SupervisorFlags};
use krarup_act::{Behavior, Received, contain};
use krarup_gen::{Inspection, Pid, Reason, Result, Value};
use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

/// A process that starts others, in order, and keeps them alive: OTP's `supervisor`.
///
/// A supervisor is a behaviour like any other: spawn it, name it, put it under another
/// supervisor. It has started when all its children have (rule S2); it ends when its
/// parent or the node stops it, when restarts become too many (rule S5), or when its
/// significant children have ended, and always ends its children first, the last
/// started first (rule S3).
///
/// | strategy | one child ends and is to be restarted |
/// |---|---|
/// | [`one_for_one`](Supervisor::one_for_one) | it is started again |
/// | [`one_for_all`](Supervisor::one_for_all) | the others are stopped, then all are started |
/// | [`rest_for_one`](Supervisor::rest_for_one) | those started after it are stopped, then it and they are started |
/// | [`simple_one_for_one`](Supervisor::simple_one_for_one) | it is started again, with its own arguments |
///
/// A running supervisor is asked for more or fewer children, and about them, through
/// [`crate::SupervisorCalls`] on its address. `T` is what `start_child` takes.
pub struct Supervisor<T = ChildSpec> {
    flags: SupervisorFlags,
    children: Vec<(ChildRules, ChildStart<T>)>,
    source: ChildSource<T>,
}

/// What `start_child` makes of its argument.
enum ChildSource<T> {
    Spec(fn(T) -> (ChildRules, ChildStart<T>)),
    Template(Box<ChildTemplate<T>>),
}

impl Supervisor {
    /// Each child stands alone.
    #[must_use]
    pub fn one_for_one() -> Self {
        Self::of(Strategy::OneForOne)
    }

    /// The children stand and fall together.
    #[must_use]
    pub fn one_for_all() -> Self {
        Self::of(Strategy::OneForAll)
    }

    /// Each child depends on those before it.
    #[must_use]
    pub fn rest_for_one() -> Self {
        Self::of(Strategy::RestForOne)
    }

    fn of(strategy: Strategy) -> Self {
        let source = ChildSource::Spec(|spec: ChildSpec| (spec.rules, spec.start));
        Supervisor { flags: SupervisorFlags::new(strategy), children: Vec::new(), source }
    }

    /// Adds a child, the last in start order. `simple_one_for_one` refuses it at the start.
    #[must_use]
    pub fn child(mut self, spec: ChildSpec) -> Self {
        self.children.push((spec.rules, spec.start));
        self
    }
}

impl<A: Send + 'static> Supervisor<A> {
    /// All children are made from one template; there are none at first.
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
    /// At most this many restarts within this time (rule S5); one more ends the
    /// supervisor. Without it, 1 in 5 s. A period of zero is refused at the start.
    #[must_use]
    pub fn intensity(mut self, restarts: u32, period: Duration) -> Self {
        self.flags.intensity = restarts;
        self.flags.period = period;
        self
    }

    /// Whether the ends of significant children end the supervisor (rule S1).
    #[must_use]
    pub fn auto_shutdown(mut self, auto_shutdown: AutoShutdown) -> Self {
        self.flags.auto_shutdown = auto_shutdown;
        self
    }
}

impl<T> Supervisor<T> {
    /// How long a child that was killed has to end, [`krarup_act::KILL_GRACE`] (5 s) unless told otherwise
    /// (rule S11). A child that blocks its thread and never gives it back cannot be ended: after
    /// this time the supervisor reports it, unlinks it, takes its name away from it and goes on
    /// without it. What it still does, and its end, concern the supervisor no more. Zero: a
    /// killed child is not waited for. `Duration::MAX`: it is waited for as long as it takes, as
    /// in OTP.
    #[must_use]
    pub fn kill_grace(mut self, grace: Duration) -> Self {
        self.flags.kill_grace = grace;
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
        ctx.trap_exits(true);
        ctx.stop_in_order(true);
        self.check()?;
        let mut plan = Plan::new(self.flags);
        for (rules, start) in self.children {
            plan.add(rules, start);
        }
        let mut supervisor =
            Supervising { carrier: PlanExecutor::new(plan, ctx.pid()), source: self.source };
        let begun = supervisor.carrier.carry_out(&mut ctx, PlanEvent::Begin).await;
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
        // What starts the children is a user's. How it is dropped changes nothing: why a supervisor
        // ends decides what the one above it does.
        let _ = contain(|| drop(supervisor));
        Err(reason)
    }

    fn label() -> &'static str {
        "Supervisor"
    }
}

impl<T> Supervisor<T> {
    fn check(&self) -> Result<(), SpecError> {
        let template = match (&self.source, self.children.first()) {
            (ChildSource::Spec(_), _) => None,
            (ChildSource::Template(template), None) => Some(&template.rules),
            // Where the arguments of the template are specifications, `child` can be called.
            (ChildSource::Template(_), Some((rules, _))) => {
                return Err(SpecError::ChildOfSimpleOneForOne { id: rules.id.clone() });
            }
        };
        self.flags.check(self.children.iter().map(|(rules, _)| rules).chain(template))
    }
}

/// A supervisor whose children have been started.
struct Supervising<T> {
    carrier: PlanExecutor<T>,
    source: ChildSource<T>,
}

impl<T: Send + 'static> Supervising<T> {
    /// Serves the next item; the reason if it was the last.
    async fn serve(&mut self, ctx: &mut SupervisorContext<T>) -> Option<Reason> {
        let outcome = match self.carrier.receive(ctx).await {
            Received::Exit(exit) => self.carrier.exited(ctx, exit).await,
            Received::Stop(reason) => self.carrier.carry_out(ctx, PlanEvent::Stop(reason)).await,
            Received::Finish => self.carrier.carry_out(ctx, PlanEvent::Stop(Reason::Normal)).await,
            Received::Command(SupervisorCommand(command)) => self.obey(ctx, command).await,
            Received::Inspect(reply) => {
                reply.send(self.inspection());
                EventOutcome::GoesOn
            }
            // It monitors nobody, and its Main lane cannot be sent to.
            _ => EventOutcome::GoesOn,
        };
        if let EventOutcome::Ends(reason) = outcome { Some(reason) } else { None }
    }

    async fn obey(&mut self, ctx: &mut SupervisorContext<T>, command: Command<T>) -> EventOutcome {
        match command {
            Command::StartChild(child, reply) => {
                let (rules, start) = match &self.source {
                    ChildSource::Spec(split) => split(child),
                    ChildSource::Template(template) => {
                        (template.rules.clone(), template.start(child))
                    }
                };
                let request = ChildRequest::Start(rules, start);
                if let Some(RequestOutcome::Start(answer)) = self.request(ctx, request).await {
                    reply.send(answer);
                }
            }
            Command::TerminateChild(child, reply) => {
                let request = match child {
                    ChildRef::Id(id) => ChildRequest::Terminate(id),
                    ChildRef::Pid(pid) => {
                        ChildRequest::TerminatePid { pid, alive: ctx.is_alive(pid) }
                    }
                };
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
            Command::CountChildren(reply) => reply.send(Ok(self.count_children())),
            Command::GetChildSpec(child, reply) => reply.send(self.childspec(&child)),
            Command::TryAgain(key) => return self.carrier.try_again(ctx, key).await,
            Command::MayGoOn(plea) => self.carrier.judge(ctx, plea),
        }
        EventOutcome::GoesOn
    }

    /// A request never ends the supervisor, so there is an answer.
    async fn request(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        request: ChildRequest<ChildStart<T>>,
    ) -> Option<RequestOutcome> {
        match self.carrier.carry_out(ctx, PlanEvent::Request(request)).await {
            EventOutcome::Answer(answer) => Some(answer),
            EventOutcome::GoesOn | EventOutcome::Ends(_) => None,
        }
    }

    fn which_children(&self) -> Vec<ChildInfo> {
        self.carrier.plan.children().iter().rev().map(|(_, child)| child.info()).collect()
    }

    /// OTP's ways: under `simple_one_for_one` what counts as active is what the
    /// supervisor has been told of; else, what is alive at this moment.
    fn count_children(&self) -> ChildCounts {
        let children = self.carrier.plan.children();
        let is_simple = self.is_simple();
        let is_active = |pid: Pid| is_simple || self.carrier.is_alive(pid);
        let all = children.len();
        let is_supervisor = |kind| kind == ChildKind::Supervisor;
        let supervisors =
            children.iter().filter(|(_, child)| is_supervisor(child.rules.kind)).count();
        let active = children.iter().filter_map(|(_, child)| child.pid()).filter(|&p| is_active(p));
        ChildCounts {
            specs: if is_simple { 1 } else { all },
            active: active.count(),
            supervisors,
            workers: all - supervisors,
        }
    }

    fn childspec(&self, child: &ChildRef) -> Result<ChildSpecInfo, GetChildSpecError> {
        let children = self.carrier.plan.children();
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

    fn inspection(&self) -> Inspection {
        let SupervisorFlags { strategy, intensity, period, auto_shutdown, kill_grace } =
            *self.carrier.plan.flags();
        let counts = self.count_children();
        let children = self.carrier.plan.children().iter().map(|(_, child)| {
            let ChildInfo { id, state, kind, restarts, .. } = child.info();
            let record = Inspection::new()
                .with("id", id.as_str())
                .with("state", state.to_string())
                .with("kind", kind.to_string())
                .with("restarts", restarts);
            Value::Record(record)
        });
        Inspection::new()
            .with("strategy", strategy.to_string())
            .with("intensity", intensity)
            .with("period", period)
            .with("auto_shutdown", auto_shutdown.to_string())
            .with("kill_grace", kill_grace)
            .with("specs", counts.specs)
            .with("active", counts.active)
            .with("restarts", self.carrier.plan.restarts())
            .with("children", children.collect::<Vec<_>>())
    }

    fn is_simple(&self) -> bool {
        matches!(self.source, ChildSource::Template(_))
    }
}
