//! The cluster of a node: two nodes over sockets, one of which is looked at.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "all are small whole numbers"
)]

use super::client::{HttpReply, get, start, until};
use super::metrics::{scrape, value};
use crate::RunningObserver;
use krarup_act::{Actor, Context};
use krarup_dist::{Cluster, ClusterAddress, ClusterCalls, Cookie, HasCluster};
use krarup_gen::Result;
use krarup_node::Node;
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener};

/// Starts a cluster on a node.
pub(super) fn cluster(
    node: &Node,
    settings: impl FnOnce(Cluster) -> Cluster + Send + 'static,
) -> ClusterAddress {
    let cookie = Cookie::new("secret").unwrap();
    node.spawn_system(move || settings(Cluster::new(cookie))).wait().unwrap()
}

/// A node with a cluster.
struct ClusterMember {
    node: Node,
    cluster: ClusterAddress,
}

impl ClusterMember {
    fn start(
        name: &str,
        settings: impl FnOnce(Cluster) -> Cluster + Send + 'static,
    ) -> ClusterMember {
        let node = Node::start(name).unwrap();
        let cluster = cluster(&node, settings);
        ClusterMember { node, cluster }
    }

    fn address(&self) -> SocketAddr {
        self.cluster.cluster().unwrap().listens_at().unwrap()
    }

    /// Sends a message to a process of another member.
    fn send_to(&self, other: &ClusterMember) {
        let stock = other.node.spawn(|| Stock).name("stock").wait().unwrap();
        other.cluster.export::<u32>("stock").unwrap();
        let remote = self.cluster.remote::<u32>("stock", other.node.name()).unwrap();
        remote.send(7).unwrap();
        drop(stock);
    }

    fn stop(self) {
        self.node.stop().wait().unwrap();
    }
}

struct Stock;

impl Actor for Stock {
    type Message = u32;

    async fn handle_message(&mut self, _: &mut Context<u32>, _: u32) -> Result {
        Ok(())
    }
}

/// Two nodes, the second of which keeps the first, and has an observer.
fn pair(label: &str) -> (ClusterMember, ClusterMember, RunningObserver) {
    let (there, here) = (format!("{label}_b@127.0.0.1"), format!("{label}_a@127.0.0.1"));
    let other = ClusterMember::start(&there, |cluster| cluster);
    let address = other.address();
    let one =
        ClusterMember::start(&here, move |cluster| cluster.peer(&*there, address).keep([&*there]));
    let observer = start(&one.node, |it| it);
    let connected = |reply: &HttpReply| reply.json()["connected"] == 1;
    until(observer.address(), "/api/v1/cluster", connected);
    (one, other, observer)
}

/// The names of the fields, in their order.
fn fields(body: &Value) -> Vec<&str> {
    body.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn v88_a_node_without_a_cluster_says_so_with_every_field() {
    let (node, observer) = super::client::observed(|it| it);
    let reply = get(observer.address(), "/api/v1/cluster");
    let body = reply.json();
    assert_eq!((reply.status, &body["running"]), (200, &json!(false)));
    assert_eq!((&body["connections"], &body["kept"]), (&json!([]), &json!([])));
    for none in ["id", "pid", "address", "encrypted", "bound_bytes", "counters"] {
        assert_eq!(body[none], Value::Null, "{none}");
    }
    let text = get(observer.address(), "/metrics").body;
    assert!(!text.contains("krarup_cluster_"), "{text}");
    let bad = get(observer.address(), "/api/v1/cluster?limit=501");
    assert_eq!((bad.status, &*bad.code()), (400, "bad_parameter"));
    // With one, the fields are the same.
    let (one, other, observed) = pair("v88");
    let with = get(observed.address(), "/api/v1/cluster").json();
    assert_eq!(fields(&with), fields(&body));
    let documented =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/observer.md"));
    let documented = documented.unwrap();
    for list in [&with, &with["connections"][0], &with["kept"][0]] {
        let all = fields(list).join(" ");
        let words = documented.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&all), "docs/observer.md does not have: {all}");
    }
    for member in [one, other] {
        member.stop();
    }
    node.stop().wait().unwrap();
}

