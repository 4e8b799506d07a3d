//! OTP's `sys` requests to exported processes (rule Zcall12).

use crate::calls::caller::RemoteCaller;
use crate::core::ClusterCore;
use crate::exports::Sys;
use krarup_act::{Dynamic, Process, Reply};
use krarup_gen::Reason;
use krarup_wire::etf::Term;
use std::sync::Arc;

/// Serves one request, as far as the export allows it.
pub(crate) fn serve(
    core: &Arc<ClusterCore>,
    to: &Arc<dyn Process>,
    allowed: Sys,
    caller: &RemoteCaller,
    request: &Term,
) {
    let by = to.pid().id();
    let answer = |term: Term| caller.clone().answerer(core, by)(Ok(&term));
    let name = match request {
        Term::Atom(name) => name.as_str(),
        Term::Tuple(parts) => match parts.first() {
            Some(Term::Atom(name)) => name.as_str(),
            _ => "",
        },
        _ => "",
    };
    match name {
        "get_status" => answer(status(core, to)),
        "get_state" if allowed >= Sys::Read => state(core, to, caller),
        "debug" if allowed >= Sys::Read => answer(statistics(core, to, request)),
        "suspend" if allowed >= Sys::All => {
            let (core, caller) = (Arc::clone(core), caller.clone());
            let reply = Reply::to(to.pid(), move |suspended| match suspended {
                Ok(()) => caller.answerer(&core, by)(Ok(&Term::atom("ok"))),
                Err(error) => caller.answerer(&core, by)(Err(error)),
            });
            Arc::clone(to).suspend(reply);
        }
        "resume" if allowed >= Sys::All => {
            Arc::clone(to).resume();
            answer(Term::atom("ok"));
        }
        "terminate" if allowed >= Sys::All => {
            let reason = match request {
                Term::Tuple(parts) => parts.get(1).map(crate::terms::reason::reason_from_term),
                _ => None,
            };
            answer(Term::atom("ok"));
            Arc::clone(to).request_stop(reason.unwrap_or(Reason::Normal));
        }
        _ => answer(not_allowed()),
    }
}

/// Serves `{debug, {statistics, true | false | get}}`, and no other way to debug.
fn statistics(core: &Arc<ClusterCore>, to: &Arc<dyn Process>, request: &Term) -> Term {
    let ok = || Term::atom("ok");
    let wanted = match request {
        Term::Tuple(parts) => match &parts[..] {
            [_, Term::Tuple(pair)] => match &pair[..] {
                [Term::Atom(what), Term::Atom(flag)] if *what == "statistics" => flag.as_str(),
                _ => "",
            },
            _ => "",
        },
        _ => "",
    };
    match wanted {
        "true" => {
            core.statistics.begin(core.host.wall_time(), &to.info());
            ok()
        }
        "false" => {
            core.statistics.end(to.pid());
            ok()
        }
        "get" => Term::tuple([ok(), core.statistics.read(core.host.wall_time(), &to.info())]),
        _ => not_allowed(),
    }
}

fn not_allowed() -> Term {
    Term::tuple([Term::atom("error"), Term::atom("not_allowed")])
}

/// `{status, Pid, {module, Module}, [[], running | suspended, Parent, [], []]}`.
fn status(core: &Arc<ClusterCore>, to: &Arc<dyn Process>) -> Term {
    let pid = Term::from(core.ours(to.pid()));
    let module = Term::tuple([Term::atom("module"), Term::atom("krarup")]);
    // Its parent is named, and not made reachable.
    let parent = to.parent().map_or_else(|| pid.clone(), |parent| core.named(parent).into());
    let is_suspended = to.info().suspensions > 0;
    let now = Term::atom(if is_suspended { "suspended" } else { "running" });
    let items = [Term::nil(), now, parent, Term::nil(), Term::nil()];
    Term::tuple([Term::atom("status"), pid, module, Term::list(items)])
}

fn state(core: &Arc<ClusterCore>, to: &Arc<dyn Process>, caller: &RemoteCaller) {
    let by = to.pid().id();
    let (core, caller) = (Arc::clone(core), caller.clone());
    let reply = Reply::to(to.pid(), move |state| {
        let state = match state {
            Ok(Some(state)) => term_of(state),
            Ok(None) => Ok(Term::atom("undefined")),
            Err(error) => return caller.answerer(&core, by)(Err(error)),
        };
        let answer = match state {
            Ok(state) if core.admission.wants_plain_state(caller.pid.node.as_str()) => state,
            Ok(state) => Term::tuple([Term::atom("ok"), state]),
            Err(error) => Term::tuple([Term::atom("error"), Term::binary(error)]),
        };
        caller.answerer(&core, by)(Ok(&answer));
    });
    Arc::clone(to).state(reply);
}

/// The term of a state, which must be a [`Term`].
fn term_of(state: Dynamic) -> Result<Term, String> {
    state
        .downcast::<Term>()
        .map_err(|state| format!("the state is a {}, which is not a term", state.type_name()))
}
