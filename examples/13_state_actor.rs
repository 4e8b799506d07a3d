//! 13. A state actor: it serves other requests while its handlers wait.
//!
//! A travel agency asks a railway and a hotel at the same time, and answers other customers
//! meanwhile. A booking is a barrier: no other handler runs between the moment it reads the
//! till and the moment it writes it. Many ratings come at once and are counted in batches.
//! A partner that does not answer costs its customer a second and delays no other customer.
//!
//! ```sh
//! cargo run --release --example 13_state_actor
//! ```

use krarup::behavior::behavior_fn;
use krarup::prelude::*;
use krarup::state::{Scope, StateActor, StateAddress, StateCalls, Stateful};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// The request to a partner: the price of one night or of one journey.
type Price = Reply<u32>;

struct Agency {
    railway: Address<Price>,
    hotel: Address<Price>,
    till: u32,
    stars: u32,
    ratings: u32,
}

enum Ask {
    /// Asks what a journey would cost.
    Offer(Reply<Option<u32>>),
    /// Books a journey if the budget allows. The reply is the new content of the till.
    Book { budget: u32, reply: Reply<Result<u32, String>> },
    /// The sum of the stars, and the number of ratings.
    Rating(Reply<(u32, u32)>),
}

enum Event {
    Closing,
}

impl StateActor for Agency {
    type Notice = u32;
    type Ask = Ask;
    type Reply = ();
    type Event = Event;

    /// A single rating is a batch of one.
    async fn handle_notice(scope: &mut Scope<Self>, stars: u32) -> Result {
        Self::handle_notices(scope, vec![stars]).await
    }

    fn batches_notice(&self, _: &u32) -> bool {
        true
    }

    async fn handle_notices(scope: &mut Scope<Self>, stars: Vec<u32>) -> Result {
        println!("  {} ratings in one batch", stars.len());
        scope.with(|agency| {
            agency.ratings += u32::try_from(stars.len()).unwrap_or(u32::MAX);
            agency.stars += stars.iter().sum::<u32>();
        });
        Ok(())
    }

    fn is_barrier(&self, ask: &Ask) -> bool {
        matches!(ask, Ask::Book { .. })
    }

    async fn handle_ask(scope: &mut Scope<Self>, ask: Ask) -> Result {
        match ask {
            Ask::Offer(reply) => reply.send(price(scope).await),
            Ask::Book { budget, reply } => {
                let till = scope.with(|agency| agency.till);
                let booked = match price(scope).await {
                    Some(price) if price <= budget => {
                        // No other handler has touched the till since it was read.
                        scope.with(|agency| agency.till = till + price);
                        Ok(till + price)
                    }
                    Some(price) => Err(format!("costs {price}")),
                    None => Err("no offer".to_owned()),
                };
                reply.send(booked);
            }
            Ask::Rating(reply) => reply.send(scope.with(|agency| (agency.stars, agency.ratings))),
        }
        Ok(())
    }

    async fn handle_event(scope: &mut Scope<Self>, event: Event) -> Result {
        match event {
            Event::Closing => scope.with_context(|_, ctx| ctx.stop()),
        }
        Ok(())
    }
}

/// Asks both partners before either has answered, and returns the sum of their prices.
async fn price(scope: &mut Scope<Agency>) -> Option<u32> {
    let (railway, hotel) = scope.with(|agency| (agency.railway.clone(), agency.hotel.clone()));
    let way = scope.call(&railway, |reply| reply).timeout(SECOND).start();
    let night = scope.call(&hotel, |reply| reply).timeout(SECOND).start();
    Some(way.await.ok()? + night.await.ok()?)
}

/// A partner that takes half a second for each answer, and stops answering after `answers`
/// of them.
fn partner(node: &Node, price: u32, answers: u32) -> Result<Address<Price>> {
    let partner = move || {
        behavior_fn(move |mut ctx: Context<Price>| async move {
            let mut kept = Vec::new();
            for asked in 0.. {
                if let krarup::behavior::Received::Message(reply) = ctx.receive().await {
                    ctx.sleep(SECOND / 2).await;
                    if asked < answers {
                        reply.send(price);
                    } else {
                        kept.push(reply);
                    }
                }
            }
            Ok(())
        })
    };
    Ok(node.spawn(partner).wait()?)
}

/// A customer: a process that asks and prints the answer.
fn customer(
    node: &Node,
    name: &'static str,
    agency: StateAddress<Agency>,
    ask: CustomerAsk,
) -> Result {
    node.spawn(move || {
        behavior_fn(move |ctx: Context<()>| async move {
            let said = match ask {
                CustomerAsk::Offer => format!("{:?}", agency.ask(Ask::Offer).await?),
                CustomerAsk::Book(budget) => {
                    let booked = agency.ask(|reply| Ask::Book { budget, reply }).await?;
                    format!("{booked:?}")
                }
                CustomerAsk::Rating => format!("{:?}", agency.ask(Ask::Rating).await?),
            };
            println!("  {:>6} {name}: {said}", format!("{:.1?}", ctx.now()));
            Ok(())
        })
    })
    .start()?;
    Ok(())
}

#[derive(Clone, Copy)]
enum CustomerAsk {
    Offer,
    Book(u32),
    Rating,
}

fn main() -> Result {
    // In virtual time; a real node: Node::start("agency@localhost")?
    let sim = Simulation::new(13);
    let (railway, hotel) = (partner(&sim, 40, u32::MAX)?, partner(&sim, 100, 4)?);
    let agency = sim
        .spawn(move || Stateful::new(Agency { railway, hotel, till: 0, stars: 0, ratings: 0 }))
        .name("agency")
        .wait()?;

    println!(
        "an offer takes half a second, because its two requests run at the same time, and it delays no other:"
    );
    customer(&sim, "offer ", agency.clone(), CustomerAsk::Offer)?;
    customer(&sim, "rating", agency.clone(), CustomerAsk::Rating)?;
    sim.advance(2 * SECOND);

    println!("two bookings, one after the other, and many ratings behind them:");
    for name in ["first ", "second"] {
        customer(&sim, name, agency.clone(), CustomerAsk::Book(150))?;
        sim.run_until_idle();
    }
    for stars in [5, 4, 5, 3] {
        agency.notice(stars)?;
    }
    sim.run_until_idle();
    println!("  inspection: {}", agency.inspect().wait()?);
    sim.advance(3 * SECOND);
    customer(&sim, "rating", agency.clone(), CustomerAsk::Rating)?;
    sim.run_until_idle();

    println!("the hotel does not answer: the customer gets an error after a second:");
    customer(&sim, "third ", agency.clone(), CustomerAsk::Offer)?;
    customer(&sim, "fourth", agency.clone(), CustomerAsk::Offer)?;
    sim.advance(3 * SECOND);

    agency.event(Event::Closing)?;
    sim.run_until_idle();
    println!("closed: {}", !agency.is_alive());
    Ok(())
}
