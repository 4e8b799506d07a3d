//! What the port prints under any order of turns; and what the script does not show.

use crate::account::ToAccount;
use crate::auditors::{AUDITORS, Audit};
use crate::bank::{ACCOUNTS, Accounts, bank, process_of};
use crate::ledger::LEDGER;
use crate::script;
use krarup::grains::GrainCalls;
use krarup::pool::PoolCommand;
use krarup::prelude::*;
use krarup::supervisor::SupervisorAddress;
use krarup::testing::Faults;
use std::time::Duration;

/// What came of each operation, as the page has it.
const TRACE: &str = include_str!("bank.trace");

#[test]
fn the_port_does_what_the_page_says_under_any_order_of_turns() {
    Simulation::explore(0..100, |sim| {
        assert_eq!(script::run(sim)?, TRACE);
        Ok(())
    });
}

#[test]
fn what_waits_behind_a_failure_meets_the_next_state_and_nothing_is_handled_by_the_failed_one() {
    Simulation::explore(0..100, |sim| {
        let accounts = open(sim)?;
        for amount in [7, -1, 10, 20] {
            deposit(&accounts, amount)?;
        }
        // The 7 was not written, so it is lost with the state.
        assert_eq!(accounts.call_to(ann(), ToAccount::Balance).wait()?, 30);
        Ok(())
    });
}

#[test]
fn an_account_that_fails_too_often_ends_and_the_next_message_opens_it_again() {
    Simulation::explore(0..100, |sim| {
        let accounts = open(sim)?;
        for _ in 0..4 {
            deposit(&accounts, -1)?;
        }
        sim.advance(Duration::from_secs(1));
        assert_eq!(sim.whereis(process_of("ann").as_str()), None);
        assert_eq!(accounts.call_to(ann(), ToAccount::Balance).wait()?, 0);
        Ok(())
    });
}

#[test]
fn a_stop_writes_the_balances_because_the_ledger_ends_later() {
    Simulation::explore(0..100, |sim| {
        let accounts = open(sim)?;
        deposit(&accounts, 5)?;
        assert_eq!(accounts.call_to(ann(), ToAccount::Balance).wait()?, 5);
        let bank: SupervisorAddress = sim.lookup("bank")?;
        bank.terminate_child(ACCOUNTS).wait()?;
        bank.restart_child(ACCOUNTS).wait()?;
        let accounts: Accounts = sim.lookup(ACCOUNTS)?;
        assert_eq!(accounts.call_to(ann(), ToAccount::Balance).wait()?, 5);
        Ok(())
    });
}

#[test]
fn the_end_of_the_ledger_ends_the_accounts_and_both_come_back() {
    Simulation::explore(0..100, |sim| {
        let accounts = open(sim)?;
        deposit(&accounts, 5)?;
        assert_eq!(accounts.call_to(ann(), ToAccount::Balance).wait()?, 5);
        sim.kill(sim.whereis(LEDGER).ok_or_else(|| Reason::error("no ledger"))?);
        sim.run_until_idle();
        assert!(!accounts.is_alive());
        let accounts: Accounts = sim.lookup(ACCOUNTS)?;
        assert_eq!(accounts.call_to(ann(), ToAccount::Balance).wait()?, 0);
        Ok(())
    });
}

#[test]
fn whatever_is_killed_or_panics_the_bank_serves_again() {
    Simulation::explore(0..100, |sim| {
        // Nobody supervises the supervisor at the top.
        let bank = sim.spawn(bank).name("bank").wait()?;
        sim.faults(Faults::new().spare(bank.pid()).kill_one_in(20).panic_one_in(20).at_most(5));
        for amount in 0..20 {
            if let Ok(accounts) = sim.lookup::<_, _>(ACCOUNTS) {
                let _ = deposit(&accounts, 1_000 * amount);
            }
            sim.advance(Duration::from_secs(6));
        }
        sim.faults(Faults::new());
        let accounts: Accounts = sim.lookup_or_wait(ACCOUNTS).wait()?;
        deposit(&accounts, 1)?;
        assert!(accounts.call_to(ann(), ToAccount::Balance).wait()? >= 1);
        Ok(())
    });
}

#[test]
fn an_auditor_that_fails_is_replaced() {
    Simulation::explore(0..100, |sim| {
        open(sim)?;
        let auditors: Address<Audit, PoolCommand> = sim.lookup(AUDITORS)?;
        for _ in 0..9 {
            auditors.send(Audit(6_666)).map_err(SendError::without_message)?;
            sim.run_until_idle();
        }
        assert_eq!(auditors.statistics().wait()?.workers, 3);
        Ok(())
    });
}

fn ann() -> String {
    "ann".to_owned()
}

fn deposit(accounts: &Accounts, amount: i64) -> Result {
    let sent = accounts.send_to(ann(), ToAccount::Deposit(amount));
    Ok(sent.map_err(SendError::without_message)?)
}

fn open(sim: &Simulation) -> Result<Accounts> {
    sim.spawn(bank).name("bank").wait()?;
    Ok(sim.lookup(ACCOUNTS)?)
}
