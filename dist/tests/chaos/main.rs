//! Three nodes over sockets, with a proxy in front of each dial that cuts, half-closes, holds and
//! throttles, and the same with a node of OTP: everything is accounted for (rule Zsim3).
//!
//! The work is bounded by counts. `CHAOS_ROUNDS` has more of it, `CHAOS_SEED` another beginning.

mod members;
mod otp_side;
mod proxy;
#[path = "../stress_support/mod.rs"]
mod stress_support;
#[path = "../support/mod.rs"]
mod support;

use members::{ChaosMembers, numbers, rounds};
use otp_side::{OtpReport, OtpSide};
use std::collections::BTreeMap;
use support::raw::until;

#[test]
fn zsim3_everything_is_accounted_for_over_sockets_that_are_cut_anywhere() {
    let mut numbers = numbers(1);
    let mut world = ChaosMembers::start("chaos", 3, &mut numbers);
    for round in 0..rounds(400) {
        world.act(&mut numbers);
        if round % 10 == 9 {
            world.keep_pace();
        }
    }
    let faults = world.calm();
    world.check_reach();
    world.rest();
    world.end_all();
    let totals = world.check_ledger(&BTreeMap::new());
    println!("{faults} faults: {totals:?}");
    assert!(faults > 0 && totals.handled > 0 && totals.answered > 0, "{faults}: {totals:?}");
    world.check_clean();
}

#[test]
fn zsim3_everything_is_accounted_for_with_a_node_of_otp_behind_a_proxy() {
    let Some(mut otp) = OtpSide::start("chaos_otp") else { return };
    let mut numbers = numbers(2);
    let mut world = ChaosMembers::start("beside_otp", 1, &mut numbers);
    world.add_otp(otp.name(), otp.port(), &mut numbers);
    for round in 0..rounds(300) {
        world.act_on_otp(&mut numbers);
        if round % 10 == 9 {
            world.keep_pace();
        }
    }
    let faults = world.calm();
    let OtpReport { notes, calls, ended, monitors, told } = otp.report(&world);
    world.rest();
    for note in notes {
        world.run.fates.arrived_elsewhere(note);
    }
    // What a node of OTP has called and monitored here.
    assert_eq!((calls, monitors), (ended, told), "{calls} calls, {monitors} monitors of OTP");
    world.end_all();
    let totals = world.check_ledger(&BTreeMap::new());
    println!("{faults} faults: {totals:?}, {calls} calls of OTP");
    assert!(totals.handled > 0 && totals.answered > 0 && calls > 0, "{totals:?}");
    world.check_clean();
}

#[test]
fn zlive1_a_node_of_otp_that_is_suspended_or_killed_under_load_ends_every_call_and_tells_once() {
    for signal in ["-STOP", "-KILL"] {
        let Some(mut otp) = OtpSide::start("signalled") else { return };
        let mut numbers = numbers(3);
        let mut world = ChaosMembers::ticking("under_load", 1, &mut numbers);
        world.add_otp(otp.name(), otp.port(), &mut numbers);
        world.calm();
        for _ in 0..60 {
            world.act_on_otp(&mut numbers);
        }
        world.kept_call();
        until("it is connected", || !world.members[0].cluster_nodes().is_empty());
        otp.signal(signal);
        for _ in 0..60 {
            world.act_on_otp(&mut numbers);
        }
        // Its system still takes what is sent to one that is suspended.
        until("its loss is seen", || world.members[0].cluster_nodes().is_empty());
        if signal == "-STOP" {
            otp.signal("-CONT");
            for _ in 0..20 {
                world.act_on_otp(&mut numbers);
            }
            let report = otp.report(&world);
            world.rest();
            report.notes.into_iter().for_each(|note| world.run.fates.arrived_elsewhere(note));
        } else {
            // What it has handled nobody knows any more.
            world.otp_is_gone();
        }
        world.end_all();
        world.check_ledger(&BTreeMap::new());
        world.check_clean();
    }
}
