//! Dispatchers on somebody else's threads, and what becomes of a process that they refuse
//! (rules R5, R7).

use crate::support::journal::Journal;
use crate::support::{Act, Does, Log, Puppet, puppet};
use krarup::behavior::behavior_fn;
use krarup::dispatcher::{DispatcherOptions, Executor, ExecutorTask};
use krarup::observe::ProcessState;
use krarup::prelude::*;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// What an executor does with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Refuse,
    Drop,
    Panic,
}

/// Tasks lie in a list until the test runs them.
#[derive(Clone, Default)]
struct TaskList {
    tasks: Arc<Mutex<VecDeque<ExecutorTask>>>,
    will: Arc<Mutex<VecDeque<Next>>>,
    asked: Arc<AtomicUsize>,
}

impl Executor for TaskList {
    fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let next = self.will.lock().unwrap().pop_front();
        match next {
            None => self.tasks.lock().unwrap().push_back(task),
            Some(Next::Refuse) => return Err(task),
            Some(Next::Drop) => drop(task),
            Some(Next::Panic) => panic!("an executor that panics"),
        }
        Ok(())
    }
}

impl TaskList {
    fn will(&self, does: impl IntoIterator<Item = Next>) {
        self.will.lock().unwrap().extend(does);
    }

    /// Runs tasks until there are none; how many.
    fn run(&self) -> usize {
        let next = || self.tasks.lock().unwrap().pop_front();
        std::iter::from_fn(next).map(ExecutorTask::run).count()
    }
}

fn node(name: &str, executor: impl Executor) -> Node {
    let options = DispatcherOptions::executor(executor).throughput(4);
    Node::builder(name).workers(1).dispatcher("list", options).start().unwrap()
}

fn spawn(node: &Node, log: &Log) -> Address<Act> {
    let puppet = Puppet::new("p", log);
    node.spawn(move || puppet).dispatcher("list").start().unwrap()
}

fn refused(node: &Node) -> u64 {
    node.stats().dispatcher("list").unwrap().refused
}

#[test]
fn r5_an_executor_runs_each_turn_as_a_task_one_of_a_process_at_a_time() {
    let list = TaskList::default();
    let node = node("r5exec", list.clone());
    let log = Log::new();
    let process = spawn(&node, &log);
    assert_eq!(
        (process.info().dispatcher.as_str(), process.info().state),
        ("list", ProcessState::Init)
    );
    assert_eq!(list.tasks.lock().unwrap()[0].pid(), process.pid());
    assert_eq!(list.run(), 1);
    assert_eq!(process.info().state, ProcessState::Idle);
    for n in 0..10 {
        let log = log.clone();
        process.tells(move |_| log.note(n));
        // One task, however many messages.
        assert_eq!(list.tasks.lock().unwrap().len(), 1);
    }
    // Four messages in a turn.
    assert!((3..=4).contains(&list.run()));
    assert_eq!(log.take(), (0..10).map(|n| n.to_string()).collect::<Vec<_>>());
    let turns = node.stats().dispatcher("list").unwrap().turns;
    assert!((4..=5).contains(&turns) && refused(&node) == 0);
    // A stop needs the tasks to be run.
    let (runs, done) = (list.clone(), Arc::new(AtomicBool::new(false)));
    let stopped = Arc::clone(&done);
    let runner = thread::spawn(move || {
        while !stopped.load(Ordering::SeqCst) {
            runs.run();
            thread::yield_now();
        }
    });
    node.stop().wait().unwrap();
    done.store(true, Ordering::SeqCst);
    runner.join().unwrap();
    assert_eq!(log.take(), ["p terminate shutdown", "p dropped"]);
}

