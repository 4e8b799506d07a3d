//! Tests of the layer over a pipe that takes and gives as few bytes as it likes.

use super::*;
use crate::tls::Tls;
use crate::tls::version::TlsVersion;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

/// One direction of a pipe.
#[derive(Default)]
struct OneWay {
    bytes: VecDeque<u8>,
    /// How many bytes there is room for.
    room: usize,
    is_over: bool,
}

/// One end of a pipe: what it reads, and what it writes.
struct TinyPipe {
    incoming: Arc<Mutex<OneWay>>,
    outgoing: Arc<Mutex<OneWay>>,
    /// The most bytes of one read or write.
    step: usize,
}

fn pipe(step: usize, room: usize) -> (TinyPipe, TinyPipe) {
    let direction = || Arc::new(Mutex::new(OneWay { room, ..OneWay::default() }));
    let (one, other) = (direction(), direction());
    let end = |incoming: &Arc<Mutex<OneWay>>, outgoing: &Arc<Mutex<OneWay>>| TinyPipe {
        incoming: Arc::clone(incoming),
        outgoing: Arc::clone(outgoing),
        step,
    };
    (end(&one, &other), end(&other, &one))
}

impl Transport for TinyPipe {
    fn local(&self) -> io::Result<SocketAddr> {
        Ok(([127, 0, 0, 1], 1).into())
    }

    fn poll_connected(&self, _: &Context<'_>) -> Poll<io::Result<SocketAddr>> {
        Poll::Ready(self.local())
    }

    fn poll_read(&self, buffer: &mut BytesMut, _: &Context<'_>) -> Poll<io::Result<usize>> {
        let mut incoming = self.incoming.lock();
        let count = self.step.min(incoming.bytes.len());
        if count == 0 {
            return if incoming.is_over { Poll::Ready(Ok(0)) } else { Poll::Pending };
        }
        buffer.extend(incoming.bytes.drain(..count));
        incoming.room += count;
        Poll::Ready(Ok(count))
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut outgoing = self.outgoing.lock();
        let count = self.step.min(bytes.len()).min(outgoing.room);
        if count == 0 && !bytes.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        outgoing.room -= count;
        outgoing.bytes.extend(&bytes[..count]);
        Ok(count)
    }

    fn poll_writable(&self, _: &Context<'_>) -> Poll<()> {
        if self.outgoing.lock().room > 0 { Poll::Ready(()) } else { Poll::Pending }
    }

    fn finish_writing(&self) -> io::Result<()> {
        self.outgoing.lock().is_over = true;
        Ok(())
    }

    fn reset(&self) {}
}

fn tls() -> Tls {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["server.example".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap().pem();
    let pem = issuer.pem();
    Tls::from_pem(certificate.as_bytes(), key.serialize_pem().as_bytes(), pem.as_bytes()).unwrap()
}

/// Both ends, whose handshake has not begun.
fn ends(tls: &Tls, step: usize, room: usize) -> [TlsStream; 2] {
    let (client, server) = pipe(step, room);
    [
        TlsStream::new(Box::new(client), tls.dialling("server.example").unwrap()),
        TlsStream::new(Box::new(server), tls.accepting().unwrap()),
    ]
}

/// Sends `bytes` from one end to the other, and what the other has to say back; returns what has
/// arrived.
fn carried(from: &TlsStream, to: &TlsStream, bytes: &[u8]) -> Vec<u8> {
    let cx = Context::from_waker(Waker::noop());
    let (mut left, mut arrived) = (bytes, BytesMut::new());
    for _ in 0..2_000_000 {
        if arrived.len() == bytes.len() && left.is_empty() {
            return arrived.to_vec();
        }
        match from.try_write(left) {
            Ok(count) => left = &left[count..],
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                let _ = from.poll_writable(&cx);
            }
        }
        let _ = to.poll_read(&mut arrived, &cx).map(Result::unwrap);
    }
    panic!("{} of {} bytes have arrived", arrived.len(), bytes.len());
}

#[test]
fn zhs11_all_bytes_arrive_in_order_however_little_the_transport_takes() {
    let tls = tls();
    let bytes: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let tls = tls.clone().only(version).unwrap();
        for (step, room, count) in [(1, 1, 500), (7, 100, 20_000), (5_000, 3_000, 200_000)] {
            let [client, server] = ends(&tls, step, room);
            assert!(carried(&client, &server, &bytes[..count]) == bytes[..count]);
            assert!(carried(&server, &client, &bytes[..count]) == bytes[..count]);
            assert_eq!(client.peer().unwrap().version(), version);
        }
    }
}

