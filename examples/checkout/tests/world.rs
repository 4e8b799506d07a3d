//! Where a statement is tested: in a simulation or on a node; and the workers of its pools.

use crate::calls::{CheckoutAddress, CheckoutCalls};
use crate::machine::Checkout;
use crate::status::CheckoutStatus;
use krarup::prelude::*;
use krarup::{Machine, Task};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Longer than anything here takes.
pub(super) const LONG: Duration = Duration::from_secs(60);

/// Looks that a thread takes before it says that something never comes true.
const MANY: usize = 200_000;

/// Where a statement is tested.
pub(super) enum World {
    /// In the order of a seed, in virtual time.
    Simulated(Simulation),
    /// On threads.
    Real(Node),
}

impl World {
    /// Runs a statement in simulations of many seeds.
    pub(super) fn simulate(statement: impl Fn(&World)) {
        for seed in 0..40 {
            statement(&World::Simulated(Simulation::new(seed)));
            statement(&World::Simulated(Simulation::with_throughput(seed, 1)));
        }
    }

    /// Runs a statement on the threads of a node.
    pub(super) fn run(statement: impl Fn(&World)) {
        let node = Node::builder("checkout@localhost").workers(3).start().unwrap();
        let world = World::Real(node);
        statement(&world);
        world.stop().wait().unwrap();
    }

    /// Returns when the condition is true. It becomes true without further help.
    pub(super) fn until(&self, what: &str, mut is_true: impl FnMut() -> bool) {
        match self {
            World::Simulated(sim) => {
                sim.run_until_idle();
                assert!(is_true(), "never: {what}");
            }
            World::Real(_) => {
                for _ in 0..MANY {
                    if is_true() {
                        return;
                    }
                    // Somebody else has a turn.
                    self.task(async {}).wait().unwrap();
                }
                panic!("never: {what}");
            }
        }
    }

    /// Returns when the pool has this many that are free, leased and waiting.
    pub(super) fn settle(&self, pool: &Pool, free: usize, leased: usize, waiting: usize) {
        let mut last = None;
        self.until("the counts", || {
            let status = status(pool);
            let counts = (status.free, status.leased, status.waiting);
            last = Some(status);
            // The processes of workers that end are gone, too.
            counts == (free, leased, waiting) && pool.staff.alive() == status.workers
        });
    }

    /// A caller that waits for a lease beside the test.
    pub(super) fn caller(&self, pool: &Pool) -> Task<Outcome> {
        let address = pool.address.clone();
        self.task(async move { address.lease(LONG).await }).start().unwrap()
    }
}

/// What a caller gets.
pub(super) type Outcome = Result<crate::lease::Lease<Ask>, crate::errors::LeaseError>;

impl Deref for World {
    type Target = Node;

    fn deref(&self) -> &Node {
        match self {
            World::Simulated(sim) => sim,
            World::Real(node) => node,
        }
    }
}

/// Asks a pool how it is. Whatever it says, each worker is free or leased.
pub(super) fn status(pool: &Pool) -> CheckoutStatus {
    let status = pool.address.status().wait().unwrap();
    assert_eq!(status.free + status.leased, status.workers, "{status:?}");
    status
}

/// A pool, and what its workers have in common.
pub(super) struct Pool {
    pub(super) address: CheckoutAddress<Ask>,
    pub(super) staff: Staff,
}

impl Deref for Pool {
    type Target = CheckoutAddress<Ask>;

    fn deref(&self) -> &CheckoutAddress<Ask> {
        &self.address
    }
}

/// Spawns a pool of clerks.
pub(super) fn pool(world: &World, size: usize, overflow: usize) -> Pool {
    pool_of(world, size, overflow, |checkout| checkout)
}

/// Spawns a pool of clerks with other settings.
pub(super) fn pool_of(
    world: &World,
    size: usize,
    overflow: usize,
    set: impl FnOnce(Clerks) -> Clerks + Send + 'static,
) -> Pool {
    let staff = Staff::default();
    let hired = staff.clone();
    let make: Hire = Box::new(move || hired.hire());
    let checkout = move || Machine::new(set(Checkout::new(size, overflow, make)));
    Pool { address: world.spawn(checkout).wait().unwrap(), staff }
}

