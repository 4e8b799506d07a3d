//! Hearing of what happens in the node as a whole (rules M7, D7, X4).

use crate::addressing::recipient::Recipient;
use crate::context::Context;
use crate::observe::subscription::{EventTopic, Subscription, Tell};
use crate::process::crash::{contain, tell as log};
use krarup_gen::{DeadLetter, Lifecycle, Target};

impl Subscription {
    /// Tells this process of the dead letters of others, beyond its bound.
    #[must_use]
    pub fn to_dead_letters(who: Recipient<DeadLetter>) -> Self {
        let pid = who.pid();
        let tell_it = move |letter: &DeadLetter| {
            // What it does not take itself, as a pool whose workers are full, would come back
            // to it for ever.
            let own = matches!(letter.to, Target::Pid(to) if to.is_same_process(who.pid()));
            own || tell(&who, letter)
        };
        Subscription { pid, tell: Tell::DeadLetters(Box::new(tell_it)) }
    }

    /// Tells this process of what becomes of others, beyond its bound.
    #[must_use]
    pub fn to_lifecycle(who: Recipient<Lifecycle>) -> Self {
        let pid = who.pid();
        let tell_it = move |event: &Lifecycle| {
            // Its own end is nothing it could hear of.
            event.pid().is_same_process(who.pid()) || tell(&who, event)
        };
        Subscription { pid, tell: Tell::Lifecycle(Box::new(tell_it)) }
    }
}

fn tell<T: Clone + Send + 'static>(who: &Recipient<T>, what: &T) -> bool {
    let alive = who.is_alive();
    if alive {
        // The conversion is a user's, and runs wherever something happens.
        if let Err(panic) = contain(|| who.notify(what.clone())) {
            let pid = who.pid();
            log(|| tracing::error!(target: "krarup", %pid, %panic, "cannot tell a subscriber"));
        }
    }
    alive
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Has this process told of every dead letter to others of the node from now on, as a message that
    /// is made from it, beyond the bound. Ends with the process.
    pub fn subscribe_dead_letters(&mut self)
    where
        M: From<DeadLetter>,
    {
        self.subscribe(Subscription::to_dead_letters(self.address().recipient()));
    }

    /// Has this process told of the life of every other process of the node from now on, as
    /// messages that are made from it, beyond the bound. Ends with the process.
    pub fn subscribe_lifecycle(&mut self)
    where
        M: From<Lifecycle>,
    {
        self.subscribe(Subscription::to_lifecycle(self.address().recipient()));
    }

    fn subscribe(&self, subscription: Subscription) {
        let (topic, pid) = (subscription.topic(), subscription.pid);
        self.host().subscribe(subscription);
        // A context can outlive its process; one that ends after this look takes it away.
        if !self.cell.is_alive() {
            self.host().unsubscribe(topic, pid);
        }
    }

    /// Ends a subscription of this process; what was told before may still lie in its
    /// mailbox. Whether there was one.
    pub fn unsubscribe(&mut self, topic: EventTopic) -> bool {
        self.host().unsubscribe(topic, self.pid())
    }
}
