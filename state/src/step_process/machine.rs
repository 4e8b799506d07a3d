//! A running step process: its events, its steps, its commands.
//!
//! A poll runs at most one step, so a process that never waits shares its worker like any other.

use crate::contained_drop::{ContainedDrop, drop_each};
use crate::state_actor::handler_wakers::{HandlerWaker, HandlerWakers, WorkKey};
use crate::step_process::commands::{
    CommandResult, CommandWork, Commands, Completion, CompletionQueue, Handler,
};
use crate::step_process::step_process::{
    CommandError, DispatchedCommand, StepEvent, StepNext, StepOutput, StepProcess, Tag,
};
use crate::table::{Table, TableKey};
use krarup_act::{BehaviorContext, Context, HeldMessage, Received, contain};
use krarup_gen::{Inspection, Reason, Result, one_line};
use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::task::{self, Poll, Waker};

/// A running step process.
pub(crate) struct RunningSteps<P: StepProcess> {
    // Field order is drop order: the commands before the process is closed, and the
    // process before its mailbox.
    running: Table<Running<P::Value>>,
    /// All commands that are dispatched and not completed, with the key of the future if
    /// there is one.
    outstanding: HashMap<Tag, Option<TableKey>>,
    commands: Arc<Commands<P::Value, P::Message>>,
    pub(crate) closing: Closing<P>,
    events: VecDeque<StepEvent<P::Value, P::Message>>,
    out: StepOutput<P::Value>,
    next: StepNext<P::Value>,
    /// An event that the process waits for has arrived.
    due: bool,
    counter: Arc<CompletionQueue<P::Value>>,
    wakers: Arc<HandlerWakers>,
    /// The reason with which it was asked to end.
    pub(crate) cancelled: Option<Reason>,
    steps: u64,
    /// Messages that wait in `events` keep their room in the mailbox.
    keeps_room: bool,
    /// How many of them keep their room.
    kept: usize,
    /// What holds the messages in `events`, in their order.
    waiting: VecDeque<HeldMessage>,
    /// The messages that steps have got since the process was last idle. They are handled when it
    /// is idle again (rule M13).
    in_hand: Vec<HeldMessage>,
    /// The mailbox may hold messages that are deliberately left there.
    holds_back: bool,
    pub(crate) ctx: Context<P::Message>,
}

/// Closes the process when dropped: exactly once, whatever the cause.
pub(crate) struct Closing<P: StepProcess> {
    pub(crate) process: ContainedDrop<P>,
}

impl<P: StepProcess> Drop for Closing<P> {
    fn drop(&mut self) {
        if let Err(panic) = contain(|| self.process.close()) {
            let _ = contain(|| {
                tracing::error!(target: "krarup", panic = %one_line(&panic), "a step process panicked in its close");
            });
        }
    }
}

/// A command whose future is running.
struct Running<V> {
    tag: Tag,
    work: CommandWork<V>,
    waker: HandlerWaker,
}

