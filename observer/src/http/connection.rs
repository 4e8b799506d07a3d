//! One connection: hyper reads its requests, the guard looks at each, and the routes answer.

use crate::http::access::Door;
use crate::http::answer::{HttpAnswer, close, refused};
use crate::http::refusal::{Code, Refusal};
use crate::http::strict::Strict;
use crate::limits::{self, DoorLimits};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// A request as the routes get it.
pub(crate) struct HttpRequest {
    pub(crate) request: Request<Incoming>,
    pub(crate) door: Door,
    pub(crate) peer: IpAddr,
    /// Whether the bytes of the head were not strict HTTP.
    pub(crate) flawed: bool,
    /// Turns to true when the server stops.
    pub(crate) stop: watch::Receiver<bool>,
}

/// What answers requests.
pub(crate) trait Routes: Send + Sync + 'static {
    fn answer(self: Arc<Self>, received: HttpRequest) -> impl Future<Output = HttpAnswer> + Send;
}

/// Serves a connection until it is closed, or the server stops and the request under way is
/// answered.
pub(crate) async fn serve<R: Routes>(
    stream: TcpStream,
    door: Door,
    limits: DoorLimits,
    routes: Arc<R>,
    mut stop: watch::Receiver<bool>,
) {
    let Ok(peer) = stream.peer_addr() else { return };
    let stream = Strict::new(stream, limits.write, limits.linger);
    let flaw = stream.flaw();
    let asked = stop.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (routes, flaw, stop) = (Arc::clone(&routes), Arc::clone(&flaw), asked.clone());
        async move {
            let chunked = request.headers().contains_key(header::TRANSFER_ENCODING);
            let flawed = is_raised(&flaw);
            let received = HttpRequest { request, door, peer: peer.ip(), flawed, stop };
            let mut answer = routes.answer(received).await;
            // The end of chunks is not looked for, so nothing behind them is served.
            if chunked || is_raised(&flaw) {
                close(&mut answer);
            }
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1(limits.head).serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        // A client that leaves, or does not speak HTTP, affects its own connection alone.
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|stops| *stops) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// Tells a client that there is no room for it.
pub(crate) async fn refuse(stream: TcpStream, limits: DoorLimits) {
    let stream = Strict::new(stream, limits.refusal, limits.linger);
    let service = service_fn(|_: Request<Incoming>| async {
        let message = format!("there are more than {} connections", limits.connections);
        Ok::<_, Infallible>(refused(&Refusal::new(Code::Busy, message)))
    });
    let connection = http1(limits.refusal).serve_connection(TokioIo::new(stream), service);
    let _ = connection.await;
}

fn http1(head: Duration) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(limits::HEAD);
    builder
}

fn is_raised(flaw: &AtomicBool) -> bool {
    flaw.load(Ordering::Relaxed)
}