#[test]
fn zhs11_bytes_whose_records_are_not_below_are_not_told_as_written() {
    let tls = tls();
    let [client, server] = ends(&tls, 1 << 20, 20_000);
    carried(&client, &server, b"up");
    // There is room for less than a record of these.
    let bytes = vec![7; 100_000];
    for _ in 0..3 {
        let refused = client.try_write(&bytes).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::WouldBlock);
    }
    let mut arrived = BytesMut::new();
    let cx = Context::from_waker(Waker::noop());
    assert!(server.poll_read(&mut arrived, &cx).is_ready());
    // The same bytes are offered again, and none is written twice.
    assert_eq!(client.try_write(&bytes).unwrap(), WRITE);
    while server.poll_read(&mut arrived, &cx).is_ready() {}
    assert_eq!(arrived.len(), WRITE);
}

#[test]
fn zhs11_nothing_is_written_before_the_handshake_is_complete_and_an_end_fails_it() {
    let tls = tls();
    let cx = Context::from_waker(Waker::noop());
    let [client, server] = ends(&tls, 1 << 20, 1 << 20);
    for end in [&client, &server] {
        let refused = end.try_write(b"early").unwrap_err();
        assert_eq!((refused.kind(), end.is_shaking_hands()), (ErrorKind::WouldBlock, true));
        assert_eq!(end.peer(), None);
    }
    // An accepted end is connected at once, one that dials when the server has proved itself.
    assert!(server.poll_connected(&cx).is_ready() && client.poll_connected(&cx).is_pending());
    server.below.finish_writing().unwrap();
    let Poll::Ready(Err(error)) = client.poll_connected(&cx) else { panic!("connected") };
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    assert!(!client.is_shaking_hands());
    assert_eq!(client.try_write(b"late").unwrap_err().kind(), ErrorKind::UnexpectedEof);
    // A reader sees an end, and the next write fails.
    let [client, server] = ends(&tls, 1 << 20, 1 << 20);
    client.below.finish_writing().unwrap();
    let mut read = BytesMut::new();
    for _ in 0..2 {
        assert!(matches!(server.poll_read(&mut read, &cx), Poll::Ready(Ok(0))));
        assert!(!server.is_shaking_hands());
    }
    assert!(server.poll_writable(&cx).is_ready());
    assert_eq!(server.try_write(b"late").unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn zhs11_a_close_notify_waits_for_room_and_no_handshake_does() {
    let tls = tls();
    let cx = Context::from_waker(Waker::noop());
    let [client, server] = ends(&tls, 1 << 20, 20_000);
    carried(&client, &server, b"up");
    // The room is taken by bytes that the other end has not read.
    let mut left = 0;
    while client.try_write(&[7; 1]).is_ok() {
        left += 1;
    }
    for _ in 0..2 {
        assert_eq!(client.finish_writing().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
    let mut arrived = BytesMut::new();
    while server.poll_read(&mut arrived, &cx).is_ready() {}
    client.finish_writing().unwrap();
    while matches!(server.poll_read(&mut arrived, &cx), Poll::Ready(Ok(1..))) {}
    // The byte whose record had no room comes with it.
    assert_eq!((arrived.len(), server.state.lock().has_ended), (left + 1, true));
    let [client, _server] = ends(&tls, 1 << 20, 3);
    client.finish_writing().unwrap();
}

#[test]
fn zsec8_records_without_plain_bytes_do_not_keep_a_process_busy() {
    /// A peer that always has one more byte.
    struct EndlessRecord(TinyPipe);

    impl Transport for EndlessRecord {
        fn local(&self) -> io::Result<SocketAddr> {
            self.0.local()
        }

        fn poll_connected(&self, cx: &Context<'_>) -> Poll<io::Result<SocketAddr>> {
            self.0.poll_connected(cx)
        }

        fn poll_read(&self, buffer: &mut BytesMut, _: &Context<'_>) -> Poll<io::Result<usize>> {
            // The begin of a long record of the handshake, whose rest never ends.
            let first = [22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0];
            let mut reads = self.0.incoming.lock();
            buffer.extend_from_slice(&[first.get(reads.room).copied().unwrap_or_default()]);
            reads.room += 1;
            Poll::Ready(Ok(1))
        }

        fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn poll_writable(&self, _: &Context<'_>) -> Poll<()> {
            Poll::Ready(())
        }

        fn finish_writing(&self) -> io::Result<()> {
            Ok(())
        }

        fn reset(&self) {}
    }

    let cx = Context::from_waker(Waker::noop());
    let (end, _) = pipe(1, 0);
    let reads = Arc::clone(&end.incoming);
    let server = TlsStream::new(Box::new(EndlessRecord(end)), tls().accepting().unwrap());
    for turns in 1..=3 {
        assert!(server.poll_read(&mut BytesMut::new(), &cx).is_pending());
        assert_eq!(reads.lock().room, turns * READS as usize);
    }
    assert!(server.poll_writable(&cx).is_pending());
    assert_eq!(reads.lock().room, 4 * READS as usize);
}
