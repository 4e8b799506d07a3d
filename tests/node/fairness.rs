//! Who might be starved, and by whom, on real threads and in simulation (rules R1, R4, R6, X2;
//! seeds M11, M12).
//! Turn by turn it is checked beside the dispatcher
//! (`node/src/dispatcher/shared/stepped/starvation.rs`).

use crate::support::{Log, puppet, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::dispatcher::{Class, DispatcherOptions};
use krarup::prelude::*;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::task::Poll;
use std::thread;

/// Processes that send each other messages, each of which is counted twice: when it is sent,
/// and when it is handled. `true` has the process do its work once more.
#[derive(Clone, Default)]
struct Crowd {
    sent: Arc<AtomicUsize>,
    handled: Arc<AtomicUsize>,
}

impl Crowd {
    fn send(&self, to: &Address<bool>, works: bool) {
        self.sent.fetch_add(1, Ordering::Relaxed);
        // Who is dead has it counted as lost.
        let _ = to.send(works);
    }

    fn flood(&self, to: &Address<bool>) {
        (0..500).for_each(|_| self.send(to, false));
    }

    fn member(
        &self,
        node: &Node,
        class: Class,
        work: impl Fn(&Crowd, &Address<bool>) + Send + 'static,
    ) -> Address<bool> {
        let crowd = self.clone();
        let member = behavior_fn(move |mut ctx: Context<bool>| async move {
            loop {
                if let Received::Message(works) = ctx.receive().await {
                    crowd.handled.fetch_add(1, Ordering::Relaxed);
                    if works {
                        work(&crowd, &ctx.address());
                    }
                }
            }
        });
        node.spawn(move || member).class(class).start().unwrap()
    }

    /// Has a message more whenever it handles one.
    fn endless(&self, node: &Node, class: Class) -> Address<bool> {
        let endless = self.member(node, class, |crowd, own| crowd.send(own, true));
        self.send(&endless, true);
        endless
    }

    fn idle(&self, node: &Node, class: Class) -> Address<bool> {
        self.member(node, class, |_, _| {})
    }

    fn flooder(&self, node: &Node, class: Class, to: &Address<bool>) -> Address<bool> {
        let to = to.clone();
        let flooder = self.member(node, class, move |crowd, own| {
            crowd.flood(&to);
            crowd.send(own, true);
        });
        self.send(&flooder, true);
        flooder
    }

    /// Two who flood each other.
    fn feud(&self, node: &Node, class: Class) -> [Address<bool>; 2] {
        let both: Arc<[OnceLock<Address<bool>>; 2]> = Arc::default();
        let feud = [1, 0].map(|other| {
            let both = Arc::clone(&both);
            self.member(node, class, move |crowd, own| {
                crowd.flood(both[other].get().unwrap());
                crowd.send(own, true);
            })
        });
        both.iter().zip(&feud).for_each(|(place, one)| place.set(one.clone()).unwrap());
        feud.iter().for_each(|one| self.send(one, true));
        feud
    }

    /// Each makes the next one ready.
    fn ring(&self, node: &Node, class: Class) {
        let first: Arc<OnceLock<Address<bool>>> = Arc::default();
        let mut next: Option<Address<bool>> = None;
        for _ in 0..3 {
            let (first, to) = (Arc::clone(&first), next.clone());
            next = Some(self.member(node, class, move |crowd, _| {
                crowd.send(to.as_ref().unwrap_or_else(|| first.get().unwrap()), true);
            }));
        }
        let last = next.unwrap();
        first.set(last.clone()).unwrap();
        self.send(&last, true);
    }

    /// All of them, in each class.
    fn gather(&self, node: &Node) -> Vec<Address<bool>> {
        let mut who = Vec::new();
        for class in [Class::Normal, Class::High, Class::Varying] {
            let flooded = self.idle(node, class);
            who.extend((0..3).map(|_| self.flooder(node, class, &flooded)));
            who.push(flooded);
            who.extend(self.feud(node, class));
            who.push(self.endless(node, class));
            self.ring(node, class);
            restless(node, class);
        }
        who
    }
}

/// A handler that wakes itself in each poll.
fn restless(node: &Node, class: Class) {
    let restless = behavior_fn(|_: Context<()>| async {
        poll_fn(|cx| {
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        })
        .await;
        Ok(())
    });
    node.spawn(move || restless).class(class).start().unwrap();
}

/// A process that is in a turn when this returns. Who lets it go on has it do `work`, which makes
/// others ready on its own worker and gives them a channel, and then has it wait for what so many
/// of them say there, without an `await`; and waits for all that.
fn in_a_turn(
    node: &Node,
    work: impl FnOnce(&Context<()>, mpsc::Sender<()>) -> usize + Send + 'static,
) -> impl FnOnce() -> usize {
    let (entered, inside) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let (done, finished) = mpsc::channel();
    let waits = behavior_fn(move |ctx: Context<()>| async move {
        let _ = entered.send(());
        let _ = released.recv();
        let (ran, runs) = mpsc::channel();
        let number = work(&ctx, ran);
        let _ = done.send(runs.iter().take(number).count());
        Ok(())
    });
    node.spawn(move || waits).start().unwrap();
    inside.recv().unwrap();
    move || {
        drop(release);
        finished.recv().unwrap()
    }
}

/// Says once that it has run.
fn says(ctx: &Context<()>, class: Class, ran: &mpsc::Sender<()>) {
    let ran = ran.clone();
    let says = behavior_fn(move |_: Context<()>| async move {
        let _ = ran.send(());
        Ok(())
    });
    ctx.spawn(move || says).class(class).start().unwrap();
}

fn node(name: &str, workers: usize, spares: usize) -> Node {
    let options = DispatcherOptions::new().workers(workers).spare_workers(spares);
    Node::builder(name).options(options.throughput(4)).start().unwrap()
}

/// What has always more to do comes back to where a spare worker takes it from, which must not
/// keep it from what lies behind the turn for which it is there.
#[test]
fn r4_a_spare_reaches_work_behind_a_long_turn_despite_endless_processes() {
    for (workers, others) in [(1, 1), (1, 20), (2, 1), (2, 20), (3, 5)] {
        let node = node("r4spare", workers, 1);
        let go_on = in_a_turn(&node, |ctx, ran| {
            (0..3).for_each(|_| says(ctx, Class::Normal, &ran));
            3
        });
        let crowd = Crowd::default();
        (0..others).for_each(|_| drop(crowd.endless(&node, Class::Normal)));
        assert_eq!(go_on(), 3);
        node.stop().wait().unwrap();
    }
}

/// Thousands, of two classes, and all of them are waited for in one turn.
#[test]
fn r4_all_that_a_long_turn_has_made_ready_is_run_by_others() {
    for (workers, spares) in [(2, 0), (1, 1)] {
        let node = node("r4ready", workers, spares);
        let go_on = in_a_turn(&node, |ctx, ran| {
            for number in 0..6_000 {
                let class = if number % 10 == 0 { Class::High } else { Class::Normal };
                says(ctx, class, &ran);
            }
            6_000
        });
        assert_eq!(go_on(), 6_000, "{workers} workers");
        node.stop().wait().unwrap();
    }
}

/// High ones behind a long turn, while all other workers have normal work without end.
#[test]
fn r6_high_processes_behind_a_long_turn_run_on_a_worker_with_endless_normal_work() {
    let node = node("r6behind", 2, 0);
    let go_on = in_a_turn(&node, |ctx, ran| {
        (0..40).for_each(|_| says(ctx, Class::High, &ran));
        40
    });
    let crowd = Crowd::default();
    (0..5).for_each(|_| drop(crowd.endless(&node, Class::Normal)));
    assert_eq!(go_on(), 40);
    node.stop().wait().unwrap();
}

/// Does it with nodes of so many workers, and in simulations.
fn on_each(name: &str, workers: &[usize], test: impl Fn(&Node)) {
    simulations(1).for_each(|sim| test(&sim));
    for workers in workers {
        test(&node(name, *workers, 1));
    }
}

/// Beside all of them, of all classes, a normal process answers whoever asks, and each of
/// them ends when it is told to.
#[test]
fn r1_no_process_is_starved_by_floods_feuds_rings_or_endless_processes() {
    on_each("r1crowd", &[1, 2, 4], |node| {
        let asked = puppet(node, "asked", &Log::new());
        let crowd = Crowd::default();
        let members = crowd.gather(node);
        for member in &members {
            assert!(asked.inspect().wait().is_ok());
            // It hears of it, and says nothing.
            assert_eq!(
                member.inspect().wait().unwrap_err(),
                CallError::NoReply { to: member.pid() }
            );
        }
        // One of them after the other, while the rest goes on.
        for (number, member) in members.iter().enumerate() {
            let monitor = member.watch();
            if number % 2 == 0 {
                member.process().kill();
            } else {
                node.exit(member.pid(), Reason::error("enough"));
            }
            monitor.wait().unwrap();
            assert!(asked.inspect().wait().is_ok());
        }
        node.stop().wait().unwrap();
    });
}

/// Who floods one that is suspended has its turns all the same, and so have all others; all
/// that was accepted is handled when it is resumed.
#[test]
fn x5_a_flooder_of_a_suspended_process_is_delayed_only_for_a_while() {
    on_each("x5flood", &[1, 2], |node| {
        let crowd = Crowd::default();
        let flooded = crowd.idle(node, Class::Normal);
        flooded.suspend().wait().unwrap();
        let handled = flooded.info().handled;
        let flooders: Vec<_> =
            (0..2).map(|_| crowd.flooder(node, Class::Normal, &flooded)).collect();
        let asked = puppet(node, "asked", &Log::new());
        while flooded.waiting() < 20_000 {
            assert!(asked.inspect().wait().is_ok());
        }
        assert_eq!(flooded.info().handled, handled);
        for flooder in &flooders {
            flooder.suspend().wait().unwrap();
        }
        assert!(flooded.resume());
        while flooded.waiting() > 0 {
            assert!(asked.inspect().wait().is_ok());
        }
        assert!(flooders.iter().all(Address::resume));
        while flooded.info().handled < 30_000 {
            assert!(asked.inspect().wait().is_ok());
        }
        node.stop().wait().unwrap();
    });
}

/// A stop in the midst of it all, while one turn goes on: everybody ends, and each message was
/// handled or is counted as lost.
#[test]
fn x2_a_stop_amid_floods_and_long_turns_ends_everybody_and_loses_no_message_unseen() {
    for (workers, spares) in [(1, 0), (1, 1), (2, 1), (4, 0)] {
        let node = node("x2crowd", workers, spares);
        let crowd = Crowd::default();
        let mut members = crowd.gather(&node);
        let asked = puppet(&node, "asked", &Log::new());
        assert!(asked.inspect().wait().is_ok());
        let suspended = members.swap_remove(3);
        suspended.suspend().wait().unwrap();
        let go_on = in_a_turn(&node, |_, _| 0);
        let stops = thread::spawn({
            let node = node.clone();
            move || node.stop().wait()
        });
        while !node.is_stopping() {
            thread::yield_now();
        }
        go_on();
        stops.join().unwrap().unwrap();
        assert!(node.processes().is_empty());
        assert!(members.iter().chain([&suspended]).all(|member| !member.is_alive()));
        let (sent, handled) = (&crowd.sent, &crowd.handled);
        let lost = node.stats().dead_letters;
        assert_eq!(
            sent.load(Ordering::Relaxed) as u64,
            handled.load(Ordering::Relaxed) as u64 + lost
        );
    }
}
