//! Applications: rules A1 to A14.

use crate::application_support::{Say, app, failing, forever, say, state, states};
use crate::support::{Log, boom, simulations};
use krarup::application::{
    Application, ApplicationError, ApplicationState, Mode, StartApplicationError,
    StopApplicationError,
};
use krarup::behavior::behavior_fn;
use krarup::observe::Root;
use krarup::prelude::*;
use krarup::{NodeError, Timestamp};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn started(log: &Log, apps: impl FnOnce(&Log) -> Vec<Application>) -> Simulation {
    Simulation::with_applications(1, apps(log)).unwrap()
}

fn start_error(apps: Vec<Application>) -> StartApplicationError {
    match Simulation::with_applications(1, apps).unwrap_err() {
        NodeError::StartApplication(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn a1_declarations_that_do_not_fit_start_no_node() {
    let log = Log::new();
    let error =
        Node::builder("a1@localhost").application(app("a", &log)).application(app("a", &log));
    assert_eq!(error.start().unwrap_err().to_string(), "application a is given twice");
    let error = Node::builder("a1@localhost").application(app("a", &log).needs("b")).start();
    assert_eq!(error.unwrap_err().to_string(), "application a needs b, which is not given");
    let error =
        Simulation::with_applications(1, [app("a", &log).needs("b"), app("b", &log).needs("a")]);
    let error = error.unwrap_err();
    assert_eq!(error.to_string(), "applications need each other in a cycle: a, b, a");
    let error = Simulation::with_applications(1, [app("", &log)]).unwrap_err();
    assert!(matches!(error, NodeError::Application(ApplicationError::InvalidName { .. })));
    assert!(log.lines().is_empty());
}

#[test]
fn a2_each_starts_after_what_it_needs_and_its_phases_are_done_before_the_next() {
    let log = Log::new();
    let sim = started(&log, |log| {
        let (one, two) = (log.clone(), log.clone());
        let shop = app("shop", log)
            .needs("storage")
            .phase("warm", move |ctx: Context<()>| {
                let log = one.clone();
                async move {
                    let storage: Address<Say> = ctx.lookup("storage")?;
                    log.note(format!("warm {}", storage.is_alive()));
                    ctx.sleep(SECOND).await;
                    Ok(())
                }
            })
            .phase("open", move |_| {
                let log = two.clone();
                async move {
                    log.note("open");
                    Ok(())
                }
            });
        vec![
            shop,
            app("web", log).needs("shop"),
            app("storage", log),
            app("late", log).on_request(),
        ]
    });
    assert_eq!(log.take(), ["start storage", "start shop", "warm true", "open", "start web"]);
    assert_eq!(sim.now(), Timestamp::ZERO + SECOND);
    assert_eq!(states(&sim), ["shop running", "web running", "storage running", "late loaded"]);
}

#[test]
fn a3_a_start_that_fails_takes_back_what_it_has_started_in_reverse() {
    let log = Log::new();
    let error = start_error(vec![app("a", &log), app("b", &log), failing("c", &log)]);
    assert_eq!(error.to_string(), "application c did not start: boom");
    assert_eq!(log.take(), ["start a", "start b", "end b shutdown", "end a shutdown"]);

    let phase = |_: Context<()>| async { Err(boom()) };
    let error = start_error(vec![app("a", &log), app("b", &log).phase("warm", phase)]);
    assert_eq!(error.to_string(), "application b did not start (in phase warm): boom");
    assert_eq!(log.take(), ["start a", "start b", "end b shutdown", "end a shutdown"]);

    let phase = |_: Context<()>| async { panic!("sore") };
    let error = start_error(vec![app("b", &log).phase("warm", phase)]);
    let StartApplicationError::Failed { application, phase, reason } = error else { panic!() };
    assert_eq!((application.as_str(), phase.as_deref()), ("b", Some("warm")));
    assert!(matches!(reason, Reason::Panic(_)));
}

#[test]
fn a3_a_start_has_a_time_limit_for_init_and_phases_together() {
    let log = Log::new();
    let phase = |ctx: Context<()>| async move {
        ctx.sleep(2 * SECOND).await;
        Ok(())
    };
    let slow = app("b", &log).phase("one", phase).phase("two", phase).start_timeout(3 * SECOND);
    let error = start_error(vec![app("a", &log), slow]);
    assert_eq!(error.to_string(), "application b did not start within 3s (in phase two)");
    assert_eq!(log.take(), ["start a", "start b", "end b shutdown", "end a shutdown"]);
    let enough = app("b", &log)
        .phase("one", phase)
        .phase("two", phase)
        .start_timeout(4 * SECOND + SECOND / 9);
    drop(Simulation::with_applications(1, [enough]).unwrap());
}

#[test]
fn a3_a_phase_ends_with_its_top_process() {
    let log = Log::new();
    let phase = |ctx: Context<()>| async move {
        let top: Address<Say> = ctx.lookup("a")?;
        top.send(Say::End(boom()))?;
        std::future::pending::<()>().await;
        Ok(())
    };
    let error = start_error(vec![app("a", &log).phase("warm", phase)]);
    assert_eq!(error.to_string(), "application a did not start: boom");
}

#[test]
fn a3_one_that_fails_to_start_later_stops_the_node_as_one_that_has_ended() {
    let log = Log::new();
    for (mode, reason, stops) in [
        (Mode::Permanent, boom(), true),
        (Mode::Transient, boom(), true),
        (Mode::Transient, Reason::Shutdown, true),
        (Mode::Temporary, boom(), false),
    ] {
        let fails = reason.clone();
        let phase = move |_: Context<()>| {
            let fails = fails.clone();
            async move { Err(fails) }
        };
        let sim = started(&log, |log| {
            vec![app("a", log), app("b", log).phase("one", phase).mode(mode).on_request()]
        });
        let error = sim.start_application("b").wait().unwrap_err();
        let said = format!("application b did not start (in phase one): {reason}");
        assert_eq!(error.to_string(), said);
        assert_eq!(sim.is_stopping(), stops, "{mode} {reason}");
        if stops {
            let stopped = sim.stopped().wait().unwrap();
            assert_eq!(stopped.to_string(), format!("application b ended: {reason}"));
            assert!(!stopped.is_orderly());
            assert_eq!(log.take(), ["start a", "start b", "end b shutdown", "end a shutdown"]);
        }
        drop(sim);
        log.take();
    }
}

#[test]
fn a4_a_start_takes_along_what_is_needed_and_says_what_it_has_started() {
    let log = Log::new();
    let sim = started(&log, |log| {
        let (a, b) = (app("a", log).on_request(), app("b", log).needs("a").on_request());
        vec![app("c", log).needs("b").on_request(), b, a]
    });
    let names = |started: Vec<krarup::Name>| -> Vec<_> {
        started.iter().map(ToString::to_string).collect()
    };
    assert_eq!(names(sim.start_application("b").wait().unwrap()), ["a", "b"]);
    assert_eq!(names(sim.start_application("c").wait().unwrap()), ["c"]);
    assert!(sim.start_application("c").wait().unwrap().is_empty());
    let error = sim.start_application("d").wait().unwrap_err();
    assert_eq!(error.to_string(), "there is no application \"d\"");
    assert_eq!(log.take(), ["start a", "start b", "start c"]);
}

#[test]
fn a4_of_several_starts_at_once_one_starts_it_and_all_hear_of_it() {
    for sim in simulations(20) {
        let log = Log::new();
        sim.declare_applications([app("a", &log).on_request()]).unwrap();
        let node = sim.node().clone();
        let starters: Vec<_> = (0..3)
            .map(|_| {
                let node = node.clone();
                sim.task(async move { node.start_application("a").await.unwrap().len() })
            })
            .map(|task| task.start().unwrap())
            .collect();
        let begun: Vec<_> = starters.into_iter().map(|task| task.wait().unwrap()).collect();
        assert_eq!(begun.iter().sum::<usize>(), 1, "{begun:?}");
        assert_eq!(log.take(), ["start a"]);
    }
}

#[test]
fn a5_a_stop_runs_on_stop_asks_the_top_process_and_kills_who_is_left() {
    let log = Log::new();
    let sim = started(&log, |log| {
        let said = log.clone();
        vec![app("a", log).on_stop(move |ctx: Context<()>| {
            let log = said.clone();
            async move {
                let top: Address<Say> = ctx.lookup("a")?;
                log.note(format!("on stop {}", top.is_alive()));
                Ok(())
            }
        })]
    });
    let top: Address<Say> = sim.lookup("a").unwrap();
    let left = top.call(Say::Leave).wait().unwrap();
    sim.stop_application("a").wait().unwrap();
    assert!(!sim.is_alive(left));
    assert_eq!(log.take(), ["start a", "on stop true", "end a shutdown"]);
    assert_eq!(states(&sim), ["a ended: shutdown"]);
    assert_eq!(sim.processes().len(), 0);
    let error = sim.stop_application("a").wait().unwrap_err();
    assert_eq!(error.to_string(), "application a does not run");
    let error = sim.stop_application("b").start().unwrap_err();
    assert_eq!(error.to_string(), "there is no application \"b\"");
    assert!(!sim.is_stopping());
}

#[test]
fn a5_one_that_does_not_end_is_killed_at_its_time_and_holds_up_no_other() {
    let log = Log::new();
    let sim = started(&log, |log| {
        vec![app("a", log).stop_timeout(5 * SECOND), app("b", log), app("c", log).on_request()]
    });
    say(&sim, "a", Say::Hang);
    sim.stop_application("a").start().unwrap();
    sim.run_until_idle();
    sim.stop_application("b").wait().unwrap();
    sim.start_application("c").wait().unwrap();
    assert_eq!(states(&sim), ["a stopping", "b ended: shutdown", "c running"]);
    assert_eq!(sim.now(), Timestamp::ZERO);
    sim.advance(5 * SECOND);
    assert_eq!(state(&sim, "a"), ApplicationState::Ended(Reason::Killed));
}

#[test]
fn a5_an_on_stop_that_hangs_or_fails_does_not_keep_the_application() {
    let log = Log::new();
    let sim = started(&log, |log| {
        let hangs = |_: Context<()>| async {
            std::future::pending::<()>().await;
            Ok(())
        };
        vec![
            app("a", log).on_stop(hangs).stop_timeout(SECOND),
            app("b", log).on_stop(|_| async { panic!("sore") }),
        ]
    });
    sim.stop_application("b").wait().unwrap();
    assert_eq!(sim.now(), Timestamp::ZERO);
    sim.stop_application("a").wait().unwrap();
    assert_eq!(sim.now(), Timestamp::ZERO + SECOND);
    assert_eq!(sim.processes().len(), 0);
}

#[test]
fn a5_one_that_others_need_is_stopped_with_them_before_or_anyway() {
    let log = Log::new();
    let sim = started(&log, |log| {
        let (b, c) = (app("b", log).needs("a"), app("c", log).needs("b"));
        vec![app("a", log), b, c, app("d", log).needs("a")]
    });
    log.take();
    let refused = sim.stop_application("a").wait().unwrap_err();
    let StopApplicationError::NeededBy { by, .. } = &refused else { panic!("{refused}") };
    assert_eq!(by.iter().map(ToString::to_string).collect::<Vec<_>>(), ["b", "d"]);
    assert_eq!(refused.to_string(), "application a is needed by b, d");
    assert!(log.take().is_empty());
    sim.stop_application("a").with_dependents().wait().unwrap();
    let ends = ["end d shutdown", "end c shutdown", "end b shutdown", "end a shutdown"];
    assert_eq!(log.take(), ends);
    sim.start_application("c").wait().unwrap();
    sim.stop_application("a").anyway().wait().unwrap();
    assert_eq!(states(&sim), ["a ended: shutdown", "b running", "c running", "d ended: shutdown"]);
    let error = sim.start_application("d").wait();
    assert_eq!(error.unwrap().len(), 2);
}

#[test]
fn a5_an_application_that_is_starting_can_be_stopped() {
    let log = Log::new();
    let sim = Simulation::new(1);
    let phase = |_: Context<()>| async {
        std::future::pending::<()>().await;
        Ok(())
    };
    sim.declare_applications([app("a", &log).phase("never", phase).mode(Mode::Permanent)]).unwrap();
    let node = sim.node().clone();
    let start = sim.task(async move { node.start_application("a").await }).start().unwrap();
    sim.run_until_idle();
    assert_eq!(states(&sim), ["a starting"]);
    sim.stop_application("a").wait().unwrap();
    let error = start.wait().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "application a was stopped while it started");
    assert_eq!(log.take(), ["start a", "end a shutdown"]);
    assert!(!sim.is_stopping());
}

#[test]
fn a5_a_process_of_the_application_does_not_wait_for_its_own_end() {
    for sim in simulations(10) {
        let log = Log::new();
        let (said, own) = (log.clone(), sim.node().clone());
        let asks = move || {
            let (log, node) = (said.clone(), own.clone());
            behavior_fn(move |mut ctx: Context<()>| async move {
                ctx.initialised();
                ctx.receive().await;
                log.note(format!("{:?}", node.stop_application("a").await));
                ctx.receive().await;
                Ok(())
            })
        };
        sim.declare_applications([Application::new("a", asks).stop_timeout(SECOND)]).unwrap();
        sim.start_applications().unwrap();
        let top = sim.applications()[0].top.unwrap();
        sim.address_of::<(), ()>(top).unwrap().send(()).unwrap();
        sim.run_until_idle();
        assert_eq!(states(&sim), ["a ended: shutdown"]);
        assert_eq!(log.take(), ["Ok(())"]);
        assert_eq!(sim.now(), Timestamp::ZERO);
        drop(sim.stop());
    }
}

#[test]
fn a6_every_process_belongs_to_the_application_of_who_spawned_it() {
    let log = Log::new();
    let sim = started(&log, |log| vec![app("a", log), app("s", log).service()]);
    sim.add_dispatcher("far");
    let other = sim.spawn(|| behavior_fn(forever)).start().unwrap();
    for (name, root) in [("a", Root::User), ("s", Root::System)] {
        let top: Address<Say> = sim.lookup(name).unwrap();
        let left = top.call(Say::Leave).wait().unwrap();
        for pid in [top.pid(), left] {
            let info = sim.process_info(pid).unwrap();
            assert_eq!(info.application.as_ref().map(krarup::Name::as_str), Some(name));
            assert_eq!(info.root, root);
        }
    }
    assert_eq!(sim.process_info(other.pid()).unwrap().application, None);
    // On another dispatcher and in another class too.
    let top: Address<Say> = sim.lookup("a").unwrap();
    let far = top.call(Say::LeaveFar).wait().unwrap();
    let info = sim.process_info(far).unwrap();
    assert_eq!(info.application.as_ref().map(krarup::Name::as_str), Some("a"));
    sim.kill(far);
    sim.run_until_idle();
    assert_eq!(sim.applications()[0].processes, 2);
    sim.stop_application("a").wait().unwrap();
    assert!(other.is_alive());
    sim.stop_application("s").wait().unwrap();
    assert_eq!(sim.processes(), [other.pid()]);
}

#[test]
fn a6_nobody_joins_an_application_that_has_been_stopped() {
    // Processes that spawn others when they are killed would go on for ever.
    struct Again(Option<Context<()>>, Log);
    impl Drop for Again {
        fn drop(&mut self) {
            if let Some(ctx) = self.0.take() {
                let log = self.1.clone();
                let outcome = ctx.spawn(move || spawner(log)).start().map(drop);
                self.1.note(outcome.map_or_else(|error| error.to_string(), |()| "spawned".into()));
            }
        }
    }
    fn spawner(log: Log) -> impl krarup::behavior::Behavior {
        behavior_fn(move |mut ctx: Context<()>| async move {
            ctx.initialised();
            let _again = Again(Some(ctx), log);
            std::future::pending::<()>().await;
            Ok(())
        })
    }
    let log = Log::new();
    let said = log.clone();
    let a = Application::new("a", move || spawner(said.clone())).stop_timeout(SECOND);
    let sim = Simulation::with_applications(1, [a]).unwrap();
    sim.stop_application("a").wait().unwrap();
    assert_eq!(sim.processes().len(), 0);
    let lines = log.take();
    assert_eq!(lines.last().map(String::as_str), Some("application a is stopping"), "{lines:?}");
}

#[test]
fn a7_an_end_means_for_the_node_what_the_mode_says() {
    let crash = boom();
    for (mode, reason, stops) in [
        (Mode::Temporary, Reason::Normal, false),
        (Mode::Temporary, crash.clone(), false),
        (Mode::Transient, Reason::Normal, false),
        (Mode::Transient, Reason::Shutdown, true),
        (Mode::Transient, crash.clone(), true),
        (Mode::Permanent, Reason::Normal, true),
        (Mode::Permanent, Reason::Shutdown, true),
        (Mode::Permanent, crash.clone(), true),
    ] {
        let log = Log::new();
        let sim = started(&log, |log| vec![app("a", log).mode(mode), app("b", log)]);
        say(&sim, "a", Say::End(reason.clone()));
        sim.run_until_idle();
        assert_eq!(sim.is_stopping(), stops, "{mode} {reason}");
        assert_eq!(state(&sim, "a"), ApplicationState::Ended(reason.clone()));
        if stops {
            let stopped = sim.stopped().wait().unwrap();
            assert_eq!(stopped.application.as_ref().map(krarup::Name::as_str), Some("a"));
            assert_eq!(stopped.reason, reason);
            assert_eq!(stopped.is_orderly(), reason == Reason::Normal);
        } else {
            assert_eq!(state(&sim, "b"), ApplicationState::Running);
        }
    }
}

#[test]
fn a7_an_end_by_request_stops_no_node_whatever_the_mode() {
    for mode in [Mode::Permanent, Mode::Transient] {
        let log = Log::new();
        let sim = started(&log, |log| vec![app("a", log).mode(mode)]);
        sim.stop_application("a").wait().unwrap();
        sim.run_until_idle();
        assert!(!sim.is_stopping());
    }
}

#[test]
fn a7_a_killed_top_process_has_ended_by_itself_and_only_the_top_process_counts() {
    let log = Log::new();
    let sim = started(&log, |log| vec![app("a", log).mode(Mode::Permanent)]);
    let top: Address<Say> = sim.lookup("a").unwrap();
    let left = top.call(Say::Leave).wait().unwrap();
    sim.kill(left);
    sim.run_until_idle();
    assert_eq!(state(&sim, "a"), ApplicationState::Running);
    sim.kill(top.pid());
    let stopped = sim.stopped().wait().unwrap();
    assert_eq!(stopped.to_string(), "application a ended: killed");
}

#[test]
fn a8_when_one_ends_the_node_the_others_are_stopped_in_reverse() {
    for seed in 0..20 {
        let log = Log::new();
        let apps =
            [app("a", &log), app("b", &log).mode(Mode::Transient), app("c", &log), app("d", &log)];
        let sim = Simulation::with_applications(seed, apps).unwrap();
        log.take();
        say(&sim, "b", Say::End(boom()));
        let stopped = sim.stopped().wait().unwrap();
        assert_eq!(stopped.to_string(), "application b ended: boom");
        assert_eq!(
            log.take(),
            ["end b boom", "end d shutdown", "end c shutdown", "end a shutdown"]
        );
    }
}

#[test]
fn a9_a_stop_of_the_node_takes_applications_and_others_down_in_one_line() {
    for seed in 0..20 {
        let log = Log::new();
        let said = log.clone();
        let on_stop = move |_: Context<()>| {
            let log = said.clone();
            async move {
                log.note("on stop b");
                Ok(())
            }
        };
        let b = app("b", &log).on_stop(on_stop).on_request();
        let apps = [app("s", &log).service().on_request(), app("a", &log), b];
        let sim = Simulation::with_applications(seed, apps).unwrap();
        let noting = log.clone();
        let between = sim.spawn(move || {
            behavior_fn(move |mut ctx: Context<()>| async move {
                ctx.trap_exits(true);
                ctx.initialised();
                ctx.receive().await;
                noting.note("end between");
                Ok(())
            })
        });
        between.wait().unwrap();
        // It is younger than `between`, and ends with its application.
        let top: Address<Say> = sim.lookup("a").unwrap();
        let left = top.call(Say::Orphan).wait().unwrap();
        sim.run_until_idle();
        sim.start_application("b").wait().unwrap();
        sim.start_application("s").wait().unwrap();
        log.take();
        sim.stop().wait().unwrap();
        let ends =
            ["on stop b", "end b shutdown", "end between", "end a shutdown", "end s shutdown"];
        assert_eq!(log.take(), ends);
        assert!(!sim.is_alive(left));
        let stopped = sim.stopped().wait().unwrap();
        assert_eq!((stopped.to_string().as_str(), stopped.is_orderly()), ("shutdown", true));
    }
}

#[test]
fn a9_one_that_does_not_end_costs_the_others_nothing_but_time() {
    let log = Log::new();
    let sim = started(&log, |log| vec![app("a", log), app("b", log).stop_timeout(60 * SECOND)]);
    say(&sim, "b", Say::Hang);
    sim.run_until_idle();
    sim.stop().wait().unwrap();
    assert_eq!(log.take(), ["start a", "start b", "end a shutdown"]);
    assert_eq!(sim.now(), Timestamp::ZERO + 10 * SECOND);
}

#[test]
fn a9_a_start_that_a_stop_of_the_node_meets_fails_and_leaves_nobody() {
    for sim in simulations(20) {
        let log = Log::new();
        let phase = |ctx: Context<()>| async move {
            ctx.sleep(SECOND).await;
            Ok(())
        };
        let apps = [app("a", &log).phase("slow", phase), app("b", &log)];
        sim.declare_applications(apps).unwrap();
        let node = sim.node().clone();
        let start = sim.task(async move { node.start_application("a").await.is_err() });
        let start = start.start().unwrap();
        for _ in 0..sim.choose(12) {
            sim.step();
        }
        sim.stop().start();
        let stopped = sim.stopped();
        drop(start);
        stopped.wait().unwrap();
        assert_eq!(log.count("start a"), log.count("end a"));
        assert!(!state(&sim, "a").is_alive());
    }
}

#[test]
fn a10_one_that_has_ended_starts_again_with_a_new_tree() {
    let log = Log::new();
    let sim = started(&log, |log| vec![app("a", log)]);
    let first = sim.applications()[0].top.unwrap();
    say(&sim, "a", Say::End(boom()));
    sim.run_until_idle();
    assert_eq!(states(&sim), ["a ended: boom"]);
    sim.start_application("a").wait().unwrap();
    assert_ne!(sim.applications()[0].top.unwrap(), first);
    sim.stop_application("a").wait().unwrap();
    sim.start_application("a").wait().unwrap();
    assert_eq!(states(&sim), ["a running"]);
}

#[test]
fn a12_each_is_shown_with_its_state_and_who_needs_it() {
    let log = Log::new();
    let sim = started(&log, |log| {
        let shop = app("shop", log).needs("storage").mode(Mode::Permanent);
        vec![shop, app("storage", log), app("web", log).needs("storage").on_request()]
    });
    sim.advance(SECOND);
    sim.stop_application("shop").wait().unwrap();
    let apps = sim.applications();
    assert_eq!(apps[0].to_string(), "shop permanent ended: shutdown");
    assert_eq!((apps[0].top, apps[0].processes), (None, 0));
    assert_eq!((apps[0].since, apps[1].since), (Timestamp::ZERO + SECOND, Timestamp::ZERO));
    assert_eq!(apps[0].needs.iter().map(ToString::to_string).collect::<Vec<_>>(), ["storage"]);
    let needed_by: Vec<_> = apps[1].needed_by.iter().map(ToString::to_string).collect();
    assert_eq!(needed_by, ["shop", "web"]);
    assert_eq!(apps[1].top, sim.whereis("storage"));
    assert_eq!(apps[1].processes, 1);
    assert_eq!(apps[2].to_string(), "web temporary loaded");
}
