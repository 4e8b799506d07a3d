//! Tasks and agents: a handler that asks several others at once, and a value that many change.
//!
//! ```text
//! cargo run --example 18_tasks
//! ```
//!
//! A task is a process that runs one future for another process. Its value comes back as a value,
//! its panic as an error, and it ends with its owner. An agent is a process that holds a value.

use krarup::prelude::*;
use krarup::supervisor::{RunError, Tasks, TasksAddress};
use krarup::tasks::AgentAddress;
use krarup::{Agent, TaskError};
use std::time::Duration;

/// A supplier of one article, which is slow, quick, or broken.
struct Supplier {
    price: u32,
    delay: Duration,
}

struct Ask(Reply<u32>);

impl Actor for Supplier {
    type Message = Ask;

    async fn handle_message(&mut self, ctx: &mut Context<Ask>, Ask(reply): Ask) -> Result {
        ctx.sleep(self.delay).await;
        assert!(self.price > 0, "no price");
        reply.send(self.price);
        Ok(())
    }
}

enum Shop {
    /// The best price that is there within a second.
    Quote(Reply<Option<u32>>),
    /// The first price that comes.
    First(Reply<Option<u32>>),
}

struct Quotes {
    suppliers: Vec<Address<Ask>>,
    asked: AgentAddress<u32>,
}

impl Quotes {
    /// The future of each supplier's answer. None of them runs yet.
    fn questions(&self) -> impl Iterator<Item = impl Future<Output = Result<u32>> + use<>> + use<> {
        let asked = self.asked.clone();
        self.suppliers.clone().into_iter().map(move |supplier| {
            let asked = asked.clone();
            async move {
                asked.update(|count| *count += 1).await?;
                Ok(supplier.call(Ask).no_timeout().await?)
            }
        })
    }
}

impl Actor for Quotes {
    type Message = Shop;

    async fn handle_message(&mut self, ctx: &mut Context<Shop>, message: Shop) -> Result {
        match message {
            Shop::Quote(reply) => {
                // All at once, each with its limit; the results are in the order of the suppliers.
                let limit = Duration::from_secs(1);
                let answers = ctx.tasks(self.questions()).at_once(8).timeout(limit).await;
                for (number, answer) in answers.iter().enumerate() {
                    match answer {
                        Ok(Ok(price)) => println!("supplier {number} wants {price}"),
                        Ok(Err(reason)) => println!("supplier {number}: {reason}"),
                        Err(error) => println!("supplier {number}: {error}"),
                    }
                }
                reply.send(answers.into_iter().flatten().flatten().min());
            }
            Shop::First(reply) => {
                let mut answers = ctx.tasks(self.questions()).as_they_come();
                while let Some((number, answer)) = answers.next().await {
                    if let Ok(Ok(price)) = answer {
                        println!("supplier {number} was the first");
                        // The other tasks end with `answers`.
                        reply.send(Some(price));
                        return Ok(());
                    }
                }
                reply.send(None);
            }
        }
        Ok(())
    }
}

fn main() -> Result {
    // In virtual time.
    let sim = Simulation::new(18);
    let asked = sim.spawn(|| Agent::new(|| 0_u32)).name("asked").wait()?;
    let mut suppliers = Vec::new();
    for (price, seconds) in [(40, 0), (30, 9), (0, 0), (35, 0)] {
        let supplier = Supplier { price, delay: Duration::from_secs(seconds) };
        suppliers.push(sim.spawn(move || supplier).wait()?);
    }
    let counted = asked.clone();
    let shop = sim.spawn(move || Quotes { suppliers, asked: counted }).name("shop").wait()?;
    assert_eq!(shop.call(Shop::Quote).wait()?, Some(35));
    assert!(shop.call(Shop::First).wait()?.is_some());
    println!("asked {} times", asked.get(|count| *count).wait()?);

    // A task of the node, and one that is not done in time.
    assert_eq!(sim.task(async { 6 * 7 }).wait(), Ok(42));
    let late = sim.task(std::future::pending::<()>()).timeout(Duration::from_secs(1)).wait();
    assert_eq!(late, Err(TaskError::Timeout(Duration::from_secs(1))));

    // Work that outlives its handler belongs below a process of its own, with a limit.
    let tasks: TasksAddress = sim.spawn(|| Tasks::new().at_most(1)).name("tasks").wait()?;
    let refused = sim.task(async move {
        tasks.run(std::future::pending::<()>()).await?;
        match tasks.run(async {}).await {
            Err(RunError::Full { limit, .. }) => Ok(limit),
            _ => Err(Reason::error("it was accepted")),
        }
    });
    println!("no more than {} at once", refused.wait()??);
    Ok(())
}
