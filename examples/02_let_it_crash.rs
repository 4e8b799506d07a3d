//! 2. Let it crash: a supervisor starts again what fails, and its name outlives it.
//!
//! The calculator has no code for bad input. A panic ends its process and nothing else:
//! the caller hears why, the supervisor starts a fresh one, its neighbour serves on.
//! (What appears on stderr is Rust's own report of each panic.)
//!
//! ```sh
//! cargo run --release --example 02_let_it_crash
//! ```

use krarup::prelude::*;
use krarup::{ChildSpec, Supervisor};
use std::sync::mpsc;
use std::time::Duration;

enum Calculate {
    Push(i64),
    Divide(Reply<i64>),
}

struct Calculator {
    stack: Vec<i64>,
    /// Told of each new incarnation.
    births: mpsc::Sender<Pid>,
}

impl Actor for Calculator {
    type Message = Calculate;

    async fn init(&mut self, ctx: &mut Context<Calculate>) -> Result {
        self.births.send(ctx.pid())?;
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Calculate>, message: Calculate) -> Result {
        match message {
            Calculate::Push(n) => self.stack.push(n),
            Calculate::Divide(reply) => {
                let divisor = self.stack.pop().expect("a divisor on the stack");
                let dividend = self.stack.pop().expect("a dividend on the stack");
                reply.send(dividend / divisor);
            }
        }
        Ok(())
    }
}

/// Looks a calculator up by its name, whichever process that is now, and divides.
fn divide(node: &Node, name: &str, dividend: i64, divisor: i64) -> Result {
    let calculator: Address<Calculate> = node.lookup(name)?;
    calculator.send(Calculate::Push(dividend))?;
    calculator.send(Calculate::Push(divisor))?;
    let pid = calculator.pid();
    match calculator.call(Calculate::Divide).wait() {
        Ok(quotient) => println!("{name} {pid}: {dividend} / {divisor} = {quotient}"),
        Err(error) => println!("{name} {pid}: {dividend} / {divisor}: {error}"),
    }
    Ok(())
}

fn main() -> Result {
    let (births, born) = mpsc::channel();
    let calculator = move || Calculator { stack: Vec::new(), births: births.clone() };

    // Two restarts in a minute are bad luck, a third one is a bug: then it gives up.
    let node = Node::start("tour@localhost")?;
    let supervisor = node
        .spawn(|| {
            Supervisor::one_for_one()
                .intensity(2, Duration::from_mins(1))
                .child(ChildSpec::worker("first", calculator.clone()).name("ada"))
                .child(ChildSpec::worker("second", calculator).name("bob"))
        })
        .wait()?;
    println!("{} and {} are born", born.recv()?, born.recv()?);
    divide(&node, "ada", 12, 4)?;

    for _ in 0..2 {
        divide(&node, "ada", 1, 0)?;
        println!("{} is born, with an empty stack, under the same name", born.recv()?);
        divide(&node, "ada", 100, 5)?;
    }
    divide(&node, "bob", 30, 6)?;

    let end = supervisor.monitor();
    divide(&node, "ada", 1, 0)?;
    let reason = end.wait()?.reason;
    println!("one failure too many: the supervisor ends its children and itself: {reason}");
    node.stop().wait()
}
