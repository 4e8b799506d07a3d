//! Changes of the members of a group.

use crate::{Name, Pid};
use std::fmt;

/// A change of the members of a group, as those hear of it who watch the group (rule G3). A process
/// that joins several times is in as many changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GroupChange {
    /// A process has joined.
    Joined {
        /// The group.
        group: Name,
        /// The process.
        pid: Pid,
    },
    /// A process has left, or has ended.
    Left {
        /// The group.
        group: Name,
        /// The process.
        pid: Pid,
    },
}

impl GroupChange {
    /// Returns the group.
    #[must_use]
    pub fn group(&self) -> &Name {
        match self {
            GroupChange::Joined { group, .. } | GroupChange::Left { group, .. } => group,
        }
    }

    /// Returns the process that has joined or left.
    #[must_use]
    pub fn pid(&self) -> Pid {
        match self {
            GroupChange::Joined { pid, .. } | GroupChange::Left { pid, .. } => *pid,
        }
    }
}

impl fmt::Display for GroupChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let did = match self {
            GroupChange::Joined { .. } => "joined",
            GroupChange::Left { .. } => "left",
        };
        write!(f, "{} {did} group {:?}", self.pid(), self.group().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g3_a_change_prints_who_and_which_group() {
        let (group, pid) = (Name::new("stock").unwrap(), Pid::local(7, 0));
        let joined = GroupChange::Joined { group: group.clone(), pid };
        assert_eq!(joined.to_string(), "<0.7.0> joined group \"stock\"");
        let left = GroupChange::Left { group, pid };
        assert_eq!(left.to_string(), "<0.7.0> left group \"stock\"");
        assert_eq!((joined.group(), joined.pid()), (left.group(), left.pid()));
    }
}
