//! The error of a lookup of a typed address.

use crate::Pid;
use crate::one_line::OneLine;

/// The error of a lookup of a typed address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// The process with this pid has ended or never existed.
    #[error("{0} has ended or never existed")]
    NoProcess(Pid),
    /// No process has this name.
    #[error("no process has the name {0:?}")]
    NoName(String),
    /// The pid belongs to another node, and this node has no connections.
    #[error("no connection to the node of {0}")]
    NoConnection(Pid),
    /// The process takes other messages, or other commands on its control lanes (the address of
    /// a pool is an `Address<M, PoolCommand>`).
    #[error(
        "process {} has an Address<{}, {}>, not an Address<{}, {}>",
        OneLine(process), expected.0, expected.1, found.0, found.1
    )]
    WrongType {
        /// The name or pid looked up.
        process: String,
        /// The types that the process takes on Main and on the control lanes.
        expected: (&'static str, &'static str),
        /// The types that were asked for.
        found: (&'static str, &'static str),
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    #[test]
    fn b1_a_lookup_error_names_the_name_or_the_process() {
        let pid = Pid::local(7, 1);
        for (error, said) in [
            (LookupError::NoProcess(pid), "<0.7.0> has ended or never existed"),
            (LookupError::NoName("stock".into()), "no process has the name \"stock\""),
            (LookupError::NoConnection(pid), "no connection to the node of <0.7.0>"),
            (
                LookupError::WrongType {
                    process: "stock".into(),
                    expected: ("Order", "PoolCommand"),
                    found: ("u8", "u16"),
                },
                "process stock has an Address<Order, PoolCommand>, not an Address<u8, u16>",
            ),
        ] {
            assert_eq!(error.to_string(), said);
            assert!(error.source().is_none(), "{error:?}");
        }
    }
}
