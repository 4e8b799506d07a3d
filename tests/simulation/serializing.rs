//! Messages that go through a codec on their way, in a simulation.

use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use krarup::testing::{CodecFailure, Probe};
use krarup::{Dynamic, Recipient};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Parcel {
    Text(String),
    Numbers {
        all: Vec<u64>,
        first: Option<f32>,
    },
    /// The note does not get through.
    Noted(u8, #[serde(skip)] String),
    /// Nor does this.
    #[serde(skip)]
    Local,
}

fn parcels() -> [Parcel; 3] {
    let numbers = Parcel::Numbers { all: vec![1, u64::MAX], first: Some(0.5) };
    [Parcel::Text("hé".to_owned()), numbers, Parcel::Noted(1, String::new())]
}

#[test]
fn t5_serialisable_messages_arrive_by_every_kind_of_send() {
    Simulation::explore(0..20, |sim| {
        sim.serializing_unchanged::<Parcel>();
        let probe = Probe::<Parcel>::named(sim, "probe");
        let to = probe.address();
        let pool = sim.spawn({
            let to = to.clone();
            move || {
                Pool::new(2, move || {
                    let to = to.clone();
                    behavior_fn(move |mut ctx: Context<Parcel>| async move {
                        while let Received::Message(parcel) = ctx.receive().await {
                            to.send(parcel).map_err(SendError::without_message)?;
                        }
                        Ok(())
                    })
                })
            }
        });
        let pool = pool.wait()?;
        for parcel in parcels() {
            to.send(parcel.clone())?;
            to.send_high(parcel.clone())?;
            to.send_max(parcel.clone())?;
            to.send_or_wait(parcel.clone()).wait()?;
            to.recipient::<Parcel>().send(parcel.clone())?;
            to.reserve()?.send(parcel.clone());
            sim.send("probe", parcel.clone()).map_err(SendError::without_message)?;
            pool.send(parcel.clone())?;
            assert_eq!(probe.expect_many(SECOND, 8), vec![parcel; 8]);
        }
        let carried = sim.carried();
        assert!(carried.failures.is_empty());
        // Twice by the pool: to the worker, and from there.
        assert_eq!(carried.through[std::any::type_name::<Parcel>()], 3 * 9);
        Ok(())
    });
}

#[test]
fn t5_an_unserialisable_message_fails_the_seed_with_type_and_trace() {
    let failing = Simulation::try_explore(5..9, |sim| {
        sim.serializing::<Parcel>();
        let probe = Probe::<Parcel>::spawn(sim);
        let to: Recipient<Parcel> = probe.recipient();
        let sender = behavior_fn(move |_: Context<()>| async move {
            to.send(Parcel::Local).map_err(SendError::without_message)?;
            Ok(())
        });
        sim.spawn(|| sender).name("sender").wait()?;
        // It goes on as it was.
        probe.expect_message(SECOND, &Parcel::Local);
        Ok(())
    });
    let failing = failing.unwrap_err();
    assert_eq!(failing.seed(), 5);
    let text = failing.to_string();
    let expected = "seed 5 fails: the codec of simulation::serializing::Parcel failed: \
                    the enum variant Parcel::Local cannot be serialized\n";
    assert!(text.starts_with(expected), "{text}");
    let (before, after) =
        text.split_once("codec      simulation::serializing::Parcel: the enum").unwrap();
    assert!(before.contains("turn 2     <0.2.0> \"sender\"") && !after.is_empty(), "{text}");
}

#[test]
fn t5_a_failure_of_the_body_precedes_codec_failures() {
    let ends: [fn() -> Result; 2] =
        [|| Err(Reason::error("the body's own")), || panic!("the body's own")];
    for end in ends {
        let failing = Simulation::try_explore(0..3, |sim| {
            sim.add_codec(|_: &u32| Err::<u32, _>("lost"));
            let probe = Probe::<u32>::spawn(sim);
            probe.address().send(1)?;
            assert_eq!(sim.carried().failures.len(), 1);
            end()
        });
        let failing = failing.unwrap_err();
        let reason = failing.reason().to_string();
        assert!(reason.contains("the body's own") && !reason.contains("codec"), "{reason}");
        // The other stands in the trace.
        let trace = failing.last_steps().to_string();
        assert!(trace.contains("codec      u32: lost"), "{trace}");
    }
}

#[test]
fn t5_a_changed_round_trip_is_found_if_enabled() {
    let sim = Simulation::new(1);
    let probe = Probe::<Parcel>::spawn(&sim);
    let noted = Parcel::Noted(1, "fragile".to_owned());
    sim.serializing::<Parcel>();
    probe.address().send(noted.clone()).unwrap();
    probe.expect_message(SECOND, &Parcel::Noted(1, String::new()));
    assert_eq!(sim.carried().failures, []);

    sim.serializing_unchanged::<Parcel>();
    probe.address().send(noted.clone()).unwrap();
    probe.expect_message(SECOND, &noted);
    let [CodecFailure { message, error, .. }] = &sim.carried().failures[..] else {
        panic!("{:?}", sim.carried());
    };
    assert_eq!(*message, "simulation::serializing::Parcel");
    assert_eq!(error, "Noted(1, \"fragile\") comes out as Noted(1, \"\")");
}

#[test]
fn t5_types_without_a_codec_go_as_they_were_and_are_listed() {
    let sim = Simulation::new(1);
    let tokens = Probe::<Reply<u32>>::spawn(&sim);
    tokens.on_message(|_, reply| {
        reply.send(7);
        None
    });
    assert_eq!(tokens.address().call(|reply| reply).wait(), Ok(7));
    // Nothing is asked for.
    assert_eq!(sim.carried(), krarup::testing::Carried::default());
    sim.serializing::<Parcel>();
    assert_eq!(tokens.address().call(|reply| reply).wait(), Ok(7));
    let untouched: Vec<_> = sim.carried().untouched.into_iter().collect();
    assert_eq!(untouched, [std::any::type_name::<Reply<u32>>()]);
}

#[test]
fn t5_a_codec_of_ones_own_may_fail_and_panic() {
    let sim = Simulation::new(1);
    sim.add_codec(|number: &u32| match number {
        0 => Err("nothing"),
        1 => panic!("one"),
        more => Ok(more - 1),
    });
    let probe = Probe::<u32>::spawn(&sim);
    (0..3).for_each(|n| probe.address().send(n).unwrap());
    assert_eq!(probe.expect_many(SECOND, 3), [0, 1, 1]);
    let failures = sim.carried().failures;
    let errors: Vec<&str> = failures.iter().map(|failure| failure.error.as_str()).collect();
    assert!(errors[0] == "nothing" && errors[1].starts_with("panic: one"), "{errors:?}");
}

#[test]
fn t5_the_first_codec_failures_are_kept_and_not_counted_as_carried() {
    let sim = Simulation::new(1);
    sim.add_codec(|number: &u32| if *number < 20 { Err(number.to_string()) } else { Ok(*number) });
    let probe = Probe::<u32>::spawn(&sim);
    (0..23).for_each(|n| probe.address().send(n).unwrap());
    let bytes = Probe::<u8>::spawn(&sim);
    bytes.address().send(7).unwrap();
    let carried = sim.carried();
    let errors: Vec<&str> = carried.failures.iter().map(|failure| &*failure.error).collect();
    assert_eq!(errors, (0..16).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!(carried.through.into_iter().collect::<Vec<_>>(), [("u32", 3)]);
    assert_eq!(carried.untouched.into_iter().collect::<Vec<_>>(), ["u8"]);
    let failures = sim.last_steps().to_string().matches("codec      u32: ").count();
    assert_eq!(failures, 20);
    // Another codec of the type takes the place of the first, and one of another type does not.
    sim.add_codec(|number: &u32| Ok::<_, String>(number + 100));
    sim.add_codec(|number: &u8| Ok::<_, String>(*number));
    probe.address().send(0).unwrap();
    bytes.address().send(8).unwrap();
    sim.run_until_idle();
    assert_eq!(probe.take_messages().last(), Some(&100));
    let carried = sim.carried();
    assert_eq!((carried.through["u32"], carried.through["u8"]), (4, 1));
    assert_eq!(carried.failures.len(), 16);
}

/// Whatever is no message of the process's own, and what somebody watches on its way.
#[test]
fn t5_a_wrapped_message_passes_the_codec_of_its_own_type() {
    Simulation::explore(0..4, |sim| {
        sim.add_codec(|text: &String| Ok::<_, String>(format!("{text}, carried")));
        let probe = Probe::<String>::spawn(sim);
        let others = |log: Address<String, String>| {
            behavior_fn(move |mut ctx: Context<u8>| async move {
                ctx.take_others();
                loop {
                    if let Received::Other(other) = ctx.receive().await {
                        log.send(other.downcast::<String>().unwrap())?;
                    }
                }
            })
        };
        let any = |log: Address<String, String>| {
            behavior_fn(move |mut ctx: Context<Dynamic>| async move {
                while let Received::Message(any) = ctx.receive().await {
                    log.send(any.downcast::<String>().unwrap())?;
                }
                Ok(())
            })
        };
        let log = probe.address().clone();
        let others = sim.spawn(move || others(log)).name("others").start()?;
        let log = probe.address().clone();
        let any = sim.spawn(move || any(log)).name("any").start()?;
        let log = probe.address().clone();
        let watched = sim.spawn(move || {
            let worker = move || {
                let log = log.clone();
                behavior_fn(move |mut ctx: Context<String>| async move {
                    while let Received::Message(text) = ctx.receive().await {
                        log.send(text)?;
                    }
                    Ok(())
                })
            };
            Pool::new(1, worker).time_to_live(SECOND)
        });
        let watched = watched.name("watched").wait()?;
        sim.run_until_idle();
        let text = |at: &str| format!("to {at}");
        sim.send(others.pid(), text("others")).map_err(SendError::without_message)?;
        sim.send(any.pid(), text("any")).map_err(SendError::without_message)?;
        any.send(Dynamic::new(text("any"))).map_err(SendError::without_message)?;
        watched.send(text("watched"))?;
        watched.reserve()?.send(text("watched"));
        let mut came = probe.expect_many(SECOND, 5);
        came.sort();
        let twice = |at| format!("to {at}, carried, carried");
        assert_eq!(came, ["any", "any", "others", "watched", "watched"].map(twice));
        let carried = sim.carried();
        assert_eq!(
            (carried.through[std::any::type_name::<String>()], carried.failures),
            (10, vec![])
        );
        assert_eq!(carried.untouched, [].into());
        // Each stands in the trace as what it is.
        let steps = sim.last_steps().to_string();
        for to in ["others", "any", "watched"] {
            assert!(steps.contains("String"), "{to}: {steps}");
        }
        assert!(!steps.contains("Dynamic"), "{steps}");
        Ok(())
    });
}
