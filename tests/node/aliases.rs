//! Aliases, names and recipients: rules N2, N5, L6 and M7.

use crate::support::{Does, Log, puppet, simulations};
use krarup::behavior::behavior_fn;
use krarup::observe::DeadLetter;
use krarup::prelude::*;
use krarup::{Alias, Dynamic, Recipient, Target};
use std::sync::mpsc;

/// Makes and revokes aliases, and notes what else it gets.
struct Agent(Log);

enum Order {
    Alias(Reply<Alias>),
    Recipient(Alias, Reply<Recipient<Order>>),
    Revoke(Alias, Reply<bool>),
    TakeOthers(bool),
    Note(&'static str),
    End,
}

impl Actor for Agent {
    type Message = Order;

    async fn handle_message(&mut self, ctx: &mut Context<Order>, order: Order) -> Result {
        match order {
            Order::Alias(reply) => reply.send(ctx.alias()),
            Order::Recipient(alias, reply) => reply.send(ctx.recipient_by(alias)),
            Order::Revoke(alias, reply) => reply.send(ctx.revoke(alias)),
            Order::TakeOthers(true) => ctx.take_others(),
            Order::TakeOthers(false) => ctx.refuse_others(),
            Order::Note(text) => self.0.note(text),
            Order::End => ctx.stop(),
        }
        Ok(())
    }

    async fn handle_other(&mut self, _: &mut Context<Order>, message: Dynamic) -> Result {
        match message.downcast::<u32>() {
            Ok(number) => self.0.note(format!("other {number}")),
            Err(message) => self.0.note(format!("other {}", message.type_name())),
        }
        Ok(())
    }
}

fn delegate(node: &Node, log: &Log) -> Address<Order> {
    let log = log.clone();
    node.spawn(move || Agent(log)).name("delegate").mailbox(3).wait().unwrap()
}

#[test]
fn n2_a_process_can_have_any_number_of_aliases() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let delegate = delegate(&sim, &log);
    let aliases: Vec<_> = (0..100).map(|_| delegate.call(Order::Alias).wait().unwrap()).collect();
    for alias in &aliases {
        sim.send(*alias, Order::Note("x")).map_err(SendError::without_message).unwrap();
        sim.run_until_idle();
    }
    assert_eq!(log.count("x"), 100);
    let info = sim.process_info(delegate.pid()).unwrap();
    assert_eq!(info.aliases, aliases);
    assert_eq!(sim.stats().aliases, 100);
    delegate.send(Order::End).ok().unwrap();
    sim.run_until_idle();
    assert_eq!(sim.stats().aliases, 0);
    assert!(sim.send(aliases[0], Order::Note("late")).is_err());
}

#[test]
fn n5_a_message_to_a_revoked_alias_does_not_arrive_and_is_counted() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let undertaker = behavior_fn(move |mut ctx: Context<DeadLetter>| async move {
            ctx.subscribe_dead_letters();
            while let krarup::behavior::Received::Message(letter) = ctx.receive().await {
                noted.note(format!("{:?} {}", letter.cause, letter.to));
            }
            Ok(())
        });
        sim.spawn(move || undertaker).start().unwrap();
        let delegate = delegate(&sim, &log);
        let (kept, revoked) = (
            delegate.call(Order::Alias).wait().unwrap(),
            delegate.call(Order::Alias).wait().unwrap(),
        );
        let typed = delegate.call(|reply| Order::Recipient(revoked, reply)).wait().unwrap();
        assert!(typed.is_alive());
        assert!(typed.send(Order::Note("typed")).is_ok());
        assert!(sim.send(revoked, Order::Note("dynamic")).is_ok());
        assert!(delegate.call(|reply| Order::Revoke(revoked, reply)).wait().unwrap());
        assert!(!delegate.call(|reply| Order::Revoke(revoked, reply)).wait().unwrap());
        assert!(!typed.is_alive());
        let back = typed.send(Order::Note("typed late")).unwrap_err();
        let SendError::Revoked { message: Order::Note("typed late"), alias } = back else {
            panic!("{back}")
        };
        assert_eq!(alias, revoked);
        let back = sim.send(revoked, Order::Note("dynamic late")).unwrap_err();
        assert!(matches!(back.into_message().downcast(), Ok(Order::Note("dynamic late"))));
        // There is no message, and so no dead letter.
        assert!(typed.reserve().is_err());
        assert!(sim.send(kept, Order::Note("kept")).is_ok());
        sim.run_until_idle();
        assert_eq!(sim.stats().dead_letters, 2);
        let mut lines = log.take();
        lines.sort();
        assert_eq!(
            lines,
            [
                format!("Revoked {revoked}"),
                format!("Revoked {}", delegate.pid()),
                "dynamic".into(),
                "kept".into(),
                "typed".into(),
            ]
        );
    }
}

