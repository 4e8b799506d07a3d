//! Calls by name, through restarts: rules H3 to H7.

use crate::support::{Log, boom, simulations};
use krarup::behavior::behavior_fn;
use krarup::pool::Rate;
use krarup::prelude::*;
use krarup::testing::Faults;
use krarup::{CannotWait, LookupError, NamedAddress, NamedCallError, Retry, RetryError, Timestamp};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// How often each number was handled.
type Handled = Arc<Mutex<BTreeMap<u64, u32>>>;

enum Ask {
    /// Notes the number, and answers.
    Note(u64, Reply<u64>),
    /// Is never answered.
    Keep(Reply<()>),
    Deadline(Reply<Option<Timestamp>>),
    /// Notes the number, and fails.
    Fail(u64, Reply<u64>),
}

/// A service that its supervisor may replace.
#[derive(Default)]
struct Service {
    handled: Handled,
    kept: Vec<Reply<()>>,
}

impl Service {
    fn note(&self, number: u64) {
        *self.handled.lock().unwrap().entry(number).or_default() += 1;
    }
}

impl Actor for Service {
    type Message = Ask;

    async fn handle_message(&mut self, _: &mut Context<Ask>, ask: Ask) -> Result {
        match ask {
            Ask::Note(number, reply) => {
                self.note(number);
                reply.send(number);
            }
            Ask::Keep(reply) => self.kept.push(reply),
            Ask::Deadline(reply) => {
                let deadline = reply.deadline();
                reply.send(deadline);
            }
            Ask::Fail(number, _reply) => {
                self.note(number);
                return Err(boom());
            }
        }
        Ok(())
    }
}

fn service(handled: &Handled) -> impl Fn() -> Service + Send + Sync + Clone + 'static {
    let handled = Arc::clone(handled);
    move || Service { handled: Arc::clone(&handled), kept: Vec::new() }
}

/// Spawns the service below a supervisor that never gives up.
fn supervised(node: &Node, handled: &Handled) {
    let service = service(handled);
    let supervisor = move || {
        let child = ChildSpec::worker("service", service).name("service").mailbox(1000);
        Supervisor::one_for_one().intensity(u32::MAX, SECOND).child(child)
    };
    node.spawn(supervisor).name("supervisor").wait().unwrap();
}

fn named(node: &Node) -> NamedAddress<Ask> {
    node.named_address("service").unwrap()
}

/// Five processes that make 20 calls each. Returns the outcomes by number.
fn outcomes(sim: &Simulation, retry: Retry) -> BTreeMap<u64, Result<u64, NamedCallError>> {
    let outcomes: Arc<Mutex<BTreeMap<_, _>>> = Arc::default();
    let mut clients = Vec::new();
    for client in 0..5_u64 {
        let outcomes = Arc::clone(&outcomes);
        let calls = behavior_fn(move |ctx: Context<()>| async move {
            let service = ctx.named_address::<Ask, Ask>("service")?;
            for number in client * 20..(client + 1) * 20 {
                let outcome =
                    service.call(move |reply| Ask::Note(number, reply)).retry(retry).await;
                outcomes.lock().unwrap().insert(number, outcome);
                // Not all at one moment.
                let pause = Duration::from_millis(number % 7);
                ctx.sleep(pause).await;
            }
            Ok(())
        });
        clients.push(sim.spawn(move || calls).start().unwrap().watch());
    }
    for client in clients {
        assert_eq!(client.wait().unwrap().reason, Reason::Normal);
    }
    let outcomes = outcomes.lock().unwrap().clone();
    assert_eq!(outcomes.len(), 100);
    outcomes
}

#[test]
fn h3_clients_of_a_service_that_is_killed_at_random_see_no_missing_process() {
    let mut kills = 0;
    for sim in simulations(60) {
        let handled = Handled::default();
        supervised(&sim, &handled);
        let faults = Faults::new().kill_one_in(12).only("service");
        sim.faults(faults);
        let outcomes = outcomes(&sim, Retry::restarts());
        let handled = handled.lock().unwrap();
        for (number, outcome) in outcomes {
            let times = handled.get(&number).copied().unwrap_or(0);
            match outcome {
                Ok(answer) => assert_eq!((answer, times), (number, 1)),
                // A handler may have had it: it was not made again.
                Err(NamedCallError::Call { error: CallError::Terminated { .. }, .. }) => {
                    assert!(times <= 1, "{number} was handled {times} times");
                }
                Err(error) => panic!("{number}: {error}"),
            }
        }
        kills += sim.stats().restarts.values().sum::<u64>();
    }
    assert!(kills > 200, "{kills} kills test nothing");
}

