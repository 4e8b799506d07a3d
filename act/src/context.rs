//! A process's own view of the world.

use crate::address::Address;
use crate::deadline::Sleep;
use crate::host::{Alarm, Host};
use crate::mailbox::entry::{Body, Control, Entry, Notice, SenderId};
use crate::mailbox::inbox::Queue;
use crate::process::cell::Cell;
use crate::process::crash::contain;
use crate::process::process::Process;
use crate::process::progress::Wants;
use crate::received::Received;
use crate::route::Route;
use crate::timer::{Action, Timer, Timers};
use krarup_gen::{Exit, Pid, Reason, Ref, Timestamp};
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

/// What a process holds while it lives: its mailbox, and everything it can do as
/// itself.
///
/// The runtime makes one for every process and hands it to [`crate::Behavior::run`];
/// an actor sees it in every callback. Sends need no context: the runtime knows who
/// sends.
#[allow(clippy::struct_excessive_bools, reason = "facts that change each on its own")]
pub struct Context<M, C = M> {
    pub(crate) cell: Arc<Cell<M, C>>,
    /// What was taken off Main and is not handled yet.
    main: Queue<M>,
    /// Who sent the message in hand.
    sender: SenderId,
    rare: Option<Box<Rare<M, C>>>,
    started: bool,
    /// Something of the control lanes has been taken and not handled.
    controlled: bool,
    /// That, or Main is a route: what lies on Main is not simply next.
    detour: bool,
    /// Set by [`Context::stop`].
    stop: bool,
}

/// What most processes never have.
struct Rare<M, C> {
    urgent: VecDeque<Control<C>>,
    system: VecDeque<Control<C>>,
    timers: Timers<M>,
}

impl<M, C> Default for Rare<M, C> {
    fn default() -> Self {
        Rare { urgent: VecDeque::new(), system: VecDeque::new(), timers: Timers::new() }
    }
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    pub(crate) fn new(cell: Arc<Cell<M, C>>) -> Self {
        Context {
            cell,
            main: None,
            sender: 0,
            rare: None,
            started: false,
            controlled: false,
            detour: false,
            stop: false,
        }
    }

    // ── who and when ────────────────────────────────────────────────────────────

