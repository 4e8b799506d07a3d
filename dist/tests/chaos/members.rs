//! Nodes over sockets with services and agents, and a proxy in front of each dial.

use super::proxy::{ChaosProxy, SeededNumbers};
use super::stress_support::agent::{AgentHandle, AgentOrder};
use super::stress_support::agent_log::{AgentEvent, AgentLog, StressTotals};
use super::stress_support::letters::{LetterCounts, count_letters};
use super::stress_support::service::{ServiceSeen, StressJob, StressService};
use super::stress_support::tracked::{TrackedMessage, TrackedRun};
use super::support::Member;
use super::support::otp::{COOKIE, fresh};
use super::support::raw::until;
use krarup_act::{Address, Recipient};
use krarup_dist::{ClusterCalls, HasCluster};
use krarup_gen::{Pid, Target};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SERVICES: [&str; 2] = ["stock", "desk"];

/// The numbers of a test, by `CHAOS_SEED`.
pub(crate) fn numbers(of: u64) -> SeededNumbers {
    let seed: u64 = std::env::var("CHAOS_SEED").map_or(7, |seed| seed.parse().unwrap());
    SeededNumbers(seed << 8 | of)
}

/// How much is done: more by `CHAOS_ROUNDS`.
pub(crate) fn rounds(count: usize) -> usize {
    std::env::var("CHAOS_ROUNDS").map_or(count, |rounds| rounds.parse().unwrap())
}

/// A node with what runs on it.
pub(crate) struct ChaosMember {
    pub(crate) member: Member,
    services: Vec<(Address<StressJob>, Arc<Mutex<ServiceSeen>>)>,
    agents: Vec<AgentHandle>,
    letters: Arc<Mutex<LetterCounts>>,
}

/// All nodes of a test.
pub(crate) struct ChaosMembers {
    pub(crate) run: TrackedRun,
    pub(crate) members: Vec<ChaosMember>,
    /// With the node that dials, and the one that is dialled.
    proxies: Vec<(usize, usize, ChaosProxy)>,
    ended: Vec<Arc<Mutex<ServiceSeen>>>,
    otp: Option<String>,
    messages: u64,
}

impl ChaosMember {
    pub(crate) fn cluster_nodes(&self) -> Vec<String> {
        self.member.cluster.nodes().unwrap().iter().map(ToString::to_string).collect()
    }

    fn serve(&mut self, service: usize) -> Option<Arc<Mutex<ServiceSeen>>> {
        let seen = Arc::new(Mutex::new(ServiceSeen::default()));
        let process = StressService { seen: Arc::clone(&seen), group: None, kept: Vec::new() };
        let spawn = self.member.node.spawn(move || process).name(SERVICES[service]);
        let address = spawn.mailbox(100_000).wait().unwrap();
        if service == self.services.len() {
            self.services.push((address, seen));
            self.member.cluster.export::<StressJob>(SERVICES[service]).unwrap();
            return None;
        }
        Some(std::mem::replace(&mut self.services[service], (address, seen)).1)
    }
}

impl ChaosMembers {
    pub(crate) fn start(label: &str, count: usize, numbers: &mut SeededNumbers) -> Self {
        ChaosMembers::ticking_every(label, count, numbers, Duration::from_secs(60))
    }

    /// Whose nodes take a silent peer for lost within some seconds.
    pub(crate) fn ticking(label: &str, count: usize, numbers: &mut SeededNumbers) -> Self {
        ChaosMembers::ticking_every(label, count, numbers, Duration::from_secs(2))
    }

    fn ticking_every(
        label: &str,
        count: usize,
        numbers: &mut SeededNumbers,
        tick: Duration,
    ) -> Self {
        let names: Vec<String> = (0..count).map(|_| fresh(label)).collect();
        let mut proxies = Vec::new();
        let mut members = Vec::new();
        for from in 0..count {
            let mut known = Vec::new();
            for to in (0..count).filter(|to| *to != from) {
                let proxy = ChaosProxy::start(numbers.below(usize::MAX) as u64);
                known.push((names[to].clone(), proxy.address));
                proxies.push((from, to, proxy));
            }
            let member = Member::with(&names[from], COOKIE, move |cluster| {
                let cluster = cluster.tick_time(tick);
                known.into_iter().fold(cluster, |cluster, (name, at)| cluster.peer(name, at))
            });
            members.push(ChaosMember::of(member, 2));
        }
        for (_, to, proxy) in &proxies {
            proxy.leads_to(members[*to].member.address());
        }
        let (run, ended) = (TrackedRun::begin(), Vec::new());
        ChaosMembers { run, members, proxies, ended, otp: None, messages: 0 }
    }

