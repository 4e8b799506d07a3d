//! The process `observer.sampler`: it walks when it is asked to.
//!
//! | of a walk | in a turn | why |
//! |---|---|---|
//! | a step of the table | at most 1024 processes | [`NodeView::walk`] bounds it |
//! | merge, rows, texts | [`A_TURN`] processes, of this picture and of the one before | |
//! | the cluster | all of it | connections are few beside processes |
//! | the picture before | a page | the sampler frees it, not who drops it last |
//!
//! So a turn is short however many processes there are (rule V63), and other processes of the
//! dispatcher, the canaries among them, have theirs in between.

use crate::sampling::cluster_row::ClusterRow;
use crate::sampling::identity::{ProcessIdentity, SharedTexts};
use crate::sampling::merge::SampleMerge;
use crate::sampling::picture::{LONGEST_WINDOW, Picture, PoolRow, Row};
use crate::sampling::pictures::{Sampling, WalkRequest};
use crate::sampling::rows::Rows;
use krarup_act::{Actor, Context, NodeView, Walk, next_turn};
use krarup_gen::{Inspection, Pid, ProcessKind, Result, Timestamp};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A turn of the sampler handles so many processes at most.
const A_TURN: usize = 256;

/// The process.
pub(crate) struct Sampler {
    sampling: Arc<Sampling>,
    view: NodeView,
    texts: SharedTexts,
    /// Pictures that others follow. Readers may still have them.
    replaced: Vec<Arc<Picture>>,
    /// What it cost to free pictures since the last walk.
    freeing: Duration,
}

impl Sampler {
    pub(crate) fn new(sampling: Arc<Sampling>, view: NodeView) -> Self {
        let (texts, replaced) = (SharedTexts::default(), Vec::new());
        Sampler { sampling, view, texts, replaced, freeing: Duration::ZERO }
    }

    async fn walk(&mut self, sampler: Pid, before: Option<&Picture>) -> Picture {
        let began = Instant::now();
        let mut work = TurnWork::default();
        let stats = self.view.stats().unwrap_or_default();
        let mut samples = SampleMerge::default();
        let mut walk = Walk::new();
        while let Some(step) = self.view.walk(&mut walk) {
            samples.add(step);
            work.pause().await;
        }
        let taken = Instant::now();
        // A node that is gone has no time any more.
        let at = self.view.now().or(before.map(|it| it.at)).unwrap_or(Timestamp::ZERO);
        let window = before.map(|before| at.since(before.at));
        // While virtual time stands still nothing changes by the second.
        let still = window.is_some_and(|window| window.is_zero());
        let window = match before {
            Some(before) if still => before.window,
            _ => window.filter(|window| *window <= LONGEST_WINDOW),
        };
        let cluster = self.view.cluster_picture().map(|picture| {
            let old = before.and_then(|it| Some((it.cluster.as_ref()?, window?)));
            ClusterRow::new(picture, old, still)
        });
        if cluster.is_some() {
            work.pause().await;
        }
        let none = Rows::default();
        let mut known = before.map_or(&none, |before| &before.rows).iter().peekable();
        let (all, mut rows, mut pools) = (samples.added(), Rows::default(), BTreeMap::new());
        for sample in samples {
            work.one().await;
            // Both are in the order of their numbers.
            while known.next_if(|row| row.id() < sample.pid.id()).is_some() {
                work.one().await;
            }
            let old = known.next_if(|row| row.sample.pid == sample.pid);
            if sample.kind == ProcessKind::Pool {
                let info = self.view.process_info(sample.pid);
                let old = before.and_then(|it| Some((it.pools.get(&sample.pid.id())?, window?)));
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
            let old = old.and_then(|row| Some((row, before?.at, window?)));
            rows.push(match old {
                Some((old, ..)) if still => {
                    Row { sample, identity, rates: old.rates, since: old.since.clone() }
                }
                old => Row::new(sample, identity, old, at),
            });
        }
        let cost = began.elapsed().saturating_sub(work.rested) + self.freeing;
        self.freeing = Duration::ZERO;
        let number = before.map_or(1, |before| before.number + 1);
        let sums = OnceLock::new();
        Picture {
            number,
            sampler,
            began,
            taken,
            at,
            cost,
            window,
            stats,
            rows,
            pools,
            cluster,
            sums,
        }
    }

    /// Frees the pictures that were replaced, except those that somebody still reads.
    async fn free(&mut self) {
        let began = Instant::now();
        let mut work = TurnWork::default();
        for picture in std::mem::take(&mut self.replaced) {
            let mut picture = match Arc::try_unwrap(picture) {
                Ok(picture) => picture,
                Err(read) => {
                    self.replaced.push(read);
                    continue;
                }
            };
            while let Some(page) = picture.rows.pop_page() {
                drop(page);
                work.pause().await;
            }
            while picture.pools.pop_last().is_some() {
                work.one().await;
            }
        }
        self.freeing += began.elapsed().saturating_sub(work.rested);
    }
}

/// How much was done in this turn.
#[derive(Default)]
struct TurnWork {
    done: usize,
    /// How long others had the worker.
    rested: Duration,
}

impl TurnWork {
    /// One more process is handled: in the next turn, if this one has handled enough.
    async fn one(&mut self) {
        self.done += 1;
        if self.done == A_TURN {
            self.pause().await;
        }
    }

    /// Ends the turn.
    async fn pause(&mut self) {
        let paused = Instant::now();
        next_turn().await;
        self.rested += paused.elapsed();
        self.done = 0;
    }
}

impl Actor for Sampler {
    type Message = WalkRequest;

    async fn init(&mut self, ctx: &mut Context<WalkRequest>) -> Result {
        self.sampling.attach(ctx.address());
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<WalkRequest>, _: WalkRequest) -> Result {
        let before = self.sampling.last();
        let picture = self.walk(ctx.pid(), before.as_deref()).await;
        self.sampling.publish(picture);
        self.replaced.extend(before);
        self.free().await;
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