#[test]
fn n5_an_alias_of_another_process_cannot_be_revoked() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let delegate = delegate(&sim, &log);
    let alias = delegate.call(Order::Alias).wait().unwrap();
    let other = puppet(&sim, "other", &log);
    let noted = log.clone();
    other.tells(move |ctx| noted.note(ctx.revoke(alias)));
    sim.run_until_idle();
    assert_eq!(log.take(), ["false"]);
    assert!(sim.send(alias, Order::Note("x")).is_ok());
}

#[test]
fn l6_a_monitor_by_alias_reports_the_end_of_its_holder() {
    for sim in simulations(5) {
        let log = Log::new();
        let delegate = delegate(&sim, &log);
        let alias = delegate.call(Order::Alias).wait().unwrap();
        let watcher = puppet(&sim, "watcher", &log);
        watcher.tells(move |ctx| {
            let _ = ctx.monitor(alias);
        });
        let outside = sim.watch(alias);
        sim.run_until_idle();
        delegate.send(Order::End).ok().unwrap();
        let down = outside.wait().unwrap();
        assert_eq!(down.target, Target::Alias(alias, Some(delegate.pid())));
        assert_eq!((down.pid(), down.reason), (Some(delegate.pid()), Reason::Normal));
        sim.run_until_idle();
        assert_eq!(log.take(), [format!("watcher down {alias} normal")]);
        // Now it is nobody's.
        watcher.tells(move |ctx| {
            let _ = ctx.monitor(alias);
        });
        assert_eq!(sim.watch(alias).wait().unwrap().reason, Reason::NoProcess);
        sim.run_until_idle();
        assert_eq!(log.take(), [format!("watcher down {alias} no process")]);
    }
}

#[test]
fn m7_a_value_can_be_sent_to_a_pid_a_name_and_an_alias() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let delegate = delegate(&sim, &log);
    let alias = delegate.call(Order::Alias).wait().unwrap();
    assert!(sim.send(delegate.pid(), Order::Note("pid")).is_ok());
    assert!(sim.send("delegate", Order::Note("name")).is_ok());
    assert!(sim.send(alias, Order::Note("alias")).is_ok());
    assert!(sim.send(alias, Order::Note("full")).is_err_and(|error| error.is_full()));
    sim.run_until_idle();
    assert_eq!(log.take(), ["pid", "name", "alias"]);
    for nobody in ["", "nobody"] {
        let error = sim.send(nobody, Order::Note("x")).unwrap_err();
        assert!(matches!(error, SendError::NoName { name, .. } if name == nobody));
    }
    assert_eq!(sim.stats().dead_letters, 2);
    let error = sim.send("delegate", 1_u32).unwrap_err();
    assert!(matches!(error, SendError::WrongType { types, .. } if types.found == "u32"));
}

#[test]
fn m7_a_process_that_takes_others_gets_messages_of_any_type_in_their_place() {
    for sim in simulations(5) {
        let log = Log::new();
        let delegate = delegate(&sim, &log);
        delegate.send(Order::TakeOthers(true)).ok().unwrap();
        sim.run_until_idle();
        delegate.send(Order::Note("first")).ok().unwrap();
        assert!(sim.send(delegate.pid(), 2_u32).is_ok());
        assert!(sim.send("delegate", "three").is_ok());
        // They count towards the bound.
        assert!(sim.send("delegate", 4_u32).is_err_and(|error| error.is_full()));
        assert!(delegate.send(Order::Note("4")).is_err());
        sim.run_until_idle();
        assert_eq!(log.take(), ["first", "other 2", "other &str"]);
        delegate.send(Order::TakeOthers(false)).ok().unwrap();
        sim.run_until_idle();
        assert!(matches!(sim.send("delegate", 5_u32), Err(SendError::WrongType { .. })));
        assert_eq!(sim.process_info(delegate.pid()).unwrap().main, 0);
    }
}

/// Takes numbers and texts.
enum Both {
    Number(u32),
    Text(String, Reply<usize>),
}

impl From<u32> for Both {
    fn from(number: u32) -> Self {
        assert!(number != 13, "a conversion that panics");
        Both::Number(number)
    }
}

impl From<(String, Reply<usize>)> for Both {
    fn from((text, reply): (String, Reply<usize>)) -> Self {
        Both::Text(text, reply)
    }
}

