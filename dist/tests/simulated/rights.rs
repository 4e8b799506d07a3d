//! Who may connect, with which cookie, and what for: over many seeds of a simulation.

use crate::sim_support::{Member, Order, Seen, Watching, not_connected};
use krarup_act::{Actor, Context};
use krarup_dist::{Cluster, ClusterCalls, NodeRights, Reach, RpcError, SimNetwork, TermException};
use krarup_gen::{CallError, Pid, Reason, Result, Target};
use krarup_node::Simulation;

/// Whether one member can call a worker of another one.
fn reaches(from: &Member, to: &Member) -> bool {
    let stock = from.remote("stock", &to.name);
    match stock.call(|reply| Order::Add(1, 2, reply)).wait() {
        Ok(sum) => sum == 3,
        Err(error) => {
            assert_eq!(error, not_connected("stock", &to.name));
            false
        }
    }
}

#[test]
fn zsec3_nodes_that_are_not_allowed_neither_connect_nor_are_dialled() {
    Simulation::explore(0..100, |sim| {
        let net = SimNetwork::new();
        let a = Member::with(sim, &net, "a@sim", "secret", |cluster| {
            cluster.allow(["b@*", "x*@sim"]).allow(["y@sim"])
        })?;
        let b = Member::start(sim, &net, "b@sim")?;
        let c = Member::start(sim, &net, "c@sim")?;
        let xenia = Member::start(sim, &net, "xenia@sim")?;
        for member in [&a, &b, &c, &xenia] {
            member.worker("stock")?;
        }
        // The cookie is right, the name is not.
        assert!(!reaches(&c, &a));
        let events = a.node_events()?;
        let dialled = sim.now();
        assert!(!reaches(&a, &c));
        assert_eq!(sim.now(), dialled, "a dial that is not allowed fails at once");
        assert!(reaches(&b, &a) && reaches(&a, &b) && reaches(&xenia, &a) && reaches(&b, &c));
        sim.run_until_idle();
        assert_eq!(a.peers(), ["b@sim", "xenia@sim"]);
        assert_eq!(events.lock().unwrap().len(), 2);
        Ok(())
    });
}

#[test]
fn zsec3_an_empty_list_of_nodes_allows_nobody() {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let nobody: [&str; 0] = [];
    let a = Member::with(&sim, &net, "a@sim", "secret", move |cluster| cluster.allow(nobody));
    let (a, b) = (a.unwrap(), Member::start(&sim, &net, "b@sim").unwrap());
    for member in [&a, &b] {
        member.worker("stock").unwrap();
    }
    assert!(!reaches(&b, &a) && !reaches(&a, &b));
}

#[test]
fn zsec3_each_node_may_have_its_own_cookie() {
    Simulation::explore(0..100, |sim| {
        let net = SimNetwork::new();
        let of_the_bank = krarup_dist::Cookie::new("of the bank")?;
        let a = Member::with(sim, &net, "a@sim", "ours", move |cluster| {
            let other = krarup_dist::Cookie::new("other").unwrap();
            cluster.cookie_for("bank*@sim", of_the_bank).cookie_for("*@sim", other)
        })?;
        let bank = Member::with(sim, &net, "bank@sim", "of the bank", |cluster| cluster)?;
        let other = Member::with(sim, &net, "c@sim", "other", |cluster| cluster)?;
        let ours = Member::with(sim, &net, "d@sim", "ours", |cluster| cluster)?;
        for member in [&a, &bank, &other, &ours] {
            member.worker("stock")?;
        }
        // Which of the two dials makes no difference.
        let pairs = [(&bank, true), (&other, true), (&ours, false)];
        for (member, is_shared) in pairs {
            let (from, to) = if sim.choose(2) == 0 { (member, &a) } else { (&a, member) };
            assert_eq!(reaches(from, to), is_shared, "{} to {}", from.name, to.name);
        }
        assert!(!reaches(&bank, &other) && !reaches(&other, &bank) && !reaches(&bank, &ours));
        Ok(())
    });
}

