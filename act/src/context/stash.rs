//! Stashing: setting messages aside to handle them later (rule M9; Akka's `Stash`).

use super::context::Context;
use super::stash_queue::StashedMessage;
use crate::process::current;
use krarup_gen::SendError;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Sets a message aside, most often the one in progress. It keeps its sender. The stash
    /// has the bound of the mailbox, and is unbounded if the mailbox is. Stashed messages do
    /// not count towards the bound of the mailbox. If this is called in a trace context, the
    /// later handling of the message belongs to the trace, below the span of this one.
    ///
    /// ```
    /// # use krarup_act::{Actor, Context};
    /// # use krarup_gen::{Result, SendError};
    /// #[derive(Default)]
    /// struct Sender {
    ///     connected: bool,
    /// }
    ///
    /// enum Outgoing {
    ///     Line(String),
    ///     Connected,
    /// }
    ///
    /// impl Actor for Sender {
    ///     type Message = Outgoing;
    ///     async fn handle_message(
    ///         &mut self,
    ///         ctx: &mut Context<Outgoing>,
    ///         message: Outgoing,
    ///     ) -> Result {
    ///         match message {
    ///             Outgoing::Line(_) if !self.connected => ctx.stash(message)?,
    ///             Outgoing::Line(line) => println!("{line}"),
    ///             Outgoing::Connected => {
    ///                 self.connected = true;
    ///                 ctx.unstash_all();
    ///             }
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// [`SendError::Full`], with the message, if the stash has reached the bound of the
    /// mailbox.
    pub fn stash(&mut self, message: M) -> Result<(), SendError<M>> {
        let bound = self.mailbox_bound();
        let sender = self.sender_id();
        let context = current::is_traced().then(|| current::carry_aside(&*self.cell.host));
        let context = context.flatten();
        let stash = &mut self.cold().stash;
        if bound.is_some_and(|bound| stash.len() >= bound) {
            return Err(SendError::Full { message, to: self.cell.pid() });
        }
        stash.keep(StashedMessage { sender, message, context });
        let messages = stash.len();
        self.cell.set_stashed(messages);
        Ok(())
    }

    /// Has all stashed messages handled again, in their order and before every message that
    /// has not been received yet. Returns how many there are. A message that is stashed again
    /// meanwhile waits for the next call.
    pub fn unstash_all(&mut self) -> usize {
        let Some(cold) = &mut self.cold else { return 0 };
        let count = cold.stash.set_aside();
        cold.stash.replay_all();
        self.update_slow_path();
        count
    }

    /// Returns the number of stashed messages that wait for [`Context::unstash_all`].
    #[must_use]
    pub fn stashed(&self) -> usize {
        self.cold.as_ref().map_or(0, |cold| cold.stash.set_aside())
    }
}
