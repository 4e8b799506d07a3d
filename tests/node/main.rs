//! A node: names, roots, dispatchers, timers, and the views into it.
//!
//! One program for all of it: a program for each file would be linked a hundred times.

#[path = "../pool_support/mod.rs"]
mod pool_support;
#[path = "../support/mod.rs"]
mod support;

mod added_application;
mod aliases;
mod application_reports;
mod application_seeds;
mod application_settings;
mod application_stop_times;
mod application_support;
mod application_threads;
mod applications;
mod as_data;
mod asked_to_stop;
mod blocking;
mod classes;
mod cleaners;
mod clocks;
mod cluster_supervisor;
mod debug;
mod dispatcher_kinds;
mod dispatcher_stats;
mod dispatchers;
mod errors;
mod executors;
mod fairness;
mod idle;
mod letters;
mod listeners;
mod local_processes;
mod mailbox_alarm;
mod managing;
mod name_waits;
mod named_calls;
mod names;
mod programs;
mod recorder;
mod reports;
mod roots;
mod runtimes;
mod settings;
mod settings_variables;
mod spans;
mod starting;
mod stopping;
mod suspended;
mod timers;
mod trace_reader;
mod turn_recording;
mod view;
mod wake_ups;
mod wall_time;
