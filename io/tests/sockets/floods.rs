//! Tests of events that a flood must not hide: rules I2 and I5. The flood is a codec that
//! finds frames without end, so at every moment a frame has arrived.

use crate::support::any_port;
use krarup_gen::Result;
use krarup_io::bytes::BytesMut;
use krarup_io::{
    Acceptor, AcceptorRequest, Channel, Client, Closed, Codec, CodecError, ConnectionOptions,
    Lines, Protocol,
};
use krarup_node::{Node, Simulation};
use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Short, and long enough not to expire by accident.
const SOON: Duration = Duration::from_millis(40);
/// The time an event may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A codec that returns frames without end after the first byte.
struct EndlessReply;

impl Codec for EndlessReply {
    type Frame = ();
    type Item = [u8];
    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<()>, CodecError> {
        Ok((!buffer.is_empty()).then_some(()))
    }
    fn encode(&mut self, bytes: &[u8], out: &mut BytesMut) -> Result<(), CodecError> {
        out.extend_from_slice(bytes);
        Ok(())
    }
}

/// Answers each frame of a flood while there is room.
struct Flooded {
    told: Sender<Told>,
    /// Closes when `drained` is called.
    closes: bool,
    /// A send was refused, and that was reported.
    refused: bool,
}

#[derive(Debug, PartialEq)]
enum Told {
    Refused,
    Closed(Closed),
}

impl Protocol for Flooded {
    type Message = Infallible;
    type Codec = EndlessReply;
    fn codec(&self) -> EndlessReply {
        EndlessReply
    }
    async fn received(&mut self, channel: &mut Channel<Self>, (): ()) -> Result {
        if channel.send(&vec![7; 1 << 16]).is_err() && !self.refused {
            self.refused = true;
            let _ = self.told.send(Told::Refused);
        }
        Ok(())
    }
    async fn drained(&mut self, channel: &mut Channel<Self>) -> Result {
        if self.closes {
            channel.close();
        }
        Ok(())
    }
    async fn closed(&mut self, _: &mut Channel<Self>, why: &Closed) {
        let _ = self.told.send(Told::Closed(why.clone()));
    }
}

fn flooded(closes: bool, options: ConnectionOptions) -> (Node, SocketAddr, Receiver<Told>) {
    let node = Node::start("flooded@localhost").unwrap();
    let (told, tells) = channel();
    let make = move || Flooded { told: told.clone(), closes, refused: false };
    let server = node.spawn(move || Acceptor::new(any_port(), make).options(options));
    let address = server.wait().unwrap().call(AcceptorRequest::Address).wait().unwrap();
    (node, address, tells)
}

fn closed(tells: &Receiver<Told>) -> Closed {
    loop {
        if let Told::Closed(why) = tells.recv_timeout(PATIENCE).expect("it is not closed") {
            return why;
        }
    }
}

#[test]
fn i5_a_flood_does_not_hide_that_its_sender_reads_nothing() {
    let options = ConnectionOptions::new().stall_timeout(SOON);
    let (node, address, tells) = flooded(false, options);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"x").unwrap();
    assert!(matches!(closed(&tells), Closed::Stalled { limit: SOON, .. }));
    node.stop().wait().unwrap();
}

#[test]
fn i2_drained_is_called_during_a_flood() {
    let options = ConnectionOptions::new().linger(Duration::ZERO);
    let (node, address, tells) = flooded(true, options);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"x").unwrap();
    assert_eq!(tells.recv_timeout(PATIENCE), Ok(Told::Refused));
    // Read everything that is sent, so that there is room again.
    let (mut room, mut read) = (vec![0; 1 << 16], 0);
    while let Ok(count @ 1..) = stream.read(&mut room) {
        read += count;
        assert!(read < 1 << 30, "there was room, and no waiter was woken");
    }
    assert_eq!(closed(&tells), Closed::Local);
    node.stop().wait().unwrap();
}

/// Records the order of what it handles. With the first frame, many messages arrive too.
struct Turns {
    told: Sender<char>,
    begun: bool,
}

impl Protocol for Turns {
    type Message = ();
    type Codec = Lines;
    fn codec(&self) -> Lines {
        Lines::new(80)
    }
    async fn received(&mut self, channel: &mut Channel<Self>, _: String) -> Result {
        if !std::mem::replace(&mut self.begun, true) {
            for _ in 0..100 {
                channel.address().send(()).unwrap();
            }
        }
        let _ = self.told.send('f');
        Ok(())
    }
    async fn handle_message(&mut self, _: &mut Channel<Self>, (): ()) -> Result {
        let _ = self.told.send('m');
        Ok(())
    }
}

#[test]
fn i2_frames_and_messages_take_turns() {
    let node = Node::start("turns@localhost").unwrap();
    let (told, tells) = channel();
    let make = move || Turns { told: told.clone(), begun: false };
    let server = node.spawn(move || Acceptor::new(any_port(), make)).wait().unwrap();
    let address = server.call(AcceptorRequest::Address).wait().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    // All in one write, which the system of this machine delivers together.
    stream.write_all("x\n".repeat(101).as_bytes()).unwrap();
    let order: String = (0..201).map(|_| tells.recv_timeout(PATIENCE).unwrap()).collect();
    // A message of a process to itself arrives in its next turn. From then on both kinds wait.
    let begins = order.find('m').unwrap();
    assert!(begins <= 40, "{order}");
    let frames = order[begins..][..100].chars().filter(|what| *what == 'f').count();
    assert!((40..=60).contains(&frames), "{order}");
    node.stop().wait().unwrap();
}

#[test]
fn i2_a_flood_yields_its_turn_after_some_dozen_frames() {
    /// Counts the frames of one turn.
    struct Counting {
        frames: Arc<AtomicU32>,
        told: Sender<Told>,
    }
    impl Protocol for Counting {
        type Message = Infallible;
        type Codec = EndlessReply;
        fn codec(&self) -> EndlessReply {
            EndlessReply
        }
        async fn received(&mut self, _: &mut Channel<Self>, (): ()) -> Result {
            assert!(self.frames.fetch_add(1, Ordering::Relaxed) < 64, "a turn without end");
            Ok(())
        }
        async fn closed(&mut self, _: &mut Channel<Self>, why: &Closed) {
            let _ = self.told.send(Told::Closed(why.clone()));
        }
    }
    let sim = Simulation::new(1);
    let (frames, (told, tells)) = (Arc::new(AtomicU32::new(0)), channel());
    let (counted, bound) = (Arc::clone(&frames), TcpListener::bind(any_port()).unwrap());
    let address = bound.local_addr().unwrap();
    let counting = Counting { frames: counted, told };
    sim.spawn(move || Client::new(address, counting)).start().unwrap();
    sim.run_until_idle();
    let (mut stream, _) = bound.accept().unwrap();
    stream.write_all(b"x").unwrap();
    let (mut turns, mut most) = (0, 0);
    while turns < 100 {
        sim.step();
        let count = frames.swap(0, Ordering::Relaxed);
        (turns, most) = (turns + u32::from(count > 0), most.max(count));
        assert_eq!(tells.try_recv().ok(), None);
    }
    assert!(most > 1, "each frame had a turn of its own");
}
