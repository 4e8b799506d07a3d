//! Tests of connections as processes: rules I1 and I3.

use crate::support::{Act, ConnectionEvent, Peer, Served, any_port};
use krarup_act::{Context, Reply, behavior_fn};
use krarup_gen::{DebugError, Inspection, Pid, Reason, Result, SpawnError, Value};
use krarup_io::bytes::{Bytes, BytesMut};
use krarup_io::{
    Acceptor, AcceptorRequest, BindError, Channel, Client, Closed, Codec, CodecError, ConnectError,
    ConnectionOptions, Frame, Lines, Prefixed, Protocol, Raw,
};
use krarup_node::Node;
use krarup_supervisor::{ChildSpec, RestartType, Supervisor};
use socket2::SockRef;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn i1_the_callbacks_of_a_connection_are_called_in_order() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    let end = connection.watch();
    peer.say("say hello");
    peer.say("nothing");
    assert_eq!(peer.hear().as_deref(), Some("hello"));
    drop(peer);
    served.expect(&ConnectionEvent::Line("say hello".to_owned()));
    served.expect(&ConnectionEvent::Line("nothing".to_owned()));
    served.expect(&ConnectionEvent::Ended);
    served.expect(&ConnectionEvent::Closed(Closed::Peer));
    served.expect(&ConnectionEvent::Dropped);
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    served.stop();
}

#[test]
fn i1_others_send_to_a_connection_by_its_address() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    connection
        .send(Act(Box::new(|channel| Ok(channel.send("from elsewhere")?))))
        .unwrap_or_else(|_| panic!("not sent"));
    assert_eq!(peer.hear().as_deref(), Some("from elsewhere"));
    served.stop();
}

#[test]
fn i1_connections_are_handed_to_the_workers_in_turn() {
    let served = Served::with(ConnectionOptions::new(), |acceptor| acceptor.workers(3));
    let peers: Vec<_> = (0..9).map(|_| served.connect()).collect();
    let mut workers = BTreeMap::new();
    for (_, connection) in &peers {
        *workers.entry(connection.info().parent.unwrap()).or_insert(0) += 1;
    }
    assert_eq!(workers.into_values().collect::<Vec<_>>(), [3, 3, 3]);
    let known = served.acceptor.call(AcceptorRequest::Connections).wait().unwrap();
    let theirs: Vec<_> =
        peers.iter().map(|(peer, _)| peer.stream().local_addr().unwrap()).collect();
    assert_eq!(known.iter().map(|open| open.peer).collect::<Vec<_>>(), theirs);
    let connections: Vec<_> = peers.iter().map(|(_, connection)| connection.clone()).collect();
    let told: Vec<_> = known.into_iter().map(|open| open.connection).collect();
    assert_eq!(told, connections);
    served.stop();
}

#[test]
fn i1_a_failed_worker_is_replaced_and_ends_only_its_own_connections() {
    let served = Served::with(ConnectionOptions::new(), |acceptor| acceptor.workers(2));
    let (mut first, dies) = served.connect();
    let (mut second, lives) = served.connect();
    let worker = dies.info().parent.unwrap();
    assert_ne!(Some(worker), lives.info().parent);
    let end = dies.watch();
    served.node.kill(worker);
    assert!(end.wait().unwrap().reason.is_abnormal());
    assert!(first.is_over());
    second.say("say still here");
    assert_eq!(second.hear().as_deref(), Some("still here"));
    // No connection is lost, whenever the ended worker is replaced.
    let answered = (0..100).filter(|_| Peer::connect(served.address).asks("say hello")).count();
    assert_eq!(answered, 100);
    served.stop();
}

#[test]
fn i1_a_connection_handed_to_a_failing_worker_is_handed_to_another() {
    let served = Served::with(ConnectionOptions::new(), |acceptor| acceptor.workers(1));
    let (_first, connection) = served.connect();
    let worker = connection.info().parent.unwrap();
    served.node.suspend(worker).wait().unwrap();
    let mut second = Peer::connect(served.address);
    second.say("say here");
    while served.node.process_info(worker).unwrap().main == 0 {
        thread::yield_now();
    }
    served.node.kill(worker);
    assert_eq!(second.hear().as_deref(), Some("here"));
    let shown = served.acceptor.inspect().wait().unwrap();
    assert_eq!(shown.number("accepted"), Some(2));
    assert_eq!(shown.number("refused"), Some(0));
    served.stop();
}

