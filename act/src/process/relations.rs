//! The links and monitors that a process stores.
//!
//! Plain data behind one lock per process; `bonds.rs` holds the operations between two
//! processes. Every link and monitor has a number of its own. When its notice is put into a
//! mailbox, the entry stays, marked as fired, until the process takes the notice out. A notice
//! without an entry is discarded. So unlink and demonitor need not search a mailbox, and no
//! notice is received after them (rule L5).

use super::small_map::SmallMap;
use crate::calls::slot::SlotSender;
use crate::lifecycle::cleaners::{CleanerFn, Cleaners};
use crate::lifecycle::owned_tasks::OwnedTasks;
use krarup_gen::{Alias, Down, Name, Pid, Ref, Target};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The number of a shown state that has none: its text is the label.
const SHOWN_ALONE: u32 = u32::MAX;

#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, set once")]
#[derive(Default)]
pub(crate) struct Relations {
    /// The process has ended: no process can link to it or monitor it any more.
    pub(crate) closed: bool,
    /// Its cleaners have been taken to be run, so no more can be added.
    pub(crate) cleaned: bool,
    /// Its name and its aliases have been taken, so it can get none any more. This flag is
    /// under the same lock as they are, because a context can be moved out of its process to
    /// another thread.
    pub(crate) retired: bool,
    /// It is, or was, a member of groups or registered in registries, so its end leaves them.
    pub(crate) is_member: bool,
    /// The state that the process shows as its label, by its number in
    /// [`StateLabels`](crate::observe::state_labels::StateLabels); 0 if it shows none.
    shown: u32,
    /// Boxed, because most processes have none.
    bonds: Option<Box<Bonds>>,
}

#[derive(Default)]
pub(crate) struct Bonds {
    pub(crate) links: SmallMap<Pid, Link>,
    /// Monitors that this process holds on others.
    pub(crate) watching: SmallMap<Ref, Watching>,
    /// Monitors that others hold on this process.
    pub(crate) watched: SmallMap<Ref, Watcher>,
    /// Boxed, because a process with links mostly has none of it.
    rest: Option<Box<OtherBonds>>,
}

/// What a process may have besides links and monitors.
#[derive(Default)]
struct OtherBonds {
    /// The registered name.
    name: Option<Name>,
    /// The label of the behaviour, if it was given one.
    label: Option<Name>,
    /// The label that the process has given itself.
    own_label: Option<Name>,
    /// Functions that clean up after its state has been dropped.
    cleaners: Cleaners,
    /// The aliases that are not revoked.
    aliases: BTreeSet<Alias>,
    /// The exit notices in the mailbox of processes with which there is another link since (to no process, or to one of
    /// another node whose connection was lost): with the number of the earlier link.
    earlier_exits: BTreeSet<(Pid, u64)>,
}

impl OtherBonds {
    fn is_empty(&self) -> bool {
        self.name.is_none()
            && self.label.is_none()
            && self.own_label.is_none()
            && self.cleaners.is_empty()
            && self.aliases.is_empty()
            && self.earlier_exits.is_empty()
    }
}

/// What a process has that is freed before any other process learns of its end.
pub(crate) struct Retired {
    pub(crate) name: Option<Name>,
    pub(crate) aliases: BTreeSet<Alias>,
    /// Those that were added after the others had been taken.
    pub(crate) cleaners: Cleaners,
}

/// This process's half of a link.
#[derive(Clone, Copy, Default)]
pub(crate) struct Link {
    /// The same in both halves. A link that is made again has another number.
    pub(crate) number: u64,
    /// Whether the exit notice is in the mailbox.
    pub(crate) fired: bool,
    /// Whether exit notices of this link take the Urgent lane of this process (rule M3).
    pub(crate) urgent: bool,
    /// Whether this process had a pending exit when the link was made. Its peer then finds no
    /// process.
    pub(crate) late: bool,
}

impl Bonds {
    /// Adds a link. If an exit notice of that process is in the mailbox, of an earlier link, it is still received.
    pub(crate) fn link_again(&mut self, from: Pid, link: Link) {
        if let Some(Link { number, fired: true, .. }) = self.links.insert(from, link) {
            self.rest().earlier_exits.insert((from, number));
        }
    }

    /// Removes a link. No notice of it is received after that.
    pub(crate) fn unlink(&mut self, from: Pid) {
        self.links.remove(&from);
        if let Some(rest) = &mut self.rest {
            rest.earlier_exits.retain(|(pid, _)| *pid != from);
        }
    }
}

/// A monitor on the side of its owner.
pub(crate) struct Watching {
    pub(crate) target: Target,
    /// Whether the notice takes the Urgent lane (rule M3).
    pub(crate) urgent: bool,
}

/// A monitor on the side of its target.
pub(crate) enum Watcher {
    /// A process. `late` has the meaning of [`Link::late`]; `of_spawn`: the spawn of the target has made it.
    Process {
        pid: Pid,
        late: bool,
        of_spawn: bool,
    },
    Outside {
        target: Target,
        slot: SlotSender<Down>,
    },
}

impl Bonds {
    fn rest(&mut self) -> &mut OtherBonds {
        self.rest.get_or_insert_default()
    }

    /// The label of the behaviour, if it was given one.
    pub(crate) fn behavior_label(&self) -> Option<&Name> {
        self.rest.as_ref()?.label.as_ref()
    }

    /// The label that the process has given itself.
    pub(crate) fn own_label(&self) -> Option<&Name> {
        self.rest.as_ref()?.own_label.as_ref()
    }
}

