//! Properties of every plan: random children, ends, failing starts and requests, served in every
//! order.

use super::model::{Mail, PlanModel, StartOutcome, child};
use crate::action::{Action, ChildRequest, SupervisorEnd};
use crate::back_off::BackOff;
use crate::children::{Child, ChildKey, ChildProcess};
use crate::spec::{AutoShutdown, ChildRules, RestartType, Shutdown, Strategy, SupervisorFlags};
use krarup_gen::{Pid, Reason, Timestamp};
use proptest::prelude::{
    Just, ProptestConfig, TestCaseError, any, prop, prop_assert, prop_assert_eq, prop_oneof,
    proptest,
};
use proptest::strategy::Strategy as Generator;
use std::collections::HashMap;
use std::time::Duration;

const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];

#[derive(Clone, Debug)]
enum Op {
    /// The living child with this number ends.
    Dies(usize, Reason),
    /// The same, while the next actions are running.
    DieMidway(Vec<Option<usize>>),
    /// Its state fails, and it continues in place if it may.
    StateFails(usize),
    Outcomes(&'static str, Vec<StartOutcome>),
    Request(ChildRequest<()>),
    /// Terminates the living dynamic child with this number.
    TerminatePid(usize),
    Stop,
    Pass(u64),
    Serve,
}

fn reason() -> impl Generator<Value = Reason> {
    prop_oneof![
        1 => Just(Reason::Normal),
        1 => Just(Reason::Shutdown),
        3 => Just(Reason::error("boom")),
        1 => Just(Reason::Killed),
    ]
}

fn rules(id: &'static str) -> impl Generator<Value = ChildRules> {
    let restart = prop_oneof![
        Just(RestartType::Permanent),
        Just(RestartType::Transient),
        Just(RestartType::Temporary),
    ];
    let shutdown = prop_oneof![Just(None), Just(Some(Shutdown::BrutalKill))];
    let rules = (restart, shutdown, any::<bool>(), prop::option::weighted(0.3, back_off()));
    rules.prop_map(move |(restart, shutdown, significant, back_off)| ChildRules {
        shutdown,
        significant,
        back_off,
        ..child(id, restart)
    })
}

fn back_off() -> impl Generator<Value = BackOff> {
    (1_u64..3, 0_u64..6, prop::sample::select(vec![0.0, 0.5, 1.0])).prop_map(
        |(min, more, jitter)| {
            let (min, max) = (Duration::from_secs(min), Duration::from_secs(min + more));
            BackOff::new(min, max).jitter(jitter)
        },
    )
}

fn op() -> impl Generator<Value = Op> {
    let id = || prop::sample::select(&IDS[..]);
    let outcome = prop_oneof![2 => Just(StartOutcome::Up), 1 => Just(StartOutcome::Ignore), 3 => Just(StartOutcome::Fail)];
    prop_oneof![
        8 => (0_usize..8, reason()).prop_map(|(nth, reason)| Op::Dies(nth, reason)),
        2 => prop::collection::vec(prop::option::of(0_usize..6), 1..8).prop_map(Op::DieMidway),
        3 => (0_usize..8).prop_map(Op::StateFails),
        4 => (id(), prop::collection::vec(outcome, 1..4)).prop_map(|(id, o)| Op::Outcomes(id, o)),
        2 => id().prop_flat_map(rules).prop_map(|rules| Op::Request(ChildRequest::Start(rules, ()))),
        2 => id().prop_map(|id| Op::Request(ChildRequest::Terminate(id.into()))),
        2 => id().prop_map(|id| Op::Request(ChildRequest::Restart(id.into()))),
        1 => id().prop_map(|id| Op::Request(ChildRequest::Delete(id.into()))),
        1 => (0_usize..8).prop_map(Op::TerminatePid),
        1 => Just(Op::Stop),
        3 => (0_u64..4).prop_map(Op::Pass),
        12 => Just(Op::Serve),
    ]
}

fn supervisor() -> impl Generator<Value = (SupervisorFlags, Vec<ChildRules>)> {
    let strategy = prop_oneof![
        Just(Strategy::OneForOne),
        Just(Strategy::OneForAll),
        Just(Strategy::RestForOne),
        Just(Strategy::SimpleOneForOne),
    ];
    let auto_shutdown = prop_oneof![
        Just(AutoShutdown::Never),
        Just(AutoShutdown::AnySignificant),
        Just(AutoShutdown::AllSignificant),
    ];
    let children = (rules("a"), rules("b"), rules("c"), rules("d"));
    (strategy, auto_shutdown, children, 0_u32..6).prop_map(
        |(strategy, auto_shutdown, (a, b, c, d), intensity)| {
            let simple = strategy == Strategy::SimpleOneForOne;
            let auto_shutdown = if simple { AutoShutdown::Never } else { auto_shutdown };
            let period = Duration::from_secs(3);
            let mut children = if simple { Vec::new() } else { vec![a, b, c, d] };
            let flags = SupervisorFlags {
                intensity,
                period,
                auto_shutdown,
                ..SupervisorFlags::new(strategy)
            };
            for child in &mut children {
                child.significant &= child.check(&flags).is_ok();
            }
            (flags, children)
        },
    )
}

/// The restart limit and the waits, computed independently of the plan.
#[derive(Default)]
struct Restarts {
    times: Vec<Timestamp>,
    not_before: HashMap<ChildKey, Timestamp>,
}

impl Restarts {
    /// Predicts the next item: whether it causes a restart, and whether that exceeds the limit.
    fn expect(&mut self, model: &PlanModel) -> Option<bool> {
        let children = model.plan.children();
        let restarts = match model.lane.front()? {
            Mail::Exit(pid, reason) => {
                let of = |process| process == ChildProcess::Running(*pid);
                children.iter().find(|(_, child)| of(child.process())).is_some_and(|(_, child)| {
                    child.rules.back_off.is_none()
                        && match child.rules.restart {
                            RestartType::Permanent => true,
                            RestartType::Transient => reason.is_abnormal(),
                            RestartType::Temporary => false,
                        }
                })
            }
            Mail::TryAgain(key) => {
                let is_due = self.not_before.get(key).is_none_or(|due| *due <= model.now);
                let is_restarting =
                    |child: &Child<()>| matches!(child.process(), ChildProcess::Restarting(_));
                is_due && children.get(*key).is_some_and(is_restarting)
            }
            Mail::Request(_) | Mail::Stop(_) => false,
        };
        if !restarts || model.ended.is_some() {
            return None;
        }
        self.times.push(model.now);
        Some(self.recent(model) > model.plan.flags().intensity as usize)
    }

