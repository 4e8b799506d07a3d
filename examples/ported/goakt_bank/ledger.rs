//! The ledger: keeps the balances of accounts that are not in memory, and is slow.

use krarup::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

/// The name of the ledger.
pub(crate) const LEDGER: &str = "ledger";
/// How long a look into the ledger takes.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) enum ToLedger {
    Read(String, Reply<i64>),
    Write(String, i64, Reply<()>),
    Audited,
}

#[derive(Default)]
pub(crate) struct Ledger {
    balances: BTreeMap<String, i64>,
    audited: u32,
}

impl Actor for Ledger {
    type Message = ToLedger;

    async fn handle_message(&mut self, ctx: &mut Context<ToLedger>, message: ToLedger) -> Result {
        match message {
            ToLedger::Read(account, reply) => {
                ctx.sleep(LOOK).await;
                reply.send(self.balances.get(&account).copied().unwrap_or_default());
            }
            ToLedger::Write(account, balance, reply) => {
                self.balances.insert(account, balance);
                reply.send(());
            }
            ToLedger::Audited => self.audited += 1,
        }
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("audited", self.audited)
    }
}
