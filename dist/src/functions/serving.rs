//! Typed functions and factories: how arguments are read, and values are written.

use crate::core::ClusterCore;
use crate::error::ServeError;
use crate::functions::arguments::FunctionArguments;
use crate::functions::call::{FunctionCall, FunctionContext};
use crate::functions::exception::TermException;
use crate::functions::naming::served_name;
use crate::functions::request::{FunctionResult, RequestedStart, ServedFactory, ServedFunction};
use crate::functions::table::{FunctionName, FunctionTable};
use crate::terms::reason::ReasonTerm;
use krarup_act::{Behavior, Context, Reply, Spawn, behavior_fn};
use krarup_gen::{Name, Pid, ProcessKind, Reason, Result, SpawnError};
use krarup_wire::etf::Term;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::sync::Arc;

/// Has a function served by this name, unless that is taken.
pub(crate) fn add_function<A, R, F, U>(
    to: &FunctionTable<dyn ServedFunction<ClusterCore>>,
    (module, function): (&str, &str),
    run: F,
) -> std::result::Result<(), ServeError>
where
    A: FunctionArguments + DeserializeOwned + Send + 'static,
    R: Serialize,
    F: Fn(FunctionCall, A) -> U + Send + Sync + 'static,
    U: Future<Output = std::result::Result<R, TermException>> + Send + 'static,
{
    let name = served_name(module, function, A::ARITY)?;
    let (run, arguments) = (Arc::new(run), PhantomData);
    let served = TypedFunction::<A, F> { name: name.clone(), run, arguments };
    if to.add(name, Arc::new(served)) {
        return Ok(());
    }
    let (module, function, arity) = (module.to_owned(), function.to_owned(), A::ARITY);
    Err(ServeError::Taken { module, function, arity })
}

/// As [`add_function`], of a function that has no use for the process that runs it.
pub(crate) fn add_plain_function<A, R, F, U>(
    to: &FunctionTable<dyn ServedFunction<ClusterCore>>,
    name: (&str, &str),
    run: F,
) -> std::result::Result<(), ServeError>
where
    A: FunctionArguments + DeserializeOwned + Send + 'static,
    R: Serialize,
    F: Fn(A) -> U + Send + Sync + 'static,
    U: Future<Output = std::result::Result<R, TermException>> + Send + 'static,
{
    add_function(to, name, move |call: FunctionCall, arguments: A| {
        let outcome = run(arguments);
        async move {
            let outcome = outcome.await;
            drop(call);
            outcome
        }
    })
}

/// Has a factory by this name, unless that is taken.
pub(crate) fn add_factory<A, B, F>(
    to: &FunctionTable<dyn ServedFactory<ClusterCore>>,
    (module, function): (&str, &str),
    make: F,
) -> std::result::Result<(), ServeError>
where
    A: FunctionArguments + DeserializeOwned + Send + 'static,
    B: Behavior,
    F: Fn(A) -> B + Send + Sync + 'static,
{
    let name = served_name(module, function, A::ARITY)?;
    let (module, function, arity) = (module.to_owned(), function.to_owned(), A::ARITY);
    if module == "erpc" {
        return Err(ServeError::Reserved { module, function, arity });
    }
    let (make, arguments) = (Arc::new(make), PhantomData);
    let made = TypedFactory::<A, F> { name: name.clone(), make, arguments };
    if to.add(name, Arc::new(made)) {
        return Ok(());
    }
    Err(ServeError::Taken { module, function, arity })
}

/// A function with arguments of type `A`.
struct TypedFunction<A, F> {
    name: FunctionName,
    run: Arc<F>,
    arguments: PhantomData<fn(A)>,
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
struct TypedFactory<A, F> {
    name: FunctionName,
    make: Arc<F>,
    arguments: PhantomData<fn(A)>,
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
