//! Nodes of a simulation with services and agents, and what happens to them.

use super::sim_support::{Choices, some_turns};
use super::stress_support::agent::{AgentHandle, AgentOrder};
use super::stress_support::letters::{LetterCounts, count_letters};
use super::stress_support::service::{ServiceSeen, StressJob, StressService};
use super::stress_support::tracked::{TrackedMessage, TrackedRun};
use krarup_act::{Address, Recipient};
use krarup_dist::{Cluster, ClusterAddress, ClusterCalls, Cookie, HasCluster, SimNetwork};
use krarup_gen::{Pid, ProcessTree, Result, Target};
use krarup_node::{Fault, Faults, Node, Simulation};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The names of the nodes, of which a run has some.
const NAMES: [&str; 7] = ["a@sim", "b@sim", "c@sim", "d@sim", "e@sim", "f@sim", "g@sim"];
/// The names of the services of each node. The second one has little room.
const SERVICES: [&str; 2] = ["stock", "desk"];
/// The group of all services.
pub(crate) const GROUP: &str = "services";

/// A service of a node.
pub(crate) struct RunningService {
    pub(crate) address: Address<StressJob>,
    pub(crate) seen: Arc<Mutex<ServiceSeen>>,
}

/// A node with a cluster, services and agents.
pub(crate) struct StressNode {
    pub(crate) name: &'static str,
    pub(crate) node: Node,
    pub(crate) cluster: ClusterAddress,
    pub(crate) services: Vec<RunningService>,
    pub(crate) agents: Vec<AgentHandle>,
    pub(crate) letters: Arc<Mutex<LetterCounts>>,
}

/// What is left of what has ended.
#[derive(Default)]
pub(crate) struct EndedParts {
    pub(crate) agents: Vec<AgentHandle>,
    pub(crate) seen: Vec<Arc<Mutex<ServiceSeen>>>,
    /// The dead letters of nodes that have stopped, by their names.
    pub(crate) letters: Vec<(&'static str, Arc<Mutex<LetterCounts>>)>,
}

/// All nodes of a run.
pub(crate) struct StressWorld<'a> {
    pub(crate) sim: &'a Simulation,
    pub(crate) net: SimNetwork,
    pub(crate) run: TrackedRun,
    pub(crate) nodes: Vec<StressNode>,
    pub(crate) ended: EndedParts,
    keeps: bool,
    messages: u64,
    agents: usize,
}

impl<'a> StressWorld<'a> {
    pub(crate) fn new(sim: &'a Simulation, count: usize) -> Result<Self> {
        let choices = Choices(sim);
        let (net, run) = (SimNetwork::new(), TrackedRun::begin());
        let (nodes, ended, keeps) = (Vec::new(), EndedParts::default(), choices.below(2) == 0);
        let mut world = StressWorld { sim, net, run, nodes, ended, keeps, messages: 0, agents: 0 };
        for name in &NAMES[..count] {
            let node = world.start(name, count)?;
            world.nodes.push(node);
        }
        world.net.delay(choices.millis(20));
        Ok(world)
    }

    fn start(&mut self, name: &'static str, count: usize) -> Result<StressNode> {
        let node = self.sim.beside(name)?;
        let (net, cookie) = (self.net.clone(), Cookie::new("secret")?);
        let kept: Vec<&str> = if self.keeps { NAMES[..count].to_vec() } else { Vec::new() };
        let cluster = move || {
            let cluster = Cluster::new(cookie).network(&net).groups("pg");
            cluster.carries::<StressJob>().keep(kept)
        };
        let cluster = node.spawn_system(cluster).wait()?;
        let letters = count_letters(&node)?;
        let mut services = Vec::new();
        for service in SERVICES {
            services.push(serve(&node, service)?);
            cluster.export::<StressJob>(service)?;
        }
        let (first, second) = (self.agents + 1, self.agents + 2);
        self.agents = second;
        let agents = vec![AgentHandle::start(&node, first)?, AgentHandle::start(&node, second)?];
        Ok(StressNode { name, node, cluster, services, agents, letters })
    }

