//! Tests of UDP sockets whose datagrams wait.

use super::*;
use crate::datagram::{DatagramError, LONGEST};
use krarup_act::Address;
use krarup_gen::Inspection;
use krarup_node::Simulation;
use std::net::UdpSocket as Plain;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The limit of queued datagrams.
const LIMIT: usize = 3;

/// Records its callbacks. It queues datagrams as if the system had taken none.
struct Noting {
    notes: Sender<String>,
    to: SocketAddr,
}

impl Noting {
    fn note(&self, note: impl Into<String>) {
        let _ = self.notes.send(note.into());
    }

    fn fill(&self, channel: &DatagramChannel<&'static str>) {
        for datagram in [b"1", b"2", b"3"] {
            channel.wire.hold(datagram, self.to);
        }
        assert_eq!(channel.waiting(), LIMIT);
    }
}

impl DatagramProtocol for Noting {
    type Message = &'static str;

    async fn bound(&mut self, channel: &mut DatagramChannel<&'static str>) -> Result {
        self.note(channel.local().port().to_string());
        Ok(())
    }

    async fn received(
        &mut self,
        channel: &mut DatagramChannel<&'static str>,
        _: SocketAddr,
        datagram: Bytes,
    ) -> Result {
        self.note("datagram");
        if &datagram[..] == b"fill" {
            self.fill(channel);
            assert_eq!(channel.send_to(b"4", self.to), Err(DatagramError::Full { limit: LIMIT }));
        }
        Ok(())
    }

    async fn handle_message(
        &mut self,
        channel: &mut DatagramChannel<&'static str>,
        what: &'static str,
    ) -> Result {
        self.note(what);
        match what {
            "room" => {
                channel.wire.hold(b"1", self.to);
                channel.wire.hold(b"2", self.to);
                // It is queued behind them, and there is no room for another.
                assert_eq!(channel.send_to(b"3", self.to), Ok(()));
                assert_eq!(channel.waiting(), LIMIT);
                for _ in 0..2 {
                    let full = DatagramError::Full { limit: LIMIT };
                    assert_eq!(channel.send_to(b"4", self.to), Err(full));
                }
                assert_eq!(channel.waiting(), LIMIT);
            }
            "wait" => {
                self.fill(channel);
                channel.send_to_or_wait(b"4", self.to).await?;
                assert_eq!(channel.waiting(), 0);
            }
            "flush" => {
                self.fill(channel);
                channel.flush().await;
                assert_eq!(channel.waiting(), 0);
            }
            "errors" => {
                let long = vec![0; LONGEST + 1];
                let error = DatagramError::TooLong { length: LONGEST + 1 };
                assert_eq!(channel.send_to(&long, self.to), Err(error));
                let elsewhere = "[::1]:9".parse().unwrap();
                let error = channel.send_to(b"x", elsewhere);
                assert!(matches!(error, Err(DatagramError::Failed { .. })));
            }
            "lose" => {
                channel.wire.hold(b"1", self.to);
                channel.wire.hold(b"lost", "[::1]:9".parse().unwrap());
                channel.wire.hold(b"2", self.to);
            }
            "pause" => channel.pause(),
            "resume" => channel.resume(),
            "stop" => {
                self.fill(channel);
                channel.context().stop();
            }
            "fail" => {
                self.fill(channel);
                return Err(Reason::error("on purpose"));
            }
            "shut down" => {
                self.fill(channel);
                return Err(Reason::Shutdown);
            }
            _ => {}
        }
        Ok(())
    }

    async fn drained(&mut self, channel: &mut DatagramChannel<&'static str>) -> Result {
        assert_eq!(channel.waiting(), 0);
        self.note("drained");
        Ok(())
    }

    async fn closed(&mut self, channel: &mut DatagramChannel<&'static str>, reason: &Reason) {
        self.note(format!("closed: {reason}, {} wait", channel.waiting()));
    }
}

struct Noted {
    sim: Simulation,
    socket: Address<&'static str>,
    address: SocketAddr,
    notes: Receiver<String>,
    peer: Plain,
}

impl Noted {
    fn new() -> Self {
        let sim = Simulation::new(1);
        let (sender, notes) = channel();
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let peer = Plain::bind(any_port).unwrap();
        peer.set_nonblocking(true).unwrap();
        let to = peer.local_addr().unwrap();
        let noting = Noting { notes: sender, to };
        let socket = sim.spawn(move || Udp::new(any_port, noting).queue(LIMIT)).start().unwrap();
        sim.run_until_idle();
        let port: u16 = notes.try_recv().unwrap().parse().unwrap();
        Noted { sim, socket, address: ([127, 0, 0, 1], port).into(), notes, peer }
    }

