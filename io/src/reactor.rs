//! The sockets that a process can await, and the thread that waits for them where no worker does.
//!
//! ```text
//!   process ── tries to read ──► WouldBlock: leaves its waker, and is parked
//!      ▲                                        │
//!      └── woken, tries again ◄── an idle worker, or the thread `krarup-io` ◄── epoll, kqueue, ..
//! ```
//!
//! A program has one such thread while it has a socket, whatever the number of nodes. The
//! thread starts with the first socket and ends with the last. It runs no user code except
//! wakers. [`SharedWait`] has it wait where no worker does, and sleep otherwise.
//!
//! The system reports each change once (edge-triggered), so a socket remembers for
//! each direction whether it may be tried. A report that arrives during a try counts for
//! the next one; the `tick` tells them apart. No two open sockets have the same token
//! ([`Sources`](crate::sources)), so a report for a closed socket reaches no other socket.
//!
//! If the thread fails, no socket keeps waiting for it: each one returns an error from
//! then on ([`is_lost`](crate::readiness::is_lost)), and the next socket that is opened
//! starts a new thread.

use crate::callback::log;
use crate::readiness::{Direction, Lost, Readiness};
use crate::socket_selection::{OpenSockets, SocketSelection};
use krarup_act::{SharedWait, install_poller, remove_poller};
use mio::event::Source;
use mio::{Interest, Registry, Token};
use parking_lot::Mutex;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::thread;

/// Whether a read that did not fill its room has taken all that was reported. The system must report
/// bytes that arrive after a read even if that read did not block, and say that a read will stop
/// at an urgent byte although more follow it. Only epoll does both.
const SHORT_READS_TAKE_ALL: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// What is reported of a socket.
#[cfg(any(target_os = "linux", target_os = "android"))]
const INTEREST: Interest = Interest::READABLE.add(Interest::WRITABLE).add(Interest::PRIORITY);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const INTEREST: Interest = Interest::READABLE.add(Interest::WRITABLE);

/// Whether the thread need not be the only one that waits. The completion ports of Windows release a waiting thread only while
/// fewer threads than there are processors run of those that have ever waited there; workers that have would keep it
/// waiting while they run handlers.
const WORKERS_MAY_WAIT: bool = cfg!(not(windows));

/// The reactor of this program, if it has a socket.
static SHARED: Mutex<Weak<Reactor>> = Mutex::new(Weak::new());

/// The handle of all sockets on their registration and their wakers. Its end is that of the thread.
struct Reactor {
    registry: Registry,
    wait: Arc<SharedWait>,
    sockets: OpenSockets,
}

impl Reactor {
    /// Returns the running reactor, or starts a new one with its thread.
    fn shared() -> io::Result<Arc<Reactor>> {
        // Dropping a failed reactor logs, so drop it without the lock.
        let failed;
        let mut shared = SHARED.lock();
        match shared.upgrade() {
            Some(reactor) if reactor.sockets.are_served() => return Ok(reactor),
            found => failed = found,
        }
        let started = Reactor::start();
        if let Ok(reactor) = &started {
            if WORKERS_MAY_WAIT {
                install_poller(Arc::clone(&reactor.wait) as _);
            }
            *shared = Arc::downgrade(reactor);
        }
        drop(shared);
        drop(failed);
        started
    }

    fn start() -> io::Result<Arc<Reactor>> {
        let sockets = OpenSockets::new();
        let (selection, registry, wakeup) = SocketSelection::new(sockets.clone())?;
        let wait = Arc::new(SharedWait::new(selection, move || wakeup.wake()));
        let serving = Serving { wait: Arc::clone(&wait), sockets: sockets.clone() };
        thread::Builder::new().name("krarup-io".to_owned()).spawn(move || serving.run())?;
        Ok(Arc::new(Reactor { registry, wait, sockets }))
    }
}

/// The last socket is closed: wakes the thread, which then ends.
impl Drop for Reactor {
    fn drop(&mut self) {
        end(&self.wait);
    }
}

/// No worker waits there any more, and the thread ends.
fn end(wait: &Arc<SharedWait>) {
    remove_poller(wait);
    if let Err(error) = wait.close() {
        log(
            || tracing::error!(target: "krarup", %error, "the socket thread cannot be woken to end"),
        );
    }
}

/// Held by the thread. In whatever way the thread ends, no remaining socket waits for it.
struct Serving {
    wait: Arc<SharedWait>,
    sockets: OpenSockets,
}

impl Serving {
    fn run(&self) {
        if let Err(error) = self.wait.serve() {
            log(|| tracing::error!(target: "krarup", %error, "cannot wait for sockets"));
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if !self.wait.is_closed() {
            log(|| tracing::error!(target: "krarup", "the socket thread has failed"));
            end(&self.wait);
            self.sockets.lose();
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
        let Some(token) = reactor.sockets.add(Arc::clone(&readiness)) else {
            return Err(io::Error::other(Lost));
        };
        if let Err(error) = reactor.registry.register(&mut source, token, INTEREST) {
            reactor.sockets.forget(token);
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
        self.reactor.sockets.forget(self.token);
    }
}

/// Returns a socket whose thread has failed.
#[cfg(test)]
pub(crate) fn lost<S: Source>(source: S) -> Socket<S> {
    let reactor = Reactor::start().unwrap();
    let socket = Socket::on(Arc::clone(&reactor), source).unwrap();
    reactor.sockets.lose();
    socket
}

#[cfg(test)]
mod tests;
