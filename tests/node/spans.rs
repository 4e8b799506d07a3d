//! Spans around turns: rule X14.

use crate::support::Log;
use crate::support::journal::keep_another_subscriber;
use krarup::behavior::{Behavior, Received, behavior_fn};
use krarup::dispatcher::DispatcherOptions;
use krarup::prelude::*;
use std::fmt::{Debug, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Notes each event with the span it is in, and panics at one kind of call if it is told to.
struct Spans {
    log: Log,
    /// Spans and their fields, the number of each its place.
    made: unpoisoned::Shared<Vec<String>>,
    entered: unpoisoned::Shared<Vec<u64>>,
    open: Arc<AtomicU64>,
    panics_at: &'static str,
}

/// A lock that is not poisoned by a subscriber that panics on purpose.
mod unpoisoned {
    use std::sync::{Mutex, PoisonError};

    #[derive(Default)]
    pub(crate) struct Shared<T>(Mutex<T>);

    impl<T> Shared<T> {
        pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
            f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if ["message", "name", "behavior", "kind", "type_name", "sender"].contains(&field.name()) {
            let _ = write!(self.0, "{value:?} ");
        }
    }
}

impl Spans {
    fn at(&self, call: &str) {
        assert_ne!(call, self.panics_at, "on purpose");
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() || ["spans", "krarup::trace"].contains(&metadata.target())
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.at("new");
        let mut fields = Fields(String::new());
        span.record(&mut fields);
        self.open.fetch_add(1, Ordering::Relaxed);
        self.made.with(|made| {
            made.push(fields.0);
            Id::from_u64(made.len() as u64)
        })
    }
    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        let within = self.entered.with(|entered| entered.last().copied());
        let span = within.map_or_else(
            || "none ".to_owned(),
            |span| self.made.with(|made| made[usize::try_from(span).unwrap() - 1].clone()),
        );
        self.log.note(format!("{span}{}", fields.0.trim_end()));
    }
    fn enter(&self, id: &Id) {
        self.at("enter");
        self.entered.with(|entered| entered.push(id.into_u64()));
    }
    fn exit(&self, _: &Id) {
        self.entered.with(Vec::pop);
        self.at("exit");
    }
    fn try_close(&self, _: Id) -> bool {
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.at("close");
        true
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
}

/// Logs wherever it is.
struct Talker;

impl Drop for Talker {
    fn drop(&mut self) {
        tracing::info!(target: "spans", "drop");
    }
}

impl Actor for Talker {
    type Message = u32;
    async fn init(&mut self, _: &mut Context<u32>) -> Result {
        tracing::info!(target: "spans", "init");
        Ok(())
    }
    async fn handle_message(&mut self, ctx: &mut Context<u32>, _: u32) -> Result {
        tracing::info!(target: "spans", "handle");
        ctx.stop();
        Ok(())
    }
    async fn terminate(&mut self, _: &mut Context<u32>, _: &Reason) {
        tracing::info!(target: "spans", "terminate");
    }
}

/// What is logged meanwhile, and how many spans are left open.
fn logged(panics_at: &'static str, run: impl FnOnce()) -> (Vec<String>, u64) {
    let (log, open) = (Log::new(), Arc::new(AtomicU64::new(0)));
    let spans = Spans {
        log: log.clone(),
        made: unpoisoned::Shared::default(),
        entered: unpoisoned::Shared::default(),
        open: Arc::clone(&open),
        panics_at,
    };
    keep_another_subscriber();
    tracing::subscriber::with_default(spans, run);
    (log.take(), open.load(Ordering::Relaxed))
}

/// The life of a talker with a name, and of one without; what is logged, and how many spans are
/// left open.
fn lives(panics_at: &'static str, on: bool) -> (Vec<String>, u64) {
    logged(panics_at, || {
        let sim = Simulation::new(1);
        if on {
            sim.spans();
        } else {
            sim.no_spans();
        }
        let named = sim.spawn(|| Talker).name("talker").start().unwrap();
        sim.run_until_idle();
        named.send(1).unwrap();
        sim.run_until_idle();
        assert!(!named.is_alive());
        let unnamed = sim.spawn(|| Talker).start().unwrap();
        sim.run_until_idle();
        assert!(unnamed.is_alive());
        tracing::info!(target: "spans", "outside");
        sim.kill(unnamed.pid());
        sim.run_until_idle();
        if panics_at == "nowhere" {
            // Whatever it was, it is what was said last.
            sim.spans();
            sim.no_spans();
            let third = sim.spawn(|| Talker).start().unwrap();
            sim.run_until_idle();
            assert!(third.is_alive());
        }
    })
}

const CALLBACKS: [&str; 4] = ["init", "handle", "terminate", "drop"];

#[test]
fn x14_logs_of_a_callback_are_in_a_span_that_names_its_process() {
    let (logged, open) = lives("nowhere", true);
    let mut expected: Vec<_> =
        CALLBACKS.iter().map(|call| format!("\"talker\" Talker {call}")).collect();
    let then = ["Talker init", "none outside", "Talker drop", "none init", "none drop"];
    expected.extend(then.map(str::to_owned));
    assert_eq!(logged, expected);
    assert_eq!(open, 0, "every span is closed");
}

#[test]
fn x14_without_the_option_there_is_no_span() {
    let (logged, _) = lives("nowhere", false);
    assert!(logged.iter().all(|line| line.starts_with("none ")), "{logged:?}");
    assert_eq!(logged.len(), CALLBACKS.len() + 5);
}

#[test]
fn x14_a_subscriber_that_panics_ends_nothing() {
    for call in ["new", "enter", "exit", "close"] {
        let (logged, _) = lives(call, true);
        let lines: Vec<_> = logged.iter().filter_map(|line| line.rsplit(' ').next()).collect();
        assert_eq!(lines[..4], CALLBACKS, "{call}");
        assert_eq!(lines[4..], ["init", "outside", "drop"], "{call}");
    }
}

/// A behaviour that fails whoever asks what it is called.
struct Nameless;

impl Behavior for Nameless {
    type Message = ();
    type Command = ();

    async fn run(self, mut ctx: Context<()>) -> Result {
        ctx.receive().await;
        Ok(())
    }

    fn label() -> &'static str {
        panic!("no label")
    }
}

