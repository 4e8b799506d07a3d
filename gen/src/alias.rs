//! Aliases: numeric names of a process that can be revoked.

use crate::Ref;
use std::fmt;

/// A second identity of a process, which the process makes and revokes itself (Erlang's
/// `alias/0`; rules N2, N5).
///
/// Messages to a revoked alias do not arrive.
///
/// It prints as `#Alias<0.N>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Alias(Ref);

impl Alias {
    /// Creates the alias with the number of this reference. For hosts.
    #[must_use]
    pub const fn new(reference: Ref) -> Self {
        Alias(reference)
    }

    /// Returns the number `N` in `#Alias<0.N>`, unique like that of a reference.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0.number()
    }
}

impl fmt::Display for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#Alias<0.{}>", self.number())
    }
}

impl fmt::Debug for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
