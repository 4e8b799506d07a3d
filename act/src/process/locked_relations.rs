//! The relations of a process, under their lock.
//!
//! Most processes that rest have no link, monitor or name. So a cell has a lock of one byte, and a pointer to what is
//! stored ([`Relations`]), which is made when the first of it comes and kept until the cell is freed:
//!
//! | | nothing is stored | something is or was stored |
//! |---|---|---|
//! | the lock is taken | nothing else is locked | the lock of what is stored is taken too; nobody else waits for it |
//! | something is read | it is empty | it is there |
//! | something is added | it is made | it is there |
//! | the process has ended | `TurnWord` says so; nothing is made | `TurnWord` says so |
//!
//! What is stored is reached by one who has the lock of the relations alone. It has a lock of its own because the compiler
//! cannot know that. In a model of threads that lock is not one of the model, which looks at the one before it.

use super::relations::{Bonds, OtherBonds, Relations, Retired};
use super::turn_word::TurnWord;
use crate::lifecycle::cleaners::{CleanerFn, Cleaners};
use crate::lifecycle::owned_tasks::OwnedTasks;
use crate::lock::{Lock, LockGuard};
use krarup_gen::{Alias, Down, Name, Pid};
use spin::mutex::{SpinMutex, SpinMutexGuard};
use std::fmt;
use std::sync::Arc;

/// Where the relations of a process are stored.
pub(crate) trait RelationsPlace {
    /// What is stored, if anything is or was.
    fn stored(&self) -> Option<&SpinMutex<Relations>>;

    /// The same, made if there is nothing.
    fn to_store(&self) -> &SpinMutex<Relations>;
}

/// The relations of a process, locked; opaque outside this crate.
pub struct LockedRelations<'a> {
    /// Dropped before the lock.
    stored: Option<SpinMutexGuard<'a, Relations>>,
    place: &'a dyn RelationsPlace,
    turn: &'a TurnWord,
    _lock: LockGuard<'a, ()>,
}

impl<'a> LockedRelations<'a> {
    pub(super) fn lock(
        lock: &'a Lock<()>,
        turn: &'a TurnWord,
        place: &'a dyn RelationsPlace,
    ) -> Self {
        let lock = lock.lock();
        let stored = place.stored().map(SpinMutex::lock);
        LockedRelations { stored, place, turn, _lock: lock }
    }

    /// What is stored, made if there is nothing.
    fn stored(&mut self) -> &mut Relations {
        let place = self.place;
        self.stored.get_or_insert_with(|| place.to_store().lock())
    }

    fn rest_ref(&self) -> Option<&OtherBonds> {
        self.stored.as_ref()?.bonds.rest.as_deref()
    }

    /// Whether the process has ended: no process can link to it or monitor it any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.turn.is_closed()
    }

    /// Closes them. Called by the process, in its turn.
    pub(super) fn close(&mut self) {
        self.turn.close();
    }

    /// Whether the name and the aliases have been taken, so that there can be none any more.
    pub(crate) fn is_retired(&self) -> bool {
        self.is_closed() || self.stored.as_ref().is_some_and(|stored| stored.retired)
    }

    /// Whether the cleaners have been taken to be run, so that none can be added any more.
    pub(crate) fn is_cleaned(&self) -> bool {
        self.is_closed() || self.stored.as_ref().is_some_and(|stored| stored.cleaned)
    }

    /// Whether the process is, or was, a member of groups or registered in registries.
    pub(crate) fn is_member(&self) -> bool {
        self.stored.as_ref().is_some_and(|stored| stored.is_member)
    }

    /// Notes that the process is a member.
    pub(crate) fn become_member(&mut self) {
        self.stored().is_member = true;
    }

    /// Whether there is any link, monitor, name, label, alias or cleaner.
    pub(super) fn has_bonds(&self) -> bool {
        self.stored.as_ref().is_some_and(|stored| !stored.bonds.is_empty())
    }
}

