//! The readiness of a socket: which directions may be tried, and the wakers that wait for that.

use parking_lot::Mutex;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll, Waker};

/// The direction of a transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// The readiness of a socket, and its wakers. Every operation runs under the lock, so only
/// the order of whole operations can differ. A test runs all orders.
pub(crate) struct Readiness(Mutex<[Side; 2]>);

struct Side {
    /// Whether this direction may be tried: true until a try would block.
    ready: bool,
    /// How often it became ready.
    tick: u64,
    /// The peer has ended this direction, or it has failed: a try finds that out, and no further
    /// report says so. An urgent byte counts as an end: a read stops there, and no further report
    /// says that bytes follow.
    ended: bool,
    /// The thread has failed: no further reports arrive.
    lost: bool,
    waker: Option<Waker>,
}

/// What the system reports of a direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DirectionReport {
    /// It may be tried.
    pub(crate) ready: bool,
    /// It has ended or failed, or there is an urgent byte among those to be read.
    pub(crate) ended: bool,
}

/// The thread of the sockets has failed.
#[derive(Debug, thiserror::Error)]
#[error("the socket thread has failed")]
pub(crate) struct Lost;

/// Whether the error means that this socket gets no further reports, although it is intact.
pub(crate) fn is_lost(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Lost>)
}

impl Readiness {
    pub(crate) fn new() -> Self {
        let side = || Side { ready: true, tick: 0, ended: false, lost: false, waker: None };
        Readiness(Mutex::new([side(), side()]))
    }

    pub(crate) fn tell(
        &self,
        reads: DirectionReport,
        writes: DirectionReport,
        wakers: &mut Vec<Waker>,
    ) {
        let mut sides = self.0.lock();
        for (side, told) in sides.iter_mut().zip([reads, writes]) {
            if told.ready | told.ended {
                side.ready = true;
                side.ended |= told.ended;
                side.tick += 1;
                wakers.extend(side.waker.take());
            }
        }
    }

    pub(crate) fn lose(&self, wakers: &mut Vec<Waker>) {
        for side in &mut *self.0.lock() {
            side.lost = true;
            wakers.extend(side.waker.take());
        }
    }

    /// Returns the tick of a direction that may be tried, or `WouldBlock`.
    pub(crate) fn tick(&self, way: Direction) -> io::Result<u64> {
        let side = &self.0.lock()[way as usize];
        if side.lost {
            Err(io::Error::other(Lost))
        } else if side.ready {
            Ok(side.tick)
        } else {
            Err(ErrorKind::WouldBlock.into())
        }
    }

    /// Ready when a direction may be tried, or when the thread has failed.
    pub(crate) fn poll_ready(&self, way: Direction, cx: &Context<'_>) -> Poll<()> {
        self.poll_side(way, cx, |side| (side.lost || side.ready).then_some(()))
    }

    /// Ready when a direction has ended or failed, or with an error when the thread has failed.
    pub(crate) fn poll_ended(&self, way: Direction, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll_side(way, cx, |side| match side {
            Side { lost: true, .. } => Some(Err(io::Error::other(Lost))),
            Side { ended: true, .. } => Some(Ok(())),
            _ => None,
        })
    }

