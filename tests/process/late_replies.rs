//! Answers that come when nobody may wait for them any more: rules C9 and C10.

use crate::support::{Guard, Log, simulations};
use krarup::prelude::*;
use std::collections::VecDeque;
use std::time::Duration;

/// A server that lends what it has.
enum Lend {
    Get(Reply<Guard>),
    /// Answers the oldest request, in the way that is asked for.
    Answer(HowToAnswer),
    /// How many things it has, and whether the oldest request is wanted.
    Count(Reply<(usize, Option<bool>)>),
}

#[derive(Clone, Copy, PartialEq)]
enum HowToAnswer {
    Send,
    TrySend,
}

struct Lender {
    free: Vec<Guard>,
    requests: VecDeque<Reply<Guard>>,
    log: Log,
}

impl Actor for Lender {
    type Message = Lend;

    async fn handle_message(&mut self, _: &mut Context<Lend>, message: Lend) -> Result {
        match message {
            Lend::Get(reply) => self.requests.push_back(reply),
            Lend::Answer(how) => {
                let (Some(reply), Some(thing)) = (self.requests.pop_front(), self.free.pop())
                else {
                    return Ok(());
                };
                if how == HowToAnswer::Send {
                    reply.send(thing);
                    self.log.note("answered");
                } else if let Err(thing) = reply.try_send(thing) {
                    self.free.push(thing);
                }
            }
            Lend::Count(reply) => {
                reply.send((self.free.len(), self.requests.front().map(Reply::is_wanted)));
            }
        }
        Ok(())
    }
}

fn lender(sim: &Simulation, log: &Log) -> Address<Lend> {
    let log = log.clone();
    let free = vec![Guard::new(&log, "dropped")];
    let lender = move || Lender { free, requests: VecDeque::new(), log };
    sim.spawn(lender).wait().unwrap()
}

/// Short enough that its timer is set at once, so that the seed orders it among others.
const SOON: Duration = Duration::from_millis(500);
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn c9_a_value_for_a_call_that_was_given_up_comes_back() {
    for sim in simulations(20) {
        let log = Log::new();
        let lender = lender(&sim, &log);
        let error = lender.call(Lend::Get).timeout(SECOND).wait().unwrap_err();
        assert!(matches!(error, CallError::Timeout { .. }), "{error}");
        lender.send(Lend::Answer(HowToAnswer::TrySend)).unwrap();
        assert_eq!(lender.call(Lend::Count).wait(), Ok((1, None)));
        assert_eq!(log.take(), [""; 0]);
        assert_eq!(sim.stats().late_replies, 1);
    }
}

#[test]
fn c9_a_value_is_given_to_a_caller_that_waits() {
    for sim in simulations(20) {
        let log = Log::new();
        let lender = lender(&sim, &log);
        let (asked, noted) = (lender.clone(), log.clone());
        let caller = krarup::behavior::behavior_fn(move |_: Context<()>| async move {
            let thing = asked.call(Lend::Get).await?;
            noted.note("has it");
            drop(thing);
            Ok(())
        });
        sim.spawn(|| caller).start().unwrap();
        sim.run_until_idle();
        lender.send(Lend::Answer(HowToAnswer::TrySend)).unwrap();
        assert_eq!(lender.call(Lend::Count).wait(), Ok((0, None)));
        sim.run_until_idle();
        assert_eq!(log.take(), ["has it", "dropped"]);
        assert_eq!(sim.stats().late_replies, 0);
    }
}

#[test]
fn c9_a_value_that_is_sent_late_is_dropped_where_it_is_sent() {
    for sim in simulations(20) {
        let log = Log::new();
        let lender = lender(&sim, &log);
        lender.call(Lend::Get).timeout(SECOND).wait().unwrap_err();
        lender.send(Lend::Answer(HowToAnswer::Send)).unwrap();
        assert_eq!(lender.call(Lend::Count).wait(), Ok((0, None)));
        assert_eq!(log.take(), ["dropped", "answered"], "in the turn of the sender");
    }
}

/// At the moment of the hand-over the caller gives up, is killed, or gets the value. The thing is
/// never lost: it is with the lender again, or was dropped by the caller.
#[test]
fn c9_no_value_is_lost_at_the_moment_when_the_caller_gives_up() {
    let (mut back, mut gone) = (0, 0);
    for (seed, sim) in simulations(300).enumerate() {
        let log = Log::new();
        let lender = lender(&sim, &log);
        let asked = lender.clone();
        let caller = krarup::behavior::behavior_fn(move |_: Context<()>| async move {
            let _ = asked.call(Lend::Get).timeout(SOON).await;
            Ok(())
        });
        let caller = sim.spawn(|| caller).start().unwrap();
        let answering = lender.clone();
        let other = krarup::behavior::behavior_fn(move |ctx: Context<()>| async move {
            ctx.sleep(SOON).await;
            if seed % 2 == 0 {
                ctx.exit(caller.pid(), Reason::Kill);
            }
            let _ = answering.send(Lend::Answer(HowToAnswer::TrySend));
            Ok(())
        });
        sim.spawn(|| other).start().unwrap();
        sim.advance(2 * SOON);
        let (free, _) = lender.call(Lend::Count).wait().unwrap();
        let dropped = log.count("dropped");
        assert_eq!(free + dropped, 1, "seed {seed}");
        back += free;
        gone += dropped;
    }
    assert!(back > 0 && gone > 0, "{back} came back, {gone} arrived");
}

#[test]
fn c10_a_token_knows_whether_its_caller_waits() {
    for sim in simulations(20) {
        let log = Log::new();
        let lender = lender(&sim, &log);
        let asked = lender.clone();
        let caller = krarup::behavior::behavior_fn(move |_: Context<()>| async move {
            let _ = asked.call(Lend::Get).no_timeout().await;
            Ok(())
        });
        let caller = sim.spawn(|| caller).start().unwrap();
        sim.run_until_idle();
        assert_eq!(lender.call(Lend::Count).wait(), Ok((1, Some(true))));
        sim.kill(caller.pid());
        sim.run_until_idle();
        assert_eq!(lender.call(Lend::Count).wait(), Ok((1, Some(false))));
    }
}
