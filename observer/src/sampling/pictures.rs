//! The last picture, and those who wait for the next one.
//!
//! Nobody walks by a timer: who needs a picture that is younger than the last one asks the
//! sampler for it, and all who ask meanwhile get the same. So nothing is done while nobody looks.

use crate::sampling::picture::Picture;
use krarup_act::{Address, NodeView};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::timeout;

/// The sampler works for at most a hundredth of the time.
const SHARE: u32 = 100;
/// When a walk is asked for again: its sampler may have been killed.
const PATIENCE: Duration = Duration::from_millis(200);
/// When a client gets an old picture, or none.
const LONGEST: Duration = Duration::from_secs(5);

/// The request for a walk.
pub(crate) struct WalkRequest;

/// What the sampler and those who look share.
pub(crate) struct Sampling {
    view: NodeView,
    /// The shortest time between two walks.
    spacing: Duration,
    state: Mutex<PicturesState>,
    newest: watch::Sender<Option<Arc<Picture>>>,
    walks: AtomicU64,
    nanos: AtomicU64,
}

#[derive(Default)]
struct PicturesState {
    sampler: Option<Address<WalkRequest>>,
    /// When the last walk was asked for, while its picture is not there.
    asked: Option<Instant>,
    /// When the last action was done. A picture from before does not show it.
    acted: Option<Instant>,
    /// The periods of those who watch, and how many watch by each.
    watchers: BTreeMap<Duration, usize>,
}

/// Somebody who watches. Dropped, it watches no more.
pub(crate) struct PictureWatcher {
    sampling: Arc<Sampling>,
    period: Duration,
}

impl Sampling {
    pub(crate) fn new(view: NodeView, spacing: Duration) -> Self {
        Sampling {
            view,
            spacing,
            state: Mutex::default(),
            newest: watch::Sender::new(None),
            walks: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
        }
    }

    /// A sampler has started, perhaps after another one.
    pub(crate) fn attach(&self, sampler: Address<WalkRequest>) {
        let mut state = self.state.lock();
        state.asked = None;
        let before = state.sampler.replace(sampler);
        drop(state);
        drop(before);
    }

    /// The last picture.
    pub(crate) fn last(&self) -> Option<Arc<Picture>> {
        self.newest.borrow().clone()
    }

    /// A walk has ended.
    pub(crate) fn publish(&self, picture: Picture) {
        let nanos = u64::try_from(picture.cost.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
        self.walks.fetch_add(1, Ordering::Relaxed);
        self.state.lock().asked = None;
        self.newest.send_replace(Some(Arc::new(picture)));
    }

    /// An action was done: who looks next gets a picture that shows it.
    pub(crate) fn acted(&self) {
        self.state.lock().acted = Some(Instant::now());
    }

    /// A picture that is not older than the shortest time between two walks and shows the last action, or
    /// the last picture if no walk ends in time.
    pub(crate) async fn picture(&self) -> Option<Arc<Picture>> {
        self.not_older_than(self.spacing).await
    }

    /// A picture that is not older than this, or than the shortest time between two walks.
    pub(crate) async fn not_older_than(&self, age: Duration) -> Option<Arc<Picture>> {
        let age = age.max(self.spacing);
        let deadline = Instant::now() + LONGEST;
        let mut newest = self.newest.subscribe();
        let number = |last: &Option<Arc<Picture>>| last.as_ref().map_or(0, |last| last.number);
        let before = number(&newest.borrow());
        let acted = self.state.lock().acted;
        loop {
            let last = newest.borrow_and_update().clone();
            let young = last.as_ref().is_some_and(|last| last.age() <= age);
            let shows = last.as_ref().is_none_or(|last| acted.is_none_or(|it| last.began >= it));
            if (young || number(&last) > before) && shows || Instant::now() >= deadline {
                return last;
            }
            // An action is no way to more walks than that.
            let rest = last.map(|last| self.spacing.saturating_sub(last.age()));
            match rest.filter(|rest| !rest.is_zero()) {
                Some(rest) => drop(timeout(rest, newest.changed()).await),
                None => {
                    self.ask();
                    let _ = timeout(PATIENCE, newest.changed()).await;
                }
            }
        }
    }

    fn ask(&self) {
        let now = Instant::now();
        let mut state = self.state.lock();
        if state.asked.is_some_and(|asked| now.duration_since(asked) < LONGEST) {
            return;
        }
        let Some(sampler) = state.sampler.clone() else { return };
        state.asked = Some(now);
        drop(state);
        // A sampler that has ended is followed by another one, which attaches itself.
        let _ = sampler.send(WalkRequest);
    }

    /// Watches with a period.
    pub(crate) fn watch(self: &Arc<Self>, period: Duration) -> PictureWatcher {
        *self.state.lock().watchers.entry(period).or_default() += 1;
        PictureWatcher { sampling: Arc::clone(self), period }
    }

    /// How many watch.
    pub(crate) fn watchers(&self) -> usize {
        self.state.lock().watchers.values().sum()
    }

    /// The time between two walks while somebody watches; `None` if nobody does.
    pub(crate) fn period(&self) -> Option<Duration> {
        let shortest = self.state.lock().watchers.keys().next().copied()?;
        Some(self.at_least(shortest))
    }

    /// This period, or a longer one if a walk costs so much. If most of the processes of the last
    /// walk are gone the next one is expected to cost less.
    pub(crate) fn at_least(&self, period: Duration) -> Duration {
        let walked = self.newest.borrow().as_ref().map(|last| (last.cost, last.rows.len()));
        let Some((cost, walked)) = walked else { return period };
        let living = self.view.stats().map_or(walked, |stats| stats.processes);
        period.max(expected(cost, walked, living) * SHARE)
    }

    /// How many walks there were, and what they cost.
    pub(crate) fn totals(&self) -> (u64, Duration) {
        let nanos = self.nanos.load(Ordering::Relaxed);
        (self.walks.load(Ordering::Relaxed), Duration::from_nanos(nanos))
    }
}

/// What a walk over `living` processes costs, if one over `walked` has cost `cost`. More of them
/// are not counted before they are walked over.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn expected(cost: Duration, walked: usize, living: usize) -> Duration {
    cost.mul_f64(living.min(walked) as f64 / walked.max(1) as f64)
}

impl Drop for PictureWatcher {
    fn drop(&mut self) {
        let mut state = self.sampling.state.lock();
        if let Some(count) = state.watchers.get_mut(&self.period) {
            *count -= 1;
            if *count == 0 {
                state.watchers.remove(&self.period);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::expected;
    use std::time::Duration;

    #[test]
    fn v62_the_period_shrinks_when_the_processes_are_gone() {
        let cost = Duration::from_millis(100);
        assert_eq!(expected(cost, 100_000, 100_000), cost);
        assert_eq!(expected(cost, 100_000, 1000), cost / 100);
        assert_eq!(expected(cost, 100_000, 0), Duration::ZERO);
        assert_eq!(expected(cost, 100_000, 200_000), cost, "the next walk says what they cost");
        assert_eq!(expected(cost, 0, 10), Duration::ZERO);
    }
}
