//! The running acceptor: how it accepts, answers and stops.

use crate::back_off::AcceptBackOff;
use crate::callback::log;
use crate::reactor::Socket;
use crate::readiness::{Direction, is_lost};
use crate::tally::{ConnectionTally, Peer};
use crate::timer::MovingTimer;
use crate::worker::{Accepted, Handed};
use krarup_act::{Address, Context, PoolCommand, Received, Reply};
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
mod tests {
    use super::*;
    use crate::callback::tests::logged;
    use crate::codecs::lines::Lines;
    use crate::options::ConnectionOptions;
    use crate::protocol::{Channel, Protocol};
    use crate::worker::ConnectionWorker;
    use krarup_act::{Pool, behavior_fn};
    use krarup_node::Simulation;
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::channel;
    use std::task::{Wake, Waker};

    struct Nothing;

    impl Protocol for Nothing {
        type Message = Infallible;
        type Codec = Lines;
        fn codec(&self) -> Lines {
            Lines::new(80)
        }
        async fn received(&mut self, _: &mut Channel<Self>, _: String) -> krarup_gen::Result {
            Ok(())
        }
    }

    type Requests = AcceptorRequest<Infallible>;

    /// Returns a listener and a stream that is connected to it.
    fn sockets() -> (Socket<TcpListener>, SocketAddr, TcpStream) {
        let listener = TcpListener::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let local = listener.local_addr().unwrap();
        let stream = TcpStream::connect(local).unwrap();
        (Socket::new(listener).unwrap(), local, stream)
    }

    /// Returns an acceptor with this limit, and its pool.
    async fn server(
        ctx: &mut Context<Requests, Requests>,
        bound: (Socket<TcpListener>, SocketAddr),
        limit: Option<usize>,
    ) -> krarup_gen::Result<AcceptorServer<Infallible>> {
        server_of(ctx, bound, limit, ConnectionOptions::new()).await
    }

    async fn server_of(
        ctx: &mut Context<Requests, Requests>,
        (listener, local): (Socket<TcpListener>, SocketAddr),
        limit: Option<usize>,
        options: ConnectionOptions,
    ) -> krarup_gen::Result<AcceptorServer<Infallible>> {
        let tally = ConnectionTally::new();
        let worker = {
            let tally = Arc::clone(&tally);
            move || {
                let factory = Arc::new(|| Nothing);
                ConnectionWorker::<Nothing, _>::new(factory, options.clone(), Arc::clone(&tally))
            }
        };
        let pool = ctx.spawn(move || Pool::new(1, worker)).await?;
        Ok(AcceptorServer::new((listener, local), tally, pool, limit, AtLimit::Refuse))
    }

    /// Returns how long an acceptor waits after an error, in milliseconds.
    fn wait(
        server: &mut AcceptorServer<Infallible>,
        ctx: &Context<Requests, Requests>,
        kind: ErrorKind,
    ) -> u128 {
        server.wait_after(ctx, &kind.into());
        server.retry.take().map_or(0, |retry| (retry - ctx.now()).as_millis())
    }

