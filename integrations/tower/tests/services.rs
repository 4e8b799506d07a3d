//! Services over pools: readiness by room (rule Q1), errors at once (Q2), requests that run in workers
//! (Q3). The order of turns comes from seeds.

use krarup::pool::{ByKey, Rate};
use krarup::prelude::*;
use krarup::{Name, NamedCallError};
use krarup_tower::{CallService, PoolLayer, PoolLayerError, RequestWorker};
use std::convert::Infallible;
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::time::Duration;
use tower::load_shed::{LoadShed, error::Overloaded};
use tower::{Layer, Service, ServiceExt, service_fn};

type Job = (u32, Reply<u32>);
type Doubles = CallService<Job, PoolCommand, u32, u32>;

/// Answers with twice the number.
struct Double;

impl Actor for Double {
    type Message = Job;

    async fn handle_message(&mut self, _: &mut Context<Job>, (number, reply): Job) -> Result {
        reply.send(2 * number);
        Ok(())
    }
}

fn doubles(sim: &Simulation, pool: Pool<Double>) -> Doubles {
    let pool = sim.spawn(move || pool).wait().unwrap();
    CallService::new(pool, |number, reply| (number, reply))
}

fn double() -> Double {
    Double
}

fn pool(workers: usize, mailbox: usize) -> Pool<Double> {
    Pool::new(workers, double).mailbox(mailbox)
}

/// Counts how often it is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn ready<S: Service<Q>, Q>(service: &mut S, woken: &Arc<Woken>) -> Poll<Result<(), S::Error>> {
    let waker = Waker::from(Arc::clone(woken));
    service.poll_ready(&mut TaskContext::from_waker(&waker))
}

/// Runs the future as a process of the node.
fn outcome<T: Send + 'static>(
    sim: &Simulation,
    future: impl Future<Output = T> + Send + 'static,
) -> T {
    sim.task(future).wait().unwrap()
}

#[test]
fn q1_a_service_is_ready_when_a_worker_has_room_and_keeps_it() {
    for seed in 0..30 {
        let sim = Simulation::new(seed);
        let service = doubles(&sim, pool(2, 2));
        let mut clones: Vec<_> = (0..6).map(|_| service.clone()).collect();
        let woken: Vec<_> = (0..6).map(|_| Arc::new(Woken::default())).collect();
        let states: Vec<_> =
            clones.iter_mut().zip(&woken).map(|(one, by)| ready(one, by).is_ready()).collect();
        assert_eq!(states, [true, true, true, true, false, false]);
        // What is ready stays so, and takes no more room.
        assert!(ready(&mut clones[0], &woken[0]).is_ready());
        // One that is dropped gives its room to the first that waits.
        drop(clones.remove(0));
        sim.run_until_idle();
        assert_eq!(woken[4].0.load(Ordering::Relaxed), 1);
        assert!(ready(&mut clones[3], &woken[4]).is_ready());
        assert!(ready(&mut clones[4], &woken[5]).is_pending());
        // So does a request that was let in and is handled.
        let call = clones[0].call(21);
        assert_eq!(outcome(&sim, call), Ok(42));
        sim.run_until_idle();
        assert!(ready(&mut clones[4], &woken[5]).is_ready());
        // A response that is dropped before it was asked for has sent nothing.
        let before = service.address().unwrap().waiting();
        drop(clones[4].call(1));
        sim.run_until_idle();
        assert!(ready(&mut service.clone(), &woken[5]).is_ready());
        assert!(service.address().unwrap().waiting() <= before);
    }
}

#[test]
fn q1_a_service_is_ready_when_the_rate_allows_a_request() {
    let sim = Simulation::new(1);
    let mut service = doubles(&sim, pool(2, 100).rate(Rate::per_second(1.0)));
    let woken = Arc::new(Woken::default());
    assert!(ready(&mut service, &woken).is_ready());
    let call = service.call(1);
    assert_eq!(outcome(&sim, call), Ok(2));
    assert!(ready(&mut service, &woken).is_pending());
    sim.advance(Duration::from_millis(990));
    assert!(ready(&mut service, &woken).is_pending());
    sim.advance(Duration::from_millis(11));
    assert!(woken.0.load(Ordering::Relaxed) > 0);
    assert!(ready(&mut service, &woken).is_ready());
}

