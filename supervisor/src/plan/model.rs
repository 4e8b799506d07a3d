//! A simulated environment for a plan. It executes the plan's actions with processes that are
//! just numbers, and logs them. The test sets the time.

use crate::action::{Action, ChildRequest, EventTime, PlanEvent, RequestOutcome, SupervisorEnd};
use crate::children::ChildKey;
use crate::plan::Plan;
use crate::spec::{
    AutoShutdown, ChildId, ChildKind, ChildRules, RestartType, Shutdown, Strategy, SupervisorFlags,
};
use krarup_gen::{Pid, Reason, Timestamp};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

pub(super) fn child(id: &str, restart: RestartType) -> ChildRules {
    ChildRules { restart, ..ChildRules::new(id.into(), ChildKind::Worker, "test") }
}

pub(super) fn permanent(id: &str) -> ChildRules {
    child(id, RestartType::Permanent)
}

pub(super) fn transient(id: &str) -> ChildRules {
    child(id, RestartType::Transient)
}

pub(super) fn temporary(id: &str) -> ChildRules {
    child(id, RestartType::Temporary)
}

pub(super) fn significant(rules: ChildRules) -> ChildRules {
    ChildRules { significant: true, ..rules }
}

/// Many restarts, so that only a test of the intensity reaches the limit.
pub(super) fn flags(strategy: Strategy) -> SupervisorFlags {
    SupervisorFlags { intensity: 100, ..SupervisorFlags::new(strategy) }
}

/// The outcome of the next start of a child.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StartOutcome {
    Up,
    Ignore,
    Fail,
}

/// An item of the supervisor's lane.
#[derive(Clone, Debug)]
pub(super) enum Mail {
    Exit(Pid, Reason),
    TryAgain(ChildKey),
    Request(ChildRequest<()>),
    Stop(Reason),
}

pub(super) struct PlanModel {
    pub(super) plan: Plan<()>,
    pub(super) now: Timestamp,
    pub(super) alive: BTreeMap<Pid, ChildKey>,
    pub(super) lane: VecDeque<Mail>,
    /// Until when children wait for their restart.
    pub(super) waits: BTreeMap<ChildKey, Timestamp>,
    /// The random number for every event.
    pub(super) random: u64,
    pub(super) answers: Vec<RequestOutcome>,
    pub(super) ended: Option<Reason>,
    /// The actions for the last item.
    pub(super) actions: Vec<Action>,
    /// The processes that end while the next actions are running, by number among the living.
    pub(super) midway: VecDeque<Option<usize>>,
    outcomes: HashMap<ChildId, VecDeque<StartOutcome>>,
    pids: u64,
    log: Vec<String>,
}

impl PlanModel {
    /// A supervisor that has not begun.
    pub(super) fn new(flags: SupervisorFlags, children: &[ChildRules]) -> Self {
        flags.check(children).expect("a valid supervisor");
        let mut plan = Plan::new(flags);
        for rules in children {
            plan.add(rules.clone(), ());
        }
        PlanModel {
            plan,
            now: Timestamp::ZERO,
            alive: BTreeMap::new(),
            lane: VecDeque::new(),
            waits: BTreeMap::new(),
            random: 0,
            answers: Vec::new(),
            ended: None,
            actions: Vec::new(),
            midway: VecDeque::new(),
            outcomes: HashMap::new(),
            pids: 0,
            log: Vec::new(),
        }
    }

    /// A supervisor whose children have all been started.
    pub(super) fn running(flags: SupervisorFlags, children: &[ChildRules]) -> Self {
        let mut model = PlanModel::new(flags, children);
        model.begin();
        model.log.clear();
        model
    }

    pub(super) fn begin(&mut self) {
        self.act(PlanEvent::Begin);
    }

    /// Sets the outcomes of the next starts of a child; later starts succeed.
    pub(super) fn outcomes(&mut self, id: &str, outcomes: &[StartOutcome]) {
        self.outcomes.insert(id.into(), outcomes.iter().copied().collect());
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        let now = self.now;
        for (key, _) in self.waits.extract_if(.., |_, due| *due <= now) {
            self.lane.push_back(Mail::TryAgain(key));
        }
    }

    fn step(&mut self, event: PlanEvent<()>) -> Option<Action> {
        self.plan.step(event, EventTime { now: self.now, random: self.random })
    }

    /// The state of a process fails: the process continues if it may, and otherwise ends.
    pub(super) fn state_fails(&mut self, pid: Pid) -> bool {
        let goes_on = self.plan.may_restart_in_place(self.alive[&pid], self.now);
        if !goes_on {
            self.alive.remove(&pid);
            self.lane.push_back(Mail::Exit(pid, Reason::error("boom")));
        }
        goes_on
    }

    pub(super) fn pid(&self, id: &str) -> Pid {
        let of = |key: &ChildKey| self.plan.children().get(*key).map(|child| &child.rules.id);
        let found = self.alive.iter().rev().find(|(_, key)| of(key) == Some(&id.into()));
        *found.unwrap_or_else(|| panic!("{id} does not run")).0
    }

    /// A child ends by itself; its exit notice waits in the lane.
    pub(super) fn dies(&mut self, id: &str, reason: Reason) -> Pid {
        let pid = self.pid(id);
        self.alive.remove(&pid);
        self.lane.push_back(Mail::Exit(pid, reason));
        pid
    }

