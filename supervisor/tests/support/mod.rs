//! The test environment for supervisors: a simulation, a log of what the children did, and
//! workers whose next starts can be planned.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "every test file is a crate of its own and uses a part of this"
)]

use krarup_act::{Actor, Address, AddressOf, Behavior, Context};
use krarup_gen::{Exit, Pid, Reason, Result, SpawnError};
use krarup_node::Simulation;
use krarup_supervisor::{ChildSpec, Ignore, Supervisor, SupervisorAddress, SupervisorCalls};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The outcome of the next start of a worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    Well,
    Ignore,
    Fail,
    Panic,
    Never,
    /// Succeeds after this time.
    WellLate(Duration),
    /// Fails after this time, while its supervisor waits.
    FailLate(Duration),
}

#[derive(Default)]
pub struct Shared {
    log: Vec<String>,
    starts: HashMap<String, VecDeque<Start>>,
}

pub struct Stage {
    pub sim: Simulation,
    shared: Arc<Mutex<Shared>>,
}

impl Stage {
    pub fn new() -> Self {
        Stage::with_seed(1)
    }

    pub fn with_seed(seed: u64) -> Self {
        Stage { sim: Simulation::new(seed), shared: Arc::default() }
    }

    pub fn shared(&self) -> Arc<Mutex<Shared>> {
        Arc::clone(&self.shared)
    }

    /// A child that logs its life, and has its id as its name.
    pub fn child(&self, id: &str) -> ChildSpec {
        ChildSpec::worker(id, self.factory(id, Habits::default())).name(id)
    }

    pub fn child_with(&self, id: &str, habits: Habits) -> ChildSpec {
        ChildSpec::worker(id, self.factory(id, habits)).name(id)
    }

    /// The same, restarted in place.
    pub fn child_in_place(&self, id: &str) -> ChildSpec {
        ChildSpec::worker_in_place(id, self.factory(id, Habits::default())).name(id)
    }

    pub fn factory(&self, id: &str, habits: Habits) -> impl Fn() -> Worker + Send + Sync + 'static {
        let (id, shared) = (id.to_owned(), Arc::clone(&self.shared));
        move || Worker::new(&id, Arc::clone(&shared), habits)
    }

    /// Plans the next starts of a worker; later starts succeed.
    pub fn plan(&self, id: &str, starts: &[Start]) {
        let mut shared = self.shared.lock().unwrap();
        shared.starts.insert(id.to_owned(), starts.iter().copied().collect());
    }

    /// The log since the last call.
    pub fn log(&self) -> String {
        std::mem::take(&mut self.shared.lock().unwrap().log).join(", ")
    }

    /// Spawns a supervisor and clears the log of its children's starts.
    pub fn supervisor<T, F>(&self, factory: F) -> SupervisorAddress<T>
    where
        T: Send + 'static,
        F: FnOnce() -> Supervisor<T> + Send + 'static,
    {
        let address = self.sim.spawn(factory).wait().expect("the supervisor starts");
        self.log();
        address
    }

    pub fn start<B, F>(&self, factory: F) -> Result<AddressOf<B>, SpawnError>
    where
        B: Behavior,
        F: FnOnce() -> B + Send + 'static,
    {
        self.sim.spawn(factory).wait()
    }

    pub fn worker(&self, name: &str) -> Address<Do> {
        self.sim.lookup(name).expect("a worker of this name")
    }

    pub fn pid(&self, name: &str) -> Pid {
        self.sim.whereis(name).expect("a process of this name")
    }

    /// Tells a worker to do something, and runs the simulation until it is idle.
    pub fn tell(&self, name: &str, what: Do) {
        self.worker(name).send(what).expect("a living worker");
        self.sim.run_until_idle();
    }

    pub fn crash(&self, name: &str) {
        self.tell(name, Do::Fail);
    }

    pub fn pass(&self, time: Duration) {
        self.sim.advance(time);
    }
}

/// The children as `which_children` lists them, in start order.
pub fn children_text<T: Send + 'static>(supervisor: &SupervisorAddress<T>) -> String {
    let mut children_text = supervisor.which_children().wait().expect("a living supervisor");
    children_text.reverse();
    let text = children_text.iter().map(|kid| match kid.state.pid() {
        Some(_) => kid.id.to_string(),
        None => format!("{}:{}", kid.id, kid.state),
    });
    text.collect::<Vec<_>>().join(" ")
}

/// The habits of a worker.
#[derive(Clone, Copy, Default)]
pub struct Habits {
    pub trap: bool,
    /// `terminate` takes this long.
    pub slow: Option<Duration>,
}

/// The messages to a worker.
#[derive(Clone, Debug)]
pub enum Do {
    Fail,
    Panic,
    Unlink(Pid),
    Signal(Pid),
    End(Reason),
}

pub struct Worker {
    id: String,
    shared: Arc<Mutex<Shared>>,
    habits: Habits,
}

impl Worker {
    pub fn new(id: &str, shared: Arc<Mutex<Shared>>, habits: Habits) -> Self {
        Worker { id: id.to_owned(), shared, habits }
    }

    fn note(&self, what: &str) {
        self.shared.lock().unwrap().log.push(format!("{what} {}", self.id));
    }
}

impl Actor for Worker {
    type Message = Do;

    async fn init(&mut self, ctx: &mut Context<Do>) -> Result {
        ctx.trap_exits(self.habits.trap);
        let next = {
            let mut shared = self.shared.lock().unwrap();
            let planned = shared.starts.get_mut(&self.id).and_then(VecDeque::pop_front);
            planned.unwrap_or(Start::Well)
        };
        match next {
            Start::Well => self.note("start"),
            Start::Ignore => {
                self.note("ignore");
                return Err(Ignore::reason());
            }
            Start::Fail => {
                self.note("fail");
                return Err(Reason::error("no"));
            }
            Start::Panic => {
                self.note("panic");
                panic!("oops");
            }
            Start::WellLate(time) => {
                ctx.sleep(time).await;
                self.note("start");
            }
            Start::FailLate(time) => {
                ctx.sleep(time).await;
                self.note("fail");
                return Err(Reason::error("no"));
            }
            Start::Never => {
                self.note("hang");
                std::future::pending::<()>().await;
            }
        }
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Do>, what: Do) -> Result {
        match what {
            Do::Fail => Err(Reason::error("boom")),
            Do::Panic => panic!("oops"),
            Do::Unlink(pid) => {
                ctx.unlink(pid);
                Ok(())
            }
            Do::Signal(pid) => {
                ctx.exit(pid, Reason::error("signal"));
                Ok(())
            }
            Do::End(reason) => Err(reason),
        }
    }

    async fn handle_exit(&mut self, _ctx: &mut Context<Do>, _exit: Exit) -> Result {
        Ok(())
    }

    async fn before_restart(&mut self, _ctx: &mut Context<Do>, reason: &Reason) {
        self.note(&format!("[{reason}]"));
    }

    async fn terminate(&mut self, ctx: &mut Context<Do>, reason: &Reason) {
        match reason {
            Reason::Shutdown => self.note("stop"),
            reason => self.note(&format!("({reason})")),
        }
        if let Some(time) = self.habits.slow {
            ctx.sleep(time).await;
            self.note("stopped");
        }
    }
}
