//! Tests of back-pressure in both directions: rule I2.

use crate::support::{Act, ConnectionEvent, Peer, Puppet, Served, any_port};
use krarup_act::{Address, Context, Reply, behavior_fn};
use krarup_gen::Result;
use krarup_io::bytes::{Bytes, BytesMut};
use krarup_io::{
    Acceptor, AcceptorRequest, Channel, Codec, CodecError, ConnectionOptions, Lines, Prefixed,
    Protocol, WriteError,
};
use krarup_node::{DispatcherOptions, Node};
use socket2::SockRef;
use std::convert::Infallible;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

/// Passes frames on to a process, at the pace of that process.
struct Passing {
    to: Address<Bytes>,
}

impl Protocol for Passing {
    type Message = Infallible;
    type Codec = Prefixed;
    fn codec(&self) -> Prefixed {
        Prefixed::new(1 << 20)
    }
    async fn received(&mut self, _: &mut Channel<Self>, frame: Bytes) -> Result {
        self.to.send_or_wait(frame).await?;
        Ok(())
    }
}

#[test]
fn i2_a_full_mailbox_stops_the_client_and_nothing_is_lost() {
    const FRAMES: u32 = 32;
    const SIZE: usize = 1 << 20;
    let node = Node::start("slow@localhost").unwrap();
    let (sender, taken) = channel();
    let consumer = behavior_fn(move |mut ctx: Context<Bytes>| async move {
        loop {
            if let krarup_act::Received::Message(frame) = ctx.receive().await {
                let _ = sender.send(frame);
            }
        }
    });
    let consumer = node.spawn(move || consumer).mailbox(2).wait().unwrap();
    node.suspend(consumer.pid()).wait().unwrap();
    let to = consumer.clone();
    let server = node.spawn(move || Acceptor::new(any_port(), move || Passing { to: to.clone() }));
    let address = server.wait().unwrap().call(AcceptorRequest::Address).wait().unwrap();

    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nonblocking(true).unwrap();
    let mut wire = Vec::new();
    for number in 0..FRAMES {
        wire.extend_from_slice(&u32::try_from(SIZE).unwrap().to_be_bytes());
        wire.extend(number.to_be_bytes().into_iter().cycle().take(SIZE));
    }
    // Write until the system takes nothing more, however often it is tried.
    let (mut written, mut refused) = (0, 0);
    while refused < 10_000 && written < wire.len() {
        match stream.write(&wire[written..]) {
            Ok(count) => (written, refused) = (written + count, 0),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                refused += 1;
                thread::yield_now();
            }
        }
    }
    assert!(
        written < wire.len(),
        "all {written} bytes were accepted although the peer reads nothing"
    );
    assert!(consumer.waiting() <= 2);

    assert!(node.resume(consumer.pid()));
    stream.set_nonblocking(false).unwrap();
    stream.write_all(&wire[written..]).unwrap();
    for number in 0..FRAMES {
        let frame = taken.recv().unwrap();
        assert_eq!(frame.len(), SIZE);
        assert_eq!(frame[..4], number.to_be_bytes());
    }
    node.stop().wait().unwrap();
}

#[test]
fn i2_the_write_buffer_is_bounded_exactly_and_a_refused_frame_is_not_written() {
    const LIMIT: usize = 10_000;
    let options = ConnectionOptions::new().write_limit(LIMIT);
    let served = Served::with(options, |acceptor| acceptor);
    let (mut peer, connection) = served.connect();
    let (sender, told) = channel();
    connection
        .send(Act(Box::new(move |channel| {
            // Nothing is written during one callback, so all sent bytes wait.
            for _ in 0..10 {
                channel.send(&"x".repeat(999))?;
            }
            assert_eq!(channel.waiting(), LIMIT);
            for (frame, error) in [
                (String::new(), WriteError::Full { waiting: LIMIT, frame: 1, limit: LIMIT }),
                ("y".repeat(LIMIT), WriteError::TooLarge { frame: LIMIT + 1, limit: LIMIT }),
            ] {
                assert_eq!(channel.send(&frame), Err(error));
                assert_eq!(channel.waiting(), LIMIT);
            }
            assert!(matches!(channel.send("a\nb"), Err(WriteError::Codec(_))));
            let _ = sender.send(());
            Ok(())
        })))
        .unwrap_or_else(|_| panic!("not sent"));
    told.recv().expect("an assertion in the connection failed");
    served.expect(&ConnectionEvent::Drained);
    for _ in 0..10 {
        assert_eq!(peer.hear(), Some("x".repeat(999)));
    }
    peer.say("close");
    assert_eq!(peer.hear(), None);
    served.stop();
}