    /// Adds a node of OTP behind a proxy. The first node dials it.
    pub(crate) fn add_otp(&mut self, name: &str, port: u16, numbers: &mut SeededNumbers) {
        let proxy = ChaosProxy::start(numbers.below(usize::MAX) as u64);
        proxy.leads_to(SocketAddr::from(([127, 0, 0, 1], port)));
        let at = proxy.address;
        let known = name.to_owned();
        // A node is named when its cluster starts.
        let label = fresh("with_otp");
        let member = Member::with(&label, COOKIE, move |cluster| {
            cluster.tick_time(Duration::from_secs(4)).peer(known, at)
        });
        self.members[0] = ChaosMember::of(member, 2);
        self.otp = Some(name.to_owned());
        self.proxies.push((0, 0, proxy));
    }

    /// Something happens between two nodes.
    pub(crate) fn act(&mut self, numbers: &mut SeededNumbers) {
        let from = numbers.below(self.members.len());
        let to = (from + 1 + numbers.below(self.members.len() - 1)) % self.members.len();
        let (agent, service) = (numbers.below(2), numbers.below(2));
        let name = self.members[to].member.name.clone();
        match numbers.below(40) {
            0 => {
                let (member, number) = (&mut self.members[from], service);
                member.member.node.kill(member.services[number].0.pid());
                until("its name is free", || {
                    member.member.node.whereis(SERVICES[number]).is_none()
                });
                self.ended.extend(member.serve(number));
            }
            1 => drop(self.members[from].member.cluster.disconnect(&name).unwrap()),
            2..=4 => self.proxies.iter().for_each(|(.., proxy)| proxy.release()),
            what => {
                let pid = self.pid_of(from, to, service);
                self.use_service((from, agent), (&name, service), pid, what, numbers);
            }
        }
    }

    /// Something happens between the first node and that of OTP.
    pub(crate) fn act_on_otp(&mut self, numbers: &mut SeededNumbers) {
        let name = self.otp.clone().unwrap();
        let agent = numbers.below(2);
        match numbers.below(40) {
            0..=4 => self.proxies.iter().for_each(|(.., proxy)| proxy.release()),
            what => self.use_service((0, agent), (&name, 0), None, what, numbers),
        }
    }

    /// Waits until the agents have done what they were told, while what is held is let go.
    pub(crate) fn keep_pace(&self) {
        for agent in self.members.iter().flat_map(|member| &member.agents) {
            let marks = agent.log.lock().unwrap().marks;
            agent.does(AgentOrder::Mark);
            until("an agent does what it is told", || {
                self.proxies.iter().for_each(|(.., proxy)| proxy.release());
                agent.log.lock().unwrap().marks > marks
            });
        }
    }

    /// A call that the node of OTP never answers.
    pub(crate) fn kept_call(&mut self) {
        // Not later, when the node has come back.
        self.keep_pace();
        let name = self.otp.clone().unwrap();
        let (to, agent) = (self.named(0, &name, 0), &self.members[0].agents[0]);
        let calls = agent.log.lock().unwrap().calls;
        agent.does(AgentOrder::Keep(to, Duration::from_secs(300)));
        until("a call is under way", || agent.log.lock().unwrap().calls > calls);
    }

