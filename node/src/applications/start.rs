//! The start of applications, in order, and its way back if one fails (rules A2 to A4).

use crate::applications::error::StartApplicationError;
use crate::applications::insist::{ApplicationJob, insist};
use crate::applications::keeper::Keeper;
use crate::applications::plan::{TopEnd, stops_node};
use crate::applications::reports;
use crate::applications::run::ApplicationRun;
use crate::applications::table::{Needed, StartStep};
use crate::core::DispatcherHost;
use crate::once_value::OnceValue;
use crate::stop::stop::Stopper;
use crate::stop::stopped::Stopped;
use krarup_act::Host;
use krarup_gen::{Name, Reason};
use parking_lot::Mutex;
use std::pin::Pin;
use std::sync::Arc;

/// The names of what a start has started, in order.
pub(crate) type StartedNames = Result<Vec<Name>, StartApplicationError>;

/// A start of some applications and of all that they need.
pub(crate) struct StartJob {
    host: Arc<DispatcherHost>,
    stopper: Arc<Stopper>,
    /// In order.
    all: Vec<Name>,
    /// Whether the node is being built: a failure is then the builder's.
    of_node: bool,
    progress: Mutex<StartProgress>,
    outcome: Arc<OnceValue<StartedNames>>,
}

#[derive(Default)]
struct StartProgress {
    /// The runs that this start has begun.
    begun: Vec<Arc<ApplicationRun>>,
    failure: Option<StartApplicationError>,
}

/// Starts these applications and all that they need. Returns the place of the outcome.
pub(crate) fn start(
    host: &Arc<DispatcherHost>,
    stopper: &Arc<Stopper>,
    wanted: &[Name],
    of_node: bool,
) -> Arc<OnceValue<StartedNames>> {
    let outcome: Arc<OnceValue<StartedNames>> = Arc::default();
    let job = StartJob {
        host: Arc::clone(host),
        stopper: Arc::clone(stopper),
        all: host.core.applications.start_order(wanted),
        of_node,
        progress: Mutex::default(),
        outcome: Arc::clone(&outcome),
    };
    let job: Arc<dyn ApplicationJob> = Arc::new(job);
    insist(host, &job);
    outcome
}

impl ApplicationJob for StartJob {
    fn label(&self) -> String {
        "start of applications".to_owned()
    }

    fn work(self: Arc<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move { self.run().await })
    }

    fn give_up(&self) {
        self.outcome.set(Err(StartApplicationError::NodeStopping));
    }
}

impl StartJob {
    async fn run(&self) {
        if self.failure().is_none() {
            for name in &self.all {
                if let Err(error) = self.start_one(name).await {
                    self.progress.lock().failure = Some(error);
                    break;
                }
            }
        }
        let Some(error) = self.failure() else {
            let begun = self.begun();
            self.outcome.set(Ok(begun.iter().map(|run| run.name.clone()).collect()));
            return;
        };
        self.roll_back().await;
        let stops = if self.of_node { None } else { self.stops_node(&error) };
        self.outcome.set(Err(error));
        if let Some(stopped) = stops {
            self.stopper.begin(&self.host, self.stopper.timeout, stopped);
        }
    }

    async fn start_one(&self, name: &Name) -> Result<(), StartApplicationError> {
        let begun = self.begun().into_iter().find(|run| run.name == *name);
        if let Some(run) = begun {
            return run.up.wait().await;
        }
        loop {
            if self.host.core.registry.is_closing() {
                return Err(StartApplicationError::NodeStopping);
            }
            match self.host.core.applications.begin_start(name, self.host.now()) {
                Some(StartStep::Begun(run, parts)) => {
                    self.progress.lock().begun.push(Arc::clone(&run));
                    let (host, stopper) = (Arc::clone(&self.host), Arc::clone(&self.stopper));
                    let keeper: Arc<dyn ApplicationJob> =
                        Keeper::new(host, stopper, Arc::clone(&run), parts);
                    insist(&self.host, &keeper);
                    return run.up.wait().await;
                }
                Some(StartStep::Runs) => return Ok(()),
                Some(StartStep::Starting(run)) => return run.up.wait().await,
                Some(StartStep::Stopping(run)) => {
                    let _ = run.over.wait().await;
                }
                Some(StartStep::NeedEnded(needs)) => {
                    let application = name.clone();
                    return Err(StartApplicationError::NeedEnded { application, needs });
                }
                None => return Err(StartApplicationError::Unknown(name.to_string())),
            }
        }
    }

    /// Stops what this start has started, in reverse order, unless another application that was
    /// started meanwhile needs it.
    async fn roll_back(&self) {
        for run in self.begun().into_iter().rev() {
            let now = self.host.now();
            // A later run of it is not this start's.
            let alive = self.host.core.applications.run_of(&run.name);
            if alive.is_none_or(|alive| alive.number != run.number) {
                continue;
            }
            if let Ok(asked) = self.host.core.applications.ask(&run.name, Needed::Refuse, now) {
                let _ = asked.over.wait().await;
            }
        }
    }

    /// Why the node stops, if it does because of this failure: an application that fails to start is one that has
    /// ended.
    fn stops_node(&self, error: &StartApplicationError) -> Option<Stopped> {
        let (application, reason) = match error {
            StartApplicationError::Failed { application, reason, .. } => {
                (application, reason.clone())
            }
            StartApplicationError::TimedOut { application, .. } => {
                (application, Reason::from(error.clone()))
            }
            _ => return None,
        };
        let parts = self.host.core.applications.parts(application)?;
        if !stops_node(parts.mode, TopEnd::OfItself(&reason)) {
            return None;
        }
        reports::stops_node(&self.host, application, &reason);
        Some(Stopped { application: Some(application.clone()), reason })
    }

    fn begun(&self) -> Vec<Arc<ApplicationRun>> {
        self.progress.lock().begun.clone()
    }

    fn failure(&self) -> Option<StartApplicationError> {
        self.progress.lock().failure.clone()
    }
}
