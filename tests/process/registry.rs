//! Registries of processes by key (rules G6 to G9).

use crate::support::{Log, boom, simulations};
use crate::topic_support::{Say, ask, ear, tell};
use krarup::groups::{KeyCallError, KeySendError, RegisterKeyError, Registry};
use krarup::prelude::*;
use krarup::supervisor::BackOff;
use krarup::{CallError, SendError};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

type Sessions = Registry<u64, Say>;

fn register(
    sim: &Simulation,
    ear: &Address<Say>,
    keys: &Sessions,
    key: u64,
) -> Result<(), RegisterKeyError> {
    let keys = keys.clone();
    ask(sim, ear, move |ctx| ctx.register_in(&keys, key))
}

#[test]
fn g6_there_is_one_living_process_for_a_key_and_any_number_of_keys_for_a_process() {
    for sim in simulations(5) {
        let log = Log::new();
        let keys = Sessions::new();
        let (a, b) = (ear(&sim, "a", &log), ear(&sim, "b", &log));
        register(&sim, &a, &keys, 1).unwrap();
        register(&sim, &a, &keys, 2).unwrap();
        for who in [&a, &b] {
            let taken = Err(RegisterKeyError::Taken { by: a.pid() });
            assert_eq!(register(&sim, who, &keys, 1), taken);
        }
        register(&sim, &b, &keys, 3).unwrap();
        assert_eq!(keys.get(&2), Some(a.clone()));
        assert_eq!((keys.get(&3), keys.get(&4)), (Some(b.clone()), None));
        // Another registry has other keys.
        let others = Registry::<&'static str, Say>::default();
        ask(&sim, &b, {
            let others = others.clone();
            move |ctx| ctx.register_in(&others, "one").unwrap()
        });
        sim.kill(b.pid());
        sim.run_until_idle();
        assert_eq!((keys.keys().len(), others.len()), (2, 0));
        assert!(others.is_empty() && !keys.is_empty());
    }
}

/// Registers in `init`, or ends if another was first.
struct Rival(Sessions, Arc<Mutex<Vec<Pid>>>);

impl Actor for Rival {
    type Message = Say;

    async fn init(&mut self, ctx: &mut Context<Say>) -> Result {
        ctx.register_in(&self.0, 7)?;
        self.1.lock().unwrap().push(ctx.pid());
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Say>, _: Say) -> Result {
        Ok(())
    }
}

/// Says in `init` whether it has got the key.
struct Contender(Sessions, mpsc::Sender<bool>);

impl Actor for Contender {
    type Message = Say;

    async fn init(&mut self, ctx: &mut Context<Say>) -> Result {
        self.1.send(ctx.register_in(&self.0, 7).is_ok())?;
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Say>, _: Say) -> Result {
        Ok(())
    }
}

#[test]
fn g6_of_many_that_register_a_key_at_once_exactly_one_wins() {
    const CONTENDERS: usize = 20;
    let node = Node::builder("contenders").workers(2).start().unwrap();
    for _ in 0..50 {
        let (keys, (tell, told)) = (Sessions::new(), mpsc::channel());
        for _ in 0..CONTENDERS {
            let (keys, tell) = (keys.clone(), tell.clone());
            node.spawn(move || Contender(keys, tell)).start().unwrap();
        }
        let won = told.iter().take(CONTENDERS).filter(|won| *won).count();
        assert_eq!((won, keys.len()), (1, 1));
    }
    node.stop().wait().unwrap();
}

#[test]
fn g7_a_key_is_free_before_anyone_hears_of_the_death() {
    for sim in simulations(5) {
        for way in 0..5 {
            let (log, keys) = (Log::new(), Sessions::new());
            let a = ear(&sim, "a", &log);
            register(&sim, &a, &keys, 1).unwrap();
            register(&sim, &a, &keys, 2).unwrap();
            // A watcher looks in the moment in which it is told.
            let seen = Arc::new(Mutex::new(None));
            let (told, looks) = (Arc::clone(&seen), keys.clone());
            let mut watch = Box::pin(sim.watch(a.pid()).into_future());
            let waker = crate::support::on_wake(move || *told.lock().unwrap() = Some(looks.keys()));
            assert!(crate::support::poll_with(&mut watch, &waker).is_pending());
            match way {
                0 => sim.kill(a.pid()),
                1 => tell(&a, |_| Err(boom())),
                2 => drop(a.stop().wait()),
                3 => tell(&a, |_| panic!("on purpose")),
                _ => sim.exit(a.pid(), boom()),
            }
            sim.run_until_idle();
            assert_eq!(*seen.lock().unwrap(), Some(vec![]), "way {way}");
        }
    }
}

