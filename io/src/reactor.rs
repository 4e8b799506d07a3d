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
//! which the `tick` tells apart. Tokens are not used twice: what is told of a socket that is gone
//! reaches nobody.
//!
//! A thread that cannot wait any more leaves no socket waiting for it: each has
//! an error from then on ([`is_lost`]), and the next that is opened starts another thread.

use krarup_act::contain;
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
    /// `None` when its thread has failed.
    sources: Mutex<Option<HashMap<Token, Arc<Readiness>>>>,
    next: AtomicUsize,
}

impl Reactor {
    /// The one there is, or a new one with its thread.
    fn shared() -> io::Result<Arc<Reactor>> {
        let mut shared = SHARED.lock();
        if let Some(reactor) = shared.upgrade()
            && reactor.serves()
        {
            return Ok(reactor);
        }
        let reactor = Reactor::start()?;
        *shared = Arc::downgrade(&reactor);
        Ok(reactor)
    }

    fn start() -> io::Result<Arc<Reactor>> {
        let selector = Selector::new()?;
        let wakeup = Arc::new(Wakeup::new(selector.registry(), WAKE_UP)?);
        let reactor = Arc::new(Reactor {
            registry: selector.registry().try_clone()?,
            wakeup: Arc::clone(&wakeup),
            sources: Mutex::new(Some(HashMap::new())),
            next: AtomicUsize::new(WAKE_UP.0 + 1),
        });
        thread::Builder::new().name("krarup-io".to_owned()).spawn({
            let reactor = Serving(Arc::downgrade(&reactor));
            // What wakes the thread must outlive the reactor: closed with it, it wakes nobody.
            move || run(selector, &wakeup, &reactor)
        })?;
        Ok(reactor)
    }

    /// Whether its thread has not failed.
    fn serves(&self) -> bool {
        self.sources.lock().is_some()
    }

    fn forget(&self, token: Token) {
        if let Some(sources) = &mut *self.sources.lock() {
            sources.remove(&token);
        }
    }

    /// Nobody waits for the sockets any more.
    fn fail(&self) {
        let sources = self.sources.lock().take();
        let mut wakers = Vec::new();
        for readiness in sources.iter().flat_map(HashMap::values) {
            readiness.lose(&mut wakers);
        }
        wakers.into_iter().for_each(Waker::wake);
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

/// Held by the thread. However it ends, no socket that is left waits for it.
struct Serving(Weak<Reactor>);

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(reactor) = self.0.upgrade() {
            tracing::error!(target: "krarup", "the thread of the sockets has failed");
            reactor.fail();
        }
    }
}

fn run(mut selector: Selector, _wakeup: &Wakeup, serving: &Serving) {
    let mut events = Events::with_capacity(EVENTS);
    let mut wakers = Vec::new();
    loop {
        if let Err(error) = selector.poll(&mut events, None)
            && error.kind() != ErrorKind::Interrupted
        {
            tracing::error!(target: "krarup", %error, "cannot wait for sockets");
            return;
        }
        let Some(reactor) = serving.0.upgrade() else { return };
        if let Some(sources) = &*reactor.sources.lock() {
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
        for waker in wakers.drain(..) {
            if let Err(panic) = contain(|| waker.wake()) {
                tracing::error!(target: "krarup", %panic, "who was woken for a socket panicked");
            }
        }
    }
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Read,
    Write,
}

/// What is known of a socket, and who waits for more. What is done to it is done under its lock,
/// so the order of whole steps is all that can differ, and a test goes through every order.
struct Readiness(Mutex<[Side; 2]>);

struct Side {
    /// Whether it may be tried: true until a try would block.
    ready: bool,
    /// How often it became ready.
    tick: u64,
    /// Nobody will tell of it any more.
    lost: bool,
    waker: Option<Waker>,
}

/// The thread of the sockets has failed.
#[derive(Debug, thiserror::Error)]
#[error("the thread of the sockets has failed")]
struct Lost;

/// Whether this socket will never be told of again, though nothing is wrong with it.
pub(crate) fn is_lost(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Lost>)
}

