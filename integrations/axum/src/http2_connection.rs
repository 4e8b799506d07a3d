//! One connection of HTTP/2 by prior knowledge (RFC 9113, section 3.3).
//!
//! hyper waits for the begin of a connection without a limit of time, also when it is to end. So the begin is
//! read here, within the time of [`HttpServer::head_timeout`](crate::HttpServer::head_timeout), and
//! given to hyper again.

use crate::request_routes::RequestRoutes;
use crate::timeout_stream::TimeoutStream;
use hyper::server::conn::http2::{Builder, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, join};
use tokio::net::TcpStream;

/// What a client sends first, and nobody who speaks another protocol.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Reads the begin of a connection, and returns the stream from its begin. Its writes fail when the client
/// has taken nothing for `write`.
///
/// # Errors
/// The client has gone, or does not speak HTTP/2.
pub(crate) async fn begin(
    mut stream: TcpStream,
    write: Duration,
) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
    let mut preface = [0; PREFACE.len()];
    stream.read_exact(&mut preface).await?;
    if preface != *PREFACE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let (reader, writer) = stream.into_split();
    Ok(join(PREFACE.chain(reader), TimeoutStream::new(writer, write)))
}

/// Serves a connection. A client that is silent for this long is asked whether it is still there, and
/// has as long again to answer.
pub(crate) fn serve<S>(
    stream: S,
    routes: RequestRoutes,
    silence: Duration,
) -> Connection<TokioIo<S>, RequestRoutes, TokioExecutor>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(silence)
        .keep_alive_timeout(silence)
        .serve_connection(TokioIo::new(stream), routes)
}