#[test]
fn g7_a_successor_registers_in_its_init_and_what_is_sent_in_between_comes_back() {
    for sim in simulations(5) {
        let (keys, lives) = (Sessions::new(), Arc::default());
        let (held, counted) = (keys.clone(), Arc::clone(&lives));
        let rival = move || Rival(held.clone(), Arc::clone(&counted));
        let back_off = BackOff::new(Duration::from_secs(1), Duration::from_secs(1));
        let child = ChildSpec::worker("rival", rival).back_off(back_off);
        sim.spawn(move || {
            Supervisor::one_for_one().intensity(9, Duration::from_secs(1)).child(child)
        })
        .wait()
        .unwrap();
        for _ in 0..3 {
            let before = keys.get(&7).unwrap();
            sim.kill(before.pid());
            // Until the back-off is over.
            sim.advance(Duration::from_millis(500));
            let refused = keys.send(&7, Say::Price(5)).unwrap_err();
            assert!(matches!(refused, KeySendError::NoProcess { message: Say::Price(5) }));
            let called = keys.call(&7, |_: Reply<()>| Say::Price(6)).wait();
            assert_eq!(called, Err(KeyCallError::NoProcess));
            sim.advance(Duration::from_secs(1));
            assert_ne!(keys.get(&7).unwrap(), before);
            keys.send(&7, Say::Price(5)).ok().unwrap();
        }
        assert_eq!(lives.lock().unwrap().len(), 4);
    }
}

/// Counts, and answers.
struct Counter(Registry<String, Ask>);

enum Ask {
    Get(Reply<u32>),
    Drop(#[allow(dead_code, reason = "dropped without an answer")] Reply<u32>),
}

impl Actor for Counter {
    type Message = Ask;