#[test]
fn h3_idempotent_requests_are_all_answered_whatever_is_killed() {
    for sim in simulations(30) {
        let handled = Handled::default();
        supervised(&sim, &handled);
        sim.faults(Faults::new().kill_one_in(12).only("service"));
        let outcomes = outcomes(&sim, Retry::restarts().idempotent());
        for (number, outcome) in outcomes {
            assert_eq!(outcome, Ok(number));
        }
        assert_eq!(handled.lock().unwrap().len(), 100);
    }
}

#[test]
fn h3_a_call_waits_for_the_first_process_of_its_name() {
    for sim in simulations(20) {
        let calls = behavior_fn(|ctx: Context<()>| async move {
            let service = ctx.named_address::<Ask, Ask>("service")?;
            let answer = service.call(|reply| Ask::Note(7, reply)).timeout(SECOND * 9).await?;
            assert_eq!(answer, 7);
            Ok(())
        });
        let end = sim.spawn(move || calls).start().unwrap().watch();
        sim.advance(SECOND * 8);
        supervised(&sim, &Handled::default());
        assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    }
}

#[test]
fn h3_threads_call_through_kills() {
    let node = Node::start("h3_threads").unwrap();
    let handled = Handled::default();
    supervised(&node, &handled);
    let service = named(&node);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let service = service.clone();
            scope.spawn(move || {
                for number in thread * 250..(thread + 1) * 250 {
                    let call = service.call(move |reply| Ask::Note(number, reply));
                    let call = call.timeout(SECOND * 60).retry(Retry::restarts().idempotent());
                    assert_eq!(call.wait(), Ok(number));
                }
            });
        }
        for _ in 0..50 {
            let pid = service.lookup_or_wait().wait().unwrap().pid();
            node.kill(pid);
        }
    });
    assert_eq!(handled.lock().unwrap().len(), 1000);
    node.stop().wait().unwrap();
}

#[test]
fn h4_a_call_that_finds_no_process_in_its_time_says_so() {
    let sim = Simulation::new(1);
    let start = sim.now();
    let call = |retry| named(&sim).call(|reply| Ask::Note(1, reply)).timeout(SECOND).retry(retry);
    let error = call(Retry::restarts()).wait().unwrap_err();
    assert_eq!(error.to_string(), "no process had the name \"service\" within 1s");
    assert!(!error.was_begun());
    assert_eq!(sim.now().since(start), SECOND);
    // Without a policy it does not wait.
    let error = call(Retry::never()).wait().unwrap_err();
    assert!(matches!(error, NamedCallError::NoName { waited: Duration::ZERO, .. }), "{error:?}");
    assert_eq!(sim.now().since(start), SECOND);
    let waits = behavior_fn(|ctx: Context<()>| async move {
        let service = ctx.named_address::<Ask, Ask>("service")?;
        let error = service.call(|reply| Ask::Note(1, reply)).wait();
        assert_eq!(error, Err(NamedCallError::CannotWait(CannotWait::InProcess)));
        Ok(())
    });
    let end = sim.spawn(move || waits).start().unwrap().watch();
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    supervised(&sim, &Handled::default());
    let other = sim.named_address::<Reply<u8>, Reply<u8>>("service").unwrap();
    let error = other.call(|reply| reply).wait().unwrap_err();
    assert!(matches!(error, NamedCallError::Lookup(LookupError::WrongType { .. })), "{error:?}");
}

#[test]
fn h4_the_begin_of_a_stop_ends_a_call_that_waits_for_a_process() {
    for sim in simulations(20) {
        let log = Log::new();
        let told = log.clone();
        let calls = behavior_fn(move |ctx: Context<()>| async move {
            let service = ctx.named_address::<Ask, Ask>("service")?;
            let called = service.call(|reply| Ask::Note(1, reply)).no_timeout().await;
            told.note(called.unwrap_err());
            Ok(())
        });
        sim.spawn(move || calls).start().unwrap();
        sim.run_until_idle();
        let start = sim.now();
        sim.stop().wait().unwrap();
        assert_eq!(log.lines(), ["no process has the name \"service\", and the node stops"]);
        assert!(sim.now().since(start) < SECOND);
    }
}

