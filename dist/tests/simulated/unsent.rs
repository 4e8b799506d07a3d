//! Messages to other nodes that were accepted and never written (rule Zmsg16).

use crate::sim_support::{Member, Order, members};
use krarup_dist::{ClusterCalls, SimNetwork};
use krarup_gen::{DeadLetterCause, Memory};
use krarup_node::Simulation;

/// The receivers of the dead letters of a node, in order.
fn receivers(of: &Member) -> Vec<String> {
    let letters = of.node.view().dead_letters(0, 100).items;
    let receiver = |letter: &krarup_gen::Recorded<krarup_gen::DeadLetter>| {
        assert_eq!(letter.item.cause, DeadLetterCause::NoConnection);
        assert_eq!((letter.item.from, &letter.item.node), (None, &None));
        letter.item.to.to_string()
    };
    letters.iter().map(receiver).collect()
}

#[test]
fn zmsg16_messages_to_a_node_that_cannot_be_reached_are_dead_letters() {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a, b] = members(&sim, &net).unwrap();
    a.worker("stock").unwrap();
    let pid = b.remote("stock", "a@sim").call(Order::Who).wait().unwrap();
    let by_pid = b.cluster.remote_pid::<Order>(pid).unwrap();
    assert!(b.cluster.disconnect("a@sim").unwrap());
    sim.run_until_idle();
    b.node.remember(Memory { dead_letters: 100, ..Memory::default() });
    let nobody = b.remote("stock", "nobody@sim");
    net.refuse("a@sim", true);
    for number in 0..3 {
        nobody.send(Order::Note(number)).unwrap();
        by_pid.send(Order::Note(number)).unwrap();
    }
    sim.run_until_idle();
    let mut seen = receivers(&b);
    seen.sort();
    let mut expected =
        [vec!["\"stock\" at nobody@sim".to_owned(); 3], vec![pid.to_string(); 3]].concat();
    expected.sort();
    assert_eq!(seen, expected);
    // The request of a call that fails is one, too.
    assert!(nobody.call(Order::Who).wait().is_err());
    assert_eq!(b.node.stats().dead_letters, 7);
}

#[test]
fn zmsg16_messages_that_wait_for_a_connection_that_is_lost_are_dead_letters() {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a, b] = members(&sim, &net).unwrap();
    let worker = a.worker("stock").unwrap();
    let stock = b.remote("stock", "a@sim");
    assert_eq!(stock.call(|reply| Order::Add(2, 3, reply)).wait(), Ok(5));
    b.node.remember(Memory { dead_letters: 100, ..Memory::default() });
    net.partition(&["a@sim"], &["b@sim"]);
    // The network takes a part of it, and what its sender sends behind it waits.
    stock.send(Order::End(Some("x".repeat(300_000)))).unwrap();
    for number in 0..5 {
        stock.send(Order::Note(number)).unwrap();
    }
    sim.run_until_idle();
    assert!(receivers(&b).is_empty());
    net.heal();
    assert_eq!(net.reset("a@sim", "b@sim"), 1);
    sim.run_until_idle();
    assert_eq!(receivers(&b), vec!["\"stock\" at a@sim"; 6]);
    // What has arrived is none.
    assert_eq!(stock.call(Order::Notes).wait(), Ok(vec![]));
    stock.send(Order::Note(7)).unwrap();
    sim.run_until_idle();
    assert_eq!(net.reset("a@sim", "b@sim"), 1);
    sim.run_until_idle();
    assert_eq!(b.node.stats().dead_letters, 6);
    assert_eq!(stock.call(Order::Notes).wait(), Ok(vec![7]));
    assert!(a.node.is_alive(worker));
}
