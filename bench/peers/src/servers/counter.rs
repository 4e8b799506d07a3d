//! HTTP: each request adds one to a number, and is answered with it.

use super::{node_on, runtime, tell, with_axum, with_hyper};
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
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// As many requests as connections can wait at the task.
const WAITING: usize = 1024;
/// What `HttpServer` gives a client for the head of a request.
const HEAD: Duration = Duration::from_secs(15);
/// The timeout of a call.
const ANSWER: Duration = Duration::from_secs(5);

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
    let count = async |State(counter): State<Counting>| -> Result<String, StatusCode> {
        Ok(add_one(&counter).await.ok_or(StatusCode::SERVICE_UNAVAILABLE)?.to_string())
    };
    let routes = Router::new().route("/counter", get(count)).with_state(counting(&runtime));
    with_axum(&runtime, routes)
}

/// As [`task`], with the limits that `krarup-axum` has: a client has some time for the head of its request, and the
/// answer of the task is waited for as long as that of a call.
pub(super) fn limits() -> Result<(), PeerFailure> {
    let runtime = runtime()?;
    let count = async |State(counter): State<Counting>| -> Result<String, StatusCode> {
        let counted = timeout(ANSWER, add_one(&counter)).await;
        let counted = counted.map_err(|_| StatusCode::GATEWAY_TIMEOUT)?;
        Ok(counted.ok_or(StatusCode::SERVICE_UNAVAILABLE)?.to_string())
    };
    let routes = Router::new().route("/counter", get(count)).with_state(counting(&runtime));
    with_hyper(&runtime, routes, HEAD)
}

/// Starts the task that has the number.
fn counting(runtime: &Runtime) -> Counting {
    let (counter, mut requests) = mpsc::channel::<oneshot::Sender<u64>>(WAITING);
    runtime.spawn(async move {
        let mut counter = 0;
        while let Some(reply) = requests.recv().await {
            counter += 1;
            let _ = reply.send(counter);
        }
    });
    counter
}

async fn add_one(counter: &Counting) -> Option<u64> {
    let (reply, counted) = oneshot::channel();
    counter.send(reply).await.ok()?;
    counted.await.ok()
}
