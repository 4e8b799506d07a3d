use super::*;
use crate::transport::Transport;
use bytes::BytesMut;
use krarup_act::{Address, behavior_fn};
use krarup_gen::Pid;
use krarup_node::Simulation;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::mpsc::{Receiver, channel};
use std::task::Waker;

const DELAY: Duration = Duration::from_millis(250);
const NEARLY: Duration = Duration::from_millis(249);
const TICK: Duration = Duration::from_millis(1);
const LIMIT: Duration = Duration::from_secs(10);

/// Servers that answer when the test says so, by the ports of their addresses.
#[derive(Clone, Default)]
struct Servers(Arc<Mutex<BTreeMap<u16, ScriptedServer>>>);

#[derive(Default)]
struct ScriptedServer {
    /// How often a connection was begun, and how many of these are still there.
    begun: usize,
    open: usize,
    answer: Option<Result<(), ErrorKind>>,
    caller: Option<Waker>,
}

impl Servers {
    fn with<T>(&self, port: u16, action: impl FnOnce(&mut ScriptedServer) -> T) -> T {
        action(self.0.lock().entry(port).or_default())
    }

    fn answer(&self, port: u16, answer: Result<(), ErrorKind>) {
        let caller = self.with(port, |server| {
            server.answer = Some(answer);
            server.caller.take()
        });
        if let Some(caller) = caller {
            caller.wake();
        }
    }

    /// The ports to which a connection was begun.
    fn begun(&self) -> Vec<u16> {
        let servers = self.0.lock();
        servers.iter().filter(|(_, server)| server.begun > 0).map(|(port, _)| *port).collect()
    }

    /// The ports to which there is a connection, established or not.
    fn open(&self) -> Vec<u16> {
        let servers = self.0.lock();
        servers.iter().filter(|(_, server)| server.open > 0).map(|(port, _)| *port).collect()
    }
}

/// A connection to one of them.
struct CalledServer(Servers, u16);

impl CalledServer {
    fn begin(servers: &Servers, port: u16) -> SocketStream {
        servers.with(port, |server| {
            server.begun += 1;
            server.open += 1;
        });
        SocketStream::over(Box::new(CalledServer(servers.clone(), port)))
    }
}

impl Drop for CalledServer {
    fn drop(&mut self) {
        self.0.with(self.1, |server| server.open -= 1);
    }
}

impl Transport for CalledServer {
    fn local(&self) -> io::Result<SocketAddr> {
        Ok(at(0))
    }

    fn poll_connected(&self, cx: &task::Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.0.with(self.1, |server| match server.answer {
            Some(answer) => Poll::Ready(answer.map(|()| at(self.1)).map_err(io::Error::from)),
            None => {
                server.caller = Some(cx.waker().clone());
                Poll::Pending
            }
        })
    }

    fn poll_read(&self, _: &mut BytesMut, _: &task::Context<'_>) -> Poll<io::Result<usize>> {
        Poll::Pending
    }

    fn try_write(&self, _: &[u8]) -> io::Result<usize> {
        Err(ErrorKind::WouldBlock.into())
    }

