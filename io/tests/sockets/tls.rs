//! Connections over TLS (rule Zhs11). The other end is often rustls over a plain socket.

use crate::certificates::{Authority, Issued};
use crate::support::{Act, ConnectionEvent, PuppetAcceptor, Served, any_port};
use krarup_act::Reply;
use krarup_gen::{Reason, Result, SpawnError};
use krarup_io::{
    Acceptor, AcceptorRequest, Channel, Client, Closed, ConnectError, ConnectionOptions, Lines,
    Protocol, Tls, TlsError, TlsVersion,
};
use krarup_node::Node;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

fn tls(issued: &Issued) -> Tls {
    let Issued { certificate, key, authority } = issued;
    Tls::from_pem(certificate.as_bytes(), key.as_bytes(), authority.as_bytes()).unwrap()
}

/// A server with a certificate for `localhost` and 127.0.0.1.
fn served(authority: &Authority, options: ConnectionOptions) -> Served {
    let tls = tls(&authority.issue(&["localhost", "127.0.0.1"]));
    Served::with(options, move |acceptor: PuppetAcceptor| acceptor.tls(tls))
}

/// A client of rustls, with or without a certificate.
fn rustls_client(
    address: SocketAddr,
    issued: &Issued,
    has_certificate: bool,
) -> BufReader<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(issued.authority.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = if has_certificate {
        let certificate = CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
        config.with_client_auth_cert(vec![certificate], key).unwrap()
    } else {
        config.with_no_client_auth()
    };
    let connection = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap());
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    BufReader::new(StreamOwned::new(connection.unwrap(), stream))
}

