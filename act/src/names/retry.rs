//! The policy of attempts of a call (rule H6).

use krarup_gen::{CallError, RetryError, UndeliveredCause};
use std::time::Duration;

/// Which failed attempts of a call are repeated, how often, and after which waits (rule H6).
///
/// | policy | repeats |
/// |---|---|
/// | [`Retry::never`] | nothing, and does not wait for a process to have the name |
/// | [`Retry::restarts`], the default | requests that no handler has seen because their process has ended |
/// | [`Retry::not_begun`] | in addition requests that were refused: full, no workers, rate limited, drained, expired |
/// | and [`Retry::idempotent`] | in addition requests that may have been handled: terminated, no reply, timeout of one attempt |
///
/// A request that may have been handled is never repeated, unless the program says that handling it
/// twice does no harm. Errors that stay are not repeated: a call that closes a cycle, a node that
/// has stopped, a thread that cannot wait.
///
/// The first attempt after a restart is made at once. Before the others there is a wait: `first`,
/// then twice as long each time, up to `longest`. The jitter shortens a wait by a random part, which
/// in a simulation comes from the seed. A pool at its rate limit says when it takes the next request;
/// a wait is at least as long. An attempt that could only begin after the deadline of the call is
/// not waited for: the call fails at once with the error of the last attempt.
///
/// ```
/// # use krarup_act::Retry;
/// # use std::time::Duration;
/// let patient = Retry::not_begun()
///     .attempts(5)
///     .waits(Duration::from_millis(20), Duration::from_secs(1))
///     .jitter(0.5);
/// # let _ = patient;
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    repeats: Repeats,
    idempotent: bool,
    attempts: Option<u32>,
    attempt_timeout: Option<Duration>,
    first: Duration,
    longest: Duration,
    jitter: f64,
}

/// Which requests are repeated that were certainly not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeats {
    Nothing,
    Ended,
    Refused,
}

/// What follows a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Again {
    /// The call fails.
    No,
    /// Another attempt, after this wait. If the process has ended, the wait begins when another one
    /// has the name.
    After(Duration),
}

impl Default for Retry {
    fn default() -> Self {
        Retry::restarts()
    }
}

impl Retry {
    const fn new(repeats: Repeats) -> Self {
        Retry {
            repeats,
            idempotent: false,
            attempts: None,
            attempt_timeout: None,
            first: Duration::from_millis(10),
            longest: Duration::from_secs(1),
            jitter: 0.5,
        }
    }

    /// One attempt, at the process that has the name now.
    #[must_use]
    pub const fn never() -> Self {
        Retry::new(Repeats::Nothing).attempts(1)
    }

    /// Waits until a process has the name, and repeats requests that no handler has seen because
    /// their process has ended.
    #[must_use]
    pub const fn restarts() -> Self {
        Retry::new(Repeats::Ended)
    }

    /// As [`Retry::restarts`], and repeats requests that were refused.
    #[must_use]
    pub const fn not_begun() -> Self {
        Retry::new(Repeats::Refused)
    }

