//! Blocking work, on threads that are no workers.
//!
//! A handler that waits for a disk or computes for long holds its worker, and with it every
//! process that the worker would run. [`Context::block`] runs such work on a side thread, and
//! only the calling process waits, as in a call.
//!
//! ```text
//!   process ──── work ───►  side thread: runs it, once
//!      │  waits                   │
//!      ◄──── value or panic ──────┘        killed meanwhile: the value is dropped there
//! ```

use crate::calls::slot::{SlotReceiver, slot};
use crate::context::Context;
use crate::host::host::Host;
use crate::process::crash::contain;
use krarup_gen::{BlockError, Reason};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Runs `work` on a side thread when it is awaited. Meanwhile this process waits and holds
    /// no worker. It waits as in a call: a kill ends the wait at once, and a stop is obeyed
    /// when the handler is done (rule C4).
    ///
    /// Work that has begun cannot be stopped: if its process ends meanwhile, the work
    /// continues and its value is dropped. Work that has not begun by then, because all side
    /// threads are in use, is dropped unrun. Messages it sends come from outside any process.
    ///
    /// In a simulation the work runs between turns, when the seed chooses, on the thread that
    /// drives the simulation. It takes no virtual time, and may `.wait()` for processes, which
    /// run meanwhile.
    ///
    /// ```
    /// # use krarup_act::{Actor, Context, Reply};
    /// # use krarup_gen as krarup;
    /// # struct Files;
    /// # type Read = (String, Reply<Vec<u8>>);
    /// # impl Actor for Files {
    /// #     type Message = Read;
    /// async fn handle_message(&mut self, ctx: &mut Context<Read>, read: Read) -> krarup::Result {
    ///     let (path, reply) = read;
    ///     reply.send(ctx.block(move || std::fs::read(path)).await??);
    ///     Ok(())
    /// }
    /// # }
    /// ```
    pub fn block<T, F>(&self, work: F) -> Block<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        Block { host: Arc::clone(self.host()), pool: None, state: BlockState::New(Box::new(work)) }
    }

    /// As [`Context::block`], on the threads of a named pool of the node
    /// (`NodeBuilder::blocking_pool`): a bulkhead. Work that fills one pool, because a disk
    /// does not answer, delays no work of another pool.
    ///
    /// The output is [`BlockError::UnknownPool`] if the node has no pool of this name. A
    /// simulation has the pools that were added to it (`Simulation::add_blocking_pool`).
    ///
    /// ```
    /// # use krarup_act::{Actor, Context, Reply};
    /// # use krarup_gen as krarup;
    /// # struct Files;
    /// # type Read = (String, Reply<Vec<u8>>);
    /// # impl Actor for Files {
    /// #     type Message = Read;
    /// async fn handle_message(&mut self, ctx: &mut Context<Read>, read: Read) -> krarup::Result {
    ///     let (path, reply) = read;
    ///     reply.send(ctx.block_in("disk", move || std::fs::read(path)).await??);
    ///     Ok(())
    /// }
    /// # }
    /// ```
    pub fn block_in<T, F>(&self, pool: impl Into<String>, work: F) -> Block<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        Block { pool: Some(pool.into()), ..self.block(work) }
    }
}

/// Work for a side thread; made by [`Context::block`] and [`Context::block_in`].
///
/// Its output is the value, or a reason that can be returned with `?`: [`Reason::Panic`] with
/// the location if the work panicked, a [`BlockError`] if it was not run.
#[must_use = "nothing is run until it is awaited"]
pub struct Block<T> {
    host: Arc<dyn Host>,
    pool: Option<String>,
    state: BlockState<T>,
}

enum BlockState<T> {
    New(Box<dyn FnOnce() -> T + Send>),
    Running(SlotReceiver<Result<T, Reason>>),
    Done,
}

impl<T: Send + 'static> Future for Block<T> {
    type Output = Result<T, Reason>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let block = self.get_mut();
        loop {
            match std::mem::replace(&mut block.state, BlockState::Done) {
                BlockState::New(work) => match begin(&*block.host, block.pool.as_deref(), work) {
                    Ok(value) => block.state = BlockState::Running(value),
                    Err(error) => return Poll::Ready(Err(error.into())),
                },
                BlockState::Running(mut value) => match Pin::new(&mut value).poll(cx) {
                    Poll::Ready(value) => {
                        return Poll::Ready(value.unwrap_or(Err(BlockError::NodeStopped.into())));
                    }
                    Poll::Pending => {
                        block.state = BlockState::Running(value);
                        return Poll::Pending;
                    }
                },
                // The output has been taken.
                BlockState::Done => return Poll::Pending,
            }
        }
    }
}

type BlockSlot<T> = SlotReceiver<Result<T, Reason>>;

fn begin<T: Send + 'static>(
    host: &dyn Host,
    pool: Option<&str>,
    work: Box<dyn FnOnce() -> T + Send>,
) -> Result<BlockSlot<T>, BlockError> {
    let (sender, receiver) = slot();
    let run = move || {
        if !sender.is_awaited() {
            return;
        }
        // A value that is not awaited any more is a user's, and its destructor may panic. The
        // host contains that panic.
        let _ = sender.send(contain(work));
    };
    let begun = match pool {
        None => host.block(Box::new(run)),
        Some(pool) => host.block_in(pool, Box::new(run)),
    };
    begun.map(|()| receiver)
}

impl<T> fmt::Debug for Block<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            BlockState::New(_) => "Block(new)",
            BlockState::Running(_) => "Block(running)",
            BlockState::Done => "Block(done)",
        })
    }
}