    /// Runs the test in a process of a simulation, to its end.
    fn simulated<T, F>(test: impl FnOnce(Context<Requests, Requests>) -> F + Send + 'static) -> T
    where
        T: Send + 'static,
        F: Future<Output = krarup_gen::Result<T>> + Send + 'static,
    {
        let sim = Simulation::new(1);
        let (told, tells) = channel();
        let process = behavior_fn(move |ctx: Context<Requests, Requests>| async move {
            let _ = told.send(test(ctx).await?);
            Ok(())
        });
        sim.spawn(move || process).start().unwrap();
        sim.advance(Duration::from_mins(1));
        tells.try_recv().expect("it has failed")
    }

    const REFUSAL: ErrorKind = ErrorKind::OutOfMemory;

    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn i1_an_acceptor_that_has_more_to_accept_ends_its_turn_and_has_another() {
        let turns = simulated(|mut ctx| async move {
            let (listener, local, _stream) = sockets();
            let connect = |_| std::net::TcpStream::connect(local).unwrap();
            // More than are accepted here: the last may be a moment on their way.
            let peers: Vec<_> = (0..3 * BUDGET).map(connect).collect();
            let mut server = server(&mut ctx, (listener, local), None).await?;
            let woken = Arc::new(Woken::default());
            let waker = Waker::from(Arc::clone(&woken));
            let mut cx = task::Context::from_waker(&waker);
            let (mut turns, mut accepted) = (Vec::new(), 0);
            while turns.len() < 2 {
                match server.poll_next(&mut ctx, &mut cx) {
                    Poll::Ready(ListenerEvent::Accepted(Ok(_))) => accepted += 1,
                    Poll::Ready(_) => panic!("nothing else has come"),
                    Poll::Pending => {
                        let is_woken = woken.0.swap(0, Ordering::Relaxed) > 0;
                        turns.push((std::mem::take(&mut accepted), is_woken));
                    }
                }
            }
            drop(peers);
            Ok(turns)
        });
        assert_eq!(turns, [(BUDGET, true); 2]);
    }

    #[test]
    fn i6_a_success_resets_the_back_off_of_an_acceptor() {
        let waits = simulated(|mut ctx| async move {
            let (listener, local, stream) = sockets();
            let mut server = server(&mut ctx, (listener, local), None).await?;
            let first = wait(&mut server, &ctx, REFUSAL);
            let second = wait(&mut server, &ctx, REFUSAL);
            server.hand_on(&mut ctx, stream, local).await;
            assert_eq!((server.accepted, server.refused), (1, 0));
            Ok([first, second, wait(&mut server, &ctx, REFUSAL)])
        });
        assert_eq!(waits, [10, 20, 10]);
    }

    #[test]
    fn i6_a_refused_connection_was_accepted_by_the_system_first() {
        let waits = simulated(|mut ctx| async move {
            let (listener, local, stream) = sockets();
            let mut server = server(&mut ctx, (listener, local), Some(1)).await?;
            let _place = server.tally.take();
            let first = wait(&mut server, &ctx, REFUSAL);
            server.hand_on(&mut ctx, stream, local).await;
            assert_eq!((server.accepted, server.refused), (0, 1));
            Ok([first, wait(&mut server, &ctx, REFUSAL)])
        });
        assert_eq!(waits, [10, 10]);
    }

    #[test]
    fn i6_a_connection_aborted_before_accept_is_counted_and_causes_no_back_off() {
        let (waits, errors) = simulated(|mut ctx| async move {
            let (listener, local, _stream) = sockets();
            let mut server = server(&mut ctx, (listener, local), None).await?;
            let kinds = [ErrorKind::ConnectionAborted, ErrorKind::ConnectionReset, REFUSAL];
            let waits = kinds.map(|kind| wait(&mut server, &ctx, kind));
            Ok((waits, server.errors))
        });
        assert_eq!((waits, errors), ([0, 0, 10], 3));
    }

    #[test]
    fn i6_only_the_first_of_consecutive_refusals_is_logged() {
        let events = logged(|| {
            simulated(|mut ctx| async move {
                let (listener, local, stream) = sockets();
                let mut server = server(&mut ctx, (listener, local), None).await?;
                for _ in 0..3 {
                    assert!(wait(&mut server, &ctx, REFUSAL) > 0);
                }
                server.hand_on(&mut ctx, stream, local).await;
                assert_eq!(wait(&mut server, &ctx, REFUSAL), 10);
                assert_eq!((server.accepted, server.errors), (1, 4));
                Ok(())
            });
        });
        assert_eq!(events, 2, "and the first after a success");
    }

    #[test]
    fn i6_nothing_is_accepted_during_the_back_off() {
        simulated(|mut ctx| async move {
            let (listener, local, _stream) = sockets();
            let mut server = server(&mut ctx, (listener, local), None).await?;
            server.wait_after(&ctx, &REFUSAL.into());
            let began = ctx.now();
            let accepted = poll_fn(|cx| server.poll_accept(&mut ctx, cx)).await;
            assert!(accepted.is_ok());
            assert_eq!(ctx.now() - began, Duration::from_millis(10));
            assert_eq!(server.retry, None);
            Ok(())
        });
    }

    #[test]
    fn i1_a_connection_that_no_worker_accepts_is_dropped_after_the_retries() {
        let took = simulated(|mut ctx| async move {
            let (listener, local, stream) = sockets();
            let mut server = server(&mut ctx, (listener, local), None).await?;
            let end = ctx.watch(server.pool.pid());
            server.pool.process().kill();
            end.await;
            let began = ctx.now();
            server.hand_on(&mut ctx, stream, local).await;
            assert_eq!((server.accepted, server.refused), (0, 1));
            assert_eq!(server.tally.open(), 0);
            Ok(ctx.now() - began)
        });
        // The waits of the back-off: 10 + 20 + 40 + .. + 1000 ms.
        assert_eq!(took, Duration::from_millis(2270));
    }

    #[test]
    fn i1_a_connection_that_cannot_be_spawned_is_dropped_at_once() {
        let dropped = logged(|| {
            let took = simulated(|mut ctx| async move {
                let (listener, local, stream) = sockets();
                // A bound that no mailbox can have.
                let none = ConnectionOptions::new().mailbox(0);
                let mut server = server_of(&mut ctx, (listener, local), None, none).await?;
                let began = ctx.now();
                server.hand_on(&mut ctx, stream, local).await;
                assert_eq!((server.accepted, server.refused), (0, 1));
                assert_eq!(server.tally.open(), 0);
                Ok(ctx.now() - began)
            });
            // No worker has ended, and another one could not spawn it either.
            assert_eq!(took, Duration::ZERO);
        });
        assert_eq!(dropped, 1);
    }

    #[test]
    fn i2_an_acceptor_ends_when_its_socket_gets_no_more_readiness_events() {
        let reason = simulated(|mut ctx| async move {
            let listener = TcpListener::bind(([127, 0, 0, 1], 0).into())?;
            let local = listener.local_addr()?;
            let bound = (crate::reactor::lost(listener), local);
            Ok(server(&mut ctx, bound, None).await?.serve(&mut ctx).await)
        });
        assert!(reason.is_abnormal(), "{reason}");
        assert_eq!(reason.to_string(), "the socket thread has failed");
    }

    #[test]
    fn i7_an_acceptor_ends_with_its_pool_even_if_that_ends_normally() {
        let reason = simulated(|mut ctx| async move {
            ctx.trap_exits(true);
            let listener = TcpListener::bind(([127, 0, 0, 1], 0).into())?;
            let local = listener.local_addr()?;
            let mut server = server(&mut ctx, (Socket::new(listener)?, local), None).await?;
            ctx.link(server.pool.pid());
            server.pool.finish();
            Ok(server.serve(&mut ctx).await)
        });
        assert_eq!(reason, Reason::Normal);
    }

    #[test]
    fn i6_requests_to_an_acceptor_are_handled_before_the_next_connection() {
        simulated(|mut ctx| async move {
            let (listener, local, _stream) = sockets();
            let mut server = server(&mut ctx, (listener, local), None).await?;
            ctx.address().finish();
            let first = poll_fn(|cx| server.poll_next(&mut ctx, cx)).await;
            assert!(matches!(first, ListenerEvent::Item(Received::Finish)));
            let second = poll_fn(|cx| server.poll_next(&mut ctx, cx)).await;
            assert!(matches!(second, ListenerEvent::Accepted(Ok(_))));
            Ok(())
        });
    }
}
