//! How cycles of calls, decisions of supervisors and missed events come into the records and the
//! reports of a node.

use crate::host::host::Host;
use crate::process::crash::contain;
use krarup_gen::{
    CallCycle, DeadlockRecord, MissedEvents, Name, Pid, Report, ReportKind, ReportLevel, Reported,
    SupervisionEvent, TopicId,
};
use std::sync::Arc;

/// Records a cycle of calls, if the node remembers them.
pub(crate) fn record_deadlock(host: &dyn Host, cycle: &CallCycle) {
    let Some(records) = host.records().filter(|records| records.deadlocks.is_on()) else { return };
    let names = cycle.pids().iter().map(|pid| name_of(host, *pid)).collect();
    records.deadlocks.push(host.now(), DeadlockRecord::new(cycle.clone(), names));
}

/// Records a decision, if the node remembers them. Otherwise the event is not made.
pub(crate) fn record_supervision(host: &dyn Host, event: impl FnOnce() -> SupervisionEvent) {
    let Some(records) = host.records() else { return };
    if !records.restarts.is_on() && !records.reports.is_heard() {
        return;
    }
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
    let (event, now) = (Arc::new(event), host.now());
    let about: Vec<_> = [event.pid, Some(event.by)].into_iter().flatten().collect();
    let make = |head| Report::Supervision(Reported::new(head, Arc::clone(&event)));
    let (kind, application) = (ReportKind::Supervision, host.application().map(|(name, _)| name));
    records.reports.publish(kind, event.level(), &about, application, now, make);
    records.restarts.push(now, event);
}

/// Reports that subscribers of a topic have missed events.
pub(crate) fn report_missed(host: &dyn Host, topic: &TopicId, count: u64) {
    let Some(records) = host.records() else { return };
    let application = host.application().map(|(name, _)| name);
    let (kind, level, now) = (ReportKind::Missed, ReportLevel::Warn, host.now());
    records.reports.publish(kind, level, &[], application, now, |head| {
        Report::Missed(Reported::new(head, MissedEvents::new(topic.clone(), count)))
    });
}

/// The name of a process that lives.
pub(crate) fn name_of(host: &dyn Host, pid: Pid) -> Option<Name> {
    let process = host.process(pid)?;
    process.relations().name().cloned()
}
