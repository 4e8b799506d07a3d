//! A thread of the storm: it floods, calls, ends, names, links and resizes, as its random numbers decide.

use crate::STUCK;
use crate::counters::Counters;
use crate::dice::Dice;
use crate::message::{Brief, CountedMessage, Crowd, Job, Kind, Named, Pooled, sent};
use crate::tree::{self, AREAS, STEADY, WATCHERS};
use crate::watcher::Watch;
use crate::worker::{Worker, failed};
use krarup::LookupError;
use krarup::pool::ResizeError;
use krarup::prelude::*;
use krarup::supervisor::SupervisorAddress;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The number of names for the brief processes.
const BRIEF_NAMES: u64 = 64;

pub(crate) struct LoadThread {
    node: Node,
    counters: Arc<Counters>,
    dice: Dice,
    /// The processes that were alive at the last look.
    seen: Vec<Pid>,
    acts: u64,
}

impl LoadThread {
    pub(crate) fn new(node: &Node, counters: &Arc<Counters>, seed: u64) -> Self {
        let counters = Arc::clone(counters);
        LoadThread {
            node: node.clone(),
            counters,
            dice: Dice::new(seed),
            seen: Vec::new(),
            acts: 0,
        }
    }

    /// Performs one random action.
    pub(crate) fn act(&mut self) {
        if self.acts.is_multiple_of(256) {
            self.seen = self.node.processes();
        }
        self.acts += 1;
        match self.dice.throw(100) {
            0..24 => self.send_to_named(),
            24..38 => self.send_to_pool(),
            38..54 => self.send_to_crowd(),
            54..70 => self.call(),
            70..78 => self.name(),
            78..88 => self.watch(),
            88..97 => self.end(),
            97 => self.resize(),
            98 => self.join_crowd(),
            _ => self.look(),
        }
    }

    fn job<K: Kind>(&mut self) -> Job<K> {
        let message = CountedMessage::new(&self.counters);
        match self.dice.throw(2_000) {
            0 => Job::Panic(message),
            1 => Job::End(message, Reason::Normal),
            2 => Job::End(message, Reason::error("boom")),
            3..150 => Job::Pass(message),
            _ => Job::Work(message),
        }
    }

    /// How many messages are sent at once: usually a few, sometimes more than there is room for.
    fn crowd(&mut self) -> u64 {
        match self.dice.throw(50) {
            0 => 600,
            _ => self.dice.throw(20),
        }
    }

    fn send_to_named(&mut self) {
        let name = tree::a_name(self.dice.throw(6));
        let way = self.dice.throw(8);
        let Some(worker) = self.found::<Job<Named>, Job<Named>>(&name) else { return };
        for _ in 0..self.crowd() {
            let job = self.job();
            match way {
                0 => sent(worker.send_high(job)),
                1 => sent(worker.send_or_wait(job).timeout(Duration::from_millis(20)).wait()),
                2 => sent(worker.recipient::<Job<Named>>().send(job)),
                3 => match worker.reserve() {
                    Ok(room) => room.send(job),
                    Err(_) => job.refused(),
                },
                _ => sent(worker.send(job)),
            }
        }
    }

    fn send_to_pool(&mut self) {
        let Some(area) = self.dice.pick(&AREAS) else { return };
        let name = format!("{area}.pool");
        let Some(pool) = self.found::<Job<Pooled>, PoolCommand>(&name) else { return };
        for _ in 0..self.crowd() {
            let job = self.job();
            sent(pool.send(job));
        }
    }

    fn send_to_crowd(&mut self) {
        for _ in 0..8 {
            let Some(pid) = self.dice.pick(&self.seen) else { return };
            if let Ok(member) = self.node.address_of::<Job<Crowd>, Job<Crowd>>(pid) {
                let job = self.job();
                sent(member.send(job));
            }
        }
    }

    fn call(&mut self) {
        self.counters.calls.fetch_add(1, Ordering::Relaxed);
        let counters = Arc::clone(&self.counters);
        if self.dice.throw(3) == 0 {
            let Some(area) = self.dice.pick(&AREAS) else { return };
            let name = format!("{area}.pool");
            let Some(pool) = self.found::<Job<Pooled>, PoolCommand>(&name) else { return };
            let asked = pool.call(|reply| Job::Ask(CountedMessage::new(&counters), reply));
            if let Err(error) = asked.timeout(STUCK).wait() {
                failed::<Pooled>(&counters, &error);
            }
            return;
        }
        let name = tree::a_name(self.dice.throw(6));
        let Some(worker) = self.found::<Job<Named>, Job<Named>>(&name) else { return };
        let asked = worker.call(|reply| Job::Ask(CountedMessage::new(&counters), reply));
        match asked.timeout(STUCK).wait() {
            Ok(pid) => counters
                .record_loss_if(pid != worker.pid(), || "a reply of another process".to_owned()),
            Err(error) => failed::<Named>(&counters, &error),
        }
    }

