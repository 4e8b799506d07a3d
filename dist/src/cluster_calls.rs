//! What users do with a cluster.

use crate::error::{ClusterError, ServeError};
use crate::events::NodeEvent;
use crate::exports::Sys;
use crate::exports::typed::Served;
use crate::functions::arguments::FunctionArguments;
use crate::functions::call::FunctionCall;
use crate::functions::exception::TermException;
use crate::functions::naming::function_name;
use crate::functions::serving;
use crate::groups::term_groups::TermGroups;
use crate::has_cluster::HasCluster;
use crate::keeping::KeptBy;
use crate::peer::connection_info::ConnectionInfo;
use crate::peer::control_trace::{ControlTrace, TracedControl};
use crate::remote_spawns::error::RemoteSpawnError;
use crate::remote_spawns::spawn::RemoteSpawn;
use crate::requests::target::RequestTarget;
use crate::rpc::call::RpcCall;
use crate::rpc::error::RpcError;
use krarup_act::{Behavior, Groups, Network, Recipient};
use krarup_gen::{ClusterStats, KeptNode, Name, NodeName, Pid};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::poll_fn;
use std::sync::Arc;

/// The operations of a cluster, at its address and in the processes of its node.
pub trait ClusterCalls: HasCluster {
    /// Makes the process that has this name reachable from other nodes, now and when another
    /// process has it. Its messages are of type `M`. It obeys [`Sys::Status`].
    ///
    /// It ends with the cluster: one that a supervisor starts again has the exports of
    /// [`Cluster::export`](crate::Cluster::export) alone.
    ///
    /// # Errors
    /// [`ClusterError`] if the name is not valid or is exported with messages of another type, or
    /// the cluster does not run.
    fn export<M>(&self, name: &str) -> Result<(), ClusterError>
    where
        M: Serialize + DeserializeOwned + Send + 'static,
    {
        self.export_with::<M>(name, Sys::Status)
    }

    /// As [`ClusterCalls::export`], with the `sys` requests that the process obeys.
    ///
    /// # Errors
    /// Those of [`ClusterCalls::export`].
    fn export_with<M>(&self, name: &str, sys: Sys) -> Result<(), ClusterError>
    where
        M: Serialize + DeserializeOwned + Send + 'static,
    {
        self.cluster()?.0.exports.add::<M>(&Name::new(name)?, sys)
    }

    /// Makes a process that has this name answer calls of other nodes by a function, which runs
    /// on the thread of the connection and must not block. For processes that take no messages
    /// of a type that can be read, such as supervisors.
    ///
    /// # Errors
    /// Those of [`ClusterCalls::export`].
    fn export_served(
        &self,
        name: &str,
        serve: impl Fn(Served) + Send + Sync + 'static,
    ) -> Result<(), ClusterError> {
        self.cluster()?.0.exports.serve(&Name::new(name)?, Sys::Status, serve)
    }

