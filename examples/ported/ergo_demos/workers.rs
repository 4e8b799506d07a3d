//! The pool: messages are spread over workers in turn, and a worker that has ended is replaced.

use krarup::pool::{PoolBehavior, PoolContext, PoolStatistics};
use krarup::prelude::*;
use std::convert::Infallible;
use std::fmt::Write;
use std::future::pending;

/// What a worker is asked for.
enum Job {
    Who(Reply<Pid>),
    Fail,
    /// Is never done.
    Hold,
}

struct Worker;

impl Actor for Worker {
    type Message = Job;

    async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
        match job {
            Job::Who(reply) => reply.send(ctx.pid()),
            Job::Fail => return Err(Reason::error("boom")),
            Job::Hold => pending::<()>().await,
        }
        Ok(())
    }
}

/// The pool's own behaviour: what is sent to the pool itself. Workers never see it.
struct Front;

struct Ping(Reply<&'static str>);

impl PoolBehavior for Front {
    type Job = Job;
    type Command = Ping;

    async fn handle_command(
        &mut self,
        _: &mut PoolContext<'_, Job, Ping>,
        Ping(reply): Ping,
    ) -> Result {
        reply.send("pong");
        Ok(())
    }
}

type PoolAddress = Address<Job, PoolCommand<Ping>>;

/// Names workers by the order in which they have answered.
#[derive(Default)]
struct Labels(Vec<Pid>);

impl Labels {
    fn of(&mut self, pid: Pid) -> String {
        let known = self.0.iter().position(|other| *other == pid);
        let at = known.unwrap_or_else(|| {
            self.0.push(pid);
            self.0.len() - 1
        });
        format!("w{}", at + 1)
    }

    /// Asks the pool several times, and returns who has answered.
    fn who(&mut self, pool: &PoolAddress, times: usize) -> String {
        let answers = (0..times).map(|_| match pool.call(Job::Who).wait() {
            Ok(pid) => self.of(pid),
            Err(error) => error.to_string(),
        });
        answers.collect::<Vec<_>>().join(" ")
    }
}

pub(crate) fn run(sim: &Simulation) -> Result<String> {
    let mut trace = String::new();
    let mut say = |line: &str, answer: &str| {
        let _ = writeln!(trace, "> {line}\n  {answer}");
    };
    let pool = || Pool::new(3, || Worker).behavior(Front);
    let pool: PoolAddress = sim.spawn(pool).name("mypool").wait()?;
    let mut labels = Labels::default();
    say("who 6", &labels.who(&pool, 6));
    pool.send(Job::Fail)?;
    sim.run_until_idle();
    say("fail, who 6", &labels.who(&pool, 6));
    let PoolStatistics { pool_size, restarts, .. } = pool.statistics().wait()?;
    say("inspect", &format!("size {pool_size} restarts {restarts}"));
    say("add 2", &pool.add_workers(2).wait()?.size.to_string());
    say("who 5", &labels.who(&pool, 5));
    say("remove 2", &pool.remove_workers(2).wait()?.size.to_string());
    say("who 6", &labels.who(&pool, 6));
    say("ping", pool.ask(Ping).wait()?);
    say("remove 5", &pool.remove_workers(5).wait()?.size.to_string());
    say("who 1", &labels.who(&pool, 1));
    sim.kill(pool.pid());

    let small: Address<Job, PoolCommand<Infallible>> =
        sim.spawn(|| Pool::new(1, || Worker).mailbox(1)).wait()?;
    for _ in 0..3 {
        let sent = small.send(Job::Hold);
        sim.run_until_idle();
        say("send to 1 worker, mailbox 1", if sent.is_ok() { "accepted" } else { "refused" });
    }
    let PoolStatistics { forwarded, unhandled, .. } = small.statistics().wait()?;
    say("inspect", &format!("forwarded {forwarded} unhandled {unhandled}"));
    sim.kill(small.pid());
    Ok(trace)
}