    /// Has something happen that the seed chooses.
    pub(crate) fn act(&mut self) -> Result {
        let choices = Choices(self.sim);
        let from = choices.below(self.nodes.len());
        let to = (from + 1 + choices.below(self.nodes.len() - 1)) % self.nodes.len();
        let agent = choices.below(self.nodes[from].agents.len());
        let limit = choices.millis(30_000) + Duration::from_millis(1);
        let service = choices.below(SERVICES.len());
        match choices.below(24) {
            0..=6 => {
                let by_name = choices.below(2) == 0;
                for _ in 0..=choices.below(6) {
                    let ballast = if choices.below(12) == 0 { choices.below(200_000) } else { 9 };
                    self.tell((from, agent), (to, service), by_name, ballast)?;
                }
            }
            7 | 8 => {
                // It is answered, or fails, and never by its time.
                let to = self.named(from, to, service)?;
                self.does(from, agent, AgentOrder::Add(to, Duration::from_secs(3600)));
            }
            9 => self.does(from, agent, AgentOrder::Keep(self.named(from, to, service)?, limit)),
            10 | 11 => self.with_pid(from, to, service, agent, AgentOrder::Link),
            12 => self.with_pid(from, to, service, agent, AgentOrder::Unlink),
            13 => {
                self.with_pid(from, to, service, agent, |pid| {
                    AgentOrder::Monitor(Target::Pid(pid))
                });
            }
            14 => {
                let target =
                    Target::Remote(SERVICES[service].parse()?, self.nodes[to].name.parse()?);
                self.does(from, agent, AgentOrder::Monitor(target));
            }
            15 => self.does(from, agent, AgentOrder::Demonitor),
            16 => self.end_service(from, service)?,
            17 => self.end_agent(from, agent)?,
            18 => drop(self.net.reset(self.nodes[from].name, self.nodes[to].name)),
            19 => self.partition(),
            20 => self.net.heal(),
            21 => self.stand_still(from, limit),
            22 => self.end_part_of_the_cluster(from),
            _ if choices.below(2) == 0 => self.restart(from)?,
            _ => self.join_or_leave(from, service),
        }
        Ok(())
    }

    pub(crate) fn does(&self, node: usize, agent: usize, order: AgentOrder) {
        self.nodes[node].agents[agent].does(order);
    }

    /// A service of another node, by its name.
    pub(crate) fn named(
        &self,
        from: usize,
        to: usize,
        service: usize,
    ) -> Result<Recipient<StressJob>> {
        Ok(self.nodes[from].cluster.remote(SERVICES[service], self.nodes[to].name)?)
    }

    /// Sends a message to a service of another node.
    pub(crate) fn tell(
        &mut self,
        (from, agent): (usize, usize),
        (to, service): (usize, usize),
        by_name: bool,
        ballast: usize,
    ) -> Result<u64> {
        self.messages += 1;
        let pid = if by_name { None } else { self.pid_of(from, to, service) };
        let to_it = match pid {
            Some(pid) => self.nodes[from].cluster.remote_pid::<StressJob>(pid)?,
            None => self.named(from, to, service)?,
        };
        let message = TrackedMessage::new(self.run.number, self.messages, ballast);
        let node = self.nodes[to].name.parse()?;
        self.does(from, agent, AgentOrder::Tell(to_it, node, message));
        Ok(self.messages)
    }

    /// The pid of a service, as another node has it.
    fn pid_of(&self, from: usize, to: usize, service: usize) -> Option<Pid> {
        let (from, to) = (&self.nodes[from], &self.nodes[to]);
        let pid = to.services[service].address.pid();
        let term = to.cluster.cluster().ok()?.pid_term(pid)?;
        from.cluster.cluster().ok()?.pid(&term)
    }

    fn with_pid(
        &self,
        from: usize,
        to: usize,
        service: usize,
        agent: usize,
        order: impl FnOnce(Pid) -> AgentOrder,
    ) {
        if let Some(pid) = self.pid_of(from, to, service) {
            self.does(from, agent, order(pid));
        }
    }

    /// A service ends, in one way or another, and another one has its name.
    fn end_service(&mut self, of: usize, service: usize) -> Result {
        let choices = Choices(self.sim);
        // Some messages are on their way, and find nobody, or the next one.
        let from = (of + 1) % self.nodes.len();
        for _ in 0..choices.below(4) {
            self.tell((from, choices.below(2)), (of, service), true, 9)?;
        }
        some_turns(self.sim, choices.below(30));
        let is_long_away = choices.below(2) == 0;
        let of = &mut self.nodes[of];
        let pid = of.services[service].address.pid();
        match choices.below(2) {
            0 => of.node.kill(pid),
            // Behind what waits, if there is room.
            _ => drop(of.services[service].address.send(StressJob::Break)),
        }
        some_turns(self.sim, choices.below(20));
        of.node.kill(pid);
        // Its end may wait for a turn.
        while of.node.is_alive(pid) && self.sim.step().is_some() {}
        if of.node.is_alive(pid) {
            self.sim.faults(Faults::new());
            self.sim.run_until_idle();
        }
        if is_long_away {
            self.sim.advance(choices.millis(1_000));
        }
        let next = serve(&of.node, SERVICES[service])?;
        let before = std::mem::replace(&mut of.services[service], next);
        self.ended.seen.push(before.seen);
        Ok(())
    }

    /// An agent is killed, and another one takes its place.
    fn end_agent(&mut self, of: usize, agent: usize) -> Result {
        self.agents += 1;
        let of = &mut self.nodes[of];
        of.agents[agent].log.lock().unwrap().is_killed = true;
        of.node.kill(of.agents[agent].address.pid());
        let next = AgentHandle::start(&of.node, self.agents)?;
        self.ended.agents.push(std::mem::replace(&mut of.agents[agent], next));
        Ok(())
    }

