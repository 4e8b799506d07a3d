//! Several nodes in one simulation, joined by a simulated network (rules Zsim1, Zsim2).

use crate::sim_support::{Member, Order, Seen, Watching, Worker, members, not_connected};
use krarup_act::{Actor, Context, Recipient, behavior_fn};
use krarup_dist::{Cluster, ClusterCalls, Cookie, SimNetwork};
use krarup_gen::{CallError, Reason, ReasonKind, Result, SendError, Target};
use krarup_node::{Fault, Faults, Node, Simulation};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// A run with a call, a link, a monitor, a partition and a reset. Returns the trace.
fn run(seed: u64) -> Result<String> {
    let (sim, net) = (Simulation::new(seed), SimNetwork::new());
    let [a, b] = members(&sim, &net)?;
    a.worker("stock")?;
    let watcher = b.observer()?;
    let stock = b.remote("stock", "a@sim");
    let pid = stock.call(Order::Who).wait()?;
    watcher.does(Watching::Link(pid));
    watcher.monitor(pid);
    net.delay(Duration::from_millis(5));
    for _ in 0..5 {
        assert_eq!(stock.call(|reply| Order::Add(2, 3, reply)).wait(), Ok(5));
    }
    net.partition(&["a@sim"], &["b@sim"]);
    watcher.does(Watching::Add(stock, LONG));
    sim.advance(Duration::from_secs(1));
    net.heal();
    net.reset("a@sim", "b@sim");
    sim.advance(Duration::from_secs(1));
    Ok(sim.last_steps().to_string())
}

#[test]
fn zsim1_the_same_seed_gives_the_same_trace_in_which_each_step_names_its_node() {
    let trace = run(7).unwrap();
    assert_eq!(trace, run(7).unwrap());
    assert_ne!(trace, run(8).unwrap());
    for line in trace.lines().filter(|line| line.contains("turn ")) {
        assert!(["a@sim", "b@sim"].iter().any(|node| line.contains(node)), "{line}");
    }
    assert!(trace.contains("network    a@sim to b@sim: "), "{trace}");
    assert!(trace.contains("network    a@sim cut off from b@sim"), "{trace}");
    assert!(trace.contains("network    reset between a@sim and b@sim"), "{trace}");
}

#[test]
fn zsim1_nodes_of_a_simulation_share_time_and_nothing_else() {
    let sim = Simulation::new(1);
    let (a, b) = (sim.beside("a@sim").unwrap(), sim.beside("b@sim").unwrap());
    let sleeper = |node: &Node| {
        let process = behavior_fn(|ctx: Context<()>| async move {
            ctx.sleep(Duration::from_secs(3)).await;
            Ok(())
        });
        node.spawn(move || process).name("sleeper").start().unwrap()
    };
    let (on_a, on_b) = (sleeper(&a), sleeper(&b));
    // Equal pids of different nodes, and neither is known to the other node.
    assert_eq!(on_a.pid(), on_b.pid());
    assert!(!a.is_alive(on_b.pid()) && a.is_alive(on_a.pid()));
    sim.advance(Duration::from_secs(2));
    assert_eq!((a.stats().timers, b.stats().timers, sim.stats().timers), (1, 1, 0));
    // The stop of one node leaves the other one as it was.
    a.stop().wait().unwrap();
    assert!(!on_a.is_alive() && on_b.is_alive());
    assert_eq!(b.stats().timers, 1);
    sim.advance(Duration::from_secs(1));
    assert!(!on_b.is_alive());
    assert_eq!((a.now(), b.now()), (sim.now(), sim.now()));
    assert!(sim.beside("").is_err());
    // A node with the name of one that has stopped.
    let again = sim.beside("a@sim").unwrap();
    assert!(sleeper(&again).is_alive() && !again.is_alive(on_b.pid()));
}

#[test]
fn zsim1_a_trace_of_one_node_names_no_node() {
    let trace = |beside: bool| {
        let sim = Simulation::new(5);
        let other = beside.then(|| sim.beside("b@sim").unwrap());
        let process = behavior_fn(|_: Context<()>| async { Ok(()) });
        sim.spawn(move || process).start().unwrap();
        sim.run_until_idle();
        let trace = sim.last_steps().to_string();
        drop(other);
        trace
    };
    assert!(!trace(false).contains("sim@localhost"), "{}", trace(false));
    assert!(trace(true).lines().skip(1).all(|line| line.contains("sim@localhost")));
}