#[test]
fn r5_processes_of_an_executor_call_link_and_stop_like_any() {
    struct Loop(mpsc::Sender<ExecutorTask>);
    impl Executor for Loop {
        fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
            self.0.send(task).map_err(|refused| refused.0)
        }
    }
    let (tasks, waiting) = mpsc::channel::<ExecutorTask>();
    let waiting = Arc::new(Mutex::new(waiting));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let waiting = Arc::clone(&waiting);
            thread::spawn(move || {
                let next = || waiting.lock().unwrap().recv().ok();
                std::iter::from_fn(next).for_each(ExecutorTask::run);
            })
        })
        .collect();
    let node = node("r5loop", Loop(tasks));
    let echo = behavior_fn(|mut ctx: Context<Reply<u64>>| async move {
        for n in 0.. {
            let krarup::behavior::Received::Message(reply) = ctx.receive().await else { break };
            reply.send(n);
        }
        Ok(())
    });
    let echo = node.spawn(move || echo).dispatcher("list").start().unwrap();
    let callers: Vec<_> = (0..3)
        .map(|_| {
            let echo = echo.clone();
            thread::spawn(move || -> Vec<u64> {
                (0..500).map(|_| echo.call(|r| r).no_timeout().wait().unwrap()).collect()
            })
        })
        .collect();
    let mut all: Vec<_> = callers.into_iter().flat_map(|c| c.join().unwrap()).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..1_500));
    // A child runs where its parent does; a link ends it.
    let (log, (sent, born)) = (Log::new(), mpsc::channel());
    let parent = spawn(&node, &log);
    parent.tells(move |ctx| {
        let child = ctx.spawn(|| Puppet::new("child", &Log::new())).link().start().unwrap();
        sent.send((child.info().dispatcher, child)).unwrap();
    });
    let (dispatcher, child) = born.recv().unwrap();
    assert_eq!(dispatcher, "list");
    let end = child.watch();
    node.exit(parent.pid(), crate::support::boom());
    assert_eq!(end.wait().unwrap().reason, crate::support::boom());
    node.stop().wait().unwrap();
    drop((echo, parent, child, node));
    // Nobody holds the executor any more.
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn r5_the_default_dispatcher_may_be_an_executor() {
    let list = TaskList::default();
    let options = DispatcherOptions::executor(list.clone());
    let node = Node::builder("r5default").options(options).start().unwrap();
    let log = Log::new();
    let told = Puppet::new("p", &log);
    // Nobody names a dispatcher.
    let process = node.spawn(move || told).start().unwrap();
    assert_eq!(process.info().dispatcher, "default");
    let noted = log.clone();
    process.tells(move |ctx| {
        let child = ctx.spawn(|| Puppet::new("child", &Log::new())).start().unwrap();
        noted.note(child.info().dispatcher);
    });
    assert!(log.lines().is_empty(), "nothing runs but what the executor runs");
    assert!(list.run() >= 2);
    assert_eq!(log.take(), ["default"]);
    let stats = node.stats();
    assert_eq!((stats.dispatchers.len(), stats.dispatchers[0].workers), (1, 0));
    node.processes().iter().for_each(|pid| node.kill(*pid));
    list.run();
    node.stop().wait().unwrap();
}

#[test]
fn r1_a_turn_handles_64_messages_by_default() {
    let list = TaskList::default();
    let options = DispatcherOptions::executor(list.clone());
    let node = Node::builder("r1many").dispatcher("list", options).workers(1).start().unwrap();
    let process = spawn(&node, &Log::new());
    list.run();
    (0..200).for_each(|_| assert!(process.tells(|_| {})));
    for handled in [64, 128, 192, 200] {
        let turn = list.tasks.lock().unwrap().pop_front().unwrap();
        turn.run();
        assert_eq!(process.info().handled, handled);
    }
    node.kill(process.pid());
    list.run();
    node.stop().wait().unwrap();
}

#[test]
fn r1_a_turn_ends_after_the_message_in_which_its_time_is_over() {
    // A time that is over after each message, so that the last turn finds none, and one that never
    // is.
    for (deadline, turns) in [(Duration::from_nanos(1), 6), (Duration::from_secs(3600), 1)] {
        let list = TaskList::default();
        let options = DispatcherOptions::executor(list.clone()).throughput_deadline(deadline);
        let node = Node::builder("r1time").dispatcher("list", options).workers(1).start().unwrap();
        let process = spawn(&node, &Log::new());
        list.run();
        for _ in 0..5 {
            process.tells(|ctx| {
                let began = ctx.now();
                while ctx.now() == began {}
            });
        }
        assert_eq!((list.run(), process.info().handled), (turns, 5), "{deadline:?}");
        node.kill(process.pid());
        list.run();
        node.stop().wait().unwrap();
    }
}

