//! Spawn requests of a peer: calls of functions, and factories (rules Zcall7 to Zcall9). The
//! order of the steps is in [`functions`](crate::functions).

use super::Dispatch;
use crate::core::ClusterCore;
use crate::error::ConnectionError;
use crate::functions::asker::Asker;
use crate::functions::options::RequestedBonds;
use crate::functions::outcome::FunctionOutcome;
use crate::functions::permit::SpawnPermit;
use crate::functions::request::{RequestedStart, ServedFactory, ServedFunction, SpawnAsked};
use crate::functions::table::FunctionName;
use crate::one_shot::{OneShotReceiver, OneShotSender, one_shot};
use crate::peer::signal::{Signal, SignalPayload};
use crate::peer::up_and_down::end_function;
use krarup_act::Reply;
use krarup_gen::{Pid, SpawnError};
use krarup_wire::ControlMessage;
use krarup_wire::Monitored;
use krarup_wire::etf::{Atom, Elements, ExternalPid, Reference, Term};
use std::sync::Arc;

/// What is to run, and with what.
pub(super) struct Wanted {
    pub(super) module: Atom,
    pub(super) function: Atom,
    pub(super) arguments: Elements,
}

impl Wanted {
    /// The function, if this is a module, a name and a list of arguments.
    pub(super) fn read(parts: &[Term]) -> Option<Self> {
        let [Term::Atom(module), Term::Atom(function), Term::List(arguments)] = parts else {
            return None;
        };
        let (module, function) = (module.clone(), function.clone());
        Some(Wanted { module, function, arguments: arguments.clone() })
    }

    fn name(&self) -> Option<FunctionName> {
        let arity = u8::try_from(self.arguments.len()).ok()?;
        Some((self.module.clone(), self.function.clone(), arity))
    }

    /// Its place in a stack, `{M, F, Args, []}`.
    pub(super) fn frame(self) -> Term {
        let (module, function) = (self.module.into(), self.function.into());
        Term::tuple([module, function, Term::List(self.arguments), Term::nil()])
    }
}

