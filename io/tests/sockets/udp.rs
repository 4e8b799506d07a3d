//! Tests of UDP: rule I8.

use krarup_act::{Address, Context, behavior_fn};
use krarup_gen::{DebugError, Down, Inspection, Reason, Result, SpawnError};
use krarup_io::bytes::Bytes;
use krarup_io::{BindError, DatagramChannel, DatagramError, DatagramProtocol, Udp};
use krarup_node::Node;
use std::convert::Infallible;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// The time an event may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends each datagram back, and panics on request.
struct Echo {
    bound: Sender<SocketAddr>,
    closed: Sender<Reason>,
}

impl DatagramProtocol for Echo {
    type Message = Infallible;

    async fn bound(&mut self, channel: &mut DatagramChannel<Infallible>) -> Result {
        let _ = self.bound.send(channel.local());
        Ok(())
    }

    async fn received(
        &mut self,
        channel: &mut DatagramChannel<Infallible>,
        from: SocketAddr,
        datagram: Bytes,
    ) -> Result {
        assert_ne!(&datagram[..], b"panic");
        channel.send_to_or_wait(&datagram, from).await?;
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("kind", "echo")
    }

    async fn closed(&mut self, _: &mut DatagramChannel<Infallible>, reason: &Reason) {
        let _ = self.closed.send(reason.clone());
    }
}

