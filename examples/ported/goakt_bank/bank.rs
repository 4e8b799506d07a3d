//! The bank: its tree.

use crate::account::{Account, ToAccount};
use crate::auditors::{AUDITORS, auditors};
use crate::interest::{Clock, INTEREST};
use crate::ledger::{LEDGER, Ledger};
use krarup::behavior::Behavior;
use krarup::grains::{GrainAddress, Grains};
use krarup::prelude::*;
use krarup::supervisor::InPlace;
use std::time::Duration;

/// The name of the accounts.
pub(crate) const ACCOUNTS: &str = "accounts";
/// An account ends after this time without messages.
const IDLE: Duration = Duration::from_secs(150);

/// The address of all accounts.
pub(crate) type Accounts = GrainAddress<String, ToAccount>;

/// The accounts need all that is started before them.
pub(crate) fn bank() -> Supervisor {
    Supervisor::rest_for_one()
        .intensity(5, Duration::from_secs(5))
        .child(ChildSpec::worker(LEDGER, Ledger::default).name(LEDGER))
        .child(ChildSpec::supervisor(AUDITORS, auditors).name(AUDITORS))
        .child(ChildSpec::worker(INTEREST, Clock::default).name(INTEREST))
        .child(ChildSpec::supervisor(ACCOUNTS, accounts).name(ACCOUNTS))
}

fn accounts() -> impl Behavior {
    Grains::new(|name: &String| {
        let name = name.clone();
        InPlace::new(move || Account::of(&name)).intensity(3, Duration::from_secs(10))
    })
    .idle(IDLE)
    .named(|name| process_of(name))
}

/// The name of the process of an account that is in memory.
pub(crate) fn process_of(account: &str) -> String {
    format!("account/{account}")
}
