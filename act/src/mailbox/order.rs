//! The order in which a process takes its messages off Main, where it is not that of their arrival.
//!
//! ```text
//!   senders ──► Main, as ever ──► the process takes all of it ──► sorted ──► the first
//!               one lock          before each message             its own, no lock
//! ```
//!
//! The process sorts, in its own turn, when it wants its next message: so a sender does nothing
//! for it, a mailbox without an order has nothing of it, and what a priority function does it does
//! under no lock. What is sorted and not yet handled counts towards the bound, as what lies in any
//! other process's hands does.

use super::entry::{Body, MailboxEntry, Notice, SenderId};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;

/// In which order a process takes the messages that wait on its Main lane (rule M12); chosen with
/// [`crate::Spawn::order`], or in `init` with [`crate::Context::set_order`].
///
/// Without one they come in the order in which they arrived. In any order a notice (an end of a
/// link or of a monitored process, a timer) comes after all messages that arrived before it; so
/// under a load that never ends it is better made urgent. Commands, stops and inspections take
/// their own lanes and go first as ever.
pub struct Order<M>(OrderKind<M>);

enum OrderKind<M> {
    Priority(Box<dyn FnMut(&M) -> i64 + Send>),
    Fair,
}

impl<M> Order<M> {
    /// The message with the greatest number first, and of equal ones the one that arrived first
    /// (Akka's stable priority mailbox). A load of high numbers that never ends starves the low
    /// ones.
    ///
    /// The function is called once for each message, by the receiving process in its own turn, so
    /// a panic in it is one of that process (rule D4).
    ///
    /// ```
    /// # use krarup_act::Order;
    /// struct Job {
    ///     urgency: u8,
    /// }
    /// let order = Order::by_priority(|job: &Job| i64::from(job.urgency));
    /// # let _ = order;
    /// ```
    pub fn by_priority(priority: impl FnMut(&M) -> i64 + Send + 'static) -> Self {
        Order(OrderKind::Priority(Box::new(priority)))
    }

    /// Senders take turns: of each that has messages waiting one, in the order in which they
    /// arrived, and then the next of each. What one sender sends keeps its order (rule M1), so one
    /// that floods delays only itself. All that comes from outside any process is of one sender.
    #[must_use]
    pub fn fair() -> Self {
        Order(OrderKind::Fair)
    }
}

impl<M> fmt::Debug for Order<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            OrderKind::Priority(_) => "Order(by priority)",
            OrderKind::Fair => "Order(fair)",
        })
    }
}

/// What comes first has the least: by rank, then by arrival.
type OrderedPosition = (i128, u64);

/// Entries in an order.
pub(crate) struct Sorted<M> {
    order: Order<M>,
    entries: BTreeMap<OrderedPosition, MailboxEntry<M>>,
    arrived: u64,
    /// The round of each sender's last message, where senders take turns.
    rounds: HashMap<SenderId, i128>,
    /// The round of what was taken last.
    round: i128,
    /// The greatest round there was.
    last_round: i128,
}

impl<M> Sorted<M> {
    pub(crate) fn new(order: Order<M>) -> Self {
        let entries = BTreeMap::new();
        Sorted { order, entries, arrived: 0, rounds: HashMap::new(), round: 0, last_round: 0 }
    }

    /// Chooses another order for what arrives from now on; what is sorted already comes before it.
    /// The order before is handed out, to be dropped when this is done: it is a user's.
    pub(crate) fn reorder(&mut self, order: Order<M>) -> Order<M> {
        let before = std::mem::replace(self, Sorted::new(order));
        for entry in before.entries.into_values() {
            self.arrived += 1;
            self.entries.insert((i128::MIN, self.arrived), entry);
        }
        before.order
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes in what has arrived. What a priority function panics at stays where it is.
    pub(crate) fn take_in(&mut self, arrived: &mut VecDeque<MailboxEntry<M>>) {
        while let Some(entry) = arrived.front() {
            let rank = self.rank(entry);
            self.arrived += 1;
            if let Some(entry) = arrived.pop_front() {
                self.entries.insert((rank, self.arrived), entry);
            }
        }
    }

    /// What comes next.
    pub(crate) fn first(&self) -> Option<&MailboxEntry<M>> {
        self.entries.first_key_value().map(|(_, entry)| entry)
    }

    pub(crate) fn pop(&mut self) -> Option<MailboxEntry<M>> {
        let ((rank, _), entry) = self.entries.pop_first()?;
        if matches!(self.order.0, OrderKind::Fair) && rank > self.round {
            self.round = rank;
            // Whose turn has passed has no more to wait for than a newcomer. Once for each
            // round, so that each sender is forgotten once for each message at most.
            if self.rounds.len() > self.entries.len() {
                self.rounds.retain(|_, last| *last >= rank);
            }
        }
        Some(entry)
    }

    /// Taken apart: the entries in their order, and the order, whose destructor is a user's.
    pub(crate) fn into_parts(self) -> (impl Iterator<Item = MailboxEntry<M>>, Order<M>) {
        (self.entries.into_values(), self.order)
    }

    fn rank(&mut self, entry: &MailboxEntry<M>) -> i128 {
        let message = match &entry.body {
            Body::Message(message) => Some(message),
            Body::Notice(notice) => match &**notice {
                Notice::Beyond(message) => Some(message),
                Notice::Job(job) => job.message(),
                _ => None,
            },
        };
        match &mut self.order.0 {
            OrderKind::Priority(priority) => match message {
                Some(message) => -i128::from(priority(message)),
                // Behind every message that arrived before it.
                None => i128::MAX,
            },
            OrderKind::Fair if entry.is_letter() => {
                let last = self.rounds.get(&entry.sender).copied();
                let round = last.map_or(self.round, |last| self.round.max(last + 1));
                self.rounds.insert(entry.sender, round);
                self.last_round = self.last_round.max(round);
                round
            }
            OrderKind::Fair => self.last_round,
        }
    }
}
