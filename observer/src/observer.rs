//! The observer: its settings, its start, its tree of processes.

use crate::check::Check;
use crate::error::ObserverError;
use crate::health::canaries::Canaries;
use crate::http::access::{Access, is_host_name, is_origin};
use crate::http::listening::{bind, resolve};
use crate::http::server::{Server, Sockets};
use crate::limits::DoorLimits;
use crate::logs::RecentLogs;
use crate::metrics::program::{ProgramMetrics, ProgramRegistries};
use crate::metrics::program_families::FlawedFamily;
use crate::observer_tree::NAME;
use crate::sampling::sampler::Sampler;
use crate::shared::Shared;
use crate::suspensions::Suspender;
use crate::token::Token;
use krarup_gen::{Memory, Name};
use krarup_node::{DispatcherOptions, Node, NodeError};
use krarup_supervisor::{ChildSpec, Supervisor};
use prometheus_client::registry::Registry;
use std::collections::BTreeSet;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// The dispatcher of its processes.
pub(crate) const DISPATCHER: &str = "observer";
/// Restarts within a period before the observer gives up.
const RESTARTS: u32 = 10;
const PERIOD: Duration = Duration::from_secs(10);
/// What the node remembers from then on.
const MEMORY: Memory =
    Memory { crashes: 256, restarts: 1024, dead_letters: 1024, deadlocks: 256, long_turns: 256 };
/// The limits of the time of a check.
const CHECK_TIMES: [Duration; 2] = [Duration::from_millis(1), Duration::from_secs(10)];

/// The settings of an observer; [`Observer::start`] starts it.
///
/// | setting | default |
/// |---|---|
/// | [`listen`](Observer::listen) | `127.0.0.1:9414` |
/// | [`probes`](Observer::probes) | none |
/// | [`action_token`](Observer::action_token) | none: it only reads |
/// | [`read_token`](Observer::read_token) | none: whoever reaches it may read |
/// | [`allow_host`](Observer::allow_host), [`allow_origin`](Observer::allow_origin) | none |
/// | [`check`](Observer::check) | the dispatchers and the named top-level processes alone |
/// | [`ready_when`](Observer::ready_when) | none: it is ready when it has started |
/// | [`watch_names`](Observer::watch_names) | none |
/// | [`metrics`](Observer::metrics) | those of the node and the observer alone |
#[derive(Clone, Debug)]
#[must_use = "nothing is started until `start`"]
pub struct Observer {
    listen: String,
    probes: Option<String>,
    access: Access,
    checks: Vec<Check>,
    ready_when: Vec<String>,
    watched_names: Vec<String>,
    registries: ProgramRegistries,
    logs: Option<RecentLogs>,
    limits: DoorLimits,
}

impl Default for Observer {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer {
    /// Returns the default settings: a loopback address, reading alone.
    pub fn new() -> Self {
        Observer {
            listen: "127.0.0.1:9414".to_owned(),
            probes: None,
            access: Access::default(),
            checks: Vec::new(),
            ready_when: Vec::new(),
            watched_names: Vec::new(),
            registries: ProgramRegistries::default(),
            logs: None,
            limits: DoorLimits::default(),
        }
    }

    /// Sets the address and the port; port 0 is any free one. An address that is not a loopback
    /// address needs a [`Observer::read_token`].
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = address.into();
        self
    }

    /// Serves `/livez`, `/readyz` and `/metrics`, and nothing else, at a second address, without
    /// tokens and for every host name: for an orchestrator and a collector of metrics.
    pub fn probes(mut self, address: impl Into<String>) -> Self {
        self.probes = Some(address.into());
        self
    }

    /// Sets the token that opens the actions. Without one there are none. It opens reading, too.
    pub fn action_token(mut self, token: Token) -> Self {
        self.access.action_token = Some(token);
        self
    }

    /// Sets the token without which nothing can be read, except the page itself.
    pub fn read_token(mut self, token: Token) -> Self {
        self.access.read_token = Some(token);
        self
    }

