//! Scopes of groups whose peers are busy, and scopes that end again and again (rules Zpg3, Zpg4).

use crate::sim_support::groups::{carrying, check_told, join, known, mesh, process, view, watched};
use crate::sim_support::{Choices, Member};
use krarup_dist::{Cluster, ClusterCalls, SimNetwork};
use krarup_node::{Faults, Simulation};
use std::time::Duration;

#[test]
fn zpg4_changes_for_a_busy_node_wait_as_one_list_of_all_members() {
    Simulation::explore(0..6, |sim| {
        let net = SimNetwork::new();
        let a = Member::with_settings(sim, &net, "a@sim", |cluster: Cluster| {
            cluster.groups("pg").queue_limits(10_000, 60_000)
        })?;
        let b = carrying(sim, &net, "b@sim")?;
        mesh(&[&a, &b]);
        let told = watched(&b)?;
        let (member, other) = (process(&a)?, process(&a)?);
        join(&a, "stock", &member);
        sim.advance(Duration::from_secs(1));
        assert_eq!(view(&b, "stock").len(), 1);
        // A thousand changes are more than may wait, and than the network takes.
        net.partition(&["a@sim"], &["b@sim"]);
        let others = Choices(sim).below(50);
        for _ in 0..1_000 {
            join(&a, "stock", &other);
            join(&a, "stock", &other);
            a.node.groups().leave("stock", other.pid())?;
            sim.run_until_idle();
        }
        for _ in 0..others {
            join(&a, "desk", &member);
        }
        sim.run_until_idle();
        let connection = a.cluster.connections()?.remove(0);
        assert!(connection.most_waiting < 20_000, "{connection:?}");
        net.heal();
        sim.advance(Duration::from_secs(5));
        let mut expected = vec![known(&a, other.pid()); 1_000];
        expected.push(known(&a, member.pid()));
        expected.sort();
        assert!(view(&b, "stock") == expected && view(&b, "desk").len() == others);
        check_told(&b, &told);
        // The connection is the same, and what is owed is paid.
        assert_eq!((a.cluster.connections()?.len(), b.peers().len()), (1, 1));
        let scope = a.node.whereis("pg").unwrap();
        assert_eq!(a.node.inspect(scope).wait()?.number("owed"), Some(0));
        a.node.groups().leave("stock", member.pid())?;
        sim.run_until_idle();
        sim.advance(Duration::from_secs(1));
        assert_eq!(view(&b, "stock").len(), 1_000);
        Ok(())
    });
}

#[test]
fn zpg3_a_scope_that_ends_at_each_message_is_started_again_a_few_times_and_then_later() {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let a = carrying(&sim, &net, "a@sim").unwrap();
    let b = carrying(&sim, &net, "b@sim").unwrap();
    mesh(&[&a, &b]);
    let member = process(&b).unwrap();
    join(&b, "stock", &member);
    sim.advance(Duration::from_secs(1));
    let first = a.node.whereis("pg").unwrap();
    // Each scope of `a` ends by its first message.
    let ends = |sim: &Simulation| {
        for _ in 0..100 {
            let Some(scope) = a.node.whereis("pg") else { continue };
            sim.faults(Faults::new().kill_one_in(1).only(scope).at_most(1));
            join(&a, "desk", &process(&a).unwrap());
            sim.run_until_idle();
        }
        sim.faults(Faults::new());
    };
    ends(&sim);
    assert_eq!(a.node.whereis("pg"), None);
    let stats = a.node.stats();
    assert!(stats.processes < 200, "{stats:?}");
    // Its node goes on meanwhile, and the scope runs again when its time is over.
    assert_eq!((a.peers().len(), view(&a, "stock").len()), (1, 0));
    sim.advance(Duration::from_secs(15));
    assert!(a.node.whereis("pg").is_some_and(|scope| scope != first));
    mesh(&[&a, &b]);
    sim.advance(Duration::from_secs(1));
    assert_eq!(view(&a, "stock"), [known(&b, member.pid())]);
    assert_eq!(view(&b, "desk").len(), view(&a, "desk").len());
}
