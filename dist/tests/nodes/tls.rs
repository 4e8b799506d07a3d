//! Clusters over TLS (rules Zhs11, Zsec2, Zsec6, Zsec10).

use crate::certificates::{Authority, Issued};
use crate::support::watching::{events, next, until};
use crate::support::{Member, Order, Worker, not_connected};
use krarup_dist::{Cluster, ClusterCalls, Cookie, NodeEvent, SimNetwork, Tls, TlsVersion};
use krarup_gen::Reason;
use krarup_node::{Node, Simulation};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

fn tls(issued: &Issued) -> Tls {
    let Issued { certificate, key, authority } = issued;
    Tls::from_pem(certificate.as_bytes(), key.as_bytes(), authority.as_bytes()).unwrap()
}

/// A member over TLS that knows where others are.
fn member(name: &str, tls: &Tls, others: &[&Member]) -> Member {
    let known: Vec<_> = others.iter().map(|other| (other.name.clone(), other.address())).collect();
    let tls = tls.clone();
    Member::with(name, "secret", move |cluster: Cluster| {
        let peer =
            |cluster: Cluster, (name, address): (String, SocketAddr)| cluster.peer(name, address);
        known.into_iter().fold(cluster.tls(tls), peer)
    })
}

fn connects(from: &Member, to: &Member) -> bool {
    let connected = from.cluster.connect(&to.name).unwrap();
    let (told, tells) = std::sync::mpsc::channel();
    let process = krarup_act::behavior_fn(move |_: krarup_act::Context<()>| async move {
        let _ = told.send(connected.await);
        Ok(())
    });
    from.node.spawn(move || process).start().unwrap();
    next(&tells)
}

type SimulatedMember = (Node, krarup_dist::ClusterAddress);

/// A node of a simulation with a cluster over TLS.
fn simulated(
    sim: &Simulation,
    net: &SimNetwork,
    name: &str,
    own: &Tls,
) -> krarup_gen::Result<SimulatedMember> {
    let (net, own, cookie) = (net.clone(), own.clone(), Cookie::new("secret")?);
    let node = sim.beside(name)?;
    let cluster = node.spawn_system(move || Cluster::new(cookie).network(&net).tls(own)).wait()?;
    cluster.carry::<Order>()?;
    Ok((node, cluster))
}

fn serve((node, cluster): &SimulatedMember) -> krarup_gen::Result {
    node.spawn(Worker::default).name("stock").wait()?;
    cluster.export::<Order>("stock")?;
    Ok(())
}

fn failed(member: &Member) -> u64 {
    member.cluster.stats().unwrap().failed_handshakes
}

#[test]
fn zhs11_two_nodes_are_a_cluster_over_each_version() {
    let authority = Authority::new();
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let own = tls(&authority.issue(&["127.0.0.1"])).only(version).unwrap();
        let a = member("tls_a@127.0.0.1", &own, &[]);
        let b = member("tls_b@127.0.0.1", &own, &[&a]);
        let pid = a.worker("stock");
        let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
        assert_eq!(stock.call(|reply| Order::Add(2, 3, reply)).wait(), Ok(5));
        for number in 0..1_000 {
            stock.send(Order::Note(number)).unwrap();
        }
        assert_eq!(stock.call(Order::Total).wait(), Ok(499_500));
        // A frame of many records: its end says that all of it has come.
        let text = "x".repeat(3 << 20);
        stock.send(Order::End(Some(text.clone()))).unwrap();
        until(|| !a.node.is_alive(pid));
        let told = events(&b);
        a.node.stop().wait().unwrap();
        assert!(matches!(next(&told), NodeEvent::Down(_)));
    }
}

#[test]
fn zhs11_a_name_outside_the_certificate_is_refused_by_either_side() {
    let authority = Authority::new();
    let good = tls(&authority.issue(&["127.0.0.1", "localhost"]));
    let elsewhere = tls(&authority.issue(&["elsewhere.example", "127.0.0.2"]));
    let a = member("named_a@127.0.0.1", &good, &[]);
    let wrong = member("named_w@127.0.0.1", &elsewhere, &[&a]);
    // The one that is dialled looks at the certificate of the one that dials.
    assert!(!connects(&wrong, &a));
    until(|| failed(&a) == 1);
    // The one that dials looks at that of the one that is dialled.
    let b = member("named_b@127.0.0.1", &good, &[&wrong, &a]);
    // Its own dial has failed too.
    let dialled = failed(&wrong);
    assert!(!connects(&b, &wrong));
    until(|| failed(&wrong) == dialled + 1);
    // A certificate of another authority.
    let strange = tls(&Authority::new().issue(&["127.0.0.1"]));
    let stranger = member("named_s@127.0.0.1", &strange, &[&a]);
    assert!(!connects(&stranger, &a));
    until(|| failed(&a) == 2);
    // Nobody else has noticed.
    assert!(connects(&b, &a));
    assert_eq!(failed(&a), 2);
    let to = stranger.cluster.remote::<Order>("stock", &a.name).unwrap();
    assert_eq!(to.call(Order::Total).wait(), Err(not_connected("stock", &a.name)));
}

