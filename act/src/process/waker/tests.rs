//! Tests of the handles that can wake a process, on one thread. Those of several are models.

use super::*;
use crate::calls::slot::slot;
use crate::models::model_host::ModelHost;
use krarup_gen::Reason;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;

struct Bell {
    count: WakingCount,
    noted: NotedHandle,
    rung: AtomicU32,
    live_when_spent: AtomicU32,
    is_parked: AtomicU32,
}

// SAFETY: both are fields, and nothing else uses them.
unsafe impl Wakeable for Bell {
    fn waking(&self) -> &WakingCount {
        &self.count
    }

    fn noted_handle(&self) -> &NotedHandle {
        &self.noted
    }

    fn wake(&self, used_up: Option<UsedHandle<'_>>) {
        assert!(self.rung.fetch_add(1, Ordering::Relaxed) < 3, "it is worn out");
        if let Some(handle) = used_up {
            handle.spend();
            self.live_when_spent
                .store(self.count.0.load(Ordering::Relaxed) % SPENT, Ordering::Relaxed);
        }
    }

    unsafe fn wake_noted(this: *const Self) -> UsedNoted {
        // SAFETY: the noted handle keeps it.
        let bell = unsafe { &*this };
        bell.rung.fetch_add(1, Ordering::Relaxed);
        let used = match bell.is_parked.load(Ordering::Relaxed) {
            0 => bell.noted.is_spent(&bell.count),
            // SAFETY: the test has the process's own handle, and this thread.
            1 => unsafe { bell.noted.is_spent_with_process(&bell.count) },
            _ => {
                // SAFETY: as above.
                unsafe { bell.noted.comes_in() };
                UsedNoted::CameIn
            }
        };
        bell.live_when_spent.store(bell.count.0.load(Ordering::Relaxed), Ordering::Relaxed);
        used
    }
}

fn bell() -> (WakingHandle<Bell>, Weak<Bell>) {
    let own = WakingHandle::first(Bell {
        count: WakingCount::new(),
        noted: NotedHandle::new(),
        rung: AtomicU32::new(0),
        live_when_spent: AtomicU32::new(0),
        is_parked: AtomicU32::new(0),
    });
    let seen = Arc::downgrade(&own);
    (own, seen)
}

#[test]
fn wakers_are_counted_while_they_exist() {
    let (own, seen) = bell();
    assert_eq!((own.others(), seen.strong_count()), (0, 1));
    let first = own.to_waker();
    let second = first.clone();
    assert_eq!((own.others(), seen.strong_count()), (2, 1));
    assert!(first.will_wake(&second));
    assert_eq!(own.others(), 2, "a waker that is lent is not counted");
    first.wake_by_ref();
    assert_eq!(own.others(), 2);
    first.wake();
    assert_eq!((own.others(), own.rung.load(Ordering::Relaxed)), (1, 2));
    drop(second);
    assert_eq!(own.others(), 0);
}

#[test]
fn the_poll_of_the_process_makes_one_handle_that_is_noted_and_nobody_else_does() {
    let (own, seen) = bell();
    let word = || (own.count.0.load(Ordering::Relaxed), own.noted.0.load(Ordering::Relaxed));
    let outside = own.to_waker();
    assert_eq!((word(), own.others()), ((2, IN), 1));
    let poll = current::begin_poll_with(&own.lend());
    let lent = own.lend();
    let elsewhere =
        std::thread::scope(|scope| scope.spawn(|| lent.clone()).join().expect("a clone"));
    assert_eq!(word(), (3, IN), "the poll is on another thread");
    let (noted, second) = (own.to_waker(), own.to_waker());
    assert_eq!((word(), own.others()), ((4, OUT), 4));
    assert!(own.lend().will_wake(&noted), "who has kept it needs no other one");
    drop(poll);
    let third = noted.clone();
    assert_eq!(word(), (5, OUT));
    drop(noted);
    assert_eq!((word(), own.others()), ((5, IN), 4));
    let after = own.to_waker();
    assert_eq!(word(), (6, IN), "the poll is over");
    drop((own, outside, elsewhere, second, third, after));
    assert_eq!(seen.strong_count(), 0);
}

#[test]
fn the_noted_handle_of_a_parked_process_comes_in_when_it_wakes_and_is_counted_otherwise() {
    let (own, seen) = bell();
    let noted = |own: &WakingHandle<Bell>| {
        let _poll = current::begin_poll_with(&own.lend());
        own.to_waker()
    };
    // Parked: it comes in, with the host at hand or by a count. Running: it is counted.
    for (is_parked, counted) in [(2, 1), (1, 1), (0, 1)] {
        own.is_parked.store(is_parked, Ordering::Relaxed);
        own.rung.store(0, Ordering::Relaxed);
        let waker = noted(&own);
        waker.wake_by_ref();
        assert_eq!((own.others(), own.rung.load(Ordering::Relaxed)), (1, 1));
        waker.wake();
        assert_eq!((own.others(), own.rung.load(Ordering::Relaxed)), (0, 2));
        assert_eq!(own.count.0.load(Ordering::Relaxed), counted);
    }
    // Another handle counts meanwhile.
    let (other, waker) = (own.to_waker(), noted(&own));
    own.is_parked.store(1, Ordering::Relaxed);
    waker.wake();
    assert_eq!(own.count.0.load(Ordering::Relaxed), 2);
    drop(other);
    // Fifteen others are about to be dropped.
    own.count.0.fetch_add(SPENT * 15, Ordering::Relaxed);
    noted(&own).wake();
    assert_eq!(own.live_when_spent.load(Ordering::Relaxed), SPENT * 15 + 2);
    assert_eq!((own.others(), own.count.0.load(Ordering::Relaxed)), (0, SPENT * 15 + 1));
    own.count.0.store(1, Ordering::Relaxed);
    // It outlives the process.
    let waker = noted(&own);
    drop(own);
    assert_eq!(seen.strong_count(), 1);
    drop(waker);
    assert_eq!(seen.strong_count(), 0);
}

