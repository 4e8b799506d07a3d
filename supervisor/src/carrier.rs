//! Carrying out what the plan decides.

use crate::action::{Action, Answer, Event};
use crate::child_spec::{Init, RunningChild, Start};
use crate::children::{Child, ChildKey};
use crate::command::{Command, SupervisorCommand, SupervisorContext};
use crate::ignore::Ignore;
use crate::plan::Plan;
use crate::report::Reporter;
use crate::spec::{ChildId, Shutdown};
use krarup_act::{Monitor, Received, Sleep};
use krarup_gen::{Down, Exit, Pid, Reason, SpawnError};
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

/// The plan of a supervisor, and the processes it is about.
pub(crate) struct Carrier<T> {
    pub(crate) plan: Plan<Start<T>>,
    running: HashMap<Pid, Box<dyn RunningChild>>,
    /// What came while a child was starting, in the order it came. It is served before
    /// anything that still lies in the mailbox.
    held: VecDeque<Item<T>>,
    report: Reporter,
}

/// What a supervisor receives.
pub(crate) type Item<T> = Received<Infallible, SupervisorCommand<T>>;

/// What came of an event, after all that follows from it was done.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The supervisor goes on.
    GoesOn,
    /// The supervisor goes on, and this is the answer to the request.
    Answer(Answer),
    /// The supervisor ends for this reason.
    Ends(Reason),
}

