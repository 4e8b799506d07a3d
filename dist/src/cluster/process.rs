//! The process of a cluster: how it starts, what it does for its connections, and its end.

use super::Cluster;
use super::running::{DIAL_LIMIT, RunningCluster};
use super::scope_restarts::ScopeRestarts;
use crate::core::{ClusterCore, ReachableFromOutside};
use crate::discovery::discovered::DiscoveredNodes;
use crate::discovery::epmd_discovery::EpmdDiscovery;
use crate::discovery::news::DiscoveryNews;
use crate::epmd::{self, Registration};
use crate::error::{RegistrationError, StartError};
use crate::keeping::KeptBy;
use crate::listening::{listen, listen_simulated};
use crate::messages::{ClusterMessage, ClusterRequest};
use crate::peer::queue_limits::QueueLimits;
use krarup_act::{Actor, BehaviorContext, Context};
use krarup_gen::{Exit, Inspection, NodeName, Reason, ReasonKind, Result, SpawnError, Timestamp};
use krarup_io::ConnectError;
use krarup_wire::epmd::{EpmdError, Register};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How often the registration is looked at, and late dials are given up.
const LOOK: Duration = Duration::from_secs(2);
/// How long a cluster tries to get what the one before had ..
const SETTLING: Duration = Duration::from_secs(3);
/// .. and after which time again.
const AGAIN: Duration = Duration::from_millis(50);
/// The shortest time between two questions to a discovery.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);

impl Cluster {
    async fn start(&mut self, ctx: &mut Context<ClusterMessage>) -> Result<RunningCluster> {
        let settings = &mut self.settings;
        if let Some(mistake) = settings.mistakes.drain(..).next() {
            return Err(mistake.into());
        }
        if let Some(error) = settings.odd_patterns.drain(..).next() {
            return Err(StartError::NodePattern(error).into());
        }
        let node = NodeName::new(ctx.node_name()).map_err(StartError::from)?;
        let address = settings.listen;
        let may_be_heard = settings.allow_clear_text || !settings.encryption.is_clear_text();
        if !address.ip().is_loopback() && !may_be_heard {
            return Err(StartError::ClearText { address }.into());
        }
        if settings.tick.is_zero() {
            return Err(StartError::TickTime.into());
        }
        let scopes = settings.scopes.shared(&ctx.node_host())?;
        let (soft, hard) = settings.queue;
        let limits = QueueLimits::new(soft, hard).map_err(StartError::from)?;
        let kept = settings.kept.0.iter().map(NodeName::new).collect::<Result<Vec<_>, _>>();
        let kept = kept.map_err(StartError::from)?;
        if let Some(port) = settings.epmd
            && settings.network.is_none()
        {
            settings.discoveries.add(EpmdDiscovery::at(port));
        }
        let core = ClusterCore::new(
            ctx.node_host(),
            ctx.pid(),
            &node,
            (settings.admission.clone(), settings.encryption.clone()),
            (settings.tick, DIAL_LIMIT, limits),
            ReachableFromOutside {
                exports: std::mem::take(&mut settings.exports),
                functions: std::mem::take(&mut settings.functions),
                factories: std::mem::take(&mut settings.factories),
                spawn_limit: settings.spawns,
            },
            ctx.address().recipient(),
        );
        let is_again = core.number > 1;
        let settled = ctx.now() + if is_again { SETTLING } else { Duration::ZERO };
        if !core.host.set_network(Some(Arc::clone(&core) as _)) {
            return Err(StartError::SecondCluster.into());
        }
        core.set_scopes(scopes);
        // From here on the end of this value removes the network again.
        let mut running = RunningCluster {
            core,
            listener: None,
            scopes: BTreeMap::new(),
            dialling: BTreeMap::new(),
            restarts: ScopeRestarts::default(),
            unstarted: Vec::new(),
            port: 0,
            registration: None,
            is_registering: false,
            unregistered: None,
            discovered: DiscoveredNodes::default(),
            keeps_at: None,
        };
        let core = Arc::clone(&running.core);
        let (listener, listening) = loop {
            let core = Arc::clone(&core);
            let listened = match &settings.network {
                None => listen(ctx, core, address).await,
                Some(network) => listen_simulated(ctx, core, network).await,
            };
            match listened {
                Err(reason) if is_taken(&reason) && ctx.now() < settled => ctx.sleep(AGAIN).await,
                listened => break listened?,
            }
        };
        running.listener = Some(listener);
        running.start_scopes(ctx, settled).await?;
        running.port = listening.port();
        let _ = running.core.listening.set(listening);
        if let Some(epmd) = settings.epmd {
            running.register(ctx, epmd, settled).await?;
        }
        ctx.send_interval(LOOK, || ClusterMessage(ClusterRequest::Look));
        for node in &kept {
            running.core.keep(node, KeptBy::Name);
        }
        for (number, discovery) in settings.discoveries.all().iter().enumerate() {
            discovery.started(DiscoveryNews::new(number, ctx.address().recipient()));
            if let Some(interval) = discovery.interval() {
                let ask = move || ClusterMessage(ClusterRequest::Ask(number));
                ctx.address().notify(ask());
                ctx.send_interval(interval.max(LEAST_INTERVAL), ask);
            }
        }
        Ok(running)
    }

