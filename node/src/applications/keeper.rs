//! The keeper of a run: it starts the application, waits for its end, and takes it down.
//!
//! ```text
//!   the top process starts ──► phases ──► runs ──► asked, or the top process has ended
//!          │ fails, is asked, or takes too long                │
//!          ▼                                                   ▼
//!          └─────────► take down: on_stop (only if it ran), the top process is asked,
//!                      is killed when the time is over, then all others of it are killed
//! ```
//!
//! A keeper that is continued in another process (see `insist`) finds in the run how far it was:
//! an application that is up is kept on, and one that was starting fails.

use crate::applications::application::{Application, ApplicationParts};
use crate::applications::error::StartApplicationError;
use crate::applications::insist::ApplicationJob;
use crate::applications::plan::{TopEnd, stops_node};
use crate::applications::reports;
use crate::applications::run::ApplicationRun;
use crate::core::DispatcherHost;
use crate::stop::shutdown::contained;
use crate::stop::stop::Stopper;
use crate::stop::stopped::Stopped;
use krarup_act::{Host, KILL_GRACE, Process, Sleep, watch, within};
use krarup_gen::{Pid, Reason, SpawnError, Target, Timestamp};
use parking_lot::Mutex;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

/// The time between two looks for a process that is about to appear.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// The keeper of one run.
pub(crate) struct Keeper {
    host: Arc<DispatcherHost>,
    stopper: Arc<Stopper>,
    run: Arc<ApplicationRun>,
    parts: Arc<ApplicationParts>,
    has_begun: AtomicBool,
    /// Why its start has failed.
    failure: Mutex<Option<StartApplicationError>>,
}

impl ApplicationJob for Keeper {
    fn label(&self) -> String {
        format!("application {}", self.run.name)
    }

    fn work(self: Arc<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move { self.keep().await })
    }

    fn give_up(&self) {
        self.run.close();
        for process in self.processes() {
            contained(|| process.kill());
        }
        self.finish(Reason::Killed, StartApplicationError::NodeStopping, 0);
    }
}

impl Keeper {
    pub(crate) fn new(
        host: Arc<DispatcherHost>,
        stopper: Arc<Stopper>,
        run: Arc<ApplicationRun>,
        parts: Arc<ApplicationParts>,
    ) -> Arc<Self> {
        let (has_begun, failure) = (AtomicBool::new(false), Mutex::default());
        Arc::new(Keeper { host, stopper, run, parts, has_begun, failure })
    }

    async fn keep(&self) {
        let run = &self.run;
        let began_before = self.has_begun.swap(true, Ordering::SeqCst);
        if !run.is_up() {
            let failure = self.failure.lock().clone();
            let started = match failure {
                Some(error) => Err(error),
                None if began_before => Err(self.failed(None, Reason::Killed)),
                None => self.bring_up().await,
            };
            let now = self.host.now();
            let running = started.is_ok() && self.host.core.applications.is_running(run, now);
            if let Err(error) = started {
                return self.fail(error).await;
            }
            if !running {
                return self.fail(StartApplicationError::Stopped(run.name.clone())).await;
            }
            reports::runs(&self.host, &run.name);
            run.up.set(Ok(()));
        }
        self.serve().await;
    }

    /// Starts the top process and runs the phases, up to the time limit, or until it is asked to
    /// stop.
    async fn bring_up(&self) -> Result<(), StartApplicationError> {
        let (run, limit) = (&self.run, self.parts.start_timeout);
        reports::starts(&self.host, &run.name);
        let mut phase = None;
        let outcome = {
            let mut start = Box::pin(self.start(&mut phase));
            let mut asked = run.asked.wait();
            let first = std::future::poll_fn(|cx| {
                if Pin::new(&mut asked).poll(cx).is_ready() {
                    let stopped = StartApplicationError::Stopped(run.name.clone());
                    return Poll::Ready(Err(stopped));
                }
                start.as_mut().poll(cx)
            });
            within(&self.any_host(), limit, Box::pin(first)).await
        };
        let application = run.name.clone();
        outcome.unwrap_or(Err(StartApplicationError::TimedOut { application, phase, limit }))
    }

