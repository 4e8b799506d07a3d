//! The keeper: the process that spawns grains by key and monitors them.

use crate::grains::calls::{GrainCommand, ToGrain};
use crate::grains::directory::SharedDirectory;
use crate::grains::error::GrainsError;
use crate::grains::grains::Grains;
use crate::grains::held_messages::QueuedMessage;
use crate::grains::route::ToGrains;
use krarup_act::{AddressOf, Behavior, BehaviorContext, Context, DroppedCalls, Received, contain};
use krarup_gen::{Down, Inspection, Pid, ProcessKind, Reason, Result, one_line};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::hash::Hash;
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::{self, Poll};
use std::time::Duration;

/// The time grains have to end with their keeper before they are killed.
const SHUTDOWN_TIME: Duration = Duration::from_secs(5);

impl<K, B, F> Behavior for Grains<K, F>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    B: Behavior,
    F: Fn(&K) -> B + Send + Sync + 'static,
{
    type Message = ToGrain<K, B::Message>;
    type Command = GrainCommand<K>;

    async fn run(self, mut ctx: Context<Self::Message, Self::Command>) -> Result {
        if self.mailbox == 0 {
            return Err(Reason::error(GrainsError::ZeroMailbox));
        }
        if let Some(messages) = ctx.mailbox_bound() {
            return Err(Reason::error(GrainsError::MailboxOfGrains(messages)));
        }
        if B::routes_main() {
            return Err(Reason::error(GrainsError::Routes(B::label())));
        }
        ctx.hurry_end_of_parent();
        ctx.stop_in_order();
        ctx.trap_exits(true);
        let shared = SharedDirectory::new(self.mailbox, ctx.delegate());
        ctx.route_main(ToGrains(Arc::clone(&shared)));
        let mut keeping = GrainKeeper { plan: self, shared, grains: BTreeMap::new(), made: 0, ctx };
        let reason = poll_fn(|cx| keeping.poll(cx)).await;
        keeping.end(&reason).await;
        Err(reason)
    }

    fn kind() -> ProcessKind {
        ProcessKind::Grains
    }

    fn routes_main() -> bool {
        true
    }
}

/// The running keeper.
struct GrainKeeper<K, B: Behavior, F>
where
    K: Hash + Eq + Clone + Send + 'static,
{
    plan: Grains<K, F>,
    shared: Arc<SharedDirectory<K, B::Message, B::Command>>,
    /// The grains that are alive, or whose `Down` has not arrived. The map is ordered, so
    /// an operation on all grains has the same order in every run of a simulation.
    grains: BTreeMap<Pid, KeptGrain<K, B>>,
    made: u64,
    ctx: Context<ToGrain<K, B::Message>, GrainCommand<K>>,
}

/// A grain that the keeper has spawned.
struct KeptGrain<K, B: Behavior> {
    key: K,
    address: AddressOf<B>,
    /// The held messages for which it ended too early. They fail with the reason of its `Down`.
    missed: Vec<QueuedMessage<B::Message>>,
}

impl<K, B, F> GrainKeeper<K, B, F>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    B: Behavior,
    F: Fn(&K) -> B + Send + Sync + 'static,
{
    /// Runs the keeper until it is to end, and returns the reason.
    fn poll(&mut self, cx: &mut task::Context<'_>) -> Poll<Reason> {
        loop {
            while let Poll::Ready(item) = Pin::new(&mut self.ctx.receive()).poll(cx) {
                if let Err(reason) = self.handle(item) {
                    return Poll::Ready(reason);
                }
            }
            let wanted = self.shared.take_wanted(cx.waker().clone());
            if wanted.is_empty() {
                return Poll::Pending;
            }
            wanted.into_iter().for_each(|key| self.make(key));
        }
    }

    fn handle(
        &mut self,
        item: Received<ToGrain<K, B::Message>, GrainCommand<K>>,
    ) -> Result<(), Reason> {
        match item {
            // The keeper monitors its grains and no other process. It ignores exit
            // signals: a signal does not prove that its sender has ended. A keeper ends
            // when its parent or the node tells it to.
            Received::Down(down) => {
                if let Some((key, pid)) = self.is_gone(&down) {
                    self.shared.gone(key, pid);
                }
            }
            Received::Command(GrainCommand::Release(key)) => self.shared.release(&key),
            Received::Inspect(reply) => reply.send(self.inspect()),
            Received::Stop(reason) => return Err(reason),
            Received::Finish => return Err(Reason::Normal),
            // Main is a route, and the keeper subscribes to nothing else.
            _ => {}
        }
        Ok(())
    }

    /// Removes the grain that has ended.
    fn is_gone(&mut self, down: &Down) -> Option<(K, Pid)> {
        let pid = down.pid()?;
        let KeptGrain { key, missed, .. } = self.grains.remove(&pid)?;
        self.dead_letter(&key, missed, &down.reason);
        Some((key, pid))
    }

    fn make(&mut self, key: K) {
        let Some(pid) = self.shared.take_pid(&key) else { return };
        let name = match &self.plan.name {
            None => None,
            Some(name) => match contain(|| name(&key)) {
                Ok(name) => Some(name),
                Err(panic) => return self.give_up(&key, &panic),
            },
        };
        let (make, of) = (Arc::clone(&self.plan.make), key.clone());
        let kept = GrainOptions { shared: Arc::downgrade(&self.shared), idle: self.plan.idle };
        let factory = move || Grain { behavior: make(&of), key: of, kept };
        let monitor = self.ctx.make_ref();
        let spawn = self.ctx.spawn(factory).mailbox(self.plan.mailbox);
        // A grain can remove the link, but the monitor belongs to the keeper alone.
        let mut spawn = spawn.link().monitor_urgent(monitor).pid(pid);
        if let Some(name) = name {
            spawn = spawn.name(name);
        }
        match spawn.start() {
            Ok(grain) => {
                self.made += 1;
                let missed = self.shared.move_in(&key, &grain);
                self.grains.insert(grain.pid(), KeptGrain { key, address: grain, missed });
            }
            Err(error) => self.give_up(&key, &Reason::error(error)),
        }
    }

    /// Drops the held messages of a grain that cannot be spawned.
    fn give_up(&mut self, key: &K, error: &Reason) {
        let pid = self.ctx.pid();
        let _ = contain(|| {
            tracing::error!(target: "krarup", %pid, error = %one_line(error), "a grain could not be spawned");
        });
        let lost = self.shared.give_up(key);
        self.dead_letter(key, lost, error);
    }

    fn inspect(&self) -> Inspection {
        self.shared.inspect().with("made", self.made)
    }

    /// Stops accepting messages and ends the grains, by a stop first and by a kill after
    /// `SHUTDOWN_TIME`.
    async fn end(&mut self, reason: &Reason) {
        let others = DroppedCalls::take();
        self.close();
        DroppedCalls::take().fail(reason);
        drop(others);
        for grain in self.grains.values() {
            grain.address.process().request_stop(Reason::Shutdown);
        }
        let mut time_limit = pin!(self.ctx.sleep(SHUTDOWN_TIME));
        let mut killed = false;
        while !self.grains.is_empty() {
            let next = poll_fn(|cx| {
                if let Poll::Ready(item) = Pin::new(&mut self.ctx.receive()).poll(cx) {
                    return Poll::Ready(Some(item));
                }
                if killed {
                    return Poll::Pending;
                }
                time_limit.as_mut().poll(cx).map(|()| None)
            })
            .await;
            match next {
                Some(Received::Down(down)) => drop(self.is_gone(&down)),
                Some(Received::Inspect(reply)) => reply.send(self.inspect()),
                Some(_) => {}
                None => {
                    killed = true;
                    self.grains.values().for_each(|grain| grain.address.process().kill());
                }
            }
        }
    }
}

