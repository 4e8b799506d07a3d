//! The actor: a process that serves messages one after the other.

use crate::addressing::dynamic::Dynamic;
use crate::context::Context;
use crate::observe::inspect_request::InspectRequest;
use krarup_gen::{Down, Exit, Inspection, Reason, Result};
use std::future::ready;

/// A process that serves messages one after the other: Erlang's `gen_server`.
///
/// All callbacks but [`Actor::handle_message`] have defaults. A callback that returns
/// `Err(reason)`, or panics, ends the process with that reason: let it crash (two destructors that panic in one frame
/// abort the program, as everywhere in Rust; rule D4). Every callback
/// may `await`. Meanwhile the process handles nothing else (rule C4), and it holds no worker.
///
/// | callback | when | OTP |
/// |---|---|---|
/// | [`init`](Actor::init) | first, in the process's own turn | `init/1` |
/// | [`handle_message`](Actor::handle_message) | a message arrives, on any lane | `handle_call`, `handle_cast` |
/// | [`handle_exit`](Actor::handle_exit) | an exit signal arrives and the actor traps them | `handle_info({'EXIT', ..})` |
/// | [`handle_down`](Actor::handle_down) | a monitored process has ended | `handle_info({'DOWN', ..})` |
/// | [`handle_timeout`](Actor::handle_timeout) | nothing has arrived for a set time | `handle_info(timeout)` |
/// | [`handle_other`](Actor::handle_other) | a message of another type arrives | `handle_info/2` |
/// | [`show_message`](Actor::show_message) | a message is recorded, which by default is private | - |
/// | [`state`](Actor::state) | a debugger requests the state | `sys:get_state` |
/// | [`inspect`](Actor::inspect), [`handle_inspect`](Actor::handle_inspect) | the process is inspected | `format_status` |
/// | [`before_restart`](Actor::before_restart) | the state has failed and will be replaced ([`InPlace`](crate::InPlace)) | - |
/// | [`after_restart`](Actor::after_restart) | the state has replaced one that failed | - |
/// | [`terminate`](Actor::terminate) | last, unless the process was killed (rule D5) | `terminate/2` |
pub trait Actor: Sized + Send + 'static {
    /// The message type of the actor, usually an enum.
    type Message: Send + 'static;

    /// Prepares the actor. The spawn completes when `init` has returned (rule D2).
    fn init(&mut self, ctx: &mut Context<Self::Message>) -> impl Future<Output = Result> + Send {
        let _ = ctx;
        ready(Ok(()))
    }

    /// Handles one message.
    fn handle_message(
        &mut self,
        ctx: &mut Context<Self::Message>,
        message: Self::Message,
    ) -> impl Future<Output = Result> + Send;

    /// Handles an exit signal, if the actor traps them (rule L3). The default ends the actor with
    /// the reason if that is abnormal. `Normal` and `Shutdown` leave it alive. An actor that does
    /// not trap is ended by `Shutdown` too (rule L2).
    fn handle_exit(
        &mut self,
        ctx: &mut Context<Self::Message>,
        exit: Exit,
    ) -> impl Future<Output = Result> + Send {
        let _ = ctx;
        ready(if exit.reason.is_abnormal() { Err(exit.reason) } else { Ok(()) })
    }

    /// Handles the notice that a monitored process has ended.
    fn handle_down(
        &mut self,
        ctx: &mut Context<Self::Message>,
        down: Down,
    ) -> impl Future<Output = Result> + Send {
        let _ = (ctx, down);
        ready(Ok(()))
    }

    /// Handles an idle timeout: nothing has arrived for the time set with
    /// [`Context::set_idle_timeout`] (rule D10).
    fn handle_timeout(
        &mut self,
        ctx: &mut Context<Self::Message>,
    ) -> impl Future<Output = Result> + Send {
        let _ = ctx;
        ready(Ok(()))
    }

    /// Handles a message of another type than [`Actor::Message`], sent by pid, name or alias.
    /// Called only after [`Context::take_others`]. The default drops the message and logs it.
    fn handle_other(
        &mut self,
        ctx: &mut Context<Self::Message>,
        message: Dynamic,
    ) -> impl Future<Output = Result> + Send {
        ctx.drop_other(message);
        ready(Ok(()))
    }

    /// Returns a message as text, for the flight recorder and the traces of the actor
    /// ([`Spawn::record`](crate::Spawn::record), [`NodeView::trace`](crate::NodeView::trace)). By
    /// default messages are private: `None`, and their texts appear nowhere (rule V50). It is
    /// called in the process's own turn, before the message is handled and only while the process
    /// is recorded or traced. The text is cut at 4096 bytes.
    #[must_use]
    fn show_message(message: &Self::Message) -> Option<String> {
        let _ = message;
        None
    }

    /// Returns the state for a debugger, as a value of any type, most often a clone of the
    /// actor (rule X5). A state that is made with [`Dynamic::shown`] is also shown as text. The
    /// default returns `None`.
    fn state(&self) -> Option<Dynamic> {
        None
    }

    /// Describes the actor for an inspection. A panic in it ends the process, as in any callback (rule D4).
    fn inspect(&self) -> Inspection {
        Inspection::new()
    }

    /// Describes the actor to the inspecting process (Ergo's `HandleInspect(from, item...)`).
    /// The default returns [`Actor::inspect`] for every request. Only the requested items of
    /// the returned inspection are sent; an actor can call [`InspectRequest::wants`] and skip
    /// the others.
    fn handle_inspect(&self, request: &InspectRequest) -> Inspection {
        let _ = request;
        self.inspect()
    }

    /// Runs last on a state that has failed, by an error or a panic, if the process continues
    /// with a fresh one: see [`InPlace`](crate::InPlace) (rule S10). `terminate` does not run in
    /// that case. The state is dropped next, whatever this callback does.
    fn before_restart(
        &mut self,
        ctx: &mut Context<Self::Message>,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send {
        let _ = (ctx, reason);
        ready(())
    }

    /// Runs first on a fresh state that has replaced one that failed for `reason`, after its
    /// `init` (rule S10). An error counts as another failure.
    fn after_restart(
        &mut self,
        ctx: &mut Context<Self::Message>,
        reason: &Reason,
    ) -> impl Future<Output = Result> + Send {
        let _ = (ctx, reason);
        ready(Ok(()))
    }

    /// Cleans up. Runs at most once: for a returned reason, after a panic, and for a stop
    /// requested by the parent or the node. It does not run if the process is killed or ended
    /// by a peer's exit signal (rule D5). The state is always dropped, so `Drop` is the
    /// reliable clean-up.
    fn terminate(
        &mut self,
        ctx: &mut Context<Self::Message>,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send {
        let _ = (ctx, reason);
        ready(())
    }
}

/// Why an actor, or another state that a process serves with, is to end.
#[derive(Clone, Debug, PartialEq)]
pub enum ActorEnd {
    /// A handler returned this reason.
    Failed(Reason),
    /// The actor received a stop with this reason.
    Told(Reason),
    /// The actor has handled everything that was accepted before `Finish`.
    Finished,
}

impl ActorEnd {
    /// Returns the reason with which the process ends.
    #[must_use]
    pub fn reason(self) -> Reason {
        match self {
            ActorEnd::Failed(reason) | ActorEnd::Told(reason) => reason,
            ActorEnd::Finished => Reason::Normal,
        }
    }
}