#[test]
fn i1_a_crashing_connection_affects_no_other() {
    let served = Served::new();
    let (mut good, lives) = served.connect();
    for how in ["panic", "fail"] {
        let (mut bad, dies) = served.connect();
        let end = dies.watch();
        bad.say(&format!("{how} on purpose"));
        let Closed::Crashed(reason) = served.closed() else { panic!("not crashed") };
        assert!(reason.to_string().starts_with(if how == "panic" { "panic: " } else { "on" }));
        assert!(reason.to_string().contains("on purpose"), "{reason}");
        assert_eq!(end.wait().unwrap().reason, reason);
        // The reset shows the peer that this was not an orderly end.
        assert!(bad.is_reset());
        served.expect(&ConnectionEvent::Dropped);
    }
    good.say("say untouched");
    assert_eq!(good.hear().as_deref(), Some("untouched"));
    assert!(lives.is_alive());
    served.stop();
}

#[test]
fn i1_a_connection_shows_its_traffic_counters() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    peer.say("say abc");
    assert_eq!(peer.hear().as_deref(), Some("abc"));
    let shown = connection.inspect().wait().unwrap();
    assert_eq!(shown.number("bytes_in"), Some(8));
    assert_eq!(shown.number("bytes_out"), Some(4));
    assert_eq!(shown.number("waiting_to_be_sent"), Some(0));
    let local = peer.stream().local_addr().unwrap().to_string();
    assert_eq!(shown.text("peer"), Some(&*local));
    assert_eq!(shown.text("local"), Some(&*served.address.to_string()));
    assert_eq!(shown.value("paused"), Some(&false.into()));
    let behavior = connection.info().behavior.to_string();
    assert!(behavior.ends_with("Puppet"), "{behavior}");
    let shown = served.acceptor.inspect().wait().unwrap();
    assert_eq!(shown.number("connections"), Some(1));
    assert_eq!(shown.number("accepted"), Some(1));
    assert_eq!(shown.number("refused"), Some(0));
    assert_eq!(shown.number("accept_errors"), Some(0));
    assert_eq!(shown.text("limit"), Some("none"));
    assert_eq!(shown.value("listening"), Some(&true.into()));
    assert_eq!(shown.value("peers"), Some(&Value::List(vec![local.into()])));
    assert_eq!(served.acceptor.info().behavior.to_string(), "Acceptor");
    assert_eq!(shown.text("address"), Some(&*served.address.to_string()));
    served.stop();
}

#[test]
fn i1_a_connection_shows_its_frames_its_bytes_and_its_pause() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    let (sender, told) = mpsc::channel();
    let local = peer.stream().local_addr().unwrap();
    for number in 1..=3 {
        peer.say(&format!("say {}", "x".repeat(100_000)));
        assert_eq!(peer.hear().map(|line| line.len()), Some(100_000));
        let shown = connection.inspect().wait().unwrap();
        assert_eq!(shown.number("bytes_in"), Some(number * 100_005));
        assert_eq!(shown.number("bytes_out"), Some(number * 100_001));
    }
    let act = Act(Box::new(move |channel| {
        channel.pause();
        let _ = sender.send((channel.peer(), channel.local()));
        Ok(())
    }));
    connection.send(act).unwrap_or_else(|_| panic!("not sent"));
    assert_eq!(told.recv().unwrap(), (local, served.address));
    let shown = connection.inspect().wait().unwrap();
    assert_eq!(shown.value("paused"), Some(&true.into()));
    served.stop();
}