    fn use_service(
        &mut self,
        (from, agent): (usize, usize),
        (node, service): (&str, usize),
        pid: Option<Pid>,
        what: usize,
        numbers: &mut SeededNumbers,
    ) {
        let to = self.named(from, node, service);
        let limit = Duration::from_millis(1 + numbers.below(30) as u64);
        let order = match (what, pid) {
            (5..=7, _) => AgentOrder::Add(to, Duration::from_secs(60)),
            (8, _) => AgentOrder::Keep(to, limit),
            (9..=11, Some(pid)) => AgentOrder::Link(pid),
            (12, Some(pid)) => AgentOrder::Unlink(pid),
            (13 | 14, Some(pid)) => AgentOrder::Monitor(Target::Pid(pid)),
            (15 | 16, _) => {
                let name = SERVICES[service].parse().unwrap();
                AgentOrder::Monitor(Target::Remote(name, node.parse().unwrap()))
            }
            (17, _) => AgentOrder::Demonitor,
            _ => {
                let ballast = if numbers.below(30) == 0 { numbers.below(300_000) } else { 9 };
                self.tell((from, agent), (node, service), ballast);
                return;
            }
        };
        self.members[from].agents[agent].does(order);
    }

    fn named(&self, from: usize, node: &str, service: usize) -> Recipient<StressJob> {
        self.members[from].member.cluster.remote(SERVICES[service], node).unwrap()
    }

    fn pid_of(&self, from: usize, to: usize, service: usize) -> Option<Pid> {
        let (from, to) = (&self.members[from].member, &self.members[to]);
        let term = to.member.cluster.cluster().ok()?.pid_term(to.services[service].0.pid())?;
        from.cluster.cluster().ok()?.pid(&term)
    }

    fn tell(
        &mut self,
        (from, agent): (usize, usize),
        (node, service): (&str, usize),
        ballast: usize,
    ) -> u64 {
        self.messages += 1;
        let to = self.named(from, node, service);
        let message = TrackedMessage::new(self.run.number, self.messages, ballast);
        let order = AgentOrder::Tell(to, node.parse().unwrap(), message);
        self.members[from].agents[agent].does(order);
        self.messages
    }

    /// All proxies let everything pass from now on. Returns how much went wrong.
    pub(crate) fn calm(&self) -> usize {
        self.proxies.iter().map(|(.., proxy)| proxy.calm()).sum()
    }

