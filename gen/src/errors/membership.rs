//! The errors of groups and registries: one for each operation.

use crate::{NameError, Pid};

/// The error of joining a group. Nothing has changed (rules G1, G2, G5).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The text is not a valid name of a group.
    #[error(transparent)]
    InvalidName(#[from] NameError),
    /// The process has ended.
    #[error("{0} has ended and joins no group")]
    NoProcess(Pid),
    /// The process belongs to another node, which joins it itself.
    #[error("{0} is a process of another node, which must join it itself")]
    NotLocal(Pid),
}

/// The error of leaving a group (rule G1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeaveError {
    /// The process is not a member.
    #[error("{pid} is not a member of group {group:?}")]
    NotJoined {
        /// The process.
        pid: Pid,
        /// The group.
        group: String,
    },
}

/// The error of watching a group (rule G3). Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WatchGroupError {
    /// The text is not a valid name of a group.
    #[error(transparent)]
    InvalidName(#[from] NameError),
    /// The process that watches has ended (a context can be moved out of its process).
    #[error("{0} has ended and watches no group")]
    NoProcess(Pid),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errors_of_groups_name_the_process_and_the_group() {
        let pid = Pid::local(7, 0);
        let left = LeaveError::NotJoined { pid, group: "stock".to_owned() };
        for (text, expected) in [
            (JoinError::NoProcess(pid).to_string(), "<0.7.0> has ended and joins no group"),
            (
                JoinError::NotLocal(pid).to_string(),
                "<0.7.0> is a process of another node, which must join it itself",
            ),
            (left.to_string(), "<0.7.0> is not a member of group \"stock\""),
            (WatchGroupError::NoProcess(pid).to_string(), "<0.7.0> has ended and watches no group"),
        ] {
            assert_eq!(text, expected);
        }
        let empty = NameError::Empty;
        assert_eq!(JoinError::from(empty.clone()).to_string(), empty.to_string());
        assert_eq!(WatchGroupError::from(empty.clone()).to_string(), empty.to_string());
    }
}