fn hear(client: &mut impl BufRead) -> String {
    let mut line = String::new();
    client.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// Asks a server line by line.
#[derive(Default)]
struct Asking {
    asked: VecDeque<Reply<String>>,
}

enum Ask {
    Line(String, Reply<String>),
    Names(Reply<(Vec<String>, TlsVersion, bool)>),
}

impl Protocol for Asking {
    type Message = Ask;
    type Codec = Lines;

    fn codec(&self) -> Lines {
        Lines::new(crate::support::LONGEST)
    }

    async fn received(&mut self, _: &mut Channel<Self>, line: String) -> Result {
        if let Some(reply) = self.asked.pop_front() {
            reply.send(line);
        }
        Ok(())
    }

    async fn handle_message(&mut self, channel: &mut Channel<Self>, ask: Ask) -> Result {
        match ask {
            Ask::Line(line, reply) => {
                channel.send_or_wait(&line).await?;
                self.asked.push_back(reply);
            }
            Ask::Names(reply) => {
                let peer = channel.tls_peer().ok_or_else(|| Reason::error("no TLS"))?;
                let is_for = peer.is_for("127.0.0.1") && !peer.is_for("127.0.0.2");
                reply.send((peer.names().hosts, peer.version(), is_for));
            }
        }
        Ok(())
    }
}

type Asked = std::result::Result<krarup_act::Address<Ask>, SpawnError>;

fn asks(node: &Node, address: SocketAddr, tls: Tls, name: &str) -> Asked {
    let name = name.to_owned();
    let options = ConnectionOptions::new().write_limit(4 << 20);
    let client = move || Client::new(address, Asking::default()).options(options).tls(tls, name);
    node.spawn(client).wait()
}

fn connect_error(asked: Asked) -> ConnectError {
    match asked.unwrap_err() {
        SpawnError::Init(reason) => {
            let error: &ConnectError = reason.downcast_ref().unwrap();
            match error {
                ConnectError::Tls { address, source } => ConnectError::Tls {
                    address: *address,
                    source: std::io::Error::new(source.kind(), source.to_string()),
                },
                error => panic!("{error}"),
            }
        }
        error => panic!("{error}"),
    }
}

#[test]
fn zhs11_both_sides_prove_themselves_in_both_versions() {
    let authority = Authority::new();
    let served = served(&authority, ConnectionOptions::new().write_limit(4 << 20));
    let mine = tls(&authority.issue(&["client.example"]));
    for (own, version) in [
        (mine.clone(), TlsVersion::Tls13),
        (mine.clone().only(TlsVersion::Tls12).unwrap(), TlsVersion::Tls12),
        (mine.only(TlsVersion::Tls13).unwrap(), TlsVersion::Tls13),
    ] {
        for name in ["localhost", "127.0.0.1"] {
            let client = asks(&served.node, served.address, own.clone(), name).unwrap();
            // The longest line, which needs many records.
            let long = "x".repeat(crate::support::LONGEST - 4);
            for text in ["hello", &long] {
                let answer = client.call(|reply| Ask::Line(format!("say {text}"), reply)).wait();
                assert!(answer.unwrap() == text);
            }
            let told = client.call(Ask::Names).wait().unwrap();
            assert_eq!(told, (vec!["localhost".to_owned()], version, true));
            served.node.kill(client.pid());
        }
    }
    served.stop();
}

#[test]
fn zhs11_the_server_knows_the_names_of_the_client_when_a_frame_has_come() {
    let authority = Authority::new();
    let served = served(&authority, ConnectionOptions::new());
    let own = authority.issue(&["client.example", "calc@client.example"]);
    let mut client = rustls_client(served.address, &own, true);
    client.get_mut().write_all(b"hello\n").unwrap();
    let ConnectionEvent::Connected(pid) = served.next() else { panic!("not connected") };
    served.expect(&ConnectionEvent::Line("hello".to_owned()));
    let connection: krarup_act::Address<Act> = served.node.address_of(pid).unwrap();
    let (told, tells) = std::sync::mpsc::channel();
    let act = move |channel: &mut Channel<crate::support::Puppet>| {
        let names = channel.tls_peer().unwrap().names();
        let _ = told.send((names.hosts, names.mailboxes));
        Ok(())
    };
    connection.send(Act(Box::new(act))).unwrap();
    let names = (vec!["client.example".to_owned()], vec!["calc@client.example".to_owned()]);
    assert_eq!(tells.recv_timeout(LONG).unwrap(), names);
}

#[test]
fn zhs11_a_server_with_another_name_or_of_another_authority_is_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let served = served(&authority, ConnectionOptions::new());
    let own = tls(&authority.issue(&["client.example"]));
    let strange = tls(&other.issue(&["client.example"]));
    for (tls, name) in
        [(own.clone(), "other.example"), (own.clone(), "127.0.0.2"), (strange, "localhost")]
    {
        let error = connect_error(asks(&served.node, served.address, tls, name));
        let ConnectError::Tls { address, source } = error else { panic!("{error}") };
        assert_eq!((address, source.kind()), (served.address, ErrorKind::InvalidData));
        assert!(source.to_string().contains("certificate"), "{source}");
        // The server is told why.
        let Closed::Failed { kind, message } = served.closed() else { panic!("not failed") };
        assert_eq!(kind, ErrorKind::InvalidData, "{message}");
    }
    let error = connect_error(asks(&served.node, served.address, own, "no name"));
    assert!(
        error.to_string().ends_with("\"no name\" is neither the name of a host nor an address")
    );
}

#[test]
fn zhs11_a_client_without_a_certificate_of_the_authority_reads_and_writes_nothing() {
    let (authority, other) = (Authority::new(), Authority::new());
    let served = served(&authority, ConnectionOptions::new());
    let trusting = |issued: Issued| Issued { authority: authority.issue(&[]).authority, ..issued };
    for (issued, has_certificate) in [
        (authority.issue(&["client.example"]), false),
        (trusting(other.issue(&["client.example"])), true),
    ] {
        let mut client = rustls_client(served.address, &issued, has_certificate);
        let _ = client.get_mut().write_all(b"say something\n");
        let mut heard = Vec::new();
        let _ = client.read_to_end(&mut heard);
        assert_eq!(heard, b"");
        let ConnectionEvent::Connected(_) = served.next() else { panic!("not connected") };
        let ConnectionEvent::Closed(Closed::Failed { kind, .. }) = served.next() else {
            panic!("not failed")
        };
        assert_eq!(kind, ErrorKind::InvalidData);
        served.expect(&ConnectionEvent::Dropped);
    }
}