#[test]
fn i1_a_connection_receives_exits_and_downs_like_any_process() {
    let served = Served::stubborn(Duration::from_secs(30));
    let (_peer, connection) = served.connect();
    let fails = || {
        let process = behavior_fn(|mut ctx: Context<()>| async move {
            ctx.receive().await;
            Err(Reason::error("on purpose"))
        });
        served.node.spawn(move || process).wait().unwrap()
    };
    let (watched, linked) = (fails(), fails());
    let pids = (watched.pid(), linked.pid());
    let (sender, told) = mpsc::channel();
    let act = Act(Box::new(move |channel| {
        channel.context().monitor(pids.0);
        channel.context().link(pids.1);
        let _ = sender.send(());
        Ok(())
    }));
    connection.send(act).unwrap_or_else(|_| panic!("not sent"));
    told.recv().unwrap();
    watched.send(()).unwrap();
    served.expect(&ConnectionEvent::Down(Reason::error("on purpose")));
    linked.send(()).unwrap();
    served.expect(&ConnectionEvent::Exit(Reason::error("on purpose")));
    assert!(connection.is_alive());
    // Neither the connection nor its acceptor has a state to show. Both say so.
    for pid in [connection.pid(), served.acceptor.pid()] {
        let state = served.node.state::<u32>(pid).wait();
        assert_eq!(state, Err(DebugError::NotOffered(pid)));
    }
    served.stop();
}

#[test]
fn i1_by_default_a_protocol_that_traps_exits_ends_with_an_abnormal_exit() {
    struct Trapping(mpsc::Sender<()>);
    impl Protocol for Trapping {
        type Message = Pid;
        type Codec = Lines;
        fn codec(&self) -> Lines {
            Lines::new(80)
        }
        async fn received(&mut self, _: &mut Channel<Self>, _: String) -> Result {
            Ok(())
        }
        async fn handle_message(&mut self, channel: &mut Channel<Self>, pid: Pid) -> Result {
            channel.context().trap_exits(true);
            channel.context().link(pid);
            let _ = self.0.send(());
            Ok(())
        }
    }
    let node = Node::start("trapping@localhost").unwrap();
    let listener = TcpListener::bind(any_port()).unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, told) = mpsc::channel();
    let client = node.spawn(move || Client::new(address, Trapping(sender))).wait().unwrap();
    let (_peer, _) = listener.accept().unwrap();
    let end = client.watch();
    for reason in [Reason::Normal, Reason::Shutdown, Reason::error("on purpose")] {
        let given = reason.clone();
        let process = behavior_fn(|mut ctx: Context<()>| async move {
            ctx.receive().await;
            if given.is_normal() { Ok(()) } else { Err(given) }
        });
        let process = node.spawn(move || process).wait().unwrap();
        client.send(process.pid()).unwrap();
        told.recv().unwrap();
        process.send(()).unwrap();
        if reason.is_abnormal() {
            assert_eq!(end.wait().unwrap().reason, reason);
            break;
        }
        // A signal that arrives first is handled first.
        process.watch().wait().unwrap();
        assert!(client.inspect().wait().is_ok());
    }
    node.stop().wait().unwrap();
}

#[test]
fn i1_a_panicking_factory_affects_only_that_connection() {
    let node = Node::start("faulty@localhost").unwrap();
    let calls = AtomicUsize::new(0);
    let factory = move || {
        assert_ne!(calls.fetch_add(1, Ordering::Relaxed), 1, "on purpose");
        Mirror
    };
    let server = node.spawn(move || Acceptor::new(any_port(), factory).workers(1));
    let server = server.wait().unwrap();
    let address = server.call(AcceptorRequest::Address).wait().unwrap();
    let frame = b"\0\0\0\x05frame";
    let answers = |peer: &mut Peer| {
        peer.0.get_mut().write_all(frame).unwrap();
        let mut answer = [0; 9];
        peer.0.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, frame);
    };
    let mut first = Peer::connect(address);
    answers(&mut first);
    assert!(Peer::connect(address).is_reset());
    answers(&mut Peer::connect(address));
    answers(&mut first);
    node.stop().wait().unwrap();
}

