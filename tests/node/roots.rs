//! The two roots of a node: rule X6.

use crate::support::{Act, Does, Log, Puppet, boom, puppet, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::dispatcher::{Class, DispatcherOptions};
use krarup::observe::{DeadLetter, Lifecycle, Root};
use krarup::prelude::*;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Takes a second to end, and notes when it begins to and when it has.
struct Slow(&'static str, Log);

impl Actor for Slow {
    type Message = ();
    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
    async fn terminate(&mut self, ctx: &mut Context<()>, _: &Reason) {
        self.1.note(format!("{} asked", self.0));
        ctx.sleep(SECOND).await;
        self.1.note(format!("{} at {}", self.0, ctx.now()));
    }
}

fn service(node: &Node, name: &'static str, log: &Log) -> Address<Act> {
    let puppet = Puppet::new(name, log);
    node.spawn_system(move || puppet).wait().unwrap()
}

/// Never ends unless it is killed.
fn never(node: &Node, root: Root) {
    let never = || {
        behavior_fn(|mut ctx: Context<()>| async move {
            ctx.stop_in_order();
            ctx.initialised();
            std::future::pending::<()>().await;
            Ok(())
        })
    };
    match root {
        Root::User => node.spawn(never).wait().unwrap(),
        _ => node.spawn_system(never).wait().unwrap(),
    };
}

#[test]
fn x6_a_stop_takes_the_users_down_first_and_then_the_services() {
    for sim in simulations(20) {
        let log = Log::new();
        for (name, root) in
            [("u1", Root::User), ("s1", Root::System), ("u2", Root::User), ("s2", Root::System)]
        {
            let slow = Slow(name, log.clone());
            match root {
                Root::User => sim.spawn(move || slow).wait().unwrap(),
                _ => sim.spawn_system(move || slow).wait().unwrap(),
            };
        }
        sim.stop().wait().unwrap();
        let order = [
            "u2 asked", "u2 at 1s", "u1 asked", "u1 at 2s", "s2 asked", "s2 at 3s", "s1 asked",
            "s1 at 4s",
        ];
        assert_eq!(log.take(), order);
        assert_eq!((sim.stats().processes, sim.stats().timers), (0, 0));
    }
}

#[test]
fn x6_a_child_of_a_service_is_a_service_on_any_dispatcher_and_in_any_class() {
    let sim = Simulation::new(1);
    sim.add_dispatcher("other");
    let log = Log::new();
    let first = service(&sim, "first", &log);
    let user = puppet(&sim, "user", &log);
    for parent in [&first, &user] {
        parent.tells(move |ctx| {
            let log = Log::new();
            let child = || {
                let puppet = Puppet::new("child", &log);
                move || puppet
            };
            ctx.spawn(child()).start().unwrap();
            ctx.spawn(child()).dispatcher("other").start().unwrap();
            ctx.spawn(child()).class(Class::High).start().unwrap();
            let both = ctx.spawn(child()).dispatcher("other").class(Class::High).start().unwrap();
            both.tells(move |ctx| {
                let puppet = Puppet::new("grandchild", &Log::new());
                ctx.spawn(move || puppet).start().unwrap();
            });
        });
    }
    sim.run_until_idle();
    let trees = sim.tree();
    let roots: Vec<_> = trees.iter().map(|tree| (tree.process.pid, tree.process.root)).collect();
    // The service was spawned first and stands behind the users all the same.
    assert_eq!(roots, [(user.pid(), Root::User), (first.pid(), Root::System)]);
    for (tree, root) in trees.iter().zip([Root::User, Root::System]) {
        let children: Vec<_> = tree
            .children
            .iter()
            .map(|child| (child.process.class, child.process.root, child.children.len()))
            .collect();
        let (normal, high) = (Class::Normal, Class::High);
        assert_eq!(
            children,
            [(normal, root, 0), (normal, root, 0), (high, root, 0), (high, root, 1)]
        );
        let grandchild = &tree.children[3].children[0].process;
        assert_eq!((grandchild.class, grandchild.root), (high, root));
        let said = tree.to_string().lines().filter(|line| line.contains("root=system")).count();
        assert_eq!(said, usize::from(root == Root::System), "{tree}");
    }
    // Whoever has lost its parent stays where it was.
    first.dies(Reason::Normal);
    sim.run_until_idle();
    assert_eq!(sim.tree().iter().filter(|tree| tree.process.root == Root::System).count(), 4);
    sim.stop().wait().unwrap();
    assert_eq!(sim.stats().processes, 0);
}

#[test]
fn x6_users_are_served_in_their_terminate() {
    struct Asks(Address<Reply<u32>>, Log);
    impl Actor for Asks {
        type Message = ();
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
        async fn terminate(&mut self, _: &mut Context<()>, _: &Reason) {
            self.1.note(format!("{:?}", self.0.call(|reply| reply).await));
        }
    }
    for sim in simulations(20) {
        let log = Log::new();
        let (noted, counts) = (log.clone(), || {
            behavior_fn(|mut ctx: Context<Reply<u32>>| async move {
                let mut asked = 0;
                while let Received::Message(reply) = ctx.receive().await {
                    asked += 1;
                    reply.send(asked);
                }
                Ok(())
            })
        });
        let counter = sim.spawn_system(counts).wait().unwrap();
        for _ in 0..2 {
            let asks = Asks(counter.clone(), noted.clone());
            sim.spawn(move || asks).wait().unwrap();
        }
        sim.stop().wait().unwrap();
        assert_eq!(log.take(), ["Ok(1)", "Ok(2)"]);
    }
}

/// What a service is told of others, and by itself, behind all of that, that it was asked to end.
enum Told {
    Event(Lifecycle),
    Letter(DeadLetter),
    Enough,
}

impl From<Lifecycle> for Told {
    fn from(event: Lifecycle) -> Self {
        Told::Event(event)
    }
}

impl From<DeadLetter> for Told {
    fn from(letter: DeadLetter) -> Self {
        Told::Letter(letter)
    }
}

#[test]
fn x6_a_service_is_notified_of_all_user_ends_and_their_dead_letters() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        let writer = behavior_fn(move |mut ctx: Context<Told>| async move {
            ctx.stop_in_order();
            loop {
                match ctx.receive().await {
                    Received::Message(Told::Event(Lifecycle::Ended { pid, .. })) => {
                        noted.note(format!("end of {pid}"));
                    }
                    Received::Message(Told::Letter(letter)) => {
                        noted.note(format!("letter to {}", letter.to));
                    }
                    Received::Message(Told::Enough) => return Ok(()),
                    // A stop overtakes what lies there (rule M3).
                    Received::Stop(_) => drop(ctx.address().send(Told::Enough)),
                    _ => {}
                }
            }
        });
        let writer = sim.spawn_system(move || writer).wait().unwrap();
        sim.subscribe_lifecycle(writer.recipient());
        sim.subscribe_dead_letters(writer.recipient());
        let users = ["u1", "u2"].map(|name| puppet(&sim, name, &Log::new()));
        // What they have not handled when they are asked to end is lost.
        sim.stop().start();
        users.iter().for_each(|user| assert!(user.does(|_| Ok(()))));
        sim.stop().wait().unwrap();
        let heard = log.take();
        for user in &users {
            let end = format!("end of {}", user.pid());
            assert_eq!(heard.iter().filter(|line| **line == end).count(), 1, "{heard:?}");
        }
        let told = heard.iter().filter(|line| line.starts_with("letter to")).count();
        assert_eq!(told as u64, sim.stats().dead_letters, "{heard:?}");
    }
}