#[test]
fn zsec6_strangers_without_tls_are_closed_and_nobody_else_notices() {
    let authority = Authority::new();
    let served = served(&authority, ConnectionOptions::new());
    let own = authority.issue(&["client.example"]);
    let mut client = rustls_client(served.address, &own, true);
    client.get_mut().write_all(b"say one\n").unwrap();
    assert_eq!(hear(&mut client), "one");
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 3_000], &[22, 3, 1, 0, 5, 1, 0, 0, 1, 9]] {
        let (mut peer, _) = served.connect_next();
        peer.stream().write_all(bytes).unwrap();
        let Closed::Failed { kind, .. } = served.closed() else { panic!("not failed") };
        assert_eq!(kind, ErrorKind::InvalidData);
        peer.last_bytes();
    }
    // One that closes before its handshake is complete has ended.
    let (peer, _) = served.connect_next();
    drop(peer);
    assert_eq!(served.closed(), Closed::Peer);
    client.get_mut().write_all(b"say two\n").unwrap();
    assert_eq!(hear(&mut client), "two");
    // Garbage in place of a record.
    client.get_mut().sock.write_all(&[0x55; 100]).unwrap();
    let Closed::Failed { kind, .. } = served.closed() else { panic!("not failed") };
    assert_eq!(kind, ErrorKind::InvalidData);
}

#[test]
fn zhs7_a_handshake_of_tls_that_is_not_complete_is_over_after_the_time_of_connecting() {
    let authority = Authority::new();
    let limit = Duration::from_millis(60);
    let served = served(&authority, ConnectionOptions::new().connect_timeout(limit));
    let (silent, _) = served.connect();
    assert_eq!(served.closed(), Closed::SlowHandshake(limit));
    drop(silent);
    // A server that never answers fails the spawn of its client.
    let listener = TcpListener::bind(crate::support::any_port()).unwrap();
    let address = listener.local_addr().unwrap();
    let own = tls(&authority.issue(&["client.example"]));
    let options = ConnectionOptions::new().connect_timeout(limit);
    let client =
        move || Client::new(address, Asking::default()).options(options).tls(own, "localhost");
    let Err(SpawnError::Init(reason)) = served.node.spawn(client).wait() else { panic!("up") };
    assert!(matches!(reason.downcast_ref(), Some(ConnectError::Timeout { .. })), "{reason}");
}

/// Greets its peer before it has proved itself.
struct Greeting {
    flushes: bool,
    closed: Sender<Closed>,
}

impl Protocol for Greeting {
    type Message = Infallible;
    type Codec = Lines;
    fn codec(&self) -> Lines {
        Lines::new(80)
    }
    async fn connected(&mut self, channel: &mut Channel<Self>) -> Result {
        channel.send("hello")?;
        if self.flushes {
            channel.flush().await?;
        }
        Ok(())
    }
    async fn received(&mut self, _: &mut Channel<Self>, _: String) -> Result {
        Ok(())
    }
    async fn closed(&mut self, _: &mut Channel<Self>, why: &Closed) {
        let _ = self.closed.send(why.clone());
    }
}

