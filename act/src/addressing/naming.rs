//! Taking a name away from a process.

use crate::host::host::Host;
use crate::process::process::Process;
use krarup_gen::Pid;

/// Takes the name from this process, and from no other; whether it had it.
pub(crate) fn release_name(host: &dyn Host, name: &str, pid: Pid) -> bool {
    let holder = host.unregister_from(name, pid);
    if let Some(holder) = &holder {
        forget_name(&**holder, name);
    }
    holder.is_some()
}

/// The process does not have this name any more, and so does not give it back at its end.
pub(crate) fn forget_name(holder: &dyn Process, name: &str) {
    let mut relations = holder.relations().0.lock();
    if relations.name().is_some_and(|held| held.as_str() == name) {
        relations.take_name();
    }
}
