//! Processes whose state is not `Send` (rule R8).

use krarup::behavior::{Received, behavior_fn, local_behavior_fn, made_by};
use krarup::dispatcher::{Class, DispatcherOptions, Executor, ExecutorTask};
use krarup::grains::{GrainCalls, Grains};
use krarup::prelude::*;
use krarup::supervisor::{PartitionLookup, Partitions};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{self, Poll};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// What a counting process is told.
enum Count {
    Add(u64),
    Sum(Reply<u64>),
    /// Waits for this long before the next message.
    Rest(Duration),
    /// Blocks its thread until another one has been here twice.
    Block(Arc<Barrier>),
    Panic,
}

/// Where the state of a process was made and where it was dropped.
type Threads = mpsc::Sender<(&'static str, ThreadId)>;

/// A sum whose destructor panics.
const POISON: u64 = 666;

/// State that no other thread may touch: neither `Send` nor `Sync`.
struct LocalSum {
    sum: Rc<RefCell<u64>>,
    threads: Threads,
}

impl LocalSum {
    fn new(threads: Threads) -> Self {
        threads.send(("made", thread::current().id())).unwrap();
        LocalSum { sum: Rc::default(), threads }
    }
}

impl Drop for LocalSum {
    fn drop(&mut self) {
        // Nobody may look any more.
        let _ = self.threads.send(("dropped", thread::current().id()));
        assert!(*self.sum.borrow() != POISON, "a destructor that panics on purpose");
    }
}

/// A process that counts, with state that is not `Send` across its awaits.
fn counter(
    threads: &Threads,
) -> impl krarup::behavior::Behavior<Message = Count, Command = Count> + use<> {
    let threads = threads.clone();
    local_behavior_fn(move |mut ctx: Context<Count>| async move {
        let state = LocalSum::new(threads);
        while let Received::Message(message) = ctx.receive().await {
            let sum = Rc::clone(&state.sum);
            match message {
                Count::Add(count) => *sum.borrow_mut() += count,
                Count::Sum(reply) => reply.send(*sum.borrow()),
                Count::Rest(time) => ctx.sleep(time).await,
                Count::Block(meet) => {
                    meet.wait();
                    meet.wait();
                }
                Count::Panic => panic!("a local process that panics on purpose"),
            }
        }
        Ok(())
    })
}

fn pinned(name: &str) -> Node {
    let pin = DispatcherOptions::pinned();
    Node::builder(name).workers(1).dispatcher("pin", pin).start().unwrap()
}

/// The thread that made the state, which is the one that dropped it.
fn only_thread(seen: &mpsc::Receiver<(&'static str, ThreadId)>) -> ThreadId {
    let (made, dropped) = (seen.recv().unwrap(), seen.recv().unwrap());
    assert_eq!((made.0, dropped.0), ("made", "dropped"));
    assert_eq!(made.1, dropped.1);
    made.1
}

#[test]
fn r8_a_local_process_keeps_what_is_not_send_on_its_own_thread() {
    let node = pinned("r8pin");
    let (threads, seen) = mpsc::channel();
    let make = || counter(&threads);
    let (one, other) = (make(), make());
    let one = node.spawn(move || one).dispatcher("pin").wait().unwrap();
    let other = node.spawn(move || other).dispatcher("pin").wait().unwrap();
    for count in 0..100 {
        one.send(Count::Add(count)).unwrap();
        other.send(Count::Add(1)).unwrap();
    }
    one.send(Count::Rest(Duration::from_nanos(1))).unwrap();
    assert_eq!(one.call(Count::Sum).wait().unwrap(), 4950);
    assert_eq!(other.call(Count::Sum).wait().unwrap(), 100);
    node.kill(one.pid());
    let end = one.watch().wait().unwrap();
    assert!(matches!(end.reason, Reason::Killed | Reason::NoProcess), "{end:?}");
    node.stop().wait().unwrap();
    let mut of = HashMap::<ThreadId, Vec<&str>>::new();
    drop(threads);
    seen.iter().for_each(|(what, thread)| of.entry(thread).or_default().push(what));
    assert_eq!(of.len(), 2);
    assert!(of.values().all(|seen| *seen == ["made", "dropped"]), "{of:?}");
    assert!(!of.contains_key(&thread::current().id()));
}

#[test]
fn r8_a_dispatcher_of_many_threads_refuses_a_local_process() {
    let (threads, seen) = mpsc::channel();
    let node = Node::builder("r8many")
        .workers(1)
        .dispatcher("pin", DispatcherOptions::pinned())
        .dispatcher("here", DispatcherOptions::calling_thread())
        .dispatcher("list", DispatcherOptions::executor(TaskList::default()))
        .start()
        .unwrap();
    let refused = |name: &str| Err(SpawnError::ManyThreads(name.to_owned()));
    for name in ["default", "here", "list"] {
        let process = counter(&threads);
        let spawned = node.spawn(move || process).dispatcher(name).wait();
        assert_eq!(spawned.map(|_| ()), refused(name));
        let high = counter(&threads);
        let spawned = node.spawn(move || high).dispatcher(name).class(Class::High).name("c").wait();
        assert_eq!(spawned.map(|_| ()), refused(name));
    }
    let process = counter(&threads);
    assert_eq!(node.spawn(move || process).start().map(|_| ()), refused("default"));
    // Also inside another behaviour.
    let process = counter(&threads);
    let made = node.spawn(move || made_by(async move { Ok::<_, Reason>(process) })).wait();
    assert_eq!(made.map(|_| ()), refused("default"));
    let process = counter(&threads);
    let made = move || made_by(async move { Ok::<_, Reason>(process) });
    node.spawn(made).dispatcher("pin").wait().unwrap();
    assert!(node.lookup::<Count, Count>("c").is_err());
    node.stop().wait().unwrap();
    only_thread(&seen);
    drop(threads);
    assert!(seen.recv().is_err(), "nothing was made of what was refused");
}

#[test]
fn r8_a_supervisor_restarts_a_local_process_on_a_new_thread() {
    let node = pinned("r8tree");
    let (threads, seen) = mpsc::channel();
    let child = {
        let threads = threads.clone();
        ChildSpec::worker("sum", move || counter(&threads)).dispatcher("pin").name("sum")
    };
    let tree = node.spawn(move || Supervisor::one_for_one().child(child)).wait().unwrap();
    let sum: Address<Count> = node.lookup("sum").unwrap();
    sum.send(Count::Add(3)).unwrap();
    assert_eq!(sum.call(Count::Sum).wait().unwrap(), 3);
    sum.send(Count::Panic).unwrap();
    assert!(matches!(sum.watch().wait().unwrap().reason, Reason::Panic(_) | Reason::NoProcess));
    let first = only_thread(&seen);
    let again: Address<Count> = node.lookup_or_wait("sum").wait().unwrap();
    assert_eq!(again.call(Count::Sum).wait().unwrap(), 0);
    node.stop().wait().unwrap();
    assert_ne!(only_thread(&seen), first);
    drop(tree);
    // On a dispatcher of many threads the child cannot start, and so the supervisor cannot.
    let node = pinned("r8tree2");
    let child = ChildSpec::worker("sum", move || counter(&threads));
    let started = node.spawn(move || Supervisor::one_for_one().child(child)).wait();
    let said = started.map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("dispatcher \"default\" runs a process on many threads"), "{said}");
    node.stop().wait().unwrap();
}

#[test]
fn r8_grains_and_partitions_have_local_processes_where_they_are_pinned() {
    let node = pinned("r8blocks");
    let (threads, seen) = mpsc::channel();
    let of_key = {
        let threads = threads.clone();
        move || Grains::new(move |_: &u8| counter(&threads))
    };
    let grains = node.spawn(of_key.clone()).dispatcher("pin").wait().unwrap();
    for key in [7, 8] {
        grains.send_to(key, Count::Add(key.into())).unwrap();
        assert_eq!(grains.call_to(key, Count::Sum).wait().unwrap(), u64::from(key));
    }
    let partitions = move || Partitions::new(2, move |_| counter(&threads));
    let shards = node.spawn(partitions.clone()).dispatcher("pin").wait().unwrap();
    shards.of(&1).unwrap().send(Count::Add(1)).unwrap();
    // Where they would be on many threads there are none.
    let elsewhere = node.spawn(of_key).wait().unwrap();
    assert!(elsewhere.call_to(1, Count::Sum).wait().is_err());
    let said = node.spawn(partitions).wait().map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("runs a process on many threads"), "{said}");
    node.stop().wait().unwrap();
    let mut of = HashMap::<ThreadId, Vec<&str>>::new();
    seen.iter().for_each(|(what, thread)| of.entry(thread).or_default().push(what));
    assert_eq!(of.len(), 4);
    assert!(of.values().all(|seen| *seen == ["made", "dropped"]), "{of:?}");
}

