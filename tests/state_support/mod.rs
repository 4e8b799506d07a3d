//! What the tests of state actors share: an actor that does what it is told, and notes it.

#![allow(dead_code, reason = "each test binary uses its own part of this")]

use crate::support::{Guard, Log, boom};
use krarup::behavior::behavior_fn;
use krarup::prelude::*;
use krarup::state::{
    Exception, Scope, StateActor, StateAddress, StateCalls, StateContext, Stateful,
};
use krarup::{Dynamic, Ended};
use std::pin::Pin;
use std::time::Duration;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

pub(crate) type Doing<'a> = Pin<Box<dyn Future<Output = Result> + Send + 'a>>;
pub(crate) type Act = Box<dyn for<'a> FnOnce(&'a mut Scope<Doer>) -> Doing<'a> + Send>;

/// Something to do, as a notice, an ask or an event.
pub(crate) struct Job {
    pub(crate) name: String,
    barrier: bool,
    batch: bool,
    act: Option<Act>,
    reply: Option<Reply<String>>,
}

pub(crate) fn job(name: impl Into<String>) -> Job {
    Job { name: name.into(), barrier: false, batch: false, act: None, reply: None }
}

impl Job {
    pub(crate) fn doing<F>(mut self, act: F) -> Self
    where
        F: for<'a> FnOnce(&'a mut Scope<Doer>) -> Doing<'a> + Send + 'static,
    {
        self.act = Some(Box::new(act));
        self
    }

    pub(crate) fn barrier(self) -> Self {
        self.barrier_if(true)
    }

    pub(crate) fn barrier_if(mut self, barrier: bool) -> Self {
        self.barrier = barrier;
        self
    }

    pub(crate) fn batch(mut self) -> Self {
        self.batch = true;
        self
    }

    /// Waits for so long.
    pub(crate) fn waiting(self, time: Duration) -> Self {
        self.doing(move |scope| {
            Box::pin(async move {
                scope.sleep(time).await;
                Ok(())
            })
        })
    }

    pub(crate) fn failing(self, reason: Reason) -> Self {
        self.doing(move |_| Box::pin(async move { Err(reason) }))
    }

    pub(crate) fn panicking(self) -> Self {
        self.doing(|_| Box::pin(async { panic!("boom") }))
    }

    /// As an ask: the name is answered when it is done.
    pub(crate) fn answering(mut self, reply: Reply<String>) -> Self {
        self.reply = Some(reply);
        self
    }
}

/// An actor that does what it is told, and notes what it does.
pub(crate) struct Doer {
    pub(crate) log: Log,
    pub(crate) sum: u64,
    restart: Option<Result>,
    /// How long its `terminate` takes.
    pub(crate) slow: Duration,
    _guard: Guard,
}

impl Doer {
    pub(crate) fn new(log: &Log) -> Self {
        Doer {
            log: log.clone(),
            sum: 0,
            restart: None,
            slow: Duration::ZERO,
            _guard: Guard::new(log, "dropped"),
        }
    }

    pub(crate) fn restarting(log: &Log, restart: Result) -> Self {
        Doer { restart: Some(restart), ..Doer::new(log) }
    }

    async fn run(scope: &mut Scope<Self>, kind: &str, job: Job) -> Result {
        let log = scope.with(|doer| doer.log.clone());
        log.note(format!("{kind} {}", job.name));
        if let Some(act) = job.act {
            act(scope).await?;
            log.note(format!("{} done", job.name));
        }
        if let Some(reply) = job.reply {
            reply.send(job.name);
        }
        Ok(())
    }
}

impl StateActor for Doer {
    type Notice = Job;
    type Ask = Job;
    type Reply = String;
    type Event = Job;

    async fn after_mount(&mut self, ctx: &mut StateContext<Self>) -> Result {
        let named = ctx.whereis("doer") == Some(ctx.pid());
        self.log.note(if named { "after_mount as doer" } else { "after_mount" });
        Ok(())
    }

    async fn handle_notice(scope: &mut Scope<Self>, notice: Job) -> Result {
        Doer::run(scope, "notice", notice).await
    }

    async fn handle_ask(scope: &mut Scope<Self>, ask: Job) -> Result {
        Doer::run(scope, "ask", ask).await
    }

    fn is_barrier(&self, ask: &Job) -> bool {
        ask.barrier
    }

    fn batches_ask(&self, ask: &Job) -> bool {
        ask.batch
    }

    fn batches_notice(&self, notice: &Job) -> bool {
        notice.batch
    }

    async fn handle_asks(scope: &mut Scope<Self>, asks: Vec<Job>) -> Result {
        let names: Vec<&str> = asks.iter().map(|ask| ask.name.as_str()).collect();
        let line = format!("asks {}", names.join(" "));
        scope.with(|doer| doer.log.note(line));
        for ask in asks {
            if let Some(reply) = ask.reply {
                reply.send(ask.name);
            }
        }
        Ok(())
    }

    async fn handle_notices(scope: &mut Scope<Self>, notices: Vec<Job>) -> Result {
        let names: Vec<&str> = notices.iter().map(|notice| notice.name.as_str()).collect();
        let line = format!("notices {}", names.join(" "));
        let (sender, scope_pid) = (scope.sender(), scope.pid());
        scope.with(|doer| {
            doer.log.note(line);
            if let Some(sender) = sender.filter(|sender| *sender != scope_pid) {
                doer.log.note(format!("notices of {sender}"));
            }
        });
        Ok(())
    }

    async fn handle_reply(scope: &mut Scope<Self>, reply: String) -> Result {
        scope.with(|doer| doer.log.note(format!("reply {reply}")));
        Ok(())
    }

