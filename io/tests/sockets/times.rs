//! Tests of the time limits of a connection in virtual time: rule I5. The sockets are real
//! and the clock is that of a simulation, so each limit is seen to fire when it is due,
//! and not a millisecond before.

use crate::support::any_port;
use krarup_act::Address;
use krarup_gen::{Reason, Result};
use krarup_io::bytes::Bytes;
use krarup_io::{
    Acceptor, AcceptorAddress, AcceptorRequest, Channel, Client, Closed, ConnectionOptions, Lines,
    Protocol, Raw,
};
use krarup_node::Simulation;
use socket2::SockRef;
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// The time the system may take to report bytes before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);
/// The tested limit.
const LIMIT: Duration = Duration::from_secs(10);
/// A millisecond less than the limit.
const NEARLY: Duration = Duration::from_millis(9_999);
/// The size of one send in tests that send many bytes.
const LOT: usize = 1 << 20;
/// More than both systems buffer.
const MUCH: usize = 6 * LOT;
/// Longer than a test takes, however often its limit begins anew.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// The shortest time of a timer.
const TICK: Duration = Duration::from_millis(1);

/// Reports its events, and does what the test tells it.
struct Told {
    told: Sender<Event>,
    /// Does not close when it is to stop.
    stubborn: bool,
}

#[derive(Debug, PartialEq)]
enum Event {
    Connected,
    Naps,
    /// The bytes were sent, and this many wait now.
    Sent(usize),
    Drained,
    Closed(Closed),
}

enum Do {
    Send(usize),
    SendOrWait(usize),
    /// Sends a byte after this time.
    SendAfter(Duration),
    Flush,
    Pause,
    Resume,
    Close,
}

impl Protocol for Told {
    type Message = Do;
    type Codec = Lines;
    fn codec(&self) -> Lines {
        Lines::new(MUCH)
    }
    async fn connected(&mut self, _: &mut Channel<Self>) -> Result {
        let _ = self.told.send(Event::Connected);
        Ok(())
    }
    async fn received(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
        if line == "nap" {
            let _ = self.told.send(Event::Naps);
            channel.context().sleep(2 * LIMIT).await;
        }
        Ok(())
    }
    async fn handle_message(&mut self, channel: &mut Channel<Self>, what: Do) -> Result {
        match what {
            Do::Send(bytes) => channel.send(&"x".repeat(bytes - 1))?,
            Do::SendOrWait(bytes) => {
                channel.send_or_wait(&"x".repeat(bytes - 1)).await?;
                let _ = self.told.send(Event::Sent(channel.waiting()));
            }
            Do::SendAfter(time) => {
                channel.context().sleep(time).await;
                channel.send("")?;
            }
            Do::Flush => {
                channel.flush().await?;
                let _ = self.told.send(Event::Sent(channel.waiting()));
            }
            Do::Pause => channel.pause(),
            Do::Resume => channel.resume(),
            Do::Close => channel.close(),
        }
        Ok(())
    }
    async fn stopping(&mut self, channel: &mut Channel<Self>) -> Result {
        if !self.stubborn {
            channel.close();
        }
        Ok(())
    }
    async fn drained(&mut self, _: &mut Channel<Self>) -> Result {
        let _ = self.told.send(Event::Drained);
        Ok(())
    }
    async fn closed(&mut self, _: &mut Channel<Self>, why: &Closed) {
        let _ = self.told.send(Event::Closed(why.clone()));
    }
}

/// A connection of a simulated node with a real peer.
struct Timed {
    sim: Simulation,
    acceptor: AcceptorAddress<Told>,
    connection: Address<Do>,
    events: Receiver<Event>,
    seen: RefCell<Vec<Event>>,
    peer: TcpStream,
}

impl Timed {
    fn new(options: ConnectionOptions) -> Self {
        Self::with(options, false, None)
    }

    fn with(options: ConnectionOptions, stubborn: bool, drain: Option<Duration>) -> Self {
        let sim = Simulation::new(1);
        let (told, events) = channel();
        let make = move || Told { told: told.clone(), stubborn };
        let acceptor = sim.spawn(move || {
            let acceptor = Acceptor::new(any_port(), make).options(options);
            match drain {
                Some(time) => acceptor.drain(time),
                None => acceptor,
            }
        });
        let acceptor = acceptor.start();
        let acceptor = acceptor.unwrap();
        let address = answer(&sim, acceptor.call(AcceptorRequest::Address)).unwrap();
        let peer = TcpStream::connect(address).unwrap();
        let seen = RefCell::new(Vec::new());
        run_until(&sim, || {
            seen.borrow_mut().extend(events.try_iter());
            seen.borrow().contains(&Event::Connected)
        });
        seen.borrow_mut().clear();
        let open = answer(&sim, acceptor.call(AcceptorRequest::Connections)).unwrap();
        let connection = open[0].connection.clone();
        Timed { sim, acceptor, connection, events, seen, peer }
    }

