//! What must hold when the whole tree is at rest.

use crate::STUCK;
use crate::counters::Counters;
use crate::dead_letters::DeadLetterCounts;
use crate::message::{Brief, CountedMessage, Crowd, Job, KINDS, Kind, Named, Pooled};
use crate::tree::{self, WATCHERS};
use crate::watcher::Watch;
use krarup::observe::{ProcessInfo, ProcessState};
use krarup::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The least number of requests to make.
const ASKED: usize = 5_000;

pub(crate) struct Audit<'a> {
    pub(crate) node: &'a Node,
    pub(crate) counters: &'a Arc<Counters>,
    /// The processes without a parent.
    pub(crate) top: [Pid; 2],
}

impl Audit<'_> {
    /// Waits until every process is idle and no timer is set. Returns false if that takes
    /// too long.
    pub(crate) fn comes_to_rest(&self) -> bool {
        let began = Instant::now();
        let mut last = None;
        loop {
            let infos = self.infos();
            let restless: Vec<&ProcessInfo> =
                infos.values().filter(|info| !is_at_rest(info)).collect();
            let stats = self.node.stats();
            let is_quiet = restless.is_empty() && stats.timers == 0;
            let turns: u64 = stats.dispatchers.iter().map(|dispatcher| dispatcher.turns).sum();
            let picture = is_quiet.then_some((stats.spawned, turns));
            if picture.is_some() && picture == last && self.stands() {
                return true;
            }
            last = picture;
            if began.elapsed() > STUCK {
                self.counters.record_loss_if(true, || {
                    let some: Vec<String> =
                        restless.iter().take(5).map(|info| format!("{info:?}")).collect();
                    let (count, timers) = (restless.len(), stats.timers);
                    let some = some.join("\n  ");
                    format!("the tree does not come to rest: {count} processes are not idle, {timers} timers are set\n  {some}")
                });
                return false;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Every process that can be called must answer, again and again, one after the other.
    /// Nothing but the request wakes the process, so no other wake-up can hide a lost one.
    pub(crate) fn everyone_answers(&self) {
        let pids = self.node.processes();
        for pid in pids.iter().cycle().take(ASKED.max(pids.len())) {
            let asked = self.asks::<Named>(*pid)
                || self.asks::<Crowd>(*pid)
                || self.asks::<Pooled>(*pid)
                || self.asks::<Brief>(*pid);
            if asked && !self.counters.losses().is_empty() {
                return;
            }
        }
    }

    /// Calls a process. Returns false if it is not of this kind.
    fn asks<K: Kind>(&self, pid: Pid) -> bool {
        let Ok(worker) = self.node.address_of::<Job<K>, Job<K>>(pid) else { return false };
        let asked = worker.call(|reply| Job::Ask(CountedMessage::new(self.counters), reply));
        let answer = asked.timeout(STUCK).wait();
        self.record_loss_if(answer != Ok(pid), || {
            format!("a call to the idle process {pid}: {answer:?}")
        });
        true
    }

    fn infos(&self) -> BTreeMap<Pid, ProcessInfo> {
        let pids = self.node.processes();
        pids.into_iter().filter_map(|pid| Some((pid, self.node.process_info(pid)?))).collect()
    }

    /// Returns whether the tree is complete.
    fn stands(&self) -> bool {
        tree::names().all(|name| self.node.whereis(&name).is_some())
    }

    /// Checks, at rest, everything that was sent, set, linked or named.
    pub(crate) fn accounts(&self, counted: &DeadLetterCounts) {
        self.messages(counted);
        let missing = self.counters.ticks.missing();
        self.record_loss_if(missing != 0, || format!("{missing} timers have not fired"));
        let infos = self.infos();
        self.processes(&infos);
        self.bonds(&infos);
        let stats = self.node.stats();
        let names = infos.values().filter(|info| info.name.is_some()).count();
        self.record_loss_if(stats.names != names, || {
            format!("{} names are registered, and live processes have {names}", stats.names)
        });
        let aliases: usize = infos.values().map(|info| info.aliases.len()).sum();
        self.record_loss_if(stats.aliases != aliases, || {
            format!("{} aliases are registered, and live processes have {aliases}", stats.aliases)
        });
        self.record_loss_if(stats.processes != infos.len(), || {
            format!("the node counts {} processes, and {} are alive", stats.processes, infos.len())
        });
    }

    fn messages(&self, counted: &DeadLetterCounts) {
        for (place, kind) in KINDS.iter().enumerate() {
            let counts = &self.counters.counts[place];
            let missing = counts.missing();
            self.record_loss_if(missing != 0, || {
                format!("{kind}: {missing} messages are not accounted for: {:?}", counts.all())
            });
            let (dropped, dead) = (counts.all()[3], counted.dead[place]);
            self.record_loss_if(dropped != dead, || {
                format!(
                    "{kind}: {dropped} messages were dropped, {dead} dead letters were reported"
                )
            });
        }
    }

    fn processes(&self, infos: &BTreeMap<Pid, ProcessInfo>) {
        for info in infos.values() {
            let is_top = self.top.contains(&info.pid)
                || info.name.as_ref().is_some_and(|name| name.as_str().starts_with("brief"));
            let has_parent = info.parent.is_some_and(|parent| infos.contains_key(&parent));
            self.record_loss_if(!is_top && !has_parent, || {
                format!("a process without a parent: {info:?}")
            });
        }
    }

    /// Checks that every link has two ends, and that a watcher was notified of every end.
    fn bonds(&self, infos: &BTreeMap<Pid, ProcessInfo>) {
        for info in infos.values() {
            for other in &info.links {
                let mutual = infos.get(other).is_some_and(|other| other.links.contains(&info.pid));
                self.record_loss_if(!mutual, || {
                    format!("{} is linked to {other}, which has no such link", info.pid)
                });
            }
        }
        let sums = |count: fn(&ProcessInfo) -> usize| infos.values().map(count).sum::<usize>();
        let (out, back) = (sums(|info| info.monitors), sums(|info| info.monitored_by));
        self.record_loss_if(out != back, || format!("{out} monitor, and {back} are monitored"));
        for name in WATCHERS {
            let watcher = self.node.lookup::<Watch, Watch>(name);
            let owed = watcher.map(|watcher| watcher.call(Watch::Owed).timeout(STUCK).wait());
            match owed {
                Ok(Ok(owed)) => {
                    for pid in owed.iter().filter(|pid| !infos.contains_key(pid)) {
                        self.record_loss_if(true, || {
                            format!("{name} has not heard of {pid}'s end")
                        });
                    }
                }
                other => self.record_loss_if(true, || format!("{name}: {other:?}")),
            }
        }
    }

    /// Checks, after the tree was stopped, that only the brief processes outside the tree
    /// are left, and that they stop.
    pub(crate) fn nothing_is_left(&self, but: Pid) {
        for pid in self.node.processes().into_iter().filter(|pid| *pid != but) {
            match self.node.address_of::<Job<Brief>, Job<Brief>>(pid) {
                Ok(brief) => {
                    let stopped = brief.stop().timeout(STUCK).wait();
                    self.record_loss_if(
                        matches!(stopped, Err(krarup::StopError::Timeout { .. })),
                        || format!("{pid} does not stop"),
                    );
                }
                Err(_) => {
                    let info = self.node.process_info(pid);
                    self.record_loss_if(info.is_some(), || format!("the tree has left {info:?}"));
                }
            }
        }
        let stats = self.node.stats();
        let left = (stats.processes, stats.names, stats.timers, stats.aliases);
        // The postmaster and its name.
        self.record_loss_if(left != (1, 1, 0, 0), || {
            format!("left: (processes, names, timers, aliases) = {left:?} and not (1, 1, 0, 0)")
        });
    }

    pub(crate) fn accounts_at_the_end(&self, counted: &DeadLetterCounts) {
        self.messages(counted);
        let missing = self.counters.ticks.missing();
        self.record_loss_if(missing != 0, || {
            format!("{missing} timers have neither fired nor ended")
        });
    }

    /// Checks the node after it was stopped.
    pub(crate) fn node_is_empty(&self) {
        let stats = self.node.stats();
        let left = (stats.processes, stats.names, stats.timers, stats.aliases);
        self.record_loss_if(left != (0, 0, 0, 0), || format!("left in the node: {left:?}"));
    }

    fn record_loss_if(&self, is_lost: bool, what: impl FnOnce() -> String) {
        self.counters.record_loss_if(is_lost, what);
    }
}

fn is_at_rest(info: &ProcessInfo) -> bool {
    info.state == ProcessState::Idle && info.urgent + info.system + info.main == 0
}
