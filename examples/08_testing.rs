//! 8. Testing: actors under a seed, in virtual time, with probes in place of their neighbours.
//!
//! A till asks a bank before it sells, and gives up after three seconds. The bank is a probe:
//! the test decides when it answers and what. Then two tills share one stock and have a bug
//! that only some orders of turns show: `Simulation::explore` finds one such order, and its
//! seed reproduces it. The last test runs the till's supervisor against injected faults.
//!
//! In a project these would be `#[test]` functions; this example prints what it does.
//!
//! ```sh
//! cargo run --release --example 08_testing
//! ```

use krarup::prelude::*;
use krarup::testing::{Faults, Probe};
use krarup::{Recipient, Timestamp};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A till's request to the bank.
#[derive(Debug)]
struct MayPay {
    amount: u32,
    reply: Reply<bool>,
}

/// A till's answer to the customer.
#[derive(Debug, PartialEq)]
enum Receipt {
    Sold(u32),
    Refused(u32),
}

/// The actor under test. It knows its neighbours only by the messages that they take.
struct Till {
    bank: Recipient<MayPay>,
    customer: Recipient<Receipt>,
}

impl Actor for Till {
    type Message = u32;

    async fn handle_message(&mut self, _: &mut Context<u32>, amount: u32) -> Result {
        let asked = self.bank.call(move |reply| MayPay { amount, reply }).timeout(3 * SECOND);
        let receipt = match asked.await {
            Ok(true) => Receipt::Sold(amount),
            Ok(false) | Err(CallError::Timeout { .. }) => Receipt::Refused(amount),
            Err(error) => return Err(error.into()),
        };
        // A customer that has ended needs no receipt.
        let _ = self.customer.send(receipt);
        Ok(())
    }
}

/// A test with probes for the bank and the customer.
fn a_till_asks_before_it_sells(sim: &Simulation) -> Result {
    let bank = Probe::<MayPay>::spawn(sim);
    let customer = Probe::<Receipt>::spawn(sim);
    let (ask, tell) = (bank.recipient(), customer.recipient());
    let till = sim.spawn(move || Till { bank: ask, customer: tell }).name("till").wait()?;

    till.send(5)?;
    let request = bank.expect_that(SECOND, "a question about 5", |asked| asked.amount == 5);
    customer.expect_none(2 * SECOND);
    request.reply.send(true);
    customer.expect_message(SECOND, &Receipt::Sold(5));

    // A bank that does not answer: this takes three seconds of virtual time, and no real time.
    let asked_at = sim.now();
    till.send(6)?;
    let _silent = bank.expect(SECOND);
    customer.expect_message(5 * SECOND, &Receipt::Refused(6));
    assert_eq!(sim.now() - asked_at, 3 * SECOND);

    // A bank that drops the request: the till ends with `NoReply` as its reason.
    customer.monitor(till.pid());
    till.send(7)?;
    drop(bank.expect(SECOND));
    let reason = customer.expect_down(SECOND, till.pid());
    assert_eq!(reason, Reason::from(CallError::NoReply { to: bank.pid() }));
    Ok(())
}

/// The number of loaves that are left.
struct Stock(u32);

enum Shelf {
    Count(Reply<u32>),
    Take,
}

impl Actor for Stock {
    type Message = Shelf;

    async fn handle_message(&mut self, _: &mut Context<Shelf>, request: Shelf) -> Result {
        match request {
            Shelf::Count(reply) => reply.send(self.0),
            Shelf::Take => self.0 = self.0.checked_sub(1).ok_or(Reason::error("nothing left"))?,
        }
        Ok(())
    }
}

/// Sells one loaf if any is left. Another seller may take it between the two messages.
struct Seller(Address<Shelf>);

impl Actor for Seller {
    type Message = ();

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        // Customers come at random times.
        ctx.sleep(Duration::from_secs(ctx.random() % 10)).await;
        if self.0.call(Shelf::Count).await? > 0 {
            self.0.send(Shelf::Take).map_err(krarup::SendError::without_message)?;
        }
        Ok(())
    }
}

/// One loaf is left, and there are two sellers.
fn the_stock_outlives_the_day(sim: &Simulation) -> Result {
    let stock = sim.spawn(|| Stock(1)).name("stock").wait()?;
    for name in ["anna", "bert"] {
        let stock = stock.clone();
        sim.spawn(move || Seller(stock)).name(name).wait()?.send(())?;
    }
    sim.advance(10 * SECOND);
    if stock.is_alive() { Ok(()) } else { Err(Reason::error("the stock has ended")) }
}

/// A till under a supervisor sells again after every injected fault.
fn the_till_recovers(sim: &Simulation) -> Result {
    let bank = Probe::<MayPay>::spawn(sim);
    // This probe answers by itself.
    bank.on_message(|_, asked| {
        asked.reply.send(true);
        None
    });
    let customer = Probe::<Receipt>::spawn(sim);
    let (ask, tell) = (bank.recipient(), customer.recipient());
    let till = move || Till { bank: ask.clone(), customer: tell.clone() };
    let shop = || {
        let till = ChildSpec::worker("till", till).name("till").mailbox(8);
        Supervisor::one_for_one().intensity(1_000, SECOND).child(till)
    };
    let shop = sim.spawn(shop).wait()?;

    sim.faults(
        Faults::new()
            .kill_one_in(20)
            .panic_one_in(20)
            .delay_one_in(10, 5 * SECOND)
            .fill_one_in(10, SECOND)
            .fail_init_one_in(3)
            .spare(shop.pid()),
    );
    for amount in 0..10 {
        if let Ok(till) = sim.lookup::<u32, u32>("till") {
            // The till may be full, or may have ended by now.
            let _ = till.send(amount);
        }
        sim.advance(SECOND);
    }
    sim.faults(Faults::new());
    sim.run_until(10 * SECOND, "the till is open", || sim.whereis("till").is_some());
    sim.advance(10 * SECOND);
    let _ = customer.take_messages();

    let till: Address<u32> = sim.lookup("till")?;
    till.send(5).map_err(SendError::without_message)?;
    customer.expect_message(SECOND, &Receipt::Sold(5));
    Ok(())
}

fn main() -> Result {
    println!("A till, with probes for its bank and its customer, under 100 seeds:");
    Simulation::explore(0..100, a_till_asks_before_it_sells);
    println!("  it passes");

    println!("Two sell from one stock. One seed may pass, and most do:");
    let passes =
        |seed: &u64| Simulation::try_explore(*seed..seed + 1, the_stock_outlives_the_day).is_ok();
    println!("  {} of 100 seeds pass", (0..100).filter(passes).count());

    println!("Exploring finds one that does not:");
    let Err(failing) = Simulation::try_explore(0..100, the_stock_outlives_the_day) else {
        return Err(Reason::error("the bug has gone"));
    };
    println!("{failing}");

    println!("Run again, it takes the same steps:");
    let again = failing.replay();
    assert_eq!(again.now(), Timestamp::ZERO);
    let outcome = the_stock_outlives_the_day(&again);
    println!("  {outcome:?}; the same: {}", again.last_steps() == *failing.last_steps());

    println!(
        "A till that is killed, panics, is held up, is full and fails to start, under 100 seeds:"
    );
    Simulation::explore(0..100, the_till_recovers);
    println!("  it recovers");
    Ok(())
}
