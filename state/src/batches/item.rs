//! Items of batches, and what one does with the address of a batcher.

use krarup_act::{Address, Drain, Pending, Reply};
use std::fmt;

/// The address of a [`Batcher`](crate::Batcher) of items of type `T`.
pub type BatcherAddress<T> = Address<BatchItem<T>, BatcherCommand>;

/// An item on its way into a batch: the message of a [`Batcher`](crate::Batcher).
///
/// A `T` is an item, and so is a `T` with a reply token, which is answered when its batch is done:
///
/// ```
/// # use krarup_state::BatcherAddress;
/// # use krarup_gen::Result;
/// async fn store(sink: &BatcherAddress<String>) -> Result {
///     sink.send("soon".to_owned().into()).map_err(|error| error.without_message())?;
///     sink.call(|done| ("and known to be stored".to_owned(), done).into()).await?;
///     Ok(())
/// }
/// # let _ = store;
/// ```
///
/// With [`Address::recipient`] it needs no `into`: `sink.recipient::<String>()`.
pub struct BatchItem<T> {
    pub(super) item: T,
    pub(super) done: Option<Reply<()>>,
}

impl<T> From<T> for BatchItem<T> {
    fn from(item: T) -> Self {
        BatchItem { item, done: None }
    }
}

impl<T> From<(T, Reply<()>)> for BatchItem<T> {
    fn from((item, done): (T, Reply<()>)) -> Self {
        BatchItem { item, done: Some(done) }
    }
}

impl<T: fmt::Debug> fmt::Debug for BatchItem<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BatchItem").field(&self.item).finish()
    }
}

/// A command for a [`Batcher`](crate::Batcher).
#[derive(Debug)]
#[non_exhaustive]
pub enum BatcherCommand {
    /// Closes what is open, and is answered when all items that were sent before are done.
    Drain(Reply<()>),
}

/// What one does with the address of a batcher, besides sending.
pub trait BatcherCalls {
    /// Closes the batches that are open now, and waits until all items that were sent before are
    /// done or have failed (rule U5). Items continue to be accepted. It does not wait for room that
    /// is reserved ([`Address::reserve`]): an item of a permit counts from when it is sent. There
    /// is no time limit unless [`Drain::timeout`] sets one.
    ///
    /// The items of a batch that runs were sent before and are not done. So a batch that awaits the drain of its own
    /// batcher waits for itself, and is not found as a cycle of calls is.
    ///
    /// # Errors
    /// The batcher has ended.
    fn drain(&self) -> Drain;
}

impl<T: Send + 'static> BatcherCalls for BatcherAddress<T> {
    fn drain(&self) -> Drain {
        let to = self.clone();
        Drain::new(move |timeout| {
            Pending::new(to.node_host(), async move {
                let call = to.call_high(BatcherCommand::Drain);
                match timeout {
                    Some(limit) => call.timeout(limit).await,
                    None => call.no_timeout().await,
                }
            })
        })
    }
}