#[test]
fn r8_a_simulation_runs_local_processes_and_drops_each_state_once() {
    Simulation::explore(0..200, |sim| {
        let (threads, seen) = mpsc::channel();
        let (one, other) = (counter(&threads), counter(&threads));
        let one = sim.spawn(move || one).wait()?;
        let other = sim.spawn(move || other).wait()?;
        one.send(Count::Rest(Duration::from_secs(60)))?;
        one.send(Count::Add(2))?;
        other.send(Count::Add(1))?;
        assert_eq!(one.call(Count::Sum).timeout(Duration::from_secs(61)).wait()?, 2);
        one.send(Count::Rest(Duration::from_secs(60)))?;
        sim.kill(one.pid());
        other.send(Count::Panic)?;
        sim.run_until_idle();
        drop(threads);
        let here = thread::current().id();
        let seen: Vec<_> = seen.iter().collect();
        assert!(seen.iter().all(|(_, thread)| *thread == here));
        let made = seen.iter().filter(|(what, _)| *what == "made").count();
        assert_eq!((made, seen.len()), (2, 4));
        Ok(())
    });
}

/// Keeps its tasks until they are run, and says what it was told to say.
#[derive(Clone, Default)]
struct TaskList {
    tasks: Arc<Mutex<VecDeque<ExecutorTask>>>,
    keeps: bool,
}

