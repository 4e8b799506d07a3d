//! The program as it is run: against a true node with an observer, in a terminal and without one.

#![cfg(unix)]

mod acting;
mod cluster;
mod failing;
mod mcp;
mod observed;
mod pty;
mod reading;
mod shop;
mod top;
mod tree;
mod view;
mod viewed;
