//! Scopes of other nodes that start after the connection, or start again, and that greet nobody (rule
//! Zpg7).

use crate::sim_support::groups::{
    carrying, carrying_all, check_told, join, known, mesh, process, view, watched,
};
use crate::sim_support::otp_scope::{OtpScopeHandle, otp_node, otp_scope, silent_scope};
use crate::sim_support::{Choices, Member, some_turns};
use krarup_dist::{Cluster, ClusterCalls, NodeRights, SimNetwork};
use krarup_gen::Result;
use krarup_node::Simulation;
use std::time::Duration;

/// Longer than the longest wait between two greetings.
const FOUND_WITHIN: Duration = Duration::from_secs(33);

/// How many nodes have not answered.
fn unanswered(of: &Member) -> Option<u64> {
    let scope = of.node.whereis("pg").unwrap();
    of.node.inspect(scope).wait().unwrap().number("unanswered")
}

#[test]
fn zpg7_a_scope_that_starts_after_the_connection_is_found_and_finds_this_one() {
    Simulation::explore(0..60, |sim| {
        let (net, choices) = (SimNetwork::new(), Choices(sim));
        let (a, b) = (carrying(sim, &net, "a@sim")?, otp_node(sim, &net, "b@sim")?);
        let (mine, theirs) = (process(&a)?, process(&b)?);
        join(&a, "stock", &mine);
        join(&a, "stock", &mine);
        mesh(&[&a, &b]);
        sim.advance(choices.millis(200_000));
        assert_eq!((view(&a, "stock").len(), unanswered(&a)), (2, Some(1)));
        let told = watched(&a)?;
        let scope = otp_scope(&b, &[theirs.pid(), theirs.pid()])?;
        some_turns(sim, choices.below(20));
        sim.advance(FOUND_WITHIN);
        assert_eq!((view(&a, "stock").len(), scope.members()), (4, 2));
        // Each side goes on telling the other of what changes.
        join(&a, "stock", &mine);
        sim.advance(Duration::from_secs(1));
        assert_eq!(scope.members(), 3);
        check_told(&a, &told);
        assert_eq!((told.lock().unwrap().joined, unanswered(&a)), (3, Some(0)));
        Ok(())
    });
}

#[test]
fn zpg7_a_scope_that_ends_takes_its_members_with_it_and_the_next_one_is_found() {
    Simulation::explore(0..60, |sim| {
        let (net, choices) = (SimNetwork::new(), Choices(sim));
        let (a, b) = (carrying(sim, &net, "a@sim")?, otp_node(sim, &net, "b@sim")?);
        let (mine, theirs) = (process(&a)?, process(&b)?);
        join(&a, "stock", &mine);
        let mut scope = otp_scope(&b, &[theirs.pid()])?;
        mesh(&[&a, &b]);
        sim.advance(Duration::from_secs(2));
        assert_eq!((view(&a, "stock").len(), scope.members()), (2, 1));
        let told = watched(&a)?;
        for rounds in 1..4 {
            b.node.kill(scope.pid);
            sim.run_until_idle();
            // At once, or when it is missed for long.
            if choices.below(2) == 0 {
                sim.advance(choices.millis(100_000));
                assert_eq!(view(&a, "stock"), [known(&a, mine.pid())]);
            }
            scope = otp_scope(&b, &[theirs.pid()])?;
            sim.advance(FOUND_WITHIN);
            assert_eq!((view(&a, "stock").len(), scope.members()), (2, 1));
            let told = told.lock().unwrap();
            assert_eq!((told.joined, told.left), (rounds, rounds));
        }
        check_told(&a, &told);
        // The connection has stood.
        assert_eq!((a.peers(), unanswered(&a)), (vec!["b@sim".to_owned()], Some(0)));
        Ok(())
    });
}

#[test]
fn zpg7_a_node_without_a_scope_is_greeted_less_and_less_often_until_the_connection_is_lost()
-> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let (a, b) = (carrying(&sim, &net, "a@sim")?, otp_node(&sim, &net, "b@sim")?);
    let silent = silent_scope(&b)?;
    mesh(&[&a, &b]);
    sim.run_until_idle();
    let start = sim.now();
    sim.advance(Duration::from_secs(130));
    let mut expected = vec![0, 1, 3, 7, 15, 31, 61, 91, 121];
    assert_eq!(silent.greeted_after(start), expected);
    // It is not greeted without a connection, and none is made for it.
    a.cluster.disconnect("b@sim")?;
    sim.run_until_idle();
    assert_eq!(unanswered(&a), Some(0));
    sim.advance(Duration::from_secs(300));
    assert_eq!((silent.greeted_after(start), a.peers().len()), (expected.clone(), 0));
    // The waits begin anew with the next one.
    mesh(&[&a, &b]);
    sim.run_until_idle();
    sim.advance(Duration::from_secs(5));
    expected.extend([430, 431, 433]);
    assert_eq!(silent.greeted_after(start), expected);
    // So do those of the next scope of this node.
    a.node.kill(a.node.whereis("pg").unwrap());
    sim.run_until_idle();
    sim.advance(Duration::from_secs(5));
    expected.extend([435, 436, 438]);
    assert_eq!(silent.greeted_after(start), expected);
    // A node that stops is not held up by what it waits for.
    a.node.stop().wait()?;
    Ok(())
}

