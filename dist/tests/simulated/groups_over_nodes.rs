//! Groups of several nodes of a simulation: who is seen where, and what is told (rules Zpg1 to Zpg6).

use crate::sim_support::groups::{
    carrying_all, check_told, join, known, mesh, process, view, view_in, watched,
};
use crate::sim_support::{Choices, Member, Order, some_turns};
use krarup_act::{Actor, Context, Recipient};
use krarup_dist::etf::Term;
use krarup_dist::{Cluster, ClusterCalls, ClusterError, HasCluster, NodeRights, Reach, SimNetwork};
use krarup_gen::{LeaveError, Pid, Reason, Result};
use krarup_node::Simulation;
use std::time::Duration;

/// Everything that is under way arrives.
fn settle(sim: &Simulation) {
    sim.advance(Duration::from_secs(2));
}

/// The process of a scope.
fn scope(of: &Member, name: &str) -> Pid {
    of.node.whereis(name).unwrap()
}

#[test]
fn zpg1_a_scope_is_a_process_of_its_name_and_greets_every_node_that_comes_up() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a, b] = carrying_all(&sim, &net)?;
    let pid = scope(&a, "pg");
    let info = a.node.process_info(pid).unwrap();
    assert_eq!(info.root, krarup_gen::Root::System);
    assert_eq!(info.parent, Some(a.cluster.pid()));
    let inspection = a.node.inspect(pid).wait()?;
    assert_eq!(inspection.text("scope"), Some("pg"));
    assert_eq!(inspection.number("peer_scopes"), Some(0));
    let member = process(&b)?;
    join(&b, "stock", &member);
    settle(&sim);
    assert_eq!(view(&a, "stock"), []);
    // Nobody has used a group between them: the nodes have connected, and that is enough.
    mesh(&[&a, &b]);
    settle(&sim);
    assert_eq!(view(&a, "stock"), [known(&b, member.pid())]);
    assert_eq!(a.node.inspect(pid).wait()?.number("peer_scopes"), Some(1));
    // A node that carries no groups is told none, and a scope is not reached as a process.
    let plain = Member::start(&sim, &net, "plain@sim")?;
    mesh(&[&a, &plain]);
    join(&plain, "stock", &process(&plain)?);
    settle(&sim);
    assert_eq!((view(&a, "stock").len(), view(&plain, "stock").len()), (1, 1));
    assert_eq!(plain.cluster.groups("pg").unwrap_err(), ClusterError::NoScope("pg".into()));
    let there = plain.pid_of(pid, &a);
    plain.node.exit(there, Reason::Kill);
    settle(&sim);
    assert_eq!(scope(&a, "pg"), pid);
    Ok(())
}

#[test]
fn zpg2_members_of_all_nodes_are_looked_up_alike_and_can_be_sent_to() -> Result {
    let (sim, net) = (Simulation::new(2), SimNetwork::new());
    let [a, b, c] = carrying_all(&sim, &net)?;
    mesh(&[&a, &b, &c]);
    settle(&sim);
    let all = [process(&a)?, process(&b)?, process(&c)?];
    for (of, member) in [&b, &a, &c, &b].iter().zip([&all[1], &all[0], &all[2], &all[1]]) {
        join(of, "stock", member);
        settle(&sim);
    }
    let expected = [known(&b, all[1].pid()), known(&a, all[0].pid()), known(&c, all[2].pid())];
    let expected = [&expected[..], &expected[..1]].concat();
    for of in [&a, &b, &c] {
        // In the order of joining, and as often as each has joined.
        let groups = of.node.groups();
        let pids: Vec<_> = groups.pids("stock").into_iter().map(|pid| known(of, pid)).collect();
        assert_eq!(pids, expected);
        assert_eq!(groups.names().len(), 1);
        let recipients: Vec<Recipient<Order>> = groups.members("stock");
        let by_type: Vec<_> = recipients.iter().map(|it| known(of, it.pid())).collect();
        assert_eq!(by_type, expected);
        for (member, known) in recipients.iter().zip(&expected) {
            let pid = member.call(Order::Who).wait()?;
            assert_eq!(&crate::sim_support::groups::known(of, pid), known);
        }
        let here: Vec<Recipient<Order>> = groups.local_members("stock");
        let times = if of.name == "b@sim" { 2 } else { 1 };
        assert_eq!((here.len(), groups.local_pids("stock").len()), (times, times));
        // No node tells what its members take: a type that is not carried cannot be sent to them.
        assert_eq!(groups.members::<String>("stock"), []);
        assert_eq!(groups.any::<String>("stock"), None);
        let any: Vec<_> = (0..40).filter_map(|_| groups.any::<Order>("stock")).collect();
        let mut seen: Vec<_> = any.iter().map(|it| known_of(of, it)).collect();
        seen.sort();
        seen.dedup();
        assert_eq!((any.len(), seen.len()), (40, 3));
        // Who is of another node leaves there.
        let other = groups.pids("stock").into_iter().find(|pid| pid.node() != 0).unwrap();
        assert_eq!(groups.leave("stock", other), Err(LeaveError::NotLocal(other)));
        assert_eq!(groups.leave_all("stock", &[other]), 0);
        assert_eq!(groups.pids("stock").len(), 4);
    }
    b.node.groups().leave("stock", all[1].pid())?;
    settle(&sim);
    for of in [&a, &b, &c] {
        assert_eq!(of.node.groups().members::<Order>("stock").len(), 3);
    }
    b.node.groups().leave("stock", all[1].pid())?;
    c.node.kill(all[2].pid());
    settle(&sim);
    for of in [&a, &b, &c] {
        assert_eq!(view(of, "stock"), [known(&a, all[0].pid())]);
    }
    Ok(())
}

