//! The thread that waits for all sockets, and the sockets that a process can await.
//!
//! ```text
//!   process ── tries to read ──► WouldBlock: leaves its waker, and is parked
//!      ▲                                        │
//!      └── woken, tries again ◄── thread `krarup-io` ◄── epoll, kqueue, ..
//! ```
//!
//! A program has one such thread while it has a socket, whatever the number of nodes. The
//! thread starts with the first socket and ends with the last. It runs no user code except
//! wakers. The system reports each change once (edge-triggered), so a socket remembers for
//! each direction whether it may be tried. A report that arrives during a try counts for
//! the next one; the `tick` tells them apart. No two open sockets have the same token
//! ([`Sources`]), so a report for a closed socket reaches no other socket.
//!
//! **Many events at once.** While a look at the system wakes more than one process, the thread
//! does not sleep: it lets the woken processes run (a yield) and looks again without waiting. So
//! it takes what has arrived meanwhile in one call, and is not put to sleep and woken for every few
//! events, which costs more than the requests themselves (docs/decisions.md). A look that wakes at
//! most one process is the last one of such a row, so a program at rest does not spin, and a
//! single connection pays for no second look.
//!
//! If the thread fails, no socket keeps waiting for it: each one returns an error from
//! then on ([`is_lost`](crate::readiness::is_lost)), and the next socket that is opened
//! starts a new thread.

use crate::callback::log;
use crate::readiness::{Direction, DirectionReport, Lost, Readiness};
use crate::sources::{Sources, WAKE_UP};
use krarup_act::contain;
use krarup_gen::one_line;
use mio::event::Source;
use mio::{Events, Interest, Poll as Selector, Registry, Token, Waker as Wakeup};
use parking_lot::Mutex;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

/// The most events that are taken from the system at once.
const EVENTS: usize = 1024;

/// Whether a read that did not fill its room has taken all that was reported. The system must report
/// bytes that arrive after a read even if that read did not block, and say that a read will stop
/// at an urgent byte although more follow it. Only epoll does both.
const SHORT_READS_TAKE_ALL: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// What is reported of a socket.
#[cfg(any(target_os = "linux", target_os = "android"))]
const INTEREST: Interest = Interest::READABLE.add(Interest::WRITABLE).add(Interest::PRIORITY);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const INTEREST: Interest = Interest::READABLE.add(Interest::WRITABLE);

/// The reactor of this program, if it has a socket.
static SHARED: Mutex<Weak<Reactor>> = Mutex::new(Weak::new());

/// The shared state of all sockets: their registration and their wakers.
struct Reactor {
    registry: Registry,
    wakeup: Arc<Wakeup>,
    /// `None` after its thread has failed.
    sources: Mutex<Option<Sources>>,
}

impl Reactor {
    /// Returns the running reactor, or starts a new one with its thread.
    fn shared() -> io::Result<Arc<Reactor>> {
        // Dropping a failed reactor logs, so drop it without the lock.
        let failed;
        let mut shared = SHARED.lock();
        match shared.upgrade() {
            Some(reactor) if reactor.serves() => return Ok(reactor),
            found => failed = found,
        }
        let started = Reactor::start();
        if let Ok(reactor) = &started {
            *shared = Arc::downgrade(reactor);
        }
        drop(shared);
        drop(failed);
        started
    }

    fn start() -> io::Result<Arc<Reactor>> {
        let selector = Selector::new()?;
        let wakeup = Arc::new(Wakeup::new(selector.registry(), WAKE_UP)?);
        let reactor = Arc::new(Reactor {
            registry: selector.registry().try_clone()?,
            wakeup: Arc::clone(&wakeup),
            sources: Mutex::new(Some(Sources::new())),
        });
        thread::Builder::new().name("krarup-io".to_owned()).spawn({
            let reactor = Serving(Arc::downgrade(&reactor));
            // The waker of the thread must outlive the reactor: if both were closed
            // together, it would wake nothing.
            move || run(selector, &wakeup, &reactor)
        })?;
        Ok(reactor)
    }

    /// Whether its thread is running.
    fn serves(&self) -> bool {
        self.sources.lock().is_some()
    }

    fn forget(&self, token: Token) {
        let forgotten = self.sources.lock().as_mut().and_then(|sources| sources.remove(token));
        drop(forgotten);
    }

    /// Marks all sockets as lost and wakes the processes that wait for them.
    fn fail(&self) {
        let sources = self.sources.lock().take();
        let mut wakers = Vec::new();
        for readiness in sources.iter().flat_map(Sources::all) {
            readiness.lose(&mut wakers);
        }
        wake_all(wakers);
    }
}

/// The last socket is closed: wakes the thread, which then ends.
impl Drop for Reactor {
    fn drop(&mut self) {
        if let Err(error) = self.wakeup.wake() {
            log(
                || tracing::error!(target: "krarup", %error, "the socket thread cannot be woken to end"),
            );
        }
    }
}

/// Held by the thread. In whatever way the thread ends, no remaining socket waits for it.
struct Serving(Weak<Reactor>);

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(reactor) = self.0.upgrade() {
            log(|| tracing::error!(target: "krarup", "the socket thread has failed"));
            reactor.fail();
        }
    }
}

