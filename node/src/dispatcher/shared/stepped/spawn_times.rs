//! When a process counts as spawned.

use super::{as_worker, options};
use krarup_act::Address;
use krarup_gen::{Class, Timestamp};
use std::time::Duration;

#[test]
fn x3_a_spawn_in_a_turn_has_the_time_of_the_last_look_and_one_from_outside_its_own() {
    as_worker(options(2), |stepped| {
        let core = stepped.nursery.core.clone();
        let advance =
            |millis: u64| core.clock.advance_to(Timestamp::from_nanos(millis * 1_000_000));
        let uptime = |process: &Address<()>| process.info().uptime;
        let millis = Duration::from_millis;
        // A rest: the time of the last look may be long ago.
        advance(5_000);
        stepped.shared.wake_watchdog();
        advance(5_007);
        let within = stepped.nursery.spawn_with(0, Class::Normal, |_, _| {});
        let outside = stepped.outside(|from| from.spawn_with(1, Class::Normal, |_, _| {}));
        assert_eq!((uptime(&within), uptime(&outside)), (millis(7), millis(0)));
        advance(5_012);
        stepped.shared.look();
        let after = stepped.nursery.spawn_with(2, Class::Normal, |_, _| {});
        assert_eq!((uptime(&within), uptime(&outside)), (millis(12), millis(5)));
        assert_eq!(uptime(&after), millis(0));
    });
}