#[test]
fn zsec3_zsec4_a_text_that_is_no_pattern_fails_the_spawn() {
    Simulation::explore(0..1, |sim| {
        let net = SimNetwork::new();
        let settings: [fn(Cluster) -> Cluster; 4] = [
            |cluster| cluster.allow(["a@sim", "sim"]),
            |cluster| cluster.cookie_for("sim", krarup_dist::Cookie::new("x").unwrap()),
            |cluster| cluster.policy("sim", NodeRights::all()),
            |cluster| cluster.otp_25("sim"),
        ];
        for (number, settings) in settings.into_iter().enumerate() {
            let name = format!("odd{number}@sim");
            let Err(failed) = Member::with(sim, &net, &name, "secret", settings) else {
                panic!("it has started")
            };
            assert!(failed.to_string().contains("\"sim\" stands for no nodes"), "{failed}");
        }
        Ok(())
    });
}

struct Idle;

impl Actor for Idle {
    type Message = Order;

    async fn handle_message(&mut self, _: &mut Context<Order>, _: Order) -> Result {
        Ok(())
    }
}

fn serve(on: &Member) {
    for name in ["add", "sub"] {
        let value = |(a, b): (i64, i64)| async move { Ok::<_, TermException>(a + b) };
        on.cluster.serve("calc", name, value).unwrap();
    }
    on.cluster.serve("other", "f", |(): ()| async { Ok::<_, TermException>(1) }).unwrap();
    on.cluster.factory("calc", "worker", |(): ()| Idle).unwrap();
}

/// What a node can do: calls of `stock` and of `hidden`, functions, links, monitors.
#[derive(Debug, PartialEq)]
struct Abilities {
    calls: [bool; 2],
    functions: [bool; 3],
    links: [bool; 2],
    monitors: [bool; 2],
    casts: [bool; 2],
}

fn abilities(sim: &Simulation, a: &Member, from: &Member, pids: [Pid; 2]) -> Result<Abilities> {
    let names = ["stock", "hidden"];
    let calls = names.map(|name| {
        match from.remote(name, "a@sim").call(|reply| Order::Add(1, 2, reply)).wait() {
            Ok(3) => true,
            Err(CallError::NoProcess { .. }) => false,
            other => panic!("{other:?}"),
        }
    });
    let function = |module, function| {
        let value = match (module, function) {
            ("other", _) => from.cluster.rpc::<i64>("a@sim", module, function, ()).wait(),
            _ => from.cluster.rpc::<i64>("a@sim", module, function, (1, 2)).wait(),
        };
        match value {
            Ok(_) => true,
            Err(RpcError::Raised { exception, .. }) => {
                assert_eq!(exception.to_string(), "error: undef");
                false
            }
            other => panic!("{other:?}"),
        }
    };
    let functions = [function("calc", "add"), function("calc", "sub"), function("other", "f")];
    let observer = from.observer()?;
    let bonds = |doing: fn(Target, Pid) -> Watching| {
        pids.map(|pid| {
            let there = from.pid_of(pid, a);
            observer.does(doing(Target::Pid(there), there));
            sim.run_until_idle();
            let seen = observer.take();
            assert!(seen.len() <= 1, "{seen:?}");
            match seen.first() {
                None => true,
                Some(Seen::Exit(_, Reason::NoProcess) | Seen::Down(_, _, Reason::NoProcess)) => {
                    false
                }
                other => panic!("{other:?}"),
            }
        })
    };
    let links = bonds(|_, pid| Watching::Link(pid));
    let monitors = pids.map(|pid| {
        let monitor = observer.monitor(from.pid_of(pid, a));
        sim.run_until_idle();
        let seen = observer.take();
        let over = seen.iter().any(|seen| matches!(seen, Seen::Down(of, ..) if *of == monitor));
        observer.does(Watching::Demonitor(monitor));
        !over
    });
    let casts = names.map(|name| {
        let notes = || {
            let stock = a.node.lookup::<Order, Order>(name).unwrap();
            stock.call(Order::Notes).wait().unwrap().len()
        };
        let before = notes();
        from.remote(name, "a@sim").send(Order::Note(1)).unwrap();
        sim.run_until_idle();
        notes() > before
    });
    observer.does(Watching::End);
    sim.run_until_idle();
    Ok(Abilities { calls, functions, links, monitors, casts })
}

