//! Pipes that tell of their end in any case (rule C6).

use krarup::TaskError;
use krarup::observe::{DeadLetterCause, Memory, RefusalCause};
use krarup::prelude::*;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

type Outcome = Result<u32, TaskError>;
type Heard = Arc<Mutex<Vec<Outcome>>>;

enum Work {
    /// Sleeps so long; panics at zero seconds. Answers with the pid of the pipe.
    Begin(u64, Reply<Pid>),
    /// As `Begin`, and ends the pipe before it has had a turn.
    BeginAndEnd(Reply<Pid>),
    Done(Outcome),
}

struct Owner {
    heard: Heard,
}

impl Owner {
    fn begin(ctx: &Context<Work>, seconds: u64) -> Result<Pid> {
        let clock = ctx.clock();
        let work = async move {
            assert!(seconds > 0, "nothing to do");
            clock.sleep(Duration::from_secs(seconds)).await;
            7
        };
        Ok(ctx.pipe_outcome(work, Work::Done)?)
    }
}

impl Actor for Owner {
    type Message = Work;

    async fn handle_message(&mut self, ctx: &mut Context<Work>, work: Work) -> Result {
        match work {
            Work::Begin(seconds, reply) => reply.send(Self::begin(ctx, seconds)?),
            Work::BeginAndEnd(reply) => {
                let pid = Self::begin(ctx, 1)?;
                ctx.exit(pid, Reason::error("not needed"));
                reply.send(pid);
            }
            Work::Done(outcome) => self.heard.lock().unwrap().push(outcome),
        }
        Ok(())
    }
}

fn owner(sim: &Simulation) -> (Address<Work>, Heard) {
    let heard = Heard::default();
    let there = Arc::clone(&heard);
    (sim.spawn(move || Owner { heard: there }).mailbox(1).wait().unwrap(), heard)
}

fn begin(owner: &Address<Work>, seconds: u64) -> Pid {
    owner.call(|reply| Work::Begin(seconds, reply)).wait().unwrap()
}

#[test]
fn c6_the_outcome_of_a_pipe_is_told_also_if_it_is_killed_panics_or_never_runs() {
    Simulation::explore(0..100, |sim| {
        sim.remember(Memory { crashes: 9, ..Memory::default() });
        let (owner, heard) = owner(sim);
        begin(&owner, 1);
        sim.advance(SECOND);
        assert_eq!(heard.lock().unwrap().drain(..).collect::<Vec<_>>(), [Ok(7)]);

        let killed = begin(&owner, 9);
        sim.kill(killed);
        sim.run_until_idle();
        let outcomes: Vec<_> = heard.lock().unwrap().drain(..).collect();
        assert_eq!(outcomes, [Err(TaskError::Ended(Reason::Killed))]);

        let panicked = begin(&owner, 0);
        sim.run_until_idle();
        let outcomes: Vec<_> = heard.lock().unwrap().drain(..).collect();
        let [Err(TaskError::Failed(reason))] = &outcomes[..] else { panic!("{outcomes:?}") };
        assert!(reason.to_string().contains("nothing to do"), "{reason}");
        let crashes = sim.view().crashes(0, 9).items;
        assert_eq!(crashes.last().unwrap().item.pid, panicked);

        owner.call(Work::BeginAndEnd).wait()?;
        sim.run_until_idle();
        let outcomes: Vec<_> = heard.lock().unwrap().drain(..).collect();
        assert_eq!(outcomes, [Err(TaskError::Ended(Reason::error("not needed")))]);
        assert!(owner.is_alive());
        assert_eq!((sim.processes().len(), sim.stats().dead_letters), (1, 0));
        Ok(())
    });
}

/// Begins work of one of three kinds that is done when its process has ended.
struct Late(usize);

impl Actor for Late {
    type Message = ();

    async fn init(&mut self, ctx: &mut Context<()>) -> Result {
        let mut end = ctx.watch(ctx.pid());
        match self.0 {
            0 => ctx.pipe(end, |_| ())?,
            1 => ctx.pipe_outcome(end, |_| ())?,
            _ => ctx.pipe_each(move |cx| Pin::new(&mut end).poll(cx).map(Some), |_| ())?,
        };
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

#[test]
fn c6_a_result_that_comes_after_the_end_has_a_cause_of_its_own() {
    for kind in 0..3 {
        let sim = Simulation::new(1);
        sim.remember(Memory { dead_letters: 9, ..Memory::default() });
        let late = sim.spawn(move || Late(kind)).wait().unwrap();
        sim.run_until_idle();
        sim.kill(late.pid());
        sim.run_until_idle();
        let letters = sim.view().dead_letters(0, 9).items;
        let causes: Vec<_> = letters.iter().map(|recorded| recorded.item.cause).collect();
        assert_eq!(causes, [DeadLetterCause::LateResult], "{kind}");
        // No sender was refused.
        let stats = sim.stats();
        assert_eq!((stats.dead_letters, stats.refusals[&RefusalCause::NoProcess]), (1, 0));
        assert!(sim.processes().is_empty());
    }
}

#[test]
fn c6_the_outcome_of_a_pipe_is_told_to_nobody_when_its_process_has_ended() {
    Simulation::explore(0..100, |sim| {
        let (owner, heard) = owner(sim);
        for _ in 0..3 {
            begin(&owner, 9);
        }
        sim.kill(owner.pid());
        sim.run_until_idle();
        assert!(sim.processes().is_empty() && heard.lock().unwrap().is_empty());
        assert_eq!(sim.stats().dead_letters, 0);
        Ok(())
    });
}
