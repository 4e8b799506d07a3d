//! How often the scopes of groups may be started again: what ends them may be there again, as a message
//! of a peer is that asks again.

use krarup_gen::{Name, Timestamp};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A scope is started this often again ..
const MOST: usize = 5;
/// .. within this time.
const WITHIN: Duration = Duration::from_secs(10);

/// When scopes were started again, each by its name.
#[derive(Debug, Default)]
pub(super) struct ScopeRestarts {
    recent: BTreeMap<Name, VecDeque<Timestamp>>,
}

impl ScopeRestarts {
    /// Whether this scope may be started again now. If so, it counts.
    pub(super) fn allow(&mut self, scope: &Name, now: Timestamp) -> bool {
        let recent = self.recent.entry(scope.clone()).or_default();
        while recent.front().is_some_and(|first| *first + WITHIN <= now) {
            recent.pop_front();
        }
        let is_allowed = recent.len() < MOST;
        if is_allowed {
            recent.push_back(now);
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zpg3_a_scope_is_started_again_five_times_in_ten_seconds() {
        let at = |millis| Timestamp::ZERO + Duration::from_millis(millis);
        let [pg, other] = ["pg", "other"].map(|name| Name::new(name).unwrap());
        let mut restarts = ScopeRestarts::default();
        let allowed =
            [0, 1, 2, 3, 4_000, 5_000, 9_999].map(|millis| restarts.allow(&pg, at(millis)));
        assert_eq!(allowed, [true, true, true, true, true, false, false]);
        assert!(restarts.allow(&other, at(9_999)));
        // Each makes room when its time is over.
        let allowed = [10_000, 10_000, 10_001, 10_004, 10_004, 14_000, 14_000];
        let allowed = allowed.map(|millis| restarts.allow(&pg, at(millis)));
        assert_eq!(allowed, [true, false, true, true, true, true, false]);
    }
}
