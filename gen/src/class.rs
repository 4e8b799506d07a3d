//! Scheduling classes.

use std::fmt;

/// How soon a process that has something to do gets its turn (rule R6).
///
/// The idea is Otavia's sub-queue of actors with high priority, with a limit that keeps the
/// others from starving. A [`crate::Priority`] orders the messages of one process, a class the
/// processes of one dispatcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Class {
    /// In the order in which processes became ready.
    #[default]
    Normal,
    /// Before all of the class Normal, in the order of their own; after at most 16 turns of
    /// this class in a row a worker runs one of a normal process, if it finds one.
    High,
    /// Normal, until the process says otherwise of itself (`Context::set_class`), and as often as
    /// it does. For behaviours that know how urgent what waits in them is: a state actor that is
    /// spawned so is of high class while its load is high.
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
