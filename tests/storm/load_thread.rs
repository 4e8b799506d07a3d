//! A thread of a storm: it calls, kills, causes panics and requests, as drawn from a seed.

use crate::record::{CountedMessage, StormRecord};
use crate::tree::{GROUPS, IDS, Job, SIMPLE, SPARE, spare};
use krarup::prelude::*;
use krarup::supervisor::{
    ChildInfo, DeleteChildError, GetChildSpecError, RestartChildError, StartChildError,
    SupervisorAddress, TerminateChildError,
};
use krarup::{LookupError, StopError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Longer than any operation takes: one that takes this long hangs.
pub(crate) const HANGS: Duration = Duration::from_secs(120);

/// xorshift.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn throw(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).expect("less than the sides")
    }

    pub(crate) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.throw(all.len())]
    }
}

/// A load thread.
pub(crate) struct LoadThread {
    pub(crate) node: Node,
    pub(crate) record: StormRecord,
    pub(crate) root: SupervisorAddress,
    pub(crate) dice: Dice,
    /// The number of the next dynamic child.
    pub(crate) next: std::sync::Arc<AtomicUsize>,
}

/// Checks that a call was answered, or failed because its target has ended or has no room.
fn answered<T>(outcome: std::result::Result<T, CallError>) -> Option<T> {
    match outcome {
        Ok(answer) => Some(answer),
        Err(
            CallError::Terminated { .. } | CallError::NotBegun { .. }
            | CallError::NoProcess { .. }
            | CallError::Full { .. }
            | CallError::NoWorkers { .. }
            // The state that handled it has failed, or it was dropped with the mailbox.
            | CallError::NoReply { .. },
        ) => None,
        Err(other) => panic!("{other}"),
    }
}

fn target_has_ended(error: CallError) {
    answered::<()>(Err(error));
}

impl LoadThread {
    /// One action.
    pub(crate) fn act(&mut self) {
        match self.dice.throw(40) {
            0..16 => self.send(),
            16..24 => self.call(),
            24..27 => self.kill(),
            27..36 => self.request(),
            36..39 => self.dynamic(),
            _ => self.end_supervisor(),
        }
    }

    fn job(&mut self) -> Job {
        let message = CountedMessage::new(&self.record);
        match self.dice.throw(120) {
            0 => Job::Panic(message),
            1 => Job::End(message, Reason::Normal),
            2 => Job::End(message, Reason::error("boom")),
            _ => Job::Work(message),
        }
    }