    /// Ready with what is found of a direction; otherwise leaves the waker there.
    fn poll_side<T>(
        &self,
        way: Direction,
        cx: &Context<'_>,
        found: impl Fn(&Side) -> Option<T>,
    ) -> Poll<T> {
        {
            let side = &self.0.lock()[way as usize];
            if let Some(found) = found(side) {
                return Poll::Ready(found);
            }
            if side.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                return Poll::Pending;
            }
        }
        // Cloning and dropping a waker is user code: do neither under the lock.
        let mut waker = Some(cx.waker().clone());
        let side = &mut self.0.lock()[way as usize];
        if let Some(found) = found(side) {
            return Poll::Ready(found);
        }
        std::mem::swap(&mut side.waker, &mut waker);
        Poll::Pending
    }

    /// Records that a try at this tick would have blocked.
    pub(crate) fn exhausted(&self, way: Direction, tick: u64) {
        let side = &mut self.0.lock()[way as usize];
        if side.tick == tick {
            side.ready = false;
        }
    }

    /// Records that a try at this tick has taken all that there was: what comes later is reported.
    /// An end that was reported already is still to be found, and so are bytes behind an urgent one.
    pub(crate) fn drained(&self, way: Direction, tick: u64) {
        let side = &mut self.0.lock()[way as usize];
        if side.tick == tick && !side.ended {
            side.ready = false;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::sync::{Arc, Weak};
    use std::task::Wake;

    /// Arrivals and reports, in each run.
    const ARRIVALS: usize = 3;
    /// The number of steps whose orders are all tried. Later steps run as soon as they can.
    const STEPS: u32 = 16;

    /// A waker that counts its wake-ups, and may panic.
    pub(crate) struct CountingWaker {
        pub(crate) wakes: AtomicU32,
        panics: bool,
    }

    impl Wake for CountingWaker {
        fn wake(self: Arc<Self>) {
            self.wakes.fetch_add(1, Ordering::Relaxed);
            assert!(!self.panics, "a waker that panics on purpose");
        }
    }

    pub(crate) fn counting_waker(panics: bool) -> (Arc<CountingWaker>, Waker) {
        let counter = Arc::new(CountingWaker { wakes: AtomicU32::new(0), panics });
        (Arc::clone(&counter), Waker::from(counter))
    }

    /// A process that reads all there is, in the same steps as `Socket::poll_io`.
    enum ReaderState {
        Looks,
        Parks,
        Tries(u64),
        FoundNothing(u64),
        TookAll(u64),
        Parked,
    }

    impl ReaderState {
        /// The next step, of a try one that finds nothing.
        fn goes_on(self, readiness: &Readiness, counter: &CountingWaker, cx: &Context<'_>) -> Self {
            match self {
                ReaderState::Looks => match readiness.tick(Direction::Read) {
                    Ok(tick) => return ReaderState::Tries(tick),
                    Err(_) => return ReaderState::Parks,
                },
                ReaderState::Parks if readiness.poll_ready(Direction::Read, cx).is_pending() => {
                    return ReaderState::Parked;
                }
                ReaderState::Tries(tick) => return ReaderState::FoundNothing(tick),
                ReaderState::Parks => {}
                ReaderState::TookAll(tick) => readiness.drained(Direction::Read, tick),
                ReaderState::FoundNothing(tick) => readiness.exhausted(Direction::Read, tick),
                ReaderState::Parked => counter.wakes.store(0, Ordering::Relaxed),
            }
            ReaderState::Looks
        }
    }

    const READY: DirectionReport = DirectionReport { ready: true, ended: false };
    const NOTHING: DirectionReport = DirectionReport { ready: false, ended: false };

    /// Runs one order of steps. A set bit of `order` is a step of the system, a clear bit a
    /// step of the process. Returns the number of unread arrivals when neither can take a step.
    fn unread(order: u32) -> usize {
        let readiness = Readiness::new();
        let (counter, waker) = counting_waker(false);
        let cx = Context::from_waker(&waker);
        let (mut reader, mut arrived, mut told, mut there) = (ReaderState::Looks, 0, 0, 0);
        for step in 0.. {
            let world_may = told < ARRIVALS;
            let reader_may =
                !matches!(reader, ReaderState::Parked) || counter.wakes.load(Ordering::Relaxed) > 0;
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
                readiness.tell(READY, NOTHING, &mut wakers);
                wakers.into_iter().for_each(Waker::wake);
            } else {
                reader = match reader {
                    ReaderState::Tries(_) if there > 0 => {
                        there -= 1;
                        ReaderState::Looks
                    }
                    other => other.goes_on(&readiness, &counter, &cx),
                };
            }
        }
        there
    }

    #[test]
    fn i2_no_interleaving_of_readiness_and_attempts_loses_a_wake_up() {
        for order in 0..1 << STEPS {
            assert_eq!(unread(order), 0, "in the order {order:#b}");
        }
    }

    /// As [`unread`], of a process whose tries take all bytes that there are, and of which it then
    /// says so. If the stream `ends`, the last arrival is its end, which is found by a try without
    /// bytes. One report tells of all that has arrived. Returns the bytes that are unread, and whether
    /// the end was found.
    fn unread_by_short_reads(order: u32, ends: bool) -> (usize, bool) {
        let readiness = Readiness::new();
        let (counter, waker) = counting_waker(false);
        let cx = Context::from_waker(&waker);
        let mut reader = ReaderState::Looks;
        let (mut arrived, mut told, mut there, mut found) = (0, 0, 0, false);
        for step in 0.. {
            let reader_may = !found
                && (!matches!(reader, ReaderState::Parked)
                    || counter.wakes.load(Ordering::Relaxed) > 0);
            let world = match (told < ARRIVALS, reader_may) {
                (false, false) => return (there, found),
                (true, true) => step < 2 * STEPS && order >> (step % STEPS) & 1 == 1,
                (world, _) => world,
            };
            // An arrival, or a report of what has arrived, alternately by the order's other bits.
            if world && arrived < ARRIVALS && (arrived == told || order >> (step % 7) & 1 == 1) {
                arrived += 1;
                there += usize::from(!ends || arrived < ARRIVALS);
            } else if world {
                told = arrived;
                let mut wakers = Vec::new();
                let report = DirectionReport { ended: ends && arrived == ARRIVALS, ..READY };
                readiness.tell(report, NOTHING, &mut wakers);
                wakers.into_iter().for_each(Waker::wake);
            } else {
                reader = match reader {
                    ReaderState::Tries(tick) if there > 0 => {
                        there = 0;
                        ReaderState::TookAll(tick)
                    }
                    ReaderState::Tries(_) if ends && arrived == ARRIVALS => {
                        found = true;
                        ReaderState::Looks
                    }
                    other => other.goes_on(&readiness, &counter, &cx),
                };
            }
        }
        (there, found)
    }

    #[test]
    fn i2_no_interleaving_of_readiness_and_short_reads_loses_bytes_or_the_end() {
        for order in 0..1 << STEPS {
            for ends in [false, true] {
                let unread = unread_by_short_reads(order, ends);
                assert_eq!(unread, (0, ends), "in the order {order:#b}");
            }
        }
    }

    #[test]
    fn i2_readiness_of_one_direction_does_not_wake_the_other() {
        let readiness = Readiness::new();
        let cx = Context::from_waker(Waker::noop());
        let tick = readiness.tick(Direction::Read).unwrap();
        readiness.exhausted(Direction::Read, tick);
        assert!(readiness.poll_ready(Direction::Read, &cx).is_pending());
        assert!(readiness.poll_ready(Direction::Write, &cx).is_ready());
        let mut wakers = Vec::new();
        readiness.tell(NOTHING, READY, &mut wakers);
        assert!(wakers.is_empty());
        readiness.tell(READY, READY, &mut wakers);
        assert_eq!(wakers.len(), 1, "one side waits");
    }

    /// A waker that records when it is dropped whether the readiness is locked.
    struct LockProbe {
        readiness: Weak<Readiness>,
        locked: Arc<AtomicBool>,
    }

    impl Wake for LockProbe {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for LockProbe {
        fn drop(&mut self) {
            let locked = self.readiness.upgrade().is_none_or(|it| it.0.try_lock().is_none());
            self.locked.store(locked, Ordering::Relaxed);
        }
    }

    #[test]
    fn i2_a_replaced_waker_is_dropped_outside_the_lock() {
        let readiness = Arc::new(Readiness::new());
        readiness.exhausted(Direction::Read, readiness.tick(Direction::Read).unwrap());
        let locked = Arc::new(AtomicBool::new(true));
        let probe =
            LockProbe { readiness: Arc::downgrade(&readiness), locked: Arc::clone(&locked) };
        let waker = Waker::from(Arc::new(probe));
        assert!(readiness.poll_ready(Direction::Read, &Context::from_waker(&waker)).is_pending());
        drop(waker);
        assert!(
            readiness.poll_ready(Direction::Read, &Context::from_waker(Waker::noop())).is_pending()
        );
        assert!(!locked.load(Ordering::Relaxed));
    }
}
