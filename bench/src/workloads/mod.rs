//! The workloads, one file for each kind.

mod big;
mod blocks;
mod call;
mod depth;
mod fan;
mod latency;
mod lifecycle;
mod machine;
mod pingpong;
mod pool;
mod registry;
mod ring;
mod sized;
mod stolen;
mod stream;
mod task;
mod timers;
mod topic;
mod walk;

use crate::arguments::Arguments;
use crate::failure::WorkloadFailure;
use crate::measurement::Measurement;
use krarup::Node;
use pool::PoolKind;

/// How many messages a sender may send for one message that it handles. If it has more to send,
/// it sends itself [`BenchMessage::Start`](crate::message::BenchMessage::Start), so that other
/// actors run in between.
pub(crate) const OWN_TURN: u64 = 1000;

/// The result of a workload.
type WorkloadResult = Result<Measurement, WorkloadFailure>;

/// Runs the workload that the arguments name.
pub(crate) fn run(node: &Node, arguments: &Arguments) -> Result<Vec<Measurement>, WorkloadFailure> {
    let size = |default| arguments.size(default);
    let count = |default| arguments.count(default);
    let measurement = match arguments.workload.as_str() {
        "pingpong" => pingpong::run(node, "pingpong", size(2_000_000), 1),
        "pairs" => pingpong::run(node, "pairs", size(20_000), count(64)),
        "fanin" => fan::fan_in(node, size(10_000_000), count(8)),
        "fanin-threads" => fan::fan_in_threads(node, size(10_000_000), count(8)),
        "fanout" => fan::fan_out(node, size(10_000_000), count(60)),
        "ring" => ring::run(node, size(5_000_000), count(503)),
        "big" => big::run(node, size(20_000), count(128)),
        "walk" => walk::run(node, size(4_000), count(1_000)),
        "call" => call::run(node, "call", size(1_000_000), 1),
        "call64" => call::run(node, "call64", size(1_000_000), count(64)),
        "stolen" => stolen::run(node, size(1_000_000), count(1_000)),
        "spawn" => lifecycle::spawn(node, size(1_000_000)),
        "mem" => lifecycle::memory(node, size(1_000_000)),
        "mem-machine" => lifecycle::memory_of_machines(node, size(1_000_000)),
        "crowd" => lifecycle::crowd(node, size(1_000_000), count(1_000_000) as u64),
        "pool" => pool::by_hand(node, size(5_000_000), count(4)),
        "pool-direct" => pool::direct(node, size(5_000_000), count(4)),
        "pool-native" => pool::native(node, PoolKind::RoundRobin, size(5_000_000), count(4)),
        "pool-least" => pool::native(node, PoolKind::LeastLoaded, size(5_000_000), count(4)),
        "pool-two" => pool::native(node, PoolKind::TwoChoices, size(5_000_000), count(4)),
        "pool-key" => pool::native(node, PoolKind::ByKey, size(5_000_000), count(4)),
        "pool-measured" => pool::native(node, PoolKind::Measured, size(5_000_000), count(4)),
        "timers" => timers::set_and_cancel(node, size(1_000_000), count(1_000_000)),
        "timers-fire" => timers::fire(node, size(1_000_000), count(8)),
        "sized" => sized::run(node, size(2_000_000), count(16)),
        "depth" => depth::run(node, size(4_000_000), count(1_000)),
        "blocks" => return blocks::run(node, None, size(300_000), count(1_000) as u64),
        name if blocks::NAMES.contains(&name) => {
            return blocks::run(node, Some(name), size(300_000), count(1_000) as u64);
        }
        "machine" => return machine::run(node, size(2_000_000)),
        "task" => return task::run(node, size(300_000)),
        "topic" => return topic::run(node, size(1_000_000), count(64)),
        "registry" => return registry::run(node, size(4_000_000), count(1_000_000)),
        "latency" => return latency::run(node, size(40_000), count(20_000)),
        other => Err(WorkloadFailure::Unsupported(other.to_owned())),
    };
    Ok(vec![measurement?])
}

/// The equal share of each of `among` participants, rounded down; at least one each.
fn share(size: u64, among: usize) -> Result<u64, WorkloadFailure> {
    let among = among as u64;
    match size.checked_div(among) {
        None | Some(0) => Err(WorkloadFailure::TooSmall { size, among }),
        Some(share) => Ok(share),
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_share_is_rounded_down_and_at_least_one() {
        assert_eq!(share(10, 4).ok(), Some(2));
        assert!(share(3, 4).is_err());
        assert!(share(3, 0).is_err());
    }
}
