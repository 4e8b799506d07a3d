//! Tests of the pinned dispatcher.

use super::*;
use crate::core::Core;
use crate::dispatcher::any::Dispatcher;
use crate::options::{DEFAULT, DispatcherOptions};
use crate::side_threads::blocking::Blocking;
use crate::timers::clock::Clock;
use krarup_act::{Address, Context, Host, Spawn, behavior_fn};
use krarup_gen::Name;
use std::sync::mpsc;

#[test]
fn x2_a_process_with_waiting_messages_has_a_last_turn_at_a_stop() {
    let name = Name::new("pinned").unwrap();
    let core = Core::new(name, 1, Clock::simulated(), Blocking::none());
    let around = Arc::new(|work: &mut dyn FnMut()| work()) as _;
    let setup = DispatcherOptions::pinned().throughput(1).setup("pin", &core, &around);
    let pinned = Pinned::new(setup);
    let host = core.settle(DEFAULT, DEFAULT, Dispatcher::Pinned(Arc::clone(&pinned)));
    let (begun, begins) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let process = behavior_fn(move |mut ctx: Context<()>| async move {
        loop {
            ctx.receive().await;
            begun.send(()).unwrap();
            let _ = released.recv();
        }
    });
    let process: Address<()> =
        Spawn::outside(host as Arc<dyn Host>, move || process).start().unwrap();
    (0..3).for_each(|_| process.send(()).unwrap());
    begins.recv().unwrap();
    pinned.signal_stop();
    drop(release);
    pinned.join();
    // The thread ended after its current turn. `clear` runs one more turn on the stopping
    // thread.
    assert_eq!(process.info().handled, 1);
    pinned.clear();
    assert_eq!(process.info().handled, 2);
    pinned.clear();
    assert_eq!((process.info().handled, pinned.idle_slots()), (2, 0));
    core.clear_homes();
}