    /// Sends until both systems take no more, and this many bytes wait.
    fn fill(&self, waiting: usize) {
        self.peer.set_nonblocking(true).unwrap();
        // A fixed size: the system does not enlarge the buffer for a peer that reads much.
        SockRef::from(&self.peer).set_recv_buffer_size(LOT / 4).unwrap();
        while self.number("waiting_to_be_sent") < waiting as u64 {
            self.tell(Do::Send(LOT));
        }
    }

    /// Makes the peer read more than both systems buffer, so that some of the waiting
    /// bytes are taken.
    fn read_much(&self) {
        let room = RefCell::new(vec![0; LOT]);
        let read = Cell::new(0);
        run_until(&self.sim, || {
            read.set(read.get() + (&self.peer).read(&mut room.borrow_mut()).unwrap_or(0));
            read.get() >= MUCH
        });
    }

    fn tell(&self, what: Do) {
        self.connection.send(what).unwrap_or_else(|_| panic!("not sent"));
        self.sim.run_until_idle();
    }

    /// Makes the peer write, and waits until the connection has read it.
    fn write(&mut self, bytes: &[u8]) {
        let before = self.number("bytes_in");
        self.peer.write_all(bytes).unwrap();
        run_until(&self.sim, || self.number("bytes_in") == before + bytes.len() as u64);
    }

    fn number(&self, what: &str) -> u64 {
        let shown = answer(&self.sim, self.connection.inspect()).unwrap();
        shown.number(what).unwrap()
    }

    fn closed(&self) -> Option<Closed> {
        self.sim.run_until_idle();
        self.seen.borrow_mut().extend(self.events.try_iter());
        self.seen.borrow().iter().find_map(|event| match event {
            Event::Closed(why) => Some(why.clone()),
            _ => None,
        })
    }

    /// Asserts that the connection is open until this time has passed, and is then closed
    /// for this reason.
    fn closes_after(&self, time: Duration, why: &Closed) {
        self.open_for(time.saturating_sub(TICK));
        self.sim.advance(TICK);
        self.closes_now(why);
    }

    /// Asserts that the connection closes without a step of time. The system may take its own.
    fn closes_now(&self, why: &Closed) {
        run_until(&self.sim, || self.closed().is_some());
        assert_eq!(self.closed().as_ref(), Some(why));
    }

    /// Asserts that the connection is closed as stalled. What the peer has read may make room in
    /// the system only some time later, which is progress, too: the limit begins anew each time.
    fn stalls_at_last(&self) {
        run_until(&self.sim, || {
            self.sim.advance(LIMIT + TICK);
            self.closed().is_some()
        });
        let closed = self.closed();
        assert!(matches!(closed, Some(Closed::Stalled { limit: LIMIT, .. })), "{closed:?}");
    }

    fn open_for(&self, time: Duration) {
        self.sim.advance(time);
        assert_eq!(self.closed(), None, "closed too early");
    }
}

/// Runs the simulation until a condition is true. Virtual time does not advance.
fn run_until(sim: &Simulation, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        sim.run_until_idle();
        thread::yield_now();
        assert!(began.elapsed() < PATIENCE, "it does not come");
    }
}

fn answer<F: IntoFuture>(sim: &Simulation, asked: F) -> F::Output {
    let mut asked = pin!(asked.into_future());
    let mut cx = Context::from_waker(Waker::noop());
    let began = Instant::now();
    loop {
        if let Poll::Ready(answer) = asked.as_mut().poll(&mut cx) {
            return answer;
        }
        sim.run_until_idle();
        thread::yield_now();
        assert!(began.elapsed() < PATIENCE, "no answer");
    }
}

/// Limits of which none fires.
fn no_limits() -> ConnectionOptions {
    ConnectionOptions::new().stall_timeout(None).close_timeout(TICK).linger(Duration::ZERO)
}

#[test]
fn i5_the_idle_timeout_fires_to_the_millisecond() {
    let timed = Timed::new(no_limits().idle_timeout(LIMIT));
    timed.closes_after(LIMIT, &Closed::Idle(LIMIT));
}

