//! Models of what a node's threads share: who lives in it ([`registry`]) and its timers
//! ([`timers`]). Those of its dispatchers are in `dispatcher/models`.
//!
//! `docs/verification.md` lists what is proved by which.

#[path = "../../../act/src/models/checker.rs"]
pub(crate) mod checker;

mod registry;
mod timers;