    async fn start(&self, phase: &mut Option<String>) -> Result<(), StartApplicationError> {
        let init = (self.parts.top)(self.own_host()).map_err(|error| self.not_spawned(error))?;
        init.await.map_err(|error| self.not_spawned(error))?;
        let Some(top) = self.run.top() else { return Ok(()) };
        for next in &self.parts.phases {
            *phase = Some(next.name.clone());
            reports::phase_begins(&self.host, &self.run.name, &next.name);
            let failed = |reason| self.failed(Some(next.name.clone()), reason);
            let spawned = (next.start)(self.own_host(), top, &format!("phase {}", next.name));
            let pid = spawned.map_err(|error| failed(Reason::from(error)))?;
            let mut end = watch(self.any_host(), Target::Pid(pid));
            let mut top_end = self.run.top_end.wait();
            let reason = std::future::poll_fn(|cx| {
                // A phase of an application that has ended has nothing to serve.
                if let Poll::Ready(reason) = Pin::new(&mut top_end).poll(cx) {
                    return Poll::Ready(Err(self.failed(None, reason)));
                }
                Pin::new(&mut end).poll(cx).map(|down| Ok(down.reason))
            });
            let reason = reason.await?;
            if !reason.is_normal() {
                return Err(failed(reason));
            }
        }
        match self.run.top_end.value() {
            Some(reason) => Err(self.failed(None, reason)),
            None => Ok(()),
        }
    }

    /// Waits until it is asked to stop or its top process has ended, and takes it down.
    async fn serve(&self) {
        let (run, now) = (&self.run, || self.host.now());
        let (mut asked, mut top_end) = (run.asked.wait(), run.top_end.wait());
        let asked = std::future::poll_fn(|cx| {
            if Pin::new(&mut asked).poll(cx).is_ready() {
                return Poll::Ready(true);
            }
            Pin::new(&mut top_end).poll(cx).map(|_| false)
        })
        .await;
        self.host.core.applications.is_stopping(run, now());
        // A stop of the node asks the top process itself when its time is nearly over.
        let is_asked = asked || self.host.core.registry.is_closing();
        match run.top_end.value() {
            Some(reason) if !is_asked => {
                if !reason.is_normal() {
                    self.host.core.applications.is_lost(run, &reason);
                }
                reports::ends(&self.host, &run.name, &reason);
            }
            _ => reports::is_asked(&self.host, &run.name),
        }
        let left = self.take_down(true).await;
        let reason = run.top_end.value().unwrap_or(Reason::Killed);
        let end = if is_asked { TopEnd::Asked } else { TopEnd::OfItself(&reason) };
        let stops = stops_node(self.parts.mode, end);
        if stops {
            reports::stops_node(&self.host, &run.name, &reason);
        }
        let stopped = Stopped { application: Some(run.name.clone()), reason: reason.clone() };
        self.finish(reason, StartApplicationError::Stopped(run.name.clone()), left);
        if stops {
            self.stopper.begin(&self.host, self.stopper.timeout, stopped);
        }
    }

    /// Takes a start that has failed back.
    async fn fail(&self, error: StartApplicationError) {
        let before = self.failure.lock().replace(error.clone());
        if before.is_none() && !matches!(error, StartApplicationError::Stopped(_)) {
            reports::did_not_start(&self.host, &self.run.name, &error);
        }
        self.host.core.applications.is_stopping(&self.run, self.host.now());
        let left = self.take_down(false).await;
        let reason = match &error {
            StartApplicationError::Failed { reason, .. } => reason.clone(),
            StartApplicationError::Stopped(_) => Reason::Shutdown,
            other => Reason::from(other.clone()),
        };
        self.finish(reason, error, left);
    }

    /// Ends all processes of the run. Returns how many cannot be ended.
    async fn take_down(&self, ran: bool) -> usize {
        let (run, begun) = (&self.run, self.host.now());
        if ran && !run.has_prepared.swap(true, Ordering::SeqCst) {
            self.prepare(begun).await;
        }
        if let Some(top) = run.top().filter(|_| run.top_end.value().is_none()) {
            if let Some(process) = self.host.core.process(top) {
                contained(|| process.request_stop(Reason::Shutdown));
            }
            if let Err(limit) = self.in_time(begun, run.top_end.wait()).await {
                reports::is_overdue(&self.host, &run.name, limit);
            }
        }
        run.close();
        let left = self.kill_all().await;
        self.host.core.drop_hosts_of(run);
        left
    }

