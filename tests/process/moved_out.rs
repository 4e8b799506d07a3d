//! Contexts that are moved out of their processes, and aliases that are revoked in the midst of
//! a send (rules N2, N5, D6).

use crate::support::{Act, Guard, Log, on_wake, poll_once, poll_with, puppet};
use krarup::behavior::{BehaviorContext, Received, Route, behavior_fn};
use krarup::mailbox::{Diverted, Overflow, Permit};
use krarup::prelude::*;
use krarup::{Alias, LookupError, Recipient, RegisterError, SendError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::Poll;
use std::thread;

type Shared<M> = Arc<Mutex<Context<M>>>;

/// A process that is to revoke an alias.
type Home = Arc<Mutex<Option<(Shared<u32>, Alias)>>>;

/// A process that has moved its context out, and lives until it is killed.
fn moved_out<M: Send + 'static>(
    node: &Node,
    spawn: impl FnOnce(Context<M>) + Send + 'static,
    mailbox: Option<usize>,
    overflow: Overflow<M>,
) -> Address<M> {
    let run = |ctx: Context<M>| async move {
        spawn(ctx);
        std::future::pending().await
    };
    let spawned = node.spawn(move || behavior_fn(run));
    match mailbox {
        Some(bound) => spawned.mailbox(bound).overflow(overflow).start().unwrap(),
        None => spawned.start().unwrap(),
    }
}

enum Ask {
    This(#[allow(dead_code, reason = "left to be dropped")] Reply<()>),
}

#[test]
fn n2_a_process_gets_no_name_and_no_alias_while_it_ends() {
    // The relations of one that is watched are closed later.
    for is_watched in [false, true] {
        let sim = Simulation::new(1);
        // The request lies in the mailbox when the process ends; its caller is told when the name is
        // free and the links are not told yet.
        let (out, moved) = mpsc::channel();
        let process =
            moved_out::<Ask>(&sim, move |ctx| out.send(ctx).unwrap(), None, Overflow::Refuse);
        sim.run_until_idle();
        let ctx = Mutex::new(moved.recv().unwrap());
        let (log, pid) = (Log::new(), process.pid());
        let _end = is_watched.then(|| process.watch());
        let noted = log.clone();
        let waker = on_wake(move || {
            let mut ctx = ctx.lock().unwrap();
            noted.note(ctx.register("late") == Err(RegisterError::NoProcess(pid)));
            ctx.alias();
        });
        let callee = process.clone();
        let mut call = callee.call(Ask::This).no_timeout().into_future();
        assert!(poll_with(&mut call, &waker).is_pending());
        sim.kill(pid);
        sim.run_until_idle();
        assert_eq!(log.take(), ["true"]);
        assert_eq!(sim.whereis("late"), None);
        assert_eq!((sim.stats().names, sim.stats().aliases), (0, 0));
    }
}

#[test]
fn n2_a_process_that_ends_on_another_thread_leaves_no_name_and_no_alias() {
    let node = Node::builder("moved-out").workers(1).start().unwrap();
    for round in 0..300 {
        let (out, moved) = mpsc::channel();
        let process =
            moved_out::<u32>(&node, move |ctx| out.send(ctx).unwrap(), None, Overflow::Refuse);
        let mut ctx: Context<u32> = moved.recv().unwrap();
        let end = process.watch();
        let start = Arc::new(Barrier::new(2));
        let other = Arc::clone(&start);
        let registers = thread::spawn(move || {
            other.wait();
            for name in 0..5 {
                if ctx.register(format!("{round}-{name}")).is_ok() {
                    ctx.unregister(&format!("{round}-{name}"));
                    let _ = ctx.register(format!("{round}"));
                }
                ctx.alias();
                ctx.unregister(&format!("{round}"));
            }
            let _ = ctx.register("the last");
        });
        start.wait();
        node.kill(process.pid());
        end.wait().unwrap();
        registers.join().unwrap();
        assert_eq!((node.stats().names, node.stats().aliases), (0, 0), "round {round}");
        let found: Result<Address<u32>, LookupError> = node.lookup("the last");
        assert!(found.is_err());
    }
    node.stop().wait().unwrap();
}

/// The route of a fallback: what it does when room is asked for there.
struct Hook<F>(F);

impl<M: Send + 'static, F> Route<M> for Hook<F>
where
    F: Fn() -> Result<Permit<M>, SendError<()>> + Send + Sync + 'static,
{
    fn send(&self, message: M, _: u64) -> Result<(), SendError<M>> {
        Err(SendError::Full { message, to: Pid::local(7, 0) })
    }

    fn reserve(&self) -> Result<Permit<M>, SendError<()>> {
        (self.0)()
    }

    fn waiting(&self) -> usize {
        0
    }
}

/// A process with a full mailbox, whose fallback revokes its alias when it is asked for room.
struct Revoked {
    sim: Simulation,
    process: Address<u32>,
    ctx: Shared<u32>,
    alias: Alias,
    /// Messages that the fallback has got.
    diverted: Arc<AtomicUsize>,
}

impl Revoked {
    /// `has_room`: the fallback has room; else the process has some by then itself.
    fn new(has_room: bool) -> Self {
        let sim = Simulation::new(1);
        let home: Home = Arc::default();
        let (asked, diverted) = (Arc::clone(&home), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&diverted);
        let fallback_pid = Arc::new(Mutex::new(None));
        let holder = Arc::clone(&fallback_pid);
        let hook = Hook(move || -> Result<Permit<Diverted<u32>>, SendError<()>> {
            if let Some((ctx, alias)) = asked.lock().unwrap().take() {
                let mut ctx = ctx.lock().unwrap();
                assert!(ctx.revoke(alias));
                if !has_room {
                    let Poll::Ready(Received::Message(1)) = poll_once(&mut Box::pin(ctx.receive()))
                    else {
                        panic!("there was a message")
                    };
                }
            }
            if !has_room {
                return Err(SendError::Full { message: (), to: Pid::local(7, 0) });
            }
            let counted = Arc::clone(&counted);
            let holder = holder.lock().unwrap().unwrap();
            Ok(Permit::on_route(holder, move |_, _| {
                counted.fetch_add(1, Ordering::SeqCst);
            }))
        });
        let run = |mut ctx: Context<Diverted<u32>>| async move {
            ctx.route_main(hook);
            std::future::pending().await
        };
        let fallback = sim.spawn(move || behavior_fn(run)).start().unwrap();
        *fallback_pid.lock().unwrap() = Some(fallback.pid());
        let fallback: Recipient<Diverted<u32>> = fallback.recipient();
        let (out, moved) = mpsc::channel();
        let process = moved_out(
            &sim,
            move |ctx| out.send(ctx).unwrap(),
            Some(1),
            Overflow::divert(fallback, "tag"),
        );
        sim.run_until_idle();
        let mut ctx: Context<u32> = moved.recv().unwrap();
        let alias = ctx.alias();
        ctx.take_others();
        process.send(1).unwrap();
        let ctx = Arc::new(Mutex::new(ctx));
        *home.lock().unwrap() = Some((Arc::clone(&ctx), alias));
        Revoked { sim, process, ctx, alias, diverted }
    }

