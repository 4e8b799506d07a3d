//! Taking a name away from a process.

use crate::host::host::Host;
use crate::process::process::Process;
use krarup_gen::Pid;

/// Releases the name if this process holds it; returns whether it did.
pub(crate) fn release_name(host: &dyn Host, name: &str, pid: Pid) -> bool {
    let holder = host.unregister_from(name, pid);
    if let Some(holder) = &holder {
        forget_name(&**holder, name);
    }
    holder.is_some()
}

/// Clears the name of the process, so that the process does not release it again at its end.
pub(crate) fn forget_name(holder: &dyn Process, name: &str) {
    let mut relations = holder.relations();
    if relations.name().is_some_and(|held| held.as_str() == name) {
        relations.take_name();
    }
}