    /// Runs `on_stop`.
    async fn prepare(&self, begun: Timestamp) {
        let (Some(on_stop), Some(top)) = (&self.parts.on_stop, self.run.top()) else { return };
        let reason = match on_stop(self.own_host(), top, "on stop") {
            Err(error) => Reason::from(error),
            Ok(pid) => {
                let end = watch(self.any_host(), Target::Pid(pid));
                match self.in_time(begun, end).await {
                    Ok(down) => down.reason,
                    // It is killed with the others.
                    Err(_) => Reason::error("it has not returned in time"),
                }
            }
        };
        if !reason.is_normal() {
            reports::on_stop_failed(&self.host, &self.run.name, &reason);
        }
    }

    /// Waits for a part of a stop, at most for the time of the stop. Returns that time if it is over.
    async fn in_time<T>(
        &self,
        begun: Timestamp,
        mut part: impl Future<Output = T> + Unpin,
    ) -> Result<T, Duration> {
        loop {
            let (until, limit) = self.stop_limit(begun);
            let outcome = within(&self.any_host(), self.time_until(until), &mut part).await;
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
            // A stop of the node may have begun meanwhile.
            if self.stop_limit(begun).0 <= self.host.now() {
                return Err(limit);
            }
        }
    }

    /// When a stop that began then is over, and the time that it has (rules A5, A9).
    fn stop_limit(&self, begun: Timestamp) -> (Timestamp, Duration) {
        if let Some(timeout) = self.parts.stop_timeout {
            return (begun + timeout, timeout);
        }
        match self.host.core.applications.node_stops_until(self.parts.root) {
            // The node kills what is left then. This is for what does not end by that.
            Some((until, timeout)) => (until + KILL_GRACE, timeout),
            None => (begun + Application::STOP_TIMEOUT, Application::STOP_TIMEOUT),
        }
    }

    /// Kills all processes of the closed run, until none is left or none more can be ended.
    async fn kill_all(&self) -> usize {
        let until = self.host.now() + KILL_GRACE;
        loop {
            // One that was counted appears in the registry, or is taken off the count.
            let counted = self.run.living();
            if counted == 0 || self.host.now() >= until {
                return counted;
            }
            let left = self.processes();
            for process in &left {
                contained(|| Arc::clone(process).kill());
            }
            for process in &left {
                let end = watch(self.any_host(), Target::Pid(process.pid()));
                let _ = within(&self.any_host(), self.time_until(until), end).await;
            }
            if left.is_empty() {
                Sleep::until(self.any_host(), self.host.now() + LOOK_AGAIN).await;
            }
        }
    }

    /// Notes the end and tells all that wait for it. `error` is for those that wait for a start.
    fn finish(&self, reason: Reason, error: StartApplicationError, left: usize) {
        let run = &self.run;
        reports::has_ended(&self.host, &run.name, &reason, left);
        self.host.core.applications.has_ended(run, reason, self.host.now());
        self.host.core.drop_hosts_of(run);
        run.up.set(Err(error));
        run.over.set(left);
    }

    /// The living processes of the run, in the order in which they were spawned.
    fn processes(&self) -> Vec<Arc<dyn Process>> {
        let mut all = self.host.core.registry.all();
        all.retain(|process| process.application_run() == self.run.number);
        all
    }

    fn failed(&self, phase: Option<String>, reason: Reason) -> StartApplicationError {
        StartApplicationError::Failed { application: self.run.name.clone(), phase, reason }
    }

    fn not_spawned(&self, error: SpawnError) -> StartApplicationError {
        match error {
            SpawnError::NodeStopping => StartApplicationError::NodeStopping,
            SpawnError::Init(reason) => self.failed(None, reason),
            error => self.failed(None, Reason::from(error)),
        }
    }

    fn time_until(&self, until: Timestamp) -> Duration {
        until.since(self.host.now())
    }

    /// The host of the processes of the application.
    fn own_host(&self) -> Arc<dyn Host> {
        self.host.of_application(self.parts.root, &self.run)
    }

    fn any_host(&self) -> Arc<dyn Host> {
        Arc::clone(&self.host) as Arc<dyn Host>
    }
}

/// Finds out whether a process is of this run.
pub(crate) fn belongs_to(host: &DispatcherHost, pid: Option<Pid>, run: &ApplicationRun) -> bool {
    let process = pid.and_then(|pid| host.core.process(pid));
    process.is_some_and(|process| process.application_run() == run.number)
}
