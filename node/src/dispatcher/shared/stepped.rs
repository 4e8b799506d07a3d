//! A worker that is stepped by hand, without threads and in virtual time. The tests check turn
//! by turn what it takes and in which order (seeds M12, M13, M35).
//!
//! All code is the real code except the surrounding loop, which here does not search and wait.
//! The test's thread is worker 0 of a dispatcher whose other workers do not run, and work from
//! outside comes from a thread that ends at once.

use super::{AT, LOCAL, Local, RunQueue, Searcher, SharedDispatcher, TakeCount};
use crate::core::{Core, DispatcherHost};
use crate::dispatcher::any::Dispatcher;
use crate::dispatcher::process_barrier;
use crate::dispatcher::steal_policy::StealPolicy;
use crate::options::{DEFAULT, DispatcherOptions};
use crate::side_threads::blocking::Blocking;
use crate::timers::clock::Clock;
use krarup_act::{Address, Context, Host, Ready, Spawn, behavior_fn};
use krarup_gen::{Class, Name, Pid, WorkerStats};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;

mod flooders;
mod private;
mod rotation;
mod searching;
mod spawn_times;
mod starvation;
mod taking;

/// Runs a test as worker 0. A thread becomes a worker only once.
fn as_worker(options: DispatcherOptions, test: impl FnOnce(&mut SteppedWorker) + Send + 'static) {
    let run = move || {
        let mut stepped = SteppedWorker::new(&options);
        test(&mut stepped);
        stepped.clear();
    };
    if let Err(panic) = thread::spawn(run).join() {
        std::panic::resume_unwind(panic);
    }
}

struct SteppedWorker {
    nursery: SpawnQueue,
    shared: Arc<SharedDispatcher>,
    /// The queues of the workers that do not run.
    others: Vec<RunQueue<Ready>>,
    takes: TakeCount,
    policy: StealPolicy,
}

/// Spawns the processes of a test, on any thread.
struct SpawnQueue {
    core: Arc<Core>,
    host: Arc<DispatcherHost>,
    /// The numbers that processes have logged.
    log: Arc<Mutex<Vec<usize>>>,
}

impl SpawnQueue {
    /// Spawns a process that logs this number for each message, and calls `work`.
    fn spawn_with(
        &self,
        number: usize,
        class: Class,
        work: impl Fn(&Address<()>, &Core) + Send + 'static,
    ) -> Address<()> {
        let (log, core) = (Arc::clone(&self.log), Arc::clone(&self.core));
        let process = behavior_fn(move |mut ctx: Context<()>| async move {
            loop {
                ctx.receive().await;
                log.lock().unwrap().push(number);
                work(&ctx.address(), &core);
            }
        });
        let host: Arc<dyn Host> = Arc::clone(&self.host) as Arc<dyn Host>;
        Spawn::outside(host, move || process).class(class).start().unwrap()
    }

    /// Spawns normal processes, each with this many messages.
    fn flood(&self, numbers: Range<usize>, messages: usize) {
        for number in numbers {
            self.flooded(number, Class::Normal, messages);
        }
    }

    /// Spawns a process with this many messages.
    fn flooded(&self, number: usize, class: Class, messages: usize) -> Pid {
        let process = self.spawn_with(number, class, |_, _| {});
        (0..messages).for_each(|_| process.send(()).unwrap());
        process.pid()
    }
}

impl SteppedWorker {
    fn new(options: &DispatcherOptions) -> Self {
        process_barrier::prepare();
        let name = Name::new("stepped").unwrap();
        let core = Core::new(name, 1, Clock::simulated(), Blocking::none());
        let setup =
            options.setup(DEFAULT, &core, &(Arc::new(|work: &mut dyn FnMut()| work()) as _));
        let (shared, mut queues, _) = SharedDispatcher::make(setup);
        let host = core.settle(DEFAULT, DEFAULT, Dispatcher::Shared(Arc::clone(&shared)));
        let queue = queues.remove(0);
        AT.set(Arc::as_ptr(&shared).addr());
        LOCAL.with(|local| local.set(Local { index: 0, queue }).ok().unwrap());
        let nursery = SpawnQueue { core, host, log: Arc::default() };
        let (takes, policy) = (TakeCount::new(), StealPolicy::default());
        SteppedWorker { nursery, shared, others: queues, takes, policy }
    }

    /// Runs `work` on a thread that is not a worker.
    fn outside<T: Send>(&self, work: impl FnOnce(&SpawnQueue) -> T + Send) -> T {
        let nursery = &self.nursery;
        thread::scope(|scope| scope.spawn(|| work(nursery)).join().unwrap())
    }

    fn steps(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.step();
        }
    }

    /// Runs one round of a worker's loop without searching. Returns the process whose turn it
    /// ran, if that was a normal one.
    fn step(&mut self) -> Option<Pid> {
        LOCAL.with(|local| {
            let (local, shared) = (local.get().unwrap(), &self.shared);
            let counters = &shared.counters[0];
            if shared.priority_queue.calls() && !shared.run_high(0, &mut false) {
                return None;
            }
            let near = shared.take_near(local, &mut self.takes);
            let ready = near.or_else(|| shared.take_injected(local))?;
            let pid = ready.pid();
            counters.count_turn();
            if let Some(again) = ready.run_at(&shared.setup.limits, counters.slot()) {
                shared.push_again(local, again);
            }
            Some(pid)
        })
    }

    fn run_until_idle(&mut self) {
        while self.step().is_some() || self.shared.priority_queue.calls() {}
    }

    fn taken(&self) -> Vec<usize> {
        std::mem::take(&mut *self.nursery.log.lock().unwrap())
    }

    fn queued(&self) -> (usize, usize, Vec<usize>) {
        let own = LOCAL.with(|local| local.get().unwrap().queue.len());
        (own, self.shared.injector.len(), self.others.iter().map(RunQueue::len).collect())
    }

    fn worker(&self) -> WorkerStats {
        self.shared.stats().each[0]
    }

    fn clear(&mut self) {
        let core = Arc::clone(&self.nursery.core);
        core.registry.close();
        for process in core.registry.all() {
            process.kill();
        }
        while self.step().is_some() {}
        self.shared.signal_stop();
        self.shared.clear();
        core.timers.stop();
        core.clear_homes();
    }
}

fn options(workers: usize) -> DispatcherOptions {
    DispatcherOptions::new().workers(workers).spare_workers(0)
}
