//! HTTP: each request adds one to a number, and is answered with it.

use super::{node_on, runtime, tell, with_axum};
use crate::failure::PeerFailure;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use krarup::supervisor::{ChildSpec, Supervisor};
use krarup::{Actor, Context, Reason, Reply, Result};
use krarup_axum::{ByName, CallRejection, HttpServer, NamedProcess, Processes};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// As many requests as connections can wait at the task.
const WAITING: usize = 1024;

#[derive(Default)]
struct Counter(u64);

impl Actor for Counter {
    type Message = Reply<u64>;

    async fn handle_message(&mut self, _: &mut Context<Reply<u64>>, reply: Reply<u64>) -> Result {
        self.0 += 1;
        reply.send(self.0);
        Ok(())
    }
}

impl NamedProcess for Counter {
    const NAME: &'static str = "counter";
    type Message = Reply<u64>;
    type Command = Reply<u64>;
}

async fn count(counter: ByName<Counter>) -> Result<String, CallRejection> {
    Ok(counter.call(|reply| reply).await?.to_string())
}

/// The counter and the server are processes of this dispatcher.
pub(super) fn krarup(dispatcher: &str) -> Result<(), PeerFailure> {
    let runtime = runtime()?;
    let node = node_on(&runtime, "counter@localhost")?;
    let processes = Processes::new().with::<Counter>(&node).map_err(Reason::from)?;
    let routes = Router::new().route("/counter", get(count)).with_state(processes);
    let server = HttpServer::new(([127, 0, 0, 1], 0), routes);
    let http = server.child("http");
    let tree = || {
        Supervisor::one_for_one()
            .intensity(3, Duration::from_secs(5))
            .child(ChildSpec::worker("counter", Counter::default).name(Counter::NAME))
            .child(http)
    };
    node.spawn(tree).dispatcher(dispatcher).wait().map_err(Reason::from)?;
    tell(server.bound().ok_or(PeerFailure::Ended)?)?;
    // Before the runtime, whose timers the server uses.
    Ok(node.stop().wait()?)
}

pub(super) fn mutex() -> Result<(), PeerFailure> {
    let count = async |State(counter): State<Arc<Mutex<u64>>>| -> String {
        let mut counter = counter.lock().unwrap_or_else(PoisonError::into_inner);
        *counter += 1;
        counter.to_string()
    };
    let routes = Router::new().route("/counter", get(count)).with_state(Arc::default());
    with_axum(&runtime()?, routes)
}

type Counting = mpsc::Sender<oneshot::Sender<u64>>;

pub(super) fn task() -> Result<(), PeerFailure> {
    let runtime = runtime()?;
    let (counter, mut requests) = mpsc::channel::<oneshot::Sender<u64>>(WAITING);
    runtime.spawn(async move {
        let mut counter = 0;
        while let Some(reply) = requests.recv().await {
            counter += 1;
            let _ = reply.send(counter);
        }
    });
    let count = async |State(counter): State<Counting>| -> Result<String, StatusCode> {
        let (reply, counted) = oneshot::channel();
        let gone = StatusCode::SERVICE_UNAVAILABLE;
        counter.send(reply).await.map_err(|_| gone)?;
        Ok(counted.await.map_err(|_| gone)?.to_string())
    };
    with_axum(&runtime, Router::new().route("/counter", get(count)).with_state(counter))
}
