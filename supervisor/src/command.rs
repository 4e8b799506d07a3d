//! The commands that a supervisor receives, besides the ends of its children.

use crate::children::ChildKey;
use crate::error::{
    DeleteChildError, GetChildSpecError, RestartChildError, StartChildError, TerminateChildError,
};
use crate::info::{ChildCounts, ChildInfo, ChildSpecInfo};
use crate::spec::ChildId;
use krarup_act::{Context, Reply};
use krarup_gen::{CallError, Pid, Reason};
use std::convert::Infallible;
use std::fmt;

/// The context of a supervisor.
pub(crate) type SupervisorContext<T> = Context<Infallible, SupervisorCommand<T>>;

/// A request to a supervisor; made by the methods of [`SupervisorCalls`](crate::SupervisorCalls).
pub struct SupervisorCommand<T>(pub(crate) Command<T>);

/// The reply token of a fallible request.
pub(crate) type CommandReply<R, E> = Reply<Result<R, E>>;

/// What becomes of one of several children that are started at once.
type ChildStarted = Result<Option<Pid>, StartChildError>;

pub(crate) enum Command<T> {
    StartChild(T, CommandReply<Option<Pid>, StartChildError>),
    StartChildren(Vec<T>, CommandReply<Vec<ChildStarted>, CallError>),
    TerminateChild(ChildRef, CommandReply<(), TerminateChildError>),
    RestartChild(ChildId, CommandReply<Option<Pid>, RestartChildError>),
    DeleteChild(ChildId, CommandReply<(), DeleteChildError>),
    WhichChildren(CommandReply<Vec<ChildInfo>, CallError>),
    CountChildren(CommandReply<ChildCounts, CallError>),
    GetChildSpec(ChildRef, CommandReply<ChildSpecInfo, GetChildSpecError>),
    /// From the supervisor to itself (rule S6).
    TryAgain(ChildKey),
    /// From a child whose state has failed (rule S10).
    MayRestartInPlace(InPlaceRequest),
}

/// A request of a child whose state has failed: whether its process may continue with a new
/// state.
pub(crate) struct InPlaceRequest {
    pub(crate) pid: Pid,
    pub(crate) reason: Reason,
    pub(crate) reply: Reply<bool>,
}

impl<T> SupervisorCommand<T> {
    /// Creates the request of
    /// [`SupervisorCalls::which_children`](crate::SupervisorCalls::which_children) with this token.
    /// For bridges to callers outside the node, which send it on the Urgent lane.
    #[must_use]
    pub fn which_children(reply: Reply<Result<Vec<ChildInfo>, CallError>>) -> Self {
        SupervisorCommand(Command::WhichChildren(reply))
    }

    /// Creates the request of
    /// [`SupervisorCalls::count_children`](crate::SupervisorCalls::count_children) with this token.
    #[must_use]
    pub fn count_children(reply: Reply<Result<ChildCounts, CallError>>) -> Self {
        SupervisorCommand(Command::CountChildren(reply))
    }
}

impl<T> fmt::Debug for SupervisorCommand<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Command::StartChild(..) => "StartChild",
            Command::StartChildren(..) => "StartChildren",
            Command::TerminateChild(..) => "TerminateChild",
            Command::RestartChild(..) => "RestartChild",
            Command::DeleteChild(..) => "DeleteChild",
            Command::WhichChildren(..) => "WhichChildren",
            Command::CountChildren(..) => "CountChildren",
            Command::GetChildSpec(..) => "GetChildSpec",
            Command::TryAgain(..) => "TryAgain",
            Command::MayRestartInPlace(..) => "MayRestartInPlace",
        })
    }
}

/// A child by its id or, under `simple_one_for_one`, by its pid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildRef {
    /// By id.
    Id(ChildId),
    /// By pid.
    Pid(Pid),
}

impl fmt::Display for ChildRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChildRef::Id(id) => fmt::Debug::fmt(id, f),
            ChildRef::Pid(pid) => fmt::Display::fmt(pid, f),
        }
    }
}

macro_rules! child_ref_from_id {
    ($($id:ty),*) => {
        $(impl From<$id> for ChildRef {
            fn from(id: $id) -> Self {
                ChildRef::Id(id.into())
            }
        })*
    };
}

child_ref_from_id!(&str, String, ChildId, &ChildId);

impl From<Pid> for ChildRef {
    fn from(pid: Pid) -> Self {
        ChildRef::Pid(pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child_spec::ChildSpec;
    use crate::supervisor::Supervisor;
    use krarup_node::Simulation;
    use std::sync::mpsc;

    /// A trace shows commands.
    #[test]
    fn a_command_shows_its_name() {
        let sim = Simulation::new(1);
        let supervisor = sim.spawn(Supervisor::one_for_one).wait().unwrap();
        let (shown, told) = mpsc::channel();
        let show = |command: Command<ChildSpec>| {
            let command = SupervisorCommand(command);
            shown.send(format!("{command:?}")).unwrap();
            command
        };
        let id = || ChildId::from("a");
        let spec = || ChildSpec::supervisor("a", Supervisor::one_for_one);
        let _ = supervisor.call_max(|it| show(Command::StartChild(spec(), it))).wait();
        let _ = supervisor.call_max(|it| show(Command::StartChildren(vec![], it))).wait();
        let _ = supervisor.call_max(|it| show(Command::TerminateChild(id().into(), it))).wait();
        let _ = supervisor.call_max(|it| show(Command::RestartChild(id(), it))).wait();
        let _ = supervisor.call_max(|it| show(Command::DeleteChild(id(), it))).wait();
        let _ = supervisor.call_max(|it| show(Command::WhichChildren(it))).wait();
        let _ = supervisor.call_max(|it| show(Command::CountChildren(it))).wait();
        let _ = supervisor.call_max(|it| show(Command::GetChildSpec(id().into(), it))).wait();
        let (pid, reason) = (supervisor.pid(), Reason::Normal);
        let request =
            |reply| show(Command::MayRestartInPlace(InPlaceRequest { pid, reason, reply }));
        let _ = supervisor.call_max(request).wait();
        let names = "StartChild StartChildren TerminateChild RestartChild DeleteChild WhichChildren \
                     CountChildren GetChildSpec MayRestartInPlace";
        assert_eq!(told.try_iter().collect::<Vec<_>>().join(" "), names);
    }

    #[test]
    fn a_child_is_referred_to_by_its_id_in_quotes_or_by_its_pid() {
        let id = ChildId::from("a");
        let by_id = [ChildRef::from("a"), "a".to_owned().into(), id.clone().into(), (&id).into()];
        assert!(by_id.iter().all(|child| *child == ChildRef::Id("a".into())));
        assert_eq!(by_id[0].to_string(), "\"a\"");
        let pid = Pid::local(7, 0);
        assert_eq!(ChildRef::from(pid), ChildRef::Pid(pid));
        assert_eq!(ChildRef::from(pid).to_string(), "<0.7.0>");
    }
}