fn known_of(of: &Member, recipient: &Recipient<Order>) -> (String, u32) {
    known(of, recipient.pid())
}

/// Takes texts, which the cluster does not carry.
struct Texts;

impl Actor for Texts {
    type Message = String;

    async fn init(&mut self, ctx: &mut Context<String>) -> Result {
        Ok(ctx.join("texts")?)
    }

    async fn handle_message(&mut self, _: &mut Context<String>, _: String) -> Result {
        Ok(())
    }
}

#[test]
fn zpg2_a_member_of_a_type_that_is_not_carried_is_seen_and_a_message_to_it_is_a_dead_letter()
-> Result {
    let (sim, net) = (Simulation::new(3), SimNetwork::new());
    let [a, b] = carrying_all(&sim, &net)?;
    mesh(&[&a, &b]);
    let member = b.node.spawn(|| Texts).wait()?;
    settle(&sim);
    assert_eq!(view(&a, "texts"), [known(&b, member.pid())]);
    let [seen]: [Recipient<Order>; 1] =
        a.node.groups().members("texts").try_into().expect("one for each type that is carried");
    seen.send(Order::Note(1)).map_err(krarup_gen::SendError::without_message)?;
    settle(&sim);
    assert_eq!(b.cluster.stats()?.unreachable, 2, "the first one is that to nobody");
    assert!(b.node.is_alive(member.pid()));
    Ok(())
}

#[test]
fn zpg3_a_node_that_is_lost_takes_its_members_with_it_once_each() {
    Simulation::explore(0..100, |sim| {
        let (net, choices) = (SimNetwork::new(), Choices(sim));
        let [a, b, c] = carrying_all(sim, &net)?;
        mesh(&[&a, &b, &c]);
        settle(sim);
        let told = watched(&a)?;
        let members = [process(&b)?, process(&b)?, process(&c)?];
        for (of, member) in [(&b, 0), (&b, 0), (&b, 1), (&c, 2)] {
            join(of, "stock", &members[member]);
        }
        settle(sim);
        assert_eq!(view(&a, "stock").len(), 4);
        match choices.below(3) {
            0 => drop(net.reset("a@sim", "b@sim")),
            1 => {
                net.partition(&["a@sim"], &["b@sim"]);
                sim.advance(Duration::from_secs(120));
            }
            _ => {
                let Member { node, cluster, .. } = b;
                drop(cluster);
                node.stop().wait()?;
                drop(node);
            }
        }
        settle(sim);
        assert_eq!(view(&a, "stock"), [known(&c, members[2].pid())]);
        let seen = told.lock().unwrap();
        assert_eq!((seen.joined, seen.left), (4, 3));
        drop(seen);
        check_told(&a, &told);
        Ok(())
    });
}

