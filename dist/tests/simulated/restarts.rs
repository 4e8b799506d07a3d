//! A cluster that ends and is started again, and recipients that were made before (rule Zlive7).

use crate::sim_support::{Choices, Member, Order, Seen, Watching, members, some_turns};
use krarup_act::{Actor, Context};
use krarup_dist::{Cluster, ClusterAddress, ClusterCalls, Cookie, NodeEvent, SimNetwork};
use krarup_gen::{DeadLetterCause, Exit, Memory, NodeName, Reason, Result, SendError, SpawnError};
use krarup_node::Simulation;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Starts the cluster of a node again.
fn start_again(member: &Member, net: &SimNetwork) -> Result<ClusterAddress> {
    let net = net.clone();
    let cluster = move || Cluster::new(Cookie::new("secret").unwrap()).network(&net);
    let cluster = member.node.spawn_system(cluster).wait()?;
    cluster.carry::<Order>()?;
    Ok(cluster)
}

#[test]
fn zlive7_a_recipient_of_before_a_restart_of_the_cluster_works_after_it() {
    Simulation::explore(0..50, |sim| {
        let net = SimNetwork::new();
        let [a, mut b] = members(sim, &net)?;
        a.worker("stock")?;
        let stock = b.remote("stock", "a@sim");
        let by_pid = b.cluster.remote_pid::<Order>(stock.call(Order::Who).wait()?)?;
        for round in 1..=2 {
            b.node.kill(b.cluster.pid());
            sim.run_until_idle();
            b.cluster = start_again(&b, &net)?;
            for recipient in [&stock, &by_pid] {
                recipient.send(Order::Note(round))?;
                let sum = recipient.call(|reply| Order::Add(2, 3, reply)).timeout(LONG).wait();
                assert_eq!(sum, Ok(5));
            }
            let observer = b.observer()?;
            observer.does(Watching::Add(stock.clone(), LONG));
            sim.run_until_idle();
            assert_eq!(observer.take(), [Seen::Sum(Ok(23))]);
        }
        assert_eq!(stock.call(Order::Notes).wait(), Ok(vec![1, 1, 2, 2]));
        assert!(stock.is_alive() && by_pid.is_alive());
        assert_eq!(b.calls(), 0);
        Ok(())
    });
}

#[test]
fn v92_a_cluster_that_is_started_again_and_a_connection_made_anew_have_other_numbers() {
    let (sim, net) = (Simulation::new(5), SimNetwork::new());
    let [a, mut b] = members(&sim, &net).unwrap();
    a.worker("stock").unwrap();
    let numbers = |member: &Member| {
        let picture = member.node.view().cluster_picture().unwrap();
        (picture.number, picture.connections.iter().map(|it| it.number).collect::<Vec<_>>())
    };
    let mut connections = Vec::new();
    for number in 1..=3 {
        for round in 1..=2 {
            b.remote("stock", "a@sim").send(Order::Note(round)).unwrap();
            sim.run_until_idle();
            let (of_cluster, one) = numbers(&b);
            assert_eq!((of_cluster, one.len()), (number, 1));
            connections.push((of_cluster, one[0]));
            assert!(b.cluster.disconnect("a@sim").unwrap());
            sim.run_until_idle();
        }
        b.node.kill(b.cluster.pid());
        sim.run_until_idle();
        assert!(b.node.view().cluster_picture().is_none());
        b.cluster = start_again(&b, &net).unwrap();
    }
    // Both nodes stand at one moment of virtual time: nothing but the numbers tells them apart.
    assert_eq!(connections.iter().collect::<std::collections::BTreeSet<_>>().len(), 6);
}

#[test]
fn zlive7_without_a_cluster_messages_and_calls_to_other_nodes_fail_at_once() {
    let (sim, net) = (Simulation::new(2), SimNetwork::new());
    let [a, b] = members(&sim, &net).unwrap();
    a.worker("stock").unwrap();
    let stock = b.remote("stock", "a@sim");
    let pid = stock.call(Order::Who).wait().unwrap();
    let by_pid = b.cluster.remote_pid::<Order>(pid).unwrap();
    b.node.remember(Memory { dead_letters: 10, ..Memory::default() });
    b.node.kill(b.cluster.pid());
    sim.run_until_idle();
    let begun = sim.now();
    for recipient in [&stock, &by_pid] {
        let error = recipient.call(Order::Who).wait().unwrap_err();
        let to = if recipient.pid() == pid { pid.to_string() } else { "\"stock\" at a@sim".into() };
        let said = format!("the request did not reach {to}: no connection to its node");
        assert_eq!((error.to_string(), error.was_begun()), (said, false));
        let error = recipient.send(Order::Note(1)).unwrap_err();
        assert!(matches!(error, SendError::NoConnection { .. }), "{error}");
        let error = recipient.send_or_wait(Order::Note(1)).wait().unwrap_err();
        assert!(matches!(error, SendError::NoConnection { .. }), "{error}");
    }
    assert_eq!(sim.now(), begun);
    let letters = b.node.view().dead_letters(0, 10).items;
    let letters: Vec<_> =
        letters.iter().map(|letter| (letter.item.to.to_string(), letter.item.cause)).collect();
    let by_name = ("\"stock\" at a@sim".to_owned(), DeadLetterCause::NoConnection);
    let by_pid = (pid.to_string(), DeadLetterCause::NoConnection);
    assert_eq!(letters, [vec![by_name; 3], vec![by_pid; 3]].concat());
}

