//! What a future that works for others returns.

use crate::{Reason, Result};

/// The outcome of a future that works for others, such as the run of a job or a batch: nothing, or
/// a result whose error is the failure.
pub trait WorkOutcome: Send + 'static {
    /// Returns the result without its value.
    ///
    /// # Errors
    /// The failure.
    fn outcome(self) -> Result;
}

impl WorkOutcome for () {
    fn outcome(self) -> Result {
        Ok(())
    }
}

impl<T, E> WorkOutcome for Result<T, E>
where
    T: Send + 'static,
    E: Into<Reason> + Send + 'static,
{
    fn outcome(self) -> Result {
        self.map(drop).map_err(Into::into)
    }
}