struct Taker(Log);

impl Actor for Taker {
    type Message = Both;

    async fn handle_message(&mut self, ctx: &mut Context<Both>, message: Both) -> Result {
        match message {
            Both::Number(number) => {
                let sender = ctx.sender().map_or("outside".into(), |pid| pid.to_string());
                self.0.note(format!("{number} from {sender}"));
            }
            Both::Text(text, reply) => reply.send(text.len()),
        }
        Ok(())
    }
}

#[test]
fn m7_a_recipient_takes_one_type_of_an_actor_and_of_a_pool_alike() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (one, two) = (log.clone(), log.clone());
    let actor = sim.spawn(move || Taker(one)).mailbox(1).wait().unwrap();
    let workers = move || Taker(two.clone());
    let pool = sim.spawn(move || Pool::new(2, workers).mailbox(1)).wait().unwrap();
    let recipients: Vec<Recipient<u32>> = vec![actor.recipient(), pool.recipient()];
    for (recipient, room) in recipients.iter().zip([1, 2]) {
        for number in 0..room {
            recipient.send(number).unwrap();
        }
        // The refused number comes back as it was, not as what it is made into.
        assert_eq!(
            recipient.send(9).unwrap_err(),
            SendError::Full { message: 9, to: recipient.pid() }
        );
        sim.run_until_idle();
        assert_eq!(log.take().len(), room as usize);
    }
    let texts: Vec<Recipient<(String, Reply<usize>)>> = vec![actor.recipient(), pool.recipient()];
    for texts in texts {
        assert_eq!(texts.call(|reply| ("four".into(), reply)).wait(), Ok(4));
    }
    let inspection = pool.inspect().wait().unwrap();
    assert_eq!(inspection.number("messages_forwarded"), Some(3));
    assert_eq!(inspection.number("messages_unhandled"), Some(1));
    let sender = actor.recipient::<u32>();
    let sends = behavior_fn(move |_: Context<()>| async move {
        sender.send(5)?;
        Ok(())
    });
    let pid = sim.spawn(move || sends).start().unwrap().pid();
    sim.run_until_idle();
    assert_eq!(log.take(), [format!("5 from {pid}")]);
    sim.kill(actor.pid());
    sim.run_until_idle();
    assert_eq!(
        recipients[0].send(6).unwrap_err(),
        SendError::NoProcess { message: 6, to: recipients[0].pid() }
    );
    assert_eq!(recipients[0].pid(), actor.pid());
    assert!(!recipients[0].is_alive());
    assert_eq!(
        actor.recipient().call(|reply| ("x".to_owned(), reply)).wait(),
        Err(CallError::NoProcess { to: actor.pid() })
    );
}

#[test]
fn m5_a_conversion_that_panics_takes_no_room() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let actor = sim.spawn(move || Taker(noted)).mailbox(1).wait().unwrap();
    let numbers = actor.recipient::<u32>();
    let (sender, told) = mpsc::channel::<()>();
    let unlucky = numbers.clone();
    let bad = behavior_fn(move |_: Context<()>| async move {
        let _told = sender;
        unlucky.send(13)?;
        Ok(())
    });
    let bad = sim.spawn(move || bad).start().unwrap();
    sim.run_until_idle();
    assert!(told.recv().is_err() && !bad.is_alive());
    assert_eq!(numbers.send(1), Ok(()));
    assert_eq!(numbers.send(2).unwrap_err(), SendError::Full { message: 2, to: numbers.pid() });
    sim.run_until_idle();
    assert_eq!(log.take(), ["1 from outside"]);
}

#[test]
fn n3_a_context_that_outlives_its_process_cannot_register_names() {
    let sim = Simulation::new(1);
    let (sender, contexts) = mpsc::channel::<Context<()>>();
    let leaves = behavior_fn(move |ctx: Context<()>| async move {
        let _ = sender.send(ctx);
        Ok(())
    });
    let pid = sim.spawn(move || leaves).start().unwrap().pid();
    sim.run_until_idle();
    let mut ctx = contexts.recv().unwrap();
    assert!(!sim.is_alive(pid));
    assert_eq!(ctx.register("ghost"), Err(krarup::RegisterError::NoProcess(pid)));
    let alias = ctx.alias();
    assert_eq!(sim.whereis("ghost"), None);
    assert_eq!((sim.stats().names, sim.stats().aliases), (0, 0));
    let sent = sim.send(alias, ());
    assert!(matches!(sent, Err(SendError::Revoked { alias: of, .. }) if of == alias));
}
