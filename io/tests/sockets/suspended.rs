//! Tests of suspended processes of sockets: rule X5.

use crate::support::{Served, any_port};
use krarup_act::Address;
use krarup_io::bytes::Bytes;
use krarup_io::{ConnectionOptions, DatagramChannel, DatagramProtocol, Udp};
use krarup_node::Node;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

/// Returns a number of the process after it had several turns for whatever has come.
fn settled<M: Send + 'static, C: Send + 'static>(of: &Address<M, C>, number: &str) -> u64 {
    for _ in 0..3 {
        of.inspect().wait().unwrap();
    }
    of.inspect().wait().unwrap().number(number).unwrap()
}

#[test]
fn x5_a_suspended_connection_reads_nothing_until_it_is_resumed() {
    let options = ConnectionOptions::new().frame_timeout(Duration::from_secs(3600));
    let served = Served::with(options, |acceptor| acceptor);
    let (mut peer, connection) = served.connect();
    let (mut other, _) = served.connect();
    for word in ["one", "two"] {
        connection.suspend().wait().unwrap();
        let before = settled(&connection, "bytes_in");
        peer.say(&format!("say {word}"));
        // The report of the other connection comes behind that of this one.
        other.say("say other");
        assert_eq!(other.hear().as_deref(), Some("other"));
        assert_eq!(settled(&connection, "bytes_in"), before);
        assert!(connection.resume());
        assert_eq!(peer.hear().as_deref(), Some(word));
    }
    // A stop ends the suspension.
    connection.suspend().wait().unwrap();
    let stop = connection.stop();
    let waits = thread::spawn(move || stop.wait());
    assert_eq!(peer.hear().as_deref(), Some("bye"));
    drop(peer);
    waits.join().unwrap().unwrap();
    served.stop();
}

#[test]
fn x5_a_suspended_acceptor_accepts_nothing_until_it_is_resumed() {
    let served = Served::new();
    let (mut first, _) = served.connect();
    served.acceptor.suspend().wait().unwrap();
    // The system answers this client.
    let _second = TcpStream::connect(served.address).unwrap();
    first.say("say something");
    assert_eq!(first.hear().as_deref(), Some("something"));
    assert_eq!(settled(&served.acceptor, "accepted"), 1);
    assert!(served.acceptor.resume());
    while served.acceptor.inspect().wait().unwrap().number("accepted") != Some(2) {}
    served.stop();
}

/// Sends every datagram back.
struct Echo;

impl DatagramProtocol for Echo {
    type Message = Infallible;
    async fn received(
        &mut self,
        channel: &mut DatagramChannel<Infallible>,
        from: SocketAddr,
        datagram: Bytes,
    ) -> krarup_gen::Result {
        Ok(channel.send_to(&datagram, from)?)
    }
}

#[test]
fn x5_a_suspended_socket_of_udp_receives_nothing_until_it_is_resumed() {
    let node = Node::start("echo@localhost").unwrap();
    let [(echo, to), (_other, other)] = [(); 2].map(|()| {
        let echo = node.spawn(|| Udp::new(any_port(), Echo)).wait().unwrap();
        let local = echo.inspect().wait().unwrap().value("local").unwrap().to_string();
        (echo, local.parse::<SocketAddr>().unwrap())
    });
    let socket = UdpSocket::bind(any_port()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let received = || {
        let mut room = [0; 9];
        let (count, from) = socket.recv_from(&mut room).unwrap();
        (room[..count].to_vec(), from)
    };
    echo.suspend().wait().unwrap();
    socket.send_to(b"one", to).unwrap();
    // The report of the other socket comes behind that of this one.
    socket.send_to(b"two", other).unwrap();
    assert_eq!(received(), (b"two".to_vec(), other));
    assert_eq!(settled(&echo, "datagrams_in"), 0);
    assert!(echo.resume());
    assert_eq!(received(), (b"one".to_vec(), to));
    node.stop().wait().unwrap();
}
