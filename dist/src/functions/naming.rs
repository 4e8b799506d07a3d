//! The names and the arguments of functions, as users give them.

use crate::core::ClusterCore;
use crate::error::{FunctionNameError, ServeError};
use crate::functions::arguments::FunctionArguments;
use crate::functions::table::FunctionName;
use krarup_wire::etf::{Atom, Term};
use serde::Serialize;
use std::sync::Arc;

/// A function by its name, if the texts can be atoms.
pub(crate) fn function_name(
    module: &str,
    function: &str,
    arity: u8,
) -> Result<FunctionName, FunctionNameError> {
    let atom = |text: &str| {
        Atom::new(text).map_err(|_| FunctionNameError {
            name: text.chars().take(40).collect(),
            characters: text.chars().count(),
        })
    };
    Ok((atom(module)?, atom(function)?, arity))
}

/// As [`function_name`], of a function to be served. An atom may be empty; as a name it is not meant.
pub(crate) fn served_name(
    module: &str,
    function: &str,
    arity: u8,
) -> Result<FunctionName, ServeError> {
    if module.is_empty() || function.is_empty() {
        let (module, function) = (module.to_owned(), function.to_owned());
        return Err(ServeError::Empty { module, function, arity });
    }
    Ok(function_name(module, function, arity)?)
}

/// How many arguments these are.
pub(crate) fn arity_of<A: FunctionArguments>(_: &A) -> u8 {
    A::ARITY
}

/// The bytes of a list of arguments.
pub(crate) fn list_of<A: FunctionArguments + Serialize>(
    core: &Arc<ClusterCore>,
    arguments: &A,
) -> Result<Vec<u8>, String> {
    let list = match core.to_term(arguments)? {
        Term::Tuple(arguments) => Term::List(arguments),
        // `()` is no tuple, but an atom.
        _ => Term::nil(),
    };
    let mut bytes = Vec::new();
    list.write(&mut bytes).map(|()| bytes).map_err(|error| error.to_string())
}
