//! What the tests of topics share: processes that do what they are told and note what they hear.

#![allow(dead_code, reason = "each test binary uses its own part of this")]

use crate::support::Log;
use krarup::groups::GroupChange;
use krarup::prelude::*;
use krarup::topics::{Audience, Numbered, Publisher, Topic};
use std::sync::{Arc, Mutex};

/// A message of an [`Ear`].
pub(crate) enum Say {
    Do(Order),
    Price(u32),
    Numbered(Numbered<u32>),
    Audience(Audience),
    Change(GroupChange),
}

type Order = Box<dyn FnOnce(&mut Context<Say>) -> Result + Send>;

impl From<u32> for Say {
    fn from(price: u32) -> Self {
        Say::Price(price)
    }
}

impl From<Numbered<u32>> for Say {
    fn from(event: Numbered<u32>) -> Self {
        Say::Numbered(event)
    }
}

impl From<GroupChange> for Say {
    fn from(change: GroupChange) -> Self {
        Say::Change(change)
    }
}

impl From<Audience> for Say {
    fn from(audience: Audience) -> Self {
        Say::Audience(audience)
    }
}

/// Notes `name 7` for an event, `name #3+1 7` for one with its number and how many were missed
/// before it, `name audience Some`, `name +7` and
/// `name -7` for a process that has joined or left a watched group, `name down topic "prices" reason` and `name exit <pid> reason`.
pub(crate) struct Ear {
    pub(crate) name: &'static str,
    pub(crate) log: Log,
    pub(crate) traps: bool,
}

impl Actor for Ear {
    type Message = Say;

    async fn init(&mut self, ctx: &mut Context<Say>) -> Result {
        ctx.trap_exits(self.traps);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Say>, say: Say) -> Result {
        let name = self.name;
        match say {
            Say::Do(act) => return act(ctx),
            Say::Price(price) => self.log.note(format!("{name} {price}")),
            Say::Numbered(event) => {
                self.log.note(format!("{name} #{}+{} {}", event.number, event.missed, event.event));
            }
            Say::Change(GroupChange::Joined { pid, .. }) => {
                self.log.note(format!("{name} +{}", pid.id()));
            }
            Say::Change(change) => self.log.note(format!("{name} -{}", change.pid().id())),
            Say::Audience(audience) => self.log.note(format!("{name} audience {audience:?}")),
        }
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<Say>, down: Down) -> Result {
        self.log.note(format!("{} down {} {}", self.name, down.target, down.reason));
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut Context<Say>, exit: Exit) -> Result {
        self.log.note(format!("{} exit {} {}", self.name, exit.pid, exit.reason));
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<Say>, reason: &Reason) {
        self.log.note(format!("{} terminate {reason}", self.name));
    }
}

pub(crate) fn ear(node: &Node, name: &'static str, log: &Log) -> Address<Say> {
    let log = log.clone();
    node.spawn(move || Ear { name, log, traps: false }).wait().unwrap()
}

pub(crate) fn trapping_ear(node: &Node, name: &'static str, log: &Log) -> Address<Say> {
    let log = log.clone();
    node.spawn(move || Ear { name, log, traps: true }).wait().unwrap()
}

/// Has the process do this in its next turn.
pub(crate) fn tell(
    ear: &Address<Say>,
    act: impl FnOnce(&mut Context<Say>) -> Result + Send + 'static,
) {
    ear.send(Say::Do(Box::new(act))).ok().unwrap();
}

/// What the process answers, when all is done.
pub(crate) fn ask<T: Send + 'static>(
    sim: &Simulation,
    ear: &Address<Say>,
    ask: impl FnOnce(&mut Context<Say>) -> T + Send + 'static,
) -> T {
    let answer = Arc::new(Mutex::new(None));
    let told = Arc::clone(&answer);
    tell(ear, move |ctx| {
        *told.lock().unwrap() = Some(ask(ctx));
        Ok(())
    });
    sim.run_until_idle();
    answer.lock().unwrap().take().expect("an answer")
}

/// Subscribes the process; returns the kept events.
pub(crate) fn subscribe(sim: &Simulation, ear: &Address<Say>, topic: &Topic<u32>) -> Vec<u32> {
    let topic = topic.clone();
    ask(sim, ear, move |ctx| ctx.subscribe(&topic).start().unwrap())
}

/// Has a process open the topic "prices".
pub(crate) fn opened(sim: &Simulation, opener: &Address<Say>) -> Publisher<u32> {
    ask(sim, opener, |ctx| ctx.open_topic("prices").open().unwrap())
}

/// Publishes the numbers from `first` to `last`.
pub(crate) fn publish(to: &Publisher<u32>, first: u32, last: u32) {
    for price in first..=last {
        to.publish(price).unwrap();
    }
}
