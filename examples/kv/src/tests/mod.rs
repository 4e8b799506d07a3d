//! The statements of `main`, each in a simulation and on a node.

mod bucket_ends;
mod commands;
mod history;
mod hostile;
mod kills;
mod pipe;
mod settings;
mod stopping;
mod world;