    /// Takes one of a few names, uses it, or frees it by ending its process.
    fn name(&mut self) {
        let name = format!("brief.{}", self.dice.throw(BRIEF_NAMES));
        if let Some(brief) = self.found::<Job<Brief>, Job<Brief>>(&name) {
            for _ in 0..self.crowd() {
                let job = self.job();
                sent(brief.send(job));
            }
            if self.dice.throw(2) == 0 {
                brief.finish();
            }
            return;
        }
        let counters = Arc::clone(&self.counters);
        self.counters.names.fetch_add(1, Ordering::Relaxed);
        let spawned = self.node.spawn(move || Worker::<Brief>::new(&counters)).name(&name).start();
        // Another thread may have taken the name first.
        if let Err(error) = spawned {
            let is_taken = matches!(error, SpawnError::NameTaken { .. });
            self.counters
                .record_loss_if(!is_taken, || format!("an unexpected error of a spawn: {error}"));
        }
    }

    fn watch(&mut self) {
        let Some(name) = self.dice.pick(&WATCHERS) else { return };
        let Some(watcher) = self.found::<Watch, Watch>(name) else { return };
        let Some(pid) = self.dice.pick(&self.seen) else { return };
        // A link has two ends: a watcher would get an exit from a link that it did not make.
        let watches = self.node.address_of::<Watch, Watch>(pid).is_ok();
        let watch = match self.dice.throw(5) {
            0 => Watch::Forget,
            1 if !watches => Watch::Link(pid),
            _ => Watch::Monitor(pid),
        };
        // A watcher that has ended monitors nothing.
        let _ = watcher.send(watch);
    }

    /// Ends a process: usually a member of a crowd, sometimes a supervisor.
    fn end(&mut self) {
        let Some(pid) = self.dice.pick(&self.seen) else { return };
        let Some(info) = self.node.process_info(pid) else { return };
        let has_name = info.name.is_some();
        if info.parent.is_none() && !info.name.as_ref().is_some_and(is_brief) {
            return;
        }
        let is_steady = info.name.is_some_and(|name| name.as_str() == STEADY);
        if is_steady || (has_name && self.dice.throw(8) != 0) {
            return;
        }
        self.counters.deaths.fetch_add(1, Ordering::Relaxed);
        match self.dice.throw(4) {
            0 => self.node.exit(pid, Reason::error("go")),
            1 => self.node.exit(pid, Reason::Normal),
            _ => self.node.kill(pid),
        }
    }

    fn resize(&mut self) {
        let Some(area) = self.dice.pick(&AREAS) else { return };
        let name = format!("{area}.pool");
        let Some(pool) = self.found::<Job<Pooled>, PoolCommand>(&name) else { return };
        let Ok(workers) = pool.workers().wait() else { return };
        let resized = if workers.len() < 8 && self.dice.throw(2) == 0 {
            pool.add_workers(2).wait()
        } else {
            pool.remove_workers(1).wait()
        };
        if let Err(error) = resized {
            self.counters.record_loss_if(
                matches!(error, ResizeError::Call(CallError::Timeout { .. })),
                || format!("a resize of a pool: {error}"),
            );
        }
    }

    fn join_crowd(&mut self) {
        let Some(area) = self.dice.pick(&AREAS) else { return };
        let crowd: Option<SupervisorAddress<()>> = self.found(&format!("{area}.crowd"));
        let Some(crowd) = crowd else { return };
        if let Ok(Some(pid)) = crowd.start_child(()).timeout(STUCK).wait()
            && self.dice.throw(2) == 0
        {
            let _ = crowd.terminate_child(pid).timeout(STUCK).wait();
        }
    }

    fn look(&mut self) {
        let Some(pid) = self.dice.pick(&self.seen) else { return };
        if let Some(info) = self.node.process_info(pid) {
            let is_over = info.mailbox.is_some_and(|bound| info.main > bound);
            self.counters.record_loss_if(is_over, || {
                format!("more messages wait than the bound allows: {info:?}")
            });
        }
        if let Err(error) = self.node.inspect(pid).wait() {
            self.counters.record_loss_if(matches!(error, CallError::Timeout { .. }), || {
                format!("an inspection of {pid}: {error}")
            });
        }
    }

    fn found<M: Send + 'static, C: Send + 'static>(&self, name: &str) -> Option<Address<M, C>> {
        match self.node.lookup(name) {
            Ok(address) => Some(address),
            Err(LookupError::NoName(_)) => None,
            Err(other) => {
                self.counters
                    .record_loss_if(true, || format!("an unexpected error of a look-up: {other}"));
                None
            }
        }
    }
}

fn is_brief(name: &krarup::Name) -> bool {
    name.as_str().starts_with("brief")
}