    /// Serves requests for this host name, with any port. Addresses and `localhost` always are.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.access.hosts.push(host.into());
        self
    }

    /// Serves requests of pages of this origin, such as `https://ops.example.org`. The own origin
    /// always is.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.access.origins.push(origin.into());
        self
    }

    /// Adds a check to `/health`, and as it says to `/readyz` and `/livez`.
    pub fn check(mut self, check: Check) -> Self {
        self.checks.push(check);
        self
    }

    /// Makes `/readyz` answer 503 until a process with this name has started: a supervisor has when
    /// all its children have. Set it for the top of the program's tree, so that an orchestrator
    /// sends nothing to a node whose observer was started first. Can be called for several
    /// processes. One that has started once is not waited for again, but when it has ended the
    /// check `process:NAME` is down until a process has its name again.
    pub fn ready_when(mut self, name: impl Into<String>) -> Self {
        self.ready_when.push(name.into());
        self
    }

    /// Adds names of processes whose mailboxes become metrics.
    pub fn watch_names<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.watched_names.extend(names.into_iter().map(Into::into));
        self
    }

    /// Serves the metrics of a registry of the program on `/metrics`, after the observer's own, at both
    /// addresses (rule V86). Can be called for several registries. Counters and gauges are handles:
    /// the program keeps a clone of each, and what is counted outlives every restart of its processes
    /// and of the observer's.
    ///
    /// ```
    /// # mod krarup { pub use {krarup_node::*, krarup_observer as observer}; }
    /// # fn main() -> krarup_gen::Result {
    /// use krarup::Node;
    /// use krarup::observer::Observer;
    /// use krarup::observer::prometheus_client::metrics::counter::Counter;
    /// use krarup::observer::prometheus_client::registry::Registry;
    ///
    /// let mut registry = Registry::default();
    /// let orders: Counter = Counter::default();
    /// registry.register("shop_orders", "Accepted orders", orders.clone());
    ///
    /// let node = Node::start("shop@localhost")?;
    /// let observer = Observer::new().listen("127.0.0.1:0").metrics(registry).start(&node).wait()?;
    /// orders.inc();   // `shop_orders_total 1` at /metrics
    /// # node.stop().wait()
    /// # }
    /// ```
    ///
    /// The families that the registries show when the observer starts must be
    /// [servable](crate::MetricFlaw): a name that begins with `krarup_` or `process_`, a name that is
    /// there twice, a text that is not `OpenMetrics` are an [`ObserverError::Metric`]. A `Family` without
    /// a label set, and a collector, can show one later: it is left out of the answers then.
    ///
    /// The registries are written at the start and at each scrape, on a thread of their own, where
    /// collectors may block. A scrape waits for a second at most, and so does the start, on its thread
    /// also if it is awaited; more than 3 MiB are not served. If a collector panics, returns an error or
    /// takes longer, the families that were complete before (after a second: none of the program's) are
    /// served with those of the observer, and `krarup_observer_metrics_failed_total` counts it.
    pub fn metrics(mut self, registry: impl Into<Arc<Registry>>) -> Self {
        self.registries.0.push(registry.into());
        self
    }

    /// Shows the events that a layer of `tracing` keeps: see [`recent_logs`](crate::recent_logs).
    pub fn logs(mut self, logs: RecentLogs) -> Self {
        self.logs = Some(logs);
        self
    }

    #[cfg(test)]
    pub(crate) fn limits(mut self, limits: DoorLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Starts the observer on a node, below its system root. `.wait()` or `.await` completes when
    /// the sockets listen.
    pub fn start(self, node: &Node) -> ObserverStart {
        ObserverStart { observer: self, node: node.clone() }
    }

    /// Checks what can be checked without a socket.
    fn check_settings(&self) -> Result<(), ObserverError> {
        let tokens = (&self.access.action_token, &self.access.read_token);
        if let (Some(action), Some(read)) = tokens
            && action == read
        {
            return Err(ObserverError::SameToken);
        }
        if let Some(host) = self.access.hosts.iter().find(|host| !is_host_name(host)) {
            return Err(ObserverError::Host(host.clone()));
        }
        if let Some(origin) = self.access.origins.iter().find(|origin| !is_origin(origin)) {
            return Err(ObserverError::Origin(origin.clone()));
        }
        if let Some(name) = self.watched_names.iter().find(|name| Name::new(name).is_err()) {
            return Err(ObserverError::WatchedName(name.clone()));
        }
        if let Some(name) = self.ready_when.iter().find(|name| Name::new(name).is_err()) {
            return Err(ObserverError::ReadyName(name.clone()));
        }
        let mut names = BTreeSet::new();
        for check in &self.checks {
            if Name::new(&check.process).is_err() {
                return Err(ObserverError::CheckName(check.process.clone()));
            }
            let (name, time) = (check.name(), check.timeout);
            if !(CHECK_TIMES[0]..=CHECK_TIMES[1]).contains(&time) {
                return Err(ObserverError::CheckTime { check: name, time });
            }
            if !names.insert(name.clone()) {
                return Err(ObserverError::CheckTwice(name));
            }
        }
        Ok(())
    }
}

/// An observer that was not started yet: `.wait()` on a plain thread, or `.await`.
#[derive(Debug)]
#[must_use = "nothing is started until it is awaited or waited for"]
pub struct ObserverStart {
    observer: Observer,
    node: Node,
}