#[test]
fn x6_users_that_do_not_stop_in_time_take_no_time_from_the_services() {
    for sim in simulations(20) {
        let log = Log::new();
        let slow = Slow("service", log.clone());
        sim.spawn_system(move || slow).wait().unwrap();
        never(&sim, Root::User);
        sim.stop().timeout(3 * SECOND).wait().unwrap();
        assert_eq!(log.take(), ["service asked", "service at 4s"]);
        assert_eq!((sim.stats().processes, sim.stats().timers), (0, 0));
    }
}

#[test]
fn x6_services_that_do_not_stop_in_time_are_killed() {
    for sim in simulations(20) {
        let log = Log::new();
        let below = service(&sim, "below", &log);
        never(&sim, Root::System);
        let user = puppet(&sim, "user", &log);
        sim.stop().timeout(2 * SECOND).wait().unwrap();
        assert_eq!(sim.now().as_nanos(), 2_000_000_000);
        // One takes too long; the other is asked all the same.
        let lines = [
            "user terminate shutdown",
            "user dropped",
            "below terminate shutdown",
            "below dropped",
        ];
        assert_eq!(log.take(), lines);
        assert!(!below.is_alive() && !user.is_alive());
    }
}

#[test]
fn x6_a_failing_service_ends_no_other_and_delays_no_stop() {
    struct Dies(Log);
    impl Actor for Dies {
        type Message = ();
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Err(boom())
        }
        async fn terminate(&mut self, _: &mut Context<()>, reason: &Reason) {
            self.0.note(format!("dies of {reason}"));
            assert!(*reason != Reason::Shutdown, "in terminate");
        }
    }
    for sim in simulations(20) {
        let log = Log::new();
        let last = service(&sim, "last", &log);
        let [first, second] = [(); 2].map(|()| {
            let dies = Dies(log.clone());
            sim.spawn_system(move || dies).wait().unwrap()
        });
        let user = puppet(&sim, "user", &log);
        first.send(()).unwrap();
        sim.run_until_idle();
        assert!(!first.is_alive() && second.is_alive() && user.is_alive() && last.is_alive());
        assert!(!sim.is_stopping());
        sim.stop().wait().unwrap();
        let order = [
            "dies of boom",
            "user terminate shutdown",
            "user dropped",
            "dies of shutdown",
            "last terminate shutdown",
            "last dropped",
        ];
        assert_eq!(log.take(), order);
    }
}