/// Makes a clerk.
pub(super) type Hire = Box<dyn Fn() -> Clerk + Send + Sync>;

/// The settings of a pool of clerks.
pub(super) type Clerks = Checkout<Clerk, Hire>;

/// What all workers of a pool have in common.
#[derive(Clone, Default)]
pub(super) struct Staff {
    alive: Arc<AtomicUsize>,
    journal: Arc<Mutex<Vec<String>>>,
    /// Whether new workers fail in their `init`.
    pub(super) fails: Arc<AtomicBool>,
    /// How long the `init` of a new worker takes, in milliseconds.
    pub(super) init_ms: Arc<AtomicUsize>,
    /// Whether workers never come to an end by themselves.
    pub(super) lingers: Arc<AtomicBool>,
}

impl Staff {
    pub(super) fn hire(&self) -> Clerk {
        self.alive.fetch_add(1, Ordering::SeqCst);
        Clerk { staff: self.clone() }
    }

    /// How many processes of workers there are.
    pub(super) fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }

    pub(super) fn note(&self, line: &str) {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
    }

    /// What was noted since this was asked last.
    pub(super) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.journal.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A request to a worker.
pub(super) enum Ask {
    /// Notes a line in the journal.
    Note(&'static str),
    /// Waits until the gate is open.
    Wait(Address<AtGate>),
    /// Is answered when the gate is open.
    Pass(Address<AtGate>, Reply<&'static str>),
    /// The worker fails.
    Fail,
}

/// A worker.
pub(super) struct Clerk {
    staff: Staff,
}

impl Actor for Clerk {
    type Message = Ask;

    async fn init(&mut self, ctx: &mut Context<Ask>) -> Result {
        let time = self.staff.init_ms.load(Ordering::SeqCst);
        if time > 0 {
            ctx.sleep(Duration::from_millis(time as u64)).await;
        }
        if self.staff.fails.load(Ordering::SeqCst) {
            return Err(Reason::error("no clerk is to be had"));
        }
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Ask>, ask: Ask) -> Result {
        match ask {
            Ask::Note(line) => self.staff.note(line),
            Ask::Wait(gate) => gate.call(AtGate::Pass).no_timeout().await?,
            Ask::Pass(gate, reply) => {
                gate.call(AtGate::Pass).no_timeout().await?;
                reply.send("passed");
            }
            Ask::Fail => return Err(Reason::error("told to fail")),
        }
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<Ask>, _: &Reason) {
        if self.staff.lingers.load(Ordering::SeqCst) {
            ctx.sleep(Duration::from_secs(1_000)).await;
        }
        self.staff.note("ended in order");
    }
}

impl Drop for Clerk {
    fn drop(&mut self) {
        self.staff.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What a gate is told: whoever wants to pass waits until it is open.
pub(super) enum AtGate {
    Pass(Reply<()>),
    Open,
}

/// A gate. It stays open.
#[derive(Default)]
struct Gate {
    open: bool,
    waiting: Vec<Reply<()>>,
}

impl Actor for Gate {
    type Message = AtGate;

    async fn handle_message(&mut self, _: &mut Context<AtGate>, message: AtGate) -> Result {
        match message {
            AtGate::Pass(reply) => self.waiting.push(reply),
            AtGate::Open => self.open = true,
        }
        if self.open {
            self.waiting.drain(..).for_each(|reply| reply.send(()));
        }
        Ok(())
    }
}

/// Spawns a gate that is closed.
pub(super) fn gate(world: &World) -> Address<AtGate> {
    world.spawn(Gate::default).wait().unwrap()
}

/// Makes two tests of a statement: in a simulation, and on a node.
macro_rules! statements {
    ($($name:ident)*) => {
        mod in_a_simulation {
            $(#[test]
            fn $name() {
                crate::tests::world::World::simulate(super::$name);
            })*
        }

        mod on_a_node {
            $(#[test]
            fn $name() {
                crate::tests::world::World::run(super::$name);
            })*
        }
    };
}
pub(super) use statements;
