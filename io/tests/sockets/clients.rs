//! Tests of clients whose servers misbehave: rules I1 and I5.

use crate::support::{Act, ConnectionEvent, Peer, Puppet, any_port};
use krarup_act::{Context, behavior_fn};
use krarup_gen::{Reason, Result, SpawnError};
use krarup_io::{
    Acceptor, AcceptorRequest, Channel, Client, Closed, ConnectError, ConnectionOptions, Lines,
    Protocol,
};
use krarup_node::Node;
use socket2::SockRef;
use std::convert::Infallible;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Short, and long enough not to expire by accident.
const SOON: Duration = Duration::from_millis(40);

/// Sends hello and ignores all lines.
struct Hello;

impl Protocol for Hello {
    type Message = Infallible;
    type Codec = Lines;
    fn codec(&self) -> Lines {
        Lines::new(80)
    }
    async fn connected(&mut self, channel: &mut Channel<Self>) -> Result {
        Ok(channel.send("hello")?)
    }
    async fn received(&mut self, _: &mut Channel<Self>, _: String) -> Result {
        Ok(())
    }
}

/// Returns an address to which no connection is ever established, and the sockets that
/// keep it so. It is a listener whose queue of waiting connections is full, so the system
/// drops further requests.
#[cfg(target_os = "linux")]
fn nobody_answers() -> (SocketAddr, Vec<socket2::Socket>) {
    let tcp = || {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
        socket.unwrap()
    };
    let listener = tcp();
    listener.bind(&any_port().into()).unwrap();
    listener.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut keep = vec![listener];
    // More than the queue length, because the system accepts some more.
    for _ in 0..8 {
        let socket = tcp();
        socket.set_nonblocking(true).unwrap();
        let _ = socket.connect(&address);
        keep.push(socket);
    }
    (address.as_socket().unwrap(), keep)
}

