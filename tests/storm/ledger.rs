//! What the processes of a storm write down about themselves, and what must not stand there.

use krarup::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A child's place in the specification of its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Post {
    /// The parent, as specified.
    pub(crate) group: &'static str,
    pub(crate) index: usize,
    /// How many there may be at a time.
    pub(crate) at_most: usize,
    /// No later child of the same parent may be alive when this one starts, or is stopped.
    pub(crate) in_order: bool,
}

#[derive(Default)]
struct Book {
    /// By parent and post: one incarnation of a supervisor knows nothing of those whom an
    /// earlier one, that was killed, left on their way out.
    alive: HashMap<(Pid, Post), usize>,
    births: HashMap<(Pid, Post), u64>,
    faults: Vec<String>,
}

impl Book {
    fn check_order(&mut self, parent: Pid, post: Post, what: &str) {
        let is_later = |other: &Post| other.group == post.group && other.index > post.index;
        let later = self.alive.iter().find(|((of, other), alive)| {
            post.in_order && *of == parent && is_later(other) && **alive > 0
        });
        if let Some(((_, later), _)) = later {
            let fault = format!("{post:?} {what} under {parent} while {later:?} is alive");
            self.faults.push(fault);
        }
    }
}

#[derive(Clone, Default)]
pub(crate) struct Ledger {
    book: Arc<Mutex<Book>>,
    /// Starts may fail.
    pub(crate) is_storming: Arc<AtomicBool>,
    pub(crate) letters: Arc<Letters>,
}

impl Ledger {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An incarnation begins; it lives as long as what is returned.
    pub(crate) fn born(&self, parent: Pid, post: Post) -> Life {
        let mut book = self.book();
        book.check_order(parent, post, "starts");
        *book.births.entry((parent, post)).or_default() += 1;
        let alive = book.alive.entry((parent, post)).or_default();
        *alive += 1;
        if *alive > post.at_most {
            let fault = format!("{alive} of {post:?} are alive under {parent}");
            book.faults.push(fault);
        }
        Life { ledger: self.clone(), parent, post }
    }

    /// A child is stopped by its supervisor.
    pub(crate) fn stopped(&self, life: &Life) {
        self.book().check_order(life.parent, life.post, "is stopped");
    }

    pub(crate) fn alive(&self) -> usize {
        self.book().alive.values().sum()
    }

    pub(crate) fn births(&self, parent: Pid, post: Post) -> u64 {
        self.book().births.get(&(parent, post)).copied().unwrap_or_default()
    }

    pub(crate) fn faults(&self) -> Vec<String> {
        self.book().faults.clone()
    }
}

/// Taken off the ledger when it is dropped, with the state that holds it.
pub(crate) struct Life {
    ledger: Ledger,
    parent: Pid,
    post: Post,
}

impl Drop for Life {
    fn drop(&mut self) {
        let mut book = self.ledger.book();
        let alive = book.alive.get_mut(&(self.parent, self.post));
        *alive.expect("it was born") -= 1;
    }
}

/// What became of the messages: each is written and, at the end, has been handled, given
/// back to its sender, or lost with a process.
#[derive(Debug, Default)]
pub(crate) struct Letters {
    pub(crate) written: AtomicU64,
    pub(crate) handled: AtomicU64,
    pub(crate) returned: AtomicU64,
    pub(crate) lost: AtomicU64,
}

/// A message that is counted wherever it ends.
pub(crate) struct Letter(Option<Arc<Letters>>);

impl Letter {
    pub(crate) fn write(ledger: &Ledger) -> Self {
        ledger.letters.written.fetch_add(1, Ordering::SeqCst);
        Letter(Some(Arc::clone(&ledger.letters)))
    }

    pub(crate) fn handled(mut self) {
        self.0.take().expect("not yet counted").handled.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn returned(mut self) {
        self.0.take().expect("not yet counted").returned.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Letter {
    fn drop(&mut self) {
        if let Some(letters) = self.0.take() {
            letters.lost.fetch_add(1, Ordering::SeqCst);
        }
    }
}