    fn nothing_arrives(&self, kept: usize) {
        assert_eq!(self.diverted.load(Ordering::SeqCst), 0);
        assert_eq!(self.process.waiting(), kept);
        assert_eq!(self.sim.stats().dead_letters, 1);
        // The room that was kept has been given back.
        let room = self.process.reserve();
        assert!(kept > 0 || room.is_ok());
        drop(self.ctx.lock().unwrap());
    }
}

#[test]
fn n5_nothing_arrives_by_an_alias_that_is_revoked_while_the_fallback_is_asked() {
    let scene = Revoked::new(false);
    let sent = scene.sim.send(scene.alias, 2_u32);
    assert!(matches!(sent, Err(SendError::Revoked { alias, .. }) if alias == scene.alias));
    scene.nothing_arrives(0);
    // And none is given to the fallback.
    let scene = Revoked::new(true);
    let sent = scene.sim.send(scene.alias, 2_u32);
    assert!(matches!(sent, Err(SendError::Revoked { alias, .. }) if alias == scene.alias));
    scene.nothing_arrives(1);
}

#[test]
fn n5_nothing_arrives_through_a_recipient_of_an_alias_that_is_revoked_meanwhile() {
    for has_room in [false, true] {
        let scene = Revoked::new(has_room);
        let to = scene.ctx.lock().unwrap().recipient_by(scene.alias);
        let sent = to.send(2);
        assert!(
            matches!(sent, Err(SendError::Revoked { message: 2, alias }) if alias == scene.alias)
        );
        scene.nothing_arrives(usize::from(has_room));
        let scene = Revoked::new(has_room);
        let to = scene.ctx.lock().unwrap().recipient_by(scene.alias);
        let permit = to.reserve().unwrap();
        permit.send(2);
        assert_eq!(scene.diverted.load(Ordering::SeqCst), 0);
        assert_eq!(scene.sim.stats().dead_letters, 1);
    }
}

#[test]
fn n5_nothing_of_another_type_arrives_by_an_alias_that_is_revoked_meanwhile() {
    let scene = Revoked::new(false);
    let sent = scene.sim.send(scene.alias, "other");
    assert!(matches!(sent, Err(SendError::Revoked { alias, .. }) if alias == scene.alias));
    scene.nothing_arrives(0);
}

/// Revokes an alias when it is dropped.
struct Last(Option<(Arc<Mutex<Context<Last>>>, Alias)>);

impl Drop for Last {
    fn drop(&mut self) {
        if let Some((ctx, alias)) = self.0.take() {
            assert!(ctx.lock().unwrap().revoke(alias));
        }
    }
}

#[test]
fn n5_room_that_an_older_message_made_is_free_again_when_its_destructor_revokes_the_alias() {
    for other in [false, true] {
        let sim = Simulation::new(1);
        let (out, moved) = mpsc::channel();
        let process =
            moved_out(&sim, move |ctx| out.send(ctx).unwrap(), Some(1), Overflow::DropOldest);
        sim.run_until_idle();
        let mut ctx: Context<Last> = moved.recv().unwrap();
        let alias = ctx.alias();
        ctx.take_others();
        let by = ctx.recipient_by(alias);
        process.send(Last(Some((Arc::new(Mutex::new(ctx)), alias)))).ok().unwrap();
        if other {
            let sent = sim.send(alias, "other");
            assert!(matches!(sent, Err(SendError::Revoked { alias: of, .. }) if of == alias));
        } else {
            let sent = by.send(Last(None));
            assert!(matches!(sent, Err(SendError::Revoked { alias: of, .. }) if of == alias));
        }
        assert_eq!(process.waiting(), 0);
        assert!(process.reserve().is_ok(), "other: {other}");
    }
}

#[test]
fn n5_nothing_arrives_between_threads_when_revoke_has_returned() {
    let node = Node::builder("revoked").workers(1).start().unwrap();
    for round in 0..500 {
        let (out, moved) = mpsc::channel();
        let process =
            moved_out::<u32>(&node, move |ctx| out.send(ctx).unwrap(), None, Overflow::Refuse);
        let mut ctx: Context<u32> = moved.recv().unwrap();
        let alias = ctx.alias();
        let start = Arc::new(Barrier::new(4));
        let senders: Vec<_> = (0..3)
            .map(|way| {
                let (to, start) = (ctx.recipient_by(alias), Arc::clone(&start));
                thread::spawn(move || {
                    start.wait();
                    for _ in 0..20 {
                        match way {
                            0 => to.notify(1),
                            1 => drop(to.send(1)),
                            _ => to.reserve().into_iter().for_each(|room| room.send(1)),
                        }
                    }
                })
            })
            .collect();
        start.wait();
        ctx.revoke(alias);
        // What has arrived by now, and all that there will be.
        let mut arrived = 0;
        while poll_once(&mut Box::pin(ctx.receive())).is_ready() {
            arrived += 1;
        }
        let info = process.info();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        let more = poll_once(&mut Box::pin(ctx.receive())).is_ready();
        assert!(!more, "round {round}: {arrived} before, {} accepted", info.messages_in);
        node.kill(process.pid());
    }
    node.stop().wait().unwrap();
}

#[test]
fn n5_a_destructor_send_by_an_alias_of_its_ended_process_is_a_dead_letter() {
    /// Sends another by an alias when it is dropped.
    struct Parting(Option<(Recipient<Parting>, mpsc::Sender<bool>)>);
    impl Drop for Parting {
        fn drop(&mut self) {
            if let Some((by, tell)) = self.0.take() {
                let sent = by.send(Parting(None));
                tell.send(matches!(sent, Err(SendError::NoProcess { .. }))).unwrap();
            }
        }
    }
    let sim = Simulation::new(1);
    let (out, moved) = mpsc::channel();
    let process = moved_out(&sim, move |ctx| out.send(ctx).unwrap(), None, Overflow::Refuse);
    sim.run_until_idle();
    let mut ctx: Context<Parting> = moved.recv().unwrap();
    let alias = ctx.alias();
    let (tell, told) = mpsc::channel();
    process.send(Parting(Some((ctx.recipient_by(alias), tell)))).ok().unwrap();
    sim.kill(process.pid());
    sim.run_until_idle();
    assert_eq!(told.try_recv(), Ok(true));
    // What lay in the mailbox, and what came when that was closed.
    assert_eq!(sim.stats().dead_letters, 2);
}

#[test]
fn t1_a_context_that_outlives_its_process_acts_on_others_no_more() {
    let sim = Simulation::new(1);
    let (out, moved) = mpsc::channel();
    let process = moved_out::<u32>(&sim, move |ctx| out.send(ctx).unwrap(), None, Overflow::Refuse);
    let log = Log::new();
    let other = puppet(&sim, "other", &log);
    sim.run_until_idle();
    let mut ctx: Context<u32> = moved.recv().unwrap();
    let told = log.clone();
    let act = |word: &'static str| {
        let told = told.clone();
        Act::new(move |_| {
            told.note(word);
            Ok(())
        })
    };
    let second = std::time::Duration::from_secs(1);
    ctx.send_after_to(second, &other.recipient(), act("before"));
    sim.kill(process.pid());
    sim.run_until_idle();
    ctx.send_after_to(second, &other.recipient(), act("after"));
    ctx.exit_after(second, other.pid(), Reason::Kill);
    sim.advance(10 * second);
    assert!(log.lines().is_empty() && other.is_alive());
}

