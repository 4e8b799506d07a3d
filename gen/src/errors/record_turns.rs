//! The error of a recording of turns that cannot begin.

use crate::Timestamp;
use std::time::Duration;

/// The error of a recording of turns that cannot begin (rule X13).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordTurnsError {
    /// The node has stopped, or is gone.
    #[error("node {0:?} has stopped")]
    NodeStopped(String),
    /// The node already records its turns, until this time. It has one recording at a time.
    #[error("node {node:?} already records its turns, for at most another {left:?}", left = .until.since(*.now))]
    AlreadyRecording {
        /// The name of the node.
        node: String,
        /// The node's time now.
        now: Timestamp,
        /// When that recording ends by itself.
        until: Timestamp,
    },
    /// The recording would keep no turn, or too many.
    #[error("a recording keeps 1 to {most} turns, not {turns}")]
    Turns {
        /// How many were requested.
        turns: usize,
        /// The most turns of a recording.
        most: usize,
    },
    /// The recording would take no time.
    #[error("a recording of {0:?} records nothing")]
    Time(Duration),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b1_a_recording_error_names_the_node_and_the_value() {
        let node = || "a@b".to_owned();
        let at = |secs: u64| Timestamp::from_nanos(secs * 1_000_000_000);
        for (error, said) in [
            (RecordTurnsError::NodeStopped(node()), "node \"a@b\" has stopped"),
            (
                RecordTurnsError::AlreadyRecording { node: node(), now: at(1), until: at(3) },
                "node \"a@b\" already records its turns, for at most another 2s",
            ),
            (
                RecordTurnsError::Turns { turns: 0, most: 5 },
                "a recording keeps 1 to 5 turns, not 0",
            ),
            (RecordTurnsError::Time(Duration::ZERO), "a recording of 0ns records nothing"),
        ] {
            assert_eq!(error.to_string(), said);
        }
    }
}
