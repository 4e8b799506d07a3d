//! Traces that end by themselves (rule V21).

use crate::support::{Does, Log, puppet, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::observe::{ItemKind, Lane, TraceEnd, TraceError, TraceLimits, TracePage, TraceReader};
use krarup::prelude::*;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// An actor that counts.
#[derive(Default)]
struct Counter(u64);

impl Actor for Counter {
    type Message = u64;

    async fn handle_message(&mut self, ctx: &mut Context<u64>, number: u64) -> Result {
        if number == 0 {
            ctx.stop();
        }
        self.0 += number;
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("sum", self.0)
    }

    fn show_message(number: &u64) -> Option<String> {
        // A message of more than a thousand has a long text.
        Some(if *number > 1000 { "x".repeat(4096) } else { number.to_string() })
    }
}

fn counter(sim: &Simulation) -> Address<u64> {
    sim.spawn(Counter::default).wait().unwrap()
}

fn limits(items: usize) -> TraceLimits {
    TraceLimits { items, time: 60 * SECOND }
}

/// All that the trace has shown.
fn all(reader: &TraceReader) -> TracePage {
    reader.page(0, usize::MAX)
}

fn texts(page: &TracePage) -> Vec<String> {
    page.page.items.iter().map(|it| it.item.text.clone().unwrap_or_default()).collect()
}

fn is_traced(sim: &Simulation, pid: Pid) -> bool {
    sim.process_info(pid).unwrap().traced
}

#[test]
fn v21_a_trace_of_100_items_shows_100_in_order_and_ends_by_itself() {
    for sim in simulations(5) {
        let counter = counter(&sim);
        let trace = sim.trace(counter.pid(), limits(100)).unwrap();
        assert_eq!((trace.pid(), trace.end()), (counter.pid(), None));
        assert!(is_traced(&sim, counter.pid()));
        let sender = puppet(&sim, "sender", &Log::new());
        let to = counter.clone();
        sender.tells(move |_| {
            for number in 1..=150 {
                to.send(number).unwrap();
            }
        });
        sim.run_until_idle();
        let page = all(&trace);
        assert_eq!(page.end, Some(TraceEnd::Items));
        assert_eq!(texts(&page), (1..=100).map(|n| n.to_string()).collect::<Vec<_>>());
        let numbers: Vec<_> = page.page.items.iter().map(|it| it.seq).collect();
        assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
        assert_eq!((page.page.first_seq, page.page.next_seq, page.page.lost), (1, 101, 0));
        for it in &page.page.items {
            let item = (&it.item.lane, &it.item.kind, it.item.sender);
            assert_eq!(item, (&Lane::Main, &ItemKind::Message, Some(sender.pid())));
        }
        assert!(!is_traced(&sim, counter.pid()));
        let sum = counter.inspect().wait().unwrap();
        assert_eq!(sum, Inspection::new().with("sum", 150 * 151 / 2_u64));
    }
}

#[test]
fn v21_pages_follow_each_other_by_number() {
    let sim = Simulation::new(1);
    let counter = counter(&sim);
    let trace = sim.trace(counter.pid(), limits(9)).unwrap();
    (1..=5).for_each(|number| counter.send(number).unwrap());
    sim.run_until_idle();
    assert_eq!(texts(&trace.page(0, 2)), ["1", "2"]);
    assert_eq!(texts(&trace.page(2, 2)), ["3", "4"]);
    assert_eq!(texts(&trace.page(4, 99)), ["5"]);
    assert!(trace.page(5, 99).page.items.is_empty());
    assert!(trace.page(u64::MAX, 99).page.items.is_empty());
    assert_eq!(texts(&all(&trace)).len(), 5, "nothing needs the room");
}

#[test]
fn v21_time_ends_a_trace_whether_the_process_takes_items_or_not() {
    for sim in simulations(5) {
        let (busy, idle) = (counter(&sim), counter(&sim));
        let short = TraceLimits { items: 9, time: SECOND };
        let [of_busy, of_idle] = [&busy, &idle].map(|it| sim.trace(it.pid(), short).unwrap());
        busy.send(1).unwrap();
        sim.advance(SECOND / 2);
        assert_eq!((of_busy.end(), of_idle.end()), (None, None));
        sim.advance(SECOND / 2);
        assert_eq!((of_busy.end(), of_idle.end()), (Some(TraceEnd::Time), Some(TraceEnd::Time)));
        busy.send(2).unwrap();
        sim.run_until_idle();
        assert_eq!(texts(&all(&of_busy)), ["1"]);
        assert!(!is_traced(&sim, busy.pid()) && !is_traced(&sim, idle.pid()));
    }
}

#[test]
fn v21_a_trace_that_outruns_its_reader_ends_with_overload() {
    for sim in simulations(3) {
        let counter = counter(&sim);
        let many = TraceLimits { items: 5000, time: 60 * SECOND };
        let trace = sim.trace(counter.pid(), many).unwrap();
        let send = |count: usize| {
            (0..count).for_each(|_| counter.send(1).unwrap());
            sim.run_until_idle();
        };
        send(TraceLimits::MOST_UNREAD);
        assert_eq!(trace.end(), None);
        // What was read makes room for what follows.
        assert_eq!(trace.page(0, 9999).page.items.len(), TraceLimits::MOST_UNREAD);
        let _ = trace.page(1000, 0);
        send(1000);
        assert_eq!(trace.end(), None);
        let page = all(&trace).page;
        assert_eq!((page.first_seq, page.lost), (1001, 1000));
        send(1);
        assert_eq!(trace.end(), Some(TraceEnd::Overload));
        assert_eq!(all(&trace).page.next_seq, 2025);
        assert!(!is_traced(&sim, counter.pid()));
    }
}

#[test]
fn v21_long_texts_overload_a_trace_sooner() {
    let sim = Simulation::new(1);
    let counter = counter(&sim);
    let trace = sim.trace(counter.pid(), limits(1000)).unwrap();
    for _ in 0..300 {
        counter.send(1001).unwrap();
    }
    sim.run_until_idle();
    let page = all(&trace);
    assert_eq!((page.end, page.page.items.len()), (Some(TraceEnd::Overload), 256));
}

#[test]
fn v21_untrace_and_a_new_trace_end_a_trace_with_untraced() {
    for sim in simulations(5) {
        let counter = counter(&sim);
        let first = sim.trace(counter.pid(), limits(9)).unwrap();
        counter.send(1).unwrap();
        sim.run_until_idle();
        let second = sim.trace(counter.pid(), limits(9)).unwrap();
        assert_eq!((first.end(), second.end()), (Some(TraceEnd::Untraced), None));
        counter.send(2).unwrap();
        sim.run_until_idle();
        assert!(sim.untrace(counter.pid()) && !sim.untrace(counter.pid()));
        counter.send(3).unwrap();
        sim.run_until_idle();
        assert_eq!(
            (texts(&all(&first)), texts(&all(&second))),
            (vec!["1".into()], vec!["2".into()])
        );
        assert_eq!(second.end(), Some(TraceEnd::Untraced));
        assert!(!is_traced(&sim, counter.pid()));
        // A reader that ends its trace, or is dropped, does the same.
        let third = sim.trace(counter.pid(), limits(9)).unwrap();
        assert!(third.untrace() && !third.untrace());
        assert_eq!(third.end(), Some(TraceEnd::Untraced));
        let fourth = sim.trace(counter.pid(), limits(9)).unwrap();
        drop(third);
        assert!(is_traced(&sim, counter.pid()), "the new one goes on");
        drop(fourth);
        assert!(!is_traced(&sim, counter.pid()));
    }
}

#[test]
fn v21_the_end_of_the_process_ends_its_trace_with_ended() {
    for sim in simulations(5) {
        let (stopped, killed) = (counter(&sim), counter(&sim));
        let [of_stopped, of_killed] =
            [&stopped, &killed].map(|it| sim.trace(it.pid(), limits(9)).unwrap());
        stopped.send(7).unwrap();
        stopped.send(0).unwrap();
        sim.kill(killed.pid());
        sim.run_until_idle();
        assert_eq!(
            (of_stopped.end(), of_killed.end()),
            (Some(TraceEnd::Ended), Some(TraceEnd::Ended))
        );
        assert_eq!(texts(&all(&of_stopped)), ["7", "0"]);
        let refused = sim.trace(killed.pid(), limits(9)).unwrap_err();
        assert_eq!(refused, TraceError::NoProcess(killed.pid()));
        assert!(!sim.untrace(killed.pid()));
    }
}

#[test]
fn v21_bound_order_and_lanes_of_a_traced_process_are_as_without() {
    let taken = |traced: bool, sim: &Simulation| {
        let log = Log::new();
        let noted = log.clone();
        let bare = behavior_fn(move |mut ctx: Context<u32, char>| async move {
            loop {
                match ctx.receive().await {
                    Received::Message(number) => noted.note(number),
                    Received::Command(letter) => noted.note(letter),
                    _ => {}
                }
            }
        });
        let bare = sim.spawn(move || bare).mailbox(3).wait().unwrap();
        let trace = traced.then(|| sim.trace(bare.pid(), limits(2)).unwrap());
        bare.suspend().wait().unwrap();
        let sent: Vec<bool> = (0..5).map(|number| bare.send(number).is_ok()).collect();
        bare.send_high('s').unwrap();
        bare.send_max('u').unwrap();
        assert!(bare.resume());
        sim.run_until_idle();
        drop(trace);
        (sent, log.take())
    };
    for sim in simulations(5) {
        let (sent, items) = taken(false, &sim);
        assert_eq!(sent, [true, true, true, false, false]);
        assert_eq!(items, ["u", "s", "0", "1", "2"]);
        assert_eq!(taken(true, &sim), (sent, items));
    }
}

#[test]
fn v21_limits_without_meaning_are_typed_errors() {
    let sim = Simulation::new(1);
    let counter = counter(&sim);
    let refused = |items, time| sim.trace(counter.pid(), TraceLimits { items, time }).unwrap_err();
    assert_eq!(refused(0, SECOND), TraceError::Items(0));
    assert_eq!(refused(1, Duration::ZERO), TraceError::Time(Duration::ZERO));
    assert!(!is_traced(&sim, counter.pid()));
}

#[test]
fn v21_a_trace_a_recorder_and_a_tracer_see_the_same_items() {
    for sim in simulations(5) {
        let (counter, log) = (counter(&sim), Log::new());
        let noted = log.clone();
        counter
            .trace(move |traced| noted.note(format!("{} {:?}", traced.lane, traced.item.kind())));
        sim.record(counter.pid(), 8).unwrap();
        let trace = sim.trace(counter.pid(), limits(9)).unwrap();
        counter.send_high(1).unwrap();
        counter.send(2).unwrap();
        sim.run_until_idle();
        let shown = ["system Command", "main Message"];
        assert_eq!(log.take(), shown);
        let of_trace = all(&trace).page.items;
        let of_recorder = sim.recorded(counter.pid());
        assert_eq!(of_trace, of_recorder);
        // Each ends without the others.
        counter.stop_trace();
        assert!(is_traced(&sim, counter.pid()), "by the trace");
        sim.record(counter.pid(), 0).unwrap();
        counter.send(3).unwrap();
        sim.run_until_idle();
        assert_eq!((log.take().len(), all(&trace).page.items.len()), (0, 3));
        assert!(sim.recorded(counter.pid()).is_empty());
    }
}