#[test]
fn n5_a_call_lost_by_a_revoked_alias_does_not_depend_on_its_sender() {
    let sim = Simulation::new(1);
    let (out, moved) = mpsc::channel();
    moved_out::<Ask>(&sim, move |ctx| out.send(ctx).unwrap(), None, Overflow::Refuse);
    sim.run_until_idle();
    let mut ctx: Context<Ask> = moved.recv().unwrap();
    let alias = ctx.alias();
    let permit = ctx.recipient_by(alias).reserve().unwrap();
    ctx.revoke(alias);
    // It fills the room with somebody's request, and fails.
    let sends = behavior_fn(move |mut ctx: Context<Ask>| async move {
        if let Received::Message(ask) = ctx.receive().await {
            permit.send(ask);
        }
        Err(Reason::error("boom"))
    });
    let sends = sim.spawn(move || sends).start().unwrap();
    assert_eq!(sends.call(Ask::This).wait(), Err(CallError::NoReply { to: sends.pid() }));
}

/// A route that is seen to go, and by it the last handle on its process.
fn gone_with(node: &Node, guard: Guard) -> Recipient<Diverted<u32>> {
    let hook = Hook(move || -> Result<Permit<Diverted<u32>>, SendError<()>> {
        let _ = &guard;
        Err(SendError::Full { message: (), to: Pid::local(7, 0) })
    });
    let run = |mut ctx: Context<Diverted<u32>>| async move {
        ctx.route_main(hook);
        Ok(())
    };
    node.spawn(move || behavior_fn(run)).start().unwrap().recipient()
}

