//! A cluster below a supervisor serves the same after each restart: rules Zcall7, Zcall9.

use krarup::cluster::{
    Cluster, ClusterAddress, ClusterCalls, Cookie, FunctionCall, RpcError, ServeError, SimNetwork,
    TermException,
};
use krarup::prelude::*;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Serialize, Deserialize)]
enum Calc {
    Add(i64, i64, Reply<i64>),
}

struct Worker;

impl Actor for Worker {
    type Message = Calc;

    async fn handle_message(
        &mut self,
        _: &mut Context<Calc>,
        Calc::Add(a, b, reply): Calc,
    ) -> Result {
        reply.send(a + b);
        Ok(())
    }
}

fn cluster(net: &SimNetwork) -> Cluster {
    Cluster::new(Cookie::new("secret").unwrap())
        .network(net)
        .carries::<Calc>()
        .serve(
            "calc",
            "double",
            |(number,): (i64,)| async move { Ok::<_, TermException>(number * 2) },
        )
        .serve_with("calc", "whose", |call: FunctionCall, (): ()| async move {
            Ok::<_, TermException>(call.node.to_string())
        })
        .factory("calc", "worker", |(): ()| Worker)
}

#[test]
fn zcall7_zcall9_what_a_supervised_cluster_serves_it_serves_after_a_restart_too() {
    Simulation::explore(0..20, |sim| {
        let net = SimNetwork::new();
        let (asking, on_net) = (sim.beside("asking@sim")?, net.clone());
        let asks = asking.spawn_system(move || cluster(&on_net)).wait()?;
        let serving = sim.beside("served@sim")?;
        let tree = {
            let net = net.clone();
            move || {
                let net = net.clone();
                let cluster =
                    ChildSpec::supervisor("cluster", move || cluster(&net)).name("cluster");
                Supervisor::one_for_one().intensity(5, Duration::from_secs(60)).child(cluster)
            }
        };
        serving.spawn_system(tree).wait()?;
        for round in 0..3 {
            let double = asks.rpc::<i64>("served@sim", "calc", "double", (21,)).wait();
            assert_eq!(double?, 42, "{round}");
            let whose = asks.rpc::<String>("served@sim", "calc", "whose", ()).wait();
            assert_eq!(whose?, "asking@sim", "{round}");
            let worker = asks.remote_spawn::<Calc>("served@sim", "calc", "worker", ()).wait()?;
            let sum = worker.call(|reply| Calc::Add(2, 3, reply)).wait();
            assert_eq!(sum, Ok(5), "{round}");
            let before: ClusterAddress = serving.lookup("cluster")?;
            serving.kill(before.pid());
            // It listens again when what is left of the one before has closed its socket.
            sim.advance(Duration::from_secs(5));
            let after: ClusterAddress = serving.lookup("cluster")?;
            assert_ne!(after.pid(), before.pid());
        }
        // What is added later, or taken back, counts for the cluster that runs.
        let running: ClusterAddress = serving.lookup("cluster")?;
        let again = running.serve("calc", "double", |(number,): (i64,)| async move {
            Ok::<_, TermException>(number)
        });
        assert!(matches!(again, Err(ServeError::Taken { arity: 1, .. })), "{again:?}");
        assert_eq!(running.unserve("calc", "double", 1), Ok(true));
        let gone = asks.rpc::<i64>("served@sim", "calc", "double", (21,)).wait();
        assert!(matches!(gone, Err(RpcError::Raised { .. })), "{gone:?}");
        Ok(())
    });
}