#[test]
fn x6_a_service_that_a_user_takes_along_has_ended_before_its_turn() {
    Simulation::explore(0..50, |sim| {
        let log = Log::new();
        let tied = service(sim, "tied", &log);
        let other = service(sim, "other", &log);
        let user = puppet(sim, "user", &log);
        let to = tied.pid();
        user.tells(move |ctx| ctx.link(to));
        sim.run_until_idle();
        sim.stop().wait()?;
        let lines = log.take();
        let asked: Vec<_> = lines.iter().filter(|line| line.contains("terminate")).collect();
        // An exit signal ends who does not trap it without a word, before or when it is asked.
        assert_eq!(asked.first().unwrap().as_str(), "user terminate shutdown");
        assert!(lines.iter().any(|line| line == "tied dropped"), "{lines:?}");
        assert!(asked.iter().any(|line| *line == "other terminate shutdown"), "{lines:?}");
        assert!(!tied.is_alive() && !other.is_alive());
        Ok(())
    });
}

#[test]
fn x6_the_node_stops_with_the_process_that_was_named() {
    let ends: [fn(&Node, &Address<Act>); 4] = [
        |_, main| assert!(main.dies(Reason::Normal)),
        |_, main| assert!(main.dies(boom())),
        |node, main| node.kill(main.pid()),
        |node, main| node.exit(main.pid(), boom()),
    ];
    for (seed, end) in (0..).zip(ends) {
        let sim = Simulation::new(seed);
        let log = Log::new();
        let main = puppet(&sim, "main", &log);
        service(&sim, "service", &log);
        puppet(&sim, "user", &log);
        sim.stop_with(main.pid()).unwrap();
        // The guard is a process of the system root.
        assert_eq!(sim.tree().last().unwrap().process.root, Root::System);
        let guard = sim.processes().pop().unwrap();
        assert_eq!(sim.process_info(guard).unwrap().root, Root::System);
        sim.run_until_idle();
        assert!(!sim.is_stopping());
        end(&sim, &main);
        sim.run_until_idle();
        assert!(sim.is_stopping());
        assert_eq!(sim.stats().processes, 0);
        let lines = log.take();
        let at = |line: &str| lines.iter().position(|other| other == line).unwrap();
        assert!(at("main dropped") < at("user terminate shutdown"), "{lines:?}");
        assert!(at("user dropped") < at("service terminate shutdown"), "{lines:?}");
    }
}

#[test]
fn x6_stop_with_an_ended_process_stops_the_node_at_once() {
    let sim = Simulation::new(1);
    let gone = puppet(&sim, "gone", &Log::new());
    sim.kill(gone.pid());
    sim.run_until_idle();
    for _ in 0..2 {
        sim.stop_with(gone.pid()).unwrap();
    }
    sim.run_until_idle();
    assert!(sim.is_stopping());
    assert!(matches!(sim.stop_with(gone.pid()), Err(SpawnError::NodeStopping)));
    let late = sim.spawn_system(|| Puppet::new("late", &Log::new())).wait();
    assert!(matches!(late, Err(SpawnError::NodeStopping)), "{late:?}");
    assert_eq!(sim.stats().processes, 0);
}