impl LockedRelations<'_> {
    pub(crate) fn bonds(&mut self) -> &mut Bonds {
        &mut self.stored().bonds
    }

    pub(crate) fn bonds_if_any(&mut self) -> Option<&mut Bonds> {
        self.stored.as_deref_mut().map(|stored| &mut stored.bonds)
    }

    fn rest(&mut self) -> &mut OtherBonds {
        self.bonds().rest()
    }

    fn rest_if_any(&mut self) -> Option<&mut OtherBonds> {
        self.bonds_if_any()?.rest.as_deref_mut()
    }

    pub(crate) fn name(&self) -> Option<&Name> {
        self.rest_ref()?.name.as_ref()
    }

    pub(crate) fn label(&self) -> Option<&Name> {
        self.rest_ref()?.label.as_ref()
    }

    pub(crate) fn set_label(&mut self, label: Name) {
        self.rest().label = Some(label);
    }

    pub(crate) fn own_label(&self) -> Option<&Name> {
        self.rest_ref()?.own_label.as_ref()
    }

    /// Sets or removes the label that the process gives itself, or the text of the state that it shows. Returns the one
    /// before.
    pub(crate) fn set_own_label(&mut self, label: Option<Name>) -> Option<Name> {
        if label.is_some() {
            return std::mem::replace(&mut self.rest().own_label, label);
        }
        let before = self.rest_if_any()?.own_label.take();
        self.shrink();
        before
    }

    pub(crate) fn set_name(&mut self, name: Name) {
        self.rest().name = Some(name);
    }

    pub(crate) fn take_name(&mut self) -> Option<Name> {
        let name = self.rest_if_any().and_then(|rest| rest.name.take());
        self.shrink();
        name
    }

    pub(crate) fn has_alias(&self, alias: Alias) -> bool {
        self.rest_ref().is_some_and(|rest| rest.aliases.contains(&alias))
    }

    pub(crate) fn aliases(&self) -> Vec<Alias> {
        self.rest_ref().iter().flat_map(|rest| rest.aliases.iter().copied()).collect()
    }

    pub(crate) fn add_alias(&mut self, alias: Alias) {
        self.rest().aliases.insert(alias);
    }

    /// Removes an alias. Returns whether it was there.
    pub(crate) fn remove_alias(&mut self, alias: Alias) -> bool {
        let removed = self.rest_if_any().is_some_and(|rest| rest.aliases.remove(&alias));
        self.shrink();
        removed
    }

    /// Closes the relations of a process that has none, and nothing to free; returns whether it did.
    /// The process can have no name, alias or cleaner either from now on.
    pub(super) fn close_if_empty(&mut self) -> bool {
        let is_empty = !self.has_bonds() && !self.is_member();
        if is_empty {
            self.close();
        }
        is_empty
    }

    /// Takes the name, the aliases and the cleaners. The process can have none from now on.
    pub(crate) fn retire(&mut self) -> Option<Retired> {
        let stored = self.stored();
        (stored.retired, stored.cleaned) = (true, true);
        let rest = self.rest_if_any()?;
        let retired = Retired {
            name: rest.name.take(),
            aliases: std::mem::take(&mut rest.aliases),
            cleaners: std::mem::take(&mut rest.cleaners),
        };
        self.shrink();
        Some(retired)
    }

    pub(crate) fn add_cleaner(&mut self, cleaner: CleanerFn) {
        self.rest().cleaners.add(cleaner);
    }

    /// The tasks that end with the process; `None` if its cleaners have been taken to be run.
    pub(crate) fn tasks(&mut self) -> Option<Arc<OwnedTasks>> {
        (!self.is_cleaned()).then(|| self.rest().cleaners.tasks())
    }

    /// Takes the cleaners to be run. No cleaner can be added from now on.
    pub(crate) fn take_cleaners(&mut self) -> Cleaners {
        self.stored().cleaned = true;
        let rest = self.rest_if_any();
        let cleaners = rest.map(|rest| std::mem::take(&mut rest.cleaners)).unwrap_or_default();
        self.shrink();
        cleaners
    }

    pub(crate) fn take_bonds(&mut self) -> Option<Bonds> {
        let bonds = self.bonds_if_any().filter(|bonds| !bonds.is_empty())?;
        Some(std::mem::take(bonds))
    }

    pub(crate) fn links(&self) -> Vec<Pid> {
        self.stored.as_ref().map_or_else(Vec::new, |stored| {
            let links = stored.bonds.links.iter();
            links.filter(|(_, link)| !link.fired).map(|(pid, _)| *pid).collect()
        })
    }

    /// How many monitors it holds, and how many are held on it.
    pub(crate) fn monitors(&self) -> (usize, usize) {
        self.stored
            .as_ref()
            .map_or((0, 0), |stored| (stored.bonds.watching.len(), stored.bonds.watched.len()))
    }

    /// Whether an exit notice that lies in the mailbox is still one of a link: [`Self::accept_exit`] would say so.
    pub(crate) fn expects_exit(&mut self, from: Pid, number: u64) -> bool {
        let Some(bonds) = self.bonds_if_any() else { return false };
        let is_last =
            bonds.links.get(&from).is_some_and(|link| link.number == number && link.fired);
        let earlier = bonds.rest.as_ref().map(|rest| &rest.earlier_exits);
        is_last || earlier.is_some_and(|earlier| earlier.contains(&(from, number)))
    }

    /// Handles an exit notice taken out of the mailbox. Returns whether its link still exists.
    pub(crate) fn accept_exit(&mut self, from: Pid, number: u64) -> bool {
        let Some(bonds) = self.bonds_if_any() else { return false };
        match bonds.links.get(&from) {
            Some(link) if link.number == number && link.fired => {
                bonds.links.remove(&from);
            }
            _ => {
                let earlier = bonds.rest.as_mut().map(|rest| &mut rest.earlier_exits);
                if !earlier.is_some_and(|earlier| earlier.remove(&(from, number))) {
                    return false;
                }
            }
        }
        self.shrink();
        true
    }

    /// Handles a down notice taken out of the mailbox. Returns whether its monitor still
    /// exists: the reference of a monitor that was removed may be that of another one since.
    pub(crate) fn accept_down(&mut self, down: &Down) -> bool {
        let Some(bonds) = self.bonds_if_any() else { return false };
        let watching = bonds.watching.get(&down.monitor);
        let wanted = watching.is_some_and(|watching| watching.target == down.target);
        if wanted {
            bonds.watching.remove(&down.monitor);
        }
        self.shrink();
        wanted
    }

    /// Frees what was stored beside links and monitors when the last of it has been removed.
    pub(crate) fn shrink(&mut self) {
        if let Some(bonds) = self.bonds_if_any() {
            bonds.shrink();
        }
    }
}