#[test]
fn i2_a_frame_of_exactly_the_limit_is_sent_and_only_a_refused_send_gets_drained() {
    const LIMIT: usize = 1000;
    let served = Served::with(ConnectionOptions::new().write_limit(LIMIT), |acceptor| acceptor);
    let (mut peer, connection) = served.connect();
    let send = |length: usize, sent: fn(Result<(), WriteError>) -> bool| {
        let act = Act(Box::new(move |channel| {
            // The line end counts as a byte.
            assert!(sent(channel.send(&"x".repeat(length - 1))), "{length} bytes");
            Ok(())
        }));
        connection.send(act).unwrap_or_else(|_| panic!("not sent"));
    };
    send(LIMIT, |sent| sent.is_ok());
    assert_eq!(peer.hear().map(|line| line.len()), Some(LIMIT - 1));
    // It would not fit later either.
    send(LIMIT + 1, |sent| matches!(sent, Err(WriteError::TooLarge { .. })));
    connection
        .send(Act(Box::new(|channel| {
            assert!(matches!(channel.send("a\nb"), Err(WriteError::Codec(_))));
            Ok(channel.send("a and b")?)
        })))
        .unwrap_or_else(|_| panic!("not sent"));
    assert_eq!(peer.hear().as_deref(), Some("a and b"));
    peer.say("close");
    served.expect(&ConnectionEvent::Line("close".to_owned()));
    assert_eq!(peer.hear(), None);
    // A refused sender is notified once.
    let (mut peer, connection) = served.connect_next();
    for _ in 0..2 {
        let act = Act(Box::new(|channel: &mut Channel<crate::support::Puppet>| {
            channel.send(&"x".repeat(LIMIT - 1))?;
            for _ in 0..3 {
                assert!(channel.send("").is_err_and(|error| error.is_full()));
            }
            Ok(())
        }));
        connection.send(act).unwrap_or_else(|_| panic!("not sent"));
        assert_eq!(peer.hear().map(|line| line.len()), Some(LIMIT - 1));
        served.expect(&ConnectionEvent::Drained);
    }
    peer.say("nothing");
    served.expect(&ConnectionEvent::Line("nothing".to_owned()));
    served.stop();
}

#[test]
fn i2_no_frame_is_refused_because_of_frames_that_were_not_offered_to_the_system() {
    /// Answers each line with 100 bytes.
    struct Answering;
    impl Protocol for Answering {
        type Message = Infallible;
        type Codec = Lines;
        fn codec(&self) -> Lines {
            Lines::new(100)
        }
        async fn received(&mut self, channel: &mut Channel<Self>, _: String) -> krarup_gen::Result {
            Ok(channel.send(&"x".repeat(99))?)
        }
    }
    let node = Node::start("answering@localhost").unwrap();
    let options = ConnectionOptions::new().write_limit(1000);
    let server = node.spawn(move || Acceptor::new(any_port(), || Answering).options(options));
    let address = server.wait().unwrap().call(AcceptorRequest::Address).wait().unwrap();
    // The lines are read together, and their answers are more than may wait.
    let mut peer = Peer::connect(address);
    peer.say(&["?"; 100].join("\n"));
    for _ in 0..100 {
        assert_eq!(peer.hear().map(|line| line.len()), Some(99));
    }
    node.stop().wait().unwrap();
}

/// Writes half of an item and then fails, or does worse.
struct Faulty;

impl Codec for Faulty {
    type Frame = String;
    type Item = str;
    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<String>, CodecError> {
        Lines::new(80).decode(buffer)
    }
    fn encode(&mut self, item: &str, out: &mut BytesMut) -> Result<(), CodecError> {
        out.extend_from_slice(b"half");
        match item {
            "fails" => return Err(CodecError::other("on purpose")),
            "panics" => panic!("on purpose"),
            "takes away" => out.clear(),
            _ => out.extend_from_slice(b" and half\n"),
        }
        Ok(())
    }
}

