//! The order in which a process takes its messages off Main, if it is not the order of
//! arrival.
//!
//! ```text
//!   senders ──► Main, unchanged ──► the process takes all of it ──► sorted ──► the first
//!               one lock            before each message             no lock
//! ```
//!
//! The process sorts in its own turn, before it takes its next message. So a send costs
//! nothing more, a mailbox without an order pays nothing, and a priority function runs under
//! no lock. Messages that are sorted and not yet handled count towards the bound, as other
//! messages do that a process has taken off Main and not yet handled.

use super::entry::{Body, MailboxEntry, SenderId};
use crate::slots::Slots;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;

/// The order in which a process takes the messages on its Main lane (rule M12). Chosen with
/// [`Spawn::order`](crate::Spawn::order), or in `init` with
/// [`Context::set_order`](crate::Context::set_order).
///
/// Without an order messages are taken as they arrived. In any order a notice (of the end of a
/// linked or monitored process, or of a timer) comes after all messages that arrived before
/// it. Under a load that never ends it should therefore be made urgent. Commands, stops and
/// inspections use their own lanes and still go first.
pub struct Order<M>(pub(crate) Box<dyn SortsEntries<M>>);

/// Entries that an order sorts. Behind a pointer, so that the sorting is compiled only for messages that have an order
/// (docs/decisions.md).
pub(crate) trait SortsEntries<M>: Send {
    /// The name of the order.
    fn name(&self) -> &'static str;

    /// Puts an entry before all that arrive, for entries that an earlier order has sorted already.
    fn put_sorted(&mut self, entry: MailboxEntry<M>);

    /// Sorts in the arrived entries. If the priority function panics, the entry stays in
    /// `arrived`.
    fn take_in(&mut self, arrived: &mut VecDeque<MailboxEntry<M>>);

    /// Returns the next entry.
    fn first(&self) -> Option<&MailboxEntry<M>>;

    /// Takes the next entry.
    fn pop(&mut self) -> Option<MailboxEntry<M>>;

    /// Takes the first entry that is wanted. The others keep their places.
    fn take_where(
        &mut self,
        wanted: &mut dyn FnMut(&MailboxEntry<M>) -> bool,
    ) -> Option<MailboxEntry<M>>;
}

enum OrderKind<M> {
    Priority(Box<dyn FnMut(&M) -> i64 + Send>),
    Fair,
}

impl<M: Send + 'static> Order<M> {
    /// Takes the message with the greatest number first, and among equal numbers the one that
    /// arrived first (Akka's stable priority mailbox). A load of high numbers that never ends
    /// starves the low ones.
    ///
    /// The function is called once for each message, by the receiving process in its own turn,
    /// so a panic in it is a panic of that process (rule D4).
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
        Sorted::by(OrderKind::Priority(Box::new(priority)))
    }

    /// Takes one message of each waiting sender in turn, in the order in which they arrived,
    /// then the next message of each. Messages of one sender keep their order (rule M1), so a
    /// sender that floods the mailbox delays only itself. All messages from outside any
    /// process count as one sender's.
    #[must_use]
    pub fn fair() -> Self {
        Sorted::by(OrderKind::Fair)
    }
}

impl<M> fmt::Debug for Order<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Order({})", self.0.name())
    }
}

/// The sort key: rank, then arrival. The least comes first.
type OrderedPosition = (i128, u64);

/// Entries that were sorted by an order.
struct Sorted<M> {
    order: OrderKind<M>,
    /// Where the entries lie.
    positions: BTreeMap<OrderedPosition, usize>,
    entries: Slots<MailboxEntry<M>>,
    arrived: u64,
    /// The round of each sender's last message, for the fair order.
    rounds: HashMap<SenderId, i128>,
    /// The round of the entry that was taken last.
    round: i128,
    /// The greatest round so far.
    last_round: i128,
}

impl<M: Send + 'static> SortsEntries<M> for Sorted<M> {
    fn name(&self) -> &'static str {
        match self.order {
            OrderKind::Priority(_) => "by priority",
            OrderKind::Fair => "fair",
        }
    }

    fn put_sorted(&mut self, entry: MailboxEntry<M>) {
        self.put(i128::MIN, entry);
    }

    fn take_in(&mut self, arrived: &mut VecDeque<MailboxEntry<M>>) {
        while let Some(entry) = arrived.front() {
            let rank = self.rank(entry);
            if let Some(entry) = arrived.pop_front() {
                self.put(rank, entry);
            }
        }
    }

    fn first(&self) -> Option<&MailboxEntry<M>> {
        let (_, place) = self.positions.first_key_value()?;
        self.entries.get(*place)
    }

    fn pop(&mut self) -> Option<MailboxEntry<M>> {
        let ((rank, _), place) = self.positions.pop_first()?;
        if matches!(self.order, OrderKind::Fair) && rank > self.round {
            self.round = rank;
            // A sender whose round has passed is treated like a new one. This runs once for
            // each round, so each sender is removed at most once for each message.
            if self.rounds.len() > self.positions.len() {
                self.rounds.retain(|_, last| *last >= rank);
            }
        }
        self.entries.take(place)
    }

    fn take_where(
        &mut self,
        wanted: &mut dyn FnMut(&MailboxEntry<M>) -> bool,
    ) -> Option<MailboxEntry<M>> {
        let entries = &self.entries;
        let mut is_wanted = |place: usize| entries.get(place).is_some_and(&mut *wanted);
        let (&position, &place) = self.positions.iter().find(|(_, place)| is_wanted(**place))?;
        self.positions.remove(&position);
        self.entries.take(place)
    }
}

impl<M: Send + 'static> Sorted<M> {
    fn by(order: OrderKind<M>) -> Order<M> {
        Order(Box::new(Sorted {
            order,
            positions: BTreeMap::new(),
            entries: Slots::new(),
            arrived: 0,
            rounds: HashMap::new(),
            round: 0,
            last_round: 0,
        }))
    }

    fn put(&mut self, rank: i128, entry: MailboxEntry<M>) {
        self.arrived += 1;
        self.positions.insert((rank, self.arrived), self.entries.put(entry));
    }

    fn rank(&mut self, entry: &MailboxEntry<M>) -> i128 {
        let message = if let Body::Event(_) = entry.body { None } else { entry.message() };
        match &mut self.order {
            OrderKind::Priority(priority) => match message {
                Some(message) => -i128::from(priority(message)),
                // Behind every message that arrived before it.
                None => i128::MAX,
            },
            OrderKind::Fair if entry.is_letter() => {
                let last = self.rounds.get(&entry.sender()).copied();
                let round = last.map_or(self.round, |last| self.round.max(last + 1));
                self.rounds.insert(entry.sender(), round);
                self.last_round = self.last_round.max(round);
                round
            }
            OrderKind::Fair => self.last_round,
        }
    }
}
