//! Suspended processes with full mailboxes, and how they end (rules X5, M5, M6, S11, X2).

use crate::support::{Act, Does, Guard, Log, Puppet, boom, puppet, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::grains::{GrainCalls, Grains};
use krarup::mailbox::Overflow;
use krarup::observe::DebugError;
use krarup::prelude::*;
use krarup::supervisor::{ChildSpec, Supervisor};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Notes numbers; the number 0 takes a second.
struct NumberRecorder(Arc<Mutex<Vec<u64>>>);

impl Actor for NumberRecorder {
    type Message = u64;

    async fn handle_message(&mut self, ctx: &mut Context<u64>, n: u64) -> Result {
        if n == 0 {
            ctx.sleep(SECOND).await;
        }
        self.0.lock().unwrap().push(n);
        Ok(())
    }
}

type RecordedNumbers = Arc<Mutex<Vec<u64>>>;

fn notes(sim: &Simulation, overflow: Overflow<u64>) -> (Address<u64>, RecordedNumbers) {
    let seen = RecordedNumbers::default();
    let noted = Arc::clone(&seen);
    let process =
        sim.spawn(move || NumberRecorder(noted)).mailbox(3).overflow(overflow).wait().unwrap();
    (process, seen)
}

#[test]
fn x5_a_suspended_process_keeps_its_bound_and_all_that_it_has_accepted_in_order() {
    for sim in simulations(5) {
        let (process, seen) = notes(&sim, Overflow::Refuse);
        // Suspended in the midst of a batch, of which one is in hand.
        (0..3).for_each(|n| process.send(n).unwrap());
        sim.run_until_idle();
        process.suspend().wait().unwrap();
        assert_eq!(*seen.lock().unwrap(), [0]);
        assert_eq!(process.waiting(), 2);
        process.send(3).unwrap();
        assert!(process.send(4).unwrap_err().is_full());
        assert!(
            matches!(process.reserve(), Err(SendError::Full { to, .. }) if to == process.pid())
        );
        // Who waits for room goes on waiting.
        let late = process.send_or_wait(5).timeout(SECOND).wait();
        assert!(matches!(late, Err(SendError::Timeout { message: 5, .. })));
        let sender = process.clone();
        let waits = sim.spawn(move || {
            krarup::behavior::behavior_fn(move |_: Context<()>| async move {
                sender.send_or_wait(6).await?;
                Ok(())
            })
        });
        let waits = waits.start().unwrap();
        sim.advance(60 * SECOND);
        assert!(waits.is_alive());
        assert_eq!(*seen.lock().unwrap(), [0]);
        assert!(process.resume());
        sim.run_until_idle();
        assert_eq!(*seen.lock().unwrap(), [0, 1, 2, 3, 6]);
        assert!(!waits.is_alive() && sim.stats().dead_letters == 0);
    }
}

#[test]
fn x5_overflow_works_while_the_process_is_suspended() {
    for sim in simulations(5) {
        let over: [(Overflow<u64>, &[u64]); 2] =
            [(Overflow::DropOldest, &[3, 4, 5]), (Overflow::DropNewest, &[1, 2, 3])];
        for (overflow, kept) in over {
            let (process, seen) = notes(&sim, overflow);
            process.suspend().wait().unwrap();
            (1..6).for_each(|n| process.send(n).unwrap());
            sim.run_until_idle();
            assert!(seen.lock().unwrap().is_empty());
            assert!(process.resume());
            sim.run_until_idle();
            assert_eq!(*seen.lock().unwrap(), kept);
        }
        assert_eq!(sim.stats().dead_letters, 4);
    }
}

#[test]
fn x5_extra_resumes_have_no_effect_and_a_suspension_ends_with_its_process() {
    for sim in simulations(5) {
        let log = Log::new();
        let one = puppet(&sim, "one", &log);
        assert!(!one.resume() && !one.resume());
        // Those that were too many are not saved up.
        one.suspend().wait().unwrap();
        assert!(one.tells(|_| {}));
        sim.run_until_idle();
        assert_eq!(one.waiting(), 1);
        assert!(one.resume() && !one.resume());
        sim.run_until_idle();
        assert_eq!(one.waiting(), 0);
        one.suspend().wait().unwrap();
        sim.kill(one.pid());
        sim.run_until_idle();
        assert!(!one.resume());
        assert_eq!(one.suspend().wait(), Err(DebugError::NoProcess(one.pid())));
    }
}

#[test]
fn x5_a_suspension_is_of_one_process_and_not_of_its_children() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let parent =
            krarup::behavior::behavior_fn(move |mut ctx: Context<&'static str>| async move {
                while let krarup::behavior::Received::Message(name) = ctx.receive().await {
                    ctx.sleep(SECOND).await;
                    let child = ctx.spawn(|| Puppet::new("child", &Log::new())).start()?;
                    let noted = noted.clone();
                    child.tells(move |_| noted.note(name));
                }
                Ok(())
            });
        let parent = sim.spawn(move || parent).start().unwrap();
        parent.send("early").unwrap();
        parent.send("late").unwrap();
        parent.send("never").unwrap();
        sim.advance(SECOND);
        // It is asked for while the second is in hand, and stands when that has been handled.
        parent.suspend().wait().unwrap();
        sim.advance(60 * SECOND);
        assert_eq!(parent.info().state, krarup::observe::ProcessState::Suspended);
        assert_eq!(log.take(), ["early", "late"]);
        assert!(sim.processes().iter().all(|pid| {
            *pid == parent.pid()
                || sim.process_info(*pid).unwrap().state == krarup::observe::ProcessState::Idle
        }));
    }
}

