//! Tests of a running acceptor.

use super::*;
use crate::callback::tests::logged;
use crate::options::ConnectionOptions;
use crate::readiness::tests::counting_waker;
use crate::securing::Securing;
use crate::silent_protocol::SilentProtocol;
use crate::worker::ConnectionWorker;
use krarup_act::{Pool, behavior_fn};
use krarup_node::Simulation;
use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;

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
            let (factory, options) = (Arc::new(|| SilentProtocol), Arc::new(options.clone()));
            let tally = Arc::clone(&tally);
            ConnectionWorker::<SilentProtocol>::new(factory, options, Securing::Clear, tally)
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
    sim.advance(Duration::from_secs(60));
    tells.try_recv().expect("the process has failed")
}

const REFUSAL: ErrorKind = ErrorKind::OutOfMemory;

#[test]
fn i1_an_acceptor_that_has_more_to_accept_ends_its_turn_and_has_another() {
    let turns = simulated(|mut ctx| async move {
        let (listener, local, _stream) = sockets();
        let connect = |_| std::net::TcpStream::connect(local).unwrap();
        // More than are accepted here: the last may be a moment on their way.
        let peers: Vec<_> = (0..3 * BUDGET).map(connect).collect();
        let mut server = server(&mut ctx, (listener, local), None).await?;
        let (counter, waker) = counting_waker(false);
        let mut cx = task::Context::from_waker(&waker);
        let (mut turns, mut accepted) = (Vec::new(), 0);
        while turns.len() < 2 {
            match server.poll_next(&mut ctx, &mut cx) {
                Poll::Ready(ListenerEvent::Accepted(Ok(_))) => accepted += 1,
                Poll::Ready(_) => panic!("no other event has arrived"),
                Poll::Pending => {
                    let is_woken = counter.wakes.swap(0, Ordering::Relaxed) > 0;
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
