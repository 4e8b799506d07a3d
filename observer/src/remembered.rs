//! What findings remember between two looks.

use krarup_gen::NodeStats;
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
    /// been seen.
    pub(crate) fn blocked(&self, stats: &NodeStats, now: Instant) -> Vec<(String, Duration)> {
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
            blocked.push((dispatcher.name.clone(), now.duration_since(seen.0)));
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