#[test]
fn i5_reading_alone_keeps_a_connection_open() {
    let mut timed = Timed::new(no_limits().idle_timeout(LIMIT));
    for _ in 0..3 {
        timed.open_for(NEARLY);
        // A byte of an incomplete frame suffices.
        timed.write(b"x");
    }
    timed.closes_after(LIMIT, &Closed::Idle(LIMIT));
}

#[test]
fn i5_writing_alone_keeps_a_connection_open() {
    let mut timed = Timed::new(no_limits().idle_timeout(LIMIT));
    for _ in 0..3 {
        timed.open_for(NEARLY);
        timed.tell(Do::Send(7));
        timed.peer.read_exact(&mut [0; 7]).unwrap();
    }
    timed.closes_after(LIMIT, &Closed::Idle(LIMIT));
}

#[test]
fn i5_frames_without_bytes_are_no_traffic() {
    /// Sends a frame without bytes for each message.
    struct Silent;
    impl Protocol for Silent {
        type Message = ();
        type Codec = Raw;
        fn codec(&self) -> Raw {
            Raw
        }
        async fn received(&mut self, _: &mut Channel<Self>, _: Bytes) -> Result {
            Ok(())
        }
        async fn handle_message(&mut self, channel: &mut Channel<Self>, (): ()) -> Result {
            Ok(channel.send(b"")?)
        }
    }
    let sim = Simulation::new(1);
    let options = no_limits().idle_timeout(LIMIT);
    let acceptor = sim.spawn(move || Acceptor::new(any_port(), || Silent).options(options));
    let acceptor = acceptor.start().unwrap();
    let address = answer(&sim, acceptor.call(AcceptorRequest::Address)).unwrap();
    let _peer = TcpStream::connect(address).unwrap();
    let open = || answer(&sim, acceptor.call(AcceptorRequest::Connections)).unwrap();
    run_until(&sim, || !open().is_empty());
    sim.advance(NEARLY);
    open()[0].connection.send(()).unwrap();
    sim.run_until_idle();
    assert_eq!(open().len(), 1, "closed too early");
    sim.advance(TICK);
    run_until(&sim, || open().is_empty());
}

#[test]
fn i5_each_frame_has_its_own_time() {
    let mut timed = Timed::new(no_limits().frame_timeout(LIMIT));
    timed.write(b"one");
    for _ in 0..3 {
        timed.open_for(NEARLY);
        // The end of a frame, with the first byte of the next.
        timed.write(b"\nx");
    }
    timed.closes_after(LIMIT, &Closed::SlowFrame(LIMIT));
}

#[test]
fn i5_between_two_frames_there_is_no_frame_time() {
    let mut timed = Timed::new(no_limits().frame_timeout(LIMIT));
    timed.open_for(3 * LIMIT);
    timed.write(b"whole\n");
    timed.open_for(3 * LIMIT);
    timed.write(b"hal");
    timed.open_for(LIMIT / 2);
    // More bytes of it do not extend its time.
    timed.write(b"f");
    timed.closes_after(LIMIT / 2, &Closed::SlowFrame(LIMIT));
}

#[test]
fn i5_a_pause_costs_no_frame_time_and_does_not_close_as_slow() {
    let mut timed = Timed::new(no_limits().frame_timeout(LIMIT));
    timed.write(b"hal");
    timed.open_for(LIMIT / 2);
    timed.tell(Do::Pause);
    timed.open_for(3 * LIMIT);
    timed.tell(Do::Resume);
    timed.closes_after(LIMIT / 2, &Closed::SlowFrame(LIMIT));
}

#[test]
fn i5_the_timeout_of_a_frame_that_waited_for_the_protocol_starts_after_the_wait() {
    let timed = Timed::new(no_limits().frame_timeout(LIMIT));
    // The rest of the second frame would be late when the nap is over.
    (&timed.peer).write_all(b"nap\nhal").unwrap();
    run_until(&timed.sim, || timed.events.try_iter().any(|event| event == Event::Naps));
    timed.open_for(2 * LIMIT);
    timed.closes_after(LIMIT, &Closed::SlowFrame(LIMIT));
}

