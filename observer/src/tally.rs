//! The observer's counters of itself.

use crate::http::access::Door;
use crate::http::refusal::Code;
use crate::http::route::PATTERNS;
use crate::http::unsent::Unsent;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Classes of status codes, as metrics name them.
pub(crate) const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];
/// Why the guard refuses, as metrics name it.
pub(crate) const CAUSES: [&str; 6] = ["host", "origin", "token", "body", "busy", "streams"];

/// The counters of the doors.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    requests: [[AtomicU64; CLASSES.len()]; PATTERNS.len()],
    rejected: [AtomicU64; CAUSES.len()],
    /// Requests in work now at each door, streams aside.
    working: [AtomicUsize; 2],
    /// Answers that were not sent yet.
    pub(crate) unsent: Unsent,
    /// Streams open now.
    pub(crate) streams: AtomicUsize,
}

impl Tally {
    /// The requests in work at a door: a flood at one leaves the other its places.
    pub(crate) fn working(&self, door: Door) -> &AtomicUsize {
        &self.working[usize::from(door == Door::Probes)]
    }

    /// A request was answered.
    pub(crate) fn answered(&self, pattern: usize, status: u16) {
        let class = usize::from(status / 100).clamp(2, 5) - 2;
        self.requests[pattern][class].fetch_add(1, Ordering::Relaxed);
    }

    /// A request was refused.
    pub(crate) fn refused(&self, code: Code) {
        let cause = match code {
            Code::BadHost => 0,
            Code::BadOrigin => 1,
            Code::ReadOnly | Code::TokenMissing | Code::TokenWrong => 2,
            Code::TooLarge | Code::TooSlow | Code::BadMediaType | Code::BadBody => 3,
            Code::Busy => 4,
            Code::TooManyStreams => 5,
            _ => return,
        };
        self.rejected[cause].fetch_add(1, Ordering::Relaxed);
    }

    /// Answered requests by route and class.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        PATTERNS.iter().zip(&self.requests).flat_map(|(pattern, classes)| {
            let count = |(class, count): (&&'static str, &AtomicU64)| {
                (*pattern, *class, count.load(Ordering::Relaxed))
            };
            CLASSES.iter().zip(classes).map(count)
        })
    }

    /// Refused requests by cause.
    pub(crate) fn rejected(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let count =
            |(cause, count): (&&'static str, &AtomicU64)| (*cause, count.load(Ordering::Relaxed));
        CAUSES.iter().zip(&self.rejected).map(count)
    }
}

/// One of a limited number of places. Dropped, it is free again.
pub(crate) struct Held<'a>(&'a AtomicUsize);

impl<'a> Held<'a> {
    /// Takes a place, if fewer than `most` are taken.
    pub(crate) fn take(places: &'a AtomicUsize, most: usize) -> Option<Self> {
        let free = places.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            (taken < most).then_some(taken + 1)
        });
        free.ok().map(|_| Held(places))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
