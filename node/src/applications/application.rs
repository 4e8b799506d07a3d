//! The declaration of an application.

#[cfg(feature = "settings")]
use crate::applications::configuring::Configure;
use crate::applications::error::ApplicationError;
use crate::applications::plan::{Declared, Mode};
use krarup_act::{Behavior, Context, Host, Spawn, behavior_fn};
use krarup_gen::{Name, Pid, Result, Root, SpawnError};
#[cfg(feature = "settings")]
use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A future of a part of an application.
pub(crate) type PartFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Starts the top process on a host.
type TopStart = dyn Fn(
        Arc<dyn Host>,
    ) -> std::result::Result<PartFuture<std::result::Result<(), SpawnError>>, SpawnError>
    + Send
    + Sync;

/// Runs a phase in a process of its own, shown below the top process.
type PartStart =
    dyn Fn(Arc<dyn Host>, Pid, &str) -> std::result::Result<Pid, SpawnError> + Send + Sync;

/// A named part of a program: its top process, what it needs, and what its end means.
///
/// It is OTP's, without files and versions. A node gets its applications with
/// [`NodeBuilder::application`](crate::NodeBuilder::application), in any order, and starts each
/// after those that it needs. Every process belongs to the application of the process that
/// spawned it, and ends with it (rule A6). What is spawned with a [`Node`](crate::Node), also in a
/// process of an application, belongs to none.
///
/// ```
/// # use krarup_act::{behavior_fn, Behavior, Context};
/// # use krarup_node::{Application, Mode, Node};
/// # fn tree() -> impl Behavior { behavior_fn(|mut ctx: Context<()>| async move {
/// #     ctx.receive().await;
/// #     Ok(())
/// # }) }
/// # fn main() -> krarup_gen::Result {
/// let node = Node::builder("shop@localhost")
///     .application(Application::new("shop", tree).needs("storage").mode(Mode::Permanent))
///     .application(Application::new("storage", tree))
///     .start()?;
/// let started: Vec<_> = node.applications().iter().map(|app| app.to_string()).collect();
/// assert_eq!(started, ["shop permanent running", "storage temporary running"]);
/// # node.stop().wait()
/// # }
/// ```
#[must_use = "an application is given to the builder of a node"]
pub struct Application {
    name: String,
    needs: Vec<String>,
    pub(crate) parts: ApplicationParts,
    /// Takes its settings, if it has any.
    #[cfg(feature = "settings")]
    pub(crate) configure: Option<Box<Configure>>,
    /// Whether it takes settings.
    #[cfg(feature = "settings")]
    pub(crate) is_configured: bool,
    /// The settings that the program has given.
    #[cfg(feature = "settings")]
    pub(crate) given: Option<Box<dyn Any + Send + Sync>>,
}

/// What is known of an application besides its names.
pub(crate) struct ApplicationParts {
    pub(crate) mode: Mode,
    pub(crate) root: Root,
    /// Whether it waits for a request to start.
    pub(crate) on_request: bool,
    pub(crate) start_timeout: Duration,
    /// How long it has for its stop, if that was set.
    pub(crate) stop_timeout: Option<Duration>,
    pub(crate) top: Box<TopStart>,
    pub(crate) phases: Vec<ApplicationPhase>,
    pub(crate) on_stop: Option<Box<PartStart>>,
}

/// A phase of the start.
pub(crate) struct ApplicationPhase {
    pub(crate) name: String,
    pub(crate) start: Box<PartStart>,
}

impl Application {
    /// The default time of a start: 60 s.
    pub const START_TIMEOUT: Duration = Duration::from_secs(60);

    /// The default time of a stop of the application by itself, as by
    /// [`Node::stop_application`](crate::Node::stop_application): 10 s. A stop of the node gives it the time of
    /// the node.
    pub const STOP_TIMEOUT: Duration = Duration::from_secs(10);

    /// Makes an application. `top` makes the behaviour of its top process, usually a supervisor.
    /// It runs in the first turn of that process, once for each start (rule A10).
    pub fn new<B, F>(name: impl Into<String>, top: F) -> Self
    where
        B: Behavior,
        F: Fn() -> B + Send + Sync + 'static,
    {
        let top = Arc::new(top);
        Self::with_top(name.into(), move |host: Arc<dyn Host>| {
            let top = Arc::clone(&top);
            let (_, init) = Spawn::outside(host, move || top()).begin()?;
            Ok(Box::pin(init) as PartFuture<_>)
        })
    }