#[test]
fn r7_a_process_refused_once_is_offered_again_at_once() {
    let list = TaskList::default();
    let node = node("r7once", list.clone());
    let process = spawn(&node, &Log::new());
    list.run();
    list.will([Next::Refuse]);
    let asked = list.asked.load(Ordering::SeqCst);
    let (sent, ran) = mpsc::channel();
    process.tells(move |_| sent.send(()).unwrap());
    assert_eq!(list.asked.load(Ordering::SeqCst) - asked, 2);
    list.run();
    assert_eq!((ran.try_recv(), refused(&node)), (Ok(()), 0));
    node.kill(process.pid());
    list.run();
    node.stop().wait().unwrap();
}

#[test]
fn r7_a_process_refused_twice_keeps_its_messages_and_the_next_one_runs_it() {
    for refusal in [&[Next::Refuse, Next::Refuse][..], &[Next::Drop], &[Next::Panic]] {
        let list = TaskList::default();
        let node = node("r7twice", list.clone());
        let log = Log::new();
        let process = spawn(&node, &log);
        list.run();
        list.will(refusal.iter().copied());
        // Its timer may fire while the test looks: all later offers are refused as well.
        list.will([Next::Refuse; 10_000]);
        let noted = log.clone();
        assert!(process.tells(move |_| noted.note("first")));
        while process.info().state != ProcessState::Idle {
            thread::yield_now();
        }
        assert_eq!(process.info().main, 1);
        assert!(refused(&node) >= 1 && list.tasks.lock().unwrap().is_empty());
        list.will.lock().unwrap().clear();
        let noted = log.clone();
        process.tells(move |_| noted.note("second"));
        list.run();
        assert_eq!(log.take(), ["first", "second"], "{refusal:?}");
        assert_eq!(node.stats().dead_letters, 0);
        node.kill(process.pid());
        list.run();
        node.stop().wait().unwrap();
    }
}

#[test]
fn r7_a_second_refusal_is_logged_as_an_error() {
    let errors = Log::new();
    let noted = errors.clone();
    let told = Journal::new(
        |event| *event.level() == tracing::Level::ERROR,
        move |fields| {
            let line = fields.iter().map(|(name, value)| format!("{name}={value} "));
            noted.note(line.collect::<String>());
        },
    );
    let list = TaskList::default();
    let node = node("r7told", list.clone());
    let process = spawn(&node, &Log::new());
    list.run();
    tracing::subscriber::with_default(told, || {
        list.will([Next::Refuse]);
        process.tells(|_| {});
        list.run();
        assert_eq!(errors.lines(), Vec::<String>::new());
        list.will([Next::Refuse, Next::Refuse]);
        process.tells(|_| {});
    });
    let lines = errors.take();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let pid = format!("pid={}", process.pid());
    for part in [pid.as_str(), "dispatcher=\"list\"", "refused a process twice"] {
        assert!(lines[0].contains(part), "{part} in {lines:?}");
    }
    node.kill(process.pid());
    list.run();
    node.stop().wait().unwrap();
}

#[test]
fn r7_a_refused_process_is_offered_again_by_a_timer() {
    let list = TaskList::default();
    let node = node("r7timer", list.clone());
    let process = spawn(&node, &Log::new());
    list.run();
    let (sent, ran) = mpsc::channel();
    // Refused, and refused again by the first timer and the second.
    list.will([Next::Refuse; 6]);
    process.tells(move |_| sent.send(()).unwrap());
    while ran.try_recv().is_err() {
        list.run();
        // The timer of the offers is the dispatcher's own.
        assert_eq!(node.stats().timers, 0);
        thread::yield_now();
    }
    assert_eq!((refused(&node), node.stats().timers), (3, 0));
    node.kill(process.pid());
    list.run();
    node.stop().wait().unwrap();
}

