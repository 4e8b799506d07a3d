//! Reservation of room for one message to a grain, and how a sender waits for it (rules K2, M6).
//!
//! The room may move before it is used: see [`super::entry`]. So a permit holds only the
//! key of its grain.
//!
//! ```text
//!   look ──► there is room, or it was granted ─────────────────────────────────► permit
//!    ▲ ▲     no grain runs, or others are before it ───► in line ──┐
//!    │ └───────────── it was granted room, or is the first ◄───────┘
//!    │       it is the first, and the grain runs ──► in the line of its mailbox ──► permit
//!    └────────────────────────────────────────────────── ended meanwhile ◄──┘
//! ```

use crate::grains::after_unlock::AfterUnlock;
use crate::grains::calls::ToGrain;
use crate::grains::directory::SharedDirectory;
use crate::grains::entry::GrainLookup;
use krarup_act::{Address, Permit, current_pid};
use krarup_gen::{Pid, SendError};
use std::future::poll_fn;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Waits for room at the grain of this key.
pub(crate) async fn place<K, M, C>(
    shared: Arc<SharedDirectory<K, M, C>>,
    key: K,
) -> Result<GrainPermit<K, M, C>, SendError<()>>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    let mut wait = GrainWait { shared: &shared, key: &key, ticket: None, at: None };
    poll_fn(|cx| wait.poll(cx)).await?;
    drop(wait);
    Ok(GrainPermit { shared, key: Some(key) })
}

/// A future of room in the mailbox of a grain.
type InMailbox<M> = Pin<Box<dyn Future<Output = Result<Permit<M>, SendError<()>>> + Send>>;

/// A wait for room. Dropping it gives it up.
struct GrainWait<'a, K, M: Send + 'static, C: Send + 'static>
where
    K: Hash + Eq + Clone,
{
    shared: &'a SharedDirectory<K, M, C>,
    key: &'a K,
    /// Its ticket, while it stands in line.
    ticket: Option<u64>,
    /// The grain whose mailbox's line it waits in, as the first of the waiting senders.
    at: Option<(Pid, InMailbox<M>)>,
}

impl<K, M, C> GrainWait<'_, K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SendError<()>>> {
        loop {
            let grain = match self.look(cx) {
                Ok(GrainLookup::Place) => return Poll::Ready(Ok(())),
                Ok(GrainLookup::Itself(to)) => {
                    return Poll::Ready(Err(SendError::OwnMailbox { message: (), to }));
                }
                Err(()) => {
                    let to = self.shared.delegate.process();
                    return Poll::Ready(Err(SendError::NoProcess { message: (), to }));
                }
                Ok(GrainLookup::InLine) => {
                    self.at = None;
                    return Poll::Pending;
                }
                Ok(GrainLookup::At(grain)) => grain,
            };
            let pid = grain.pid();
            let (_, room) = match self.at.take() {
                Some(at) if at.0 == pid => self.at.insert(at),
                _ => self.at.insert((pid, in_mailbox(&grain))),
            };
            let Poll::Ready(found) = room.as_mut().poll(cx) else { return Poll::Pending };
            self.at = None;
            match found {
                Ok(permit) => {
                    if self.keep_at(pid, permit) {
                        return Poll::Ready(Ok(()));
                    }
                }
                Err(SendError::NoProcess { .. }) => self.shared.has_left(self.key, pid),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn look(&mut self, cx: &Context<'_>) -> Result<GrainLookup<M, C>, ()> {
        let (waker, myself) = (cx.waker().clone(), current_pid());
        let mut after = AfterUnlock::default();
        let ticket = &mut self.ticket;
        let found = self.shared.with_entry(self.key, waker, |entry, bound, waker| {
            entry.look(ticket, myself, bound, waker, &mut after)
        });
        found
            .map(|(directory, found)| {
                drop(directory);
                found
            })
            .map_err(drop)
    }

    /// Stores room in the mailbox of a grain. Returns false, and gives the room back, if
    /// the grain is no longer running.
    fn keep_at(&mut self, pid: Pid, permit: Permit<M>) -> bool {
        let ticket = &mut self.ticket;
        self.shared.keep_at(self.key, pid, permit, ticket)
    }
}

fn in_mailbox<M: Send + 'static, C: Send + 'static>(grain: &Address<M, C>) -> InMailbox<M> {
    grain.reserve_or_wait().into_future()
}

impl<K, M, C> Drop for GrainWait<'_, K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    fn drop(&mut self) {
        self.at = None;
        if let Some(ticket) = self.ticket.take() {
            self.shared.leave_line(self.key, ticket);
        }
    }
}

/// Room for one message, wherever it is when it is used.
pub(crate) struct GrainPermit<K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    shared: Arc<SharedDirectory<K, M, C>>,
    /// Taken when the permit is used.
    key: Option<K>,
}

impl<K, M, C> GrainPermit<K, M, C>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    M: Send + 'static,
    C: Send + 'static,
{
    /// Converts this to the general permit type for a sender.
    pub(crate) fn into_permit(self) -> Permit<ToGrain<K, M>> {
        let holder = self.shared.delegate.process();
        Permit::on_route(holder, move |message: ToGrain<K, M>, sender| {
            self.fill(message.message, sender);
        })
    }

    pub(crate) fn fill(mut self, message: M, sender: u64) {
        if let Some(key) = self.key.take() {
            self.shared.fill(key, message, sender);
        }
    }
}

impl<K, M, C> Drop for GrainPermit<K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.shared.give_back(&key);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