impl<T: Send + 'static> Carrier<T> {
    pub(crate) fn new(plan: Plan<Start<T>>, supervisor: Pid) -> Self {
        let (running, held) = (HashMap::new(), VecDeque::new());
        Carrier { plan, running, held, report: Reporter::new(supervisor) }
    }

    /// Whether a child's process is alive at this moment.
    pub(crate) fn is_alive(&self, pid: Pid) -> bool {
        self.running.get(&pid).is_some_and(|child| child.is_alive())
    }

    /// The next item to be served.
    pub(crate) async fn receive(&mut self, ctx: &mut SupervisorContext<T>) -> Item<T> {
        match self.held.pop_front() {
            Some(item) => item,
            None => ctx.receive().await,
        }
    }

    /// An exit notice came.
    pub(crate) async fn exited(&mut self, ctx: &mut SupervisorContext<T>, exit: Exit) -> Outcome {
        let Exit { pid, reason } = exit;
        // A signal that a child sent, as anybody may. OTP takes it for the child's end
        // and starts a second process beside the first, which it then knows no more.
        if self.is_alive(pid) {
            return Outcome::GoesOn;
        }
        self.running.remove(&pid);
        let Some(key) = self.plan.children().running(pid) else { return Outcome::GoesOn };
        self.report.ended(&self.id(key), pid, &reason);
        let before = self.plan.restarts();
        let next = self.plan.step(Event::Exited { pid, reason }, ctx.now());
        self.report_restart(key, before);
        self.carry_on(ctx, next).await
    }

    /// The supervisor's own message came (rule S6).
    pub(crate) async fn try_again(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        key: ChildKey,
    ) -> Outcome {
        let before = self.plan.restarts();
        let next = self.plan.step(Event::TryAgain(key), ctx.now());
        self.report_restart(key, before);
        self.carry_on(ctx, next).await
    }

    /// Tells the plan what happened, and does what it says until it says no more.
    pub(crate) async fn carry_out(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        event: Event<Start<T>>,
    ) -> Outcome {
        let next = self.plan.step(event, ctx.now());
        self.carry_on(ctx, next).await
    }

    async fn carry_on(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        mut next: Option<Action>,
    ) -> Outcome {
        let mut ending_is_told = false;
        while let Some(action) = next {
            if !ending_is_told && let Some(ending) = self.plan.ending() {
                self.report.ending(ending, self.plan.restarts());
                ending_is_told = true;
            }
            let done = match action {
                Action::Start(key) => self.start(ctx, key).await,
                Action::Stop { key, pid, shutdown } => {
                    let id = self.id(key);
                    self.stop(ctx, &id, vec![pid], shutdown).await
                }
                Action::StopTogether { pids, shutdown } => {
                    let first = self.plan.children().iter().next();
                    let id = first.map_or_else(|| "".into(), |(_, child)| child.rules.id.clone());
                    self.stop(ctx, &id, pids, shutdown).await
                }
                Action::TryAgain(key) => {
                    // Behind everything that lies in the lane by now.
                    let again = SupervisorCommand(Command::TryAgain(key));
                    ctx.address().send_max(again).expect("a supervisor that runs has its mailbox");
                    return Outcome::GoesOn;
                }
                Action::Reply(answer) => return Outcome::Answer(answer),
                Action::End(reason) => return Outcome::Ends(reason),
            };
            next = self.plan.step(done, ctx.now());
        }
        Outcome::GoesOn
    }

    async fn start(&mut self, ctx: &mut SupervisorContext<T>, key: ChildKey) -> Event<Start<T>> {
        let mut outcome = self.spawn(ctx, key).await;
        let mut patience = Some(ctx.sleep(self.patience(key)));
        // A supervisor that was killed leaves children behind that are on their way out,
        // and its successor may come before they have gone (rule N3).
        while let Err(SpawnError::NameTaken { by, .. }) = outcome
            && is_orphan(ctx, by)
            && within(&mut patience, &mut ctx.watch(by)).await.is_some()
        {
            outcome = self.spawn(ctx, key).await;
        }
        let (id, count) = (self.id(key), self.plan.restarts());
        match outcome {
            Ok(child) => {
                let pid = child.pid();
                self.running.insert(pid, child);
                self.report.started(&id, pid, count);
                Event::Started(pid)
            }
            Err(error) => {
                let reason = reason_of(error);
                if reason.downcast_ref::<Ignore>().is_some() {
                    self.report.ignored(&id);
                    return Event::Ignored;
                }
                self.report.failed(&id, &reason, count);
                Event::Failed(reason)
            }
        }
    }

    /// Spawns a child and waits until its `init` has returned.
    async fn spawn(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        key: ChildKey,
    ) -> Result<Box<dyn RunningChild>, SpawnError> {
        let begun = {
            let child = self.plan.children().get(key).expect("the plan starts children it has");
            let start = child.start.as_ref();
            let start = start.expect("what never starts again is all that has no factory");
            start.start(ctx, child.rules.name.as_deref())
        };
        let (child, mut init) = begun?;
        self.wait_for_init(ctx, key, child.pid(), &mut init).await?;
        Ok(child)
    }

    /// Waits, and holds what comes meanwhile. Once that is a stop, the child has no more
    /// time to start than it would have to end: a supervisor must end whatever its children
    /// do (rule S11; OTP's waits for ever). If that is without limit, it is asked to end,
    /// which a supervisor heeds in its own start.
    async fn wait_for_init(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        key: ChildKey,
        pid: Pid,
        init: &mut Init,
    ) -> Result<(), SpawnError> {
        let patience = self.patience(key);
        let is_stop = |item: &Item<T>| matches!(item, Received::Stop(_));
        let mut is_stopping = self.held.iter().any(is_stop);
        let mut limit = is_stopping.then(|| ctx.sleep(patience));
        loop {
            let item = {
                let mut receive = pin!(ctx.receive_early());
                poll_fn(|cx| {
                    if let Poll::Ready(outcome) = init.as_mut().poll(cx) {
                        return Poll::Ready(Meanwhile::Started(outcome));
                    }
                    if let Some(sleep) = &mut limit
                        && Pin::new(sleep).poll(cx).is_ready()
                    {
                        return Poll::Ready(Meanwhile::TimeIsOver);
                    }
                    receive.as_mut().poll(cx).map(Meanwhile::Item)
                })
                .await
            };
            match item {
                Meanwhile::Started(outcome) => return outcome,
                Meanwhile::TimeIsOver => {
                    limit = None;
                    let asks = self.shutdown(key) == Shutdown::Infinity;
                    ctx.exit(pid, if asks { Reason::Shutdown } else { Reason::Kill });
                }
                Meanwhile::Item(item) => {
                    if is_stop(&item) && !is_stopping {
                        is_stopping = true;
                        limit = Some(ctx.sleep(patience));
                    }
                    self.held.push_back(item);
                }
            }
        }
    }

    fn shutdown(&self, key: ChildKey) -> Shutdown {
        let child = self.plan.children().get(key).map(|child| child.rules.shutdown());
        child.unwrap_or(Shutdown::Infinity)
    }

    /// The time of a child for what is not its own end: as long as it would be given to
    /// end, but not for ever.
    fn patience(&self, key: ChildKey) -> Duration {
        match self.shutdown(key) {
            Shutdown::Timeout(time) => time,
            Shutdown::BrutalKill | Shutdown::Infinity => PATIENCE,
        }
    }

    /// Ends these processes at once and waits until they have ended; with one time
    /// limit for all (rule S7).
    async fn stop(
        &mut self,
        ctx: &mut SupervisorContext<T>,
        id: &ChildId,
        pids: Vec<Pid>,
        shutdown: Shutdown,
    ) -> Event<Start<T>> {
        let signal = if shutdown == Shutdown::BrutalKill { Reason::Kill } else { Reason::Shutdown };
        let mut ends = Vec::with_capacity(pids.len());
        for pid in pids {
            let Some(child) = self.running.remove(&pid) else { continue };
            // Watched before it is told, so that its reason is not lost. It is the end
            // that is waited for, not the link: a child that has unlinked itself cannot
            // hold its supervisor up.
            let end = child.end();
            ctx.exit(pid, signal.clone());
            ends.push((pid, end));
        }
        let mut limit = match shutdown {
            Shutdown::Timeout(time) => Some(ctx.sleep(time)),
            Shutdown::BrutalKill | Shutdown::Infinity => None,
        };
        let mut ends = ends.into_iter();
        while let Some((pid, mut end)) = ends.next() {
            let down = match within(&mut limit, &mut end).await {
                Some(down) => down,
                None => {
                    limit = None;
                    ctx.exit(pid, Reason::Kill);
                    ends.as_slice().iter().for_each(|(late, ..)| ctx.exit(*late, Reason::Kill));
                    end.await
                }
            };
            // Its exit notice is thrown away, even if it lies in the mailbox: this end was
            // asked for (rule S9).
            ctx.unlink(pid);
            self.report.stopped(id, pid, &down.reason, shutdown);
        }
        Event::Stopped
    }

    fn report_restart(&self, key: ChildKey, before: u64) {
        let count = self.plan.restarts();
        if count > before {
            self.report.restarting(&self.id(key), count);
        }
    }

    fn id(&self, key: ChildKey) -> ChildId {
        let child = self.plan.children().get(key).map(|child: &Child<_>| child.rules.id.clone());
        child.expect("the plan names children it has")
    }
}

