//! A turn within a turn: a process that stops another node runs last turns there, on its own
//! thread (rule X1).

use super::checker::model;
use super::house::House;
use crate::host::Host;
use crate::mailbox::inbox::UNBOUNDED;
use crate::process::current;
use crate::received::Received;
use crate::reply::Reply;
use krarup_gen::{CallError, Reason};

/// After it the process is who it was, and has left of its turn what it had.
#[test]
fn a_turn_within_another_leaves_that_as_it_was() {
    for outcome in [Ok(()), Err(Reason::Kill)] {
        model(move || {
            let (house, other) = (House::new(), House::new());
            // So that no two of them have the same number.
            let _ = house.next_pid();
            let receiver = house.start(UNBOUNDED, |mut ctx| async move {
                assert!(matches!(ctx.receive().await, Received::Message(1)));
                assert!(ctx.sender().is_some(), "who sent it is known");
                Ok(())
            });
            let outcome = outcome.clone();
            let (reply, mut answer) = Reply::<u32>::new(None);
            let cell = house.start(UNBOUNDED, move |ctx| async move {
                // A call of this turn: what becomes of the inner process is not its fate.
                drop(reply);
                let inner = other.start(UNBOUNDED, move |_| async move {
                    current::charge(1_000, 7);
                    current::keep_memory();
                    outcome
                });
                other.settle();
                assert!(!inner.is_alive());
                assert_eq!(current::pid(), Some(ctx.pid()));
                assert!(!current::keeps_memory() && current::debt().is_none());
                assert!(current::spend(|| ctx.now()), "it has messages left");
                assert!(receiver.send(1).is_ok());
                assert_eq!(current::take_sent(), 1);
                other.clear();
                Ok(())
            });
            house.settle();
            assert_eq!((house.retired(), cell.is_alive()), (2, false));
            assert_eq!(answer.close(|| ()), Some(Err(CallError::Terminated(Reason::Normal))));
            house.clear();
        });
    }
}