    fn address<C: Send + 'static>(&self, name: &str) -> Option<Address<Job, C>> {
        found(self.node.lookup(name))
    }

    pub(crate) fn supervisor(&self, name: &str) -> Option<SupervisorAddress> {
        found(self.node.lookup(name))
    }

    pub(crate) fn simple(&self) -> Option<SupervisorAddress<usize>> {
        found(self.node.lookup(SIMPLE))
    }

    /// Sends several messages to a named process.
    fn send(&mut self) {
        let (group, id) = (self.dice.pick(&GROUPS), self.dice.pick(&["a", "b", "bare", "pool"]));
        let name = format!("{group}.{id}");
        for _ in 0..self.dice.throw(30) {
            // Looked up for each message, because the process may end in between.
            let refused = if id == "pool" {
                let Some(pool) = self.address::<PoolCommand>(&name) else { continue };
                pool.send(self.job()).err()
            } else {
                let Some(worker) = self.address::<Job>(&name) else { continue };
                worker.send(self.job()).err()
            };
            if let Some(refused) = refused {
                refused.into_message().returned();
            }
        }
    }

    fn call(&mut self) {
        let (group, id) = (self.dice.pick(&GROUPS), self.dice.pick(&["a", "b", "bare", "pool"]));
        let name = format!("{group}.{id}");
        if id == "pool" {
            let Some(pool) = self.address::<PoolCommand>(&name) else { return };
            answered(pool.call(Job::Ask).timeout(HANGS).wait());
        } else {
            let Some(worker) = self.address::<Job>(&name) else { return };
            let answer = answered(worker.call(Job::Ask).timeout(HANGS).wait());
            assert!(answer.is_none_or(|pid| pid == worker.pid()));
        }
    }

    /// Ends a child of a supervisor.
    fn kill(&mut self) {
        let children = match self.dice.throw(4) {
            3 => self.simple().map(|address| address.which_children().timeout(HANGS).wait()),
            index => self
                .supervisor(GROUPS[index])
                .map(|address| address.which_children().timeout(HANGS).wait()),
        };
        let children: Vec<ChildInfo> = children.and_then(answered).unwrap_or_default();
        let pids: Vec<Pid> = children.iter().filter_map(|child| child.state.pid()).collect();
        if pids.is_empty() {
            return;
        }
        let pid = self.dice.pick(&pids);
        match self.dice.throw(3) {
            0 => self.node.kill(pid),
            1 => self.node.exit(pid, Reason::error("go")),
            _ => self.node.exit(pid, Reason::Normal),
        }
    }

    fn request(&mut self) {
        let group = self.dice.pick(&GROUPS);
        let Some(supervisor) = self.supervisor(group) else { return };
        let id = self.dice.pick(&IDS);
        match self.dice.throw(9) {
            // The group keeps its order: only what is last in it is started alone.
            0 if group == "each" => {
                let asked = supervisor.terminate_child(id).timeout(HANGS).wait();
                let _ = asked.map_err(terminate_failed);
                let asked = supervisor.restart_child(id).timeout(HANGS).wait();
                let _ = asked.map_err(restart_failed);
            }
            0 | 1 => {
                let asked = supervisor.start_child(spare(&self.record, group)).timeout(HANGS);
                let _ = asked.wait().map_err(start_failed);
            }
            2 => {
                let asked = supervisor.terminate_child(SPARE).timeout(HANGS).wait();
                let _ = asked.map_err(terminate_failed);
            }
            3 => {
                let asked = supervisor.restart_child(SPARE).timeout(HANGS).wait();
                let _ = asked.map_err(restart_failed);
            }
            4 => {
                let asked = supervisor.delete_child(SPARE).timeout(HANGS).wait();
                let _ = asked.map_err(delete_failed);
            }
            5 => {
                answered(supervisor.which_children().timeout(HANGS).wait());
            }
            6 => {
                if let Some(counts) = answered(supervisor.count_children().timeout(HANGS).wait()) {
                    let all = counts.supervisors + counts.workers;
                    assert!(counts.specs == all && counts.active <= all, "{counts:?}");
                    assert!((IDS.len()..=IDS.len() + 1).contains(&all), "{counts:?}");
                }
            }
            7 => match supervisor.get_childspec(id).timeout(HANGS).wait() {
                Ok(spec) => assert_eq!(spec.id, id),
                Err(GetChildSpecError::Call(error)) => target_has_ended(error),
                Err(other) => panic!("{other}"),
            },
            _ => {
                answered(self.node.inspect(supervisor.pid()).wait());
            }
        }
    }

    /// Starts a child of the template, and may end it.
    fn dynamic(&mut self) {
        let Some(simple) = self.simple() else { return };
        let index = self.next.fetch_add(1, Ordering::SeqCst);
        let pid = match simple.start_child(index).timeout(HANGS).wait() {
            Ok(Some(pid)) => pid,
            Ok(None) => return,
            Err(error) => return start_failed(error),
        };
        match self.dice.throw(3) {
            0 => {
                let asked = simple.terminate_child(pid).timeout(HANGS).wait();
                let _ = asked.map_err(terminate_failed);
            }
            1 => self.node.kill(pid),
            _ => {}
        }
    }

    /// Ends a supervisor with all its children.
    fn end_supervisor(&mut self) {
        let name = self.dice.pick(&["each", "all", "rest", SIMPLE]);
        let Some(pid) = self.node.whereis(name) else { return };
        match self.dice.throw(3) {
            0 => self.node.kill(pid),
            1 => {
                let Some(supervisor) = self.supervisor_or_simple_stop(name) else { return };
                match supervisor {
                    Ok(()) | Err(StopError::NoProcess(_) | StopError::Other { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            _ => {
                let asked = self.root.terminate_child(name).timeout(HANGS).wait();
                asked.expect("the root is alive and has this child");
                // Its children may fail to start, which is no restart and is not tried again.
                loop {
                    match self.root.restart_child(name).timeout(HANGS).wait() {
                        Err(RestartChildError::Failed { .. }) => {}
                        Ok(_)
                        | Err(
                            RestartChildError::Running { .. }
                            | RestartChildError::Restarting { .. },
                        ) => return,
                        Err(other) => panic!("{other}"),
                    }
                }
            }
        }
    }

    fn supervisor_or_simple_stop(&self, name: &str) -> Option<std::result::Result<(), StopError>> {
        if name == SIMPLE {
            return Some(self.simple()?.stop().timeout(HANGS).wait());
        }
        Some(self.supervisor(name)?.stop().timeout(HANGS).wait())
    }
}

fn found<M: Send + 'static, C: Send + 'static>(
    looked_up: std::result::Result<Address<M, C>, LookupError>,
) -> Option<Address<M, C>> {
    match looked_up {
        Ok(address) => Some(address),
        Err(LookupError::NoProcess(_) | LookupError::NoName(_)) => None,
        Err(other) => panic!("{other}"),
    }
}

pub(crate) fn start_failed(error: StartChildError) {
    match error {
        StartChildError::AlreadyPresent { .. }
        | StartChildError::AlreadyStarted { .. }
        | StartChildError::Failed { .. } => {}
        StartChildError::Call(error) => target_has_ended(error),
        other => panic!("{other}"),
    }
}

pub(crate) fn terminate_failed(error: TerminateChildError) {
    match error {
        TerminateChildError::NotFound { .. } => {}
        TerminateChildError::Call(error) => target_has_ended(error),
        other => panic!("{other}"),
    }
}

pub(crate) fn restart_failed(error: RestartChildError) {
    match error {
        RestartChildError::NotFound { .. }
        | RestartChildError::Running { .. }
        | RestartChildError::Restarting { .. }
        | RestartChildError::Failed { .. } => {}
        RestartChildError::Call(error) => target_has_ended(error),
        other => panic!("{other}"),
    }
}

pub(crate) fn delete_failed(error: DeleteChildError) {
    match error {
        DeleteChildError::NotFound { .. }
        | DeleteChildError::Running { .. }
        | DeleteChildError::Restarting { .. } => {}
        DeleteChildError::Call(error) => target_has_ended(error),
        other => panic!("{other}"),
    }
}
