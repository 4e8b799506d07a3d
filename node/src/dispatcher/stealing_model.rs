//! How the shared dispatcher behaves on 1 to 64 cores: a simulation in virtual time, with its own decisions on
//! thefts and searches.
//!
//! It answers what no measurement on two cores can: how long it takes until all workers of a large machine are
//! busy, and whether they keep each other from working. It knows nothing of memory and of the system's scheduler.
//!
//! ```sh
//! STEALING_TABLE=1 cargo test --release -p krarup-node --lib stealing_model -- --nocapture
//! ```

mod costs;
mod model_node;

use model_node::{ModelNode, SimulatedProcess};

const WORKERS: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// A burst from outside at a node at rest: microseconds until every worker has begun a turn. `None`: one
/// never has.
fn all_busy_after(workers: usize) -> Option<u64> {
    let mut node = ModelNode::at_rest(workers);
    let began = node.now;
    for _ in 0..400 * workers {
        node.arrives(0, SimulatedProcess::new(10_000, 1));
    }
    node.run(u64::MAX);
    node.all_began().map(|last| (last - began) / 1_000)
}

/// As much work of short turns on each worker: the share of the time that is not spent in turns, in thousandths, and
/// the thefts.
fn steady(workers: usize) -> (u64, u64) {
    let mut node = ModelNode::at_rest(workers);
    let began = node.now;
    for worker in 0..workers {
        node.give(worker, (0..100).map(|_| SimulatedProcess::new(1_000, u64::MAX)));
    }
    node.run(began + 10_000_000);
    (1_000 - node.busy() * 1_000 / (workers as u64 * 10_000_000), node.totals.thefts)
}

/// One worker has 64 processes for each worker, with turns of so many nanoseconds: how many times as fast all
/// are as one.
fn speed_up(workers: usize, turn: u64, turns: u64) -> f64 {
    let mut node = ModelNode::at_rest(workers);
    let began = node.now;
    node.give(0, (0..64 * workers).map(|_| SimulatedProcess::new(turn, turns)));
    node.run(u64::MAX);
    let alone = node.turns() * (turn + costs::QUEUE);
    #[allow(clippy::cast_precision_loss, reason = "times of less than a day")]
    {
        alone as f64 / (node.now - began) as f64
    }
}

/// Each of a thousand processes, all on one worker at first, answers a message with one to a process at random: how many
/// messages all workers handle in a tenth of a second, for one that a single worker would.
fn mixed(workers: usize, turn: u64) -> f64 {
    const TIME: u64 = 100_000_000;
    let mut node = ModelNode::at_rest(workers);
    let began = node.now;
    node.crowd(1_000, turn);
    node.run(began + TIME);
    #[allow(clippy::cast_precision_loss, reason = "times of less than a day")]
    {
        node.busy() as f64 / (TIME * turn / (turn + costs::QUEUE)) as f64
    }
}

/// A message each half millisecond to a node at rest: how many workers each wakes, in hundredths.
fn wakes_of_single_messages(workers: usize) -> u64 {
    const MESSAGES: u64 = 100;
    let mut node = ModelNode::at_rest(workers);
    for message in 0..MESSAGES {
        node.arrives(message * 500_000, SimulatedProcess::new(1_000, 1));
    }
    node.run(u64::MAX);
    node.totals.wakes * 100 / MESSAGES
}

#[test]
fn after_a_rest_all_workers_are_busy_after_a_chain_of_wake_ups() {
    for workers in WORKERS {
        let after = all_busy_after(workers).expect("each worker has a turn");
        let chain = workers as u64 * costs::WAKE / 1_000;
        assert!((chain..=chain * 3 / 2).contains(&after), "{workers} workers: {after} µs");
    }
}

#[test]
fn workers_with_work_of_their_own_leave_each_other_alone() {
    for workers in WORKERS {
        let (lost, thefts) = steady(workers);
        assert!(
            lost <= 15 && thefts == 0,
            "{workers} workers: {lost} thousandths, {thefts} thefts"
        );
    }
}

#[test]
fn long_turns_are_spread_over_all_workers() {
    for workers in WORKERS {
        let faster = speed_up(workers, 1_000_000, 2);
        assert!(
            faster > 0.8 * f64::from(u32::try_from(workers).unwrap()),
            "{workers}: {faster:.1}"
        );
    }
}

#[test]
fn short_turns_of_one_worker_are_never_much_slower_for_the_others() {
    for workers in WORKERS {
        let faster = speed_up(workers, 200, 2_000);
        assert!(faster > 0.9, "{workers} workers: {faster:.2} times as fast as one");
    }
}

#[test]
fn workers_that_would_hinder_each_other_leave_the_work_to_a_few() {
    for workers in WORKERS {
        let faster = mixed(workers, 100);
        assert!(faster > 0.9, "{workers} workers: {faster:.2} times as fast as one");
    }
}

#[test]
fn a_single_message_to_a_node_at_rest_wakes_one_worker() {
    for workers in WORKERS {
        assert_eq!(wakes_of_single_messages(workers), 100, "{workers} workers");
    }
}

#[test]
fn the_table() {
    if std::env::var_os("STEALING_TABLE").is_none() {
        return;
    }
    println!(
        "| workers | all busy after a rest, µs | turns of 1 ms | of 10 µs | of 1 µs | of 200 ns | all to all, 100 ns | all to all, 10 µs |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|");
    for workers in WORKERS {
        let busy = all_busy_after(workers).unwrap_or_default();
        let speed = [(1_000_000, 2), (10_000, 100), (1_000, 1_000), (200, 2_000)]
            .map(|(turn, turns)| format!("{:.1}", speed_up(workers, turn, turns)));
        let mixed = [100, 10_000].map(|turn| format!("{:.1}", mixed(workers, turn)));
        println!("| {workers} | {busy} | {} | {} |", speed.join(" | "), mixed.join(" | "));
    }
}