#[test]
fn a_process_that_was_woken_by_its_noted_handle_makes_the_next_one_and_is_freed() {
    let host = ModelHost::new();
    let ((first, one), (second, two)) = (slot(), slot());
    let (cell, ready) = host.spawn(0, |_| async move {
        assert_eq!((one.await, two.await), (Some(1), Some(2)));
        Ok(())
    });
    let seen = Arc::downgrade(&cell);
    let noted = || cell.noted_handle().0.load(Ordering::Relaxed);
    host.host().schedule(ready);
    host.settle();
    assert_eq!((noted(), cell.waking().0.load(Ordering::Relaxed)), (OUT, 1));
    // From a thread that polls nothing, and from the poll of another process.
    assert!(first.send(1).is_ok());
    assert_eq!(noted(), IN);
    host.settle();
    assert_eq!((noted(), cell.waking().0.load(Ordering::Relaxed)), (OUT, 1));
    host.start(0, |_| async move { second.send(2).map_err(|_| Reason::Shutdown) });
    host.settle();
    assert_eq!(noted(), IN);
    drop((cell, host));
    assert_eq!(seen.strong_count(), 0);
}

#[test]
fn a_handle_is_spent_when_it_wakes_and_not_when_it_is_dropped() {
    let (own, seen) = bell();
    let (first, second) = (own.to_waker(), own.to_waker());
    first.wake();
    assert_eq!(own.live_when_spent.load(Ordering::Relaxed), 2, "this one and the second");
    // Fifteen others are about to be dropped: the next one counts as one that can wake.
    own.count.0.fetch_add(SPENT * 15, Ordering::Relaxed);
    second.wake();
    assert_eq!(own.live_when_spent.load(Ordering::Relaxed), 2, "this one and itself");
    assert_eq!((own.others(), own.count.0.load(Ordering::Relaxed)), (0, SPENT * 15 + 1));
    own.count.0.store(1, Ordering::Relaxed);
    drop(own);
    assert_eq!(seen.strong_count(), 0);
}

#[test]
fn strong_handles_are_not_counted_as_wakers() {
    let (own, seen) = bell();
    let strong = Arc::clone(&own);
    assert_eq!((own.others(), seen.strong_count()), (0, 2));
    drop(own);
    assert_eq!(seen.strong_count(), 1);
    drop(strong);
    assert_eq!(seen.strong_count(), 0);
}

#[test]
fn the_last_handle_is_the_one_that_frees() {
    let (own, seen) = bell();
    let waker = own.to_waker();
    drop(own);
    assert_eq!(seen.strong_count(), 1);
    waker.wake();
    assert_eq!(seen.strong_count(), 0);

    let (own, seen) = bell();
    drop(own.to_waker());
    drop(own);
    assert_eq!(seen.strong_count(), 0);
}

/// Says to this program, started anew, that it is to make too many handles.
#[cfg(all(unix, not(miri)))]
const COUNTS_TOO_FAR: &str = "KRARUP_COUNTS_TOO_FAR";

#[cfg(all(unix, not(miri)))]
#[test]
fn more_handles_than_are_counted_abort_the_program() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    if std::env::var_os(COUNTS_TOO_FAR).is_some() {
        let (own, _) = bell();
        own.count.0.store(MOST + 1, Ordering::Relaxed);
        drop(own.to_waker());
        return;
    }
    let test = "process::waker::tests::more_handles_than_are_counted_abort_the_program";
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args([test, "--exact", "--test-threads=1"]).env(COUNTS_TOO_FAR, "1");
    let ended = program.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(ended.signal(), Some(6), "{ended}");
}

#[test]
fn a_wake_up_that_panics_uses_its_handle_up() {
    let (own, seen) = bell();
    own.rung.store(3, Ordering::Relaxed);
    let waker = own.to_waker();
    assert!(catch_unwind(AssertUnwindSafe(|| waker.wake_by_ref())).is_err());
    assert_eq!(own.others(), 1);
    assert!(catch_unwind(AssertUnwindSafe(|| waker.wake())).is_err());
    assert_eq!(own.others(), 0);
    drop(own);
    assert_eq!(seen.strong_count(), 0);
}
