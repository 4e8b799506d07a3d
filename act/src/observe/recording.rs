//! How cycles of calls and decisions of supervisors come into the records of a node.

use crate::host::host::Host;
use crate::process::crash::contain;
use krarup_gen::{CallCycle, DeadlockRecord, Name, Pid, SupervisionEvent};

/// Records a cycle of calls, if the node remembers them.
pub(crate) fn record_deadlock(host: &dyn Host, cycle: &CallCycle) {
    let Some(records) = host.records().filter(|records| records.deadlocks.is_on()) else { return };
    let names = cycle.pids().iter().map(|pid| name_of(host, *pid)).collect();
    records.deadlocks.push(host.now(), DeadlockRecord::new(cycle.clone(), names));
}

/// Records a decision, if the node remembers them. Otherwise the event is not made.
pub(crate) fn record_supervision(host: &dyn Host, event: impl FnOnce() -> SupervisionEvent) {
    let Some(records) = host.records().filter(|records| records.restarts.is_on()) else { return };
    // The text of a reason and the id of a child are user code.
    let Ok(event) = contain(event) else { return };
    let event = event.with(|event| {
        event.by_name = name_of(host, event.by);
        if let Some(sample) = host.process(event.by).and_then(|process| process.sample()) {
            event.by_kind = sample.kind;
        }
        event.crash = event.pid.and_then(|pid| {
            let crash = records.crashes.newest(|report| report.pid.is_same_process(pid));
            crash.map(|recorded| recorded.seq)
        });
    });
    records.restarts.push(host.now(), event);
}

/// The name of a process that lives.
fn name_of(host: &dyn Host, pid: Pid) -> Option<Name> {
    let process = host.process(pid)?;
    process.relations().0.lock().name().cloned()
}
