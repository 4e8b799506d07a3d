//! Processes that owe turns and are called: a stop, a kill, an inspection, a suspension, a
//! signal or a control message does not wait for the debt (rules M4, X3). See
//! [`crate::dispatcher::debtors`].

use super::{LOCAL, SharedDispatcher, SteppedWorker, as_worker, options};
use krarup_act::{Address, Context, Host, Received, Spawn, Via, behavior_fn, inspect, suspend};
use krarup_gen::{Class, Exit, Pid, Reason};
use std::future::pending;
use std::iter;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{self, Waker};
use std::thread;

/// The messages of a flooding turn: a debt of thousands of turns.
const FLOOD: u64 = 10_000;
/// The number of processes that always have more to do.
const BUSY: usize = 40;

/// A process that owes turns.
struct CalledDebtor {
    address: Address<()>,
    /// How many items other than messages it has received; it floods for each of them too.
    heard: Arc<AtomicUsize>,
    /// How many messages it has handled.
    handled: Arc<AtomicUsize>,
}

/// Polls what the call waits for, and returns whether that has happened.
type Heard = Box<dyn FnMut() -> bool>;

fn asks<T: 'static>(asked: impl Future<Output = T> + 'static) -> Heard {
    let mut asked: Pin<Box<dyn Future<Output = T>>> = Box::pin(asked);
    let mut done = false;
    let mut poll = move || {
        let mut cx = task::Context::from_waker(Waker::noop());
        done = done || asked.as_mut().poll(&mut cx).is_ready();
        done
    };
    // This first poll sends the request.
    assert!(!poll());
    Box::new(poll)
}

/// A way to call a process.
type CallWay = fn(&CalledDebtor, Arc<dyn Host>) -> Heard;

/// All the ways to call a process.
const CALLS: [(&str, CallWay); 8] = [
    ("kill", |debtor, _| {
        debtor.address.process().kill();
        ends(debtor)
    }),
    ("stop", |debtor, _| {
        debtor.address.process().request_stop(Reason::Shutdown);
        ends(debtor)
    }),
    ("exit signal", |debtor, _| {
        let exit = Exit { pid: Pid::local(1 << 40, 1), reason: Reason::error("enough") };
        debtor.address.process().exit_signal(exit, Via::Signal);
        ends(debtor)
    }),
    ("system message", |debtor, _| {
        debtor.address.send_high(()).unwrap();
        hears(debtor)
    }),
    ("urgent message", |debtor, _| {
        debtor.address.send_max(()).unwrap();
        hears(debtor)
    }),
    ("inspect", |debtor, host| asks(inspect(host, Some(debtor.address.process())))),
    ("suspend", |debtor, host| asks(suspend(host, Some(debtor.address.process())))),
    ("suspend and resume", |debtor, host| {
        let suspended = asks(suspend(host, Some(debtor.address.process())));
        assert!(debtor.address.process().resume());
        suspended
    }),
];

fn ends(debtor: &CalledDebtor) -> Heard {
    let address = debtor.address.clone();
    Box::new(move || !address.is_alive())
}

fn hears(debtor: &CalledDebtor) -> Heard {
    let heard = Arc::clone(&debtor.heard);
    Box::new(move || heard.load(Ordering::Relaxed) > 0)
}

fn host(stepped: &SteppedWorker) -> Arc<dyn Host> {
    Arc::clone(&stepped.nursery.home) as Arc<dyn Host>
}