#[test]
fn h5_a_request_that_a_handler_had_is_made_once() {
    for sim in simulations(20) {
        let handled = Handled::default();
        supervised(&sim, &handled);
        let error = named(&sim).call(|reply| Ask::Fail(3, reply)).wait().unwrap_err();
        let NamedCallError::Call { error: CallError::Terminated { .. }, attempts: 1 } = error
        else {
            panic!("{error:?}")
        };
        assert_eq!(handled.lock().unwrap()[&3], 1);
        // Unless the program says that this does no harm.
        let retry = Retry::restarts().idempotent().attempts(4);
        let error = named(&sim).call(|reply| Ask::Fail(4, reply)).retry(retry).wait().unwrap_err();
        assert!(error.was_begun());
        assert!(error.to_string().ends_with("terminated: boom (attempt 4)"), "{error}");
        assert_eq!(handled.lock().unwrap()[&4], 4);
    }
}

#[test]
fn h5_a_request_behind_one_that_ends_the_process_is_made_again() {
    for sim in simulations(20) {
        let handled = Handled::default();
        supervised(&sim, &handled);
        let service = named(&sim);
        let fails = service.call(|reply| Ask::Fail(1, reply)).into_future();
        let tasks: Vec<_> = (2..10_u64)
            .map(|number| {
                let service = service.clone();
                sim.task(async move { service.call(move |reply| Ask::Note(number, reply)).await })
            })
            .collect();
        let fails = sim.task(fails);
        let all: Vec<_> = tasks.into_iter().map(|task| task.start().unwrap()).collect();
        let _ = fails.wait();
        for (task, number) in all.into_iter().zip(2_u64..) {
            assert_eq!(task.wait().unwrap(), Ok(number));
        }
        assert!(handled.lock().unwrap().values().all(|times| *times == 1));
    }
}

#[test]
fn h2_an_address_of_other_commands_says_so() {
    struct Teller;
    impl Actor for Teller {
        type Message = u32;
        async fn handle_message(&mut self, _: &mut Context<u32>, _: u32) -> Result {
            Ok(())
        }
    }
    let sim = Simulation::new(1);
    sim.spawn(|| Pool::new(1, || Teller)).name("tellers").wait().unwrap();
    let tellers: NamedAddress<u32> = sim.named_address("tellers").unwrap();
    let text = tellers.send(1).unwrap_err().to_string();
    assert!(
        text.starts_with("<0.1.0> has an Address<u32, ") && text.contains("PoolCommand"),
        "{text}"
    );
    assert!(text.ends_with(">, not an Address<u32, u32>"), "{text}");
    let tellers: NamedAddress<u32, PoolCommand> = sim.named_address("tellers").unwrap();
    assert!(tellers.send(1).is_ok());
    let tellers: NamedAddress<u64> = sim.named_address("tellers").unwrap();
    let refused = tellers.send(1).unwrap_err();
    assert!(format!("{refused:?}").contains("commands"), "{refused:?}");
}

#[test]
fn h6_the_waits_between_attempts_grow_and_come_from_the_seed() {
    let times = |seed| {
        let sim = Simulation::new(seed);
        // The pool takes a job in ten seconds.
        let pool = || Pool::new(1, service(&Handled::default())).rate(Rate::per_second(0.1));
        sim.spawn(pool).name("service").wait().unwrap();
        let pool: NamedAddress<Ask, PoolCommand> = sim.named_address("service").unwrap();
        let retry = Retry::not_begun();
        let call = |number| pool.call(move |reply| Ask::Note(number, reply)).retry(retry);
        assert_eq!(call(1).wait(), Ok(1));
        let start = sim.now();
        // The pool says that it takes the next one after the deadline: nothing is waited for.
        let refused = call(2).timeout(SECOND * 9).wait().unwrap_err();
        assert!(matches!(refused.call(), Some(CallError::RateLimited { .. })), "{refused:?}");
        assert_eq!(sim.now(), start);
        assert_eq!(call(2).timeout(SECOND * 11).wait(), Ok(2));
        assert_eq!(sim.now().since(start), SECOND * 10);
        let sim = Simulation::new(seed);
        let handled = Handled::default();
        let service = service(&handled);
        let full = sim.spawn(service).name("service").mailbox(1).start().unwrap();
        let held = full.reserve().unwrap();
        let service = named(&sim);
        let start = sim.now();
        let call = service.call(|reply| Ask::Note(1, reply)).retry(retry.attempts(6));
        let refused = call.timeout(SECOND * 60).wait().unwrap_err();
        assert!(refused.to_string().ends_with("is full (attempt 6)"), "{refused}");
        drop(held);
        sim.now().since(start)
    };
    // 10 + 20 + 40 + 80 + 160 ms, each shortened by half at most.
    for seed in 0..20 {
        let waited = times(seed);
        assert!(waited > Duration::from_millis(155) && waited <= Duration::from_millis(310));
        assert_eq!(times(seed), waited, "the seed decides");
        assert_ne!(times(seed + 1), waited);
    }
}

