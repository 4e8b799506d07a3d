//! Destinations of messages of any type.

use crate::{Alias, Name, Pid};
use std::fmt;

/// A process named by its pid, its name or one of its aliases, without a typed address.
///
/// Sends of any type accept every value that converts into a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination<'a> {
    /// The process with this pid.
    Pid(Pid),
    /// The process that has this name when the message is sent.
    Name(&'a str),
    /// The process that has this alias, unless it has been revoked.
    Alias(Alias),
    /// The process that has this name on another node of the cluster.
    Remote {
        /// The name of the process.
        name: &'a str,
        /// The name of the node.
        node: &'a str,
    },
}

impl<'a> From<(&'a str, &'a str)> for Destination<'a> {
    fn from((name, node): (&'a str, &'a str)) -> Self {
        Destination::Remote { name, node }
    }
}

impl From<Pid> for Destination<'_> {
    fn from(pid: Pid) -> Self {
        Destination::Pid(pid)
    }
}

impl From<Alias> for Destination<'_> {
    fn from(alias: Alias) -> Self {
        Destination::Alias(alias)
    }
}

impl<'a> From<&'a str> for Destination<'a> {
    fn from(name: &'a str) -> Self {
        Destination::Name(name)
    }
}

impl<'a> From<&'a Name> for Destination<'a> {
    fn from(name: &'a Name) -> Self {
        Destination::Name(name.as_str())
    }
}

impl fmt::Display for Destination<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Pid(pid) => fmt::Display::fmt(pid, f),
            Destination::Name(name) => fmt::Debug::fmt(name, f),
            Destination::Alias(alias) => fmt::Display::fmt(alias, f),
            Destination::Remote { name, node } => write!(f, "{name:?} at {node}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ref;

    #[test]
    fn m7_a_pid_a_name_and_an_alias_convert_into_a_destination() {
        let (name, alias) = (Name::new("stock").unwrap(), Alias::new(Ref::new(3)));
        for (to, expected, printed) in [
            (Destination::from(Pid::local(7, 1)), Destination::Pid(Pid::local(7, 1)), "<0.7.0>"),
            ("stock".into(), Destination::Name("stock"), "\"stock\""),
            ((&name).into(), Destination::Name("stock"), "\"stock\""),
            (alias.into(), Destination::Alias(alias), "#Alias<0.3>"),
        ] {
            assert_eq!((to, to.to_string().as_str()), (expected, printed));
        }
    }
}
