//! What short-lived processes leave behind: nothing (rules L8, T1, N3, D6).

mod support;

use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use support::{Does, Log, boom, puppet, trapper};

/// Processes of each kind, in batches of [`BATCH`].
const EACH: usize = 250_000;
const BATCH: usize = 1_000;

/// How a short life goes.
#[derive(Clone, Copy, PartialEq)]
enum Life {
    /// It monitors and links itself to the parent, sets a timer and ends.
    Bound,
    /// The same, and it has a name.
    Named,
    /// It ends because the parent kills it while it waits for an answer.
    Killed,
    /// It ends abnormally, with messages unread.
    Abnormal,
}

/// A process that spawns batches of short lives and hears of the end of each.
fn parent(
    life: Life,
    done: mpsc::Sender<Pid>,
) -> impl krarup::behavior::Behavior<Message = (), Command = ()> {
    behavior_fn(move |mut ctx: Context<()>| async move {
        ctx.trap_exits(true);
        ctx.initialised();
        for batch in 0..EACH / BATCH {
            for n in 0..BATCH {
                let monitor = ctx.make_ref();
                let parent = ctx.pid();
                let child = ctx
                    .spawn(move || {
                        behavior_fn(move |mut ctx: Context<Reply<()>>| async move {
                            ctx.monitor(parent);
                            ctx.link(parent);
                            let timer = ctx.make_ref();
                            ctx.demonitor(timer);
                            match life {
                                Life::Bound | Life::Named => {
                                    let _sleep = ctx.sleep(Duration::from_secs(3600));
                                    Ok(())
                                }
                                Life::Killed => {
                                    ctx.sleep(Duration::from_secs(3600)).await;
                                    Ok(())
                                }
                                Life::Abnormal => {
                                    ctx.receive().await;
                                    Err(boom())
                                }
                            }
                        })
                    })
                    .link()
                    .monitor(monitor);
                let child = if life == Life::Named { child.name(n.to_string()) } else { child };
                let child = child.start()?;
                match life {
                    Life::Killed => ctx.exit(child.pid(), Reason::Kill),
                    Life::Abnormal => {
                        for _ in 0..2 {
                            // Never answered, and given up: the token is dropped unread.
                            let call = child.call(|reply| reply).timeout(Duration::ZERO);
                            let _ = call.await;
                        }
                    }
                    _ => {}
                }
            }
            let (mut exits, mut downs) = (0, 0);
            while exits < BATCH || downs < BATCH {
                match ctx.receive().await {
                    Received::Exit(_) => exits += 1,
                    Received::Down(_) => downs += 1,
                    _ => return Err(Reason::error(format!("not a notice in batch {batch}"))),
                }
            }
        }
        let _ = done.send(ctx.pid());
        ctx.receive().await;
        Ok(())
    })
}

#[test]
fn l8_a_million_short_processes_leave_nothing_behind() {
    let node = Node::builder("l8").workers(2).start().unwrap();
    let lives = [Life::Bound, Life::Named, Life::Killed, Life::Abnormal];
    let parents = lives.map(|life| {
        let (done, finished) = mpsc::channel();
        (node.spawn(move || parent(life, done)).wait().unwrap(), finished)
    });
    for (parent, finished) in parents {
        let pid = finished.recv().unwrap();
        // The last to die may still be taking its monitor back.
        while node.process_info(pid).unwrap().monitored_by > 0 {
            thread::yield_now();
        }
        let info = node.process_info(pid).unwrap();
        assert_eq!((info.links.len(), info.monitors), (0, 0));
        assert_eq!((info.main, info.system, info.urgent), (0, 0, 0));
        let end = parent.watch();
        parent.send(()).unwrap();
        assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    }
    let stats = node.stats();
    assert_eq!((stats.processes, stats.names), (0, 0));
    assert_eq!(node.stats().spawned, 4 * EACH as u64 + 4);
    node.stop().wait().unwrap();
    assert_eq!(node.stats().timers, 0);
}

#[test]
fn l8_a_live_process_keeps_nothing_of_ended_processes_it_watched_or_called() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let lives = trapper(&sim, "lives", &log);
    for _ in 0..2_000 {
        let brief = puppet(&sim, "brief", &Log::new());
        let (to, pid) = (lives.pid(), brief.pid());
        brief.tells(move |ctx| {
            ctx.monitor(to);
            ctx.link(to);
            let taken_away = ctx.monitor(to);
            assert!(ctx.demonitor(taken_away));
        });
        lives.tells(move |ctx| {
            let taken_away = ctx.monitor(pid);
            assert!(ctx.demonitor(taken_away));
            ctx.link(pid);
            ctx.unlink(pid);
        });
        drop(sim.watch(lives.pid()));
        brief.dies(boom());
        sim.run_until_idle();
        let info = sim.process_info(lives.pid()).unwrap();
        assert_eq!((info.links.len(), info.monitors, info.monitored_by), (0, 0, 0));
    }
    let stats = sim.stats();
    assert_eq!((stats.processes, stats.names, stats.timers, stats.dead_letters), (1, 0, 0, 0));
}

#[test]
fn t1_timers_given_up_in_every_way_leave_nothing() {
    let sim = Simulation::new(1);
    let deaf = behavior_fn(|ctx: Context<Reply<()>>| async move {
        ctx.sleep(Duration::MAX).await;
        Ok(())
    });
    let deaf = sim.spawn(move || deaf).start().unwrap();
    sim.run_until_idle();
    let armed = sim.stats().timers;
    for _ in 0..1_000 {
        let mut call = deaf.call(|reply| reply).into_future();
        assert!(support::poll_once(&mut call).is_pending());
        drop(call);
        assert_eq!(sim.stats().timers, armed);
        assert!(support::poll_once(&mut deaf.inspect()).is_pending());
        assert!(support::poll_once(&mut sim.watch(deaf.pid())).is_pending());
    }
    assert_eq!(sim.stats().timers, armed);
    assert_eq!(sim.process_info(deaf.pid()).unwrap().monitored_by, 0);
}
