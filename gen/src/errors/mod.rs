//! One error type per operation.

mod block;
mod call;
mod debug;
mod lookup;
mod order;
mod overflow;
mod register;
mod send;
mod spawn;
mod stop;
mod thread;
mod wait;

pub use block::BlockError;
pub use call::{CallCycle, CallError};
pub use debug::DebugError;
pub use lookup::LookupError;
pub use order::OrderError;
pub use overflow::{NoBound, OverflowError};
pub use register::RegisterError;
pub use send::{MessageTypes, SendError};
pub use spawn::SpawnError;
pub use stop::StopError;
pub use thread::ThreadError;
pub use wait::CannotWait;
