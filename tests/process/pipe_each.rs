//! Sources of values that are piped to a process one by one (rule C6).

use krarup::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

type Source = Box<dyn FnMut() -> Poll<Option<u32>> + Send>;
type Heard = Arc<Mutex<Vec<Option<u32>>>>;

/// Pipes a source to itself.
struct Reader {
    source: Option<Source>,
    heard: Heard,
}

impl Actor for Reader {
    type Message = Option<u32>;

    async fn init(&mut self, ctx: &mut Context<Option<u32>>) -> Result {
        if let Some(mut source) = self.source.take() {
            ctx.pipe_each(move |_| source(), |value| value)?;
        }
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Option<u32>>, value: Option<u32>) -> Result {
        self.heard.lock().unwrap().push(value);
        if value == Some(7) { Err(Reason::error("seven")) } else { Ok(()) }
    }
}

/// A process of this source with room for so many messages, and what it has heard.
fn reader_with_room(
    sim: &Simulation,
    room: usize,
    source: impl FnMut() -> Poll<Option<u32>> + Send + 'static,
) -> (Address<Option<u32>>, Heard) {
    let heard = Heard::default();
    let there = Arc::clone(&heard);
    let source: Source = Box::new(source);
    let reader = sim.spawn(move || Reader { source: Some(source), heard: there });
    (reader.mailbox(room).wait().unwrap(), heard)
}

fn reader(
    sim: &Simulation,
    source: impl FnMut() -> Poll<Option<u32>> + Send + 'static,
) -> (Address<Option<u32>>, Heard) {
    reader_with_room(sim, 3, source)
}

/// Numbers of this range, then the end. Counts how often it was polled.
fn numbers(
    first: u32,
    last: u32,
    polled: &Arc<AtomicU32>,
) -> impl FnMut() -> Poll<Option<u32>> + Send + 'static {
    let polled = Arc::clone(polled);
    move || {
        let number = first + polled.fetch_add(1, Ordering::Relaxed);
        assert!(number <= last + 1, "it is polled after its end");
        Poll::Ready((number <= last).then_some(number))
    }
}

#[test]
fn c6_each_value_of_a_source_is_a_message_in_order_and_so_is_its_end() {
    for seed in 0..50 {
        let sim = Simulation::new(seed);
        let (reader, heard) = reader(&sim, numbers(10, 30, &Arc::default()));
        sim.run_until_idle();
        let expected: Vec<_> = (10..=30).map(Some).chain([None]).collect();
        assert_eq!(*heard.lock().unwrap(), expected, "seed {seed}");
        assert!(reader.is_alive());
        assert_eq!(sim.processes().len(), 1, "the pipe has ended");
    }
}

#[test]
fn c6_a_source_is_not_polled_while_its_values_have_no_room() {
    for seed in 0..50 {
        let sim = Simulation::new(seed);
        let polled = Arc::new(AtomicU32::new(0));
        let (reader, heard) = reader(&sim, numbers(10, 30, &polled));
        reader.suspend().wait().unwrap();
        sim.run_until_idle();
        let handled = u32::try_from(heard.lock().unwrap().len()).unwrap();
        assert_eq!(polled.load(Ordering::Relaxed), handled + 4, "three wait, and one has no room");
        reader.resume();
        sim.run_until_idle();
        assert_eq!(heard.lock().unwrap().len(), 22);
    }
}

#[test]
fn c6_a_source_ends_with_its_process_and_a_panic_in_it_ends_the_process() {
    for seed in 0..50 {
        let sim = Simulation::new(seed);
        let polled = Arc::new(AtomicU32::new(0));
        let (_, heard) = reader(&sim, numbers(1, u32::MAX - 1, &polled));
        sim.run_until_idle();
        assert_eq!(*heard.lock().unwrap(), (1..=7).map(Some).collect::<Vec<_>>());
        assert!(polled.load(Ordering::Relaxed) <= 11, "seed {seed}");
        assert!(sim.processes().is_empty());

        let mut left = 3_u32;
        let panics = move || {
            left = left.checked_sub(1).expect("the source is broken");
            Poll::Ready(Some(left))
        };
        let (reader, heard) = reader(&sim, panics);
        let end = reader.watch().wait().unwrap().reason;
        assert!(end.to_string().contains("the source is broken"), "{end}");
        assert!(heard.lock().unwrap().len() <= 3);
        assert!(sim.processes().is_empty());
    }
}

/// Without a bound nothing holds the source back.
#[test]
fn c6_a_source_that_always_has_a_value_starves_nobody() {
    for seed in 0..20 {
        let sim = Simulation::new(seed);
        let polled = Arc::new(AtomicU32::new(0));
        let source = numbers(1, 100_000, &polled);
        let (reader, heard) = reader_with_room(&sim, usize::MAX, source);
        let end = reader.watch().wait().unwrap().reason;
        assert_eq!(end.to_string(), "seven", "seed {seed}");
        sim.run_until_idle();
        assert!(polled.load(Ordering::Relaxed) < 10_000, "seed {seed}");
        assert_eq!(heard.lock().unwrap().len(), 7);
        assert!(sim.processes().is_empty());
    }
}
