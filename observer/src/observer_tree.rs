//! Which processes are the observer's own.

use krarup_act::NodeView;
use krarup_gen::Pid;

/// The name of its supervisor, and the beginning of the names of its children.
pub(crate) const NAME: &str = "observer";
/// No tree of its processes is deeper.
const DEEPEST: usize = 8;

/// Whether a process is the supervisor of the observer, or below it.
pub(crate) fn belongs_to_observer(view: &NodeView, pid: Pid) -> bool {
    let mut next = Some(pid);
    for _ in 0..DEEPEST {
        let Some(pid) = next else { return false };
        if view.whereis(NAME) == Some(pid) {
            return true;
        }
        let Some(info) = view.process_info(pid) else { return false };
        let own = info.name.as_ref().is_some_and(|name| name.as_str().starts_with("observer."));
        if own && info.root == krarup_gen::Root::System {
            return true;
        }
        next = info.parent;
    }
    false
}
