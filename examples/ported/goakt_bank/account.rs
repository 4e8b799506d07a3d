//! An account: loads its balance, serves, and ends when nobody needs it.

use crate::auditors::{AUDITORS, Audit};
use crate::interest::{INTEREST, Interest};
use crate::ledger::{LEDGER, ToLedger};
use krarup::pool::PoolCommand;
use krarup::prelude::*;
use krarup::{NamedAddress, NamedCallError, TaskError};

/// Deposits from this amount on are audited.
const LARGE: i64 = 1_000;

pub(crate) enum ToAccount {
    Deposit(i64),
    Withdraw(i64, Reply<bool>),
    Balance(Reply<i64>),
    Interest,
    Loaded(Result<Result<i64, NamedCallError>, TaskError>),
}

impl From<Interest> for ToAccount {
    fn from(_: Interest) -> Self {
        ToAccount::Interest
    }
}

pub(crate) struct Account {
    name: String,
    auditors: Option<NamedAddress<Audit, PoolCommand>>,
    /// `None` until the ledger has answered.
    balance: Option<i64>,
}

impl Account {
    pub(crate) fn of(name: &str) -> Self {
        Account { name: name.to_owned(), auditors: None, balance: None }
    }
}

impl Actor for Account {
    type Message = ToAccount;

    async fn init(&mut self, ctx: &mut Context<ToAccount>) -> Result {
        let ledger: NamedAddress<ToLedger> = ctx.named_address(LEDGER)?;
        let name = self.name.clone();
        // A call by name may make its request more than once.
        let read =
            async move { ledger.call(move |found| ToLedger::Read(name.clone(), found)).await };
        ctx.pipe_outcome(read, ToAccount::Loaded)?;
        let interest = ctx.topic::<Interest>(INTEREST)?;
        ctx.subscribe(&interest).start()?;
        self.auditors = Some(ctx.named_address(AUDITORS)?);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<ToAccount>, message: ToAccount) -> Result {
        match self.balance {
            Some(balance) => self.serve(balance, message),
            None => self.load(ctx, message),
        }
    }

    async fn terminate(&mut self, ctx: &mut Context<ToAccount>, reason: &Reason) {
        // A state that has failed is not written.
        if reason.is_abnormal() {
            return;
        }
        if let Err(error) = self.write(ctx).await {
            eprintln!("{}: not written: {error}", self.name);
        }
    }
}

impl Account {
    async fn write(&self, ctx: &mut Context<ToAccount>) -> Result {
        let Some(balance) = self.balance else { return Ok(()) };
        // A named address would wait for the next ledger, and this end with it.
        let ledger: Address<ToLedger> = ctx.lookup(LEDGER)?;
        Ok(ledger.call(|written| ToLedger::Write(self.name.clone(), balance, written)).await?)
    }

    fn load(&mut self, ctx: &mut Context<ToAccount>, message: ToAccount) -> Result {
        match message {
            ToAccount::Loaded(balance) => {
                self.balance = Some(balance??);
                ctx.unstash_all();
                Ok(())
            }
            early => Ok(ctx.stash(early)?),
        }
    }

    fn serve(&mut self, balance: i64, message: ToAccount) -> Result {
        match message {
            ToAccount::Deposit(amount) => {
                if amount < 0 {
                    return Err(Reason::error("a negative deposit"));
                }
                self.balance = Some(balance + amount);
                if amount >= LARGE {
                    self.audit(amount);
                }
            }
            ToAccount::Withdraw(amount, reply) => {
                let enough = amount <= balance;
                if enough {
                    self.balance = Some(balance - amount);
                }
                reply.send(enough);
            }
            ToAccount::Balance(reply) => reply.send(balance),
            ToAccount::Interest => self.balance = Some(balance + balance / 10),
            ToAccount::Loaded(_) => {}
        }
        Ok(())
    }

    /// The deposit counts, whether or not the auditors have room.
    fn audit(&self, amount: i64) {
        if let Some(Err(error)) = self.auditors.as_ref().map(|to| to.send(Audit(amount))) {
            eprintln!("{}: {amount} not audited: {error}", self.name);
        }
    }
}