/// Makes a process that owes thousands of turns, among others that are busy.
fn debtor(stepped: &mut SteppedWorker, class: Class, says: Option<Class>) -> CalledDebtor {
    let receiver = behavior_fn(|_: Context<u64>| pending());
    let flooded = Spawn::outside(host(stepped), move || receiver).start().unwrap();
    let (heard, handled) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (hears, handles) = (Arc::clone(&heard), Arc::clone(&handled));
    let flooder = behavior_fn(move |mut ctx: Context<()>| async move {
        if let Some(class) = says {
            assert!(ctx.set_class(class));
        }
        loop {
            let is_message = matches!(ctx.receive().await, Received::Message(()));
            let count = if is_message { &handles } else { &hears };
            count.fetch_add(1, Ordering::Relaxed);
            (0..FLOOD).for_each(|number| flooded.send(number).unwrap());
            if is_message {
                ctx.address().send(()).unwrap();
            }
        }
    });
    let address = Spawn::outside(host(stepped), move || flooder).class(class).start().unwrap();
    for number in 0..BUSY {
        let again = |own: &Address<()>, _: &crate::core::Core| own.send(()).unwrap();
        stepped.nursery.spawn_with(number, Class::Normal, again).send(()).unwrap();
    }
    address.send(()).unwrap();
    while handled.load(Ordering::Relaxed) == 0 {
        stepped.step();
    }
    stepped.steps(2);
    assert_eq!(stepped.shared.number_of_debtors(), 1);
    CalledDebtor { address, heard, handled }
}

/// Where a debtor is: among the debtors of a worker, or handed over by it.
#[derive(Clone, Copy, Debug)]
enum DebtorPlace {
    Debtors,
    HandedOver,
}

/// Calls a process of this class in each of the ways [`CALLS`]. `says`: the class that the
/// process itself sets.
fn each_call_is_heard_at_once(class: Class, says: Option<Class>) {
    for place in [DebtorPlace::Debtors, DebtorPlace::HandedOver] {
        for (name, call) in CALLS {
            as_worker(options(1).throughput(1), move |stepped| {
                let debtor = debtor(stepped, class, says);
                if let DebtorPlace::HandedOver = place {
                    stepped.shared.forget_all_debts();
                }
                let before = debtor.handled.load(Ordering::Relaxed);
                let mut heard = call(&debtor, host(stepped));
                let waited = (0..1_000).take_while(|_| {
                    stepped.step();
                    !heard()
                });
                let waited = waited.count();
                assert!(waited <= 1, "{name}, {place:?}: {waited} turns of others");
                assert_eq!(debtor.handled.load(Ordering::Relaxed), before, "{name}");
                // The debt of the called turn is forgiven, and charged to no other process.
                stepped.steps(2);
                assert_eq!(stepped.shared.number_of_debtors(), 0, "{name}, {place:?}");
            });
        }
    }
}

#[test]
fn m4_whoever_owes_turns_hears_of_what_calls_it_at_once() {
    each_call_is_heard_at_once(Class::Normal, None);
}

/// A process of class Varying owes turns like any other while it is among the normal processes.
#[test]
fn m4_whoever_says_its_own_class_owes_turns_and_is_called_like_any() {
    each_call_is_heard_at_once(Class::Varying, None);
    each_call_is_heard_at_once(Class::Varying, Some(Class::Normal));
}

/// A worker in a long turn does not keep its debtors from another worker.
#[test]
fn m4_whoever_owes_turns_to_a_worker_that_is_busy_is_called_to_another() {
    as_worker(options(2).throughput(1), |stepped| {
        let debtor = debtor(stepped, Class::Normal, None);
        debtor.address.process().kill();
        let other = Arc::clone(&stepped.shared);
        let runs = move || {
            let called = other.express.calls();
            other.run_high(&other.counters[1], &mut false);
            called
        };
        assert!(thread::spawn(runs).join().unwrap());
        assert!(!debtor.address.is_alive());
    });
}

/// Wherever a debtor is, it counts as waiting for a turn.
#[test]
fn x4_whoever_owes_turns_is_counted_among_those_that_are_queued() {
    as_worker(options(1).throughput(1), |stepped| {
        let _debtor = debtor(stepped, Class::Normal, None);
        let queued = |stepped: &SteppedWorker| stepped.shared.stats().queued;
        assert_eq!((stepped.queued().0, queued(stepped)), (BUSY, BUSY + 1));
        stepped.shared.forget_all_debts();
        assert_eq!((stepped.queued().0, queued(stepped)), (BUSY, BUSY + 1));
    });
}