#[test]
fn d6_values_given_to_an_ended_process_are_not_kept() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let (out, moved) = mpsc::channel();
    let process =
        moved_out::<u32>(&sim, move |ctx| out.send(ctx).unwrap(), Some(1), Overflow::Refuse);
    sim.run_until_idle();
    let mut ctx: Context<u32> = moved.recv().unwrap();
    let fallback = gone_with(&sim, Guard::new(&log, "overflow"));
    sim.kill(process.pid());
    sim.run_until_idle();
    assert!(!process.is_alive() && log.lines().is_empty());
    let guard = Guard::new(&log, "tracer");
    process.trace(move |_| {
        let _ = &guard;
    });
    assert_eq!(log.take(), ["tracer"]);
    assert_eq!(ctx.set_overflow(Overflow::divert(fallback, "late")), Ok(()));
    assert_eq!(log.take(), ["overflow"]);
    let guard = Guard::new(&log, "waker");
    let waker = on_wake(move || {
        let _ = &guard;
    });
    assert!(poll_with(&mut Box::pin(ctx.receive()), &waker).is_pending());
    drop(waker);
    assert_eq!(log.take(), ["waker"]);
}

/// Looks at the mailbox of a process when it is dropped.
struct LooksAtMailbox(Address<u32>, mpsc::Sender<usize>);

impl Drop for LooksAtMailbox {
    fn drop(&mut self) {
        let _ = self.1.send(self.0.waiting());
    }
}

#[test]
fn d6_a_value_that_comes_too_late_is_dropped_under_no_lock() {
    let sim = Simulation::new(1);
    let (out, _moved) = mpsc::channel();
    let process =
        moved_out::<u32>(&sim, move |ctx| out.send(ctx).unwrap(), Some(1), Overflow::Refuse);
    sim.kill(process.pid());
    sim.run_until_idle();
    let (seen, looks) = mpsc::channel();
    let late = LooksAtMailbox(process.clone(), seen);
    process.trace(move |_| {
        let _ = &late;
    });
    assert_eq!(looks.try_recv(), Ok(0));
}
