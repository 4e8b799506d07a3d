//! What is used again: a call makes a slot and is soon done with it, and to allocate and free
//! that costs as much as all else that it does there.
//!
//! Each thread keeps a handful, of whatever types were used last. What is kept holds nothing of
//! a user's, and is forgotten when the thread ends.

use crate::sync::thread_local;
use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;

/// How many a thread keeps.
const PLACES: usize = 4;

/// The largest that is kept, in bytes.
const LARGEST: usize = 256;

type Spare = Arc<dyn Any + Send + Sync>;

type Places = [Cell<Option<Spare>>; PLACES];

thread_local! {
    /// What was kept last comes first.
    static SPARES: Places = const { [const { Cell::new(None) }; PLACES] };
}

/// One of this type that was kept on this thread.
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
fn take_further<S: Send + Sync + 'static>(places: &Places) -> Option<Arc<S>> {
    places[1..].iter().find_map(|place| match place.take()?.downcast() {
        Ok(spare) => Some(spare),
        Err(other) => {
            place.set(Some(other));
            None
        }
    })
}

/// Keeps this, for whoever needs one of its type: it must be as new.
#[inline]
pub(crate) fn keep<S: Send + Sync + 'static>(spare: Arc<S>) {
    if const { size_of::<S>() > LARGEST } {
        return;
    }
    // A thread that ends keeps nothing.
    let _ = SPARES.try_with(|places| {
        if let Some(before) = places[0].replace(Some(spare)) {
            keep_further(places, before);
        }
    });
}

/// What was there moves on by one place; the last one goes.
#[cold]
fn keep_further(places: &Places, mut spare: Spare) {
    for place in &places[1..] {
        match place.replace(Some(spare)) {
            Some(before) => spare = before,
            None => return,
        }
    }
}
