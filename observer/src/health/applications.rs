//! Whether the applications of the node that were started are still there.
//!
//! The top process of an application has no supervisor and often no name. The node knows which
//! applications it has, so one that was lost is told also if nobody has looked before.

use crate::check::Health;
use crate::health::checks::CheckResult;
use crate::health::top_processes::gave_up;
use crate::text::cut;
use krarup_act::NodeView;
use krarup_gen::ApplicationPicture;
use std::time::{Duration, Instant};

/// A ready check for each application that runs or is lost. In a stop of the node all of them end, and
/// there is none.
pub(crate) fn results(view: &NodeView) -> Vec<CheckResult> {
    if view.is_stopping() {
        return Vec::new();
    }
    let now = Instant::now();
    let result = |application: ApplicationPicture| {
        Some(CheckResult {
            name: format!("application:{}", application.name),
            live: false,
            ready: true,
            health: Some(health(view, &application)?),
            took: Duration::ZERO,
            at: now,
            asked: None,
        })
    };
    view.applications().into_iter().filter_map(result).collect()
}

/// How an application is; `None` if nobody misses it.
fn health(view: &NodeView, application: &ApplicationPicture) -> Option<Health> {
    let Some((top, reason)) = &application.lost else {
        return application.runs.then_some(Health::Ok);
    };
    let name = &application.name;
    Some(Health::Down(match gave_up(view, *top) {
        Some(because) => cut(&format!(
            "the supervisor of the application {name} gave up{because}, and has ended"
        )),
        None => cut(&format!("the application {name} has ended: {reason}")),
    }))
}
