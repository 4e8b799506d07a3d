//! A process whose end stops its node (rule X6).
//!
//! Akka chains its guardians by death watch: the system ends when the user guardian ends. Here
//! the program names the process, and a process below the system root monitors it.

use crate::core::DispatcherHost;
use crate::stop::shutdown::contained;
use crate::stop::stop::Stopper;
use crate::stop::stopped::Stopped;
use krarup_act::{Context, Host, Spawn, behavior_fn, watch};
use krarup_gen::{Pid, SpawnError, Target, one_line};
use std::sync::Arc;

/// Spawns the process that waits for the end of `pid`.
pub(crate) fn stop_with(
    host: &Arc<DispatcherHost>,
    stopper: &Arc<Stopper>,
    pid: Pid,
) -> Result<(), SpawnError> {
    // A process of another node may well live, so this node must not stop as if it had ended.
    if !host.core.is_ours(pid) {
        return Err(SpawnError::NoConnection(pid));
    }
    let end = watch(Arc::clone(host) as Arc<dyn Host>, Target::Pid(pid));
    // Not a handle on the node, because dropping the program's last handle stops the node.
    let (node, stopper) = (Arc::clone(host), Arc::clone(stopper));
    let guard = behavior_fn(move |_: Context<()>| async move {
        let down = end.await;
        contained(|| {
            tracing::info!(
                target: "krarup", %pid, reason = %one_line(&down.reason),
                "the process of `stop_with` has ended: the node stops"
            );
        });
        let stopped = Stopped { application: None, reason: down.reason };
        stopper.begin(&node, stopper.timeout, stopped);
        Ok(())
    });
    Spawn::outside(host.of_system() as Arc<dyn Host>, move || guard).start().map(drop)
}