    async fn handle_exception(scope: &mut Scope<Self>, exception: Exception) -> Result {
        scope.with(|doer| doer.log.note(format!("exception {}", exception.error)));
        Ok(())
    }

    async fn handle_event(scope: &mut Scope<Self>, event: Job) -> Result {
        Doer::run(scope, "event", event).await
    }

    async fn handle_down(scope: &mut Scope<Self>, down: Down) -> Result {
        scope.with(|doer| doer.log.note(format!("down {}", down.reason)));
        Ok(())
    }

    async fn handle_exit(scope: &mut Scope<Self>, exit: Exit) -> Result {
        scope.with(|doer| doer.log.note(format!("exit {}", exit.reason)));
        Ok(())
    }

    async fn handle_timeout(scope: &mut Scope<Self>) -> Result {
        scope.with(|doer| doer.log.note("silence"));
        Ok(())
    }

    async fn handle_other(scope: &mut Scope<Self>, message: Dynamic) -> Result {
        let sender = scope.sender().map_or(String::new(), |sender| format!(" of {sender}"));
        let line = format!("other {}{sender}", message.type_name());
        scope.with(|doer| doer.log.note(line));
        Ok(())
    }

    fn state(&self) -> Option<Dynamic> {
        Some(Dynamic::new(self.sum))
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("sum", self.sum)
    }

    async fn before_restart(&mut self, _: &mut StateContext<Self>, reason: &Reason) {
        self.log.note(format!("before_restart {reason}"));
    }

    async fn restart(&mut self, _: &mut StateContext<Self>, reason: &Reason) -> Result {
        self.log.note("restart");
        self.sum = 0;
        self.restart.clone().unwrap_or_else(|| Err(reason.clone()))
    }

    async fn after_restart(&mut self, _: &mut StateContext<Self>, reason: &Reason) -> Result {
        self.log.note(format!("after_restart {reason}"));
        Ok(())
    }

    fn cleaner(&self) -> Option<krarup::state::Cleaner> {
        let log = self.log.clone();
        Some(Box::new(move |ended: &Ended<'_>| log.note(format!("cleaned {}", ended.reason))))
    }

    async fn terminate(&mut self, ctx: &mut StateContext<Self>, reason: &Reason) {
        ctx.sleep(self.slow).await;
        self.log.note(format!("terminate {reason}"));
    }
}

pub(crate) type DoerAddress = StateAddress<Doer>;

pub(crate) fn doer(sim: &Simulation, log: &Log) -> DoerAddress {
    let state = Doer::new(log);
    let doer = sim.spawn(move || Stateful::new(state)).wait().unwrap();
    assert_eq!(log.take(), ["after_mount"]);
    doer
}

pub(crate) fn restarting(sim: &Simulation, log: &Log, most: u32, restart: Result) -> DoerAddress {
    let state = Doer::restarting(log, restart);
    let doer = sim.spawn(move || Stateful::new(state).restarts(most, SECOND)).wait().unwrap();
    assert_eq!(log.take(), ["after_mount"]);
    doer
}

/// A doer with a bound, of which so many handlers may be in flight.
pub(crate) fn limited(sim: &Simulation, log: &Log, mailbox: usize, most: usize) -> DoerAddress {
    let state = Doer::new(log);
    let doer = sim.spawn(move || Stateful::new(state).most_in_flight(most)).mailbox(mailbox);
    let doer = doer.wait().unwrap();
    log.take();
    doer
}

/// Numbers of an inspection.
pub(crate) fn numbers<const N: usize>(doer: &DoerAddress, items: [&str; N]) -> [Option<u64>; N] {
    let inspected = doer.inspect().wait().unwrap();
    items.map(|item| inspected.number(item))
}

pub(crate) const COUNTS: [&str; 3] = ["in_flight", "asks", "notices"];

/// Calls the doer from a process of its own, which notes what came of it.
pub(crate) fn asks(sim: &Simulation, log: &Log, doer: &DoerAddress, job: Job) {
    let (log, doer) = (log.clone(), doer.clone());
    let name = job.name.clone();
    sim.spawn(move || {
        behavior_fn(move |_: Context<()>| async move {
            match doer.ask(|reply| job.answering(reply)).timeout(HOUR).await {
                Ok(answer) => log.note(format!("{name} answered {answer}")),
                Err(error) => log.note(format!("{name} failed: {error}")),
            }
            Ok(())
        })
    })
    .start()
    .unwrap();
}

/// A request whose token the test keeps.
pub(crate) type Kept = Reply<u32>;

/// Others of which a doer hears: each fails when it is told anything.
pub(crate) struct Others {
    pub(crate) monitored: Address<()>,
    pub(crate) linked: Address<()>,
}

impl Others {
    /// It monitors one and is linked to the other, and hears of messages of other types too.
    pub(crate) fn of(sim: &Simulation, doer: &DoerAddress) -> Self {
        let spawn = || {
            let other = behavior_fn(|mut ctx: Context<()>| async move {
                ctx.receive().await;
                Err(boom())
            });
            sim.spawn(move || other).start().unwrap()
        };
        let others = Others { monitored: spawn(), linked: spawn() };
        let (monitored, linked) = (others.monitored.pid(), others.linked.pid());
        doer.event(job("hears").doing(move |scope| {
            Box::pin(async move {
                scope.with_context(|_, ctx| {
                    ctx.trap_exits(true);
                    ctx.take_others();
                    ctx.monitor(monitored);
                    ctx.link(linked);
                });
                Ok(())
            })
        }))
        .unwrap();
        sim.run_until_idle();
        others
    }
}