#[test]
fn q1_a_service_without_a_pool_is_not_ready_but_failed() {
    let sim = Simulation::new(1);
    let mut service = doubles(&sim, pool(1, 1));
    let woken = Arc::new(Woken::default());
    let to = service.address().unwrap().pid();
    let mut waits = service.clone();
    assert!(ready(&mut service, &woken).is_ready());
    assert!(ready(&mut waits, &woken).is_pending());
    sim.kill(to);
    sim.run_until_idle();
    assert_eq!(ready(&mut waits, &woken), Poll::Ready(Err(CallError::NoProcess { to })));
    // The room was that of a worker that has ended with the pool.
    let call = service.call(1);
    assert!(outcome(&sim, call).is_err());
    let keyed = || Pool::new(1, double).mailbox(1).routing(ByKey::new(|job: &Job| job.0));
    let keyed = sim.spawn(keyed).wait().unwrap();
    let mut keyed = CallService::new(keyed, |number: u32, reply| (number, reply));
    // Room for any key is room at each worker, and is not waited for.
    let mut other = keyed.clone();
    assert!(ready(&mut keyed, &woken).is_ready());
    let refused = ready(&mut other, &woken);
    assert!(matches!(refused, Poll::Ready(Err(CallError::Full { .. }))), "{refused:?}");
    let call = keyed.shedding().call(4);
    assert_eq!(outcome(&sim, call), Ok(8));
}

#[test]
fn q1_a_service_whose_process_has_ended_is_failed_though_it_has_room() {
    let sim = Simulation::new(1);
    let mut service = doubles(&sim, pool(1, 1));
    let woken = Arc::default();
    assert!(matches!(ready(&mut service, &woken), Poll::Ready(Ok(()))));
    let pid = service.address().unwrap().pid();
    sim.kill(pid);
    sim.run_until_idle();
    for _ in 0..2 {
        let again = ready(&mut service, &woken);
        let failed = matches!(again, Poll::Ready(Err(CallError::NoProcess { to })) if to == pid);
        assert!(failed, "{again:?}");
    }
}

fn by_name(sim: &Simulation) -> Doubles {
    let pool = sim.node().named_address("doubles").unwrap();
    CallService::named(pool, |number, reply| (number, reply))
}

#[test]
fn q1_a_service_by_name_waits_through_a_restart() {
    for seed in 0..40 {
        let sim = Simulation::new(seed);
        let spawn = || sim.spawn(|| pool(1, 1)).name("doubles").wait().unwrap().pid();
        let (mut has_room, mut waits) = (by_name(&sim), by_name(&sim));
        let woken = [Arc::new(Woken::default()), Arc::new(Woken::default())];
        // Before there is one.
        assert!(ready(&mut has_room, &woken[0]).is_pending());
        let first = spawn();
        sim.run_until_idle();
        assert!(woken[0].0.load(Ordering::Relaxed) > 0);
        assert!(ready(&mut has_room, &woken[0]).is_ready());
        // One has room, the other one waits for it.
        assert!(ready(&mut waits, &woken[1]).is_pending());
        sim.kill(first);
        sim.run_until_idle();
        assert!(ready(&mut has_room, &woken[0]).is_pending());
        assert!(ready(&mut waits, &woken[1]).is_pending());
        let second = spawn();
        assert_ne!(first, second);
        sim.run_until_idle();
        for (service, woken) in [(&mut waits, &woken[1]), (&mut has_room, &woken[0])] {
            sim.run_until_idle();
            assert!(ready(service, woken).is_ready());
            let call = service.call(21);
            assert_eq!(outcome(&sim, call), Ok(42));
        }
        assert_eq!(has_room.address().unwrap().pid(), second);
        // What had room at a process that has ended since is not begun.
        assert!(ready(&mut has_room, &woken[0]).is_ready());
        sim.kill(second);
        sim.run_until_idle();
        let call = has_room.call(1);
        let error = outcome(&sim, call).unwrap_err();
        assert!(!error.was_begun(), "{error}");
        // At the stop of the node nothing follows.
        assert!(ready(&mut waits, &woken[1]).is_pending());
        let before = woken[1].0.load(Ordering::Relaxed);
        let node = sim.node().clone();
        sim.task(async move { node.stop().await }).start().unwrap().detach();
        sim.run_until_idle();
        assert!(woken[1].0.load(Ordering::Relaxed) > before);
        let told = ready(&mut waits, &woken[1]);
        assert!(matches!(told, Poll::Ready(Err(CallError::Named(_)))), "{told:?}");
    }
}

