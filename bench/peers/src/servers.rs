//! The servers, each written for Krarup and for tokio.

mod counter;
mod echo;
mod limited;
mod line;
mod words;

use crate::failure::PeerFailure;
use crate::side::PeerSide;
use crate::workload::Workload;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use krarup::dispatcher::DispatcherOptions;
use krarup::{Node, Reason};
use std::future::Future;
use std::io::{Read, Write, stdin, stdout};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// The threads that a server does its work on.
const WORKERS: usize = 2;

/// Serves until this process is ended, or its input.
pub(crate) fn serve(workload: Workload, side: PeerSide) -> Result<(), PeerFailure> {
    match (workload, side) {
        (Workload::Line, PeerSide::Krarup) => line::krarup(),
        (Workload::Line, PeerSide::Peer) => line::tokio(),
        (Workload::Words, PeerSide::Krarup) => words::krarup(),
        (Workload::Words, PeerSide::Peer) => words::axum_alone(),
        (Workload::Counter | Workload::CounterTask | Workload::CounterLimits, PeerSide::Krarup) => {
            counter::krarup(HTTP)
        }
        (Workload::CounterWorkers, PeerSide::Krarup) => counter::krarup("default"),
        (Workload::Counter | Workload::CounterWorkers, PeerSide::Peer) => counter::mutex(),
        (Workload::CounterTask, PeerSide::Peer) => counter::task(),
        (Workload::CounterLimits, PeerSide::Peer) => counter::limits(),
        (Workload::Limited | Workload::LimitedBuffer, PeerSide::Krarup) => limited::krarup(),
        (Workload::Limited, PeerSide::Peer) => limited::limit(),
        (Workload::LimitedBuffer, PeerSide::Peer) => limited::buffer(),
        (_, PeerSide::Krarup) => echo::krarup(),
        (_, PeerSide::Peer) => echo::tokio(),
    }
}

/// Prints where this process serves, and waits for the end of its input.
fn tell(address: SocketAddr) -> Result<(), PeerFailure> {
    println!("{address}");
    stdout().flush()?;
    stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

pub(crate) fn runtime() -> Result<Runtime, PeerFailure> {
    Ok(Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?)
}

/// The dispatcher whose processes have their turns on the threads that serve HTTP, so a request changes its
/// thread only when another one is idle.
const HTTP: &str = "http";

/// A node whose dispatcher [`HTTP`] is this runtime.
fn node_on(runtime: &Runtime, name: &str) -> Result<Node, PeerFailure> {
    let handle = runtime.handle();
    let node = Node::builder(name)
        .workers(WORKERS)
        .tokio(handle.clone())
        .dispatcher(HTTP, DispatcherOptions::executor(handle.clone()));
    Ok(node.start().map_err(Reason::from)?)
}

/// Serves with axum alone.
fn with_axum(runtime: &Runtime, routes: Router) -> Result<(), PeerFailure> {
    let listener = listener(runtime)?;
    let address = listener.local_addr()?;
    runtime.spawn(async { axum::serve(listener, routes).await });
    tell(address)
}

/// Serves with hyper and the routes of axum. A client has so long for the head of a request.
fn with_hyper(runtime: &Runtime, routes: Router, head: Duration) -> Result<(), PeerFailure> {
    let listener = listener(runtime)?;
    let address = listener.local_addr()?;
    let routes = routes.with_state(());
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let service = TowerToHyperService::new(routes.clone());
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(head)
                .serve_connection(TokioIo::new(stream), service);
            tokio::spawn(connection);
        }
    });
    tell(address)
}

/// Serves with tokio: `serve` is given the listener.
fn with_tokio<S>(serve: impl FnOnce(tokio::net::TcpListener) -> S) -> Result<(), PeerFailure>
where
    S: Future<Output = ()> + Send + 'static,
{
    let runtime = runtime()?;
    let listener = listener(&runtime)?;
    let address = listener.local_addr()?;
    runtime.spawn(serve(listener));
    tell(address)
}

/// As a Krarup acceptor listens: with the longest backlog.
fn listener(runtime: &Runtime) -> Result<tokio::net::TcpListener, PeerFailure> {
    let _entered = runtime.enter();
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, 1], 0).into())?;
    Ok(socket.listen(4096)?)
}