impl fmt::Debug for LockedRelations<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LockedRelations(..)")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::process::Guarded;
    use super::super::relations::Link;
    use super::*;
    use krarup_gen::Ref;

    #[test]
    fn l5_the_exit_of_an_earlier_link_is_received_whatever_else_is_removed() {
        let [peer, passing] = [7, 8].map(|number| Pid::local(number, 1));
        let guarded = Guarded::default();
        let mut relations = guarded.lock();
        relations.bonds().link_again(peer, Link { number: 1, fired: true, ..Link::default() });
        relations.bonds().link_again(peer, Link { number: 2, ..Link::default() });
        relations.bonds().link_again(passing, Link { number: 3, ..Link::default() });
        relations.bonds().unlink(passing);
        relations.shrink();
        assert!(relations.accept_exit(peer, 1), "that of the earlier link");
        assert!(!relations.accept_exit(peer, 1), "once");
        assert_eq!(relations.links(), [peer]);
        relations.bonds().unlink(peer);
        relations.shrink();
        assert!(!relations.has_bonds(), "nothing is left");
    }

    #[test]
    fn v58_nothing_is_stored_for_a_process_that_never_had_relations() {
        let guarded = Guarded::default();
        let mut relations = guarded.lock();
        assert!(relations.name().is_none() && relations.take_bonds().is_none());
        assert!(!relations.remove_alias(Alias::new(Ref::new(1))));
        assert!(!relations.accept_exit(Pid::local(7, 1), 1));
        relations.shrink();
        assert!(!relations.is_closed() && !relations.is_retired() && !relations.is_cleaned());
        assert!(relations.close_if_empty(), "nothing is to be freed");
        assert!(relations.is_closed() && relations.is_retired() && relations.is_cleaned());
        assert!(relations.tasks().is_none());
        drop(relations);
        assert!(guarded.stored().is_none(), "nor at its end");
        assert!(guarded.lock().is_closed());
    }

    #[test]
    fn l4_what_was_stored_and_removed_keeps_nothing_open() {
        let guarded = Guarded::default();
        let mut relations = guarded.lock();
        relations.bonds().links.insert(Pid::local(7, 1), Link::default());
        assert!(!relations.close_if_empty() && !relations.is_closed(), "it is linked");
        relations.bonds().unlink(Pid::local(7, 1));
        relations.become_member();
        assert!(!relations.close_if_empty() && !relations.is_closed(), "it is a member");
        assert!(relations.retire().is_none());
        assert!(relations.is_retired() && relations.is_cleaned() && !relations.is_closed());
        relations.close();
        assert!(relations.is_closed() && relations.take_bonds().is_none());
    }
}