#[test]
fn q2_a_service_by_name_that_sheds_fails_at_once_while_no_process_has_it() {
    let sim = Simulation::new(1);
    let mut sheds = by_name(&sim).shedding();
    let missing = || {
        let name = Name::new("doubles").unwrap();
        Err(CallError::from(NamedCallError::NoName { name, waited: Duration::ZERO }))
    };
    let woken = Arc::default();
    assert!(ready(&mut sheds, &woken).is_ready());
    let call = sheds.call(1);
    assert_eq!(outcome(&sim, call), missing());
    // As does one that has not asked for room.
    let call = by_name(&sim).call(1);
    assert_eq!(outcome(&sim, call), missing());
    let pid = sim.spawn(|| pool(1, 1)).name("doubles").wait().unwrap().pid();
    let call = sheds.call(2);
    assert_eq!(outcome(&sim, call), Ok(4));
    sim.kill(pid);
    sim.run_until_idle();
    let call = sheds.call(1);
    assert_eq!(outcome(&sim, call), missing());
    // Another process has the name now, which takes other messages.
    let _other = sim.spawn(|| RequestWorker).name("doubles").wait().unwrap();
    let call = sheds.call(1);
    let error = outcome(&sim, call).unwrap_err();
    assert!(matches!(&error, CallError::Named(_)) && !error.was_begun(), "{error}");
    let told = ready(&mut by_name(&sim), &woken);
    assert!(matches!(told, Poll::Ready(Err(CallError::Named(_)))), "{told:?}");
}

#[test]
fn q3_requests_run_in_whichever_pool_has_the_name() {
    for seed in 0..20 {
        let sim = Simulation::new(seed);
        let spawn = || {
            let pool = || Pool::new(1, || RequestWorker).mailbox(1);
            sim.spawn(pool).name("requests").wait().unwrap().pid()
        };
        let twice = service_fn(async |number: u32| Ok::<_, Infallible>(2 * number));
        let pool = sim.node().named_address("requests").unwrap();
        let mut service = PoolLayer::named(pool).layer(twice);
        let woken = Arc::new(Woken::default());
        for _ in 0..3 {
            assert!(ready(&mut service, &woken).is_pending());
            let pool = spawn();
            sim.run_until_idle();
            assert!(ready(&mut service, &woken).is_ready());
            let call = service.call(21);
            assert_eq!(outcome(&sim, call), Ok(42));
            sim.kill(pool);
            sim.run_until_idle();
        }
    }
}

#[test]
fn q1_a_service_that_waits_is_told_when_there_will_be_no_room() {
    for (seed, end) in (0..40).zip(["killed", "resized", "drained", "stopped"].into_iter().cycle())
    {
        let sim = Simulation::new(seed);
        let service = doubles(&sim, pool(1, 1));
        let to = service.address().unwrap().pid();
        let mut has_room = service.clone();
        assert!(ready(&mut has_room, &Arc::default()).is_ready());
        let mut waits = service.clone();
        let woken = Arc::new(Woken::default());
        assert!(ready(&mut waits, &woken).is_pending());
        let expected = match end {
            "killed" => {
                sim.kill(to);
                CallError::NoProcess { to }
            }
            "resized" => {
                let pool = service.address().unwrap();
                sim.task(async move { pool.remove_workers(1).await }).start().unwrap().detach();
                CallError::NoWorkers { to }
            }
            "drained" => {
                let pool = service.address().unwrap();
                sim.task(async move { pool.drain().await }).start().unwrap().detach();
                CallError::Draining { to }
            }
            _ => {
                let node = sim.node().clone();
                sim.task(async move { node.stop().await }).start().unwrap().detach();
                CallError::NoProcess { to }
            }
        };
        sim.run_until_idle();
        assert!(woken.0.load(Ordering::Relaxed) > 0, "{end}");
        assert_eq!(ready(&mut waits, &woken), Poll::Ready(Err(expected)), "{end}");
    }
}