impl Relations {
    pub(crate) fn bonds(&mut self) -> &mut Bonds {
        self.bonds.get_or_insert_default()
    }

    pub(crate) fn bonds_if_any(&mut self) -> Option<&mut Bonds> {
        self.bonds.as_deref_mut()
    }

    fn rest(&mut self) -> &mut OtherBonds {
        self.bonds().rest()
    }

    fn rest_if_any(&mut self) -> Option<&mut OtherBonds> {
        self.bonds.as_deref_mut()?.rest.as_deref_mut()
    }

    pub(crate) fn name(&self) -> Option<&Name> {
        self.bonds.as_ref()?.rest.as_ref()?.name.as_ref()
    }

    pub(crate) fn label(&self) -> Option<&Name> {
        self.bonds.as_ref()?.behavior_label()
    }

    pub(crate) fn set_label(&mut self, label: Name) {
        self.rest().label = Some(label);
    }

    pub(crate) fn own_label(&self) -> Option<&Name> {
        self.bonds.as_ref()?.own_label()
    }

    /// Sets or removes the label that the process gives itself.
    pub(crate) fn set_own_label(&mut self, label: Option<Name>) {
        if self.shown == SHOWN_ALONE {
            self.shown = 0;
        }
        if label.is_some() {
            self.rest().own_label = label;
        } else if let Some(rest) = self.rest_if_any() {
            rest.own_label = None;
            self.shrink();
        }
    }

    /// Whether a state that the process shows is its label: it has given itself no other.
    pub(crate) fn may_show_state(&self) -> bool {
        !self.closed && (self.shown == SHOWN_ALONE || self.own_label().is_none())
    }

    /// The number of the state that the process shows, if its label is one with a number.
    pub(crate) fn shown_state(&self) -> Option<u32> {
        let has_number = self.shown != 0 && self.shown != SHOWN_ALONE;
        (has_number && self.own_label().is_none()).then_some(self.shown)
    }

    /// Shows a state with a number. Returns the text that it replaces, if that had none.
    pub(crate) fn show_state(&mut self, number: u32) -> Option<Name> {
        let alone = self.shown == SHOWN_ALONE;
        self.shown = number;
        let rest = self.rest_if_any().filter(|_| alone);
        let replaced = rest.and_then(|rest| rest.own_label.take());
        if alone {
            self.shrink();
        }
        replaced
    }

    /// Shows a state that has no number. Returns the text that it replaces.
    pub(crate) fn show_state_alone(&mut self, state: Name) -> Option<Name> {
        self.shown = SHOWN_ALONE;
        self.rest().own_label.replace(state)
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
        let rest = self.bonds.as_ref().and_then(|bonds| bonds.rest.as_ref());
        rest.is_some_and(|rest| rest.aliases.contains(&alias))
    }

    pub(crate) fn aliases(&self) -> Vec<Alias> {
        let rest = self.bonds.as_ref().and_then(|bonds| bonds.rest.as_ref());
        rest.iter().flat_map(|rest| rest.aliases.iter().copied()).collect()
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
    pub(crate) fn close_if_empty(&mut self) -> bool {
        let is_empty = self.bonds.is_none() && !self.is_member;
        if is_empty {
            (self.closed, self.retired, self.cleaned) = (true, true, true);
        }
        is_empty
    }

    /// Takes the name, the aliases and the cleaners. The process can have none from now on.
    pub(crate) fn retire(&mut self) -> Option<Retired> {
        self.retired = true;
        self.cleaned = true;
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
        (!self.cleaned).then(|| self.rest().cleaners.tasks())
    }

    /// Takes the cleaners to be run. No cleaner can be added from now on.
    pub(crate) fn take_cleaners(&mut self) -> Cleaners {
        self.cleaned = true;
        let rest = self.rest_if_any();
        let cleaners = rest.map(|rest| std::mem::take(&mut rest.cleaners)).unwrap_or_default();
        self.shrink();
        cleaners
    }

    pub(crate) fn take_bonds(&mut self) -> Option<Box<Bonds>> {
        self.bonds.take()
    }

    pub(crate) fn links(&self) -> Vec<Pid> {
        self.bonds.as_ref().map_or_else(Vec::new, |bonds| {
            bonds.links.iter().filter(|(_, link)| !link.fired).map(|(pid, _)| *pid).collect()
        })
    }

    /// How many monitors it holds, and how many are held on it.
    pub(crate) fn monitors(&self) -> (usize, usize) {
        self.bonds.as_ref().map_or((0, 0), |bonds| (bonds.watching.len(), bonds.watched.len()))
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
    /// exists.
    pub(crate) fn accept_down(&mut self, monitor: Ref) -> bool {
        let wanted =
            self.bonds_if_any().is_some_and(|bonds| bonds.watching.remove(&monitor).is_some());
        self.shrink();
        wanted
    }

    /// Releases the memory when the last entry has been removed.
    pub(crate) fn shrink(&mut self) {
        let Some(bonds) = self.bonds.as_deref_mut() else { return };
        if bonds.rest.as_ref().is_some_and(|rest| rest.is_empty()) {
            bonds.rest = None;
        }
        if bonds.rest.is_none()
            && bonds.links.is_empty()
            && bonds.watching.is_empty()
            && bonds.watched.is_empty()
        {
            self.bonds = None;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn l5_the_exit_of_an_earlier_link_is_received_whatever_else_is_removed() {
        let [peer, passing] = [7, 8].map(|number| Pid::local(number, 1));
        let mut relations = Relations::default();
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
        assert!(relations.bonds_if_any().is_none(), "nothing is left");
    }
}