impl<K, B: Behavior, F> GrainKeeper<K, B, F>
where
    K: Hash + Eq + Clone + Send + 'static,
{
    /// Stops accepting messages. The held messages are lost.
    fn close(&mut self) {
        for (key, held) in self.shared.close() {
            self.drop_all(&key, held);
        }
    }

    /// Counts messages that will not be handled, and drops them.
    fn drop_all(&self, key: &K, held: Vec<QueuedMessage<B::Message>>) {
        for (message, sender) in held {
            self.shared.delegate.dead_letter(ToGrain { key: key.clone(), message }, sender);
        }
    }

    /// Counts messages that will not be handled. Their calls fail with this reason.
    fn dead_letter(&self, key: &K, held: Vec<QueuedMessage<B::Message>>, reason: &Reason) {
        if held.is_empty() {
            return;
        }
        let others = DroppedCalls::take();
        self.drop_all(key, held);
        DroppedCalls::take().fail(reason);
        drop(others);
    }
}

/// Closes the directory in whatever way the keeper ends, so that later sends to its
/// address fail.
impl<K, B: Behavior, F> Drop for GrainKeeper<K, B, F>
where
    K: Hash + Eq + Clone + Send + 'static,
{
    fn drop(&mut self) {
        self.close();
        for KeptGrain { key, missed, .. } in std::mem::take(&mut self.grains).into_values() {
            self.drop_all(&key, missed);
        }
    }
}

/// A grain as a process: the behaviour made for its key. It ends when it is idle and the
/// directory permits it.
struct Grain<K, B: Behavior> {
    behavior: B,
    key: K,
    kept: GrainOptions<K, B>,
}

/// The keeper's settings for a grain.
struct GrainOptions<K, B: Behavior> {
    /// A weak reference, because the directory holds the grain.
    shared: Weak<SharedDirectory<K, B::Message, B::Command>>,
    idle: Option<Duration>,
}

impl<K, B> Grain<K, B>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    B: Behavior,
{
    /// Has the process passivated when it is idle, and returns what it runs.
    fn begin(self, ctx: &mut Context<B::Message, B::Command>) -> B {
        let Grain { behavior, key, kept: GrainOptions { shared, idle } } = self;
        if let Some(idle) = idle {
            let pid = ctx.pid();
            let may_go = move || shared.upgrade().is_none_or(|shared| shared.lets_go(&key, pid));
            ctx.passivate_if(idle, may_go);
        }
        behavior
    }
}

impl<K, B> Behavior for Grain<K, B>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    B: Behavior,
{
    type Message = B::Message;
    type Command = B::Command;

    const ONE_THREAD: bool = B::ONE_THREAD;

    fn run(self, mut ctx: Context<B::Message, B::Command>) -> impl Future<Output = Result> + Send {
        self.begin(&mut ctx).run(ctx)
    }

    fn run_in_turn(
        self,
        mut ctx: Context<B::Message, B::Command>,
    ) -> impl Future<Output = Result> + Send {
        self.begin(&mut ctx).run_in_turn(ctx)
    }

    fn label() -> &'static str {
        B::label()
    }

    fn kind() -> ProcessKind {
        B::kind()
    }

    fn show_message(message: &B::Message) -> Option<String> {
        B::show_message(message)
    }

    fn show_command(command: &B::Command) -> Option<String> {
        B::show_command(command)
    }
}