    /// The living child with this number, if there is one, ends by itself.
    pub(super) fn nth_dies(&mut self, nth: usize, reason: Reason) {
        if let Some((&pid, _)) = self.alive.iter().nth(nth) {
            self.alive.remove(&pid);
            self.lane.push_back(Mail::Exit(pid, reason));
        }
    }

    pub(super) fn crashes(&mut self, id: &str) -> Pid {
        self.dies(id, Reason::error("boom"))
    }

    /// Adds a request to the lane and serves everything in it.
    pub(super) fn request(&mut self, request: ChildRequest<()>) -> RequestOutcome {
        self.lane.push_back(Mail::Request(request));
        self.serve();
        self.answers.pop().expect("an answer")
    }

    /// Serves the lane until it is empty.
    pub(super) fn serve(&mut self) {
        while self.serve_one() {}
    }

    /// Serves the first item of the lane.
    pub(super) fn serve_one(&mut self) -> bool {
        let Some(mail) = self.lane.pop_front() else { return false };
        self.act(match mail {
            Mail::Exit(pid, reason) => PlanEvent::Exited { pid, reason },
            Mail::TryAgain(key) => PlanEvent::TryAgain(key),
            Mail::Request(request) => PlanEvent::Request(request),
            Mail::Stop(reason) => PlanEvent::Stop(reason),
        });
        true
    }

    /// The log since the last call, such as `stop b, start a, a fails`.
    pub(super) fn log(&mut self) -> String {
        std::mem::take(&mut self.log).join(", ")
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.log.push(text.into());
    }

    /// The children in start order with their states.
    pub(super) fn children_text(&self) -> String {
        let infos = self.plan.children().iter().map(|(_, child)| child.info());
        let texts = infos.map(|info| match info.state.pid() {
            Some(pid) => format!("{}#{}", info.id, pid.id()),
            None => format!("{}:{}", info.id, info.state),
        });
        texts.collect::<Vec<_>>().join(" ")
    }

    fn act(&mut self, event: PlanEvent<()>) {
        self.actions.clear();
        let mut next = self.step(event);
        while let Some(action) = next.take() {
            self.actions.push(action.clone());
            if let Some(nth) = self.midway.pop_front().flatten() {
                self.nth_dies(nth, Reason::error("midway"));
            }
            match action {
                Action::Start(key) => next = self.start(key),
                Action::Stop { key, pid, shutdown } => {
                    let id = self.id(key);
                    self.stop(&[pid], shutdown, id.as_ref());
                    next = self.step(PlanEvent::Stopped);
                }
                Action::StopTogether { pids, shutdown } => {
                    let text = pids.iter().map(|pid| pid.id().to_string()).collect::<Vec<_>>();
                    self.stop(&pids, shutdown, &format!("together {}", text.join(" ")));
                    next = self.step(PlanEvent::Stopped);
                }
                Action::TryAgain { key, wait: None } => self.lane.push_back(Mail::TryAgain(key)),
                Action::TryAgain { key, wait: Some(wait) } => {
                    let id = self.id(key);
                    self.note(format!("{id} waits {}", wait.as_secs_f64()));
                    self.waits.insert(key, self.now + wait);
                    self.pass(Duration::ZERO);
                }
                Action::Reply(answer) => self.answers.push(answer),
                Action::End(reason) => {
                    assert!(self.alive.is_empty(), "children outlive their supervisor");
                    assert!(self.plan.ending().is_some());
                    self.note(format!("end {reason}"));
                    self.ended = Some(reason);
                }
            }
        }
    }

    fn start(&mut self, key: ChildKey) -> Option<Action> {
        let twin = self.alive.values().any(|&other| other == key);
        assert!(!twin, "a child is started while it runs");
        let id = self.id(key);
        let outcomes = self.outcomes.get_mut(&id);
        let event = match outcomes.and_then(VecDeque::pop_front).unwrap_or(StartOutcome::Up) {
            StartOutcome::Up => {
                self.pids += 1;
                let pid = Pid::local(self.pids, 0);
                self.alive.insert(pid, key);
                self.note(format!("start {id}"));
                PlanEvent::Started(pid)
            }
            StartOutcome::Ignore => {
                self.note(format!("{id} ignores"));
                PlanEvent::Ignored
            }
            StartOutcome::Fail => {
                self.note(format!("{id} fails"));
                PlanEvent::Failed(Reason::error("no"))
            }
        };
        self.step(event)
    }

    /// The processes end, if they have not ended already. In both cases their exits are in the
    /// lane.
    fn stop(&mut self, pids: &[Pid], shutdown: Shutdown, what: &str) {
        let verb = if shutdown == Shutdown::BrutalKill { "kill" } else { "stop" };
        self.note(format!("{verb} {what}"));
        for &pid in pids {
            if self.alive.remove(&pid).is_some() {
                self.lane.push_back(Mail::Exit(pid, Reason::Shutdown));
            }
        }
    }

    fn id(&self, key: ChildKey) -> ChildId {
        self.plan.children().get(key).expect("a child that exists").rules.id.clone()
    }

    pub(super) fn ending(&self) -> Option<&SupervisorEnd> {
        self.plan.ending()
    }
}

pub(super) fn with_auto_shutdown(
    strategy: Strategy,
    auto_shutdown: AutoShutdown,
) -> SupervisorFlags {
    SupervisorFlags { auto_shutdown, ..flags(strategy) }
}
