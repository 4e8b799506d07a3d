//! The thread that waits for all sockets, and what one of them waits for.
//!
//! ```text
//!   process ── tries to read ──► WouldBlock: leaves its waker, and is parked
//!      ▲                                        │
//!      └── woken, tries again ◄── thread `krarup-io` ◄── epoll, kqueue, ..
//! ```
//!
//! There is one such thread in a program while it has a socket, whatever the number of nodes: it
//! starts with the first socket and ends with the last. It runs nobody's code but wakers. The
//! system tells of a change once (edge-triggered), so a socket remembers for each direction
//! whether it may be tried; what was told while a try was under way counts for the next one,
//! which the `tick` tells apart.

use mio::event::Source;
use mio::{Events, Interest, Poll as Selector, Registry, Token, Waker as Wakeup};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::thread;

/// The token by which the thread itself is woken.
const WAKE_UP: Token = Token(0);
/// Changes that are taken from the system at once.
const EVENTS: usize = 1024;

/// The reactor of this program, if it has a socket.
static SHARED: Mutex<Weak<Reactor>> = Mutex::new(Weak::new());

/// What sockets share: where they are registered, and who waits for which.
struct Reactor {
    registry: Registry,
    wakeup: Arc<Wakeup>,
    sources: Mutex<HashMap<Token, Arc<Readiness>>>,
    next: AtomicUsize,
}

impl Reactor {
    /// The one there is, or a new one with its thread.
    fn shared() -> io::Result<Arc<Reactor>> {
        let mut shared = SHARED.lock();
        if let Some(reactor) = shared.upgrade() {
            return Ok(reactor);
        }
        let selector = Selector::new()?;
        let wakeup = Arc::new(Wakeup::new(selector.registry(), WAKE_UP)?);
        let reactor = Arc::new(Reactor {
            registry: selector.registry().try_clone()?,
            wakeup: Arc::clone(&wakeup),
            sources: Mutex::default(),
            next: AtomicUsize::new(WAKE_UP.0 + 1),
        });
        let weak = Arc::downgrade(&reactor);
        thread::Builder::new().name("krarup-io".to_owned()).spawn({
            let weak = Weak::clone(&weak);
            // What wakes the thread must outlive the reactor: closed with it, it wakes nobody.
            move || run(selector, &wakeup, &weak)
        })?;
        *shared = weak;
        Ok(reactor)
    }
}

/// The last socket is gone: the thread looks, and ends.
impl Drop for Reactor {
    fn drop(&mut self) {
        if let Err(error) = self.wakeup.wake() {
            tracing::error!(target: "krarup", %error, "the thread of the sockets stays");
        }
    }
}

fn run(mut selector: Selector, _wakeup: &Wakeup, reactor: &Weak<Reactor>) {
    let mut events = Events::with_capacity(EVENTS);
    let mut wakers = Vec::new();
    loop {
        if let Err(error) = selector.poll(&mut events, None)
            && error.kind() != ErrorKind::Interrupted
        {
            tracing::error!(target: "krarup", %error, "cannot wait for sockets");
            return;
        }
        let Some(reactor) = reactor.upgrade() else { return };
        {
            let sources = reactor.sources.lock();
            for event in &events {
                if let Some(readiness) = sources.get(&event.token()) {
                    // An error or a hang-up is for whoever tries next, in either direction.
                    let failed = event.is_error();
                    let reads = event.is_readable() || event.is_read_closed() || failed;
                    let writes = event.is_writable() || event.is_write_closed() || failed;
                    readiness.tell(reads, writes, &mut wakers);
                }
            }
        }
        // Whom this wakes may run at once, on a calling-thread dispatcher: no lock is held.
        wakers.drain(..).for_each(Waker::wake);
    }
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Read,
    Write,
}

/// What is known of a socket, and who waits for more.
struct Readiness(Mutex<[Side; 2]>);

struct Side {
    /// Whether it may be tried: true until a try would block.
    ready: bool,
    /// How often it became ready.
    tick: u64,
    waker: Option<Waker>,
}

impl Readiness {
    fn new() -> Self {
        let side = || Side { ready: true, tick: 0, waker: None };
        Readiness(Mutex::new([side(), side()]))
    }

    fn tell(&self, reads: bool, writes: bool, wakers: &mut Vec<Waker>) {
        let mut sides = self.0.lock();
        for (side, told) in sides.iter_mut().zip([reads, writes]) {
            if told {
                side.ready = true;
                side.tick += 1;
                wakers.extend(side.waker.take());
            }
        }
    }

    /// The tick of a side that may be tried.
    fn poll_ready(&self, way: Way, cx: &Context<'_>) -> Poll<u64> {
        let side = &mut self.0.lock()[way as usize];
        if side.ready {
            return Poll::Ready(side.tick);
        }
        if side.waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            side.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// A try of this tick would have blocked.
    fn exhausted(&self, way: Way, tick: u64) {
        let side = &mut self.0.lock()[way as usize];
        if side.tick == tick {
            side.ready = false;
        }
    }
}

/// A socket whose readiness can be awaited. It is closed when it is dropped, and there is one.
pub(crate) struct Socket<S: Source> {
    source: S,
    token: Token,
    readiness: Arc<Readiness>,
    reactor: Arc<Reactor>,
}

impl<S: Source> Socket<S> {
    /// Registers a socket that does not block.
    pub(crate) fn new(mut source: S) -> io::Result<Self> {
        let reactor = Reactor::shared()?;
        let token = Token(reactor.next.fetch_add(1, Ordering::Relaxed));
        let readiness = Arc::new(Readiness::new());
        reactor.sources.lock().insert(token, Arc::clone(&readiness));
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = reactor.registry.register(&mut source, token, interest) {
            reactor.sources.lock().remove(&token);
            return Err(error);
        }
        Ok(Socket { source, token, readiness, reactor })
    }

    /// The socket itself.
    pub(crate) fn source(&self) -> &S {
        &self.source
    }

    /// Tries something; if it would block, wakes the task when it may be tried again.
    pub(crate) fn poll_io<T>(
        &self,
        way: Way,
        cx: &Context<'_>,
        mut attempt: impl FnMut(&S) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            let Poll::Ready(tick) = self.readiness.poll_ready(way, cx) else {
                return Poll::Pending;
            };
            match attempt(&self.source) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.readiness.exhausted(way, tick);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => return Poll::Ready(done),
            }
        }
    }
}

impl<S: Source> Drop for Socket<S> {
    fn drop(&mut self) {
        // Closing it takes it out of the system's list as well; an error says it is not there.
        let _ = self.reactor.registry.deregister(&mut self.source);
        self.reactor.sources.lock().remove(&self.token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i2_what_is_told_while_a_try_is_under_way_counts_for_the_next() {
        let readiness = Readiness::new();
        let cx = Context::from_waker(Waker::noop());
        let Poll::Ready(tick) = readiness.poll_ready(Way::Read, &cx) else { panic!("not ready") };
        // Between the try, which found nothing, and the note of that.
        readiness.tell(true, false, &mut Vec::new());
        readiness.exhausted(Way::Read, tick);
        let Poll::Ready(tick) = readiness.poll_ready(Way::Read, &cx) else { panic!("it is lost") };
        readiness.exhausted(Way::Read, tick);
        assert!(readiness.poll_ready(Way::Read, &cx).is_pending());
        assert!(readiness.poll_ready(Way::Write, &cx).is_ready());
        let mut wakers = Vec::new();
        readiness.tell(true, true, &mut wakers);
        assert_eq!(wakers.len(), 1, "one side waits");
    }
}
