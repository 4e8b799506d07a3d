//! Why a node has stopped.

use krarup_gen::{Name, Reason};
use std::fmt;
use std::process::ExitCode;

/// Why a node has stopped (rule A8): for the last line of `main`.
///
/// ```
/// # use krarup_node::Node;
/// # fn main() -> krarup_gen::Result {
/// let node = Node::start("shop@localhost")?;
/// node.stop().start();
/// let stopped = node.stopped().wait()?;
/// assert_eq!(stopped.to_string(), "shutdown");
/// assert!(stopped.is_orderly());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stopped {
    /// The application whose end or failed start has stopped the node. `None` if the node was
    /// asked to stop, or a process of [`Node::stop_with`](crate::Node::stop_with) has ended.
    pub application: Option<Name>,
    /// The reason of that application or process; [`Reason::Shutdown`] for a request.
    pub reason: Reason,
}

impl Stopped {
    /// The node was asked to stop.
    pub(crate) fn requested() -> Self {
        Stopped { application: None, reason: Reason::Shutdown }
    }

    /// Returns whether the program has done what it should: the node was asked to stop, or what
    /// has stopped it ended normally. A supervisor that gives up ends with
    /// [`Reason::Shutdown`]: as the end of an application that is not orderly.
    #[must_use]
    pub fn is_orderly(&self) -> bool {
        match self.application {
            Some(_) => self.reason.is_normal(),
            None => !self.reason.is_abnormal(),
        }
    }

    /// Returns the exit code of a program that ends with its node: success if the stop was
    /// orderly.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        if self.is_orderly() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.application {
            Some(application) => write!(f, "application {application} ended: {}", self.reason),
            None => write!(f, "{}", self.reason),
        }
    }
}
