//! The servers, each written for Krarup and for tokio.

mod echo;
mod line;
mod words;

use crate::failure::PeerFailure;
use crate::side::PeerSide;
use crate::workload::Workload;
use std::future::Future;
use std::io::{Read, Write, stdin, stdout};
use std::net::SocketAddr;
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

/// Serves with tokio: `serve` is given the listener.
fn with_tokio<S>(serve: impl FnOnce(tokio::net::TcpListener) -> S) -> Result<(), PeerFailure>
where
    S: Future<Output = ()> + Send + 'static,
{
    let runtime = runtime()?;
    let listener = runtime.block_on(listener())?;
    let address = listener.local_addr()?;
    runtime.spawn(serve(listener));
    tell(address)
}

/// As a Krarup acceptor listens: with the longest backlog.
async fn listener() -> Result<tokio::net::TcpListener, PeerFailure> {
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, 1], 0).into())?;
    Ok(socket.listen(4096)?)
}
