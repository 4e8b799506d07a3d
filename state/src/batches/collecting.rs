//! The loop of a batcher: items in, tasks out.

use super::item::{BatchItem, BatcherCommand};
use super::plan::{BatchId, BatchLimits, BatchPlan};
use crate::contained_drop::drop_each;
use krarup_act::{
    BehaviorContext, Context, OwnProcess, Received, Reply, Sleep, Task, TimerKey, contain,
};
use krarup_gen::{
    CallError, Inspection, Pid, Reason, Ref, Result, TaskError, Timestamp, WorkOutcome, one_line,
};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

type BatcherContext<T> = Context<BatchItem<T>, BatcherCommand>;

/// An item that is in a batch.
struct Collected<T> {
    message: BatchItem<T>,
    sender: Option<Pid>,
    keeps_room: bool,
}

/// A batch under way.
struct RunningBatch {
    id: BatchId,
    task: Task<Result>,
    calls: Vec<Reply<()>>,
    items: usize,
    /// How many of its items keep their room.
    room: usize,
}

/// A request to be told when all that was accepted before it is done.
struct Draining {
    /// The alarm that lies in the mailbox behind what was accepted before.
    mark: Ref,
    /// Since the mark was received: the last batch to be waited for.
    last: Option<BatchId>,
    /// Whom to answer; `None` is the batcher itself, which stops.
    reply: Option<Reply<()>>,
}

pub(super) struct Collecting<T: Send + 'static, K, F, B> {
    ctx: BatcherContext<T>,
    own: OwnProcess<BatchItem<T>, BatcherCommand>,
    work: Arc<F>,
    key: B,
    plan: BatchPlan<K, Collected<T>>,
    running: Vec<RunningBatch>,
    drains: Vec<Draining>,
    /// Items that are in batches.
    items: usize,
    alarm: Option<(Ref, TimerKey, Timestamp)>,
    shutdown: Duration,
    /// Why it ends.
    stop: Option<Reason>,
    /// It ends then at the latest. A stop does not look for alarms.
    limit: Option<Pin<Box<Sleep>>>,
}

