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
    /// By the process of the child.
    children: BTreeMap<Pid, (Instant, ManagedChild)>,
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
        {
            let mut answers = self.answers.lock();
            answers.forget(Instant::now());
            let known = answers.children.get(&pid).map(|(_, child)| child.clone());
            if known.is_some() || answers.silent.contains_key(&supervisor) {
                return known;
            }
        }
        let answer = view.manage_within(supervisor, Management::WhichChild { pid }, LIMIT).await;
        let (mut answers, now) = (self.answers.lock(), Instant::now());
        match answer {
            Ok(Managed::Child(child)) => {
                answers.children.insert(pid, (now, child.clone()));
                Some(child)
            }
            Err(ManageError::Timeout { .. }) => {
                answers.silent.insert(supervisor, now);
                None
            }
            _ => None,
        }
    }
}

impl Answers {
    /// Forgets what does not count any more.
    fn forget(&mut self, now: Instant) {
        self.children.retain(|_, (at, _)| now.duration_since(*at) < FRESH);
        self.silent.retain(|_, at| now.duration_since(*at) < SILENT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_for_half_a_second_and_silence_for_five() {
        let (mut answers, now) = (Answers::default(), Instant::now());
        let child = ManagedChild::new("one".to_owned());
        answers.children.insert(Pid::local(2, 0), (now, child));
        answers.silent.insert(Pid::local(1, 0), now);
        for (after, left) in [
            (Duration::ZERO, (1, 1)),
            (Duration::from_millis(499), (1, 1)),
            (FRESH, (0, 1)),
            (Duration::from_millis(4_999), (0, 1)),
            (SILENT, (0, 0)),
        ] {
            answers.forget(now + after);
            assert_eq!((answers.children.len(), answers.silent.len()), left, "{after:?}");
        }
    }
}