    pub(crate) fn with_top(
        name: String,
        top: impl Fn(
            Arc<dyn Host>,
        )
            -> std::result::Result<PartFuture<std::result::Result<(), SpawnError>>, SpawnError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Application {
            name,
            needs: Vec::new(),
            parts: ApplicationParts {
                mode: Mode::default(),
                root: Root::User,
                on_request: false,
                start_timeout: Self::START_TIMEOUT,
                stop_timeout: None,
                top: Box::new(top),
                phases: Vec::new(),
                on_stop: None,
            },
            #[cfg(feature = "settings")]
            configure: None,
            #[cfg(feature = "settings")]
            is_configured: false,
            #[cfg(feature = "settings")]
            given: None,
        }
    }

    #[cfg(feature = "settings")]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Adds an application that must run before this one starts.
    pub fn needs(mut self, name: impl Into<String>) -> Self {
        self.needs.push(name.into());
        self
    }

    /// Sets what its end means for the node; [`Mode::Temporary`] by default (rule A7).
    pub fn mode(mut self, mode: Mode) -> Self {
        self.parts.mode = mode;
        self
    }

    /// Adds a phase of the start. It runs in a process of the application, when the top process
    /// has initialised and the phases before it are done. It may look up names and call. If it
    /// returns an error or panics, the start fails (rule A3).
    pub fn phase<F, Fut>(mut self, name: impl Into<String>, phase: F) -> Self
    where
        F: Fn(Context<()>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result> + Send + 'static,
    {
        self.parts.phases.push(ApplicationPhase { name: name.into(), start: part(phase) });
        self
    }

    /// Sets what runs before the application is taken down, in a process of the application: when
    /// it is asked to stop, before its top process is asked, and when its top process has ended
    /// by itself (as OTP's `prep_stop`). Its time is part of
    /// [`stop_timeout`](Self::stop_timeout). An error or a panic is reported, and the stop goes
    /// on.
    pub fn on_stop<F, Fut>(mut self, on_stop: F) -> Self
    where
        F: Fn(Context<()>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result> + Send + 'static,
    {
        self.parts.on_stop = Some(part(on_stop));
        self
    }

    /// Sets the time that its top process and its phases have together to start;
    /// [`START_TIMEOUT`](Self::START_TIMEOUT) by default.
    pub fn start_timeout(mut self, timeout: Duration) -> Self {
        self.parts.start_timeout = timeout;
        self
    }

    /// Sets the time that it has for an orderly end before it is killed (rules A5, A9). By default that is the time of
    /// the node at a stop of the node ([`NodeBuilder::stop_timeout`](crate::NodeBuilder::stop_timeout),
    /// [`NodeStop::timeout`](crate::NodeStop::timeout)), and [`STOP_TIMEOUT`](Self::STOP_TIMEOUT) at any other end. One
    /// that is longer than the time of the node ends with that.
    pub fn stop_timeout(mut self, timeout: Duration) -> Self {
        self.parts.stop_timeout = Some(timeout);
        self
    }

    /// Does not start it with the node, unless another one that does needs it. It is started with
    /// [`Node::start_application`](crate::Node::start_application).
    pub fn on_request(mut self) -> Self {
        self.parts.on_request = true;
        self
    }

    /// Puts its processes below the system root: a stop of the node ends it when the last process
    /// below the user root has ended (rules X6, A9). What it needs must be a service too.
    pub fn service(mut self) -> Self {
        self.parts.root = Root::System;
        self
    }

    /// Its name and needs, if they are names.
    pub(crate) fn declared(&self) -> std::result::Result<Declared, ApplicationError> {
        let valid = |text: &String| {
            Name::new(text).map_err(|error| {
                let application = self.name.clone();
                ApplicationError::InvalidName { application, error }
            })
        };
        let needs = self.needs.iter().map(valid).collect::<std::result::Result<_, _>>()?;
        let is_service = self.parts.root == Root::System;
        Ok(Declared { name: valid(&self.name)?, needs, is_service })
    }
}

/// Runs a closure of the user in a process of its own.
fn part<F, Fut>(run: F) -> Box<PartStart>
where
    F: Fn(Context<()>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result> + Send + 'static,
{
    let run = Arc::new(run);
    Box::new(move |host, top, label| {
        let run = Arc::clone(&run);
        let process = move || behavior_fn(move |ctx: Context<()>| async move { run(ctx).await });
        Ok(Spawn::under(host, top, process).label(label).start()?.pid())
    })
}

impl fmt::Debug for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Application")
            .field("name", &self.name)
            .field("needs", &self.needs)
            .field("mode", &self.parts.mode)
            .field("root", &self.parts.root)
            .field("on_request", &self.parts.on_request)
            .field("start_timeout", &self.parts.start_timeout)
            .field("stop_timeout", &self.parts.stop_timeout)
            .field("phases", &self.parts.phases.iter().map(|it| &it.name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
