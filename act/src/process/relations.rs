//! The links and monitors that a process stores.
//!
//! Plain data, made when a process gets its first and used under one lock per process
//! ([`locked_relations`](super::locked_relations)); `bonds.rs` holds the operations between two processes. Every link and monitor has a number of its own. When its notice is put into a
//! mailbox, the entry stays, marked as fired, until the process takes the notice out. A notice
//! without an entry is discarded. So unlink and demonitor need not search a mailbox, and no
//! notice is received after them (rule L5).

use super::small_map::SmallMap;
use crate::calls::slot::SlotSender;
use crate::lifecycle::cleaners::Cleaners;
use krarup_gen::{Alias, Down, Name, Pid, Ref, Target};
use std::collections::BTreeSet;

/// What is stored of the relations of a process that has, or had, any.
#[derive(Default)]
pub(crate) struct Relations {
    /// Its cleaners have been taken to be run, so no more can be added.
    pub(super) cleaned: bool,
    /// Its name and its aliases have been taken, so it can get none any more. This flag is
    /// under the same lock as they are, because a context can be moved out of its process to
    /// another thread.
    pub(super) retired: bool,
    /// It is, or was, a member of groups or registered in registries, so its end leaves them.
    pub(super) is_member: bool,
    pub(super) bonds: Bonds,
}

#[derive(Default)]
pub(crate) struct Bonds {
    pub(crate) links: SmallMap<Pid, Link>,
    /// Monitors that this process holds on others.
    pub(crate) watching: SmallMap<Ref, Watching>,
    /// Monitors that others hold on this process.
    pub(crate) watched: SmallMap<Ref, Watcher>,
    /// Boxed, because a process with links mostly has none of it.
    pub(super) rest: Option<Box<OtherBonds>>,
}

/// What a process may have besides links and monitors.
#[derive(Default)]
pub(super) struct OtherBonds {
    /// The registered name.
    pub(super) name: Option<Name>,
    /// The label of the behaviour, if it was given one.
    pub(super) label: Option<Name>,
    /// The label that the process has given itself.
    pub(super) own_label: Option<Name>,
    /// Functions that clean up after its state has been dropped.
    pub(super) cleaners: Cleaners,
    /// The aliases that are not revoked.
    pub(super) aliases: BTreeSet<Alias>,
    /// The exit notices in the mailbox of processes with which there is another link since (to no process, or to one of
    /// another node whose connection was lost): with the number of the earlier link.
    pub(super) earlier_exits: BTreeSet<(Pid, u64)>,
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
    pub(super) fn rest(&mut self) -> &mut OtherBonds {
        self.rest.get_or_insert_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_none()
            && self.links.is_empty()
            && self.watching.is_empty()
            && self.watched.is_empty()
    }

    pub(super) fn shrink(&mut self) {
        if self.rest.as_ref().is_some_and(|rest| rest.is_empty()) {
            self.rest = None;
        }
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
