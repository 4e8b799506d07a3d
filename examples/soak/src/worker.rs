//! A worker of any kind: it handles messages, fails when told to, sets timers and calls
//! other workers.

use crate::STUCK;
use crate::counters::Counters;
use crate::message::{CountedMessage, Job, Kind, Named, Tick, call_refused, sent};
use crate::tree;
use krarup::Ref;
use krarup::prelude::*;
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub(crate) struct Worker<K: Kind> {
    counters: Arc<Counters>,
    timer: Option<Ref>,
    kind: PhantomData<K>,
}

impl<K: Kind> Worker<K> {
    pub(crate) fn new(counters: &Arc<Counters>) -> Self {
        Worker { counters: Arc::clone(counters), timer: None, kind: PhantomData }
    }

    async fn work(&mut self, ctx: &mut Context<Job<K>>) {
        if !self.counters.is_storming() {
            return;
        }
        match ctx.random() % 256 {
            0..16 => {
                let delay = Duration::from_micros(ctx.random() % 30_000);
                let tick = Job::Tick(Tick::new(&self.counters, ctx.now() + delay));
                self.timer = Some(ctx.send_after(delay, tick));
            }
            16..20 => {
                if let Some(timer) = self.timer.take() {
                    ctx.disarm(timer);
                }
            }
            20 => ctx.sleep(Duration::from_micros(ctx.random() % 2_000)).await,
            21 => self.ask(ctx).await,
            22 => {
                let alias = ctx.alias();
                if ctx.random().is_multiple_of(2) {
                    ctx.revoke(alias);
                }
            }
            _ => {}
        }
    }

    /// Calls one of the named workers, which may be calling this one.
    async fn ask(&self, ctx: &mut Context<Job<K>>) {
        let name = tree::a_name(ctx.random());
        let Ok(other) = ctx.lookup::<Job<Named>, Job<Named>>(&name) else { return };
        self.counters.calls.fetch_add(1, Ordering::Relaxed);
        let asked = other.call(|reply| Job::Ask(CountedMessage::new(&self.counters), reply));
        asked.timeout(STUCK).await.map_or_else(
            |error| failed::<Named>(&self.counters, &error),
            |pid| {
                self.counters
                    .record_loss_if(pid != other.pid(), || "a reply of another process".to_owned());
            },
        );
    }

    fn pass(&self, ctx: &Context<Job<K>>) {
        let name = tree::a_name(ctx.random());
        if let Ok(other) = ctx.lookup::<Job<Named>, Job<Named>>(&name) {
            sent(other.send(Job::Work(CountedMessage::new(&self.counters))));
        }
    }
}

/// Checks the error of a failed call. A call may fail because its target has ended, has no
/// room, or is itself waiting.
pub(crate) fn failed<K: Kind>(counters: &Counters, error: &CallError) {
    match error {
        CallError::NoProcess { .. } | CallError::Full { .. } | CallError::NoWorkers { .. } => {
            call_refused::<K>(counters);
        }
        CallError::Terminated { .. }
        | CallError::NotBegun { .. }
        | CallError::NoReply { .. }
        | CallError::Deadlock(_)
        | CallError::CallsItself(_) => {}
        other => {
            counters.record_loss_if(true, || format!("an unexpected error of a call: {other}"));
        }
    }
}

impl<K: Kind> Actor for Worker<K> {
    type Message = Job<K>;

    async fn init(&mut self, ctx: &mut Context<Job<K>>) -> Result {
        ctx.alias();
        if self.counters.is_storming() && ctx.random().is_multiple_of(64) {
            return Err(Reason::error("no start"));
        }
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Job<K>>, job: Job<K>) -> Result {
        match job {
            Job::Work(message) => {
                message.handled();
                self.work(ctx).await;
            }
            Job::Pass(message) => {
                message.handled();
                self.pass(ctx);
            }
            Job::Ask(message, reply) => {
                message.handled();
                reply.send(ctx.pid());
            }
            Job::Panic(message) => {
                message.handled();
                // Like a panic, but without its message on stderr.
                resume_unwind(Box::new("planned"));
            }
            Job::End(message, reason) => {
                message.handled();
                return Err(reason);
            }
            Job::Tick(tick) => tick.fires(ctx.now()),
        }
        Ok(())
    }
}
