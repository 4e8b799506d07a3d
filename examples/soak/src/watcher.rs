//! A process that links to others and monitors them, and checks the notices that it gets.

use crate::counters::Counters;
use krarup::Ref;
use krarup::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The most monitors of one watcher, and the most processes that it is linked to. Monitors of processes that never end would grow
/// without bound and hide a leak. A storm makes some dozens of them, so a monitor whose
/// notice was lost still exists at the next rest.
const MOST: usize = 1_000;

pub(crate) enum Watch {
    Monitor(Pid),
    Link(Pid),
    /// Removes one monitor and one link.
    Forget,
    /// Asks for the processes whose end it has not been notified of.
    Owed(Reply<Vec<Pid>>),
}

pub(crate) struct Watcher {
    counters: Arc<Counters>,
    monitors: BTreeMap<Ref, Pid>,
    links: BTreeMap<Pid, Linked>,
}

/// What there was with one process since the last unlink. A link that exists is not made again; one whose exit notice
/// waits in the mailbox is none any more, so it is, and both notices come (rule L5).
#[derive(Default)]
struct Linked {
    asked: u32,
    notices: u32,
}

impl Watcher {
    pub(crate) fn new(counters: &Arc<Counters>) -> Self {
        Watcher {
            counters: Arc::clone(counters),
            monitors: BTreeMap::new(),
            links: BTreeMap::new(),
        }
    }

    /// Whether a notice of this process may still come, as it does now.
    fn is_due(&mut self, pid: Pid) -> bool {
        let Some(linked) = self.links.get_mut(&pid) else { return false };
        linked.notices += 1;
        if linked.notices == linked.asked {
            self.links.remove(&pid);
        }
        true
    }
}

impl Actor for Watcher {
    type Message = Watch;

    async fn init(&mut self, ctx: &mut Context<Watch>) -> Result {
        ctx.trap_exits(true);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Watch>, watch: Watch) -> Result {
        match watch {
            Watch::Monitor(pid) if pid != ctx.pid() => {
                self.counters.bonds.fetch_add(1, Ordering::Relaxed);
                self.monitors.insert(ctx.monitor(pid), pid);
                if self.monitors.len() > MOST
                    && let Some((oldest, _)) = self.monitors.pop_first()
                {
                    ctx.demonitor(oldest);
                }
            }
            // An exit from its parent over a link would be taken as a stop.
            Watch::Link(pid) if pid != ctx.pid() && Some(pid) != ctx.parent() => {
                self.counters.bonds.fetch_add(1, Ordering::Relaxed);
                ctx.link(pid);
                self.links.entry(pid).or_default().asked += 1;
                if self.links.len() > MOST
                    && let Some((oldest, _)) = self.links.pop_first()
                {
                    ctx.unlink(oldest);
                }
            }
            Watch::Monitor(_) | Watch::Link(_) => {}
            Watch::Forget => {
                // The newest one: an old monitor that remains is an end without a notice.
                if let Some((monitor, _)) = self.monitors.pop_last() {
                    ctx.demonitor(monitor);
                }
                if let Some((pid, _)) = self.links.pop_last() {
                    ctx.unlink(pid);
                }
            }
            Watch::Owed(reply) => {
                let owes = |(pid, linked): (&Pid, &Linked)| (linked.notices == 0).then_some(*pid);
                let owed = self.links.iter().filter_map(owes);
                reply.send(self.monitors.values().copied().chain(owed).collect());
            }
        }
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut Context<Watch>, exit: Exit) -> Result {
        // An exit signal from outside any process does not come over a link.
        let known = exit.pid.is_node() || self.is_due(exit.pid);
        self.counters.record_loss_if(!known, || format!("an exit notice of {} too many", exit.pid));
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<Watch>, down: Down) -> Result {
        let known = self.monitors.remove(&down.monitor).is_some();
        self.counters
            .record_loss_if(!known, || format!("a down notice of {} too many", down.target));
        Ok(())
    }
}
