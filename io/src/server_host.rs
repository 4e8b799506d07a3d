//! The server of a client: an address, or a host whose addresses the system's resolver knows.

use crate::error::ConnectError;
use crate::timer::MovingTimer;
use krarup_act::Context;
use krarup_gen::Reason;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// Where a client's server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerHost {
    Address(SocketAddr),
    /// The name of a host, and a port.
    Named(String, u16),
}

impl ServerHost {
    /// Returns the addresses that are to be tried, in order. The `others` come last; they are tried alone if the
    /// resolver knows none.
    pub(crate) async fn addresses<M: Send + 'static>(
        self,
        others: Vec<SocketAddr>,
        ctx: &mut Context<M>,
        limit: Duration,
    ) -> Result<(SocketAddr, Vec<SocketAddr>), Reason> {
        let (name, port) = match self {
            ServerHost::Address(address) => return Ok((address, others)),
            ServerHost::Named(name, port) => (name, port),
        };
        match resolve(name, port, ctx, limit).await {
            Ok((first, mut found)) => {
                found.extend(others);
                Ok((first, found))
            }
            Err(reason) => match others.split_first() {
                Some((first, others)) => Ok((*first, others.to_vec())),
                None => Err(reason),
            },
        }
    }
}

/// Asks the system for the addresses of a name. Its resolver blocks, so it runs on a side thread, where it goes on if
/// the time is over.
async fn resolve<M: Send + 'static>(
    name: String,
    port: u16,
    ctx: &mut Context<M>,
    limit: Duration,
) -> Result<(SocketAddr, Vec<SocketAddr>), Reason> {
    let due = ctx.now() + limit;
    let host = name.clone();
    let asks = move || (name.as_str(), port).to_socket_addrs().map(Vec::from_iter);
    let mut resolves = pin!(ctx.block(asks));
    let mut timer = MovingTimer::default();
    let resolved: io::Result<Vec<_>> = poll_fn(|cx| {
        if let Poll::Ready(resolved) = resolves.as_mut().poll(cx) {
            return Poll::Ready(resolved);
        }
        let late = || ConnectError::Unanswered { host: host.clone(), limit };
        timer.poll(ctx, due, cx).map(|()| Err(late().into()))
    })
    .await?;
    let addresses = match resolved {
        Ok(addresses) => addresses,
        Err(source) => return Err(ConnectError::Unresolved { host, source }.into()),
    };
    let mut addresses = addresses.into_iter();
    match addresses.next() {
        Some(first) => Ok((first, addresses.collect())),
        None => {
            let source = io::Error::new(ErrorKind::NotFound, "the name has no address");
            Err(ConnectError::Unresolved { host, source }.into())
        }
    }
}