#[test]
fn zhs7_a_greeting_that_waits_for_the_handshake_does_not_lengthen_its_time() {
    let own = tls(&Authority::new().issue(&["localhost"]));
    let limit = Duration::from_millis(60);
    // Without these the greeting could wait for ever.
    let options = ConnectionOptions::new().stall_timeout(None).close_timeout(None);
    let options = options.connect_timeout(limit);
    let node = Node::start("greeting@localhost").unwrap();
    for flushes in [false, true] {
        let (sender, closed) = channel();
        let (own, options) = (own.clone(), options.clone());
        let make = move || Greeting { flushes, closed: sender.clone() };
        let acceptor =
            node.spawn(move || Acceptor::new(any_port(), make).options(options).tls(own));
        let address = acceptor.wait().unwrap().call(AcceptorRequest::Address).wait().unwrap();
        let _silent = TcpStream::connect(address).unwrap();
        assert_eq!(closed.recv_timeout(LONG), Ok(Closed::SlowHandshake(limit)));
    }
    node.stop().wait().unwrap();
}

#[test]
fn zhs11_an_end_without_close_notify_is_an_end_like_any_other() {
    let authority = Authority::new();
    let served = served(&authority, ConnectionOptions::new());
    let own = authority.issue(&["client.example"]);
    for says_goodbye in [false, true] {
        let mut client = rustls_client(served.address, &own, true);
        client.get_mut().write_all(b"say one\nlast\n").unwrap();
        assert_eq!(hear(&mut client), "one");
        let stream = client.get_mut();
        if says_goodbye {
            stream.conn.send_close_notify();
            stream.flush().unwrap();
        }
        stream.sock.shutdown(std::net::Shutdown::Write).unwrap();
        let ConnectionEvent::Connected(_) = served.next() else { panic!("not connected") };
        for line in ["say one", "last"] {
            served.expect(&ConnectionEvent::Line(line.to_owned()));
        }
        served.expect(&ConnectionEvent::Ended);
        served.expect(&ConnectionEvent::Closed(Closed::Peer));
        served.expect(&ConnectionEvent::Dropped);
        // This side says so.
        let mut rest = Vec::new();
        assert_eq!(client.read_to_end(&mut rest).unwrap(), 0);
    }
}

#[test]
fn zhs11_what_waits_is_bounded_as_without_tls_and_all_of_it_arrives() {
    let authority = Authority::new();
    let options = ConnectionOptions::new().write_limit(2 << 20).stall_timeout(None);
    let served = served(&authority, options);
    let own = authority.issue(&["client.example"]);
    let mut client = rustls_client(served.address, &own, true);
    client.get_mut().write_all(b"hello\n").unwrap();
    let ConnectionEvent::Connected(pid) = served.next() else { panic!("not connected") };
    served.expect(&ConnectionEvent::Line("hello".to_owned()));
    let connection: krarup_act::Address<Act> = served.node.address_of(pid).unwrap();
    let (told, tells) = std::sync::mpsc::channel();
    let act = move |channel: &mut Channel<crate::support::Puppet>| {
        let mut sent = 0;
        while channel.send(&format!("{sent:0>1000}")).is_ok() {
            sent += 1;
        }
        let _ = told.send((sent, channel.waiting()));
        channel.close();
        Ok(())
    };
    connection.send(Act(Box::new(act))).unwrap();
    let (sent, waiting) = tells.recv_timeout(LONG).unwrap();
    // All lines that fit, and not one more.
    assert_eq!((sent, waiting), ((2 << 20) / 1_001, (2 << 20) / 1_001 * 1_001));
    for number in 0..sent {
        assert_eq!(hear(&mut client), format!("{number:0>1000}"));
    }
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
}

#[test]
fn zhs11_a_protocol_that_does_not_read_completes_its_handshake() {
    /// Sends a line, and reads nothing.
    struct Deaf;

    impl Protocol for Deaf {
        type Message = std::convert::Infallible;
        type Codec = Lines;

        fn codec(&self) -> Lines {
            Lines::new(80)
        }

        async fn connected(&mut self, channel: &mut Channel<Self>) -> Result {
            channel.pause();
            Ok(())
        }

        async fn received(&mut self, _: &mut Channel<Self>, _: String) -> Result {
            Ok(())
        }
    }

    let authority = Authority::new();
    let node = Node::start("deaf@localhost").unwrap();
    let own = tls(&authority.issue(&["localhost"]));
    let with = own.clone();
    let acceptor = move || krarup_io::Acceptor::new(crate::support::any_port(), || Deaf).tls(with);
    let acceptor = node.spawn(acceptor).wait().unwrap();
    let address = acceptor.call(krarup_io::AcceptorRequest::Address).wait().unwrap();
    assert!(asks(&node, address, own, "localhost").is_ok());
    node.stop().wait().unwrap();
}