/// Sends an item that its codec cannot encode, between two valid ones.
struct Unlucky;

impl Protocol for Unlucky {
    type Message = Infallible;
    type Codec = Faulty;
    fn codec(&self) -> Faulty {
        Faulty
    }
    async fn received(&mut self, channel: &mut Channel<Self>, how: String) -> Result {
        channel.send("fine")?;
        let waiting = channel.waiting();
        let sent = catch_unwind(AssertUnwindSafe(|| channel.send(&how)));
        match how.as_str() {
            "fails" => assert!(matches!(sent, Ok(Err(WriteError::Codec(_))))),
            "panics" => assert!(sent.is_err()),
            // The codec cannot remove bytes that were sent before.
            _ => assert!(matches!(sent, Ok(Ok(())))),
        }
        assert_eq!(channel.waiting(), waiting);
        channel.send("fine")?;
        channel.close();
        Ok(())
    }
}

#[test]
fn i2_a_codec_that_fails_panics_or_truncates_leaves_the_write_buffer_unchanged() {
    let node = Node::start("faulty@localhost").unwrap();
    let server = node.spawn(|| Acceptor::new(any_port(), || Unlucky)).wait().unwrap();
    let address = server.call(AcceptorRequest::Address).wait().unwrap();
    for how in ["fails", "panics", "takes away"] {
        let mut peer = Peer::connect(address);
        peer.say(how);
        let line = "half and half\n";
        assert_eq!(String::from_utf8(peer.rest()).unwrap(), line.repeat(2), "{how}");
    }
    node.stop().wait().unwrap();
}

/// Sends many lines, waiting for room, and reports the most bytes that waited.
struct Pouring {
    lines: usize,
    most: Sender<usize>,
}

impl Protocol for Pouring {
    type Message = Infallible;
    type Codec = Lines;
    fn codec(&self) -> Lines {
        Lines::new(1 << 16)
    }
    async fn connected(&mut self, channel: &mut Channel<Self>) -> Result {
        let mut most = 0;
        for number in 0..self.lines {
            channel.send_or_wait(&format!("{number} {}", "x".repeat(10_000))).await?;
            most = most.max(channel.waiting());
        }
        channel.flush().await?;
        assert_eq!(channel.waiting(), 0);
        let _ = self.most.send(most);
        channel.close();
        Ok(())
    }
    async fn received(&mut self, _: &mut Channel<Self>, _: String) -> Result {
        Ok(())
    }
}

#[test]
fn i2_a_sender_waiting_for_room_sends_in_order_and_within_the_limit() {
    const LINES: usize = 2000;
    const LIMIT: usize = 64 << 10;
    let node = Node::start("pour@localhost").unwrap();
    let (most, told) = channel();
    let options = ConnectionOptions::new().write_limit(LIMIT);
    let pouring = move || Pouring { lines: LINES, most: most.clone() };
    let server = node.spawn(move || Acceptor::new(any_port(), pouring).options(options));
    let address = server.wait().unwrap().call(AcceptorRequest::Address).wait().unwrap();
    let mut peer = Peer::connect(address);
    for number in 0..LINES {
        let line = peer.hear().unwrap();
        assert_eq!(line.split_once(' ').unwrap().0, number.to_string());
    }
    assert_eq!(peer.hear(), None);
    let most = told.recv().unwrap();
    assert!(most <= LIMIT, "{most} bytes waited");
    node.stop().wait().unwrap();
}

/// Answers at once, and then waits for another process.
struct Twofold {
    ask: Address<Reply<()>>,
}

impl Protocol for Twofold {
    type Message = Infallible;
    type Codec = Lines;
    fn codec(&self) -> Lines {
        Lines::new(80)
    }
    async fn received(&mut self, channel: &mut Channel<Self>, _: String) -> Result {
        channel.send("at once")?;
        self.ask.call(|reply| reply).no_timeout().await?;
        channel.send("later")?;
        Ok(())
    }
}

