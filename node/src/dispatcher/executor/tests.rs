//! Tests of the dispatcher on an executor.

use super::*;
use crate::core::Core;
use crate::dispatcher::any::Dispatcher;
use crate::options::{DEFAULT, DispatcherOptions};
use crate::side_threads::blocking::Blocking;
use crate::timers::clock::Clock;
use krarup_act::{Address, Context, Host, Spawn, behavior_fn};
use krarup_gen::Name;
use parking_lot::Mutex;

/// Refuses tasks while `refuses` is set, and otherwise keeps them for the test.
#[derive(Clone, Default)]
struct TaskList {
    refuses: Arc<AtomicBool>,
    tasks: Arc<Mutex<Vec<ExecutorTask>>>,
}

impl Executor for TaskList {
    fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
        if self.refuses.load(Ordering::Relaxed) {
            return Err(task);
        }
        self.tasks.lock().push(task);
        Ok(())
    }
}

/// Fires the node's next timer when it is due, in virtual time. Returns after how many
/// milliseconds that is.
fn fire_next(core: &Core) -> u128 {
    let begun = core.clock.now();
    loop {
        let due = core.timers.next_due().unwrap();
        core.clock.advance_to(due);
        if core.timers.fire(due) {
            return due.since(begun).as_millis();
        }
    }
}

#[test]
fn r7_a_refused_process_is_offered_again_after_doubling_delays_until_a_task_runs() {
    let list = TaskList::default();
    let name = Name::new("executor").unwrap();
    let core = Core::new(name, 1, Clock::simulated(), Blocking::none());
    let around = Arc::new(|work: &mut dyn FnMut()| work()) as _;
    let setup = DispatcherOptions::new().setup(DEFAULT, &core, &around);
    let executor = ExecutorDispatcher::new(setup, Arc::new(list.clone()));
    let host = core.settle(DEFAULT, DEFAULT, Dispatcher::Executor(Arc::clone(&executor)));
    let process = behavior_fn(|mut ctx: Context<()>| async move {
        loop {
            ctx.receive().await;
        }
    });
    let host = host as Arc<dyn Host>;
    let process: Address<()> = Spawn::outside(host, move || process).start().unwrap();
    let run = || {
        list.tasks.lock().drain(..).collect::<Vec<_>>().into_iter().for_each(ExecutorTask::run);
    };
    run();
    for _ in 0..2 {
        list.refuses.store(true, Ordering::Relaxed);
        process.send(()).unwrap();
        // This timer is not counted among the node's timers.
        assert!(core.timers.next_due().is_some());
        assert_eq!(core.stats().timers, 0);
        let waits: Vec<_> = (0..9).map(|_| fire_next(&core)).collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 1280, 1280]);
        // A task has run, so the delay starts again at the first value.
        list.refuses.store(false, Ordering::Relaxed);
        fire_next(&core);
        assert!(core.timers.next_due().is_none());
        run();
    }
    assert_eq!((process.info().handled, executor.stats().refused), (2, 20));
    process.process().kill();
    run();
    assert!(!process.is_alive());
    core.timers.stop();
    core.clear_homes();
}
