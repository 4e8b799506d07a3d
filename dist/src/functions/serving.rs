//! Typed functions and factories: how arguments are read, and values are written.

use crate::core::ClusterCore;
use crate::functions::arguments::FunctionArguments;
use crate::functions::call::{FunctionCall, FunctionContext};
use crate::functions::exception::TermException;
use crate::functions::request::{FunctionResult, RequestedStart, ServedFactory, ServedFunction};
use crate::functions::table::FunctionName;
use crate::terms::reason::ReasonTerm;
use krarup_act::{Behavior, Context, Reply, Spawn, behavior_fn};
use krarup_gen::{Name, Pid, ProcessKind, Reason, Result, SpawnError};
use krarup_wire::etf::Term;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::sync::Arc;

/// A function with arguments of type `A`.
pub(crate) struct TypedFunction<A, F> {
    pub(crate) name: FunctionName,
    pub(crate) run: Arc<F>,
    pub(crate) arguments: PhantomData<fn(A)>,
}

impl<A, R, F, U> ServedFunction<ClusterCore> for TypedFunction<A, F>
where
    A: FunctionArguments + DeserializeOwned + Send + 'static,
    R: Serialize,
    F: Fn(FunctionCall, A) -> U + Send + Sync + 'static,
    U: Future<Output = std::result::Result<R, TermException>> + Send + 'static,
{
    fn start(
        &self,
        core: &Arc<ClusterCore>,
        start: RequestedStart,
        done: Reply<FunctionResult>,
    ) -> std::result::Result<Pid, SpawnError> {
        let (run, name) = (Arc::clone(&self.run), self.name.clone());
        let label = label(&name);
        let runs = Arc::clone(core);
        let process = behavior_fn(move |mut ctx: FunctionContext| async move {
            let RequestedStart { arguments, node, gate, permit } = start;
            if gate.await.is_none() {
                return Ok(());
            }
            ctx.initialised();
            let pid = ctx.pid();
            let result = match read::<A>(&runs, &name, arguments) {
                Ok(arguments) => match run(FunctionCall { ctx, node }, arguments).await {
                    Ok(value) => written(&runs, pid, &name, &value),
                    Err(exception) => Err(placed(exception, &name)),
                },
                Err(exception) => Err(exception),
            };
            // The caller may request another one as soon as it has the answer.
            drop(permit);
            done.send(result);
            Ok(())
        });
        let spawn = Spawn::outside(core.user_host(), move || process);
        match label {
            Some(label) => spawn.label(label).start(),
            None => spawn.start(),
        }
        .map(|address| address.pid())
    }
}

/// A factory with arguments of type `A`.
pub(crate) struct TypedFactory<A, F> {
    pub(crate) name: FunctionName,
    pub(crate) make: Arc<F>,
    pub(crate) arguments: PhantomData<fn(A)>,
}

impl<A, B, F> ServedFactory<ClusterCore> for TypedFactory<A, F>
where
    A: FunctionArguments + DeserializeOwned + Send + 'static,
    B: Behavior,
    F: Fn(A) -> B + Send + Sync + 'static,
{
    fn start(
        &self,
        core: &Arc<ClusterCore>,
        start: RequestedStart,
    ) -> std::result::Result<Pid, SpawnError> {
        let requested = Requested {
            core: Arc::clone(core),
            name: self.name.clone(),
            make: Arc::clone(&self.make),
            start,
            types: PhantomData::<fn(A)>,
        };
        let spawn = Spawn::outside(core.user_host(), move || requested);
        spawn.start().map(|address| address.pid())
    }
}

/// A process of a factory: it waits at its gate, and then is what the factory makes.
struct Requested<A, F> {
    core: Arc<ClusterCore>,
    name: FunctionName,
    make: Arc<F>,
    start: RequestedStart,
    types: PhantomData<fn(A)>,
}

impl<A, B, F> Behavior for Requested<A, F>
where
    A: FunctionArguments + DeserializeOwned + Send + 'static,
    B: Behavior,
    F: Fn(A) -> B + Send + Sync + 'static,
{
    type Message = B::Message;
    type Command = B::Command;

    const ONE_THREAD: bool = B::ONE_THREAD;

    async fn run(self, ctx: Context<B::Message, B::Command>) -> Result {
        let Requested { core, name, make, start, .. } = self;
        let RequestedStart { arguments, gate, permit, .. } = start;
        if gate.await.is_none() {
            return Ok(());
        }
        let arguments = match read::<A>(&core, &name, arguments) {
            Ok(arguments) => arguments,
            Err(TermException { reason, stack, .. }) => {
                return Err(Reason::error(ReasonTerm(Term::tuple([reason, stack]))));
            }
        };
        drop((core, name));
        let behavior = make(arguments);
        drop(make);
        let ended = behavior.run(ctx).await;
        drop(permit);
        ended
    }

    fn label() -> &'static str {
        B::label()
    }

    fn kind() -> ProcessKind {
        B::kind()
    }

    fn show_message(message: &B::Message) -> Option<String> {
        B::show_message(message)
    }

    fn show_command(command: &B::Command) -> Option<String> {
        B::show_command(command)
    }

    fn routes_main() -> bool {
        B::routes_main()
    }
}

/// Reads the arguments. Others than the function takes are `function_clause`, as in Erlang.
fn read<A: FunctionArguments + DeserializeOwned>(
    core: &Arc<ClusterCore>,
    (module, function, _): &FunctionName,
    arguments: Vec<Term>,
) -> std::result::Result<A, TermException> {
    let listed = Term::List(arguments.clone().into());
    let tuple = if A::ARITY == 0 { Term::atom("ok") } else { Term::Tuple(arguments.into()) };
    core.from_term::<A>(&tuple).map_err(|why| {
        let why = Term::tuple([Term::atom("why"), Term::binary(why)]);
        let (module, function) = (module.clone().into(), function.clone().into());
        let frame = Term::tuple([module, function, listed, Term::list([why])]);
        TermException::error(Term::atom("function_clause")).at(Term::list([frame]))
    })
}

fn written<R: Serialize>(
    core: &Arc<ClusterCore>,
    pid: Pid,
    name: &FunctionName,
    value: &R,
) -> FunctionResult {
    core.to_bytes(pid, value).map_err(|why| {
        let why = Term::tuple([Term::atom("unserializable"), Term::binary(why)]);
        placed(TermException::error(why), name)
    })
}

/// An error that was raised in this function.
fn placed(exception: TermException, (module, function, arity): &FunctionName) -> TermException {
    let (module, function) = (module.clone().into(), function.clone().into());
    let frame = Term::tuple([module, function, Term::Int((*arity).into()), Term::nil()]);
    exception.at(Term::list([frame]))
}

fn label((module, function, arity): &FunctionName) -> Option<Name> {
    Name::new(format!("{module}:{function}/{arity}")).ok()
}
