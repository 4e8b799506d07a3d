//! Exported processes with typed messages, and those that a function serves.

use crate::core::ClusterCore;
use crate::error::ClusterError;
use crate::exports::inlet::{Inlet, RemoteMessage, Undelivered};
use crate::exports::{ExportedName, Exports, Sys};
use crate::peer::proxy::RemoteProcess;
use crate::terms::reading::Reading;
use krarup_act::{
    Answerer, CarriedTokens, Dynamic, Process, Recipient, RecipientMaker, Reply, contain,
    drop_refused, from_outside,
};
use krarup_gen::{CallError, Name, Pid, SendError};
use krarup_wire::etf::Term;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::{Any, type_name};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Messages of one type.
struct Typed<M>(PhantomData<fn() -> M>);

impl<M: Serialize + DeserializeOwned + Send + 'static> Inlet<ClusterCore> for Typed<M> {
    fn deliver(
        &self,
        core: &Arc<ClusterCore>,
        to: Arc<dyn Process>,
        message: RemoteMessage<'_>,
    ) -> Result<(), Undelivered> {
        let RemoteMessage { kind, caller, alias, decoder, codec, from } = message;
        let (pid, by) = (to.pid(), to.pid().id());
        let mut tokens = CarriedTokens::new(Arc::clone(&core.host), kind, pid);
        let has_caller = caller.is_some();
        let reading = Arc::new(TokenInMessage::default());
        if let Some(caller) = caller {
            tokens.offer(reading.guard(caller.answerer(core, by)));
        }
        let missed_caller = Cell::new(false);
        let mut extension = Reading { core, by, has_caller, missed_caller, from: Some(from) };
        from_outside(|| {
            let (read, tokens) = tokens.carry(|| codec.read_with::<M>(decoder, &mut extension));
            let untaken = has_caller && tokens.offered.first().is_some_and(Option::is_some);
            let untaken = untaken || reading.note_read();
            let message = match read {
                Ok(message) if untaken => {
                    drop(message);
                    return Err(Undelivered::NoReply);
                }
                Ok(message) => message,
                Err(error) if extension.missed_caller.get() && !has_caller => {
                    let why = format!("{error}; its reply token is that of a call, and it is none");
                    return Err(Undelivered::Undecodable(why));
                }
                Err(error) => return Err(Undelivered::Undecodable(error.to_string())),
            };
            to.send_dynamic(Dynamic::new(message), alias).map_err(|error| {
                // It counts before its sender can know.
                core.counters.refused();
                let refused = refused(pid, &error);
                drop_refused(error.into_message(), &refused);
                Undelivered::Refused(refused)
            })
        })
    }

    fn send(
        &self,
        core: &Arc<ClusterCore>,
        to: &RemoteProcess,
        message: Dynamic,
    ) -> Result<(), SendError<Dynamic>> {
        match message.downcast::<M>() {
            Ok(message) => {
                core.send_plain(to, &message).map_err(|error| error.map(|()| Dynamic::new(message)))
            }
            Err(message) => {
                let why = "another type has the same name".into();
                Err(SendError::Unserializable { message, to: to.pid(), why })
            }
        }
    }

    fn recipient_maker(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::new(RecipientMaker::<M>(Recipient::remote)))
    }
}

/// Whether the token of a call is in a message that was read.
///
/// A message that cannot be read to its end may have its token already, which is dropped with it.
/// The call must not fail by that: its caller is told why the message cannot be read, and thereby
/// that no handler has seen it.
#[derive(Default)]
struct TokenInMessage {
    is_read: AtomicBool,
    was_dropped: AtomicBool,
}

impl TokenInMessage {
    fn guard(self: &Arc<Self>, answerer: Answerer) -> Answerer {
        let reading = Arc::clone(self);
        Box::new(move |answer| {
            if reading.is_read.load(Ordering::Relaxed) {
                answerer(answer);
            } else {
                reading.was_dropped.store(true, Ordering::Relaxed);
            }
        })
    }

