//! The error of blocking work.

use crate::errors::thread::ThreadError;

/// The error of blocking work that was not run. The work has been dropped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The node has stopped, or it stopped before the work began (rule X2).
    #[error("node has stopped: the blocking work was not run")]
    NodeStopped,
    /// There is no side thread, and none can be started.
    #[error("cannot start a thread for blocking work: {0}")]
    NoThread(#[source] ThreadError),
    /// The node was built without a blocking pool of this name.
    #[error("the node has no blocking pool named {0:?}: the blocking work was not run")]
    UnknownPool(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;
    use std::io;

    #[test]
    fn b1_a_block_error_names_the_cause_and_the_value() {
        let error = || ThreadError::from(io::Error::other("no memory"));
        for (error, said, source) in [
            (BlockError::NodeStopped, "node has stopped: the blocking work was not run", None),
            (
                BlockError::NoThread(error()),
                "cannot start a thread for blocking work: no memory",
                Some(error()),
            ),
            (
                BlockError::UnknownPool("disk".into()),
                "the node has no blocking pool named \"disk\": the blocking work was not run",
                None,
            ),
        ] {
            assert_eq!(error.to_string(), said);
            assert_eq!(error.source().and_then(|source| source.downcast_ref()), source.as_ref());
        }
    }
}
