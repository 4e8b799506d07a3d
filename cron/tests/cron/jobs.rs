//! The three kinds of jobs, their failures and their ends (rules T8, T12).

use crate::support::{
    HOUR, MINUTE, Record, SECOND, at, cron, info, listener, show, simulations, slow,
};
use krarup_act::{Actor, Context, behavior_fn};
use krarup_cron::{Cron, CronCalls, Job};
use krarup_gen::{Reason, Result};
use krarup_node::Simulation;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn t8_jobs_that_are_due_together_run_in_the_order_in_which_they_were_added() {
    for sim in simulations() {
        let (cron, record) = (cron(&sim), Record::default());
        let listener = listener(&sim, &record);
        for name in ["c", "a", "b"] {
            cron.add(Job::new(name, "0 * * * *").send_to(&listener, move || name)).wait().unwrap();
        }
        sim.advance(HOUR);
        let hour = |name: &str| format!("{name} 2000-01-01 01:00:00");
        assert_eq!(record.take(), ["c", "a", "b"].map(hour));
    }
}

#[test]
fn t8_a_job_runs_neither_early_nor_twice() {
    let sim = Simulation::new(1);
    let (cron, record) = (cron(&sim), Record::default());
    let listener = listener(&sim, &record);
    cron.add(Job::new("a", "0 1 * * *").send_to(&listener, || "a")).wait().unwrap();
    sim.advance(SECOND * 3599);
    assert_eq!(record.take(), Vec::<String>::new());
    sim.advance(SECOND * 86_399);
    assert_eq!(record.take(), ["a 2000-01-01 01:00:00"]);
}

#[test]
fn t12_a_job_sends_a_message_to_an_address_a_recipient_or_a_name() {
    let sim = Simulation::new(1);
    let (cron, record) = (cron(&sim), Record::default());
    let listener = listener(&sim, &record);
    let named = record.clone();
    let named = sim.spawn(move || {
        behavior_fn(move |mut ctx: Context<&str>| async move {
            ctx.receive().await;
            named.note("named");
            Ok(())
        })
    });
    named.name("named").start().unwrap();
    let once = |name: &str| Job::once(name, at("2000-01-01T00:00:05Z"));
    cron.add(once("a").send_to(&listener, || "a")).wait().unwrap();
    cron.add(once("b").send_to_recipient(&listener.recipient(), || "b")).wait().unwrap();
    cron.add(once("c").send_to_name("named", || "c")).wait().unwrap();
    sim.advance(MINUTE);
    let mut texts = record.take();
    texts.sort();
    assert_eq!(texts, ["a 2000-01-01 00:00:05", "b 2000-01-01 00:00:05", "named"]);
    assert_eq!(cron.jobs().wait().unwrap(), []);
}

#[test]
fn t12_a_message_that_is_refused_changes_no_later_run() {
    let sim = Simulation::new(1);
    let (cron, record) = (cron(&sim), Record::default());
    let gone = listener(&sim, &record);
    sim.kill(gone.pid());
    sim.run_until_idle();
    cron.add(Job::new("gone", "0 * * * *").send_to(&gone, || "a")).wait().unwrap();
    cron.add(Job::new("unnamed", "0 * * * *").send_to_name("b", || "b")).wait().unwrap();
    cron.add(Job::new("panics", "0 * * * *").send_to(&gone, || panic!("no message")))
        .wait()
        .unwrap();
    sim.advance(HOUR * 3);
    for (name, failure) in [("gone", "<0."), ("unnamed", "\"b\""), ("panics", "no message")] {
        let job = info(&cron, name);
        assert_eq!((job.runs, job.failures, job.running), (3, 3, 0), "{name}");
        assert!(job.last_failure.unwrap().contains(failure));
    }
}

struct Cleaner {
    fails: bool,
    record: Record,
}

impl Actor for Cleaner {
    type Message = ();

