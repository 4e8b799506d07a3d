//! Pipes: work in flight while its process continues to serve (rule C6).

use crate::behavior::behavior_fn;
use crate::context::Context;
use crate::lifecycle::in_place::yield_now;
use crate::process::contained::Contained;
use krarup_gen::{Pid, Reason, SpawnError};
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::{self, Poll};

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Runs a future beside this process, which continues to serve. `message` converts its
    /// output into a message to this process, on Main and regardless of the bound (Akka's
    /// `pipeToSelf`).
    ///
    /// The future has no context; [`Context::clock`] lets it sleep and tell the time.
    ///
    /// The future is a process of its own, a child of this one. Calls in it come from that
    /// process, and [`Context::exit`] with the returned pid cancels it. It ends with this
    /// process. A panic in it counts as a panic of this process, which runs `terminate` and
    /// ends for that reason.
    ///
    /// The two are not linked. A future that is ended from outside, by a kill, another exit signal
    /// or an injected fault, sends no message, and this process hears nothing. If that can happen,
    /// take [`Context::pipe_outcome`], which tells of the end in any case.
    ///
    /// ```
    /// # use krarup_act::{Address, Context, Reply};
    /// # use krarup_gen::{CallError, Result};
    /// # enum Store { Fetch(u64, Reply<String>) }
    /// enum Front { Fetched(Result<String, CallError>) }
    ///
    /// fn fetch(ctx: &Context<Front>, store: Address<Store>, key: u64) -> Result {
    ///     ctx.pipe(
    ///         async move { store.call(|reply| Store::Fetch(key, reply)).await },
    ///         Front::Fetched,
    ///     )?;
    ///     Ok(())
    /// }
    /// # let _ = fetch;
    /// ```
    ///
    /// # Errors
    /// [`SpawnError::NodeStopping`].
    pub fn pipe<F, N>(&self, future: F, message: N) -> Result<Pid, SpawnError>
    where
        F: Future + Send + 'static,
        N: FnOnce(F::Output) -> M + Send + 'static,
    {
        let owner = self.address();
        let run = move || {
            behavior_fn(move |ctx: Context<(), ()>| async move {
                let mut end = ctx.watch(owner.pid());
                let mut work = pin!(Contained::new(async move { message(future.await) }));
                let outcome = poll_fn(|cx| {
                    // The work is polled first: a finished result is sent, even if its
                    // receiver may have ended.
                    match work.as_mut().poll(cx) {
                        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
                        Poll::Pending => Pin::new(&mut end).poll(cx).map(|_| None),
                    }
                })
                .await;
                match outcome {
                    Some(Ok(message)) => owner.notify_result(message),
                    Some(Err(panic)) => owner.process().request_stop(panic),
                    None => {}
                }
                Ok::<(), Reason>(())
            })
        };
        Ok(self.spawn(run).label("pipe").start()?.pid())
    }

    /// Sends this process a message for each value that `poll` returns, and one for the end: of a stream, a
    /// channel, whatever is polled (actix's `add_stream`, kameo's `attach_stream`).
    ///
    /// `poll` is polled as `poll_next` of a stream is; after `None` it is not polled again. `message` gets each
    /// value as `Some`, in order, and at last `None`. The messages are on Main. Those of values wait
    /// for room in a bounded mailbox, and meanwhile nothing is polled, so a fast source is held back (rule
    /// M6). All else is as with [`Context::pipe`].
    ///
    /// ```
    /// # use krarup_act::Context;
    /// # use krarup_gen::Result;
    /// # use std::task::{Context as Cx, Poll};
    /// # struct Receiver; // of tokio's `mpsc`; with a stream it is `prices.poll_next_unpin(cx)`
    /// # impl Receiver { fn poll_recv(&mut self, _: &mut Cx<'_>) -> Poll<Option<u64>> { Poll::Ready(None) } }
    /// enum Chart { Price(u64), MarketClosed }
    ///
    /// fn follow(ctx: &Context<Chart>, mut prices: Receiver) -> Result {
    ///     ctx.pipe_each(
    ///         move |cx| prices.poll_recv(cx),
    ///         |price| price.map_or(Chart::MarketClosed, Chart::Price),
    ///     )?;
    ///     Ok(())
    /// }
    /// # let _ = follow;
    /// ```
    ///
    /// # Errors
    /// [`SpawnError::NodeStopping`].
    pub fn pipe_each<T, P, N>(&self, poll: P, message: N) -> Result<Pid, SpawnError>
    where
        T: Send + 'static,
        P: FnMut(&mut task::Context<'_>) -> Poll<Option<T>> + Send + 'static,
        N: FnMut(Option<T>) -> M + Send + 'static,
    {
        let owner = self.address();
        let each = async move {
            let (mut poll, mut message) = (poll, message);
            while let Some(value) = poll_fn(&mut poll).await {
                let message = message(Some(value));
                if !owner.is_alive() {
                    owner.notify_result(message);
                } else if owner.send_or_wait(message).await.is_ok() {
                    // A source that always has a value lets others run, too.
                    yield_now().await;
                    continue;
                }
                // The process has ended, and the pipe ends with it.
                pending::<()>().await;
            }
            message(None)
        };
        self.pipe(each, |last| last)
    }
}
