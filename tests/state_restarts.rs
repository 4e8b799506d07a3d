//! How a state actor fails and restarts (rule O6).

mod state_support;
mod support;

use krarup::prelude::*;
use krarup::{Dynamic, InPlaceError, Letters, Probe, Scope, StateActor, StateContext, Stateful};
use state_support::{Doer, HOUR, Kept, SECOND, asks, doer, job, restarting};
use std::time::Duration;
use support::{Guard, Log, boom, simulations};

#[test]
fn o6_the_hooks_run_in_their_order_and_nothing_in_between() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = restarting(&sim, &log, 1, Ok(()));
        let probe = Probe::<Kept>::spawn(&sim);
        let other = probe.address();
        asks(
            &sim,
            &log,
            &doer,
            job("hangs").doing(move |scope| {
                Box::pin(async move {
                    scope.with(|doer| doer.sum = 5);
                    scope.after(SECOND, job("of the old state"));
                    scope.call(&other, |reply| reply).await?;
                    Ok(())
                })
            }),
        );
        let _token = probe.expect(SECOND);
        log.take();
        doer.notice(job("fails").failing(boom())).unwrap();
        doer.notice(job("behind")).unwrap();
        sim.run_until_idle();
        let mut lines = log.take();
        let heard = lines.iter().position(|line| line.starts_with("hangs failed")).unwrap();
        assert!(lines.remove(heard).contains("boom"));
        assert_eq!(
            lines,
            [
                "notice fails",
                "before_restart boom",
                "restart",
                "after_restart boom",
                "notice behind"
            ]
        );
        let inspected = doer.inspect().wait().unwrap();
        assert_eq!(inspected.number("sum"), Some(0));
        assert_eq!(inspected.number("in_flight"), Some(0));
        assert_eq!(inspected.number("pending_promises"), Some(0));
        sim.advance(HOUR);
        assert_eq!(log.take(), Vec::<String>::new());
        // A panic is a failure too; two in a second are too many.
        doer.notice(job("panics").panicking()).unwrap();
        doer.notice(job("panics").panicking()).unwrap();
        sim.run_until_idle();
        let lines = log.take();
        assert_eq!(lines.iter().filter(|line| line.starts_with("after_restart")).count(), 1);
        assert_eq!(lines.iter().filter(|line| line.starts_with("terminate")).count(), 1);
        assert!(!doer.is_alive());
    }
}

#[test]
fn o6_a_barrier_does_not_outlive_the_state_it_was_of() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = restarting(&sim, &log, 1, Ok(()));
        asks(&sim, &log, &doer, job("barrier").barrier().waiting(HOUR));
        sim.run_until_idle();
        doer.notice(job("behind")).unwrap();
        doer.event(job("fails").failing(boom())).unwrap();
        sim.advance(2 * SECOND);
        assert_eq!(log.count("notice behind"), 1);
    }
}

#[test]
fn o6_without_restarts_or_a_restart_that_works_a_failure_is_the_end() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let plain = doer(&sim, &log);
    plain.notice(job("fails").failing(boom())).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["notice fails", "terminate boom", "dropped", "cleaned boom"]);

    let hopeless = restarting(&sim, &log, 2, Err(Reason::error("worse")));
    hopeless.notice(job("fails").failing(boom())).unwrap();
    sim.run_until_idle();
    assert_eq!(
        log.take(),
        [
            "notice fails",
            "before_restart boom",
            "restart",
            "restart",
            "terminate worse",
            "dropped",
            "cleaned worse"
        ]
    );

    let state = Doer::new(&log);
    let never =
        sim.spawn(move || Stateful::new(state).restarts(1, Duration::ZERO)).wait().unwrap_err();
    assert!(never.to_string().contains(&InPlaceError::ZeroPeriod.to_string()));
}

/// Its hooks do in turn what they are told; each is noted.
struct Hooked {
    log: Log,
    plan: Vec<(&'static str, Outcome)>,
    _guard: Guard,
}

#[derive(Clone, Copy)]
enum Outcome {
    Fails,
    Panics,
}

impl Hooked {
    fn hook(&mut self, hook: &'static str, reason: &Reason) -> Result {
        let reason = reason.to_string();
        let text = if reason.contains("panic of") { "panic" } else { &reason };
        self.log.note(format!("{hook}: {text}"));
        let planned = self.plan.iter().position(|(planned, _)| *planned == hook);
        match planned.map(|place| self.plan.remove(place).1) {
            None => Ok(()),
            Some(Outcome::Fails) => Err(Reason::error(format!("{hook} failed"))),
            Some(Outcome::Panics) => panic!("panic of {hook}"),
        }
    }
}

impl StateActor for Hooked {
    type Notice = ();
    type Ask = Reply<()>;
    type Reply = ();
    type Event = ();

    async fn handle_notice(_: &mut Scope<Self>, (): ()) -> Result {
        Err(boom())
    }

    async fn handle_ask(_: &mut Scope<Self>, reply: Reply<()>) -> Result {
        reply.send(());
        Ok(())
    }

    async fn before_restart(&mut self, _: &mut StateContext<Self>, reason: &Reason) {
        let _ = self.hook("before", reason);
    }

    async fn restart(&mut self, _: &mut StateContext<Self>, reason: &Reason) -> Result {
        self.hook("restart", reason)
    }

    async fn after_restart(&mut self, _: &mut StateContext<Self>, reason: &Reason) -> Result {
        self.hook("after", reason)
    }

    fn state(&self) -> Option<Dynamic> {
        None
    }

    async fn terminate(&mut self, _: &mut StateContext<Self>, reason: &Reason) {
        let _ = self.hook("terminate", reason);
    }
}

#[test]
fn o6_a_hook_that_fails_or_panics_is_another_failure() {
    use Outcome::{Fails, Panics};
    let both = ["before: boom", "restart: boom"];
    let cases: [(&[_], u32, &[&str]); 6] = [
        (&[], 1, &["after: boom"]),
        (&[("before", Panics)], 1, &["after: boom"]),
        (&[("restart", Fails)], 2, &["restart: restart failed", "after: restart failed"]),
        (&[("restart", Panics)], 2, &["restart: panic", "after: panic"]),
        (
            &[("after", Fails), ("after", Panics)],
            3,
            &[
                "after: boom",
                "restart: after failed",
                "after: after failed",
                "restart: panic",
                "after: panic",
            ],
        ),
        // One failure too many.
        (&[("after", Fails)], 1, &["after: boom", "terminate: after failed"]),
    ];
    for (plan, most, then) in cases {
        for sim in simulations(3) {
            let log = Log::new();
            let guard = Guard::new(&log, "dropped");
            let state = Hooked { log: log.clone(), plan: plan.to_vec(), _guard: guard };
            let hooked =
                sim.spawn(move || Stateful::new(state).restarts(most, SECOND)).wait().unwrap();
            hooked.notice(()).unwrap();
            sim.run_until_idle();
            let lives = !then.iter().any(|line| line.starts_with("terminate"));
            let expected: Vec<&str> =
                both.iter().chain(then).chain((!lives).then_some(&"dropped")).copied().collect();
            assert_eq!(log.take(), expected);
            assert_eq!(hooked.ask(|reply| reply).wait().is_ok(), lives);
        }
    }
}
