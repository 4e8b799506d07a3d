//! What the processes and the routes of an observer share.

use crate::attempt::Attempt;
use crate::check::Check;
use crate::event_ring::EventRing;
use crate::health::canaries::Turns;
use crate::health::checks::Checks;
use crate::health::startup::Startup;
use crate::health::top_processes::TopProcesses;
use crate::http::access::Access;
use crate::http::refusal::{Code, Refusal};
use crate::http::route::PathNumber;
use crate::inspections::Inspections;
use crate::limits::DoorLimits;
use crate::logs::RecentLogs;
use crate::metrics::cluster_totals::ClusterTotals;
use crate::metrics::pool_totals::PoolTotals;
use crate::metrics::program::ProgramMetrics;
use crate::recordings::Recordings;
use crate::remembered::Remembered;
use crate::sampling::picture::Picture;
use crate::sampling::pictures::Sampling;
use crate::supervised_children::SupervisedChildren;
use crate::suspensions::Suspensions;
use crate::tally::Tally;
use crate::totals::Totals;
use crate::traces::Traces;
use krarup_act::NodeView;
use krarup_gen::{Pid, Timestamp};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The attempts to act that are kept.
const ACTIONS: usize = 256;

/// What the processes and the routes of an observer share. It does not keep the node alive.
pub(crate) struct Shared {
    pub(crate) view: NodeView,
    pub(crate) access: Access,
    pub(crate) limits: DoorLimits,
    pub(crate) sampling: Arc<Sampling>,
    pub(crate) tally: Tally,
    pub(crate) inspections: Inspections,
    pub(crate) children: SupervisedChildren,
    pub(crate) checks: Checks,
    pub(crate) startup: Startup,
    pub(crate) top_processes: TopProcesses,
    pub(crate) turns: Arc<Turns>,
    pub(crate) remembered: Remembered,
    pub(crate) recordings: Recordings,
    pub(crate) totals: Totals,
    pub(crate) actions: EventRing<Attempt>,
    pub(crate) logs: Option<RecentLogs>,
    pub(crate) suspensions: Arc<Suspensions>,
    pub(crate) traces: Traces,
    pub(crate) pool_totals: PoolTotals,
    pub(crate) cluster_totals: ClusterTotals,
    pub(crate) program_metrics: Arc<ProgramMetrics>,
    /// When the node started.
    pub(crate) started: SystemTime,
    /// The names whose mailboxes are metrics.
    pub(crate) watched_names: Vec<String>,
}

impl Shared {
    #[allow(
        clippy::too_many_arguments,
        reason = "the settings of an observer, each of another type"
    )]
    pub(crate) fn new(
        view: NodeView,
        access: Access,
        limits: DoorLimits,
        watched_names: Vec<String>,
        checks: Vec<Check>,
        ready_when: Vec<String>,
        logs: Option<RecentLogs>,
        program_metrics: Arc<ProgramMetrics>,
    ) -> Self {
        let uptime = view.now().map_or(Duration::ZERO, |now| Duration::from_nanos(now.as_nanos()));
        Shared {
            sampling: Arc::new(Sampling::new(view.clone(), limits.walk)),
            view,
            access,
            limits,
            tally: Tally::default(),
            inspections: Inspections::default(),
            children: SupervisedChildren::default(),
            checks: Checks::new(checks),
            startup: Startup::new(ready_when),
            top_processes: TopProcesses::default(),
            turns: Arc::default(),
            remembered: Remembered::default(),
            recordings: Recordings::default(),
            totals: Totals::default(),
            actions: EventRing::new(ACTIONS),
            logs,
            suspensions: Arc::default(),
            traces: Traces::default(),
            pool_totals: PoolTotals::default(),
            cluster_totals: ClusterTotals::default(),
            program_metrics,
            started: SystemTime::now() - uptime,
            watched_names,
        }
    }

    /// A picture of now.
    pub(crate) async fn picture(&self) -> Result<Arc<Picture>, Refusal> {
        let picture = self.sampling.picture().await;
        picture.ok_or_else(|| Refusal::new(Code::Timeout, "no walk over the processes has ended"))
    }

    /// The living process with a number of a path.
    pub(crate) fn process(&self, number: &PathNumber) -> Result<Pid, Refusal> {
        let pid = number.as_ref().ok().and_then(|number| self.view.by_number(*number));
        pid.ok_or_else(|| {
            let message = match number {
                Ok(number) => format!("no process has the id {number}"),
                Err(digits) => {
                    format!("no process has the id {digits}: the largest id is {}", u64::MAX)
                }
            };
            Refusal::new(Code::NoProcess, message)
        })
    }

    /// A point in the node's time, as a moment.
    pub(crate) fn moment(&self, at: Timestamp) -> SystemTime {
        self.started + Duration::from_nanos(at.as_nanos())
    }

    pub(crate) fn uptime(&self) -> Duration {
        let now = self.view.now();
        now.map_or(Duration::ZERO, |now| Duration::from_nanos(now.as_nanos()))
    }
}
