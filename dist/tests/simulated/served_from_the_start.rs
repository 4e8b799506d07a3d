//! Functions and factories that a cluster is to have from its start, and cannot have.

use crate::sim_support::Worker;
use krarup_dist::{Cluster, Cookie, FunctionCall, SimNetwork, TermException};
use krarup_node::Simulation;

fn cluster(net: &SimNetwork) -> Cluster {
    Cluster::new(Cookie::new("secret").unwrap())
        .network(net)
        .serve("calc", "double", |(_,): (i64,)| async { Ok::<_, TermException>(()) })
        .factory("calc", "worker", |(): ()| Worker::default())
}

#[test]
fn zcall7_zcall9_names_that_cannot_be_served_fail_the_start_of_the_cluster() {
    let sim = Simulation::new(1);
    let node = sim.beside("served@sim").unwrap();
    let says = |settings: fn(Cluster) -> Cluster| {
        let net = SimNetwork::new();
        let spawned = node.spawn_system(move || settings(cluster(&net))).wait();
        spawned.map(|_| ()).unwrap_err().to_string()
    };
    let ending = |text: String, end: &str| assert!(text.ends_with(end), "{text}");
    ending(
        says(|cluster| {
            cluster.serve("calc", "double", |(_,): (i64,)| async { Ok::<_, TermException>(()) })
        }),
        "calc:double/1 is served already",
    );
    ending(
        says(|cluster| cluster.factory("calc", "worker", |(): ()| Worker::default())),
        "calc:worker/0 is served already",
    );
    ending(
        says(|cluster| cluster.factory("erpc", "execute_call", |(): ()| Worker::default())),
        "erpc:execute_call/0 calls served functions, and cannot be a factory",
    );
    ending(
        says(|cluster| {
            cluster.serve_with("", "double", |_: FunctionCall, (): ()| async {
                Ok::<_, TermException>(())
            })
        }),
        "\"\":\"double\"/0 cannot be served: a name is empty",
    );
}
