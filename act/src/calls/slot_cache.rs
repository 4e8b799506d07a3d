//! A cache of slots for each thread. A call uses its slot for a short time only, and to
//! allocate and free the slot costs as much as the rest of the work on it.
//!
//! Each thread keeps a handful of slots, of the types that were used last. They hold no user
//! values, and are freed when the thread ends.

use crate::calls::slot_ends::{AnySettled, SettledEnd};
use crate::sync::thread_local;
use std::cell::Cell;

/// The number of slots that a thread keeps.
const PLACES: usize = 4;

/// The largest contents of a slot that is kept, in bytes.
const LARGEST: usize = 256;

type SpareSlots = [Cell<Option<AnySettled>>; PLACES];

thread_local! {
    /// The slot that was kept last comes first.
    static SPARES: SpareSlots = const { [const { Cell::new(None) }; PLACES] };
}

/// Takes a slot with contents of this type from this thread's cache.
#[inline]
pub(super) fn take<S: Send + 'static>() -> Option<SettledEnd<S>> {
    let taken = SPARES.try_with(|places| match places[0].take().map(AnySettled::downcast) {
        Some(Ok(spare)) => Some(spare),
        Some(Err(other)) => {
            places[0].set(Some(other));
            take_further(places)
        }
        None => take_further(places),
    });
    taken.ok().flatten()
}

#[cold]
fn take_further<S: Send + 'static>(places: &SpareSlots) -> Option<SettledEnd<S>> {
    places[1..].iter().find_map(|place| match place.take()?.downcast() {
        Ok(spare) => Some(spare),
        Err(other) => {
            place.set(Some(other));
            None
        }
    })
}

/// Puts a settled slot into the cache, from where it is reused. It must be as new.
#[inline]
pub(super) fn keep<S: Send + 'static>(spare: SettledEnd<S>) {
    if const { size_of::<S>() > LARGEST } {
        return;
    }
    let spare = AnySettled::new(spare);
    // A thread that is ending keeps nothing.
    let _ = SPARES.try_with(|places| {
        if let Some(before) = places[0].replace(Some(spare)) {
            keep_further(places, before);
        }
    });
}

/// Moves the slots on by one place; the last one is dropped.
#[cold]
fn keep_further(places: &SpareSlots, mut spare: AnySettled) {
    for place in &places[1..] {
        match place.replace(Some(spare)) {
            Some(before) => spare = before,
            None => return,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::calls::slot_ends::slot_of;
    use std::sync::{Arc, Weak};
    use std::thread;

    /// A settled slot with these contents.
    fn used<S: Send + 'static>(contents: S) -> SettledEnd<S> {
        let (fills, waits) = slot_of(contents);
        let settled: Result<(), ()> = fills.settle(|_| Ok(()));
        assert_eq!(settled, Ok(()));
        waits.into_settled().expect("a settled slot")
    }

    fn take_contents<S: Copy + Send + 'static>() -> Option<S> {
        take::<S>().map(|mut spare| *spare.contents())
    }

    #[test]
    fn a_cached_slot_is_reused_only_for_its_own_type() {
        keep(used(1_u8));
        keep(used(2_u16));
        assert_eq!(take_contents::<u32>(), None);
        assert_eq!(take_contents::<u8>(), Some(1));
        assert_eq!(take_contents::<u8>(), None);
        assert_eq!(take_contents::<u16>(), Some(2));
    }

    #[test]
    fn a_thread_keeps_only_the_slots_that_were_cached_last() {
        let kept: [Weak<usize>; 2 * PLACES] = std::array::from_fn(|number| {
            let contents = Arc::new(number);
            let kept = Arc::downgrade(&contents);
            keep(used(contents));
            kept
        });
        let alive = kept.iter().filter_map(Weak::upgrade).map(|number| *number);
        assert!(alive.eq(PLACES..2 * PLACES));
    }

    #[test]
    fn a_large_slot_is_not_cached() {
        keep(used([0_u8; LARGEST + 1]));
        assert!(take::<[u8; LARGEST + 1]>().is_none());
        keep(used([0_u8; LARGEST]));
        assert!(take::<[u8; LARGEST]>().is_some());
    }

    #[test]
    fn a_thread_that_ends_drops_its_cached_slots() {
        let contents = Arc::new(());
        let kept = Arc::downgrade(&contents);
        thread::spawn(move || keep(used(contents))).join().expect("a thread");
        assert_eq!(kept.strong_count(), 0);
    }
}