    fn recent(&self, model: &PlanModel) -> usize {
        let period = model.plan.flags().period;
        self.times.iter().filter(|&&time| model.now.since(time) <= period).count()
    }

    /// A state fails: the decision is checked as for any restart.
    fn state_fails(&mut self, model: &mut PlanModel, pid: Pid) -> Result<(), TestCaseError> {
        let SupervisorFlags { strategy, intensity, .. } = *model.plan.flags();
        let child = model.plan.children().get(model.alive[&pid]).expect("a child");
        let is_alone = matches!(strategy, Strategy::OneForOne | Strategy::SimpleOneForOne);
        let expected = is_alone
            && !child.is_temporary()
            && model.ended.is_none()
            && self.recent(model) < intensity as usize;
        let goes_on = model.state_fails(pid);
        prop_assert_eq!(goes_on, expected);
        prop_assert_eq!(model.alive.contains_key(&pid), goes_on);
        if goes_on {
            self.times.push(model.now);
        }
        Ok(())
    }

    /// Records the waits that begin now.
    fn note_waits(&mut self, model: &PlanModel) -> Result<(), TestCaseError> {
        for action in &model.actions {
            let Action::TryAgain { key, wait } = action else { continue };
            let back_off = model.plan.children().get(*key).and_then(|child| child.rules.back_off);
            prop_assert_eq!(wait.is_some(), back_off.is_some());
            self.not_before.insert(*key, model.now + wait.unwrap_or_default());
        }
        Ok(())
    }
}

/// Serves one item and checks the actions.
fn serve_one(model: &mut PlanModel, restarts: &mut Restarts) -> Result<bool, TestCaseError> {
    let was_ended = model.ended.is_some();
    let too_many = restarts.expect(model);
    if !model.serve_one() {
        return Ok(false);
    }
    if was_ended {
        prop_assert!(model.actions.is_empty(), "a supervisor that has ended acts");
        return Ok(true);
    }
    let gave_up = matches!(model.ending(), Some(SupervisorEnd::RestartIntensity(_)));
    prop_assert_eq!(gave_up, too_many == Some(true), "the limit is exact");
    if gave_up {
        let started = model.actions.iter().any(|action| matches!(action, Action::Start(_)));
        prop_assert!(!started, "a child is started by a supervisor that gives up");
    }
    restarts.note_waits(model)?;
    check_order(&model.actions)?;
    check_agreement(model)?;
    Ok(true)
}

/// Stops go down the start order, then starts go up it, and nothing follows the last action for
/// an item.
fn check_order(actions: &[Action]) -> Result<(), TestCaseError> {
    let stops: Vec<ChildKey> = actions.iter().filter_map(stopped).collect();
    let starts: Vec<ChildKey> = actions.iter().filter_map(started).collect();
    prop_assert!(stops.is_sorted_by(|a, b| a > b), "stopped in order {stops:?}");
    prop_assert!(starts.is_sorted_by(|a, b| a < b), "started in order {starts:?}");
    let first_start = actions.iter().position(|action| started(action).is_some());
    let last_stop = actions.iter().rposition(|action| stopped(action).is_some());
    if let (Some(start), Some(stop)) = (first_start, last_stop) {
        prop_assert!(stop < start, "a child is started before all are stopped: {actions:?}");
    }
    let is_last = |action: &Action| {
        matches!(action, Action::TryAgain { .. } | Action::Reply(_) | Action::End(_))
    };
    let before = &actions[..actions.len().saturating_sub(1)];
    prop_assert!(!before.iter().any(is_last), "{actions:?}");
    Ok(())
}

fn stopped(action: &Action) -> Option<ChildKey> {
    if let Action::Stop { key, .. } = action { Some(*key) } else { None }
}

fn started(action: &Action) -> Option<ChildKey> {
    if let Action::Start(key) = action { Some(*key) } else { None }
}

/// The plan lists every living process, and no process that has ended unless its exit notice is
/// waiting.
fn check_agreement(model: &PlanModel) -> Result<(), TestCaseError> {
    let children = model.plan.children();
    for (&pid, &key) in &model.alive {
        prop_assert_eq!(children.running(pid), Some(key), "an unlisted process {}", pid);
    }
    let waits = |pid| model.lane.iter().any(|mail| matches!(mail, Mail::Exit(of, _) if *of == pid));
    for (key, child) in children.iter() {
        if let Some(pid) = child.pid() {
            prop_assert!(model.alive.contains_key(&pid) || waits(pid), "{} is listed", pid);
        }
        if matches!(child.process(), ChildProcess::Restarting(_)) && model.ended.is_none() {
            let again =
                model.lane.iter().any(|mail| matches!(mail, Mail::TryAgain(k) if *k == key));
            prop_assert!(
                again || model.waits.contains_key(&key),
                "a restarting child is not tried again"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn s1_to_s10_hold_for_random_sequences_of_events(
        (flags, children) in supervisor(),
        first in prop_oneof![3 => Just(StartOutcome::Up), 1 => Just(StartOutcome::Ignore), 1 => Just(StartOutcome::Fail)],
        ops in prop::collection::vec(op(), 1..60),
        random in any::<u64>(),
    ) {
        let mut model = PlanModel::new(flags, &children);
        model.outcomes("c", &[first]);
        model.random = random;
        model.begin();
        check_agreement(&model)?;
        let mut restarts = Restarts::default();
        for op in ops {
            match op {
                Op::Dies(nth, reason) => model.nth_dies(nth, reason),
                Op::DieMidway(who) => model.midway = who.into(),
                Op::StateFails(nth) => {
                    if let Some((&pid, _)) = model.alive.iter().nth(nth) {
                        restarts.state_fails(&mut model, pid)?;
                    }
                }
                Op::TerminatePid(nth) => {
                    if let Some((&pid, _)) = model.alive.iter().nth(nth) {
                        let request = ChildRequest::TerminatePid { pid, alive: true };
                        model.lane.push_back(Mail::Request(request));
                    }
                }
                Op::Outcomes(id, outcomes) => model.outcomes(id, &outcomes),
                Op::Request(request) => model.lane.push_back(Mail::Request(request)),
                Op::Stop => model.lane.push_back(Mail::Stop(Reason::Shutdown)),
                Op::Pass(seconds) => model.pass(Duration::from_secs(seconds)),
                Op::Serve => {
                    serve_one(&mut model, &mut restarts)?;
                }
            }
        }
        // A child that always fails is tried until the limit, so the lane empties, and waiting
        // children are tried in the end.
        loop {
            while serve_one(&mut model, &mut restarts)? {}
            if model.waits.is_empty() {
                break;
            }
            model.pass(Duration::from_secs(10));
        }
    }
}
