//! The dead letters of a node, counted.

use super::service::StressJob;
use krarup_act::{Actor, Context};
use krarup_gen::{DeadLetter, DeadLetterCause, Result};
use krarup_node::Node;
use std::any::type_name;
use std::sync::{Arc, Mutex};

/// How many messages of other nodes no process handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LetterCounts {
    /// To a name or a pid behind which is no process. They were not read.
    pub(crate) to_nobody: usize,
    /// Sent here to an earlier incarnation of another node.
    pub(crate) stale: usize,
    /// They were read, and then refused or dropped.
    pub(crate) read: usize,
    pub(crate) others: usize,
}

/// Counts the dead letters of a node.
struct LetterCounter {
    counts: Arc<Mutex<LetterCounts>>,
}

impl Actor for LetterCounter {
    type Message = DeadLetter;

    async fn handle_message(&mut self, _: &mut Context<DeadLetter>, letter: DeadLetter) -> Result {
        let mut counts = self.counts.lock().unwrap();
        match letter.cause {
            _ if letter.message == type_name::<StressJob>() => counts.read += 1,
            DeadLetterCause::Overflow if letter.node.is_some() => counts.read += 1,
            DeadLetterCause::NoProcess if letter.node.is_some() => counts.to_nobody += 1,
            DeadLetterCause::NoProcess if letter.message == "a message to another node" => {
                counts.stale += 1;
            }
            _ => counts.others += 1,
        }
        Ok(())
    }
}

/// Counts the dead letters of a node from now on.
pub(crate) fn count_letters(node: &Node) -> Result<Arc<Mutex<LetterCounts>>> {
    let counts = Arc::new(Mutex::new(LetterCounts::default()));
    let counted = Arc::clone(&counts);
    let process = node.spawn_system(move || LetterCounter { counts: counted }).wait()?;
    node.subscribe_dead_letters(process.recipient());
    Ok(counts)
}