impl Executor for TaskList {
    fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
        self.tasks.lock().unwrap().push_back(task);
        Ok(())
    }

    fn keeps_to_one_thread(&self) -> bool {
        self.keeps
    }
}

impl TaskList {
    fn run(&self) {
        loop {
            let Some(task) = self.tasks.lock().unwrap().pop_front() else { return };
            task.run();
        }
    }
}

#[test]
fn r8_an_executor_that_keeps_a_process_on_one_thread_runs_local_ones() {
    let list = TaskList { keeps: true, ..TaskList::default() };
    let options = DispatcherOptions::executor(list.clone());
    let node = Node::builder("r8list").workers(1).dispatcher("list", options).start().unwrap();
    let (threads, seen) = mpsc::channel();
    let process = counter(&threads);
    let process = node.spawn(move || process).dispatcher("list").start().unwrap();
    list.run();
    assert_eq!(seen.recv().unwrap(), ("made", thread::current().id()));
    process.send(Count::Add(5)).unwrap();
    list.run();
    // It breaks its word: the state is not touched there, and the process says what happened.
    let end = process.watch();
    process.send(Count::Add(1)).unwrap();
    thread::spawn({
        let list = list.clone();
        move || list.run()
    })
    .join()
    .unwrap();
    let said = end.wait().unwrap().reason.to_string();
    assert!(said.contains("not on the thread of its first turn"), "{said}");
    assert_eq!(seen.try_recv(), Err(mpsc::TryRecvError::Empty), "kept by its thread");
    node.stop().wait().unwrap();
}

#[test]
fn r8_what_a_thread_keeps_of_a_process_that_ended_elsewhere_is_dropped_with_the_thread() {
    let list = TaskList { keeps: true, ..TaskList::default() };
    let options = DispatcherOptions::executor(list.clone());
    let node = Node::builder("r8left").workers(1).dispatcher("list", options).start().unwrap();
    let (threads, seen) = mpsc::channel();
    let process = counter(&threads);
    let process = node.spawn(move || process).dispatcher("list").start().unwrap();
    thread::spawn({
        let (list, process) = (list.clone(), process.clone());
        move || {
            list.run();
            process.send(Count::Add(POISON)).unwrap();
            list.run();
            process.send(Count::Add(1)).unwrap();
            thread::spawn(move || list.run()).join().unwrap();
        }
    })
    .join()
    .unwrap();
    only_thread(&seen);
    assert!(process.send(Count::Add(1)).is_err());
    node.stop().wait().unwrap();
}

#[test]
fn r8_a_stop_drops_the_state_of_a_local_process_that_blocks_on_its_thread() {
    let node = pinned("r8stop");
    let (threads, seen) = mpsc::channel();
    let process = counter(&threads);
    let process = node.spawn(move || process).dispatcher("pin").wait().unwrap();
    let meet = Arc::new(Barrier::new(2));
    process.send(Count::Block(Arc::clone(&meet))).unwrap();
    process.send(Count::Add(1)).unwrap();
    meet.wait();
    let stopping = node.stop().timeout(Duration::from_nanos(1));
    let released = thread::spawn(move || meet.wait());
    let _late = stopping.wait();
    released.join().unwrap();
    only_thread(&seen);
    assert!(process.send(Count::Add(1)).is_err());
}

#[test]
fn r8_a_start_that_fails_is_the_error_of_the_spawn() {
    let node = pinned("r8init");
    let process = local_behavior_fn(|_: Context<()>| async {
        let _kept = Rc::new(());
        Err(Reason::error("no device"))
    });
    let spawned = node.spawn(move || process).dispatcher("pin").wait();
    let said = spawned.map(|_| ()).unwrap_err().to_string();
    assert_eq!(said, "init failed: no device");
    let send = behavior_fn(|_: Context<()>| async { Ok(()) });
    node.spawn(move || send).dispatcher("pin").wait().unwrap();
    node.stop().wait().unwrap();
}

/// Panics when it is polled, and when it is dropped.
struct Bomb;

impl Future for Bomb {
    type Output = Result;

    fn poll(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Result> {
        panic!("a future that panics on purpose")
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a destructor that panics on purpose");
    }
}

/// While the stack unwinds, a second panic aborts the program.
#[test]
fn r8_a_panic_of_a_local_process_is_over_when_what_it_keeps_is_dropped() {
    let node = pinned("r8panic");
    let process = local_behavior_fn(|_: Context<()>| Bomb);
    let spawned = node.spawn(move || process).dispatcher("pin").wait();
    let said = spawned.map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("a future that panics on purpose"), "{said}");
    let unmade = local_behavior_fn(|_: Context<()>| -> Bomb { panic!("no future") });
    let spawned = node.spawn(move || unmade).dispatcher("pin").wait();
    let said = spawned.map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("no future"), "{said}");
    node.stop().wait().unwrap();
}
