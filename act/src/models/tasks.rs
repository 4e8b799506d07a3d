//! Tasks: the end of a task against its await, against the end of its owner, and in a
//! cycle with it (rules J1, J2, J8).

use super::checker::{Mutex, bounded, joined};
use super::model_host::ModelHost;
use super::wake_flag::WakeSignal;
use crate::behavior::behavior_fn;
use crate::calls::reply::Reply;
use crate::context::Context;
use crate::lifecycle::spawn::Spawn;
use krarup_gen::CallError;
use std::sync::Arc;

/// A value that a process leaves, and a signal that it has.
#[derive(Clone)]
struct Left<T>(Arc<(Mutex<Option<T>>, Arc<WakeSignal>)>);

impl<T> Left<T> {
    fn new() -> Self {
        Left(Arc::new((Mutex::new(None), WakeSignal::new())))
    }

    fn leave(&self, value: T) {
        *self.0.0.lock() = Some(value);
        self.0.1.notify();
    }

    fn take(&self) -> Option<T> {
        self.0.0.lock().take()
    }
}

/// The owner awaits a task that runs on another worker. The value comes, and the task has left the
/// table by then.
#[test]
fn j1_the_value_of_a_task_comes_when_the_task_has_ended() {
    bounded(2, || {
        let host = ModelHost::until(2);
        let left = Left::new();
        let (told, asked) = (left.clone(), host.host());
        let owner = behavior_fn(move |ctx: Context<()>| async move {
            let task = ctx.task(async { 7 }).start()?;
            let pid = task.pid();
            let value = task.await;
            told.leave((value, asked.process(pid).is_none()));
            Ok(())
        });
        drop(Spawn::outside(host.host(), move || owner).start().expect("a process"));
        let workers = [host.worker(), host.worker()];
        workers.into_iter().for_each(joined);
        assert_eq!(left.take(), Some((Ok(7), true)));
        host.clear();
    });
}

/// The owner is killed while its task runs on another worker: the task ends too.
#[test]
fn j2_a_task_ends_with_its_owner_wherever_both_are() {
    bounded(2, || {
        let host = ModelHost::until(2);
        let began = WakeSignal::new();
        let begins = Arc::clone(&began);
        let owner = behavior_fn(move |ctx: Context<()>| async move {
            let work = async move {
                begins.notify();
                std::future::pending::<()>().await;
            };
            let _ = ctx.task(work).await;
            Ok(())
        });
        let owner = Spawn::outside(host.host(), move || owner).start().expect("a process");
        let workers = [host.worker(), host.worker()];
        began.wait();
        owner.process().kill();
        // The workers end with the last process.
        workers.into_iter().for_each(joined);
        host.clear();
    });
}

/// A task calls its owner at the moment when that begins to await it. Whoever parks last, the call
/// of the task fails, and nobody waits for ever.
#[test]
fn j8_a_task_and_its_owner_that_wait_for_each_other_at_once_are_found() {
    bounded(2, || {
        let host = ModelHost::until(2);
        let left = Left::new();
        let told = left.clone();
        let owner = behavior_fn(move |ctx: Context<Reply<u32>>| async move {
            let own = ctx.address();
            let task =
                ctx.task(async move { own.call(|reply| reply).no_timeout().await }).start()?;
            told.leave(task.await);
            Ok(())
        });
        drop(Spawn::outside(host.host(), move || owner).start().expect("a process"));
        let workers = [host.worker(), host.worker()];
        workers.into_iter().for_each(joined);
        let called = left.take().expect("an outcome");
        assert!(matches!(called, Ok(Err(CallError::Deadlock(_)))), "{called:?}");
        host.clear();
    });
}
