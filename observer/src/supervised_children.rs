//! Which children processes are, as their supervisors say, shared by all who ask: however many ask, a
//! supervisor is asked for a child at most twice in a second.
//!
//! The ring of decisions does not tell it: it holds the newest ones only, and the starts of children of a
//! template on request are not among them (rule V18).

use krarup_act::NodeView;
use krarup_gen::{ManageError, Managed, ManagedChild, Management, Pid};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a supervisor may take to answer. It answers between two messages.
const LIMIT: Duration = Duration::from_millis(250);
/// For how long an answer counts: a restart in place changes the number of the restarts.
const FRESH: Duration = Duration::from_millis(500);
/// For how long a supervisor that has not answered is not asked again.
const SILENT: Duration = Duration::from_secs(5);

/// What supervisors have answered lately.
#[derive(Default)]
pub(crate) struct SupervisedChildren {
    answers: Mutex<Answers>,
}

#[derive(Default)]
struct Answers {
    /// By the process of the child; `None` if it is none.
    children: BTreeMap<Pid, (Instant, Option<ManagedChild>)>,
    silent: BTreeMap<Pid, Instant>,
}

impl SupervisedChildren {
    /// The child of a supervisor that a process is. `None` if it is none, or the supervisor does not
    /// answer in time.
    pub(crate) async fn ask(
        &self,
        view: &NodeView,
        supervisor: Pid,
        pid: Pid,
    ) -> Option<ManagedChild> {
        if let Some(known) = self.answers.lock().known(supervisor, pid, Instant::now()) {
            return known;
        }
        let answer = view.manage_within(supervisor, Management::WhichChild { pid }, LIMIT).await;
        let now = Instant::now();
        let child = match answer {
            Ok(Managed::Child(child)) => Some(child),
            Err(ManageError::Timeout { .. }) => {
                self.answers.lock().silent.insert(supervisor, now);
                return None;
            }
            _ => None,
        };
        self.answers.lock().children.insert(pid, (now, child.clone()));
        child
    }
}

impl Answers {
    /// What is known without asking.
    fn known(&mut self, supervisor: Pid, pid: Pid, now: Instant) -> Option<Option<ManagedChild>> {
        self.children.retain(|_, (at, _)| now.duration_since(*at) < FRESH);
        self.silent.retain(|_, at| now.duration_since(*at) < SILENT);
        if self.silent.contains_key(&supervisor) {
            return Some(None);
        }
        self.children.get(&pid).map(|(_, child)| child.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_for_half_a_second_and_silence_for_five() {
        let (mut answers, now) = (Answers::default(), Instant::now());
        let (supervisor, child, other) = (Pid::local(1, 0), Pid::local(2, 0), Pid::local(3, 0));
        assert_eq!(answers.known(supervisor, child, now), None);
        let entry = ManagedChild::new("one".to_owned());
        answers.children.insert(child, (now, Some(entry.clone())));
        assert_eq!(answers.known(supervisor, child, now), Some(Some(entry)));
        assert_eq!(answers.known(supervisor, other, now), None);
        assert_eq!(answers.known(supervisor, child, now + FRESH), None);
        answers.silent.insert(supervisor, now);
        assert_eq!(answers.known(supervisor, other, now + FRESH), Some(None));
        assert_eq!(answers.known(other, child, now + FRESH), None);
        assert_eq!(answers.known(supervisor, other, now + SILENT), None);
    }
}