impl<T, K, F, R, B> Collecting<T, K, F, B>
where
    T: Send + 'static,
    K: Ord + Clone + Send + 'static,
    F: Fn(Vec<T>) -> R + Send + Sync + 'static,
    R: Future<Output: WorkOutcome> + Send + 'static,
    B: FnMut(&T) -> K + Send + 'static,
{
    pub(super) fn new(
        mut ctx: BatcherContext<T>,
        work: Arc<F>,
        key: B,
        limits: BatchLimits,
        shutdown: Duration,
    ) -> Self {
        // Without a bound there is no room to keep.
        let _ = ctx.hold_room();
        Collecting {
            own: ctx.own_process(),
            ctx,
            work,
            key,
            plan: BatchPlan::new(limits),
            running: Vec::new(),
            drains: Vec::new(),
            items: 0,
            alarm: None,
            shutdown,
            stop: None,
            limit: None,
        }
    }

    /// Runs until the batcher ends; returns the reason.
    pub(super) fn poll(&mut self, cx: &mut task::Context<'_>) -> Poll<Reason> {
        loop {
            let received = self.receive(cx);
            self.plan.tick(self.ctx.now());
            let ended = self.poll_running(cx);
            let started = self.start();
            self.answer_drains();
            if let Some(reason) = &self.stop {
                let is_drained = self.drains.iter().all(|drain| drain.reply.is_some());
                let limit = self.limit.as_mut();
                if is_drained || limit.is_some_and(|limit| limit.as_mut().poll(cx).is_ready()) {
                    return Poll::Ready(reason.clone());
                }
            }
            if !(received || ended || started) {
                self.arm();
                return Poll::Pending;
            }
        }
    }

    /// Receives one item; returns whether there was one.
    fn receive(&mut self, cx: &mut task::Context<'_>) -> bool {
        // What arrives after a stop is not begun.
        let closed = self.stop.is_some()
            && self.drains.iter().all(|drain| drain.reply.is_some() || drain.last.is_some());
        let received = if closed {
            pin!(self.ctx.receive_control()).poll(cx).map(|item| (item, false))
        } else {
            self.ctx.poll_holding()
        };
        let Poll::Ready((item, keeps_room)) = received else { return false };
        match item {
            Received::Message(message) => {
                let sender = self.ctx.sender();
                self.items += 1;
                let key = (self.key)(&message.item);
                self.plan.push(key, Collected { message, sender, keeps_room }, self.ctx.now());
            }
            Received::Command(BatcherCommand::Drain(reply)) => self.drain(Some(reply)),
            Received::Alarm(alarm) => {
                self.alarm.take_if(|(set, _, _)| *set == alarm);
                self.close_for_drain(alarm);
            }
            Received::Stop(reason) => self.stop(reason, Some(self.shutdown)),
            Received::Finish => self.stop(Reason::Normal, None),
            Received::Exit(exit) => self.stop(exit.reason, Some(self.shutdown)),
            Received::Inspect(request) => {
                let inspection = Inspection::new()
                    .with("items", self.items)
                    .with("keys", self.plan.keys())
                    .with("running", self.plan.running());
                request.send(inspection);
            }
            _ => {}
        }
        true
    }

    /// Waits for all items that are in the mailbox or in batches now. Nothing is counted: room
    /// that is reserved may be given back.
    fn drain(&mut self, reply: Option<Reply<()>>) {
        self.drains.push(Draining { mark: self.own.ring_alarm(), last: None, reply });
    }

    /// Ends when all items that were accepted by now are done, or when the time is over.
    fn stop(&mut self, reason: Reason, limit: Option<Duration>) {
        if self.stop.is_none() {
            self.drain(None);
        }
        // A stop has its reason and its time after a `finish`, too.
        if self.limit.is_none() {
            self.stop = Some(reason);
            self.limit = limit.map(|limit| Box::pin(self.ctx.sleep(limit)));
        }
    }

    /// Closes what is open for the drain with this mark.
    fn close_for_drain(&mut self, mark: Ref) {
        let Collecting { plan, drains, .. } = self;
        if let Some(drain) = drains.iter_mut().find(|drain| drain.mark == mark) {
            drain.last = Some(plan.close());
        }
    }

    fn answer_drains(&mut self) {
        let plan = &self.plan;
        let is_over = |drain: &mut Draining| drain.last.is_some_and(|last| plan.is_done(last));
        for drain in self.drains.extract_if(.., is_over) {
            if let Some(reply) = drain.reply {
                reply.send(());
            }
        }
    }

    /// Starts the batches that may go; returns whether there was one.
    fn start(&mut self) -> bool {
        let mut started = false;
        if self.ctx.is_suspended() {
            return false;
        }
        while let Some((id, collected)) = self.plan.start() {
            started = true;
            let room = collected.iter().filter(|item| item.keeps_room).count();
            let messages = collected.into_iter().map(|item| item.message);
            let (items, calls): (Vec<_>, Vec<_>) =
                messages.map(|message| (message.item, message.done)).unzip();
            let calls = calls.into_iter().flatten().collect();
            let work = Arc::clone(&self.work);
            let count = items.len();
            let task = self.ctx.task(async move { work(items).await.outcome() }).start();
            match task {
                Ok(task) => {
                    self.running.push(RunningBatch { id, task, calls, items: count, room });
                }
                Err(error) => {
                    self.gone(id, count, room);
                    fail(calls, self.ctx.pid(), &Reason::error(TaskError::from(error)));
                }
            }
        }
        started
    }

    /// Looks which batches are done; returns whether one is.
    fn poll_running(&mut self, cx: &mut task::Context<'_>) -> bool {
        let mut done = Vec::new();
        let mut index = 0;
        while let Some(batch) = self.running.get_mut(index) {
            match Pin::new(&mut batch.task).poll(cx) {
                Poll::Pending => index += 1,
                Poll::Ready(result) => done.push((self.running.remove(index), result)),
            }
        }
        let any = !done.is_empty();
        for (RunningBatch { id, task, calls, items, room }, result) in done {
            self.gone(id, items, room);
            match result {
                Ok(Ok(())) => calls.into_iter().for_each(|call| call.send(())),
                Ok(Err(reason)) | Err(TaskError::Failed(reason) | TaskError::Ended(reason)) => {
                    fail(calls, task.pid(), &reason);
                }
                Err(error) => fail(calls, task.pid(), &Reason::error(error)),
            }
        }
        any
    }

    /// Gives the room of a batch back that is done or has failed.
    fn gone(&mut self, id: BatchId, items: usize, room: usize) {
        self.plan.ended(id);
        self.items = self.items.saturating_sub(items);
        self.ctx.free_room(room);
    }

    /// Sets the alarm at which something is to be done next.
    fn arm(&mut self) {
        let due = self.plan.next_due();
        if due == self.alarm.as_ref().map(|(_, _, due)| *due) {
            return;
        }
        if let Some((_, key, _)) = self.alarm.take() {
            self.own.cancel_alarm(key);
        }
        self.alarm = due.map(|due| {
            let (alarm, key) = self.own.set_alarm(due);
            (alarm, key, due)
        });
    }
}

/// Fails the calls of a batch that has failed, and reports it.
fn fail(calls: Vec<Reply<()>>, to: Pid, reason: &Reason) {
    let _ = contain(|| {
        tracing::warn!(target: "krarup", batch = %to, reason = %one_line(reason), "batch failed");
    });
    for call in calls {
        call.fail(CallError::Terminated { to, reason: reason.clone() });
    }
}

/// Items in no running batch are dead letters (rule U4). The calls of the others fail with the
/// reason of the end, and their tasks end with their owner.
impl<T: Send + 'static, K, F, B> Drop for Collecting<T, K, F, B> {
    fn drop(&mut self) {
        if let Some((_, key, _)) = self.alarm.take() {
            self.own.cancel_alarm(key);
        }
        for Collected { message, sender, .. } in self.plan.take_open() {
            self.ctx.dead_letter(message, sender);
        }
        drop_each(std::mem::take(&mut self.running));
    }
}