/// After the call has been handled the process runs like any other, and owes turns again.
#[test]
fn r1_whoever_was_called_goes_on_as_before() {
    as_worker(options(1).throughput(1), |stepped| {
        let debtor = debtor(stepped, Class::Normal, None);
        debtor.address.send_high(()).unwrap();
        stepped.step();
        assert_eq!(debtor.heard.load(Ordering::Relaxed), 1);
        // It is the last in the queue.
        let own = debtor.address.pid();
        let ran: Vec<_> = (0..BUSY + 2).filter_map(|_| stepped.step()).collect();
        assert_eq!(ran.iter().position(|pid| *pid == own), Some(BUSY - 1));
        assert_eq!(debtor.handled.load(Ordering::Relaxed), 2);
        assert_eq!(stepped.shared.number_of_debtors(), 1);
        assert!(!stepped.shared.express.calls());
        assert_eq!(stepped.shared.stats().high_turns, 0);
    });
}

/// An item on a control lane at the end of a turn leaves no debt, and gives no precedence.
#[test]
fn r1_who_calls_itself_all_the_time_has_its_turn_with_the_others() {
    as_worker(options(1).throughput(1), |stepped| {
        let receiver = behavior_fn(|_: Context<u64>| pending());
        let flooded = Spawn::outside(host(stepped), move || receiver).start().unwrap();
        let floods = stepped.nursery.spawn_with(BUSY, Class::Normal, move |own, _| {
            (0..1_000).for_each(|number| flooded.send(number).unwrap());
            own.send_high(()).unwrap();
            own.send(()).unwrap();
        });
        for number in 0..BUSY {
            let again = |own: &Address<()>, _: &crate::core::Core| own.send(()).unwrap();
            stepped.nursery.spawn_with(number, Class::Normal, again).send(()).unwrap();
        }
        floods.send(()).unwrap();
        stepped.steps(20 * (BUSY + 1));
        let turns = stepped.taken();
        let floods = turns.iter().filter(|number| **number == BUSY).count();
        assert!((15..=21).contains(&floods), "{floods} of {}", turns.len());
        assert_eq!(stepped.shared.number_of_debtors(), 0);
    });
}

/// A debtor that is called again and again from outside leaves the others their turns.
#[test]
fn r1_who_is_called_from_outside_all_the_time_starves_nobody() {
    as_worker(options(1).throughput(1), |stepped| {
        let debtor = debtor(stepped, Class::Normal, None);
        let own = debtor.address.pid();
        let mut others = 0;
        for _ in 0..1_000 {
            debtor.address.send_high(()).unwrap();
            others += usize::from(stepped.step().is_some_and(|ran| ran != own));
        }
        assert!(others >= 900, "{others}");
    });
}

/// A call does not search through all debtors.
#[test]
fn m4_a_hundred_thousand_that_owe_are_each_called_at_once() {
    as_worker(options(1).throughput(1), |stepped| {
        const ALL: usize = if cfg!(miri) { 50 } else { 100_000 };
        let all: Vec<_> = (0..ALL)
            .map(|number| stepped.nursery.spawn_with(number, Class::Normal, |_, _| {}))
            .collect();
        // Put there directly: if each flooded another process, the test would take minutes.
        LOCAL.with(|local| {
            let own = &local.get().unwrap().queue;
            let spilled = || SharedDispatcher::take_one(|| stepped.shared.injector.steal());
            let ready = iter::from_fn(|| own.pop().or_else(spilled));
            assert!(stepped.shared.handed_over.put(ready).is_empty());
        });
        assert_eq!(stepped.shared.number_of_debtors(), ALL);
        for process in all.iter().rev() {
            process.process().kill();
            stepped.shared.recall(process.pid());
        }
        while stepped.shared.express.calls() {
            stepped.step();
        }
        assert!(all.iter().all(|process| !process.is_alive()));
        assert_eq!(stepped.shared.number_of_debtors(), 0);
    });
}
