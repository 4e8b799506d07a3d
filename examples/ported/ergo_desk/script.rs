//! What both programs do, in virtual time. A simulation has no sockets: the front is a process here
//! that answers lines as a connection does.

use crate::application::desk;
use crate::board::BOARD;
use crate::front::{Counter, FRONT};
use crate::listener::{LISTENER, ToListener};
use krarup::prelude::*;
use std::fmt::Write;
use std::time::Duration;

/// Takes lines from processes instead of clients.
#[derive(Default)]
struct LineFront {
    counter: Option<Counter>,
}

impl Actor for LineFront {
    type Message = (String, Reply<String>);

    async fn init(&mut self, ctx: &mut Context<Self::Message>) -> Result {
        self.counter = Some(Counter::near(ctx)?);
        Ok(())
    }

    async fn handle_message(
        &mut self,
        _: &mut Context<Self::Message>,
        (line, reply): Self::Message,
    ) -> Result {
        if let Some(counter) = &self.counter {
            reply.send(counter.answer(&line).await);
        }
        Ok(())
    }
}

fn lines() -> ChildSpec {
    ChildSpec::worker(FRONT, LineFront::default)
}

/// Runs the desk, and returns what came of each operation.
pub(crate) fn run(sim: &Simulation) -> Result<String> {
    sim.declare_applications([desk(lines)])?;
    sim.start_applications()?;
    let mut trace = Trace { sim, text: String::new() };
    for line in ["make tea", "make soup", "make tea", "make tea", "dance"] {
        trace.say(line)?;
    }
    trace.pause(2_000);
    trace.look()?;
    trace.say("make smoke")?;
    trace.say("make tea")?;
    trace.kill(BOARD)?;
    trace.pause(500);
    trace.say("make soup")?;
    trace.pause(1_000);
    trace.look()?;
    trace.kill(LISTENER)?;
    trace.pause(1_200);
    trace.look()?;
    Ok(trace.text)
}

struct Trace<'a> {
    sim: &'a Simulation,
    text: String,
}

impl Trace<'_> {
    fn pause(&self, milliseconds: u64) {
        self.sim.advance(Duration::from_millis(milliseconds));
    }

    fn say(&mut self, line: &str) -> Result {
        let front: Address<(String, Reply<String>)> = self.sim.lookup(FRONT)?;
        let answer = front.call(|reply| (line.to_owned(), reply)).wait()?;
        Ok(writeln!(self.text, "> {line}\n  {answer}")?)
    }

    fn look(&mut self) -> Result {
        let listener: Address<ToListener> = self.sim.lookup(LISTENER)?;
        let heard = listener.call(ToListener::Tell).wait()?;
        let board = self.sim.whereis(BOARD).ok_or_else(|| Reason::error("no board"))?;
        let orders = self.sim.inspect(board).wait()?.number("orders").unwrap_or_default();
        Ok(writeln!(self.text, "> look\n  heard {heard}; orders {orders}")?)
    }

    fn kill(&mut self, name: &str) -> Result {
        self.sim.kill(self.sim.whereis(name).ok_or_else(|| Reason::error("no process"))?);
        Ok(writeln!(self.text, "> kill '{name}'")?)
    }
}
