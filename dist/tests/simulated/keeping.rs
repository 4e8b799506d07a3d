//! Nodes that are kept connected, in simulations (rule Zlive4).

use crate::sim_support::Member;
use krarup_dist::{
    Cluster, ClusterCalls, Cookie, Discovery, DiscoveryError, DiscoveryNews, NodeEvent, SimNetwork,
};
use krarup_gen::{Memory, NodeName, ReasonKind, Result};
use krarup_node::{Node, Simulation};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Longer than any wait with its dial and its ticks.
const LONG: Duration = Duration::from_secs(180);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn member(
    sim: &Simulation,
    net: &SimNetwork,
    name: &str,
    settings: impl FnOnce(Cluster) -> Cluster + Send + 'static,
) -> Result<Member> {
    let node = sim.beside(name)?;
    start(node, net, name, settings)
}

fn start(
    node: Node,
    net: &SimNetwork,
    name: &str,
    settings: impl FnOnce(Cluster) -> Cluster + Send + 'static,
) -> Result<Member> {
    let (net, cookie) = (net.clone(), Cookie::new("secret")?);
    let cluster = move || settings(Cluster::new(cookie).network(&net).tick_time(seconds(8)));
    let cluster = node.spawn_system(cluster).wait()?;
    Ok(Member { node, cluster, name: name.to_owned() })
}

fn plain(cluster: Cluster) -> Cluster {
    cluster
}

/// What a test tells of the nodes that there are, and counts.
#[derive(Clone, Default)]
struct Told {
    nodes: Arc<Mutex<Vec<NodeName>>>,
    news: Arc<Mutex<Option<DiscoveryNews>>>,
    finds: Arc<AtomicUsize>,
    hides: Arc<Mutex<bool>>,
    panics: Arc<Mutex<bool>>,
}

impl Told {
    fn set(&self, nodes: &[&str]) {
        *self.nodes.lock().unwrap() =
            nodes.iter().map(|node| NodeName::new(node).unwrap()).collect();
    }

    fn news(&self) -> DiscoveryNews {
        self.news.lock().unwrap().clone().unwrap()
    }
}

impl Discovery for Told {
    fn find(&self, node: &NodeName) -> std::result::Result<Vec<SocketAddr>, DiscoveryError> {
        self.finds.fetch_add(1, Ordering::Relaxed);
        assert!(!*self.panics.lock().unwrap(), "it panics on purpose");
        if *self.hides.lock().unwrap() {
            return Err(DiscoveryError::Unknown { node: node.clone() });
        }
        Ok(vec![([127, 0, 0, 1], 1).into()])
    }

    fn nodes(&self) -> std::result::Result<Vec<NodeName>, DiscoveryError> {
        let nodes = self.nodes.lock().unwrap().clone();
        if nodes.is_empty() { Err(DiscoveryError::other("down")) } else { Ok(nodes) }
    }

    fn interval(&self) -> Option<Duration> {
        Some(seconds(5))
    }

    fn started(&self, news: DiscoveryNews) {
        *self.news.lock().unwrap() = Some(news);
    }
}

#[test]
fn zlive4_kept_nodes_are_dialled_when_the_cluster_starts_and_others_when_they_are_used() {
    Simulation::explore(0..20, |sim| {
        let net = SimNetwork::new();
        let c = member(sim, &net, "c@sim", plain)?;
        let b = member(sim, &net, "b@sim", |cluster| cluster.keep(["c@sim"]))?;
        // The own name is skipped, so all may have the same list.
        let a = member(sim, &net, "a@sim", |cluster| cluster.keep(["b@sim", "a@sim"]))?;
        sim.run_until_idle();
        // Nobody has told `a` of `c`.
        assert_eq!(
            (a.peers(), b.peers()),
            (vec!["b@sim".into()], vec!["a@sim".into(), "c@sim".into()])
        );
        assert_eq!(c.peers(), ["b@sim"]);
        sim.advance(LONG);
        assert_eq!(a.peers(), ["b@sim"]);
        let kept = a.cluster.kept().unwrap();
        assert_eq!((kept.len(), kept[0].is_connected, kept[0].dialled_in), (1, true, None));
        Ok(())
    });
}

#[test]
fn zlive4_after_a_partition_kept_nodes_reconnect_and_others_do_not() {
    Simulation::explore(0..20, |sim| {
        let net = SimNetwork::new();
        let [b, c] = [member(sim, &net, "b@sim", plain)?, member(sim, &net, "c@sim", plain)?];
        let a = member(sim, &net, "a@sim", |cluster| cluster.keep(["b@sim"]))?;
        a.remote("nobody", "c@sim").call(crate::sim_support::Order::Notes).wait().unwrap_err();
        sim.run_until_idle();
        assert_eq!(a.peers(), ["b@sim", "c@sim"]);
        let events = a.node_events()?;
        net.partition(&["a@sim"], &["b@sim", "c@sim"]);
        sim.advance(LONG);
        assert!(a.peers().is_empty() && b.peers().is_empty() && c.peers().is_empty());
        net.heal();
        // The longest wait, and a dial that was under way when the partition ended.
        sim.advance(seconds(70));
        assert_eq!(
            (a.peers(), b.peers(), c.peers()),
            (vec!["b@sim".into()], vec!["a@sim".into()], vec![])
        );
        let of_b = |event: &&NodeEvent| matches!(event, NodeEvent::Up(node) | NodeEvent::Down(node) if node.as_str() == "b@sim");
        let seen = events.lock().unwrap().iter().filter(of_b).count();
        assert_eq!(seen, 2);
        Ok(())
    });
}

