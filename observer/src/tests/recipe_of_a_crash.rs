#[test]
fn the_crash_of_1_is_found_again() {
    // <0.1.0> ended: 1000 of 400 cents
    let sim = krarup::testing::Simulation::new(1);
    let probe_2 = krarup::testing::Probe::<()>::spawn(&sim);
    let behavior = || -> krarup_observer::tests::recipe::Till { krarup_observer::tests::recipe::Till::default() };
    let process = sim.spawn(behavior).wait().unwrap();
    let end = sim.watch(process.pid());
    // 1. krarup_observer::tests::recipe::TillOrder, by main, from outside: Put(500)
    let message: krarup_observer::tests::recipe::TillOrder = krarup_observer::tests::recipe::TillOrder::Put(500);
    assert!(process.send(message).is_ok());
    // 2. inspect, by urgent, from outside
    // What follows would overtake the messages before it.
    sim.run_until_idle();
    // 3. krarup_observer::tests::recipe::TillOrder, by system, from outside: Put(20)
    let message: krarup_observer::tests::recipe::TillOrder = krarup_observer::tests::recipe::TillOrder::Put(20);
    assert!(process.send_high(message).is_ok());
    // 4. krarup_observer::tests::recipe::TillOrder, by main, from <0.2.0>: Take(120)
    let message: krarup_observer::tests::recipe::TillOrder = krarup_observer::tests::recipe::TillOrder::Take(120);
    let to = process.clone();
    assert!(probe_2.run(move |_| to.send(message).is_ok()));
    // 5. krarup_observer::tests::recipe::TillOrder, by main, from <0.2.0>: Take(1000)
    let message: krarup_observer::tests::recipe::TillOrder = krarup_observer::tests::recipe::TillOrder::Take(1000);
    let to = process.clone();
    assert!(probe_2.run(move |_| to.send(message).is_ok()));
    sim.run_until_idle();
    let reason = end.wait().unwrap().reason.to_string();
    assert_eq!(reason, "1000 of 400 cents");
}
