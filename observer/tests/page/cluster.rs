//! The page of the cluster: a cluster that is told, and a true one.

use crate::page::{DESK, element, page};
use crate::scene::no_cluster;
use crate::scenes::storm;
use crate::told::Told;
use krarup_dist::{Cluster, ClusterAddress, ClusterCalls, Cookie, HasCluster};
use krarup_node::Node;
use krarup_observer::Observer;
use serde_json::json;

#[test]
fn v90_a_kept_node_that_is_missing_comes_first_and_is_said_in_words() {
    let told = Told::start(storm());
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url(""));
    page.click("nav-cluster");
    page.wait_for("kept-mail@10.0.0.4");
    assert_eq!(
        page.text("document.querySelector('.page-cluster .headline').innerText"),
        "2 nodes are connected; 1 kept node is not."
    );
    assert!(page.holds("document.querySelector('.page-cluster h2').innerText === 'Kept nodes'"));
    let missing = page.text_of("kept-mail@10.0.0.4");
    assert!(missing.contains("not connected") && missing.contains("in 13 s"), "{missing}");
    let refuses = page.text_of("connection-depot@10.0.0.3");
    assert!(refuses.contains("1.0 MiB") && refuses.contains("17 refused"), "{refuses}");
    assert!(page.text_of("cluster-counters").contains("5 connections that never came up"));
    page.screenshot("cluster-told-1280x800");
    told.change(|scene| {
        let cluster = scene.bodies.get_mut("cluster").expect("the cluster");
        cluster["kept"][0]["connected"] = json!(true);
        cluster["not_connected"] = json!(0);
    });
    page.wait("document.querySelector('.page-cluster h2').innerText === 'Connections'");
    let said = page.text("document.querySelector('.page-cluster .headline').innerText");
    assert_eq!(said, "2 nodes are connected.");
    told.change(|scene| {
        scene.bodies.insert("cluster".to_owned(), no_cluster());
    });
    page.wait_for("empty");
    assert!(page.text_of("empty").contains("No cluster."));
}

#[test]
fn v91_findings_of_no_process_are_all_shown() {
    let told = Told::start(storm());
    let finding = |node: &str| {
        json!({"code": "check_down", "severity": "critical", "pid": null, "name": null,
            "since_ms": null, "text": format!("the check of {node} is down")})
    };
    let Some(mut page) = page(DESK) else { return };
    page.open(&told.url(""));
    for nodes in [["a", "b", "c"], ["a", "c", "d"]] {
        told.change(|scene| {
            let findings: Vec<_> = nodes.iter().map(|node| finding(node)).collect();
            scene.bodies.insert("findings".to_owned(), json!({"findings": findings}));
        });
        let all = nodes.map(|node| format!("text.includes('the check of {node} is down')"));
        page.wait(&format!(
            "(() => {{ const text = document.querySelector('.findings').innerText; return {}; }})()",
            all.join(" && ")
        ));
    }
}

/// A node of a cluster, which knows where the others are.
fn member(name: &str, known: Option<&ClusterAddress>) -> (Node, ClusterAddress) {
    let node = Node::start(name).expect("a node");
    let cookie = Cookie::new("secret").expect("a cookie");
    let known =
        known.map(|other| other.cluster().expect("a cluster").listens_at().expect("an address"));
    let cluster = move || {
        let cluster = Cluster::new(cookie);
        match known {
            Some(address) => cluster.peer("page_b@127.0.0.1", address).keep(["page_b@127.0.0.1"]),
            None => cluster,
        }
    };
    let cluster = node.spawn_system(cluster).wait().expect("a cluster");
    (node, cluster)
}

#[test]
fn v90_a_true_connection_is_a_row_that_opens_its_process() {
    let (other, listens) = member("page_b@127.0.0.1", None);
    let (node, cluster) = member("page_a@127.0.0.1", Some(&listens));
    let observer = Observer::new().listen("127.0.0.1:0").start(&node).wait().expect("an observer");
    let Some(mut page) = page(DESK) else { return };
    page.open(&format!("{}/#/cluster", observer.url().trim_end_matches('/')));
    page.wait_for("connection-page_b@127.0.0.1");
    let row = page.text_of("connection-page_b@127.0.0.1");
    assert!(row.contains("B out") && row.contains("0 out"), "{row}");
    assert!(page.text_of("kept-page_b@127.0.0.1").contains("connected"));
    page.screenshot("true-cluster-1280x800");
    page.click("connection-page_b@127.0.0.1");
    page.wait("document.querySelector('[data-testid^=panel-]')?.innerText.includes('connection')");
    assert!(page.faults().is_empty(), "{:?}", page.errors);
    // The other node goes: what was kept is missing.
    other.stop().wait().expect("it stops");
    page.wait(&format!(
        "{}?.innerText.includes('not connected') && {} === null",
        element("kept-page_b@127.0.0.1"),
        element("connection-page_b@127.0.0.1")
    ));
    assert!(cluster.nodes().expect("a cluster").is_empty());
    node.stop().wait().expect("it stops");
}