#[test]
fn x6_a_real_node_stops_with_its_process_and_a_guard_does_not_keep_it() {
    let (ended, hears) = mpsc::channel::<()>();
    let log = Log::new();
    let node = Node::builder("guarded").workers(2).start().unwrap();
    let main = puppet(&node, "main", &log);
    node.stop_with(main.pid()).unwrap();
    let held = behavior_fn(move |mut ctx: Context<()>| async move {
        let _ended = ended;
        ctx.receive().await;
        Ok(())
    });
    node.spawn_system(move || held).wait().unwrap();
    assert!(main.dies(Reason::Normal));
    // All that is left of the service's state goes when the node stops.
    assert!(hears.recv().is_err());
    node.stop().wait().unwrap();
    assert_eq!((node.stats().processes, node.stats().timers), (0, 0));

    let (ended, hears) = mpsc::channel::<()>();
    let node = Node::builder("dropped").workers(2).start().unwrap();
    let held = behavior_fn(move |mut ctx: Context<()>| async move {
        let _ended = ended;
        ctx.receive().await;
        Ok(())
    });
    let held = node.spawn(move || held).wait().unwrap();
    node.stop_with(held.pid()).unwrap();
    drop(node);
    assert!(hears.recv().is_err());
}

#[test]
fn x6_spawns_below_both_roots_that_race_with_a_stop_start_or_fail_and_nothing_is_left() {
    for round in 0..10 {
        let node = Node::builder("race")
            .workers(2)
            .dispatcher("pinned", DispatcherOptions::pinned())
            .start()
            .unwrap();
        let log = Log::new();
        let start = Arc::new(Barrier::new(4));
        let spawners: Vec<_> = (0..3)
            .map(|n| {
                let (node, log, start) = (node.clone(), log.clone(), Arc::clone(&start));
                thread::spawn(move || {
                    start.wait();
                    for turn in 0_u32.. {
                        let puppet = Puppet::new("p", &log);
                        let factory = move || puppet;
                        let spawn = match (n + turn) % 2 {
                            0 => node.spawn(factory),
                            _ => node.spawn_system(factory),
                        };
                        let spawn = match n {
                            0 => spawn.name("n"),
                            1 if turn < 20 => spawn.dispatcher("pinned"),
                            _ => spawn.class(Class::High),
                        };
                        match spawn.wait() {
                            Ok(_) | Err(SpawnError::NameTaken { .. }) => {}
                            Err(error) => return error,
                        }
                    }
                    unreachable!("the node stops some time")
                })
            })
            .collect();
        start.wait();
        (0..round).for_each(|_| thread::yield_now());
        node.stop().wait().unwrap();
        for spawner in spawners {
            let error = spawner.join().unwrap();
            assert!(matches!(error, SpawnError::NodeStopping | SpawnError::Init(_)), "{error}");
        }
        assert_eq!((node.stats().processes, node.stats().names), (0, 0));
    }
}

#[test]
fn n3_a_failed_or_killed_spawn_leaves_no_name() {
    struct Fails(u32);
    impl Actor for Fails {
        type Message = ();
        async fn init(&mut self, ctx: &mut Context<()>) -> Result {
            match self.0 % 4 {
                0 => Err(boom()),
                1 => panic!("in init"),
                2 => {
                    ctx.sleep(Duration::from_secs(60)).await;
                    Ok(())
                }
                _ => Ok(()),
            }
        }
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Err(Reason::Normal)
        }
    }
    Simulation::explore(0..60, |sim| {
        let tries = Log::new();
        for n in 0..4 {
            let noted = tries.clone();
            sim.spawn(move || {
                behavior_fn(move |ctx: Context<()>| async move {
                    for k in 0..4 {
                        let spawn = ctx.spawn(move || Fails(n + k)).name("one");
                        match spawn.init_timeout(SECOND).await {
                            Ok(address) => ctx.exit(address.pid(), Reason::Kill),
                            Err(error) => noted.note(error),
                        }
                    }
                    Ok(())
                })
            })
            .start()?;
        }
        sim.faults(krarup::testing::Faults::new().kill_one_in(12));
        sim.advance(120 * SECOND);
        sim.faults(krarup::testing::Faults::new());
        // Who started well lives on if its parent was hit before it could end it.
        if let Some(holder) = sim.whereis("one") {
            assert!(sim.is_alive(holder), "{:?}", tries.lines());
            sim.kill(holder);
            sim.run_until_idle();
        }
        assert_eq!((sim.stats().processes, sim.stats().names, sim.stats().timers), (0, 0, 0));
        sim.spawn(|| Fails(3)).name("one").wait()?;
        Ok(())
    });
}
