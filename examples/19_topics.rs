//! Topics: an exchange publishes prices, and any number of processes hear of them.
//!
//! ```text
//! cargo run --example 19_topics
//! ```
//!
//! A topic lives and dies with the process that opened it. Each subscriber hears in its own mailbox,
//! with a limit of its own: a slow one misses events, which are counted, and holds up nobody.

use krarup::prelude::*;
use krarup::topics::{Audience, Numbered, Publisher, Topic, WhenFull};
use std::time::Duration;

#[derive(Clone, Debug)]
struct Price(u32);

enum Order {
    Trade(u32),
    Audience(Audience),
}

impl From<Audience> for Order {
    fn from(audience: Audience) -> Self {
        Order::Audience(audience)
    }
}

#[derive(Default)]
struct Exchange {
    prices: Option<Publisher<Price>>,
}

impl Actor for Exchange {
    type Message = Order;

    async fn init(&mut self, ctx: &mut Context<Order>) -> Result {
        self.prices = Some(ctx.open_topic::<Price>("prices").keep(2).tell_audience().open()?);
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Order>, order: Order) -> Result {
        match order {
            Order::Audience(audience) => println!("exchange: audience is {audience:?}"),
            Order::Trade(price) => {
                if let Some(prices) = &self.prices {
                    let published = prices.publish(Price(price))?;
                    println!(
                        "exchange: {price}, {} heard, {} missed",
                        published.heard, published.missed
                    );
                }
            }
        }
        Ok(())
    }
}

/// Hears of every price.
struct Ticker;

impl Actor for Ticker {
    type Message = Price;

    async fn init(&mut self, ctx: &mut Context<Price>) -> Result {
        let prices: Topic<Price> = ctx.topic("prices")?;
        let kept = ctx.subscribe(&prices).start()?;
        println!("ticker: subscribed, {kept:?} before");
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Price>, price: Price) -> Result {
        println!("ticker: {}", price.0);
        Ok(())
    }

    async fn handle_down(&mut self, ctx: &mut Context<Price>, down: Down) -> Result {
        println!("ticker: {} has ended: {}", down.target, down.reason);
        ctx.stop();
        Ok(())
    }
}

struct Drawn(Numbered<Price>);

impl From<Numbered<Price>> for Drawn {
    fn from(price: Numbered<Price>) -> Self {
        Drawn(price)
    }
}

/// Takes a second for each price, and draws the newest one that waits.
struct Chart;

impl Actor for Chart {
    type Message = Drawn;

    async fn init(&mut self, ctx: &mut Context<Drawn>) -> Result {
        let prices: Topic<Price> = ctx.topic("prices")?;
        ctx.subscribe(&prices).numbered().at_most(1, WhenFull::DropOldest).start()?;
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Drawn>, drawn: Drawn) -> Result {
        let Drawn(price) = drawn;
        println!("chart: price {} is {}, {} missed", price.number, price.event.0, price.missed);
        ctx.sleep(Duration::from_secs(1)).await;
        Ok(())
    }
}

fn main() -> Result {
    // In virtual time, so that the slow chart takes no time and every run prints the same.
    let sim = Simulation::new(1);
    let exchange = sim.spawn(Exchange::default).wait()?;
    exchange.send(Order::Trade(100))?;
    sim.run_until_idle();
    sim.spawn(|| Ticker).wait()?;
    sim.spawn(|| Chart).wait()?;
    for price in 101..106 {
        exchange.send(Order::Trade(price))?;
        sim.run_until_idle();
    }
    sim.advance(Duration::from_secs(2));
    for topic in sim.topics() {
        println!("node: {topic}");
    }
    exchange.stop().wait()?;
    sim.run_until_idle();
    sim.stop().wait()
}
