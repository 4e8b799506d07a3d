//! Tests of what is known of the scopes of other nodes.

use super::*;
use krarup_gen::Name;
use krarup_wire::etf::Term;

const SCOPE: Pid = Pid::remote(1, 3, 9);

fn pid(id: u64) -> Pid {
    Pid::remote(id, 3, 9)
}

fn key(text: &str) -> GroupKey {
    GroupKey::Name(Name::new(text).unwrap())
}

fn greeted(limit: usize) -> PeerScopes {
    let mut scopes = PeerScopes::new(limit);
    scopes.greeted(SCOPE, Ref::new(7));
    scopes
}

fn shown(all: &MemberChanges) -> Vec<(bool, GroupKey, u64)> {
    let changes = all.changes.iter();
    let shown = |change: &MemberChange| {
        (change.has_joined, GroupKey::clone(&change.group), change.pid.id())
    };
    changes.map(shown).collect()
}

#[test]
fn zpg2_members_join_and_leave_one_by_one_with_their_multiplicity() {
    let mut scopes = greeted(100);
    let joined = scopes.join(SCOPE, &key("g"), &[pid(2), pid(2), pid(3)]);
    assert_eq!(shown(&joined), [(true, key("g"), 2), (true, key("g"), 2), (true, key("g"), 3)]);
    let left = scopes.leave(SCOPE, &[pid(2), pid(4)], &[key("g"), key("h")]);
    assert_eq!(shown(&left), [(false, key("g"), 2)]);
    assert_eq!(shown(&scopes.leave(SCOPE, &[pid(2)], &[key("g")])), [(false, key("g"), 2)]);
    assert_eq!(shown(&scopes.leave(SCOPE, &[pid(2)], &[key("g")])), []);
    assert_eq!(shown(&scopes.gone(Ref::new(7))), [(false, key("g"), 3)]);
    assert_eq!(scopes.counts(), (0, 0));
    assert!(scopes.shares.is_empty());
}

#[test]
fn zpg4_a_sync_changes_what_differs_and_nothing_else() {
    let mut scopes = greeted(100);
    scopes.join(SCOPE, &key("a"), &[pid(1), pid(1), pid(2)]);
    scopes.join(SCOPE, &key("b"), &[pid(3)]);
    let now = vec![
        (key("c"), vec![pid(3)]),
        (key("a"), vec![pid(2), pid(1)]),
        // The same group in another form.
        (key("a"), vec![pid(4), pid(4)]),
        (key("d"), vec![]),
    ];
    let changed = scopes.sync(SCOPE, &now);
    assert_eq!(
        shown(&changed),
        [
            (false, key("a"), 1),
            (false, key("b"), 3),
            (true, key("a"), 4),
            (true, key("a"), 4),
            (true, key("c"), 3),
        ]
    );
    assert_eq!(shown(&scopes.sync(SCOPE, &now)), []);
    assert_eq!(scopes.counts(), (1, 2 + 5));
    assert_eq!(scopes.sync(SCOPE, &vec![]).changes.len(), 5);
    assert_eq!(scopes.counts(), (1, 0));
}

#[test]
fn zpg5_an_unknown_scope_changes_nothing() {
    let mut scopes = greeted(100);
    let other = pid(8);
    scopes.join(SCOPE, &key("g"), &[pid(2)]);
    assert!(!scopes.knows(other));
    let empty = MemberChanges::default();
    assert_eq!(scopes.join(other, &key("g"), &[pid(2)]), empty);
    assert_eq!(scopes.leave(other, &[pid(2)], &[key("g")]), empty);
    assert_eq!(scopes.sync(other, &vec![(key("g"), vec![pid(2)])]), empty);
    assert_eq!(scopes.gone(Ref::new(8)), empty);
    assert_eq!(scopes.counts(), (1, 2));
}

#[test]
fn zpg5_what_a_node_announces_is_bounded_and_more_is_refused_and_counted() {
    // A group and four members.
    let mut scopes = greeted(5);
    let five: Vec<Pid> = (10..15).map(pid).collect();
    let joined = scopes.join(SCOPE, &key("g"), &five);
    assert_eq!((joined.changes.len(), joined.refused), (4, 1));
    // Another scope of the node has no room of its own, one of another node has.
    scopes.greeted(pid(2), Ref::new(8));
    assert_eq!(scopes.join(pid(2), &key("g"), &five).refused, 5);
    let elsewhere = Pid::remote(1, 4, 9);
    scopes.greeted(elsewhere, Ref::new(9));
    assert_eq!(scopes.join(elsewhere, &key("g"), &five).refused, 1);
    // Who has left makes room: also in one sync.
    let now = vec![(key("h"), five[..4].to_vec())];
    let synced = scopes.sync(SCOPE, &now);
    assert_eq!((synced.changes.len(), synced.refused), (8, 0));
    // A long name counts.
    assert_eq!(scopes.sync(SCOPE, &vec![]).changes.len(), 4);
    let long = key(&"x".repeat(255));
    assert_eq!(scopes.join(SCOPE, &long, &five).changes.len(), 1);
    assert_eq!(scopes.forget_all().changes.len(), 1 + 4);
    assert_eq!(scopes.counts(), (0, 0));
}

/// With a walk over each pair, or a look at the name for each member, these would not end.
#[test]
fn zpg5_what_a_message_costs_is_no_product_of_its_parts() {
    let mut scopes = greeted(1000);
    let many = |first: u64| (first..first + 100_000).map(pid).collect::<Vec<_>>();
    let groups: Vec<_> = (0..100_000).map(|number| key(&number.to_string())).collect();
    scopes.join(SCOPE, &groups[7], &[pid(2), pid(2), pid(3)]);
    assert_eq!(scopes.leave(pid(9), &many(0), &groups), MemberChanges::default());
    assert_eq!(scopes.leave(SCOPE, &many(5), &groups), MemberChanges::default());
    // Each time that a group is named each pid leaves once.
    let left = scopes.leave(SCOPE, &many(2), &[&groups[..], &groups[7..8]].concat());
    assert_eq!(left.changes.len(), 3);
    assert_eq!(scopes.counts(), (1, 0));
    let long = GroupKey::Term(Term::binary(vec![0xff; 4000]));
    let joined = scopes.join(SCOPE, &long, &many(0));
    assert_eq!(joined.changes.len() as u64 + joined.refused, 100_000);
    let refused = scopes.join(SCOPE, &GroupKey::TooLong, &many(0));
    assert_eq!((refused.changes.len(), refused.refused), (0, 100_000));
}

#[test]
fn zpg5_a_node_has_few_scopes_of_one_name() {
    let mut scopes = PeerScopes::new(100);
    let numbers = 1..=u64::try_from(MOST_SCOPES).unwrap();
    for number in numbers {
        assert!(scopes.has_room_for(pid(number)));
        scopes.greeted(pid(number), Ref::new(number));
    }
    assert!(!scopes.has_room_for(pid(99)));
    assert!(scopes.has_room_for(Pid::remote(99, 4, 9)));
    scopes.gone(Ref::new(1));
    assert!(scopes.has_room_for(pid(99)));
    assert_eq!(scopes.scopes().count(), MOST_SCOPES - 1);
}