#[test]
fn zlive7_whatever_is_sent_while_the_cluster_ends_has_an_outcome_without_a_timeout() {
    Simulation::explore(0..200, |sim| {
        let (net, choices) = (SimNetwork::new(), Choices(sim));
        let [a, b] = members(sim, &net)?;
        let worker = a.worker("stock")?;
        let observers = [b.observer()?, b.observer()?];
        let stock = b.remote("stock", "a@sim");
        let target = b.pid_of(worker, &a);
        let killed = choices.below(6);
        for round in 0..6 {
            if round == killed {
                b.node.kill(b.cluster.pid());
            }
            for observer in &observers {
                observer.does(Watching::Add(stock.clone(), LONG));
                observer.does(Watching::Link(target));
            }
            some_turns(sim, choices.below(12));
        }
        sim.run_until_idle();
        assert!(sim.now().as_nanos() < 1_000_000_000, "{}", sim.now());
        for observer in &observers {
            let seen = observer.take();
            let sums = seen.iter().filter(|seen| matches!(seen, Seen::Sum(_))).count();
            assert_eq!(sums, 6, "{seen:?}");
            // A link over the connection that is lost, or one to a node that cannot be reached.
            assert!(seen.iter().any(|seen| matches!(seen, Seen::Exit(..))), "{seen:?}");
        }
        Ok(())
    });
}

/// Starts its cluster at once again when it has ended, as a supervisor does.
struct Keeper {
    net: SimNetwork,
    failed: Arc<Mutex<Vec<String>>>,
}

impl Keeper {
    async fn start(&self, ctx: &mut Context<()>) {
        loop {
            let net = self.net.clone();
            let cluster = move || {
                let cluster = Cluster::new(Cookie::new("secret").unwrap()).network(&net);
                cluster.groups("groups").scope("metrics").keep(["a@sim"])
            };
            match ctx.spawn(cluster).name("cluster").link().await {
                // It was killed while it started.
                Err(SpawnError::Init(Reason::Killed)) => {}
                Err(error) => return self.failed.lock().unwrap().push(error.to_string()),
                Ok(_) => return,
            }
        }
    }
}

impl Actor for Keeper {
    type Message = ();

    async fn init(&mut self, ctx: &mut Context<()>) -> Result {
        ctx.trap_exits(true);
        self.start(ctx).await;
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }

    async fn handle_exit(&mut self, ctx: &mut Context<()>, exit: Exit) -> Result {
        // The start of one that fails is told twice.
        if exit.reason == Reason::Killed && ctx.whereis("cluster").is_none() {
            self.start(ctx).await;
        }
        Ok(())
    }
}

#[test]
fn zlive7_a_cluster_that_is_started_at_once_again_waits_for_what_is_left_of_the_one_before() {
    Simulation::explore(0..300, |sim| {
        let net = SimNetwork::new();
        let [a] = members(sim, &net)?;
        let (b, failed) = (sim.beside("b@sim")?, Arc::default());
        let keeper = Keeper { net: net.clone(), failed: Arc::clone(&failed) };
        b.spawn_system(move || keeper).wait()?;
        for _ in 0..3 {
            some_turns(sim, Choices(sim).below(60));
            // The next one may be killed while it starts.
            for _ in 0..=Choices(sim).below(2) {
                if let Some(cluster) = b.whereis("cluster") {
                    b.kill(cluster);
                }
                some_turns(sim, Choices(sim).below(12));
            }
            sim.advance(Duration::from_secs(6));
            sim.run_until_idle();
            assert_eq!(*failed.lock().unwrap(), Vec::<String>::new());
            assert!(b.whereis("cluster").is_some() && b.whereis("metrics").is_some());
        }
        assert_eq!(a.peers(), ["b@sim"]);
        Ok(())
    });
}

/// The only event that has come since the last one.
fn only(events: &Mutex<Vec<NodeEvent>>) -> Option<NodeEvent> {
    let mut all = std::mem::take(&mut *events.lock().unwrap());
    if all.len() == 1 { all.pop() } else { panic!("not one event: {all:?}") }
}

