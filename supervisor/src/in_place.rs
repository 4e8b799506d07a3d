//! What a child that is restarted in place has of its supervisor (rule S10).

use crate::command::{Command, InPlaceRequest, SupervisorCommand};
use krarup_act::{Address, Judge, StateFailure};
use std::convert::Infallible;

/// The supervisor decides. It is asked over the lane on which ends and requests come, and
/// answers while it starts or stops others too, so neither waits for the other.
pub(crate) struct AskSupervisor<T>(pub(crate) Address<Infallible, SupervisorCommand<T>>);

impl<T: Send + 'static> Judge for AskSupervisor<T> {
    async fn may_restart(&mut self, failure: &StateFailure<'_>) -> bool {
        let (pid, reason) = (failure.pid, failure.reason.clone());
        let plea =
            |reply| SupervisorCommand(Command::MayGoOn(InPlaceRequest { pid, reason, reply }));
        // One that does not answer has ended, and its children with it.
        self.0.call_max(plea).no_timeout().await.unwrap_or(false)
    }
}