#[test]
fn r7_a_spawn_that_is_refused_fails_and_a_kill_is_obeyed_here() {
    let list = TaskList::default();
    let node = node("r7spawn", list.clone());
    let log = Log::new();
    list.will([Next::Refuse; 2]);
    let puppet = Puppet::new("p", &log);
    let spawned = node.spawn(move || puppet).dispatcher("list").name("p").wait();
    let Err(SpawnError::Init(reason)) = spawned else { panic!("{spawned:?}") };
    assert_eq!(reason.to_string(), "the executor of dispatcher \"list\" refused the process");
    assert_eq!((node.whereis("p"), log.take()), (None, vec!["p dropped".to_owned()]));
    // Killed while it is refused: it ends, and whoever monitors it hears of that.
    let process = spawn(&node, &log);
    list.run();
    let mut end = process.watch();
    list.will([Next::Refuse; 2]);
    node.kill(process.pid());
    assert!(crate::support::poll_once(&mut end).is_ready());
    assert_eq!((log.take(), refused(&node)), (vec!["p dropped".to_owned()], 2));
    // Its first turn was run by the executor; both last ones here.
    let list = node.stats().dispatcher("list").cloned().unwrap();
    assert_eq!((list.turns, list.scheduled), (3, 3));
    node.stop().wait().unwrap();
}

#[test]
fn r7_a_stopped_executor_does_not_hold_up_a_stop() {
    struct Gone;
    impl Executor for Gone {
        fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
            Err(task)
        }
    }
    let node = node("r7gone", Gone);
    let spawned = node.spawn(|| Puppet::new("p", &Log::new())).dispatcher("list").wait();
    assert!(matches!(spawned, Err(SpawnError::Init(_))));
    let free = puppet(&node, "free", &Log::new());
    assert!(free.inspect().wait().is_ok());
    node.stop().wait().unwrap();
    // And one that goes with tasks in its hands.
    let list = TaskList::default();
    let node = self::node("r7went", list.clone());
    let log = Log::new();
    let process = spawn(&node, &log);
    let other = spawn(&node, &log);
    list.run();
    process.tells(|_| {});
    list.will([Next::Refuse; 1000]);
    list.tasks.lock().unwrap().clear();
    assert_eq!(process.info().state, ProcessState::Idle);
    node.stop().timeout(Duration::from_millis(50)).wait().unwrap();
    assert!(!process.is_alive() && !other.is_alive());
    assert_eq!(log.take_sorted(), ["p dropped", "p dropped"]);
}

/// Says who it is.
struct Named;

impl Actor for Named {
    type Message = Reply<Pid>;

    async fn handle_message(&mut self, ctx: &mut Context<Reply<Pid>>, reply: Reply<Pid>) -> Result {
        reply.send(ctx.pid());
        Ok(())
    }
}

#[test]
fn r1_an_executor_that_runs_tasks_at_once_runs_none_within_another_turn() {
    struct AtOnce;
    impl Executor for AtOnce {
        fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
            task.run();
            Ok(())
        }
    }
    let node = node("r1once", AtOnce);
    let log = Log::new();
    let [a, b] = [(); 2].map(|()| spawn(&node, &log));
    let noted = log.clone();
    a.tells(move |_| {
        noted.note("a begins");
        let inner = noted.clone();
        b.tells(move |_| inner.note("b"));
        noted.note("a ends");
    });
    assert_eq!(log.take(), ["a begins", "a ends", "b"]);
    // A hundred thousand turns do not go down the stack.
    let count = behavior_fn(|mut ctx: Context<u32>| async move {
        while let krarup::behavior::Received::Message(left @ 1..) = ctx.receive().await {
            ctx.address().send(left - 1)?;
        }
        Ok(())
    });
    let count = node.spawn(move || count).dispatcher("list").start().unwrap();
    count.send(100_000).unwrap();
    assert!(!count.is_alive());
    // Who is stopped ends within the request, and that is heard of.
    assert_eq!(spawn(&node, &log).stop().wait(), Ok(()));
    // Nor within a send to a pool.
    let pool = node.spawn(|| Pool::new(2, || Named)).dispatcher("list").wait().unwrap();
    (0..10).for_each(|_| assert!(pool.call(|r| r).wait().is_ok()));
    node.stop().wait().unwrap();
}

/// Makes a process ready each time before it runs a task at once, and counts how deep it gets.
#[derive(Clone, Default)]
struct Nested {
    other: Arc<Mutex<Option<Address<Act>>>>,
    depth: Arc<AtomicUsize>,
    deepest: Arc<AtomicUsize>,
}

