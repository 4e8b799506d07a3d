//! Pipes that tell of their end in any case (rule C6).

use crate::addressing::address::Address;
use crate::behavior::behavior_fn;
use crate::context::Context;
use crate::process::current::{OrphanCause, adopt};
use krarup_gen::{Pid, Reason, SpawnError, TaskError};
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::task::Poll;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Runs a future beside this process, as [`Context::pipe`] does, and tells this process in any case
    /// what became of it (Elixir's `Task.Supervisor.async_nolink`, Akka's `pipeToSelf`).
    ///
    /// `message` gets the output as `Ok`. If the future panics it gets [`TaskError::Failed`], and if
    /// its process is killed or ended by an exit signal [`TaskError::Ended`] with the reason. So work
    /// that must be tried again is not lost without a word. The message is one, on Main and regardless of
    /// the bound. A panic does not end this process; it makes a crash report of its own.
    ///
    /// The future is a process of its own, a child of this one, and ends with it: then nothing is
    /// told. Its end by this process ([`Context::exit`] with the returned pid) is told as any other. If
    /// `message` panics, no message comes.
    ///
    /// ```
    /// # use krarup_act::{Address, Context, Reply};
    /// # use krarup_gen::{CallError, Result, TaskError};
    /// # #[derive(Clone)] struct Job;
    /// # struct Ship(Job, Reply<()>);
    /// enum Queue { Done(Job), Again(Job) }
    ///
    /// fn run(ctx: &Context<Queue>, lorry: Address<Ship>, job: Job) -> Result {
    ///     let shipped = job.clone();
    ///     ctx.pipe_outcome(
    ///         async move { lorry.call(|reply| Ship(shipped, reply)).await },
    ///         |outcome: Result<Result<(), CallError>, TaskError>| match outcome {
    ///             Ok(Ok(())) => Queue::Done(job),
    ///             _ => Queue::Again(job),
    ///         },
    ///     )?;
    ///     Ok(())
    /// }
    /// # let _ = run;
    /// ```
    ///
    /// # Errors
    /// [`SpawnError::NodeStopping`]; then `message` is not called.
    pub fn pipe_outcome<F, N>(&self, future: F, message: N) -> Result<Pid, SpawnError>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
        N: FnOnce(Result<F::Output, TaskError>) -> M + Send + 'static,
    {
        let mut outcome =
            UntoldOutcome { owner: self.address(), message: Some(message), output: PhantomData };
        let run = move || {
            behavior_fn(move |ctx: Context<(), ()>| async move {
                let mut end = ctx.watch(outcome.owner.pid());
                let mut work = pin!(future);
                // The work is polled first: a finished result is sent, even if its receiver may
                // have ended.
                let output = poll_fn(|cx| match work.as_mut().poll(cx) {
                    Poll::Ready(output) => Poll::Ready(Some(output)),
                    Poll::Pending => Pin::new(&mut end).poll(cx).map(|_| None),
                })
                .await;
                if let (Some(message), Some(output)) = (outcome.message.take(), output) {
                    outcome.owner.notify_result(message(Ok(output)));
                }
                Ok::<(), Reason>(())
            })
        };
        Ok(self.spawn(run).label("pipe").start()?.pid())
    }
}

/// What a pipe has to tell, with the function that makes the message. It lies in the state of the
/// pipe, so it is dropped in the last turn of the pipe, also if that never had one before.
struct UntoldOutcome<T, M, C, N>
where
    T: 'static,
    M: Send + 'static,
    C: Send + 'static,
    N: FnOnce(Result<T, TaskError>) -> M + Send + 'static,
{
    owner: Address<M, C>,
    /// Taken when the output is there.
    message: Option<N>,
    output: PhantomData<fn(T)>,
}

impl<T, M, C, N> Drop for UntoldOutcome<T, M, C, N>
where
    T: 'static,
    M: Send + 'static,
    C: Send + 'static,
    N: FnOnce(Result<T, TaskError>) -> M + Send + 'static,
{
    fn drop(&mut self) {
        let Some(message) = self.message.take() else { return };
        let owner = self.owner.clone();
        // As for the token of a call: the reason is known when the process has ended. Outside any
        // turn, as in the end of the node, nobody is left to be told. A pipe that was refused is
        // dropped in the turn of its owner, which lives on (`Dropped`) and knows it.
        drop(adopt(move |_: Pid, cause: OrphanCause<'_>| {
            let (OrphanCause::Ended(reason) | OrphanCause::NotBegun(reason)) = cause else {
                return;
            };
            let error = match reason {
                Reason::Panic(_) => TaskError::Failed(reason.clone()),
                reason => TaskError::Ended(reason.clone()),
            };
            owner.notify_result(message(Err(error)));
        }));
    }
}
