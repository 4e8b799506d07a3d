//! The route from the address of a keeper to its grains.

use crate::grains::calls::ToGrain;
use crate::grains::directory::SharedDirectory;
use crate::grains::reservation::{GrainPermit, place};
use krarup_act::{Permit, Route};
use krarup_gen::SendError;
use std::hash::Hash;
use std::sync::Arc;

/// The route to the grains.
pub(crate) struct ToGrains<K, M, C>(pub(crate) Arc<SharedDirectory<K, M, C>>);

impl<K, M, C> Route<ToGrain<K, M>> for ToGrains<K, M, C>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    M: Send + 'static,
    C: Send + 'static,
{
    fn send(&self, message: ToGrain<K, M>, sender: u64) -> Result<(), SendError<ToGrain<K, M>>> {
        self.0.send(message.key, message.message, sender)
    }

    /// Fails: room belongs to one grain, and the key of that grain is in the message.
    fn reserve(&self) -> Result<Permit<ToGrain<K, M>>, SendError<()>> {
        Err(SendError::NotReservable { message: (), to: self.0.delegate.process() })
    }

    fn room(&self, message: &ToGrain<K, M>) -> Option<krarup_act::RoomFuture<ToGrain<K, M>>> {
        let (shared, key) = (Arc::clone(&self.0), message.key.clone());
        Some(Box::pin(async move { place(shared, key).await.map(GrainPermit::into_permit) }))
    }

    fn waiting(&self) -> usize {
        self.0.waiting()
    }
}