/// A supervisor's patience with a child whose shutdown sets no time.
const PATIENCE: Duration = Duration::from_secs(5);

/// What happens first while a child starts.
enum Meanwhile<T> {
    Started(Result<(), SpawnError>),
    TimeIsOver,
    Item(Item<T>),
}

/// Whether the process that spawned this one has ended.
fn is_orphan<T: Send + 'static>(ctx: &SupervisorContext<T>, pid: Pid) -> bool {
    let parent = ctx.process_info(pid).and_then(|info| info.parent);
    parent.is_some_and(|parent| !ctx.is_alive(parent))
}

/// What a failed start comes to: the child's own reason, if it got as far as that.
fn reason_of(error: SpawnError) -> Reason {
    match error {
        SpawnError::Init(reason) => reason,
        error => Reason::from(error),
    }
}

/// The end of a process, or `None` if the time is over first.
async fn within(limit: &mut Option<Sleep>, end: &mut Monitor) -> Option<Down> {
    poll_fn(|cx| match Pin::new(&mut *end).poll(cx) {
        Poll::Ready(down) => Poll::Ready(Some(down)),
        Poll::Pending => match limit {
            Some(sleep) => Pin::new(sleep).poll(cx).map(|()| None),
            None => Poll::Pending,
        },
    })
    .await
}
