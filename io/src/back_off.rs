//! The waits of an acceptor after errors of the system.

use std::time::Duration;

/// The wait after the first error.
const FIRST: Duration = Duration::from_millis(10);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(1);

/// A wait that doubles after each error, and is reset by an accepted connection.
#[derive(Debug)]
pub(crate) struct AcceptBackOff(Duration);

impl AcceptBackOff {
    pub(crate) fn new() -> Self {
        AcceptBackOff(FIRST)
    }

    /// Whether there was no error since the last accepted connection.
    pub(crate) fn is_fresh(&self) -> bool {
        self.0 == FIRST
    }

    /// Returns the wait after a further error.
    pub(crate) fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = (wait * 2).min(LONGEST);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i6_the_waits_of_an_acceptor_double_up_to_a_second() {
        let mut back_off = AcceptBackOff::new();
        assert!(back_off.is_fresh());
        let waits: Vec<_> = (0..10).map(|_| back_off.next().as_millis()).collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
        assert!(!back_off.is_fresh());
    }
}
