//! The auditors: a pool of three that looks at large deposits.

use crate::ledger::{LEDGER, ToLedger};
use krarup::NamedAddress;
use krarup::prelude::*;

/// The name of the pool.
pub(crate) const AUDITORS: &str = "auditors";
/// How many auditors there are.
const SIZE: usize = 3;
/// How many deposits wait for each of them at most.
const WAITING: usize = 16;
/// The amount that an auditor cannot stand.
const FORGED: i64 = 6_666;

pub(crate) struct Audit(pub(crate) i64);

#[derive(Default)]
pub(crate) struct Auditor {
    ledger: Option<NamedAddress<ToLedger>>,
}

impl Actor for Auditor {
    type Message = Audit;

    async fn init(&mut self, ctx: &mut Context<Audit>) -> Result {
        self.ledger = Some(ctx.named_address(LEDGER)?);
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Audit>, Audit(amount): Audit) -> Result {
        if amount == FORGED {
            return Err(Reason::error("a forged deposit"));
        }
        if let Some(ledger) = &self.ledger {
            ledger.send(ToLedger::Audited)?;
        }
        Ok(())
    }
}

pub(crate) fn auditors() -> Pool<Auditor> {
    Pool::new(SIZE, Auditor::default).mailbox(WAITING)
}