    /// The pid of this process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.cell.pid
    }

    /// The address of this process.
    #[must_use]
    pub fn address(&self) -> Address<M, C> {
        Address::new(Arc::clone(&self.cell))
    }

    /// The process that spawned this one; `None` if it was spawned from outside.
    #[must_use]
    pub fn parent(&self) -> Option<Pid> {
        self.cell.parent_pid()
    }

    /// Who sent the message in hand: the original sender if it was forwarded (rule
    /// P1), `None` if it came from outside any process.
    #[must_use]
    pub fn sender(&self) -> Option<Pid> {
        (self.sender != 0).then(|| Pid::local(self.sender, self.cell.pid.creation()))
    }

    /// The name of the node.
    #[must_use]
    pub fn node_name(&self) -> &str {
        self.cell.host.node_name()
    }

    /// The bound of this process's Main lane.
    #[must_use]
    pub fn mailbox(&self) -> Option<usize> {
        self.cell.inbox.lock().bound()
    }

    /// The node's time (rule T2).
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.cell.host.now()
    }

    /// A new unique reference.
    #[must_use]
    pub fn make_ref(&self) -> Ref {
        self.cell.host.next_ref()
    }

    /// A random number; in a simulation it comes from the seed, so that the same seed gives
    /// the same run.
    #[must_use]
    pub fn random(&self) -> u64 {
        self.cell.host.random()
    }

    pub(crate) fn host(&self) -> &Arc<dyn Host> {
        &self.cell.host
    }

    pub(crate) fn process(&self) -> Arc<dyn Process> {
        Arc::clone(&self.cell) as Arc<dyn Process>
    }

    // ── the mailbox ─────────────────────────────────────────────────────────────

    /// The next item: Urgent before System before Main, looked at anew each time
    /// (rule M2). Waits while there is none.
    ///
    /// Await it in the process's own future, as `select` and `join` of futures do: within a
    /// collection that gives its futures wakers of its own (`FuturesUnordered`), mail would
    /// wake the process, but not this future.
    ///
    /// Not for an actor's handler: it would take what the actor is to see, a stop among it.
    pub async fn receive(&mut self) -> Received<M, C> {
        poll_fn(|_| self.poll_receive()).await
    }

    /// The next message, if one lies at hand and nothing goes before it: what a loop of
    /// handlers looks at first, for it costs a fraction of a poll. `None` says nothing
    /// about the mailbox: then [`Context::receive`].
    #[inline]
    pub fn next_at_hand(&mut self) -> Option<M> {
        let main = self.main.as_mut()?;
        let progress = &self.cell.progress;
        if self.detour || progress.attention.load(Ordering::Relaxed) {
            return None;
        }
        let Body::Message(_) = main.front()?.body else { return None };
        if !progress.spend(|| self.cell.host.now()) {
            return None;
        }
        let entry = main.pop_front()?;
        self.sender = entry.sender;
        match entry.body {
            Body::Message(message) => {
                progress.count_taken();
                Some(message)
            }
            // Not reached: it was looked at.
            Body::Notice(_) => None,
        }
    }

    /// As [`Context::receive`], but does not count as having started: for a behaviour that
    /// looks after its mailbox during its own start, and says itself when it has started.
    pub async fn receive_early(&mut self) -> Received<M, C> {
        poll_fn(|_| self.poll_mailbox()).await
    }

    #[inline]
    fn poll_receive(&mut self) -> Poll<Received<M, C>> {
        if !self.started {
            self.initialised();
        }
        self.poll_mailbox()
    }

    #[inline]
    fn poll_mailbox(&mut self) -> Poll<Received<M, C>> {
        loop {
            let progress = &self.cell.progress;
            if progress.attention.load(Ordering::Relaxed) && !self.take_control() {
                return self.pending(Wants::MESSAGE);
            }
            let progress = &self.cell.progress;
            if !progress.spend(|| self.cell.host.now()) {
                return self.pending(Wants::TURN);
            }
            if self.detour && self.controlled {
                if let Some(item) = self.next_control() {
                    return Poll::Ready(item);
                }
                continue;
            }
            let next = self.main.as_mut().and_then(|main| main.pop_front());
            let Some(entry) = next.or_else(|| self.take_main()) else {
                return self.pending(Wants::MESSAGE);
            };
            self.sender = entry.sender;
            match entry.body {
                Body::Message(message) => {
                    self.cell.progress.count_taken();
                    if self.detour && self.cell.is_routed() {
                        self.cell.pass_on(message, entry.sender);
                        continue;
                    }
                    return Poll::Ready(Received::Message(message));
                }
                Body::Notice(notice) => {
                    if let Some(item) = self.accept(*notice) {
                        return Poll::Ready(item);
                    }
                }
            }
        }
    }

    fn pending(&self, wants: u8) -> Poll<Received<M, C>> {
        self.cell.progress.wants.store(wants, Ordering::Relaxed);
        Poll::Pending
    }

    /// Takes everything off Main and returns the oldest of it.
    ///
    /// A process that gets one message at a time looks once in a poll: the turn looks
    /// again, under the same lock with which it parks the process. One that has just
    /// emptied a batch looks again, for there is likely more, and gives the batch's
    /// memory back if there is not: an idle process holds none.
    #[inline]
    fn take_main(&mut self) -> Option<Entry<M>> {
        let progress = &self.cell.progress;
        let emptied_batch = self.main.is_some();
        if progress.looked.load(Ordering::Relaxed) && !emptied_batch {
            return None;
        }
        progress.looked.store(true, Ordering::Relaxed);
        let entry = self.cell.inbox.lock().take_main(&mut self.main);
        if entry.is_none() && emptied_batch {
            self.main = None;
        }
        entry
    }

    /// Takes the control lanes; false if the process is doomed and shall receive
    /// nothing more.
    #[cold]
    fn take_control(&mut self) -> bool {
        let mut inbox = self.cell.inbox.lock();
        if inbox.has_doom() {
            return false;
        }
        self.cell.progress.attention.store(false, Ordering::Relaxed);
        let Some(rare) = inbox.rare_if_any() else { return true };
        let taken = self.rare.get_or_insert_default();
        taken.urgent.append(&mut rare.urgent);
        taken.system.append(&mut rare.system);
        self.controlled = true;
        self.detour = true;
        true
    }

    #[cold]
    fn next_control(&mut self) -> Option<Received<M, C>> {
        loop {
            let rare = self.rare.as_mut()?;
            let Some(control) = rare.urgent.pop_front().or_else(|| rare.system.pop_front()) else {
                self.controlled = false;
                self.detour = self.cell.is_routed();
                self.release_rare();
                return None;
            };
            let count = &self.cell.progress.controls;
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            self.sender = 0;
            match control {
                Control::Message { sender, message } => {
                    self.sender = sender;
                    return Some(Received::Command(message));
                }
                Control::Stop(reason) => {
                    if let Some(item) = self.accept_stop(reason) {
                        return Some(item);
                    }
                    // Doomed: receive nothing more.
                    return None;
                }
                Control::Inspect(reply) => return Some(Received::Inspect(reply)),
                Control::Exit { exit, link } => {
                    if let Some(item) = self.accept(Notice::Exit { exit, link }) {
                        return Some(item);
                    }
                }
                Control::Down(down) => {
                    if let Some(item) = self.accept(Notice::Down(down)) {
                        return Some(item);
                    }
                }
            }
        }
    }

    /// Gives the memory of empty queues back.
    fn release_rare(&mut self) {
        if !self.controlled && self.rare.as_ref().is_some_and(|rare| rare.timers.is_empty()) {
            self.rare = None;
        }
    }

    /// A stop that was asked for before it was known what kind of process this is. One
    /// that does not stop in order takes it as an exit signal.
    fn accept_stop(&mut self, reason: Reason) -> Option<Received<M, C>> {
        let inbox = self.cell.inbox.lock();
        if inbox.orderly {
            return Some(Received::Stop(reason));
        }
        if inbox.trapping {
            return Some(Received::Exit(Exit { pid: self.cell.host.node_pid(), reason }));
        }
        self.cell.doom(inbox, reason);
        None
    }

    /// A notice as an item, unless what it tells of is no longer wanted (rule L5).
    fn accept(&mut self, notice: Notice) -> Option<Received<M, C>> {
        match notice {
            Notice::Exit { exit, link } => {
                let wanted = link.is_none_or(|number| {
                    self.cell.locked_relations().accept_exit(exit.pid, number)
                });
                wanted.then_some(Received::Exit(exit))
            }
            Notice::Down(down) => {
                let wanted = self.cell.locked_relations().accept_down(down.monitor);
                wanted.then_some(Received::Down(down))
            }
            Notice::Timer(timer) => self.ring(timer).map(Received::Message),
            Notice::Finish => Some(Received::Finish),
        }
    }

    /// Says that the process has started: whoever waits for its spawn goes on (rule
    /// D2). An actor's `init` has returned by then.
    pub fn initialised(&mut self) {
        if self.started {
            return;
        }
        self.started = true;
        let starter = self.cell.inbox.lock().initialise();
        if let Some(starter) = starter {
            let _ = starter.send(Ok(()));
        }
    }

    /// Ends this process after the message in hand, with [`Reason::Normal`] (rule D9).
    /// For an actor: a bare process returns from `run`.
    pub fn stop(&mut self) {
        self.stop = true;
    }

    /// Whether [`Context::stop`] was called: for behaviours that have handlers.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stop
    }

    /// Makes Main a route from now on (see [`Route`]); this process then receives no
    /// messages from it. Those that were accepted before go along the route as well, when
    /// the process next receives. False if it has a route already.
    pub fn route_main(&mut self, route: impl Route<M>) -> bool {
        self.detour = true;
        self.cell.set_route(Box::new(route))
    }

    // ── time ────────────────────────────────────────────────────────────────────

    /// Suspends this process, and nothing else, for this long (rule T1).
    pub fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(Arc::clone(self.host()), duration)
    }

    /// Sends a message to this process after a delay, on its Main lane and beyond its
    /// bound. The timer dies with the process (rule T1).
    pub fn send_after(&mut self, delay: Duration, message: M) -> Ref {
        let timer = self.make_ref();
        self.arm(timer, self.now() + delay, Action::Once(message));
        timer
    }

    /// Sends a message to this process again and again, each `period` after the one
    /// before was due, until the timer is cancelled (rule T1). The next one is set when
    /// the last is received, so they do not pile up. A period under a millisecond counts
    /// as a millisecond.
    pub fn send_interval<F>(&mut self, period: Duration, message: F) -> Ref
    where
        F: FnMut() -> M + Send + 'static,
    {
        let period = period.max(Duration::from_millis(1));
        let timer = self.make_ref();
        let action = Action::Again { period, message: Box::new(message) };
        self.arm(timer, self.now() + period, action);
        timer
    }

    /// Cancels a timer of this process: the time that was left, or `None` if its
    /// message has been received or there is no such timer. A message of it that lies in
    /// the mailbox is thrown away; then the time left is zero.
    pub fn cancel(&mut self, timer: Ref) -> Option<Duration> {
        let timer = self.rare.as_mut()?.timers.remove(timer)?;
        self.release_rare();
        let in_time = self.host().cancel_timer(timer.key);
        Some(if in_time { timer.due - self.now() } else { Duration::ZERO })
    }

    /// The time left until the timer is due, or `None` as for [`Context::cancel`].
    #[must_use]
    pub fn remaining(&self, timer: Ref) -> Option<Duration> {
        self.rare.as_ref()?.timers.get(timer).map(|timer| timer.due - self.now())
    }

    fn arm(&mut self, timer: Ref, due: Timestamp, action: Action<M>) {
        let cell = Arc::downgrade(&self.cell);
        let ring = move || {
            if let Some(cell) = cell.upgrade() {
                cell.push_notice(Notice::Timer(timer));
            }
        };
        let key = self.host().set_timer(due, Alarm::Run(Box::new(ring)));
        let rare = self.rare.get_or_insert_default();
        rare.timers.insert(timer, Timer { key, due, action });
    }

    /// Gives up what belongs to the state of this process and not to the process: another
    /// state takes its place. Its timers are cancelled, and a stop it asked for is void.
    /// The mailbox, name, links and monitors stay.
    pub(crate) fn renew(&mut self) {
        self.stop = false;
        self.cancel_timers();
        self.release_rare();
    }

    /// A timer's notice is taken out of the mailbox: its message, unless it was
    /// cancelled.
    fn ring(&mut self, timer: Ref) -> Option<M> {
        let Timer { due, action, .. } = self.rare.as_mut()?.timers.remove(timer)?;
        self.release_rare();
        match action {
            Action::Once(message) => Some(message),
            Action::Again { period, mut message } => {
                let next = message();
                self.arm(timer, due + period, Action::Again { period, message });
                Some(next)
            }
        }
    }
}

