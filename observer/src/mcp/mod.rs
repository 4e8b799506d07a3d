//! `/mcp`: the routes as tools for language models, by the Model Context Protocol.
//!
//! A call of a tool is a request to the route of the same name, answered by the same code. The
//! official SDK speaks the protocol. Nothing is kept from one request to the next.

mod arguments;
mod explain;
mod reads;
pub(crate) mod server;
pub(crate) mod tools;
