//! How long an acceptor waits when the system refuses.

use std::time::Duration;

/// After the first refusal.
const FIRST: Duration = Duration::from_millis(10);
/// At most.
const LONGEST: Duration = Duration::from_secs(1);

/// Twice as long after each refusal, and as at first when something was accepted.
#[derive(Debug)]
pub(crate) struct AcceptBackOff(Duration);

impl AcceptBackOff {
    pub(crate) fn new() -> Self {
        AcceptBackOff(FIRST)
    }

    /// Whether nothing was refused since something was last accepted.
    pub(crate) fn is_fresh(&self) -> bool {
        self.0 == FIRST
    }

    /// How long to wait after one more refusal.
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
