//! Driving a future that is no process, in a simulation (rule Y2).

use crate::simulation::simulation::Simulation;
use krarup_act::{Host, Stalled, is_in_process};
use krarup_gen::CannotWait;
use std::pin::pin;

impl Simulation {
    /// Runs the simulation until this future is ready, and returns its output: a handler of an HTTP
    /// service, a client, several calls joined. The future is polled on this thread, outside of any
    /// process, as often as it is woken; between its polls processes have turns and time advances.
    ///
    /// It may call processes, wait for names, and use channels. It must not wait for real time, sockets
    /// or threads, of which the simulation knows nothing: then it is stalled.
    ///
    /// ```
    /// # use krarup_act::{behavior_fn, Context, Received, Reply};
    /// # use krarup_gen::{CallError, Result};
    /// # use krarup_node::Simulation;
    /// # fn main() -> Result {
    /// let sim = Simulation::new(1);
    /// let doubles = || behavior_fn(|mut ctx: Context<(u32, Reply<u32>)>| async move {
    ///     while let Received::Message((number, reply)) = ctx.receive().await {
    ///         reply.send(2 * number);
    ///     }
    ///     Ok(())
    /// });
    /// let doubles = sim.spawn(doubles).wait()?;
    /// let sum = sim.block_on(async {
    ///     let one = doubles.call(|reply| (1, reply)).await?;
    ///     Ok::<_, CallError>(one + doubles.call(|reply| (20, reply)).await?)
    /// })?;
    /// assert_eq!(sum?, 42);
    /// # sim.stop().wait()
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`CannotWait::Stalled`]: nothing is left to happen, and the future is not ready.
    /// [`CannotWait::InProcess`]: a process of the simulation has called this.
    pub fn block_on<F>(&self, future: F) -> Result<F::Output, CannotWait>
    where
        F: Future<Output: Send> + Send,
    {
        if is_in_process() {
            return Err(CannotWait::InProcess);
        }
        let mut output = None;
        let host = self.node().dispatcher_host();
        host.wait(pin!(async { output = Some(future.await) }))
            .map_err(|Stalled| CannotWait::Stalled)?;
        output.ok_or(CannotWait::Stalled)
    }
}
