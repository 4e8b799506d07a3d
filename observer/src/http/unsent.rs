//! The bytes of answers that clients have not taken yet, over all connections: bounded, because a
//! client that reads slowly keeps its answer in memory.

use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Answers up to this size are not counted: connections bound them.
const SMALL: usize = 64 << 10;

/// The sum of the large answers that were not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Unsent {
    bytes: Arc<AtomicUsize>,
}

impl Unsent {
    /// Counts an answer until its bytes are gone. `None`: more than `most` would wait.
    pub(crate) fn keep(&self, answer: Bytes, most: usize) -> Option<Bytes> {
        let size = answer.len();
        if size <= SMALL {
            return Some(answer);
        }
        let counted = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| {
            sum.checked_add(size).filter(|sum| *sum <= most)
        });
        counted.ok()?;
        Some(Bytes::from_owner(CountedAnswer { answer, sum: Arc::clone(&self.bytes) }))
    }
}

/// An answer that is counted. hyper drops it when the last byte is written.
struct CountedAnswer {
    answer: Bytes,
    sum: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for CountedAnswer {
    fn as_ref(&self) -> &[u8] {
        &self.answer
    }
}

impl Drop for CountedAnswer {
    fn drop(&mut self) {
        self.sum.fetch_sub(self.answer.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v44_large_answers_that_wait_for_their_readers_are_bounded() {
        let unsent = Unsent::default();
        let large = || Bytes::from(vec![7; SMALL + 1]);
        let most = 2 * (SMALL + 1);
        let one = unsent.keep(large(), most).unwrap();
        let mut other = unsent.keep(large(), most).unwrap();
        assert!(unsent.keep(large(), most).is_none());
        assert!(unsent.keep(Bytes::from_static(b"small"), most).is_some());
        // A part that was written is not gone before the rest is.
        let part = other.split_to(10);
        drop(part);
        assert!(unsent.keep(large(), most).is_none());
        assert_eq!(other.len(), SMALL + 1 - 10);
        drop((one, other));
        assert_eq!(unsent.bytes.load(Ordering::Relaxed), 0);
        assert!(unsent.keep(large(), most).is_some());
    }
}
