//! A step process as a behaviour.
//!
//! | Wippy | here |
//! |---|---|
//! | Ready, Running | a turn of the process, queued or running |
//! | Blocked | it waits for a completion: messages are taken in and cause no step |
//! | Idle | it waits for any event |
//! | Complete | the process has ended |
//! | wake-up flag | completions are checked for again under the lock under which the process parks |

use crate::contained_drop::ContainedDrop;
use crate::step_process::commands::Commands;
use crate::step_process::machine::RunningSteps;
use crate::step_process::step_process::StepProcess;
use krarup_act::{Behavior, Context, contain, first_failure};
use krarup_gen::{ProcessKind, Result};
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// A [`StepProcess`] as a behaviour that can be spawned.
///
/// ```
/// # use krarup_node::Simulation;
/// # use krarup_act::Context;
/// # use krarup_gen::Result;
/// # use krarup_state::{Commands, StepEvent, StepOutput, StepProcess, Stepped, UnknownMethod};
/// # use std::collections::VecDeque;
/// # use std::sync::{Arc, Mutex};
/// /// Doubles a number, twice.
/// struct Doubler {
///     left: u32,
/// }
///
/// impl StepProcess for Doubler {
///     type Value = u64;
///     type Message = ();
///
///     fn init(&mut self, _: &Context<()>, method: &str, _: Vec<u64>) -> Result {
///         if method == "main" { Ok(()) } else { Err(UnknownMethod(method.to_owned()).into()) }
///     }
///
///     fn step(
///         &mut self,
///         events: &mut VecDeque<StepEvent<u64, ()>>,
///         out: &mut StepOutput<u64>,
///     ) -> Result {
///         let number = match events.pop_front() {
///             Some(StepEvent::Completed { outcome, .. }) => outcome?,
///             _ => 21,
///         };
///         if self.left == 0 {
///             out.done(number);
///         } else {
///             self.left -= 1;
///             out.dispatch("double", number);
///         }
///         Ok(())
///     }
/// }
///
/// let commands = Arc::new(Commands::new().at_once("double", |_, n| Ok(n * 2)));
/// let result = Arc::new(Mutex::new(None));
/// let sim = Simulation::new(7);
/// let seen = Arc::clone(&result);
/// sim.spawn(move || {
///     Stepped::new(Doubler { left: 2 }, commands, "main", [])
///         .then(move |number| *seen.lock().unwrap() = Some(number))
/// })
/// .start()
/// .unwrap();
/// sim.run_until_idle();
/// assert_eq!(*result.lock().unwrap(), Some(84));
/// ```
pub struct Stepped<P: StepProcess> {
    process: P,
    commands: Arc<Commands<P::Value, P::Message>>,
    method: String,
    inputs: Vec<P::Value>,
    then: Option<StepFuture<P::Value>>,
}

type StepFuture<V> = Box<dyn FnOnce(V) + Send>;

impl<P: StepProcess> Stepped<P> {
    /// Creates a process that runs from the entry point `method` with these inputs.
    pub fn new(
        process: P,
        commands: Arc<Commands<P::Value, P::Message>>,
        method: impl Into<String>,
        inputs: impl IntoIterator<Item = P::Value>,
    ) -> Self {
        let (method, inputs) = (method.into(), inputs.into_iter().collect());
        Stepped { process, commands, method, inputs, then: None }
    }

    /// Sets a function that gets the result when the process is done. Without it the
    /// result is dropped.
    #[must_use]
    pub fn then(mut self, then: impl FnOnce(P::Value) + Send + 'static) -> Self {
        self.then = Some(Box::new(then));
        self
    }
}

impl<P: StepProcess> fmt::Debug for Stepped<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stepped").field("method", &self.method).finish_non_exhaustive()
    }
}

impl<P: StepProcess> Behavior for Stepped<P> {
    type Message = P::Message;
    type Command = P::Message;

    async fn run(self, mut ctx: Context<P::Message>) -> Result {
        let Stepped { process, commands, method, inputs, then } = self;
        let then = then.map(ContainedDrop::new);
        ctx.stop_in_order();
        let mut machine = RunningSteps::new(process, commands, ctx);
        machine.closing.process.init(&machine.ctx, &method, inputs)?;
        machine.ctx.initialised();
        let end = poll_fn(|cx| {
            contain(|| machine.poll(cx)).unwrap_or_else(|panic| Poll::Ready(Err(panic)))
        })
        .await;
        let cancelled = machine.cancelled.take();
        // Close the process before the result is passed on.
        let dropped = contain(|| drop(machine));
        let end = match (end, dropped) {
            // The first failure is the cause.
            (Err(reason), dropped) => Err(first_failure(reason, dropped)),
            (Ok(_), Err(panic)) => Err(panic),
            (end, Ok(())) => end,
        };
        if let Some(then) = then {
            then.into_inner()(end?);
        } else {
            end?;
        }
        cancelled.map_or(Ok(()), Err)
    }

    fn label() -> &'static str {
        std::any::type_name::<P>()
    }

    fn kind() -> ProcessKind {
        ProcessKind::Step
    }
}
