//! A process that uses processes of other nodes, and records everything.

use super::agent_log::{AgentEvent, AgentLog, LoggedMonitor};
use super::service::StressJob;
use super::tracked::TrackedMessage;
use krarup_act::{Actor, Address, Context, Recipient, Reply};
use krarup_gen::{Down, Exit, NodeName, Pid, Ref, Result, Target};
use krarup_node::Node;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What an agent does.
pub(crate) enum AgentOrder {
    /// Sends a message to a process of this node. The agent monitors the node meanwhile.
    Tell(Recipient<StressJob>, NodeName, TrackedMessage),
    /// Calls, which is 23, or an error.
    Add(Recipient<StressJob>, Duration),
    /// Makes a call that is not answered.
    Keep(Recipient<StressJob>, Duration),
    Link(Pid),
    Unlink(Pid),
    Monitor(Target),
    /// Removes the latest monitor.
    Demonitor,
    /// Counts that everything before was done.
    Mark,
    /// Answers when everything before was done.
    Sync(Reply<()>),
    End,
}

/// An agent.
pub(crate) struct StressAgent {
    log: Arc<Mutex<AgentLog>>,
    /// The monitors of nodes to which it has sent messages.
    nodes: BTreeMap<Ref, NodeName>,
    latest: Option<Ref>,
}

/// An agent from outside.
pub(crate) struct AgentHandle {
    pub(crate) address: Address<AgentOrder, AgentOrder>,
    pub(crate) log: Arc<Mutex<AgentLog>>,
    /// Of its node and the agent itself.
    pub(crate) name: String,
}

impl AgentHandle {
    pub(crate) fn start(node: &Node, number: usize) -> Result<Self> {
        let log = Arc::new(Mutex::new(AgentLog::default()));
        let (logged, nodes) = (Arc::clone(&log), BTreeMap::new());
        let agent = move || StressAgent { log: logged, nodes, latest: None };
        let name = format!("agent {number} of {}", node.name());
        Ok(AgentHandle { address: node.spawn(agent).mailbox(100_000).wait()?, log, name })
    }

    /// Has it do something, unless it has ended.
    pub(crate) fn does(&self, order: AgentOrder) {
        let _ = self.address.send(order);
    }
}

impl StressAgent {
    fn log(&self, change: impl FnOnce(&mut AgentLog)) {
        change(&mut self.log.lock().unwrap());
    }

    fn monitor(&self, ctx: &mut Context<AgentOrder>, target: Target) -> Ref {
        let monitor = ctx.monitor(target);
        self.log(|log| {
            let _ = log.monitors.insert(monitor, LoggedMonitor::default());
        });
        monitor
    }

    async fn call<T: Send + 'static>(
        &self,
        call: impl Future<Output = Result<T, krarup_gen::CallError>>,
        value: impl FnOnce(T) -> i64,
    ) {
        self.log(|log| log.calls += 1);
        let outcome = call.await.map(value);
        self.log(|log| log.outcomes.push(outcome));
    }
}

impl Actor for StressAgent {
    type Message = AgentOrder;

    async fn init(&mut self, ctx: &mut Context<AgentOrder>) -> Result {
        ctx.trap_exits(true);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<AgentOrder>, order: AgentOrder) -> Result {
        match order {
            AgentOrder::Tell(to, node, message) => {
                if !self.nodes.values().any(|known| *known == node) {
                    let monitor = self.monitor(ctx, Target::Node(node.clone()));
                    self.nodes.insert(monitor, node.clone());
                }
                let number = message.number;
                // Before it can arrive.
                let at = {
                    let mut log = self.log.lock().unwrap();
                    log.events.push(AgentEvent::Sent(number, node.to_string()));
                    log.events.len() - 1
                };
                if to.send(StressJob::Note(message)).is_err() {
                    self.log(|log| log.events[at] = AgentEvent::Refused(number));
                }
            }
            AgentOrder::Add(to, limit) => {
                let call = to.call(|reply| StressJob::Add(20, 3, reply)).timeout(limit);
                self.call(async { call.await }, |sum| sum).await;
            }
            AgentOrder::Keep(to, limit) => {
                let call = to.call(StressJob::Keep).timeout(limit);
                self.call(async { call.await }, |()| 0).await;
            }
            AgentOrder::Link(pid) => {
                // A second link would be none, or, if the end of the first one is about to be told,
                // one of its own.
                let is_new = {
                    let mut log = self.log.lock().unwrap();
                    let link = log.links.entry(pid).or_default();
                    let is_new = !std::mem::replace(&mut link.is_linked, true);
                    link.made += usize::from(is_new);
                    is_new
                };
                if is_new {
                    ctx.link(pid);
                }
            }
            AgentOrder::Unlink(pid) => {
                ctx.unlink(pid);
                self.log(|log| {
                    let link = log.links.entry(pid).or_default();
                    if std::mem::take(&mut link.is_linked) {
                        link.unlinked += 1;
                    }
                });
            }
            AgentOrder::Monitor(target) => self.latest = Some(self.monitor(ctx, target)),
            AgentOrder::Demonitor => {
                if let Some(monitor) = self.latest.take() {
                    ctx.demonitor(monitor);
                    self.log(|log| {
                        if let Some(logged) = log.monitors.get_mut(&monitor) {
                            logged.is_removed = true;
                        }
                    });
                }
            }
            AgentOrder::Mark => self.log(|log| log.marks += 1),
            AgentOrder::Sync(reply) => reply.send(()),
            AgentOrder::End => ctx.stop(),
        }
        Ok(())
    }

    async fn handle_exit(&mut self, ctx: &mut Context<AgentOrder>, exit: Exit) -> Result {
        if ctx.parent() == Some(exit.pid) {
            return Err(exit.reason);
        }
        self.log(|log| log.exit(exit.pid));
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<AgentOrder>, down: Down) -> Result {
        let lost = self.nodes.remove(&down.monitor);
        self.log(|log| {
            log.down(down.monitor);
            if let Some(node) = lost {
                log.events.push(AgentEvent::Lost(node.to_string()));
            }
        });
        Ok(())
    }
}
