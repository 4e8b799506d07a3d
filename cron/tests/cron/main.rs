//! The cron as a process, in virtual time.

mod jobs;
mod pattern_list;
mod reports;
mod requests;
mod runs;
mod support;
