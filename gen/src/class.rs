//! Scheduling classes.

use std::fmt;

/// How soon a ready process gets its turn (rule R6).
///
/// The idea is Otavia's sub-queue of actors with high priority, with a limit that keeps other
/// processes from starving. A [`Priority`](crate::Priority) orders the messages of one process, a
/// class the processes of one dispatcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Class {
    /// Runs in the order in which processes became ready.
    #[default]
    Normal,
    /// Runs before all processes of class Normal. After at most 16 turns of this class in a row
    /// a worker runs one turn of a normal process, if it finds one.
    High,
    /// Normal until the process sets its own class (`Context::set_class`), as often as it
    /// likes.
    ///
    /// For behaviours that know how urgent their waiting work is: a state actor spawned with
    /// this class is of class High while its load is high.
    Varying,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Normal => "normal",
            Class::High => "high",
            Class::Varying => "varying",
        })
    }
}
