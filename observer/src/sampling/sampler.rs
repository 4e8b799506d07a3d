//! The process `observer.sampler`: it walks when it is asked to.

use crate::sampling::identity::{ProcessIdentity, SharedTexts};
use crate::sampling::picture::{LONGEST_WINDOW, Picture, PoolRow, Row};
use crate::sampling::pictures::{Sampling, WalkRequest};
use krarup_act::{Actor, Context, NodeView, Walk, yield_now};
use krarup_gen::{Inspection, ProcessKind, Result, Sample, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A turn of the sampler reads the texts of so many processes at most.
const A_TURN: usize = 500;

/// The process.
pub(crate) struct Sampler {
    sampling: Arc<Sampling>,
    view: NodeView,
    texts: SharedTexts,
}

impl Sampler {
    pub(crate) fn new(sampling: Arc<Sampling>, view: NodeView) -> Self {
        Sampler { sampling, view, texts: SharedTexts::default() }
    }

    async fn walk(&mut self) -> Picture {
        let began = Instant::now();
        let mut rested = Duration::ZERO;
        let stats = self.view.stats().unwrap_or_default();
        let mut samples = Vec::new();
        let mut walk = Walk::new();
        while let Some(step) = self.view.walk(&mut walk) {
            samples.extend(step);
            rested += pause().await;
        }
        samples.sort_unstable_by_key(|sample: &Sample| sample.pid.id());
        samples.dedup_by_key(|sample| sample.pid);
        let before = self.sampling.last();
        let taken = Instant::now();
        // A node that is gone has no time any more.
        let at = self.view.now().or(before.as_ref().map(|it| it.at)).unwrap_or(Timestamp::ZERO);
        let window = before.as_ref().map(|before| at.since(before.at));
        // While virtual time stands still nothing changes by the second.
        let still = window.is_some_and(|window| window.is_zero());
        let window = match &before {
            Some(before) if still => before.window,
            _ => window.filter(|window| *window <= LONGEST_WINDOW),
        };
        let mut rows = Vec::with_capacity(samples.len());
        let known = before.as_ref().map_or(&[][..], |before| &before.rows);
        let mut known = known.iter().peekable();
        let (all, mut pools) = (samples.len(), BTreeMap::new());
        for (count, sample) in samples.into_iter().enumerate() {
            if count % A_TURN == A_TURN - 1 {
                rested += pause().await;
            }
            // Both are in the order of their numbers.
            while known.next_if(|row| row.id() < sample.pid.id()).is_some() {}
            let old = known.next_if(|row| row.sample.pid == sample.pid);
            if sample.kind == ProcessKind::Pool {
                let info = self.view.process_info(sample.pid);
                let old = before
                    .as_ref()
                    .and_then(|before| Some((before.pools.get(&sample.pid.id())?, window?)));
                if let Some(gauges) = info.and_then(|info| info.pool) {
                    pools.insert(sample.pid.id(), PoolRow::new(gauges, old, at));
                }
            }
            let identity = match old {
                Some(row) if row.identity.holds(&sample, all, at) => Arc::clone(&row.identity),
                _ => match self.view.process_info(sample.pid) {
                    Some(info) => Arc::new(ProcessIdentity::of(&info, &mut self.texts, at)),
                    // It has ended since. What is known of it is told; a new one is left out.
                    None => match old {
                        Some(row) => Arc::clone(&row.identity),
                        None => continue,
                    },
                },
            };
            let old = old.and_then(|row| Some((row, before.as_ref()?.at, window?)));
            rows.push(match old {
                Some((old, ..)) if still => {
                    Row { sample, identity, rates: old.rates, since: old.since }
                }
                old => Row::new(sample, identity, old, at),
            });
        }
        let cost = began.elapsed().saturating_sub(rested);
        let number = before.map_or(1, |before| before.number + 1);
        Picture { number, began, taken, at, cost, window, stats, rows, pools }
    }
}

/// Ends the turn. Returns how long others had the worker.
async fn pause() -> Duration {
    let paused = Instant::now();
    yield_now().await;
    paused.elapsed()
}

impl Actor for Sampler {
    type Message = WalkRequest;

    async fn init(&mut self, ctx: &mut Context<WalkRequest>) -> Result {
        self.sampling.attach(ctx.address());
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<WalkRequest>, _: WalkRequest) -> Result {
        let picture = self.walk().await;
        self.sampling.publish(picture);
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        let (walks, cost) = self.sampling.totals();
        Inspection::new()
            .with("walks", walks)
            .with("cost", cost)
            .with("watchers", self.sampling.watchers())
    }
}
