//! An application of a node, as those see it who look.

use crate::{Name, Pid, Reason};

/// An application of a node at one moment (rule V96). No process takes part.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ApplicationPicture {
    /// Its name.
    pub name: Name,
    /// Whether it runs.
    pub runs: bool,
    /// How it was lost: it ran, its top process ended by itself and not normally, and it has not run
    /// since. `None` if nobody has started it, it was stopped by request, or it ended normally.
    pub lost: Option<(Pid, Reason)>,
}

impl ApplicationPicture {
    /// Creates a picture of an application that does not run, for hosts to fill in.
    #[must_use]
    pub const fn new(name: Name) -> Self {
        ApplicationPicture { name, runs: false, lost: None }
    }

    /// Returns the picture after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}
