//! Processes that are spawned on other nodes, over many seeds of a simulation.

use crate::sim_support::{Choices, Member, Order, Worker, members, some_turns};
use krarup_act::{Actor, Context, Recipient};
use krarup_dist::{ClusterCalls, RemoteSpawnError, SimNetwork};
use krarup_gen::{Exit, Reason, Result, SendError};
use krarup_node::Simulation;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

/// A worker that begins with a note, made by `calc:worker/1`.
fn serve(on: &Member) {
    on.cluster.factory("calc", "worker", |(): ()| Worker::default()).unwrap();
    on.cluster.factory("calc", "noted", |(note,): (i64,)| Noted(vec![note])).unwrap();
}

/// Has a note from the begin.
struct Noted(Vec<i64>);

impl Actor for Noted {
    type Message = Order;

    async fn handle_message(&mut self, ctx: &mut Context<Order>, order: Order) -> Result {
        match order {
            Order::Note(number) => self.0.push(number),
            Order::Notes(reply) => reply.send(self.0.clone()),
            Order::End(Some(text)) => return Err(Reason::error(text)),
            _ => ctx.stop(),
        }
        Ok(())
    }
}

type Spawned = std::result::Result<Recipient<Order>, RemoteSpawnError>;

/// Spawns a linked process on `a@sim`, and records what it was told and with what it is ended by the link.
struct Spawner {
    limit: Duration,
    traps: bool,
    spawned: Arc<Mutex<Vec<Spawned>>>,
    exits: Arc<Mutex<Vec<Exit>>>,
}

enum Spawning {
    Spawn(&'static str),
    End,
}

impl Actor for Spawner {
    type Message = Spawning;

