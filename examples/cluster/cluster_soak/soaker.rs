//! A process that uses the other node again and again, and counts.

use krarup::prelude::*;
use krarup::{Name, NodeName, Recipient, Ref, Target};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What the service of the other node is asked.
#[derive(Serialize, Deserialize)]
pub(crate) enum OnPeer {
    Add(i64, i64, Reply<i64>),
    Note(i64),
    /// It is never answered.
    Keep(Reply<()>),
}

/// What a soaker is told.
pub(crate) enum SoakStep {
    Next,
    Sync(Reply<()>),
}

/// What all soakers have done.
#[derive(Default)]
pub(crate) struct SoakCounts {
    calls: AtomicU64,
    answered: AtomicU64,
    failed: AtomicU64,
    notes: AtomicU64,
    refused: AtomicU64,
    monitors: AtomicU64,
    told: AtomicU64,
    removed: AtomicU64,
    is_over: AtomicBool,
    losses: Mutex<Vec<String>>,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::SeqCst);
}

impl SoakCounts {
    pub(crate) fn stop(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    fn of(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::SeqCst)
    }

    /// Whether each monitor has told, or was removed.
    pub(crate) fn all_told(&self) -> bool {
        Self::of(&self.monitors) == Self::of(&self.told) + Self::of(&self.removed)
    }

    pub(crate) fn losses(&self) -> Vec<String> {
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let ended = Self::of(&self.answered) + Self::of(&self.failed);
        if ended != Self::of(&self.calls) {
            losses.push(format!("{ended} of {} calls have ended", Self::of(&self.calls)));
        }
        losses
    }

    fn lost(&self, loss: String) {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner).push(loss);
    }
}

impl fmt::Display for SoakCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = Self::of;
        write!(
            f,
            "{} calls: {} answered, {} failed; ",
            of(&self.calls),
            of(&self.answered),
            of(&self.failed)
        )?;
        write!(f, "{} notes, {} refused; ", of(&self.notes), of(&self.refused))?;
        write!(
            f,
            "{} monitors: {} told, {} removed",
            of(&self.monitors),
            of(&self.told),
            of(&self.removed)
        )
    }
}

/// Numbers by a seed: `SplitMix64`.
pub(crate) struct SoakDice(pub(crate) u64);

impl SoakDice {
    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from(mixed >> 33).unwrap_or_default() % count
    }
}

/// The process that is monitored.
pub(crate) fn target_of(node: &str) -> Result<Target> {
    Ok(Target::Remote(Name::new("stock")?, NodeName::new(node)?))
}

/// A process that uses the other node.
pub(crate) struct Soaker {
    counts: Arc<SoakCounts>,
    to: Recipient<OnPeer>,
    target: Target,
    dice: SoakDice,
    /// The monitors that have not told.
    monitors: BTreeSet<Ref>,
}

impl Soaker {
    pub(crate) fn new(
        counts: Arc<SoakCounts>,
        to: Recipient<OnPeer>,
        target: Target,
        seed: u64,
    ) -> Self {
        Soaker { counts, to, target, dice: SoakDice(seed), monitors: BTreeSet::new() }
    }

    async fn call(&mut self) {
        count(&self.counts.calls);
        let answer = if self.dice.below(10) == 0 {
            let limit = Duration::from_millis(self.dice.below(300) as u64 + 1);
            self.to.call(OnPeer::Keep).timeout(limit).await.map(|()| 0)
        } else {
            self.to.call(|reply| OnPeer::Add(20, 3, reply)).timeout(Duration::from_secs(20)).await
        };
        match answer {
            Ok(23) => count(&self.counts.answered),
            Ok(other) => self.counts.lost(format!("20 and 3 is {other}")),
            Err(_) => count(&self.counts.failed),
        }
    }

    async fn step(&mut self, ctx: &mut Context<SoakStep>) {
        match self.dice.below(10) {
            0..=4 => self.call().await,
            5..=7 => {
                let size = if self.dice.below(50) == 0 { 100 } else { 1 };
                for _ in 0..size {
                    count(&self.counts.notes);
                    if self.to.send(OnPeer::Note(1)).is_err() {
                        count(&self.counts.refused);
                    }
                }
            }
            8 if self.monitors.len() < 20 => {
                count(&self.counts.monitors);
                self.monitors.insert(ctx.monitor(self.target.clone()));
            }
            _ => {
                if let Some(monitor) = self.monitors.pop_first() {
                    ctx.demonitor(monitor);
                    count(&self.counts.removed);
                }
            }
        }
    }
}

impl Actor for Soaker {
    type Message = SoakStep;

    async fn init(&mut self, ctx: &mut Context<SoakStep>) -> Result {
        ctx.join("soak_here")?;
        ctx.send_after(Duration::from_millis(1), SoakStep::Next);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<SoakStep>, step: SoakStep) -> Result {
        match step {
            SoakStep::Sync(reply) => reply.send(()),
            SoakStep::Next if self.counts.is_over.load(Ordering::SeqCst) => {}
            SoakStep::Next => {
                self.step(ctx).await;
                let pause = Duration::from_millis(self.dice.below(20) as u64 + 1);
                ctx.send_after(pause, SoakStep::Next);
            }
        }
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<SoakStep>, down: Down) -> Result {
        if self.monitors.remove(&down.monitor) {
            count(&self.counts.told);
        } else {
            self.counts.lost(format!("{} has told twice, or after its removal", down.monitor));
        }
        Ok(())
    }
}