#[test]
fn v88_the_cluster_is_told_as_its_calls_tell_it() {
    let (one, other, observer) = pair("v88told");
    one.send_to(&other);
    let target = "/api/v1/cluster";
    let sent = |reply: &HttpReply| reply.json()["connections"][0]["messages_out"] == 1;
    let body = until(observer.address(), target, sent).json();
    let told = one.cluster.connections().unwrap().remove(0);
    assert_eq!(body["node"], one.node.name());
    assert_eq!(body["address"], one.address().to_string());
    assert_eq!((&body["encrypted"], &body["bound_bytes"]), (&json!(false), &json!(1 << 20)));
    let shown = &body["connections"][0];
    assert_eq!(shown["node"], other.node.name());
    assert_eq!(shown["creation"], told.creation);
    assert_eq!(shown["dialled"], told.is_dialled);
    assert_eq!(shown["messages_out"], told.messages_out);
    // A tick may have gone out meanwhile.
    let bytes = shown["bytes_out"].as_u64().unwrap();
    assert!(bytes > 0 && bytes <= told.bytes_out, "{bytes} of {}", told.bytes_out);
    assert_eq!(shown["waiting_bytes"], 0);
    // The process of the connection can be looked at, and so can that of the cluster.
    for (id, pid) in [(&shown["id"], &shown["pid"]), (&body["id"], &body["pid"])] {
        let process = get(observer.address(), &format!("/api/v1/processes/{id}")).json();
        assert_eq!(&process["pid"], pid);
    }
    let process = get(observer.address(), &format!("/api/v1/processes/{}", shown["id"])).json();
    assert_eq!(process["kind"], "connection");
    let kept = &body["kept"][0];
    assert_eq!((&kept["node"], &kept["connected"]), (&shown["node"], &json!(true)));
    let counters: Vec<_> = one.cluster.stats().unwrap().counts();
    for (name, count) in counters {
        assert_eq!(body["counters"][name], count, "{name}");
    }
    // The next picture has rates.
    let rates = |reply: &HttpReply| reply.json()["connections"][0]["bytes_out_rate"].is_number();
    until(observer.address(), target, rates);
    other.stop();
    let lost = |reply: &HttpReply| reply.json()["not_connected"] == 1;
    let body = until(observer.address(), target, lost).json();
    assert_eq!((&body["connected"], &body["connections"]), (&json!(0), &json!([])));
    one.stop();
}

#[test]
fn v88_a_list_that_is_cut_has_the_missing_nodes_first() {
    // Nobody listens there.
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let other = ClusterMember::start("v88cut_b@127.0.0.1", |cluster| cluster);
    let address = other.address();
    let one = ClusterMember::start("v88cut_a@127.0.0.1", move |cluster| {
        let cluster = cluster.peer("v88cut_b@127.0.0.1", address);
        let cluster = cluster.peer("v88cut_c@127.0.0.1", nowhere);
        cluster.keep(["v88cut_b@127.0.0.1", "v88cut_c@127.0.0.1"])
    });
    let observer = start(&one.node, |it| it);
    let settled = |reply: &HttpReply| {
        let body = reply.json();
        body["connected"] == 1 && body["not_connected"] == 1
    };
    let body = until(observer.address(), "/api/v1/cluster?limit=1", settled).json();
    assert_eq!(body["kept"][0]["node"], "v88cut_c@127.0.0.1");
    assert_eq!((&body["kept_more"], &body["more"]), (&json!(1), &json!(0)));
    // A snapshot and a stream tell the same.
    let snapshot = get(observer.address(), "/api/v1/snapshot").json();
    assert_eq!(snapshot["cluster"]["kept"].as_array().map(Vec::len), Some(2));
    for member in [one, other] {
        member.stop();
    }
}

#[test]
fn v92_the_metrics_of_the_cluster_count_on_when_a_node_comes_again() {
    let (one, other, observer) = pair("v92");
    let node = other.node.name().to_owned();
    let labels = [("node", node.as_str())];
    let count = |name: &str, labels: &[(&str, &str)]| {
        value(&scrape(observer.address()), &format!("krarup_cluster_{name}"), labels) as u64
    };
    one.send_to(&other);
    let sent = |reply: &HttpReply| reply.json()["connections"][0]["messages_out"] == 1;
    let first = until(observer.address(), "/api/v1/cluster", sent).json();
    assert_eq!(count("connected_nodes", &[]), 1);
    assert_eq!(count("sent_messages_total", &labels), 1);
    let bytes = count("sent_bytes_total", &labels);
    assert!(first["connections"][0]["bytes_out"].as_u64() <= Some(bytes));
    assert!(one.cluster.disconnect(&node).unwrap());
    // It is kept, so it is dialled again; the new connection counts from 0.
    let since = &first["connections"][0]["since_at"];
    let again = |reply: &HttpReply| {
        let body = reply.json();
        let other = &body["connections"][0]["since_at"];
        other.is_string() && other != since
    };
    let second = until(observer.address(), "/api/v1/cluster", again).json();
    assert_eq!(second["connections"][0]["messages_out"], 0);
    assert_eq!(count("sent_messages_total", &labels), 1);
    assert!(count("sent_bytes_total", &labels) >= bytes);
    let causes = &scrape(observer.address())["krarup_cluster_failures"];
    assert_eq!(causes.samples.len(), one.cluster.stats().unwrap().counts().len());
    for member in [one, other] {
        member.stop();
    }
}