impl ObserverStart {
    /// Starts it, and waits on a plain thread until it listens.
    ///
    /// # Errors
    /// [`ObserverError`]; nothing is left of it then.
    pub fn wait(self) -> Result<RunningObserver, ObserverError> {
        let prepared = Prepared::new(self.observer, &self.node)?;
        let spawned = self.node.spawn_system(prepared.supervisor).name(NAME);
        spawned.dispatcher(DISPATCHER).wait().map_err(ObserverError::Spawn)?;
        Ok(prepared.running)
    }
}

impl IntoFuture for ObserverStart {
    type Output = Result<RunningObserver, ObserverError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let prepared = Prepared::new(self.observer, &self.node)?;
            let spawned = self.node.spawn_system(prepared.supervisor).name(NAME);
            spawned.dispatcher(DISPATCHER).await.map_err(ObserverError::Spawn)?;
            Ok(prepared.running)
        })
    }
}

/// The supervisor of the observer, as a factory.
type SupervisorFactory = Box<dyn FnOnce() -> Supervisor + Send>;

/// An observer whose sockets are bound.
struct Prepared {
    supervisor: SupervisorFactory,
    running: RunningObserver,
}

impl Prepared {
    fn new(observer: Observer, node: &Node) -> Result<Self, ObserverError> {
        observer.check_settings()?;
        let address = resolve(&observer.listen)?;
        if !address.ip().is_loopback() && observer.access.read_token.is_none() {
            return Err(ObserverError::OpenToTheWorld(address));
        }
        let probes = observer.probes.as_deref().map(resolve).transpose()?;
        let program_metrics = ProgramMetrics::new(observer.registries.clone());
        if let Some(FlawedFamily { family, flaw }) =
            program_metrics.check(observer.limits.collect)?
        {
            return Err(ObserverError::Metric { family, flaw });
        }
        let main = bind(address)?;
        let probes = probes.map(bind).transpose()?;
        let local = |socket: &TcpListener| {
            socket.local_addr().map_err(|error| ObserverError::Bind { address, error })
        };
        let running = RunningObserver {
            address: local(&main)?,
            probes: probes.as_ref().map(local).transpose()?,
        };
        match node.add_dispatcher(DISPATCHER, DispatcherOptions::new().workers(1)) {
            // It was configured, or belongs to an observer before.
            Ok(()) | Err(NodeError::DispatcherTwice(_)) => {}
            Err(error) => return Err(ObserverError::Dispatcher(error)),
        }
        let Observer { access, watched_names, limits, checks, ready_when, logs, .. } = observer;
        let view = node.view();
        let shared = Arc::new(Shared::new(
            view,
            access,
            limits,
            watched_names,
            checks,
            ready_when,
            logs,
            program_metrics,
        ));
        node.remember(MEMORY);
        let sockets = Arc::new(Sockets { main, probes });
        let supervisor = Box::new(move || supervisor(&shared, &sockets));
        Ok(Prepared { supervisor, running })
    }
}

/// The processes of an observer. The last one opens the doors.
fn supervisor(shared: &Arc<Shared>, sockets: &Arc<Sockets>) -> Supervisor {
    let sampler = {
        let shared = Arc::clone(shared);
        move || Sampler::new(Arc::clone(&shared.sampling), shared.view.clone())
    };
    let canaries = {
        let shared = Arc::clone(shared);
        move || Canaries::new(Arc::clone(&shared.turns), shared.view.clone())
    };
    let suspender = {
        let shared = Arc::clone(shared);
        move || Suspender::new(Arc::clone(&shared.suspensions), shared.view.clone())
    };
    let http = {
        let (shared, sockets) = (Arc::clone(shared), Arc::clone(sockets));
        move || Server::new(Arc::clone(&shared), Arc::clone(&sockets), shared.limits)
    };
    let child =
        |spec: ChildSpec, name: &str| spec.name(format!("{NAME}.{name}")).dispatcher(DISPATCHER);
    Supervisor::one_for_one()
        .intensity(RESTARTS, PERIOD)
        .child(child(ChildSpec::worker("sampler", sampler), "sampler"))
        .child(child(ChildSpec::worker("canaries", canaries), "canaries"))
        .child(child(ChildSpec::worker("suspensions", suspender), "suspensions"))
        .child(child(ChildSpec::worker("http", http), "http").label("Server"))
}

/// A started observer. It stops with its node; dropping this changes nothing.
#[derive(Clone)]
pub struct RunningObserver {
    address: SocketAddr,
    probes: Option<SocketAddr>,
}

impl RunningObserver {
    /// The address of the page and of all routes.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the probes, if they have one of their own.
    #[must_use]
    pub fn probes_address(&self) -> Option<SocketAddr> {
        self.probes
    }
}

impl fmt::Debug for RunningObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunningObserver").field(&self.url()).finish()
    }
}
