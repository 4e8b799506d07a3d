//! Groups: the end of a process against its joining, and a watch against a joining (rules G2, G3).

use super::checker::{bounded, joined, thread};
use super::model_host::{ModelActor, ModelHost};
use crate::cold_box::ColdBox;
use crate::context::Context;
use crate::groups::group_table::GroupTable;
use crate::groups::groups::Groups;
use crate::mailbox::entry::{Body, Notice};
use crate::mailbox::inbox_core::UNBOUNDED;
use crate::process::cell::Cell;
use crate::topics::event_ticket::Redeemed;
use krarup_gen::GroupChange;
use std::sync::Arc;

/// A message of a process that watches.
struct Changed(GroupChange);

impl From<GroupChange> for Changed {
    fn from(change: GroupChange) -> Self {
        Changed(change)
    }
}

/// The end of a process, as far as its memberships are concerned.
fn end(host: &Arc<ModelHost>, cell: &ModelActor) {
    let is_member = {
        let mut relations = cell.locked_relations();
        drop(relations.retire());
        relations.is_member()
    };
    if is_member {
        host.host().memberships().end(cell.pid());
    }
}

/// A context that was moved out of its process joins while the process ends: it is refused, or has
/// left when the end has been told.
#[test]
fn g2_no_member_is_left_that_ends_while_it_joins() {
    bounded(2, || {
        let host = ModelHost::new();
        let cell = host.admit_new(UNBOUNDED);
        let ctx = Context::new(Arc::clone(&cell));
        let joins = thread::spawn(move || (ctx.join("g").is_ok(), ctx));
        end(&host, &cell);
        let groups = Groups::of(host.host());
        assert!(groups.pids("g").is_empty(), "told of the end");
        let (joined, ctx) = joined(joins);
        assert!(groups.pids("g").is_empty(), "{joined}");
        let (table, shared) = (GroupTable::of(&*host.host()), host.host());
        assert_eq!((table.len(), shared.memberships().len()), (0, 0));
        drop((ctx, table, groups));
        host.clear();
    });
}

/// Leaving and ending at once removes a membership once.
#[test]
fn g1_a_member_that_leaves_while_it_ends_has_left_once() {
    bounded(2, || {
        let host = ModelHost::new();
        let cell = host.admit_new(UNBOUNDED);
        let ctx = Context::new(Arc::clone(&cell));
        ctx.join("g").unwrap();
        let leaves = thread::spawn(move || (ctx.leave("g").is_ok(), ctx));
        end(&host, &cell);
        let (_, ctx) = joined(leaves);
        let (table, shared) = (GroupTable::of(&*host.host()), host.host());
        assert_eq!((table.len(), shared.memberships().len()), (0, 0));
        drop((ctx, table));
        host.clear();
    });
}

/// A process joins while another begins to watch: it is among the members or in a change, not in
/// both and not in neither.
#[test]
fn g3_a_member_that_joins_during_the_begin_of_a_watch_is_heard_of_once() {
    bounded(2, || {
        let host = ModelHost::new();
        let member = host.admit_new(UNBOUNDED);
        let watcher = host.admit_of::<Changed>(UNBOUNDED);
        let mut ctx = Context::new(Arc::clone(&watcher));
        let watches = thread::spawn(move || (ctx.watch_group("g").unwrap(), ctx));
        let joins = Context::new(Arc::clone(&member));
        joins.join("g").unwrap();
        let ((now, watch), mut ctx) = joined(watches);
        let changes = changes(&watcher);
        assert_eq!(now.len() + changes, 1, "{now:?} and {changes} changes");
        // When all have gone, the group has gone.
        assert!(ctx.unwatch_group(&watch));
        joins.leave("g").unwrap();
        let table = GroupTable::of(&*host.host());
        assert_eq!(table.len(), 0);
        drop((ctx, joins, table));
        host.clear();
    });
}

/// The same for a watch of all groups, which sees the members of this node.
#[test]
fn g3_a_member_that_joins_during_the_begin_of_a_watch_of_all_groups_is_heard_of_once() {
    bounded(2, || {
        let host = ModelHost::new();
        let member = host.admit_new(UNBOUNDED);
        let watcher = host.admit_of::<Changed>(UNBOUNDED);
        let mut ctx = Context::new(Arc::clone(&watcher));
        let watches = thread::spawn(move || {
            let groups = ctx.groups();
            (ctx.watch_own_members(&groups).unwrap(), ctx)
        });
        let joins = Context::new(Arc::clone(&member));
        joins.join("g").unwrap();
        let ((now, watch), mut ctx) = joined(watches);
        let changes = changes(&watcher);
        assert_eq!(now.len() + changes, 1, "{now:?} and {changes} changes");
        assert!(ctx.unwatch_groups(&watch));
        joins.leave("g").unwrap();
        drop((ctx, joins));
        host.clear();
    });
}

/// How many changes wait in a mailbox.
fn changes(cell: &Cell<Changed, Changed>) -> usize {
    let mut batch = None;
    let first = cell.inbox.lock().take_main(&mut batch);
    let entries = first.into_iter().chain(batch.into_iter().flat_map(ColdBox::into_inner));
    let tickets = entries.filter_map(|entry| match entry.body {
        Body::Notice(notice) => match notice.into_inner() {
            Notice::Event(ticket) => ticket.redeem(),
            _ => None,
        },
        Body::Message(_) | Body::Event(_) => None,
    });
    tickets
        .filter(|redeemed| {
            matches!(redeemed, Redeemed::Message(Changed(GroupChange::Joined { .. })))
        })
        .count()
}
