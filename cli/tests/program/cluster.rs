//! `krarup cluster`: two nodes, one of which is looked at.

use crate::observed::{Observed, errors, get, out, run, until};
use crate::viewed::Viewed;
use krarup::cluster::{Cluster, ClusterAddress, Cookie, HasCluster};
use krarup::prelude::*;
use serde_json::Value;
use std::net::TcpListener;

fn cluster(
    node: &Node,
    settings: impl FnOnce(Cluster) -> Cluster + Send + 'static,
) -> ClusterAddress {
    let cookie = Cookie::new("secret").unwrap();
    node.spawn_system(move || settings(Cluster::new(cookie))).wait().unwrap()
}

/// What the program prints for these arguments.
fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    out(&output)
}

#[test]
fn v93_the_cluster_is_a_text_with_its_connections_and_its_kept_nodes() {
    let other = Node::start("cli_b@127.0.0.1").unwrap();
    let address = cluster(&other, |it| it).cluster().unwrap().listens_at().unwrap();
    // Nobody listens there.
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let observed = Observed::start("cli_a@127.0.0.1", |it| it);
    let url = observed.url();
    assert_eq!(printed(&["cluster", &url]), "no cluster runs\n");
    let here = cluster(&observed.node, move |it| {
        let it = it.peer("cli_b@127.0.0.1", address).peer("cli_c@127.0.0.1", nowhere);
        it.keep(["cli_b@127.0.0.1", "cli_c@127.0.0.1"])
    });
    let text = until(|| {
        let text = printed(&["cluster", &url]);
        let settled = has(&text, "connected 1") && has(&text, "not_connected 1");
        Some(text).filter(|_| settled)
    });
    let listens = here.cluster().unwrap().listens_at().unwrap();
    for fact in
        ["node cli_a@127.0.0.1", &format!("address {listens}"), "encrypted no", "bound 1.0 MiB"]
    {
        assert!(has(&text, fact), "{fact}: {text}");
    }
    let line = |of: &str| {
        let found = text.lines().find(|line| line.starts_with(of));
        found.unwrap_or_else(|| panic!("{of}: {text}")).split_whitespace().collect::<Vec<_>>()
    };
    assert!(line("NODE").starts_with(&["NODE", "PID", "SINCE", "IN", "OUT"]), "{text}");
    assert_eq!(line("cli_b@127.0.0.1 ")[1], connection(&observed, "pid"));
    assert!(line("KEPT NODE").ends_with(&["DIALLED", "IN"]), "{text}");
    assert_eq!(line("cli_c@127.0.0.1 ")[1], "no");
    // What is cut is counted, and the body is that of the route.
    let cut = printed(&["cluster", &url, "--limit", "1"]);
    assert!(cut.ends_with("and 1 more\n") && !cut.contains("cli_b@127.0.0.1  yes"), "{cut}");
    let body: Value = serde_json::from_str(&printed(&["cluster", &url, "--json"])).unwrap();
    assert_eq!(body["connections"][0]["node"], "cli_b@127.0.0.1");
    // The process of the connection is one that other commands take.
    let info = printed(&["info", &url, &connection(&observed, "pid")]);
    assert!(info.contains("connection"), "{info}");
    // A file tells the same.
    let file = Viewed::start("cluster", &printed(&["snapshot", &url]));
    let viewed = printed(&["cluster", &format!("http://{}", file.address)]);
    assert!(viewed.contains("cli_b@127.0.0.1") && viewed.contains("cli_c@127.0.0.1"), "{viewed}");
    other.stop().wait().unwrap();
    observed.stop();
}

/// Whether a text has a line of these words.
fn has(text: &str, words: &str) -> bool {
    text.lines().any(|line| line.split_whitespace().eq(words.split(' ')))
}

/// A field of the only connection.
fn connection(observed: &Observed, field: &str) -> String {
    let (_, body) = get(observed.observer.address(), "/api/v1/cluster");
    let body: Value = serde_json::from_str(&body).unwrap();
    body["connections"][0][field].as_str().unwrap().to_owned()
}