#[test]
fn zsim2_nodes_call_link_and_monitor_each_other_over_the_simulated_network() {
    Simulation::explore(0..50, |sim| {
        let net = SimNetwork::new();
        let [a, b] = members(sim, &net)?;
        let there = a.worker("stock")?;
        let stock = b.remote("stock", "a@sim");
        let pid = stock.call(Order::Who).wait()?;
        assert_eq!((pid.id(), pid.node() > 0), (there.id(), true));
        let watcher = b.observer()?;
        watcher.does(Watching::Link(pid));
        let monitor = watcher.monitor(pid);
        assert_eq!(stock.call(|reply| Order::Add(2, 3, reply)).wait(), Ok(5));
        // What one process sends another arrives in that order (rule Zmsg2).
        (0..20).for_each(|number| watcher.does(Watching::Tell(stock.clone(), number)));
        sim.run_until_idle();
        assert_eq!(stock.call(Order::Notes).wait(), Ok((0..20).collect()));
        stock.send(Order::End(Some("broken".into())))?;
        sim.run_until_idle();
        let [one, other] = &watcher.take()[..] else { panic!("two notices") };
        let is_notice = |seen: &Seen| match seen {
            Seen::Exit(of, reason) => *of == pid && reason.to_string().contains("broken"),
            Seen::Down(of, _, reason) => *of == monitor && reason.to_string().contains("broken"),
            Seen::Sum(_) => false,
        };
        assert!(is_notice(one) && is_notice(other), "{one:?} {other:?}");
        a.check_clean();
        b.check_clean();
        // All of it without time passing.
        assert!(sim.now().as_nanos() < 1_000_000, "{}", sim.now());
        Ok(())
    });
}

#[test]
fn zsim2_a_partition_holds_up_what_is_under_way_and_a_dial_fails_in_its_time() {
    let (sim, net) = (Simulation::new(3), SimNetwork::new());
    let [a, b] = members(&sim, &net).unwrap();
    a.worker("stock").unwrap();
    let stock = b.remote("stock", "a@sim");
    net.partition(&["a@sim"], &["b@sim"]);
    let lost = Err(not_connected("stock", "a@sim"));
    let add = || stock.call(|reply| Order::Add(2, 3, reply)).timeout(LONG);
    assert_eq!(add().wait(), lost);
    let passed = sim.now();
    assert!((6..=9).contains(&(passed.as_nanos() / 1_000_000_000)), "{passed}");
    // A dial whose partition is over in time succeeds.
    let watcher = b.observer().unwrap();
    watcher.does(Watching::Add(stock.clone(), LONG));
    sim.advance(Duration::from_secs(2));
    assert!(watcher.seen().is_empty());
    net.heal();
    sim.run_until_idle();
    assert_eq!(watcher.take(), [Seen::Sum(Ok(23))]);
    // Bytes under way wait, too.
    net.partition(&["b@sim"], &["a@sim", "c@sim"]);
    watcher.does(Watching::Add(stock.clone(), LONG));
    sim.advance(Duration::from_secs(20));
    assert!(watcher.seen().is_empty());
    net.heal();
    sim.run_until_idle();
    assert_eq!(watcher.take(), [Seen::Sum(Ok(23))]);
}

#[test]
fn zsim2_a_refused_dial_fails_at_once_and_a_delay_takes_time() {
    let (sim, net) = (Simulation::new(3), SimNetwork::new());
    let [a, b] = members(&sim, &net).unwrap();
    a.worker("stock").unwrap();
    let stock = b.remote("stock", "a@sim");
    net.refuse("a@sim", true);
    let lost = Err(not_connected("stock", "a@sim"));
    assert_eq!(stock.call(|reply| Order::Add(2, 3, reply)).wait(), lost);
    assert!(sim.now().as_nanos() < 1_000_000, "{}", sim.now());
    net.refuse("a@sim", false);
    net.delay(Duration::from_millis(100));
    let begun = sim.now();
    assert_eq!(stock.call(|reply| Order::Add(2, 3, reply)).wait(), Ok(5));
    let passed = sim.now().since(begun);
    assert!((Duration::from_millis(100)..Duration::from_secs(2)).contains(&passed), "{passed:?}");
    // A node that is not there refuses, too.
    let nobody = b.remote("stock", "nobody@sim");
    let lost = Err(not_connected("stock", "nobody@sim"));
    assert_eq!(nobody.call(|reply| Order::Add(2, 3, reply)).wait(), lost);
}