#[test]
fn zlive4_a_kept_node_that_restarts_is_connected_again_and_waits_grow_meanwhile() {
    let (sim, net) = (Simulation::new(3), SimNetwork::new());
    let b = member(&sim, &net, "b@sim", plain).unwrap();
    let a = member(&sim, &net, "a@sim", |cluster| cluster.keep(["b@sim"])).unwrap();
    sim.run_until_idle();
    let failures = || a.cluster.kept().unwrap()[0].failures;
    assert_eq!((a.peers(), failures()), (vec!["b@sim".to_owned()], 0));
    b.node.stop().wait().unwrap();
    // The first wait is 1 s, less up to a quarter by chance: no dial before that.
    sim.advance(Duration::from_millis(700));
    assert_eq!((a.peers().len(), failures()), (0, 1));
    sim.advance(Duration::from_millis(400));
    assert_eq!(failures(), 2);
    // Four waits take 11 to 15 s, five take 23 to 31 s.
    sim.advance(seconds(19));
    assert_eq!(failures(), 5);
    let wait = a.cluster.kept().unwrap()[0].dialled_in.unwrap();
    let _again = member(&sim, &net, "b@sim", plain).unwrap();
    assert!(wait > Duration::ZERO && a.peers().is_empty());
    sim.advance(wait + Duration::from_millis(2));
    sim.run_until_idle();
    assert_eq!(a.peers(), ["b@sim"]);
}

#[test]
fn zlive4_news_of_a_kept_node_have_it_dialled_without_time_passing() {
    let (sim, net) = (Simulation::new(4), SimNetwork::new());
    let told = Told::default();
    let with = told.clone();
    let a = member(&sim, &net, "a@sim", move |cluster| cluster.discovery(with).keep(["b@sim"]));
    let a = a.unwrap();
    // Six waits take 47 to 63 s, seven take 92 to 123 s.
    sim.advance(seconds(70));
    let wait = a.cluster.kept().unwrap()[0].dialled_in.unwrap();
    assert!(wait > seconds(20), "{wait:?}");
    let _b = member(&sim, &net, "b@sim", plain).unwrap();
    sim.run_until_idle();
    assert!(a.peers().is_empty());
    let before = sim.now();
    told.news().appeared(NodeName::new("b@sim").unwrap());
    // News of a node that is not kept are no reason to dial it.
    told.news().appeared(NodeName::new("c@sim").unwrap());
    sim.run_until_idle();
    assert_eq!((a.peers(), sim.now()), (vec!["b@sim".to_owned()], before));
}

#[test]
fn zlive4_discovered_nodes_are_kept_while_the_discovery_names_them() {
    Simulation::explore(0..10, |sim| {
        let net = SimNetwork::new();
        let told = Told::default();
        let with = told.clone();
        let a =
            member(sim, &net, "a@sim", move |cluster| cluster.discovery(with).keep_discovered())?;
        let [b, c] = [member(sim, &net, "b@sim", plain)?, member(sim, &net, "c@sim", plain)?];
        sim.advance(LONG);
        assert!(a.peers().is_empty() && a.cluster.kept().unwrap().is_empty());
        told.set(&["a@sim", "b@sim"]);
        // It is asked every 5 s.
        sim.advance(seconds(5));
        sim.run_until_idle();
        assert_eq!((a.peers(), b.peers()), (vec!["b@sim".into()], vec!["a@sim".into()]));
        // An answer that fails changes nothing.
        told.set(&[]);
        sim.advance(seconds(10));
        assert_eq!(a.cluster.kept().unwrap().len(), 1);
        told.set(&["c@sim"]);
        sim.advance(seconds(5));
        sim.run_until_idle();
        // The connection stays, but would not be made again.
        assert_eq!(
            (a.peers(), c.peers()),
            (vec!["b@sim".into(), "c@sim".into()], vec!["a@sim".into()])
        );
        let kept: Vec<_> = a.cluster.kept().unwrap().iter().map(|it| it.node.to_string()).collect();
        assert_eq!(kept, ["c@sim"]);
        a.cluster.disconnect("b@sim").unwrap();
        sim.advance(LONG);
        assert_eq!(a.peers(), ["c@sim"]);
        Ok(())
    });
}

