//! The stop of an application (rule A5).

use crate::applications::error::StopApplicationError;
use crate::applications::insist::{ApplicationJob, insist};
use crate::applications::keeper::belongs_to;
use crate::applications::run::ApplicationRun;
use crate::applications::table::Needed;
use crate::core::DispatcherHost;
use crate::once_value::OnceValue;
use krarup_act::{Host, Pending, current_pid};
use krarup_gen::Name;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A stop of an application that has not begun yet (rule A5).
///
/// Its `on_stop` runs; its top process is asked to end, and killed when `stop_timeout` has
/// passed; all others that belong to it are killed then, also those that their parents have left
/// behind. The mode of the application does not count. Others can be started and stopped
/// meanwhile.
///
/// A process of the application itself does not wait for its own end: there, awaiting this begins
/// the stop and returns at once.
///
/// ```
/// # use krarup_act::{behavior_fn, Behavior, Context};
/// # use krarup_node::{Application, Simulation};
/// # fn tree() -> impl Behavior { behavior_fn(|mut ctx: Context<()>| async move {
/// #     ctx.receive().await;
/// #     Ok(())
/// # }) }
/// # fn main() -> krarup_gen::Result {
/// let shop = Application::new("shop", tree).needs("storage");
/// let sim = Simulation::with_applications(1, [Application::new("storage", tree), shop])?;
/// let refused = sim.stop_application("storage").wait().unwrap_err();
/// assert_eq!(refused.to_string(), "application storage is needed by shop");
/// sim.stop_application("storage").with_dependents().wait()?;
/// assert_eq!(sim.applications()[1].to_string(), "shop temporary ended: shutdown");
/// # sim.stop().wait()
/// # }
/// ```
#[must_use = "the application is not stopped until this is awaited, waited for or started"]
pub struct StopApplication {
    host: Arc<DispatcherHost>,
    name: String,
    choice: DependentsChoice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DependentsChoice {
    Refuse,
    First,
    Ignore,
}

impl StopApplication {
    pub(crate) fn new(host: Arc<DispatcherHost>, name: String) -> Self {
        StopApplication { host, name, choice: DependentsChoice::Refuse }
    }

    /// Stops those that need it first, the last started first.
    pub fn with_dependents(mut self) -> Self {
        self.choice = DependentsChoice::First;
        self
    }

    /// Stops it although others need it, as OTP does. They run on without it.
    pub fn anyway(mut self) -> Self {
        self.choice = DependentsChoice::Ignore;
        self
    }

    /// Begins the stop without waiting for its end.
    ///
    /// # Errors
    /// [`StopApplicationError::Unknown`].
    pub fn start(self) -> Result<(), StopApplicationError> {
        self.begin().map(drop)
    }

    /// Stops it, and waits for that on a plain thread.
    ///
    /// # Errors
    /// [`StopApplicationError`].
    pub fn wait(self) -> Result<(), StopApplicationError> {
        let host: Arc<dyn Host> = Arc::clone(&self.host) as Arc<dyn Host>;
        Pending::new(host, self.run()).wait()
    }

    fn begin(self) -> Result<Arc<StopJob>, StopApplicationError> {
        let Some(name) = self.host.core.applications.named(&self.name) else {
            return Err(StopApplicationError::Unknown(self.name));
        };
        let job = Arc::new(StopJob {
            host: self.host,
            name,
            choice: self.choice,
            has_asked: AtomicBool::new(false),
            outcome: Arc::default(),
        });
        let work: Arc<dyn ApplicationJob> = Arc::clone(&job) as Arc<dyn ApplicationJob>;
        insist(&job.host, &work);
        Ok(job)
    }

    async fn run(self) -> Result<(), StopApplicationError> {
        let job = self.begin()?;
        let table = &job.host.core.applications;
        let mut ending = table.dependents_alive(&job.name);
        if job.choice != DependentsChoice::First {
            ending.clear();
        }
        ending.push(job.name.clone());
        let of_itself = |name: &Name| {
            table.run_of(name).is_some_and(|run| belongs_to(&job.host, current_pid(), &run))
        };
        if ending.iter().any(of_itself) {
            return Ok(());
        }
        job.outcome.wait().await
    }
}

impl IntoFuture for StopApplication {
    type Output = Result<(), StopApplicationError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl fmt::Debug for StopApplication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StopApplication")
            .field("name", &self.name)
            .field("choice", &self.choice)
            .finish_non_exhaustive()
    }
}

struct StopJob {
    host: Arc<DispatcherHost>,
    name: Name,
    choice: DependentsChoice,
    /// Whether the application itself was asked by this stop.
    has_asked: AtomicBool,
    outcome: Arc<OnceValue<Result<(), StopApplicationError>>>,
}

impl ApplicationJob for StopJob {
    fn label(&self) -> String {
        format!("stop of application {}", self.name)
    }

    fn work(self: Arc<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let outcome = self.run().await;
            self.outcome.set(outcome);
        })
    }

    fn give_up(&self) {
        self.outcome.set(Err(StopApplicationError::NodeStopping));
    }
}

impl StopJob {
    async fn run(&self) -> Result<(), StopApplicationError> {
        loop {
            if self.choice == DependentsChoice::First {
                for name in self.host.core.applications.dependents_alive(&self.name) {
                    // One that has ended meanwhile is no dependent any more.
                    if let Ok(run) = self.ask(&name, Needed::Ignore) {
                        self.await_end(&run).await?;
                    }
                }
            }
            let needed = match self.choice {
                DependentsChoice::Ignore => Needed::Ignore,
                _ => Needed::Refuse,
            };
            match self.ask(&self.name, needed) {
                Ok(run) => {
                    self.has_asked.store(true, Ordering::SeqCst);
                    return self.await_end(&run).await;
                }
                // Another one that needs it was started meanwhile.
                Err(StopApplicationError::NeededBy { .. })
                    if self.choice == DependentsChoice::First => {}
                // It has ended while the process of this job was replaced.
                Err(StopApplicationError::NotRunning(_))
                    if self.has_asked.load(Ordering::SeqCst) =>
                {
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn ask(
        &self,
        name: &Name,
        needed: Needed,
    ) -> Result<Arc<ApplicationRun>, StopApplicationError> {
        self.host.core.applications.ask(name, needed, self.host.now())
    }

    async fn await_end(&self, run: &ApplicationRun) -> Result<(), StopApplicationError> {
        match run.over.wait().await {
            0 => Ok(()),
            left => Err(StopApplicationError::LeftBehind { application: run.name.clone(), left }),
        }
    }
}