#[test]
fn i1_an_acceptor_listens_on_addresses_of_either_kind() {
    let node = Node::start("both@localhost").unwrap();
    for any_port in ["127.0.0.1:0", "[::1]:0"] {
        // A system may have only one of them.
        let Ok(listener) = TcpListener::bind(any_port) else { continue };
        let any_port: SocketAddr = any_port.parse().unwrap();
        drop(listener);
        let server = node.spawn(move || Acceptor::new(any_port, || Mirror)).wait().unwrap();
        let address = server.call(AcceptorRequest::Address).wait().unwrap();
        assert_eq!(address.ip(), any_port.ip());
        let client = node.spawn(move || Client::new(address, Asking::default())).wait().unwrap();
        let frame = Bytes::from_static(b"frame");
        let ask = frame.clone();
        assert_eq!(client.call(move |reply| (ask, reply)).wait().unwrap(), frame);
        let shown = client.inspect().wait().unwrap();
        assert_eq!((shown.number("asked"), shown.number("bytes_in")), (Some(0), Some(9)));
    }
    node.stop().wait().unwrap();
}

#[test]
fn i1_a_worker_counts_its_connections_and_those_that_crash() {
    let served = Served::with(ConnectionOptions::new(), |acceptor| acceptor.workers(1));
    let (_stays, connection) = served.connect();
    let worker = connection.info().parent.unwrap();
    // A crash, an orderly end, and one by the peer. Only the crash is counted.
    for ends in ["fail on purpose", "close", "\u{ff}"] {
        let (mut peer, connection) = served.connect_next();
        let end = connection.watch();
        if ends == "\u{ff}" {
            SockRef::from(peer.stream()).set_linger(Some(Duration::ZERO)).unwrap();
        } else {
            peer.say(ends);
            assert!(peer.is_over());
        }
        drop(peer);
        end.wait().unwrap();
    }
    let began = Instant::now();
    let shown = loop {
        let shown = served.node.inspect(worker).wait().unwrap();
        if shown.number("crashed") > Some(0) || began.elapsed() > Duration::from_secs(30) {
            break shown;
        }
    };
    assert_eq!(shown.number("crashed"), Some(1));
    assert_eq!(shown.number("mounted"), Some(4));
    served.stop();
}

#[test]
fn i1_a_failed_bind_or_connect_is_a_typed_error_that_names_the_address() {
    let node = Node::start("errors@localhost").unwrap();
    let taken = TcpListener::bind(any_port()).unwrap();
    let address = taken.local_addr().unwrap();
    let bound = node.spawn(move || Acceptor::new(address, || SilentProtocol)).wait();
    let Err(SpawnError::Init(reason)) = bound else { panic!("bound twice") };
    assert_eq!(reason.downcast_ref::<BindError>().unwrap().address, address);
    assert!(reason.to_string().contains(&address.to_string()), "{reason}");
    drop(taken);
    let connected = node.spawn(move || Client::new(address, SilentProtocol)).wait();
    let Err(SpawnError::Init(reason)) = connected else { panic!("connected to nobody") };
    let error = reason.downcast_ref::<ConnectError>().unwrap();
    assert!(matches!(error, ConnectError::Failed { address: named, .. } if *named == address));
    assert!(node.processes().is_empty());
    node.stop().wait().unwrap();
}

struct SilentProtocol;

impl Protocol for SilentProtocol {
    type Message = Infallible;
    type Codec = Lines;
    fn codec(&self) -> Lines {
        Lines::new(80)
    }
    async fn received(&mut self, _: &mut Channel<Self>, _: Frame<Self>) -> Result {
        Ok(())
    }
}

/// Sends every frame back.
struct Mirror;

impl Protocol for Mirror {
    type Message = Infallible;
    type Codec = Prefixed;
    fn codec(&self) -> Prefixed {
        Prefixed::new(1 << 16)
    }
    async fn received(&mut self, channel: &mut Channel<Self>, frame: Bytes) -> Result {
        Ok(channel.send_or_wait(&frame).await?)
    }
}

/// Sends requests to a [`Mirror`].
#[derive(Default)]
struct Asking {
    asked: VecDeque<Reply<Bytes>>,
}