#[test]
#[cfg(target_os = "linux")]
fn i5_connecting_to_a_silent_server_times_out() {
    let node = Node::start("patient@localhost").unwrap();
    let (address, _keep) = nobody_answers();
    let options = ConnectionOptions::new().connect_timeout(SOON);
    let client = node.spawn(move || Client::new(address, Hello).options(options)).wait();
    let Err(SpawnError::Init(reason)) = client else { panic!("connected") };
    let Some(ConnectError::Timeout { address: named, limit }) = reason.downcast_ref() else {
        panic!("{reason}")
    };
    assert_eq!((*named, *limit), (address, SOON));
    assert!(node.processes().is_empty());
    node.stop().wait().unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn i7_a_client_that_is_still_connecting_can_be_stopped() {
    let (address, _keep) = nobody_answers();
    let options = ConnectionOptions::new().connect_timeout(Duration::from_secs(3600));
    let node = Node::start("leaving@localhost").unwrap();
    let connecting = || {
        let options = options.clone();
        node.spawn(move || Client::new(address, Hello).options(options)).start().unwrap()
    };
    let (killed, stopped) = (connecting(), connecting());
    let (end, stops) = (killed.watch(), stopped.watch());
    node.kill(killed.pid());
    assert_eq!(end.wait().unwrap().reason, Reason::Killed);
    // The node does not wait for the connect timeout.
    node.stop().wait().unwrap();
    assert_eq!(stops.wait().unwrap().reason, Reason::Shutdown);
}

#[test]
fn i1_a_server_that_resets_at_once_gives_a_typed_reason() {
    let node = Node::start("unlucky@localhost").unwrap();
    let listener = TcpListener::bind(any_port()).unwrap();
    let address = listener.local_addr().unwrap();
    for round in 0..100 {
        let client = node.spawn(move || Client::new(address, Hello)).start().unwrap();
        let end = client.watch();
        let (stream, _) = listener.accept().unwrap();
        if round % 2 == 0 {
            SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        }
        drop(stream);
        let reason = end.wait().unwrap().reason;
        assert!(reason.is_abnormal(), "{reason}");
        match (reason.downcast_ref::<Closed>(), reason.downcast_ref::<ConnectError>()) {
            (Some(Closed::Peer | Closed::Failed { .. }), None) => {}
            (None, Some(ConnectError::Failed { address: named, .. })) => {
                assert_eq!(*named, address);
            }
            _ => panic!("round {round}: {reason}"),
        }
    }
    assert!(node.processes().is_empty());
    node.stop().wait().unwrap();
}

/// A protocol that fails in `connected`.
struct Stillborn;

impl Protocol for Stillborn {
    type Message = Infallible;
    type Codec = Lines;
    fn codec(&self) -> Lines {
        Lines::new(80)
    }
    async fn connected(&mut self, channel: &mut Channel<Self>) -> Result {
        channel.send("never mind")?;
        Err(Reason::error("no licence"))
    }
    async fn received(&mut self, _: &mut Channel<Self>, _: String) -> Result {
        Ok(())
    }
}

#[test]
fn i1_a_connection_whose_connected_callback_fails_is_closed() {
    let node = Node::start("stillborn@localhost").unwrap();
    let listener = TcpListener::bind(any_port()).unwrap();
    let address = listener.local_addr().unwrap();
    let client = node.spawn(move || Client::new(address, Stillborn)).wait();
    let Err(SpawnError::Init(reason)) = client else { panic!("it has begun") };
    assert_eq!(reason.to_string(), "no licence");
    let (stream, _) = listener.accept().unwrap();
    assert!(Peer(BufReader::new(stream)).is_over());

    let server = node.spawn(|| Acceptor::new(any_port(), || Stillborn)).wait().unwrap();
    let address = server.call(AcceptorRequest::Address).wait().unwrap();
    for _ in 0..10 {
        assert!(Peer::connect(address).is_over());
    }
    assert!(server.is_alive());
    node.stop().wait().unwrap();
}

#[test]
fn i1_an_impossible_address_is_an_error_that_names_it() {
    let node = Node::start("nowhere@localhost").unwrap();
    // An address reserved for documentation (RFC 5737), and a port that is not a port.
    let not_ours: SocketAddr = ([192, 0, 2, 1], 1).into();
    for (address, says) in [(not_ours, "cannot bind"), (any_port(), "cannot connect")] {
        let spawned = if says == "cannot bind" {
            let acceptor = move || Acceptor::new(address, || Hello);
            node.spawn(acceptor).wait().map(|_| ())
        } else {
            node.spawn(move || Client::new(address, Hello)).wait().map(|_| ())
        };
        let Err(SpawnError::Init(reason)) = spawned else { panic!("{says} {address}") };
        let text = reason.to_string();
        assert!(text.starts_with(&format!("{says} to {address}").replace("bind to", "bind")));
    }
    assert!(node.processes().is_empty());
    node.stop().wait().unwrap();
}

#[test]
fn i7_the_socket_of_a_client_is_closed_however_the_client_ended() {
    let node = Node::start("gone@localhost").unwrap();
    let listener = TcpListener::bind(any_port()).unwrap();
    let address = listener.local_addr().unwrap();
    for how in ["stop", "kill", "exit", "node"] {
        let client = node.spawn(move || Client::new(address, Hello)).start().unwrap();
        let (mut stream, _): (TcpStream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut hello = [0; 6];
        stream.read_exact(&mut hello).unwrap();
        assert_eq!(&hello, b"hello\n");
        let end = client.watch();
        let closes = std::thread::spawn(move || {
            let ended = match stream.read(&mut [0]) {
                Ok(count) => count == 0,
                Err(error) => error.kind() == ErrorKind::ConnectionReset,
            };
            let _ = stream.write_all(b"anybody?\n");
            ended
        });
        match how {
            "stop" => client.stop().wait().unwrap(),
            "kill" => node.kill(client.pid()),
            "exit" => node.exit(client.pid(), Reason::error("go")),
            _ => node.stop().wait().unwrap(),
        }
        end.wait().unwrap();
        assert!(closes.join().unwrap(), "{how}");
    }
}

#[test]
fn i1_a_client_knows_both_addresses_and_closes_on_a_stop() {
    let node = Node::start("polite@localhost").unwrap();
    let listener = TcpListener::bind(any_port()).unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, sees) = channel();
    let puppet = Puppet { seen, keeps_half: false, stubborn: false };
    let client = node.spawn(move || Client::new(address, puppet)).wait().unwrap();
    let (stream, local) = listener.accept().unwrap();
    let mut peer = Peer(BufReader::new(stream));
    let (told, tells) = channel();
    let act = Act(Box::new(move |channel| {
        let _ = told.send((channel.peer(), channel.local(), format!("{channel:?}")));
        Ok(())
    }));
    client.send(act).unwrap_or_else(|_| panic!("not sent"));
    let says = format!("Channel({} to {address})", client.pid());
    assert_eq!(tells.recv().unwrap(), (address, local, says));
    let behavior = client.info().behavior.to_string();
    assert!(behavior.ends_with("Puppet") && !behavior.contains("Client"), "{behavior}");
    client.process().request_stop(Reason::shutdown("enough"));
    assert_eq!(peer.rest(), b"bye\n");
    drop(peer);
    let seen: Vec<_> = sees.iter().skip(1).collect();
    let closed = ConnectionEvent::Closed(Closed::Stopped(Reason::shutdown("enough")));
    assert_eq!(seen, [ConnectionEvent::Stopping, closed, ConnectionEvent::Dropped]);
    node.stop().wait().unwrap();
}

/// Sends from the start until a send fails.
struct Pouring;

impl Protocol for Pouring {
    type Message = Infallible;
    type Codec = Lines;
    fn codec(&self) -> Lines {
        Lines::new(1 << 16)
    }
    async fn connected(&mut self, channel: &mut Channel<Self>) -> Result {
        loop {
            channel.send_or_wait(&"x".repeat(10_000)).await?;
        }
    }
    async fn received(&mut self, _: &mut Channel<Self>, _: String) -> Result {
        Ok(())
    }
}

#[test]
fn i1_a_failure_during_the_connected_callback_is_the_reason_of_the_close() {
    let node = Node::start("early@localhost").unwrap();
    let listener = TcpListener::bind(any_port()).unwrap();
    let address = listener.local_addr().unwrap();
    let client = node.spawn(move || Client::new(address, Pouring)).start().unwrap();
    let end = client.watch();
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0; 10_001]).unwrap();
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
    let reason = end.wait().unwrap().reason;
    assert!(matches!(reason.downcast_ref(), Some(Closed::Failed { .. })), "{reason}");
    node.stop().wait().unwrap();
}