#[test]
fn zhs11_certificates_are_replaced_without_a_restart() {
    let authority = Authority::new();
    let folder = std::env::temp_dir().join(format!("krarup_tls_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let files = ["certificate", "key", "authority"].map(|name| folder.join(name));
    let write = |issued: &Issued| {
        for (file, text) in files.iter().zip([&issued.certificate, &issued.key, &issued.authority])
        {
            std::fs::write(file, text).unwrap();
        }
    };
    write(&authority.issue(&["old.example"]));
    let server = Tls::from_files(&files[0], &files[1], &files[2]).unwrap();
    let with = server.clone();
    let served =
        Served::with(ConnectionOptions::new(), move |acceptor: PuppetAcceptor| acceptor.tls(with));
    let own = tls(&authority.issue(&["client.example"]));
    let asks = |name: &str| asks(&served.node, served.address, own.clone(), name);
    let before = asks("old.example").unwrap();
    assert!(asks("new.example").is_err());
    write(&authority.issue(&["new.example"]));
    assert!(asks("new.example").is_err());
    server.reload().unwrap();
    assert!(asks("new.example").is_ok() && asks("old.example").is_err());
    // Connections of before go on.
    let answer = before.call(|reply| Ask::Line("say still".to_owned(), reply)).wait();
    assert_eq!(answer.unwrap(), "still");
    // What cannot be used changes nothing.
    std::fs::write(&files[0], "nothing").unwrap();
    let error = server.reload().unwrap_err();
    assert!(matches!(error, TlsError::Empty { what: "certificates" }), "{error}");
    std::fs::remove_file(&files[1]).unwrap();
    assert!(matches!(server.reload().unwrap_err(), TlsError::File { .. }));
    assert!(asks("new.example").is_ok());
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(matches!(own.reload().unwrap_err(), TlsError::NotFromFiles));
}

#[test]
fn zhs11_certificates_that_cannot_be_used_are_typed_errors() {
    let authority = Authority::new();
    let (one, other) = (authority.issue(&["localhost"]), authority.issue(&["localhost"]));
    let from = |certificate: &str, key: &str, authority: &str| {
        let made = Tls::from_pem(certificate.as_bytes(), key.as_bytes(), authority.as_bytes());
        made.map(drop).unwrap_err()
    };
    let mismatch = from(&one.certificate, &other.key, &one.authority);
    assert!(matches!(mismatch, TlsError::Certificate(_)), "{mismatch}");
    let no_key = from(&one.certificate, "", &one.authority);
    assert!(matches!(no_key, TlsError::Pem { what: "key", .. }), "{no_key}");
    let none = from("", &one.key, &one.authority);
    assert!(matches!(none, TlsError::Empty { what: "certificates" }), "{none}");
    let nobody = from(&one.certificate, &one.key, "");
    assert!(nobody.to_string().contains("authority"), "{nobody}");
    let broken = one.certificate.replace("-----END", "---END");
    let broken = from(&broken, &one.key, &one.authority);
    assert!(matches!(broken, TlsError::Pem { what: "certificates", .. }), "{broken}");
    let no_file = Tls::from_files("/no/such/file", "key", "authority").unwrap_err();
    assert!(no_file.to_string().starts_with("/no/such/file cannot be read"), "{no_file}");
    let printed = format!("{:?}", tls(&one));
    assert!(!printed.contains("PRIVATE") && printed.starts_with("Tls"), "{printed}");
}