#[test]
fn q1_load_shedding_of_tower_works_by_the_readiness_of_a_pool() {
    let sim = Simulation::new(1);
    let service = doubles(&sim, pool(1, 2));
    let calls: Vec<_> = (0..4)
        .map(|number| {
            let mut service = LoadShed::new(service.clone());
            assert!(ready(&mut service, &Arc::default()).is_ready());
            service.call(number)
        })
        .collect();
    let outcomes: Vec<_> = calls.into_iter().map(|call| outcome(&sim, call)).collect();
    let shed = |outcome: &std::result::Result<u32, tower::BoxError>| {
        outcome.as_ref().is_err_and(|error| error.is::<Overloaded>())
    };
    assert_eq!(outcomes.iter().map(shed).collect::<Vec<_>>(), [false, false, true, true]);
    assert_eq!(*outcomes[1].as_ref().unwrap(), 2);
}

#[test]
fn q2_a_shedding_service_fails_at_once_and_says_when_to_come_back() {
    let sim = Simulation::new(1);
    let mut service = doubles(&sim, pool(1, 2)).shedding();
    assert!(ready(&mut service, &Arc::default()).is_ready());
    let all: Vec<_> = (0..3).map(|number| service.call(number)).collect();
    let all = outcome(&sim, async move {
        let mut calls: Vec<_> = all.into_iter().map(Some).collect();
        let mut outcomes = vec![None; 3];
        // All are begun before the worker has a turn.
        std::future::poll_fn(|cx| {
            for (call, outcome) in calls.iter_mut().zip(&mut outcomes) {
                if let Some(running) = call
                    && let Poll::Ready(done) = pin!(running).poll(cx)
                {
                    (*outcome, *call) = (Some(done), None);
                }
            }
            if calls.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        outcomes
    });
    assert_eq!((&all[0], &all[1]), (&Some(Ok(0)), &Some(Ok(2))));
    assert!(matches!(all[2], Some(Err(CallError::Full { .. }))), "{:?}", all[2]);
    let limited = pool(1, 9).rate(Rate::per_second(0.5));
    let mut limited = doubles(&sim, limited).shedding().timeout(Duration::from_secs(1));
    let call = limited.call(1);
    assert_eq!(outcome(&sim, call), Ok(2));
    let call = limited.call(1);
    let Err(CallError::RateLimited { retry_after, .. }) = outcome(&sim, call) else { panic!() };
    assert!(retry_after > Duration::from_secs(1), "{retry_after:?}");
}

#[test]
fn q3_requests_of_any_service_run_in_the_workers_of_a_pool() {
    let node = Node::start("q3_tower").unwrap();
    let pool = node.spawn(|| Pool::new(3, || RequestWorker).mailbox(1)).wait().unwrap();
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let inner = {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        service_fn(move |number: u32| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            async move {
                let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                assert!(number != 13, "a request that panics");
                tokio::task::yield_now().await;
                running.fetch_sub(1, Ordering::SeqCst);
                if number == 14 { Err("fourteen") } else { Ok(number) }
            }
        })
    };
    let service = PoolLayer::new(pool).no_timeout().layer(inner);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let all: Vec<_> =
            (0..100).map(|number| tokio::spawn(service.clone().oneshot(number))).collect();
        for (number, request) in (0..100).zip(all) {
            match request.await.unwrap() {
                Ok(answer) => assert_eq!(answer, number),
                Err(PoolLayerError::Service(text)) => {
                    assert_eq!((number, text), (14, "fourteen"));
                }
                // The request that has panicked, and none behind it.
                Err(PoolLayerError::Pool(CallError::Terminated { reason, .. })) => {
                    assert_eq!(number, 13);
                    assert!(reason.to_string().contains("a request that panics"), "{reason}");
                }
                Err(PoolLayerError::Pool(CallError::NotBegun { .. })) => {
                    // It waited at the worker that has ended: it may be made again.
                    assert_ne!(number, 13);
                }
                Err(error) => panic!("{number}: {error}"),
            }
        }
    });
    // The one that has panicked was never counted down.
    assert!(most.load(Ordering::SeqCst) <= 4, "{most:?}");
    node.stop().wait().unwrap();
}