#[test]
fn i5_a_client_uses_the_limits_in_its_options() {
    let node = Node::start("limited@localhost").unwrap();
    let listener = TcpListener::bind(any_port()).unwrap();
    let address = listener.local_addr().unwrap();
    let options = ConnectionOptions::new().idle_timeout(SOON).linger(Duration::ZERO);
    let client = node.spawn(move || Client::new(address, Hello).options(options)).start().unwrap();
    let end = client.watch();
    let _silent = listener.accept().unwrap();
    let reason = end.wait().unwrap().reason;
    assert_eq!(reason.downcast_ref(), Some(&Closed::Idle(SOON)));
    node.stop().wait().unwrap();
}

#[test]
fn i1_the_addresses_of_a_client_are_tried_in_order() {
    let node = Node::start("several@localhost").unwrap();
    let nobody = || {
        let listener = TcpListener::bind(any_port()).unwrap();
        listener.local_addr().unwrap()
    };
    let listener = TcpListener::bind(any_port()).unwrap();
    let (first, second, there) = (nobody(), nobody(), listener.local_addr().unwrap());
    let client = move || Client::new(first, Hello).or([second, there]);
    let client = node.spawn(client).wait().unwrap();
    let (stream, _) = listener.accept().unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    assert_eq!(line, "hello\n");
    let seen = node.inspect(client.pid()).wait();
    assert!(seen.is_err() || seen.unwrap().value("peer").unwrap().to_string() == there.to_string());
    // The error is that of the last one.
    let client = move || Client::new(first, Hello).or([second]);
    let Err(SpawnError::Init(reason)) = node.spawn(client).wait() else { panic!("connected") };
    let Some(ConnectError::Failed { address, .. }) = reason.downcast_ref() else {
        panic!("{reason}")
    };
    assert_eq!(*address, second);
    node.stop().wait().unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn i1_a_server_with_a_silent_address_is_reached_at_the_next_one() {
    let node = Node::start("eyeballs@localhost").unwrap();
    let (silent, _keep) = nobody_answers();
    let listener = TcpListener::bind(any_port()).unwrap();
    let there = listener.local_addr().unwrap();
    // The silent one would need all of it.
    let options = ConnectionOptions::new().connect_timeout(Duration::from_secs(3600));
    let client = move || Client::new(silent, Hello).or([there]).options(options);
    node.spawn(client).wait().unwrap();
    assert_eq!(greeting(&listener), "hello\n");
    node.stop().wait().unwrap();
}

/// Reads the line of a client that has connected here.
fn greeting(listener: &TcpListener) -> String {
    let (stream, _) = listener.accept().unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line
}

#[test]
fn i1_a_client_finds_its_server_by_the_name_of_the_host() {
    let node = Node::start("named@localhost").unwrap();
    // The name may have an address of IPv6 too, where nobody listens.
    let listener = TcpListener::bind(any_port()).unwrap();
    let port = listener.local_addr().unwrap().port();
    for host in ["localhost", "127.0.0.1"] {
        node.spawn(move || Client::to_host(host, port, Hello)).wait().unwrap();
        assert_eq!(greeting(&listener), "hello\n", "{host}");
    }
    node.stop().wait().unwrap();
}

#[test]
fn i1_a_name_without_an_address_is_a_typed_error_unless_there_are_other_addresses() {
    let node = Node::start("nameless@localhost").unwrap();
    // The system refuses it without asking anybody.
    let nowhere = "no\0where";
    let client = node.spawn(move || Client::to_host(nowhere, 7, Hello)).wait();
    let Err(SpawnError::Init(reason)) = client else { panic!("connected") };
    let Some(ConnectError::Unresolved { host, .. }) = reason.downcast_ref() else {
        panic!("{reason}")
    };
    assert_eq!(host, nowhere);
    let listener = TcpListener::bind(any_port()).unwrap();
    let there = listener.local_addr().unwrap();
    // A host where nobody listens leads to them as well.
    let nobody = TcpListener::bind(any_port()).unwrap().local_addr().unwrap().port();
    for (host, port) in [(nowhere, 7), ("127.0.0.1", nobody)] {
        node.spawn(move || Client::to_host(host, port, Hello).or([there])).wait().unwrap();
        assert_eq!(greeting(&listener), "hello\n", "{host:?}");
    }
    node.stop().wait().unwrap();
}

#[test]
fn i5_a_resolver_that_does_not_answer_costs_the_connect_timeout() {
    // The only side thread is in use, so the resolver is not even asked.
    let node = Node::builder("queueing@localhost").blocking_threads(1).start().unwrap();
    let (free, waits) = channel::<()>();
    let (begun, begins) = channel();
    let holder = behavior_fn(move |ctx: Context<()>| async move {
        let holds = move || {
            let _ = begun.send(());
            let _ = waits.recv();
        };
        ctx.block(holds).await
    });
    node.spawn(move || holder).start().unwrap();
    begins.recv().unwrap();
    let to = |limit| {
        let options = ConnectionOptions::new().connect_timeout(limit);
        move || Client::to_host("localhost", 7, Hello).options(options)
    };
    let Err(SpawnError::Init(reason)) = node.spawn(to(SOON)).wait() else { panic!("connected") };
    let Some(ConnectError::Unanswered { host, limit }) = reason.downcast_ref() else {
        panic!("{reason}")
    };
    assert_eq!((host.as_str(), *limit), ("localhost", SOON));
    // Who waits for the resolver can be killed and stopped.
    let long = Duration::from_secs(3600);
    let (killed, stopped) = (to(long), to(long));
    let (killed, stopped) =
        (node.spawn(killed).start().unwrap(), node.spawn(stopped).start().unwrap());
    let (end, stops) = (killed.watch(), stopped.watch());
    node.kill(killed.pid());
    assert_eq!(end.wait().unwrap().reason, Reason::Killed);
    node.exit(stopped.pid(), Reason::Shutdown);
    assert_eq!(stops.wait().unwrap().reason, Reason::Shutdown);
    drop(free);
    node.stop().wait().unwrap();
}