    async fn init(&mut self, ctx: &mut Context<Spawning>) -> Result {
        ctx.trap_exits(self.traps);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Spawning>, what: Spawning) -> Result {
        let Spawning::Spawn(function) = what else { return Err(Reason::error("bye")) };
        let spawn = ctx.remote_spawn::<Order>("a@sim", "calc", function, ());
        let spawned = spawn.link().timeout(self.limit).await;
        self.spawned.lock().unwrap().push(spawned);
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut Context<Spawning>, exit: Exit) -> Result {
        self.exits.lock().unwrap().push(exit);
        Ok(())
    }
}

fn spawner(limit: Duration, traps: bool) -> Spawner {
    Spawner { limit, traps, spawned: Arc::default(), exits: Arc::default() }
}

/// How many processes of factories live.
fn spawned_on(member: &Member) -> Result<usize> {
    Ok(member.cluster.connections()?.iter().map(|connection| connection.spawned).sum())
}

#[test]
fn zcall15_a_process_is_spawned_on_another_node_and_is_used_as_any_other() {
    Simulation::explore(0..50, |sim| {
        let net = SimNetwork::new();
        let [a, b] = members(sim, &net)?;
        serve(&a);
        let spawn = b.cluster.remote_spawn::<Order>("a@sim", "calc", "noted", (7,));
        assert_eq!(format!("{spawn:?}"), "RemoteSpawn(calc:noted/1 on a@sim)");
        let noted = spawn.wait()?;
        noted.send(Order::Note(8)).unwrap();
        assert_eq!(noted.call(Order::Notes).wait(), Ok(vec![7, 8]));
        let observer = b.observer()?;
        let down = observer.monitor(noted.pid());
        noted.send(Order::End(Some("odd".to_owned()))).unwrap();
        sim.run_until_idle();
        let seen = format!("{:?}", observer.take());
        assert!(seen.contains(&format!("{down:?}")) && seen.contains("odd"), "{seen}");
        // Nothing is spawned that was not meant.
        let refused = |module: &str, function: &str| {
            let spawned = b.cluster.remote_spawn::<Order>("a@sim", module, function, ()).wait();
            spawned.map(|to| to.pid()).unwrap_err().to_string()
        };
        let why = "the node refused a process of calc:other/0 on a@sim: notsup";
        assert_eq!(refused("calc", "other"), why);
        assert!(refused("erpc", "execute_call").ends_with("notsup"));
        let error = |node: &str, module: &str| {
            b.cluster.remote_spawn::<Order>(node, module, "worker", ()).wait().unwrap_err()
        };
        assert!(matches!(error("nobody@sim", "calc"), RemoteSpawnError::NoConnection { .. }));
        assert!(matches!(error("b@sim", "calc"), RemoteSpawnError::Cluster(_)));
        assert!(matches!(error("a b@sim", "calc"), RemoteSpawnError::Cluster(_)));
        assert!(matches!(error("a@sim", &"x".repeat(256)), RemoteSpawnError::Name(_)));
        let nan = b.cluster.remote_spawn::<Order>("a@sim", "calc", "noted", (f64::NAN,)).wait();
        assert!(matches!(nan, Err(RemoteSpawnError::Arguments { .. })), "{nan:?}");
        // A link needs a process.
        let linked = b.cluster.remote_spawn::<Order>("a@sim", "calc", "worker", ()).link().wait();
        assert!(matches!(linked, Err(RemoteSpawnError::NotInProcess { .. })), "{linked:?}");
        sim.run_until_idle();
        assert_eq!(spawned_on(&a)?, 0);
        assert_eq!(b.node.inspect(b.cluster.pid()).wait()?.number("rpcs"), Some(0));
        a.check_clean();
        b.check_clean();
        Ok(())
    });
}

#[test]
fn zcall15_a_linked_process_and_its_spawner_end_with_each_other() {
    Simulation::explore(0..100, |sim| {
        let (net, choices) = (SimNetwork::new(), Choices(sim));
        let [a, b] = members(sim, &net)?;
        serve(&a);
        let spawner_of = spawner(Duration::from_secs(5), true);
        let (spawned, exits) = (Arc::clone(&spawner_of.spawned), Arc::clone(&spawner_of.exits));
        let process = b.node.spawn(move || spawner_of).wait()?;
        net.delay(choices.millis(5));
        process.send(Spawning::Spawn("worker")).map_err(SendError::without_message)?;
        sim.advance(Duration::from_secs(1));
        sim.run_until_idle();
        let worker = spawned.lock().unwrap().pop().unwrap()?;
        assert_eq!((spawned_on(&a)?, b.links_with("a@sim")), (1, Some(1)));
        let by_spawner = choices.below(2) == 0;
        if by_spawner {
            process.send(Spawning::End).map_err(SendError::without_message)?;
        } else {
            worker.send(Order::End(Some("odd".to_owned()))).unwrap();
        }
        sim.advance(Duration::from_secs(1));
        sim.run_until_idle();
        let told = exits.lock().unwrap().clone();
        match &told[..] {
            [] => assert!(by_spawner),
            [exit] => {
                assert!(!by_spawner);
                assert_eq!(
                    (exit.pid, exit.reason.to_string().as_str()),
                    (worker.pid(), "{error,<<\"odd\">>}")
                );
            }
            _ => panic!("{told:?}"),
        }
        assert_eq!((spawned_on(&a)?, b.links_with("a@sim")), (0, Some(0)));
        a.check_clean();
        b.check_clean();
        Ok(())
    });
}

#[test]
fn zcall15_a_process_that_ends_at_once_tells_why_by_its_link() {
    Simulation::explore(0..100, |sim| {
        let net = SimNetwork::new();
        let [a, b] = members(sim, &net)?;
        a.cluster.factory("calc", "fails", |(): ()| Fails)?;
        let spawner_of = spawner(Duration::from_secs(5), true);
        let (spawned, exits) = (Arc::clone(&spawner_of.spawned), Arc::clone(&spawner_of.exits));
        let process = b.node.spawn(move || spawner_of).wait()?;
        process.send(Spawning::Spawn("fails")).map_err(SendError::without_message)?;
        sim.advance(Duration::from_secs(1));
        sim.run_until_idle();
        let worker = spawned.lock().unwrap().pop().unwrap()?;
        let told = exits.lock().unwrap().clone();
        let [exit] = &told[..] else { panic!("{told:?}") };
        assert_eq!(
            (exit.pid, exit.reason.to_string().as_str()),
            (worker.pid(), "{error,<<\"at once\">>}")
        );
        a.check_clean();
        b.check_clean();
        Ok(())
    });
}

struct Fails;

impl Actor for Fails {
    type Message = Order;

    async fn init(&mut self, _: &mut Context<Order>) -> Result {
        Err(Reason::error("at once"))
    }