impl<M, C> Context<M, C> {
    /// Cancels all timers and drops what they would have done, one by one: a destructor
    /// that panics must not keep the next from running.
    fn cancel_timers(&mut self) {
        let Some(rare) = &mut self.rare else { return };
        let timers = std::mem::replace(&mut rare.timers, Timers::new());
        let (keys, actions) = timers.into_parts();
        for key in keys {
            self.cell.host.cancel_timer(key);
        }
        for action in actions {
            let _ = contain(|| drop(action));
        }
    }
}

/// Cancels the timers, and drops what was not handled, one by one: a destructor that
/// panics must not keep the next from running, nor meet the panic of another.
impl<M, C> Drop for Context<M, C> {
    fn drop(&mut self) {
        let mut unhandled = 0;
        self.cancel_timers();
        let rare = self.rare.take().map(|rare| *rare).unwrap_or_default();
        for entry in self.main.take().into_iter().flat_map(|main| *main) {
            unhandled += u64::from(entry.is_message());
            let _ = contain(|| drop(entry));
        }
        for control in rare.urgent.into_iter().chain(rare.system) {
            unhandled += u64::from(control.is_message());
            let _ = contain(|| drop(control));
        }
        self.cell.host.count_dead_letters(unhandled);
    }
}

impl<M, C> fmt::Debug for Context<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.cell.pid)
    }
}
