//! The process `observer.canaries`: it has a process on each shared dispatcher, which is asked for
//! a turn when somebody wants to know. On a pinned dispatcher it would have a thread of its own, and
//! say nothing about the others.
//!
//! Nothing runs by a timer. A canary that was asked and has had no turn since is not asked again,
//! so a blocked dispatcher holds one message of it at most.

use krarup_act::{Actor, Address, Context, NodeView};
use krarup_gen::{Inspection, Result};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The pause between two questions to a canary.
const PAUSE: Duration = Duration::from_millis(500);

/// When each canary last had a turn.
#[derive(Default)]
pub(crate) struct Turns {
    state: Mutex<CanaryState>,
    changed: Notify,
}

#[derive(Default)]
struct CanaryState {
    keeper: Option<Address<Look>>,
    canaries: BTreeMap<String, Turn>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    last: Option<Instant>,
    asked: Option<Instant>,
    /// What the last probe found. A turn since then ends a lateness.
    is_late: Option<bool>,
}

/// What the last probe found of a dispatcher.
pub(crate) struct ProbedDispatcher {
    pub(crate) dispatcher: String,
    /// Whether its canary was late, and has had no turn since. `None`: nobody has probed.
    pub(crate) is_late: Option<bool>,
    /// How long ago its last turn was.
    pub(crate) age: Option<Duration>,
}

/// The request to ask all canaries.
pub(crate) struct Look;

impl Turns {
    /// Asks all canaries for a turn.
    pub(crate) fn ask(&self) {
        let keeper = self.state.lock().keeper.clone();
        if let Some(keeper) = keeper {
            // A keeper that has ended is followed by another one.
            let _ = keeper.send(Look);
        }
    }

    /// The shared dispatchers, and how long ago their canary had a turn.
    pub(crate) fn ages(&self) -> Vec<(String, Option<Duration>)> {
        let canaries = self.state.lock().canaries.clone();
        let age = |(name, turn): (String, Turn)| (name, turn.last.map(|last| last.elapsed()));
        canaries.into_iter().map(age).collect()
    }

    /// Notes what a probe has found of a dispatcher.
    pub(crate) fn probed(&self, dispatcher: &str, is_late: bool) {
        if let Some(turn) = self.state.lock().canaries.get_mut(dispatcher) {
            turn.is_late = Some(is_late);
        }
    }

    /// What the last probe found of each dispatcher. No canary is asked.
    pub(crate) fn last_probe(&self) -> Vec<ProbedDispatcher> {
        let canaries = self.state.lock().canaries.clone();
        let found = |(dispatcher, turn): (String, Turn)| {
            let age = turn.last.map(|last| last.elapsed());
            ProbedDispatcher { dispatcher, is_late: turn.is_late, age }
        };
        canaries.into_iter().map(found).collect()
    }

    /// Waits for the next turn of any canary.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Expects the first turn on a dispatcher. A canary is made of the value, so its turn is expected
    /// before it can have one.
    fn expect(self: &Arc<Self>, dispatcher: &str) -> Canary {
        let turn = Turn { last: None, asked: Some(Instant::now()), is_late: None };
        self.state.lock().canaries.insert(dispatcher.to_owned(), turn);
        Canary { turns: Arc::clone(self), dispatcher: dispatcher.to_owned() }
    }

    fn had_turn(&self, dispatcher: &str) {
        if let Some(turn) = self.state.lock().canaries.get_mut(dispatcher) {
            let is_late = turn.is_late.map(|_| false);
            *turn = Turn { last: Some(Instant::now()), asked: None, is_late };
        }
        self.changed.notify_waiters();
    }
}

/// The process.
pub(crate) struct Canaries {
    turns: Arc<Turns>,
    view: NodeView,
    living: BTreeMap<String, Address<Sing>>,
}

impl Canaries {
    pub(crate) fn new(turns: Arc<Turns>, view: NodeView) -> Self {
        Canaries { turns, view, living: BTreeMap::new() }
    }

    /// Starts a canary on each shared dispatcher that has none. It is not waited for: a blocked
    /// dispatcher would not start it.
    fn settle(&mut self, ctx: &mut Context<Look>) {
        let stats = self.view.stats().unwrap_or_default();
        for dispatcher in stats.dispatchers.iter().filter(|it| it.workers > 0 && !it.is_pinned) {
            if self.living.contains_key(&dispatcher.name) {
                continue;
            }
            let canary = self.turns.expect(&dispatcher.name);
            // Linked: if one of them ends, all do, and the supervisor starts them anew.
            let spawned =
                ctx.spawn(move || canary).dispatcher(dispatcher.name.clone()).link().start();
            match spawned {
                Ok(address) => drop(self.living.insert(dispatcher.name.clone(), address)),
                Err(_) => drop(self.turns.state.lock().canaries.remove(&dispatcher.name)),
            }
        }
    }
}

impl Actor for Canaries {
    type Message = Look;

    async fn init(&mut self, ctx: &mut Context<Look>) -> Result {
        {
            let mut state = self.turns.state.lock();
            state.keeper = Some(ctx.address());
            state.canaries.clear();
        }
        self.settle(ctx);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Look>, _: Look) -> Result {
        self.settle(ctx);
        for (name, canary) in &self.living {
            let now = Instant::now();
            let asks = {
                let mut state = self.turns.state.lock();
                let Some(turn) = state.canaries.get_mut(name) else { continue };
                let young = turn.last.is_some_and(|last| now.duration_since(last) < PAUSE);
                let asks = !young && turn.asked.is_none();
                if asks {
                    turn.asked = Some(now);
                }
                asks
            };
            if asks {
                let _ = canary.send(Sing);
            }
        }
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("dispatchers", self.living.len())
    }
}

/// The message that gives a canary a turn.
struct Sing;

struct Canary {
    turns: Arc<Turns>,
    dispatcher: String,
}

impl Actor for Canary {
    type Message = Sing;

    async fn init(&mut self, _: &mut Context<Sing>) -> Result {
        self.turns.had_turn(&self.dispatcher);
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Sing>, _: Sing) -> Result {
        self.turns.had_turn(&self.dispatcher);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v29_the_first_turn_of_a_canary_counts_however_early_it_comes() {
        let turns = Arc::new(Turns::default());
        let canary = turns.expect("default");
        assert_eq!(turns.ages(), [("default".to_owned(), None)]);
        canary.turns.had_turn(&canary.dispatcher);
        assert!(matches!(&turns.ages()[..], [(_, Some(_))]));
        assert!(turns.state.lock().canaries["default"].asked.is_none(), "it is asked again");
    }

    #[test]
    fn v97_a_canary_is_late_as_the_last_probe_found_it_until_it_has_a_turn() {
        let turns = Arc::new(Turns::default());
        let canary = turns.expect("default");
        let late = || turns.last_probe().iter().map(|found| found.is_late).collect::<Vec<_>>();
        assert_eq!(late(), [None], "nobody has probed");
        turns.probed("default", true);
        assert_eq!(late(), [Some(true)]);
        canary.turns.had_turn(&canary.dispatcher);
        assert_eq!(late(), [Some(false)]);
    }
}
