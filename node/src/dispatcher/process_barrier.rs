//! A memory barrier of which one side pays all.
//!
//! Two threads that each raise a flag and then read the other's need a full barrier between the two, both of them, or
//! both may miss the other. Where one comes for each message and the other once in a while, the first takes
//! [`light`], which keeps the compiler from exchanging the two and is no instruction. The other takes [`heavy`]: the system has
//! every running thread of the program execute a full barrier, so it is as if each had one at whatever place it was.
//!
//! The system call is Linux's `membarrier` (since 4.14; man page membarrier(2), "private expedited"). A program must register for it
//! once, which takes ten milliseconds and more if it has several threads: so [`prepare`] is called before a node starts its own threads if
//! there are no others ([`prepare_early`]), else where nobody waits. Until then, and elsewhere for ever, [`is_available`]
//! says that there is none. In models and under miri both barriers are ordinary
//! fences: the same order, at another price.

#![cfg_attr(
    all(target_os = "linux", not(any(loom, miri))),
    allow(unsafe_code, reason = "a system call that the standard library lacks")
)]

#[cfg(any(loom, miri))]
pub(super) use self::fences::{heavy, is_available, light, prepare};
#[cfg(all(target_os = "linux", not(any(loom, miri))))]
pub(super) use self::linux::{heavy, is_available, prepare};
#[cfg(not(any(loom, miri, target_os = "linux")))]
pub(super) use self::nowhere::{heavy, is_available, prepare};

/// [`prepare`], if that takes no time: if the program has one thread.
pub(crate) fn prepare_early() {
    let threads = std::fs::read_dir("/proc/self/task").map(|threads| threads.take(2).count());
    if matches!(threads, Ok(1)) {
        prepare();
    }
}

/// The side that comes often. Ordered with [`heavy`] alone.
#[cfg(not(any(loom, miri)))]
#[inline]
pub(super) fn light() {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

#[cfg(any(loom, miri))]
mod fences {
    use crate::sync::{Ordering, fence};

    pub(in super::super) fn prepare() {}

    pub(in super::super) fn is_available() -> bool {
        true
    }

    pub(in super::super) fn light() {
        fence(Ordering::SeqCst);
    }

    pub(in super::super) fn heavy() -> bool {
        fence(Ordering::SeqCst);
        true
    }
}

#[cfg(all(target_os = "linux", not(any(loom, miri))))]
mod linux {
    use std::sync::OnceLock;

    // `linux/membarrier.h`
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    /// Whether the system has registered the program.
    static REGISTERED: OnceLock<bool> = OnceLock::new();

    /// Registers the program, the first time.
    pub(in super::super) fn prepare() {
        REGISTERED.get_or_init(|| membarrier(REGISTER_PRIVATE_EXPEDITED));
    }

    /// Whether the program is registered.
    pub(in super::super) fn is_available() -> bool {
        REGISTERED.get() == Some(&true)
    }

    /// The side that comes seldom: some microseconds, and an interrupt of each core that runs this program. False: the system
    /// has refused it, and nothing is ordered.
    pub(in super::super) fn heavy() -> bool {
        membarrier(PRIVATE_EXPEDITED)
    }

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: the call takes three integers, and neither reads nor writes memory of the program.
        let result = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
        result == 0
    }
}

#[cfg(not(any(loom, miri, target_os = "linux")))]
mod nowhere {
    pub(in super::super) fn prepare() {}

    pub(in super::super) fn is_available() -> bool {
        false
    }

    pub(in super::super) fn heavy() -> bool {
        false
    }
}