#[test]
fn zsec10_who_has_a_certificate_for_a_node_cannot_call_itself_another() {
    let authority = Authority::new();
    let of = |node: &str| tls(&authority.issue(&["127.0.0.1", node]));
    let (alice, mallory) = (of("alice@127.0.0.1"), of("mallory@127.0.0.1"));
    let shop = member("shop@127.0.0.1", &of("shop@127.0.0.1"), &[]);
    // She dials with the name of another node of the same host.
    let liar = member("alice@127.0.0.1", &mallory, &[&shop]);
    assert!(!connects(&liar, &shop));
    assert!(shop.cluster.nodes().unwrap().is_empty());
    // She is dialled in place of another node.
    let client = member("client@127.0.0.1", &of("client@127.0.0.1"), &[&liar, &shop]);
    assert!(!connects(&client, &liar));
    liar.node.stop().wait().unwrap();
    let alice = member("alice@127.0.0.1", &alice, &[&shop]);
    assert!(connects(&alice, &shop) && connects(&client, &shop));
    // Under her own name she is as good as any.
    let mallory = member("mallory@127.0.0.1", &mallory, &[&shop]);
    assert!(connects(&mallory, &shop));
}

#[test]
fn zsec10_a_certificate_with_a_name_that_cannot_be_read_is_for_no_node() {
    let authority = Authority::new();
    let shop = member("shop@127.0.0.1", &tls(&authority.issue(&["127.0.0.1"])), &[]);
    let with = |mailbox: &[u8]| {
        let address = [0x87, 4, 127, 0, 0, 1];
        let length = u8::try_from(mailbox.len()).unwrap();
        let names = [&address[..], &[0x81, length], mailbox].concat();
        let list = [&[0x30, u8::try_from(names.len()).unwrap()][..], &names].concat();
        tls(&authority.issue_with(&list))
    };
    let bound = member("bound@127.0.0.1", &with(b"bound@127.0.0.1"), &[&shop]);
    assert!(connects(&bound, &shop));
    // It does not count for its hosts, as one without names of nodes would.
    let odd = member("odd@127.0.0.1", &with(&[0xff, b'@', b'h']), &[&shop]);
    assert!(!connects(&odd, &shop) && !connects(&shop, &odd));
}

#[test]
fn zhs11_certificates_are_replaced_without_a_restart() {
    let authority = Authority::new();
    let good = authority.issue(&["127.0.0.1"]);
    let own = tls(&authority.issue(&["elsewhere.example"]));
    let a = member("reload_a@127.0.0.1", &own, &[]);
    let b = member("reload_b@127.0.0.1", &tls(&good), &[&a]);
    assert!(!connects(&b, &a));
    let Issued { certificate, key, authority } = &good;
    own.replace_pem(certificate.as_bytes(), key.as_bytes(), authority.as_bytes()).unwrap();
    assert!(connects(&b, &a));
}

#[test]
fn zhs11_nodes_with_and_without_tls_do_not_connect() {
    let authority = Authority::new();
    let a = member("mixed_a@127.0.0.1", &tls(&authority.issue(&["127.0.0.1"])), &[]);
    let clear = Member::start("mixed_b@127.0.0.1", "secret", &[&a]);
    assert!(!connects(&clear, &a));
    until(|| failed(&a) == 1);
    let with = member("mixed_c@127.0.0.1", &tls(&authority.issue(&["127.0.0.1"])), &[&clear]);
    // Its own dial has failed too.
    let dialled = failed(&clear);
    assert!(!connects(&with, &clear));
    until(|| failed(&clear) == dialled + 1);
}

#[test]
fn zsec2_with_tls_any_address_may_be_listened_on() {
    let authority = Authority::new();
    let own = tls(&authority.issue(&["127.0.0.1"]));
    let settings = move |cluster: Cluster| cluster.listen(([0, 0, 0, 0], 0).into()).tls(own);
    let a = Member::with("open_a@127.0.0.1", "secret", settings);
    assert!(a.address().ip().is_unspecified());
}