    /// Ends an export. Returns whether there was one.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn unexport(&self, name: &str) -> Result<bool, ClusterError> {
        Ok(self.cluster()?.0.exports.remove(name))
    }

    /// Makes processes that take an `M` understand peers that send to their pids.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn carry<M>(&self) -> Result<(), ClusterError>
    where
        M: Serialize + DeserializeOwned + Send + 'static,
    {
        self.cluster()?.0.exports.carry::<M>();
        Ok(())
    }

    /// Returns a recipient for the process that has this name on that node. Nothing is sent
    /// yet; the first message dials (rule Zhs10).
    ///
    /// # Errors
    /// [`ClusterError`] if a name is not valid, or that of this node.
    fn remote<M>(&self, name: &str, node: &str) -> Result<Recipient<M>, ClusterError>
    where
        M: Serialize + Send + 'static,
    {
        let core = self.cluster()?.0;
        let node = NodeName::new(node)?;
        let process = core.stand_in_named(&Name::new(name)?, &node);
        let process = process.ok_or_else(|| ClusterError::ThisNode(node.to_string()))?;
        Ok(process.recipient())
    }

    /// Returns a recipient for a process of another node, whose messages are of type `M`.
    ///
    /// # Errors
    /// [`ClusterError`] if the pid is not one of another node.
    fn remote_pid<M>(&self, pid: Pid) -> Result<Recipient<M>, ClusterError>
    where
        M: Serialize + Send + 'static,
    {
        let core = self.cluster()?.0;
        let process = core.process(pid).filter(|process| process.remote().is_some());
        let process = process.ok_or_else(|| ClusterError::ThisNode(pid.to_string()))?;
        Ok(Recipient::remote(process, Arc::clone(&core.host)))
    }

    /// Makes a function callable from other nodes, by `rpc` and `erpc` of OTP and by
    /// [`ClusterCalls::rpc`]. Its arity is the size of the tuple that it takes. Each call runs in
    /// a process of its own, below the root of the users, which ends when the caller gives up or
    /// its node is lost (rules Zcall7, Zcall8). One that a supervisor starts again serves those of
    /// [`Cluster::serve`](crate::Cluster::serve) alone.
    ///
    /// Arguments of other types are `function_clause`, a panic is an error `{panic, Text}`.
    ///
    /// ```
    /// # use krarup_dist::etf::Term;
    /// # use krarup_dist::{ClusterAddress, ClusterCalls, ServeError, TermException};
    /// # fn serve(cluster: &ClusterAddress) -> Result<(), ServeError> {
    /// // erpc:call('calc@host', calc, divide, [7, 2]) is 3.
    /// cluster.serve("calc", "divide", |(a, b): (i64, i64)| async move {
    ///     a.checked_div(b).ok_or_else(|| TermException::error(Term::atom("badarith")))
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ServeError`] if a name is empty, not valid or taken, or the cluster does not run.
    fn serve<A, R, F, U>(&self, module: &str, function: &str, run: F) -> Result<(), ServeError>
    where
        A: FunctionArguments + DeserializeOwned + Send + 'static,
        R: Serialize,
        F: Fn(A) -> U + Send + Sync + 'static,
        U: Future<Output = Result<R, TermException>> + Send + 'static,
    {
        serving::add_plain_function(&self.cluster()?.0.functions, (module, function), run)
    }

    /// As [`ClusterCalls::serve`], for a function that uses the process that runs it: a
    /// [`FunctionCall`] has its context, and the node that calls.
    ///
    /// A function that traps exits gets a notice when its caller gives up, and is to return then;
    /// others end at once.
    ///
    /// ```
    /// # use krarup_dist::{ClusterAddress, ClusterCalls, FunctionCall, ServeError, TermException};
    /// # use std::time::Duration;
    /// # fn serve(cluster: &ClusterAddress) -> Result<(), ServeError> {
    /// cluster.serve_with("greeter", "later", |call: FunctionCall, (ms,): (u64,)| async move {
    ///     call.ctx.sleep(Duration::from_millis(ms)).await;
    ///     Ok::<_, TermException>(format!("hello, {}", call.node))
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ServeError`] if a name is empty, not valid or taken, or the cluster does not run.
    fn serve_with<A, R, F, U>(&self, module: &str, function: &str, run: F) -> Result<(), ServeError>
    where
        A: FunctionArguments + DeserializeOwned + Send + 'static,
        R: Serialize,
        F: Fn(FunctionCall, A) -> U + Send + Sync + 'static,
        U: Future<Output = Result<R, TermException>> + Send + 'static,
    {
        serving::add_function(&self.cluster()?.0.functions, (module, function), run)
    }

    /// Ends the serving of a function. Calls under way go on. Returns whether it was served.
    ///
    /// # Errors
    /// [`ServeError`] if a name is not valid, or the cluster does not run.
    fn unserve(&self, module: &str, function: &str, arity: u8) -> Result<bool, ServeError> {
        let core = self.cluster()?.0;
        Ok(core.functions.remove(&function_name(module, function, arity)?))
    }

    /// Lets other nodes spawn processes here, by `spawn`, `spawn_link`, `spawn_monitor` and
    /// `spawn_request` of OTP with this module, this name and as many arguments as the tuple has
    /// (rule Zcall9). The process lives below the root of the users, and can be reached by the
    /// node that requested it; types of its messages are to be carried
    /// ([`ClusterCalls::carry`]). Arguments of other types end it as `function_clause`.
    ///
    /// ```
    /// # use krarup_act::Actor;
    /// # use krarup_dist::{ClusterAddress, ClusterCalls, ServeError};
    /// # fn factory<Worker: Actor>(
    /// #     cluster: &ClusterAddress,
    /// #     worker: impl Fn(String) -> Worker + Send + Sync + 'static,
    /// # ) -> Result<(), ServeError> {
    /// // spawn_link('calc@host', calc, worker, [<<"ann">>])
    /// cluster.factory("calc", "worker", move |(name,): (String,)| worker(name))
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ServeError`] if a name is empty, not valid or taken, or the cluster does not run.
    fn factory<A, B, F>(&self, module: &str, function: &str, make: F) -> Result<(), ServeError>
    where
        A: FunctionArguments + DeserializeOwned + Send + 'static,
        B: Behavior,
        F: Fn(A) -> B + Send + Sync + 'static,
    {
        serving::add_factory(&self.cluster()?.0.factories, (module, function), make)
    }

    /// Ends a factory. Its processes go on. Returns whether there was one.
    ///
    /// # Errors
    /// [`ServeError`] if a name is not valid, or the cluster does not run.
    fn remove_factory(&self, module: &str, function: &str, arity: u8) -> Result<bool, ServeError> {
        let core = self.cluster()?.0;
        Ok(core.factories.remove(&function_name(module, function, arity)?))
    }

    /// Calls a function of another node, as `erpc:call/4` does (rule Zcall10): its value, or an
    /// error that says what became of it. What the function prints becomes `tracing` events of
    /// the target `krarup::cluster::output`. Nothing is sent until the call is awaited, or waited
    /// for on a plain thread; the first one dials.
    ///
    /// ```no_run
    /// # use krarup_dist::{ClusterAddress, ClusterCalls, RpcError};
    /// # async fn call(cluster: &ClusterAddress) -> Result<(), RpcError> {
    /// let sum: i64 = cluster.rpc("erl@host", "lists", "sum", (vec![1, 2, 3],)).await?;
    /// # Ok(())
    /// # }
    /// ```
    fn rpc<R>(
        &self,
        node: &str,
        module: &str,
        function: &str,
        arguments: impl FunctionArguments + Serialize,
    ) -> RpcCall<R>
    where
        R: DeserializeOwned + Send + 'static,
    {
        let target = RequestTarget::new(self.cluster(), node, (module, function), &arguments);
        RpcCall::new(target.map_err(RpcError::from))
    }

    /// Spawns a process on another node, as `spawn/4` of OTP does, and with [`RemoteSpawn::link`] as `spawn_link/4`
    /// (rule Zcall15). The process begins with the function; a Krarup node makes it by a
    /// [`ClusterCalls::factory`] of this name, and everything else refuses it. Nothing is sent until it is awaited, or
    /// waited for on a plain thread; the first one dials. What the process prints becomes `tracing` events, as with
    /// [`ClusterCalls::rpc`].
    ///
    /// ```no_run
    /// # use krarup_act::{Address, Context};
    /// # use krarup_dist::{ClusterCalls, HasCluster};
    /// # use krarup_gen::Result;
    /// # #[derive(serde::Serialize)]
    /// # enum Job { Count(String) }
    /// # async fn work(ctx: &Context<()>) -> Result {
    /// let spawn = ctx.remote_spawn::<Job>("calc@host", "calc", "worker", ("ann",));
    /// let worker = spawn.link().await?;
    /// worker.send(Job::Count("words".to_owned())).map_err(|refused| refused.without_message())?;
    /// # Ok(())
    /// # }
    /// ```
    fn remote_spawn<M>(
        &self,
        node: &str,
        module: &str,
        function: &str,
        arguments: impl FunctionArguments + Serialize,
    ) -> RemoteSpawn<M>
    where
        M: Serialize + Send + 'static,
    {
        let target = RequestTarget::new(self.cluster(), node, (module, function), &arguments);
        RemoteSpawn::new(target.map_err(RemoteSpawnError::from))
    }

    /// Returns the connected nodes, in the order of their names.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn nodes(&self) -> Result<Vec<NodeName>, ClusterError> {
        Ok(self.cluster()?.0.connected().iter().map(|peer| peer.node.clone()).collect())
    }

    /// Describes the connections, in the order of the names of the nodes (rule Zobs1).
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn connections(&self) -> Result<Vec<ConnectionInfo>, ClusterError> {
        let core = self.cluster()?.0;
        Ok(core.connected().iter().filter_map(|peer| peer.describe()).collect())
    }

    /// Shows each control message that this node and that one send each other to a function: what
    /// crosses is a tuple of OTP's protocol, decoded (rule Zobs4). It begins with the next
    /// message, lasts over losses of the connection until it is dropped, and takes the place of
    /// an earlier trace of that node. A node that is not traced costs nothing.
    ///
    /// The function runs on the thread of the connection or of a sender, so it must not block, and
    /// must not use that node. If it panics, the trace ends.
    ///
    /// ```
    /// # use krarup_dist::{ClusterAddress, ClusterCalls, ClusterError};
    /// # fn trace(cluster: &ClusterAddress) -> Result<(), ClusterError> {
    /// let trace = cluster.trace_control("erl@host", |traced| println!("{traced}"))?;
    /// // erl@host -> RegSend { from: <erl@host.90.0>, name: stock } and 35 bytes
    /// drop(trace);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ClusterError`] if the name is not valid, or that of this node.
    fn trace_control(
        &self,
        node: &str,
        function: impl Fn(&TracedControl<'_>) + Send + Sync + 'static,
    ) -> Result<ControlTrace, ClusterError> {
        let core = self.cluster()?.0;
        let name = NodeName::new(node)?;
        let peer = core.peer_of(&name).ok_or_else(|| ClusterError::ThisNode(node.to_owned()))?;
        Ok(ControlTrace::begin(name, Arc::clone(&peer.tracer), peer, function))
    }

    /// Returns a future that connects to a node, and says whether there is a connection then.
    ///
    /// # Errors
    /// [`ClusterError`] if the name is not valid, or that of this node.
    fn connect(
        &self,
        node: &str,
    ) -> Result<impl Future<Output = bool> + Send + use<Self>, ClusterError> {
        let core = self.cluster()?.0;
        let node = NodeName::new(node)?;
        let peer = core.peer_of(&node).ok_or_else(|| ClusterError::ThisNode(node.to_string()))?;
        Ok(async move {
            peer.want();
            peer.flush(&core);
            poll_fn(|cx| peer.poll_connected(cx)).await
        })
    }

    /// Gives up the connection to a node, which is a loss for both sides (rule Zlive3). Returns
    /// whether there was one.
    ///
    /// # Errors
    /// [`ClusterError`] if the name is not valid.
    fn disconnect(&self, node: &str) -> Result<bool, ClusterError> {
        Ok(self.cluster()?.0.disconnect(&NodeName::new(node)?))
    }

    /// Keeps a node connected from now on, as [`Cluster::keep`](crate::Cluster::keep) does (rule
    /// Zlive4). The own name is skipped.
    ///
    /// # Errors
    /// [`ClusterError`] if the name is not valid, or the cluster does not run.
    fn keep(&self, node: &str) -> Result<(), ClusterError> {
        self.cluster()?.0.keep(&NodeName::new(node)?, KeptBy::Name);
        Ok(())
    }

    /// Does not dial a node again that [`ClusterCalls::keep`] or
    /// [`Cluster::keep`](crate::Cluster::keep) has named. A connection stays. Returns whether it was
    /// kept by its name; a discovery may keep it further.
    ///
    /// # Errors
    /// [`ClusterError`] if the name is not valid, or the cluster does not run.
    fn unkeep(&self, node: &str) -> Result<bool, ClusterError> {
        Ok(self.cluster()?.0.unkeep(&NodeName::new(node)?, KeptBy::Name))
    }

    /// Describes the nodes that are kept connected, in the order of their names.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn kept(&self) -> Result<Vec<KeptNode>, ClusterError> {
        Ok(self.cluster()?.0.kept())
    }

    /// Tells a process of nodes that come up and go down, for its lifetime and beyond the bound of its
    /// mailbox (rule Zlive2). It is told by each cluster of the node: the end of a cluster is the
    /// [`NodeEvent::Down`] of every connected node, and one that a supervisor starts again tells what
    /// comes up then. A process has one subscription, also if it subscribes twice.
    ///
    /// Who needs the nodes that are connected already uses [`ClusterCalls::watch_nodes`].
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn subscribe_nodes(&self, who: Recipient<NodeEvent>) -> Result<(), ClusterError> {
        let core = self.cluster()?.0;
        core.memory.subscribers.subscribe(&*core.host, who);
        Ok(())
    }

    /// As [`ClusterCalls::subscribe_nodes`], and returns the nodes that are connected now, in the order of
    /// their names. No event after the list is missed. What the list knows already may be told too, if it
    /// happens at the same time.
    ///
    /// ```
    /// # use krarup_act::{Actor, Context};
    /// # use krarup_gen::{NodeName, Result};
    /// # mod krarup { pub use krarup_dist as cluster; }
    /// use krarup::cluster::{ClusterCalls, NodeEvent};
    /// use std::collections::BTreeSet;
    ///
    /// /// Knows which nodes are connected.
    /// #[derive(Default)]
    /// struct Nodes(BTreeSet<NodeName>);
    ///
    /// impl Actor for Nodes {
    ///     type Message = NodeEvent;
    ///
    ///     async fn init(&mut self, ctx: &mut Context<NodeEvent>) -> Result {
    ///         self.0.extend(ctx.watch_nodes(ctx.address().recipient())?);
    ///         Ok(())
    ///     }
    ///
    ///     async fn handle_message(
    ///         &mut self,
    ///         _: &mut Context<NodeEvent>,
    ///         event: NodeEvent,
    ///     ) -> Result {
    ///         match event {
    ///             NodeEvent::Up(node) => _ = self.0.insert(node),
    ///             NodeEvent::Down(node) => _ = self.0.remove(&node),
    ///             _ => {}
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn watch_nodes(&self, who: Recipient<NodeEvent>) -> Result<Vec<NodeName>, ClusterError> {
        let core = self.cluster()?.0;
        // In this order: an event between the two is told, and the list has it besides.
        core.memory.subscribers.subscribe(&*core.host, who);
        Ok(core.connected().iter().map(|peer| peer.node.clone()).collect())
    }

    /// Returns the groups of a scope that the cluster carries: those of the node
    /// ([`Cluster::groups`](crate::Cluster::groups)), or those of a further scope
    /// ([`Cluster::scope`](crate::Cluster::scope)). In a process use its
    /// [`ClusterHandle`](crate::ClusterHandle): `ctx.cluster()?.groups("metrics")`.
    ///
    /// # Errors
    /// [`ClusterError::NoScope`], or [`ClusterError::NotRunning`].
    fn groups(&self, scope: &str) -> Result<Groups, ClusterError> {
        let core = self.cluster()?.0;
        let shared = core.scope(scope).ok_or_else(|| ClusterError::NoScope(scope.to_owned()))?;
        Ok(shared.groups.clone())
    }

    /// Returns the groups of a scope by the terms that are their names: also of those whose names
    /// are no texts.
    ///
    /// # Errors
    /// [`ClusterError::NoScope`], or [`ClusterError::NotRunning`].
    fn term_groups(&self, scope: &str) -> Result<TermGroups, ClusterError> {
        let core = self.cluster()?.0;
        let shared = core.scope(scope).ok_or_else(|| ClusterError::NoScope(scope.to_owned()))?;
        Ok(TermGroups(Arc::clone(shared)))
    }

    /// Returns how many messages did not arrive.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn stats(&self) -> Result<ClusterStats, ClusterError> {
        Ok(self.cluster()?.0.counters.stats())
    }
}

impl<T: HasCluster> ClusterCalls for T {}
