//! What the node says of its applications: events of `tracing` with the target `krarup`, and reports
//! (rules A13, X8). Each call is contained, because a log subscriber is user code.

use crate::applications::error::StartApplicationError;
use crate::core::DispatcherHost;
use crate::stop::shutdown::contained;
use krarup_act::Host;
use krarup_gen::{
    ApplicationEvent, ApplicationStep, Name, Reason, ReasonRecord, Report, ReportKind, Reported,
    one_line,
};
use std::time::Duration;

pub(crate) fn starts(host: &DispatcherHost, application: &Name) {
    report(host, application, || ApplicationStep::Starts);
    contained(|| tracing::info!(target: "krarup", %application, "an application starts"));
}

pub(crate) fn phase_begins(host: &DispatcherHost, application: &Name, phase: &str) {
    report(host, application, || ApplicationStep::PhaseBegins(phase.to_owned()));
    contained(|| {
        tracing::info!(target: "krarup", %application, phase, "a phase of an application begins");
    });
}

pub(crate) fn runs(host: &DispatcherHost, application: &Name) {
    report(host, application, || ApplicationStep::Runs);
    contained(|| tracing::info!(target: "krarup", %application, "an application runs"));
}

pub(crate) fn did_not_start(
    host: &DispatcherHost,
    application: &Name,
    error: &StartApplicationError,
) {
    report(host, application, || ApplicationStep::DidNotStart(error.to_string()));
    contained(|| {
        tracing::error!(target: "krarup", %application, error = %one_line(error), "an application did not start");
    });
}

/// The end of the top process by itself.
pub(crate) fn ends(host: &DispatcherHost, application: &Name, reason: &Reason) {
    report(host, application, || ApplicationStep::Ends(ReasonRecord::of(reason)));
    contained(|| {
        if reason.is_normal() {
            tracing::info!(target: "krarup", %application, reason = %one_line(reason), "an application ends");
        } else {
            tracing::error!(target: "krarup", %application, reason = %one_line(reason), "an application ends");
        }
    });
}

pub(crate) fn is_asked(host: &DispatcherHost, application: &Name) {
    report(host, application, || ApplicationStep::Stops);
    contained(|| {
        tracing::info!(target: "krarup", %application, "an application is asked to stop");
    });
}

pub(crate) fn on_stop_failed(host: &DispatcherHost, application: &Name, reason: &Reason) {
    report(host, application, || ApplicationStep::OnStopFailed(ReasonRecord::of(reason)));
    contained(|| {
        tracing::warn!(target: "krarup", %application, reason = %one_line(reason), "`on_stop` of an application failed");
    });
}

pub(crate) fn is_overdue(host: &DispatcherHost, application: &Name, timeout: Duration) {
    report(host, application, || ApplicationStep::Overdue(timeout));
    contained(|| {
        tracing::warn!(
            target: "krarup", %application, ?timeout,
            "an application has not stopped in time and is killed"
        );
    });
}

pub(crate) fn has_ended(host: &DispatcherHost, application: &Name, reason: &Reason, left: usize) {
    report(host, application, || ApplicationStep::Ended { reason: ReasonRecord::of(reason), left });
    contained(|| {
        if left == 0 {
            tracing::info!(target: "krarup", %application, reason = %one_line(reason), "an application has ended");
        } else {
            tracing::error!(
                target: "krarup", %application, reason = %one_line(reason), left,
                "an application has ended, and processes of it cannot be: they block their workers"
            );
        }
    });
}

/// The first line of a node that stops because of an application.
pub(crate) fn stops_node(host: &DispatcherHost, application: &Name, reason: &Reason) {
    report(host, application, || ApplicationStep::StopsNode(ReasonRecord::of(reason)));
    contained(|| {
        tracing::error!(
            target: "krarup", %application, reason = %one_line(reason), "the node stops because an application ended"
        );
    });
}

/// Publishes a report, if somebody hears of it. The text of a reason is user code.
fn report(host: &DispatcherHost, application: &Name, step: impl FnOnce() -> ApplicationStep) {
    let reports = &host.core.records.reports;
    if !reports.is_heard() {
        return;
    }
    contained(|| {
        let event = ApplicationEvent::new(application.clone(), step());
        let (kind, level, now) = (ReportKind::Application, event.step.level(), host.now());
        reports.publish(kind, level, &[], Some(application), now, |head| {
            Report::Application(Reported::new(head, event))
        });
    });
}
