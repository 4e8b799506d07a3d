//! A process that other nodes tell, call, link to and monitor.

use super::tracked::TrackedMessage;
use krarup_act::{Actor, Context, Reply};
use krarup_gen::{Exit, Pid, Reason, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What a service is asked.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum StressJob {
    Note(TrackedMessage),
    Add(i64, i64, Reply<i64>),
    Who(Reply<Pid>),
    /// Is answered when the process ends: never.
    Keep(Reply<()>),
    /// Ends with an error.
    Break,
}

/// What a service has seen.
#[derive(Debug, Default)]
pub(crate) struct ServiceSeen {
    /// The numbers of the messages, in order.
    pub(crate) notes: Vec<u64>,
    /// How often it was told of the end of each linked process.
    pub(crate) exits: BTreeMap<Pid, usize>,
}

/// A service. It is a member of a group, and traps exits.
pub(crate) struct StressService {
    pub(crate) seen: Arc<Mutex<ServiceSeen>>,
    pub(crate) group: Option<&'static str>,
    pub(crate) kept: Vec<Reply<()>>,
}

impl Actor for StressService {
    type Message = StressJob;

    async fn init(&mut self, ctx: &mut Context<StressJob>) -> Result {
        ctx.trap_exits(true);
        if let Some(group) = self.group {
            ctx.join(group)?;
        }
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<StressJob>, job: StressJob) -> Result {
        match job {
            StressJob::Note(message) => {
                self.seen.lock().unwrap().notes.push(message.number);
                message.handle();
            }
            StressJob::Add(a, b, reply) => reply.send(a + b),
            StressJob::Who(reply) => reply.send(ctx.pid()),
            StressJob::Keep(reply) => self.kept.push(reply),
            StressJob::Break => return Err(Reason::error("broken")),
        }
        Ok(())
    }

    async fn handle_exit(&mut self, ctx: &mut Context<StressJob>, exit: Exit) -> Result {
        if ctx.parent() == Some(exit.pid) {
            return Err(exit.reason);
        }
        *self.seen.lock().unwrap().exits.entry(exit.pid).or_default() += 1;
        Ok(())
    }
}