impl Executor for Nested {
    fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
        let depth = self.depth.fetch_add(1, Ordering::SeqCst) + 1;
        self.deepest.fetch_max(depth, Ordering::SeqCst);
        let other = self.other.lock().unwrap().clone();
        if let Some(other) = other.filter(|other| other.pid() != task.pid()) {
            assert!(other.send(Act::nothing()).is_ok());
        }
        task.run();
        self.depth.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }
}

#[test]
fn r1_an_executor_that_runs_tasks_at_once_does_not_recurse() {
    let nested = Nested::default();
    let node = node("r1nested", nested.clone());
    let other = spawn(&node, &Log::new());
    *nested.other.lock().unwrap() = Some(other.clone());
    let count = behavior_fn(|mut ctx: Context<u32>| async move {
        while let krarup::behavior::Received::Message(left @ 1..) = ctx.receive().await {
            ctx.address().send(left - 1)?;
        }
        Ok(())
    });
    let count = node.spawn(move || count).dispatcher("list").start().unwrap();
    count.send(400).unwrap();
    assert!(!count.is_alive());
    assert!(other.info().handled >= 2);
    assert_eq!(nested.deepest.load(Ordering::SeqCst), 2, "its own and the one it caused");
    *nested.other.lock().unwrap() = None;
    drop(other);
    node.stop().wait().unwrap();
}

/// A thread for each residue of a process's number.
#[derive(Clone)]
struct ByProcess(Vec<mpsc::Sender<ExecutorTask>>);

impl Executor for ByProcess {
    fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
        let thread = usize::try_from(task.pid().id()).unwrap() % self.0.len();
        self.0[thread].send(task).map_err(|refused| refused.0)
    }
}

#[test]
fn r5_an_executor_can_keep_each_process_on_a_thread_of_its_own_choice() {
    const THREADS: usize = 3;
    let (channels, threads): (Vec<_>, Vec<_>) = (0..THREADS)
        .map(|number| {
            let (tasks, waiting) = mpsc::channel::<ExecutorTask>();
            let thread = thread::Builder::new().name(format!("core-{number}"));
            (tasks, thread.spawn(move || waiting.iter().for_each(ExecutorTask::run)).unwrap())
        })
        .unzip();
    let node = node("r5affine", ByProcess(channels));
    let (done, finished) = mpsc::channel();
    for _ in 0..8 {
        let done = done.clone();
        let process = behavior_fn(move |mut ctx: Context<()>| async move {
            let mut seen = BTreeSet::new();
            for turn in 0..200 {
                // From inside, and from a timer's thread.
                if turn % 10 == 0 {
                    ctx.sleep(Duration::from_micros(1)).await;
                }
                ctx.address().send(()).unwrap();
                ctx.receive().await;
                seen.insert(thread::current().name().unwrap().to_owned());
            }
            done.send((ctx.pid().id(), seen)).unwrap();
            Ok(())
        });
        let process = node.spawn(move || process).dispatcher("list").start().unwrap();
        // From outside.
        (0..100).for_each(|_| drop(process.send(())));
    }
    for _ in 0..8 {
        let (number, seen) = finished.recv().unwrap();
        let own = format!("core-{}", usize::try_from(number).unwrap() % THREADS);
        assert_eq!(Vec::from_iter(seen), [own]);
    }
    node.stop().wait().unwrap();
    drop(node);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Asks the node for all that can be asked without waiting for a process.
fn ask_all(node: &Node, pid: Pid) {
    let _ = node.process_info(pid);
    let _ = node.stats();
    for pid in node.processes() {
        let _ = node.process_info(pid);
    }
    let _ = node.whereis("named");
    let _ = node.tree();
    let _ = node.stop_trace(pid);
}

/// What an executor does with a task when it has asked.
#[derive(Clone, Copy, Debug)]
enum How {
    Queue,
    Inline,
    OtherThread,
    Refuse,
    Drop,
    Panic,
}

/// Asks the node in each `execute`, then does as it is told; now and then only, if that is no way to
/// run a task.
struct Asks {
    node: Arc<Mutex<Option<Node>>>,
    how: How,
    asked: Arc<AtomicUsize>,
    threads: mpsc::Sender<ExecutorTask>,
}

impl Executor for Asks {
    fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
        let node = self.node.lock().unwrap().clone();
        if let Some(node) = node {
            ask_all(&node, task.pid());
        }
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        match self.how {
            How::Inline => task.run(),
            How::OtherThread => thread::spawn(move || task.run()).join().unwrap(),
            How::Refuse if asked.is_multiple_of(3) => return Err(task),
            How::Drop if asked % 50 == 49 => drop(task),
            How::Panic if asked % 50 == 49 => panic!("an executor that panics"),
            How::Queue | How::Refuse | How::Drop | How::Panic => {
                return self.threads.send(task).map_err(|refused| refused.0);
            }
        }
        Ok(())
    }
}

