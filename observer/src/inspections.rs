//! Inspections of processes, shared by all who ask: however many ask, a process is asked at most
//! twice in a second.

use krarup_act::NodeView;
use krarup_gen::{CallError, Inspection, Pid};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::timeout;

/// For how long an answer counts.
const FRESH: Duration = Duration::from_millis(500);

/// The answer of a process, and how long it took.
pub(crate) type Outcome = Result<(Inspection, Duration), NoAnswer>;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NoAnswer {
    /// Not within this time.
    Timeout(Duration),
    /// The process has ended, or was never there.
    NoProcess,
    /// It does not answer inspections.
    NotOffered(String),
}

/// The inspections under way, and the last answers.
#[derive(Default)]
pub(crate) struct Inspections {
    asked: Mutex<BTreeMap<Pid, InspectionAsked>>,
}

#[derive(Clone)]
struct InspectionAsked {
    began: Instant,
    outcome: watch::Receiver<Option<Arc<Outcome>>>,
}

impl Inspections {
    /// Inspects a process, or joins an inspection of the last half second.
    pub(crate) async fn ask(&self, view: &NodeView, pid: Pid, within: Duration) -> Outcome {
        let mut outcome = self.asked(view, pid).outcome;
        let waited = timeout(within, outcome.wait_for(Option::is_some)).await;
        match waited {
            Ok(Ok(outcome)) => {
                let outcome = outcome.as_deref().cloned();
                outcome.unwrap_or(Err(NoAnswer::Timeout(within)))
            }
            // The thread that asked has ended.
            Ok(Err(_)) | Err(_) => Err(NoAnswer::Timeout(within)),
        }
    }

    fn asked(&self, view: &NodeView, pid: Pid) -> InspectionAsked {
        let mut all = self.asked.lock();
        if let Some(asked) = all.get(&pid).filter(|asked| asked.counts()) {
            return asked.clone();
        }
        all.retain(|_, asked| asked.counts());
        let (tell, outcome) = watch::channel(None);
        let asked = InspectionAsked { began: Instant::now(), outcome };
        all.insert(pid, asked.clone());
        drop(all);
        let view = view.clone();
        tokio::spawn(async move {
            let began = Instant::now();
            let answer = view.inspect(pid).await;
            let outcome =
                answer.map(|answer| (answer, began.elapsed())).map_err(|error| match error {
                    CallError::NoProcess { .. } | CallError::Terminated { .. } => {
                        NoAnswer::NoProcess
                    }
                    CallError::Timeout { limit, .. } => NoAnswer::Timeout(limit),
                    other => NoAnswer::NotOffered(other.to_string()),
                });
            tell.send_replace(Some(Arc::new(outcome)));
        });
        asked
    }
}

impl InspectionAsked {
    /// Whether it is under way, or young.
    fn counts(&self) -> bool {
        let under_way = self.outcome.borrow().is_none() && self.outcome.has_changed().is_ok();
        under_way || self.began.elapsed() < FRESH
    }
}
