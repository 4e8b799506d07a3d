//! A pool as a service that sheds load, and the limits of a pool for a service that has none.
//!
//! ```sh
//! cargo run -p krarup-tower --example limits
//! ```

use krarup::pool::Rate;
use krarup::prelude::*;
use krarup_tower::{CallService, PoolLayer, PoolLayerError, RequestWorker};
use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;
use tower::{Layer, Service, ServiceExt, service_fn};

type Job = (u64, Reply<u64>);

/// Finds the number of primes below a number.
struct Primes;

impl Actor for Primes {
    type Message = Job;

    async fn handle_message(&mut self, _: &mut Context<Job>, (below, reply): Job) -> Result {
        let is_prime = |n: &u64| (2..*n).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
        reply.send((2..below).filter(is_prime).count() as u64);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let node = Node::start("limits@localhost")?;

    // Ready when one of two workers has room: whoever asks first waits, nothing is lost.
    let pool = node.spawn(|| Pool::new(2, || Primes).mailbox(2)).await?;
    let mut primes = CallService::new(pool, |below, reply| (below, reply));
    let mut found = Vec::new();
    for below in [10, 100, 1000, 10_000] {
        found.push(tokio::spawn(primes.ready().await?.call(below)));
    }
    for count in found {
        println!("primes: {}", count.await??);
    }

    // A service without limits behind those of a pool: it sheds what is beyond 5 in a second.
    let greet = service_fn(async |name: &str| Ok::<_, Infallible>(format!("hello {name}")));
    let rate = || Rate::per_second(5.0).burst(2);
    let pool = node.spawn(move || Pool::new(4, || RequestWorker).mailbox(4).rate(rate())).await?;
    let mut limited = PoolLayer::new(pool).shedding().layer(greet);
    for name in ["Ada", "Grace", "Joe"] {
        match limited.ready().await?.call(name).await {
            Ok(text) => println!("{text}"),
            Err(PoolLayerError::Pool(CallError::RateLimited { retry_after, .. })) => {
                let soon = retry_after < Duration::from_secs(1);
                println!("{name} may come back {}", if soon { "soon" } else { "later" });
            }
            Err(error) => return Err(error.into()),
        }
    }
    node.stop().await?;
    Ok(())
}