/// Whatever makes a process ready calls the executor under no lock: it asks the node for all there
/// is, and a lock that is held would hold it up for ever. Then it runs the task at once, here or
/// elsewhere, or refuses it.
#[test]
fn r7_an_executor_may_call_the_node_on_any_path() {
    each_way(processes_come_and_go);
}

/// The same where those that are bound to a process hear of its end.
#[test]
fn r7_an_executor_may_ask_the_node_for_anything_at_the_end_of_a_process() {
    each_way(|node, log| {
        processes_come_and_go(node, log);
        bound_processes_end(node, log);
    });
}

fn each_way(happens: fn(&Node, &Log)) {
    for how in [How::Queue, How::Inline, How::OtherThread, How::Refuse, How::Drop, How::Panic] {
        let (threads, tasks) = mpsc::channel::<ExecutorTask>();
        let runs = thread::spawn(move || tasks.iter().for_each(ExecutorTask::run));
        let known = Arc::<Mutex<Option<Node>>>::default();
        let asked = Arc::<AtomicUsize>::default();
        let asks = Asks { node: Arc::clone(&known), how, asked: Arc::clone(&asked), threads };
        let node = node("r7asks", asks);
        *known.lock().unwrap() = Some(node.clone());
        let (done, finished) = mpsc::channel();
        thread::spawn({
            let node = node.clone();
            move || {
                happens(&node, &Log::new());
                done.send(()).unwrap();
            }
        });
        // Only a lock that is held keeps it for so long.
        let patience = Duration::from_secs(60);
        assert!(finished.recv_timeout(patience).is_ok(), "{how:?}: the executor waits for a lock");
        // The executor holds the node that holds the executor.
        *known.lock().unwrap() = None;
        assert!(asked.load(Ordering::SeqCst) > 20);
        node.stop().timeout(Duration::ZERO).wait().unwrap();
        drop(node);
        runs.join().unwrap();
    }
}

/// Spawns, names, monitors from outside, timers, inspections, exits and kills of processes of the
/// executor.
fn processes_come_and_go(node: &Node, log: &Log) {
    for _ in 0..20 {
        let [one, other, third] = [(); 3].map(|()| spawn(node, log));
        one.tells(move |ctx| {
            ctx.send_after(Duration::from_micros(10), Act::nothing());
        });
        let named = Puppet::new("named", log);
        let named = node.spawn(move || named).dispatcher("list").name("named").start();
        let ended = third.watch();
        node.kill(third.pid());
        // It ends here at the latest, if its task was refused.
        let _ = third.send(Act::nothing());
        drop(ended);
        node.exit(other.pid(), Reason::error("enough"));
        node.kill(one.pid());
        named.iter().for_each(|named| node.kill(named.pid()));
    }
}

/// Links, monitors and pools, whose processes end.
fn bound_processes_end(node: &Node, log: &Log) {
    for _ in 0..20 {
        let [one, other, third] = [(); 3].map(|()| spawn(node, log));
        let (linked, watched) = (other.pid(), third.pid());
        one.tells(move |ctx| {
            ctx.link(linked);
            ctx.monitor(watched);
        });
        let pool = node.spawn(|| Pool::new(3, || Named)).dispatcher("list").start().unwrap();
        for _ in 0..5 {
            let _ = pool.call(|reply| reply).timeout(Duration::from_millis(20)).wait();
        }
        node.kill(third.pid());
        node.exit(other.pid(), Reason::error("enough"));
        node.kill(pool.pid());
    }
}