#[test]
fn zlive4_nodes_are_kept_and_not_kept_any_more_while_the_cluster_runs() {
    let (sim, net) = (Simulation::new(6), SimNetwork::new());
    let _b = member(&sim, &net, "b@sim", plain).unwrap();
    let a = member(&sim, &net, "a@sim", plain).unwrap();
    assert!(a.cluster.keep("no name").is_err() && a.cluster.unkeep("").is_err());
    a.cluster.keep("b@sim").unwrap();
    a.cluster.keep("a@sim").unwrap();
    sim.run_until_idle();
    assert_eq!((a.peers(), a.cluster.kept().unwrap().len()), (vec!["b@sim".to_owned()], 1));
    // A loss that the user has asked for is one like any other.
    assert!(a.cluster.disconnect("b@sim").unwrap());
    sim.advance(seconds(1));
    sim.run_until_idle();
    assert_eq!(a.peers(), ["b@sim"]);
    assert_eq!((a.cluster.unkeep("b@sim"), a.cluster.unkeep("b@sim")), (Ok(true), Ok(false)));
    assert_eq!(a.peers(), ["b@sim"]);
    assert!(a.cluster.disconnect("b@sim").unwrap());
    sim.advance(LONG);
    assert!(a.peers().is_empty());
    // One that is connected already is not dialled, and is dialled when that connection is lost.
    a.remote("nobody", "b@sim").call(crate::sim_support::Order::Notes).wait().unwrap_err();
    a.cluster.keep("b@sim").unwrap();
    sim.run_until_idle();
    assert!(a.cluster.kept().unwrap()[0].is_connected);
    assert_eq!(net.reset("a@sim", "b@sim"), 1);
    sim.advance(seconds(2));
    assert_eq!(a.peers(), ["b@sim"]);
}

#[test]
fn zlive4_two_nodes_that_keep_each_other_have_one_connection() {
    Simulation::explore(0..100, |sim| {
        let net = SimNetwork::new();
        net.delay(Duration::from_millis(20));
        let keeps = |cluster: Cluster| cluster.keep(["a@sim", "b@sim", "c@sim"]);
        let all = [
            member(sim, &net, "a@sim", keeps)?,
            member(sim, &net, "b@sim", keeps)?,
            member(sim, &net, "c@sim", keeps)?,
        ];
        sim.advance(seconds(10));
        for member in &all {
            assert_eq!(member.peers().len(), 2, "{}", member.name);
        }
        assert_eq!(net.connections().len(), 3);
        Ok(())
    });
}

/// Each dial fails, for minutes. That is told as what it is, and not as a crash of this node.
#[test]
fn zlive4_a_kept_node_that_cannot_be_dialled_is_no_crash() {
    Simulation::explore(0..10, |sim| {
        let net = SimNetwork::new();
        let _b = member(sim, &net, "b@sim", plain)?;
        net.refuse("b@sim", true);
        let a = member(sim, &net, "a@sim", |cluster| cluster.keep(["b@sim"]))?;
        a.node.remember(Memory { crashes: 10, ..Memory::default() });
        sim.advance(LONG);
        let kept = a.cluster.kept()?;
        assert!(!kept[0].is_connected && kept[0].failures > 3, "{kept:?}");
        assert_eq!(a.node.stats().ended[&ReasonKind::Error], 0);
        assert!(a.node.view().crashes(0, 10).items.is_empty());
        Ok(())
    });
}

#[test]
fn zlive4_a_name_that_is_not_one_of_a_node_fails_the_spawn() {
    let (sim, net) = (Simulation::new(7), SimNetwork::new());
    let error = member(&sim, &net, "a@sim", |cluster| cluster.keep(["b"])).err().unwrap();
    assert!(error.to_string().contains("\"b\""), "{error}");
}

#[test]
fn zhs9_a_discovery_is_asked_anew_for_each_dial_and_its_failure_fails_the_dial() {
    let (sim, net) = (Simulation::new(8), SimNetwork::new());
    let told = Told::default();
    let with = told.clone();
    let a = member(&sim, &net, "a@sim", move |cluster| cluster.discovery(with)).unwrap();
    let _b = member(&sim, &net, "b@sim", plain).unwrap();
    let finds = || told.finds.load(Ordering::Relaxed);
    let connects = || {
        let connected = a.cluster.connect("b@sim").unwrap();
        let process = krarup_act::behavior_fn(move |_: krarup_act::Context<()>| async move {
            connected.await;
            Ok(())
        });
        a.node.spawn(move || process).start().unwrap();
        sim.run_until_idle();
        a.peers().len()
    };
    assert_eq!((finds(), connects(), finds()), (0, 1, 1));
    assert_eq!((connects(), finds()), (1, 1));
    a.cluster.disconnect("b@sim").unwrap();
    sim.run_until_idle();
    *told.hides.lock().unwrap() = true;
    assert_eq!((connects(), finds()), (0, 2));
    *told.hides.lock().unwrap() = false;
    assert_eq!((connects(), finds()), (1, 3));
    a.cluster.disconnect("b@sim").unwrap();
    sim.run_until_idle();
    *told.panics.lock().unwrap() = true;
    assert_eq!((connects(), finds()), (0, 4));
    told.panics.clear_poison();
    *told.panics.lock().unwrap() = false;
    assert_eq!((connects(), finds()), (1, 5));
}
