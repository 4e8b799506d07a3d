//! The running acceptor: how it accepts, answers and stops.

use crate::back_off::AcceptBackOff;
use crate::callback::log;
use crate::reactor::Socket;
use crate::readiness::{Direction, is_lost};
use crate::tally::{ConnectionTally, Peer};
use crate::timer::MovingTimer;
use crate::worker::{Accepted, Handed};
use krarup_act::{Address, BehaviorContext, Context, PoolCommand, Received, Reply};
use krarup_gen::{Exit, Inspection, Reason, Timestamp, Value};
use mio::net::{TcpListener, TcpStream};
use socket2::SockRef;
use std::error::Error;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

/// The time for killed connections to end. A killed process ends at its next await.
const KILL: Duration = Duration::from_secs(1);
/// The number of connections that are accepted before other processes have their turn.
const BUDGET: u32 = 16;
/// How often a connection is passed on again if its worker has ended before it took it.
/// All waits together are some two seconds.
const HANDED_AGAIN: usize = 8;
/// The most peers that an inspection shows.
const SHOWN: usize = 32;

/// What an acceptor does with a connection beyond its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AtLimit {
    /// Accepts no connection until another one is closed. The connection waits in the
    /// system's queue, and its client considers it connected.
    #[default]
    Wait,
    /// Accepts the connection and resets it at once, so that its client is notified.
    Refuse,
}

/// A request to an acceptor.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcceptorRequest<M: Send + 'static> {
    /// Requests the address it listens on, with its port.
    Address(Reply<SocketAddr>),
    /// Requests the open connections, in the order in which they were accepted.
    Connections(Reply<Vec<Peer<M>>>),
}

/// A running acceptor.
pub(crate) struct AcceptorServer<M: Send + 'static> {
    listener: Option<Socket<TcpListener>>,
    local: SocketAddr,
    tally: Arc<ConnectionTally<M>>,
    pool: Address<Accepted<M>, PoolCommand>,
    limit: Option<usize>,
    at_limit: AtLimit,
    /// When to try again after an error of the system.
    retry: Option<Timestamp>,
    back_off: AcceptBackOff,
    timer: MovingTimer,
    spent: u32,
    accepted: u64,
    refused: u64,
    errors: u64,
}

/// The next event.
enum ListenerEvent<M: Send + 'static> {
    Item(Received<AcceptorRequest<M>>),
    Accepted(io::Result<(TcpStream, SocketAddr)>),
}

