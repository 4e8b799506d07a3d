//! How much may wait to be sent to one peer (rule Zmsg13).

use crate::error::QueueLimitsError;

/// The limits of the queue of bytes that wait to be sent to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueLimits {
    /// Beyond this many bytes, messages and calls are refused.
    pub(crate) soft: usize,
    /// Beyond this many bytes, the connection is ended.
    pub(crate) hard: usize,
}

impl QueueLimits {
    /// 1 MiB and 512 MiB.
    pub(crate) const DEFAULT: QueueLimits = QueueLimits { soft: 1 << 20, hard: 512 << 20 };

    /// Creates limits. A message is refused if more than the soft limit waits before it, and the
    /// connection is ended if more than the hard limit waits with it. With equal limits, the message
    /// that goes beyond the one goes beyond the other: no message would ever be refused.
    ///
    /// # Errors
    /// [`QueueLimitsError`].
    pub(crate) fn new(soft: usize, hard: usize) -> Result<Self, QueueLimitsError> {
        if soft == 0 {
            return Err(QueueLimitsError::Soft);
        }
        if hard <= soft {
            return Err(QueueLimitsError::Hard { soft, hard });
        }
        Ok(QueueLimits { soft, hard })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zmsg13_the_soft_limit_is_at_least_one_byte_and_less_than_the_hard_one() {
        assert_eq!(QueueLimits::new(0, 9), Err(QueueLimitsError::Soft));
        for hard in [0, 8, 9] {
            assert_eq!(QueueLimits::new(9, hard), Err(QueueLimitsError::Hard { soft: 9, hard }));
        }
        // What it says is so of equal limits, too.
        let equal = QueueLimitsError::Hard { soft: 9, hard: 9 }.to_string();
        assert!(equal.contains("9 bytes is not greater than the soft one, 9 bytes"), "{equal}");
        assert_eq!(QueueLimits::new(1, 2), Ok(QueueLimits { soft: 1, hard: 2 }));
        let QueueLimits { soft, hard } = QueueLimits::DEFAULT;
        assert_eq!(QueueLimits::new(soft, hard), Ok(QueueLimits::DEFAULT));
    }
}
