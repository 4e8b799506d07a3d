//! Models of what a node's threads share: its registry ([`registry`]) and its timers
//! ([`timers`]). The models of its dispatchers are in `dispatcher/models`.
//!
//! `docs/verification.md` lists what each model proves.

#[path = "../../../act/src/models/checker.rs"]
pub(crate) mod checker;

mod registry;
mod timers;
