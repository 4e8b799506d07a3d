//! `.wait()` on threads of a tokio runtime: rule C8.

use krarup::behavior::{Received, behavior_fn};
use krarup::dispatcher::DispatcherOptions;
use krarup::observe::DebugError;
use krarup::prelude::*;
use krarup::testing::Simulation;
use krarup::{CannotWait, StopError};
use std::sync::mpsc;
use std::time::Duration;
use tokio::runtime::{Builder, Handle};

struct Echo;

impl Actor for Echo {
    type Message = Reply<u32>;

    async fn handle_message(&mut self, _: &mut Context<Reply<u32>>, token: Reply<u32>) -> Result {
        token.send(7);
        Ok(())
    }
}

fn node() -> (Node, Address<Reply<u32>>) {
    let node = Node::start("runtimes@localhost").unwrap();
    let echo = node.spawn(|| Echo).wait().unwrap();
    (node, echo)
}

#[test]
fn c8_a_wait_on_the_thread_of_a_runtime_is_an_error_that_recommends_await() {
    let (node, echo) = node();
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        assert_eq!(
            node.spawn(|| Echo).wait().unwrap_err(),
            SpawnError::CannotWait(CannotWait::InRuntime)
        );
        assert_eq!(
            echo.call(|token| token).wait(),
            Err(CallError::CannotWait(CannotWait::InRuntime))
        );
        assert_eq!(echo.stop().wait(), Err(StopError::CannotWait(CannotWait::InRuntime)));
        assert_eq!(echo.watch().wait(), Err(CannotWait::InRuntime));
        assert_eq!(echo.state::<()>().wait(), Err(DebugError::CannotWait(CannotWait::InRuntime)));
        assert_eq!(
            echo.recipient().call(|token| token).wait(),
            Err(CallError::CannotWait(CannotWait::InRuntime))
        );
        let full = behavior_fn(|_: Context<u32>| std::future::pending::<Result>());
        let full = node.spawn(move || full).mailbox(1).start().unwrap();
        full.send(1).unwrap();
        assert_eq!(
            full.send_or_wait(2).wait(),
            Err(SendError::CannotWait { message: 2, cause: CannotWait::InRuntime })
        );
        node.kill(full.pid());
        full.watch().await;
        assert!(node.stop().wait().is_err());
        let error = CallError::CannotWait(CannotWait::InRuntime).to_string();
        assert!(error.contains("`.await`"), "{error}");
        // A task of it is on the same thread.
        let asked = echo.clone();
        let task = tokio::spawn(async move { asked.call(|token| token).wait() });
        assert_eq!(task.await.unwrap(), Err(CallError::CannotWait(CannotWait::InRuntime)));
        // Nothing has been done, and awaiting does it.
        assert_eq!(node.processes(), [echo.pid()]);
        assert_eq!(echo.call(|token| token).await, Ok(7));
        // A simulation runs on this thread itself.
        let sim = Simulation::new(1);
        let simulated = sim.spawn(|| Echo).wait().unwrap();
        assert_eq!(simulated.call(|token| token).wait(), Ok(7));
        node.stop().await.unwrap();
    });
}

#[test]
fn c8_a_thread_that_drives_no_runtime_may_wait_wherever_it_is() {
    let (node, echo) = node();
    let ask = move || echo.call(|token| token).wait();
    let one = Builder::new_current_thread().build().unwrap();
    let several = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    for runtime in [&one, &several] {
        let asking = ask.clone();
        let asked = runtime.block_on(async { tokio::task::spawn_blocking(asking).await });
        assert_eq!(asked.unwrap(), Ok(7));
        let _entered = runtime.enter();
        assert_eq!(ask(), Ok(7));
        let outside = ask.clone();
        assert_eq!(std::thread::spawn(outside).join().unwrap(), Ok(7));
    }
    let asking = ask.clone();
    assert_eq!(several.block_on(async move { asking() }), Ok(7));
    let asking = ask.clone();
    assert_eq!(several.block_on(several.spawn(async move { asking() })).unwrap(), Ok(7));
    node.stop().wait().unwrap();
}

