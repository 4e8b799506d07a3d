//! The life of a cluster, of its connections and of what it knows of others.

use crate::support::raw::{LONG, RawPeer, until};
use crate::support::served::{served, table, works};
use crate::support::{Member, Order};
use krarup_act::{Context, Received, behavior_fn};
use krarup_dist::{Cluster, ClusterCalls, Cookie, HasCluster};
use krarup_gen::{CallError, Down, Reason, Target};
use std::sync::mpsc::channel;

#[test]
fn zid6_a_cluster_that_is_started_again_is_the_same_incarnation() {
    let (a, b) = served("again");
    let creation = b.cluster.connections().unwrap()[0].creation;
    a.node.kill(a.cluster.pid());
    until("it has ended", || a.cluster.nodes().is_err() && b.cluster.nodes().unwrap().is_empty());
    let cluster = || Cluster::new(Cookie::new("secret").unwrap());
    let cluster = a.node.spawn_system(cluster).wait().unwrap();
    cluster.export::<Order>("stock").unwrap();
    let a = Member { cluster, ..a };
    let c = Member::start("again_c@127.0.0.1", "secret", &[&a]);
    assert!(works(&a, &c));
    assert_eq!(c.cluster.connections().unwrap()[0].creation, creation);
}

#[test]
fn zobs1_connected_nodes_are_listed_in_the_order_of_their_names() {
    let (a, _b) = served("order");
    let names = ["zz@127.0.0.1", "aa@127.0.0.1", "mm@127.0.0.1"];
    let mut peers: Vec<RawPeer> = names.iter().map(|name| RawPeer::up(name, &a)).collect();
    assert!(peers.iter_mut().all(RawPeer::stands));
    let names: Vec<String> = a.cluster.nodes().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["aa@127.0.0.1", "mm@127.0.0.1", "order_b@127.0.0.1", "zz@127.0.0.1"]);
}

#[test]
fn zid3_a_node_that_somebody_uses_is_not_forgotten() {
    let (a, b) = served("used");
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    assert!(b.cluster.disconnect(&a.name).unwrap());
    until("it is down", || b.cluster.nodes().unwrap().is_empty());
    // Another one, which nobody uses, is forgotten.
    drop(b.cluster.remote::<Order>("stock", "unused@127.0.0.1").unwrap());
    assert_eq!(table(&b, "known_nodes"), 2);
    until("the other one is forgotten", || table(&b, "known_nodes") == 1);
    assert_eq!(stock.call(|reply| Order::Add(1, 1, reply)).timeout(LONG).wait(), Ok(2));
}

#[test]
fn zlive7_a_connection_that_is_killed_is_a_loss_and_no_more() {
    let (a, b) = served("killed");
    let (told, tells) = channel::<Down>();
    let node = a.name.parse().unwrap();
    let watcher = behavior_fn(move |mut ctx: Context<()>| async move {
        ctx.monitor(Target::Node(node));
        while let Received::Down(down) = ctx.receive().await {
            let _ = told.send(down);
        }
        Ok(())
    });
    b.node.spawn(move || watcher).start().unwrap();
    until("it monitors", || b.cluster.connections().unwrap()[0].bound_processes == 1);
    let connection = b.node.tree().into_iter().find_map(|tree| {
        let found = tree.walk().find(|(_, below)| below.process.behavior.to_string() == a.name);
        found.map(|(_, below)| below.process.pid)
    });
    b.node.kill(connection.unwrap());
    assert_eq!(tells.recv_timeout(LONG).unwrap().reason, Reason::NoConnection);
    assert!(works(&a, &b));
}

#[test]
fn zsec4_a_name_that_is_not_exported_any_more_is_not_reached() {
    let (a, b) = served("unexport");
    assert!(a.cluster.unexport("stock").unwrap());
    assert!(!a.cluster.unexport("stock").unwrap());
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    let error = stock.call(Order::Total).timeout(LONG).wait();
    assert_eq!(error, Err(CallError::NoProcess { to: stock.pid() }));
    assert!(a.cluster.cluster().is_ok());
}
