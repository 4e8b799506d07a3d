//! The errors of an overflow rule.

use crate::errors::order::OrderError;

/// An overflow rule was set for a mailbox without a bound, which is never full (rule M6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an overflow rule was set for a mailbox without a bound, which is never full")]
pub struct NoBound;

/// The error of a change of the overflow rule. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverflowError {
    /// The mailbox has no bound.
    #[error(transparent)]
    NoBound(#[from] NoBound),
    /// The mailbox has an order, so it cannot drop its oldest message.
    #[error(transparent)]
    Order(#[from] OrderError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    #[test]
    fn b1_an_overflow_error_states_which_setting_contradicts_the_rule() {
        for (error, said) in [
            (
                OverflowError::from(NoBound),
                "an overflow rule was set for a mailbox without a bound, which is never full",
            ),
            (
                OverflowError::from(OrderError::DropsOldest),
                "a mailbox that drops its oldest message cannot have an order",
            ),
        ] {
            assert_eq!(error.to_string(), said);
            // The text is the inner error's own, so the chain ends here.
            assert!(error.source().is_none(), "{error:?}");
        }
    }
}
