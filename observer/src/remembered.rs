//! What findings remember between two looks.

use krarup_gen::{CurrentTurn, DispatcherStats, NodeStats};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What was seen longer ago is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(10);
/// Rates are of at least so long a time.
const SHORTEST: Duration = Duration::from_millis(200);

/// What findings remember between two looks.
#[derive(Default)]
pub(crate) struct Remembered {
    state: Mutex<RememberedState>,
}

#[derive(Default)]
struct RememberedState {
    /// Since when all workers of a dispatcher have been seen blocked, and when last.
    blocked: BTreeMap<String, (Instant, Instant)>,
    /// The dead letters of the picture before, and their rate.
    letters: Option<(Instant, u64, f64)>,
}

impl Remembered {
    /// The dispatchers all of whose workers are held by long turns, and for how long that has
    /// been seen: by those who look, or by the node itself, which is there for the first who looks.
    pub(crate) fn blocked(
        &self,
        stats: &NodeStats,
        turns: &[CurrentTurn],
        now: Instant,
    ) -> Vec<(String, Duration)> {
        let mut state = self.state.lock();
        state.blocked.retain(|_, (_, last)| now.duration_since(*last) <= FORGOTTEN);
        let mut blocked = Vec::new();
        for dispatcher in &stats.dispatchers {
            if dispatcher.workers == 0 || dispatcher.blocked < dispatcher.workers {
                state.blocked.remove(&dispatcher.name);
                continue;
            }
            let seen = state.blocked.entry(dispatcher.name.clone()).or_insert((now, now));
            seen.1 = now;
            let lasted = now.duration_since(seen.0).max(held(dispatcher, turns));
            blocked.push((dispatcher.name.clone(), lasted));
        }
        blocked
    }

    /// How many dead letters there are in a second, since the look before.
    #[allow(clippy::cast_precision_loss, reason = "a rate is a rounded number")]
    pub(crate) fn dead_letters(&self, letters: u64, now: Instant) -> f64 {
        let mut state = self.state.lock();
        let rate = match state.letters {
            Some((at, _, rate)) if now.duration_since(at) < SHORTEST => return rate,
            Some((at, before, _)) if now.duration_since(at) <= FORGOTTEN => {
                letters.saturating_sub(before) as f64 / now.duration_since(at).as_secs_f64()
            }
            _ => 0.0,
        };
        state.letters = Some((now, letters, rate));
        rate
    }
}

/// For how long these turns have held all workers of a dispatcher; zero if not all are long. Spare
/// workers do not count.
fn held(dispatcher: &DispatcherStats, turns: &[CurrentTurn]) -> Duration {
    let is_worker = |turn: &CurrentTurn| turn.worker.is_none_or(|it| it < dispatcher.workers);
    let long = turns.iter().filter(|turn| turn.is_long && turn.dispatcher == dispatcher.name);
    let held: Vec<Duration> = long.filter(|turn| is_worker(turn)).map(|it| it.held).collect();
    if held.len() < dispatcher.workers {
        Duration::ZERO
    } else {
        held.into_iter().min().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_gen::Pid;

    fn turn(worker: usize, seconds: u64) -> CurrentTurn {
        let pid = Pid::local(worker as u64 + 1, 1);
        CurrentTurn::new(pid, "default".to_owned()).with(|turn| {
            turn.worker = Some(worker);
            turn.held = Duration::from_secs(seconds);
            turn.is_long = true;
        })
    }

    #[test]
    fn v97_the_first_who_looks_is_told_how_long_all_workers_have_been_held() {
        let dispatcher = DispatcherStats::new("default".to_owned(), 2).with(|it| it.blocked = 2);
        let stats = NodeStats::default().with(|it| it.dispatchers.push(dispatcher));
        let since = |turns: &[CurrentTurn]| {
            let blocked = Remembered::default().blocked(&stats, turns, Instant::now());
            blocked.into_iter().map(|(_, since)| since.as_secs()).collect::<Vec<_>>()
        };
        assert_eq!(since(&[turn(0, 15), turn(1, 9)]), [9]);
        // The second is a spare worker, and a worker is free.
        assert_eq!(since(&[turn(0, 15), turn(2, 9)]), [0]);
        let short = turn(1, 9).with(|turn| turn.is_long = false);
        assert_eq!(since(&[turn(0, 15), short]), [0]);
        assert_eq!(since(&[]), [0]);
    }
}