impl<P: StepProcess> RunningSteps<P> {
    pub(crate) fn new(
        process: P,
        commands: Arc<Commands<P::Value, P::Message>>,
        mut ctx: Context<P::Message>,
    ) -> Self {
        let keeps_room = ctx.hold_room().is_ok();
        ctx.hold_messages();
        RunningSteps {
            running: Table::default(),
            outstanding: HashMap::new(),
            commands,
            closing: Closing { process: ContainedDrop::new(process) },
            events: VecDeque::new(),
            out: StepOutput::new(),
            next: StepNext::Again,
            due: true,
            counter: Arc::new(CompletionQueue::default()),
            wakers: Arc::default(),
            cancelled: None,
            steps: 0,
            keeps_room,
            kept: 0,
            waiting: VecDeque::new(),
            in_hand: Vec::new(),
            holds_back: false,
            ctx,
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<P::Value>> {
        self.wakers.run();
        self.counter.run();
        self.gather(cx);
        // A suspended process runs no step, unless it is to end.
        let held = self.ctx.is_suspended() && self.cancelled.is_none();
        if self.due
            && !held
            && let Some(end) = self.step()
        {
            return Poll::Ready(end);
        }
        let goes_on = self.due && !held;
        // The next step belongs to another poll: a step costs as much as a message. An
        // event that arrived since the last look is seen when the process is parked, or by
        // the calls of `rest` below.
        let looks_again = self.holds_back && !self.leaves_messages();
        if goes_on || looks_again || !self.rests(cx.waker()) {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Marks the process as idle, if anything can complete. Returns false if something has.
    fn rests(&self, waker: &Waker) -> bool {
        // A command that was given up may still be completed, and its outcome is dropped in a poll.
        let nothing_runs = self.outstanding.is_empty() && Arc::strong_count(&self.counter) == 1;
        if nothing_runs {
            // Pairs with the drop of the last completion: what it has handed in is seen.
            fence(Ordering::Acquire);
            return self.counter.is_empty();
        }
        self.counter.rest(waker) && self.wakers.rest(waker)
    }

    /// Runs one step and starts its commands. Returns the end if the step was the last.
    fn step(&mut self) -> Option<Result<P::Value>> {
        self.due = false;
        self.steps += 1;
        self.ctx.free_room(std::mem::take(&mut self.kept));
        self.begin_messages();
        let step = self.closing.process.step(&mut self.events, &mut self.out);
        self.lose_events();
        if let Err(reason) = step {
            return Some(Err(reason));
        }
        let next = self.out.next.take();
        if let Some(StepNext::Done(result)) = next {
            return Some(Ok(result));
        }
        self.next = StepNext::Again;
        self.carry_out();
        let waits = !self.outstanding.is_empty();
        self.next = match next {
            Some(StepNext::Blocked) | None if waits => StepNext::Blocked,
            Some(StepNext::Blocked) | None => StepNext::Idle,
            Some(next) => next,
        };
        self.due |= matches!(self.next, StepNext::Again);
        if matches!(self.next, StepNext::Idle) {
            self.in_hand.drain(..).for_each(HeldMessage::done);
        }
        None
    }

    /// Begins the messages that the step is to get, and drops those that have expired (rule P9).
    fn begin_messages(&mut self) {
        let begins = self.waiting.iter().any(HeldMessage::is_to_begin);
        if !begins {
            self.in_hand.extend(self.waiting.drain(..));
            return;
        }
        for event in std::mem::take(&mut self.events) {
            let StepEvent::Message { sender, message } = event else {
                self.events.push_back(event);
                continue;
            };
            let held = self.waiting.pop_front().map(|mut held| {
                let begun = self.ctx.begin_held(&mut held);
                (held, begun)
            });
            match held {
                Some((_, Err(expired))) => expired.discard(message, sender),
                held => {
                    self.in_hand.extend(held.map(|(held, _)| held));
                    self.events.push_back(StepEvent::Message { sender, message });
                }
            }
        }
    }

    /// Drops the events that a step left behind or that no step will get. Messages count
    /// as lost.
    fn lose_events(&mut self) {
        for event in self.events.drain(..) {
            match event {
                StepEvent::Message { sender, message } => match self.waiting.pop_front() {
                    Some(held) => self.ctx.lose_held(held, message, sender),
                    None => self.ctx.dead_letter(message, sender),
                },
                other => drop(contain(|| drop(other))),
            }
        }
    }

    /// Takes in all events that have arrived.
    fn gather(&mut self, cx: &mut task::Context<'_>) {
        for of in self.wakers.take() {
            if let WorkKey::Promise(key) = of {
                self.go_on(key);
            }
        }
        for (tag, outcome) in self.counter.take() {
            self.complete(tag, outcome);
        }
        loop {
            self.holds_back = self.leaves_messages();
            let received = if self.holds_back {
                pin!(self.ctx.receive_control()).poll(cx).map(|item| (item, false))
            } else {
                self.ctx.poll_holding()
            };
            let Poll::Ready((item, keeps_room)) = received else { break };
            if matches!(item, Received::Message(_) | Received::Command(_)) {
                self.waiting.push_back(self.ctx.hold_message());
            }
            match item {
                Received::Message(message) | Received::Command(message) => {
                    let sender = self.ctx.sender();
                    self.kept += usize::from(keeps_room);
                    self.events.push_back(StepEvent::Message { sender, message });
                    self.due |= !matches!(self.next, StepNext::Blocked);
                }
                Received::Stop(reason) => self.cancel(reason),
                Received::Finish => self.cancel(Reason::Normal),
                Received::Inspect(reply) => reply.send(self.inspect()),
                _ => {}
            }
        }
    }

    /// Whether messages stay in the mailbox. A mailbox that drops its oldest message cannot
    /// reach those in `events`, so no more are received than the next step is to have.
    fn leaves_messages(&self) -> bool {
        self.keeps_room
            && self.ctx.drops_oldest()
            && (self.kept > 0 || matches!(self.next, StepNext::Blocked))
    }

    fn cancel(&mut self, reason: Reason) {
        if self.cancelled.is_none() {
            self.cancelled = Some(reason.clone());
            self.events.push_back(StepEvent::Cancel(reason));
            self.due = true;
        }
    }

    /// Records a completed command. A command that was given up or has completed already
    /// is ignored.
    fn complete(&mut self, tag: Tag, outcome: CommandResult<P::Value>) {
        if self.outstanding.remove(&tag).is_some() {
            self.events.push_back(StepEvent::Completed { tag, outcome });
            self.due = true;
        } else {
            let _ = contain(|| drop(outcome));
        }
    }

    /// Starts the commands of the step and gives up those that it cancelled.
    fn carry_out(&mut self) {
        for tag in std::mem::take(&mut self.out.cancelled) {
            if let Some(Some(key)) = self.outstanding.remove(&tag) {
                let given_up = self.running.remove(key);
                let _ = contain(|| drop(given_up));
            }
        }
        for command in std::mem::take(&mut self.out.dispatched) {
            let DispatchedCommand { tag, name, argument: Some(argument) } = command else {
                continue;
            };
            self.outstanding.insert(tag, None);
            // A handler that panics fails its command and not the process.
            let begun = contain(|| self.begin(tag, &name, argument));
            if let Err(panic) = begun {
                self.complete(tag, Err(CommandError::Failed(panic)));
            }
        }
    }

    fn begin(&mut self, tag: Tag, name: &str, argument: P::Value) {
        let commands = Arc::clone(&self.commands);
        match commands.handler(name) {
            None => self.complete(tag, Err(CommandError::Unknown(name.to_owned()))),
            Some(Handler::AtOnce(handler)) => {
                let outcome = handler(&self.ctx, argument);
                self.complete(tag, outcome);
            }
            Some(Handler::Deferred(handler)) => {
                handler(&self.ctx, argument, Completion::new(tag, Arc::clone(&self.counter)));
            }
            Some(Handler::Awaited(handler)) => {
                let work = handler(&self.ctx, argument);
                let key = self.running.insert_with(|key| Running {
                    tag,
                    work,
                    waker: HandlerWaker::new(&self.wakers, WorkKey::Promise(key)),
                });
                self.outstanding.insert(tag, Some(key));
                self.go_on(key);
            }
        }
    }

    /// Polls a command. A command that was given up is ignored.
    fn go_on(&mut self, key: TableKey) {
        let Some(running) = self.running.get_mut(key) else { return };
        running.waker.still();
        let Running { tag, work, waker } = running;
        let tag = *tag;
        let polled = contain(|| work.as_mut().poll(&mut task::Context::from_waker(waker.waker())));
        let outcome = match polled {
            Ok(Poll::Pending) => return,
            Ok(Poll::Ready(outcome)) => outcome,
            Err(panic) => Err(CommandError::Failed(panic)),
        };
        let done = self.running.remove(key);
        let _ = contain(|| drop(done));
        self.complete(tag, outcome);
    }

    fn inspect(&self) -> Inspection {
        let status = match self.next {
            StepNext::Blocked => "blocked",
            StepNext::Idle => "idle",
            StepNext::Again | StepNext::Done(_) => "ready",
        };
        Inspection::new()
            .with("status", status)
            .with("outstanding", self.outstanding.len())
            .with("events", self.events.len())
            .with("steps", self.steps)
    }
}

/// Messages that were sent and not passed to a step count as lost. Completions that arrive
/// from now on have no effect.
impl<P: StepProcess> Drop for RunningSteps<P> {
    fn drop(&mut self) {
        drop_each(self.running.drain());
        drop_each(self.counter.close());
        self.lose_events();
        // The commands that the last step dispatched, and its result if it failed nevertheless.
        drop_each(std::mem::take(&mut self.out.dispatched));
        drop_each(self.out.next.take());
    }
}