#[test]
fn i2_an_answer_is_written_while_its_callback_waits_for_something_else() {
    let node = Node::start("twofold@localhost").unwrap();
    let (sender, asked) = channel();
    let keeper = behavior_fn(move |mut ctx: Context<Reply<()>>| async move {
        loop {
            if let krarup_act::Received::Message(reply) = ctx.receive().await {
                let _ = sender.send(reply);
            }
        }
    });
    let ask = node.spawn(move || keeper).wait().unwrap();
    let server =
        node.spawn(move || Acceptor::new(any_port(), move || Twofold { ask: ask.clone() }));
    let address = server.wait().unwrap().call(AcceptorRequest::Address).wait().unwrap();
    let mut peer = Peer::connect(address);
    peer.say("question");
    let reply: Reply<()> = asked.recv().unwrap();
    assert_eq!(peer.hear().as_deref(), Some("at once"));
    reply.send(());
    assert_eq!(peer.hear().as_deref(), Some("later"));
    node.stop().wait().unwrap();
}

/// Records its callbacks, and sends itself a message for later.
struct Noting {
    ask: Address<Reply<()>>,
    notes: Sender<String>,
}

impl Protocol for Noting {
    type Message = String;
    type Codec = Lines;
    fn codec(&self) -> Lines {
        Lines::new(80)
    }
    async fn received(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
        let _ = self.notes.send(format!("begins {line}"));
        // For later: it waits at this connection like any message.
        channel.address().send(format!("later of {line}")).unwrap();
        self.ask.call(|reply| reply).no_timeout().await?;
        let _ = self.notes.send(format!("goes on with {line}"));
        Ok(())
    }
    async fn handle_message(&mut self, _: &mut Channel<Self>, later: String) -> Result {
        let _ = self.notes.send(later);
        Ok(())
    }
}

#[test]
fn i2_items_awaited_in_a_callback_precede_all_events_and_deferred_ones_follow() {
    let node = Node::start("noting@localhost").unwrap();
    let (sender, asked) = channel();
    let keeper = behavior_fn(move |mut ctx: Context<Reply<()>>| async move {
        loop {
            if let krarup_act::Received::Message(reply) = ctx.receive().await {
                let _ = sender.send(reply);
            }
        }
    });
    let ask = node.spawn(move || keeper).wait().unwrap();
    let (notes, noted) = channel();
    let noting = move || Noting { ask: ask.clone(), notes: notes.clone() };
    let server = node.spawn(move || Acceptor::new(any_port(), noting));
    let address = server.wait().unwrap().call(AcceptorRequest::Address).wait().unwrap();
    let mut peer = Peer::connect(address);
    // Both frames arrive before the first is handled.
    peer.0.get_mut().write_all(b"one\ntwo\n").unwrap();
    for line in ["one", "two"] {
        assert_eq!(noted.recv().unwrap(), format!("begins {line}"));
        let reply: Reply<()> = asked.recv().unwrap();
        assert!(noted.try_recv().is_err(), "it waits");
        reply.send(());
        assert_eq!(noted.recv().unwrap(), format!("goes on with {line}"));
        assert_eq!(noted.recv().unwrap(), format!("later of {line}"));
    }
    node.stop().wait().unwrap();
}

#[test]
fn i2_a_paused_connection_reads_nothing_and_still_takes_messages() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    let act = |act: fn(&mut Channel<crate::support::Puppet>) -> Result| {
        connection.send(Act(Box::new(act))).unwrap_or_else(|_| panic!("not sent"));
    };
    act(|channel| {
        channel.pause();
        Ok(channel.send("paused")?)
    });
    assert_eq!(peer.hear().as_deref(), Some("paused"));
    peer.say("say one");
    for _ in 0..100 {
        act(|channel| Ok(channel.send("message")?));
        assert_eq!(peer.hear().as_deref(), Some("message"));
    }
    let shown = connection.inspect().wait().unwrap();
    assert_eq!(shown.number("bytes_in"), Some(0));
    act(|channel| {
        channel.resume();
        Ok(())
    });
    assert_eq!(peer.hear().as_deref(), Some("one"));
    served.stop();
}