    async fn init(&mut self, ctx: &mut Context<Ask>) -> Result {
        ctx.register_in(&self.0, "counter".to_owned())?;
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Ask>, ask: Ask) -> Result {
        if let Ask::Get(reply) = ask {
            reply.send(7);
        }
        Ok(())
    }
}

#[test]
fn g7_a_call_to_a_key_is_a_call_to_its_process() {
    let sim = Simulation::new(1);
    let keys = Registry::new();
    let held = keys.clone();
    let counter = sim.spawn(move || Counter(held)).mailbox(1).wait().unwrap();
    let key = "counter".to_owned();
    assert_eq!(keys.call(&key, Ask::Get).wait(), Ok(7));
    let lost = keys.call(&key, Ask::Drop).no_timeout().wait();
    assert_eq!(lost, Err(KeyCallError::Call(CallError::NoReply { to: counter.pid() })));
    let asked = keys.clone();
    let inside = sim.task(async move { asked.call(&"counter".to_owned(), Ask::Get).await });
    assert_eq!(inside.wait(), Ok(Ok(7)));
    // A process that refuses is named.
    let full = |reply| Ask::Get(reply);
    let first = sim.task({
        let counter = counter.clone();
        async move { counter.call(full).await }
    });
    assert_eq!(first.wait(), Ok(Ok(7)));
    sim.suspend(counter.pid()).wait().unwrap();
    let late = keys.call(&key, Ask::Get).timeout(Duration::from_secs(1)).wait();
    assert!(matches!(late, Err(KeyCallError::Call(CallError::Timeout { .. }))), "{late:?}");
    let refused = keys.call(&key, Ask::Get).wait();
    assert_eq!(refused, Err(KeyCallError::Call(CallError::Full { to: counter.pid() })));
    let shown = format!("{:?} {keys:?}", keys.call(&key, Ask::Get));
    assert!(shown.starts_with("KeyCall { address: Some(Address(<0."), "{shown}");
    assert!(shown.ends_with("Ask>(1 keys)"), "{shown}");
}

#[test]
fn g8_keys_are_those_of_a_moment_in_an_order_that_depends_on_no_run() {
    let listed = || {
        let (sim, log, keys) = (Simulation::new(1), Log::new(), Sessions::new());
        let (a, b) = (ear(&sim, "a", &log), ear(&sim, "b", &log));
        for key in (0..100).rev() {
            register(&sim, if key % 3 == 0 { &b } else { &a }, &keys, key).unwrap();
        }
        let mut pids = Vec::new();
        keys.for_each(|key, address| {
            pids.push(address.pid());
            // Others use it meanwhile: the copy stays as it is.
            let (own, held) = (*key, keys.clone());
            tell(address, move |ctx| {
                assert!(held.unregister(ctx, &own));
                Ok(())
            });
            sim.run_until_idle();
        });
        assert!(pids.is_sorted() && pids.len() == 100 && keys.is_empty());
        for key in 0..100 {
            register(&sim, &a, &keys, key).unwrap();
        }
        keys.keys()
    };
    let keys = listed();
    assert_eq!(keys.len(), 100);
    assert_eq!(keys, listed());
}

#[test]
fn g8_a_process_removes_its_own_keys_and_no_others() {
    let sim = Simulation::new(1);
    let (log, keys) = (Log::new(), Sessions::new());
    let (a, b) = (ear(&sim, "a", &log), ear(&sim, "b", &log));
    for key in 0..10 {
        register(&sim, if key < 4 { &a } else { &b }, &keys, key).unwrap();
    }
    let held = keys.clone();
    let removed = ask(&sim, &a, move |ctx| {
        [held.unregister(ctx, &0), held.unregister(ctx, &0), held.unregister(ctx, &5)]
    });
    assert_eq!(removed, [true, false, false]);
    let held = keys.clone();
    assert_eq!(ask(&sim, &a, move |ctx| held.unregister_all(ctx)), 3);
    assert_eq!(keys.len(), 6);
    register(&sim, &a, &keys, 0).unwrap();
    sim.kill(a.pid());
    sim.kill(b.pid());
    sim.run_until_idle();
    assert!(keys.is_empty());
}

#[test]
fn g8_a_registry_keeps_no_process_alive_and_is_kept_alive_by_none() {
    let sim = Simulation::new(1);
    let log = Log::new();
    // A key tells whether the registry has been dropped.
    let key = Arc::new(7_u64);
    let keys = Registry::<Arc<u64>, Say>::new();
    let a = ear(&sim, "a", &log);
    let (held, own) = (keys.clone(), Arc::clone(&key));
    ask(&sim, &a, move |ctx| ctx.register_in(&held, own).unwrap());
    assert_eq!(Arc::strong_count(&key), 2);
    drop(keys);
    assert_eq!(Arc::strong_count(&key), 1);
    sim.kill(a.pid());
    sim.run_until_idle();
    assert!(!a.is_alive());
}

#[test]
fn g8_a_hundred_thousand_keys_of_one_process_come_and_go() {
    const KEYS: u64 = 100_000;
    let sim = Simulation::new(1);
    let (log, keys) = (Log::new(), Sessions::new());
    let a = ear(&sim, "a", &log);
    let held = keys.clone();
    ask(&sim, &a, move |ctx| (0..KEYS).for_each(|key| ctx.register_in(&held, key).unwrap()));
    assert_eq!(keys.len() as u64, KEYS);
    let held = keys.clone();
    ask(&sim, &a, move |ctx| assert!((0..KEYS / 2).all(|key| held.unregister(ctx, &key))));
    assert_eq!(keys.len() as u64, KEYS / 2);
    sim.kill(a.pid());
    sim.run_until_idle();
    assert!(keys.is_empty());
}

#[test]
fn g6_a_context_that_outlives_its_process_registers_nothing() {
    let sim = Simulation::new(1);
    let keys = Registry::<u64, ()>::new();
    let kept: Arc<Mutex<Option<Context<()>>>> = Arc::default();
    let keeps = Arc::clone(&kept);
    let moved = krarup::behavior::behavior_fn(move |ctx: Context<()>| async move {
        *keeps.lock().unwrap() = Some(ctx);
        Ok(())
    });
    let pid = sim.spawn(move || moved).start().unwrap().pid();
    sim.run_until_idle();
    let ctx = kept.lock().unwrap().take().unwrap();
    assert_eq!(ctx.register_in(&keys, 7), Err(RegisterKeyError::NoProcess(pid)));
    assert!(ctx.join("g").is_err() && keys.is_empty());
    let refused = SendError::NoProcess { message: (), to: pid };
    assert_eq!(ctx.address().send(()), Err(refused));
}