    /// Some nodes are cut off from the others.
    fn partition(&self) {
        let choices = Choices(self.sim);
        let cut = choices.below(self.nodes.len());
        let (mut these, mut those) = (Vec::new(), Vec::new());
        for (at, node) in self.nodes.iter().enumerate() {
            let side = if at == cut || choices.below(3) == 0 { &mut these } else { &mut those };
            side.push(node.name);
        }
        self.net.partition(&these, &those);
    }

    /// A node has no turns for a time, as one that is suspended: its clock stands still.
    fn stand_still(&self, of: usize, time: Duration) {
        let all = self.nodes[of].node.processes();
        let faults = all
            .into_iter()
            .fold(Faults::new(), |faults, pid| faults.at_step(0, Fault::Delay(time * 4), pid));
        self.sim.faults(faults);
    }

    /// A connection, or the scope of the groups, is killed.
    fn end_part_of_the_cluster(&self, of: usize) {
        let (node, choices) = (&self.nodes[of].node, Choices(self.sim));
        if choices.below(3) == 0 {
            if let Some(scope) = node.whereis("pg") {
                node.kill(scope);
            }
            return;
        }
        let is_connection = |tree: &ProcessTree| {
            let label = tree.process.label.as_ref();
            label.is_some_and(|label| NAMES.contains(&label.as_str()))
        };
        let trees = node.tree();
        let mut connections = Vec::new();
        find(&trees, &is_connection, &mut connections);
        if !connections.is_empty() {
            node.kill(connections[choices.below(connections.len())]);
        }
    }

    fn join_or_leave(&self, of: usize, service: usize) {
        let of = &self.nodes[of];
        let (groups, service) = (of.node.groups(), &of.services[service].address);
        // It may have ended meanwhile, or may be no member.
        if Choices(self.sim).below(2) == 0 {
            let _ = groups.join(GROUP, &service.recipient::<StressJob>());
        } else {
            let _ = groups.leave(GROUP, service.pid());
        }
    }

    /// A node stops, or its cluster crashes before, and starts again under the same name.
    fn restart(&mut self, at: usize) -> Result {
        let gone = self.nodes.remove(at);
        if Choices(self.sim).below(2) == 0 {
            gone.node.kill(gone.cluster.pid());
        }
        for agent in gone.agents {
            agent.log.lock().unwrap().is_killed = true;
            self.ended.agents.push(agent);
        }
        self.ended.seen.extend(gone.services.into_iter().map(|service| service.seen));
        self.ended.letters.push((gone.name, gone.letters));
        drop(gone.cluster);
        // One that stands still does not stop.
        self.sim.faults(Faults::new());
        gone.node.stop().wait()?;
        drop(gone.node);
        let count = self.nodes.len() + 1;
        let next = self.start(gone.name, count)?;
        self.nodes.insert(at, next);
        Ok(())
    }

    /// Everything that was under way comes to rest.
    pub(crate) fn rest(&self) {
        self.sim.faults(Faults::new());
        self.net.heal();
        self.sim.advance(Duration::from_secs(180));
        self.sim.run_until_idle();
    }

    /// What is under way on a good network is over.
    pub(crate) fn settle(&self) {
        self.sim.advance(Duration::from_secs(10));
        self.sim.run_until_idle();
    }

    /// The number of messages to earlier incarnations of nodes, which those that sent them count.
    pub(crate) fn stale(&self) -> usize {
        let running = self.nodes.iter().map(|node| &node.letters);
        let stopped = self.ended.letters.iter().map(|(_, letters)| letters);
        running.chain(stopped).map(|letters| letters.lock().unwrap().stale).sum()
    }

    /// The number of messages to nobody that each node has had.
    pub(crate) fn to_nobody(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        let running = self.nodes.iter().map(|node| (node.name, &node.letters));
        let stopped = self.ended.letters.iter().map(|(name, letters)| (*name, letters));
        for (name, letters) in running.chain(stopped) {
            *counts.entry(name.to_owned()).or_default() += letters.lock().unwrap().to_nobody;
        }
        counts
    }
}

fn find(trees: &[ProcessTree], is: &impl Fn(&ProcessTree) -> bool, found: &mut Vec<Pid>) {
    for tree in trees {
        if is(tree) {
            found.push(tree.process.pid);
        }
        find(&tree.children, is, found);
    }
}

fn serve(node: &Node, name: &'static str) -> Result<RunningService> {
    let seen = Arc::new(Mutex::new(ServiceSeen::default()));
    let service = StressService { seen: Arc::clone(&seen), group: Some(GROUP), kept: Vec::new() };
    let spawn = node.spawn(move || service).name(name);
    let address =
        if name == SERVICES[1] { spawn.mailbox(3).wait()? } else { spawn.mailbox(1_000).wait()? };
    Ok(RunningService { address, seen })
}