    async fn handle_message(&mut self, _: &mut Context<Order>, _: Order) -> Result {
        Ok(())
    }
}

#[test]
fn zcall15_a_linked_process_does_not_outlive_a_spawner_that_gives_up_dies_or_is_lost() {
    Simulation::explore(0..300, |sim| {
        let (net, choices) = (SimNetwork::new(), Choices(sim));
        let [a, b] = members(sim, &net)?;
        serve(&a);
        let spawner_of = spawner(choices.millis(20), choices.below(2) == 0);
        let (spawned, limit) = (Arc::clone(&spawner_of.spawned), spawner_of.limit);
        net.delay(choices.millis(8));
        let process = b.node.spawn(move || spawner_of).wait()?;
        process.send(Spawning::Spawn("worker")).map_err(SendError::without_message)?;
        some_turns(sim, choices.below(150));
        let what = choices.below(4);
        match what {
            0 => drop(net.reset("a@sim", "b@sim")),
            1 => b.node.kill(process.pid()),
            _ => {}
        }
        sim.advance(Duration::from_secs(30));
        sim.run_until_idle();
        let told = std::mem::take(&mut *spawned.lock().unwrap());
        // It lives if its spawner has it, or the answer came and went with the connection.
        let lives = usize::from(what > 1 && matches!(told[..], [Ok(_)]));
        assert_eq!(spawned_on(&a)?, lives, "{what} {limit:?} {told:?}");
        if what > 1 {
            assert_eq!(b.links_with("a@sim").unwrap_or(0), lives);
            assert!(
                matches!(&told[..], [Ok(_) | Err(RemoteSpawnError::Timeout { .. })]),
                "{told:?}"
            );
        }
        assert_eq!(b.node.inspect(b.cluster.pid()).wait()?.number("rpcs"), Some(0));
        drop(told);
        b.node.kill(process.pid());
        sim.advance(Duration::from_secs(30));
        sim.run_until_idle();
        assert_eq!(spawned_on(&a)?, 0);
        a.check_clean();
        b.check_clean();
        Ok(())
    });
}

/// Spawns a linked process, and drops the spawn when its answer may have come.
struct Impatient(Duration);

impl Actor for Impatient {
    type Message = ();

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        let spawn = ctx.remote_spawn::<Order>("a@sim", "calc", "worker", ());
        let mut spawn = spawn.link().into_future();
        let begun = poll_fn(|cx| Poll::Ready(spawn.as_mut().poll(cx).is_pending())).await;
        assert!(begun);
        ctx.sleep(self.0).await;
        drop(spawn);
        Ok(())
    }
}

#[test]
fn zcall15_a_spawn_that_is_dropped_leaves_no_linked_process_whenever_its_answer_comes() {
    Simulation::explore(0..200, |sim| {
        let (net, choices) = (SimNetwork::new(), Choices(sim));
        let [a, b] = members(sim, &net)?;
        serve(&a);
        net.delay(choices.millis(8));
        let limit = choices.millis(40);
        let process = b.node.spawn(move || Impatient(limit)).wait()?;
        process.send(()).unwrap();
        sim.advance(Duration::from_secs(30));
        sim.run_until_idle();
        // It has ended by its exit signal, which is not by the link.
        assert_eq!((spawned_on(&a)?, b.links_with("a@sim")), (0, Some(0)));
        assert!(process.is_alive());
        assert_eq!(b.node.inspect(b.cluster.pid()).wait()?.number("rpcs"), Some(0));
        a.check_clean();
        b.check_clean();
        Ok(())
    });
}

#[test]
fn zcall15_a_process_below_the_system_root_is_linked_too() {
    Simulation::explore(0..20, |sim| {
        let net = SimNetwork::new();
        let [a, b] = members(sim, &net)?;
        serve(&a);
        let spawner_of = spawner(Duration::from_secs(5), true);
        let (spawned, exits) = (Arc::clone(&spawner_of.spawned), Arc::clone(&spawner_of.exits));
        let process = b.node.spawn_system(move || spawner_of).wait()?;
        process.send(Spawning::Spawn("worker")).map_err(SendError::without_message)?;
        sim.advance(Duration::from_secs(1));
        sim.run_until_idle();
        let worker = spawned.lock().unwrap().pop().unwrap()?;
        assert_eq!((spawned_on(&a)?, b.links_with("a@sim")), (1, Some(1)));
        worker.send(Order::End(Some("odd".to_owned()))).unwrap();
        sim.run_until_idle();
        assert_eq!(exits.lock().unwrap().len(), 1);
        a.check_clean();
        b.check_clean();
        Ok(())
    });
}
