//! How a task is ended: by a signal that it cannot refuse.

use super::process::Via;
use crate::host::host::Host;
use krarup_gen::{Exit, Pid, Reason};

/// Ends a task of `by`: it ends at its next await, or when its turn begins. A task does not trap
/// exits, so the signal ends it as a kill would. The reason says that this is no failure.
#[cold]
pub(crate) fn ask_to_end(host: &dyn Host, by: Pid, task: Pid) {
    if let Some(process) = host.process(task) {
        process.exit_signal(Exit { pid: by, reason: Reason::Shutdown }, Via::Signal);
    }
}
