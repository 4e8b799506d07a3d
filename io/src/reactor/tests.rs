use super::*;
use crate::readiness::is_lost;
use mio::net::UdpSocket;
use std::sync::mpsc::{Sender, channel};
use std::task::{Wake, Waker};
use std::time::Duration;

/// The time an event may take before the test fails.
const EVENT_TIMEOUT: Duration = Duration::from_secs(30);
/// A waker that panics, or sends a message when it is woken.
enum TestWaker {
    Panicking,
    Sending(Sender<()>),
}

impl Wake for TestWaker {
    fn wake(self: Arc<Self>) {
        match &*self {
            TestWaker::Panicking => panic!("a waker that panics on purpose"),
            TestWaker::Sending(sender) => drop(sender.send(())),
        }
    }
}

fn waits(socket: &Socket<UdpSocket>, waker: TestWaker) -> Poll<io::Result<usize>> {
    let waker = Waker::from(Arc::new(waker));
    socket.poll_io(Direction::Read, &Context::from_waker(&waker), |socket| socket.recv(&mut [0; 9]))
}

/// Simulates the end of the thread while there are sockets.
fn fails(reactor: &Reactor) {
    drop(Serving { wait: Arc::clone(&reactor.wait), sockets: reactor.sockets.clone() });
}

fn open() -> UdpSocket {
    UdpSocket::bind(([127, 0, 0, 1], 0).into()).unwrap()
}

#[test]
fn i2_a_failed_socket_thread_fails_each_socket_and_the_next_socket_gets_a_new_thread() {
    let reactor = Reactor::start().unwrap();
    let socket = Socket::on(Arc::clone(&reactor), open()).unwrap();
    let (sender, woken) = channel();
    assert!(waits(&socket, TestWaker::Sending(sender)).is_pending());
    fails(&reactor);
    woken.try_recv().expect("the waiting task is woken");
    let Poll::Ready(Err(error)) = waits(&socket, TestWaker::Panicking) else { panic!("it waits") };
    assert!(is_lost(&error), "{error}");
    assert!(!is_lost(&ErrorKind::ConnectionReset.into()));
    assert!(Socket::on(Arc::clone(&reactor), open()).is_err_and(|error| is_lost(&error)));
    *SHARED.lock() = Arc::downgrade(&reactor);
    assert!(Socket::new(open()).is_ok());
}

#[test]
fn i2_a_panicking_waker_does_not_stop_the_wake_ups_of_a_failed_socket_thread() {
    const SOCKETS: usize = 8;
    let reactor = Reactor::start().unwrap();
    let sockets: Vec<_> =
        (0..SOCKETS).map(|_| Socket::on(Arc::clone(&reactor), open()).unwrap()).collect();
    let (sender, woken) = channel();
    for (number, socket) in sockets.iter().enumerate() {
        let waker =
            if number % 2 == 0 { TestWaker::Panicking } else { TestWaker::Sending(sender.clone()) };
        assert!(waits(socket, waker).is_pending());
    }
    fails(&reactor);
    assert_eq!(woken.try_iter().count(), SOCKETS / 2);
}

/// A source that cannot be registered.
struct Odd;

impl Source for Odd {
    fn register(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
    fn reregister(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
        Ok(())
    }
    fn deregister(&mut self, _: &Registry) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn i7_the_socket_table_is_empty_after_all_sockets_are_closed() {
    let reactor = Reactor::start().unwrap();
    let there = || reactor.sockets.count();
    let sockets: Vec<_> =
        (0..10).map(|_| Socket::on(Arc::clone(&reactor), open()).unwrap()).collect();
    assert_eq!(there(), 10);
    // A socket that the system refuses is never in the table.
    assert!(Socket::on(Arc::clone(&reactor), Odd).is_err());
    assert_eq!(there(), 10);
    drop(sockets);
    assert_eq!(there(), 0);
}

#[test]
fn i2_a_panicking_waker_does_not_stop_the_other_wake_ups() {
    let reactor = Reactor::start().unwrap();
    let [first, second] = [(); 2].map(|()| Socket::on(Arc::clone(&reactor), open()).unwrap());
    let (sender, woken) = channel();
    for _ in 0..2 {
        assert!(waits(&first, TestWaker::Panicking).is_pending());
        assert!(waits(&second, TestWaker::Sending(sender.clone())).is_pending());
        for socket in [&first, &second] {
            open().send_to(b"it", socket.source().local_addr().unwrap()).unwrap();
        }
        woken.recv_timeout(EVENT_TIMEOUT).unwrap();
        for socket in [&first, &second] {
            while waits(socket, TestWaker::Panicking).is_pending() {
                thread::yield_now();
            }
        }
    }
}
