//! A turn inside a turn: a process that stops another node runs the last turns of that node's
//! processes on its own thread (rule X1).

use super::checker::model;
use super::model_host::ModelHost;
use crate::calls::reply::Reply;
use crate::host::host::Host;
use crate::mailbox::inbox_core::UNBOUNDED;
use crate::process::awaited::AwaitedProcess;
use crate::process::current;
use crate::received::Received;
use krarup_gen::{CallError, Pid, Reason};
use std::future::poll_fn;
use std::task::Poll;

/// After the inner turn the outer process is current again, with the rest of its budget.
#[test]
fn an_inner_turn_leaves_the_outer_turn_unchanged() {
    for outcome in [Ok(()), Err(Reason::Kill)] {
        model(move || {
            let (host, other) = (ModelHost::new(), ModelHost::new());
            // Gives the two processes different numbers.
            let _ = host.next_pid();
            let receiver = host.start(UNBOUNDED, |mut ctx| async move {
                assert!(matches!(ctx.receive().await, Received::Message(1)));
                assert!(ctx.sender().is_some(), "the sender is known");
                Ok(())
            });
            let outcome = outcome.clone();
            let (reply, mut answer) = Reply::<u32>::new(None);
            let cell = host.start(UNBOUNDED, move |ctx| async move {
                // A call of the outer turn. The end of the inner process does not affect it.
                drop(reply);
                let inner = other.start(UNBOUNDED, move |_| async move {
                    current::charge(1_000, 7);
                    current::keep_memory();
                    outcome
                });
                other.settle();
                assert!(!inner.is_alive());
                assert_eq!(current::pid(), Some(ctx.pid()));
                assert!(!current::keeps_memory() && current::flooded().is_none());
                assert!(current::spend(&ctx.cell.host), "the budget is not used up");
                assert!(receiver.send(1).is_ok());
                assert_eq!(current::take_sent(), 1);
                other.clear();
                Ok(())
            });
            host.settle();
            assert_eq!((host.retired(), cell.is_alive()), (2, false));
            let failed = CallError::Terminated { to: cell.pid(), reason: Reason::Normal };
            assert_eq!(answer.close(|| ()), Some(Err(Box::new(failed))));
            host.clear();
        });
    }
}

/// After the inner turn the outer one still has its state: the process it waits for, the
/// process that it floods, its count of sent messages, and that its dropped requests were not begun.
#[test]
fn an_inner_turn_keeps_the_state_of_the_outer_turn() {
    model(|| {
        let (host, other) = (ModelHost::new(), ModelHost::new());
        let _ = host.next_pid();
        let (reply, mut answer) = Reply::<u32>::new(None);
        let mut reply = Some(reply);
        let cell = host.start(UNBOUNDED, move |ctx| async move {
            let callee = Pid::local(7, ctx.pid().creation());
            poll_fn(|cx| {
                current::note_wait(callee, AwaitedProcess::on(callee), cx.waker());
                current::charge(1_000, 9);
                current::count_sent();
                current::look();
                current::not_begun(|| {
                    let inner = other.start(UNBOUNDED, |_| async move {
                        current::charge(2_000, 8);
                        current::count_sent();
                        Ok(())
                    });
                    assert!(!current::is_host_of_poll(&inner.shared));
                    other.settle();
                    assert!(!inner.is_alive());
                    assert!(current::is_host_of_poll(&ctx.cell.shared));
                    assert!(!current::is_host_of_poll(&inner.shared));
                    assert!(current::is_own(cx.waker()));
                    drop(reply.take());
                });
                assert_eq!(current::wait(), AwaitedProcess::on(callee));
                assert_eq!(current::flooded(), Some(9));
                assert_eq!(current::take_sent(), 1);
                assert!(current::has_looked());
                other.clear();
                Poll::Ready(Ok(()))
            })
            .await
        });
        host.settle();
        assert!(!cell.is_alive());
        let failed = CallError::NotBegun { to: cell.pid(), reason: Reason::Normal };
        assert_eq!(answer.close(|| ()), Some(Err(Box::new(failed))));
        host.clear();
    });
}
