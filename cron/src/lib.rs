//! Jobs that follow the wall clock, for the Krarup node: cron patterns in time zones (feature `cron` of
//! the crate `krarup`).
//!
//! What recurs exactly is a timer ([`Context::send_interval`](krarup_act::Context::send_interval));
//! a job of a [`Cron`] runs at dates. A cron is a process that is supervised, named and stopped as
//! any other, and the whole of it runs in a simulation, where years of jobs take seconds.
//!
//! | topic | item |
//! |---|---|
//! | the process | [`Cron`] |
//! | what runs, and when | [`Job`] |
//! | a run is due and an earlier one goes on | [`RunsAtOnce`] |
//! | runs that could not begin in time | [`Missed`], [`Job::grace`], [`Job::since`] |
//! | adding, pausing, listing jobs | [`CronCalls`], [`JobInfo`] |
//!
//! # Clocks that are set
//!
//! Zones set their clocks forward and back. A job at a time runs then too, once; a job of every
//! hour or minute runs as time passes. In Berlin:
//!
//! | pattern | 29 March 2026, from 02:00 to 03:00 | 25 October 2026, from 03:00 to 02:00 |
//! |---|---|---|
//! | `30 2 * * *` | 03:00 that day, 02:30 again the next | once, at the first 02:30 |
//! | `0 * * * *` | 01:00, 03:00, 04:00 | 02:00 twice, an hour apart |
//! | `*/30 2 * * *` | not that day | 02:00, 02:30, 02:00, 02:30 |
//!
//! People and programs set the clocks of machines. A cron looks at its clock each minute at least
//! (rule T9). If it was set forward past a run by more than that, the run was missed, as it is if
//! the machine slept or no cron was there: see [`Missed`]. Years of missed runs that no run makes up
//! for are passed over at once (rule T10). If the clock was set back, a job does not run
//! again for a time it has run for: not after a correction of a second, and not after one of a
//! year, until its time comes that is later than all those. To have it forget them, remove it and
//! add it again.
#![forbid(unsafe_code)]

mod calls;
mod checked_job;
mod cron;
mod error;
mod info;
mod job;
mod pattern;
mod pattern_days;
mod plan;
mod work;

pub use calls::{CronAddress, CronCalls};
pub use cron::Cron;
pub use error::{AddJobError, JobError, UnknownZone};
pub use info::JobInfo;
pub use job::{CronRequest, Job, Missed, RunsAtOnce};