impl Protocol for Asking {
    type Message = (Bytes, Reply<Bytes>);
    type Codec = Prefixed;
    fn codec(&self) -> Prefixed {
        Prefixed::new(1 << 16)
    }
    async fn handle_message(
        &mut self,
        channel: &mut Channel<Self>,
        (frame, reply): Self::Message,
    ) -> Result {
        channel.send_or_wait(&frame).await?;
        self.asked.push_back(reply);
        Ok(())
    }
    async fn received(&mut self, _: &mut Channel<Self>, frame: Bytes) -> Result {
        self.asked.pop_front().expect("a question").send(frame);
        Ok(())
    }
    fn inspect(&self) -> Inspection {
        Inspection::new().with("asked", self.asked.len())
    }
}

#[test]
fn i1_answers_to_many_concurrent_clients_are_not_mixed_up() {
    let node = Node::start("mirrors@localhost").unwrap();
    let server = node.spawn(|| Acceptor::new(any_port(), || Mirror)).wait().unwrap();
    let address = server.call(AcceptorRequest::Address).wait().unwrap();
    let clients: Vec<_> = (0..8_u8)
        .map(|number| {
            let client =
                node.spawn(move || Client::new(address, Asking::default())).wait().unwrap();
            thread::spawn(move || {
                for size in (0..300).map(|n| n * 211 % 60_000) {
                    let frame = Bytes::from(vec![number; size]);
                    let ask = frame.clone();
                    let answer = client.call(move |reply| (ask, reply)).wait().unwrap();
                    assert_eq!(answer, frame);
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    node.stop().wait().unwrap();
}

#[test]
fn i1_a_client_that_lost_its_server_is_reconnected_by_its_supervisor() {
    let node = Node::start("again@localhost").unwrap();
    let listener = TcpListener::bind(any_port()).unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    let tree = node.spawn(move || {
        let client = move || Client::new(address, SilentProtocol);
        let client = ChildSpec::worker("client", client).restart(RestartType::Transient);
        Supervisor::one_for_one().child(client)
    });
    tree.wait().unwrap();
    for _ in 0..2 {
        // The child is transient. It is restarted because a lost connection is a failure.
        let (stream, _): (TcpStream, _) = listener.accept().unwrap();
        drop(stream);
    }
    drop(listener);
    node.stop().wait().unwrap();
}

#[test]
fn i3_a_malformed_line_is_answered_and_ends_the_connection() {
    let long = vec![b'x'; crate::support::LONGEST + 1];
    let cases: [(&[u8], CodecError); 2] = [
        (b"fine\nab\xffcd\n", CodecError::NotUtf8 { at: 2 }),
        (
            &long,
            CodecError::TooLong {
                length: crate::support::LONGEST + 1,
                limit: crate::support::LONGEST,
            },
        ),
    ];
    for (bytes, error) in cases {
        let served = Served::new();
        let (mut peer, connection) = served.connect();
        let end = connection.watch();
        peer.stream().try_clone().unwrap().write_all(bytes).unwrap();
        assert_eq!(peer.hear().as_deref(), Some("what?"));
        assert_eq!(peer.hear(), None);
        drop(peer);
        if bytes.starts_with(b"fine") {
            served.expect(&ConnectionEvent::Line("fine".to_owned()));
        }
        served.expect(&ConnectionEvent::Malformed(error.clone()));
        served.expect(&ConnectionEvent::Closed(Closed::Malformed(error.clone())));
        let reason = end.wait().unwrap().reason;
        assert!(!reason.is_abnormal());
        assert_eq!(reason.downcast_ref::<Closed>(), Some(&Closed::Malformed(error)));
        served.stop();
    }
}

#[test]
fn i3_lines_sent_byte_by_byte_are_the_same() {
    let served = Served::new();
    let (peer, _) = served.connect();
    let mut stream = peer.stream();
    for byte in b"one\r\ntwo\n" {
        stream.write_all(&[*byte]).unwrap();
    }
    served.expect(&ConnectionEvent::Line("one".to_owned()));
    served.expect(&ConnectionEvent::Line("two".to_owned()));
    served.stop();
}

/// Lines, or bytes as they come.
enum Framing {
    Lines(Lines),
    Raw,
}

impl Codec for Framing {
    type Frame = Bytes;
    type Item = [u8];
    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, CodecError> {
        match self {
            Framing::Lines(lines) => Ok(lines.decode(buffer)?.map(Bytes::from)),
            Framing::Raw => Raw.decode(buffer),
        }
    }
    fn encode(&mut self, bytes: &[u8], out: &mut BytesMut) -> Result<(), CodecError> {
        Raw.encode(bytes, out)
    }
}

#[test]
fn i3_bytes_that_have_arrived_are_cut_anew_when_a_message_changes_the_framing() {
    struct Upgrading(mpsc::Sender<Bytes>);
    impl Protocol for Upgrading {
        type Message = ();
        type Codec = Framing;
        fn codec(&self) -> Framing {
            Framing::Lines(Lines::new(80))
        }
        async fn received(&mut self, _: &mut Channel<Self>, frame: Bytes) -> Result {
            let _ = self.0.send(frame);
            Ok(())
        }
        async fn handle_message(&mut self, channel: &mut Channel<Self>, (): ()) -> Result {
            *channel.codec() = Framing::Raw;
            Ok(())
        }
    }
    let node = Node::start("upgrading@localhost").unwrap();
    let (sender, frames) = mpsc::channel();
    let server =
        node.spawn(move || Acceptor::new(any_port(), move || Upgrading(sender.clone()))).wait();
    let server = server.unwrap();
    let address = server.call(AcceptorRequest::Address).wait().unwrap();
    let mut peer = TcpStream::connect(address).unwrap();
    // The peer sends no more: it waits for an answer to the bytes behind the line.
    peer.write_all(b"upgrade\nbytes").unwrap();
    let next = || frames.recv_timeout(Duration::from_secs(30)).expect("a frame");
    assert_eq!(next(), "upgrade");
    let open = server.call(AcceptorRequest::Connections).wait().unwrap();
    open[0].connection.send(()).unwrap();
    assert_eq!(next(), "bytes");
    node.stop().wait().unwrap();
}

#[test]
fn i3_many_frames_in_one_read_are_not_taken_for_a_frame_that_is_too_long() {
    let served = Served::with(ConnectionOptions::new().read_limit(20), |acceptor| acceptor);
    let (mut peer, _) = served.connect();
    let lines: Vec<_> = (10..60).map(|number| format!("nothing {number}")).collect();
    peer.say(&lines.join("\n"));
    for line in lines {
        served.expect(&ConnectionEvent::Line(line));
    }
    served.stop();
}

#[test]
fn i3_a_codec_that_never_finds_a_frame_is_ended_at_the_read_limit() {
    struct Hungry;
    impl krarup_io::Codec for Hungry {
        type Frame = ();
        type Item = ();
        fn decode(&mut self, _: &mut krarup_io::bytes::BytesMut) -> Result<Option<()>, CodecError> {
            Ok(None)
        }
        fn encode(
            &mut self,
            (): &(),
            _: &mut krarup_io::bytes::BytesMut,
        ) -> Result<(), CodecError> {
            Ok(())
        }
    }
    struct Waiting(mpsc::Sender<Closed>);
    impl Protocol for Waiting {
        type Message = Infallible;
        type Codec = Hungry;
        fn codec(&self) -> Hungry {
            Hungry
        }
        async fn received(&mut self, _: &mut Channel<Self>, (): ()) -> Result {
            Ok(())
        }
        async fn closed(&mut self, _: &mut Channel<Self>, why: &Closed) {
            let _ = self.0.send(why.clone());
        }
    }
    let node = Node::start("hungry@localhost").unwrap();
    let (sender, closed) = mpsc::channel();
    let options = ConnectionOptions::new().read_limit(100);
    let server = node
        .spawn(move || Acceptor::new(any_port(), move || Waiting(sender.clone())).options(options))
        .wait()
        .unwrap();
    let address = server.call(AcceptorRequest::Address).wait().unwrap();
    // Bytes up to the limit are not too long: they are an unfinished frame at the end.
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&[0; 100]).unwrap();
    drop(stream);
    let error = CodecError::Unfinished { bytes: 100 };
    assert_eq!(closed.recv().unwrap(), Closed::Malformed(error));
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&[0; 101]).unwrap();
    let error = CodecError::TooLong { length: 101, limit: 100 };
    assert_eq!(closed.recv().unwrap(), Closed::Malformed(error));
    drop(stream);
    node.stop().wait().unwrap();
}