#[test]
fn d4_a_label_that_panics_has_no_further_effect() {
    for on in [false, true] {
        // Listened to as all others here: a thread that does not listen may be the first to come
        // to a span, which is then wanted by nobody.
        logged("nowhere", || {
            let sim = Simulation::new(1);
            if on {
                sim.spans();
            } else {
                sim.no_spans();
            }
            let nameless = sim.spawn(|| Nameless).name("nameless").start().unwrap();
            sim.run_until_idle();
            assert!(sim.process_info(nameless.pid()).is_some());
            let down = nameless.watch();
            nameless.send(()).unwrap();
            assert_eq!(down.wait().unwrap().reason, Reason::Normal, "{on}");
            assert_eq!(sim.whereis("nameless"), None);
        });
    }
}

/// Takes whatever comes.
async fn takes_all(mut ctx: Context<u8, u16>) -> Result {
    ctx.take_others();
    ctx.stop_in_order();
    ctx.trap_exits(true);
    ctx.monitor(Pid::local(777, 0));
    ctx.set_idle_timeout(Some(Duration::from_secs(1)));
    loop {
        match ctx.receive().await {
            Received::Stop(_) => return Ok(()),
            Received::State(reply) => reply.send(None),
            Received::Inspect(request) => request.send(Inspection::new()),
            _ => {}
        }
    }
}

#[test]
fn x5_a_logged_trace_has_item_type_and_sender() {
    let mut from = 0;
    let (logged, _) = logged("nowhere", || {
        let sim = Simulation::new(1);
        let traced = sim.spawn(|| behavior_fn(takes_all)).start().unwrap();
        assert!(sim.trace_to_log(traced.pid()));
        sim.run_until_idle();
        traced.send(1).unwrap();
        sim.run_until_idle();
        let to = traced.clone();
        let sends = behavior_fn(move |_: Context<()>| async move { Ok(to.send_high(2)?) });
        from = sim.spawn(move || sends).start().unwrap().pid().id();
        sim.run_until_idle();
        sim.send(traced.pid(), "text").unwrap();
        sim.exit(traced.pid(), Reason::error("boom"));
        sim.run_until_idle();
        sim.advance(Duration::from_secs(1));
        traced.inspect().wait().unwrap();
        assert!(traced.state::<()>().wait().is_err());
        traced.finish();
        sim.run_until_idle();
        assert!(sim.stop_trace(traced.pid()));
        sim.run_until_idle();
        traced.send(1).unwrap();
        sim.run_until_idle();
        assert!(sim.trace_to_log(traced.pid()));
        traced.stop().wait().unwrap();
    });
    let items = [
        ("down", ""),
        ("message", "u8"),
        ("command", "u16"),
        ("other", "&str"),
        ("exit", ""),
        ("timeout", ""),
        ("inspect", ""),
        ("state", ""),
        ("finish", ""),
        ("stop", ""),
    ];
    let expected = items.map(|(kind, of)| match kind {
        "command" => format!("none received {kind:?} {of:?} \"<0.{from}.0>\""),
        _ => format!("none received {kind:?} {of:?}"),
    });
    assert_eq!(logged, expected);
}

#[test]
fn x14_the_builder_of_a_node_sets_whether_its_turns_run_in_spans() {
    for on in [true, false] {
        let (logged, open) = logged("nowhere", || {
            // Turns run on this thread, which is listened to.
            let here = DispatcherOptions::calling_thread();
            let builder = Node::builder("spans").options(here.clone()).dispatcher("other", here);
            let node = if on { builder.spans() } else { builder }.start().unwrap();
            for dispatcher in ["default", "other"] {
                let spawn = node.spawn(|| Talker).name("talker").dispatcher(dispatcher);
                spawn.start().unwrap().send(1).unwrap();
            }
            node.stop().wait().unwrap();
        });
        let span = if on { "\"talker\" Talker " } else { "none " };
        let expected = CALLBACKS.map(|call| format!("{span}{call}"));
        assert_eq!(logged, [expected.clone(), expected].concat());
        assert_eq!(open, 0);
    }
}
