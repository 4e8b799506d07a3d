//! A node with a supervisor, a pool and processes that fail, for the commands of the API.

use crate::observed::{Failing, Observed, PROGRAM, TOKEN, until};
use krarup::addressing::Dynamic;
use krarup::observer::Token;
use krarup::prelude::*;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Answers inspections, and shows its messages.
pub(crate) struct Stock;

impl Actor for Stock {
    type Message = u32;

    async fn handle_message(&mut self, _: &mut Context<u32>, _: u32) -> Result {
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("pieces", 7u64).with("lag", Duration::from_millis(12))
    }

    fn state(&self) -> Option<Dynamic> {
        Some(Dynamic::shown("seven\npieces".to_owned()))
    }

    fn show_message(message: &u32) -> Option<String> {
        Some(format!("take {message} pieces"))
    }
}

/// A node with an action token: the supervisor `shop` with its children `stock` and `clerk`, of
/// which the second fails at its first message, and the pool `packers`.
pub(crate) fn shop(name: &str) -> Observed {
    let observed = Observed::start(name, |it| it.action_token(Token::new(TOKEN).unwrap()));
    let node = &observed.node;
    let tree = || {
        let stock = ChildSpec::worker("stock", || Stock).name("stock");
        let clerk = ChildSpec::worker("clerk", || Failing).name("clerk");
        Supervisor::one_for_one().intensity(100, Duration::from_secs(10)).child(stock).child(clerk)
    };
    node.spawn(tree).name("shop").wait().unwrap();
    node.spawn(|| Pool::new(2, || Stock)).name("packers").wait().unwrap();
    observed
}

/// The number of a process.
pub(crate) fn id(observed: &Observed, name: &str) -> u64 {
    observed.node.whereis(name).unwrap().id()
}

/// Runs the program with a token in its environment.
pub(crate) fn run_with(token: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env("KRARUP_OBSERVER_TOKEN", token).stdin(Stdio::null());
    command.output().unwrap()
}

/// Fails the clerk, and waits for its successor.
pub(crate) fn fail(observed: &Observed) {
    let clerk = observed.node.whereis("clerk").unwrap();
    let address: Address<()> = observed.node.lookup("clerk").unwrap();
    address.send(()).unwrap();
    until(|| observed.node.whereis("clerk").filter(|pid| *pid != clerk));
}