#[test]
fn zsim2_faults_by_chance_and_at_a_step_are_those_of_the_simulation() {
    let (sim, net) = (Simulation::new(11), SimNetwork::new());
    let [a, b] = members(&sim, &net).unwrap();
    a.worker("stock").unwrap();
    let stock = b.remote("stock", "a@sim");
    assert!(stock.call(|reply| Order::Add(2, 3, reply)).wait().is_ok());
    let watcher = b.observer().unwrap();
    sim.faults(Faults::new().at_step(0, Fault::Reset, "b@sim"));
    watcher.does(Watching::Keep(stock.clone(), LONG));
    sim.run_until_idle();
    assert!(matches!(&watcher.take()[..], [Seen::Sum(Err(CallError::Terminated { .. }))]));
    let trace = sim.last_steps().to_string();
    assert!(trace.contains("fault      reset between b@sim and a@sim"), "{trace}");
    // There is no connection now.
    sim.faults(Faults::new().at_step(0, Fault::Reset, "b@sim"));
    watcher.does(Watching::Demonitor(krarup_gen::Ref::new(9)));
    sim.run_until_idle();
    let trace = sim.last_steps().to_string();
    assert!(trace.contains("Reset finds no connection"), "{trace}");
    assert!(stock.call(|reply| Order::Add(2, 3, reply)).wait().is_ok());
    let limit = Duration::from_secs(3);
    sim.faults(Faults::new().partition_one_in(1, limit).only("a@sim").at_most(1));
    watcher.does(Watching::Add(stock.clone(), LONG));
    sim.run_until_idle();
    let trace = sim.last_steps().to_string();
    assert_eq!(trace.matches("are cut off for").count(), 1, "{trace}");
    assert!(watcher.seen().is_empty());
    sim.advance(limit);
    assert_eq!(watcher.take(), [Seen::Sum(Ok(23))]);
    let trace = sim.last_steps().to_string();
    assert!(trace.contains("is over"), "{trace}");
    sim.faults(Faults::new().reset_one_in(1).at_most(2));
    watcher.does(Watching::Keep(stock, LONG));
    sim.run_until_idle();
    assert!(matches!(&watcher.take()[..], [Seen::Sum(Err(CallError::Terminated { .. }))]));
}

#[test]
fn zsim2_a_reset_during_a_call_fails_it_and_the_next_call_dials_again() {
    Simulation::explore(0..100, |sim| {
        let net = SimNetwork::new();
        let [a, b] = members(sim, &net)?;
        a.worker("stock")?;
        let stock = b.remote("stock", "a@sim");
        let to = stock.pid();
        let watcher = b.observer()?;
        watcher.does(Watching::Keep(stock.clone(), LONG));
        sim.run_until_idle();
        assert_eq!(net.connections(), [("b@sim".to_owned(), "a@sim".to_owned())]);
        assert_eq!(net.reset("b@sim", "a@sim"), 1);
        sim.run_until_idle();
        let lost = CallError::Terminated { to, reason: Reason::NoConnection };
        assert_eq!(watcher.take(), [Seen::Sum(Err(lost))]);
        assert_eq!((a.peers().len(), b.peers().len(), net.connections().len()), (0, 0, 0));
        assert_eq!(stock.call(|reply| Order::Add(2, 3, reply)).wait(), Ok(5));
        Ok(())
    });
}

#[test]
fn zsim2_a_network_is_for_nodes_of_a_simulation_that_have_different_names() {
    let net = SimNetwork::new();
    let start = |node: &Node| {
        let net = net.clone();
        let cluster = move || Cluster::new(Cookie::new("secret").unwrap()).network(&net);
        node.spawn_system(cluster).wait().map(drop)
    };
    let real = Node::start("real@127.0.0.1").unwrap();
    let error = start(&real).unwrap_err().to_string();
    assert!(error.contains("for the nodes of a simulation"), "{error}");
    real.stop().wait().unwrap();
    let sim = Simulation::new(1);
    let (one, other) = (sim.beside("a@sim").unwrap(), sim.beside("a@sim").unwrap());
    start(&one).unwrap();
    let error = start(&other).unwrap_err().to_string();
    assert!(error.contains("another node has the name \"a@sim\""), "{error}");
    one.stop().wait().unwrap();
    start(&other).unwrap();
}

#[test]
fn zsim2_a_big_message_crosses_a_window_that_fills() {
    let (sim, net) = (Simulation::new(2), SimNetwork::new());
    let [a, b] = members(&sim, &net).unwrap();
    a.worker("stock").unwrap();
    let watcher = b.observer().unwrap();
    let stock = b.remote("stock", "a@sim");
    let text = "x".repeat(300_000);
    let pid = stock.call(Order::Who).wait().unwrap();
    watcher.monitor(Target::Pid(pid));
    stock.send(Order::End(Some(text.clone()))).unwrap();
    sim.run_until_idle();
    let [Seen::Down(.., reason)] = &watcher.take()[..] else { panic!("one notice") };
    assert!(reason.to_string().contains(&text), "{} bytes", reason.to_string().len());
}

