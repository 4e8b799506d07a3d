//! Connecting to a server that has several addresses, as RFC 8305 ("happy eyeballs") recommends.
//!
//! ```text
//!          0     1 delay     2 delays
//!  first   ├─────────────────────────────────── no answer ───┤ dropped
//!  second        ├──── refused
//!  third               ├─────────────── connected: it wins ──┤
//! ```
//!
//! The next attempt begins when the one before has failed, or has lasted for the delay; the others go on meanwhile. An
//! attempt is over when the connection can be used: after the handshake, if there is TLS.

use crate::error::ConnectError;
use crate::options::{ATTEMPT_DELAYS, ConnectionOptions};
use crate::securing::Securing;
use crate::timer::MovingTimer;
use crate::wire::SocketStream;
use krarup_act::Context;
use krarup_gen::Timestamp;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

/// The connection that was established first.
pub(crate) struct EstablishedConnection {
    pub(crate) wire: Arc<SocketStream>,
    /// The address that was asked for.
    pub(crate) address: SocketAddr,
    /// The address of the other end.
    pub(crate) peer: SocketAddr,
}

/// Waits until one of several connections is established, and sets its options. The others are dropped.
///
/// The iterator, which has at least one item, begins a connection when it is asked for the next one.
pub(crate) async fn connected<M: Send + 'static>(
    ctx: &mut Context<M>,
    to_come: impl ExactSizeIterator<Item = (SocketAddr, io::Result<SocketStream>)>,
    options: &ConnectionOptions,
    securing: &Securing,
) -> Result<EstablishedConnection, ConnectError> {
    let limit = options.connect;
    let due = ctx.now() + limit;
    let delay = delay(to_come.len(), options);
    let (running, next, failure) = (Vec::new(), None, None);
    let mut attempts =
        ConnectionAttempts { to_come, running, next, failure, delay, options, securing };
    let (mut until_next, mut until_due) = (MovingTimer::default(), MovingTimer::default());
    poll_fn(|cx| {
        loop {
            if let Some(established) = attempts.poll_running(cx) {
                return Poll::Ready(Ok(established));
            }
            if attempts.to_come.len() == 0 {
                break;
            }
            if let Some(next) = attempts.next
                && until_next.poll(ctx, next, cx).is_pending()
            {
                break;
            }
            attempts.begin(ctx.now());
        }
        let Some(&(address, _)) = attempts.running.last() else {
            let failure = attempts.failure.take();
            return Poll::Ready(Err(failure.expect("each attempt has failed, and there was one")));
        };
        until_due.poll(ctx, due, cx).map(|()| Err(ConnectError::Timeout { address, limit }))
    })
    .await
}

/// Returns the time between two attempts. It is shorter than that of the options if the last of the addresses would not have
/// its turn within the connect timeout.
fn delay(addresses: usize, options: &ConnectionOptions) -> Duration {
    let share = options.connect / u32::try_from(addresses.max(1)).unwrap_or(u32::MAX);
    let (shortest, _) = ATTEMPT_DELAYS;
    options.attempt_delay.min(share).max(shortest)
}

/// The attempts to connect to one server.
struct ConnectionAttempts<'a, I> {
    to_come: I,
    /// Those under way, in the order of their begin.
    running: Vec<(SocketAddr, SocketStream)>,
    /// When the next one is due. `None` is now.
    next: Option<Timestamp>,
    /// The failure that came last.
    failure: Option<ConnectError>,
    delay: Duration,
    options: &'a ConnectionOptions,
    securing: &'a Securing,
}

impl<I: Iterator<Item = (SocketAddr, io::Result<SocketStream>)>> ConnectionAttempts<'_, I> {
    /// Begins the next one.
    fn begin(&mut self, now: Timestamp) {
        let Some((address, wire)) = self.to_come.next() else { return };
        match wire.and_then(|wire| self.securing.secure(wire)) {
            Ok(wire) => {
                self.running.push((address, wire));
                self.next = Some(now + self.delay);
            }
            Err(source) => {
                self.failed(address, source);
                self.next = None;
            }
        }
    }

    /// Returns the first of those under way that is established, and removes those that have failed.
    fn poll_running(&mut self, cx: &task::Context<'_>) -> Option<EstablishedConnection> {
        let mut number = 0;
        while let Some((_, wire)) = self.running.get(number) {
            let Poll::Ready(connected) = wire.poll_connected(cx) else {
                number += 1;
                continue;
            };
            let is_latest = number + 1 == self.running.len();
            let (address, wire) = self.running.remove(number);
            let stands = connected.and_then(|peer| {
                wire.check_peer(peer)?;
                wire.set_up(self.options)?;
                Ok(peer)
            });
            match stands {
                Ok(peer) => {
                    return Some(EstablishedConnection { wire: Arc::new(wire), address, peer });
                }
                Err(source) => self.failed(address, source),
            }
            if is_latest {
                self.next = None;
            }
        }
        None
    }

    fn failed(&mut self, address: SocketAddr, source: io::Error) {
        self.failure = Some(if self.securing.has_failed(&source) {
            ConnectError::Tls { address, source }
        } else {
            ConnectError::Failed { address, source }
        });
    }
}

#[cfg(test)]
mod tests;
