//! Models of the shared dispatcher: how workers fall asleep and are woken ([`sleep`]), also in a poller ([`polling`]), spare
//! workers that start and leave ([`spares`]), the watchdog ([`watchdog`]), the queues between
//! workers ([`queues`]), a worker's private queue ([`private_queue`]), and the queue of high processes ([`priority_queue`]).
//!
//! Each model runs the real [`IdleWorkers`](super::sleep::IdleWorkers),
//! [`SpareWorkers`](super::spare_protocol::SpareWorkers) or
//! [`Watchdog`](super::watchdog::Watchdog). A lost wake-up shows as a deadlock: all threads
//! sleep while work waits. [`varied`] is a copy of the sleep protocol from which one line at a
//! time is left out. Each such copy must fail, which shows the purpose of the line and that the
//! model would notice its absence.

mod polling;
mod priority_queue;
mod private_queue;
mod protocol;
mod queues;
mod sleep;
mod spares;
#[cfg(loom)]
mod varied;
mod watchdog;