    fn look(&mut self, ctx: &mut Context<ClusterMessage>) -> Result {
        let Some(running) = &mut self.running else { return Ok(()) };
        running.core.sweep();
        let lost = running.registration.as_ref().is_none_or(|registration| !registration.stands());
        if let Some(epmd) = self.settings.epmd
            && lost
            && !std::mem::replace(&mut running.is_registering, true)
        {
            if running.registration.take().is_some() {
                running.registration_failed("the connection to it is lost".to_owned());
            }
            let node = NodeName::new(ctx.node_name())?;
            let (alive, port) = (node.alive().to_owned(), running.port);
            let again = ctx.block(move || registered(epmd, port, &alive));
            ctx.pipe(again, |registered| {
                let registered = registered.map_err(|error| error.to_string());
                let registered =
                    registered.and_then(|result| result.map_err(|error| error.to_string()));
                ClusterMessage(ClusterRequest::Registered(registered))
            })?;
        }
        Ok(())
    }
}

impl RunningCluster {
    /// Starts all scopes of groups.
    async fn start_scopes(
        &mut self,
        ctx: &mut Context<ClusterMessage>,
        settled: Timestamp,
    ) -> Result {
        for scope in self.core.scopes().to_vec() {
            loop {
                match self.start_scope(ctx, Arc::clone(&scope)).await {
                    Err(reason) if is_taken(&reason) && ctx.now() < settled => {
                        ctx.sleep(AGAIN).await;
                    }
                    started => break started?,
                }
            }
        }
        Ok(())
    }

    /// Registers the node at the port mapper, which may not have noticed yet that the cluster before has ended.
    async fn register(
        &mut self,
        ctx: &mut Context<ClusterMessage>,
        epmd: u16,
        settled: Timestamp,
    ) -> Result {
        let node = NodeName::new(ctx.node_name())?;
        loop {
            let (alive, port) = (node.alive().to_owned(), self.port);
            match ctx.block(move || registered(epmd, port, &alive)).await? {
                Ok(registration) => {
                    self.registration = Some(registration);
                    return Ok(());
                }
                Err(RegistrationError::Answer(EpmdError::NotRegistered { .. }))
                    if ctx.now() < settled =>
                {
                    ctx.sleep(AGAIN).await;
                }
                Err(error) => return Err(StartError::from(error).into()),
            }
        }
    }
}

/// Whether a start has failed because something of the cluster before may still be there: its processes have a name and an
/// address, and they end by themselves, but behind the cluster whose death has begun this start (rule Zlive7).
fn is_taken(reason: &Reason) -> bool {
    let start = reason.downcast_ref();
    matches!(start, Some(StartError::NameTaken { .. } | StartError::Listen(_)))
        || matches!(reason.downcast_ref(), Some(SpawnError::NameTaken { .. }))
}

/// Registers the node at the port mapper of this machine, as hidden (rule Zglobal1).
fn registered(epmd: u16, port: u16, alive: &str) -> Result<Registration, RegistrationError> {
    epmd::register("127.0.0.1", epmd, &Register { name: alive, port, hidden: true })
}

