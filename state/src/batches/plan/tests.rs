//! The plan alone.

use super::*;
use krarup_act::contain;
use std::cell::Cell;
use std::rc::Rc;

const SECOND: Duration = Duration::from_secs(1);

fn plan(size: usize, at_once: usize) -> BatchPlan<char, u32> {
    BatchPlan::new(BatchLimits { size, after: SECOND, at_once })
}

fn at(seconds: u32) -> Timestamp {
    Timestamp::ZERO + SECOND * seconds
}

fn started(plan: &mut BatchPlan<char, u32>) -> Vec<Vec<u32>> {
    std::iter::from_fn(|| plan.start().map(|(_, items)| items)).collect()
}

#[test]
fn u1_a_batch_goes_when_it_is_full_or_its_time_has_come_and_is_never_empty() {
    let mut plan = plan(2, 9);
    plan.push('a', 1, at(0));
    assert_eq!((started(&mut plan), plan.next_due()), (vec![], Some(at(1))));
    plan.push('a', 2, at(0));
    assert_eq!((started(&mut plan), plan.next_due()), (vec![vec![1, 2]], None));
    plan.push('b', 3, at(1));
    plan.tick(at(1));
    assert_eq!(started(&mut plan), Vec::<Vec<u32>>::new());
    plan.tick(at(2));
    assert_eq!(started(&mut plan), [[3]]);
    plan.tick(at(9));
    let last = plan.close();
    assert!(!plan.is_done(last));
    assert_eq!(started(&mut plan), Vec::<Vec<u32>>::new());
}

#[test]
fn u3_one_batch_of_a_key_runs_at_a_time_and_no_more_than_may_in_all() {
    let mut plan = plan(1, 2);
    plan.push('a', 1, at(0));
    let (first, items) = plan.start().unwrap();
    for (key, item) in [('a', 2), ('b', 3), ('c', 4)] {
        plan.push(key, item, at(0));
    }
    let (second, others) = plan.start().unwrap();
    assert_eq!((items, others, plan.start()), (vec![1], vec![3], None));
    plan.ended(second);
    assert_eq!(started(&mut plan), [[4]]);
    plan.ended(first);
    assert_eq!(started(&mut plan), [[2]]);
    assert_eq!(plan.running(), 2);
}

#[test]
fn u1_a_batch_whose_time_has_come_fills_up_until_it_goes() {
    let mut plan = plan(3, 1);
    plan.push('a', 1, at(0));
    plan.tick(at(1));
    let (first, _) = plan.start().unwrap();
    for item in 2..7 {
        plan.push('a', item, at(1));
    }
    plan.tick(at(2));
    plan.push('a', 7, at(2));
    plan.push('a', 8, at(2));
    plan.ended(first);
    let (second, items) = plan.start().unwrap();
    assert_eq!(items, [2, 3, 4]);
    plan.ended(second);
    let (third, items) = plan.start().unwrap();
    assert_eq!(items, [5, 6, 7]);
    plan.ended(third);
    assert_eq!(plan.start(), None);
    plan.tick(at(3));
    let (fourth, items) = plan.start().unwrap();
    assert_eq!(items, [8]);
    plan.ended(fourth);
    assert_eq!((plan.keys(), plan.next_due()), (0, None));
}

#[test]
fn u5_a_drain_waits_for_all_batches_up_to_the_last_that_is_open() {
    let mut plan = plan(2, 1);
    plan.push('a', 1, at(0));
    plan.push('b', 2, at(0));
    let last = plan.close();
    let (a, _) = plan.start().unwrap();
    plan.ended(a);
    assert!(!plan.is_done(last));
    let (b, _) = plan.start().unwrap();
    plan.push('b', 3, at(0));
    plan.ended(b);
    assert!(plan.is_done(last));
    assert_eq!(plan.take_open().collect::<Vec<_>>(), [3]);
}

/// Its destructor panics, and counts.
#[derive(Clone, Default)]
struct Bomb(u32, Rc<Cell<usize>>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.1.set(self.1.get() + 1);
        panic!("bomb");
    }
}

impl PartialEq for Bomb {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Bomb {}

impl PartialOrd for Bomb {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bomb {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

#[test]
fn d4_keys_and_items_of_a_plan_are_dropped_one_by_one_though_their_destructors_panic() {
    let dropped = Rc::new(Cell::new(0));
    let bomb = |number| Bomb(number, Rc::clone(&dropped));
    let mut plan = BatchPlan::new(BatchLimits { size: 1, after: SECOND, at_once: 1 });
    plan.push(bomb(1), bomb(2), at(0));
    let (batch, items) = plan.start().unwrap();
    std::mem::forget(items);
    // The line and the index have a key each.
    assert!(contain(|| plan.ended(batch)).is_err());
    assert_eq!((dropped.get(), plan.keys()), (2, 0));
    (3..6).for_each(|key| plan.push(bomb(key), bomb(0), at(0)));
    assert!(contain(|| drop(plan)).is_err());
    assert_eq!(dropped.get(), 2 + 3 * 3);
}