#[test]
fn zsec6_strangers_and_half_handshakes_of_tls_keep_nobody_out() {
    let authority = Authority::new();
    let own = tls(&authority.issue(&["127.0.0.1"]));
    let a = member("crowd_a@127.0.0.1", &own, &[]);
    a.worker("stock");
    let first = member("crowd_b@127.0.0.1", &own, &[&a]);
    let stock = first.cluster.remote::<Order>("stock", &a.name).unwrap();
    assert_eq!(stock.call(|reply| Order::Add(1, 1, reply)).wait(), Ok(2));
    // They say nothing, or half of a first record. At most 64 are pending.
    let hello = [22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3];
    let crowd: Vec<TcpStream> = (0..200)
        .map(|number| {
            let mut stream = TcpStream::connect(a.address()).unwrap();
            stream.write_all(&hello[..number % hello.len()]).unwrap();
            stream
        })
        .collect();
    until(|| failed(&a) == 200 - 64);
    let late = member("crowd_c@127.0.0.1", &own, &[&a]);
    assert!(connects(&late, &a));
    // One of the crowd had to go for it.
    until(|| failed(&a) == 200 - 63);
    drop(crowd);
    until(|| failed(&a) == 200);
    // Garbage, and a handshake of distribution in clear text.
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0, 21, b'N', 0, 0, 0, 13, 7, 223, 127, 188]] {
        let mut stream = TcpStream::connect(a.address()).unwrap();
        stream.write_all(bytes).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }
    until(|| failed(&a) == 202);
    assert_eq!(stock.call(|reply| Order::Add(1, 2, reply)).wait(), Ok(3));
    assert_eq!(a.cluster.nodes().unwrap().len(), 2);
}

#[test]
fn zhs7_a_handshake_of_tls_counts_in_the_time_of_the_handshake() {
    let authority = Authority::new();
    let own = tls(&authority.issue_even(&["a.sim"]));
    let (sim, net) = (Simulation::new(3), SimNetwork::new());
    let start = |name| simulated(&sim, &net, name, &own).unwrap();
    let (a, b) = (start("a@a.sim"), start("b@a.sim"));
    // The answer of the server never arrives.
    net.delay(Duration::from_millis(50));
    let stock = b.1.remote::<Order>("stock", "a@a.sim").unwrap();
    stock.send(Order::Note(1)).unwrap();
    let handshakes = || a.0.inspect(a.1.pid()).wait().unwrap().number("handshakes");
    while handshakes() != Some(1) {
        sim.advance(Duration::from_millis(1));
    }
    net.partition(&["a@a.sim"], &["b@a.sim"]);
    sim.advance(Duration::from_secs(6));
    let before = (handshakes(), net.connections().len());
    sim.advance(Duration::from_secs(4));
    assert_eq!((before, handshakes()), ((Some(1), 1), Some(0)));
    net.heal();
    sim.advance(Duration::from_secs(1));
    assert!(net.connections().is_empty());
    // Afterwards all is as it was.
    serve(&a).unwrap();
    assert_eq!(stock.call(|reply| Order::Add(1, 2, reply)).wait(), Ok(3));
}

#[test]
fn zsim2_nodes_of_a_simulation_are_a_cluster_over_tls() {
    let authority = Authority::new();
    let own = [
        tls(&authority.issue_even(&["sim.example"])),
        tls(&authority.issue_even(&["sim.example", "b@sim.example"])),
    ];
    Simulation::explore(0..40, |sim| {
        let net = SimNetwork::new();
        let start = |name, own| simulated(sim, &net, name, own);
        let (a, b) = (start("a@sim.example", &own[0])?, start("b@sim.example", &own[1])?);
        net.delay(Duration::from_millis(30));
        serve(&a)?;
        serve(&b)?;
        // Both dial at the same time.
        let there = a.1.remote::<Order>("stock", "b@sim.example")?;
        let here = b.1.remote::<Order>("stock", "a@sim.example")?;
        for number in 0..50 {
            there.send(Order::Note(number)).map_err(|error| Reason::error(error.to_string()))?;
            here.send(Order::Note(number)).map_err(|error| Reason::error(error.to_string()))?;
        }
        assert_eq!(there.call(Order::Total).wait(), Ok(1_225));
        assert_eq!(here.call(Order::Total).wait(), Ok(1_225));
        net.reset("a@sim.example", "b@sim.example");
        sim.advance(Duration::from_secs(1));
        assert_eq!(here.call(|reply| Order::Add(2, 3, reply)).wait(), Ok(5));
        // One that has no certificate for its name.
        let c = start("c@sim.example", &own[1])?;
        let refused = c.1.remote::<Order>("stock", "a@sim.example")?;
        assert!(refused.call(Order::Total).wait().is_err());
        assert_eq!(a.1.nodes()?.len(), 1);
        Ok(())
    });
}
