//! What runs when a process is gone (rule O9).

use crate::support::{Does, Guard, Log, boom, puppet, simulations};
use krarup::behavior::behavior_fn;
use krarup::prelude::*;
use krarup::supervisor::InPlace;
use krarup::testing::Probe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn o9_a_cleaner_runs_once_after_the_state_was_dropped_for_every_kind_of_end() {
    for how in ["normal", "error", "panic", "kill", "exit", "stop", "finish", "node"] {
        for sim in simulations(3) {
            let log = Log::new();
            let process = puppet(&sim, "p", &log);
            let noted = log.clone();
            process.tells(move |ctx| {
                let first = noted.clone();
                ctx.on_end(move |_| first.note("first"));
                ctx.on_end(move |ended| noted.note(format!("{} {}", ended.pid, ended.reason)));
            });
            sim.run_until_idle();
            match how {
                "normal" => drop(process.dies(Reason::Normal)),
                "error" => drop(process.dies(boom())),
                "panic" => drop(process.tells(|_| panic!("boom"))),
                "kill" => sim.kill(process.pid()),
                "exit" => sim.exit(process.pid(), boom()),
                "stop" => process.stop().wait().unwrap(),
                "finish" => process.finish(),
                _ => sim.stop().wait().unwrap(),
            }
            sim.run_until_idle();
            let mut lines = log.take();
            lines.retain(|line| !line.starts_with("p terminate"));
            assert_eq!(lines.len(), 3, "{how}: {lines:?}");
            assert_eq!(lines[0], "p dropped");
            let reason = match how {
                "kill" => "killed",
                "error" | "panic" | "exit" => "boom",
                "node" => "shutdown",
                _ => "normal",
            };
            assert!(lines[1].starts_with("<0.") && lines[1].contains(reason), "{how}: {lines:?}");
            assert_eq!(lines[2], "first");
        }
    }
}

#[test]
fn o9_a_cleaner_runs_if_init_fails_and_if_the_process_is_killed_in_terminate() {
    struct Fails(Log);
    impl Actor for Fails {
        type Message = ();
        async fn init(&mut self, ctx: &mut Context<()>) -> Result {
            let log = self.0.clone();
            ctx.on_end(move |ended| log.note(format!("cleaned {}", ended.reason)));
            Err(boom())
        }
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
    }
    struct Lingers(Log);
    impl Actor for Lingers {
        type Message = ();
        async fn init(&mut self, ctx: &mut Context<()>) -> Result {
            let log = self.0.clone();
            ctx.on_end(move |ended| log.note(format!("cleaned {}", ended.reason)));
            Ok(())
        }
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Err(boom())
        }
        async fn terminate(&mut self, ctx: &mut Context<()>, _: &Reason) {
            ctx.sleep(SECOND).await;
        }
    }
    let (sim, log) = (Simulation::new(1), Log::new());
    let fails = Fails(log.clone());
    assert!(sim.spawn(move || fails).wait().is_err());
    assert_eq!(log.take(), ["cleaned boom"]);
    let lingers = Lingers(log.clone());
    let lingers = sim.spawn(move || lingers).wait().unwrap();
    lingers.send(()).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), Vec::<String>::new());
    sim.kill(lingers.pid());
    sim.run_until_idle();
    assert_eq!(log.take(), ["cleaned killed"]);
}

#[test]
fn o9_a_cleaner_runs_before_the_name_is_free_and_before_any_notice() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let second = {
        let (noted, node) = (log.clone(), sim.node().clone());
        sim.spawn(move || {
            behavior_fn(move |mut ctx: Context<u8>| async move {
                // A successor finds clean what has the name still.
                ctx.on_end(move |ended| {
                    let has_name = node.whereis("gate") == Some(ended.pid);
                    noted.note(format!("cleaned {has_name}"));
                });
                ctx.receive().await;
                Ok(())
            })
        })
        .name("gate")
        .start()
        .unwrap()
    };
    let noted = log.clone();
    let pid = second.pid();
    sim.spawn(move || {
        behavior_fn(move |ctx: Context<()>| async move {
            let down = ctx.watch(pid).await;
            noted.note(format!("told {} {:?}", down.reason, ctx.whereis("gate")));
            Ok(())
        })
    })
    .start()
    .unwrap();
    sim.run_until_idle();
    second.send(1).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["cleaned true", "told normal None"]);
}

#[test]
fn o9_a_cleaner_that_panics_does_no_harm() {
    for sim in simulations(3) {
        let log = Log::new();
        let process = puppet(&sim, "p", &log);
        let noted = log.clone();
        process.tells(move |ctx| {
            ctx.on_end(move |_| noted.note("cleaned"));
            ctx.on_end(|_| panic!("cleaner"));
        });
        let probe = Probe::<()>::spawn(&sim);
        probe.monitor(process.pid());
        process.dies(Reason::Normal);
        assert_eq!(probe.expect_down(SECOND, process.pid()), Reason::Normal);
        assert_eq!(log.count("cleaned"), 1);
        // The thread that ran it is none the worse.
        let next = puppet(&sim, "q", &log);
        assert!(next.is_alive());
    }
}

#[test]
fn o9_a_cleaner_keeps_no_process_alive_even_with_an_address_in_it() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let held = Arc::new(());
    let weak = Arc::downgrade(&held);
    let process = puppet(&sim, "p", &log);
    let myself = process.clone();
    process.tells(move |ctx| {
        ctx.on_end(move |_| {
            assert!(!myself.is_alive() || myself.info().handled > 0);
            drop(held);
        });
    });
    sim.run_until_idle();
    assert!(process.is_alive() && weak.upgrade().is_some());
    process.dies(Reason::Normal);
    sim.run_until_idle();
    assert!(weak.upgrade().is_none());
    assert_eq!(log.count("p dropped"), 1);
}

#[test]
fn o9_a_cleaner_outlives_a_state_that_is_replaced_in_place() {
    struct Fragile(Log, Guard);
    impl Actor for Fragile {
        type Message = ();
        async fn init(&mut self, ctx: &mut Context<()>) -> Result {
            let log = self.0.clone();
            ctx.on_end(move |_| log.note("cleaned"));
            Ok(())
        }
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            let _ = &self.1;
            Err(boom())
        }
    }
    let (sim, log) = (Simulation::new(1), Log::new());
    let noted = log.clone();
    let process = sim
        .spawn(move || InPlace::new(move || Fragile(noted.clone(), Guard::new(&noted, "dropped"))))
        .wait()
        .unwrap();
    process.send(()).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["dropped"]);
    sim.kill(process.pid());
    sim.run_until_idle();
    // One of each state.
    assert_eq!(log.take(), ["dropped", "cleaned", "cleaned"]);
}

#[test]
fn o9_a_cleaner_set_after_the_end_runs_at_once() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let place: Arc<Mutex<Option<Context<()>>>> = Arc::default();
    let taken = Arc::clone(&place);
    sim.spawn(move || {
        behavior_fn(move |ctx: Context<()>| async move {
            *taken.lock().unwrap() = Some(ctx);
            Ok(())
        })
    })
    .start()
    .unwrap();
    sim.run_until_idle();
    let mut ctx = place.lock().unwrap().take().unwrap();
    let noted = log.clone();
    ctx.on_end(move |ended| noted.note(ended.reason));
    assert_eq!(log.take(), ["no process"]);
}
