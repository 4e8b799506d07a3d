//! The doors: sockets, the guard, requests and answers.

pub(crate) mod access;
pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod guard;
pub(crate) mod listening;
pub(crate) mod parameters;
pub(crate) mod percent_encoding;
pub(crate) mod refusal;
pub(crate) mod route;
pub(crate) mod server;
pub(crate) mod strict;
pub(crate) mod unsent;
