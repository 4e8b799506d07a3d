//! What survives which restart: each cell of the table is found out by doing it, in a simulation.
//!
//! ```sh
//! cargo run --package recipes --bin what_survives
//! ```
//!
//! A process fails, is killed, or is asked to stop, while it has everything that a process can have: a state, a
//! request in hand, others that wait, a timer, a stash, a link, a monitor, a subscription, a group, a key, settings.
//! Then the program looks at each.

use krarup::behavior::{Behavior, Received, behavior_fn};
use krarup::groups::Registry;
use krarup::prelude::*;
use krarup::topics::Topic;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(60 * 60);
const SECOND: Duration = Duration::from_secs(1);

/// How the process ends, or its state.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Supervisor,
    InPlace,
    Pool,
    Killed,
    Stopped,
}

const WAYS: [(Way, &str); 5] = [
    (Way::Supervisor, "restarted by its supervisor"),
    (Way::InPlace, "restarted in place"),
    (Way::Pool, "worker replaced by its pool"),
    (Way::Killed, "killed below a supervisor"),
    (Way::Stopped, "asked to stop"),
];

/// What is seen from outside, whatever becomes of the state.
#[derive(Default)]
struct Seen {
    notes: AtomicU32,
    stashed: AtomicU32,
    ticks: AtomicU32,
    events: AtomicU32,
    downs: AtomicU32,
    exits: AtomicU32,
    terminated: AtomicU32,
}

fn count(number: &AtomicU32) {
    number.fetch_add(1, Ordering::SeqCst);
}

fn counted(number: &AtomicU32) -> bool {
    number.load(Ordering::SeqCst) > 0
}

#[derive(Clone)]
struct Subject {
    state: u32,
    seen: Arc<Seen>,
    sessions: Registry<u32, Ask>,
    events: Topic<Event>,
}

#[derive(Clone)]
struct Event;

enum Ask {
    /// Takes everything that a process can have.
    Prepare {
        other: Pid,
        partner: Pid,
    },
    /// Takes a second.
    Work {
        fails: bool,
        reply: Reply<()>,
    },
    Note,
    Aside,
    Tick,
    Event,
    State(Reply<(u32, Pid)>),
}

impl From<Event> for Ask {
    fn from(_: Event) -> Self {
        Ask::Event
    }
}

impl Actor for Subject {
    type Message = Ask;

    async fn handle_message(&mut self, ctx: &mut Context<Ask>, ask: Ask) -> Result {
        match ask {
            Ask::Prepare { other, partner } => {
                self.state = 7;
                ctx.send_after(HOUR, Ask::Tick);
                ctx.join("subjects")?;
                ctx.register_in(&self.sessions, 1)?;
                ctx.subscribe(&self.events.clone()).start()?;
                ctx.monitor(other);
                ctx.link(partner);
                ctx.trap_exits(true);
                ctx.take_others();
            }
            Ask::Work { fails, reply } => {
                ctx.sleep(SECOND).await;
                if fails {
                    return Err(Reason::error("failed"));
                }
                reply.send(());
            }
            Ask::Aside if self.state == 7 => ctx.stash(Ask::Aside)?,
            Ask::Aside => count(&self.seen.stashed),
            Ask::Note => count(&self.seen.notes),
            Ask::Tick => count(&self.seen.ticks),
            Ask::Event => count(&self.seen.events),
            Ask::State(reply) => reply.send((self.state, ctx.pid())),
        }
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<Ask>, _: Down) -> Result {
        count(&self.seen.downs);
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut Context<Ask>, _: Exit) -> Result {
        count(&self.seen.exits);
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<Ask>, _: &Reason) {
        count(&self.seen.terminated);
    }
}

/// A text that a process writes and the program reads.
type Told = Arc<Mutex<String>>;

fn read(told: &Told) -> String {
    told.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn tell(told: &Told, text: impl Into<String>) {
    *told.lock().unwrap_or_else(PoisonError::into_inner) = text.into();
}

/// Calls the process by its name, and writes what became of the call.
fn caller<C: Send + 'static>(fails: bool, told: Told) -> impl Behavior<Message = ()> {
    behavior_fn(move |ctx: Context<()>| async move {
        let to: Address<Ask, C> = ctx.lookup("subject")?;
        let outcome = to.call(|reply| Ask::Work { fails, reply }).await;
        let text = match outcome {
            Ok(()) => "is answered",
            Err(CallError::NotBegun { .. }) => "fails with `NotBegun`",
            Err(CallError::Terminated { .. }) => "fails with `Terminated`",
            Err(_) => "fails otherwise",
        };
        tell(&told, text);
        Ok(())
    })
}

/// Is linked to the process, traps exits, and writes the one that comes.
fn partner(told: Told) -> impl Behavior<Message = ()> {
    behavior_fn(move |mut ctx: Context<()>| async move {
        ctx.trap_exits(true);
        ctx.initialised();
        loop {
            if let Received::Exit(exit) = ctx.receive().await {
                tell(&told, format!("the partner gets `{}`", exit.reason));
                return Ok(());
            }
        }
    })
}

/// Monitors the process, and writes the end that it hears of.
fn watcher(of: Pid, told: Told) -> impl Behavior<Message = ()> {
    behavior_fn(move |ctx: Context<()>| async move {
        let down = ctx.watch(of).await;
        tell(&told, format!("tells `{}`", down.reason));
        Ok(())
    })
}

