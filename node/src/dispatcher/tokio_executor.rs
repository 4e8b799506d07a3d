//! A tokio runtime as an executor: each turn of a process is a task of it.

use super::executor::{Executor, ExecutorTask};
use tokio::runtime::Handle;

/// Processes of a service that tokio serves run on the threads of the runtime, and a request changes
/// its thread only if another one is idle (feature `tokio`; rule R5). Between workers of the node and threads of a runtime,
/// the request and its answer each wake a thread; on two cores that cost a quarter of the processor time
/// (docs/decisions.md).
///
/// On the other hand, a turn costs a task, nothing adds a worker for a handler that blocks, and a
/// current-thread runtime runs its processes only while it is driven. When the runtime is shut down it
/// refuses all tasks (rule R7), so it must live longer than the node.
///
/// ```
/// # use krarup_act::{Actor, Context, Reply};
/// # use krarup_gen::Result;
/// # use krarup_node::{DispatcherOptions, Node};
/// # use tokio::runtime::{Builder, Handle};
/// struct Counter(u64);
///
/// impl Actor for Counter {
///     type Message = Reply<u64>;
///
///     async fn handle_message(&mut self, _: &mut Context<Reply<u64>>, reply: Reply<u64>) -> Result {
///         self.0 += 1;
///         reply.send(self.0);
///         Ok(())
///     }
/// }
///
/// # fn main() -> Result {
/// let runtime = Builder::new_current_thread().build()?;
/// runtime.block_on(async {
///     let here = DispatcherOptions::executor(Handle::current());
///     let node = Node::builder("shop@localhost").dispatcher("http", here).start()?;
///     let counter = node.spawn(|| Counter(0)).dispatcher("http").await?;
///     assert_eq!(counter.call(|reply| reply).await?, 1);
///     node.stop().await?;
///     Ok(())
/// })
/// # }
/// ```
impl Executor for Handle {
    fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
        // A runtime that has been shut down drops the task, which is a refusal.
        self.spawn(async { task.run() });
        Ok(())
    }
}
