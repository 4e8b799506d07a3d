//! Aliases: names that are numbers, and can be revoked.

use crate::Ref;
use std::fmt;

/// A second identity of a process, made by the process itself and taken back when it
/// likes (Erlang's `alias/0`; rules N2, N5). What is sent to a revoked alias does not
/// arrive.
///
/// It prints `#Alias<0.N>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Alias(Ref);

impl Alias {
    /// The alias with the number of this reference: for hosts.
    #[must_use]
    pub const fn new(reference: Ref) -> Self {
        Alias(reference)
    }

    /// The number `N` in `#Alias<0.N>`, unique as that of a reference.
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
