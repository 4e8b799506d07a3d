//! Applications: a shop that needs its storage, and reports that are started on request.
//!
//! ```text
//! cargo run --example 21_application
//! ```
//!
//! An application is a named part of a program with a top process, usually a supervisor. The node
//! starts each after those that it needs and stops them in reverse. The shop is permanent: when
//! it ends, the node stops, and `main` returns why.

use krarup::application::{Application, Mode};
use krarup::prelude::*;
use std::process::ExitCode;

#[derive(Default)]
struct Stock {
    items: u32,
}

enum Ask {
    Load(u32, Reply<()>),
    Take(Reply<Option<u32>>),
}

impl Actor for Stock {
    type Message = Ask;

    async fn handle_message(&mut self, _: &mut Context<Ask>, ask: Ask) -> Result {
        match ask {
            Ask::Load(items, reply) => {
                self.items += items;
                reply.send(());
            }
            Ask::Take(reply) => match self.items.checked_sub(1) {
                Some(items) => {
                    self.items = items;
                    reply.send(Some(items));
                }
                None => reply.send(None),
            },
        }
        Ok(())
    }
}

/// Sells one item for each message, and closes when the stock is empty.
struct Shop;

impl Actor for Shop {
    type Message = ();

    async fn init(&mut self, ctx: &mut Context<()>) -> Result {
        ctx.register("shop")?;
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        let stock: Address<Ask> = ctx.lookup("stock")?;
        match stock.call(Ask::Take).await? {
            Some(left) => println!("sold one, {left} left"),
            None => return Err(Reason::error("sold out")),
        }
        Ok(())
    }
}

struct Reports;

impl Actor for Reports {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<()>, reason: &Reason) {
        println!("reports end: {reason}");
    }
}

fn storage() -> Application {
    Application::new("storage", || {
        Supervisor::one_for_one().child(ChildSpec::worker("stock", Stock::default).name("stock"))
    })
    // The shop is not started before the stock is loaded.
    .phase("load", |ctx: Context<()>| async move {
        let stock: Address<Ask> = ctx.lookup("stock")?;
        stock.call(|reply| Ask::Load(2, reply)).await?;
        Ok(())
    })
}

fn shop() -> Application {
    Application::new("shop", || Shop).needs("storage").mode(Mode::Permanent).on_stop(
        |_: Context<()>| async {
            println!("the shop closes");
            Ok(())
        },
    )
}

fn run() -> Result<ExitCode> {
    let node = Node::builder("shop@localhost")
        .application(shop())
        .application(storage())
        .application(Application::new("reports", || Reports).needs("storage").on_request())
        .start()?;
    node.start_application("reports").wait()?;
    for application in node.applications() {
        println!("{application}, {} processes", application.processes);
    }
    let refused = node.stop_application("storage").wait();
    println!("{}", refused.err().map_or_else(String::new, |error| error.to_string()));
    let shop: Address<()> = node.lookup("shop")?;
    for _ in 0..3 {
        shop.send(())?;
    }
    let stopped = node.stopped().wait()?;
    println!("{stopped}");
    // Sold out is the plan of this program; another one would return `stopped.exit_code()`.
    Ok(if stopped.application.is_some() { ExitCode::SUCCESS } else { stopped.exit_code() })
}

fn main() -> ExitCode {
    run().unwrap_or_else(|reason| {
        println!("{reason}");
        ExitCode::FAILURE
    })
}
