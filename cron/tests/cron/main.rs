//! The cron as a process, in virtual time.

mod jobs;
mod pattern_list;
mod requests;
mod runs;
mod support;