#[test]
fn i5_a_limit_that_is_due_before_the_one_that_is_armed_fires_in_time() {
    let options = no_limits().idle_timeout(10 * LIMIT).frame_timeout(LIMIT);
    let mut timed = Timed::new(options);
    // The idle timeout is armed; the frame's limit is due long before it.
    timed.open_for(LIMIT);
    timed.write(b"hal");
    timed.closes_after(LIMIT, &Closed::SlowFrame(LIMIT));
}

#[test]
fn i5_a_peer_that_takes_some_waiting_bytes_is_not_stalled() {
    let options = no_limits().write_limit(64 << 20).stall_timeout(LIMIT);
    let timed = Timed::new(options);
    timed.peer.set_nonblocking(true).unwrap();
    // More than both systems buffer.
    for _ in 0..24 {
        timed.tell(Do::Send(LOT));
    }
    assert!(timed.number("waiting_to_be_sent") > 0);
    for _ in 0..3 {
        timed.open_for(NEARLY);
        let written = timed.number("bytes_out");
        // Read until the system takes more.
        run_until(&timed.sim, || {
            let _ = (&timed.peer).read(&mut vec![0; LOT]);
            timed.number("bytes_out") > written
        });
    }
    timed.sim.advance(2 * LIMIT);
    let Some(Closed::Stalled { waiting, limit }) = timed.closed() else { panic!("not stalled") };
    assert!(waiting > 0 && limit == LIMIT);
}

#[test]
fn i5_the_stall_timeout_of_waiting_bytes_starts_when_they_begin_to_wait() {
    const FRAME: usize = 1000;
    let timed = Timed::new(no_limits().stall_timeout(LIMIT));
    // Whenever a frame is sent, there has been no progress for a long time. Of the last
    // frame the system takes nothing.
    while timed.number("waiting_to_be_sent") == 0 {
        timed.open_for(2 * LIMIT);
        timed.tell(Do::Send(FRAME));
    }
    timed.open_for(NEARLY);
}

#[test]
fn i5_further_sends_do_not_extend_the_stall_timeout() {
    let timed = Timed::new(no_limits().write_limit(64 << 20).stall_timeout(LIMIT));
    timed.fill(LOT);
    for _ in 0..100 {
        timed.sim.advance(LIMIT / 2);
        if let Some(closed) = timed.closed() {
            assert!(matches!(closed, Closed::Stalled { limit: LIMIT, .. }), "{closed}");
            // The peer must not mistake what it has for the whole stream.
            timed.peer.set_nonblocking(false).unwrap();
            let rest = (&timed.peer).read_to_end(&mut Vec::new());
            assert_eq!(rest.unwrap_err().kind(), ErrorKind::ConnectionReset);
            return;
        }
        timed.tell(Do::Send(7));
    }
    panic!("it never stalls");
}

#[test]
fn i5_bytes_the_peer_reads_during_a_callback_restart_the_stall_timeout() {
    let timed = Timed::new(no_limits().write_limit(64 << 20).stall_timeout(LIMIT));
    timed.fill(2 * MUCH + LOT);
    timed.tell(Do::SendAfter(2 * LIMIT));
    timed.open_for(LIMIT);
    timed.read_much();
    // The callback sends behind the waiting bytes and returns.
    timed.open_for(LIMIT);
    timed.open_for(NEARLY);
    timed.stalls_at_last();
}

#[test]
fn i5_a_closing_connection_may_stall() {
    for (close, rounds) in [(None, 0), (Some(A_YEAR), 1)] {
        let options = no_limits().write_limit(64 << 20).stall_timeout(LIMIT).close_timeout(close);
        let timed = Timed::new(options);
        timed.fill(2 * rounds * MUCH + LOT);
        timed.tell(Do::Close);
        for _ in 0..rounds {
            timed.open_for(NEARLY);
            timed.read_much();
        }
        timed.open_for(NEARLY);
        timed.stalls_at_last();
    }
}

#[test]
fn i5_a_closing_connection_is_abandoned_at_the_close_timeout_despite_progress() {
    let options = no_limits().write_limit(64 << 20).stall_timeout(LIMIT).close_timeout(2 * LIMIT);
    let timed = Timed::new(options);
    timed.fill(2 * MUCH + LOT);
    timed.tell(Do::Close);
    for _ in 0..2 {
        timed.open_for(NEARLY);
        timed.read_much();
    }
    timed.open_for(TICK);
    timed.sim.advance(TICK);
    let Some(Closed::Unsent { waiting, limit }) = timed.closed() else { panic!("not given up") };
    assert!(waiting > 0 && limit == 2 * LIMIT);
}