    /// From every agent a message arrives at every service of the other nodes, behind all that it
    /// has sent before.
    pub(crate) fn check_reach(&mut self) {
        for from in 0..self.members.len() {
            for to in (0..self.members.len()).filter(|to| *to != from) {
                let name = self.members[to].member.name.clone();
                for (agent, service) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    // One that is lost with a connection of before is sent again.
                    self.arrives((from, agent), (&name, service));
                }
            }
        }
    }

    fn arrives(&mut self, from: (usize, usize), to: (&str, usize)) {
        for _ in 0..100 {
            let number = self.tell(from, to, 9);
            self.sync(from);
            let mut is_lost = false;
            let told = format!("message {number} of {} to {to:?} is handled", from.0);
            until(&told, || {
                let log = self.members[from.0].agents[from.1].log.lock().unwrap();
                is_lost = log.is_lost(number);
                drop(log);
                is_lost || self.run.fates.of(number).handled == 1
            });
            if !is_lost {
                return;
            }
        }
        panic!("a hundred messages were lost on a good network");
    }

    /// The node of OTP has handled what was sent to it, or its loss was told.
    pub(crate) fn all_arrived(&self) {
        let name = self.otp.clone().unwrap();
        for (number, agent) in self.members[0].agents.iter().enumerate() {
            let answered = (0..100).any(|_| {
                agent.does(AgentOrder::Add(self.named(0, &name, 0), Duration::from_secs(60)));
                self.sync((0, number));
                agent.log.lock().unwrap().outcomes.last().is_some_and(Result::is_ok)
            });
            assert!(answered, "{name} does not answer on a good network");
        }
    }

    fn sync(&self, (from, agent): (usize, usize)) {
        let synced = self.members[from].agents[agent].address.call(AgentOrder::Sync);
        synced.timeout(Duration::from_secs(60)).wait().unwrap();
    }

    /// Everything that was sent has arrived, or its loss was told.
    pub(crate) fn rest(&self) {
        for agent in self.members.iter().flat_map(|member| &member.agents) {
            agent.log.lock().unwrap().events.push(AgentEvent::Rest);
        }
    }

    /// Every service ends, and every connection.
    pub(crate) fn end_all(&mut self) {
        self.calm();
        let agents = || {
            let members = self.members.iter().enumerate();
            members.flat_map(|(at, member)| (0..member.agents.len()).map(move |agent| (at, agent)))
        };
        agents().for_each(|agent| self.sync(agent));
        for member in &self.members {
            for (service, _) in &member.services {
                member.member.node.kill(service.pid());
            }
            for node in member.cluster_nodes() {
                // By its end it tells of the services, or of its loss.
                let _ = member.member.cluster.disconnect(&node);
            }
        }
        for (at, agent) in agents() {
            let log = &self.members[at].agents[agent].log;
            until("every bond has told", || log.lock().unwrap().is_told());
        }
        // What would be told twice would be told before this is answered.
        agents().for_each(|agent| self.sync(agent));
    }

    /// Nobody knows what the node of OTP has handled: what it did not tell of is lost with a notice.
    pub(crate) fn otp_is_gone(&self) {
        until("its calls have ended", || self.members[0].member_calls() == 0);
    }

    pub(crate) fn check_ledger(&self, none: &BTreeMap<String, usize>) -> StressTotals {
        let (mut totals, mut untold) = (StressTotals::default(), none.clone());
        for agent in self.members.iter().flat_map(|member| &member.agents) {
            let log = agent.log.lock().unwrap();
            let checked = log.check(&agent.name, &self.run.fates, &mut untold);
            totals.add(&checked.unwrap());
        }
        for (node, untold) in untold {
            let counted = |member: &ChaosMember| member.letters.lock().unwrap().to_nobody;
            let of = self.members.iter().find(|member| member.member.name == node);
            let counted = of.map_or(0, counted);
            assert!(untold <= counted, "{untold} messages to {node} disappeared: {counted}");
        }
        let services = self.members.iter().flat_map(|member| &member.services);
        for seen in services.map(|(_, seen)| seen).chain(&self.ended) {
            let notes = &seen.lock().unwrap().notes;
            for agent in self.members.iter().flat_map(|member| &member.agents) {
                let sent = AgentLog::sent_numbers(&agent.log.lock().unwrap());
                let of: Vec<_> = notes.iter().filter(|number| sent.contains(number)).collect();
                assert!(of.is_sorted_by(|one, next| one < next), "{}: {of:?}", agent.name);
            }
        }
        totals
    }

    /// Nothing is left of calls, bonds and connections.
    pub(crate) fn check_clean(&self) {
        for ChaosMember { member, .. } in &self.members {
            // A dial that was under way may have come up.
            until("no connection is left", || {
                let nodes = member.cluster.nodes().unwrap();
                nodes.iter().for_each(|node| drop(member.cluster.disconnect(node.as_str())));
                let inspection = member.node.inspect(member.cluster.pid()).wait().unwrap();
                inspection.number("connections") == Some(0)
            });
            for item in ["calls", "handshakes", "dials", "connections"] {
                until(&format!("no {item} are left"), || {
                    let inspection = member.node.inspect(member.cluster.pid()).wait().unwrap();
                    inspection.number(item) == Some(0)
                });
            }
            let stats = member.cluster.stats().unwrap();
            assert_eq!((stats.undecodable, stats.denied, stats.dropped), (0, 0, 0), "{stats:?}");
        }
    }
}

impl ChaosMember {
    fn of(member: Member, agents: usize) -> Self {
        member.cluster.carry::<StressJob>().unwrap();
        let letters = count_letters(&member.node).unwrap();
        let agents = (0..agents).map(|number| AgentHandle::start(&member.node, number).unwrap());
        let agents = agents.collect();
        let mut member = ChaosMember { member, services: Vec::new(), agents, letters };
        for service in 0..SERVICES.len() {
            member.serve(service);
        }
        member
    }

    /// The calls to other nodes without an outcome.
    fn member_calls(&self) -> u64 {
        let inspection = self.member.node.inspect(self.member.cluster.pid()).wait().unwrap();
        inspection.number("calls").unwrap()
    }
}
