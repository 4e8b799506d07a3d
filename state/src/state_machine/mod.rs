//! State machines: OTP's `gen_statem`, typed.
//!
//! | module | subject |
//! |---|---|
//! | [`state_machine`] | the trait: the callbacks |
//! | [`types`], [`event`], [`next`] | its types, its events, what its callbacks return |
//! | [`engine`], [`timeouts`] | the rules: pure, events and time in, one instruction out |
//! | [`machine`] | the loop around them, on a plain context |

pub(crate) mod driven_engine;
pub(crate) mod engine;
pub(crate) mod event;
pub(crate) mod machine;
pub(crate) mod next;
#[allow(clippy::module_inception, reason = "the module is named after its trait `StateMachine`")]
pub(crate) mod state_machine;
pub(crate) mod timeouts;
pub(crate) mod types;
