//! The statements of `main`, each in a simulation and on a node.

mod bucket_ends;
mod commands;
mod hostile;
mod pipe;
mod stopping;
mod world;