#[test]
fn zpg7_nodes_that_have_answered_are_not_greeted_again() -> Result {
    let (sim, net) = (Simulation::new(2), SimNetwork::new());
    let [a, c] = carrying_all(&sim, &net)?;
    let (b, member) = (otp_node(&sim, &net, "otp@sim")?, process(&a)?);
    join(&a, "stock", &member);
    let scope = otp_scope(&b, &[])?;
    mesh(&[&a, &b, &c]);
    sim.advance(Duration::from_secs(3_600));
    let known = |of: &Member| {
        let scope = of.node.whereis("pg").unwrap();
        of.node.inspect(scope).wait().unwrap().number("peer_scopes")
    };
    for of in [&a, &c] {
        assert_eq!((known(of), unanswered(of)), (Some(2), Some(0)));
    }
    // Once by each.
    assert_eq!((scope.greeted_after(sim.now()).len(), scope.syncs()), (2, 2));
    assert_eq!(scope.members(), 1);
    Ok(())
}

#[test]
fn zpg7_a_greeting_to_a_node_without_groups_is_no_dead_letter_there() -> Result {
    let (sim, net) = (Simulation::new(3), SimNetwork::new());
    let (a, plain) = (carrying(&sim, &net, "a@sim")?, Member::start(&sim, &net, "plain@sim")?);
    mesh(&[&a, &plain]);
    sim.run_until_idle();
    let before = plain.node.stats().dead_letters;
    sim.advance(Duration::from_secs(100));
    assert_eq!(plain.node.stats().dead_letters, before);
    // It is counted as a message to nobody: seven greetings.
    assert!(plain.cluster.stats()?.unreachable >= 7);
    Ok(())
}

#[test]
fn zpg7_a_node_that_may_not_know_of_the_scope_is_never_greeted() -> Result {
    let (sim, net) = (Simulation::new(4), SimNetwork::new());
    let refuses = |cluster: Cluster| cluster.groups("pg").policy("b@sim", NodeRights::none());
    let a = Member::with_settings(&sim, &net, "a@sim", refuses)?;
    let b = otp_node(&sim, &net, "b@sim")?;
    let silent = silent_scope(&b)?;
    mesh(&[&a, &b]);
    sim.advance(Duration::from_secs(100));
    assert_eq!((a.peers().len(), silent.greeted_after(sim.now()).len()), (1, 0));
    assert_eq!(unanswered(&a), Some(0));
    Ok(())
}

#[test]
fn zpg7_scopes_find_each_other_whatever_happens_to_them_and_to_their_connection() {
    Simulation::explore(0..60, |sim| {
        let (net, choices) = (SimNetwork::new(), Choices(sim));
        let (a, b) = (carrying(sim, &net, "a@sim")?, otp_node(sim, &net, "b@sim")?);
        let (mine, theirs) = (process(&a)?, process(&b)?);
        join(&a, "stock", &mine);
        net.delay(choices.millis(2_000));
        mesh(&[&a, &b]);
        let told = watched(&a)?;
        let mut scope = None;
        for _ in 0..12 {
            match choices.below(6) {
                0 => drop(net.reset("a@sim", "b@sim")),
                1 => net.partition(&["a@sim"], &["b@sim"]),
                2 => net.heal(),
                3 => mesh(&[&a, &b]),
                4 => {
                    if let Some(scope) = a.node.whereis("pg") {
                        a.node.kill(scope);
                    }
                }
                _ => match scope.take() {
                    Some(OtpScopeHandle { pid, .. }) => {
                        b.node.kill(pid);
                        sim.run_until_idle();
                    }
                    None => scope = Some(otp_scope(&b, &[theirs.pid()])?),
                },
            }
            some_turns(sim, choices.below(40));
            sim.advance(choices.millis(20_000));
        }
        net.heal();
        // With longer delays a handshake may fail.
        net.delay(Duration::from_millis(300));
        sim.advance(Duration::from_secs(180));
        let scope = scope.map_or_else(|| otp_scope(&b, &[theirs.pid()]), Ok)?;
        mesh(&[&a, &b]);
        sim.advance(FOUND_WITHIN + Duration::from_secs(10));
        assert_eq!(view(&a, "stock"), [known(&a, mine.pid()), known(&b, theirs.pid())]);
        assert_eq!((scope.members(), unanswered(&a)), (1, Some(0)));
        check_told(&a, &told);
        Ok(())
    });
}
