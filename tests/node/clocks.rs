//! The clock of a node in futures that have no context: rule T15.

use krarup::NodeClock;
use krarup::prelude::*;
use std::future::{pending, ready};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Polls a source that fails twice, every ten seconds, beside its other work.
struct Poller {
    answers: u32,
}

enum Polling {
    Begin,
    Done { tries: u32, took: Duration },
    Answers(Reply<u32>),
}

impl Actor for Poller {
    type Message = Polling;

    async fn handle_message(&mut self, ctx: &mut Context<Polling>, message: Polling) -> Result {
        match message {
            Polling::Begin => {
                let clock = ctx.clock();
                let poll = async move {
                    let (began, mut tries) = (clock.now(), 1);
                    while tries < 3 {
                        clock.sleep(10 * SECOND).await;
                        tries += 1;
                    }
                    clock.sleep_until(began + 30 * SECOND).await;
                    (tries, clock.now().since(began))
                };
                ctx.pipe(poll, |(tries, took)| Polling::Done { tries, took })?;
            }
            Polling::Done { tries, took } => {
                assert_eq!((tries, took), (3, 30 * SECOND));
                self.answers += 1;
            }
            Polling::Answers(reply) => reply.send(self.answers),
        }
        Ok(())
    }
}

#[test]
fn t15_a_piped_future_sleeps_and_tells_the_time_of_its_node() {
    let sim = Simulation::new(1);
    let poller = sim.spawn(|| Poller { answers: 0 }).wait().unwrap();
    poller.send(Polling::Begin).unwrap();
    sim.advance(29 * SECOND);
    // It serves meanwhile.
    assert_eq!(poller.call(Polling::Answers).wait().unwrap(), 0);
    sim.advance(SECOND);
    assert_eq!(poller.call(Polling::Answers).wait().unwrap(), 1);
    assert_eq!(sim.now().since(krarup::Timestamp::ZERO), 30 * SECOND);
}

#[test]
fn t15_a_timeout_ends_a_future_and_one_that_is_ready_in_time_is_not_late() {
    let sim = Simulation::new(1);
    let clock = sim.clock();
    let silent = krarup::behavior::behavior_fn(|_: Context<Reply<()>>| pending::<Result>());
    let silent = sim.spawn(move || silent).start().unwrap();
    let began = clock.wall_time();
    let ended = sim.block_on(async {
        let never = clock.timeout(3 * SECOND, pending::<()>()).await;
        let at = clock.now();
        // Both are due at once.
        let both = clock.timeout(SECOND, clock.sleep(SECOND)).await;
        let known = clock.timeout(Duration::ZERO, ready(7)).await;
        // What is not begun yet is begun: here a call that nobody answers.
        let call = clock.timeout(SECOND, silent.call(|reply| reply).no_timeout()).await;
        assert_eq!(call, None);
        (never, at.since(krarup::Timestamp::ZERO), both, known)
    });
    assert_eq!(ended.unwrap(), (None, 3 * SECOND, Some(()), Some(7)));
    assert_eq!(clock.wall_time(), began + 5 * SECOND);
    assert_eq!(sim.stats().timers, 0);
}

#[test]
fn t15_a_clock_does_not_keep_a_node_alive_and_no_sleep_outlasts_it() {
    fn is_for_any_future<T: Clone + Send + Sync + 'static>(_: &T) {}
    let node = Node::builder("t15@localhost").start().unwrap();
    let clock: NodeClock = node.clock();
    is_for_any_future(&clock);
    assert!(format!("{clock:?}").starts_with("NodeClock(t15@localhost, at "));
    let asleep = clock.clone();
    let sleeper = node.task(async move { asleep.sleep(Duration::MAX).await }).start().unwrap();
    drop(node.stop().wait());
    assert!(sleeper.wait().is_err());
    // The node is gone.
    let late = std::thread::spawn(move || {
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::pin!(clock.sleep(Duration::MAX)).poll(&mut cx).is_ready()
    });
    assert!(late.join().unwrap());
}
