//! A picture of a node: all its processes at one moment, with what changed since the picture
//! before.

use crate::sampling::cluster_row::ClusterRow;
pub(crate) use crate::sampling::row::{Row, STATES, state_text};
use crate::sampling::rows::Rows;
use crate::sampling::sums::PictureSums;
use krarup_gen::{NodeStats, Pid, PoolGauges, Timestamp};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Rates are told only if the sample before is not older.
pub(crate) const LONGEST_WINDOW: Duration = Duration::from_secs(10);

/// All processes at one moment.
#[derive(Debug)]
pub(crate) struct Picture {
    /// Counts the walks.
    pub(crate) number: u64,
    /// The process that has walked. It ran then, whatever else did.
    pub(crate) sampler: Pid,
    /// When the walk began. What happened before is in the picture.
    pub(crate) began: Instant,
    /// When it ended. How old a picture is is real time, also in a simulation.
    pub(crate) taken: Instant,
    /// The time of the node then. Rates and spans are of this time, which is virtual in a simulation.
    pub(crate) at: Timestamp,
    /// What the walk cost.
    pub(crate) cost: Duration,
    /// The time since the picture before, if that is not too old.
    pub(crate) window: Option<Duration>,
    /// The counters of the node, read before the walk.
    pub(crate) stats: NodeStats,
    /// By ascending number of the process.
    pub(crate) rows: Rows,
    /// The pools among them, by number.
    pub(crate) pools: BTreeMap<u64, PoolRow>,
    /// The cluster of the node, if one runs.
    pub(crate) cluster: Option<ClusterRow>,
    pub(crate) sums: OnceLock<PictureSums>,
}

/// The numbers of a pool in a picture.
#[derive(Clone, Debug)]
pub(crate) struct PoolRow {
    pub(crate) gauges: PoolGauges,
    pub(crate) forwarded_rate: Option<f64>,
    pub(crate) unhandled_rate: Option<f64>,
    /// Messages refused since the picture before.
    pub(crate) refused: u64,
    /// Since when workers have been missing.
    pub(crate) short: Option<Timestamp>,
    /// Since when it has had no room or has refused, in each picture.
    pub(crate) full: Option<Timestamp>,
}

impl PoolRow {
    #[allow(clippy::cast_precision_loss, reason = "a rate is a rounded number")]
    pub(crate) fn new(
        gauges: PoolGauges,
        before: Option<(&PoolRow, Duration)>,
        now: Timestamp,
    ) -> Self {
        let more = |of: fn(&PoolGauges) -> u64| {
            before.map(|(before, window)| (of(&gauges).saturating_sub(of(&before.gauges)), window))
        };
        let rate = |of| more(of).map(|(count, window)| count as f64 / window.as_secs_f64());
        // Not the configured size: an elastic or resized pool has the places that it is to have.
        let short = gauges.workers < gauges.places;
        let since = before.and_then(|(before, _)| before.short).unwrap_or(now);
        let full_since = before.and_then(|(before, _)| before.full).unwrap_or(now);
        let row = PoolRow {
            forwarded_rate: rate(|it| it.forwarded),
            unhandled_rate: rate(|it| it.unhandled),
            refused: more(|it| it.unhandled).map_or(0, |(count, _)| count),
            short: short.then_some(since),
            full: None,
            gauges,
        };
        let full = (row.is_full() || row.refused > 0).then_some(full_since);
        PoolRow { full, ..row }
    }

    /// Whether it has no room.
    pub(crate) fn is_full(&self) -> bool {
        self.fill().is_some_and(|fill| fill >= 1.0)
    }

    /// The share of the places of its mailboxes that are taken.
    #[allow(clippy::cast_precision_loss, reason = "a share is a rounded number")]
    pub(crate) fn fill(&self) -> Option<f64> {
        let capacity = self.gauges.capacity.filter(|capacity| *capacity > 0)?;
        Some(self.gauges.waiting as f64 / capacity as f64)
    }
}

impl Picture {
    /// The row of a process.
    pub(crate) fn row(&self, id: u64) -> Option<&Row> {
        self.rows.place(id).map(|place| &self.rows[place])
    }

    /// The row of a pid of this node.
    pub(crate) fn of(&self, pid: Pid) -> Option<&Row> {
        self.row(pid.id()).filter(|row| row.sample.pid == pid)
    }

    /// The name of a process, if it is in the picture and has one.
    pub(crate) fn name(&self, pid: Pid) -> Option<String> {
        self.of(pid)?.identity.name.as_ref().map(ToString::to_string)
    }

    pub(crate) fn age(&self) -> Duration {
        self.taken.elapsed()
    }

    /// Its sums. They are counted once, by the first who asks.
    pub(crate) fn sums(&self) -> &PictureSums {
        self.sums.get_or_init(|| PictureSums::of(&self.rows))
    }
}