fn run(mut selector: Selector, _wakeup: &Wakeup, serving: &Serving) {
    let mut events = Events::with_capacity(EVENTS);
    let mut wakers = Vec::new();
    let mut limit = None;
    loop {
        if let Err(error) = selector.poll(&mut events, limit)
            && error.kind() != ErrorKind::Interrupted
        {
            log(|| tracing::error!(target: "krarup", %error, "cannot wait for sockets"));
            return;
        }
        let Some(reactor) = serving.0.upgrade() else { return };
        if let Some(sources) = &*reactor.sources.lock() {
            for event in &events {
                if let Some(readiness) = sources.of(event.token()) {
                    // An error or a hang-up is returned by the next try, in either direction.
                    let failed = event.is_error();
                    let reads = DirectionReport {
                        ready: event.is_readable(),
                        ended: event.is_read_closed() || event.is_priority() || failed,
                    };
                    let writes = DirectionReport {
                        ready: event.is_writable(),
                        ended: event.is_write_closed() || failed,
                    };
                    readiness.tell(reads, writes, &mut wakers);
                }
            }
        }
        let woken = wakers.len();
        // A woken process may run at once on a calling-thread dispatcher, so no lock is held.
        wake_all(wakers.drain(..));
        limit = next_wait(woken);
        if limit.is_some() {
            thread::yield_now();
        }
    }
}

/// How long the next look waits for an event, after one that has woken so many processes. `None`
/// is until there is one.
fn next_wait(woken: usize) -> Option<Duration> {
    (woken > 1).then_some(Duration::ZERO)
}

/// Wakes all wakers. A panic in one does not affect the others.
fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        if let Err(panic) = contain(|| waker.wake()) {
            log(
                || tracing::error!(target: "krarup", panic = %one_line(&panic), "a waker of a socket panicked"),
            );
        }
    }
}

/// A socket whose readiness can be awaited. It has one owner, and is closed when dropped.
pub(crate) struct Socket<S: Source> {
    source: S,
    token: Token,
    readiness: Arc<Readiness>,
    reactor: Arc<Reactor>,
}

impl<S: Source> Socket<S> {
    /// Registers a non-blocking socket.
    pub(crate) fn new(source: S) -> io::Result<Self> {
        Socket::on(Reactor::shared()?, source)
    }

    fn on(reactor: Arc<Reactor>, mut source: S) -> io::Result<Self> {
        let readiness = Arc::new(Readiness::new());
        let token = match &mut *reactor.sources.lock() {
            Some(sources) => sources.add(Arc::clone(&readiness)),
            None => return Err(io::Error::other(Lost)),
        };
        if let Err(error) = reactor.registry.register(&mut source, token, INTEREST) {
            reactor.forget(token);
            return Err(error);
        }
        Ok(Socket { source, token, readiness, reactor })
    }

    /// Returns the socket.
    pub(crate) fn source(&self) -> &S {
        &self.source
    }

    /// Tries an operation. `WouldBlock` means that it would block; no waker is registered.
    pub(crate) fn try_io<T>(
        &self,
        way: Direction,
        attempt: impl FnMut(&S) -> io::Result<T>,
    ) -> io::Result<T> {
        self.try_until(way, attempt, |_| false)
    }

    /// As [`Socket::try_io`]. `takes_all` says of a result that the next try would block.
    fn try_until<T>(
        &self,
        way: Direction,
        mut attempt: impl FnMut(&S) -> io::Result<T>,
        takes_all: impl Fn(&T) -> bool,
    ) -> io::Result<T> {
        loop {
            let tick = self.readiness.tick(way)?;
            match attempt(&self.source) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.readiness.exhausted(way, tick);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(done) => {
                    if takes_all(&done) {
                        self.readiness.drained(way, tick);
                    }
                    return Ok(done);
                }
                failed => return failed,
            }
        }
    }

    /// Reads from a stream, with room for so many bytes. Ready with 0 at its end.
    pub(crate) fn poll_stream(
        &self,
        room: usize,
        cx: &Context<'_>,
        mut read: impl FnMut(&S) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        // A stream that did not fill the room has no more, and says when it has.
        let takes_all = |&count: &usize| SHORT_READS_TAKE_ALL && 0 < count && count < room;
        loop {
            match self.try_until(Direction::Read, &mut read, takes_all) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.poll_ready(Direction::Read, cx).is_pending() {
                        return Poll::Pending;
                    }
                }
                done => return Poll::Ready(done),
            }
        }
    }

    /// Ready when the direction may be tried again; otherwise registers the task's waker.
    /// It must be called without a lock, because the waker may be a user's.
    pub(crate) fn poll_ready(&self, way: Direction, cx: &Context<'_>) -> Poll<()> {
        self.readiness.poll_ready(way, cx)
    }

    /// Ready when the direction has ended or failed; otherwise registers the task's waker.
    pub(crate) fn poll_ended(&self, way: Direction, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.readiness.poll_ended(way, cx)
    }

    /// Tries an operation. If it would block, registers the task's waker.
    pub(crate) fn poll_io<T>(
        &self,
        way: Direction,
        cx: &Context<'_>,
        mut attempt: impl FnMut(&S) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            match self.try_io(way, &mut attempt) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.poll_ready(way, cx).is_pending() {
                        return Poll::Pending;
                    }
                }
                done => return Poll::Ready(done),
            }
        }
    }
}

impl<S: Source> Drop for Socket<S> {
    fn drop(&mut self) {
        // Closing the socket also removes it from the system's list. An error says that it
        // is not there.
        let _ = self.reactor.registry.deregister(&mut self.source);
        self.reactor.forget(self.token);
    }
}

/// Returns a socket whose thread has failed.
#[cfg(test)]
pub(crate) fn lost<S: Source>(source: S) -> Socket<S> {
    let reactor = Reactor::start().unwrap();
    let socket = Socket::on(Arc::clone(&reactor), source).unwrap();
    reactor.fail();
    socket
}

#[cfg(test)]
mod tests;
