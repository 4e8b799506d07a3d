//! What is done with the bank, in virtual time.

use crate::account::ToAccount;
use crate::bank::{ACCOUNTS, Accounts, bank, process_of};
use crate::interest::{INTEREST, ToClock};
use crate::ledger::LEDGER;
use krarup::grains::GrainCalls;
use krarup::prelude::*;
use std::fmt::Write;
use std::time::Duration;

/// Runs the bank, and returns what came of each operation.
pub(crate) fn run(sim: &Simulation) -> Result<String> {
    sim.spawn(bank).name("bank").wait()?;
    let mut trace = Trace { sim, accounts: sim.lookup(ACCOUNTS)?, text: String::new() };
    trace.deposit("ann", &[100, 20])?;
    trace.balance("ann")?;
    trace.withdraw("ann", 30)?;
    trace.withdraw("ann", 500)?;
    trace.pause(60)?;
    trace.balance("ann")?;
    trace.clock("pause", ToClock::Pause)?;
    trace.pause(151)?;
    trace.in_memory("ann")?;
    trace.balance("ann")?;
    trace.deposit("ann", &[1, -5, 11, 20])?;
    trace.balance("ann")?;
    trace.deposit("bob", &[1_000, 2_000, 3_000, 4_000, 6_666])?;
    trace.balance("bob")?;
    trace.audited()?;
    trace.deposit("bob", &[-1, -2, -3, -4, 70])?;
    trace.balance("bob")?;
    trace.clock("resume", ToClock::Resume)?;
    trace.pause(60)?;
    trace.balance("ann")?;
    Ok(trace.text)
}

struct Trace<'a> {
    sim: &'a Simulation,
    accounts: Accounts,
    text: String,
}

impl Trace<'_> {
    fn say(&mut self, what: &str, came_of_it: impl std::fmt::Display) -> Result {
        Ok(writeln!(self.text, "> {what}\n  {came_of_it}")?)
    }

    fn pause(&mut self, seconds: u64) -> Result {
        self.sim.advance(Duration::from_secs(seconds));
        Ok(writeln!(self.text, "> {seconds} s pass")?)
    }

    fn deposit(&mut self, account: &str, amounts: &[i64]) -> Result {
        for &amount in amounts {
            let sent = self.accounts.send_to(account.to_owned(), ToAccount::Deposit(amount));
            sent.map_err(SendError::without_message)?;
        }
        self.sim.advance(Duration::from_secs(1));
        Ok(writeln!(self.text, "> deposit {amounts:?} for {account}")?)
    }

    fn withdraw(&mut self, account: &str, amount: i64) -> Result {
        let withdraw = |paid| ToAccount::Withdraw(amount, paid);
        let paid = self.accounts.call_to(account.to_owned(), withdraw).wait()?;
        self.say(&format!("withdraw {amount} of {account}"), if paid { "paid" } else { "refused" })
    }

    fn balance(&mut self, account: &str) -> Result {
        let balance = self.accounts.call_to(account.to_owned(), ToAccount::Balance).wait()?;
        self.say(&format!("balance of {account}"), balance)
    }

    fn in_memory(&mut self, account: &str) -> Result {
        let found = self.sim.whereis(process_of(account).as_str()).is_some();
        self.say(&format!("{account} in memory"), found)
    }

    fn audited(&mut self) -> Result {
        self.sim.run_until_idle();
        let ledger = self.sim.whereis(LEDGER).ok_or_else(|| Reason::error("no ledger"))?;
        let audited = self.sim.inspect(ledger).wait()?.number("audited").unwrap_or_default();
        self.say("audited", audited)
    }

    fn clock(&mut self, what: &str, message: ToClock) -> Result {
        let clock: Address<ToClock> = self.sim.lookup(INTEREST)?;
        clock.send(message).map_err(SendError::without_message)?;
        self.sim.run_until_idle();
        Ok(writeln!(self.text, "> {what} the interest")?)
    }
}
