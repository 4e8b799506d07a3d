//! The statements about a pool, each as a test.
//!
//! Those of `leases` and `workers` run twice: in a simulation under many seeds, and on the threads
//! of a node. Those of `times` need virtual time, and `hand_over` is statement 7 under the seeds.

mod hand_over;
mod leases;
mod people;
mod times;
mod workers;
mod world;