#[test]
fn zsec4_a_policy_narrows_by_node_what_is_sent_called_linked_and_monitored() {
    Simulation::explore(0..30, |sim| {
        let net = SimNetwork::new();
        let a = Member::with(sim, &net, "a@sim", "secret", |cluster| {
            let stock = || Reach::only(["stock"]);
            let calls = NodeRights::none()
                .send(stock())
                .monitor(stock())
                .call(Reach::only(["calc:add", "other"]));
            cluster
                .policy("b@sim", calls)
                .policy("c@sim", NodeRights::all().link(Reach::Nothing))
                .policy("b*@sim", NodeRights::none())
                .policy("carl@sim", NodeRights::all().send(Reach::Nothing))
        })?;
        let pids = [a.worker("stock")?, a.worker("hidden")?];
        serve(&a);
        let may = |calls, functions, links, monitors| Abilities {
            calls,
            functions,
            links,
            monitors,
            casts: calls,
        };
        for (name, expected, denied) in [
            ("b@sim", may([true, false], [true, false, true], [false; 2], [true, false]), true),
            ("c@sim", may([true; 2], [true; 3], [false; 2], [true; 2]), true),
            ("bob@sim", may([false; 2], [false; 3], [false; 2], [false; 2]), true),
            // Its monitor stands, and its call fails at once all the same.
            ("carl@sim", may([false; 2], [true; 3], [true; 2], [true; 2]), true),
            ("dora@sim", may([true; 2], [true; 3], [true; 2], [true; 2]), false),
        ] {
            let before = a.cluster.stats()?.denied;
            let member = Member::start(sim, &net, name)?;
            assert_eq!(abilities(sim, &a, &member, pids)?, expected, "{name}");
            assert_eq!(a.cluster.stats()?.denied > before, denied, "{name}");
            // What was not allowed leaves nothing, and this node may use the other one.
            member.check_clean();
            member.worker("stock")?;
            assert!(reaches(&a, &member));
        }
        a.check_clean();
        assert_eq!(a.node.whereis("stock").zip(a.node.whereis("hidden")), Some((pids[0], pids[1])));
        Ok(())
    });
}

#[test]
fn zsec4_a_node_without_rights_is_called_linked_and_monitored_as_any_other() {
    Simulation::explore(0..30, |sim| {
        let net = SimNetwork::new();
        // It may do nothing, and is asked.
        let a = Member::with(sim, &net, "a@sim", "secret", |cluster| {
            cluster.policy("*@*", NodeRights::none())
        })?;
        let b = Member::start(sim, &net, "b@sim")?;
        b.worker("stock")?;
        serve(&b);
        assert!(reaches(&a, &b));
        assert_eq!(a.cluster.rpc("b@sim", "calc", "add", (20, 3)).wait(), Ok(23));
        let observer = a.observer()?;
        let stock = b.node.whereis("stock").unwrap();
        let monitor = observer.monitor(a.pid_of(stock, &b));
        observer.does(Watching::Link(a.pid_of(stock, &b)));
        sim.run_until_idle();
        b.node.kill(stock);
        sim.run_until_idle();
        let seen = observer.take();
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert!(seen.iter().any(|seen| matches!(seen, Seen::Down(of, ..) if *of == monitor)));
        assert_eq!(a.cluster.stats()?.denied, 0);
        Ok(())
    });
}
