//! What is a term of its own kind: pids, references, tokens, reasons, a process with `Term`s.

pub(crate) mod converting;
pub(crate) mod info;
pub(crate) mod reading;
pub(crate) mod reason;
pub(crate) mod term_message;
pub(crate) mod writing;
pub(crate) mod written;
