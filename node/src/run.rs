//! A program around a node: it starts, does its work, and stops in order, whatever happens (rule Y1).

use crate::builder::NodeBuilder;
use crate::error::NodeError;
use crate::node::Node;
use krarup_gen::Reason;

/// The node around a program could not be started, or has not stopped in order.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The node could not be started.
    #[error(transparent)]
    Start(#[from] NodeError),
    /// The program has done its work, and then the node has not stopped in order.
    #[error("the node has not stopped in order: {0}")]
    Stop(Reason),
}

impl Node {
    /// Starts a node, runs `main` on this thread, and stops the node when `main` returns, fails or
    /// panics. As [`NodeBuilder::run`], with the defaults.
    ///
    /// ```
    /// # use krarup_act::{behavior_fn, Context};
    /// # use krarup_gen as krarup;
    /// # use krarup_node::Node;
    /// fn main() -> krarup::Result {
    ///     Node::run("demo@localhost", |node| {
    ///         let printer = || behavior_fn(|mut ctx: Context<u32>| async move {
    ///             println!("{:?}", ctx.receive().await);
    ///             Ok(())
    ///         });
    ///         // With an error here, too, the node stops in order.
    ///         node.spawn(printer).name("printer").wait()?.send(7)?;
    ///         Ok(())
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    /// Those of `main`, and [`ProgramError`].
    pub fn run<T, E>(
        name: impl AsRef<str>,
        main: impl FnOnce(&Node) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: From<ProgramError>,
    {
        Node::builder(name).run(main)
    }
}

impl NodeBuilder {
    /// Starts the node, runs `main` on this thread, and stops the node when `main` returns, fails or
    /// panics: its processes end in order, and write what they keep. So `?` in `main` loses nothing.
    ///
    /// The error may be a [`Reason`], an `anyhow::Error`, a `Box<dyn Error + Send + Sync>`, or any that is
    /// made from a [`ProgramError`]. That of `main` comes before that of the stop.
    ///
    /// # Errors
    /// Those of `main`, and [`ProgramError`].
    pub fn run<T, E>(self, main: impl FnOnce(&Node) -> Result<T, E>) -> Result<T, E>
    where
        E: From<ProgramError>,
    {
        let node = self.start().map_err(ProgramError::Start)?;
        let unwinding = StopsOnUnwind(node.clone());
        let outcome = main(&node);
        let stopped = node.stop().wait();
        drop(unwinding);
        let value = outcome?;
        stopped.map_err(ProgramError::Stop)?;
        Ok(value)
    }

    /// As [`NodeBuilder::run`], for a `main` that runs in an async runtime, or in a process of another
    /// node. If the future is dropped, or
    /// `main` panics, the stop begins and is not waited for.
    ///
    /// # Errors
    /// Those of `main`, and [`ProgramError`].
    pub async fn run_async<T, E>(
        self,
        main: impl AsyncFnOnce(&Node) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: From<ProgramError>,
    {
        let node = self.start().map_err(ProgramError::Start)?;
        let begins = StopBegins(node.clone());
        let outcome = main(&node).await;
        let stopped = node.stop().await;
        drop(begins);
        let value = outcome?;
        stopped.map_err(ProgramError::Stop)?;
        Ok(value)
    }
}

/// Stops the node in order if `main` panics.
struct StopsOnUnwind(Node);

impl Drop for StopsOnUnwind {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The panic goes on, and says more than an error of the stop.
            let _ = self.0.stop().wait();
        }
    }
}

/// Begins the stop, unless it has begun.
struct StopBegins(Node);

impl Drop for StopBegins {
    fn drop(&mut self) {
        self.0.stop().start();
    }
}