    async fn init(&mut self, ctx: &mut Context<()>) -> Result {
        self.record.note(format!("init {}", show(ctx.wall_time())));
        ctx.stop();
        if self.fails { Err(Reason::error("no disk")) } else { Ok(()) }
    }

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

#[test]
fn t12_each_run_spawns_a_process_and_one_that_fails_changes_no_later_run() {
    for sim in simulations() {
        let (cron, record) = (cron(&sim), Record::default());
        let count = Arc::new(AtomicU32::new(0));
        let of_cleaner = record.clone();
        let job = Job::new("clean", "*/10 * * * *").spawn(move || {
            let fails = count.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
            Cleaner { fails, record: of_cleaner.clone() }
        });
        cron.add(job).wait().unwrap();
        sim.advance(HOUR);
        assert_eq!(record.take().len(), 6);
        let job = info(&cron, "clean");
        assert_eq!((job.runs, job.failures, job.running), (6, 3, 0));
        assert_eq!(job.last_failure.as_deref(), Some("no disk"));
        assert!(cron.is_alive());
    }
}

#[test]
fn t12_a_task_that_returns_an_error_or_panics_has_failed() {
    for sim in simulations() {
        let cron = cron(&sim);
        let count = Arc::new(AtomicU32::new(0));
        let job = Job::new("launch", "0 * * * *").task(move || {
            let run = count.fetch_add(1, Ordering::Relaxed);
            async move {
                match run {
                    0 => Err(Reason::error("no fuel")),
                    1 => panic!("it exploded"),
                    _ => Ok(()),
                }
            }
        });
        cron.add(job).wait().unwrap();
        sim.advance(HOUR);
        assert_eq!(info(&cron, "launch").last_failure.as_deref(), Some("no fuel"));
        sim.advance(HOUR);
        assert!(info(&cron, "launch").last_failure.unwrap().contains("it exploded"));
        sim.advance(HOUR * 5);
        let job = info(&cron, "launch");
        assert_eq!((job.runs, job.failures), (7, 2));
    }
}

#[test]
fn t12_processes_of_jobs_are_children_of_the_cron_and_end_with_it() {
    for sim in simulations() {
        // A kill, a stop that waits, a stop that ends them, an end of its own.
        for (end, ended) in [("kill", 0), ("wait", 1), ("no time", 0), ("finish", 1)] {
            let record = Record::default();
            let takes = if end == "no time" { HOUR * 9 } else { SECOND * 3 };
            let cron = sim.spawn_system(Cron::new).wait().unwrap();
            cron.add(slow("a", "0 * * * *", &record, takes)).wait().unwrap();
            let wall = sim.wall_time();
            sim.advance(SECOND * 3599);
            sim.advance(SECOND);
            assert_eq!(record.take().len(), 1, "{}", show(wall));
            let child = sim.processes().into_iter().max().unwrap();
            match end {
                "kill" => sim.kill(cron.pid()),
                "finish" => cron.finish(),
                _ => drop(cron.stop().wait()),
            }
            sim.advance(SECOND * 10);
            assert!(!cron.is_alive() && !sim.is_alive(child), "{end}");
            assert_eq!(record.take().len(), ended, "{end}");
            sim.advance(SECOND * 3580);
            sim.set_wall_time(at("2000-01-01T00:00:00Z"));
        }
    }
}

#[test]
fn t12_an_exit_signal_of_a_run_that_lives_ends_neither_its_run_nor_the_cron() {
    for sim in simulations() {
        let cron = cron(&sim);
        let to = cron.pid();
        let job = Job::new("a", "0 * * * *").spawn(move || {
            behavior_fn(move |ctx: Context<()>| async move {
                ctx.exit(to, Reason::error("mine"));
                ctx.sleep(MINUTE).await;
                Ok(())
            })
        });
        cron.add(job).wait().unwrap();
        sim.advance(HOUR + SECOND);
        assert_eq!(info(&cron, "a").running, 1);
        sim.advance(MINUTE);
        let job = info(&cron, "a");
        assert_eq!((job.running, job.failures), (0, 0));
    }
}

#[test]
fn t12_a_job_whose_values_panic_when_they_are_dropped_ends_nobody() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let sim = Simulation::new(1);
    let (cron, record) = (cron(&sim), Record::default());
    let listener = listener(&sim, &record);
    for name in ["a", "b"] {
        let bomb = Bomb;
        let job = Job::new(name, "0 * * * *").send_to(&listener, move || {
            let _ = &bomb;
            "bomb"
        });
        cron.add(job).wait().unwrap();
    }
    cron.remove("a").wait().unwrap();
    sim.advance(HOUR);
    assert_eq!(record.take().len(), 1);
    sim.kill(cron.pid());
    sim.run_until_idle();
    assert!(!cron.is_alive());
}
