//! The port mapper: registrations, look-ups, and its absence. The tests play epmd themselves.

use crate::support::scripted::ScriptedPeer;
use crate::support::watching::{next, until};
use crate::support::{Member, Order, not_connected};
use krarup_dist::etf::Term;
use krarup_dist::{Cluster, ClusterCalls, Cookie};
use krarup_node::Node;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

/// A port mapper that passes each request on to the test.
struct Epmd {
    port: u16,
    requests: Receiver<(Vec<u8>, TcpStream)>,
}

fn epmd() -> Epmd {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (told, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut length = [0; 2];
            stream.read_exact(&mut length).unwrap();
            let mut request = vec![0; u16::from_be_bytes(length).into()];
            stream.read_exact(&mut request).unwrap();
            if told.send((request, stream)).is_err() {
                return;
            }
        }
    });
    Epmd { port, requests }
}

/// Answers a registration, and returns the request.
fn register(epmd: &Epmd, result: u8) -> (Vec<u8>, TcpStream) {
    let (request, mut stream) = next(&epmd.requests);
    stream.write_all(&[118, result, 0, 0, 0, 7]).unwrap();
    (request, stream)
}

/// Answers a look-up of a name.
fn found(epmd: &Epmd, name: &str, port: u16) {
    let (request, mut stream) = next(&epmd.requests);
    assert_eq!(request, [&[122], name.as_bytes()].concat());
    let length = u16::try_from(name.len()).unwrap().to_be_bytes();
    let parts = [&[119, 0][..], &port.to_be_bytes(), &[72, 0, 0, 6, 0, 6], &length];
    stream.write_all(&[&parts.concat()[..], name.as_bytes(), &[0, 0]].concat()).unwrap();
}

fn cluster(epmd: &Epmd) -> impl FnOnce() -> Cluster + Send + use<> {
    let port = epmd.port;
    move || Cluster::new(Cookie::new("secret").unwrap()).epmd_at(port)
}

#[test]
fn zhs8_a_node_registers_as_hidden_and_is_gone_when_its_cluster_ends() {
    let epmd = epmd();
    let node = Node::start("mapped@127.0.0.1").unwrap();
    let spawned = {
        let (node, cluster) = (node.clone(), cluster(&epmd));
        std::thread::spawn(move || node.spawn_system(cluster).wait())
    };
    let (request, mut socket) = register(&epmd, 0);
    let cluster = spawned.join().unwrap().unwrap();
    let listens = krarup_dist::HasCluster::cluster(&cluster).unwrap().listens_at().unwrap();
    // Hidden, over TCP, versions 6 to 6.
    let head = [&[120][..], &listens.port().to_be_bytes(), &[72, 0, 0, 6, 0, 6, 0, 6]].concat();
    assert_eq!(request, [&head[..], b"mapped", &[0, 0]].concat());
    node.stop().wait().unwrap();
    assert_eq!(socket.read(&mut [0]).unwrap(), 0);
}

#[test]
fn zhs8_a_taken_name_is_a_typed_error_of_the_spawn() {
    let epmd = epmd();
    let node = Node::start("taken@127.0.0.1").unwrap();
    let spawned = {
        let (node, cluster) = (node.clone(), cluster(&epmd));
        std::thread::spawn(move || node.spawn_system(cluster).wait())
    };
    register(&epmd, 1);
    let error = spawned.join().unwrap().unwrap_err().to_string();
    assert!(error.contains("the name is taken by another node"), "{error}");
    // Nobody holds the place of the cluster.
    node.spawn_system(|| Cluster::new(Cookie::new("secret").unwrap())).wait().unwrap();
}

#[test]
fn zlive7_the_port_mapper_may_notice_late_that_the_cluster_before_has_ended() {
    let epmd = epmd();
    let node = Node::start("late@127.0.0.1").unwrap();
    let spawn = || {
        let (node, cluster) = (node.clone(), cluster(&epmd));
        std::thread::spawn(move || node.spawn_system(cluster).wait())
    };
    let first = spawn();
    let (_, socket) = register(&epmd, 0);
    node.kill(first.join().unwrap().unwrap().pid());
    let second = spawn();
    // It still has the name of the first one.
    register(&epmd, 1);
    register(&epmd, 1);
    let (_, again) = register(&epmd, 0);
    assert!(node.is_alive(second.join().unwrap().unwrap().pid()));
    drop((socket, again));
}

#[test]
fn zhs8_a_lost_registration_is_made_again() {
    let epmd = epmd();
    let node = Node::start("again@127.0.0.1").unwrap();
    let spawned = {
        let (node, cluster) = (node.clone(), cluster(&epmd));
        std::thread::spawn(move || node.spawn_system(cluster).wait())
    };
    let (first, socket) = register(&epmd, 0);
    let cluster = spawned.join().unwrap().unwrap();
    drop(socket);
    // It fails once, and is tried again.
    let (second, socket) = register(&epmd, 1);
    drop(socket);
    let (third, mut socket) = register(&epmd, 0);
    assert_eq!([&second, &third], [&first, &first]);
    until(|| {
        let seen = node.inspect(cluster.pid()).wait().unwrap();
        seen.value("registered").is_some_and(|value| value.to_string() == "true")
    });
    node.kill(cluster.pid());
    assert_eq!(socket.read(&mut [0]).unwrap(), 0);
}

#[test]
fn zhs9_the_port_of_a_peer_is_asked_for_at_each_dial() {
    let epmd = epmd();
    let port = epmd.port;
    let registers = std::thread::spawn(move || {
        register(&epmd, 0);
        epmd
    });
    let member = Member::with("asks@127.0.0.1", "secret", move |cluster| cluster.epmd_at(port));
    let epmd = registers.join().unwrap();
    for creation in [10, 11] {
        // It listens elsewhere each time.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shop = member.cluster.remote::<Order>("stock", "shop@127.0.0.1").unwrap();
        shop.send(Order::Note(7)).unwrap();
        found(&epmd, "shop", listener.local_addr().unwrap().port());
        let mut peer = ScriptedPeer::accept(&listener, "shop@127.0.0.1", creation);
        assert!(peer.read().is_some());
        drop(peer);
        until(|| member.cluster.nodes().unwrap().is_empty());
    }
    // A name that is not registered: the dial fails.
    let shop = member.cluster.remote::<Order>("stock", "shop@127.0.0.1").unwrap();
    let call = std::thread::spawn(move || shop.call(Order::Total).no_timeout().wait());
    let (_, mut stream) = next(&epmd.requests);
    stream.write_all(&[119, 1]).unwrap();
    assert_eq!(call.join().unwrap(), Err(not_connected("stock", "shop@127.0.0.1")));
}

#[test]
fn zhs9_a_fixed_address_needs_no_port_mapper() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let member = Member::with("fixed@127.0.0.1", "secret", move |cluster| {
        // Nobody listens at this port mapper's port; it is not asked.
        cluster.peer("shop@127.0.0.1", at)
    });
    member.worker("stock");
    let shop = member.cluster.remote::<Order>("stock", "shop@127.0.0.1").unwrap();
    shop.send(Order::Note(7)).unwrap();
    let mut peer = ScriptedPeer::accept(&listener, "shop@127.0.0.1", 10);
    assert!(peer.read().is_some());
    assert_eq!(peer.answer("stock", Term::atom("total")), Ok(Term::Int(0)));
}