    /// Returns the notes after sending this message.
    fn tell(&self, what: &'static str) -> Vec<String> {
        self.socket.send(what).unwrap();
        self.sim.run_until_idle();
        self.notes.try_iter().skip(1).collect()
    }

    /// Returns what the peer has received, in order.
    fn got(&self) -> String {
        let mut room = [0; 64];
        let next = || self.peer.recv(&mut room).ok().map(|count| room[..count].to_vec());
        std::iter::from_fn(next).map(|bytes| String::from_utf8(bytes).unwrap()).collect()
    }

    fn shown(&self) -> Inspection {
        let mut asked = pin!(self.socket.inspect().into_future());
        let mut cx = task::Context::from_waker(task::Waker::noop());
        loop {
            if let Poll::Ready(shown) = asked.as_mut().poll(&mut cx) {
                return shown.unwrap();
            }
            self.sim.run_until_idle();
        }
    }
}

#[test]
fn i8_datagrams_queue_in_order_up_to_the_limit_and_refusal_gives_one_drained() {
    let noted = Noted::new();
    assert_eq!(noted.tell("room"), ["drained"]);
    assert_eq!(noted.got(), "123");
    assert_eq!(noted.tell("nothing"), [""; 0], "it was called already");
    // No send was refused for lack of room here, so `drained` is not called.
    assert_eq!(noted.tell("wait"), [""; 0]);
    assert_eq!(noted.got(), "1234");
    assert_eq!(noted.tell("flush"), [""; 0]);
    assert_eq!(noted.got(), "123");
    assert_eq!(noted.tell("errors"), [""; 0]);
    let shown = noted.shown();
    assert_eq!(shown.number("datagrams_out"), Some(10));
    assert_eq!(shown.number("datagrams_lost"), Some(0));
    assert_eq!(shown.number("waiting_to_be_sent"), Some(0));
}

#[test]
fn i8_a_datagram_lost_in_the_queue_is_counted_and_delays_no_other() {
    let noted = Noted::new();
    assert_eq!(noted.tell("lose"), [""; 0]);
    assert_eq!(noted.got(), "12");
    let shown = noted.shown();
    assert_eq!(shown.number("datagrams_out"), Some(2));
    assert_eq!(shown.number("datagrams_lost"), Some(1));
    assert_eq!(shown.number("waiting_to_be_sent"), Some(0));
}

#[test]
fn i8_a_stopping_socket_sends_its_queue_first_and_a_failing_one_does_not() {
    for (what, note, got) in [
        ("stop", "closed: normal, 0 wait", "123"),
        ("shut down", "closed: shutdown, 0 wait", "123"),
        ("fail", "closed: on purpose, 3 wait", ""),
    ] {
        let noted = Noted::new();
        assert_eq!(noted.tell(what), [note]);
        assert_eq!(noted.got(), got);
        assert!(!noted.socket.is_alive());
    }
}

#[test]
fn i8_a_flood_of_datagrams_or_messages_starves_neither_the_other_nor_drained() {
    const FLOOD: usize = 100;
    let noted = Noted::new();
    assert_eq!(noted.tell("pause"), [""; 0]);
    noted.peer.send_to(b"fill", noted.address).unwrap();
    for _ in 1..FLOOD {
        noted.peer.send_to(b"x", noted.address).unwrap();
    }
    // The system reports the first datagram at some later time. From then on both
    // kinds wait.
    let began = Instant::now();
    while noted.sim.step().is_none() {
        assert!(began.elapsed() < Duration::from_secs(30), "nothing comes");
        thread::yield_now();
    }
    noted.socket.send("resume").unwrap();
    for _ in 1..FLOOD {
        noted.socket.send("message").unwrap();
    }
    let mut notes: Vec<String> = Vec::new();
    while notes.len() < 2 * FLOOD + 1 {
        noted.sim.step();
        assert!(noted.socket.is_alive(), "{notes:?}");
        let turn: Vec<_> = noted.notes.try_iter().collect();
        // Some dozen of each kind, as long as a turn lasts.
        assert!(turn.len() <= 150, "{} in one turn", turn.len());
        notes.extend(turn);
    }
    let count = |what: &str| notes.iter().filter(|note| *note == what).count();
    assert_eq!((count("datagram"), count("message")), (FLOOD, FLOOD - 1));
    let at = |what: &str| notes.iter().position(|note| note == what).unwrap();
    assert!(at("drained") < at("datagram") + 80, "{}", at("drained"));
    let both = &notes[at("datagram")..][..20];
    let messages = both.iter().filter(|note| *note == "message").count();
    assert!((8..=12).contains(&messages), "{messages} of 20");
}
