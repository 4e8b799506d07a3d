//! One error type per operation.

mod block;
mod call;
mod debug;
mod lookup;
mod manage;
mod membership;
mod named;
mod order;
mod overflow;
mod record;
mod record_turns;
mod register;
mod send;
mod spawn;
mod stop;
mod task;
mod thread;
mod topic;
mod wait;

pub use block::BlockError;
pub use call::{CallCycle, CallError, NamedCallError, UndeliveredCause};
pub use debug::DebugError;
pub use lookup::LookupError;
pub use manage::ManageError;
pub use membership::{
    JoinError, KeyCallError, KeySendError, LeaveError, RegisterKeyError, WatchGroupError,
};
pub use named::{AwaitNameError, RetryError};
pub use order::OrderError;
pub use overflow::{NoBound, OverflowError};
pub use record::{RecordError, TooManyRecorded, TraceError};
pub use record_turns::RecordTurnsError;
pub use register::RegisterError;
pub use send::{MessageTypes, SendError};
pub use spawn::SpawnError;
pub use stop::StopError;
pub use task::TaskError;
pub use thread::ThreadError;
pub use topic::{OpenTopicError, PublishError, SubscribeError, TooSlow, TopicLookupError};
pub use wait::CannotWait;
