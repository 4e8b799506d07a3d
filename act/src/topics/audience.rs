//! Telling the opener of a topic whether anybody listens (rule E5).

use super::event_ticket::{EventTicket, Redeemed, TicketIssuer};
use super::hearer::Effects;
use crate::addressing::address::Address;
use crate::lock::Lock;
use crate::process::crash::{contain, log_contained};
use krarup_gen::one_line;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

/// Whether a topic has subscribers. The opener of a topic gets it, in turn, at the first and
/// after the last, if it has asked for it
/// ([`OpenTopic::tell_audience`](crate::OpenTopic::tell_audience)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Audience {
    /// The topic has got its first subscriber.
    Some,
    /// The topic has lost its last subscriber.
    None,
}

/// Tells an opener. The messages are made in its own turns, so none is made under a lock.
pub(crate) trait AudienceListener<T>: Send + Sync {
    fn tell(&self, audience: Audience, effects: &mut Effects<T>);
}

/// The audience messages of one topic that its opener has not taken.
pub(crate) struct AudienceQueue<M, C> {
    opener: Address<M, C>,
    make: fn(Audience) -> M,
    waiting: Lock<VecDeque<Audience>>,
    itself: Weak<AudienceQueue<M, C>>,
}

impl<M: Send + 'static, C: Send + 'static> AudienceQueue<M, C> {
    pub(crate) fn new(opener: Address<M, C>, make: fn(Audience) -> M) -> Arc<Self> {
        Arc::new_cyclic(|itself| AudienceQueue {
            opener,
            make,
            waiting: Lock::default(),
            itself: Weak::clone(itself),
        })
    }
}

impl<T, M: Send + 'static, C: Send + 'static> AudienceListener<T> for AudienceQueue<M, C> {
    fn tell(&self, audience: Audience, effects: &mut Effects<T>) {
        let Some(itself) = self.itself.upgrade() else { return };
        self.waiting.lock().push_back(audience);
        if let Ok(Some(ready)) = self.opener.put_ticket(EventTicket::new(itself)) {
            effects.ready.push((Arc::clone(self.opener.host()), ready));
        }
    }
}

impl<M: Send + 'static, C: Send + 'static> TicketIssuer<M> for AudienceQueue<M, C> {
    fn redeem(&self) -> Option<Redeemed<M>> {
        let audience = self.waiting.lock().pop_front()?;
        match contain(|| (self.make)(audience)) {
            Ok(message) => Some(Redeemed::Message(message)),
            Err(panic) => {
                let pid = self.opener.pid();
                log_contained(|| {
                    tracing::error!(target: "krarup", %pid, panic = %one_line(&panic), "telling an opener of its audience panicked");
                });
                None
            }
        }
    }

    fn lose(&self) {
        self.waiting.lock().pop_front();
    }

    fn has_message(&self) -> bool {
        !self.waiting.lock().is_empty()
    }
}