#[test]
fn h6_an_invalid_policy_is_refused_before_anything_is_done() {
    let sim = Simulation::new(1);
    let handled = Handled::default();
    supervised(&sim, &handled);
    let call = |retry| named(&sim).call(|reply| Ask::Note(1, reply)).retry(retry).wait();
    assert_eq!(call(Retry::never().attempts(0)), Err(RetryError::NoAttempts.into()));
    assert_eq!(call(Retry::restarts().jitter(2.0)), Err(RetryError::Jitter(2.0).into()));
    assert!(handled.lock().unwrap().is_empty());
}

#[test]
fn h7_a_token_knows_until_when_its_caller_waits_if_that_has_said_so() {
    let sim = Simulation::new(1);
    supervised(&sim, &Handled::default());
    let service = named(&sim);
    let by_name = service.call(Ask::Deadline).timeout(SECOND * 2).wait();
    assert_eq!(by_name, Ok(Some(sim.now() + SECOND * 2)));
    assert_eq!(service.call(Ask::Deadline).no_timeout().wait(), Ok(None));
    let address = service.address().unwrap();
    assert_eq!(address.call(Ask::Deadline).wait(), Ok(None));
    let until = sim.now() + SECOND;
    let told = address.call(|reply| Ask::Deadline(reply.until(until))).wait();
    assert_eq!(told, Ok(Some(until)));
    // A slot that is used again has no deadline of an earlier call.
    assert_eq!(address.call(Ask::Deadline).wait(), Ok(None));
    // A token that is passed on keeps its deadline.
    let passed = address.call(|reply| Ask::Deadline(reply.until(until).pass_on())).wait();
    assert_eq!(passed, Ok(Some(until)));
    let earliest = service.call(Ask::Deadline).timeout(SECOND * 9).until(until);
    assert_eq!(earliest.until(None).until(until + SECOND).wait(), Ok(Some(until)));
}

#[test]
fn h7_a_call_made_for_another_lasts_no_longer_than_its_caller_waits() {
    for sim in simulations(20) {
        supervised(&sim, &Handled::default());
        let log = Log::new();
        let told = log.clone();
        // It answers with what the service answers.
        let front = behavior_fn(move |mut ctx: Context<Reply<()>>| async move {
            let service = ctx.named_address::<Ask, Ask>("service")?;
            while let krarup::behavior::Received::Message(reply) = ctx.receive().await {
                let deadline = reply.deadline();
                let called = service.call(Ask::Keep).until(deadline).await;
                let late = deadline.is_some_and(|deadline| ctx.now() > deadline);
                told.note(format!("{} {late}", called.is_err()));
            }
            Ok(())
        });
        sim.spawn(move || front).name("front").start().unwrap();
        let front: NamedAddress<Reply<()>> = sim.named_address("front").unwrap();
        let start = sim.now();
        let error = front.call(|reply| reply).timeout(SECOND).wait().unwrap_err();
        assert!(error.was_begun());
        // The next caller need not wait for the rest of five seconds.
        let error = front.call(|reply| reply).timeout(SECOND).wait().unwrap_err();
        assert!(error.was_begun());
        sim.run_until_idle();
        assert_eq!(sim.now().since(start), SECOND * 2);
        assert_eq!(log.lines(), ["true false", "true false"]);
    }
}

#[test]
fn h9_a_process_passes_the_error_of_its_call_by_name_on_to_its_caller() {
    struct Front {
        service: NamedAddress<Ask>,
        limit: Duration,
    }

    impl Actor for Front {
        type Message = Reply<()>;

        async fn handle_message(&mut self, _: &mut Context<Reply<()>>, reply: Reply<()>) -> Result {
            match self.service.call(Ask::Keep).timeout(self.limit).await {
                Ok(()) => reply.send(()),
                Err(error) => reply.fail(error.into()),
            }
            Ok(())
        }
    }

    for sim in simulations(5) {
        let service = named(&sim);
        let front = sim.spawn(move || Front { service, limit: SECOND }).wait().unwrap();
        // The name is missing: the front lives on.
        let error = front.call(|reply| reply).wait().unwrap_err();
        let CallError::Named(missing) = &error else { panic!("{error}") };
        assert!(matches!(**missing, NamedCallError::NoName { .. }), "{error}");
        assert!(!error.was_begun());
        // The service does not answer in time.
        let kept = sim.spawn(Service::default).name("service").wait().unwrap();
        let error = front.call(|reply| reply).wait().unwrap_err();
        let CallError::Timeout { to, .. } = &error else { panic!("{error}") };
        assert_eq!(*to, kept.pid());
        assert!(error.was_begun());
    }
}
