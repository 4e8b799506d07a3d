//! The error of a registration of a name.

use crate::one_line::OneLine;
use crate::{Name, NameError, Pid};

/// The error of a process that did not get a name. Nothing has changed (rule N2).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Another process has the name.
    #[error("name {} is taken by {by}", OneLine(name.as_str()))]
    NameTaken {
        /// The name.
        name: Name,
        /// The process that has it.
        by: Pid,
    },
    /// The process has ended.
    #[error("{0} has ended")]
    NoProcess(Pid),
    /// The process has a name already; it can have only one.
    #[error("{pid} already has the name {}", OneLine(name.as_str()))]
    AlreadyNamed {
        /// The process.
        pid: Pid,
        /// The name it has.
        name: Name,
    },
    /// The text is not a valid name.
    #[error(transparent)]
    InvalidName(#[from] NameError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    #[test]
    fn b1_a_register_error_names_the_process_and_the_name() {
        let (pid, name) = (Pid::local(7, 1), Name::new("stock").unwrap());
        for (error, said) in [
            (
                RegisterError::NameTaken { name: name.clone(), by: pid },
                "name stock is taken by <0.7.0>",
            ),
            (RegisterError::NoProcess(pid), "<0.7.0> has ended"),
            (RegisterError::AlreadyNamed { pid, name }, "<0.7.0> already has the name stock"),
            (RegisterError::from(NameError::Empty), "a name must not be empty"),
        ] {
            assert_eq!(error.to_string(), said);
            assert!(error.source().is_none(), "{error:?}");
        }
    }
}
