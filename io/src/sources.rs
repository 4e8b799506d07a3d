//! The open sockets by their tokens.

use crate::readiness::Readiness;
use mio::Token;
use std::collections::HashMap;
use std::sync::Arc;

/// The token that wakes the thread itself.
pub(crate) const WAKE_UP: Token = Token(0);

/// The open sockets. A token belongs to one socket while that is open: tokens are counted
/// up, the counter wraps around, and tokens in use are skipped. A report for a closed
/// socket finds no entry. After 2^32 further sockets on a 32-bit system it may find
/// another socket, which is then tried once in vain.
pub(crate) struct Sources {
    open: HashMap<Token, Arc<Readiness>>,
    /// The token that was assigned last.
    last: usize,
}

impl Sources {
    pub(crate) fn new() -> Self {
        Sources { open: HashMap::new(), last: WAKE_UP.0 }
    }

    /// Adds a socket under a new token.
    pub(crate) fn add(&mut self, readiness: Arc<Readiness>) -> Token {
        loop {
            self.last = self.last.wrapping_add(1);
            let token = Token(self.last);
            if token != WAKE_UP && !self.open.contains_key(&token) {
                self.open.insert(token, readiness);
                return token;
            }
        }
    }

    pub(crate) fn of(&self, token: Token) -> Option<&Readiness> {
        self.open.get(&token).map(|readiness| &**readiness)
    }

    /// Removes a socket. The result may hold a waker, which must not be dropped under a lock.
    pub(crate) fn remove(&mut self, token: Token) -> Option<Arc<Readiness>> {
        self.open.remove(&token)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Readiness> {
        self.open.values().map(|readiness| &**readiness)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i2_tokens_of_open_sockets_are_distinct_and_differ_from_the_threads_own() {
        let mut sources = Sources::new();
        let readiness = || Arc::new(Readiness::new());
        let early: Vec<_> = (0..3)
            .map(|_| (readiness(), ()))
            .map(|(r, ())| {
                let token = sources.add(Arc::clone(&r));
                (token, r)
            })
            .collect();
        assert_eq!(sources.remove(early[1].0).map(|r| Arc::ptr_eq(&r, &early[1].1)), Some(true));
        // Simulate so many sockets that the counter wraps around.
        sources.last = usize::MAX - 1;
        let late: Vec<_> = (0..3).map(|_| sources.add(readiness())).collect();
        assert_eq!(late, [Token(usize::MAX), early[1].0, Token(4)]);
        for place in [0, 2] {
            let (token, readiness) = &early[place];
            assert!(
                sources.of(*token).is_some_and(|open| std::ptr::eq(open, &raw const **readiness))
            );
        }
        assert!(sources.of(WAKE_UP).is_none());
        assert_eq!(sources.all().count(), 5);
    }
}
