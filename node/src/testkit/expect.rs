//! The expectations of a probe, and how it waits for them.

use crate::testkit::probe::Probe;
use crate::testkit::probe_process::{Arrived, ProbeMail};
use krarup_gen::{Pid, Reason};
use std::fmt;
use std::time::Duration;

impl<M: fmt::Debug + Send + 'static> Probe<'_, M> {
    /// Returns the next message, which must arrive within this time.
    ///
    /// # Panics
    /// Panics if something else arrives within this time, or nothing.
    #[track_caller]
    pub fn expect(&self, within: Duration) -> M {
        self.expect_that(within, "a message", |_| true)
    }

    /// Expects that the next message equals this one.
    ///
    /// # Panics
    /// Panics if something else arrives within this time, or nothing.
    #[track_caller]
    pub fn expect_message(&self, within: Duration, message: &M)
    where
        M: PartialEq,
    {
        self.expect_that(within, &format!("{message:?}"), |came| came == message);
    }

    /// Expects that the next message satisfies the condition, which `what` describes in words,
    /// and returns it.
    ///
    /// # Panics
    /// Panics if something else arrives within this time, or nothing.
    #[track_caller]
    pub fn expect_that(
        &self,
        within: Duration,
        what: &str,
        condition: impl FnOnce(&M) -> bool,
    ) -> M {
        match self.next(within) {
            Some(Arrived { item: ProbeMail::Message(message), from, .. })
                if condition(&message) =>
            {
                *self.sender.lock() = from;
                message
            }
            came => self.fail(what, within, came.as_ref(), &[]),
        }
    }

    /// Expects that the next item is a message of type `T`, sent by pid, name or alias, and
    /// returns it.
    ///
    /// # Panics
    /// Panics if something else arrives within this time, or nothing.
    #[track_caller]
    pub fn expect_other<T: 'static>(&self, within: Duration) -> T {
        let what = format!("a {}", std::any::type_name::<T>());
        match self.next(within) {
            Some(Arrived { item: ProbeMail::Other(other), from, at }) => match other.downcast() {
                Ok(value) => {
                    *self.sender.lock() = from;
                    value
                }
                Err(other) => {
                    let came = Arrived { item: ProbeMail::Other(other), from, at };
                    self.fail(&what, within, Some(&came), &[])
                }
            },
            came => self.fail(&what, within, came.as_ref(), &[]),
        }
    }

    /// Returns the first message that satisfies the condition, and drops everything before it.
    /// `what` describes the message in words.
    ///
    /// # Panics
    /// Panics if none arrives within this time.
    #[track_caller]
    pub fn fish(&self, within: Duration, what: &str, condition: impl Fn(&M) -> bool) -> M {
        let until = self.sim.now() + within;
        let mut passed = Vec::new();
        loop {
            match self.next(until - self.sim.now()) {
                Some(Arrived { item: ProbeMail::Message(message), from, .. })
                    if condition(&message) =>
                {
                    *self.sender.lock() = from;
                    return message;
                }
                Some(other) => passed.push(other),
                None => self.fail(what, within, None, &passed),
            }
        }
    }

    /// Returns the next `count` messages; nothing else may arrive between them.
    ///
    /// # Panics
    /// Panics if something else arrives within this time, or fewer messages.
    #[track_caller]
    pub fn expect_many(&self, within: Duration, count: usize) -> Vec<M> {
        let until = self.sim.now() + within;
        // No room is made for as many as are expected, which may be any number.
        let mut messages = Vec::new();
        for number in 1..=count {
            let what = format!("message {number} of {count}");
            messages.push(self.expect_that(until - self.sim.now(), &what, |_| true));
        }
        messages
    }

    /// Expects that the next messages are these, in any order.
    ///
    /// # Panics
    /// Panics if something else arrives within this time, or not all of them.
    #[track_caller]
    pub fn expect_all(&self, within: Duration, messages: &[M])
    where
        M: PartialEq,
    {
        let until = self.sim.now() + within;
        let mut missing: Vec<&M> = messages.iter().collect();
        while !missing.is_empty() {
            let what = match missing[..] {
                [last] => format!("{last:?}"),
                _ => format!("one of {missing:?}"),
            };
            let came =
                self.expect_that(until - self.sim.now(), &what, |came| missing.contains(&came));
            if let Some(place) = missing.iter().position(|expected| **expected == came) {
                missing.remove(place);
            }
        }
    }

    /// Returns the messages that have arrived and were not expected, without waiting. Monitor
    /// notices and exit signals stay.
    #[must_use]
    pub fn take_messages(&self) -> Vec<M> {
        let mut messages = Vec::new();
        let mut arrived = self.kept.arrived.lock();
        for came in std::mem::take(&mut *arrived) {
            match came {
                Arrived { item: ProbeMail::Message(message), .. } => messages.push(message),
                other => arrived.push_back(other),
            }
        }
        messages
    }

    /// Expects that no message arrives during this time, which passes. Monitor notices and exit
    /// signals may arrive, and stay to be expected; [`Probe::expect_none`] allows nothing.
    ///
    /// # Panics
    /// Panics if a message arrives.
    #[track_caller]
    pub fn expect_no_message(&self, during: Duration) {
        let until = self.sim.now() + during;
        let is_message =
            |came: &Arrived<M>| matches!(came.item, ProbeMail::Message(_) | ProbeMail::Other(_));
        loop {
            let message = {
                let mut arrived = self.kept.arrived.lock();
                let place = arrived.iter().position(is_message);
                place.and_then(|place| arrived.remove(place))
            };
            if let Some(came) = message {
                self.fail("no message", during, Some(&came), &[]);
            }
            if !self.sim.step_until(until) {
                return;
            }
        }
    }

    /// Expects that nothing arrives during this time, which passes.
    ///
    /// # Panics
    /// Panics if anything arrives.
    #[track_caller]
    pub fn expect_none(&self, during: Duration) {
        if let Some(came) = self.next(during) {
            self.fail("nothing", during, Some(&came), &[]);
        }
    }

    /// Expects that the next item is the end of this process, which the probe monitors. Returns
    /// its reason.
    ///
    /// # Panics
    /// Panics if something else arrives within this time, or nothing.
    #[track_caller]
    pub fn expect_down(&self, within: Duration, pid: Pid) -> Reason {
        match self.next(within) {
            Some(Arrived { item: ProbeMail::Down(down), .. }) if down.pid() == Some(pid) => {
                down.reason
            }
            came => {
                let what = format!("the end of {}, monitored,", self.name_of(pid));
                self.fail(&what, within, came.as_ref(), &[])
            }
        }
    }

    /// Expects that the next item is an exit signal of this process, from a link or sent by it.
    /// Returns its reason.
    ///
    /// # Panics
    /// Panics if something else arrives within this time, or nothing.
    #[track_caller]
    pub fn expect_exit(&self, within: Duration, pid: Pid) -> Reason {
        match self.next(within) {
            Some(Arrived { item: ProbeMail::Exit(exit), .. }) if exit.pid == pid => exit.reason,
            came => {
                let what = format!("an exit signal of {}", self.name_of(pid));
                self.fail(&what, within, came.as_ref(), &[])
            }
        }
    }

    /// Runs the simulation until an item has arrived, or this time has passed.
    fn next(&self, within: Duration) -> Option<Arrived<M>> {
        let until = self.sim.now() + within;
        loop {
            let next = self.kept.arrived.lock().pop_front();
            if next.is_some() || !self.sim.step_until(until) {
                return next;
            }
        }
    }
}