impl<M: Send + 'static> AcceptorServer<M> {
    pub(crate) fn new(
        (listener, local): (Socket<TcpListener>, SocketAddr),
        tally: Arc<ConnectionTally<M>>,
        pool: Address<Accepted<M>, PoolCommand>,
        limit: Option<usize>,
        at_limit: AtLimit,
    ) -> Self {
        AcceptorServer {
            listener: Some(listener),
            local,
            tally,
            pool,
            limit,
            at_limit,
            retry: None,
            back_off: AcceptBackOff::new(),
            timer: MovingTimer::default(),
            spent: 0,
            accepted: 0,
            refused: 0,
            errors: 0,
        }
    }

    /// Serves until the acceptor is to stop.
    pub(crate) async fn serve(&mut self, ctx: &mut Context<AcceptorRequest<M>>) -> Reason {
        loop {
            match poll_fn(|cx| self.poll_next(ctx, cx)).await {
                ListenerEvent::Accepted(Ok((stream, peer))) => {
                    self.hand_on(ctx, stream, peer).await;
                }
                // A new socket would get reports again, and the restarted acceptor opens one.
                ListenerEvent::Accepted(Err(error)) if is_lost(&error) => return error.into(),
                ListenerEvent::Accepted(Err(error)) => self.wait_after(ctx, &error),
                ListenerEvent::Item(item) => {
                    if let Some(reason) = self.handle(ctx, item) {
                        return reason;
                    }
                }
            }
        }
    }

    fn poll_next(
        &mut self,
        ctx: &mut Context<AcceptorRequest<M>>,
        cx: &mut task::Context<'_>,
    ) -> Poll<ListenerEvent<M>> {
        if self.spent >= BUDGET {
            self.spent = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.spent += 1;
        if let Poll::Ready(item) = pin!(ctx.receive()).poll(cx) {
            return Poll::Ready(ListenerEvent::Item(item));
        }
        if let Poll::Ready(accepted) = self.poll_accept(ctx, cx) {
            return Poll::Ready(ListenerEvent::Accepted(accepted));
        }
        self.spent = 0;
        Poll::Pending
    }

    /// Accepts the next connection when the limit permits it.
    fn poll_accept(
        &mut self,
        ctx: &mut Context<AcceptorRequest<M>>,
        cx: &mut task::Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        if ctx.is_suspended() {
            return Poll::Pending;
        }
        if let Some(retry) = self.retry {
            if self.timer.poll(ctx, retry, cx).is_pending() {
                return Poll::Pending;
            }
            self.retry = None;
        }
        if let Some(limit) = self.limit
            && self.at_limit == AtLimit::Wait
            && self.tally.poll_below(limit, cx).is_pending()
        {
            return Poll::Pending;
        }
        match &self.listener {
            Some(listener) => listener.poll_io(Direction::Read, cx, TcpListener::accept),
            None => Poll::Pending,
        }
    }

    /// Passes a connection to the next worker.
    async fn hand_on(
        &mut self,
        ctx: &mut Context<AcceptorRequest<M>>,
        stream: TcpStream,
        peer: SocketAddr,
    ) {
        self.back_off = AcceptBackOff::new();
        if self.limit.is_some_and(|limit| self.tally.open() >= limit) {
            self.refused += 1;
            // If this fails, the client sees the end of the stream instead of a reset.
            let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
            return;
        }
        let handed = Handed::new(stream, peer, self.tally.take());
        let mut error = self.hand_to_one(&handed).await.err();
        let mut pause = AcceptBackOff::new();
        for _ in 0..HANDED_AGAIN {
            // The worker has ended before it took the connection: pass it to the next one.
            if error.is_none() || !handed.is_there() {
                break;
            }
            // If it was the only worker, its replacement needs time to start.
            ctx.sleep(pause.next()).await;
            error = self.hand_to_one(&handed).await.err();
        }
        let Some(error) = error else {
            self.accepted += 1;
            return;
        };
        self.refused += 1;
        log(|| tracing::warn!(target: "krarup", %peer, %error, "a connection was dropped"));
    }

    async fn hand_to_one(
        &self,
        handed: &Arc<Handed<M>>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let handed = Arc::clone(handed);
        Ok(self.pool.call(|mounted| Accepted { handed, mounted }).await??)
    }

    /// Handles an error of `accept`. A connection that was aborted before it was accepted
    /// is ignored. After any other error the system needs time: most likely it is out of
    /// descriptors, which become free again.
    fn wait_after(&mut self, ctx: &Context<AcceptorRequest<M>>, error: &io::Error) {
        self.errors += 1;
        if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) {
            return;
        }
        if self.back_off.is_fresh() {
            let address = self.local;
            log(|| {
                tracing::warn!(
                    target: "krarup", %address, %error, "cannot accept connections; trying again"
                );
            });
        }
        self.retry = Some(ctx.now() + self.back_off.next());
    }

    /// Handles an item that is not a connection. Returns a reason if the acceptor is to stop.
    fn handle(
        &self,
        ctx: &Context<AcceptorRequest<M>>,
        item: Received<AcceptorRequest<M>>,
    ) -> Option<Reason> {
        match item {
            Received::Message(request) | Received::Command(request) => match request {
                AcceptorRequest::Address(reply) => reply.send(self.local),
                AcceptorRequest::Connections(reply) => reply.send(self.tally.peers()),
            },
            Received::Inspect(reply) => reply.send(self.inspection()),
            Received::State(reply) => reply.send(None),
            Received::Stop(reason) => return Some(reason),
            Received::Finish => return Some(Reason::Normal),
            Received::Exit(Exit { pid, reason }) => {
                let stops = pid == self.pool.pid() || ctx.parent() == Some(pid);
                return (stops || reason.is_abnormal()).then_some(reason);
            }
            _ => {}
        }
        None
    }

    /// Stops listening and ends the processes below.
    pub(crate) async fn stop(&mut self, ctx: &mut Context<AcceptorRequest<M>>, drain: Duration) {
        self.listener = None;
        for open in self.tally.peers() {
            open.connection.process().request_stop(Reason::Shutdown);
        }
        self.emptied(ctx, drain).await;
        for open in self.tally.peers() {
            open.connection.process().kill();
        }
        self.emptied(ctx, KILL).await;
        let end = ctx.watch(self.pool.pid());
        self.pool.process().request_stop(Reason::Shutdown);
        end.await;
    }

    /// Waits until no connection is open, at most for `limit`. Requests are answered meanwhile.
    async fn emptied(&mut self, ctx: &mut Context<AcceptorRequest<M>>, limit: Duration) {
        let due = ctx.now() + limit;
        loop {
            let item = poll_fn(|cx| {
                if self.tally.poll_below(1, cx).is_ready() {
                    return Poll::Ready(None);
                }
                if let Poll::Ready(item) = pin!(ctx.receive()).poll(cx) {
                    return Poll::Ready(Some(item));
                }
                self.timer.poll(ctx, due, cx).map(|()| None)
            });
            match item.await {
                None => return,
                // The acceptor is stopping already.
                Some(item) => drop(self.handle(ctx, item)),
            }
        }
    }

    fn inspection(&self) -> Inspection {
        let peers = self.tally.peers();
        let shown = peers.iter().take(SHOWN).map(|open| Value::from(open.peer.to_string()));
        let inspection = Inspection::new()
            .with("address", self.local.to_string())
            .with("connections", peers.len());
        let inspection = match self.limit {
            Some(limit) => inspection.with("limit", limit),
            None => inspection.with("limit", "none"),
        };
        inspection
            .with("accepted", self.accepted)
            .with("refused", self.refused)
            .with("accept_errors", self.errors)
            .with("listening", self.listener.is_some())
            .with("peers", shown.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests;
