//! Tests of the table against a list of open promises (M21).

use crate::state_actor::promise::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

type TestedTable = PromiseTable<u32, ()>;

const ACTOR: Pid = Pid::local(7, 1);

/// An answer that the test gives at a time of its choice.
#[derive(Clone, Default)]
struct LateAnswer(Arc<Mutex<TestAnswer>>);

type TestAnswer = (Option<Result<u32, CallError>>, Option<Waker>);

impl LateAnswer {
    fn answer(&self, value: Result<u32, CallError>) {
        let waker = {
            let mut later = self.0.lock();
            later.0 = Some(value);
            later.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Future for LateAnswer {
    type Output = Result<u32, CallError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut later = self.0.lock();
        later.1 = Some(cx.waker().clone());
        later.0.take().map_or(Poll::Pending, Poll::Ready)
    }
}

fn outcome(promise: &mut Promise<u32>) -> Poll<Result<u32, CallError>> {
    Pin::new(promise).poll(&mut Context::from_waker(Waker::noop()))
}

#[derive(Clone, Debug)]
enum PromiseStep {
    Ask,
    Answer(prop::sample::Index, u8),
    Deliver,
    GiveUp(prop::sample::Index),
}

proptest! {
    #[test]
    fn o5_the_table_counts_exactly_the_asks_without_a_delivered_outcome(
        steps in prop::collection::vec(
            prop_oneof![
                3 => Just(PromiseStep::Ask),
                3 => (any::<prop::sample::Index>(), 0..3_u8)
                    .prop_map(|(which, how)| PromiseStep::Answer(which, how)),
                3 => Just(PromiseStep::Deliver),
                1 => any::<prop::sample::Index>().prop_map(PromiseStep::GiveUp),
            ],
            1..120,
        ),
    ) {
        let table = TestedTable::new(ACTOR);
        let wakers: Arc<HandlerWakers> = Arc::default();
        let mut open: BTreeMap<u32, (Promise<u32>, LateAnswer, bool)> = BTreeMap::new();
        let mut queue: Vec<(TableKey, Settled<u32, ()>)> = Vec::new();
        for (number, step) in (0_u32..).zip(steps) {
            match step {
                PromiseStep::Ask => {
                    let later = LateAnswer::default();
                    let promise = Promise::open(&table, &wakers, later.clone());
                    open.insert(number, (promise, later, false));
                }
                PromiseStep::Answer(which, how) => {
                    if open.is_empty() {
                        continue;
                    }
                    let number = *which.get(&open.keys().copied().collect::<Vec<_>>());
                    let Some((_, later, answered)) = open.get_mut(&number) else { continue };
                    if std::mem::replace(answered, true) {
                        continue;
                    }
                    later.answer(match how {
                        0 => Ok(number),
                        1 => Err(CallError::NoReply { to: ACTOR }),
                        _ => Err(CallError::Timeout { to: ACTOR, limit: Duration::from_secs(1) }),
                    });
                    for of in wakers.take() {
                        if let WorkKey::Promise(key) = of {
                            table.poll(key);
                        }
                    }
                    queue.extend(table.take_settled());
                }
                PromiseStep::Deliver => {
                    if queue.is_empty() {
                        continue;
                    }
                    let (key, _) = queue.remove(0);
                    let before = table.pending();
                    let delivered = table.deliver(key);
                    prop_assert_eq!(table.pending(), before - usize::from(delivered));
                    // A promise is delivered only once.
                    prop_assert!(!table.deliver(key));
                    let ready: Vec<u32> = open
                        .iter_mut()
                        .filter_map(|(number, (promise, _, _))| {
                            outcome(promise).is_ready().then_some(*number)
                        })
                        .collect();
                    // Only the promise whose turn has come is ready.
                    prop_assert_eq!(ready.len(), usize::from(delivered));
                    for number in ready {
                        open.remove(&number);
                    }
                }
                PromiseStep::GiveUp(which) => {
                    if open.is_empty() {
                        continue;
                    }
                    let number = *which.get(&open.keys().copied().collect::<Vec<_>>());
                    open.remove(&number);
                }
            }
            prop_assert_eq!(table.pending(), open.len());
        }
    }
}

#[test]
fn o5_an_answer_is_delivered_in_its_turn_to_its_own_promise() {
    let (table, wakers): (_, Arc<HandlerWakers>) = (TestedTable::new(ACTOR), Arc::default());
    let (first, second) = (LateAnswer::default(), LateAnswer::default());
    let mut one = Promise::open(&table, &wakers, first.clone());
    let mut two = Promise::open(&table, &wakers, second.clone());
    second.answer(Ok(2));
    first.answer(Ok(1));
    for of in wakers.take() {
        if let WorkKey::Promise(key) = of {
            table.poll(key);
        }
    }
    assert!(outcome(&mut one).is_pending() && outcome(&mut two).is_pending());
    let settled = table.take_settled();
    table.deliver(settled[0].0);
    assert!(outcome(&mut one).is_pending());
    assert_eq!(outcome(&mut two), Poll::Ready(Ok(2)));
    table.deliver(settled[1].0);
    assert_eq!(outcome(&mut one), Poll::Ready(Ok(1)));
}

#[test]
fn o5_holders_of_promises_are_notified_when_the_table_is_cleared() {
    let (table, wakers): (_, Arc<HandlerWakers>) = (TestedTable::new(ACTOR), Arc::default());
    let mut promise = Promise::open(&table, &wakers, LateAnswer::default());
    assert_eq!(table.pending(), 1);
    table.clear();
    assert_eq!(table.pending(), 0);
    assert_eq!(outcome(&mut promise), Poll::Ready(Err(CallError::NoReply { to: ACTOR })));
}

#[test]
fn o5_a_panicking_waker_does_not_stop_the_other_notifications_of_a_cleared_table() {
    struct Sore;
    impl std::task::Wake for Sore {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics");
        }
    }
    let (table, wakers): (_, Arc<HandlerWakers>) = (TestedTable::new(ACTOR), Arc::default());
    let mut promises = [0, 1, 2].map(|_| Promise::open(&table, &wakers, LateAnswer::default()));
    let waker = Waker::from(Arc::new(Sore));
    for promise in &mut promises[..2] {
        assert!(Pin::new(promise).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    table.clear();
    for promise in &mut promises {
        assert_eq!(outcome(promise), Poll::Ready(Err(CallError::NoReply { to: ACTOR })));
    }
}

/// Work that gives up its own promise when it is polled, and panics when it is dropped.
struct Sore(Arc<Mutex<Option<Promise<u32>>>>);

impl Future for Sore {
    type Output = Result<u32, CallError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let promise = self.0.lock().take();
        drop(promise);
        Poll::Pending
    }
}

impl Drop for Sore {
    fn drop(&mut self) {
        panic!("sore");
    }
}

#[test]
fn o5_work_that_drops_its_own_promise_may_panic_when_dropped() {
    let table = TestedTable::new(ACTOR);
    let wakers: Arc<HandlerWakers> = Arc::default();
    let own = Arc::default();
    let promise = Promise::open(&table, &wakers, Sore(Arc::clone(&own)));
    let key = promise.key;
    *own.lock() = Some(promise);
    assert_eq!(table.pending(), 1);
    table.poll(key);
    assert!(own.lock().is_none());
    assert_eq!(table.pending(), 0);
}