fn any_port() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn peer() -> UdpSocket {
    let socket = UdpSocket::bind(any_port()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

#[test]
fn i8_datagrams_come_back_to_their_senders() {
    let node = Node::start("udp@localhost").unwrap();
    let (bound, address) = channel();
    let (closed, ended) = channel();
    let echo = node.spawn(move || Udp::new(any_port(), Echo { bound, closed })).wait().unwrap();
    let address = address.recv().unwrap();
    let peers = [peer(), peer()];
    for size in [0, 1, 500, 60_000] {
        for (number, peer) in (1_u8..).zip(&peers) {
            let datagram = vec![number; size];
            peer.send_to(&datagram, address).unwrap();
            let mut room = vec![0; 1 << 16];
            let (length, from) = peer.recv_from(&mut room).unwrap();
            assert_eq!((&room[..length], from), (&datagram[..], address));
        }
    }
    let shown = echo.inspect().wait().unwrap();
    assert_eq!(shown.number("datagrams_in"), Some(8));
    assert_eq!(shown.number("datagrams_out"), Some(8));
    assert_eq!(shown.text("kind"), Some("echo"));
    assert_eq!(shown.text("local"), Some(&*address.to_string()));
    echo.stop().reason(Reason::Shutdown).wait().unwrap();
    assert_eq!(ended.recv().unwrap(), Reason::Shutdown);
    // The port is free again.
    UdpSocket::bind(address).unwrap();
    node.stop().wait().unwrap();
}

#[test]
fn i8_a_crash_closes_the_socket_and_calls_closed() {
    let node = Node::start("udp@localhost").unwrap();
    let (bound, address) = channel();
    let (closed, ended) = channel();
    let echo = node.spawn(move || Udp::new(any_port(), Echo { bound, closed })).wait().unwrap();
    let address = address.recv().unwrap();
    let end = echo.watch();
    peer().send_to(b"panic", address).unwrap();
    assert!(matches!(ended.recv().unwrap(), Reason::Panic(_)));
    let reason = end.wait().unwrap().reason;
    assert!(matches!(reason, Reason::Panic(_)), "{reason}");
    UdpSocket::bind(address).unwrap();
    node.stop().wait().unwrap();
}

/// Sends the datagrams that it is told to send.
struct Sending {
    outcome: Sender<Result<(), DatagramError>>,
}

impl DatagramProtocol for Sending {
    type Message = (Vec<u8>, SocketAddr);

    async fn received(
        &mut self,
        _: &mut DatagramChannel<Self::Message>,
        _: SocketAddr,
        _: Bytes,
    ) -> Result {
        Ok(())
    }

    async fn handle_message(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
        (datagram, to): Self::Message,
    ) -> Result {
        let _ = self.outcome.send(channel.send_to(&datagram, to));
        Ok(())
    }
}

#[test]
fn i8_a_failed_bind_or_send_is_a_typed_error() {
    let node = Node::start("udp@localhost").unwrap();
    let (outcome, outcomes) = channel();
    let socket = node.spawn(move || Udp::new(any_port(), Sending { outcome })).wait().unwrap();
    let peer = peer();
    let to = peer.local_addr().unwrap();
    socket.send((vec![7; 65_507], to)).unwrap();
    assert_eq!(outcomes.recv().unwrap(), Ok(()));
    let mut room = vec![0; 1 << 16];
    assert_eq!(peer.recv_from(&mut room).unwrap().0, 65_507);
    socket.send((vec![7; 65_508], to)).unwrap();
    assert_eq!(outcomes.recv().unwrap(), Err(DatagramError::TooLong { length: 65_508 }));
    // The socket is an IPv4 socket.
    let elsewhere: SocketAddr = "[::1]:9".parse().unwrap();
    socket.send((vec![7], elsewhere)).unwrap();
    let Err(DatagramError::Failed { to, .. }) = outcomes.recv().unwrap() else { panic!("sent") };
    assert_eq!(to, elsewhere);

    let taken = peer.local_addr().unwrap();
    let (outcome, _) = channel();
    let bound = node.spawn(move || Udp::new(taken, Sending { outcome })).wait();
    let Err(SpawnError::Init(reason)) = bound else { panic!("bound twice") };
    assert_eq!(reason.downcast_ref::<BindError>().unwrap().address, taken);
    node.stop().wait().unwrap();
}

#[test]
fn i8_a_flood_of_datagrams_leaves_the_socket_able_to_stop() {
    let node = Node::start("udp@localhost").unwrap();
    let (bound, address) = channel();
    let (closed, ended) = channel();
    let echo = node.spawn(move || Udp::new(any_port(), Echo { bound, closed })).wait().unwrap();
    let address = address.recv().unwrap();
    let (stop, stopped) = channel::<()>();
    let flood = std::thread::spawn(move || {
        let socket = peer();
        while stopped.try_recv().is_err() {
            let _ = socket.send_to(&[1; 100], address);
        }
    });
    for _ in 0..100 {
        echo.inspect().wait().unwrap();
    }
    echo.stop().wait().unwrap();
    assert_eq!(ended.recv().unwrap(), Reason::Normal);
    stop.send(()).unwrap();
    flood.join().unwrap();
    node.stop().wait().unwrap();
}

#[test]
fn i8_a_missing_receiver_does_not_affect_the_socket() {
    let node = Node::start("udp@localhost").unwrap();
    let (outcome, outcomes) = channel();
    let socket = node.spawn(move || Udp::new(any_port(), Sending { outcome })).wait().unwrap();
    let gone = peer().local_addr().unwrap();
    let there = peer();
    let mut room = [0; 1];
    for number in 0..20 {
        // The system is notified by ICMP that no socket has this port.
        for to in [gone, there.local_addr().unwrap()] {
            socket.send((vec![number], to)).unwrap();
            assert_eq!(outcomes.recv().unwrap(), Ok(()));
        }
        assert_eq!(there.recv(&mut room).unwrap(), 1);
        assert_eq!(room, [number]);
    }
    let shown = socket.inspect().wait().unwrap();
    assert_eq!(shown.number("datagrams_out"), Some(40));
    assert_eq!(shown.number("datagrams_lost"), Some(0));
    node.stop().wait().unwrap();
}

/// Reports the lengths of the datagrams.
struct Measuring {
    bound: Sender<SocketAddr>,
    lengths: Sender<usize>,
}

impl DatagramProtocol for Measuring {
    type Message = Infallible;

    async fn bound(&mut self, channel: &mut DatagramChannel<Infallible>) -> Result {
        let _ = self.bound.send(channel.local());
        Ok(())
    }

    async fn received(
        &mut self,
        _: &mut DatagramChannel<Infallible>,
        _: SocketAddr,
        datagram: Bytes,
    ) -> Result {
        let _ = self.lengths.send(datagram.len());
        Ok(())
    }
}

#[test]
fn i8_no_datagram_is_cut_short() {
    let node = Node::start("udp@localhost").unwrap();
    let (bound, address) = channel();
    let (lengths, measured) = channel();
    node.spawn(move || Udp::new(any_port(), Measuring { bound, lengths })).wait().unwrap();
    let (peer, address) = (peer(), address.recv().unwrap());
    for length in [0, 65_507, 1, 65_506] {
        peer.send_to(&vec![7; length], address).unwrap();
        assert_eq!(measured.recv().unwrap(), length);
    }
    node.stop().wait().unwrap();
}

/// Runs the functions of a test, and reports its events.
struct Listening {
    heard: Sender<Heard>,
}

#[derive(Debug, PartialEq)]
enum Heard {
    Bound(SocketAddr),
    Datagram(Bytes),
    Done,
    Down(Reason),
    Closed(Reason),
}

type Doing = Box<dyn FnOnce(&mut DatagramChannel<Act>) -> Result + Send>;
struct Act(Doing);

impl DatagramProtocol for Listening {
    type Message = Act;

    async fn bound(&mut self, channel: &mut DatagramChannel<Act>) -> Result {
        let _ = self.heard.send(Heard::Bound(channel.local()));
        Ok(())
    }

    async fn received(
        &mut self,
        _: &mut DatagramChannel<Act>,
        _: SocketAddr,
        datagram: Bytes,
    ) -> Result {
        let _ = self.heard.send(Heard::Datagram(datagram));
        Ok(())
    }

    async fn handle_message(&mut self, channel: &mut DatagramChannel<Act>, act: Act) -> Result {
        (act.0)(channel)?;
        let _ = self.heard.send(Heard::Done);
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut DatagramChannel<Act>, down: Down) -> Result {
        let _ = self.heard.send(Heard::Down(down.reason));
        Ok(())
    }

    async fn closed(&mut self, _: &mut DatagramChannel<Act>, reason: &Reason) {
        let _ = self.heard.send(Heard::Closed(reason.clone()));
        assert_ne!(*reason, Reason::shutdown("panic"), "on purpose");
    }
}

struct Listened {
    node: Node,
    socket: Address<Act>,
    address: SocketAddr,
    heard: Receiver<Heard>,
}

impl Listened {
    fn new() -> Self {
        let node = Node::start("udp@localhost").unwrap();
        let (sender, heard) = channel();
        let listening = Listening { heard: sender };
        let socket = node.spawn(move || Udp::new(any_port(), listening)).wait().unwrap();
        let Ok(Heard::Bound(address)) = heard.recv() else { panic!("not bound") };
        Listened { node, socket, address, heard }
    }

    fn expect(&self, heard: &Heard) {
        assert_eq!(self.heard.recv_timeout(PATIENCE).as_ref(), Ok(heard));
    }

    fn act(&self, act: impl FnOnce(&mut DatagramChannel<Act>) -> Result + Send + 'static) {
        self.socket.send(Act(Box::new(act))).unwrap_or_else(|_| panic!("not sent"));
    }
}

#[test]
fn i8_a_paused_socket_reads_nothing_and_still_takes_messages() {
    let listened = Listened::new();
    listened.act(|channel| {
        channel.pause();
        Ok(())
    });
    listened.expect(&Heard::Done);
    peer().send_to(b"later", listened.address).unwrap();
    for _ in 0..100 {
        listened.act(|_| Ok(()));
        listened.expect(&Heard::Done);
    }
    let shown = listened.socket.inspect().wait().unwrap();
    assert_eq!(shown.value("paused"), Some(&true.into()));
    assert_eq!(shown.number("datagrams_in"), Some(0));
    listened.act(|channel| {
        channel.resume();
        Ok(())
    });
    listened.expect(&Heard::Done);
    listened.expect(&Heard::Datagram(Bytes::from_static(b"later")));
    let shown = listened.socket.inspect().wait().unwrap();
    assert_eq!(shown.value("paused"), Some(&false.into()));
    assert_eq!(shown.number("datagrams_in"), Some(1));
    let behavior = listened.socket.info().behavior.to_string();
    assert!(behavior.ends_with("Listening"), "{behavior}");
    listened.node.stop().wait().unwrap();
}

#[test]
fn i8_a_socket_receives_exits_and_downs_like_any_process() {
    let listened = Listened::new();
    let fails = |reason: Reason| {
        let process = behavior_fn(move |mut ctx: Context<()>| async move {
            ctx.receive().await;
            if reason.is_normal() { Ok(()) } else { Err(reason) }
        });
        listened.node.spawn(move || process).wait().unwrap()
    };
    let broken = || Reason::error("on purpose");
    let watched = fails(broken());
    let pid = watched.pid();
    listened.act(move |channel| {
        channel.context().monitor(pid);
        channel.context().trap_exits(true);
        Ok(())
    });
    listened.expect(&Heard::Done);
    watched.send(()).unwrap();
    listened.expect(&Heard::Down(broken()));
    // It does not offer its state, and says so.
    let state = listened.node.state::<u32>(listened.socket.pid()).wait();
    assert_eq!(state, Err(DebugError::NotOffered(listened.socket.pid())));
    let end = listened.socket.watch();
    for reason in [Reason::Normal, Reason::Shutdown, broken()] {
        let linked = fails(reason.clone());
        let pid = linked.pid();
        listened.act(move |channel| {
            channel.context().link(pid);
            Ok(())
        });
        listened.expect(&Heard::Done);
        let gone = linked.watch();
        linked.send(()).unwrap();
        gone.wait().unwrap();
        // By default only an abnormal exit signal ends it.
        if reason.is_abnormal() {
            listened.expect(&Heard::Closed(broken()));
            assert_eq!(end.wait().unwrap().reason, broken());
            break;
        }
        listened.socket.inspect().wait().unwrap();
    }
    listened.node.stop().wait().unwrap();
}

#[test]
fn i8_a_socket_reports_the_reason_it_ends_with() {
    let shutdown = Reason::shutdown("enough");
    for (how, reason) in [
        ("stops itself", Reason::Normal),
        ("is finished", Reason::Normal),
        ("is stopped", shutdown.clone()),
        ("fails", Reason::error("on purpose")),
    ] {
        let listened = Listened::new();
        let end = listened.socket.watch();
        // Earlier messages are handled first, unless it is stopped from outside.
        match how {
            "stops itself" => listened.act(|channel| {
                channel.context().stop();
                Ok(())
            }),
            "is finished" => {
                listened.act(|_| Ok(()));
                listened.socket.finish();
            }
            "is stopped" => listened.socket.process().request_stop(shutdown.clone()),
            _ => listened.act(|_| Err(Reason::error("on purpose"))),
        }
        if reason.is_normal() {
            listened.expect(&Heard::Done);
        }
        listened.expect(&Heard::Closed(reason.clone()));
        assert_eq!(end.wait().unwrap().reason, reason, "{how}");
        listened.node.stop().wait().unwrap();
    }
    // A panic in `closed` becomes the reason.
    let listened = Listened::new();
    let end = listened.socket.watch();
    listened.socket.process().request_stop(Reason::shutdown("panic"));
    assert!(matches!(end.wait().unwrap().reason, Reason::Panic(_)));
    listened.node.stop().wait().unwrap();
}

/// A protocol that fails in `bound`.
struct Stillborn;

impl DatagramProtocol for Stillborn {
    type Message = ();
    async fn bound(&mut self, _: &mut DatagramChannel<()>) -> Result {
        Err(Reason::error("no licence"))
    }
    async fn received(&mut self, _: &mut DatagramChannel<()>, _: SocketAddr, _: Bytes) -> Result {
        Ok(())
    }
}

#[test]
fn i8_a_socket_whose_connected_callback_fails_is_closed() {
    let node = Node::start("udp@localhost").unwrap();
    let address = peer().local_addr().unwrap();
    let spawned = node.spawn(move || Udp::new(address, Stillborn)).wait();
    let Err(SpawnError::Init(reason)) = spawned else { panic!("it has begun") };
    assert_eq!(reason.to_string(), "no licence");
    UdpSocket::bind(address).unwrap();
    assert!(node.processes().is_empty());
    node.stop().wait().unwrap();
}
