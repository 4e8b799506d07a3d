//! The tree: a root, three supervisors of all strategies, their workers, pools, watchers and
//! crowds.
//!
//! ```text
//!   root ─┬─ watch
//!         ├─ each  one_for_one   ─┬─ crowd  simple_one_for_one ── members
//!         ├─ all   one_for_all    ├─ a, b   workers, with a name and a bound
//!         └─ rest  rest_for_one   ├─ pool   4 workers of 16
//!                                 └─ watch  links and monitors
//! ```

use crate::STUCK;
use crate::counters::Counters;
use crate::message::{Crowd, Named, Pooled};
use crate::watcher::Watcher;
use crate::worker::Worker;
use krarup::prelude::*;
use krarup::supervisor::{ChildTemplate, SupervisorAddress};
use std::sync::Arc;
use std::time::Duration;

pub(crate) const AREAS: [&str; 3] = ["each", "all", "rest"];
/// The watcher that lives as long as the tree. No thread ends it, so it misses nothing.
pub(crate) const STEADY: &str = "watch";
/// All watchers.
pub(crate) const WATCHERS: [&str; 4] = [STEADY, "each.watch", "all.watch", "rest.watch"];
/// The named workers of each area.
pub(crate) const WORKERS: [&str; 2] = ["a", "b"];

/// Returns the name of one of the named workers.
pub(crate) fn a_name(chance: u64) -> String {
    let area = AREAS[usize::try_from(chance % 3).unwrap_or(0)];
    let worker = WORKERS[usize::try_from(chance / 3 % 2).unwrap_or(0)];
    format!("{area}.{worker}")
}

/// Returns all names that are registered when the tree is at rest.
pub(crate) fn names() -> impl Iterator<Item = String> {
    let below = |area: &'static str| {
        ["a", "b", "pool", "watch", "crowd"].map(|child| format!("{area}.{child}"))
    };
    AREAS.into_iter().flat_map(below).chain(AREAS.map(String::from)).chain([STEADY.to_owned()])
}

pub(crate) fn root(counters: &Arc<Counters>) -> Supervisor {
    let root = Supervisor::one_for_one().intensity(u32::MAX, Duration::from_secs(1));
    let of_watcher = Arc::clone(counters);
    let watch = ChildSpec::worker("watch", move || Watcher::new(&of_watcher)).name(STEADY);
    AREAS.into_iter().fold(root.child(watch), |root, name| {
        let counters = Arc::clone(counters);
        root.child(ChildSpec::supervisor(name, move || area(name, &counters)).name(name))
    })
}

fn area(area: &'static str, counters: &Arc<Counters>) -> Supervisor {
    let name = |child: &str| format!("{area}.{child}");
    let supervisor = match area {
        "all" => Supervisor::one_for_all(),
        "rest" => Supervisor::rest_for_one(),
        _ => Supervisor::one_for_one(),
    };
    let (of_crowd, of_pool, of_watcher) =
        (Arc::clone(counters), Arc::clone(counters), Arc::clone(counters));
    let crowd = ChildSpec::supervisor("crowd", move || crowd(&of_crowd)).name(name("crowd"));
    let pool = ChildSpec::supervisor("pool", move || {
        let counters = Arc::clone(&of_pool);
        Pool::new(4, move || Worker::<Pooled>::new(&counters)).mailbox(16)
    });
    let watch = ChildSpec::worker("watch", move || Watcher::new(&of_watcher));
    let worker = |id: &'static str| {
        let counters = Arc::clone(counters);
        let spec = ChildSpec::worker(id, move || Worker::<Named>::new(&counters));
        spec.name(name(id)).mailbox(256)
    };
    // Some of them give up in a storm, and the root restarts them.
    supervisor
        .intensity(50, Duration::from_millis(5))
        .child(crowd)
        .child(worker("a"))
        .child(worker("b"))
        .child(pool.name(name("pool")))
        .child(watch.name(name("watch")))
}

fn crowd(counters: &Arc<Counters>) -> Supervisor<()> {
    let counters = Arc::clone(counters);
    let member = ChildTemplate::worker("member", move |()| Worker::<Crowd>::new(&counters));
    Supervisor::simple_one_for_one(member.restart(RestartType::Transient).mailbox(64))
        .intensity(1_000, Duration::from_millis(5))
}

/// Fills the crowds up to this many members in total.
pub(crate) fn populate(node: &Node, members: usize) {
    for (place, area) in AREAS.into_iter().enumerate() {
        let wanted = members / AREAS.len() + usize::from(place < members % AREAS.len());
        let crowd: SupervisorAddress<()> = match node.lookup(&format!("{area}.crowd")) {
            Ok(crowd) => crowd,
            // It is being restarted: the next round fills it.
            Err(_) => continue,
        };
        let counts = crowd.count_children().timeout(STUCK).wait();
        let there = counts.map_or(wanted, |counts| counts.active);
        for _ in there..wanted {
            if crowd.start_child(()).timeout(STUCK).wait().is_err() {
                break;
            }
        }
    }
}