#[test]
fn zlive2_a_subscription_outlives_the_cluster_of_its_node() {
    Simulation::explore(0..50, |sim| {
        let net = SimNetwork::new();
        let [a, mut b] = members(sim, &net)?;
        a.worker("stock")?;
        let (events, name): (_, NodeName) = (b.node_events()?, "a@sim".parse()?);
        for round in 1..=3 {
            b.remote("stock", "a@sim").send(Order::Note(round))?;
            sim.run_until_idle();
            assert_eq!(only(&events), Some(NodeEvent::Up(name.clone())));
            // The end of a cluster is the loss of its connections.
            b.node.kill(b.cluster.pid());
            sim.run_until_idle();
            assert_eq!(only(&events), Some(NodeEvent::Down(name.clone())));
            b.cluster = start_again(&b, &net)?;
        }
        b.remote("stock", "a@sim").send(Order::Note(4))?;
        sim.run_until_idle();
        assert_eq!(only(&events), Some(NodeEvent::Up(name.clone())));
        a.node.stop().wait()?;
        sim.run_until_idle();
        assert_eq!(only(&events), Some(NodeEvent::Down(name)));
        Ok(())
    });
}

/// Knows the nodes from a list and from what it is told then.
struct NodeList {
    known: Arc<Mutex<BTreeSet<NodeName>>>,
}

impl Actor for NodeList {
    type Message = NodeEvent;

    async fn init(&mut self, ctx: &mut Context<NodeEvent>) -> Result {
        let now = ctx.watch_nodes(ctx.address().recipient())?;
        *self.known.lock().unwrap() = now.into_iter().collect();
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<NodeEvent>, event: NodeEvent) -> Result {
        let mut known = self.known.lock().unwrap();
        let is_news = match event {
            NodeEvent::Up(node) => known.insert(node),
            NodeEvent::Down(node) => known.remove(&node),
            _ => true,
        };
        assert!(is_news);
        Ok(())
    }
}

#[test]
fn zlive2_the_nodes_of_now_and_what_is_told_then_have_no_gap_between_them() {
    Simulation::explore(0..200, |sim| {
        let net = SimNetwork::new();
        let [a, b, c, d] = members(sim, &net)?;
        for member in [&a, &c, &d] {
            member.worker("stock")?;
        }
        let mut lists = Vec::new();
        for round in 0..4 {
            for name in ["a@sim", "c@sim", "d@sim"] {
                b.remote("stock", name).send(Order::Note(round))?;
                some_turns(sim, Choices(sim).below(12));
                let known = Arc::<Mutex<BTreeSet<NodeName>>>::default();
                let list = NodeList { known: Arc::clone(&known) };
                let list = b.node.spawn(move || list).start()?;
                lists.push((list, known));
                some_turns(sim, Choices(sim).below(12));
                b.cluster.disconnect(["a@sim", "c@sim"][Choices(sim).below(2)])?;
            }
        }
        sim.run_until_idle();
        let now: BTreeSet<NodeName> = b.cluster.nodes()?.into_iter().collect();
        for (list, known) in lists {
            assert!(list.is_alive());
            assert_eq!(*known.lock().unwrap(), now);
        }
        Ok(())
    });
}

#[test]
fn zlive2_nothing_is_kept_of_a_subscriber_that_has_ended() {
    let (sim, net) = (Simulation::new(4), SimNetwork::new());
    let [mut b] = members(&sim, &net).unwrap();
    let subscribers = |b: &Member| {
        let inspection = b.node.inspect(b.cluster.pid()).wait().unwrap();
        inspection.number("subscribers").unwrap()
    };
    let subscribe = |b: &Member| {
        let list = NodeList { known: Arc::default() };
        let list = b.node.spawn(move || list).wait().unwrap();
        // A second time is no second subscription.
        b.cluster.subscribe_nodes(list.recipient()).unwrap();
        list.pid()
    };
    let [one, other] = [subscribe(&b), subscribe(&b)];
    assert_eq!(subscribers(&b), 2);
    b.node.kill(one);
    sim.run_until_idle();
    assert_eq!(subscribers(&b), 1);
    // Also while no cluster runs.
    b.node.kill(b.cluster.pid());
    b.node.kill(other);
    sim.run_until_idle();
    b.cluster = start_again(&b, &net).unwrap();
    assert_eq!(subscribers(&b), 0);
    // One that has ended before it subscribes is none.
    let gone = b.node.spawn(|| NodeList { known: Arc::default() }).wait().unwrap();
    b.node.kill(gone.pid());
    sim.run_until_idle();
    b.cluster.subscribe_nodes(gone.recipient()).unwrap();
    assert_eq!(subscribers(&b), 0);
}
