//! The tree that is stormed: a root, four supervisors of all strategies, and their children.

use crate::ledger::{Ledger, Letter, Life, Post};
use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use krarup::supervisor::{BackOff, ChildId, ChildTemplate, Ignore};
use std::panic::resume_unwind;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What a worker is sent.
pub(crate) enum Job {
    Work(Letter),
    Ask(Reply<Pid>),
    Panic(Letter),
    End(Letter, Reason),
    /// Never comes: its timer is longer than the test.
    Tick,
}

impl Job {
    pub(crate) fn returned(self) {
        if let Job::Work(letter) | Job::Panic(letter) | Job::End(letter, _) = self {
            letter.returned();
        }
    }
}

const NEVER: Duration = Duration::from_hours(1);

fn handle(ctx: &mut Context<Job>, job: Job) -> Result {
    match job {
        Job::Work(letter) => {
            letter.handled();
            ctx.send_after(NEVER, Job::Tick);
        }
        Job::Ask(reply) => reply.send(ctx.pid()),
        Job::Panic(letter) => {
            letter.handled();
            // As a panic, without its lines on the screen.
            resume_unwind(Box::new("planned"));
        }
        Job::End(letter, reason) => {
            letter.handled();
            return Err(reason);
        }
        Job::Tick => return Err(Reason::error("a timer of another process")),
    }
    Ok(())
}

/// While it storms, one start in 16 fails, and one in 64 has nothing to do.
fn start(ctx: &mut Context<Job>, ledger: &Ledger, post: Post) -> Result<Life> {
    let life = ledger.born(ctx.parent().expect("a child"), post);
    ctx.alias();
    let chance = ctx.random() % 64;
    match ledger.is_storming.load(Ordering::SeqCst) {
        true if chance < 4 => Err(Reason::error("no start")),
        true if chance == 4 => Err(Ignore::reason()),
        _ => Ok(life),
    }
}

pub(crate) struct Worker {
    ledger: Ledger,
    post: Post,
    life: Option<Life>,
}

impl Worker {
    pub(crate) fn new(ledger: &Ledger, post: Post) -> Self {
        Worker { ledger: ledger.clone(), post, life: None }
    }
}

impl Actor for Worker {
    type Message = Job;

    async fn init(&mut self, ctx: &mut Context<Job>) -> Result {
        self.life = Some(start(ctx, &self.ledger, self.post)?);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
        handle(ctx, job)
    }

    async fn terminate(&mut self, _: &mut Context<Job>, reason: &Reason) {
        // Nobody but a supervisor says so in a storm.
        if let (Some(life), Reason::Shutdown) = (&self.life, reason) {
            self.ledger.stopped(life);
        }
    }
}

fn bare(
    ledger: Ledger,
    post: Post,
) -> impl krarup::behavior::Behavior<Message = Job, Command = Job> {
    behavior_fn(move |mut ctx: Context<Job>| async move {
        let _life = start(&mut ctx, &ledger, post)?;
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

/// The index of a child that is on the ledger.
pub(crate) fn post(group: &'static str, id: &ChildId) -> Option<Post> {
    let index = IDS.iter().chain(&[SPARE]).position(|other| *id == *other)?;
    let in_order = group != "each";
    (*id != "pool").then_some(Post { group, index, at_most: 1, in_order })
}

pub(crate) fn spare(ledger: &Ledger, group: &'static str) -> ChildSpec {
    worker(ledger, group, SPARE).restart(RestartType::Transient)
}

fn worker(ledger: &Ledger, group: &'static str, id: &'static str) -> ChildSpec {
    let post = post(group, &id.into()).expect("an id of a worker");
    let ledger = ledger.clone();
    ChildSpec::worker(id, move || Worker::new(&ledger, post))
}

fn back_off() -> BackOff {
    BackOff::new(Duration::from_micros(50), Duration::from_millis(1)).jitter(0.5)
}

fn group(ledger: &Ledger, group: &'static str) -> Supervisor {
    let (empty, b) = match group {
        "all" => (Supervisor::one_for_all(), worker(ledger, group, "b")),
        "rest" => (Supervisor::rest_for_one(), worker(ledger, group, "b")),
        _ => {
            let (post, ledger) = (post(group, &"b".into()).expect("b"), ledger.clone());
            let b = ChildSpec::worker_in_place("b", move || Worker::new(&ledger, post));
            (Supervisor::one_for_one(), b)
        }
    };
    let (of_pool, of_bare) = (ledger.clone(), ledger.clone());
    let slot = Post { group: "pool", index: 0, at_most: POOL_SIZE, in_order: false };
    let pool = ChildSpec::supervisor("pool", move || {
        let ledger = of_pool.clone();
        Pool::new(POOL_SIZE, move || Worker::new(&ledger, slot)).mailbox(4)
    });
    let post = post(group, &"bare".into()).expect("bare");
    let bare = ChildSpec::worker("bare", move || bare(of_bare.clone(), post));
    // Some of them give up in a storm, and the root starts them again.
    empty
        .intensity(40, Duration::from_millis(5))
        .child(worker(ledger, group, "a").name(format!("{group}.a")).back_off(back_off()))
        .child(b.name(format!("{group}.b")))
        .child(pool.name(format!("{group}.pool")))
        .child(bare.name(format!("{group}.bare")))
        .child(worker(ledger, group, "c").restart(RestartType::Transient))
}

fn simple(ledger: &Ledger) -> Supervisor<usize> {
    let ledger = ledger.clone();
    let template = ChildTemplate::worker("dynamic", move |index| {
        let post = Post { group: SIMPLE, index, at_most: 1, in_order: false };
        Worker::new(&ledger, post)
    });
    Supervisor::simple_one_for_one(template.restart(RestartType::Transient))
        .intensity(40, Duration::from_millis(5))
}

pub(crate) fn root(ledger: &Ledger) -> Supervisor {
    let groups = GROUPS.map(|name| {
        let ledger = ledger.clone();
        ChildSpec::supervisor(name, move || group(&ledger, name)).name(name)
    });
    let ledger = ledger.clone();
    let simple = ChildSpec::supervisor(SIMPLE, move || simple(&ledger)).name(SIMPLE);
    let root = Supervisor::one_for_one().intensity(u32::MAX, Duration::from_secs(1));
    groups.into_iter().fold(root, Supervisor::child).child(simple)
}