impl Readiness {
    fn new() -> Self {
        let side = || Side { ready: true, tick: 0, lost: false, waker: None };
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

    fn lose(&self, wakers: &mut Vec<Waker>) {
        for side in &mut *self.0.lock() {
            side.lost = true;
            wakers.extend(side.waker.take());
        }
    }

    /// The tick of a side that may be tried.
    fn poll_ready(&self, way: Way, cx: &Context<'_>) -> Poll<io::Result<u64>> {
        let side = &mut self.0.lock()[way as usize];
        if side.lost {
            return Poll::Ready(Err(io::Error::other(Lost)));
        }
        if side.ready {
            return Poll::Ready(Ok(side.tick));
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
    pub(crate) fn new(source: S) -> io::Result<Self> {
        Socket::on(Reactor::shared()?, source)
    }

    fn on(reactor: Arc<Reactor>, mut source: S) -> io::Result<Self> {
        let token = Token(reactor.next.fetch_add(1, Ordering::Relaxed));
        let readiness = Arc::new(Readiness::new());
        match &mut *reactor.sources.lock() {
            Some(sources) => drop(sources.insert(token, Arc::clone(&readiness))),
            None => return Err(io::Error::other(Lost)),
        }
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = reactor.registry.register(&mut source, token, interest) {
            reactor.forget(token);
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
            let tick = match self.readiness.poll_ready(way, cx) {
                Poll::Ready(Ok(tick)) => tick,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
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
        self.reactor.forget(self.token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mio::net::UdpSocket;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::{Sender, channel};
    use std::task::Wake;
    use std::time::Duration;

    /// How long an event may take before the test fails.
    const PATIENCE: Duration = Duration::from_secs(30);
    /// Steps of the system and of the thread that tells, in each run.
    const ARRIVALS: usize = 3;
    /// Steps of which each order is tried; what comes behind them goes on as it can.
    const STEPS: u32 = 16;

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// A process that reads all there is, step by step as [`Socket::poll_io`] does it.
    enum Reader {
        Looks,
        Tries(u64),
        FoundNothing(u64),
        Parked,
    }

    /// Plays one order of steps: a set bit of `order` is a step of the world, a clear one a step
    /// of the process. What is left unread when neither has a step to go.
    fn unread(order: u32) -> usize {
        let readiness = Readiness::new();
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let cx = Context::from_waker(&waker);
        let (mut reader, mut arrived, mut told, mut there) = (Reader::Looks, 0, 0, 0);
        for step in 0.. {
            let world_may = told < ARRIVALS;
            let reader_may = !matches!(reader, Reader::Parked) || woken.0.load(Ordering::Relaxed);
            let world = match (world_may, reader_may) {
                (false, false) => return there,
                (true, true) => step < STEPS && order >> step & 1 == 1,
                (world, _) => world,
            };
            if world && arrived == told {
                (arrived, there) = (arrived + 1, there + 1);
            } else if world {
                told += 1;
                let mut wakers = Vec::new();
                readiness.tell(true, false, &mut wakers);
                wakers.into_iter().for_each(Waker::wake);
            } else {
                reader = match reader {
                    Reader::Looks => match readiness.poll_ready(Way::Read, &cx) {
                        Poll::Ready(tick) => Reader::Tries(tick.unwrap()),
                        Poll::Pending => Reader::Parked,
                    },
                    Reader::Tries(tick) if there == 0 => Reader::FoundNothing(tick),
                    Reader::Tries(_) => {
                        there -= 1;
                        Reader::Looks
                    }
                    Reader::FoundNothing(tick) => {
                        readiness.exhausted(Way::Read, tick);
                        Reader::Looks
                    }
                    Reader::Parked => {
                        woken.0.store(false, Ordering::Relaxed);
                        Reader::Looks
                    }
                };
            }
        }
        there
    }

    #[test]
    fn i2_no_order_of_what_comes_and_what_is_tried_loses_a_wake_up() {
        for order in 0..1 << STEPS {
            assert_eq!(unread(order), 0, "in the order {order:#b}");
        }
    }

    #[test]
    fn i2_what_is_told_of_one_side_wakes_nobody_at_the_other() {
        let readiness = Readiness::new();
        let cx = Context::from_waker(Waker::noop());
        let Poll::Ready(Ok(tick)) = readiness.poll_ready(Way::Read, &cx) else { panic!("not yet") };
        readiness.exhausted(Way::Read, tick);
        assert!(readiness.poll_ready(Way::Read, &cx).is_pending());
        assert!(readiness.poll_ready(Way::Write, &cx).is_ready());
        let mut wakers = Vec::new();
        readiness.tell(false, true, &mut wakers);
        assert!(wakers.is_empty());
        readiness.tell(true, true, &mut wakers);
        assert_eq!(wakers.len(), 1, "one side waits");
    }

    /// Panics, or says that it was woken.
    enum Bell {
        Cracked,
        Sound(Sender<()>),
    }

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            match &*self {
                Bell::Cracked => panic!("a bell that is cracked on purpose"),
                Bell::Sound(sender) => drop(sender.send(())),
            }
        }
    }

    fn waits(socket: &Socket<UdpSocket>, bell: Bell) -> Poll<io::Result<usize>> {
        let waker = Waker::from(Arc::new(bell));
        socket.poll_io(Way::Read, &Context::from_waker(&waker), |socket| socket.recv(&mut [0; 9]))
    }

    fn open() -> UdpSocket {
        UdpSocket::bind(([127, 0, 0, 1], 0).into()).unwrap()
    }

    #[test]
    fn i2_when_the_thread_of_the_sockets_fails_each_socket_says_so_and_the_next_has_another() {
        let reactor = Reactor::start().unwrap();
        let socket = Socket::on(Arc::clone(&reactor), open()).unwrap();
        let (sender, woken) = channel();
        assert!(waits(&socket, Bell::Sound(sender)).is_pending());
        // As the thread does when it ends while there are sockets.
        drop(Serving(Arc::downgrade(&reactor)));
        woken.try_recv().expect("who waits is woken");
        let Poll::Ready(Err(error)) = waits(&socket, Bell::Cracked) else { panic!("it waits") };
        assert!(is_lost(&error), "{error}");
        assert!(!is_lost(&ErrorKind::ConnectionReset.into()));
        assert!(Socket::on(Arc::clone(&reactor), open()).is_err_and(|error| is_lost(&error)));
        *SHARED.lock() = Arc::downgrade(&reactor);
        assert!(Socket::new(open()).is_ok());
    }

    #[test]
    fn i2_a_waker_that_panics_keeps_nobody_else_from_being_woken() {
        let reactor = Reactor::start().unwrap();
        let [first, second] = [(); 2].map(|()| Socket::on(Arc::clone(&reactor), open()).unwrap());
        let (sender, woken) = channel();
        for _ in 0..2 {
            assert!(waits(&first, Bell::Cracked).is_pending());
            assert!(waits(&second, Bell::Sound(sender.clone())).is_pending());
            for socket in [&first, &second] {
                open().send_to(b"it", socket.source().local_addr().unwrap()).unwrap();
            }
            woken.recv_timeout(PATIENCE).unwrap();
            for socket in [&first, &second] {
                while waits(socket, Bell::Cracked).is_pending() {
                    thread::yield_now();
                }
            }
        }
    }
}
