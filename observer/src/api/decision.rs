//! What supervisors and pools decide, in the words of answers.

use krarup_gen::SupervisionAction;

/// What a supervisor or a pool did, as answers name it.
pub(crate) fn what(action: SupervisionAction) -> &'static str {
    match action {
        // A child that has nothing to do was started in order.
        SupervisionAction::Ignored => "started",
        // It was stopped, and has not ended.
        SupervisionAction::Abandoned => "stopped",
        action => action.as_str(),
    }
}