#[test]
fn i2_frames_read_together_with_the_pausing_frame_wait_too() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    peer.0.get_mut().write_all(b"pause\nsay one\n").unwrap();
    served.expect(&ConnectionEvent::Line("pause".to_owned()));
    let act = |act: fn(&mut Channel<crate::support::Puppet>) -> Result| {
        connection.send(Act(Box::new(act))).unwrap_or_else(|_| panic!("not sent"));
    };
    for _ in 0..10 {
        act(|channel| Ok(channel.send("message")?));
        assert_eq!(peer.hear().as_deref(), Some("message"));
    }
    act(|channel| {
        channel.resume();
        Ok(channel.send("resumed")?)
    });
    assert_eq!(peer.hear().as_deref(), Some("resumed"));
    assert_eq!(peer.hear().as_deref(), Some("one"));
    served.stop();
}

#[test]
#[cfg(target_os = "linux")]
fn i2_bytes_behind_an_urgent_one_do_not_wait_for_further_bytes() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    peer.say("pause");
    served.expect(&ConnectionEvent::Line("pause".to_owned()));
    peer.stream().write_all(b"say to").unwrap();
    SockRef::from(peer.stream()).send_out_of_band(b"!").unwrap();
    peer.stream().write_all(b"gether\n").unwrap();
    // The report of a later connection comes behind those of these bytes.
    let (mut other, _) = served.connect();
    other.say("say other");
    assert_eq!(other.hear().as_deref(), Some("other"));
    let resumes = Act(Box::new(|channel| {
        channel.resume();
        Ok(())
    }));
    connection.send(resumes).unwrap_or_else(|_| panic!("not sent"));
    // The urgent byte is no part of the stream.
    assert_eq!(peer.hear().as_deref(), Some("together"));
    served.stop();
}

#[test]
fn i2_a_flooding_client_does_not_delay_others() {
    let served = Served::new();
    let (flooder, _) = served.connect();
    let mut stream = flooder.stream().try_clone().unwrap();
    let flood = thread::spawn(move || {
        let lines = "nothing\n".repeat(1 << 13);
        while stream.write_all(lines.as_bytes()).is_ok() {}
    });
    let (mut peer, connection) = {
        let mut peer = Peer::connect(served.address);
        let pid = loop {
            if let ConnectionEvent::Connected(pid) = served.next() {
                break pid;
            }
        };
        peer.say("say between");
        assert_eq!(peer.hear().as_deref(), Some("between"));
        (peer, served.node.address_of::<Act, Act>(pid).unwrap())
    };
    // The flooded connection too answers an inspection within one frame.
    let all = served.acceptor.call(AcceptorRequest::Connections).wait().unwrap();
    assert_eq!(all.len(), 2);
    for open in all {
        assert!(open.connection.inspect().wait().is_ok());
    }
    peer.say("close");
    assert_eq!(peer.stream().try_clone().unwrap().read(&mut [0]).unwrap(), 0);
    drop(connection);
    served.stop();
    flood.join().unwrap();
}

#[test]
fn i1_connections_that_came_while_the_acceptor_had_no_turn_are_all_accepted() {
    const AT_ONCE: usize = 50;
    let options = DispatcherOptions::new().workers(1).spare_workers(0);
    let node = Node::builder("burst@localhost").options(options).start().unwrap();
    let (seen, sees) = channel();
    let factory = move || Puppet { seen: seen.clone(), keeps_half: false, stubborn: false };
    let acceptor = node.spawn(move || Acceptor::new(any_port(), factory)).wait().unwrap();
    let address = acceptor.call(AcceptorRequest::Address).wait().unwrap();
    let (holds, held) = channel();
    let (release, released) = channel::<()>();
    let holder = behavior_fn(move |_: Context<()>| async move {
        holds.send(()).unwrap();
        // Until the other side is dropped.
        let _ = released.recv();
        Ok(())
    });
    node.spawn(move || holder).start().unwrap();
    held.recv().unwrap();
    let peers: Vec<TcpStream> =
        (0..AT_ONCE).map(|_| TcpStream::connect(address).unwrap()).collect();
    drop(release);
    // No other comes that would wake the acceptor.
    for _ in 0..AT_ONCE {
        let next = sees.recv_timeout(Duration::from_secs(30));
        assert!(matches!(next, Ok(ConnectionEvent::Connected(_))), "{next:?}");
    }
    drop(peers);
    node.stop().wait().unwrap();
}
