//! The tree under load: a root, four supervisors of all strategies, and their children.

use crate::record::{ChildPosition, CountedMessage, Incarnation, StormRecord};
use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use krarup::supervisor::{BackOff, ChildId, ChildTemplate, Ignore};
use std::panic::resume_unwind;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What a worker is sent.
pub(crate) enum Job {
    Work(CountedMessage),
    Ask(Reply<Pid>),
    Panic(CountedMessage),
    End(CountedMessage, Reason),
    /// Never arrives: its timer is longer than the test.
    Tick,
}

impl Job {
    pub(crate) fn returned(self) {
        if let Job::Work(message) | Job::Panic(message) | Job::End(message, _) = self {
            message.returned();
        }
    }
}

const NEVER: Duration = Duration::from_secs(3600);

fn handle(ctx: &mut Context<Job>, job: Job) -> Result {
    match job {
        Job::Work(message) => {
            message.handled();
            ctx.send_after(NEVER, Job::Tick);
        }
        Job::Ask(reply) => reply.send(ctx.pid()),
        Job::Panic(message) => {
            message.handled();
            // Like a panic, but without its message on stderr.
            resume_unwind(Box::new("planned"));
        }
        Job::End(message, reason) => {
            message.handled();
            return Err(reason);
        }
        Job::Tick => return Err(Reason::error("a timer of another process")),
    }
    Ok(())
}

/// While it storms, one start in 16 fails, and one in 64 has nothing to do.
fn start(
    ctx: &mut Context<Job>,
    record: &StormRecord,
    position: ChildPosition,
) -> Result<Incarnation> {
    let incarnation = record.started(ctx.parent().expect("a child"), position);
    ctx.alias();
    let chance = ctx.random() % 64;
    match record.is_storming.load(Ordering::SeqCst) {
        true if chance < 4 => Err(Reason::error("no start")),
        true if chance == 4 => Err(Ignore::reason()),
        _ => Ok(incarnation),
    }
}

pub(crate) struct Worker {
    record: StormRecord,
    position: ChildPosition,
    incarnation: Option<Incarnation>,
}

impl Worker {
    pub(crate) fn new(record: &StormRecord, position: ChildPosition) -> Self {
        Worker { record: record.clone(), position, incarnation: None }
    }
}

impl Actor for Worker {
    type Message = Job;

    async fn init(&mut self, ctx: &mut Context<Job>) -> Result {
        self.incarnation = Some(start(ctx, &self.record, self.position)?);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
        handle(ctx, job)
    }

    async fn terminate(&mut self, _: &mut Context<Job>, reason: &Reason) {
        // In a storm only a supervisor stops a worker with this reason.
        if let (Some(incarnation), Reason::Shutdown) = (&self.incarnation, reason) {
            self.record.stopped(incarnation);
        }
    }
}

fn bare(
    record: StormRecord,
    position: ChildPosition,
) -> impl krarup::behavior::Behavior<Message = Job, Command = Job> {
    behavior_fn(move |mut ctx: Context<Job>| async move {
        let _life = start(&mut ctx, &record, position)?;
        loop {
            match ctx.receive().await {
                Received::Message(job) => handle(&mut ctx, job)?,
                Received::Stop(reason) => return Err(reason),
                Received::Finish => return Ok(()),
                _ => {}
            }
        }
    })
}

/// The supervisors below the root, and those of them whose children are started and stopped
/// together.
pub(crate) const GROUPS: [&str; 3] = ["each", "all", "rest"];
pub(crate) const SIMPLE: &str = "simple";
/// The children of each of the first three, in start order. `pool` is one of three workers.
pub(crate) const IDS: [&str; 5] = ["a", "b", "pool", "bare", "c"];
/// A child that comes and goes.
pub(crate) const SPARE: &str = "spare";
pub(crate) const POOL_SIZE: usize = 3;

/// The position of a child that is recorded.
pub(crate) fn position(group: &'static str, id: &ChildId) -> Option<ChildPosition> {
    let index = IDS.iter().chain(&[SPARE]).position(|other| *id == *other)?;
    let in_order = group != "each";
    (*id != "pool").then_some(ChildPosition { group, index, at_most: 1, in_order })
}

pub(crate) fn spare(record: &StormRecord, group: &'static str) -> ChildSpec {
    worker(record, group, SPARE).restart(RestartType::Transient)
}

fn worker(record: &StormRecord, group: &'static str, id: &'static str) -> ChildSpec {
    let position = position(group, &id.into()).expect("an id of a worker");
    let record = record.clone();
    ChildSpec::worker(id, move || Worker::new(&record, position))
}

fn back_off() -> BackOff {
    BackOff::new(Duration::from_micros(50), Duration::from_millis(1)).jitter(0.5)
}

fn group(record: &StormRecord, group: &'static str) -> Supervisor {
    let (empty, b) = match group {
        "all" => (Supervisor::one_for_all(), worker(record, group, "b")),
        "rest" => (Supervisor::rest_for_one(), worker(record, group, "b")),
        _ => {
            let (position, record) = (position(group, &"b".into()).expect("b"), record.clone());
            let b = ChildSpec::worker_in_place("b", move || Worker::new(&record, position));
            (Supervisor::one_for_one(), b)
        }
    };
    let (of_pool, of_bare) = (record.clone(), record.clone());
    let slot = ChildPosition { group: "pool", index: 0, at_most: POOL_SIZE, in_order: false };
    let pool = ChildSpec::supervisor("pool", move || {
        let record = of_pool.clone();
        Pool::new(POOL_SIZE, move || Worker::new(&record, slot)).mailbox(4)
    });
    let position = position(group, &"bare".into()).expect("bare");
    let bare = ChildSpec::worker("bare", move || bare(of_bare.clone(), position));
    // Some of them give up in a storm, and the root starts them again.
    empty
        .intensity(40, Duration::from_millis(5))
        .child(worker(record, group, "a").name(format!("{group}.a")).back_off(back_off()))
        .child(b.name(format!("{group}.b")))
        .child(pool.name(format!("{group}.pool")))
        .child(bare.name(format!("{group}.bare")))
        .child(worker(record, group, "c").restart(RestartType::Transient))
}

fn simple(record: &StormRecord) -> Supervisor<usize> {
    let record = record.clone();
    let template = ChildTemplate::worker("dynamic", move |index| {
        let position = ChildPosition { group: SIMPLE, index, at_most: 1, in_order: false };
        Worker::new(&record, position)
    });
    Supervisor::simple_one_for_one(template.restart(RestartType::Transient))
        .intensity(40, Duration::from_millis(5))
}

pub(crate) fn root(record: &StormRecord) -> Supervisor {
    let groups = GROUPS.map(|name| {
        let record = record.clone();
        ChildSpec::supervisor(name, move || group(&record, name)).name(name)
    });
    let record = record.clone();
    let simple = ChildSpec::supervisor(SIMPLE, move || simple(&record)).name(SIMPLE);
    let root = Supervisor::one_for_one().intensity(u32::MAX, Duration::from_secs(1));
    groups.into_iter().fold(root, Supervisor::child).child(simple)
}