    /// Also repeats requests that may have been handled. Handling them twice must do no harm.
    #[must_use]
    pub const fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Sets how many attempts there are, the first included. The default is as many as the time of
    /// the call allows.
    #[must_use]
    pub const fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// Sets how long one attempt waits for its reply. The default is what is left of the time of the
    /// call. It is of use with [`Retry::idempotent`]: an attempt that has timed out may have been
    /// handled.
    #[must_use]
    pub const fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = Some(timeout);
        self
    }

    /// Sets the first and the longest wait between two attempts. The default is 10 ms to 1 s.
    #[must_use]
    pub const fn waits(mut self, first: Duration, longest: Duration) -> Self {
        self.first = first;
        self.longest = longest;
        self
    }

    /// Sets the random part of each wait, from 0 to 1: with 0.2, a wait of 1 s lasts from 0.8 to 1 s.
    /// The default is 0.5. It keeps clients that have failed together from coming back together.
    #[must_use]
    pub const fn jitter(mut self, jitter: f64) -> Self {
        self.jitter = jitter;
        self
    }

    /// Checks the policy.
    ///
    /// # Errors
    /// [`RetryError`] names what is wrong.
    pub fn check(&self) -> Result<(), RetryError> {
        let Retry { first, longest, jitter, .. } = *self;
        if self.attempts == Some(0) {
            Err(RetryError::NoAttempts)
        } else if first.is_zero() {
            Err(RetryError::ZeroWait)
        } else if longest < first {
            Err(RetryError::LongestUnderFirst { first, longest })
        } else if !(0.0..=1.0).contains(&jitter) {
            Err(RetryError::Jitter(jitter))
        } else {
            Ok(())
        }
    }

    /// Whether the call waits until a process has the name.
    pub(crate) fn waits_for_a_name(&self) -> bool {
        self.repeats != Repeats::Nothing
    }

    /// How long an attempt lasts, of a call that has this time left.
    pub(crate) fn time_of_attempt(&self, left: Option<Duration>) -> Option<Duration> {
        match (self.attempt_timeout, left) {
            (Some(one), Some(left)) => Some(one.min(left)),
            (one, left) => one.or(left),
        }
    }

    /// Decides what follows the failed attempt with this number, the first being 1. `has_ended` says
    /// that the process which had the name has ended, `left` is the time of the call that is left.
    pub(crate) fn after(
        &self,
        error: &CallError,
        attempt: u32,
        has_ended: bool,
        left: Option<Duration>,
        random: u64,
    ) -> Again {
        if self.attempts.is_some_and(|most| attempt >= most) || !self.repeats(error) {
            return Again::No;
        }
        // A process that has ended is replaced, so the first attempt at the next one need not wait.
        let waits = if has_ended { attempt - 1 } else { attempt };
        let least = match error {
            CallError::RateLimited { retry_after, .. } => *retry_after,
            _ => Duration::ZERO,
        };
        let wait = self.wait(waits, random).max(least);
        if left.is_some_and(|left| left <= wait) { Again::No } else { Again::After(wait) }
    }

    fn repeats(&self, error: &CallError) -> bool {
        match error {
            CallError::NoProcess { .. } | CallError::NotBegun { .. } => {
                self.repeats != Repeats::Nothing
            }
            CallError::Full { .. }
            | CallError::NoWorkers { .. }
            | CallError::RateLimited { .. }
            | CallError::Draining { .. }
            | CallError::Undelivered {
                cause: UndeliveredCause::Full | UndeliveredCause::NoConnection,
                ..
            }
            | CallError::Expired { .. } => self.repeats == Repeats::Refused,
            CallError::Timeout { .. }
            | CallError::Terminated { .. }
            | CallError::NoReply { .. } => self.idempotent,
            // These stay. An error that is added later is not repeated unless it is named here.
            _ => false,
        }
    }

    /// The wait with this number, shortened by its random part; 0 is no wait.
    fn wait(&self, number: u32, random: u64) -> Duration {
        let Some(doublings) = number.checked_sub(1) else { return Duration::ZERO };
        let longest = 2_u32
            .checked_pow(doublings)
            .and_then(|factor| self.first.checked_mul(factor))
            .map_or(self.longest, |wait| wait.min(self.longest));
        // A fraction holds 53 bits.
        #[allow(clippy::cast_precision_loss, reason = "no more bits than it holds")]
        let fraction = (random >> 11) as f64 / (1_u64 << 53) as f64;
        let seconds = longest.as_secs_f64() * (1.0 - self.jitter * fraction);
        // As a fraction, the longest duration is rounded up to a value that is not a duration.
        Duration::try_from_secs_f64(seconds).unwrap_or(longest).min(longest)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use krarup_gen::{CannotWait, Pid, Reason};

    const TO: Pid = Pid::local(7, 1);

    fn undelivered(cause: UndeliveredCause) -> CallError {
        CallError::Undelivered { to: Box::new(TO.into()), cause }
    }

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Errors of requests whose process has ended unseen, that were refused, that may have been
    /// handled, and that stay.
    fn errors() -> [Vec<CallError>; 4] {
        let (to, reason) = (TO, Reason::Killed);
        let after = millis(1);
        [
            vec![CallError::NoProcess { to }, CallError::NotBegun { to, reason: reason.clone() }],
            vec![
                CallError::Full { to },
                CallError::NoWorkers { to },
                CallError::RateLimited { to, retry_after: after },
                CallError::Draining { to },
                undelivered(UndeliveredCause::Full),
                undelivered(UndeliveredCause::NoConnection),
                CallError::Expired { to, waited: after },
            ],
            vec![
                CallError::Timeout { to, limit: after },
                CallError::Terminated { to, reason },
                CallError::NoReply { to },
            ],
            vec![
                CallError::NodeStopped { to },
                CallError::CallsItself(to),
                CallError::CannotWait(CannotWait::InProcess),
                CallError::CannotWait(CannotWait::Stalled),
                CallError::NotReservable { to },
                undelivered(UndeliveredCause::Unserializable("NaN".into())),
                undelivered(UndeliveredCause::Undecodable("NaN".into())),
            ],
        ]
    }

    #[test]
    fn h5_only_requests_that_were_certainly_not_begun_are_repeated_unless_they_are_idempotent() {
        for (policy, repeated) in [
            (Retry::never(), [false, false, false, false]),
            (Retry::restarts(), [true, false, false, false]),
            (Retry::default(), [true, false, false, false]),
            (Retry::not_begun(), [true, true, false, false]),
            (Retry::restarts().idempotent(), [true, false, true, false]),
            (Retry::not_begun().idempotent(), [true, true, true, false]),
        ] {
            for (errors, repeated) in errors().into_iter().zip(repeated) {
                for error in errors {
                    let again = policy.after(&error, 1, false, None, 0) != Again::No;
                    assert_eq!(again, repeated, "{policy:?} {error}");
                    // What is repeated without a word of the program was certainly not begun.
                    assert!(policy.idempotent || !again || !error.was_begun(), "{error}");
                }
            }
        }
    }

    #[test]
    fn h6_waits_double_up_to_the_longest_and_the_jitter_shortens_them() {
        let policy = Retry::not_begun().waits(millis(10), millis(60)).jitter(0.5);
        let full = CallError::Full { to: TO };
        let waits = |random| -> Vec<_> {
            (1..=5).map(|attempt| policy.after(&full, attempt, false, None, random)).collect()
        };
        let after = |all: [u64; 5]| all.map(|wait| Again::After(millis(wait))).to_vec();
        assert_eq!(waits(0), after([10, 20, 40, 60, 60]));
        let half = waits(1 << 63);
        assert_eq!(
            half,
            after([10, 20, 40, 60, 60])
                .iter()
                .map(|wait| match wait {
                    Again::After(wait) => Again::After(*wait * 3 / 4),
                    Again::No => Again::No,
                })
                .collect::<Vec<_>>()
        );
        // An ended process: the first attempt at the next one does not wait.
        let ended = CallError::NoProcess { to: TO };
        assert_eq!(policy.after(&ended, 1, true, None, 0), Again::After(Duration::ZERO));
        assert_eq!(policy.after(&ended, 2, true, None, 0), Again::After(millis(10)));
        // The longest numbers neither overflow nor panic.
        let long = Retry::not_begun().waits(Duration::MAX, Duration::MAX);
        assert_eq!(long.after(&full, u32::MAX, false, None, 0), Again::After(Duration::MAX));
        assert_ne!(long.after(&full, u32::MAX, false, None, u64::MAX), Again::No);
    }

    #[test]
    fn h6_attempts_are_counted_and_none_begins_after_the_deadline() {
        let full = CallError::Full { to: TO };
        let policy = Retry::not_begun().attempts(3).jitter(0.0);
        let again = |attempt, left| policy.after(&full, attempt, false, left, 0);
        assert_eq!(again(2, None), Again::After(millis(20)));
        assert_eq!(again(3, None), Again::No);
        assert_eq!(again(2, Some(millis(20))), Again::No);
        assert_eq!(again(2, Some(millis(21))), Again::After(millis(20)));
        let limited = CallError::RateLimited { to: TO, retry_after: millis(700) };
        assert_eq!(policy.after(&limited, 1, false, None, 0), Again::After(millis(700)));
        assert_eq!(policy.after(&limited, 1, false, Some(millis(700)), 0), Again::No);
        let timed = policy.attempt_timeout(millis(5));
        assert_eq!(timed.time_of_attempt(Some(millis(3))), Some(millis(3)));
        assert_eq!(timed.time_of_attempt(None), Some(millis(5)));
        assert_eq!(policy.time_of_attempt(None), None);
    }

    #[test]
    fn h6_an_invalid_policy_is_refused() {
        let (one, two) = (millis(1), millis(2));
        for (policy, error) in [
            (Retry::never().attempts(0), Err(RetryError::NoAttempts)),
            (Retry::never().waits(Duration::ZERO, one), Err(RetryError::ZeroWait)),
            (
                Retry::never().waits(two, one),
                Err(RetryError::LongestUnderFirst { first: two, longest: one }),
            ),
            (Retry::never().jitter(1.5), Err(RetryError::Jitter(1.5))),
            (Retry::never().attempts(1).waits(one, one).jitter(1.0), Ok(())),
        ] {
            assert_eq!(policy.check(), error);
        }
        assert!(matches!(Retry::never().jitter(f64::NAN).check(), Err(RetryError::Jitter(_))));
    }
}