#[test]
fn zpg3_a_scope_that_ends_is_started_again_and_no_member_of_the_time_before_is_left() {
    Simulation::explore(0..100, |sim| {
        let (net, choices) = (SimNetwork::new(), Choices(sim));
        let [a, b] = carrying_all(sim, &net)?;
        mesh(&[&a, &b]);
        let (mine, theirs) = (process(&a)?, process(&b)?);
        join(&a, "stock", &mine);
        join(&a, "stock", &mine);
        join(&b, "stock", &theirs);
        settle(sim);
        let told = (watched(&a)?, watched(&b)?);
        let expected = view(&a, "stock");
        assert_eq!((expected.len(), view(&b, "stock")), (3, expected.clone()));
        let before = scope(&a, "pg");
        a.node.kill(before);
        some_turns(sim, choices.below(20));
        // What joins and leaves meanwhile is told by the next one.
        a.node.groups().leave("stock", mine.pid())?;
        let late = process(&b)?;
        join(&b, "stock", &late);
        settle(sim);
        assert_ne!(scope(&a, "pg"), before);
        for (of, told) in [(&a, &told.0), (&b, &told.1)] {
            let expected = [known(&a, mine.pid()), known(&b, theirs.pid()), known(&b, late.pid())];
            assert_eq!(view(of, "stock"), expected);
            check_told(of, told);
        }
        // The connection has stood, and nobody else has noticed.
        assert_eq!(a.peers(), ["b@sim"]);
        Ok(())
    });
}

#[test]
fn zpg3_a_cluster_that_ends_has_no_members_of_other_nodes_and_the_next_one_has() -> Result {
    let (sim, net) = (Simulation::new(4), SimNetwork::new());
    let [a, b] = carrying_all(&sim, &net)?;
    mesh(&[&a, &b]);
    let (mine, theirs) = (process(&a)?, process(&b)?);
    join(&a, "stock", &mine);
    join(&b, "stock", &theirs);
    settle(&sim);
    let (told_a, told_b) = (watched(&a)?, watched(&b)?);
    assert_eq!(view(&a, "stock").len(), 2);
    a.node.kill(a.cluster.pid());
    settle(&sim);
    assert_eq!(a.node.groups().pids("stock"), [mine.pid()]);
    assert_eq!(view(&b, "stock"), [known(&b, theirs.pid())]);
    assert_eq!(a.node.whereis("pg"), None);
    let (again, cookie) = (net.clone(), krarup_dist::Cookie::new("secret")?);
    let cluster = move || Cluster::new(cookie).network(&again).groups("pg").carries::<Order>();
    let cluster = a.node.spawn_system(cluster).wait()?;
    let a = Member { node: a.node, cluster, name: a.name };
    mesh(&[&a, &b]);
    settle(&sim);
    assert_eq!((view(&a, "stock").len(), view(&b, "stock").len()), (2, 2));
    check_told(&a, &told_a);
    check_told(&b, &told_b);
    Ok(())
}

#[test]
fn zpg4_after_a_partition_nodes_list_the_same_members_as_often_as_they_have_joined() {
    Simulation::explore(0..120, |sim| {
        let (net, choices) = (SimNetwork::new(), Choices(sim));
        let [a, b] = carrying_all(sim, &net)?;
        mesh(&[&a, &b]);
        let members = [process(&a)?, process(&b)?, process(&b)?];
        let owners = [&a, &b, &b];
        for (of, member) in owners.iter().zip(&members) {
            join(of, "stock", member);
            join(of, "stock", member);
            join(of, "desk", member);
        }
        settle(sim);
        let told = (watched(&a)?, watched(&b)?);
        if choices.below(2) == 0 {
            net.partition(&["a@sim"], &["b@sim"]);
        } else {
            net.reset("a@sim", "b@sim");
        }
        // Each side goes on alone.
        for _ in 0..6 {
            let at = choices.below(3);
            match choices.below(4) {
                0 => drop(owners[at].node.groups().leave("stock", members[at].pid())),
                1 => drop(owners[at].node.groups().leave("desk", members[at].pid())),
                2 if owners[at].node.is_alive(members[at].pid()) => {
                    join(owners[at], "desk", &members[at]);
                }
                _ => {
                    owners[at].node.kill(members[at].pid());
                    sim.run_until_idle();
                }
            }
            sim.advance(choices.millis(20_000));
        }
        sim.advance(Duration::from_secs(120));
        net.heal();
        mesh(&[&a, &b]);
        sim.advance(Duration::from_secs(30));
        assert_eq!(a.peers().len(), 1);
        for group in ["stock", "desk"] {
            let local = |of: &Member| {
                let pids = of.node.groups().local_pids(group);
                pids.into_iter().map(|pid| known(of, pid)).collect::<Vec<_>>()
            };
            let mut expected = [local(&a), local(&b)].concat();
            expected.sort();
            assert_eq!((view(&a, group), view(&b, group)), (expected.clone(), expected));
        }
        check_told(&a, &told.0);
        check_told(&b, &told.1);
        Ok(())
    });
}

