//! Reply tokens whose answer goes to a function and not to a waiting caller.

use crate::calls::reply::{Answer, Reply};
use crate::calls::slot::SlotReceiver;
use crate::process::crash::ignore;
use krarup_gen::{CallError, Pid};
use parking_lot::Mutex;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

impl<T: Send + 'static> Reply<T> {
    /// Creates a token whose answer, or error, is passed to `on`, on the thread of the process
    /// that answers. If the token is dropped, the error names `callee`. For bridges to callers
    /// outside the node.
    pub fn to(callee: Pid, on: impl FnOnce(Result<T, CallError>) + Send + 'static) -> Self {
        let (token, answer) = Reply::new(None);
        let answered = Arc::new(Answered { callee, state: Mutex::new(Some((answer, on))) });
        // The first poll leaves the waker in the slot.
        answered.wake();
        token
    }
}

/// The waiter of such a token: it is woken by the answer, and takes it.
struct Answered<T, F> {
    /// The process that is to answer.
    callee: Pid,
    state: Mutex<Option<WaitingAnswer<T, F>>>,
}

/// The answer, and the function that it goes to.
type WaitingAnswer<T, F> = (SlotReceiver<Answer<T>>, F);

impl<T, F> Wake for Answered<T, F>
where
    T: Send + 'static,
    F: FnOnce(Result<T, CallError>) + Send + 'static,
{
    fn wake(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let taken = {
            let mut state = self.state.lock();
            let Some((answer, _)) = &mut *state else { return };
            match answer.poll_value(&mut Context::from_waker(&waker)) {
                Poll::Pending => return,
                Poll::Ready(answer) => state.take().map(|(_, on)| (answer, on)),
            }
        };
        if let Some((answer, on)) = taken {
            let answer = match answer {
                Some(answer) => answer.map_err(|error| *error),
                None => Err(CallError::NoReply { to: self.callee }),
            };
            ignore(|| on(answer));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn zcall1_the_answer_goes_to_the_function_once_and_so_does_a_dropped_token() {
        let (told, tells) = channel();
        let to = Pid::local(7, 1);
        let reply = || {
            let told = told.clone();
            Reply::to(to, move |answer| drop(told.send(answer)))
        };
        reply().send(7);
        reply().pass_on().send(8);
        reply().fail(CallError::Full { to });
        drop(reply());
        let all: Vec<_> = tells.try_iter().collect();
        assert_eq!(
            all,
            [Ok(7), Ok(8), Err(CallError::Full { to }), Err(CallError::NoReply { to })]
        );
    }

    #[test]
    fn zcall3_a_token_in_a_refused_message_fails_with_the_refusal_outside_any_turn() {
        let (told, tells) = channel();
        let to = Pid::local(7, 1);
        let refusal = CallError::Draining { to };
        let reply = Reply::<u32>::to(to, move |answer| drop(told.send(answer)));
        crate::drop_refused((1, reply), &refusal);
        assert_eq!(tells.try_iter().collect::<Vec<_>>(), [Err(refusal)]);
        // A token that is dropped afterwards is not refused.
        let (told, tells) = channel();
        drop(Reply::<u32>::to(to, move |answer| drop(told.send(answer))));
        assert_eq!(tells.recv().unwrap(), Err(CallError::NoReply { to }));
    }
}
