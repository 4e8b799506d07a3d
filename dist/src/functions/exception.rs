//! How a function fails: Erlang's errors, exits and throws.

use krarup_wire::etf::Term;
use std::error::Error;
use std::fmt;

/// The classes of Erlang's exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExceptionClass {
    /// `error(Reason)`: the function has failed.
    Error,
    /// `exit(Reason)`: its process was to end.
    Exit,
    /// `throw(Term)`: a value that is not returned.
    Throw,
}

/// An exception that a function has raised, here or on another node.
///
/// In a function that is served ([`ClusterCalls::serve`](crate::ClusterCalls::serve)) `?` turns
/// any error into the exception `error({error, <<"its text">>})`.
///
/// ```
/// # mod krarup { pub use krarup_dist as cluster; }
/// use krarup::cluster::TermException;
/// use krarup::cluster::etf::Term;
///
/// fn parse(text: &str) -> Result<i64, TermException> {
///     if text.is_empty() {
///         return Err(TermException::error(Term::atom("badarg")));
///     }
///     Ok(text.parse()?)
/// }
/// assert_eq!(parse("").unwrap_err().to_string(), "error: badarg");
/// assert!(parse("x").unwrap_err().to_string().starts_with("error: {error,<<\"invalid digit"));
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct TermException {
    /// Its class.
    pub class: ExceptionClass,
    /// Its reason, or the thrown value.
    pub reason: Term,
    /// Where it was raised, if it is an error of another node; otherwise `[]`.
    pub stack: Term,
}

impl TermException {
    /// Creates an error, as `erlang:error/1` does.
    #[must_use]
    pub fn error(reason: Term) -> Self {
        TermException::new(ExceptionClass::Error, reason)
    }

    /// Creates an exit, as `exit/1` does.
    #[must_use]
    pub fn exit(reason: Term) -> Self {
        TermException::new(ExceptionClass::Exit, reason)
    }

    /// Creates a throw, as `throw/1` does.
    #[must_use]
    pub fn throw(value: Term) -> Self {
        TermException::new(ExceptionClass::Throw, value)
    }

    fn new(class: ExceptionClass, reason: Term) -> Self {
        TermException { class, reason, stack: Term::nil() }
    }

    pub(crate) fn at(mut self, stack: Term) -> Self {
        self.stack = stack;
        self
    }
}

impl fmt::Display for TermException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = match self.class {
            ExceptionClass::Error => "error",
            ExceptionClass::Exit => "exit",
            ExceptionClass::Throw => "throw",
        };
        write!(f, "{class}: {}", self.reason)
    }
}

impl fmt::Debug for TermException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A type that every error converts into cannot be an error itself.
impl<E: Error + Send + Sync + 'static> From<E> for TermException {
    fn from(error: E) -> Self {
        let text = Term::binary(error.to_string());
        TermException::error(Term::tuple([Term::atom("error"), text]))
    }
}