/// Its orders are given in its own turns.
#[test]
fn x5_a_suspended_supervisor_restarts_no_child_until_it_is_resumed() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let child = move || Puppet::new("child", &noted);
        let spec = ChildSpec::worker("child", child).name("child");
        let supervisor = sim.spawn(|| Supervisor::one_for_one().child(spec)).wait().unwrap();
        supervisor.suspend().wait().unwrap();
        sim.exit(sim.whereis("child").unwrap(), boom());
        sim.advance(60 * SECOND);
        assert_eq!((log.take(), sim.whereis("child")), (vec!["child dropped".to_owned()], None));
        assert!(supervisor.resume());
        sim.run_until_idle();
        assert!(sim.whereis("child").is_some());
    }
}

#[test]
fn x5_a_suspended_process_ends_as_any_other() {
    for how in ["kill", "exit", "stop", "node"] {
        for sim in simulations(5) {
            let log = Log::new();
            let puppet = Puppet::new("one", &log);
            let one = sim.spawn(move || puppet).name("one").mailbox(2).wait().unwrap();
            let watcher = crate::support::trapper(&sim, "watcher", &log);
            let pid = one.pid();
            watcher.tells(move |ctx| {
                ctx.monitor(pid);
            });
            sim.run_until_idle();
            one.suspend().wait().unwrap();
            one.suspend().wait().unwrap();
            let in_mail = Guard::new(&log, "mail dropped");
            assert!(one.tells(move |_| drop(in_mail)));
            let before = sim.stats().dead_letters;
            let asked = one.clone();
            let noted = log.clone();
            sim.spawn(move || {
                krarup::behavior::behavior_fn(move |_: Context<()>| async move {
                    let asked = asked.call(|reply: Reply<()>| {
                        Act::new(move |_| {
                            reply.send(());
                            Ok(())
                        })
                    });
                    noted.note(format!(
                        "call {:?}",
                        asked.no_timeout().await.unwrap_err().to_string()
                    ));
                    Ok(())
                })
            })
            .start()
            .unwrap();
            sim.run_until_idle();
            match how {
                "kill" => sim.kill(pid),
                "exit" => sim.exit(pid, boom()),
                "stop" => one.stop().wait().unwrap(),
                _ => sim.stop().wait().unwrap(),
            }
            sim.run_until_idle();
            let lines = log.take();
            let reason = match how {
                "kill" => "killed",
                "exit" => "boom",
                "stop" => "normal",
                _ => "shutdown",
            };
            let terminated = lines.contains(&format!("one terminate {reason}"));
            assert_eq!(terminated, matches!(how, "stop" | "node"), "{how} {lines:?}");
            let call = format!("call \"{pid} terminated before it handled the request: {reason}\"");
            // A node's stop takes the caller down first.
            assert_eq!(lines.contains(&call), how != "node", "{how} {lines:?}");
            assert!(lines.contains(&"mail dropped".to_owned()), "{how} {lines:?}");
            assert_eq!(sim.whereis("one"), None);
            assert_eq!(sim.stats().dead_letters, before + 2, "{how}");
            assert_eq!(sim.now().as_nanos(), 0, "no call waited for its timeout");
        }
    }
}

/// Whoever has others to end when it is stopped hears of their ends, though it was suspended.
#[test]
fn x5_a_stop_ends_the_suspension_of_supervisors_pools_and_keepers() {
    for how in ["stop", "node"] {
        for sim in simulations(5) {
            let log = Log::new();
            let child = |name: &'static str| {
                let log = log.clone();
                move || Puppet::new(name, &log)
            };
            let spec = ChildSpec::worker("child", child("child"));
            let supervisor = sim.spawn(|| Supervisor::one_for_one().child(spec)).wait().unwrap();
            let worker = child("worker");
            let pool = sim.spawn(move || Pool::new(1, worker)).wait().unwrap();
            let made = child("grain");
            let grains = sim.spawn(move || Grains::new(move |_: &u32| made())).wait().unwrap();
            grains.send_to(1, Act::nothing()).unwrap();
            sim.run_until_idle();
            let pids = [supervisor.pid(), pool.pid(), grains.pid()];
            for pid in pids {
                sim.suspend(pid).wait().unwrap();
                sim.suspend(pid).wait().unwrap();
            }
            match how {
                "stop" => {
                    supervisor.stop().wait().unwrap();
                    pool.stop().wait().unwrap();
                    grains.stop().wait().unwrap();
                }
                _ => sim.stop().wait().unwrap(),
            }
            assert_eq!(sim.now().as_nanos(), 0, "no call waited for its timeout");
            let ended = log.take().into_iter().filter(|line| line.contains(" terminate "));
            assert_eq!(ended.count(), 3);
            assert!(pids.iter().all(|pid| !sim.is_alive(*pid)));
        }
    }
}

/// It attends to no mail, so it hears of the stop before all of it.
#[test]
fn x5_a_suspended_bare_process_that_traps_exits_receives_a_stop() {
    for how in ["stop", "node"] {
        for sim in simulations(5) {
            let log = Log::new();
            let noted = log.clone();
            let traps = behavior_fn(move |mut ctx: Context<u64>| async move {
                ctx.trap_exits(true);
                ctx.initialised();
                while let Received::Message(number) = ctx.receive().await {
                    noted.note(number);
                }
                noted.note("an exit");
                Ok(())
            });
            let traps = sim.spawn(move || traps).wait().unwrap();
            sim.run_until_idle();
            traps.suspend().wait().unwrap();
            traps.send(1).unwrap();
            match how {
                "stop" => traps.stop().wait().unwrap(),
                _ => sim.stop().wait().unwrap(),
            }
            assert_eq!(sim.now().as_nanos(), 0, "no call waited for its timeout");
            assert!(!traps.is_alive());
            assert_eq!(log.take(), ["an exit"]);
        }
    }
}