    /// Notes that the message was read. Returns whether its token was dropped meanwhile.
    fn note_read(&self) -> bool {
        self.is_read.store(true, Ordering::Relaxed);
        self.was_dropped.load(Ordering::Relaxed)
    }
}

/// A call of another node to a name that a function serves.
#[derive(Debug)]
pub struct Served {
    /// The process that has the name.
    pub process: Arc<dyn Process>,
    /// The request.
    pub request: Term,
    /// The token to answer it.
    pub reply: Reply<Term>,
}

/// Passes calls to a function instead of a mailbox.
struct ServedBy<F>(F);

impl<F: Fn(Served) + Send + Sync> Inlet<ClusterCore> for ServedBy<F> {
    fn deliver(
        &self,
        core: &Arc<ClusterCore>,
        to: Arc<dyn Process>,
        message: RemoteMessage<'_>,
    ) -> Result<(), Undelivered> {
        let RemoteMessage { caller, mut decoder, .. } = message;
        let Some(caller) = caller else {
            return Err(Undelivered::Undecodable("it takes calls only".to_owned()));
        };
        let request =
            decoder.term().map_err(|error| Undelivered::Undecodable(error.to_string()))?;
        let answerer = caller.answerer(core, to.pid().id());
        let reply = Reply::to(to.pid(), move |answer: Result<Term, CallError>| match answer {
            Ok(term) => answerer(Ok(&term)),
            Err(error) => answerer(Err(error)),
        });
        from_outside(|| {
            let _ = contain(|| (self.0)(Served { process: to, request, reply }));
        });
        Ok(())
    }

    fn send(
        &self,
        _: &Arc<ClusterCore>,
        to: &RemoteProcess,
        message: Dynamic,
    ) -> Result<(), SendError<Dynamic>> {
        Err(SendError::NoProcess { message, to: to.pid() })
    }
}

fn refused<M>(to: Pid, error: &SendError<M>) -> CallError {
    match error {
        SendError::Full { to, .. } => CallError::Full { to: *to },
        SendError::NoWorkers { to, .. } => CallError::NoWorkers { to: *to },
        SendError::RateLimited { to, retry_after, .. } => {
            CallError::RateLimited { to: *to, retry_after: *retry_after }
        }
        SendError::Draining { to, .. } => CallError::Draining { to: *to },
        _ => CallError::NoProcess { to },
    }
}

impl Exports<dyn Inlet<ClusterCore>> {
    /// Makes processes that take an `M` understand peers that send to their pids.
    pub(crate) fn carry<M>(&self) -> Arc<dyn Inlet<ClusterCore>>
    where
        M: Serialize + DeserializeOwned + Send + 'static,
    {
        self.add_type(type_name::<M>(), || Arc::new(Typed::<M>(PhantomData)))
    }

    pub(crate) fn add<M>(&self, name: &Name, sys: Sys) -> Result<(), ClusterError>
    where
        M: Serialize + DeserializeOwned + Send + 'static,
    {
        self.export(name, ExportedName { inlet: self.carry::<M>(), message: type_name::<M>(), sys })
    }

    pub(crate) fn serve(
        &self,
        name: &Name,
        sys: Sys,
        serve: impl Fn(Served) + Send + Sync + 'static,
    ) -> Result<(), ClusterError> {
        let (inlet, message) = (Arc::new(ServedBy(serve)), type_name::<Served>());
        self.export(name, ExportedName { inlet, message, sys })
    }

    fn export(
        &self,
        name: &Name,
        export: ExportedName<dyn Inlet<ClusterCore>>,
    ) -> Result<(), ClusterError> {
        let wanted = export.message;
        self.add_name(name, export).map_err(|exported| {
            let name = name.as_str().to_owned();
            ClusterError::ExportedAs { name, exported, wanted }
        })
    }
}
