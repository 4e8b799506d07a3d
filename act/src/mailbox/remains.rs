//! What is left in a mailbox when its process ends (rules D6, D7).

use super::entry::{Control, Entry, Queue};
use super::permit::Waiter;
use super::rare::Rare;
use crate::process::crash::contain;
use crate::slot::SlotSender;
use krarup_gen::SpawnError;
use std::collections::VecDeque;
use std::sync::Arc;

/// What lay in a mailbox when it was closed, to be dropped outside its lock.
pub(crate) struct Remains<M, C> {
    pub(super) first: Option<Entry<M>>,
    pub(super) main: Queue<M>,
    pub(super) rare: Option<Box<Rare<M, C>>>,
}

impl<M, C> Remains<M, C> {
    /// Drops everything, one by one and in its order, by means of `drop`; all but those who
    /// hear of the end last.
    pub(crate) fn drop_all(self, drop: impl Fn(Dropped<M, C>)) -> LastToHear<M> {
        let mut last = LastToHear { starter: None, waiting: VecDeque::new() };
        if let Some(rare) = self.rare {
            let rare = *rare;
            last = LastToHear { starter: rare.starter, waiting: rare.waiting };
            // A waker is anybody's.
            let _ = contain(|| std::mem::drop(rare.receiver));
            rare.urgent.into_iter().chain(rare.system).for_each(|c| drop(Dropped::Control(c)));
        }
        let main = self.main.into_iter().flat_map(|main| *main);
        self.first.into_iter().chain(main).for_each(|entry| drop(Dropped::Entry(entry)));
        last
    }
}

/// Who hears of the end when everything else is done (rule D6).
pub(crate) struct LastToHear<M> {
    pub(crate) starter: Option<SlotSender<Result<(), SpawnError>>>,
    /// Senders that wait for room.
    pub(crate) waiting: VecDeque<Arc<Waiter<M>>>,
}

/// One thing that lay in a closed mailbox.
#[allow(dead_code, reason = "made to be dropped")]
pub(crate) enum Dropped<M, C> {
    Entry(Entry<M>),
    Control(Control<C>),
}