#[test]
fn zpg5_scopes_know_nothing_of_each_other() -> Result {
    let (sim, net) = (Simulation::new(5), SimNetwork::new());
    let scoped = |cluster: Cluster| cluster.groups("pg").scope("metrics");
    let a = Member::with_settings(&sim, &net, "a@sim", scoped)?;
    let b = Member::with_settings(&sim, &net, "b@sim", scoped)?;
    // The same groups of the node, under another name.
    let c = Member::with_settings(&sim, &net, "c@sim", |cluster| cluster.groups("metrics"))?;
    mesh(&[&a, &b, &c]);
    settle(&sim);
    let (one, two) = (process(&a)?, process(&c)?);
    a.cluster.groups("metrics")?.join("stock", &one.recipient::<Order>())?;
    join(&c, "stock", &two);
    settle(&sim);
    let expected = [known(&a, one.pid()), known(&c, two.pid())];
    for of in [&a, &b] {
        assert_eq!(view_in(of, &of.cluster.groups("metrics")?, "stock"), expected);
        assert_eq!(view(of, "stock"), []);
        let by_handle = of.cluster.cluster()?.groups("metrics")?;
        assert_eq!(by_handle.pids("stock").len(), 2);
        assert_eq!(of.cluster.term_groups("metrics")?.names(), [Term::binary("stock")]);
    }
    assert_eq!(view(&c, "stock"), expected);
    // A scope that ends takes what it has of other nodes with it, and its own members stay.
    b.node.kill(scope(&b, "pg"));
    a.node.kill(scope(&a, "metrics"));
    settle(&sim);
    for of in [&a, &b] {
        assert_eq!(view_in(of, &of.cluster.groups("metrics")?, "stock"), expected);
    }
    // It ends as any member.
    a.node.kill(one.pid());
    settle(&sim);
    assert_eq!(view_in(&b, &b.cluster.groups("metrics")?, "stock").len(), 1);
    Ok(())
}

#[test]
fn zpg5_settings_that_make_no_sense_fail_the_spawn() -> Result {
    let (sim, net) = (Simulation::new(6), SimNetwork::new());
    let start = |name, settings: fn(Cluster) -> Cluster| {
        Member::with_settings(&sim, &net, name, settings)
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let zero = start("a@sim", |cluster| cluster.groups("pg").member_limit(0)).unwrap_err();
    assert!(zero.contains("a limit of 0 members would refuse"), "{zero}");
    assert!(start("b@sim", |cluster| cluster.groups("")).is_err());
    // The name of a scope is that of a process.
    let c = sim.beside("c@sim")?;
    c.spawn(crate::sim_support::Worker::default).name("pg").wait()?;
    let (on, cookie) = (net.clone(), krarup_dist::Cookie::new("secret")?);
    let taken = c.spawn_system(move || Cluster::new(cookie).network(&on).groups("pg")).wait();
    assert!(taken.unwrap_err().to_string().contains("pg"));
    Ok(())
}

#[test]
fn zsec4_groups_are_shared_with_the_nodes_that_have_the_right_to_them() {
    Simulation::explore(0..20, |sim| {
        let net = SimNetwork::new();
        let a = Member::with_settings(sim, &net, "a@sim", |cluster| {
            // A right to scopes is apart from that to monitor processes.
            let shares = NodeRights::none().groups(Reach::only(["pg"]));
            cluster.groups("pg").policy("b@sim", NodeRights::none()).policy("c@sim", shares)
        })?;
        let [b, c] = ["b@sim", "c@sim"]
            .map(|name| Member::with_settings(sim, &net, name, |cluster| cluster.groups("pg")));
        let (b, c) = (b?, c?);
        mesh(&[&a, &b, &c]);
        let members = [&a, &b, &c].map(|of| (of, process(of).unwrap()));
        members.iter().for_each(|(of, member)| join(of, "stock", member));
        settle(sim);
        let seen = |at: &Member, from: &[usize]| {
            let there = from.iter().map(|of| known(members[*of].0, members[*of].1.pid()));
            assert_eq!(view(at, "stock"), there.collect::<Vec<_>>());
        };
        seen(&a, &[0, 2]);
        seen(&b, &[1, 2]);
        seen(&c, &[0, 1, 2]);
        assert!(a.cluster.stats()?.denied > 0);
        Ok(())
    });
}