#[test]
fn i2_a_sender_waiting_for_room_continues_when_there_is_some() {
    const LIMIT: usize = 16 * LOT;
    let timed = Timed::new(no_limits().write_limit(LIMIT));
    timed.fill(LIMIT - LOT);
    let told = || timed.events.try_iter().next();
    let waiting_then = || {
        let seen = RefCell::new(None);
        let room = RefCell::new(vec![0; LOT]);
        run_until(&timed.sim, || {
            let _ = (&timed.peer).read(&mut room.borrow_mut());
            timed.sim.run_until_idle();
            seen.replace(told());
            seen.borrow().is_some()
        });
        let Some(Event::Sent(waiting)) = seen.take() else { panic!("not sent") };
        waiting
    };
    timed.tell(Do::SendOrWait(MUCH));
    assert_eq!(told(), None, "there was no room");
    let waiting = waiting_then();
    assert!(waiting > MUCH + LOT && waiting <= LIMIT, "{waiting} bytes wait");
    // A flush waits for all of it.
    timed.tell(Do::Flush);
    assert_eq!(told(), None, "a lot waits");
    assert_eq!(waiting_then(), 0);
    // No send was refused.
    timed.sim.run_until_idle();
    assert_eq!(told(), None);
}

#[test]
fn i4_the_end_of_a_peer_is_awaited_for_exactly_the_linger_time() {
    let timed = Timed::new(ConnectionOptions::new().linger(LIMIT));
    timed.tell(Do::Close);
    // The peer gets the end of the stream at once.
    timed.peer.set_nonblocking(true).unwrap();
    run_until(&timed.sim, || (&timed.peer).read(&mut [0]).is_ok_and(|count| count == 0));
    timed.open_for(NEARLY);
    // Nothing reads the bytes that it sends now.
    (&timed.peer).write_all(b"anybody?\n").unwrap();
    timed.sim.advance(TICK);
    timed.closes_now(&Closed::Local);
}

#[test]
fn i4_a_peer_that_keeps_sending_is_read_no_longer_than_the_linger_time() {
    let timed = Timed::new(no_limits());
    timed.tell(Do::Pause);
    // Fill the buffers of both systems, which is more than one discarding pass reads.
    timed.peer.set_nonblocking(true).unwrap();
    let line = vec![b'x'; LOT];
    let (mut sent, mut refused) = (0, 0);
    while refused < 1000 {
        match (&timed.peer).write(&line) {
            Ok(count) => (sent, refused) = (sent + count, 0),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                refused += 1;
                thread::yield_now();
            }
        }
    }
    assert!(sent > LOT, "the systems take {sent} bytes");
    timed.tell(Do::Close);
    assert_eq!(timed.closed(), Some(Closed::Local));
    // Not all of it was read, which resets the connection. The error is visible without a read.
    run_until(&timed.sim, || timed.peer.take_error().is_ok_and(|error| error.is_some()));
}

#[test]
fn i7_connections_get_the_closing_time_of_their_acceptor() {
    for (drain, time) in [(Some(LIMIT), LIMIT), (None, Duration::from_secs(3))] {
        let timed = Timed::with(no_limits(), true, drain);
        let end = timed.acceptor.watch();
        timed.acceptor.process().request_stop(Reason::Shutdown);
        timed.open_for(time.saturating_sub(TICK));
        assert!(timed.connection.is_alive());
        assert!(answer(&timed.sim, timed.acceptor.inspect()).is_ok());
        timed.sim.advance(TICK);
        assert!(!timed.connection.is_alive());
        assert_eq!(answer(&timed.sim, end).reason, Reason::Shutdown);
    }
}

#[test]
fn i5_connecting_to_a_server_that_answers_in_time_succeeds() {
    struct Silent;
    impl Protocol for Silent {
        type Message = Infallible;
        type Codec = Lines;
        fn codec(&self) -> Lines {
            Lines::new(80)
        }
        async fn received(&mut self, _: &mut Channel<Self>, _: String) -> Result {
            Ok(())
        }
    }
    let sim = Simulation::new(1);
    let listener = TcpListener::bind(any_port()).unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    let options = ConnectionOptions::new().connect_timeout(LIMIT);
    let client = answer(&sim, sim.spawn(move || Client::new(address, Silent).options(options)));
    let client = client.unwrap();
    let _stream = listener.accept().unwrap();
    // The time for connecting is over and has no effect any more.
    sim.advance(10 * LIMIT);
    assert!(client.is_alive());
}