/// One process below a supervisor or a pool, found by the name `subject`.
fn start(sim: &Simulation, way: Way, subject: Subject) -> Result {
    let make = move || subject.clone();
    if way == Way::Pool {
        sim.spawn(|| Pool::new(1, make)).name("subject").wait()?;
        return Ok(());
    }
    let child = match way {
        Way::InPlace => ChildSpec::worker_in_place("subject", make),
        _ => ChildSpec::worker("subject", make),
    };
    let child = child.name("subject");
    sim.spawn(move || Supervisor::one_for_one().child(child)).wait()?;
    Ok(())
}

/// Does it, and says what became of each thing, in the order of the rows.
fn outcome<C: Send + 'static>(way: Way) -> Result<Vec<(&'static str, String)>> {
    let sim = Simulation::new(1);
    let publisher = sim.open_topic::<Event>("events").open()?;
    let (seen, sessions) = (Arc::new(Seen::default()), Registry::new());
    let (held, events) = (Arc::clone(&seen), publisher.topic());
    start(&sim, way, Subject { state: 0, seen: held, sessions: sessions.clone(), events })?;
    let find = || sim.lookup::<Ask, C>("subject");
    let old = find()?;

    // Others are services, so that they see the stop of the node to its end.
    let (linked, watched) = (Told::default(), Told::default());
    let told = Arc::clone(&linked);
    let partner = sim.spawn_system(move || partner(told)).wait()?.pid();
    let other = behavior_fn(|mut ctx: Context<()>| async move {
        ctx.receive().await;
        Ok(())
    });
    let other = sim.spawn_system(move || other).start()?.pid();
    old.send(Ask::Prepare { other, partner }).map_err(SendError::without_message)?;
    old.send(Ask::Aside).map_err(SendError::without_message)?;
    sim.run_until_idle();
    let pid = sim.groups().pids("subjects")[0];
    let told = Arc::clone(&watched);
    sim.spawn_system(move || watcher(pid, told)).start()?;

    // A request in hand; then a message and a request that wait behind it.
    let fails = !matches!(way, Way::Killed | Way::Stopped);
    let (in_hand, waiting) = (Told::default(), Told::default());
    let told = Arc::clone(&in_hand);
    sim.spawn_system(move || caller::<C>(fails, told)).start()?;
    sim.run_until_idle();
    old.send(Ask::Note).map_err(SendError::without_message)?;
    let told = Arc::clone(&waiting);
    sim.spawn_system(move || caller::<C>(false, told)).start()?;
    sim.run_until_idle();
    match way {
        Way::Killed => sim.kill(pid),
        Way::Stopped => sim.stop().wait()?,
        _ => {}
    }
    sim.advance(SECOND * 2);

    // What is left.
    let new = find();
    let address = if old.call(Ask::State).wait().is_ok() { "stays" } else { "has ended" };
    let name = if new.is_ok() { "leads to it" } else { "is free" };
    let state = new.ok().and_then(|new| new.call(Ask::State).wait().ok());
    let pid = state.map(|(_, pid)| pid);
    let state = match state {
        Some((7, _)) => "stays",
        Some(_) => "is a fresh one",
        None => "is dropped",
    };
    // A stopped node has no topics.
    let _ = publisher.publish(Event);
    sim.exit(other, Reason::Killed);
    sim.run_until_idle();
    let stays = |there: bool| if there { "stays" } else { "is gone" }.to_owned();
    let member = !sim.groups().pids("subjects").is_empty();
    let key = sessions.get(&1).is_some();
    sim.advance(HOUR);
    let terminates = if counted(&seen.terminated) { "runs" } else { "does not run" };
    let takes_others = pid.is_some_and(|pid| sim.send(pid, "of another type").is_ok());
    if let Some(pid) = pid {
        sim.exit(pid, Reason::error("trapped"));
    }
    sim.run_until_idle();
    let or_stays = |told: &Told| Some(read(told)).filter(|text| !text.is_empty());
    Ok(vec![
        ("the address that others hold", address.to_owned()),
        ("the name", name.to_owned()),
        ("the state", state.to_owned()),
        ("the request in hand", read(&in_hand)),
        ("a request that waits", read(&waiting)),
        (
            "a message that waits",
            if counted(&seen.notes) { "is handled" } else { "is lost" }.to_owned(),
        ),
        (
            "a message set aside",
            if counted(&seen.stashed) { "comes again" } else { "is lost" }.to_owned(),
        ),
        ("a timer", stays(counted(&seen.ticks))),
        ("a monitor on it", or_stays(&watched).unwrap_or_else(|| stays(true))),
        ("a link", or_stays(&linked).unwrap_or_else(|| stays(true))),
        ("a monitor that it has", stays(counted(&seen.downs))),
        ("its subscription", stays(counted(&seen.events))),
        ("its place in a group", stays(member)),
        ("its key in a registry", stays(key)),
        ("`trap_exits`", stays(counted(&seen.exits))),
        ("`take_others`", stays(takes_others)),
        ("`terminate`", terminates.to_owned()),
    ])
}

fn main() -> Result {
    let columns: Vec<_> = WAYS
        .iter()
        .map(|(way, _)| match way {
            Way::Pool => outcome::<PoolCommand>(*way),
            way => outcome::<Ask>(*way),
        })
        .collect::<Result<_>>()?;
    let titles: Vec<_> = WAYS.iter().map(|(_, title)| *title).collect();
    println!("| | {} |", titles.join(" | "));
    println!("|---|{}", "---|".repeat(titles.len()));
    for (row, (title, _)) in columns[0].iter().enumerate() {
        let cells: Vec<_> = columns.iter().map(|column| column[row].1.as_str()).collect();
        println!("| {title} | {} |", cells.join(" | "));
    }
    Ok(())
}
