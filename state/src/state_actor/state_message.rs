//! The messages of a state actor, and how to send them.

use krarup_act::{Address, Call, Reply};
use krarup_gen::SendError;

/// A message to a state actor: a notice of type `N` or an ask of type `A`.
///
/// A message that arrives on the control lanes of a state actor is an event. Most senders
/// need neither variant: see [`StateCalls`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateMessage<N, A> {
    /// A message without an answer.
    Notice(N),
    /// A request: `A` carries the reply token.
    Ask(A),
}

/// Sends messages to a state actor: a trait of its address, `Address<StateMessage<Notice, Ask>,
/// Event>`.
///
/// Messages of one sender and one kind are handled in the order sent. Between kinds, the
/// order of the classes applies: an ask overtakes waiting notices, even those of its own
/// sender. A sender that needs to know that a notice has been handled makes it an ask.
///
/// ```
/// # use krarup_act::{Address, Reply};
/// # use krarup_state::{StateMessage, StateCalls};
/// # use krarup_gen::Result;
/// enum Ask {
///     Balance(Reply<i64>),
///     Pay(i64, Reply<bool>),
/// }
///
/// async fn pay(account: Address<StateMessage<&'static str, Ask>, ()>) -> Result {
///     account.notice("somebody is about to pay")?;
///     if account.ask(Ask::Balance).await? >= 5 {
///         let _paid = account.ask(|reply| Ask::Pay(5, reply)).await?;
///     }
///     Ok(())
/// }
/// # let _ = pay;
/// ```
pub trait StateCalls<N, A, E>
where
    N: Send + 'static,
    A: Send + 'static,
    E: Send + 'static,
{
    /// Sends a notice and returns at once.
    ///
    /// # Errors
    /// The errors of [`Address::send`]; each gives the notice back.
    fn notice(&self, notice: N) -> Result<(), SendError<N>>;

    /// Sends an ask. `request` makes the ask from the reply token, so a tuple variant is
    /// such a function. As with [`Address::call`], nothing is sent until the call is
    /// awaited or waited for, and the timeout is 5 s by default.
    #[allow(
        clippy::type_complexity,
        reason = "a call names its request, and a closure has no name"
    )]
    fn ask<T, F>(
        &self,
        request: F,
    ) -> Call<'_, StateMessage<N, A>, E, T, impl FnOnce(Reply<T>) -> StateMessage<N, A> + Send>
    where
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> A + Send;

    /// Sends an event. Events do not count towards the bound of the mailbox, and no
    /// barrier holds them back.
    ///
    /// # Errors
    /// The errors of [`Address::send_high`]; each gives the event back.
    fn event(&self, event: E) -> Result<(), SendError<E>>;
}

impl<N, A, E> StateCalls<N, A, E> for Address<StateMessage<N, A>, E>
where
    N: Send + 'static,
    A: Send + 'static,
    E: Send + 'static,
{
    fn notice(&self, notice: N) -> Result<(), SendError<N>> {
        self.send(StateMessage::Notice(notice)).map_err(|error| {
            error.map(|message| match message {
                StateMessage::Notice(notice) => notice,
                StateMessage::Ask(_) => unreachable!("an error returns the message that was sent"),
            })
        })
    }

    #[allow(clippy::type_complexity, reason = "as at the trait")]
    fn ask<T, F>(
        &self,
        request: F,
    ) -> Call<'_, StateMessage<N, A>, E, T, impl FnOnce(Reply<T>) -> StateMessage<N, A> + Send>
    where
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> A + Send,
    {
        self.call(move |reply| StateMessage::Ask(request(reply)))
    }

    fn event(&self, event: E) -> Result<(), SendError<E>> {
        self.send_high(event)
    }
}
