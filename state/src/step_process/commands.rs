//! The commands of a step process, and their handlers.

use crate::step_process::step_process::{CommandError, Tag};
use crate::wake_queue::WakeQueue;
use krarup_act::Context;
use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// The commands that a [`StepProcess`](crate::StepProcess) may use, by name: operations that its
/// language cannot perform itself. One registry serves any number of processes.
///
/// `V` is the process's value, `M` its message. A handler gets the context of the process and
/// the argument. From the context it takes what it needs: a pid, a [`Context::sleep`], a child.
///
/// ```
/// # use krarup_state::Commands;
/// # use std::time::Duration;
/// let commands: Commands<u64, ()> = Commands::new()
///     // Runs at once, in the process's own turn.
///     .at_once("double", |_, n| Ok(n * 2))
///     // Other processes run meanwhile, and other commands of the same process.
///     .awaited("sleep", |ctx, ms| {
///         let sleep = ctx.sleep(Duration::from_millis(ms));
///         async move {
///             sleep.await;
///             Ok(ms)
///         }
///     })
///     // Completed by the holder of the completion.
///     .deferred("answer", |_, question, completion| {
///         std::thread::spawn(move || completion.complete(Ok(question + 42)));
///     });
/// # let _ = commands;
/// ```
pub struct Commands<V, M> {
    handlers: HashMap<String, Handler<V, M>>,
}

/// The result of a command.
pub type CommandResult<V> = Result<V, CommandError>;

pub(crate) type CommandWork<V> = Pin<Box<dyn Future<Output = CommandResult<V>> + Send>>;

type AtOnce<V, M> = Box<dyn Fn(&Context<M>, V) -> CommandResult<V> + Send + Sync>;
type Awaited<V, M> = Box<dyn Fn(&Context<M>, V) -> CommandWork<V> + Send + Sync>;
type Deferred<V, M> = Box<dyn Fn(&Context<M>, V, Completion<V>) + Send + Sync>;

pub(crate) enum Handler<V, M> {
    AtOnce(AtOnce<V, M>),
    Awaited(Awaited<V, M>),
    Deferred(Deferred<V, M>),
}

impl<V, M> Default for Commands<V, M> {
    fn default() -> Self {
        Commands { handlers: HashMap::new() }
    }
}

impl<V: Send + 'static, M: Send + 'static> Commands<V, M> {
    /// Creates an empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a command that completes at once. A handler of the same name is replaced, here
    /// and below.
    #[must_use]
    pub fn at_once(
        self,
        name: impl Into<String>,
        handler: impl Fn(&Context<M>, V) -> CommandResult<V> + Send + Sync + 'static,
    ) -> Self {
        self.with(name, Handler::AtOnce(Box::new(handler)))
    }

    /// Adds a command that takes time. Its future is polled in the process's turns, and
    /// dropped when the command is given up or the process ends.
    #[must_use]
    pub fn awaited<F>(
        self,
        name: impl Into<String>,
        handler: impl Fn(&Context<M>, V) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = CommandResult<V>> + Send + 'static,
    {
        let handler =
            move |ctx: &Context<M>, argument| Box::pin(handler(ctx, argument)) as CommandWork<V>;
        self.with(name, Handler::Awaited(Box::new(handler)))
    }

    /// Adds a command that is completed from outside, on any thread.
    #[must_use]
    pub fn deferred(
        self,
        name: impl Into<String>,
        handler: impl Fn(&Context<M>, V, Completion<V>) + Send + Sync + 'static,
    ) -> Self {
        self.with(name, Handler::Deferred(Box::new(handler)))
    }

    fn with(mut self, name: impl Into<String>, handler: Handler<V, M>) -> Self {
        self.handlers.insert(name.into(), handler);
        self
    }

    pub(crate) fn handler(&self, name: &str) -> Option<&Handler<V, M>> {
        self.handlers.get(name)
    }
}

impl<V, M> fmt::Debug for Commands<V, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<_> = self.handlers.keys().collect();
        names.sort();
        f.debug_tuple("Commands").field(&names).finish()
    }
}

/// The right and the duty to complete one command. Dropping it completes the command with
/// [`CommandError::Dropped`]. If the command was given up, the completion has no effect.
#[must_use = "a completion that is dropped fails its command"]
pub struct Completion<V> {
    tag: Tag,
    counter: Option<Arc<CompletionQueue<V>>>,
}

impl<V> Completion<V> {
    pub(crate) fn new(tag: Tag, counter: Arc<CompletionQueue<V>>) -> Self {
        Completion { tag, counter: Some(counter) }
    }

    /// The tag of the command, unique in its process.
    #[must_use]
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// Completes the command.
    pub fn complete(mut self, outcome: CommandResult<V>) {
        if let Some(counter) = self.counter.take() {
            drop(counter.push((self.tag, outcome)));
        }
    }
}

impl<V> Drop for Completion<V> {
    fn drop(&mut self) {
        if let Some(counter) = self.counter.take() {
            drop(counter.push((self.tag, Err(CommandError::Dropped))));
        }
    }
}

impl<V> fmt::Debug for Completion<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Completion({})", self.tag)
    }
}

/// The completions that were handed in, on any thread (rule W3).
pub(crate) type CompletionQueue<V> = WakeQueue<(Tag, CommandResult<V>)>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wake_count::WakeCount;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn w3_a_completion_for_a_running_process_wakes_nothing_and_is_seen_before_parking() {
        let counter = Arc::new(CompletionQueue::default());
        let complete = |tag| Completion::new(Tag(tag), Arc::clone(&counter)).complete(Ok(tag));
        let (wakes, waker) = WakeCount::with_waker();
        let woken = || wakes.count();
        // The process runs: the completion is queued without a wake-up, and the process
        // may not park before it has taken it.
        complete(1);
        assert!(!counter.rest(&waker));
        assert_eq!((counter.take(), woken()), (vec![(Tag(1), Ok(1))], 0));
        // The process is idle: the first completion wakes it, the second finds it woken.
        assert!(counter.rest(&waker));
        complete(2);
        drop(Completion::new(Tag(3), Arc::clone(&counter)));
        assert_eq!(woken(), 1);
        let dropped = Err(CommandError::Dropped);
        assert_eq!(counter.take(), [(Tag(2), Ok(2)), (Tag(3), dropped)]);
        // The process rests, and runs again for another reason.
        assert!(counter.rest(&waker));
        counter.run();
        complete(5);
        assert_eq!((counter.take(), woken()), (vec![(Tag(5), Ok(5))], 1));
        // The process has ended.
        assert!(counter.rest(&waker));
        assert!(counter.close().is_empty());
        complete(4);
        assert_eq!((counter.take(), woken()), (Vec::new(), 1));
    }

    /// Sees, as it is dropped, whether the queue is free.
    struct Looks(Arc<CompletionQueue<Looks>>, Arc<AtomicUsize>);

    impl Drop for Looks {
        fn drop(&mut self) {
            if self.0.is_free() {
                self.1.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    #[test]
    fn w3_a_completion_for_an_ended_process_is_dropped_outside_the_lock() {
        let (counter, free) = (Arc::new(CompletionQueue::default()), Arc::default());
        assert!(counter.close().is_empty());
        let outcome = Ok(Looks(Arc::clone(&counter), Arc::clone(&free)));
        Completion::new(Tag(1), Arc::clone(&counter)).complete(outcome);
        assert_eq!(free.load(Ordering::Relaxed), 1);
    }
}
