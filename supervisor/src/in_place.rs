//! The connection of a child that is restarted in place to its supervisor (rule S10).

use crate::command::{Command, InPlaceRequest, SupervisorCommand};
use krarup_act::{Address, RestartPolicy, StateFailure};
use std::convert::Infallible;

/// Lets the supervisor decide. The request uses the lane of ends and requests. The supervisor
/// also answers while it starts or stops other children, so neither waits for the other.
pub(crate) struct AskSupervisor<T>(pub(crate) Address<Infallible, SupervisorCommand<T>>);

impl<T: Send + 'static> RestartPolicy for AskSupervisor<T> {
    fn records(&self) -> bool {
        true
    }

    async fn may_restart(&mut self, failure: &StateFailure<'_>) -> bool {
        let (pid, reason) = (failure.pid, failure.reason.clone());
        let request = |reply| {
            SupervisorCommand(Command::MayRestartInPlace(InPlaceRequest { pid, reason, reply }))
        };
        // A supervisor that does not answer has ended, and so have its children.
        self.0.call_max(request).no_timeout().await.unwrap_or(false)
    }
}
