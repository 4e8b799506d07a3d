//! The options of a subscription: its limit, and what happens beyond it.

use super::direct::MakeMessage;

/// What happens to an event for a subscriber that has [`at_most`](crate::Subscribe::at_most)
/// events waiting (rule E7). The events that a subscription has missed are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenFull {
    /// The event that has waited longest is missed.
    DropOldest,
    /// The new event is missed.
    #[default]
    DropNewest,
    /// The new event is missed, and the subscription ends. The process gets a
    /// [`Down`](krarup_gen::Down) with [`Target::Topic`](krarup_gen::Target::Topic) and the reason
    /// [`TooSlow`](krarup_gen::TooSlow), behind the events that wait.
    End,
    /// [`Publisher::publish_or_wait`](crate::Publisher::publish_or_wait) waits for room. A plain
    /// `publish` does not wait: its event is missed.
    Wait,
}

/// The options of a subscription.
pub(crate) struct SubscriptionOptions<T, M> {
    pub(crate) at_most: usize,
    pub(crate) when_full: WhenFull,
    pub(crate) linked: bool,
    /// Events need no queue.
    pub(crate) is_direct: bool,
    pub(crate) make: MakeMessage<T, M>,
}

impl<T, M> Clone for SubscriptionOptions<T, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, M> Copy for SubscriptionOptions<T, M> {}
