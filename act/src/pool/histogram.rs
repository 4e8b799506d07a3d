//! Histograms of durations: counts in classes, written by many threads.
//!
//! ```text
//!   nanoseconds   0..16   each its own class
//!                 16..32, 32..64, ...   16 classes between a power of two and the next
//! ```
//!
//! So a class is at most a 16th of its values wide, and every value up to the largest has a
//! class. No lock is taken and no value is lost: a value is one count, a sum and a maximum.

use krarup_gen::Latency;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// log₂ of the number of classes between a power of two and the next.
const BITS: u32 = 4;
const PER_POWER: usize = 1 << BITS;
const CLASSES: usize = (64 - BITS as usize + 1) * PER_POWER;

/// Counts of durations, by class.
pub(super) struct DurationHistogram {
    classes: Box<[AtomicU64]>,
    sum: AtomicU64,
    longest: AtomicU64,
}

impl DurationHistogram {
    pub(super) fn new() -> Self {
        let classes = (0..CLASSES).map(|_| AtomicU64::new(0)).collect();
        DurationHistogram { classes, sum: AtomicU64::new(0), longest: AtomicU64::new(0) }
    }

    pub(super) fn record(&self, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.sum.fetch_add(nanos, Ordering::Relaxed);
        self.longest.fetch_max(nanos, Ordering::Relaxed);
        // The count is last: a reader that sees it also sees the sum and the maximum.
        self.classes[class(nanos)].fetch_add(1, Ordering::Release);
    }

    pub(super) fn latency(&self) -> Latency {
        let counts: Vec<u64> = self.classes.iter().map(|n| n.load(Ordering::Acquire)).collect();
        let count: u64 = counts.iter().sum();
        if count == 0 {
            return Latency::default();
        }
        let max = self.longest.load(Ordering::Relaxed);
        let quantile = |percent: u64| {
            let rank = (u128::from(count) * u128::from(percent)).div_ceil(100);
            let mut seen = 0;
            let found = counts.iter().position(|n| {
                seen += u128::from(*n);
                seen >= rank
            });
            Duration::from_nanos(found.map_or(max, |class| last_of(class).min(max)))
        };
        let sum = self.sum.load(Ordering::Relaxed);
        Latency::default().with(|latency| {
            latency.count = count;
            latency.sum = Duration::from_nanos(sum);
            latency.mean = Duration::from_nanos(sum / count);
            latency.p50 = quantile(50);
            latency.p90 = quantile(90);
            latency.p99 = quantile(99);
            latency.max = Duration::from_nanos(max);
            latency.at_most = Latency::BOUNDS.map(|bound| within(&counts, bound));
        })
    }
}

/// How many values lie in classes that end at this bound or before.
fn within(counts: &[u64], bound: Duration) -> u64 {
    let bound = u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX);
    let classes = class(bound);
    let whole = classes + usize::from(last_of(classes) == bound);
    counts[..whole].iter().sum()
}

/// The class of a value.
fn class(nanos: u64) -> usize {
    if nanos < PER_POWER as u64 {
        return usize::try_from(nanos).unwrap_or(0);
    }
    let power = nanos.ilog2();
    let within = usize::try_from(nanos >> (power - BITS)).unwrap_or(0) - PER_POWER;
    (power - BITS + 1) as usize * PER_POWER + within
}

/// The largest value of a class.
fn last_of(class: usize) -> u64 {
    let (row, within) = (class / PER_POWER, (class % PER_POWER) as u64);
    if row == 0 {
        return within;
    }
    let shift = u32::try_from(row).unwrap_or(u32::MAX) - 1;
    let first = (PER_POWER as u64 + within) << shift;
    first + ((1 << shift) - 1)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_value_lies_in_its_class_and_a_class_is_a_sixteenth_wide_at_most() {
        let values = (0..64).flat_map(|bit| [1 << bit, (1 << bit) + 1, (1_u64 << bit) - 1]);
        for value in values.chain([u64::MAX, 1_000_000_007]) {
            let class = class(value);
            assert!(class < CLASSES, "{value}");
            let last = last_of(class);
            assert!(last >= value && last - value <= value / 16, "{value}: {last}");
            assert!(class == 0 || last_of(class - 1) < value, "{value}");
        }
    }

    #[test]
    fn quantiles_match_the_recorded_values() {
        let histogram = DurationHistogram::new();
        assert_eq!(histogram.latency(), Latency::default());
        let endless = DurationHistogram::new();
        endless.record(Duration::MAX);
        let most = Duration::from_nanos(u64::MAX);
        assert_eq!((endless.latency().max, endless.latency().p50), (most, most));
        let single = DurationHistogram::new();
        let exact = Duration::from_nanos(1_000_001);
        single.record(exact);
        let Latency { count, mean, p50, p90, p99, max, .. } = single.latency();
        assert_eq!((count, [mean, p50, p90, p99, max]), (1, [exact; 5]), "none is too long");
        (1..=100).for_each(|n| histogram.record(Duration::from_millis(n)));
        let latency = histogram.latency();
        assert_eq!((latency.count, latency.max), (100, Duration::from_millis(100)));
        assert_eq!(latency.mean, Duration::from_micros(50_500));
        assert_eq!(latency.sum, Duration::from_millis(5050));
        // Of the numbers from 1 to 100. A class that contains a bound counts as beyond it.
        let at_most = latency.at_most;
        assert_eq!((at_most[0], at_most[3], at_most[10], at_most[15]), (0, 0, 100, 100));
        for (counted, bound) in at_most.into_iter().zip(Latency::BOUNDS) {
            let (least, most) = (bound.as_millis() * 15 / 16, bound.as_millis());
            let counted = u128::from(counted);
            assert!(counted <= most && (counted + 1 >= least.min(100)), "{counted} {bound:?}");
        }
        for (quantile, exact) in [(latency.p50, 50), (latency.p90, 90), (latency.p99, 99)] {
            let exact = Duration::from_millis(exact);
            assert!(quantile >= exact && quantile <= exact + exact / 16, "{quantile:?}");
        }
    }
}