/// A request that never ends, unless its caller gives up; counts those that run.
struct Runs(Arc<AtomicUsize>);

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn q3_a_request_whose_caller_gives_up_ends_and_its_worker_is_free() {
    for seed in 0..20 {
        let sim = Simulation::new(seed);
        let pool = sim.spawn(|| Pool::new(2, || RequestWorker).mailbox(1)).wait().unwrap();
        let running = Arc::new(AtomicUsize::new(0));
        let inner = {
            let running = Arc::clone(&running);
            service_fn(move |hangs: bool| {
                let running = Arc::clone(&running);
                async move {
                    running.fetch_add(1, Ordering::Relaxed);
                    let _runs = Runs(running);
                    if hangs {
                        pending::<()>().await;
                    }
                    Ok::<_, Infallible>(())
                }
            })
        };
        let limit = Duration::from_secs(3);
        let mut service = PoolLayer::new(pool.clone()).timeout(limit).layer(inner.clone());
        let mut patient = PoolLayer::new(pool).no_timeout().layer(inner);
        // One is out of time, and the caller of the other goes away.
        let late = sim.task(service.call(true)).start().unwrap();
        let mut gone = patient.call(true);
        let polled = pin!(&mut gone).poll(&mut TaskContext::from_waker(Waker::noop()));
        assert!(polled.is_pending());
        sim.run_until_idle();
        assert_eq!(running.load(Ordering::Relaxed), 2);
        drop(gone);
        sim.run_until_idle();
        assert_eq!(running.load(Ordering::Relaxed), 1);
        sim.advance(limit);
        let late = late.wait().unwrap();
        assert!(matches!(late, Err(PoolLayerError::Pool(CallError::Timeout { .. }))), "{late:?}");
        assert_eq!(running.load(Ordering::Relaxed), 0);
        for _ in 0..4 {
            let call = patient.call(false);
            assert_eq!(outcome(&sim, call), Ok(()));
        }
        assert_eq!(running.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn q3_a_request_whose_caller_has_given_up_is_not_begun() {
    for seed in 0..20 {
        let sim = Simulation::new(seed);
        let pool = sim.spawn(|| Pool::new(1, || RequestWorker).mailbox(2)).wait().unwrap();
        let begun = Arc::new(AtomicUsize::new(0));
        let inner = {
            let begun = Arc::clone(&begun);
            service_fn(move |(): ()| {
                let begun = Arc::clone(&begun);
                async move {
                    begun.fetch_add(1, Ordering::Relaxed);
                    Ok::<_, Infallible>(())
                }
            })
        };
        let mut service = PoolLayer::new(pool.clone()).layer(inner.clone());
        assert!(ready(&mut service, &Arc::default()).is_ready());
        let mut given_up = service.call(());
        let polled = pin!(&mut given_up).poll(&mut TaskContext::from_waker(Waker::noop()));
        assert!(polled.is_pending());
        drop(given_up);
        sim.run_until_idle();
        assert_eq!(begun.load(Ordering::Relaxed), 0);
        assert!(ready(&mut service, &Arc::default()).is_ready());
        let call = service.call(());
        assert_eq!(outcome(&sim, call), Ok(()));
        // Without room a shedding one fails, and has not begun.
        let mut sheds = PoolLayer::new(pool).shedding().layer(inner);
        let rooms: Vec<_> = (0..2).map(|_| sheds.call(())).collect();
        let full = sheds.call(());
        let full = outcome(&sim, full);
        assert!(matches!(full, Err(PoolLayerError::Pool(CallError::Full { .. }))), "{full:?}");
        drop(rooms);
        assert_eq!(begun.load(Ordering::Relaxed), 1);
    }
}
