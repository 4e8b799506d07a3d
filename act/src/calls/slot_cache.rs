//! A cache of slots for each thread. A call uses its slot for a short time only, and to
//! allocate and free the slot costs as much as the rest of the work on it.
//!
//! Each thread keeps a handful of slots, of the types that were used last. They hold no user
//! values, and are freed when the thread ends.

use crate::sync::thread_local;
use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;

/// The number of slots that a thread keeps.
const PLACES: usize = 4;

/// The largest slot that is kept, in bytes.
const LARGEST: usize = 256;

type Spare = Arc<dyn Any + Send + Sync>;

type SpareSlots = [Cell<Option<Spare>>; PLACES];

thread_local! {
    /// The slot that was kept last comes first.
    static SPARES: SpareSlots = const { [const { Cell::new(None) }; PLACES] };
}

/// Takes a slot of this type from this thread's cache.
#[inline]
pub(crate) fn take<S: Send + Sync + 'static>() -> Option<Arc<S>> {
    let taken = SPARES.try_with(|places| {
        let first = places[0].take();
        match first.map(Arc::downcast) {
            Some(Ok(spare)) => Some(spare),
            Some(Err(other)) => {
                places[0].set(Some(other));
                take_further(places)
            }
            None => take_further(places),
        }
    });
    taken.ok().flatten()
}

#[cold]
fn take_further<S: Send + Sync + 'static>(places: &SpareSlots) -> Option<Arc<S>> {
    places[1..].iter().find_map(|place| match place.take()?.downcast() {
        Ok(spare) => Some(spare),
        Err(other) => {
            place.set(Some(other));
            None
        }
    })
}

/// Puts a slot into the cache, from where it is reused. It must be as new.
#[inline]
pub(crate) fn keep<S: Send + Sync + 'static>(spare: Arc<S>) {
    if const { size_of::<S>() > LARGEST } {
        return;
    }
    // A thread that is ending keeps nothing.
    let _ = SPARES.try_with(|places| {
        if let Some(before) = places[0].replace(Some(spare)) {
            keep_further(places, before);
        }
    });
}

/// Moves the slots on by one place; the last one is dropped.
#[cold]
fn keep_further(places: &SpareSlots, mut spare: Spare) {
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
    use std::sync::Weak;
    use std::thread;

    #[test]
    fn a_cached_slot_is_reused_only_for_its_own_type() {
        keep(Arc::new(1_u8));
        keep(Arc::new(2_u16));
        assert_eq!(take::<u32>(), None);
        assert_eq!(take::<u8>().as_deref(), Some(&1));
        assert_eq!(take::<u8>(), None);
        assert_eq!(take::<u16>().as_deref(), Some(&2));
    }

    #[test]
    fn a_thread_keeps_only_the_slots_that_were_cached_last() {
        let kept: [Weak<usize>; 2 * PLACES] = std::array::from_fn(|number| {
            let spare = Arc::new(number);
            let kept = Arc::downgrade(&spare);
            keep(spare);
            kept
        });
        let alive = kept.iter().filter_map(Weak::upgrade).map(|number| *number);
        assert!(alive.eq(PLACES..2 * PLACES));
    }

    #[test]
    fn a_large_slot_is_not_cached() {
        keep(Arc::new([0_u8; LARGEST + 1]));
        assert_eq!(take::<[u8; LARGEST + 1]>(), None);
        keep(Arc::new([0_u8; LARGEST]));
        assert!(take::<[u8; LARGEST]>().is_some());
    }

    #[test]
    fn a_thread_that_ends_drops_its_cached_slots() {
        let spare = Arc::new(());
        let kept = Arc::downgrade(&spare);
        thread::spawn(move || keep(spare)).join().expect("a thread");
        assert_eq!(kept.strong_count(), 0);
    }
}