#[test]
fn zmsg13_a_connection_whose_peer_takes_nothing_rests_until_it_does() {
    let (sim, net) = (Simulation::new(4), SimNetwork::new());
    let [a, b] = members(&sim, &net).unwrap();
    a.worker("stock").unwrap();
    let (stock, text) = (b.remote("stock", "a@sim"), "x".repeat(300_000));
    let watcher = b.observer().unwrap();
    watcher.monitor(Target::Pid(stock.call(Order::Who).wait().unwrap()));
    net.partition(&["a@sim"], &["b@sim"]);
    stock.send(Order::End(Some(text))).unwrap();
    // More than the network takes waits, and nobody has a turn for it.
    let turns = (0..1_000).take_while(|_| sim.step().is_some()).count();
    assert!(turns < 100, "{turns} turns");
    assert!(b.cluster.connections().unwrap()[0].waiting > 100_000);
    net.heal();
    sim.run_until_idle();
    assert!(matches!(&watcher.take()[..], [Seen::Down(..)]));
}

#[test]
fn zhs10_a_dial_is_over_when_its_connection_is_up() {
    let (sim, net) = (Simulation::new(5), SimNetwork::new());
    let [a, b] = members(&sim, &net).unwrap();
    a.worker("stock").unwrap();
    let dials = || {
        let inspection = b.node.inspect(b.cluster.pid()).wait().unwrap();
        inspection.number("dials").unwrap()
    };
    net.delay(Duration::from_millis(50));
    b.remote("stock", "a@sim").send(Order::Note(1)).unwrap();
    sim.run_until_idle();
    assert_eq!(dials(), 1);
    // Only so many dials are made at a time; connections do not count.
    sim.advance(Duration::from_secs(1));
    assert_eq!((b.peers().len(), dials()), (1, 0));
}

/// Sends numbers when it is stopped.
struct LastWords {
    stock: Recipient<Order>,
}

impl Actor for LastWords {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<()>, _: &Reason) {
        for number in 0..20 {
            let _ = self.stock.send(Order::Note(number));
        }
    }
}

/// More than a peer takes at once: what waits here is written before the end, also if the cluster is stopped alone.
#[test]
fn zlive6_what_waits_to_be_written_is_written_before_an_end_in_order() {
    Simulation::explore(0..10, |sim| {
        for whole_node in [true, false] {
            let net = SimNetwork::new();
            let [a, b] = [format!("a{whole_node}@sim"), format!("b{whole_node}@sim")];
            let (a, b) = (Member::start(sim, &net, &a)?, Member::start(sim, &net, &b)?);
            let worker = b.node.spawn(Worker::default).name("stock").wait()?;
            b.cluster.export::<Order>("stock")?;
            let stock = a.remote("stock", &b.name);
            assert_eq!(stock.call(|reply| Order::Add(2, 3, reply)).wait(), Ok(5));
            for number in 0..5_000 {
                stock.send(Order::Note(number)).map_err(SendError::without_message)?;
            }
            if whole_node {
                a.node.stop().wait()?;
            } else {
                let end = a.cluster.watch();
                a.cluster.finish();
                end.wait()?;
            }
            sim.advance(LONG);
            assert_eq!(worker.call(Order::Notes).wait()?, (0..5_000).collect::<Vec<_>>());
            let killed = a.node.stats().ended[&ReasonKind::Killed];
            assert_eq!(killed, 0, "all has ended in order");
        }
        Ok(())
    });
}

/// A peer that takes nothing holds an end up for some seconds, and no longer.
#[test]
fn zlive6_what_a_peer_does_not_take_is_given_up() {
    Simulation::explore(0..10, |sim| {
        let net = SimNetwork::new();
        let [a, b] = members(sim, &net)?;
        b.worker("stock")?;
        let stock = a.remote("stock", "b@sim");
        assert_eq!(stock.call(|reply| Order::Add(2, 3, reply)).wait(), Ok(5));
        net.partition(&["a@sim"], &["b@sim"]);
        for number in 0..5_000 {
            stock.send(Order::Note(number)).map_err(SendError::without_message)?;
        }
        let begun = a.node.now();
        a.node.stop().wait()?;
        let took = a.node.now() - begun;
        assert!(took < Duration::from_secs(6), "{took:?}");
        Ok(())
    });
}

#[test]
fn zlive6_what_processes_send_while_their_node_stops_arrives() {
    Simulation::explore(0..100, |sim| {
        let net = SimNetwork::new();
        let [a, b] = members(sim, &net)?;
        let worker = b.node.spawn(Worker::default).name("stock").wait()?;
        b.cluster.export::<Order>("stock")?;
        let stock = a.remote("stock", "b@sim");
        assert_eq!(stock.call(|reply| Order::Add(2, 3, reply)).wait(), Ok(5));
        a.node.spawn(move || LastWords { stock }).wait()?;
        a.node.stop().wait()?;
        sim.advance(LONG);
        assert_eq!(worker.call(Order::Notes).wait()?, (0..20).collect::<Vec<_>>());
        Ok(())
    });
}
