//! Behaviours that cannot be made without I/O, or whose making may fail (rule Y3).

use crate::behavior::Behavior;
use crate::context::Context;
use krarup_gen::{ProcessKind, Reason, Result};
use std::fmt;

/// Makes a behaviour of a future that makes one: for an actor that needs a file, a connection or a
/// configuration before it exists, so that its fields need no `Option`.
///
/// The future is the first that the new process does, in its first turns; it may await sockets and
/// calls. If it fails, the spawn fails with [`SpawnError::Init`](krarup_gen::SpawnError::Init) and the
/// reason, and a supervisor that restarts the process makes it anew (rule Y3). A limit of the start,
/// [`Spawn::init_timeout`](crate::Spawn::init_timeout), includes it.
///
/// ```
/// # use krarup_act::{made_by, Actor, Context};
/// # use krarup_gen::{Reason, Result};
/// struct Prices {
///     table: Vec<u32>,
/// }
///
/// impl Prices {
///     fn parse(text: &str) -> std::result::Result<Self, std::num::ParseIntError> {
///         Ok(Prices { table: text.lines().map(str::parse).collect::<std::result::Result<_, _>>()? })
///     }
/// }
///
/// impl Actor for Prices {
///     type Message = usize;
///
///     async fn handle_message(&mut self, _: &mut Context<usize>, item: usize) -> Result {
///         println!("{:?}", self.table.get(item));
///         Ok(())
///     }
/// }
///
/// fn spawn(ctx: &Context<()>, text: String) {
///     let prices = ctx.spawn(move || made_by(async move { Prices::parse(&text) }));
///     # let _ = prices;
/// }
/// # let _ = spawn;
/// ```
pub fn made_by<F, B, E>(making: F) -> MadeBy<F>
where
    F: Future<Output = Result<B, E>> + Send + 'static,
    B: Behavior,
    E: Into<Reason> + Send + 'static,
{
    MadeBy(making)
}

/// A behaviour that is made by a future; made by [`made_by`].
pub struct MadeBy<F>(F);

impl<F, B, E> MadeBy<F>
where
    F: Future<Output = Result<B, E>>,
    E: Into<Reason>,
{
    async fn make(self) -> Result<B> {
        self.0.await.map_err(Into::into)
    }
}

impl<F, B, E> Behavior for MadeBy<F>
where
    F: Future<Output = Result<B, E>> + Send + 'static,
    B: Behavior,
    E: Into<Reason> + Send + 'static,
{
    type Message = B::Message;
    type Command = B::Command;

    const ONE_THREAD: bool = B::ONE_THREAD;

    async fn run(self, ctx: Context<B::Message, B::Command>) -> Result {
        self.make().await?.run(ctx).await
    }

    async fn run_in_turn(self, ctx: Context<B::Message, B::Command>) -> Result {
        self.make().await?.run_in_turn(ctx).await
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

impl<F> fmt::Debug for MadeBy<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MadeBy")
    }
}