impl Dispatch<'_> {
    /// Handles a spawn request. It is answered once, whatever it says.
    pub(super) fn spawn_request(
        &self,
        asked: SpawnAsked,
        options: &Term,
        arguments: Option<Term>,
    ) -> Result<(), ConnectionError> {
        let arguments = match arguments {
            Some(Term::List(arguments)) if arguments.len() == usize::from(asked.arity) => arguments,
            _ => return self.refuse_spawn(asked, "notsup"),
        };
        let Some(options) = RequestedBonds::read(options) else {
            return self.refuse_spawn(asked, "badopt");
        };
        if asked.module != "erpc" {
            let name = (asked.module.clone(), asked.function.clone(), asked.arity);
            let factory = self.core.factories.find(&name).filter(|_| {
                let (module, function) = (name.0.as_str(), name.1.as_str());
                self.may_use(|rights| rights.spawns.has_function(module, function))
            });
            return match factory {
                Some(factory) => self.make(asked, options, &*factory, &arguments),
                None => self.refuse_spawn(asked, "notsup"),
            };
        }
        let (result, wanted) = match (asked.function.as_str(), &arguments[..]) {
            ("execute_call", [result, wanted @ ..]) => (Some(result.clone()), wanted),
            ("execute_cast", wanted) => (None, wanted),
            _ => return self.refuse_spawn(asked, "notsup"),
        };
        match Wanted::read(wanted) {
            Some(wanted) => self.execute(asked, options, result, wanted),
            None => self.refuse_spawn(asked, "notsup"),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is the last word on a request")]
    fn refuse_spawn(&self, asked: SpawnAsked, why: &'static str) -> Result<(), ConnectionError> {
        self.reply_to_spawn(asked.reference, asked.from, RequestedBonds::default(), Err(why));
        Ok(())
    }

    fn reply_to_spawn(
        &self,
        reference: Reference,
        to: ExternalPid,
        RequestedBonds { link: linked, monitor: monitored }: RequestedBonds,
        process: Result<(u64, ExternalPid), &'static str>,
    ) {
        let (by, result) = match process {
            Ok((by, process)) => (by, Ok(process)),
            Err(why) => (0, Err(Atom::fixed(why))),
        };
        let reply = ControlMessage::SpawnReply { reference, to, linked, monitored, result };
        self.say(by, reply, SignalPayload::None);
    }

    /// Runs a function for `erpc`.
    fn execute(
        &self,
        asked: SpawnAsked,
        options: RequestedBonds,
        result: Option<Term>,
        wanted: Wanted,
    ) -> Result<(), ConnectionError> {
        let SpawnAsked { reference, from, .. } = asked;
        let asker = Asker::Spawn {
            reference: reference.clone(),
            from: from.clone(),
            monitors: options.monitor,
            result,
        };
        let Some(function) = self.served(&wanted) else {
            // The process that would run it has ended already.
            let process = self.nobody();
            let frame = wanted.frame();
            let stack = Term::list([frame.clone()]);
            let payload = asker.payload(FunctionOutcome::undefined(frame));
            self.reply_to_spawn(reference, from.clone(), options, Ok((0, process.clone())));
            if options.link {
                let (from, to) = (process.clone(), from);
                let reason = SignalPayload::Term(Term::tuple([Term::atom("undef"), stack]));
                self.say(0, ControlMessage::PayloadExit { from, to }, reason);
            }
            self.push(asker.signal((0, process), payload));
            return Ok(());
        };
        let reply = |pid| {
            let process = self.core.named(pid);
            let (reference, from) = (reference.clone(), from.clone());
            self.reply_to_spawn(reference, from, options, Ok((pid.id(), process)));
        };
        match self.run(&*function, asker, &wanted.arguments, &reply) {
            Ok(Some((pid, gate))) => {
                if options.link {
                    let local = self.core.host.process(pid);
                    self.link_to(&from, &self.core.named(pid), local)?;
                }
                let _ = gate.send(());
            }
            Ok(None) => {}
            Err(why) => {
                self.reply_to_spawn(
                    reference.clone(),
                    from.clone(),
                    RequestedBonds::default(),
                    Err(why),
                );
            }
        }
        Ok(())
    }

    /// A function that is served.
    pub(super) fn served(&self, wanted: &Wanted) -> Option<Arc<dyn ServedFunction<ClusterCore>>> {
        let function = self.core.functions.find(&wanted.name()?)?;
        let (module, name) = (wanted.module.as_str(), wanted.function.as_str());
        self.may_use(|rights| rights.calls.has_function(module, name)).then_some(function)
    }

    /// Spawns the process of a function, and begins its run. `reply` answers the request.
    pub(super) fn run(
        &self,
        function: &dyn ServedFunction<ClusterCore>,
        asker: Asker,
        arguments: &Elements,
        reply: &dyn Fn(Pid),
    ) -> Result<Option<(Pid, OneShotSender<()>)>, &'static str> {
        let permit = self.permit()?;
        let number = self.core.next_run();
        {
            let Some(mut state) = self.current() else { return Ok(None) };
            if !state.runs.add(number, asker.reference().cloned()) {
                return Err("badopt");
            }
        }
        let (core, peer) = (Arc::clone(self.core), Arc::clone(self.peer));
        let done = Reply::to(self.core.pid, move |answer| {
            let payload = asker.payload(FunctionOutcome::of(answer));
            {
                let mut state = peer.state.lock();
                let Some((pid, (asker, payload))) = state.runs.ended(number, (asker, payload))
                else {
                    return;
                };
                let process = (pid.id(), core.named(pid));
                if let Some(signal) = asker.signal(process, payload) {
                    let _ = state.push(signal);
                }
            }
            peer.flush(&core);
        });
        let (gate, wait) = one_shot();
        let start = self.start(arguments, wait, permit);
        let pid = match function.start(self.core, start, done) {
            Ok(pid) => pid,
            Err(error) => {
                if let Some(mut state) = self.current() {
                    state.runs.refused(number);
                }
                return Err(refusal(&error));
            }
        };
        reply(pid);
        let Some(mut state) = self.current() else {
            end_function(&*self.core.host, pid);
            return Ok(None);
        };
        if let Some((asker, payload)) = state.runs.begun(number, pid)
            && let Some(signal) = asker.signal((pid.id(), self.core.named(pid)), payload)
        {
            let _ = state.push(signal);
        }
        drop(state);
        Ok(Some((pid, gate)))
    }

    /// Makes a process by a factory.
    fn make(
        &self,
        asked: SpawnAsked,
        options: RequestedBonds,
        factory: &dyn ServedFactory<ClusterCore>,
        arguments: &Elements,
    ) -> Result<(), ConnectionError> {
        let stand_in = self.stand_in(&asked.from);
        let Some(stand_in) = stand_in.filter(|_| {
            self.current().is_some_and(|state| !state.foreign.contains(&asked.reference))
        }) else {
            return self.refuse_spawn(asked, "badopt");
        };
        let permit = match self.permit() {
            Ok(permit) => permit,
            Err(why) => return self.refuse_spawn(asked, why),
        };
        let (gate, wait) = one_shot();
        let start = self.start(arguments, wait, permit);
        let pid = match factory.start(self.core, start) {
            Ok(pid) => pid,
            Err(error) => return self.refuse_spawn(asked, refusal(&error)),
        };
        let SpawnAsked { reference, from, .. } = asked;
        let process = self.core.ours(pid);
        let replied = Ok((pid.id(), process.clone()));
        self.reply_to_spawn(reference.clone(), from.clone(), options, replied);
        // Behind the reply: it may have been killed already.
        let local = || self.core.host.process(pid);
        if options.monitor {
            let target = Monitored::Pid(process.clone());
            self.monitor_one(Some(stand_in), local(), (from.clone(), target, reference))?;
        }
        if options.link {
            self.link_to(&from, &process, local())?;
        }
        if self.current().is_some() {
            let _ = gate.send(());
        }
        Ok(())
    }

    fn start(
        &self,
        arguments: &Elements,
        gate: OneShotReceiver<()>,
        permit: SpawnPermit,
    ) -> RequestedStart {
        let node = self.peer.node.clone();
        RequestedStart { arguments: arguments.to_vec(), node, gate, permit }
    }

    fn permit(&self) -> Result<SpawnPermit, &'static str> {
        let permit = self.peer.spawned.take(self.core.spawn_limit);
        permit.ok_or_else(|| {
            self.core.counters.spawn_refused();
            "system_limit"
        })
    }

    /// The pid of a process that has ended. It tells nothing of this node (rule Zcall7).
    pub(super) fn nobody(&self) -> ExternalPid {
        let random = self.core.host.random();
        let half = |bits: u64| u32::try_from(bits & 0xffff_ffff).unwrap_or_default();
        let (id, serial) = (half(random), half(random >> 32) | 1 << 31);
        ExternalPid { id, serial, ..self.core.named(self.core.pid) }
    }

    pub(super) fn push(&self, signal: Option<Signal>) {
        if let (Some(signal), Some(mut state)) = (signal, self.current()) {
            let _ = state.push(signal);
        }
    }
}

/// Why a process could not be spawned, for OTP.
fn refusal(error: &SpawnError) -> &'static str {
    match error {
        SpawnError::NodeStopping | SpawnError::ApplicationStopping(_) => "noconnection",
        _ => "system_limit",
    }
}
