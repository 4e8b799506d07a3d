//! Models of how workers fall asleep and are woken ([`sleep`]), of spare workers that come and
//! go ([`spares`]), of the watchdog ([`watchdog`]), and of the queues between workers
//! ([`queues`]), of those of high class ([`express`]), of processes that a worker has let go
//! ([`handed_over`]), and of those that are called while they owe turns ([`called`]).
//!
//! Each is run with the real [`Sleep`](super::sleep::Sleep), [`Spares`](super::spares::Spares)
//! or [`Watchdog`](super::watchdog::Watchdog). A lost wake-up shows as a deadlock: everybody
//! is asleep, and the work lies there. [`varied`] is the same protocol once more, from which
//! one line at a time is left out: each of those must fail, which shows both what the line is
//! for and that the model would notice.

mod called;
mod express;
mod handed_over;
mod protocol;
mod queues;
mod sleep;
mod spares;
#[cfg(loom)]
mod varied;
mod watchdog;
