//! The cache beside its original.

mod beside_erlang;
mod races;
