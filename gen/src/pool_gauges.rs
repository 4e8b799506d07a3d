//! The numbers of a pool, read without its help.

use crate::{Label, Latency, Pid};

/// The numbers of a pool at one moment (rule P6).
///
/// They are read from what the senders of the pool share with it, so the pool does not answer
/// and need not be able to. `forwarded + unhandled` is the number of all messages sent to it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PoolGauges {
    /// The label of the behaviour of its workers.
    pub worker_behavior: Label,
    /// How many workers are configured.
    pub size: usize,
    /// How many places are in the rotation now.
    pub places: usize,
    /// The workers in the rotation, living or being replaced, in the order of their places.
    pub members: Vec<Pid>,
    /// How many of these live.
    pub workers: usize,
    /// How many messages its places accept in all; `None` if the workers have no bound.
    pub capacity: Option<usize>,
    /// How many accepted messages wait now.
    pub waiting: usize,
    /// How many senders wait for room now.
    pub room_waiters: usize,
    /// How many messages were given to a worker.
    pub forwarded: u64,
    /// How many messages were not given to a worker.
    pub unhandled: u64,
    /// How many of these were refused by the rate limit.
    pub rate_limited: u64,
    /// How many of these were diverted to the fallback.
    pub diverted: u64,
    /// How many jobs waited longer than their time to live.
    pub expired: u64,
    /// How many jobs waited at a worker when it ended. Counted only if jobs are watched.
    pub lost: u64,
    /// How many jobs a worker was handling when it ended. Counted only if jobs are watched.
    pub crashed: u64,
    /// How many workers were replaced.
    pub restarts: u64,
    /// How many workers were killed because they were stuck.
    pub stuck: u64,
    /// Whether the pool is drained.
    pub draining: bool,
    /// How long jobs waited, if that is measured.
    pub wait: Option<Latency>,
    /// How long jobs ran, if that is measured.
    pub service: Option<Latency>,
}

impl PoolGauges {
    /// Creates gauges of a pool with nothing in it, for pools to fill in.
    #[must_use]
    pub fn new(worker_behavior: Label) -> Self {
        PoolGauges {
            worker_behavior,
            size: 0,
            places: 0,
            members: Vec::new(),
            workers: 0,
            capacity: None,
            waiting: 0,
            room_waiters: 0,
            forwarded: 0,
            unhandled: 0,
            rate_limited: 0,
            diverted: 0,
            expired: 0,
            lost: 0,
            crashed: 0,
            restarts: 0,
            stuck: 0,
            draining: false,
            wait: None,
            service: None,
        }
    }

    /// Returns the gauges after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}
