//! What the node says of its applications: events of `tracing` with the target `krarup` (rule
//! A13). Each call is contained, because a log subscriber is user code.

use crate::applications::error::StartApplicationError;
use crate::stop::shutdown::contained;
use krarup_gen::{Name, Reason};
use std::time::Duration;

pub(crate) fn starts(application: &Name) {
    contained(|| tracing::info!(target: "krarup", %application, "an application starts"));
}

pub(crate) fn phase_begins(application: &Name, phase: &str) {
    contained(|| {
        tracing::info!(target: "krarup", %application, phase, "a phase of an application begins");
    });
}

pub(crate) fn runs(application: &Name) {
    contained(|| tracing::info!(target: "krarup", %application, "an application runs"));
}

pub(crate) fn did_not_start(application: &Name, error: &StartApplicationError) {
    contained(|| {
        tracing::error!(target: "krarup", %application, %error, "an application did not start");
    });
}

/// The end of the top process by itself.
pub(crate) fn ends(application: &Name, reason: &Reason) {
    contained(|| {
        if reason.is_normal() {
            tracing::info!(target: "krarup", %application, %reason, "an application ends");
        } else {
            tracing::error!(target: "krarup", %application, %reason, "an application ends");
        }
    });
}

pub(crate) fn is_asked(application: &Name) {
    contained(|| {
        tracing::info!(target: "krarup", %application, "an application is asked to stop");
    });
}

pub(crate) fn on_stop_failed(application: &Name, reason: &Reason) {
    contained(|| {
        tracing::warn!(target: "krarup", %application, %reason, "`on_stop` of an application failed");
    });
}

pub(crate) fn is_overdue(application: &Name, timeout: Duration) {
    contained(|| {
        tracing::warn!(
            target: "krarup", %application, ?timeout,
            "an application has not stopped in time and is killed"
        );
    });
}

pub(crate) fn has_ended(application: &Name, reason: &Reason, left: usize) {
    contained(|| {
        if left == 0 {
            tracing::info!(target: "krarup", %application, %reason, "an application has ended");
        } else {
            tracing::error!(
                target: "krarup", %application, %reason, left,
                "an application has ended, and processes of it cannot be: they block their workers"
            );
        }
    });
}

/// The first line of a node that stops because of an application.
pub(crate) fn stops_node(application: &Name, reason: &Reason) {
    contained(|| {
        tracing::error!(
            target: "krarup", %application, %reason, "the node stops because an application ended"
        );
    });
}