    fn poll_writable(&self, _: &task::Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    fn finish_writing(&self) -> io::Result<()> {
        Ok(())
    }

    fn reset(&self) {}
}

fn at(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

/// A process that connects to the ports from 1 to `count`, and tells the result.
struct Connecting {
    sim: Simulation,
    servers: Servers,
    process: Address<()>,
    told: Receiver<Result<SocketAddr, ConnectError>>,
}

impl Connecting {
    fn to(count: u16, options: ConnectionOptions) -> Self {
        Connecting::with(Servers::default(), count, options)
    }

    fn with(servers: Servers, count: u16, options: ConnectionOptions) -> Self {
        let sim = Simulation::new(1);
        let (tells, told) = channel();
        let called = servers.clone();
        let process = behavior_fn(move |mut ctx: Context<()>| async move {
            let ports: Vec<_> = (1..=count).collect();
            let attempts =
                ports.into_iter().map(|port| (at(port), Ok(CalledServer::begin(&called, port))));
            let connected = connected(&mut ctx, attempts, &options, &Securing::Clear).await;
            let kept = connected.map(|established| {
                assert_eq!(established.address, established.peer);
                (established.address, established.wire)
            });
            let _ = tells.send(kept.as_ref().map(|(address, _)| *address).map_err(copy));
            ctx.receive().await;
            drop(kept);
            Ok(())
        });
        let process = sim.spawn(move || process).start().unwrap();
        sim.run_until_idle();
        Connecting { sim, servers, process, told }
    }

    fn answer(&self, port: u16, answer: Result<(), ErrorKind>) {
        self.servers.answer(port, answer);
        self.sim.run_until_idle();
    }

    fn refuse(&self, port: u16) {
        self.answer(port, Err(ErrorKind::ConnectionRefused));
    }

    fn result(&self) -> Option<Result<SocketAddr, String>> {
        let result = self.told.try_recv().ok()?;
        Some(result.map_err(|error| error.to_string()))
    }

    fn pid(&self) -> Pid {
        self.process.pid()
    }
}

/// An error like this one, for the test.
fn copy(error: &ConnectError) -> ConnectError {
    match error {
        ConnectError::Failed { address, source } => {
            ConnectError::Failed { address: *address, source: source.kind().into() }
        }
        ConnectError::Timeout { address, limit } => {
            ConnectError::Timeout { address: *address, limit: *limit }
        }
        other => panic!("{other}"),
    }
}

fn options() -> ConnectionOptions {
    ConnectionOptions::new().connect_timeout(LIMIT)
}

#[test]
fn i1_the_next_address_is_tried_when_the_one_before_has_not_answered_for_the_delay() {
    let connecting = Connecting::to(3, options());
    assert_eq!(connecting.servers.begun(), [1]);
    connecting.sim.advance(NEARLY);
    assert_eq!(connecting.servers.begun(), [1]);
    connecting.sim.advance(TICK);
    assert_eq!(connecting.servers.begun(), [1, 2]);
    connecting.sim.advance(NEARLY);
    assert_eq!(connecting.servers.begun(), [1, 2]);
    connecting.answer(2, Ok(()));
    assert_eq!(connecting.result(), Some(Ok(at(2))));
    // The others are dropped, and the third one is not tried any more.
    assert_eq!(connecting.servers.open(), [2]);
    connecting.sim.advance(LIMIT);
    assert_eq!(connecting.servers.begun(), [1, 2]);
    assert_eq!(connecting.servers.with(1, |server| server.begun), 1);
}

#[test]
fn i1_the_next_address_is_tried_at_once_when_the_one_before_has_failed() {
    let connecting = Connecting::to(3, options());
    connecting.sim.advance(TICK);
    connecting.refuse(1);
    assert_eq!(connecting.servers.begun(), [1, 2]);
    // Its delay begins with it, not with the first one.
    connecting.sim.advance(NEARLY);
    assert_eq!(connecting.servers.begun(), [1, 2]);
    connecting.sim.advance(TICK);
    assert_eq!(connecting.servers.begun(), [1, 2, 3]);
    connecting.answer(3, Ok(()));
    assert_eq!(connecting.result(), Some(Ok(at(3))));
    assert_eq!(connecting.servers.open(), [3]);
}

#[test]
fn i1_the_failure_of_an_earlier_address_does_not_shorten_the_delay_of_the_last_one() {
    let connecting = Connecting::to(3, options());
    connecting.sim.advance(DELAY);
    connecting.refuse(1);
    assert_eq!(connecting.servers.begun(), [1, 2]);
    connecting.sim.advance(NEARLY);
    assert_eq!(connecting.servers.begun(), [1, 2]);
    connecting.sim.advance(TICK);
    assert_eq!(connecting.servers.begun(), [1, 2, 3]);
}

#[test]
fn i1_an_address_that_answers_late_can_still_win() {
    let connecting = Connecting::to(2, options());
    connecting.sim.advance(DELAY * 3);
    assert_eq!(connecting.servers.begun(), [1, 2]);
    connecting.answer(1, Ok(()));
    assert_eq!(connecting.result(), Some(Ok(at(1))));
    assert_eq!(connecting.servers.open(), [1]);
    // Of two that answer at once the earlier one wins.
    let servers = Servers::default();
    let connecting = Connecting::with(servers.clone(), 2, options());
    connecting.sim.advance(DELAY);
    servers.answer(2, Ok(()));
    servers.answer(1, Ok(()));
    connecting.sim.run_until_idle();
    assert_eq!(connecting.result(), Some(Ok(at(1))));
    assert_eq!(servers.open(), [1]);
}

#[test]
fn i1_the_failure_that_came_last_is_the_error_if_all_addresses_fail() {
    let connecting = Connecting::to(3, options());
    connecting.sim.advance(DELAY);
    connecting.refuse(2);
    connecting.refuse(3);
    assert_eq!((connecting.result(), connecting.servers.open()), (None, vec![1]));
    connecting.answer(1, Err(ErrorKind::HostUnreachable));
    let says = "cannot connect to 127.0.0.1:1: host unreachable";
    assert_eq!(connecting.result(), Some(Err(says.to_owned())));
    assert_eq!(connecting.servers.open(), []);
    // Those that fail at once need no time.
    let servers = Servers::default();
    for port in 1..=3 {
        servers.answer(port, Err(ErrorKind::ConnectionRefused));
    }
    let connecting = Connecting::with(servers, 3, options());
    let says = "cannot connect to 127.0.0.1:3: connection refused";
    assert_eq!(connecting.result(), Some(Err(says.to_owned())));
}

#[test]
fn i5_all_addresses_together_have_the_connect_timeout() {
    let connecting = Connecting::to(3, options());
    connecting.sim.advance(DELAY * 2);
    connecting.refuse(3);
    connecting.sim.advance(DELAY * 37 + NEARLY);
    assert_eq!((connecting.result(), connecting.servers.open()), (None, vec![1, 2]));
    connecting.sim.advance(TICK);
    // It names the last one that has not answered.
    let says = "no connection to 127.0.0.1:2 within 10s";
    assert_eq!(connecting.result(), Some(Err(says.to_owned())));
    assert_eq!(connecting.servers.open(), []);
}

#[test]
fn i5_each_address_has_its_turn_within_the_connect_timeout() {
    let connecting = Connecting::to(4, options().connect_timeout(DELAY * 2));
    connecting.sim.advance(DELAY / 2 * 3);
    assert_eq!(connecting.servers.begun(), [1, 2, 3, 4]);
    connecting.answer(4, Ok(()));
    assert_eq!(connecting.result(), Some(Ok(at(4))));
    let delay = |addresses, options: ConnectionOptions| delay(addresses, &options).as_millis();
    assert_eq!([1, 2, 40, 41].map(|count| delay(count, options())), [250, 250, 250, 243]);
    assert_eq!(delay(2, options().attempt_delay(Duration::from_secs(2))), 2000);
    // Not below what RFC 8305 allows, however many there are.
    assert_eq!([10_000, usize::MAX].map(|count| delay(count, options())), [10, 10]);
    assert_eq!(delay(1, options().connect_timeout(Duration::MAX)), 250);
}

#[test]
fn i7_a_process_that_is_killed_while_it_connects_drops_all_attempts() {
    let connecting = Connecting::to(3, options());
    connecting.sim.advance(DELAY);
    assert_eq!(connecting.servers.open(), [1, 2]);
    connecting.sim.kill(connecting.pid());
    connecting.sim.run_until_idle();
    assert_eq!(connecting.servers.open(), []);
    connecting.sim.advance(LIMIT);
    assert_eq!((connecting.servers.begun(), connecting.result()), (vec![1, 2], None));
}
