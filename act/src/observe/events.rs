//! Subscriptions to events of the node (rules M7, D7, X4).

use crate::addressing::recipient::Recipient;
use crate::context::Context;
use crate::observe::subscription::{EventTopic, Subscription, Tell};
use crate::process::crash::{contain, log_contained as log};
use krarup_gen::{DeadLetter, Lifecycle, Target, one_line};

impl Subscription {
    /// Notifies this process of the dead letters of others, regardless of its bound.
    #[must_use]
    pub fn to_dead_letters(who: Recipient<DeadLetter>) -> Self {
        let pid = who.pid();
        let tell_it = move |letter: &DeadLetter| {
            // A message that the subscriber itself does not accept (at a pool whose workers are
            // full, for example) would come back to it for ever.
            let own = matches!(letter.to, Target::Pid(to) if to.is_same_process(who.pid()));
            own || tell(&who, letter)
        };
        Subscription { pid, tell: Tell::DeadLetters(Box::new(tell_it)) }
    }

    /// Notifies this process of the starts and ends of others, regardless of its bound.
    #[must_use]
    pub fn to_lifecycle(who: Recipient<Lifecycle>) -> Self {
        let pid = who.pid();
        let tell_it = move |event: &Lifecycle| {
            // A process cannot receive the notice of its own end.
            event.pid().is_same_process(who.pid()) || tell(&who, event)
        };
        Subscription { pid, tell: Tell::Lifecycle(Box::new(tell_it)) }
    }
}

fn tell<T: Clone + Send + 'static>(who: &Recipient<T>, what: &T) -> bool {
    let alive = who.is_alive();
    if alive {
        // The conversion is a user's, and runs on the thread of the event.
        if let Err(panic) = contain(|| who.notify(what.clone())) {
            let pid = who.pid();
            log(
                || tracing::error!(target: "krarup", %pid, panic = %one_line(&panic), "notifying a subscriber panicked"),
            );
        }
    }
    alive
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Subscribes this process to every dead letter of other processes of the node. Each
    /// arrives as a message that is made from it, regardless of the bound. The subscription
    /// ends with the process.
    ///
    /// A subscriber that sends to an ended process whenever it is notified makes the next dead letter itself, without
    /// end.
    pub fn subscribe_dead_letters(&mut self)
    where
        M: From<DeadLetter>,
    {
        self.subscribe_to_events(Subscription::to_dead_letters(self.address().recipient()));
    }

    /// Subscribes this process to the starts and ends of all other processes of the node. Each
    /// arrives as a message that is made from it, regardless of the bound. The subscription
    /// ends with the process.
    pub fn subscribe_lifecycle(&mut self)
    where
        M: From<Lifecycle>,
    {
        self.subscribe_to_events(Subscription::to_lifecycle(self.address().recipient()));
    }

    fn subscribe_to_events(&self, subscription: Subscription) {
        let (topic, pid) = (subscription.topic(), subscription.pid);
        self.host().subscribe(subscription);
        // A context can outlive its process. If the process ends after this check, its end
        // removes the subscription.
        if !self.cell.is_alive() {
            self.host().unsubscribe(topic, pid);
        }
    }

    /// Ends a subscription of this process to events of the node, and returns whether there was one. Earlier notices
    /// may still be in its mailbox.
    pub fn unsubscribe_events(&mut self, topic: EventTopic) -> bool {
        self.host().unsubscribe(topic, self.pid())
    }
}
