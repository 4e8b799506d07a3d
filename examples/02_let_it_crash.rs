//! 2. Let it crash: a supervisor restarts the process that fails, and its name survives
//!    the restart.
//!
//! The calculator has no code for bad input. A panic ends its process and nothing else:
//! the caller gets the reason, the supervisor starts a new process, and the other
//! calculator is not affected. (The output on stderr is Rust's own report of each panic.)
//!
//! ```sh
//! cargo run --release --example 02_let_it_crash
//! ```

use krarup::prelude::*;
use krarup::supervisor::{ChildSpec, Supervisor};
use std::sync::mpsc;
use std::time::Duration;

enum Calculate {
    Push(i64),
    Divide(Reply<i64>),
}

struct Calculator {
    stack: Vec<i64>,
    /// Receives the pid of each new incarnation.
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

/// Looks up the process that has this name now, and divides.
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

    // The supervisor accepts two restarts within a minute. At the third it gives up.
    let node = Node::start("tour@localhost")?;
    let supervisor = node
        .spawn(|| {
            Supervisor::one_for_one()
                .intensity(2, Duration::from_secs(60))
                .child(ChildSpec::worker("first", calculator.clone()).name("ada"))
                .child(ChildSpec::worker("second", calculator).name("bob"))
        })
        .wait()?;
    println!("{} and {} were started", born.recv()?, born.recv()?);
    divide(&node, "ada", 12, 4)?;

    for _ in 0..2 {
        divide(&node, "ada", 1, 0)?;
        println!("{} was started with an empty stack under the same name", born.recv()?);
        divide(&node, "ada", 100, 5)?;
    }
    divide(&node, "bob", 30, 6)?;

    let end = supervisor.watch();
    divide(&node, "ada", 1, 0)?;
    let reason = end.wait()?.reason;
    println!(
        "the restart limit is exceeded: the supervisor ends its children and itself: {reason}"
    );
    node.stop().wait()
}