impl Actor for Cluster {
    type Message = ClusterMessage;

    async fn init(&mut self, ctx: &mut Context<ClusterMessage>) -> Result {
        // The end of a connection ends nothing else.
        ctx.trap_exits(true);
        self.running = Some(self.start(ctx).await?);
        Ok(())
    }

    async fn handle_message(
        &mut self,
        ctx: &mut Context<ClusterMessage>,
        ClusterMessage(request): ClusterMessage,
    ) -> Result {
        match request {
            ClusterRequest::Dial { peer, connection } => self.find(ctx, peer, connection)?,
            ClusterRequest::Found { peer, connection, found } => {
                self.connect(ctx, (peer, connection), found);
            }
            ClusterRequest::Look => {
                self.look(ctx)?;
                if let Some(running) = &mut self.running {
                    for scope in std::mem::take(&mut running.unstarted) {
                        running.start_again(ctx, scope).await;
                    }
                }
            }
            ClusterRequest::KeepChanged => self.dial_kept(ctx),
            ClusterRequest::KeepDue(at) => {
                if let Some(running) = &mut self.running {
                    running.keeps_at.take_if(|set| *set == at);
                }
                self.dial_kept(ctx);
            }
            ClusterRequest::Ask(number) => self.ask(ctx, number)?,
            ClusterRequest::Nodes { number, nodes } => {
                if let Some(running) = &mut self.running {
                    let nodes = nodes.inspect_err(|error| running.core.log_no_nodes(error));
                    let (appeared, gone) = running.discovered.answered(number, nodes.ok());
                    self.news(&appeared, &gone);
                }
            }
            ClusterRequest::News { number, appeared, disappeared } => {
                if let Some(running) = &mut self.running {
                    let (appeared, gone) = running.discovered.told(number, appeared, &disappeared);
                    self.news(&appeared, &gone);
                }
            }
            ClusterRequest::Registered(result) => {
                if let Some(running) = &mut self.running {
                    running.is_registering = false;
                    match result {
                        Ok(registration) => running.registered_again(registration),
                        Err(why) => running.registration_failed(why),
                    }
                }
            }
        }
        Ok(())
    }

    async fn handle_exit(&mut self, ctx: &mut Context<ClusterMessage>, exit: Exit) -> Result {
        let Some(running) = &mut self.running else { return Ok(()) };
        // A scope of groups that has ended is started again (rule Zpg3).
        if let Some(scope) = running.scopes.remove(&exit.pid) {
            running.start_again(ctx, scope).await;
            return Ok(());
        }
        let dialled = running.dialling.remove(&exit.pid);
        match (exit.reason.downcast_ref(), dialled) {
            // A dial that was refused, or has refused the certificate.
            (Some(error @ ConnectError::Tls { .. }), _) => {
                running.core.log_closed((None, None), error, &[]);
            }
            (Some(error), Some(peer)) => running.core.log_unconnected(&peer, error),
            _ => {}
        }
        // The listener is needed; a connection is not.
        if running.listener == Some(exit.pid) { Err(exit.reason) } else { Ok(()) }
    }

    async fn terminate(&mut self, ctx: &mut Context<ClusterMessage>, reason: &Reason) {
        let in_order = matches!(reason.kind(), ReasonKind::Normal | ReasonKind::Shutdown);
        if let Some(running) = &mut self.running
            && in_order
        {
            running.finish(ctx).await;
        }
    }

    fn inspect(&self) -> Inspection {
        let inspection = Inspection::new().with("label", "cluster");
        match &self.running {
            None => inspection,
            Some(RunningCluster { core, port, registration, .. }) => inspection
                .with("port", u64::from(*port))
                .with("registered", registration.is_some())
                .with("connected", core.connected().len() as u64)
                .with("calls", core.calls.len() as u64)
                .with("rpcs", core.requests.len() as u64)
                .with("kept", core.kept().len() as u64)
                .with("subscribers", core.memory.subscribers.count() as u64)
                .with("known_nodes", core.table_sizes()[0] as u64)
                .with("connections", core.table_sizes()[1] as u64)
                .with("handshakes", core.table_sizes()[2] as u64)
                .with("dials", core.table_sizes()[3] as u64),
        }
    }
}
