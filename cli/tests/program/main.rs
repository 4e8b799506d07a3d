//! The program as it is run: against a true node with an observer, in a terminal and without one.

#![cfg(unix)]

mod mcp;
mod observed;
mod pty;
mod top;
mod tree;
mod view;
mod viewed;