#[test]
fn r5_workers_and_side_threads_run_within_the_runtime_that_the_node_was_given() {
    let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    for within in [true, false] {
        let builder = Node::builder("within")
            .workers(1)
            .dispatcher("pin", DispatcherOptions::pinned())
            .blocking_pool("own", 1);
        let handle = runtime.handle().clone();
        let node = if within { builder.tokio(handle) } else { builder }.start().unwrap();
        for dispatcher in ["default", "pin"] {
            let (seen, sees) = mpsc::channel();
            let process = behavior_fn(move |ctx: Context<()>| async move {
                let is_within = || Handle::try_current().is_ok();
                let here = is_within();
                let side = ctx.block(is_within).await?;
                let own = ctx.block_in("own", is_within).await?;
                seen.send([here, side, own]).unwrap();
                Ok(())
            });
            node.spawn(move || process).dispatcher(dispatcher).start().unwrap();
            assert_eq!(sees.recv(), Ok([within; 3]), "{dispatcher}");
        }
        node.stop().wait().unwrap();
    }
}

#[test]
fn r5_a_tokio_runtime_runs_processes_on_its_threads_where_they_may_await_what_it_drives() {
    let runtime = Builder::new_multi_thread().worker_threads(2).thread_name("of-tokio").build();
    let runtime = runtime.unwrap();
    let there = DispatcherOptions::executor(runtime.handle().clone());
    let node = Node::builder("ontokio").dispatcher("http", there).start().unwrap();
    let (seen, sees) = mpsc::channel();
    let process = behavior_fn(move |mut ctx: Context<Reply<u32>>| async move {
        loop {
            if let Received::Message(reply) = ctx.receive().await {
                // A task of the runtime, which only its threads run.
                let answer = tokio::spawn(async { 7 }).await.map_err(Reason::error)?;
                let thread = std::thread::current();
                seen.send(thread.name().unwrap_or_default().to_owned()).unwrap();
                reply.send(answer);
            }
        }
    });
    let process = node.spawn(move || process).dispatcher("http").wait().unwrap();
    for _ in 0..100 {
        // From a task of the same runtime, and from outside.
        let asked = process.clone();
        let asking = runtime.spawn(async move { asked.call(|reply| reply).await });
        assert_eq!(runtime.block_on(asking).unwrap(), Ok(7));
        assert_eq!(process.call(|reply| reply).wait(), Ok(7));
    }
    assert_eq!(sees.try_iter().filter(|thread| thread == "of-tokio").count(), 200);
    node.stop().wait().unwrap();
}

#[test]
fn r7_a_tokio_runtime_that_was_shut_down_refuses_and_holds_up_no_stop() {
    let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let there = DispatcherOptions::executor(runtime.handle().clone());
    let node = Node::builder("wentdown").dispatcher("http", there).start().unwrap();
    let echo = node.spawn(|| Echo).dispatcher("http").wait().unwrap();
    assert_eq!(echo.call(|token| token).wait(), Ok(7));
    drop(runtime);
    let end = echo.watch();
    // Accepted, and kept: the process may be offered to the runtime for ever.
    let asked = echo.clone();
    let asking = std::thread::spawn(move || asked.call(|token| token).wait());
    let is_refused = || node.stats().dispatchers.iter().any(|one| one.refused > 0);
    while !is_refused() {
        std::thread::yield_now();
    }
    assert!(node.spawn(|| Echo).dispatcher("http").wait().is_err());
    // It cannot be asked to end, so it is killed when the time for that is over.
    node.stop().timeout(Duration::from_millis(50)).wait().unwrap();
    assert!(asking.join().unwrap().is_err());
    assert_eq!(end.wait().unwrap().reason, Reason::Killed);
}
